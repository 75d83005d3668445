"""Long chains of maps, which an e-graph would hold in every way in which their links can be fused and parted.

A chain of four has few of them; of twelve a gigabyte.  One map for all of them is what each of these comes to when it is lowered.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic, normalize
from relift.semantics.patterns import Map
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import Term, subterms

LONGEST = 5
"""Maps one after the other that an e-graph is given as they are."""


def shortened() -> Tactic:
    """Maps one after the other as one, where there are more than `LONGEST`; raises `NoMatch` for others.

    >>> import relift as rl
    >>> from relift.egraph.search.starts.chains import LONGEST, shortened
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def chain(x: rl.f32[8]):
    ...     for _ in range(LONGEST + 1):
    ...         x = rl.map(lambda v: v + 1.0, x)
    ...     return x
    >>> [step.rule for step in derive(chain, shortened()).steps]
    ['map_fusion', 'map_fusion', 'map_fusion', 'map_fusion', 'map_fusion']
    """
    fused = normalize("map_fusion")

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if max((_links(u) for u, _ in subterms(t)), default=0) <= LONGEST:
            raise NoMatch("no chain of maps is long")
        return fused(at, place)

    return tactic


def _links(t: Term) -> int:
    """How many maps stand one after the other here."""
    links = 0
    while isinstance(t, Map):
        t, links = t.xs, links + 1
    return links
