"""Values that are equal up to the order of sums and products."""

from __future__ import annotations

from typing import Any

from relift.compiler.validation.symbols import FLOATING, Algebra, Symbol, value_of

COPIES = range(2, 9)
"""So many times a value is that value added to itself so often."""


class Reassociation:
    """A normal form in which chains of + and of * have no order and no brackets, and no 0 and no 1.

    Of floats, differences are sums, signs are a factor, and twice a value is its sum with itself.  It is taken of
    results only: flattening while they are computed would be quadratic in the length of a sum.

    >>> from relift.compiler.validation.regrouping import Reassociation
    >>> from relift.compiler.validation.symbols import Algebra
    >>> a = Algebra()
    >>> x, y, z = (a.cell("x", i, "f32") for i in range(3))
    >>> normal = Reassociation(a)
    >>> normal(a.add(a.add(x, y), z)) is normal(a.add(a.real(0, "f32"), a.add(z, a.add(y, x))))
    True
    >>> normal(a.neg(a.sub(x, y))) is normal(a.sub(y, x)), normal(a.mul(a.real(2, "f32"), x)) is normal(a.add(x, x))
    (True, True)
    """

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.known: dict[Symbol, Symbol] = {}

    def __call__(self, x: Symbol) -> Symbol:
        """The normal form, without recursion: sums may be deep."""
        todo = [x]
        while todo:
            y = todo[-1]
            if y in self.known:
                todo.pop()
                continue
            inner = self._letters(y) if y.op in ("add", "mul") else y.args
            missing = [v for v in inner if isinstance(v, Symbol) and v not in self.known]
            if missing:
                todo += missing
            else:
                self.known[y] = self._made(y, inner)
                todo.pop()
        return self.known[x]

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
        match x.op:
            case "add":
                return self._sum(x.type, normal)
            case "sub" if x.type in FLOATING:
                return self._sum(x.type, [normal[0], self._negated(normal[1])])
            case "neg" if x.type in FLOATING:
                return self._negated(normal[0])
            case "mul":
                return self._product(x.type, normal)
            case _:
                return self.algebra.made(x.op, x.type, *normal)

    def _sum(self, type_: str, parts: list[Symbol]) -> Symbol:
        word: list[Symbol] = []
        for v in parts:
            word += v.args if v.op == "any_add" else [v]
        neutral = set[Symbol]()
        if type_ in FLOATING:
            neutral = {self.algebra.real(0.0, type_), self.algebra.real(-0.0, type_)}
        kept = sorted((v for v in word if v not in neutral), key=lambda v: v.number)
        if len(kept) < 2:
            return kept[0] if kept else self._number(0, type_)
        return self.algebra.made("any_add", type_, *kept)

    def _product(self, type_: str, parts: list[Symbol]) -> Symbol:
        word: list[Symbol] = []
        for v in parts:
            word += self._factors(v)
        if type_ not in FLOATING:
            return self._chain(type_, word)
        numbers = [value_of(v) for v in word if v.op == "real"]
        rest = [v for v in word if v.op != "real"]
        sign = -1.0 if sum(n < 0 for n in numbers) % 2 else 1.0
        sizes = [n for n in map(abs, numbers) if n != 1.0]
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
        if v.op == "any_add" and v.type in FLOATING and len(set(v.args)) == 1:
            return self.algebra.real(len(v.args), v.type), *self._factors(v.args[0])
        return v.args if v.op == "any_mul" else (v,)

    def _chain(self, type_: str, word: list[Symbol]) -> Symbol:
        kept = sorted(word, key=lambda v: v.number)
        if len(kept) < 2:
            return kept[0] if kept else self._number(1, type_)
        return self.algebra.made("any_mul", type_, *kept)

    def _signed(self, sign: float, v: Symbol) -> Symbol:
        return v if sign > 0 else self._negated(v)

    def _negated(self, v: Symbol) -> Symbol:
        """-v: of a sum, that of its parts; of a product, of one number in it, or -1 times the rest."""
        if v.op == "any_add":
            return self._sum(v.type, [self._negated(part) for part in v.args])
        if v.op == "real":
            return self.algebra.real(-value_of(v), v.type)
        word = list(v.args) if v.op == "any_mul" else [v]
        reals = [u for u in word if u.op == "real"]
        if not reals:
            return self._chain(v.type, [self.algebra.real(-1.0, v.type), *word])
        word.remove(reals[0])
        number = -value_of(reals[0])
        return self._chain(
            v.type, word if number == 1.0 else [self.algebra.real(number, v.type), *word]
        )

    def _number(self, n: int, type_: str) -> Symbol:
        return self.algebra.real(n, type_) if type_ in FLOATING else self.algebra.whole(n, type_)
