"""Arrays in memory of the kernel: local ones, which a work-group fills together, and private ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relift.compiler.codegen.emission import Emission, Terms
from relift.compiler.codegen.scope import Scope
from relift.compiler.codegen.values.scalars import memory_type
from relift.compiler.lowering.distribution import check_size, owners
from relift.compiler.lowering.threads import fixed, number
from relift.compiler.text.tree import Assignment, CType, Declaration, Name, Whole
from relift.semantics.indices.atoms import Index
from relift.semantics.indices.inverses import invertible_data
from relift.semantics.indices.stored import stored
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    CodeValue,
    Environment,
    Guarded,
    Memory,
    TupleView,
    VectorView,
    View,
    memories_of,
    view,
)
from relift.semantics.patterns import Scatter, Store
from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Size, Unknown
from relift.semantics.syntax.terms import Term, Var
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector


def into_group(g: Terms, t: Store, scope: Scope) -> View:
    """Emit what is stored into a new memory of the group, in the order of its type."""
    where = new_in_group(g.emission, t.type, t.space)
    for m in memories_of(where):
        fixed(m.cells, f"{t.name} of {t.type}")
    g.write(t.xs, where, scope)
    return where


def new_in_group(e: Emission, t: Type, space: Space) -> View:
    """New memory of a group for a value of type t."""
    where = stored(e.body.fresh("tile", t), t, space)
    e.local_arrays += memories_of(where)
    return where


def into_private(g: Terms, t: Term, scope: Scope, space: Space = Space.PRIVATE) -> View:
    """Emit t into new private memory, in the order in which it is computed: registers have no addresses.

    In lanes each has one: an array of vectors.
    """
    e = g.emission
    data = invertible_data(t)
    if data is not None and not isinstance(t, Scatter):  # which is written through, not read
        hole = Var(Unknown("own"), data.type)
        layout = map_children(t, lambda u: hole if u is data else u, lambda f: f)
        below = Environment(variables={hole.name: into_private(g, data, scope, space)})
        return view(layout, below)
    spread = owners(t, e.threads)
    of_all = t.type if scope.lane is None else _of_vectors(t.type, scope.lane.width)
    where = stored(e.body.fresh("own", t.type), of_all, space, spread, e.aligned)
    found = memories_of(where)
    check_size(found, t.type)
    e.accesses.declare(found, t.type, spread)
    for m in found:
        length = max(1, number(m.cells) // (m.width or 1))  # C has no arrays of no cells
        c = memory_type(m.scalar, m.width)
        aligned = (
            16 * m.scalar.bytes if m.alignment else 0
        )  # for the widest vectors, as local arrays
        e.statement(Declaration(c, m.name, Whole(length), None, aligned=aligned))
    if scope.lane is not None:
        where = _at_lane(where, scope.lane.index)
    g.write(t, where, scope)
    return where


def _of_vectors(t: Type, width: int) -> Type:
    """The type with a vector for each scalar, where the lanes of a vector have a value of type t each."""
    match t:
        case Array(element, n):
            return Array(_of_vectors(element, width), n)
        case Tuple(parts):
            return Tuple(tuple(_of_vectors(part, width) for part in parts))
        case Scalar():
            return Vector(t, Size.of(width))
        case Vector() | TypeVariable():
            raise AssertionError(f"cannot happen: a lane has no {t}")


def _at_lane(v: View, lane: Index) -> View:
    """What a lane has of such a value."""
    match v:
        case ArrayView(n, at):
            return ArrayView(n, lambda i: _at_lane(at(i), lane))
        case TupleView(parts):
            return TupleView(tuple(_at_lane(part, lane) for part in parts))
        case VectorView():
            return v.lane(lane)
        case Cell() | CodeValue() | Guarded():
            raise AssertionError("cannot happen: it has a vector for each scalar")


def exchanged(
    e: Emission, first: View, second: View, t: Type
) -> tuple[View, View, Callable[[], None]]:
    """Two local arrays of type t by pointers, the old and the new one; and what emits the exchange of these."""
    space = memories_of(first)[0].space
    old, new = (stored(e.body.fresh(name, t), t, space) for name in ("old", "new"))
    for m in memories_of(first):
        e.barriers.on_read(m)
    both = list(zip(memories_of(first), memories_of(second), strict=True))
    for pointers, place in ((old, 0), (new, 1)):
        for p, arrays in zip(memories_of(pointers), both, strict=True):
            e.pointed_to |= {arrays[place].name}
            e.barriers.point(p, (m.name for m in arrays))
            e.statement(Declaration(_pointer(p), p.name, None, Name(arrays[place].name)))

    def exchange() -> None:
        for p, q in zip(memories_of(old), memories_of(new), strict=True):
            held = e.body.fresh("held")
            e.body.add(Declaration(replace(_pointer(p), fixed=True), held, None, Name(p.name)))
            e.body.add(Assignment(Name(p.name), "=", Name(q.name)))
            e.body.add(Assignment(Name(q.name), "=", Name(held)))

    return old, new, exchange


def _pointer(m: Memory) -> CType:
    """The type of a pointer to a local array."""
    return replace(memory_type(m.scalar), pointer=True, space=m.space)
