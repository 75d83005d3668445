"""Plans for stencils: other forms of a program that search starts from as well.

boundary   borders apart from an inside whose indices are not clamped
tiles      overlapping tiles, which a work-group may share

Rules could reach these forms one by one, each together with everything else; a tactic reaches them at once,
and its steps are the first of the derivation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relift.device import DeviceDescription
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.tactics.combinators import Tactic, derive, topdown
from relift.rewrites.tactics.macros import split_boundary, tile_stencil_2d, tile_stencil_3d
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Bordered, Slide
from relift.semantics.syntax.terms import Term, subterms

_TILES = (32, 16, 8)
"""Windows of a tile in each direction: the first that divides is taken."""


def stencil_starts(
    program: Program, sizes: Mapping[str, int], device: DeviceDescription, policy: FloatPolicy
) -> Iterator[Derivation]:
    """The forms of a stencil, each with the steps to it; none for other programs.

    >>> from relift.egraph.search.starts.stencils import stencil_starts
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import CPU
    >>> jacobi = load_program("examples/j2d5pt.py")
    >>> for form in stencil_starts(jacobi, {"n": 64, "m": 64}, CPU, "exact"):
    ...     print(len(form.steps), type(form.result).__name__)
    16 Concat
    1 Map
    """
    t = program.at(sizes).body
    if not any(isinstance(u, Slide) for u, _ in subterms(t)):
        return
    for tactics in (_boundaries(t, device), _tilings()):
        for tactic in tactics:
            try:
                yield derive(program, tactic, sizes, policy)
            except NoMatch:
                continue
            break


def _boundaries(t: Term, device: DeviceDescription) -> Iterator[Tactic]:
    """Borders as wide as two vectors, or one, in the inner dimension, so that all parts are vectors."""
    lefts = {u.left.constant for u, _ in subterms(t) if isinstance(u, Bordered) and u.searched}
    for left in sorted(n for n in lefts if n):
        for vectors in (2, 1):
            extra = max(0, vectors * device.vector_width - left)
            yield split_boundary(0, extra)
            yield split_boundary(extra)


def _tilings() -> Iterator[Tactic]:
    """Tiles in as many dimensions as there are."""
    for tile in _TILES:
        yield topdown(tile_stencil_3d(tile))
    for tile in _TILES:
        yield topdown(tile_stencil_2d(tile))
