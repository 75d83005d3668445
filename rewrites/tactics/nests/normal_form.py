"""Tactics for nests: two parallel dimensions around a fold, whatever is done before the fold and after it.

However a program is written, with maps over zips, composed functions and transposes on the way, it becomes

    map_nd 2 e (zip_nd 2 (map (\\x. map (\\y. reduce_seq f z (zip x y)) ys) xs) us)

    together       maps that follow one another as one, also where a zip stands between them
    apart          the folds as a table of their own; the epilogue e after them, with what it needs of each cell in us
    bare           the folds go through their own arrays only, not through what is zipped with them
    straight       each fold goes through a zip of a row of xs and a row of ys, in this order

where us is a layout: rows, columns and cells of arrays, and what all cells share.  xs and ys are layouts too, or computed (a prologue).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    any_rule,
    apply,
    at_kinds,
    context_free,
    curried,
    first,
    fission,
    inside,
    repeat,
    then,
    topdown,
    under_a_name,
)
from relift.rewrites.tactics.nests.zips import by_owner
from relift.rewrites.tactics.transpositions import only
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Fold, Map, ReduceSeq, Reduction, Zip
from relift.semantics.syntax.binding import Position, binders_at, canonical, positions, term_at
from relift.semantics.syntax.terms import Get, Lambda, Term, Var, children, free_variables
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, dimensions, types_within


@dataclass(frozen=True)
class Nest:
    """A nest in a program: where its outer map is, the maps around it, the fold in its inner function."""

    place: Position
    around: tuple[Position, ...]
    outer: Map
    fold: Position

    @property
    def inner(self) -> Map:
        """The map over the second dimension."""
        assert isinstance(self.outer.f.body, Map), "cannot happen: `nest_in` checks this"
        return self.outer.f.body

    @property
    def folded(self) -> Reduction:
        """The fold of each cell."""
        found = term_at(self.inner.f.body, self.fold)
        assert isinstance(found, Reduction), "cannot happen: `nest_in` checks this"
        return found

    @property
    def lengths(self) -> tuple[int, int, int]:
        """How many rows, columns and steps it has; 0 for a size that is not fixed."""
        rows, columns, steps = (
            dimensions(t.xs.type)[0][0].constant or 0 for t in (self.outer, self.inner, self.folded)
        )
        return rows, columns, steps


def nest_in(t: Term, *, beside: bool = False) -> Nest | None:
    """The outermost nest of two maps around one fold of a scalar, which needs the elements of both.

    The fold may stand in several places; `beside` others, which do not need both.

    >>> from relift.rewrites.tactics.nests.normal_form import nest_in
    >>> from relift.rewrites.loading import load_program
    >>> product = load_program("examples/matmul.py").at({"n": 32, "m": 64, "k": 8})
    >>> found = nest_in(product.body)
    >>> found.place, found.lengths
    ((), (32, 64, 8))
    """
    for place, outer in positions(t):
        if not isinstance(outer, Map) or not isinstance(inner := outer.f.body, Map):
            continue
        cell, bound = inner.f.body, {x.name for x in (*outer.f.parameters, *inner.f.parameters)}
        if _is_deeper(cell, bound):
            continue
        folds = [each for each in _folds(cell) if not beside or _needs(cell, each, bound)]
        if len({canonical(term_at(cell, each)) for each in folds}) != 1:
            continue
        if _in_registers(term_at(cell, folds[0]).type) and _needs(cell, folds[0], bound):
            above = (place[:i] for i, field in enumerate(place) if field == "f")
            around = tuple(each for each in above if isinstance(term_at(t, each), Map))
            return Nest(place, around, outer, folds[0])
    return None


def _is_deeper(cell: Term, bound: set[str]) -> bool:
    """Whether a map, of whose elements the folds read too, is the whole cell: with the map around it, that is the nest."""
    if not isinstance(cell, Map) or set(free_variables(cell.xs)) & bound:
        return False
    inner = cell.f.body
    own = {x.name for x in cell.f.parameters}
    folds = list(_folds(inner))
    return bool(folds) and all(_needs(inner, each, bound | own) for each in folds)


def _needs(cell: Term, place: Position, bound: set[str]) -> bool:
    """Whether what is at a place of a cell needs all of these variables."""
    below = {x.name for x in binders_at(cell, place)}  # of the same names, maybe
    return bound <= free_variables(term_at(cell, place)) - below


def _in_registers(t: Type) -> bool:
    """Whether a work-item holds what is of this type in registers: a number, or a tuple of such."""
    return all(isinstance(part, Scalar | Tuple) for part in types_within(t))


def _folds(t: Term, place: Position = ()) -> Iterator[Position]:
    """Where the folds of a cell are, those in folds left out."""
    if isinstance(t, Reduction):
        yield place
        return
    for field, child in children(t):
        body = child.body if isinstance(child, Lambda) else child
        yield from _folds(body, (*place, field))


# ---- one nest


@cache
def together() -> Tactic:
    """Maps and reductions fused, also maps of which a zip is mapped over; folds go on reading their zips."""
    return repeat(first(_outside_folds(_zipped_map), fuse_once()))


@cache
def maps_together() -> Tactic:
    """The same of maps alone: what folds read, and how they fold it, stays as it is.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.normal_form import maps_together
    >>> @rl.program
    ... def doubled(x: rl.f32[4, 2]):
    ...     return rl.map(lambda v: v * 2.0, rl.map(lambda row: rl.reduce(rl.add, 0.0, row), x))
    >>> print(rl.show(derive(doubled, maps_together()).result))
    map(lambda x_: reduce(add, 0.0, x_) * 2.0, x)
    """
    return repeat(first(_outside_folds(_zipped_map), _outside_folds(apply("map_fusion"))))


def _outside_folds(tactic: Tactic) -> Tactic:
    """At the outermost place where it applies, but for what folds go through."""
    return topdown(tactic, closed=Reduction)


@cache
def fuse_once() -> Tactic:
    """The first of the rules of `fuse` that applies."""
    rules = ("map_fusion", "reduce_to_seq", "reduce_map_fusion")
    return topdown(any_rule(*rules))


@context_free
@at_kinds(Map)
def _zipped_map(at: Rewriting, place: Position) -> Rewriting:
    """A map over a zip of what a map computes."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not isinstance(t.xs, Zip) or is_layout(t.xs):
        raise NoMatch("no map over a zip of computed arrays")
    computed = [u for u in (t.xs.xs, t.xs.ys) if isinstance(u, Map) and not is_layout(u)]
    if any(isinstance(u.f.body.type, Tuple) for u in computed):
        raise NoMatch("each component of what is computed would be computed anew")
    moved = inside("xs")(any_rule("zip_map_left", "zip_map_right"))
    return then(moved, apply("map_fusion"))(at, place)


