"""Scalars and vectors in OpenCL C: types, literals, scalar functions.

A `CExpression` is what one scalar of a term is in the kernel: a C scalar, or, inside a vector operation, a
C vector with the value of each lane.  A truth value is an `int` that is 0 or 1; a vector of them is an
integer vector with lanes 0 or -1, as OpenCL compares.  Signed integers are computed as unsigned ones: they
wrap around, where overflow of signed ones means nothing in C and compilers make use of it.

>>> x, v = CExpression("x", f32), CExpression("v", f32, 4)
>>> apply("mul", [x, v]).text
'(x * v)'
>>> apply("select", [apply("lt", [x, v]), x, v]).text
'((x < v) ? (float4)(x) : v)'
>>> apply("mul", [CExpression("k", i32), apply("add", [CExpression("k", i32), CExpression("1", i32)])]).text
'as_int(as_uint(k) * (as_uint(k) + 1u))'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from relift.semantics.syntax.scalars import CONVERSIONS, SCALAR_FUNCTIONS
from relift.semantics.syntax.terms import Literal
from relift.semantics.syntax.types import SCALARS, Scalar, boolean, f32, f64, i32, i64

WIDTHS = (2, 3, 4, 8, 16)
"""The numbers of lanes that OpenCL has."""

_C_TYPES = {f32: "float", f64: "double", i32: "int", i64: "long", boolean: "int"}
_COMPARISONS = ("lt", "le", "gt", "ge", "equal", "not_equal")
_WRAPPING = ("add", "sub", "mul", "neg")
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
        sides = _lanes_of_one_type(arguments, width) if scalar == boolean else arguments
        text = _written(function, sides)
        return CExpression(text, boolean, width, i64 if scalar in (f64, i64) else i32)
    if function == "select":
        condition, x, y = arguments
        return _select(condition, x, y, width)
    if function in CONVERSIONS:
        return _convert(arguments[0], SCALARS[function])
    if (own := definition(function, scalar, width)) is not None:
        texts = ", ".join(spread(e, width).text for e in arguments)
        return CExpression(f"{own.name}({texts})", scalar, width)
    if scalar == boolean:
        form = "(!{0})" if function == "invert" else SCALAR_FUNCTIONS[function].c
        assert form is not None, f"cannot happen: {function} of truth values"
        lanes = [e.text for e in _lanes_of_one_type(arguments, width)]
        return CExpression(form.format(*lanes), boolean, width)
    if not scalar.is_float:
        return CExpression(_integer(function, arguments, scalar, width), scalar, width)
    if not (SCALAR_FUNCTIONS[function].c or "").startswith("("):  # all arguments need one type
        arguments = [spread(e, width) for e in arguments]
    return CExpression(_written(function, arguments), scalar, width)


def _written(function: str, arguments: Sequence[CExpression]) -> str:
    form = SCALAR_FUNCTIONS[function].c
    assert form is not None, f"cannot happen: {function} has no notation in C"
    return form.format(*(e.text for e in arguments))


def _lanes_of_one_type(arguments: Sequence[CExpression], width: int | None) -> list[CExpression]:
    """Truth values as they meet: all int, in one number of lanes."""
    return [as_mask(spread(e, width), i32) for e in arguments]


def _integer(
    function: str, arguments: Sequence[CExpression], scalar: Scalar, width: int | None
) -> str:
    t = c_type(scalar, width)
    if function in _WRAPPING:
        form = SCALAR_FUNCTIONS[function].c
        assert form is not None, "cannot happen: arithmetic has a notation in C"
        return f"as_{t}{form.format(*(_unsigned(e) for e in arguments))}"
    whole = [spread(e, width).text for e in arguments]
    if function == "absolute":
        return f"as_{t}(abs({whole[0]}))"  # abs of an int is unsigned
    if function in _EXTREMES:
        return f"{_EXTREMES[function][1]}({', '.join(whole)})"
    return _written(function, arguments)


def _unsigned(e: CExpression) -> str:
    """The bits of an integer as an unsigned one."""
    t, bits = c_type(e.scalar, e.width), "ul" if e.scalar == i64 else "u"
    if e.text.removesuffix("L").isdigit():
        return e.text.removesuffix("L") + bits
    inner = e.text.removeprefix(f"as_{t}")
    if inner != e.text and bare(inner) != inner:
        return inner
    return f"as_u{t}({e.text})"


def _convert(e: CExpression, to: Scalar) -> CExpression:
    """e in another scalar type, on one scalar or on all lanes."""
    if e.scalar == to:
        return e
    if (own := definition(to.name, e.scalar, e.width)) is not None:
        return CExpression(f"{own.name}({e.text})", to, e.width)
    if e.width is None:
        return CExpression(f"({c_type(to)})({e.text})", to)
    text = f"(-{as_mask(e, i32).text})" if e.scalar == boolean else e.text
    size = max(to.bytes, 4)
    return CExpression(converted(text, c_type(to), e.width, size), to, e.width)


def _select(
    condition: CExpression, x: CExpression, y: CExpression, width: int | None
) -> CExpression:
    if x.scalar == boolean:
        x, y = _lanes_of_one_type((x, y), width)
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
    text = converted(condition.text, c_type(mask), condition.width, i64.bytes)
    return CExpression(text, boolean, condition.width, mask)


@dataclass(frozen=True)
class Definition:
    """A C function that kernels bring along."""

    name: str
    text: str


def definition(function: str, scalar: Scalar, width: int | None) -> Definition | None:
    """The C function for what OpenCL C lacks on arguments of this type; None where it has all that is needed.

    >>> print(definition("minimum", f32, 4).text)
    float4 minimum_f32x4(float4 x, float4 y) {
      return (x < y) | (x != x) ? x : y;
    }
    >>> definition("minimum", i32, 4) is None
    True
    """
    lines: list[str]
    match function:
        case "minimum" | "maximum" if scalar.is_float:
            lines = _extreme(_EXTREMES[function][0], width)  # fmin and fmax drop NaN
        case _ if width is not None and needs_halves(function, scalar, width):
            lines = [_halves(function, scalar, width)]
        case _ if width is not None and _is_wide_call(function, scalar, width):
            form = SCALAR_FUNCTIONS[function].c
            assert form is not None, "cannot happen: a function of the library has a name"
            lines = [f"return {form.format(*'xyz')};"]  # drivers that cannot: see `in_halves`
        case "rsqrt":
            lines = [f"return {_one(scalar, width)} / sqrt(x);"]  # C's may take -0.0 for 0.0
        case "floor_divide" | "modulo":
            lines = _divided(function, scalar, width)
        case "i32" | "i64" if scalar.is_float:
            lines = _truncated(SCALARS[function], scalar, width)
        case _:
            return None
    lanes = "" if width is None else f"x{width}"
    convert = function in CONVERSIONS
    name = f"{function}_from_{scalar}{lanes}" if convert else f"{function}_{scalar}{lanes}"
    result = SCALARS[function] if convert else scalar
    names = "xyz"[: SCALAR_FUNCTIONS[function].arity]
    parameters = ", ".join(f"{c_type(scalar, width)} {x}" for x in names)
    body = "\n".join(f"  {line}" for line in lines)
    return Definition(name, f"{c_type(result, width)} {name}({parameters}) {{\n{body}\n}}")


LARGEST_ARGUMENT = 32
"""Bytes of the largest vectors that functions of OpenCL's library are given."""


