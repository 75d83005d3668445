"""Tactics: rules applied by name, and put together.  The result is a derivation like any other.

    apply(rule)           the rule, at the place where the tactic is
    then(s, t, ..)        s, and then t, at the same place
    first(s, t, ..)       the first of them that applies
    attempt(t)            t if it applies
    repeat(t)             t as often as it applies
    inside("f", ..)(t)    t at the place reached from here by these fields
    topdown(t)            t at the outermost place below here where it applies
    normalize(s, t, ..)   the first of them that applies somewhere below here, as often as one does
    everywhere(t)         t at every place below here where it applies, outermost first
    nest(s, t, ..)        s at a map, t at the map that is its function, and so on
    copy(s, t, ..)        an array copied by nested maps, each given to whom its tactic says

A tactic only ever applies rules, so what it reaches is as right as they are: `derive` records each
application as a step, and the derivation replays and is confirmed like one that a search found.
Source: ELEVATE, ICFP'20, whose strategies these are; the macro rules below are those of LIFT, GPGPU'16.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, partial, reduce, wraps
from operator import or_
from typing import ClassVar, Concatenate, ParamSpec, TypeAlias, TypeVar

from relift.rewrites.application.applied import applied, left_by, places_beside
from relift.rewrites.application.beginnings import may_match
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.application.totality import has_open_cells
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError, did_you_mean
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import Position, known_at, term_at
from relift.semantics.syntax.terms import Metavariable, Term, kinds_in, mask_of, parts_of
from relift.semantics.syntax.terms import inside as inside_of


@dataclass(frozen=True)
class Rewriting:
    """A program on its way: the term it is now, and the steps that led there."""

    term: Term
    policy: FloatPolicy
    steps: tuple[Step, ...] = ()


class TooLarge(NoMatch):
    """A term has become so large that no tactic goes on with it, whatever else may be tried at a place of it."""


Tactic: TypeAlias = Callable[[Rewriting, Position], Rewriting]
"""Rewrites at a place, or raises `NoMatch`."""


Parameters = ParamSpec("Parameters")


def curried(
    tactic: Callable[Concatenate[Rewriting, Position, Parameters], Rewriting],
) -> Callable[Parameters, Tactic]:
    """A tactic with parameters, as a function of these: what it gives rewrites at a place.

    >>> from relift.rewrites.tactics.combinators import apply, curried, derive
    >>> from relift.rewrites.loading import load_program
    >>> @curried
    ... def chunks(at, place, size):
    ...     return apply("split_join", m=size)(at, place)
    >>> [step.rule for step in derive(load_program("examples/saxpy.py"), chunks(4), {"n": 64}).steps]
    ['split_join']
    """

    @wraps(tactic)
    def given(*arguments: Parameters.args, **named: Parameters.kwargs) -> Tactic:
        return lambda at, place: tactic(at, place, *arguments, **named)

    return given


ANY = -1
"""All kinds of terms, as a set (see `kinds_in`)."""


@dataclass(frozen=True)
class Beginning:
    """A tactic that applies to no term but those which `may` say yes to, at a look: most places need no more.

    Of the kinds of terms (see `kinds_in`) it applies to `kinds` only, and changes something of `acts` only.  One that is
    `context_free` applies, or not, by what stands at its place, whatever that stands in.
    """

    __name__: ClassVar[str] = "tactic"

    tactic: Tactic
    may: Callable[[Term], bool]
    kinds: int = ANY
    acts: int = ANY
    context_free: bool = False

    def __call__(self, at: Rewriting, place: Position) -> Rewriting:
        return self.tactic(at, place)


def at_kinds(*kinds: type[Term]) -> Callable[[Tactic], Tactic]:
    """A tactic that raises `NoMatch` at terms of all other kinds, so that it need not be tried there."""
    mask = reduce(or_, map(mask_of, kinds))

    def of(tactic: Tactic) -> Tactic:
        def there(at: Rewriting, place: Position) -> Rewriting:
            if not isinstance(term_at(at.term, place), kinds):
                raise NoMatch(f"no {' or '.join(kind.__name__ for kind in kinds)} stands here")
            return tactic(at, place)

        return Beginning(there, lambda t: isinstance(t, kinds), mask, mask)

    return of


def context_free(tactic: Tactic) -> Tactic:
    """A tactic that looks at nothing but what stands at its place, so that it need not be tried there again in another term."""
    if isinstance(tactic, Beginning):
        return replace(tactic, context_free=True)
    return Beginning(tactic, lambda t: True, context_free=True)


def _are_context_free(*tactics: Tactic) -> bool:
    return all(t is skip or (isinstance(t, Beginning) and t.context_free) for t in tactics)


def may_apply(tactic: Tactic, t: Term) -> bool:
    """Whether a tactic may apply to a term, as far as a look says."""
    return not isinstance(tactic, Beginning) or tactic.may(t)


def kinds_of(tactic: Tactic) -> int:
    """The kinds of terms that a tactic may apply to."""
    return tactic.kinds if isinstance(tactic, Beginning) else ANY


def _acts(tactics: Sequence[Tactic]) -> int:
    """The kinds of terms of which one of several tactics may change something."""
    done = (t for t in tactics if t is not skip)
    return reduce(or_, (t.acts if isinstance(t, Beginning) else ANY for t in done), 0)


Kind = TypeVar("Kind", bound=Term)


def the(kind: type[Kind], at: Rewriting, place: Position) -> Kind:
    """The term of a kind that stands at a place; raises `NoMatch` where another does."""
    t = term_at(at.term, place)
    if not isinstance(t, kind):
        raise NoMatch(f"no {kind.__name__} stands here")
    return t


def _here(at: Rewriting, place: Position) -> Term | None:
    """What stands at a place, if there is one."""
    with suppress(KeyError):
        return term_at(at.term, place)
    return None


MOST_REPETITIONS = 1000
"""`repeat` of a tactic that applies forever is stopped with an error after as many times."""

MOST_PARTS = 1 << 11
"""A term of more parts is searched for no place.

