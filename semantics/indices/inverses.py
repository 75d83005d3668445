"""Writing through layouts: where the data of a pattern are, given where its result is written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeAlias

from relift.semantics.indices.algebra import asked_for
from relift.semantics.indices.atoms import Index, Quotient, Remainder, linear_in
from relift.semantics.indices.expressions import divide, modulo, variable
from relift.semantics.indices.functions import IndexFunction
from relift.semantics.indices.ranges import surely_within
from relift.semantics.indices.views import (
    ArrayView,
    TupleView,
    View,
    Views,
    array,
    is_layout,
    name_of,
    tuple_view,
)
from relift.semantics.patterns.algorithmic import Let, Map
from relift.semantics.patterns.opencl import Store
from relift.semantics.syntax.nodes import argument
from relift.semantics.syntax.sizes import Size, Unknown
from relift.semantics.syntax.terms import (
    Get,
    Lambda,
    MakeTuple,
    Pattern,
    Term,
    Var,
    children,
    inside,
    subterms,
)
from relift.semantics.syntax.types import Array, Tuple, Type, holds_array


def invert_layout(t: Term, target: View) -> tuple[Term, View] | None:
    """The data of an invertible layout pattern and where to write it, given where t is written; or None.

    >>> from relift import f32
    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.indices.inverses import invert_layout
    >>> from relift.semantics.indices.stored import stored
    >>> from relift.semantics.indices.views import array, cell
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xss = Input("xss", f32[4, 8])
    >>> xs, target = invert_layout(parse_term("join(xss)", xss=xss), stored("out", f32[32]))
    >>> cell(array(array(target).at(variable("i", 4))).at(variable("j", 8))).offset
    8*i + j
    """
    data = invertible_data(t)
    if data is None or not isinstance(t, Pattern):
        return None

    def given(name: str) -> object:
        held = argument(t, name)
        if isinstance(held, Lambda):
            return lambda place: _through(held.body, place)
        return t.solved[name] if held is None else held

    place: View = t.inverse(Views(t.name), target, **{n: given(n) for n in asked_for(t.inverse)})
    return data, place


def invertible_data(t: Term) -> Term | None:
    """The data of t when t is a layout pattern that `invert_layout` inverts, else None.

    Where only a part of the data has a place, nothing of it may be read there while it is computed.

    >>> from relift import f32
    >>> from relift.semantics.indices.inverses import invertible_data
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[8])
    >>> computed = "map_glb(0)(lambda v: v + v, x)", "insertion_sort_seq(lambda v, w: v < w, x)"
    >>> [invertible_data(parse_term(f"take(3, {s})", x=x)) is None for s in computed]
    [False, True]
    """
    if not isinstance(t, Pattern) or not t.has_inverse():
        return None
    *functions, data = (child for _, child in children(t))
    assert not isinstance(data, Lambda), f"cannot happen: {t.name} has its data last"
    if not all(isinstance(f, Lambda) and _invertible(f) for f in functions):
        return None
    return None if _drops(t) and _read_back(data) else data


def taken_apart(t: Term) -> bool:
    """Whether a term is several results that are computed together, as an array of tuples.

    >>> from relift import f32, let, map
    >>> from relift.semantics.indices.inverses import taken_apart
    >>> from relift.semantics.syntax.terms import Input
    >>> both = map(lambda v: (v + v, v * v), Input("x", f32[8]))
    >>> taken_apart(let(lambda ps: (map(lambda p: p[0], ps), map(lambda p: p[1], ps)), both))
    True
    >>> taken_apart(let(lambda ps: (map(lambda p: p[0], ps), map(lambda p: p[0], ps)), both))
    False
    """
    if not isinstance(t, Let) or not isinstance(t.f.body, MakeTuple) or is_layout(t.x):
        return False
    return isinstance(t.x.type, Array) and invertible_data(t) is not None


def _drops(t: Pattern) -> bool:
    """Whether something of what is written through t is written nowhere."""
    functions = (f.body for _, f in children(t) if isinstance(f, Lambda))
    below = (u for body in functions for u, _ in subterms(body))
    return t.drops or any(isinstance(u, Pattern) and u.drops for u in below)


def _read_back(t: Term) -> bool:
    """Whether something of a result is read where it is written."""
    if isinstance(t, Store) or is_layout(t):
        return False
    here = isinstance(t, Pattern) and t.reads_back and holds_array(t.type)
    return here or any(_read_back(u) for _, u, _ in inside(t))


def written_place(t: Term) -> tuple[str, ...]:
    """Where in t is what invertible layouts rearrange: what is computed there is written to where they put it.

    >>> from relift import f32
    >>> from relift.semantics.indices.inverses import written_place
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[4, 8])
    >>> written_place(parse_term("join(transpose(map(lambda row: map(lambda v: v + v, row), x)))", x=x))
    ('xss', 'xss')
    """
    data = invertible_data(t)
    if data is None or is_layout(t):
        return ()
    field = next(name for name, child in children(t) if child is data)
    return (field, *written_place(data))


def _invertible(f: Lambda) -> bool:
    """Whether f takes its argument apart by components and invertible layout patterns, and gives each part once."""
    x = f.parameters[0]
    written = _components_in(f.body, x)
    return written is not None and _are_all(written, x.type)


_Path: TypeAlias = tuple[int, ...]
"""Which component of a tuple, of which component of that, and so on; whatever arrays are around them."""


def _components_in(body: Term, x: Var) -> list[_Path] | None:
    """Which components of x are what is written by a term, in their order; None where it is something else."""
    if isinstance(body, Var):
        return [()] if body == x else None
    if isinstance(body, MakeTuple):
        parts = [_components_in(part, x) for part in body.parts]
        return [path for part in parts for path in part or ()] if None not in parts else None
    if isinstance(body, Get):
        around = _components_in(body.of, x)
        return [(*around[0], body.index)] if around is not None and len(around) == 1 else None
    if isinstance(body, Map) and (around := _components_in(body.xs, x)) is not None:
        (element,) = body.f.parameters
        inside = _components_in(body.f.body, element)
        if inside is None or len(around) != 1:
            return None
        return [(*around[0], *path) for path in inside]
    data = invertible_data(body)
    return None if data is None else _components_in(data, x)


def _are_all(paths: Sequence[_Path], t: Type) -> bool:
    """Whether these components are all that there is of a type, each once."""
    if list(paths) == [()]:
        return True
    while isinstance(t, Array):
        t = t.element
    if () in paths or not isinstance(t, Tuple):
        return False
    below = [[path[1:] for path in paths if path[0] == i] for i in range(len(t.parts))]
    return all(_are_all(each, part) for each, part in zip(below, t.parts, strict=True))


def _through(body: Term, target: View) -> View:
    """Where the argument of an invertible function is written, given where its result is."""
    if isinstance(body, Var):
        return target
    if isinstance(body, MakeTuple):
        places = tuple_view(target).parts
        return reduce(_together, map(_through, body.parts, places))
    if isinstance(body, Get):
        assert isinstance(body.of.type, Tuple), "cannot happen: it has components"
        count = len(body.of.type.parts)
        around = (target if i == body.index else _NOWHERE for i in range(count))
        return _through(body.of, TupleView(tuple(around)))
    if isinstance(body, Map):
        f, rows = body.f, array(target)
        return _through(body.xs, ArrayView(rows.length, lambda i: _through(f.body, rows.at(i))))
    inverted = invert_layout(body, target)
    assert inverted is not None, f"cannot happen: {name_of(body)} was found invertible"
    return _through(*inverted)


_NOWHERE = TupleView(())
"""The place of a component that another part of a result says."""


def _together(v: View, w: View) -> View:
    """A place of which each view says some components."""
    if v == _NOWHERE or w == _NOWHERE:
        return w if v == _NOWHERE else v
    if isinstance(v, ArrayView) and isinstance(w, ArrayView):
        return ArrayView(v.length, lambda i: _together(v.at(i), w.at(i)))
    assert isinstance(v, TupleView), "cannot happen: each part is said once"
    assert isinstance(w, TupleView), "cannot happen: each part is said once"
    return TupleView(tuple(map(_together, v.parts, w.parts)))


def computes_itself(t: Pattern) -> bool:
    """Whether a pattern itself computes, and not what it rearranges, names or stores.

    >>> from relift import f32, map, split
    >>> from relift.semantics.indices.inverses import computes_itself
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[8])
    >>> computes_itself(map(lambda v: v + v, x)), computes_itself(split(2, x))
    (True, False)
    """
    if t.keeps:
        return False
    if isinstance(t, Map):
        return not is_layout(t.f.body)
    return not t.layout and not t.has_inverse()


# ---- permutations


def stays_within(idx: IndexFunction, n: Size) -> bool:
    """Whether ranges show for all sizes that an index function stays in an array of n elements."""
    return surely_within(idx.of(variable(Unknown("each"), n)), n)


def permutes(idx: IndexFunction, n: Size) -> bool:
    """Whether it is seen that an index function is a permutation: within, and one to one.

    >>> from relift.semantics.indices.functions import index_function, reorder_stride
    >>> from relift.semantics.indices.inverses import permutes
    >>> from relift.semantics.syntax.sizes import Size
    >>> n = Size.of(64)
    >>> [permutes(index_function(f, n), n) for f in (reorder_stride(8), lambda i: i // 2)]
    [True, False]
    """
    i = variable(Unknown("each"), n)
    e = idx.of(i)
    if not stays_within(idx, n):
        return False
    return _is_straight(e, i) or idx.of(e) == i or _rotates(e, i, n) or _strides(e, i, n)


def _is_straight(e: Index, i: Index) -> bool:
    """Whether an index goes on by one, forwards or backwards."""
    linear = linear_in(e, i)
    return linear is not None and linear[0].constant in (1, -1)


def _rotates(e: Index, i: Index, n: Size) -> bool:
    """Whether it does so and begins again at n, as `shift`."""
    return any(
        isinstance(atom, Remainder)
        and e == Size.atom(atom)
        and atom.divisor == n
        and _is_straight(atom.dividend, i)
        for atom in e.atoms()
    )


def _strides(e: Index, i: Index, n: Size) -> bool:
    """Whether it counts the columns of rows one after the other, as `reorder_stride`: `i // q + s * (i % q)` of q * s."""
    for atom in e.atoms():
        if isinstance(atom, Quotient) and atom.dividend == i:
            rows = n.divided_by(atom.divisor)
            if rows is not None and e == divide(i, atom.divisor) + rows * modulo(i, atom.divisor):
                return True
    return False