def needs_halves(function: str, scalar: Scalar, width: int) -> bool:
    """Whether a function is called on each half of vectors of this width: some of integers, and conversions.

    What is an operator of C, not of its library, is not concerned, nor is what is one call of its library on floats:
    see `_is_wide_call`.
    """
    form = SCALAR_FUNCTIONS[function].c
    is_operator = form is not None and form.startswith("(")
    if _is_wide_call(function, scalar, width) or (function in _EXTREMES and scalar.is_float):
        return False
    result = SCALARS[function] if function in CONVERSIONS else scalar
    widest = max(scalar.bytes, result.bytes) * width
    return (
        widest > LARGEST_ARGUMENT and scalar != boolean and not is_operator and function != "select"
    )


def _is_wide_call(function: str, scalar: Scalar, width: int) -> bool:
    """Whether a function is one call of the library on floats, with vectors of 64 bytes and more.

    It gets a definition of its own, which is written anew for a driver that cannot do the call: PoCL aborts in its
    library, or computes nonsense, where it takes the processor for one without AVX-512.
    """
    form = SCALAR_FUNCTIONS[function].c or "("
    own = function in CONVERSIONS or function in ("rsqrt", "floor_divide", "modulo", "select")
    wide = scalar.bytes * width > LARGEST_ARGUMENT
    return (
        scalar.is_float
        and wide
        and not own
        and not form.startswith("(")
        and function not in _EXTREMES
    )