Ten steps of a stencil, each in the windows of the next, have 3^10; what searches of the examples come to has up to 400."""

LONG = MOST_PARTS // 2
"""A term of more parts is made shorter, for what is done with it adds to it."""


def derive(
    program: Program,
    tactic: Tactic,
    sizes: Mapping[str, int] | None = None,
    policy: FloatPolicy = "reassociate",
) -> Derivation:
    """The derivation that a tactic makes of a program at the given sizes; raises `NoMatch`.

    >>> from relift.rewrites.library import RULES
    >>> from relift.rewrites.tactics.combinators import apply, derive
    >>> from relift.rewrites.loading import load_program
    >>> found = derive(load_program("examples/saxpy.py"), apply("split_join", m=4), {"n": 64})
    >>> [step.rule for step in found.steps], len(found.replay(RULES))
    (['split_join'], 2)
    """
    at_sizes = program.at(sizes or {})
    done = tactic(Rewriting(at_sizes.body, policy), ())
    return Derivation(program, sizes or {}, done.steps, done.term, policy)


@dataclass
class Furthest:
    """Where a tactic that raised `NoMatch` had come to: the last rule that did not apply after the most steps."""

    at: Rewriting | None = None
    failure: NoMatch | None = None

    def told(self) -> str:
        """After how many steps, and what the rule says that did not apply then."""
        if self.at is None or self.failure is None:
            return "no rule was tried"
        steps = [step.rule for step in self.at.steps]
        after = f"after {len(steps)} step{'s' * (len(steps) != 1)}" + (
            f" ({', '.join(steps[-3:])})" if steps else ""
        )
        return f"{after}: {self.failure.message}"


_watched: ContextVar[Furthest | None] = ContextVar("where tactics stop", default=None)


@contextmanager
def watched() -> Generator[Furthest]:
    """Keep where the tactics that are run inside stop."""
    found = Furthest()
    token = _watched.set(found)
    try:
        yield found
    finally:
        _watched.reset(token)


def _note(at: Rewriting, failure: NoMatch) -> None:
    """Remember a failure that came later than others."""
    kept = _watched.get()
    if kept is not None and (kept.at is None or len(at.steps) >= len(kept.at.steps)):
        kept.at, kept.failure = at, failure


def apply(
    rule: str | Rule,
    direction: Direction = "forward",
    parts: Mapping[str, Position] | None = None,
    given: Mapping[str, Term] | None = None,
    **choices: int,
) -> Tactic:
    """The rule, or that of the library of this name; `choices`, `parts` and `given` are what it leaves open (see `apply_rule`)."""
    known = rule if isinstance(rule, Rule) else _of_the_library(rule)
    if parts is not None or given is not None:
        return _application(known, direction, parts or {}, given or {}, choices)
    key = id(known), direction, *choices.items()
    if key not in _alone or _alone[key][0] is not known:
        _alone[key] = known, _application(known, direction, {}, {}, choices)
    return _alone[key][1]


_alone: dict[Hashable, tuple[Rule, Tactic]] = {}
"""What applies a rule with these choices: one tactic, whichever others are put together from it."""


def _application(
    known: Rule,
    direction: Direction,
    parts: Mapping[str, Position],
    given: Mapping[str, Term],
    choices: Mapping[str, int],
) -> Tactic:
    def tactic(at: Rewriting, place: Position) -> Rewriting:
        try:
            t, substitution = applied(
                known, at.term, place, direction, parts, choices, at.policy, given
            )
        except NoMatch as failure:
            _note(at, failure)
            raise
        step = Step(known.name, direction, place, substitution, choices, parts)
        return replace(at, term=t, steps=(*at.steps, step))

    before, _ = known.side(direction)
    kinds = ANY if isinstance(before, Metavariable) else mask_of(type(before))
    return Beginning(tactic, partial(may_match, known, direction), kinds, kinds, context_free=True)


def _of_the_library(name: str) -> Rule:
    if name not in RULES:
        near = did_you_mean(str(name), RULES) or "; relift ledger lists the library"
        raise ReliftError(f"there is no rule {str(name)[:40]}{near}")
    return RULES[name]


def fission(*part: str, beside: bool = False) -> Tactic:
    """A part of what a map computes has a map of its own; the rest goes through what that gives, `beside` the elements where it needs them.

    What is not total, as a scatter, goes there by a name: where the rest computes it surely, nothing is computed that was not.
    """
    named = inside(part[0])(under_a_name(*part[1:]))
    if beside:
        by_a_name = then(named, apply("map_let_fission"))
        return first(apply("map_fission_with_zip", parts={"g": part}), by_a_name)
    alone = apply("map_fusion", "backward", parts={"g": part})
    return first(alone, then(named, apply("map_let_fission_alone")))


def under_a_name(*part: str) -> Tactic:
    """A part of a term has a name around the rest."""
    return apply("let_inline", "backward", parts={"x": part})


def then(*tactics: Tactic) -> Tactic:
    """One after the other, at the same place."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        for each in tactics:
            at = each(at, place)
        return at

    return Beginning(
        tactic,
        lambda t: all(may_apply(each, t) for each in tactics[:1]),
        kinds_of(tactics[0]) if tactics else ANY,
        _acts(tactics),
        _are_context_free(*tactics),
    )


