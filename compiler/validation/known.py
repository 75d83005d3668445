"""What is known of values though they are symbols.

What a condition is where another one says which number a value is: `0 <= v && v < 16` where `v == 3`.  Which whole number
a float becomes that is computed from constants only, however it is rounded on the way: `(int)(3 * 0.5f + 0.25f)`.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from relift.semantics.syntax.types import FLOATS, INTEGERS

if TYPE_CHECKING:
    from relift.compiler.validation.operations import Operation
    from relift.compiler.validation.symbols import Symbol

_BITS = {t.name: 8 * t.bytes for t in INTEGERS.values()}
_ORDERS: Mapping[Operation, Callable[[int, int], bool]] = {
    "lt": operator.lt, "le": operator.le, "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip
_WITHOUT_SIGN: Mapping[Operation, Callable[[int, int], bool]] = {
    "below": operator.lt, "at_most": operator.le,
}  # fmt: skip

DEPTH = 8
"""Conditions in each other that are looked into."""


def decided_where(condition: Symbol, fact: Symbol) -> bool | None:
    """Whether a condition holds where a fact does, by the numbers that the fact says; None where these do not tell.

    >>> from relift.compiler.validation.known import decided_where
    >>> from relift.compiler.validation.symbols import Algebra
    >>> a = Algebra()
    >>> v, three = a.cell("v", 0, "i32"), a.whole(3, "i32")
    >>> inside = a.bits("and", a.le(a.whole(0, "i32"), v), a.lt(v, a.whole(16, "i32")))
    >>> decided_where(inside, a.equal(v, three)), decided_where(a.lt(v, three), a.equal(v, three))
    (True, False)
    """
    numbers = dict(_said(fact, DEPTH))
    return _holds(condition, numbers, DEPTH) if numbers else None


def _said(fact: Symbol, depth: int) -> Iterator[tuple[Symbol, int]]:
    """The values of which a fact says which number they are."""
    if fact.op == "equal":
        for x, y in (fact.args, fact.args[::-1]):
            if y.op == "whole" and x.type in _BITS:
                yield x, y.args[0]
    if fact.op == "bitwise_and" and fact.type == "bool" and depth:
        for part in fact.args:
            yield from _said(part, depth - 1)


def _holds(condition: Symbol, numbers: Mapping[Symbol, int], depth: int) -> bool | None:
    match condition.op:
        case "whole":
            return bool(condition.args[0])
        case op if op in _ORDERS or op in _WITHOUT_SIGN:
            u, v = (_number(x, numbers) for x in condition.args)
            if u is None or v is None:
                return None
            if op in _ORDERS:
                return _ORDERS[op](u, v)
            above = 1 << _BITS[condition.args[0].type]
            return _WITHOUT_SIGN[op](u % above, v % above)
        case "invert" if depth and condition.type == "bool":
            found = _holds(condition.args[0], numbers, depth - 1)
            return None if found is None else not found
        case "bitwise_and" | "bitwise_or" if depth and condition.type == "bool":
            known = [_holds(c, numbers, depth - 1) for c in condition.args]
            ends = condition.op == "bitwise_or"
            if ends in known:
                return ends
            return None if None in known else not ends
        case _:
            return None


def _number(x: Symbol, numbers: Mapping[Symbol, int]) -> int | None:
    """The number that a value is."""
    if x in numbers:
        return numbers[x]
    if x.op == "whole":
        return x.args[0]  # type: ignore[no-any-return]
    if x.op in (*_BITS, "extended") and _BITS.get(x.args[0].type, 65) < _BITS[x.type]:
        known = _number(x.args[0], numbers)
        below = 1 << _BITS[x.args[0].type]
        return known % below if x.op == "extended" and known is not None else known
    if x.op == "add" and x.type in _BITS:
        u, v = (_number(part, numbers) for part in x.args)
        half = 1 << (_BITS[x.type] - 1)
        return None if u is None or v is None else (u + v + half) % (2 * half) - half
    return None


# ---- floats of constants

Between: TypeAlias = tuple[Fraction, Fraction]
"""The least number that a float may be, and the largest."""

_DIGITS = {t.name: {2: 10, 4: 23, 8: 52}[t.bytes] for t in FLOATS.values()}
_TYPES: Mapping[str, Any] = {t.name: np.dtype(t.dtype).type for t in FLOATS.values()}
_ROUNDED: Mapping[Operation, Callable[[Fraction], int]] = {"floor": math.floor, "ceil": math.ceil}

_NORMAL = {t.name: Fraction(2) ** {2: 14, 4: 100, 8: 100}[t.bytes] for t in FLOATS.values()}
"""Up to here, and down to its inverse, a float has all its digits."""


def between(x: Symbol, memo: dict[Symbol, Between | None]) -> Between | None:
    """The numbers that a float of constants may be, whichever products and sums are rounded once together; None of data.

    >>> from relift.compiler.validation.known import between
    >>> from relift.compiler.validation.symbols import Algebra
    >>> a = Algebra()
    >>> product = a.mul(a.real(31, "f32"), a.real(0.7, "f32"))
    >>> [float(n) for n in between(a.add(product, a.real(0.3, "f32")), {})]
    [21.999998092651367, 22.0]
    >>> between(a.add(product, a.cell("x", 0, "f32")), {})
    """
    waiting = [x]
    while waiting:
        now = waiting[-1]
        if now in memo:
            waiting.pop()
        elif now.op in ("real", "whole") or now.op not in _PARTS:
            memo[now] = _constant(now)
        elif any(v in memo and memo[v] is None for v in now.args):
            memo[now] = None
        elif (needed := next((v for v in now.args if v not in memo), None)) is not None:
            waiting.append(needed)
        else:
            memo[now] = _of_parts(now, [_within(v, memo, now.op) for v in now.args])
    return memo[x]


def whole_part(x: Symbol, memo: dict[Symbol, Between | None]) -> int | None:
    """The whole number that a float of constants becomes; None of data, and where rounding decides."""
    ends = between(x, memo)
    numbers = set() if ends is None else {math.trunc(n) for n in ends}
    return numbers.pop() if len(numbers) == 1 else None


def _constant(x: Symbol) -> Between | None:
    if x.op not in ("real", "whole") or x.type not in (*_DIGITS, *_BITS):
        return None
    number = x.args[0] if x.op == "whole" else struct.unpack("<d", x.args[0])[0]
    return (Fraction(number), Fraction(number)) if math.isfinite(number) else None


def _of_parts(x: Symbol, parts: list[Between]) -> Between | None:
    """An operation on numbers that may be some."""
    if x.type not in _DIGITS:
        return None
    if x.op in _ROUNDED:
        low, high = parts[0]
        return Fraction(_ROUNDED[x.op](low)), Fraction(_ROUNDED[x.op](high))
    if x.op == "div" and parts[1][0] <= 0 <= parts[1][1]:
        return None
    ends = _PARTS[x.op](*parts)
    low, high = _float(min(ends), x.type), _float(max(ends), x.type)
    if x.op == "div":
        far = Fraction(4, 2 ** _DIGITS[x.type])
        low, high = low - far * abs(low), high + far * abs(high)
    if low == high == 0:
        return low, high
    inside = all(1 / _NORMAL[x.type] <= abs(n) <= _NORMAL[x.type] for n in (low, high))
    return (low, high) if inside and (low > 0) == (high > 0) else None


def _within(x: Symbol, memo: Mapping[Symbol, Between | None], by: Operation) -> Between:
    """What an operation takes for one of its parts: for a product, in a sum, also what it is before it is rounded."""
    found = memo[x]
    assert found is not None, "cannot happen: it is asked for before"
    if by in ("add", "sub") and x.op == "neg":
        low, high = _within(x.args[0], memo, by)
        return -high, -low
    if by in ("add", "sub") and x.op == "mul":
        ends = [*_products(*(_within(v, memo, x.op) for v in x.args)), *found]
        return min(ends), max(ends)
    return found


def _float(n: Fraction, type_: str) -> Fraction:
    """The nearest float of a type: rounded once, and not to a longer float before.

    >>> from fractions import Fraction
    >>> from relift.compiler.validation.known import _float
    >>> _float(1 + Fraction(1, 2**24) + Fraction(1, 2**60), "f32") == 1 + Fraction(1, 2**23)
    True
    """
    if abs(n) > _NORMAL[type_]:
        return n
    of = _TYPES[type_]
    near = of(float(n))  # of two that are as near, the even one
    found = [near, np.nextafter(near, of(-np.inf)), np.nextafter(near, of(np.inf))]
    return min((Fraction(float(each)) for each in found), key=lambda each: abs(each - n))


def _products(x: Between, y: Between) -> list[Fraction]:
    return [u * v for u in x for v in y]


_PARTS: Mapping[Operation, Callable[..., list[Fraction]]] = {
    "add": lambda x, y: [u + v for u, v in zip(x, y, strict=True)],
    "sub": lambda x, y: [x[0] - y[1], x[1] - y[0]],
    "mul": _products,
    "div": lambda x, y: [u / v for u in x for v in y],
    "neg": lambda x: [-n for n in x],
    "floor": list,
    "ceil": list,
    **dict.fromkeys(_DIGITS, list),
}  # fmt: skip
