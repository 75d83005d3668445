"""Scalars of a program at a place that is not known: symbols, and whole numbers that may be polynomials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.arithmetic import Indices
from relift.compiler.meaning.numbers.polynomials import Index
from relift.compiler.validation.domain import Symbols
from relift.compiler.validation.machine import Undecided
from relift.compiler.validation.symbols import OPEN, Symbol
from relift.semantics.syntax.types import INTEGERS

_ORDERS = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip


class Values(Symbols):
    """The interpreter's domain, in which a whole number may be an index."""

    def __init__(self, algebra: Folding, arithmetic: Indices) -> None:
        super().__init__(algebra)
        self.folding, self.arithmetic = algebra, arithmetic
        self.left = 1 << 62

    def function(self, name: str) -> Callable[..., Any]:
        """A scalar function; on indices, it is their arithmetic."""
        plain = super().function(name)
        exact = self._exact(name)

        def function(*values: Any) -> Any:
            if any(v.__class__ is Index for v in values):
                if not any(isinstance(v, Symbol) for v in values):
                    found = exact(*[v if isinstance(v, Index) else _int(v) for v in values])
                    if found is not None:
                        return found
                values = tuple(self.lifted(v) if isinstance(v, Index) else v for v in values)
            return plain(*values)

        return function

    def _select(self, c: Any, x: Any, y: Any) -> Any:
        if isinstance(c, Symbol):
            x, y = (self.lifted(v) if isinstance(v, Index) else v for v in (x, y))
        return super()._select(c, x, y)

    def lifted(self, value: Any) -> Symbol:
        """A value as a symbol."""
        if isinstance(value, Index):
            return self.folding.whole(value, "i32")
        if value.__class__ is int or value.__class__ is bool:
            return self.algebra.whole(value, "bool" if value.__class__ is bool else "i32")
        return super().lifted(value)

    def _exact(self, name: str) -> Callable[..., Any]:
        """On indices that stay in their type; None where that is not known."""

        def within(x: Any) -> Any:
            return x if not isinstance(x, Index) or self.arithmetic.fits(x, "int") else None

        def divided(x: Any, y: Any, part: int) -> Any:
            r = self.folding.ranges
            return r.quotient(x, y)[part] if r.nonnegative(y - 1) else None

        if name in _ORDERS:
            return lambda x, y: self.arithmetic.order(_ORDERS[name], x, y)
        table: dict[str, Callable[..., Any]] = {
            "add": lambda x, y: within(x + y), "sub": lambda x, y: within(x - y),
            "mul": lambda x, y: within(x * y), "neg": lambda x: within(-x),
            "floor_divide": lambda x, y: divided(x, y, 0), "modulo": lambda x, y: divided(x, y, 1),
            "minimum": lambda x, y: self.folding.ranges.extreme("min", x, y),
            "maximum": lambda x, y: self.folding.ranges.extreme("max", x, y),
        }  # fmt: skip
        if name in INTEGERS:
            return lambda x: x
        return table.get(name, lambda *_: None)


def _int(value: Any) -> Any:
    if isinstance(value, np.generic):
        if value.dtype.kind in "ib":
            return int(value)
        raise Undecided(f"a whole number with {value}")
    return value


def is_open(value: Any) -> bool:
    """Whether a value is left open."""
    return value is OPEN
