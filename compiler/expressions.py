"""Scalars and vectors in OpenCL C: types, literals, scalar functions.

A `CExpression` is what one scalar of a term is in the kernel: a C scalar, or, inside a vector operation, a
C vector with the value of each lane.  A truth value is an `int` that is 0 or 1; a vector of them is an
integer vector with lanes 0 or -1, as OpenCL compares.

>>> x, v = CExpression("x", f32), CExpression("v", f32, 4)
>>> apply("mul", [x, v]).text
'(x * v)'
>>> apply("select", [apply("lt", [x, v]), x, v]).text
'((x < v) ? (float4)(x) : v)'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from relift.semantics.scalars import SCALAR_FUNCTIONS
from relift.semantics.terms import Literal
from relift.semantics.types import Scalar, boolean, f32, f64, i32, i64

WIDTHS = (2, 3, 4, 8, 16)
"""The numbers of lanes that OpenCL has."""

_C_TYPES = {f32: "float", f64: "double", i32: "int", i64: "long", boolean: "int"}
_COMPARISONS = ("lt", "le", "gt", "ge")
_EXTREMES = {"minimum": ("<", "min"), "maximum": (">", "max")}


@dataclass(frozen=True)
class CExpression:
    """C text of one scalar (`width` None: the same for all lanes) or of one per lane.

    `mask` is the integer type of the lanes of a vector of truth values.
    """

    text: str
    scalar: Scalar
    width: int | None = None
    mask: Scalar = i32


def c_type(t: Scalar, width: int | None = None) -> str:
    """The C type of a scalar, or of a vector of them, in registers.

    >>> c_type(f32, 16), c_type(boolean)
    ('float16', 'int')
    """
    return _C_TYPES[t] + ("" if width is None else str(width))


def memory_type(t: Scalar) -> str:
    """The C type of a scalar in memory: NumPy's truth values are bytes."""
    return "uchar" if t == boolean else _C_TYPES[t]


def literal(t: Literal) -> CExpression:
    """A constant, exact in its type.

    >>> [literal(Literal(v, f32)).text for v in (0.0, -1.5, 1e-7, math.inf)]
    ['0.0f', '(-1.5f)', '1e-07f', 'INFINITY']
    """
    assert isinstance(t.type, Scalar), "cannot happen: a literal is a scalar"
    if t.type.is_float:
        text = _float_text(float(t.value), t.type)
    elif t.type == boolean:
        text = str(int(t.value))
    elif t.value == (-(2**31) if t.type == i32 else -(2**63)):
        text = "INT_MIN" if t.type == i32 else "LONG_MIN"
    else:
        text = f"{t.value}" + ("L" if t.type == i64 else "")
    return CExpression(f"({text})" if text.startswith("-") else text, t.type)


def _float_text(value: float, t: Scalar) -> str:
    if math.isfinite(value):
        return repr(value) + ("f" if t == f32 else "")
    text = "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
    return text if t == f32 else f"(double)({text})"


def bare(text: str) -> str:
    """C text without the parentheses around all of it.

    >>> bare("(a + b)"), bare("(a) + (b)"), bare("(float4)(a)")
    ('a + b', '(a) + (b)', '(float4)(a)')
    """
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 and place > 0 else text
    return text


def spread(e: CExpression, width: int | None) -> CExpression:
    """e with `width` lanes; e itself when it has them already.

    >>> spread(CExpression("x", f32), 4).text
    '(float4)(x)'
    """
    if width is None or e.width is not None:
        return e
    text = f"-({e.text})" if e.scalar == boolean else e.text
    return CExpression(f"({c_type(e.scalar, width)})({text})", e.scalar, width)


def lane_of(e: CExpression, lane: int) -> CExpression:
    """One lane of a vector, as a scalar; e itself when it is the same for all lanes."""
    if e.width is None:
        return e
    whole = e.text if e.text.isidentifier() else f"({e.text})"
    text = f"{whole}.s{lane:x}"
    return CExpression(f"({text} != 0)" if e.scalar == boolean else text, e.scalar)


