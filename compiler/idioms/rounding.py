"""How far two roundings of one computation may be apart: the interpreter's numbers, each with a bound of its own.

A sum of products whose monomials each meet at most k roundings, in whatever order, differs from the exact one by at most
`k*u/(1 - k*u)` times the same sum over absolute values (Higham, Accuracy and Stability, section 3.1), u being half the distance
of 1 and the next number.  So a number here carries that sum and that k; with more roundings counted than any order of the
operations has.  A function adds its own error in units of the last place, and what it makes of its argument's error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relift.semantics.domains import Numeric, Value
from relift.semantics.errors import Undefined
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.types import FLOATS, Scalar, Type

_UNIT = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}


class Ambiguous(Exception):
    """A comparison or a whole part that the rounding of its operands decides: both outcomes are right."""


@dataclass(frozen=True)
class Rounded:
    """A float as the interpreter has it; `roundings`, in units of 2^-53, of what is as large as `magnitude` at most."""

    value: Any
    magnitude: float
    roundings: float = 0.0

    @property
    def bound(self) -> float:
        """How far from the exact number it may be; what underflows is lost besides."""
        if self.roundings == 0:
            return 0.0
        relative = self.roundings * 2.0**-53
        if relative >= 0.5 or not math.isfinite(self.magnitude):
            return math.inf
        tiny = float(np.finfo(self.value.dtype).smallest_subnormal)
        return relative / (1 - relative) * self.magnitude + self.roundings * tiny

    def rounding(self) -> float:
        """One more rounding, in units of 2^-53."""
        return _UNIT[str(self.value.dtype)] * 2.0**53


class Bounded(Numeric):
    """NumPy's scalars, floats with how far another order of the same operations may be from them."""

    def literal(self, value: float, t: Type) -> Value:
        found = super().literal(value, t)
        assert isinstance(t, Scalar), "cannot happen: a literal is a scalar"
        return exact(found) if t.name in FLOATS else found

    def function(self, name: str) -> Callable[..., Value]:
        plain = super().function(name)

        def bounded(*arguments: Value) -> Value:
            if not any(isinstance(x, Rounded) for x in arguments):
                found = plain(*arguments)
                return exact(found) if isinstance(found, np.floating) else found
            return _applied(name, plain, arguments)

        return bounded


def exact(x: Any) -> Rounded:
    """A number that is given.

    >>> import numpy as np
    >>> from relift.compiler.idioms.rounding import exact
    >>> exact(np.float32(2)).bound
    0.0
    """
    return Rounded(x, abs(float(x)))


def _applied(name: str, plain: Callable[..., Value], arguments: tuple[Value, ...]) -> Value:
    if name == "select":
        return arguments[1] if arguments[0] else arguments[2]
    values = [x.value if isinstance(x, Rounded) else x for x in arguments]
    a, *rest = (x if isinstance(x, Rounded) else exact(np.float64(x)) for x in arguments)
    value = plain(*values)
    if name in ("lt", "le", "gt", "ge", "equal", "not_equal"):
        _require_apart(a, rest[0])
        return value
    if name in ("floor", "ceil") or not isinstance(value, np.floating):
        if not math.isfinite(float(a.value)):
            if not isinstance(value, np.floating):
                raise Undefined(f"{name}: {a.value} is no whole number")
            return exact(value)
        if a.bound and abs(float(a.value) - round(float(a.value))) <= a.bound:
            raise Ambiguous(name)
        return exact(value) if isinstance(value, np.floating) else value
    more = Rounded(value, 0.0).rounding()
    match name:
        case "add" | "sub":
            return Rounded(
                value, a.magnitude + rest[0].magnitude, a.roundings + rest[0].roundings + more
            )
        case "mul":
            return Rounded(
                value, a.magnitude * rest[0].magnitude, a.roundings + rest[0].roundings + more
            )
        case "fma":
            b, c = rest
            return Rounded(
                value,
                a.magnitude * b.magnitude + c.magnitude,
                a.roundings + b.roundings + c.roundings + 2 * more,
            )
        case "neg" | "absolute":
            return Rounded(value, a.magnitude, a.roundings)
        case "minimum" | "maximum":
            return _with_error(value, max(a.bound, rest[0].bound), 0.0)
        case _ if name in FLOATS:  # a conversion
            return Rounded(
                value, a.magnitude, a.roundings + more * (float(value) != float(a.value))
            )
        case _:
            own = 2 * SCALAR_FUNCTIONS[name].ulps * more if name not in ("div", "sqrt") else more
            return _with_error(value, _carried(plain, [a, *rest], value), own)


def _require_apart(a: Rounded, b: Rounded) -> None:
    if a.bound + b.bound and not abs(float(a.value) - float(b.value)) > a.bound + b.bound:
        raise Ambiguous("a comparison")


def _carried(plain: Callable[..., Value], given: list[Rounded], value: Any) -> float:
    """What the errors of the arguments make: the function at the ends of where they may be, and twice that."""
    worst = 0.0
    for place, x in enumerate(given):
        for moved in (-x.bound, x.bound) if x.bound else ():
            values = [y.value for y in given]
            values[place] = type(x.value)(float(x.value) + moved)
            worst += abs(float(plain(*values)) - float(value))
    return 2 * worst if math.isfinite(worst) else math.inf


def _with_error(value: Any, error: float, more: float) -> Rounded:
    """A number whose error is known, and what is rounded besides."""
    size = max(abs(float(value)), float(np.finfo(value.dtype).tiny))
    return Rounded(value, size, error / size * 2.0**53 + more)


def rounded_inputs(x: Value) -> Value:
    """Inputs of the interpreter as given numbers."""
    if isinstance(x, list):
        return [rounded_inputs(part) for part in x]
    return exact(x) if isinstance(x, np.floating) else x


def bounds(x: Value) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How far the cells of a result may be from those that another order of the operations gives."""

    def of(part: Value) -> Any:
        return [of(p) for p in part] if isinstance(part, list) else getattr(part, "bound", 0.0)

    return 2 * np.asarray(of(x), np.float64)
