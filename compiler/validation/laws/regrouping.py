"""Values that are equal up to the order of sums and products; of whole numbers, which are exact, in any case."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from relift.compiler.validation.operations import (
    ANY_PRODUCT,
    ANY_SUM,
    CONNECTIVES,
    FirstOf,
    Named,
    Operation,
    Unsigned,
    Variadic,
    name_of,
    read_as,
)
from relift.compiler.validation.symbols import BITS, FLOATING, Algebra, Symbol, TooLarge, value_of

_IN_ANY_ORDER: frozenset[Operation] = frozenset(
    [*CONNECTIVES, *(of(end) for end in ("minimum", "maximum") for of in (str, Unsigned))]
)
"""Operations of whole numbers beside + and * that have neither brackets nor an order; but for xor, each part counts once."""

COMPARISONS: Mapping[Operation, tuple[bool, bool]] = {
    "lt": (False, False), "le": (True, False), "below": (False, True), "at_most": (True, True),
}  # fmt: skip
"""Comparisons: whether equal values are enough, and whether whole numbers are read without a sign."""

_MEANT: dict[str, Callable[[int, int], int]] = {
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "minimum": min, "maximum": max,
}  # fmt: skip

LONGEST = 100_000
"""Parts of a sum: one that contains itself twice, again and again, has no end otherwise."""

COPIES = range(2, 9)
"""So many times a value is that value added to itself so often."""


class Reassociation:
    """A normal form in which chains of + and of * have no order and no brackets, and no 0 and no 1.

    Of floats, differences are sums, signs are a factor, and twice a value is its sum with itself; with `floats` False
    their chains stay in order.  Whole numbers are multiples of products, added up; what combines bits, and the smallest and
    largest, have no order either.  It is taken of results only: flattening while they are computed would be quadratic
    in the length of a sum.

    >>> from relift.compiler.validation.laws.regrouping import Reassociation
    >>> from relift.compiler.validation.symbols import Algebra
    >>> a = Algebra()
    >>> x, y, z = (a.cell("x", i, "f32") for i in range(3))
    >>> normal = Reassociation(a)
    >>> normal(a.add(a.add(x, y), z)) is normal(a.add(a.real(0, "f32"), a.add(z, a.add(y, x))))
    True
    >>> normal(a.neg(a.sub(x, y))) is normal(a.sub(y, x)), normal(a.mul(a.real(2, "f32"), x)) is normal(a.add(x, x))
    (True, True)
    >>> i, j = (a.cell("i", k, "i32") for k in range(2))
    >>> exact = Reassociation(a, floats=False)
    >>> exact(a.add(a.add(i, a.whole(0, "i32")), j)) is exact(a.add(j, i))
    True
    >>> exact(a.add(a.add(x, y), z)) is exact(a.add(x, a.add(y, z)))
    False
    """

    def __init__(self, algebra: Algebra, *, floats: bool = True) -> None:
        self.algebra = algebra
        self.floats = floats
        self.known: dict[Symbol, Symbol] = {}

    def __call__(self, x: Symbol) -> Symbol:
        """The normal form, without recursion: sums may be deep."""
        todo = [x]
        while todo:
            y = todo[-1]
            if y in self.known:
                todo.pop()
                continue
            inner = self._letters(y) if self._has_no_order(y) else y.args
            missing = [v for v in inner if isinstance(v, Symbol) and v not in self.known]
            if missing:
                todo += missing
            else:
                self.known[y] = self._made(y, inner)
                todo.pop()
        return self.known[x]

    def _has_no_order(self, x: Symbol) -> bool:
        """Whether a value is a chain that may be regrouped."""
        whole = x.type not in FLOATING
        return (x.op in ("add", "mul") and (whole or self.floats)) or (
            x.op in _IN_ANY_ORDER and whole
        )

    def _letters(self, x: Symbol) -> list[Symbol]:
        """What a chain of one operation combines."""
        found: list[Symbol] = []
        todo = [x]
        while todo:
            y = todo.pop()
            if y.op == x.op:
                todo += y.args
            else:
                found.append(y)
        return found

    def _made(self, x: Symbol, inner: Any) -> Symbol:
        if x.op in ("cell", "real", "whole", "open"):
            return x
        normal = [self.known[v] if isinstance(v, Symbol) else v for v in inner]
        if x.type not in FLOATING:
            return self._made_whole(x, normal)
        if not self.floats:
            return self.algebra.made(x.op, x.type, *normal)
        match x.op:
            case "add":
                return self._sum(x.type, normal)
            case "sub":
                return self._sum(x.type, [normal[0], self._negated(normal[1])])
            case "neg":
                return self._negated(normal[0])
            case "mul":
                return self._product(x.type, normal)
            case "div" if (number := _quotient(x.type, *normal)) is not None:
                return self.algebra.real(number, x.type)
            case _:
                return self.algebra.made(x.op, x.type, *normal)

    def _sum(self, type_: str, parts: list[Symbol]) -> Symbol:
        word: list[Symbol] = []
        for v in parts:
            word += v.args if v.op == ANY_SUM else [v]
            if len(word) > LONGEST:
                raise TooLarge(f"a sum of more than {LONGEST} parts")
        neutral = {self.algebra.real(0.0, type_), self.algebra.real(-0.0, type_)}
        kept = sorted((v for v in word if v not in neutral), key=lambda v: v.number)
        if len(kept) < 2:
            return kept[0] if kept else self.algebra.real(0, type_)
        return self.algebra.made(ANY_SUM, type_, *kept)

    def _product(self, type_: str, parts: list[Symbol]) -> Symbol:
        word: list[Symbol] = []
        for v in parts:
            word += self._factors(v)
        numbers = [value_of(v) for v in word if v.op == "real"]
        rest = [v for v in word if v.op != "real"]
        sign = -1.0 if sum(n < 0 for n in numbers) % 2 else 1.0
        sizes = _multiplied(type_, [n for n in map(abs, numbers) if n != 1.0])
        if len(sizes) == 1 and rest and sizes[0] in COPIES:
            one = self._signed(sign, self._chain(type_, rest))
            return self._sum(type_, [one] * int(sizes[0]))
        if len(sizes) == 1:
            return self._chain(type_, [self.algebra.real(sign * sizes[0], type_), *rest])
        return self._signed(
            sign, self._chain(type_, [*(self.algebra.real(n, type_) for n in sizes), *rest])
        )

    def _factors(self, v: Symbol) -> tuple[Symbol, ...]:
        """A part of a product; so many equal summands are a number and one of them."""
        if v.op == ANY_SUM and len(set(v.args)) == 1:
            return self.algebra.real(len(v.args), v.type), *self._factors(v.args[0])
        return v.args if v.op == ANY_PRODUCT else (v,)

    def _chain(self, type_: str, word: list[Symbol]) -> Symbol:
        kept = sorted(word, key=lambda v: v.number)
        if len(kept) < 2:
            return kept[0] if kept else self.algebra.real(1, type_)
        return self.algebra.made(ANY_PRODUCT, type_, *kept)

    def _signed(self, sign: float, v: Symbol) -> Symbol:
        return v if sign > 0 else self._negated(v)

    def _negated(self, v: Symbol) -> Symbol:
        """-v: of a sum, that of its parts; of a product, of one number in it, or -1 times the rest."""
        if v.op == ANY_SUM:
            return self._sum(v.type, [self._negated(part) for part in v.args])
        if v.op == "real":
            return self.algebra.real(-value_of(v), v.type)
        word = list(v.args) if v.op == ANY_PRODUCT else [v]
        reals = [u for u in word if u.op == "real"]
        if not reals:
            return self._chain(v.type, [self.algebra.real(-1.0, v.type), *word])
        word.remove(reals[0])
        number = -value_of(reals[0])
        return self._chain(
            v.type, word if number == 1.0 else [self.algebra.real(number, v.type), *word]
        )

    # ---- whole numbers

    def _made_whole(self, x: Symbol, normal: list[Any]) -> Symbol:
        match x.op:
            case "add":
                return self._multiples(x.type, [(1, v) for v in normal])
            case "sub" if x.type in BITS:
                return self._multiples(x.type, [(1, normal[0]), (-1, normal[1])])
            case "neg" if x.type in BITS:
                return self._multiples(x.type, [(-1, normal[0])])
            case "mul":
                return self._whole_product(x.type, normal)
            case "select" if (op := _extreme_of(*normal)) is not None:
                return self._set_of(op, x.type, normal[1:])
            case "select" if common := in_both(*normal[1:]):
                rest = [
                    self._multiples(x.type, [(1, v) for v in parts_beside(side, common)])
                    for side in normal[1:]
                ]
                chosen = self.algebra.select(normal[0], *rest)
                return self._multiples(x.type, [(1, v) for v in (*common.elements(), chosen)])
            case op if op in _IN_ANY_ORDER and not isinstance(op, Variadic | FirstOf):
                return self._set_of(op, x.type, normal)
            case _:
                return self.algebra.made(x.op, x.type, *normal)

    def _multiples(self, type_: str, parts: list[tuple[int, Symbol]]) -> Symbol:
        """A sum of multiples, each product once."""
        counts: dict[Symbol, int] = {}
        number = 0
        for times, part in parts:
            for v in part.args if part.op == ANY_SUM else (part,):
                factor, rest = self._multiple(v)
                if rest is None:
                    number += times * factor
                else:
                    counts[rest] = counts.get(rest, 0) + times * factor
        found = [
            v
            for rest, times in sorted(counts.items(), key=lambda one: one[0].number)
            if (v := self._times(times, rest)) is not None
        ]
        constant = self.algebra.whole(number, type_)
        if constant.args[0] or not found:
            found.append(constant)
        return found[0] if len(found) == 1 else self.algebra.made(ANY_SUM, type_, *found)

    def _multiple(self, v: Symbol) -> tuple[int, Symbol | None]:
        """A number and a product without one; of a number, nothing else."""
        if v.op == "whole":
            return int(v.args[0]), None
        if v.op != ANY_PRODUCT or v.args[0].op != "whole":
            return 1, v
        rest = v.args[1:]
        product = rest[0] if len(rest) == 1 else self.algebra.made(ANY_PRODUCT, v.type, *rest)
        return int(v.args[0].args[0]), product

    def _times(self, times: int, rest: Symbol) -> Symbol | None:
        """So many times a product; None of them where that is 0, as numbers wrap around."""
        factor = self.algebra.whole(times, rest.type)
        if factor.args[0] in (0, 1):
            return rest if factor.args[0] else None
        word = rest.args if rest.op == ANY_PRODUCT else (rest,)
        return self.algebra.made(ANY_PRODUCT, rest.type, factor, *word)

    def _whole_product(self, type_: str, parts: list[Symbol]) -> Symbol:
        number, word = 1, list[Symbol]()
        for v in parts:
            factor, rest = self._multiple(v)
            number *= factor
            if rest is not None:
                word += rest.args if rest.op == ANY_PRODUCT else (rest,)
        if not word:
            return self.algebra.whole(number, type_)
        kept = sorted(word, key=lambda v: v.number)
        product = kept[0] if len(kept) == 1 else self.algebra.made(ANY_PRODUCT, type_, *kept)
        return self._multiples(type_, [(number, product)])

    def _set_of(self, op: Named, type_: str, parts: list[Symbol]) -> Symbol:
        """Parts of which each counts once; of xor, those that are there an odd number of times."""
        counts: dict[Symbol, int] = {}
        for part in parts:
            for v in part.args if part.op == Variadic(op) else (part,):
                counts[v] = counts.get(v, 0) + 1
        kept = [v for v, n in counts.items() if op != "bitwise_xor" or n % 2]
        numbers = [v for v in kept if v.op == "whole"]
        word = sorted((v for v in kept if v.op != "whole"), key=lambda v: v.number)
        known = _combined(op, type_, [int(v.args[0]) for v in numbers])
        if known is not None and known == _all_of(op, type_):
            return self.algebra.whole(known, type_)
        if known is None or known == _nothing_of(op, type_):
            if word:
                return word[0] if len(word) == 1 else self.algebra.made(Variadic(op), type_, *word)
            known = _nothing_of(op, type_) if known is None else known
        constant = self.algebra.whole(known, type_)
        return self.algebra.made(Variadic(op), type_, *word, constant) if word else constant


def _multiplied(type_: str, numbers: list[float]) -> list[float]:
    """The product of numbers, where it is one of the type: nothing is rounded then."""
    if len(numbers) < 2 or not all(map(math.isfinite, numbers)):
        return numbers
    exact = math.prod(map(Fraction, numbers))
    with np.errstate(all="ignore"):
        found = float(FLOATING[type_](math.prod(numbers)))
    if not math.isfinite(found) or Fraction(found) != exact:
        return numbers
    return [] if found == 1.0 else [found]


def _quotient(type_: str, over: Symbol, under: Symbol) -> float | None:
    """A number by another, where nothing is rounded."""
    if over.op != "real" or under.op != "real" or not value_of(under):
        return None
    numbers = value_of(over), value_of(under)
    if not all(map(math.isfinite, numbers)):
        return None
    found = float(FLOATING[type_](numbers[0] / numbers[1]))
    exact = math.isfinite(found) and Fraction(found) * Fraction(numbers[1]) == Fraction(numbers[0])
    return found if exact and found else None


def in_both(x: Symbol, y: Symbol) -> Counter[Symbol]:
    """What two values add up, both of them; nothing where neither is a sum."""
    if ANY_SUM not in (x.op, y.op) or x.type == "bool":
        return Counter()
    return Counter(_parts(x)) & Counter(_parts(y))


def parts_beside(x: Symbol, common: Counter[Symbol]) -> list[Symbol]:
    """The parts of a sum that are not among these."""
    return list((Counter(_parts(x)) - common).elements())


def _parts(x: Symbol) -> tuple[Symbol, ...]:
    return x.args if x.op == ANY_SUM else (x,)


def _extreme_of(c: Symbol, x: Symbol, y: Symbol) -> Named | None:
    """Which end of two whole numbers a selection is; None where it is none."""
    if c.op not in COMPARISONS or x.type not in BITS or {*c.args} != {x, y}:
        return None
    _, unsigned = COMPARISONS[c.op]
    return read_as("minimum" if c.args[0] is x else "maximum", unsigned=unsigned)


def _combined(op: Named, type_: str, numbers: list[int]) -> int | None:
    """Numbers combined; None where there are none."""
    if not numbers:
        return None
    held = [n % 2 ** BITS[type_] for n in numbers] if isinstance(op, Unsigned) else numbers
    return reduce(_MEANT[name_of(op)], held)


def _nothing_of(op: Named, type_: str) -> int:
    """What changes no other number that it is combined with."""
    if type_ == "bool":
        return int(op == "bitwise_and")
    top = 1 << (BITS[type_] - 1)
    known: dict[Named, int] = {
        "bitwise_and": -1, "minimum": top - 1, "maximum": -top, Unsigned("minimum"): 2 * top - 1,
    }  # fmt: skip
    return known.get(op, 0)


def _all_of(op: Named, type_: str) -> int | None:
    """What nothing changes that it is combined with."""
    opposite: dict[Named, Named] = {
        "bitwise_and": "bitwise_or", "bitwise_or": "bitwise_and", "minimum": "maximum", "maximum": "minimum",
        Unsigned("minimum"): Unsigned("maximum"), Unsigned("maximum"): Unsigned("minimum"),
    }  # fmt: skip
    return _nothing_of(opposite[op], type_) if op in opposite else None
