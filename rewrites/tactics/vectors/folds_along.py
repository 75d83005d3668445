"""A tactic for nests whose folds go along the rows of both operands, on a CPU: vectors lie along the folds.

A product with a transpose, as of a few rows with the weights of a layer, reads rows of both operands.  Lanes that are neighbouring
results would be gathered from as many rows, or one operand copied across first.  Here each result has a vector of
accumulators, and a work-item those of a block of rows by columns:

    map (\\x. map (\\y. fold f z (zip x y)) ys) xs

in blocks, whose folds are by vectors, lifted out of both maps; the lanes are folded at the end, and then what is done with a
result is done.  A vector of a row is read once for all results of the block that need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    apply,
    curried,
    inside,
    nest,
    normalize,
    skip,
    then,
)
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.folds.shared import OUT_OF_ZIPS, in_vectors
from relift.rewrites.tactics.nests.blocks import TILE, TILES, in_blocks, in_each_block
from relift.rewrites.tactics.nests.dimensions import of_one_nest, one_fold
from relift.rewrites.tactics.nests.normal_form import (
    OPERANDS,
    Nest,
    Parts,
    apart,
    bare,
    maps_together,
    parts_at,
)
from relift.rewrites.tactics.nests.padding import beyond_the_end
from relift.rewrites.tactics.nests.prologues import prologues_stored
from relift.rewrites.tactics.reuse import lies_across
from relift.semantics.patterns import Map, ReduceSeqUnroll
from relift.semantics.syntax.binding import Position, term_at


@dataclass(frozen=True)
class Along:
    """Blocks of `rows` by `columns` results, each with a vector of `lanes` accumulators."""

    rows: int
    columns: int
    lanes: int


def folds_along(block: Along) -> Tactic:
    """A nest block by block, each of which a work-item folds by vectors along the rows of both operands.

    Neighbouring work-items have the same columns, and read them from a cache.  Raises `NoMatch` where no two maps are around a fold
    that the lanes divide, by an operator that is associative.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.vectors.folds_along import Along, folds_along
    >>> n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")
    >>> @rl.program
    ... def layer(x: rl.f32[n, k], w: rl.f32[m, k]):
    ...     dot = lambda r, s: rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(r, s)))
    ...     return rl.map(lambda r: rl.map(lambda s: dot(r, s), w), x)
    >>> found = derive(layer, folds_along(Along(2, 4, 8)), {"n": 4, "m": 8, "k": 32})
    >>> [step.rule for step in found.steps].count("lift_reduce_seq")
    2
    """

    def blocks(found: Nest, batches: Sequence[Position]) -> Tactic:
        each = inside(*found.place, "f", "f", *found.fold)(_in_vectors(block.lanes))
        whole = _in_blocks(block, found.fold)
        return then(each, beyond_the_end(found, block.rows, block.columns, 1, whole))

    together = then(normalize(one_fold), maps_together())
    return of_one_nest(blocks, apply("map_to_glb", d=2), together)


_VECTORS: Position = ("xs", "vs", "x")
"""From a fold of lanes to the fold of vectors that fills them."""


@curried
def _in_vectors(at: Rewriting, place: Position, lanes: int) -> Rewriting:
    """A fold by vectors of exactly so many lanes, which are folded at the end."""
    if length_of(term_at(at.term, (*place, "xs"))) % lanes:
        raise NoMatch(f"vectors of {lanes} do not divide the fold")
    at = then(OUT_OF_ZIPS, in_vectors(lanes))(at, place)
    if not isinstance(term_at(at.term, place), ReduceSeqUnroll):
        raise NoMatch("the fold has no lanes to be folded")
    return at


@curried
def _in_blocks(at: Rewriting, place: Position, block: Along, fold: Position) -> Rewriting:
    """A nest whose cells fold by vectors, where their fold is, block by block."""
    here = term_at(at.term, place)
    assert isinstance(here, Map), "cannot happen: it is a nest"
    at = apart(Nest((), (), here, (*fold, *_VECTORS)))(at, place)
    parts = parts_at(at, place)
    if not parts.alone:
        at = inside(*parts.folds[:-1], "ys")(bare())(at, place)
    at = inside(*parts.folds)(then(bare(), prologues_stored()))(at, place)
    if any(lies_across(at.term, (*place, *parts.folds, *each)) for each in OPERANDS):
        raise NoMatch("the rows of an operand lie across: no vectors go along them")
    items = nest(apply("map_to_glb", d=0), apply("map_to_glb", d=1), _computed(parts))
    return then(
        in_blocks(TILES, parts, block.rows, block.columns),
        inside(*TILE)(then(in_each_block(parts), items)),
    )(at, place)


def _computed(parts: Parts) -> Tactic:
    """A block: the folds of its results as one, and with each result what is done there."""
    written_out = nest(UNROLLED, UNROLLED)
    folds = then(
        inside("f")(apply("lift_reduce_seq")),
        apply("lift_reduce_seq"),
        inside("init")(then(written_out, apply("store_private"))),
        inside("f")(written_out),
    )
    together = skip if parts.alone else apply("map_fusion")
    return then(inside(*parts.folds)(folds), together, written_out)