def _halves(function: str, scalar: Scalar, width: int) -> str:
    names = "xyz"[: SCALAR_FUNCTIONS[function].arity]
    low, high = (
        apply(function, [CExpression(f"{x}.{half}", scalar, width // 2) for x in names])
        for half in ("lo", "hi")
    )
    return f"return ({c_type(low.scalar, width)})({low.text}, {high.text});"


def converted(text: str, after: str, width: int, size: int) -> str:
    """A vector as one of C type `after`; `size` is the number of bytes of the larger scalar.

    >>> converted("m", "long", 4, 8)
    'convert_long4(m)'
    >>> converted("m", "long", 8, 8)
    '(long8)(convert_long4((m).lo), convert_long4((m).hi))'
    """
    if width * size <= LARGEST_ARGUMENT:
        return f"convert_{after}{width}({text})"
    low, high = (converted(f"({text}).{half}", after, width // 2, size) for half in ("lo", "hi"))
    return f"({after}{width})({low}, {high})"


def _one(scalar: Scalar, width: int | None) -> str:
    return spread(literal(Literal(1.0 if scalar.is_float else 1, scalar)), width).text


def _extreme(sign: str, width: int | None) -> list[str]:
    either = "||" if width is None else "|"
    return [f"return (x {sign} y) {either} (x != x) ? x : y;"]


def _divided(function: str, scalar: Scalar, width: int | None) -> list[str]:
    """Division rounded down; by 0 and -1, where C has no value for all x, apart."""
    t = c_type(scalar, width)
    if width is None:
        if function == "modulo":
            return [
                "if (y == 0 || y == -1) return 0;",
                f"const {t} r = x % y;",
                "return r != 0 && (r ^ y) < 0 ? r + y : r;",
            ]
        return [
            "if (y == 0) return 0;",
            f"if (y == -1) return as_{t}(-as_u{t}(x));",
            "return x / y - (x % y != 0 && (x ^ y) < 0);",
        ]
    safe = [
        f"const {t} d = select(y, {_one(scalar, width)}, (y == 0) | (y == -1));",
        f"const {t} r = x % d;",
        f"const {t} down = (r != 0) & ((r ^ d) < 0);",
    ]
    if function == "modulo":
        return [*safe, "return select(r, r + d, down);"]
    return [
        *safe,
        f"const {t} q = select(x / d + down, as_{t}(-as_u{t}(x)), y == -1);",
        f"return select(q, ({t})(0), y == 0);",
    ]


def _truncated(to: Scalar, scalar: Scalar, width: int | None) -> list[str]:
    """Towards zero, to the end of the range beyond it, NaN to 0."""
    t = c_type(to, width)
    if width is None:
        return [f"return x != x ? 0 : convert_{t}_sat(x);"]
    return [f"return select(convert_{t}_sat(x), ({t})(0), convert_{t}(x != x));"]
