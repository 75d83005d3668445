"""Values that are no arrays, as C expressions: scalars, vectors, and tuples of them.

>>> from relift import f32, i32, tup, vec
>>> from relift.compiler.codegen.values.scalars import CExpression
>>> from relift.compiler.codegen.values.trees import as_view
>>> from relift.semantics.syntax.sizes import Size
>>> from relift.compiler.text.tree import Name
>>> pair = (CExpression(Name("a"), f32), CExpression(Name("v"), i32, 4))
>>> lane = as_view(pair, tup(f32, vec(i32, 4)), None).parts[1].lane(Size.of(2))
>>> lane.code, lane.scalar, lane.lane
(Name(name='v'), i32, 2)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from relift.compiler.codegen.values.expressions import as_mask
from relift.compiler.codegen.values.scalars import CExpression, spread
from relift.compiler.text.tree import Expression, Name, Whole
from relift.semantics.indices.atoms import Index
from relift.semantics.indices.views import CodeValue, TupleView, VectorView, View, leaves
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    boolean,
    i32,
)

Tree: TypeAlias = "CExpression | tuple[Tree, ...]"
"""One expression for each scalar; those of a vector have lanes."""


def as_view(value: Tree, t: Type, lane: Index | None) -> View:
    """Evaluated registers as a view; inside a vector operation, those with lanes show lane `lane`."""
    match t:
        case Tuple(types) if isinstance(value, tuple):
            pairs = zip(value, types, strict=True)
            return TupleView(tuple(as_view(part, of, lane) for part, of in pairs))
        case Vector(element, width):
            return VectorView(width, lambda i: as_view(value, element, i))
        case Scalar() if isinstance(value, CExpression):
            return as_value(value, lane)
        case Tuple() | Scalar() | Array() | TypeVariable():
            raise AssertionError(f"cannot happen: {value} is not of type {t}")


def as_value(e: CExpression, lane: Index | None = None) -> CodeValue:
    """An expression as a leaf of a view; where it has lanes, lane `lane` of it."""
    code = register_code(e)
    known: int | str | None = None
    if isinstance(code, Whole) and not code.long and not code.parentheses:
        known = code.value
    elif isinstance(code, Name):
        known = code.name
    return CodeValue(code, e.scalar, None if e.width is None else lane, known=known, width=e.width)


def register_code(e: CExpression) -> Expression:
    """e as it is kept: vectors of truth values as int."""
    return as_mask(e, i32).code if e.scalar == boolean else e.code


def mapped(value: Tree, f: Callable[[CExpression], CExpression]) -> Tree:
    """f of each scalar of a value, in order."""
    if isinstance(value, tuple):
        return tuple(mapped(part, f) for part in value)
    return f(value)


def widened(value: Tree, width: int | None) -> Tree:
    """A value with `width` lanes everywhere."""
    return mapped(value, lambda e: spread(e, width))


def flattened(value: Tree) -> list[CExpression]:
    """The scalars of a value, in order."""
    if isinstance(value, tuple):
        return [e for part in value for e in flattened(part)]
    return [value]


def registers_of(v: View) -> list[CodeValue]:
    """The registers that a view shows, in order, each once."""
    found = [leaf for leaf in leaves(v) if isinstance(leaf, CodeValue) and leaf.index is None]
    return list({leaf.code: leaf for leaf in found}.values())
