"""What goes into a kernel and out of it: the parameters of a program as buffers, arguments and views.

An array is a buffer, one of tuples a buffer for each component; what is a single scalar is passed by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from relift.compiler.codegen.values.scalars import CExpression, c_type, memory_type
from relift.compiler.codegen.values.trees import as_value
from relift.compiler.lowering.stages import Stage
from relift.compiler.running.launch import Buffer, Parameter, Role
from relift.compiler.text.tree import Argument, CType, Name
from relift.semantics.indices.stored import component_name, memories, stored
from relift.semantics.indices.views import Memory, TupleView, View
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input, subterms
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

# ---- of a launch


def parameter(name: str, stored_as: str, t: Type) -> Parameter:
    """A parameter of a program, or its result, and the buffers that it has."""
    return Parameter(name, t, tuple(m.name for m in memories(stored_as, t)))


def buffers(name: str, t: Type, role: Role) -> list[Buffer]:
    """The buffers of a value."""
    by_value = {m.name for m in _by_value(name, t)} if role == "input" else set()
    return [
        Buffer(m.name, m.scalar, m.cells, "scalar" if m.name in by_value else role)
        for m in memories(name, t)
    ]


def _by_value(name: str, t: Type) -> list[Memory]:
    """The components of a parameter that are single scalars: they are passed by value."""
    match t:
        case Scalar():
            return [Memory(name, t, Size.of(1), Space.PRIVATE)]
        case Tuple(parts):
            return [
                m for i, part in enumerate(parts) for m in _by_value(component_name(name, i), part)
            ]
        case Array() | Vector() | TypeVariable():
            return []


# ---- of a kernel


@dataclass(frozen=True)
class Interface:
    """What a kernel reads, in order; how it sees each; and its arguments, without those for sizes."""

    read: tuple[Input, ...]
    views: Mapping[str, View]
    arguments: tuple[Argument, ...]


def interface(stage: Stage, names: Mapping[str, str]) -> Interface:
    """The interface of the kernel for a stage; `names` are those of the program's parameters in C."""
    read = {u.name: u for u, _ in subterms(stage.body) if isinstance(u, Input)}
    own = read.pop(stage.result, None) if stage.updates else None
    order = [p for p in names if p in read] + [p for p in read if p not in names]
    views: dict[str, View] = {}
    arguments: list[Argument] = []
    for p in order:
        c, t = names.get(p, p), read[p].type
        views[p] = _parameter_view(c, t) if p in names else stored(c, t)
        by_value = {m.name for m in _by_value(c, t)} if p in names else set()
        arguments += [
            Argument(c_type(m.scalar) if m.name in by_value else _pointer(m, constant=True), m.name)
            for m in memories(c, t)
        ]
    if own is not None:
        views[own.name] = stored(own.name, own.type)
    arguments += [Argument(_pointer(m), m.name) for m in memories(stage.result, stage.body.type)]
    return Interface(tuple(read[p] for p in order), views, tuple(arguments))


def _parameter_view(name: str, t: Type) -> View:
    match t:
        case Scalar():
            return as_value(CExpression(Name(name), t))
        case Tuple(parts):
            views = (_parameter_view(component_name(name, i), part) for i, part in enumerate(parts))
            return TupleView(tuple(views))
        case Array() | Vector() | TypeVariable():
            return stored(name, t)


def _pointer(m: Memory, *, constant: bool = False) -> CType:
    """The type of a buffer."""
    return replace(memory_type(m.scalar), pointer=True, space=m.space, constant=constant)
