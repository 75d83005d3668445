"""What operators and functions of C do to scalars of each type, known or symbols; what C leaves open is a fault."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from relift.compiler.text.c_types import FLOATS, RANGES, UNSIGNED, with_sign
from relift.compiler.validation.known import Between, whole_part
from relift.compiler.validation.machine import Fault, Item, Memory, Undecided
from relift.compiler.validation.operations import read_as
from relift.compiler.validation.symbols import (
    BITS,
    OPEN,
    Algebra,
    DependsOnData,
    Scalar,
    Symbol,
    TooLarge,
    value_of,
)
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.types import FLOATS as FLOAT_TYPES

_NP: dict[str, Any] = {t.c: np.dtype(t.dtype).type for t in FLOAT_TYPES.values()}
_KINDS = {"short": "i32", "int": "i32", "uint": "i32", "long": "i64", "ulong": "i64", **FLOATS}
KINDS = frozenset(_KINDS.values())
"""What kernels' values are followed as."""
_SIMPLE = {
    f.c.partition("(")[0]: f
    for f in SCALAR_FUNCTIONS.values()
    if f.on in ("floats", "numbers") and f.c is not None and f.c[0].isalpha()
}
"""Functions of floats that C and the table of scalars share, by their names in C."""
ARITIES = {name: f.arity for name, f in _SIMPLE.items()}

Function: TypeAlias = Callable[..., Any]

IN_RANGE = "where no whole number with a sign overflows, which C leaves undefined"
"""What is assumed where arithmetic on data may overflow."""


def _kind(scalar: str) -> str:
    """What values of a type of C are followed as: `int` holds the narrower ones but where they are lanes."""
    if scalar not in _KINDS:
        raise Undecided(f"lanes of {scalar}")
    return _KINDS[scalar]


def kind_of(scalar: str) -> str:
    """What a variable or a cell of a type of C holds; nothing of what is no number."""
    return _KINDS.get(scalar, "i32" if scalar in RANGES else "")


