"""Equal programs: a program rewritten at random places by rules that are proved, and lowered by rules.

What rules make of a program is a derivation, so that of two programs which differ in a value the step is found that
is to blame.  Only rules are used that hold without regrouping floats: the last bit counts.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from relift.rewrites.application.matching import apply_rule
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.derivation.own_rules import OwnRule
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.ledger.book import is_proved, verdict
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError
from relift.semantics.indices.inverses import invertible_data
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Let, Map, Reduce, Store
from relift.semantics.syntax.binding import Position, positions
from relift.semantics.syntax.terms import MakeTuple, Metavariable, Pattern, Term, distinct, inside

MOST_STEPS = 4
TRIES = 40
"""Places and rules that are tried for one step."""

CHOSEN = (1, 2, 3, 4)
"""What sizes may be that a rule leaves open, such as that of a chunk."""

LARGEST = 400
"""A rewritten program has no more nodes; each is computed once by the interpreter for every element."""

ANYTHING = "anything"


@dataclass(frozen=True)
class Book:
    """Rules by the kind of the node at which a side of them may stand; `own` are rules of the user's beside them."""

    by_head: Mapping[str, Sequence[tuple[Rule, Direction]]]
    own: tuple[OwnRule, ...] = ()
    forced: Sequence[tuple[Rule, Direction]] = field(default=())

    def at(self, t: Term) -> Sequence[tuple[Rule, Direction]]:
        """What may apply at a term: mostly rules for its pattern."""
        return self.by_head.get(type(t).__name__, ())


@cache
def library() -> Book:
    """The rules of the library that are PROVED, but for those that say who computes: these are not drawn."""
    return book_of([r for r in RULES.values() if not r.lowering and is_proved(verdict(r))])


def book_of(rules: Sequence[Rule], own: Sequence[OwnRule] = ()) -> Book:
    """These rules, and some of the user's own, which are tried first."""
    by_head: dict[str, list[tuple[Rule, Direction]]] = defaultdict(list)
    both: tuple[Direction, ...] = ("forward", "backward")
    for rule in rules:
        for direction in both[:1] if rule.refinement else both:
            by_head[_head(rule.side(direction)[0])].append((rule, direction))
    forced: list[tuple[Rule, Direction]] = [
        (o.rule, d) for o in own for d in (both[:1] if o.rule.refinement else both)
    ]
    return Book(dict(by_head), tuple(own), forced)


def _head(side: Term) -> str:
    return ANYTHING if isinstance(side, Metavariable) else type(side).__name__


def varied(
    program: Program,
    sizes: Mapping[str, int],
    generator: random.Random,
    accepts: Callable[[Term], bool],
    book: Book | None = None,
) -> Derivation | None:
    """A derivation of a few steps by random rules from a program at some sizes, to one that the compiler accepts.

    None where no rule was found to apply.
    """
    book = book or library()
    before, steps = program.at(sizes).body, list[Step]()
    found: tuple[Term, list[Step]] | None = None
    for _ in range(generator.randint(1, MOST_STEPS)):
        done = _one(before, generator, book)
        if done is None or sum(1 for _ in distinct(done[0])) > LARGEST:
            continue
        after, lowering = lowered(done[0])
        if accepts(after):
            before, steps = done[0], [*steps, done[1]]
            found = after, [*steps, *lowering]
    if found is None:
        after, steps = lowered(before)
        if not steps or not accepts(after):
            return None
        found = after, steps
    return Derivation(program, dict(sizes), tuple(found[1]), found[0], "exact", book.own)


def _one(t: Term, generator: random.Random, book: Book) -> tuple[Term, Step] | None:
    """One step somewhere, if any is found."""
    places, choose = list(positions(t)), lambda: generator.choice(CHOSEN)
    for rule, direction in generator.sample(book.forced, len(book.forced)):
        for position, _ in generator.sample(places, len(places)):
            if (done := _applied(rule, direction, t, position, choose)) is not None:
                return done
    for _ in range(TRIES):
        position, here = generator.choice(places)
        anywhere = generator.random() < 0.1
        known = book.by_head.get(ANYTHING, ()) if anywhere else book.at(here)
        if not known:
            continue
        rule, direction = generator.choice(known)
        if (done := _applied(rule, direction, t, position, choose)) is not None:
            return done
    return None


def _applied(
    rule: Rule, direction: Direction, t: Term, position: Position, choose: Callable[[], int]
) -> tuple[Term, Step] | None:
    """The term after a step, and the step; None where the rule does not apply.  What it leaves open is chosen."""
    choices = {name: choose() for name in rule.sizes}
    try:
        after, filled = apply_rule(
            rule, t, position, direction=direction, choices=choices, policy="exact"
        )
    except ReliftError:
        return None
    kept = {name: value for name, value in choices.items() if filled.sizes[name].constant == value}
    return after, Step(rule.name, direction, position, filled, kept)


# ---- levels and loops


def lowered(t: Term) -> tuple[Term, list[Step]]:
    """The program with work-items for its outermost maps, loops for the others and for reductions."""
    steps: list[Step] = []
    while (place := next(_open(t), None)) is not None:
        position, rule = place
        done = _applied(RULES[rule], "forward", t, position, lambda: 0)
        if done is None:
            break
        t, step = done
        steps.append(step)
    return t, steps


def _open(
    t: Term, at: Position = (), *, within: bool = False, kept: bool = True
) -> Iterator[tuple[Position, str]]:
    """The places that say not yet who computes, or where it is stored, outermost first, and the rule that says it.

    `within`: in a work-item; `kept`: what is computed here is written where the program, or a store, says.
    """
    if isinstance(t, Map):
        yield at, "map_to_seq" if within else "map_to_glb"
    if isinstance(t, Reduce):
        yield at, "reduce_to_seq"
    is_map = isinstance(t, Pattern) and t.loop == "map"
    if is_map and not kept:
        yield at, "store_private" if within else "store_global"
    for place, u, _ in inside(t):
        body = place == "f" and (is_map or isinstance(t, Let))
        deeper = within or (place == "f" and is_map)
        through = isinstance(t, MakeTuple) or (
            isinstance(t, Pattern) and t.layout and invertible_data(t) is not None
        )
        stays = isinstance(t, Store) or (kept and (body or through))
        yield from _open(u, (*at, place), within=deeper, kept=stays)
