"""Tactics for work-groups: a nest, whatever is done before its folds and after them, tile by tile.

A nest in normal form (see `nests`) is cut twice (see `nests.blocks`): a work-group has a tile of the result, and each
of its work-items blocks of the tile, which lie apart, so that neighbours read neighbouring vectors.

    lift_reduction      the reduction outside of a tile, a table of accumulators inside
    by_chunks           the reduction in chunks, so that a chunk of both arrays is a tile of each
    stage_rows          a tile copied to local memory, vector by vector, by all work-items of the group
    keep                vectors copied to the registers of a work-item, once
    give_out            who computes what
    written             what is done with the results, where they are

`tile_for_groups` puts them together.
Source: LIFT's macro rules, GPGPU'16; Tan et al., SC'11, and Nugteren, CLBlast, IWOCL'18, for the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    apply,
    copy,
    curried,
    fission,
    inside,
    nest,
    repeat,
    skip,
    then,
)
from relift.rewrites.tactics.groups.tiling.sizes import Tiles
from relift.rewrites.tactics.groups.tiling.teams import (
    WORK_ITEMS,
    in_chunks_of_all,
    members,
    results_of_teams,
)
from relift.rewrites.tactics.nests.blocks import (
    INTERLEAVED,
    INTERLEAVED_TILES,
    TILE,
    TILES,
    after_folds,
    in_blocks,
    in_each_block,
)
from relift.rewrites.tactics.nests.dimensions import of_one_nest
from relift.rewrites.tactics.nests.normal_form import (
    BARE,
    OPERANDS,
    Nest,
    Parts,
    normal_form,
    parts_at,
)
from relift.rewrites.tactics.nests.padding import beyond_the_end, in_whole_chunks, steps_of
from relift.rewrites.tactics.nests.prologues import prologues_stored
from relift.rewrites.tactics.reuse import distances, lies_across
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import PadConstant
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import dimensions

GROUPS: tuple[Tactic, ...] = (apply("map_to_wrg", d=1), apply("map_to_wrg", d=0))


def cells_copied(at: Rewriting, place: Position) -> Rewriting:
    """What is only rearranged, copied by maps in one another down to its cells; nobody has them yet."""
    t = term_at(at.term, place)
    if not is_layout(t):
        return at
    return copy(*(skip,) * len(dimensions(t.type)[0]))(at, place)


# ---- the reduction


def lift_reduction() -> Tactic:
    """The reductions of a tile, which nests pairs three deep, are one reduction with a table of accumulators."""
    lift, pairs = apply("lift_reduce_seq_2d"), inside("f", "f")
    rows = inside("xss", "f", "xss", "f", "xss")(apply("map_identity"))
    columns = then(rows, columns_of_blocks())
    return then(
        pairs(pairs(lift)),
        pairs(lift),
        lift,
        inside("xs")(then(inside("xs")(columns), inside("ys")(columns), apply("zip_map_map"))),
        apply("reduce_map_fusion"),
    )


def columns_of_blocks() -> Tactic:
    """The columns of interleaved blocks of rows are the interleaved blocks of each column."""
    split_columns = then(
        apply("split_map", "backward"),
        inside("xs")(apply("split_map_transpose")),
        apply("split_transpose"),
    )
    reversed_axes = then(
        apply("map_transpose_fission"),
        inside("xs")(then(apply("map_map_transpose"), inside("xss")(split_columns))),
        apply("transpose_braid"),
    )
    return then(
        inside("xss")(reversed_axes),
        apply("transpose_transpose"),
        inside("xs")(apply("transpose_transpose")),
        repeat(apply("map_fusion")),
    )


def main_and_rest(steps: int) -> Tactic:
    """A reduction of zipped arrays takes the first of them, and its result goes on with those that are left."""
    return then(
        inside("xs")(apply("concat_take_drop", "backward", m=steps)),
        apply("reduce_seq_concat"),
        inside("init", "xs")(apply("take_zip")),
        inside("xs")(apply("drop_zip")),
    )


def by_chunks(depth: int) -> Tactic:
    """A reduction of zipped arrays goes chunk by chunk of both."""
    return then(
        apply("reduce_seq_chunks", m=depth),
        inside("xs")(apply("split_zip")),
        apply("reduce_map_fusion"),
    )


# ---- where data are


def as_vectors(width: int, t: Tactic) -> Tactic:
    """The rows of a table as one array of vectors, for which `t` is; those of one cell are none."""
    if width == 1:
        return then(apply("split_of_join", "backward"), inside("xs")(t))
    return then(
        apply("split_of_join", "backward"),
        inside("xs")(apply("as_scalar_as_vector", "backward", w=width)),
        inside("xs", "vs")(then(apply("as_vector_join"), t)),
    )


def keep(width: int) -> Tactic:
    """Rows of one vector each are copied to registers."""
    return as_vectors(width, then(copy(UNROLLED), apply("store_private")))


def copy_together(tiles: Tiles, width: int) -> Tactic:
    """The rows of a table are copied by all work-items of a group, in vectors of so many cells."""
    down, across = tiles.work_items
    teams = (tiles.teams,) if tiles.teams > 1 else ()
    vectors = copy(UNROLLED, *members(tiles))
    for many in (*teams, down, across):
        vectors = then(apply("join_split", "backward", m=many), inside("xss")(vectors))
    return as_vectors(width, vectors)


def stage_rows(tiles: Tiles, width: int) -> Tactic:
    """A table whose rows are contiguous is copied to local memory."""
    return then(copy_together(tiles, width), apply("store_local"))


def stage_columns(tiles: Tiles, width: int, both: bool = False) -> Tactic:
    """A table whose columns are contiguous is copied to local memory column by column, but stored by rows.

    Open cells follow each row, or, where `both` tables of a product are stored so, every few rows (see `Tiles.padding`):
    A B^T of 4096 takes an H100 3,025 us so, and 3,065 with a vector behind each row.  Where one is, it gains a compiler less than
    it costs: A B of 4000 takes 2,940, and 2,832.
    """

    copied_by_all = copy_together(tiles, width)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        copied = then(apply("transpose_transpose", "backward"), inside("xss")(copied_by_all))
        length = dimensions(term_at(at.term, place).type)[0][1].constant
        assert length is not None, "cannot happen: a tile of unknown length"
        if (
            not both or width == 1
        ):  # neighbours that hold a cell each write to rows that follow one another
            return then(copied, rows_behind(tiles.width))(at, place)
        open_cells = tiles.padding(length)
        if not open_cells:
            return then(copied, apply("store_local"))(at, place)
        joined = then(
            apply("map_identity", "backward"),
            inside("f")(apply("split_of_join", "backward")),
            fission("f", "xs"),
            inside("xs")(rows_behind(open_cells)),
        )
        rows = then(apply("join_split", "backward", m=tiles.width), inside("xss")(joined))
        return then(copied, rows)(at, place)

    return tactic


def columns_behind(cells: int) -> Tactic:
    """The columns of a table, which lies in local memory with so many open cells behind each row."""
    return then(
        apply("pad_empty_removed", "backward", left=0, right=cells),
        inside("xs")(then(apply("drop_nothing"), apply("pad_empty_transpose"))),
        inside("xs", "xss")(apply("store_local")),
    )


def rows_behind(cells: int) -> Tactic:
    """The rows of a table, which lies in local memory with so many open cells behind each."""
    columns = inside("xss")(columns_behind(cells))
    return then(apply("transpose_transpose", "backward"), columns)


def name_registers(width: int) -> Tactic:
    """What the blocks of a work-item share is copied to its registers before the maps over the blocks."""
    return then(
        inside("f")(apply("name_zipped")),
        apply("let_out_of_map"),
        inside("f")(then(apply("name_zipped"), inside("x")(keep(width)))),
        inside("x")(keep(width)),
    )


# ---- who computes


def give_out(tiles: Tiles, stage_first: Tactic, stage_second: Tactic) -> Tactic:
    """A reduction chunk by chunk with a table of accumulators: who computes what, and what is kept where."""
    start = then(copy(*members(tiles), *[UNROLLED] * 4), apply("store_private"))
    chunks: Position = ("xs",) if tiles.teams > 1 else ()  # parts of those of all teams
    chunk = then(
        inside("f")(_blocks(tiles)),
        inside("xs", "xs", *chunks)(stage_first),
        inside("xs", "ys", *chunks)(stage_second),
        apply("reduce_seq_to_unroll"),
    )
    step = apply("reduce_seq_to_ahead") if tiles.ahead else skip
    return then(inside("init")(start), inside("f")(chunk), step)


def _blocks(tiles: Tiles) -> Tactic:
    """A step of a reduction: each work-item multiplies its own blocks."""
    blocks = then(name_registers(tiles.width), inside("f", "f")(nest(*[UNROLLED] * 4)))
    return nest(*members(tiles), blocks)


def written(tiles: Tiles, parts: Parts) -> Tactic:
    """What is done with the results of a reduction, by whom; at least they are written, vector by vector."""
    levels = (*WORK_ITEMS, *[UNROLLED] * 3)
    if parts.epilogue:
        vectors = then(apply("vectorize_map", w=tiles.width), inside("vs")(UNROLLED))
        return after_folds(*levels, vectors)
    vectors = then(
        apply("as_scalar_as_vector", "backward", w=tiles.width), inside("vs")(copy(UNROLLED))
    )
    return copy(*levels, rest=vectors)


def tile_for_groups(tiles: Tiles) -> Tactic:
    """A nest as a low-level program: every work-group computes a tile of the result, its epilogue included.

    >>> from relift.rewrites.tactics.groups.tiles import tile_for_groups
    >>> from relift.rewrites.tactics.groups.tiling.sizes import Tiles
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> small = tile_for_groups(Tiles(16, 16, 4, 2, 2))
    >>> found = derive(load_program("examples/matmul.py"), small, {"n": 32, "m": 16, "k": 8})
    >>> len(found.steps), found.steps[0].rule, found.steps[-1].rule
    (114, 'reduce_to_seq', 'map_to_seq_unroll')
    """
    return of_one_nest(partial(_in_whole_tiles, tiles), apply("map_to_wrg", d=2))


def _in_whole_tiles(tiles: Tiles, found: Nest, batches: Sequence[Position]) -> Tactic:
    """A nest tile by tile, padded where these do not divide it: of tiles at the end only what is taken is written.

    `batches` is where the map around it is, if there is one: what its folds read and is computed is stored for all of its nests.
    An H200 multiplies matrices of 2001^2 in 392 us so, and in 435 where the result is a copy of whole tiles; a table of 4001 x 3001
    cosines takes 240, and 272.
    """
    in_tiles = _in_tiles(tiles, batches)
    return beyond_the_end(found, tiles.rows, tiles.columns, tiles.width, in_tiles)


@curried
def _in_tiles(
    at: Rewriting, place: Position, tiles: Tiles, batches: Sequence[Position]
) -> Rewriting:
    """A nest whose rows and columns tiles divide, tile by tile."""
    at = normal_form(at, place)
    parts = parts_at(at, place)
    at = inside(*parts.folds)(prologues_stored(batches))(at, place)
    few = (0,) if tiles.teams > 1 else ()  # teams have no steps that follow
    at = inside(*parts.folds)(in_whole_chunks(tiles.depth, *few))(at, place)
    operands = [(*place, *parts.folds, *operand) for operand in OPERANDS]
    across = [not lies_across(at.term, operand) for operand in operands]
    widths = [_read_together(at.term, operand, tiles.width) for operand in operands]
    stages = [
        stage_columns(tiles, width, all(across)) if columns else stage_rows(tiles, width)
        for columns, width in zip(across, widths, strict=True)
    ]
    return _tiled(tiles, parts, steps_of(at, (*place, *parts.folds)), stages)(at, place)


def _read_together(t: Term, operand: Position, width: int) -> int:
    """How many cells of an operand a work-item copies at a time: a vector, or one, where each of a vector has a condition.

    Where folds go on over zeros, and vectors do not divide the rows, a work-item would read the cells of a vector one by one, and
    neighbours those of other vectors; so neighbours read neighbouring cells.  An H200 multiplies matrices of 4093^2 in 3,031 us
    so, and in 3,371.
    """
    bordered = any(isinstance(u, PadConstant) for u, _ in subterms(term_at(t, operand)))
    apart = any(d > 1 and d % width for d in distances(t, operand))
    return 1 if bordered and apart else width


def _tiled(tiles: Tiles, parts: Parts, steps: int, stages: Sequence[Tactic]) -> Tactic:
    """A nest in normal form in tiles, each of which a group computes."""
    group = (
        _by_teams(tiles, parts, stages) if tiles.teams > 1 else _by_one(tiles, parts, steps, stages)
    )
    return then(
        in_blocks(TILES, parts, tiles.rows, tiles.columns),
        inside(*TILE)(then(in_each_block(parts), nest(*GROUPS, group))),
    )


def _by_one(tiles: Tiles, parts: Parts, steps: int, stages: Sequence[Tactic]) -> Tactic:
    """A tile whose work-items each have blocks of their own."""
    work = then(by_chunks(tiles.depth), give_out(tiles, *stages))
    if rest := steps % tiles.depth:
        last = inside("f")(_blocks(tiles))
        work = then(main_and_rest(steps - rest), inside("init")(work), last)
    work = then(lift_reduction(), work)
    items = then(inside(*parts.folds)(work), written(tiles, parts))
    return _in_blocks_of_items(tiles, parts, items)


def _by_teams(tiles: Tiles, parts: Parts, stages: Sequence[Tactic]) -> Tactic:
    """A tile that several teams of work-items share."""
    blocks = _in_blocks_of_items(tiles, BARE, lift_reduction())
    chunks = in_chunks_of_all(by_chunks(tiles.depth // tiles.teams))
    return results_of_teams(tiles, parts, blocks, then(chunks, give_out(tiles, *stages)))


def _in_blocks_of_items(tiles: Tiles, parts: Parts, items: Tactic) -> Tactic:
    """A tile in the blocks of its work-items, which lie apart."""
    down, across = tiles.work_items
    interleaved = in_blocks(INTERLEAVED_TILES, parts, down, across)
    return then(
        in_blocks(TILES, parts, tiles.width, tiles.width),
        inside(*TILE)(then(interleaved, inside(*INTERLEAVED)(items))),
    )
