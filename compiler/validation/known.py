"""What a condition is where another one says which number a value is: `0 <= v && v < 16` where `v == 3`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from relift.semantics.syntax.types import INTEGERS

if TYPE_CHECKING:
    from relift.compiler.validation.symbols import Symbol

_BITS = {t.name: 8 * t.bytes for t in INTEGERS.values()}
_ORDERS: Mapping[str, Callable[[int, int], bool]] = {
    "lt": operator.lt, "le": operator.le, "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip
_WITHOUT_SIGN: Mapping[str, Callable[[int, int], bool]] = {
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