# ---- what is done with the results of the folds


@curried
def apart(at: Rewriting, place: Position, known: Nest | None = None) -> Rewriting:
    """The folds of a nest become a table of their own, and what is done with each result a map over it.

    With what it needs of the cell in a second table, of which nothing is stored.  Where nothing is done with the
    results, nothing changes.  The folds of a nest that is `known` may be by vectors.
    """
    nest = known or _nest_here(at, place)
    if not nest.fold:
        return at
    cell = (*place, "f", "f")
    own = frozenset(x.name for t in (nest.outer, nest.inner) for x in t.f.parameters)
    needed = len(_needed(term_at(at.term, cell), own))
    if not needed:
        after = ("f", *nest.fold)
        rows = inside("f")(fission(*after))
        return then(rows, fission("f", "xs"))(at, place)
    at = under_a_name(*nest.fold)(at, cell)
    body = (*cell, "f")
    for number in range(needed):
        here = (*body, *("f",) * number)
        lets = frozenset(x.name for x in binders_at(at.term, here)[-1 - number :])
        found = _needed(term_at(at.term, here), own - lets)[0]
        at = under_a_name(*found)(at, here)
    for number in reversed(range(needed - 1)):
        at = apply("let_let_pair")(at, (*body, *("f",) * number))
    parts = {"h": ("f", "f", "x"), "u": ("f", "f", "f", "x")}
    at = apply("map_map_fission_with_zip", parts=parts)(at, place)
    return inside("f", "f")(then(apply("let_inline"), apply("let_inline")))(at, place)


