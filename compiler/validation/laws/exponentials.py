"""Values that are equal by the law of exponentials."""

from __future__ import annotations

from typing import Any

from relift.compiler.validation.laws.without_nan import WithoutNaN
from relift.compiler.validation.operations import ANY_PRODUCT, ANY_SUM
from relift.compiler.validation.symbols import Symbol, value_of


class WithExponentials(WithoutNaN):
    """The normal form of `WithoutNaN`, in which a product of exponentials is the exponential of a sum.

    A product of one with a sum is a sum of products, and a quotient a product: so a sum that is rescaled by
    each new maximum is that by the last one.

    >>> from relift.compiler.validation.symbols import Algebra
    >>> from relift.compiler.validation.laws.exponentials import WithExponentials
    >>> a = Algebra()
    >>> x, y, z = (a.cell("x", i, "f32") for i in range(3))
    >>> def exp(u, v):
    ...     return a.made("exp", "f32", a.sub(u, v))
    >>> normal = WithExponentials(a)
    >>> normal(a.mul(a.add(exp(x, y), exp(y, z)), exp(z, x))) is normal(a.add(exp(z, y), exp(y, x)))
    True
    """

    def _made(self, x: Symbol, inner: Any) -> Symbol:
        made = super()._made(x, inner)
        if made.op == "exp":
            return self._exponential(made)
        if made.op == "div" and made.args[0].op != "real":
            over, under = made.args
            one = self.algebra.real(1.0, made.type)
            return self._product(made.type, [over, self.algebra.made("div", made.type, one, under)])
        return made

    def _exponential(self, x: Symbol) -> Symbol:
        """exp(x), where that is a number."""
        parts = x.args[0].args if x.args[0].op == ANY_SUM else x.args
        numbers = [value_of(v) for v in parts if v.op == "real"]
        if float("-inf") in numbers or (len(parts) == 1 and numbers == [0.0]):
            return self.algebra.real(0.0 if float("-inf") in numbers else 1.0, x.type)
        return x

    def _product(self, type_: str, parts: list[Symbol]) -> Symbol:
        found = super()._product(type_, parts)
        word = found.args if found.op == ANY_PRODUCT else (found,)
        powers = [v for v in word if v.op == "exp"]
        if any(v.op == "real" and value_of(v) == 0 for v in word):
            return self.algebra.real(0.0, type_)
        if not powers or len(word) == 1:
            return found
        rest = [v for v in word if v.op != "exp"]
        if len(powers) > 1:
            exponent = self._without_opposites_in(self._sum(type_, [v.args[0] for v in powers]))
            power = self._exponential(self.algebra.made("exp", type_, exponent))
            return self._product(type_, [power, *rest])
        for v in rest:
            if v.op == ANY_SUM:
                others = [u for u in word if u is not v]
                return self._sum(type_, [self._product(type_, [u, *others]) for u in v.args])
        return found

    def _without_opposites_in(self, x: Symbol) -> Symbol:
        return self._without_opposites(x, x.args) if x.op == ANY_SUM else x


EXPONENTIALS_WITHIN = 8
"""So many operations at most are done with exponentials before a value is compared by their law."""

NOTE_OF_EXPONENTIALS = (
    "where exp(a) * exp(b) is exp(a + b), and products of sums are sums of products"
)
"""What is assumed of values that are equal by `WithExponentials`."""


def has_exponentials(x: Symbol) -> bool:
    """Whether a value, or its parts up to some depth, are exponentials."""
    level = {x}
    for _ in range(EXPONENTIALS_WITHIN):
        if any(v.op == "exp" for v in level):
            return True
        level = {u for v in level for u in v.args if isinstance(u, Symbol)}
    return False
