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
    everywhere,
    fuse,
    inside,
    normalize,
    then,
    topdown,
)
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import AtRuntimeUnsafe, Map, Reduce, ReduceSeq
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import free_variables
from relift.semantics.syntax.types import Array, Scalar


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
    loop = by_vectors(width)

    def fold(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not place or not isinstance(t, ReduceSeq) or free_variables(t.xs) or not is_layout(t.xs):
            raise NoMatch("no fold of an array that all work-items read")
        return loop(at, place)

    return then(fuse(), topdown(fold), topdown(apply("map_to_glb", d=0)))


def rows_in_vectors(width: int) -> Tactic:
    """A map whose function folds a row of its own, by vectors of `width`: what is done with each is on its way together.

    A vector is all that a work-item reads at a time of what memory sends it.  Raises `NoMatch` where no row is folded, or
    vectors do not divide it.

    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.in_vectors import rows_in_vectors
    >>> found = derive(load_program("examples/md.py"), rows_in_vectors(4), {"n": 8, "k": 16})
    >>> [step.rule for step in found.steps[-3:]]
    ['store_private', 'store_private', 'map_to_glb']
    """
    lane = then(
        apply("reduce_to_seq"),
        apply("reduce_map_fusion"),
        apply("reduce_seq_to_unroll"),
        inside("xs", "vs", "x")(apply("store_private")),
    )
    vectors = then(
        apply("blocked_reduce", m=width),
        inside("xs")(then(apply("split_map"), inside("xs")(_lanes(width)), apply("map_fusion"))),
        apply("reduce_map_fusion"),
        inside("f", "right")(lane),
    )

    def fold(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        row = t.xs.xs if isinstance(t, Reduce) and isinstance(t.xs, Map) else None
        if row is None or not free_variables(row) or not is_layout(row):
            raise NoMatch("no fold of what is computed of a row")
        if not isinstance(row.type, Array) or not isinstance(row.type.element, Scalar):
            raise NoMatch("vectors are of numbers")
        return vectors(at, place)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = normalize("map_fusion")(at, place)
        if not isinstance(term_at(at.term, place), Map):
            raise NoMatch("no map")
        at = inside("f")(topdown(fold))(at, place)
        at = everywhere(_index_in_register)(at, place)
        return then(fuse(), apply("map_to_glb", d=0))(at, place)

    return tactic


def _index_in_register(at: Rewriting, place: Position) -> Rewriting:
    """What is looked up at an index is looked up at a copy of it, in a register: a lane is no variable."""
    if isinstance(term_at(at.term, place), AtRuntimeUnsafe):
        return inside("index")(apply("store_private"))(at, place)
    return at


def by_vectors(width: int) -> Tactic:
    """A fold in order whose steps are those of the lanes of vectors, which are loaded at once.

    Raises `NoMatch` where vectors do not divide what is folded.
    """
    return then(
        apply("reduce_seq_chunks", m=width),
        inside("xs")(_lanes(width)),
        apply("reduce_map_fusion"),
        inside("f")(apply("reduce_seq_to_unroll")),
        inside("f", "xs", "vs", "x")(apply("store_private")),
    )


def _lanes(width: int) -> Tactic:
    """Chunks of an array as the lanes of its vectors."""
    return then(
        inside("xs")(apply("as_scalar_as_vector", "backward", w=width)),
        apply("split_as_scalar"),
        inside("xs")(apply("split_one")),
        apply("map_fusion"),
    )
