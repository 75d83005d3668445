"""The scalar functions: what each one means, on which types, and its notation, in one table.

The interpreter, the printer, the tracer and the code generator read this table and no other.  `meaning`
works on NumPy scalars and on exact numbers alike, and gives a value for all arguments of its types:

floats     IEEE 754 as NumPy computes it: 1/0 is an infinity, 0/0 and sqrt(-1) are NaN, and NaN is unequal
           to itself.
integers   overflow wraps around, as NumPy's does; so does -x, and |x|, of the smallest integer.
           x // 0 and x % 0 are 0.  x << k and x >> k are of whole numbers of any size: for k beyond the bits
           of the type, which numbers below zero count as, 0, or -1 of what is shifted down from below zero.  Exact integers do not wrap, so they stand for both widths as long as
           nothing overflows.
exact      a division by zero, and a function whose value need not be rational (sqrt, exp, ...), raise
           `Undefined` on exact numbers.

`select` computes both branches: it chooses between values, it does not guard.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from relift.semantics.errors import Undefined
from relift.semantics.syntax.types import FLOATS, INTEGERS, Scalar

Operands: TypeAlias = Literal["numbers", "floats", "integers", "bits", "scalars"]
"""Integers and floats; floats; integers; integers and truth values; all of them."""


@dataclass(frozen=True)
class ScalarFunction:
    """A function on scalars of one type (of `select`, the type of its branches).

    `result` is that type (`same`) or the name of another.  `python` is a notation with `{0} {1} ...` for the
    arguments; `c` is OpenCL C's operator or function, None where none means the same on all arguments.  `ulps`
    is how far, in units in the last place, the value of a kernel may be from NumPy's: what OpenCL allows
    itself, and NumPy's own error.
    """

    name: str
    arity: int
    doc: str
    meaning: Callable[..., Any]
    c: str | None
    python: str
    on: Operands = "numbers"
    result: str = "same"
    ulps: int = 0

    @property
    def is_call(self) -> bool:
        """Whether Python writes it as `name(...)`, not with an operator."""
        return self.python.startswith(self.name + "(")


def _is_exact(x: Any) -> bool:
    return isinstance(x, int | Fraction)


def _is_nan(x: Any) -> bool:
    return isinstance(x, np.floating) and bool(np.isnan(x))


def _divide(x: Any, y: Any) -> Any:
    if _is_exact(x) and _is_exact(y):
        if y == 0:
            raise Undefined("division by zero in exact arithmetic")
        return Fraction(x) / Fraction(y)
    with np.errstate(all="ignore"):
        return x / y


def _floor_divide(x: Any, y: Any) -> Any:
    return x // y if y != 0 else type(x)(0)


def _modulo(x: Any, y: Any) -> Any:
    return x % y if y != 0 else type(x)(0)


def _left_shift(x: Any, k: Any) -> Any:
    bits = 64 if _is_exact(x) else 8 * x.itemsize
    return x << k if 0 <= k < bits else type(x)(0)


def _right_shift(x: Any, k: Any) -> Any:
    bits = 64 if _is_exact(x) else 8 * x.itemsize
    return x >> k if 0 <= k < bits else type(x)(-1 if x < 0 else 0)


def _invert(x: Any) -> Any:
    return not x if isinstance(x, bool) else ~x


def _minimum(x: Any, y: Any) -> Any:
    return x if x < y or _is_nan(x) else y


def _maximum(x: Any, y: Any) -> Any:
    return x if x > y or _is_nan(x) else y


def _select(condition: Any, x: Any, y: Any) -> Any:
    return x if condition else y


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of real numbers, which has no value on exact ones."""

    def meaning(*arguments: Any) -> Any:
        if any(map(_is_exact, arguments)):
            raise Undefined(f"{function.__name__} has no exact value in general")
        with np.errstate(all="ignore"):
            return function(*arguments)

    return meaning


def _reciprocal_root(x: Any) -> Any:
    return type(x)(1) / np.sqrt(x)


def _power(x: Any, y: Any) -> Any:
    """IEEE's pow; NumPy takes the root where y is 0.5, which differs at minus infinity and at -0.0."""
    return np.power(np.abs(x) if y == 0.5 and (x == 0 or np.isinf(x)) else x, y)


