"""Starts for sizes that do not divide: a main part that vectors and chunks divide, and the rest.

Chosen by cost like all else: the start is one more e-graph, beside that of the program as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relift.device import DeviceDescription
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.matching import NoMatch
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.remainders import fold_with_rest, map_with_rest
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Map, Reduce, Slide
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import Array

_BLOCKS = (1024, 64)
"""Elements that divide the main part: the first of which there are a few."""

_FEW = 4


def remainder_starts(
    program: Program, sizes: Mapping[str, int], device: DeviceDescription, policy: FloatPolicy
) -> Iterator[Derivation]:
    """The program with the outermost fold, and with the outermost map, in a main part and a rest; none where vectors divide it.

    >>> from relift.device import CPU
    >>> from relift.egraph.search.remainders import remainder_starts
    >>> from relift.rewrites.loading import load_program
    >>> dot = load_program("examples/dot.py")
    >>> [len(list(remainder_starts(dot, {"n": n}, CPU, "reassociate"))) for n in (1009, 1024)]
    [1, 0]
    """
    t = program.at(sizes).body
    if any(isinstance(u, Slide) for u, _ in subterms(t)):
        return  # what a border is for splits a stencil
    for pattern, with_rest in ((Reduce, fold_with_rest), (Map, map_with_rest)):
        tactic: Tactic | None = None
        length = _length_of_first(t, pattern)
        if length is not None and length % device.vector_width:
            tactic = next((with_rest(b) for b in _BLOCKS if _FEW * b < length), None)
        if tactic is not None:
            try:
                yield derive(program, tactic, sizes, policy)
            except NoMatch:
                continue


def _length_of_first(t: Term, pattern: type[Map | Reduce]) -> int | None:
    """The length of the array that the outermost such pattern takes."""
    for u, _ in subterms(t):
        if isinstance(u, pattern):
            of = u.xs.type
            return of.length.constant if isinstance(of, Array) else None
    return None
