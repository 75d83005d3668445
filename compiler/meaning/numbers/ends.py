"""Between which numbers data lie that are computed: what bounds an index keeps it in its array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from relift.compiler.meaning.numbers.constants import Constants
from relift.compiler.meaning.numbers.polynomials import Whole, linear_in
from relift.compiler.text.c_types import RANGES

if TYPE_CHECKING:
    from relift.compiler.meaning.numbers.algebra import Open
    from relift.compiler.validation.symbols import Symbol

Ends: TypeAlias = "tuple[Whole | None, Whole | None]"

DEPTH = 6
"""Operations in each other that are looked into."""


def ends_of(algebra: Open, x: Symbol, depth: int = DEPTH) -> Ends:
    """The least and the largest number that a value may be; None where nothing is known.

    >>> from relift.compiler.meaning.numbers.algebra import Folding
    >>> from relift.compiler.meaning.numbers.ends import ends_of
    >>> from relift.compiler.meaning.numbers.ranges import Ranges
    >>> a = Folding(Ranges(), 1000)
    >>> x = a.cell_at("ids", 0, "i32")
    >>> ends_of(a, a.made("modulo", "i32", x, a.whole(16, "i32")))
    (0, 15)
    >>> inside = a.made("bitwise_and", "bool", a.made("le", "bool", a.whole(0, "i32"), x), a.made("lt", "bool", x, a.whole(9, "i32")))
    >>> ends_of(a, a.made("select", "i32", inside, x, a.whole(0, "i32")))
    (0, 8)
    """
    if x.type not in ("i32", "i64") or not depth:
        return None, None
    match x.op:
        case "whole":
            return int(x.args[0]), int(x.args[0])
        case "index":
            return x.args[0], x.args[0]
        case "cell":
            atom, r = algebra.ranges.atom("data", "", (x,)), algebra.ranges
            low, high = algebra.ends.get(x.args[0], (None, None))
            if isinstance(x.args[0], Constants) and (numbers := x.args[0].numbers):
                low, high = min(numbers), max(numbers)
            return r.low.get(atom, low), r.high.get(atom, high)
        case "minimum" | "maximum":
            return _of_two(algebra, x, depth)
        case "select":
            return _of_choice(algebra, x, depth)
        case "modulo":
            low, high = ends_of(algebra, x.args[1], depth - 1)
            if low is not None and high is not None and algebra.ranges.nonnegative(low - 1):
                return 0, high - 1
        case "shift":
            (low, high), by = ends_of(algebra, x.args[0], depth - 1), x.args[1]
            if by.op == "whole" and isinstance(low, int) and isinstance(high, int):
                return low >> by.args[0], high >> by.args[0]
        case "bitwise_and":
            known = [int(v.args[0]) for v in x.args if v.op == "whole"]
            if known and known[0] >= 0:
                return 0, known[0]
        case "add" | "sub":
            return _of_sum(algebra, x, depth)
        case _:
            pass
    return None, None


def _of_choice(algebra: Open, x: Symbol, depth: int) -> Ends:
    """Of what is one value where a condition holds, which may say how large it is, and else another."""
    condition, yes, no = x.args
    a, b = ends_of(algebra, yes, depth - 1)
    for low, high in _said_of(algebra, yes, condition, depth):
        a, b = (low if a is None else a), (high if b is None else b)
    c, d = ends_of(algebra, no, depth - 1)
    return _outer(algebra, a, c, -1), _outer(algebra, b, d, 1)


def _said_of(algebra: Open, x: Symbol, condition: Symbol, depth: int) -> Iterator[Ends]:
    """What follows for a whole number where a condition holds."""
    if condition.op == "bitwise_and":
        for part in condition.args:
            yield from _said_of(algebra, x, part, depth)
    if condition.op == "nonneg":
        atom = algebra.ranges.atom("data", "", (x,))
        parts = linear_in(condition.args[0], atom)
        if parts is not None and parts[0] in (1, -1):
            most = algebra.ranges.interval(parts[1])[1]
            if most is not None:
                yield (-most, None) if parts[0] == 1 else (None, most)
    if condition.op in ("le", "lt"):
        less, more = condition.args
        apart = 1 if condition.op == "lt" else 0
        if more == x and (low := ends_of(algebra, less, depth - 1)[0]) is not None:
            yield low + apart, None
        if less == x and (high := ends_of(algebra, more, depth - 1)[1]) is not None:
            yield None, high - apart


def _of_two(algebra: Open, x: Symbol, depth: int) -> Ends:
    """Of the smaller or the larger one of two values."""
    (a, b), (c, d) = (ends_of(algebra, v, depth - 1) for v in x.args)
    least, most = _outer(algebra, a, c, -1), _outer(algebra, b, d, 1)
    if x.op == "minimum" and most is None:
        most = d if b is None else b
    if x.op == "maximum" and least is None:
        least = c if a is None else a
    return least, most


def _outer(algebra: Open, x: Whole | None, y: Whole | None, sign: int) -> Whole | None:
    """The larger one of two ends, or the smaller one, where it is known which that is."""
    if x is None or y is None:
        return None
    if algebra.ranges.nonnegative(sign * (x - y)):
        return x
    return y if algebra.ranges.nonnegative(sign * (y - x)) else None


def _of_sum(algebra: Open, x: Symbol, depth: int) -> Ends:
    """Of a sum or difference that stays in its type."""
    (a, b), (c, d) = (ends_of(algebra, v, depth - 1) for v in x.args)
    if a is None or b is None or c is None or d is None:
        return None, None
    least, most = (a + c, b + d) if x.op == "add" else (a - d, b - c)
    r, (low, high) = algebra.ranges, RANGES["int"]
    fits: Any = any(r.nonnegative(n - most) for n in (high, *r.below))
    return (least, most) if fits and r.nonnegative(least - low) else (None, None)
