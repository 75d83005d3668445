"""The extraction of terms: what parts of them come to is found once for a search, whatever they stand in."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from relift.device import DeviceDescription
from relift.egraph.encode.term_graph import TermsGraph
from relift.egraph.extraction.extractor import Extractor
from relift.egraph.extraction.states import Candidate
from relift.rewrites.declared_laws import FloatPolicy
from relift.semantics.kept import Kept
from relift.semantics.syntax.terms import Term

MOST_CLASSES = 1 << 15
"""So many parts of terms are kept at a time."""


class TermExtractor:
    """Lowers terms for a device; they share what their equal parts come to."""

    def __init__(self, device: DeviceDescription) -> None:
        self.graph = TermsGraph()
        self._extractor = Extractor(self.graph, device)

    def candidates(self, t: Term, policy: FloatPolicy, most: int) -> list[Candidate]:
        """The cheapest low-level forms of a term, one per plan, in order of estimated work."""
        return self._extractor.candidates(policy, most, root=self.graph.add(t))


_known: Kept[DeviceDescription, TermExtractor] = Kept("what parts of terms come to")


@contextmanager
def extracted_once() -> Generator[None]:
    """What a part of a term comes to is found once inside, however many terms have it.

    >>> from relift import add, f32, map, program, reduce
    >>> from relift.device import CPU
    >>> from relift.egraph.extraction.known import extracted_once, extractor_for
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, x)
    >>> with extracted_once():
    ...     found = extractor_for(CPU).candidates(total.body, "reassociate", 1)
    ...     extractor_for(CPU) is extractor_for(CPU), len(extractor_for(CPU).graph)
    (True, 3)
    """
    with _known.once():
        yield


def extractor_for(device: DeviceDescription) -> TermExtractor:
    """What lowers terms for a device: the one of before where `extracted_once` began."""
    known = _known.now()
    found = None if known is None else known.get(device)
    if found is None or len(found.graph) > MOST_CLASSES:
        found = TermExtractor(device)
        if known is not None:
            known[device] = found
    return found
