"""What elements of arrays are: NumPy scalars, exact numbers, and cells that are left open."""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from relift.semantics.errors import Undefined
from relift.semantics.syntax.scalars import IRRATIONAL, SCALAR_FUNCTIONS
from relift.semantics.syntax.terms import Pattern, UserFunction
from relift.semantics.syntax.types import SCALARS, Scalar, Type

Value: TypeAlias = Any
"""An element of the domain, a list of values (array or vector), or a tuple of values."""


class Unspecified:
    """The one value of cells whose content is left open.  It has no arithmetic, so none accepts it silently."""

    def __bool__(self) -> bool:
        raise Undefined("a branch depends on a cell that pad_empty leaves open")

    def __index__(self) -> int:
        raise Undefined("an index depends on a cell that pad_empty leaves open")

    def __eq__(self, other: object) -> bool:
        raise TypeError("a cell that is left open equals nothing")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "unspecified"


UNSPECIFIED = Unspecified()


class Numeric:
    """NumPy scalars, in the precision of their type."""

    lazy: ClassVar[bool] = False
    """Whether elements of arrays are computed after the function that returned the array has ended."""

    def unspecified(self) -> Value:
        """The value of a cell whose content is left open."""
        return UNSPECIFIED

    def literal(self, value: float, t: Type) -> Value:
        assert isinstance(t, Scalar), "cannot happen: a literal is a scalar"
        return DTYPES[t.name].type(value)

    def function(self, name: str) -> Callable[..., Value]:
        """The meaning of a scalar function."""
        return SCALAR_FUNCTIONS[name].meaning

    def reference(self, function: UserFunction) -> Callable[..., Value]:
        """The meaning of a user function that is opaque C: its reference in Python."""
        return function.reference

    def meaning(self, pattern: Pattern) -> tuple[tuple[str, ...], Callable[..., Value]]:
        """The meaning of a pattern, after the parameters that it asks for: its own, whatever the elements are."""
        return _parameters(pattern.meaning), pattern.meaning


class Exact(Numeric):
    """Exact integers and rationals, whatever the type says, but for constants, which are those of their type.

    Functions that leave the rationals (`sqrt`, `exp`, ...) are uninterpreted: each argument gets a rational
    of its own.  No rule knows more of them than that equal arguments give equal results.

    >>> from relift.semantics.domains import Exact
    >>> from relift.semantics.syntax.types import f32
    >>> Exact().literal(0.1, f32) == Exact().literal(0.10000000149011612, f32)
    True
    """

    def function(self, name: str) -> Callable[..., Value]:
        if name not in IRRATIONAL:
            return super().function(name)

        def uninterpreted(*arguments: Value) -> Value:
            digest = hashlib.sha256(repr((name, *map(Fraction, arguments))).encode()).digest()
            return Fraction(int.from_bytes(digest[:4], "big"), 1 << 16)

        return uninterpreted

    def literal(self, value: float, t: Type) -> Value:
        if isinstance(value, int):
            return value
        with np.errstate(
            over="ignore"
        ):  # the type has other constants than Python: two texts may be one of them
            constant = float(super().literal(value, t))
        # an infinity compares with rationals as it should
        return Fraction(constant) if math.isfinite(constant) else constant


DTYPES: dict[str, np.dtype[Any]] = {t.name: np.dtype(t.dtype) for t in SCALARS.values()}


@cache
def _parameters(meaning: Callable[..., Value]) -> tuple[str, ...]:
    return tuple(inspect.signature(meaning).parameters)