def first(*tactics: Tactic) -> Tactic:
    """The first that applies; raises what the last one says."""
    if len(tactics) == 1:
        return tactics[0]

    @cache
    def of_kind(mask: int) -> list[Tactic]:  # but for the last
        return [each for each in tactics[:-1] if kinds_of(each) & mask]

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        here = None if _watched.get() is not None else _here(at, place)
        for each in tactics[:-1] if here is None else of_kind(mask_of(type(here))):
            if here is not None and not may_apply(each, here):
                continue
            try:
                return each(at, place)
            except TooLarge:
                raise
            except NoMatch:
                continue
        return tactics[-1](at, place)

    def may(t: Term) -> bool:
        return any(may_apply(each, t) for each in (*of_kind(mask_of(type(t))), tactics[-1]))

    kinds = reduce(or_, map(kinds_of, tactics), 0)
    return Beginning(tactic, may, kinds, _acts(tactics), _are_context_free(*tactics))


def skip(at: Rewriting, place: Position) -> Rewriting:
    """Nothing."""
    return at


def attempt(tactic: Tactic) -> Tactic:
    """The tactic if it applies, otherwise nothing."""
    return first(tactic, skip)


def repeat(tactic: Tactic) -> Tactic:
    """As often as it applies; raises `NoMatch` after MOST_REPETITIONS times."""

    def repeated(at: Rewriting, place: Position) -> Rewriting:
        for _ in range(MOST_REPETITIONS):
            try:
                at = tactic(at, place)
            except TooLarge:
                raise
            except NoMatch:
                return at
        raise NoMatch(f"a tactic still applies after {MOST_REPETITIONS} times; it seems to loop")

    return context_free(repeated) if _are_context_free(tactic) else repeated


