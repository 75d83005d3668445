"""Symbols as a domain of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from relift.compiler.validation.symbols import FLOATING, OPEN, Algebra, Symbol, TooLarge, value_of
from relift.semantics.domains import DTYPES, Numeric
from relift.semantics.syntax.scalars import CONVERSIONS, SCALAR_FUNCTIONS
from relift.semantics.syntax.terms import UserFunction
from relift.semantics.syntax.types import Scalar, Type

OPERATIONS = 4
"""Operations of the interpreter for each symbol that may be made: most make one, but what is computed again makes none."""


class Symbols(Numeric):
    """The interpreter's domain: floats are symbols; whole numbers and truth values are NumPy's where they are known.

    What has no word in C (`minimum` of floats, say) is written out as the table of scalars defines it.
    """

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.left = OPERATIONS * algebra.limit

    def unspecified(self) -> Any:
        """A cell that is left open."""
        return OPEN

    def literal(self, value: float, t: Type) -> Any:
        """A constant of a type."""
        assert isinstance(t, Scalar), "cannot happen: a literal is a scalar"
        known = super().literal(value, t)
        return self.algebra.real(known, t.name) if t.is_float else known

    def function(self, name: str) -> Callable[..., Any]:
        """A scalar function on values of which some are symbols."""
        known = SCALAR_FUNCTIONS[name].meaning
        free = self._free(name)

        def function(*values: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise TooLarge("more operations of the interpreter than the limit allows")
            if not any(v.__class__ is Symbol for v in values):
                return self._float(known(*values))
            if OPEN in values:
                return OPEN
            return free(*map(self.lifted, values))

        return self._select if name == "select" else function

    def reference(self, function: UserFunction) -> Callable[..., Any]:
        """An opaque function is known by its text only."""
        return opaque(self.algebra, function, self.lifted)

    def _select(self, c: Any, x: Any, y: Any) -> Any:
        if c.__class__ is not Symbol:
            return x if c else y
        if OPEN in (c, x, y):
            return OPEN
        return self.algebra.select(c, self.lifted(x), self.lifted(y))

    def _float(self, value: Any) -> Any:
        if isinstance(value, np.floating):
            return self.algebra.real(value, value.dtype.name.replace("float", "f"))
        return value

    def lifted(self, value: Any) -> Symbol:
        """A value as a symbol."""
        if isinstance(value, Symbol):
            return value
        kinds = {dtype: name for name, dtype in DTYPES.items()}
        kind = kinds[np.asarray(value).dtype]
        return self.algebra.whole(int(value), "bool" if kind == "boolean" else kind)

    def _free(self, name: str) -> Callable[..., Symbol]:
        a = self.algebra
        table: dict[str, Callable[..., Symbol]] = {
            "add": a.add, "sub": a.sub, "mul": a.mul, "div": a.div, "neg": a.neg,
            "lt": a.lt, "le": a.le, "gt": lambda x, y: a.lt(y, x), "ge": lambda x, y: a.le(y, x),
            "floor_divide": partial(divided, a, "floor_divide"), "modulo": partial(divided, a, "modulo"),
            "equal": a.equal, "not_equal": a.not_equal, "invert": a.invert,
            "bitwise_and": lambda x, y: a.bits("and", x, y), "minimum": self._minimum,
            "bitwise_or": lambda x, y: a.bits("or", x, y), "maximum": self._maximum,
            "bitwise_xor": lambda x, y: a.bits("xor", x, y), "rsqrt": a.reciprocal_root,
        }  # fmt: skip
        if name in CONVERSIONS:
            return lambda x: self._converted(x, name)
        return table.get(name) or (lambda *xs: a.made(name, xs[-1].type, *xs))

    def _minimum(self, x: Symbol, y: Symbol) -> Symbol:
        return self._extreme("minimum", self.algebra.lt(x, y), x, y)

    def _maximum(self, x: Symbol, y: Symbol) -> Symbol:
        return self._extreme("maximum", self.algebra.lt(y, x), x, y)

    def _extreme(self, name: str, before: Symbol, x: Symbol, y: Symbol) -> Symbol:
        a = self.algebra
        if not x.type in FLOATING:
            return a.made(name, x.type, x, y)
        return a.select(a.bits("or", before, a.not_equal(x, x)), x, y)

    def _converted(self, x: Symbol, to: str) -> Symbol:
        a = self.algebra
        if not x.type in FLOATING or to in FLOATING:
            return a.convert(x, to)
        zero = a.whole(0, to)
        return a.select(a.not_equal(x, x), zero, a.saturated(x, to))


def divided(a: Algebra, name: str, x: Symbol, y: Symbol) -> Symbol:
    """What the language's quotient, rest or shift of whole numbers is; by a power of two, what C's operators are.

    >>> from relift.compiler.validation.domain import divided
    >>> from relift.compiler.validation.symbols import Algebra
    >>> a = Algebra()
    >>> x = a.cell("x", 0, "i32")
    >>> divided(a, "modulo", x, a.whole(8, "i32")) is a.bits("and", x, a.whole(7, "i32"))
    True
    """
    by = int(value_of(y)) if y.op == "whole" else 0
    if name == "modulo" and by > 0 and by.bit_count() == 1:
        return a.bits("and", x, a.whole(by - 1, x.type))
    if name == "floor_divide" and by > 0 and by.bit_count() == 1:
        return a.made("shift", x.type, x, a.whole(by.bit_length() - 1, x.type))
    return a.made(name, x.type, x, y)


def opaque(
    algebra: Algebra, function: UserFunction, lifted: Callable[[Any], Symbol]
) -> Callable[..., Symbol]:
    """A user function in C as an operation of its own, known by its text: two of one text are one, whatever their names."""
    taken = ", ".join(f"{t} {p}" for p, t in zip(function.parameters, function.types, strict=True))
    text = " ".join((function.c or "").split())
    name = f"{function.result} ({taken}) {{{text}}}"
    kind = "bool" if str(function.result) == "boolean" else str(function.result)
    return lambda *values: algebra.made(name, kind, *map(lifted, values))
