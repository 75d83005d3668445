"""Monomials: the products of names that a size is a sum of."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

Atom: TypeAlias = Hashable
"""What a polynomial is over: the name of a natural, or a structured atom of `indices`."""

Monomial: TypeAlias = tuple[tuple[Atom, int], ...]
"""Atoms with their exponents, sorted by their text; the empty monomial is 1."""


def product(left: Monomial, right: Monomial) -> Monomial:
    """Both together."""
    if not left or not right:
        return left or right
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: str(item[0])))


def ratio(top: Monomial, lead: Monomial) -> Monomial | None:
    """What is left of the first without the second; None where it does not hold it."""
    powers = dict(top)
    for atom, power in lead:
        powers[atom] = powers.get(atom, 0) - power
        if powers[atom] < 0:
            return None
    return tuple((atom, power) for atom, power in powers.items() if power)


def written(monomial: Monomial, times: int) -> str:
    """So many times a monomial, as text.

    >>> from relift.semantics.syntax.monomials import written
    >>> written((("n", 2),), 3), written((), 1)
    ('3*n*n', '1')
    """
    factors = [str(atom) for atom, power in monomial for _ in range(power)]
    return "*".join(factors if factors and times == 1 else [str(times), *factors])
