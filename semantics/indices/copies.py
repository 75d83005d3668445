"""What is only copied: a value whose every cell lies in memory already, where the value itself would put it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from relift.semantics.errors import Unsupported
from relift.semantics.indices.expressions import variable
from relift.semantics.indices.stored import inputs, stored
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    CodeValue,
    Environment,
    Guarded,
    TupleView,
    VectorView,
    View,
    by_its_view,
    no_producer,
    view,
)
from relift.semantics.syntax.sizes import Unknown
from relift.semantics.syntax.terms import Input, Pattern, Term, distinct


def same_cells(v: View, w: View, dimension: int = 0) -> bool:
    """Whether two views have the same cells of memory in the same order, from a dimension on."""
    match v:
        case ArrayView(n, at):
            i = variable(f"same_{dimension}", n)
            return (
                isinstance(w, ArrayView)
                and n == w.length
                and same_cells(at(i), w.at(i), dimension + 1)
            )
        case VectorView(n, lane):
            i = variable(f"same_{dimension}", n)
            return (
                isinstance(w, VectorView)
                and n == w.width
                and same_cells(lane(i), w.lane(i), dimension + 1)
            )
        case TupleView(parts):
            return (
                isinstance(w, TupleView)
                and len(parts) == len(w.parts)
                and all(same_cells(a, b, dimension) for a, b in zip(parts, w.parts, strict=True))
            )
        case Cell():
            return v == w
        case CodeValue() | Guarded():
            return False


def copied(name: str, t: Term) -> Mapping[str, str] | None:
    """The memory in which each component of a value lies, by where it would be stored under this name; None where something else is computed.

    >>> from relift import as_scalar, as_vector, f32, map, map_glb, map_vec, split, tup
    >>> from relift.semantics.indices.copies import copied
    >>> from relift.semantics.syntax.terms import Input
    >>> ps = Input("ps", tup(f32, f32)[32])
    >>> copied("out", map_glb(0)(lambda p: p[1], ps))
    {'out': 'ps_1'}
    >>> copied("out", split(8, as_scalar(map_glb(0)(map_vec(lambda p: (p[1], p[0])), as_vector(4, ps)))))
    {'out_0': 'ps_1', 'out_1': 'ps_0'}
    >>> copied("out", map(lambda p: p[0] + p[1], ps)) is None
    True
    """
    read = [u for u in distinct(t) if isinstance(u, Input)]
    if not read:
        return None
    found: dict[str, str] = {}
    try:
        same = _alike(view(t, inputs(*read), _copying), stored(name, t.type), found, count())
    except Unsupported:  # something is computed
        return None
    return found if same and len(set(found.values())) == len(found) else None


def _copying(t: Term, environment: Environment) -> View:
    """What maps show that some units, or one of them, go through, where they compute nothing."""
    if isinstance(t, Pattern) and t.loop == "map" and t.has_view():
        return by_its_view(t, environment, _copying)
    return no_producer(t, environment)


def _alike(shown: View, target: View, found: dict[str, str], indices: count[int]) -> bool:
    """Whether both show the cells of memories of one shape in one order; which one each is, is added to `found`."""
    match shown, target:
        case (ArrayView(n, left), ArrayView(m, right)):
            i = variable(Unknown(f"copied {next(indices)}"), n)
            return n == m and _alike(left(i), right(i), found, indices)
        case (VectorView(), VectorView()):
            i = variable(Unknown(f"copied {next(indices)}"), target.width)
            return shown.width == target.width and _alike(
                shown.lane(i), target.lane(i), found, indices
            )
        case (TupleView(), TupleView()):
            pairs = zip(shown.parts, target.parts, strict=True)
            return all(_alike(part, place, found, indices) for part, place in pairs)
        case (Cell(), Cell()):
            a, b = shown.memory, target.memory
            whole = (a.scalar, a.cells, a.space) == (b.scalar, b.cells, b.space)
            found[b.name] = a.name
            return whole and shown.offset == target.offset
        case (
            Cell() | CodeValue() | Guarded() | TupleView() | ArrayView() | VectorView(),
            _,
        ):
            return False
