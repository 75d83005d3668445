"""Quotients and shifts of whole numbers: the functions that kernels bring along where C has no value for all numbers.

>>> from relift import i32
>>> from relift.compiler.codegen.values.expressions import definition
>>> from relift.compiler.dialects.printing import Printer
>>> print(Printer().function(definition("right_shift", i32, None)))
int right_shift_i32(int x, int y) {
  return x >> (((y < 0) || (y > 31)) ? 31 : y);
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relift.compiler.codegen.values.scalars import CExpression, binary, c_type, one, spread, whole
from relift.compiler.text import tree
from relift.semantics.syntax.types import Scalar, i32

_X, _Y = tree.Name("x"), tree.Name("y")
_ZERO, _MINUS_ONE = tree.Whole(0), tree.Prefix("-", tree.Whole(1))


def by_a_power_of_two(function: str, arguments: Sequence[CExpression]) -> tree.Expression | None:
    """What is divided by a power of two that is written is shifted, and what is left of it are its lowest bits.

    C shifts a number with a sign down as the quotient is rounded: OpenCL C says so, and compilers of C do it.
    """
    if function not in ("floor_divide", "modulo"):
        return None
    x, y = arguments
    written = isinstance(y.code, tree.Whole) and y.code.value.bit_count() == 1
    if not written or (x.width is None and y.width is not None):
        return None
    assert isinstance(y.code, tree.Whole), "cannot happen: it is written"
    by = y.code.value
    sign, number = ("&", by - 1) if function == "modulo" else (">>", by.bit_length() - 1)
    return tree.wrapped(binary(sign, x.code, whole(number, y.scalar)))


def divided(
    function: str, scalar: Scalar, width: int | None, negated: tree.Expression
) -> list[tree.Declaration | tree.Return]:
    """Division rounded down; by 0, and by -1, which gives the negative, apart: C has no value for all x."""
    t = replace(c_type(scalar, width), constant=True)
    narrow = width is not None and scalar.bytes < i32.bytes  # C converts no constant to its lanes
    zero, minus_one = (whole(0, scalar), whole(-1, scalar)) if narrow else (_ZERO, _MINUS_ONE)
    by_zero, by_minus_one = binary("==", _Y, zero), binary("==", _Y, minus_one)
    r, d, down, q = map(tree.Name, ("r", "d", "down", "q"))

    def apart(of: tree.Expression, by: tree.Expression) -> tree.Expression:
        return binary("<", tree.wrapped(binary("^", of, by)), zero)

    def declared(name: tree.Name, value: tree.Expression) -> tree.Declaration:
        return tree.Declaration(t, name.name, None, value)

    if width is None and function == "modulo":
        inexact = binary("&&", binary("!=", r, zero), apart(r, _Y))
        return [
            tree.Return(binary("||", by_zero, by_minus_one), zero),
            declared(r, binary("%", _X, _Y)),
            tree.Return(None, tree.Conditional(inexact, binary("+", r, _Y), r)),
        ]
    if width is None:
        inexact = binary("&&", binary("!=", binary("%", _X, _Y), zero), apart(_X, _Y))
        return [
            tree.Return(by_zero, zero),
            tree.Return(by_minus_one, negated),
            tree.Return(None, binary("-", binary("/", _X, _Y), tree.wrapped(inexact))),
        ]
    either = binary("|", tree.wrapped(by_zero), tree.wrapped(by_minus_one))
    inexact = binary("&", tree.wrapped(binary("!=", r, zero)), tree.wrapped(apart(r, d)))
    safe: list[tree.Declaration | tree.Return] = [
        declared(d, tree.call("select", _Y, one(scalar, width), either)),
        declared(r, binary("%", _X, d)),
        declared(down, inexact),
    ]
    if function == "modulo":
        return [*safe, tree.Return(None, tree.call("select", r, binary("+", r, d), down))]
    quotient = binary("+", binary("/", _X, d), down)
    zeros = tree.Cast(c_type(scalar, width), (zero,))
    return [
        *safe,
        declared(q, tree.call("select", quotient, negated, by_minus_one)),
        tree.Return(None, tree.call("select", q, zeros, by_zero)),
    ]


def divided_unsigned(function: str, scalar: Scalar, width: int | None) -> tree.Return:
    """Division of numbers without a sign; by 0 it is 0."""
    zero = whole(0, scalar) if width else tree.Whole(0)
    operator, by_zero = "/" if function == "floor_divide" else "%", binary("==", _Y, zero)
    if width is None:
        return tree.Return(None, tree.Conditional(by_zero, zero, binary(operator, _X, _Y)))
    safe = tree.call("select", _Y, one(scalar, width), by_zero)
    zeros = tree.Cast(c_type(scalar, width), (zero,))
    return tree.Return(None, tree.call("select", binary(operator, _X, safe), zeros, by_zero))


def shifted(function: str, scalar: Scalar, width: int | None) -> tree.Return:
    """Bits moved by as many as C has a value for, and what is left when all of them are moved out."""
    last = whole(8 * scalar.bytes - 1, scalar)
    sides = (binary("<", _Y, whole(0, scalar)), binary(">", _Y, last))
    either = binary("|" if width else "||", *map(tree.wrapped, sides))
    beyond = tree.wrapped(either if scalar.has_sign else sides[1])
    if function == "right_shift" and scalar.has_sign:
        by = tree.Conditional(beyond, spread(CExpression(last, scalar), width).code, _Y)
        return tree.Return(None, binary(">>", _X, tree.wrapped(by)))
    none = spread(CExpression(whole(0, scalar), scalar), width).code
    moved = binary("<<" if function == "left_shift" else ">>", _X, _Y)
    return tree.Return(None, tree.Conditional(beyond, none, tree.wrapped(moved)))
