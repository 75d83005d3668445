"""Scalars and vectors in OpenCL C: their types, constants and lanes.

A `CExpression` is what one scalar of a term is in the kernel: a C scalar, or, inside a vector operation, a
C vector with the value of each lane.  A truth value is an `int` that is 0 or 1; a vector of them is an
integer vector with lanes 0 or -1, as OpenCL compares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from relift.compiler.dialects.printing import Printer
from relift.compiler.text import tree
from relift.semantics.syntax.terms import Literal
from relift.semantics.syntax.types import Scalar, boolean, f32, i32, i64

WIDTHS = (2, 3, 4, 8, 16)
"""The numbers of lanes that OpenCL has."""


@dataclass(frozen=True)
class CExpression:
    """The C code of one scalar (`width` None: the same for all lanes) or of one per lane.

    `mask` is the integer type of the lanes of a vector of truth values.
    """

    code: tree.Expression
    scalar: Scalar
    width: int | None = None
    mask: Scalar = i32

    def __str__(self) -> str:
        return Printer().expression(self.code)


def c_type(t: Scalar, width: int | None = None) -> tree.CType:
    """The C type of a scalar, or of a vector of them, in registers.

    >>> from relift import boolean, f32
    >>> from relift.compiler.codegen.values.scalars import c_type
    >>> from relift.compiler.dialects.printing import Printer
    >>> [Printer().type(t) for t in (c_type(f32, 16), c_type(boolean))]
    ['float16', 'int']
    """
    return tree.CType(t.c, width or 1)


def memory_type(t: Scalar, width: int | None = None) -> tree.CType:
    """The C type of a scalar in memory, or of a vector of them: NumPy's truth values are bytes."""
    return tree.CType("uchar", width or 1) if t == boolean else c_type(t, width)


def literal(t: Literal) -> CExpression:
    """A constant, exact in its type.

    >>> from relift import f32
    >>> from relift.compiler.codegen.values.scalars import literal
    >>> import math
    >>> from relift.semantics.syntax.terms import Literal
    >>> [str(literal(Literal(v, f32))) for v in (0.0, -1.5, 1e-7, math.inf)]
    ['0.0f', '(-1.5f)', '1e-07f', 'INFINITY']
    """
    assert isinstance(t.type, Scalar), "cannot happen: a literal is a scalar"
    if t.type.is_float:
        return CExpression(_float(float(t.value), t.type), t.type)
    return CExpression(whole(int(t.value), t.type), t.type)


def whole(value: int, t: Scalar) -> tree.Expression:
    """A whole number, exact in its type."""
    if t.bytes < i32.bytes and t != boolean:
        return tree.Cast(c_type(t), (_signed(tree.Whole(abs(value)), value < 0),))
    if not t.has_sign:
        return tree.Real(f"{value}{ending(t)}")
    if t != boolean and value == t.range[0]:
        return tree.Name("INT_MIN" if t == i32 else "LONG_MIN")
    return _signed(tree.Whole(abs(value), t == i64), value < 0)


def ending(t: Scalar) -> str:
    """What constants of as many bytes and without a sign end with."""
    return "ul" if t.bytes == i64.bytes else "u"


def _signed(e: tree.Expression, negative: bool) -> tree.Expression:
    return tree.wrapped(tree.Prefix("-", e)) if negative else e


def _float(value: float, t: Scalar) -> tree.Expression:
    negative = math.copysign(1.0, value) < 0 and not math.isnan(value)
    if math.isfinite(value):
        return _signed(tree.Real(repr(abs(value)) + t.ending), negative)
    name = tree.Name("NAN" if math.isnan(value) else "INFINITY")
    if t == f32:
        return _signed(name, negative)
    return tree.Cast(c_type(t), (tree.bare(_signed(name, negative)),))


def spread(e: CExpression, width: int | None) -> CExpression:
    """e with `width` lanes; e itself when it has them already.

    >>> from relift import f32
    >>> from relift.compiler.codegen.values.scalars import CExpression, spread
    >>> from relift.compiler.text.tree import Name
    >>> print(spread(CExpression(Name("x"), f32), 4))
    (float4)(x)
    """
    if width is None or e.width is not None:
        return e
    return CExpression(tree.Cast(c_type(e.scalar, width), (lane_value(e),)), e.scalar, width)


def lane_value(e: CExpression) -> tree.Expression:
    """A scalar as a lane of a vector: truth is -1."""
    return tree.Prefix("-", tree.wrapped(e.code)) if e.scalar == boolean else e.code


def lane_of(e: CExpression, lane: int) -> CExpression:
    """One lane of a vector, as a scalar; e itself when it is the same for all lanes."""
    if e.width is None:
        return e
    if isinstance(e.code, tree.Cast) and len(e.code.arguments) == e.width and e.scalar != boolean:
        one = e.code.arguments[lane]
        return CExpression(
            one if isinstance(one, tree.Name | tree.Element) else tree.wrapped(one), e.scalar
        )
    whole = e.code if isinstance(e.code, tree.Name) else tree.wrapped(e.code)
    found: tree.Expression = tree.Member(whole, f"s{lane:x}")
    return CExpression(nonzero(found) if e.scalar == boolean else found, e.scalar)


def nonzero(e: tree.Expression) -> tree.Expression:
    """Whether a number is not 0."""
    return tree.wrapped(binary("!=", e, tree.Whole(0)))


def binary(operator: str, left: tree.Expression, right: tree.Expression) -> tree.Binary:
    """An operator between its sides, with blanks around it."""
    return tree.Binary(operator, left, right, set="spaced")


def one(scalar: Scalar, width: int | None) -> tree.Expression:
    """The number 1, in each lane."""
    return spread(literal(Literal(1.0 if scalar.is_float else 1, scalar)), width).code
