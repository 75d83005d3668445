"""Tactics for scans: chunks are scanned side by side, each from what those before it come to.

    in_chunks     a scan outside all functions in chunks of so many elements; what the chunks come to is scanned so, too

A scan in order is one work-item's.  In chunks it is read twice, once for what each chunk comes to.  Source: Blelloch,
prefix sums and their applications (1990); RISE, blockScan.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic, apply, somewhere
from relift.semantics.patterns import ScanSeq
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import free_variables


def in_chunks(elements: int, least: int) -> Tactic:
    """Scans of more than `least` elements outside all functions in chunks of about so many; raises `NoMatch` if there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.folds.chunked_scans import in_chunks
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def sums(x: rl.f32[4096]):
    ...     return rl.scan_seq(rl.add, 0.0, x)
    >>> [step.choices["m"] for step in derive(sums, in_chunks(16, 32)).steps]
    [16, 16]
    """

    def one(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, ScanSeq) or free_variables(t):
            raise NoMatch("no scan outside all functions")
        n = t.solved["n"].constant
        chunk = None if n is None else _divisor_near(n, elements)
        if n is None or chunk is None or n <= least:
            raise NoMatch(f"no scan of more than {least} elements that chunks divide")
        return apply("scan_blocked", m=chunk)(at, place)

    return somewhere(one)


def _divisor_near(n: int, wanted: int) -> int | None:
    """The divisor of n that is nearest to a number by its ratio, at most four times as far; neither 1 nor n."""
    near = [d for d in range(max(2, wanted // 4), min(4 * wanted, n - 1) + 1) if n % d == 0]
    return min(near, key=lambda d: max(d, wanted) / min(d, wanted), default=None)
