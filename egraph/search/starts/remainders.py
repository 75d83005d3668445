"""Starts for sizes that do not divide: a main part that vectors and chunks divide, and the rest.

Chosen by cost like all else: the start is one more e-graph, beside that of the program as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relift.device import DeviceDescription
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.remainders import fold_with_rest, map_with_rest
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Map, Reduce, Slide
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import Array, Type

_BLOCKS = (1024, 64)
"""Elements that divide the main part: the first of which there are a few."""

_FEW = 4


def remainder_starts(
    program: Program, sizes: Mapping[str, int], device: DeviceDescription, policy: FloatPolicy
) -> Iterator[Derivation]:
    """The program with the outermost fold, and with the outermost map, in a main part and a rest; none where vectors divide it.

    >>> from relift.device import CPU
    >>> from relift.egraph.search.starts.remainders import remainder_starts
    >>> from relift.rewrites.loading import load_program
    >>> dot = load_program("examples/dot.py")
    >>> [len(list(remainder_starts(dot, {"n": n}, CPU, "reassociate"))) for n in (1009, 1024)]
    [1, 0]
    """
    t = program.at(sizes).body
    if any(isinstance(u, Slide) for u, _ in subterms(t)):
        return  # what a border is for splits a stencil
    parts = (_length_of_fold(t), fold_with_rest), (_length_of_map(t), map_with_rest)
    for length, with_rest in parts:
        tactic: Tactic | None = None
        if length is not None and length % device.vector_width:
            tactic = next((with_rest(b) for b in _BLOCKS if _FEW * b < length), None)
        if tactic is not None:
            try:
                yield derive(program, tactic, sizes, policy)
            except NoMatch:
                continue


def _length_of_fold(t: Term) -> int | None:
    """How many elements the outermost fold takes."""
    folds = (u for u, _ in subterms(t) if isinstance(u, Reduce))
    return next((_length(fold.xs.type) for fold in folds), None)


def _length_of_map(t: Term) -> int | None:
    """How many elements a program has that computes each from few others."""
    each = isinstance(t, Map) and not any(isinstance(u, Reduce) for u, _ in subterms(t))
    return _length(t.type) if each else None


def _length(t: Type) -> int | None:
    return t.length.constant if isinstance(t, Array) else None
