"""States of arrays and numbers: the numbers that need no array are known for all steps before the arrays are.

reduce_seq (\\(y, z) x. (f y z x, g z x)) (y, z) xs  =  (reduce_seq (\\y (z, x). f y z x) y (zip zs xs), reduce_seq g z xs)

where zs is what z was before each step.  The arrays are then computed of what is the same for each element.
Source: Meijer, Fokkinga and Paterson, FPCA'91, mutual recursion; Bird, theory of lists, folds of scans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    LONG,
    MOST_PARTS,
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    curried,
    everywhere,
    inside,
    repeat,
    skip,
    somewhere,
    then,
    under_a_name,
)
from relift.rewrites.tactics.folds.recurrences import by_operators
from relift.rewrites.tactics.spelled_out import component_of_a_tuple
from relift.rewrites.tactics.steps.iterations import as_fold, of_elements, rolled, step_of
from relift.semantics.patterns import Iterate, Let, Reduce, ReduceSeq, ScanSeq
from relift.semantics.syntax.binding import Position, places_of, term_at
from relift.semantics.syntax.places import in_row
from relift.semantics.syntax.terms import (
    Apply,
    Combine,
    Get,
    MakeTuple,
    Term,
    Var,
    distinct,
    parts_of,
)
from relift.semantics.syntax.types import Array, Tuple, holds_array


def numbers_apart() -> Tactic:
    """A fold to arrays and numbers whose arrays change element by element is one of numbers, and one for each element; raises `NoMatch` where none is.

    Of numbers that need no array, and of at most six components in all.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.steps.states import numbers_apart
    >>> @rl.program
    ... def swung(y: rl.f32[8]):
    ...     def later(s):
    ...         return rl.map(lambda v: v * s[1], s[0]), s[1] + 0.5
    ...     return rl.iterate(4, later, (y, 1.0))[0]
    >>> print(rl.show(derive(swung, numbers_apart()).result))
    map(
      lambda z:
        reduce_seq(
          lambda x, y_: x * y_[0][0],
          z,
          zip(scan_seq(lambda x, y_: (x[1], x[1] + 0.5), (1.0, 1.0), repeat(4, 0)), repeat(4, 0))
        ),
      y
    )
    """
    return somewhere(at_kinds(Iterate, ReduceSeq)(_apart))


def _apart(at: Rewriting, place: Position) -> Rewriting:
    whole, t = place, term_at(at.term, place)
    state, _ = step_of(t)
    if not isinstance(state.type, Tuple) or not holds_array(state.type):
        raise NoMatch("no steps from arrays and numbers to such")
    if isinstance(t, Iterate) and t.m.constant == 0:
        return apply("iterate_none")(at, place)
    at = as_fold(at, place)
    arrays, numbers = _order(*step_of(term_at(at.term, place)))
    regrouped = _regrouped(len(state.type.parts), arrays, numbers)
    at, place = rolled(regrouped, at, place)
    at, place = rolled(skip, apply("reduce_seq_after")(at, place), place)
    running = term_at(at.term, place)
    at = then(inside("x")(apply("let_inline")), apply("let_inline"))(at, whole)
    return _of_running(*_read(at, whole), running)


def _read(at: Rewriting, place: Position) -> tuple[Rewriting, Position]:
    """Of what is made of components, the one that is read, where one is; and where it stands then."""
    while (
        place
        and isinstance(term_at(at.term, place), MakeTuple)
        and isinstance(term_at(at.term, place[:-1]), Get)
    ):
        at, place = component_of_a_tuple(at, place[:-1]), place[:-1]
    return at, place


def _of_running(at: Rewriting, place: Position, running: Term) -> Rewriting:
    """What is read of numbers before and after each step, and of arrays beside them: the numbers alone, and the arrays for each element."""
    for below in places_of(term_at(at.term, place), _component(running, 0)):
        at = _alone(at, (*place, *below))
    arrays = places_of(term_at(at.term, place), _component(running, 1))
    for below in arrays:
        at = _scanned(at, (*place, *below))
    return of_elements()(at, place) if arrays else at


def _order(state: Var, step: Term) -> tuple[Sequence[int], Sequence[int]]:
    """Which components of a state are arrays, and which are numbers that need numbers alone; raises `NoMatch` where there are others."""
    if not isinstance(step, MakeTuple):
        raise NoMatch("a step that is not made of components")
    reads = [_components_read(part, state) for part in step.parts]
    numbers = {i for i, part in enumerate(step.parts) if not holds_array(part.type)}
    while any(not reads[i] <= numbers for i in numbers):
        numbers = {i for i in numbers if reads[i] <= numbers}
    arrays = [i for i, _ in enumerate(step.parts) if i not in numbers]
    if not numbers or not all(isinstance(step.parts[i].type, Array) for i in arrays):
        raise NoMatch("no arrays beside numbers that need none")
    return arrays, sorted(numbers)


def _components_read(t: Term, state: Var) -> set[int]:
    """Which components of a tuple a term reads."""
    assert isinstance(state.type, Tuple), "cannot happen: it has components"
    found: set[int] = set()
    for place in places_of(t, state):
        above = term_at(t, place[:-1]) if place else t
        if not isinstance(above, Get):
            return set(range(len(state.type.parts)))
        found.add(above.index)
    return found


@curried
def _regrouped(
    at: Rewriting, place: Position, count: int, arrays: Sequence[int], numbers: Sequence[int]
) -> Rewriting:
    """A tuple is taken apart from a pair: of its arrays, or the one that there is, and of its numbers."""
    at, whole = _named(at, place)
    body = (*place, "f")
    at = of_components(count)(at, body)
    at = _under_one_name([_component(whole, i) for i in arrays])(at, body)
    at = _under_one_name([_component(whole, i) for i in numbers])(at, (*body, "f"))
    return then(inside("f")(apply("let_let_pair")), apply("let_inline"))(at, place)


def components_apart(*, again: bool = True) -> Tactic:
    """A fold in order to a tuple each of whose components needs itself alone is a fold by an operator for each; raises `NoMatch` where none is.

    Their laws hold then: a sum and a largest element are folded in chunks, whatever loop they are written as.  What components have
    in common each computes `again`, where the fold is long; else none is apart that has much in common with others.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.steps.states import components_apart
    >>> @rl.program
    ... def both(x: rl.f32[8]):
    ...     return rl.reduce_seq(lambda a, v: (a[0] + v, rl.maximum(a[1], v)), (0.0, -1.0), x)
    >>> rl.show(derive(both, components_apart()).result)
    '(reduce(add, 0.0, x), reduce(maximum, -1.0, x))'
    """
    return somewhere(at_kinds(ReduceSeq)(partial(_components_apart, again=again)))


def _components_apart(at: Rewriting, place: Position, *, again: bool) -> Rewriting:
    at = inside("f")(repeat(apply("let_inline")))(at, place)
    t = term_at(at.term, place)
    state, step = step_of(t)
    if not isinstance(state.type, Tuple) or holds_array(state.type):
        raise NoMatch("no fold to a tuple of numbers")
    if not isinstance(step, MakeTuple) or any(
        not _components_read(part, state) <= {i} for i, part in enumerate(step.parts)
    ):
        raise NoMatch("a component that needs another")
    is_long = (t.solved["n"].constant or 0) >= _LONG_FOLD if isinstance(t, ReduceSeq) else False
    if _in_common(step.parts) > _LITTLE and not (again and is_long):
        raise NoMatch("components that are computed of much in common")
    if parts_of(at.term) + len(step.parts) * parts_of(step) > MOST_PARTS:
        raise NoMatch("a term of too many parts, on the way to a fold for each component")
    at = _each_alone(at, place, len(step.parts))
    for i, _ in enumerate(step.parts):
        at = by_operators()(at, (*place, in_row("parts", i)))
        if not isinstance(term_at(at.term, (*place, in_row("parts", i))), Reduce):
            raise NoMatch("a component that is folded in order")
    if parts_of(at.term) > LONG:
        raise NoMatch("a long term, were each component folded alone")
    return _read(at, place)[0]


_LITTLE, _LONG_FOLD = 4, 256
"""Operations in common that each may compute again, of however short folds; of long ones several work-items share each, in one loop for all."""


def _in_common(parts: Sequence[Term]) -> int:
    """How many operations several components have in common."""
    each = [{u for u in distinct(part) if isinstance(u, Apply | Combine)} for part in parts]
    return sum(map(len, each)) - len(set[Term]().union(*each))


def _each_alone(at: Rewriting, place: Position, count: int) -> Rewriting:
    """A fold to so many components that do not need one another is a tuple of folds: the last and the others are a pair."""
    if count == 2:
        return apply("reduce_banana_split", "backward")(at, place)
    at, pair = rolled(_regrouped(count, range(count - 1), [count - 1]), at, place)
    at = apply("reduce_banana_split", "backward")(at, pair)
    at = _each_alone(at, (*pair, in_row("parts", 0)), count - 1)
    return then(apply("let_inline"), everywhere(attempt(component_of_a_tuple)))(at, place)


def flat_states() -> Tactic:
    """A fold, or a scan, to arrays in tuples of tuples goes from one tuple to one, of six components at most; raises `NoMatch` where none is.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.steps.states import flat_states
    >>> @rl.program
    ... def paired(x: rl.f32[8], y: rl.f32[8]):
    ...     return rl.iterate(4, lambda s: ((s[0][1], s[0][0]), s[1] + 1), ((x, y), 0))
    >>> rl.show(derive(paired, flat_states()).result.parts[1].of)
    'reduce_seq(lambda q, x_: (q[1], q[0], q[2] + 1), (x, y, 0), repeat(4, 0))'
    """
    return somewhere(at_kinds(Iterate, ReduceSeq, ScanSeq)(_flat))


def _flat(at: Rewriting, place: Position) -> Rewriting:
    state, _ = step_of(term_at(at.term, place))
    nested = isinstance(state.type, Tuple) and any(isinstance(p, Tuple) for p in state.type.parts)
    if not nested or not holds_array(state.type):
        raise NoMatch("no steps from arrays in tuples of tuples")
    at, _ = rolled(_flattened, as_fold(at, place), place)
    if isinstance(term_at(at.term, place), Let):
        at, _ = _read(apply("let_inline")(at, place), place)
    return at


def _flattened(at: Rewriting, place: Position) -> Rewriting:
    """A tuple of tuples is taken apart from a tuple of what they hold."""
    at, whole = _named(at, place)
    at = _spelled(at, (*place, "f"))
    at = _under_one_name(list(_leaves(whole)))(at, (*place, "f"))
    return apply("let_inline")(at, place)


def _named(at: Rewriting, place: Position) -> tuple[Rewriting, Var]:
    """A term has a name, of which nothing is said yet."""
    at = under_a_name()(at, place)
    t = term_at(at.term, place)
    assert isinstance(t, Let), "cannot happen: it was given a name"
    return at, t.f.parameters[0]


def _spelled(at: Rewriting, place: Position) -> Rewriting:
    """A tuple is made of its components, and they of theirs."""
    t = term_at(at.term, place)
    if isinstance(t.type, Tuple):
        at = of_components(len(t.type.parts))(at, place)
        for i, _ in enumerate(t.type.parts):
            at = _spelled(at, (*place, in_row("parts", i)))
    return at


def _leaves(t: Term) -> Iterator[Term]:
    """The components of a tuple, and those of these, but no tuples."""
    if isinstance(t.type, Tuple):
        for i, _ in enumerate(t.type.parts):
            yield from _leaves(_component(t, i))
    else:
        yield t


def of_components(count: int) -> Tactic:
    """A tuple of so many components is made of them; raises `NoMatch` where they are too many."""
    if not 2 <= count < 2 + len(_TUPLES):
        raise NoMatch(f"{count} components, where 2 to {1 + len(_TUPLES)} may be regrouped")
    return apply(_TUPLES[count - 2] + "_of_components", "backward")


_TUPLES = ("pair", "triple", "tuple_of_four", "tuple_of_five", "tuple_of_six")


def _under_one_name(values: Sequence[Term]) -> Tactic:
    """These values, each of which stands somewhere, are the components of a tuple that has a name; one of them has the name alone."""
    if len(values) >= 2 + len(_TUPLES):
        raise NoMatch(f"{len(values)} components, where {1 + len(_TUPLES)} may have one name")

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        for before, value in enumerate(values):
            here = (*place, "f") if before else place
            (found, *_) = places_of(term_at(at.term, here), value)
            at = under_a_name(*found)(at, here)
            if before:
                at = apply(f"let_let_{_TUPLES[before - 1]}")(at, place)
        return at

    return tactic


def _component(of: Term, index: int) -> Get:
    assert isinstance(of.type, Tuple), "cannot happen: it has components"
    return Get(index, of, of.type.parts[index])


def _alone(at: Rewriting, place: Position) -> Rewriting:
    """What numbers are after the last step, of what they were before and after it: a fold of their own."""
    at = inside("of", "f")(apply("let_inline"))(at, place)
    place = place[:-1]
    return then(
        inside("of")(apply("reduce_seq_first_alone")),
        apply("reduce_seq_second_alone"),
        inside("xs")(apply("zip_same")),
        apply("reduce_map_fusion"),
        attempt(apply("iterate_as_fold", "backward")),
    )(at, place)


def _scanned(at: Rewriting, place: Position) -> Rewriting:
    """Arrays are folded of what numbers are before and after each step, which are scanned."""
    below = ("of", "f", "f", in_row("parts", 1), "x")
    at = apply("reduce_scan_fusion_in_zip", "backward", parts={"g": below})(at, place)
    return inside("f")(apply("let_inline"))(at, place)
