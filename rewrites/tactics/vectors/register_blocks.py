"""Tactics for blocks in vector registers: a nest, whatever is done before its folds and after them, on a CPU.

A nest in normal form (see `nests`) is cut into blocks, some rows by some vectors, of which a work-item has one; it
reads an element of a row once for all vectors, and a vector of columns once for all rows, while the block stays in
registers:

    in_panels           an operand copied once in the order in which the blocks read it
    vector_accumulators the folds of a block as one fold with a table of vectors

The folds become folds of vectors before they are lifted out of the maps: so the accumulators are vectors, and
no driver has to make them from a table of scalars.
Source: Goto and van de Geijn, Anatomy of high-performance matrix multiplication, TOMS 2008, for the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    apply,
    attempt,
    copy,
    curried,
    first,
    fission,
    inside,
    nest,
    normalize,
    skip,
    then,
)
from relift.rewrites.tactics.nests.blocks import TILE, TILES, in_blocks, in_each_block
from relift.rewrites.tactics.nests.dimensions import of_one_nest
from relift.rewrites.tactics.nests.normal_form import OPERANDS, Nest, Parts, normal_form, parts_at
from relift.rewrites.tactics.nests.padding import beyond_the_end, in_whole_blocks
from relift.rewrites.tactics.nests.prologues import prologues_stored
from relift.rewrites.tactics.reuse import lies_across
from relift.rewrites.tactics.vectors.lanes import depth_of, rows_in_lanes
from relift.semantics.patterns import Map
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Term, free_variables
from relift.semantics.syntax.types import dimensions


@dataclass(frozen=True)
class Block:
    """A block of `rows` by `vectors` vectors of `lanes` results.

    `packed` says whether the second operand is copied in the order in which the blocks read it, and the first where its rows lie
    across: each step of a block reads a line of its own there, and a product of two matrices of 4096 x 512, the first transposed,
    takes 31 ms, and 15 with a copy.  Those of batches, and of parts of a fold, are copied together: 200 x 300 products of 10000 steps take
    18.4 ms in parts, and 13.6 so.  `rows_packed` copies the first one also where its rows lie along memory, and blocks read a line of each:
    a product of 17 x 8192 numbers with 1000 rows takes 5.2 ms, for the lines share a set of the nearest cache, and 2.7 so.  A result that blocks do not divide is `stored` with what was added, and copied; or the blocks
    at its end write what there is of it.
    """

    rows: int
    vectors: int
    lanes: int
    packed: bool = True
    stored: bool = True
    rows_packed: bool = False

    @property
    def columns(self) -> int:
        """How many results a row of the block has."""
        return self.vectors * self.lanes

    @property
    def registers(self) -> int:
        """The vectors that a work-item holds: results, a row of vectors, and one element for all lanes."""
        return self.rows * self.vectors + self.vectors + 1


def blocks_of_pairs(block: Block) -> Tactic:
    """A nest as a low-level program, in which every work-item computes a block.

    >>> from relift.rewrites.tactics.vectors.register_blocks import Block, blocks_of_pairs
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> product = load_program("examples/matmul.py")
    >>> found = derive(product, blocks_of_pairs(Block(4, 2, 16)), {"n": 32, "m": 64, "k": 8})
    >>> "lift_reduce_seq_2d" in {step.rule for step in found.steps}
    True
    """

    def blocks(nest: Nest, batches: Sequence[Position]) -> Tactic:
        each = _in_blocks(block, batches)
        if block.stored:
            return in_whole_blocks(nest, block.rows, block.columns, each)
        return beyond_the_end(nest, block.rows, block.columns, block.lanes, each)

    return of_one_nest(blocks, apply("map_to_glb", d=2))


@curried
def _in_blocks(
    at: Rewriting, place: Position, block: Block, batches: Sequence[Position]
) -> Rewriting:
    """A nest that blocks divide, block by block; `batches` are the maps around it."""
    at = normal_form(at, place)
    parts = parts_at(at, place)
    at = prologues_stored(batches)(at, (*place, *parts.folds))
    first_operand, second = ((*place, *parts.folds, *each) for each in OPERANDS)
    if block.packed:
        at = _panels(block.columns, second, batches)(at, ())
    if block.rows_packed:
        at = _panels(block.rows, first_operand, batches)(at, ())
    elif block.packed and lies_across(at.term, first_operand):
        at = attempt(_panels(block.rows, first_operand, batches))(at, ())
    return _tiled(block, parts)(at, place)


def _panels(width: int, rows: Position, batches: Sequence[Position]) -> Tactic:
    """Rows at a place are copied in panels, those of all batches at once where there are some."""
    if not batches:
        return inside(*rows)(in_panels(width))
    (outside,) = batches
    return inside(*outside)(_panels_of_batches(width, rows[len(outside) :]))


def _panels_of_batches(width: int, rows: Position) -> Tactic:
    """A map whose function reads rows at a place, whole panels of them: those of all its elements are copied first."""
    of_all = then(apply("split_of_join", "backward"), inside("xs")(in_panels(width)))
    return then(fission(*rows, beside=True), inside("xs", "ys")(of_all))


def _tiled(block: Block, parts: Parts) -> Tactic:
    """A nest in normal form, block by block, each of which a work-item computes."""
    work_items = nest(apply("map_to_glb", d=0), apply("map_to_glb", d=1), _computed(block, parts))
    return then(
        in_blocks(TILES, parts, block.rows, block.columns),
        inside(*TILE)(then(in_each_block(parts), work_items)),
    )


def _computed(block: Block, parts: Parts) -> Tactic:
    """A block: its folds, and with their results what is done there, vector by vector."""
    folds = vector_accumulators(block.lanes)
    if not parts.epilogue:
        return then(folds, inside("xs")(copy(UNROLLED, UNROLLED)))
    vectors = then(apply("vectorize_map", w=block.lanes), inside("vs")(UNROLLED))
    together = skip if parts.alone else apply("map_fusion")
    return then(inside(*parts.folds)(folds), together, nest(UNROLLED, vectors))


def _innermost(wanted: Callable[[Term], bool], t: Term, below: str) -> Position:
    for place, u in positions(t):
        if place and place[0] == below and wanted(u):
            return place
    raise NoMatch("the tactic finds no part here")


def vector_accumulators(lanes: int) -> Tactic:
    """Folds of all pairs as one fold with a table of vectors, which are taken apart row by row."""

    def rows(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        where = _innermost(lambda u: isinstance(u, Map), t, "f")
        return fission(*where)(at, place)

    straight = then(
        inside("xss")(attempt(apply("map_identity"))), attempt(apply("transpose_transpose"))
    )
    lifted = then(
        apply("lift_reduce_seq_2d"),
        inside("xs")(then(inside("xs")(straight), inside("ys")(straight))),
        inside("init")(then(copy(UNROLLED, UNROLLED), apply("store_private"))),
        inside("f")(nest(UNROLLED, UNROLLED)),
    )
    vectors = then(
        apply("as_scalar_as_vector", "backward", w=lanes),
        inside("vs")(apply("as_vector_map_fold")),
    )
    return then(inside("f")(vectors), rows, inside("xs")(lifted))


@curried
def rows_of_panels(at: Rewriting, place: Position, width: int) -> Rewriting:
    """Nested maps in vectors of `width`, the innermost of which goes through rows: these are copied so many side by side first.

    What is computed of the rows is any function, such as a fold of tuples: each lane has a row of its own, and reads it where
    its neighbours read theirs.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.vectors.register_blocks import rows_of_panels
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def products(a: rl.f32[n, n], b: rl.f32[n, n]):
    ...     dot = lambda r, s: rl.reduce_seq(lambda t, p: t + p[0] * p[1], 0.0, rl.zip(r, s))
    ...     return rl.map(lambda r: rl.map(lambda s: dot(r, s), b), a)
    >>> found = derive(products, rows_of_panels(8), {"n": 16})
    >>> [step.rule for step in found.steps][-3:]
    ['vectorize_map', 'map_to_seq', 'map_to_glb']
    """
    at = normalize("map_fusion")(at, place)
    data: Position = (*("f",) * (depth_of(term_at(at.term, place)) - 1), "xs")
    if data == ("xs",) or len(dimensions(term_at(at.term, (*place, *data)).type)[0]) != 2:
        raise NoMatch("the innermost of nested maps goes through no rows")
    return then(inside(*data)(in_panels(width)), rows_in_lanes(width))(at, place)


# ---- what the folds read


@curried
def in_panels(at: Rewriting, place: Position, width: int) -> Rewriting:
    """Rows that folds read are copied: so many of them side by side.

    Raises `NoMatch` where the data depend on a variable, for then no kernel comes before.
    """
    if free_variables(term_at(at.term, place)):
        raise NoMatch("what is copied before depends on a variable")
    across = lies_across(at.term, place)
    if across:
        vectors, lanes = _rows_of_cells, width
    else:
        vectors, lanes = _columns_of_lines, _length_of_rows(term_at(at.term, place))
    fitting = [vectors(w) for w in (16, 8, 4, 2) if lanes % w == 0]
    cells = first(*fitting[:1], copy(*_CELL_BY_CELL))
    panels = 1 if fitting and not across else 0
    copied = then(copy(apply("map_to_glb", d=panels), rest=cells), apply("store_global"))
    panel = then(
        apply("map_identity", "backward"),
        inside("f")(apply("transpose_transpose", "backward")),
        fission("f", "xss"),
        inside("xs")(copied),
    )
    return then(apply("join_split", "backward", m=width), inside("xss")(panel))(at, place)


_CELL_BY_CELL = (apply("map_to_glb", d=1), apply("map_to_seq"))


def _length_of_rows(t: Term) -> int:
    lengths = dimensions(t.type)[0]
    if len(lengths) < 2:
        raise NoMatch("an array of numbers has no panels")
    return lengths[1].constant or 0


def _rows_of_cells(width: int) -> Tactic:
    """A panel whose rows lie together in memory: row by row, in vectors of `width`."""
    return copy(apply("map_to_glb", d=1), rest=_in_vectors_of(width))


def _columns_of_lines(width: int) -> Tactic:
    """A panel whose columns lie together in memory: a work-item has `width` rows, and reads so many cells of each column in a row.

    All that is read of a line is read at once: neighbours that read a cell of it each find it crowded out by those of other
    columns.  32 columns of 1024^2 cells are copied in 3.5 ms by work-items for a cell each, and in 0.36 so, on two cores.  As
    vectors, which are taken apart again, 64 columns take 0.44 ms, and cell by cell 0.28.
    """
    lines = then(
        apply("transpose_transpose", "backward"),
        inside("xss")(copy(apply("map_to_seq"), UNROLLED)),
    )
    return then(
        apply("join_split", "backward", m=width),
        inside("xss")(copy(apply("map_to_glb", d=0), rest=lines)),
    )


def _in_vectors_of(width: int) -> Tactic:
    return then(apply("as_scalar_as_vector", "backward", w=width), inside("vs")(copy(UNROLLED)))