def _whole(exact: Callable[[Any], int], rounded: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: Fraction(exact(x)) if _is_exact(x) else rounded(x)


def _fused(x: Any, y: Any, z: Any) -> Any:
    """x*y + z, rounded once."""
    if all(map(_is_exact, (x, y, z))):
        return x * y + z
    with np.errstate(all="ignore"):
        if not (np.isfinite(x) and np.isfinite(y)):
            return x * y + z
        if not np.isfinite(z):
            return z
        product, addend = Fraction(float(x)) * Fraction(float(y)), Fraction(float(z))
        if product == 0:
            return x * y + z
        return _rounded(product + addend, type(z))


def _rounded(value: Fraction, dtype: Callable[[float], Any]) -> Any:
    """A rational to the nearest float; to a shorter one by way of f64 rounded to odd, so it is not rounded twice."""
    try:
        near = float(value)
    except OverflowError:
        return dtype(math.inf if value > 0 else -math.inf)
    error = value - Fraction(near)
    if dtype is not np.float64 and error and not np.float64(near).view(np.int64) & 1:
        near = math.nextafter(near, math.inf if error > 0 else -math.inf)
    return dtype(near)


def _to_float(dtype: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def meaning(x: Any) -> Any:
        if isinstance(x, bool):
            return Fraction(x)
        if _is_exact(x):
            return x
        with np.errstate(over="ignore"):
            return dtype(x)

    return meaning


def _to_integer(dtype: type[np.signedinteger[Any]]) -> Callable[[Any], Any]:
    """Rounds towards zero; beyond the range the end of the range; NaN gives 0; integers wrap."""
    least, greatest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)

    def meaning(x: Any) -> Any:
        if _is_exact(x):
            return math.trunc(x)
        if not isinstance(x, np.floating):
            return x.astype(dtype)
        if _is_nan(x):
            return dtype(0)
        return dtype(least if x <= least else greatest if x >= greatest else int(x))

    return meaning


_TO_INTEGER = (
    "x as an {}: a float towards zero, or to the end of the range, NaN to 0; a wider integer wraps."
)


def _binary(
    name: str,
    symbol: str,
    doc: str,
    meaning: Callable[[Any, Any], Any],
    on: Operands,
    ulps: int = 0,
) -> ScalarFunction:
    """An operator that Python and C write alike."""
    return ScalarFunction(name, 2, doc, meaning, symbol, f"{{0}} {symbol} {{1}}", on, ulps=ulps)


def _comparison(
    name: str, symbol: str, doc: str, meaning: Callable[[Any, Any], Any], on: Operands = "numbers"
) -> ScalarFunction:
    named = f"{name}({{0}}, {{1}})" if on == "scalars" else f"{{0}} {symbol} {{1}}"
    return ScalarFunction(name, 2, doc, meaning, symbol, named, on, "boolean")


def _called(
    name: str,
    arity: int,
    c: str | None,
    doc: str,
    meaning: Callable[..., Any],
    on: Operands = "numbers",
    *,
    result: str = "same",
    ulps: int = 0,
) -> ScalarFunction:
    """A function that Python calls by name; so does C, when it has it."""
    arguments = ", ".join(f"{{{i}}}" for i in range(arity))
    return ScalarFunction(name, arity, doc, meaning, c, f"{name}({arguments})", on, result, ulps)


def _conversion(t: Scalar) -> ScalarFunction:
    """The function that is called after a type, and gives a value of it."""
    dtype: Any = np.dtype(t.dtype).type
    if t.is_float:
        doc, meaning = f"x as an {t}, to the nearest.", _to_float(dtype)
    else:
        doc, meaning = _TO_INTEGER.format(t), _to_integer(dtype)
    return _called(t.name, 1, None, doc, meaning, "scalars", result=t.name)


_TABLE = (
    _binary("add", "+", "The sum.", lambda x, y: x + y, "numbers"),
    _binary("sub", "-", "The difference.", lambda x, y: x - y, "numbers"),
    _binary("mul", "*", "The product.", lambda x, y: x * y, "numbers"),
    _binary("div", "/", "The quotient of floats.", _divide, "floats", ulps=3),
    ScalarFunction("neg", 1, "The negative.", lambda x: -x, "-", "-{0}"),
    ScalarFunction(
        "floor_divide", 2, "The quotient of integers, rounded down; 0 when y is 0.",
        _floor_divide, None, "{0} // {1}", "integers",
    ),
    ScalarFunction(
        "modulo", 2, "x - x // y * y, which has the sign of y; 0 when y is 0.",
        _modulo, None, "{0} % {1}", "integers",
    ),
    ScalarFunction(
        "left_shift", 2, "x times two to the power k, where k is a number of bits of the type; else 0.",
        _left_shift, None, "{0} << {1}", "integers",
    ),
    ScalarFunction(
        "right_shift", 2, "x // 2**k, where k is a number of bits of the type; else 0 or, of x < 0, -1.",
        _right_shift, None, "{0} >> {1}", "integers",
    ),
    _binary("bitwise_and", "&", "Both hold; of integers, bit by bit.", lambda x, y: x & y, "bits"),
    _binary("bitwise_or", "|", "One holds; of integers, bit by bit.", lambda x, y: x | y, "bits"),
    _binary("bitwise_xor", "^", "Just one holds; of integers, bit by bit.", lambda x, y: x ^ y, "bits"),
    ScalarFunction("invert", 1, "Does not hold; of integers, bit by bit.", _invert, "~", "~{0}", "bits"),
    _called("minimum", 2, None, "x if x < y or x is NaN, else y; so NaN when either is.", _minimum),
    _called("maximum", 2, None, "x if x > y or x is NaN, else y; so NaN when either is.", _maximum),
    _called("absolute", 1, "fabs", "The absolute value.", abs),
    _called("floor", 1, "floor", "The greatest whole number not above x.", _whole(math.floor, np.floor), "floats"),
    _called("ceil", 1, "ceil", "The least whole number not below x.", _whole(math.ceil, np.ceil), "floats"),
    _called("fma", 3, "fma", "x * y + z, rounded once.", _fused, "floats"),
    _called("sqrt", 1, "sqrt", "The square root; NaN below zero.", _real(np.sqrt), "floats", ulps=3),
    _called("rsqrt", 1, "rsqrt", "1 / sqrt(x), of -0.0 minus infinity.", _real(_reciprocal_root), "floats", ulps=4),
    _called("exp", 1, "exp", "The exponential.", _real(np.exp), "floats", ulps=6),
    _called("log", 1, "log", "The natural logarithm; NaN below zero.", _real(np.log), "floats", ulps=6),
    _called("sin", 1, "sin", "The sine, in radians.", _real(np.sin), "floats", ulps=6),
    _called("cos", 1, "cos", "The cosine, in radians.", _real(np.cos), "floats", ulps=6),
    _called("tan", 1, "tan", "The tangent, in radians.", _real(np.tan), "floats", ulps=8),
    _called("arcsin", 1, "asin", "The angle of a sine, in radians; NaN beyond -1 and 1.", _real(np.arcsin), "floats", ulps=8),
    _called("arccos", 1, "acos", "The angle of a cosine, in radians; NaN beyond -1 and 1.", _real(np.arccos), "floats", ulps=8),
    _called("arctan", 1, "atan", "The angle of a tangent, in radians.", _real(np.arctan), "floats", ulps=8),
    _called("arctan2", 2, "atan2", "arctan2(y, x): the angle of the point (x, y), in radians.", _real(np.arctan2), "floats", ulps=10),
    _called("tanh", 1, "tanh", "The hyperbolic tangent.", _real(np.tanh), "floats", ulps=8),
    _called("power", 2, "pow", "x to the power y.", _real(_power), "floats", ulps=20),
    _called("hypot", 2, "hypot", "sqrt(x*x + y*y), without overflow on the way.", _real(np.hypot), "floats", ulps=6),
    _comparison("lt", "<", "x is less than y.", lambda x, y: x < y),
    _comparison("le", "<=", "x is at most y.", lambda x, y: x <= y),
    _comparison("gt", ">", "x is greater than y.", lambda x, y: x > y),
    _comparison("ge", ">=", "x is at least y.", lambda x, y: x >= y),
    _comparison("equal", "==", "x is y; of NaN false.", lambda x, y: x == y, "scalars"),
    _comparison("not_equal", "!=", "x is not y; of NaN true.", lambda x, y: x != y, "scalars"),
    ScalarFunction(
        "select", 3, "x where the condition holds, else y.",
        _select, "?:", "select({0}, {1}, {2})", "scalars",
    ),
    *map(_conversion, (*FLOATS.values(), *INTEGERS.values())),
)  # fmt: skip
IRRATIONAL = frozenset(f.name for f in _TABLE if f.on == "floats") - {"ceil", "div", "floor", "fma"}
"""The functions whose results on rationals need not be rational."""
IN_LIBRARY = IRRATIONAL - {"sqrt", "rsqrt"}
"""The functions that processors have no instruction for."""

SCALAR_FUNCTIONS: dict[str, ScalarFunction] = {f.name: f for f in _TABLE}
CONVERSIONS = (*FLOATS, *INTEGERS)
"""The functions that turn a scalar of any type into one of the type they are called after."""
