"""The scalar functions: each one's arithmetic and its notation, in one table.

The interpreter, the printer and the code generator read this table and no other.  `meaning` works on NumPy
scalars and on exact numbers alike; floating point is IEEE 754 as NumPy does it, so `max` and `min` return
NaN when either argument is NaN, and division by zero gives an infinity or NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from relift.semantics.errors import Undefined


@dataclass(frozen=True)
class ScalarFunction:
    """A function on scalars of one type.

    `result` is that type (`same`) or `boolean`.  `c` and `python` are notations with `{0} {1} ...` for the
    arguments; `floats_only` functions are refused on integers.
    """

    name: str
    arity: int
    meaning: Callable[..., Any]
    c: str
    python: str
    result: Literal["same", "boolean"] = "same"
    floats_only: bool = False


def _divide(x: Any, y: Any) -> Any:
    if isinstance(x, int | Fraction) and isinstance(y, int | Fraction):
        if y == 0:
            raise Undefined("division by zero in exact arithmetic")
        return Fraction(x) / Fraction(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return x / y


def _floating(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def meaning(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(x)

    return meaning


def _minimum(x: Any, y: Any) -> Any:
    return np.minimum(x, y) if isinstance(x, np.generic) else min(x, y)


def _maximum(x: Any, y: Any) -> Any:
    return np.maximum(x, y) if isinstance(x, np.generic) else max(x, y)


_TABLE = (
    ScalarFunction("add", 2, lambda x, y: x + y, "({0} + {1})", "{0} + {1}"),
    ScalarFunction("sub", 2, lambda x, y: x - y, "({0} - {1})", "{0} - {1}"),
    ScalarFunction("mul", 2, lambda x, y: x * y, "({0} * {1})", "{0} * {1}"),
    ScalarFunction("div", 2, _divide, "({0} / {1})", "{0} / {1}", floats_only=True),
    ScalarFunction("neg", 1, lambda x: -x, "(-{0})", "-{0}"),
    ScalarFunction("minimum", 2, _minimum, "fmin({0}, {1})", "minimum({0}, {1})"),
    ScalarFunction("maximum", 2, _maximum, "fmax({0}, {1})", "maximum({0}, {1})"),
    ScalarFunction("absolute", 1, abs, "fabs({0})", "absolute({0})"),
    ScalarFunction("sqrt", 1, _floating(np.sqrt), "sqrt({0})", "sqrt({0})", floats_only=True),
    ScalarFunction("exp", 1, _floating(np.exp), "exp({0})", "exp({0})", floats_only=True),
    ScalarFunction("log", 1, _floating(np.log), "log({0})", "log({0})", floats_only=True),
    ScalarFunction("sin", 1, _floating(np.sin), "sin({0})", "sin({0})", floats_only=True),
    ScalarFunction("cos", 1, _floating(np.cos), "cos({0})", "cos({0})", floats_only=True),
    ScalarFunction("lt", 2, lambda x, y: x < y, "({0} < {1})", "{0} < {1}", "boolean"),
    ScalarFunction("le", 2, lambda x, y: x <= y, "({0} <= {1})", "{0} <= {1}", "boolean"),
    ScalarFunction("gt", 2, lambda x, y: x > y, "({0} > {1})", "{0} > {1}", "boolean"),
    ScalarFunction("ge", 2, lambda x, y: x >= y, "({0} >= {1})", "{0} >= {1}", "boolean"),
    ScalarFunction(
        "select", 3, lambda c, x, y: x if c else y, "({0} ? {1} : {2})", "select({0}, {1}, {2})"
    ),
)
IRRATIONAL = frozenset(f.name for f in _TABLE if f.floats_only) - {"div"}
"""The functions whose results on rationals need not be rational."""

SCALAR_FUNCTIONS: dict[str, ScalarFunction] = {f.name: f for f in _TABLE}