def apply(function: str, arguments: Sequence[CExpression]) -> CExpression:
    """A scalar function of the table, on scalars or lane by lane."""
    width = next((e.width for e in arguments if e.width is not None), None)
    scalar = arguments[-1].scalar
    if function in _COMPARISONS:
        text = SCALAR_FUNCTIONS[function].c.format(*(e.text for e in arguments))
        return CExpression(text, boolean, width, i64 if scalar in (f64, i64) else i32)
    if function == "select":
        condition, x, y = arguments
        return _select(condition, x, y, width)
    form = SCALAR_FUNCTIONS[function].c
    if function in _EXTREMES:
        extreme = (
            extreme_name(function, scalar, width) if scalar.is_float else _EXTREMES[function][1]
        )
        form = f"{extreme}({{0}}, {{1}})"
    elif function == "absolute" and not scalar.is_float:
        form = f"as_{c_type(scalar, width)}(abs({{0}}))"  # abs of an int is unsigned
    if not form.startswith("("):  # a function: all its arguments need one type
        arguments = [spread(e, width) for e in arguments]
        if width is not None and needs_halves(function, scalar, width):
            texts = ", ".join(e.text for e in arguments)
            return CExpression(f"{halves_name(function, scalar, width)}({texts})", scalar, width)
    return CExpression(form.format(*(e.text for e in arguments)), scalar, width)


def _select(
    condition: CExpression, x: CExpression, y: CExpression, width: int | None
) -> CExpression:
    if condition.width is None:
        x, y = spread(x, width), spread(y, width)
        return CExpression(f"({condition.text} ? {x.text} : {y.text})", x.scalar, width)
    mask = as_mask(condition, i64 if x.scalar in (f64, i64) else i32)
    text = f"({mask.text} ? {spread(x, width).text} : {spread(y, width).text})"
    return CExpression(text, x.scalar, width)


def as_mask(condition: CExpression, mask: Scalar) -> CExpression:
    """A vector of truth values with lanes of the integer type `mask`; scalars stay as they are."""
    if condition.width is None or condition.mask == mask:
        return condition
    text = f"convert_{c_type(mask, condition.width)}({condition.text})"
    return CExpression(text, boolean, condition.width, mask)


def uses_extreme(function: str, scalar: Scalar) -> bool:
    """Whether `apply` needs the definition of `extreme_definition`."""
    return function in _EXTREMES and scalar.is_float


def extreme_name(function: str, scalar: Scalar, width: int | None) -> str:
    """The C name of the minimum or maximum that is NaN when either argument is.

    >>> extreme_name("minimum", f32, 4)
    'minimum_f32x4'
    """
    return f"{function}_{scalar}" + ("" if width is None else f"x{width}")


def extreme_definition(function: str, scalar: Scalar, width: int | None) -> str:
    """The C definition of `extreme_name`: OpenCL's own fmin and fmax drop NaN, NumPy's keep it."""
    t, sign = c_type(scalar, width), _EXTREMES[function][0]
    either = "||" if width is None else "|"
    body = f"(x {sign} y) {either} (x != x) ? x : y"
    return f"{t} {extreme_name(function, scalar, width)}({t} x, {t} y) {{\n  return {body};\n}}"


LIBRARY_BYTES = 32
"""The largest vectors on which OpenCL's library is called."""


def needs_halves(function: str, scalar: Scalar, width: int | None) -> bool:
    """Whether a function is called on each half of its vectors.

    PoCL 3.0 aborts in its library on vectors of 64 bytes where it takes the processor for one without AVX-512.
    What is an operator of C, not of its library, is not concerned.
    """
    is_operator = function in _EXTREMES or SCALAR_FUNCTIONS[function].c.startswith("(")
    return width is not None and width * scalar.bytes > LIBRARY_BYTES and not is_operator


def halves_name(function: str, scalar: Scalar, width: int) -> str:
    """The C name of a library function on wide vectors, half by half."""
    return f"{function}_{scalar}x{width}"


def halves_definition(function: str, scalar: Scalar, width: int, arity: int) -> str:
    """The C definition of `halves_name`; a half that is still too wide has a definition of its own.

    >>> print(halves_definition("sqrt", f32, 16, 1))
    float16 sqrt_f32x16(float16 x0) {
      return (float16)(sqrt(x0.lo), sqrt(x0.hi));
    }
    """
    t = c_type(scalar, width)
    halves = [
        apply(function, [CExpression(f"x{i}.{half}", scalar, width // 2) for i in range(arity)])
        for half in ("lo", "hi")
    ]
    parameters = ", ".join(f"{t} x{i}" for i in range(arity))
    return (
        f"{t} {halves_name(function, scalar, width)}({parameters}) {{\n"
        f"  return ({t})({', '.join(half.text for half in halves)});\n}}"
    )
