"""Values that are equal as polynomials: products of sums are sums of products."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from relift.compiler.validation.laws.without_nan import WithoutNaN
from relift.compiler.validation.operations import ANY_PRODUCT, ANY_SUM
from relift.compiler.validation.symbols import FLOATING, Symbol, TooLarge, value_of

MOST_TERMS = 2_000
"""Of more products no sum is made: one of n factors with two parts each has 2^n."""

NOTE_OF_PRODUCTS = "where products of sums are sums of products"
"""What is assumed of values that are equal by `MultipliedOut`."""

_INVERSE = "inverse"
_RATIO = "ratio"


class MultipliedOut(WithoutNaN):
    """The normal form of `WithoutNaN`, in which a value is a sum of products, each of them once and with one number.

    Numbers are exact, and a quotient is a product with what is 1 over its divisor.

    >>> from relift.compiler.validation.laws.products import MultipliedOut
    >>> from relift.compiler.validation.symbols import Algebra
    >>> a = Algebra()
    >>> x, y, z = (a.cell("x", i, "f32") for i in range(3))
    >>> half = a.real(0.5, "f32")
    >>> normal = MultipliedOut(a)
    >>> normal(a.add(x, a.mul(a.sub(y, x), half))) is normal(a.mul(half, a.add(y, x)))
    True
    >>> normal(a.div(a.mul(x, a.add(y, z)), z)) is normal(a.add(x, a.div(a.mul(y, x), z)))
    True
    """

    def __init__(self, algebra: Any, *, floats: bool = True) -> None:
        super().__init__(algebra, floats=floats)
        self.terms: dict[Symbol, Mapping[tuple[Symbol, ...], Fraction]] = {}

    def _made(self, x: Symbol, inner: Any) -> Symbol:
        if x.op == "div" and x.type in FLOATING:
            over, under = (self.known[v] for v in inner)
            return self._product(x.type, [over, self._inverse(under)])
        return super()._made(x, inner)

    def _terms_of(self, v: Symbol) -> Mapping[tuple[Symbol, ...], Fraction]:
        """The products of a value, and how often each is in it."""
        if v in self.terms:
            return self.terms[v]
        if v.op == "real" and math.isfinite(number := value_of(v)):
            return {(): Fraction(number)} if number else {}
        return {(v,): Fraction(1)}

    def _of_terms(self, type_: str, counts: Mapping[tuple[Symbol, ...], Fraction]) -> Symbol:
        """The value of products that are added up."""
        kept = {word: n for word, n in counts.items() if n}
        if len(kept) > MOST_TERMS:
            raise TooLarge(f"a sum of more than {MOST_TERMS} products")
        words = sorted(kept, key=lambda word: [v.number for v in word])
        parts = [self._term(type_, word, kept[word]) for word in words]
        if not parts:
            return self.algebra.real(0.0, type_)
        found = parts[0] if len(parts) == 1 else self.algebra.made(ANY_SUM, type_, *parts)
        self.terms[found] = kept
        return found

    def _term(self, type_: str, word: tuple[Symbol, ...], times: Fraction) -> Symbol:
        """So many times a product."""
        number = self.algebra.real(float(times), type_)
        if Fraction(value_of(number)) != times if math.isfinite(value_of(number)) else True:
            number = self.algebra.made(_RATIO, type_, times)  # type: ignore[arg-type]
        all_ = word if times == 1 and word else (number, *word)
        found = all_[0] if len(all_) == 1 else self.algebra.made(ANY_PRODUCT, type_, *all_)
        self.terms[found] = {word: times}
        return found

    def _sum(self, type_: str, parts: list[Symbol]) -> Symbol:
        counts: dict[tuple[Symbol, ...], Fraction] = {}
        for v in parts:
            for word, times in self._terms_of(v).items():
                counts[word] = counts.get(word, Fraction(0)) + times
        return self._of_terms(type_, counts)

    def _product(self, type_: str, parts: list[Symbol]) -> Symbol:
        found: dict[tuple[Symbol, ...], Fraction] = {(): Fraction(1)}
        for v in parts:
            terms = self._terms_of(v)
            if len(found) * len(terms) > MOST_TERMS:
                raise TooLarge(f"a product of more than {MOST_TERMS} products")
            more: dict[tuple[Symbol, ...], Fraction] = {}
            for word, times in found.items():
                for other, n in terms.items():
                    both = self._word(word + other)
                    more[both] = more.get(both, Fraction(0)) + times * n
            found = more
        return self._of_terms(type_, found)

    def _chain(self, type_: str, word: list[Symbol]) -> Symbol:
        return self._product(type_, word)

    def _negated(self, v: Symbol) -> Symbol:
        return self._of_terms(v.type, {word: -n for word, n in self._terms_of(v).items()})

    def _inverse(self, v: Symbol) -> Symbol:
        """1 over a value: of a product, that of its factors."""
        terms = self._terms_of(v)
        if len(terms) != 1:
            return self.algebra.made(_INVERSE, v.type, v)
        [(word, times)] = terms.items()
        parts = [self.algebra.made(_INVERSE, v.type, u) for u in word]
        return self._of_terms(v.type, {self._word(tuple(parts)): 1 / times})

    def _word(self, factors: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
        """A product in order, without what is multiplied and divided by."""
        inverses = [v for v in factors if v.op == _INVERSE]
        if inverses:
            counts = Counter(factors)
            for v in inverses:
                common = min(counts[v], counts[v.args[0]])
                counts[v] -= common
                counts[v.args[0]] -= common
            factors = tuple(counts.elements())
        return tuple(sorted(factors, key=lambda v: v.number))
