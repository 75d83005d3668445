"""What a rule makes of a term, found once for a search: tactics that differ in a tile or two repeat most of their steps."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Mapping
from contextlib import contextmanager

from relift.rewrites.application.matching import NoMatch, apply_filled, apply_rule, matched
from relift.rewrites.application.totality import has_open_cells
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.rule import Rule
from relift.semantics.kept import Kept
from relift.semantics.syntax.binding import Position, beneath, positions, replace_at, term_at
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import Term, free_variables, kinds_in

_known: Kept[Hashable, tuple[Rule, tuple[Term, Substitution] | str]] = Kept(
    "what rules made of terms, or why they do not match"
)

_filled: Kept[Hashable, tuple[Rule, Term]] = Kept("what steps made of terms")

MOST_KNOWN = 1 << 14
"""So many applications are kept at a time, and so many steps."""

_left: Kept[Hashable, tuple[object, dict[int, Term]]] = Kept(
    "terms in which a tactic applies nowhere"
)
MOST_LEFT = 1 << 11
"""Of so many tactics at a time it is known what they leave as it is."""


@contextmanager
def applied_once() -> Generator[None]:
    """What a rule makes of a term, and that it does not match, is found once inside.

    Terms are equal whatever the sizes that they name are at least; so inside are tactics for one program.

    >>> from relift import add, f32, program, reduce
    >>> from relift.rewrites.application.applied import applied_once
    >>> from relift.rewrites.tactics.combinators import apply, derive
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, x)
    >>> with applied_once():
    ...     first, again = (derive(total, apply("reduce_to_seq")) for _ in range(2))
    >>> first.result is again.result
    True
    """
    with _known.once(), _left.once(), _filled.once():
        yield


def left_by(tactic: object, policy: FloatPolicy, closed: type[Term] | None) -> dict[int, Term]:
    """The terms, by identity, in which a tactic is known to apply nowhere, not looking below those of a kind that is `closed`.

    What is put there is known for the rest of `applied_once`, and outside of it not at all.
    """
    left = _left.now()
    if left is None:
        return {}
    if len(left) >= MOST_LEFT:
        left.clear()
    return left.setdefault((id(tactic), policy, closed), (tactic, {}))[1]


def applied(
    rule: Rule,
    t: Term,
    place: Position,
    direction: Direction,
    parts: Mapping[str, Position],
    choices: Mapping[str, int],
    policy: FloatPolicy,
    given: Mapping[str, Term] | None = None,
) -> tuple[Term, Substitution]:
    """What the rule makes of a whole term, and what its metavariables stand for; raises `NoMatch`."""
    known = _known.now()
    if known is None:
        return apply_rule(
            rule,
            t,
            place,
            direction=direction,
            choices=choices,
            parts=parts,
            given=given,
            policy=policy,
        )
    here = term_at(t, place)
    chosen = tuple(tuple(sorted(each.items())) for each in (choices, parts, given or {}))
    key = id(rule), here, direction, chosen, policy, has_open_cells(t)
    if (held := known.get(key)) is not None and held[0] is rule:
        if isinstance(found := held[1], str):
            raise NoMatch(found)
        new, substitution = found
        return replace_at(t, place, new), substitution
    if len(known) >= MOST_KNOWN:
        known.clear()
    try:
        substitution = matched(rule, here, direction, choices, parts, given or {})
    except NoMatch as failure:
        known[key] = rule, failure.message  # whatever the term stands in
        raise
    whole = apply_filled(rule, t, place, direction, substitution, policy)
    new = term_at(whole, place)
    if free_variables(new) <= free_variables(here):  # else it hangs on what is bound around
        known[key] = rule, (new, substitution)
    return whole, substitution


def applied_again(
    rule: Rule,
    t: Term,
    place: Position,
    direction: Direction,
    substitution: Substitution,
    policy: FloatPolicy,
) -> Term:
    """As `apply_filled`, which checks a step of a kernel once, in however many candidates of a search it stands; raises `NoMatch`.

    Where cells are open, what may be done at a place hangs on what is around it.

    >>> from relift import add, f32, program, reduce
    >>> from relift.rewrites.application.applied import applied_again, applied_once
    >>> from relift.rewrites.library import RULES
    >>> from relift.rewrites.tactics.combinators import apply, derive
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, x)
    >>> (step,) = derive(total, apply("reduce_to_seq")).steps
    >>> given = RULES[step.rule], total.body, (), "forward", step.substitution, "reassociate"
    >>> with applied_once():
    ...     applied_again(*given) is applied_again(*given)
    True
    """
    known = _filled.now()
    if known is None or has_open_cells(t):
        return apply_filled(rule, t, place, direction, substitution, policy)
    here = term_at(t, place)
    filled = (
        tuple(sorted(each.items(), key=_name))
        for each in (
            substitution.types,
            substitution.sizes,
            substitution.functions,
            substitution.operators,
            substitution.indices,
        )
    )
    key = id(rule), here, direction, policy, *filled
    if (held := known.get(key)) is not None and held[0] is rule:
        return replace_at(t, place, held[1])
    if len(known) >= MOST_KNOWN:
        known.clear()
    whole = apply_filled(rule, t, place, direction, substitution, policy)
    new = term_at(whole, place)
    if free_variables(new) <= free_variables(here):
        known[key] = rule, new
    return whole


def _name(item: tuple[str, object]) -> str:
    return item[0]


def places_beside(
    left: dict[int, Term] | None, t: Term, kinds: int, closed: type[Term] | None
) -> Iterator[tuple[Position, Term]]:
    """The places of a term, as `positions` gives them, beside what is known to be `left` as it is (see `left_by`).

    A term all of whose places were gone through is known from then on.
    """
    if left is None:
        yield from positions(t, kinds, closed=closed)
        return
    waiting: list[tuple[Position | None, Term]] = [((), t)] if kinds_in(t) & kinds else []
    while waiting:
        position, t = waiting.pop()
        if position is None:
            left[id(t)] = t
        elif id(t) not in left:
            yield position, t
            waiting.append((None, t))
            if closed is None or not isinstance(t, closed):
                below = beneath(t)[::-1]
                waiting += [((*position, place), u) for place, u in below if kinds_in(u) & kinds]
