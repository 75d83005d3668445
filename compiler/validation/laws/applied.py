"""Which law two values are equal by."""

from __future__ import annotations

from functools import cached_property

from relift.compiler.validation.laws.exponentials import (
    NOTE_OF_EXPONENTIALS,
    WithExponentials,
    has_exponentials,
)
from relift.compiler.validation.laws.orders import same_in_order
from relift.compiler.validation.laws.products import NOTE_OF_PRODUCTS, MultipliedOut
from relift.compiler.validation.laws.regrouping import Reassociation
from relift.compiler.validation.symbols import FLOATING, Symbol

MOST_IN_VAIN = 8
"""After so many values that no law makes equal, none is asked for another."""


class Laws:
    """The laws of numbers, for values whose normal forms are taken where nothing is NaN.

    >>> from relift.compiler.validation.laws.applied import Laws
    >>> from relift.compiler.validation.symbols import Algebra
    >>> from relift.compiler.validation.laws.without_nan import WithoutNaN
    >>> a = Algebra()
    >>> x, y, z = (a.cell("x", i, "f32") for i in range(3))
    >>> laws = Laws(WithoutNaN(a))
    >>> laws.make_equal(a.mul(x, a.add(y, z)), a.add(a.mul(x, y), a.mul(z, x)))
    ['where products of sums are sums of products']
    >>> laws.make_equal(x, y) is None
    True
    """

    def __init__(self, normal: Reassociation) -> None:
        self.normal = normal
        self.in_vain = 0

    @cached_property
    def exponentials(self) -> WithExponentials:
        """The normal form by the law of exponentials."""
        return WithExponentials(self.normal.algebra)

    @cached_property
    def products(self) -> MultipliedOut:
        """The normal form by that of products."""
        return MultipliedOut(self.normal.algebra)

    def make_equal(self, x: Symbol, y: Symbol) -> list[str] | None:
        """What is assumed for two values to be equal; None where no law makes them so."""
        if self.in_vain >= MOST_IN_VAIN:
            return None
        found = self._found(x, y)
        self.in_vain += found is None
        return found

    def _found(self, x: Symbol, y: Symbol) -> list[str] | None:
        if same_in_order(self.normal(x), self.normal(y)):
            return []
        both = has_exponentials(x) and has_exponentials(y)
        if both and self.exponentials(x) is self.exponentials(y):
            return [NOTE_OF_EXPONENTIALS]
        if x.type in FLOATING and self.products(x) is self.products(y):
            return [NOTE_OF_PRODUCTS]
        return None
