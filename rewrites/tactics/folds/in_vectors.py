"""Folds of what all work-items read, vector by vector: one access of memory gives as many elements as a vector has.

Work-items that each go through all of an array, as those of n-body do, read the same cell at the same time.  How many
accesses they make is then what counts, not how many bytes.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    fuse,
    inside,
    then,
    topdown,
)
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import ReduceSeq
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import free_variables


def folds_in_vectors(width: int) -> Tactic:
    """A map whose function folds an array that does not depend on what it is given, by vectors of `width`.

    Raises `NoMatch` where there is none, or vectors do not divide it.

    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.in_vectors import folds_in_vectors
    >>> found = derive(load_program("examples/mriq.py"), folds_in_vectors(4), {"n": 8, "k": 16})
    >>> [step.rule for step in found.steps[-3:]]
    ['reduce_seq_to_unroll', 'store_private', 'map_to_glb']
    """
    chunks = then(
        apply("join_split", "backward", m=width),
        inside("xss", "xs")(apply("as_scalar_as_vector", "backward", w=width)),
        inside("xss")(apply("split_as_scalar")),
        inside("xss", "xs")(apply("split_one")),
        inside("xss")(apply("map_fusion")),
    )

    def fold(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not place or not isinstance(t, ReduceSeq) or free_variables(t.xs) or not is_layout(t.xs):
            raise NoMatch("no fold of an array that all work-items read")
        return then(
            inside("xs")(chunks),
            apply("reduce_seq_join"),
            apply("reduce_map_fusion"),
            inside("f")(apply("reduce_seq_to_unroll")),
            inside("f", "xs", "vs", "x")(apply("store_private")),
        )(at, place)

    return then(fuse(), topdown(fold), topdown(apply("map_to_glb", d=0)))