def inside(*fields: str) -> Callable[[Tactic], Tactic]:
    """A place below this one: `inside("f", "xs")` is the data of the function's body."""

    def moved(tactic: Tactic) -> Tactic:
        def there(at: Rewriting, place: Position) -> Rewriting:
            try:
                term_at(at.term, (*place, *fields))
            except KeyError:
                raise NoMatch(f"there is no place {'.'.join(fields)} here") from None
            return tactic(at, (*place, *fields))

        return context_free(there) if _are_context_free(tactic) else there

    return moved


def topdown(tactic: Tactic, closed: type[Term] | None = None) -> Tactic:
    """At the outermost place where it applies, and at none below terms of the kind `closed`.

    Raises `NoMatch` when there is none, `TooLarge` where there are too many.
    """
    remembers = _are_context_free(tactic)

    def somewhere(at: Rewriting, place: Position) -> Rewriting:
        here = term_at(at.term, place)
        if parts_of(here) > MOST_PARTS:
            raise TooLarge(f"a term of more than {MOST_PARTS} parts is not searched")
        told = _watched.get() is not None  # then what each place says is kept
        # a rule may not apply where the whole has open cells, and apply where it has none
        remembered = remembers and not told and not has_open_cells(at.term)
        left = left_by(tactic, at.policy, closed) if remembered else None
        for below, t in places_beside(left, here, ANY if told else kinds_of(tactic), closed):
            if not (told or may_apply(tactic, t)):
                continue
            known_at(at.term, (*place, *below), t)
            try:
                return tactic(at, (*place, *below))
            except TooLarge:
                raise
            except NoMatch:
                continue
        raise NoMatch("the tactic applies nowhere")

    return context_free(somewhere) if remembers else somewhere


def somewhere(tactic: Tactic) -> Tactic:
    """As often as it applies below the place, and at least once: raises what `topdown` raises where it does not."""
    return then(topdown(tactic), repeat(topdown(tactic)))


def any_rule(*steps: str | Tactic) -> Tactic:
    """The first of several that applies, of which rules are named."""
    return first(*(apply(step) if isinstance(step, str) else step for step in steps))


def normalize(*steps: str | Tactic) -> Tactic:
    """The first of several that applies somewhere below the place, as often as one does; rules are named.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive, normalize
    >>> @rl.program
    ... def doubled(x: rl.f32[8]):
    ...     return rl.map(lambda v: v + v, rl.map(lambda v: v * v, rl.join(rl.split(2, x))))
    >>> [step.rule for step in derive(doubled, normalize("map_fusion", "join_split")).steps]
    ['map_fusion', 'join_split']
    """
    return repeat(topdown(any_rule(*steps)))


def everywhere(tactic: Tactic) -> Tactic:
    """Once at every place, outermost first; inside what it makes, too."""

    tried, acts = attempt(tactic), _acts((tactic,))

    def all_below(at: Rewriting, place: Position) -> Rewriting:
        return visited(at, place, term_at(at.term, place))

    def visited(at: Rewriting, place: Position, here: Term) -> Rewriting:
        if _watched.get() is None and not kinds_in(here) & acts:
            return at
        before = at.term
        known_at(before, place, here)
        at = tried(at, place)
        if at.term is not before:
            here = term_at(at.term, place)
        for field, below, _ in inside_of(here):  # what is done to one leaves the others as they are
            at = visited(at, (*place, field), below)
        return at

    return all_below


def nest(outermost: Tactic, *inner: Tactic) -> Tactic:
    """A tactic for each of nested maps, outermost first."""
    return then(outermost, inside("f")(nest(*inner))) if inner else outermost


def copy(*levels: Tactic, rest: Tactic = skip) -> Tactic:
    """An array copied by nested maps, each given to whom its tactic says; `rest` is for the elements."""
    return nest(*(then(apply("insert_copy"), level) for level in levels), rest)


UNROLLED: Tactic = apply("map_to_seq_unroll")
"""A map whose turns are written out."""


# ---- macro rules


def vectorize_reduction(width: int) -> Tactic:
    """A reduction by `width` lanes, whose results are reduced at the end; LIFT's vectorizeReduce."""
    return apply("vectorize_reduce", w=width)


def fuse() -> Tactic:
    """Maps are fused, and reductions made sequential and fused, as scans are, with the maps before them."""
    return normalize("map_fusion", "reduce_to_seq", "reduce_map_fusion", "scan_map_fusion")
