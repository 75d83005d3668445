"""Between which values an index lies, whatever the values of its variables."""

from __future__ import annotations

from dataclasses import dataclass

from relift.semantics.indices.atoms import (
    Index,
    Larger,
    Loaded,
    Quotient,
    Remainder,
    Smaller,
    Variable,
    index_atom,
)
from relift.semantics.kept import Kept
from relift.semantics.syntax.monomials import Atom, Monomial
from relift.semantics.syntax.sizes import Size


@dataclass(frozen=True)
class Bounds:
    """`low <= e <= high` for all values of the variables in e; None where nothing is known."""

    low: Size | None
    high: Size | None


UNKNOWN = Bounds(None, None)


def bounds(e: Index) -> Bounds:
    """The range of e, from the ranges of its atoms.

    Bounds are sizes: constants where the extents are, else polynomials in the program's sizes.

    >>> from relift import nat
    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.indices.ranges import bounds
    >>> bounds(4 * variable("i", 8) - variable("j", nat("n")))
    Bounds(low=-n + 1, high=28)
    """
    return _found.known(e, lambda: _bounds(e))


_found: Kept[Index, Bounds] = Kept("ranges of indices")

bounded_once = _found.once
"""The range of an index is found once inside."""


def _bounds(e: Index) -> Bounds:
    low: Size | None = Size.of(0)
    high: Size | None = Size.of(0)
    for monomial, c in e.terms.items():
        of = _monomial_bounds(monomial)
        ends = (of.low, of.high) if c > 0 else (of.high, of.low)
        low = None if low is None or ends[0] is None else low + c * ends[0]
        high = None if high is None or ends[1] is None else high + c * ends[1]
    return Bounds(low, high)


def _monomial_bounds(monomial: Monomial) -> Bounds:
    if len(monomial) == 1 and monomial[0][1] == 1:
        return _atom_bounds(monomial[0][0])
    low: Size | None = Size.of(1)
    high: Size | None = Size.of(1)
    for atom, power in monomial:
        of = _atom_bounds(atom)
        if of.low is None or not of.low.surely_at_least(0):
            return UNKNOWN  # a product of signs: never needed for addresses
        for _ in range(power):
            low = low * of.low if low is not None else None
            high = high * of.high if high is not None and of.high is not None else None
    return Bounds(low, high)


def _atom_bounds(atom: Atom) -> Bounds:
    if isinstance(atom, str):
        return Bounds(Size.atom(atom), Size.atom(atom))
    match index_atom(atom):
        case Variable(_, extent):
            return Bounds(Size.of(0), extent - 1)
        case Remainder(_, divisor):
            return Bounds(Size.of(0), divisor - 1)
        case Loaded(_, _, extent):
            return UNKNOWN if extent is None else Bounds(Size.of(0), extent - 1)
        case Quotient(dividend, divisor):
            return _quotient_bounds(bounds(dividend), divisor)
        case Smaller(left, right):
            a, b = bounds(left), bounds(right)
            return Bounds(_lesser(a.low, b.low), _lesser(a.high, b.high) or a.high or b.high)
        case Larger(left, right):
            a, b = bounds(left), bounds(right)
            return Bounds(_greater(a.low, b.low) or a.low or b.low, _greater(a.high, b.high))


def _quotient_bounds(of: Bounds, d: Size) -> Bounds:
    ends: list[Size | None] = []
    for end in (of.low, of.high):
        if end is None:
            ends.append(None)
        elif end.constant is not None and d.constant is not None:
            ends.append(Size.of(end.constant // d.constant))
        else:
            ends.append(None)
    low, high = ends
    if low is None and of.low is not None and of.low.surely_at_least(0):
        low = Size.of(0)
    if high is None and of.high is not None and of.high.surely_at_least(0):
        high = (of.high + 1).divided_by(d)
        high = of.high if high is None else high - 1
    return Bounds(low, high)


def _lesser(a: Size | None, b: Size | None) -> Size | None:
    if a is None or b is None:
        return None
    return a if (b - a).surely_at_least(0) else b if (a - b).surely_at_least(0) else None


def _greater(a: Size | None, b: Size | None) -> Size | None:
    if a is None or b is None:
        return None
    return a if (a - b).surely_at_least(0) else b if (b - a).surely_at_least(0) else None


def surely_at_most(a: Index, b: Index) -> bool:
    """Whether `a <= b` for all values of the variables, as far as ranges tell."""
    low = bounds(b - a).low
    return low is not None and low.surely_at_least(0)


def surely_within(e: Index, extent: Size) -> bool:
    """Whether `0 <= e < extent` for all values of the variables, as far as ranges tell."""
    return surely_at_most(Size.of(0), e) and surely_at_most(e, extent - 1)


def surely_outside(e: Index, extent: Size) -> bool:
    """Whether `e < 0` or `extent <= e` for all values of the variables, as far as ranges tell."""
    return surely_at_most(extent, e) or surely_at_most(e, Size.of(-1))
