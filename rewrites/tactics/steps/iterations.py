"""Iterations whose steps may be kernels: those on rows as ones on tables, and folds to an array, step by step.

And those whose steps need be none, as they change each element on its own: one for each element.

iterate m (map f) xs               =  map (iterate m f) xs
reduce_seq (\\ys x. map (\\y. f y x) ys) zs xs  =  map (\\z. reduce_seq f z xs) zs
map (iterate m f) xs               =  iterate m (map f) xs
map (\\x. e x (iterate m f (h x))) xs  =  map (\\(x, y). e x y) (zip xs (iterate m (map f) (map h xs)))
reduce_seq f z xs                  =  second of iterate n (\\(i, acc). (i + 1, f acc (at i xs))) (0, z)

Source: Bird, theory of lists, map promotion; folds as loops with a counter.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    curried,
    everywhere,
    first,
    fission,
    inside,
    kinds_of,
    may_apply,
    repeat,
    somewhere,
    then,
)
from relift.rewrites.tactics.nests.zips import by_owner, each_once, zipped_together
from relift.rewrites.tactics.sharing import has_fold, named_pair
from relift.rewrites.tactics.spelled_out import component_of_a_let, component_of_a_tuple
from relift.rewrites.tactics.transpositions import columns
from relift.semantics.patterns import (
    Accumulating,
    Iterate,
    Let,
    Map,
    ReduceSeq,
    ScanSeq,
    Stepping,
    Zip,
)
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    is_invariant,
    positions,
    term_at,
)
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Term, Var, free_variables
from relift.semantics.syntax.types import Array, Tuple, Type, cells, holds_array


def of_tables() -> Tactic:
    """What a map iterates on an array for each of its elements is iterated on all of them; raises `NoMatch` where none does.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.steps.iterations import of_tables
    >>> @rl.program
    ... def halved(x: rl.f32[4, 8]):
    ...     return rl.map(lambda r: rl.iterate(3, lambda y: rl.map(lambda v: v * 0.5, y), r), x)
    >>> rl.show(derive(halved, of_tables()).result)
    'iterate(3, lambda ys: map(lambda x_: map(lambda v: v * 0.5, x_), ys), x)'
    """

    def once(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        below = _iterated(t)
        if below != ("f",):
            at = fission(*below, beside=True)(at, place)
            place = (*place, "xs", "ys")
            t = term_at(at.term, place)
        if not _is_of_the_element(t):
            at = fission("f", "x")(at, place)
        return apply("iterate_map", "backward")(at, place)

    return somewhere(once)


MOST_STEPS = 1 << 12
"""Elements of a fold at most whose steps are kernels: each is a launch of its own, which is listed."""


def of_steps() -> Tactic:
    """A fold to an array outside all functions is an iteration that counts; raises `NoMatch` where there is none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.steps.iterations import of_steps
    >>> @rl.program
    ... def decayed(z: rl.f32[8], x: rl.f32[4]):
    ...     return rl.reduce_seq(lambda a, v: rl.map(lambda w: w * v, a), z, x)
    >>> rl.show(derive(decayed, of_steps()).result)
    'iterate(4, lambda s: (s[0] + 1, map(lambda w: w * at_runtime_unsafe(s[0], x), s[1])), (0, z))[1]'
    """

    def once(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, ReduceSeq) or not holds_array(t.type) or free_variables(t):
            raise NoMatch("no fold to an array outside all functions")
        if _turns(t) > MOST_STEPS:
            raise NoMatch("a fold of too many steps for a launch each")
        return apply("reduce_seq_iterate")(at, place)

    return somewhere(once)


def of_elements(*, scans: bool = True) -> Tactic:
    """What an iteration, or a fold, changes element by element is iterated for each element; raises `NoMatch` where nothing is.

    And a scan, but without `scans`.  However deep the elements lie, which are numbers, or tuples of them: steps whose elements are rows are worth a kernel.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.steps.iterations import of_elements
    >>> @rl.program
    ... def decayed(z: rl.f32[8], w: rl.f32[8], x: rl.f32[4]):
    ...     return rl.reduce_seq(lambda a, v: rl.map(lambda p: p[0] * v + p[1], rl.zip(a, w)), z, x)
    >>> rl.show(derive(decayed, of_elements()).result)
    'map(lambda p: reduce_seq(lambda y, x_: (y * x_) + p[1], p[0], x), zip(z, w))'
    """

    def once(at: Rewriting, place: Position, many: bool = False) -> Rewriting:
        t = term_at(at.term, place)
        state, _ = step_of(t)
        many = many or (cells(state.type).constant or _MANY) >= _MANY
        if isinstance(t, ScanSeq) and not scans:
            raise NoMatch("a scan of rows, each in vectors")
        if not holds_array(state.type):
            raise NoMatch("steps from number to number")
        alone = binders_at(at.term, place) or _turns(t) > MOST_STEPS
        if alone and _elements(state.type) < _HELD:
            raise NoMatch("a work-item holds so few elements, and computes what they share once")
        if not isinstance(state.type, Tuple):
            return each(at, place, many)
        at, one = _of_one_array(at, place)
        at = each(at, one, many)
        at = attempt(inside("f")(apply("iterate_as_fold", "backward")))(at, one)
        read = then(component_of_a_let, apply("let_inline"))
        return attempt(read)(at, place[:-1])

    def each(at: Rewriting, place: Position, many: bool) -> Rewriting:
        state, _ = step_of(term_at(at.term, place))
        together = then(
            repeat(apply("let_inline")), repeat(_innermost(_maps_of(state.name))), _of_one_map
        )
        at = inside("f")(together)(at, place)
        at = inside("f")(attempt(by_owner(lambda array: array == canonical(state))))(at, place)
        at = repeat(_of_steps_alone)(at, place)
        t = term_at(at.term, place)
        at = apply(_rule(t))(at, place)
        if isinstance(t, ScanSeq):
            place = (*place, "xss")
        if many:
            at = attempt(_COLUMNS_WHERE_READ)(at, place)
        element, _ = step_of(term_at(at.term, (*place, "f")))
        deeper = inside("f")(partial(once, many=many))
        return deeper(at, place) if holds_array(element.type) else at

    return somewhere(at_kinds(Iterate, ReduceSeq, ScanSeq)(once))


_MANY = 1 << 14
"""With so many cells of a state work-items are busy: what their steps compute of a row need not be computed before."""

_STRAIGHT: Tactic = everywhere(attempt(apply("transpose_transpose")))
_COLUMNS_WHERE_READ: Tactic = then(
    inside("xs", "ys")(then(columns, _STRAIGHT)),
    inside("xs")(apply("zip_map_right")),
    apply("map_fusion"),
)
"""The columns of the rows that steps compute, each of which one element of the state reads, are computed where it does."""

_HELD = 32
"""Elements of which a work-item may hold fewer, those of an iteration in a function."""


def _elements(state: Type) -> float:
    """How many elements a state has, an array or several of a length."""
    array = state.parts[0] if isinstance(state, Tuple) else state
    return float(array.length.constant or math.inf) if isinstance(array, Array) else 0.0


def _of_one_array(at: Rewriting, place: Position) -> tuple[Rewriting, Position]:
    """Steps whose state is several arrays of a length have one, of tuples; and where they stand then."""
    t = term_at(at.term, place)
    state, _ = step_of(t)
    assert isinstance(state.type, Tuple), "cannot happen: nothing else is several arrays"
    zipped = zipped_together(len(state.type.parts))
    return rolled(zipped, as_fold(at, place), place)


def as_fold(at: Rewriting, place: Position) -> Rewriting:
    """An iteration is a fold, and the step of a fold, or of a scan, begins with no name."""
    if isinstance(term_at(at.term, place), Iterate):
        at = apply("iterate_as_fold")(at, place)
    return repeat(apply("let_inline"))(at, (*place, "f"))


def rolled(restated: Tactic, at: Rewriting, place: Position) -> tuple[Rewriting, Position]:
    """A fold, or a scan, whose state is `restated` as what something is seen as goes from that thing to it; and where it stands then."""
    scan = isinstance(term_at(at.term, place), ScanSeq)
    at = then(inside("f")(restated), inside("init")(restated))(at, place)
    at = apply("scan_seq_rolled" if scan else "reduce_seq_rolled")(at, place)
    place = (*place, "xs" if scan else "x")
    state, _ = step_of(term_at(at.term, place))
    said = then(everywhere(said_alone(state.name)), everywhere(component_of_a_tuple))
    return inside("f")(said)(at, place), place


def said_alone(name: str) -> Tactic:
    """What is said of a variable under another name, or of a component of what is, is said of it."""

    @at_kinds(Let)
    def inlined(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Let) or not isinstance(t.x, Var) or t.x.name != name:
            raise NoMatch("no other name of the variable")
        return apply("let_inline")(at, place)

    return first(then(component_of_a_let, inlined), inlined)


def _turns(t: Term) -> float:
    """How many steps there are, at least one."""
    assert isinstance(t, Stepping), "cannot happen: nothing else is asked for it"
    turns: Size = t.m if isinstance(t, Iterate) else t.solved["n"]
    return float(turns.constant or math.inf)


def _of_steps_alone(at: Rewriting, place: Position) -> Rewriting:
    """What a step folds of its own element alone is computed for all steps, and not for each element of the state again."""
    t = term_at(at.term, place)
    state, step = step_of(t)
    if not isinstance(t, Accumulating) or not isinstance(step, Map):
        raise NoMatch("no fold, so no element of a step")
    element = t.f.parameters[1]
    found = [
        u
        for below, u in positions(step.f.body)
        if has_fold(u) and element.name in free_variables(u)
        if not {state.name, *(x.name for x in step.f.parameters)} & free_variables(u)
        if is_invariant(step.f.body, below)
    ]
    if not found:
        raise NoMatch("a step folds nothing of its own element alone")
    fusion = "scan_map_fusion" if isinstance(t, ScanSeq) else "reduce_map_fusion"
    return then(
        inside("f")(named_pair(found[0], element)),
        apply(fusion, "backward", parts={"g": ("f", "x")}),
        inside("f")(apply("let_inline")),
    )(at, place)


def step_of(t: Term) -> tuple[Var, Term]:
    """What a step is given of the last one, and what it makes of it."""
    assert isinstance(t, Stepping), "cannot happen: nothing else is asked for it"
    return t.f.parameters[0], t.f.body


def _rule(t: Term) -> str:
    """The rule for steps that map the state: it alone, beside other arrays, or beside rows of their own."""
    assert isinstance(t, Stepping), "cannot happen: it has steps"
    state, step = step_of(t)
    assert isinstance(step, Map), "cannot happen: it goes through each array once"
    if state.name in free_variables(step.f.body):
        raise NoMatch("a step that does not change each element on its own")
    read, whole = step.xs, canonical(state)
    if canonical(read) == whole:
        return f"{t.name}_map"
    if (
        not isinstance(read, Zip)
        or canonical(read.xs) != whole
        or state.name in free_variables(read.ys)
    ):
        raise NoMatch("a step that reads more of the state than the element that it changes")
    elements = t.f.parameters[1:] if isinstance(t, Accumulating) else ()
    rows = {x.name for x in elements} & free_variables(read.ys)
    return f"{t.name}_map_rows" if rows else f"{t.name}_map_beside"


def _maps_of(state: str) -> Tactic:
    """What is computed of the elements of the state is one map, of all that it reads."""

    @at_kinds(Map, Zip)
    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        sides = [t.xs] if isinstance(t, Map) else [t.xs, t.ys] if isinstance(t, Zip) else []
        mapped = [isinstance(u, Map) and state in free_variables(u) for u in sides]
        if not any(mapped):
            raise NoMatch("nothing is computed of the elements of the state")
        if isinstance(t, Map):
            return apply("map_fusion")(at, place)
        side = apply("zip_map_left" if mapped[0] else "zip_map_right")
        return first(apply("zip_of_maps"), side)(at, place)

    return tactic


@curried
def _innermost(at: Rewriting, place: Position, tactic: Tactic) -> Rewriting:
    """At the innermost place where it applies, so that what is computed of one array is one map before it meets what is computed of others."""
    for below, t in reversed(list(positions(term_at(at.term, place), kinds_of(tactic)))):
        if may_apply(tactic, t):
            with suppress(NoMatch):
                return tactic(at, (*place, *below))
    raise NoMatch("the tactic applies nowhere")


def _of_one_map(at: Rewriting, place: Position) -> Rewriting:
    """A step that is one map goes through each array once."""
    if not isinstance(term_at(at.term, place), Map):
        raise NoMatch("a step that is no map")
    return each_once(at, place)


def _iterated(t: Term) -> Position:
    """Where in a map is an iteration on an array whose step is the same for all elements."""
    if isinstance(t, Map):
        own = frozenset(x.name for x in t.f.parameters)
        for below, u in positions(t.f.body):
            if not isinstance(u, Iterate) or not holds_array(u.type) or binders_at(t.f.body, below):
                continue
            state = frozenset(x.name for x in u.f.parameters)
            if free_variables(u.x) == own and free_variables(u.f.body) <= state - own:
                return ("f", *below)
    raise NoMatch("no map iterates on an array for each of its elements")


def _is_of_the_element(t: Term) -> bool:
    """Whether the function of a map iterates on what it is given as it is."""
    return isinstance(t, Map) and isinstance(t.f.body, Iterate) and t.f.body.x in t.f.parameters