def _needed(cell: Term, own: frozenset[str]) -> list[Position]:
    """Where an epilogue reads a number of its row, its column or its cell, which are called so; each number once."""
    found: dict[Term, Position] = {}

    def visit(t: Term, place: Position, inner: frozenset[str]) -> None:
        if isinstance(t, Reduction):
            return
        free = free_variables(t)
        if not free & own:
            return
        if isinstance(t.type, Scalar) and is_layout(t) and not free & inner:
            found.setdefault(canonical(t), place)
            return
        for field, child in children(t):
            if isinstance(child, Lambda):
                names = frozenset(x.name for x in child.parameters)
                visit(child.body, (*place, field), inner | names)
            else:
                visit(child, (*place, field), inner)

    visit(cell, (), frozenset())
    return list(found.values())


# ---- what the folds read


def bare() -> Tactic:
    """A table goes through the arrays that it reads: what is zipped with them and not read goes."""
    return then(inside("f")(through_what_is_read()), through_what_is_read())


def through_what_is_read() -> Tactic:
    """A map over a zip, of which its function reads one component only, goes through that; the same for that."""
    return repeat(first(only(0), only(1), _one_part))


def _one_part(at: Rewriting, place: Position) -> Rewriting:
    """A map over a zip with a zip, of which the function reads one component only, is over a zip with that."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not isinstance(t.xs, Zip):
        raise NoMatch("no map over a zip")
    for index, zipped in enumerate((t.xs.xs, t.xs.ys)):
        if not isinstance(zipped, Zip):
            continue
        (y,) = t.f.parameters
        assert isinstance(zipped.type, Array), "cannot happen: it is a zip"
        whole = Get(index, Var(y.name, y.type), zipped.type.element)
        reads = [p for p, u in positions(t.f.body) if u == whole]
        gets = [term_at(t.f.body, p[:-1]) for p in reads if p]
        components = {u.index for u in gets if isinstance(u, Get)}
        if len(components) != 1 or len(gets) < len(reads):
            continue
        if index == 1:
            return then(inside("xs")(apply("zip_swap")), apply("map_fusion"))(at, place)
        part = ("f", *reads[0][:-1])
        chosen = apply(("zip_first", "zip_second")[components.pop()])
        return then(
            apply("map_fission_with_zip_outside", parts={"f": part}),
            inside("xs", "xs")(chosen),
        )(at, place)
    raise NoMatch("the function of the map reads all that is zipped")


def straight(at: Rewriting, place: Position) -> Rewriting:
    """Each fold of a table goes through a zip of an element of the outer array and of one of the inner array."""
    nest = _nest_here(at, place)
    if nest.fold:
        raise NoMatch("something is still done with the results of the folds")
    at = inside("f", "f")(_in_order(nest))(at, place)
    return then(_hoisted("xs"), _hoisted("ys"))(at, place)


def _in_order(nest: Nest) -> Tactic:
    """A fold over a zip of what belongs to the outer element, and then of what belongs to the inner one."""
    x, y = (each.f.parameters[0].name for each in (nest.outer, nest.inner))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, ReduceSeq) or not isinstance(t.xs, Zip):
            raise NoMatch("a nest needs folds that go through two arrays at once")
        if not _straight(t.xs, x, y):
            at = by_owner(lambda u: y not in free_variables(u))(at, place)
            t = term_at(at.term, place)
            assert isinstance(t, ReduceSeq), "cannot happen: it is the fold"
        if {x, y} & free_variables_of(t.f):
            at = _prologues_apart(frozenset((x, y)))(at, place)
        arrays = (term_at(at.term, (*place, "xs", field)) for field in ("xs", "ys"))
        used = [set(free_variables(u)) & {x, y} for u in arrays]
        if {y} not in used:
            raise NoMatch("no array of the fold belongs to the inner element alone")
        if used[0] == {y}:
            return then(inside("xs")(apply("zip_swap")), apply("reduce_map_fusion"))(at, place)
        return at

    return tactic


def _straight(t: Zip, x: str, y: str) -> bool:
    """Whether one array of a zip may depend on an outer element, and the other one on an inner element."""
    used = [set(free_variables(u)) & {x, y} for u in (t.xs, t.ys)]
    return {x, y} not in used and used.count({y}) == 1


@curried
def _prologues_apart(at: Rewriting, place: Position, elements: frozenset[str]) -> Rewriting:
    """What the function of a fold makes of one of two elements, and of those of maps, is made before the fold."""
    for index, rule in enumerate(("reduce_zip_map_left", "reduce_zip_map_right")):
        t = term_at(at.term, place)
        assert isinstance(t, ReduceSeq), "cannot happen: it is a fold"
        found = _prologue(t, index, elements)
        if found is not None:
            at = apply(rule, parts={"u": ("f", *found)})(at, place)
    t = term_at(at.term, place)
    assert isinstance(t, ReduceSeq), "cannot happen: it is a fold"
    if elements & free_variables_of(t.f):
        raise NoMatch("the function of the folds needs the element of a map")
    return at


def _prologue(t: Fold, index: int, elements: frozenset[str]) -> Position | None:
    """Where the largest part is that needs one component of what is folded, and an element of a map."""
    acc, pair = t.f.parameters
    for place, u in positions(t.f.body):
        free = free_variables(u)
        if acc.name in free or pair.name not in free or not free & elements:
            continue
        reads = [p for p, v in positions(u) if v == Var(pair.name, pair.type)]
        gets = [term_at(u, p[:-1]) for p in reads if p]
        if len(gets) == len(reads) and all(
            isinstance(get, Get) and get.index == index for get in gets
        ):
            return place
    return None


def free_variables_of(f: Lambda) -> set[str]:
    """The free variables of a function."""
    return set(free_variables(f.body)) - {x.name for x in f.parameters}


@curried
def _hoisted(at: Rewriting, place: Position, field: str) -> Rewriting:
    """What the folds read of an element of a map is an element of what the map goes through."""
    own = ("f", "f", "xs", field) if field == "xs" else ("f", "xs", field)
    here = place if field == "xs" else (*place, "f")
    through = term_at(at.term, here)
    assert isinstance(through, Map), "cannot happen: it is a nest"
    element = through.f.parameters[0].name
    read = term_at(at.term, (*here, *own))
    if isinstance(read, Var) and read.name == element:
        return at
    if element not in free_variables(read):
        raise NoMatch("what the folds read is the same for all elements")
    return fission(*own)(at, here)


def _nest_here(at: Rewriting, place: Position) -> Nest:
    nest = nest_in(term_at(at.term, place))
    if nest is None or nest.place:
        raise NoMatch("two nested maps around one fold are needed")
    return nest


# ---- all of it


@dataclass(frozen=True)
class Parts:
    """Where the parts of a nest in normal form are, from its place on.

    `folds` is the table of folds; `alone` says that an epilogue needs nothing but their results.
    """

    folds: Position
    epilogue: bool
    alone: bool


BARE = Parts((), epilogue=False, alone=True)
ALONE = Parts(("xs",), epilogue=True, alone=True)
WITH_CELLS = Parts(("xs", "xs", "xs"), epilogue=True, alone=False)


def parts_at(at: Rewriting, place: Position) -> Parts:
    """How a nest in normal form is made up."""
    t = term_at(at.term, place)
    assert isinstance(t, Map), "cannot happen: it is a nest"
    if _is_nest(t):
        return BARE
    return ALONE if isinstance(term_at(t, ("xs", "f")), Map) and _is_nest(t.xs) else WITH_CELLS


def _is_nest(t: Term) -> bool:
    return (
        isinstance(t, Map) and isinstance(t.f.body, Map) and isinstance(t.f.body.f.body, ReduceSeq)
    )


def normal_form(at: Rewriting, place: Position) -> Rewriting:
    """A nest, fused already, in normal form; raises `NoMatch` where there is none here.

    >>> from relift.rewrites.tactics.nests.normal_form import normal_form
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive, fuse, then
    >>> product = load_program("examples/matmul.py")
    >>> found = derive(product, then(fuse(), normal_form), {"n": 32, "m": 64, "k": 8})
    >>> [step.rule for step in found.steps]
    ['reduce_to_seq', 'reduce_map_fusion']
    """
    at = apart()(at, place)
    parts = parts_at(at, place)
    if parts.epilogue and not parts.alone:
        at = inside(*parts.folds[:-1], "ys")(bare())(at, place)
    return inside(*parts.folds)(then(bare(), straight))(at, place)


OPERANDS: tuple[Position, Position] = (("xs",), ("f", "xs"))
"""From a table of folds to the two arrays that they read."""
