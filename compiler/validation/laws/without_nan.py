"""Values that are equal where nothing is NaN: maxima and minima, where these stand, however they are written."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from relift.compiler.validation.laws.regrouping import (
    COMPARISONS,
    Reassociation,
    in_both,
    parts_beside,
)
from relift.compiler.validation.operations import (
    ANY_PRODUCT,
    ANY_SUM,
    FirstOf,
    Named,
    Unsigned,
    Variadic,
    name_of,
    read_as,
)
from relift.compiler.validation.symbols import BITS, FLOATING, Algebra, Symbol, value_of

NOTE = "where nothing that is compared is NaN, and 0 and -0 are one"
"""What is assumed of such values."""


class WithoutNaN(Reassociation):
    """The normal form of `Reassociation`, in which the larger of two is one thing: `maximum`, `fmax` or a selection.

    >>> from relift.compiler.validation.symbols import Algebra
    >>> from relift.compiler.validation.laws.without_nan import WithoutNaN
    >>> a = Algebra()
    >>> x, y, z = (a.cell("x", i, "f32") for i in range(3))
    >>> def larger(x, y):
    ...     return a.select(a.lt(x, y), y, x)
    >>> normal = WithoutNaN(a)
    >>> normal(larger(larger(x, y), z)) is normal(larger(x, larger(z, y)))
    True
    >>> size = a.made("absolute", "f32", x)
    >>> normal(larger(a.real(0, "f32"), size)) is normal(size)
    True
    """

    def __init__(self, algebra: Algebra, *, floats: bool = True) -> None:
        super().__init__(algebra, floats=floats)
        self.places = Places(algebra, self._end)

    def _made(self, x: Symbol, inner: Any) -> Symbol:
        made = super()._made(x, inner)
        if made.type in BITS:
            return self._whole_made(made)
        match made.op, made.args:
            case "not_equal" | "equal" as op, (a, b) if a is b:
                return self.algebra.whole(int(op == "equal"), "bool")
            case op, word if op == ANY_PRODUCT and (truth := _truth_in(word)) is not None:
                rest = [v for v in word if v is not truth]
                return self._selected(
                    truth.args[0], self._chain(made.type, rest), self.algebra.real(0.0, made.type)
                )
            case op, word if op == ANY_SUM:
                return self._without_opposites(made, word)
            case "select", (c, a, b):
                return self._selected(c, a, b)
            case "maximum" | "minimum" as op, (a, b):
                return self._extreme(op, a, b)
            case _:
                return made

    def _whole_made(self, x: Symbol) -> Symbol:
        """A whole number: one that is chosen by what is smallest, and what is computed of it."""
        if x.op == "select":
            return self._selected(*x.args)
        if x.op == ANY_SUM and len(x.args) == 2 and x.args[1].op == "whole":
            held, number = x.args
            return self.places.each(
                x, held, lambda p: self._multiples(x.type, [(1, p), (1, number)])
            )
        if x.op in ("in_range", "saturated") and self._is_held(x):
            return self.algebra.saturated(x.args[0], x.type)
        if x.op == Variadic("bitwise_and") and len(x.args) == 2 and x.args[1].op == "whole":
            masked: Symbol = x.args[0]
            mask = int(x.args[1].args[0])
            if ends(masked)[0] >= 0 and ends(masked)[1] <= mask and not mask & mask + 1:
                return masked
        if x.op in (*BITS, "in_range"):
            return self.places.each(x, x.args[0], lambda p: self._number_as(p, x.type))
        return x

    def _is_held(self, x: Symbol) -> bool:
        """Whether the whole part of a float is surely one of the numbers of a type."""
        low, high = ends(x.args[0])
        most: int = 2 ** (BITS[x.type] - 1)
        return -most <= low and high < most

    def _number_as(self, p: Symbol, type_: str) -> Symbol:
        """A number in a type of whole numbers: one with a fraction without it."""
        return self.algebra.whole(int(value_of(p)), type_)

    def _without_opposites(self, x: Symbol, word: tuple[Symbol, ...]) -> Symbol:
        """A sum without what is added and taken away again."""
        counts = Counter(word)
        for v in filter(_is_negative, list(counts)):
            if (other := self._negated(v)) in counts and other is not v:
                common = min(counts[v], counts[other])
                counts[v] -= common
                counts[other] -= common
        kept = list(counts.elements())
        return x if len(kept) == len(word) else self._sum(x.type, kept)

    def _selected(self, c: Symbol, a: Symbol, b: Symbol) -> Symbol:
        choices = list(self._one_choice(c, a, b))
        for choice in choices:
            if (found := self.places.extreme_of(*choice)) is not None:
                return found
        if common := in_both(a, b):
            rest = [self._sum(a.type, parts_beside(v, common)) for v in (a, b)]
            return self._sum(a.type, [*common.elements(), self._selected(c, *rest)])
        for choice in choices:
            if (found := self.places.chosen(*choice)) is not None:
                return found
        if (product := self._product_or_0(c, a, b)) is not None:
            return product
        return self.algebra.select(c, a, b)

    def _product_or_0(self, c: Symbol, a: Symbol, b: Symbol) -> Symbol | None:
        """A product that is left out where one of its factors is 0, which it is then itself; None where it is none."""
        if c.op not in ("equal", "not_equal"):
            return None
        product, left = (a, b) if c.op == "not_equal" else (b, a)
        factors = product.args if product.op == ANY_PRODUCT else (product,)
        for factor, zero in (c.args, c.args[::-1]):
            zeros = all(v.op == "real" and value_of(v) == 0 for v in (zero, left))
            if zeros and factor in factors:
                return product
        return None

    def _one_choice(
        self, c: Symbol, a: Symbol, b: Symbol
    ) -> Iterator[tuple[Symbol, Symbol, Symbol]]:
        """Two conditions that choose between the same two values, one after the other or within it, as one; a choice itself."""
        if b.op == "select" and b.args[1] is a:
            yield self._set_of("bitwise_or", "bool", [c, b.args[0]]), a, b.args[2]
        if a.op == "select" and a.args[2] is b:
            yield self._set_of("bitwise_and", "bool", [c, a.args[0]]), a.args[1], b
        yield c, a, b

    def _end(self, op: Named, a: Symbol, b: Symbol) -> Symbol:
        """The smaller or the larger of two values."""
        return self._set_of(op, a.type, [a, b]) if a.type in BITS else self._extreme(op, a, b)

    def _extreme(self, op: Named, a: Symbol, b: Symbol) -> Symbol:
        """The largest or the smallest of several, of which each counts once."""
        parts = {p for v in (a, b) for p in (v.args if v.op == Variadic(op) else (v,))}
        least = self._neutral(op, a.type)
        left = {v for v in self._without_least(op, parts) if v is not least}
        kept = sorted(left or parts, key=lambda v: v.number)
        return kept[0] if len(kept) == 1 else self.algebra.made(Variadic(op), a.type, *kept)

    def _without_least(self, op: Named, parts: set[Symbol]) -> set[Symbol]:
        """What is left where numbers up to 0 stand beside a magnitude, which is never the smaller."""
        if op == "minimum" or not any(v.op == "absolute" for v in parts):
            return parts
        return {v for v in parts if v.op != "real" or value_of(v) > 0}

    def _neutral(self, op: Named, type_: str) -> Symbol | None:
        """What never is the larger, or the smaller, of two."""
        if type_ not in FLOATING:
            return None
        return self.algebra.real(float("-inf" if op == "maximum" else "inf"), type_)


_ANY_OF, _ALL_OF = Variadic("bitwise_or"), Variadic("bitwise_and")

LARGEST_PLACE = 2**24
"""Up to here all whole numbers are floats."""


class Before(NamedTuple):
    """What a condition says of two values: that `low < high`, or that both are equal and something else holds.

    `tie` is this, or whether equal values are enough.
    """

    low: Symbol
    high: Symbol
    tie: Symbol | bool
    unsigned: bool = False
    """Whether they are whole numbers that are read without a sign."""

    def end(self, extreme: str) -> Named:
        """What the smaller or the larger of them is called."""
        return read_as(extreme, unsigned=self.unsigned)


class Places:
    """What belongs to the smallest, or largest, of several values: where it stands, or what lies beside it.

    `first_minimum(v0, p0, v1, p1, ...)` is the p of the first v than which no other is smaller.  A choice between two
    such values puts their pairs one behind the other, or, if of equal values that with the smaller p is taken, in the order
    of the p, as far as these are numbers: so a loop and a tree give one form where they take the same of equal values.

    >>> from relift.compiler.validation.symbols import Algebra
    >>> from relift.compiler.validation.laws.without_nan import WithoutNaN
    >>> a = Algebra()
    >>> x, at = [a.cell("x", i, "f32") for i in range(4)], [a.whole(i, "i32") for i in range(4)]
    >>> def smaller(p, q):  # of two equal ones that which stands before the other
    ...     tie = a.bits("and", a.equal(q[0], p[0]), a.lt(q[1], p[1]))
    ...     return tuple(a.select(a.bits("or", a.lt(q[0], p[0]), tie), v, u) for u, v in zip(p, q))
    >>> tree = smaller(smaller((x[0], at[0]), (x[2], at[2])), smaller((x[1], at[1]), (x[3], at[3])))
    >>> loop = (x[0], at[0])
    >>> for v, i in zip(x, at):
    ...     loop = tuple(a.select(a.lt(v, loop[0]), new, old) for new, old in zip((v, i), loop))
    >>> normal = WithoutNaN(a)
    >>> [normal(u) is normal(v) for u, v in zip(tree, loop)]
    [True, True]
    """

    def __init__(
        self, algebra: Algebra, extreme: Callable[[Named, Symbol, Symbol], Symbol]
    ) -> None:
        self.algebra, self.extreme = algebra, extreme
        self.ends: dict[Symbol, Symbol] = {}
        """Of each such value the smallest or largest itself."""

    def extreme_of(self, c: Symbol, a: Symbol, b: Symbol) -> Symbol | None:
        """`c ? a : b`, where c compares a with b; None where it does not."""
        said = before(c)
        if said is None or {a, b} != {said.low, said.high}:
            return None
        return self.extreme(said.end("minimum" if a is said.low else "maximum"), a, b)

    def chosen(self, c: Symbol, a: Symbol, b: Symbol) -> Symbol | None:
        """`c ? a : b`, where c compares what a and b belong to; None where it is nothing of this kind."""
        said = before(c)
        if said is None or a.type == "bool":
            return None
        low, high = said.low, said.high
        least, most = map(said.end, ("minimum", "maximum"))
        ways = [
            (op, self._pairs(op, a, u), self._pairs(op, b, v), u, v)
            for op, u, v in ((least, low, high), (most, high, low))
        ]
        # two pairs are the smallest of some as well as the largest of others: what they were made of tells
        op, one, other, u, v = max(ways, key=lambda w: len(w[1]) + len(w[2]))
        pairs = self._in_order(said, a, b, one, other)
        return None if pairs is None else self._made(op, pairs, self.extreme(op, u, v))

    def each(self, x: Symbol, held: Symbol, of: Callable[[Symbol], Symbol]) -> Symbol:
        """x, which is a function of such a value: the value of the function of each, where all are numbers."""
        pairs = _pairs_of(held)
        if not isinstance(held.op, FirstOf) or any(not _is_number(p) for _, p in pairs):
            return x
        found = [(v, of(p)) for v, p in pairs]
        return self._made(held.op.extreme, found, self.ends[held])

    def _pairs(self, op: Named, p: Symbol, v: Symbol) -> list[tuple[Symbol, Symbol]]:
        """The pairs that a value is chosen from, which belongs to v."""
        found = _pairs_of(p)
        if p.op == FirstOf(op) and self.ends[p] is v:
            return found
        if found and p.op != FirstOf(op) and len(found) == 2:
            (u, _), (w, _) = found
            if self.extreme(op, u, w) is v:
                return _exchanged(found)
        return [(v, p)]

    def _in_order(
        self,
        said: Before,
        a: Symbol,
        b: Symbol,
        one: list[tuple[Symbol, Symbol]],
        other: list[tuple[Symbol, Symbol]],
    ) -> list[tuple[Symbol, Symbol]] | None:
        """The pairs of both: those first that are taken of equal values; None where that is not known."""
        if isinstance(said.tie, bool):
            return one + other if said.tie else other + one
        if said.tie.op not in ("lt", "le", "below", "at_most") or {*said.tie.args} != {a, b}:
            return None
        numbers = [[p.args[0] for _, p in pairs if p.op == "whole"] for pairs in (one, other)]
        if [len(one), len(other)] != [len(n) for n in numbers]:
            return None
        if said.tie.op in ("below", "at_most") and min(map(min, numbers)) < 0:
            return None
        falls = said.tie.args[0] is b
        if any(n != sorted(n, reverse=falls) for n in numbers):
            return None
        return sorted(one + other, key=lambda pair: pair[1].args[0], reverse=falls)

    def _made(self, op: Named, pairs: Iterable[tuple[Symbol, Symbol]], end: Symbol) -> Symbol:
        """The value of some pairs: each v once, neighbours with one p as one."""
        kept: list[tuple[Symbol, Symbol]] = []
        for v, p in _once(pairs):
            if kept and kept[-1][1] is p:
                kept[-1] = (self.extreme(op, kept[-1][0], v), p)
            else:
                kept.append((v, p))
        if len(kept) == 1:
            return kept[0][1]
        if len(kept) == 2 and name_of(op) == "maximum":
            op, kept = read_as("minimum", unsigned=isinstance(op, Unsigned)), _exchanged(kept)
            end = self.extreme(op, kept[0][0], kept[1][0])
        found = self.algebra.made(FirstOf(op), kept[0][1].type, *(s for pair in kept for s in pair))
        self.ends[found] = end
        return found


def _exchanged(pairs: list[tuple[Symbol, Symbol]]) -> list[tuple[Symbol, Symbol]]:
    """Of two pairs, those of which the largest has what the smallest has of these."""
    (u, first), (w, second) = pairs
    return [(w, first), (u, second)]


def _once(pairs: Iterable[tuple[Symbol, Symbol]]) -> list[tuple[Symbol, Symbol]]:
    """Pairs without those whose value stands before already: they are never the first."""
    found: dict[Symbol, Symbol] = {}
    for v, p in pairs:
        found.setdefault(v, p)
    return list(found.items())


def _is_number(p: Symbol) -> bool:
    return p.op == "whole" or (p.op == "real" and abs(value_of(p)) <= LARGEST_PLACE)


def _pairs_of(x: Symbol) -> list[tuple[Symbol, Symbol]]:
    return list(zip(x.args[::2], x.args[1::2], strict=True)) if isinstance(x.op, FirstOf) else []


def before(c: Symbol) -> Before | None:
    """What a condition says of the order of two values; None where it says something else.

    >>> from relift.compiler.validation.symbols import Algebra
    >>> from relift.compiler.validation.operations import Variadic
    >>> from relift.compiler.validation.laws.without_nan import before
    >>> a = Algebra()
    >>> x, y, t = a.cell("x", 0, "f32"), a.cell("x", 1, "f32"), a.cell("t", 0, "bool")
    >>> c = a.made(Variadic("bitwise_or"), "bool", a.lt(x, y), a.made(Variadic("bitwise_and"), "bool", a.equal(y, x), t))
    >>> before(c)
    Before(low=x[0], high=x[1], tie=t[0], unsigned=False)
    """
    if (plain := _compared(c)) is not None:
        return plain
    if c.op not in (_ANY_OF, _ALL_OF):
        return None
    # low < high or (low == high and tie); low <= high and (low < high or tie)
    for part, other in (c.args, c.args[::-1]) if len(c.args) == 2 else ():
        said, outer = _compared(part), c.op == _ANY_OF
        if said is None or said.tie is outer:
            continue
        if outer and _are_equal(other, said):
            return said._replace(tie=True)
        if other.op != (_ALL_OF if outer else _ANY_OF) or len(other.args) != 2:
            continue
        for same, tie in (other.args, other.args[::-1]):
            strictly = _compared(same)
            if (outer and _are_equal(same, said)) or strictly == said._replace(tie=outer):
                return said._replace(tie=tie)
    return None


def _compared(c: Symbol) -> Before | None:
    """A comparison of two values, or that it does not hold."""
    negated = c.op == "invert" and c.args[0].op in COMPARISONS
    plain = c.args[0] if negated else c
    if plain.op not in COMPARISONS:
        return None
    (x, y), (tie, unsigned) = plain.args, COMPARISONS[plain.op]
    return Before(y, x, not tie, unsigned) if negated else Before(x, y, tie, unsigned)


def ends(x: Symbol) -> tuple[float, float]:
    """Between which numbers a value surely is, which is not NaN.

    >>> from relift.compiler.validation.symbols import Algebra
    >>> from relift.compiler.validation.operations import Variadic
    >>> from relift.compiler.validation.laws.without_nan import ends
    >>> a = Algebra()
    >>> x, low, high = a.cell("x", 0, "f32"), a.real(0, "f32"), a.real(255.5, "f32")
    >>> limited = a.made(Variadic("maximum"), "f32", a.made(Variadic("minimum"), "f32", x, high), low)
    >>> ends(limited), ends(a.saturated(limited, "i32")), ends(x)
    ((0.0, 255.5), (0.0, 255.0), (-inf, inf))
    """
    if x.op in ("real", "whole"):
        return value_of(x), value_of(x)
    if x.op in (Variadic("minimum"), Variadic("maximum")):
        lows, highs = zip(*map(ends, x.args), strict=True)
        end = min if x.op == Variadic("minimum") else max
        return end(lows), end(highs)
    if x.op in ("floor", "saturated"):
        low, high = ends(x.args[0])
        rounded = math.floor if x.op == "floor" else math.trunc
        low, high = (float(rounded(v)) if math.isfinite(v) else v for v in (low, high))
        return low, high
    return -math.inf, math.inf


def _are_equal(c: Symbol, said: Before) -> bool:
    """Whether a condition says that both values are equal."""
    return c.op == "equal" and {*c.args} == {said.low, said.high}


def _is_negative(v: Symbol) -> bool:
    """Whether a part of a sum has a number below 0 as a factor: of what is taken away one side has."""
    word = v.args if v.op == ANY_PRODUCT else (v,)
    return any(u.op == "real" and value_of(u) < 0 for u in word)


def _truth_in(word: tuple[Symbol, ...]) -> Symbol | None:
    """A factor that is 1 where a condition holds, and 0 elsewhere."""
    return next((v for v in word if v.op == v.type and v.args[0].type == "bool"), None)
