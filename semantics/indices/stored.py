"""Where values lie in memory: views of arrays that are stored in the order of their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from relift.semantics.errors import Unsupported
from relift.semantics.indices.atoms import Index
from relift.semantics.indices.expressions import recombined
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    Environment,
    Memory,
    Share,
    TupleView,
    VectorView,
    View,
    memories_of,
)
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector


def component_name(name: str, *index: int) -> str:
    """What the memory of a component is called, or of a component of it, and the part of a result that a kernel computes.

    >>> from relift.semantics.indices.stored import component_name
    >>> component_name("out", 0, 1), component_name("out")
    ('out_0_1', 'out')
    """
    return "_".join((name, *map(str, index)))


def stored(
    name: str,
    t: Type,
    space: Space = Space.GLOBAL,
    owners: Sequence[Index | None] = (),
    aligned: Mapping[str, int] | None = None,
) -> View:
    """The view of a value that lies in memory in the order of its type, outermost index slowest.

    A tuple is stored as one memory per component, called `name_0`, `name_1`, ...  A dimension of the array
    with an owner is spread over the work-items: it takes no space, and each has the element that it owns.
    Vectors in private memory stay vectors there, but those of 3 lanes, which take the space of 4; `aligned` are the
    memories of scalars, by name, that are accessed as vectors all the same, each with how many lanes these have.

    >>> from relift import f32, i32, tup
    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.indices.stored import stored
    >>> from relift.semantics.indices.views import array, cell
    >>> from relift.semantics.syntax.memory import Space
    >>> from relift.semantics.syntax.sizes import Size
    >>> pairs = array(stored("ps", tup(f32, i32)[4]))
    >>> [cell(part).memory.name for part in pairs.at(Size.of(3)).parts]
    ['ps_0', 'ps_1']
    >>> l, i = variable("lcl_0", 16), variable("i", 4)
    >>> cell(array(array(stored("own", f32[16, 4], Space.PRIVATE, [l])).at(l)).at(i)).offset
    i
    """
    return _stored(name, t, space, (), _Shape(tuple(owners), aligned or {}))


@dataclass(frozen=True)
class _Shape:
    """How a value is stored besides the order of its indices; `shares` are those of the indices so far."""

    owners: tuple[Index | None, ...]
    aligned: Mapping[str, int] = field(default_factory=dict[str, int])
    dimension: int = 0
    shares: tuple[Share, ...] = ()
    width: int | None = None


def _stored(
    name: str, t: Type, space: Space, place: tuple[tuple[Index, Size], ...], shape: _Shape
) -> View:
    match t:
        case Array(element, n):
            d = shape.dimension
            owner = shape.owners[d] if d < len(shape.owners) else None
            below = replace(shape, dimension=d + 1, width=None)
            if owner is None:
                return ArrayView(
                    n, lambda i: _stored(name, element, space, (*place, (i, n)), below)
                )

            def shared(i: Index) -> View:
                share = Share(d, owner, i)
                return _stored(
                    name, element, space, place, replace(below, shares=(*shape.shares, share))
                )

            return ArrayView(n, shared)
        case Vector(element, n):
            width = n.constant if space.of_item and n != 3 else None
            below = replace(shape, width=width)
            return VectorView(n, lambda i: _stored(name, element, space, (*place, (i, n)), below))
        case Tuple(parts):
            return TupleView(
                tuple(
                    _stored(component_name(name, i), part, space, place, shape)
                    for i, part in enumerate(parts)
                )
            )
        case Scalar():
            offset, cells = Size.of(0), Size.of(1)
            for i, n in place:
                offset, cells = offset * n + i, cells * n
            memory = Memory(name, t, cells, space, shape.width, shape.aligned.get(name))
            return Cell(memory, recombined(offset), shape.shares)
        case TypeVariable():
            raise Unsupported(f"{name}: a value of type {t} has no place in memory")


def memories(
    name: str, t: Type, space: Space = Space.GLOBAL, owners: Sequence[Index | None] = ()
) -> tuple[Memory, ...]:
    """The memories in which `stored` puts a value of type t.

    >>> from relift import f32, i32, tup
    >>> from relift.semantics.indices.stored import memories
    >>> [(m.name, m.scalar, m.cells) for m in memories("ps", tup(f32, i32)[4])]
    [('ps_0', f32, 4), ('ps_1', i32, 4)]
    """
    return memories_of(stored(name, t, space, owners))


def inputs(*parameters: Input) -> Environment:
    """The environment in which each parameter lies in global memory under its own name."""
    return Environment({p.name: stored(p.name, p.type) for p in parameters})
