"""Views by components: arrays of tuples as arrays, and vectors of what is no scalar turned inside out."""

from __future__ import annotations

from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    CodeValue,
    Guarded,
    TupleView,
    VectorView,
    View,
    array,
    tuple_view,
)
from relift.semantics.syntax.sizes import Size


def component_view(v: View, index: int) -> ArrayView:
    """Component `index` of an array of tuples, as an array."""
    whole = array(v)
    return ArrayView(whole.length, lambda i: tuple_view(whole.at(i)).parts[index])


def turned(v: VectorView) -> View | None:
    """A vector of arrays as an array of vectors, of tuples as a tuple; None for a vector of scalars."""
    match v.lane(Size.of(0)):
        case ArrayView(n):
            return ArrayView(
                n, lambda i: VectorView(v.width, lambda lane: array(v.lane(lane)).at(i))
            )
        case TupleView(parts):
            return TupleView(tuple(_part_of_lanes(v, i) for i in range(len(parts))))
        case Cell() | CodeValue() | Guarded() | VectorView():
            return None


def _part_of_lanes(v: VectorView, index: int) -> VectorView:
    return VectorView(v.width, lambda lane: tuple_view(v.lane(lane)).parts[index])
