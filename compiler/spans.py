"""How large the numbers become with which a kernel computes indices: sizes, of which the largest must fit `int`.

C adds the terms of an index one by one.  Whatever it has added so far lies between the sum of all negative
terms and the sum of all positive ones, so these two are kept for each index, also inside quotients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relift.semantics.indices import Index, atoms_within, bounds, parts_of
from relift.semantics.sizes import Size


def spans_of(lengths: Iterable[Size], indices: Iterable[Index]) -> tuple[Size, ...]:
    """The lengths, and what the indices add up to, without those that another one is never less than.

    >>> from relift.semantics.indices import modulo, variable
    >>> n = nat("n")
    >>> spans_of([n], [modulo(variable("i", n + 2) - 1, n)])
    (2*n + 1,)
    """
    found = dict.fromkeys([*lengths, *(peak for e in indices for peak in _peaks(e))])
    kept: list[Size] = []
    for span in found:
        if not any((other - span).surely_at_least(0) for other in kept):
            kept = [other for other in kept if not (span - other).surely_at_least(0)]
            kept.append(span)
    return tuple(kept)


def _peaks(e: Index) -> Iterator[Size]:
    """The sums of the positive and of the negative terms of e, and of what is inside; data is left out."""
    for inner in (e, *(part for atom in atoms_within(e) for part in parts_of(atom))):
        for sign in (1, -1):
            total = Size.of(0)
            for monomial, c in inner.terms.items():
                if c * sign > 0:
                    term = bounds(Size({monomial: abs(c)}))
                    if term.high is not None and term.low is not None:
                        signed = not term.low.surely_at_least(0)
                        total = total + (term.high - term.low if signed else term.high)
            yield total