class Arithmetic:
    """What operators and functions of C do to scalars of each type."""

    def __init__(self, algebra: Algebra, turns: int) -> None:
        self.algebra = algebra
        self.turns = turns
        self.in_range: list[str] | None = None
        """Where sums and products with signs are taken to lie in their types, what was taken so."""
        self.in_type: Callable[[str, Symbol, Symbol], bool] = lambda operator, x, y: False
        """Whether a sum, a difference or a product with a sign is surely in its type."""
        self._operations: dict[tuple[str, str], Function] = {}
        self.ranges: dict[Symbol, Between | None] = {}
        """The numbers that floats may be that are computed from constants."""

    def operation(self, operator: str, scalar: str) -> Function:
        """A binary operator on two scalars of one type; comparisons give the `int` 0 or 1."""
        key = operator, scalar
        if key not in self._operations:
            self._operations[key] = (
                self._of_floats(operator) if scalar in FLOATS else self._of_wholes(operator, scalar)
            )
        return self._operations[key]

    def held(self, b: Symbol) -> Symbol:
        """A truth value as C has it: an `int`."""
        return self.algebra.convert(b, "i32")

    def _of_floats(self, operator: str) -> Function:
        a = self.algebra
        if operator in "+-*/":
            return {"+": a.add, "-": a.sub, "*": a.mul, "/": a.div}[operator]
        compare = self._comparison(operator, signed=True)
        return lambda x, y: self.held(compare(x, y))

    def _comparison(self, operator: str, *, signed: bool) -> Callable[[Symbol, Symbol], Symbol]:
        a = self.algebra
        lt = a.lt if signed else partial(a.made, "below", "bool")
        le = a.le if signed else partial(a.made, "at_most", "bool")
        match operator:
            case "<":
                return lt
            case ">":
                return lambda x, y: lt(y, x)
            case "<=":
                return le
            case ">=":
                return lambda x, y: le(y, x)
            case "==":
                return a.equal
            case "!=":
                return a.not_equal
            case _:
                raise AssertionError(f"cannot happen: the operator {operator} on floats")

    def _of_wholes(self, operator: str, scalar: str) -> Function:
        known = self._known(operator, scalar)
        free = self._free(operator, scalar)
        lift, kind = self.algebra.lift, _kind(scalar)

        def function(x: Scalar, y: Scalar) -> Scalar:
            if x.__class__ is Symbol or y.__class__ is Symbol:
                if x is OPEN or y is OPEN:
                    return OPEN
                return free(lift(x, kind), lift(y, kind))
            return known(x, y)  # type: ignore[no-any-return]

        return function

    def _known(self, operator: str, scalar: str) -> Function:
        """On numbers that are known; what C leaves undefined is a fault."""
        plain: dict[str, Function] = {
            "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
            "/": quotient, "%": lambda x, y: x - y * quotient(x, y), "&": lambda x, y: x & y,
            "|": lambda x, y: x | y, "^": lambda x, y: x ^ y, "<<": partial(_shift, scalar, left=True),
            ">>": partial(_shift, scalar, left=False), "<": lambda x, y: x < y,
            "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
            "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
        }  # fmt: skip
        function = plain[operator]
        if operator in ("+", "-", "*", "/"):
            return lambda x, y: fitted(function(x, y), scalar)
        if operator == "%":
            return lambda x, y: (fitted(quotient(x, y), scalar), function(x, y))[1]
        return function

    def _free(self, operator: str, scalar: str) -> Callable[[Symbol, Symbol], Symbol]:
        a, kind, signed = self.algebra, _kind(scalar), scalar not in UNSIGNED
        match operator:
            case "+" | "-" | "*" if not signed:
                return {"+": a.add, "-": a.sub, "*": a.mul}[operator]
            case "<<" if not signed:
                return partial(self._shifted_left, kind)
            case "+" | "-" | "*" | "<<":
                return self._may_overflow(operator)
            case "/" | "%":
                name = read_as("quotient" if operator == "/" else "rest", unsigned=not signed)
                return partial(a.made, name, kind)
            case "&" | "|" | "^":
                return partial(a.bits, {"&": "and", "|": "or", "^": "xor"}[operator])
            case ">>":
                return partial(a.made, read_as("shift", unsigned=not signed), kind)
            case _:
                compare = self._comparison(operator, signed=signed)
                return lambda x, y: self.held(compare(x, y))

    def _shifted_left(self, kind: str, x: Symbol, by: Symbol) -> Symbol:
        """x << by without a sign: the product with a power of two, of which the bits beyond are dropped."""
        if by.op != "whole" or not 0 <= value_of(by) < BITS[kind]:
            raise Undecided(f"{x} << {by}")
        return self.algebra.mul(x, self.algebra.whole(1 << int(value_of(by)), kind))

    def _may_overflow(self, operator: str) -> Callable[[Symbol, Symbol], Symbol]:
        a = self.algebra
        taken = {"+": a.add, "-": a.sub, "*": a.mul}.get(operator)

        def refuse(x: Symbol, y: Symbol) -> Symbol:
            if self.in_range is not None and operator == "<<":
                # OpenCL C, shift operators: zeros fill what is left, and what is moved out is gone
                return self._shifted_left(x.type, x, y)
            if taken is not None and self.in_type(operator, x, y):
                return taken(x, y)
            if self.in_range is None or taken is None:
                raise Undecided(f"{x} {operator} {y}, with a sign, may overflow")
            self.in_range.append(IN_RANGE)
            return taken(x, y)

        return refuse

    def negative(self, scalar: str, x: Scalar) -> Scalar:
        """-x."""
        if isinstance(x, Symbol):
            truth = x.op in ("i32", "i64", "mask") and x.args[0].type == "bool"
            if scalar in FLOATS or scalar in UNSIGNED or truth or x is OPEN:
                return x if x is OPEN else self.algebra.neg(x)
            if self.in_type("-", self.algebra.whole(0, x.type), x):
                return self.algebra.neg(x)
            if self.in_range is None:
                raise Undecided(f"-{x}, with a sign, may overflow")
            self.in_range.append(IN_RANGE)
            return self.algebra.neg(x)
        return fitted(-x, scalar)

    def inverted(self, scalar: str, x: Scalar) -> Scalar:
        """~x."""
        if isinstance(x, Symbol):
            return x if x is OPEN else self.algebra.invert(x)
        return wrapped(~int(x), scalar)

    def refused(self, scalar: str, x: Scalar) -> Scalar:
        """!x."""
        if isinstance(x, Symbol):
            return x if x is OPEN else self.held(self.algebra.invert(self.algebra.truth(x)))
        return not x

    def mask(self, scalar: str, x: Scalar) -> Scalar:
        """The result of a comparison as a lane: 0 or -1, of the bytes of `scalar`."""
        if isinstance(x, Symbol):
            return x if x is OPEN else self.algebra.neg(self.algebra.convert(x, _kind(scalar)))
        return -int(x)

    def converted(self, before: str, after: str, x: Scalar) -> Scalar:
        """A scalar of one type in another."""
        if x is OPEN:
            return x
        if after in FLOATS:
            if not isinstance(x, Symbol):
                return self.algebra.real(_NP[after](int(x)), FLOATS[after])
            if x.type == "bool" or before not in UNSIGNED:
                return self.algebra.convert(x, FLOATS[after])
            return self.algebra.made("unsigned", FLOATS[after], x)
        if not isinstance(x, Symbol):
            return wrapped(int(x), after)
        return _to_whole(self, before, after, x)

    def saturated(self, after: str, x: Scalar) -> Scalar:
        """A float as the nearest whole number that a type has, towards zero."""
        if x is OPEN or not isinstance(x, Symbol):
            return x
        return self.algebra.saturated(x, _kind(after))

    def extreme(self, which: str, scalar: str, x: Scalar, y: Scalar) -> Scalar:
        """`min` or `max` of whole numbers."""
        if not isinstance(x, Symbol) and not isinstance(y, Symbol):
            return min(x, y) if which == "min" else max(x, y)
        name = read_as({"min": "minimum", "max": "maximum"}[which], unsigned=scalar in UNSIGNED)
        kind = _kind(scalar)
        return self.algebra.made(name, kind, self.algebra.lift(x, kind), self.algebra.lift(y, kind))

    def absolute(self, scalar: str, x: Scalar) -> Scalar:
        """`abs` of a whole number, which has no sign."""
        if isinstance(x, Symbol):
            return x if scalar in UNSIGNED else self.algebra.made("absolute", _kind(scalar), x)
        return abs(x)

    def called(self, function: str, scalar: str) -> Function | None:
        """A function of floats."""
        known = _SIMPLE.get(function)
        if function == "rsqrt":
            return self.algebra.reciprocal_root
        return None if known is None else partial(self.algebra.made, known.name, FLOATS[scalar])

    # ---- decisions

    def choose(self, c: Scalar, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """`c ? yes : no`; both, where c is data."""
        if not isinstance(c, Symbol):
            return yes() if c else no()
        try:
            x, y = yes(), no()
        except Fault as fault:
            raise Undecided(f"under a condition on data, {fault.detail}") from None
        if isinstance(x, tuple):
            return tuple([self.picked(c, p, q) for p, q in zip(x, y, strict=True)])
        return self.picked(c, x, y)

    def picked(self, c: Scalar, x: Scalar, y: Scalar) -> Scalar:
        """x where c is not 0, else y; all are computed already."""
        if not isinstance(c, Symbol):
            return x if c else y
        if c is OPEN or x is OPEN or y is OPEN:
            return OPEN
        kind = x.type if isinstance(x, Symbol) else y.type if isinstance(y, Symbol) else "i32"
        a = self.algebra
        if kind == "bool":
            kind, x, y = "i32", self._number(x), self._number(y)
        return a.select(a.truth(c), a.lift(x, kind), a.lift(y, kind))

    def _number(self, x: Scalar) -> Scalar:
        return self.held(x) if isinstance(x, Symbol) and x.type == "bool" else x

    def lane(self, c: Scalar, x: Scalar, y: Scalar) -> Scalar:
        """x where the highest bit of c is set, else y: what vectors do."""
        if not isinstance(c, Symbol):
            return x if c < 0 else y
        if c.op == "mask":
            return self.picked(self.held(c.args[0]), x, y)
        if c is OPEN:
            return OPEN
        return self.picked(self.held(self.algebra.lt(c, self.algebra.whole(0, c.type))), x, y)

    def both(self, x: Scalar, y: Callable[[], Scalar]) -> Scalar:
        """`x && y`."""
        return self._either(x, y, stops=False, operator="and")

    def either(self, x: Scalar, y: Callable[[], Scalar]) -> Scalar:
        """`x || y`."""
        return self._either(x, y, stops=True, operator="or")

    def _either(self, x: Scalar, y: Callable[[], Scalar], *, stops: bool, operator: str) -> Scalar:
        a = self.algebra
        if not isinstance(x, Symbol):
            if bool(x) == stops:
                return stops
            right = y()
            if not isinstance(right, Symbol):
                return bool(right)
            return right if right is OPEN else self.held(a.truth(right))
        try:
            right = y()
        except Fault as fault:
            raise Undecided(f"under a condition on data, {fault.detail}") from None
        if x is OPEN or right is OPEN:
            return OPEN
        other = a.truth(right) if isinstance(right, Symbol) else a.whole(int(bool(right)), "bool")
        return self.held(a.bits(operator, a.truth(x), other))

    def decided(self, it: Item, c: Scalar) -> bool:
        """A condition of control flow, which must be known."""
        if not isinstance(c, Symbol):
            return bool(c)
        if c is OPEN:
            raise Fault("initialised", f"{it} branches on what nothing was written to")
        raise DependsOnData(c, "a branch")

    def ahead(self, it: Item, counter: int, step: Any, scalar: str) -> int:
        """The counter of the next turn."""
        if step.__class__ is not int:
            step = 1 if self.decided(it, step) else 0
        if step < 1:
            raise Fault("loop", f"{it} is in a loop that does not advance: its step is {step}")
        self.turns -= 1
        if self.turns < 0:
            raise TooLarge("more turns of loops than the limit allows")
        return fitted(counter + step, scalar)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What the code of a kernel calls."""
        return {
            "arithmetic": self, "choose": self.choose, "lane": self.lane, "picked": self.picked,
            "both": self.both, "either": self.either, "decided": self.decided, "ahead": self.ahead,
            "converted": self.converted, "negative": self.negative, "mask": self.mask,
            "moved": moved, "moved_back": moved_back, "fitted": fitted, "wrapped": wrapped, "quotient": quotient, "OPEN": OPEN,
            "Memory": Memory, "smallest": min, "largest": max,
        }  # fmt: skip


def moved(place: Scalar, by: Scalar) -> Scalar:
    """A place in an array, moved; one that is not known stays so."""
    if isinstance(place, Symbol) or isinstance(by, Symbol):
        return by if isinstance(by, Symbol) else place
    return place + by


def moved_back(place: Scalar, by: Scalar) -> Scalar:
    """A place so many elements before."""
    return moved(place, by if isinstance(by, Symbol) else -by)


def quotient(x: int, y: int) -> int:
    """x / y towards zero."""
    if y == 0:
        raise Fault("division", f"{x} is divided by zero")
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def fitted(x: int, scalar: str) -> int:
    """A result in its type: without a sign it wraps around, with one it must fit."""
    low, high = RANGES[scalar]
    if low <= x <= high:
        return x
    if scalar in UNSIGNED:
        return x & high
    raise Fault("overflow", f"{x} overflows {scalar}")


def wrapped(x: int, scalar: str) -> int:
    """A whole number converted to a type."""
    low, high = RANGES[scalar]
    return (x - low) % (high - low + 1) + low


def _shift(scalar: str, x: int, y: int, *, left: bool) -> int:
    if not 0 <= y < (64 if "long" in scalar else 32):
        raise Undecided(f"a shift by {y}")
    if left and scalar not in UNSIGNED and x < 0:
        raise Undecided(f"a shift of {x}")
    return fitted(x << y, scalar) if left else x >> y


def shorter(a: Algebra, x: Symbol, after: str) -> Symbol:
    """The lowest bits of a whole number, as a number of a type that has no more."""
    if x.op == "mask" and after in ("char", "short"):
        return x
    if with_sign(after) not in ("char", "short"):
        raise Undecided(f"{x} as a {after}")
    bits = 8 if after.endswith("char") else 16
    low = a.bits("and", a.convert(x, "i32"), a.whole(2**bits - 1, "i32"))
    if after in UNSIGNED:
        return low
    sign = a.whole(2 ** (bits - 1), "i32")
    return a.sub(a.bits("xor", low, sign), sign)


def _to_whole(of: Arithmetic, before: str, after: str, x: Symbol) -> Scalar:
    """A symbol as a whole number, known where it is a float of constants."""
    a = of.algebra
    if before in FLOATS and (number := whole_part(x, of.ranges)) is not None:
        low, high = RANGES.get(after, (0, -1))
        if low <= number <= high:
            return number
    truth = x.type == "bool" or (x.op in ("i32", "i64") and x.args[0].type == "bool")
    if after in _KINDS:
        kind = _KINDS[after]
        if before == "uint" and kind == "i64" and not truth:
            return a.made("extended", kind, x)
        return a.convert(x, kind)
    return of.held(a.truth(x)) if truth else shorter(a, x, after)
