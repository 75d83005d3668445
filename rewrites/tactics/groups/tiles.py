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
from dataclasses import dataclass
from functools import partial

from relift.device import DeviceDescription
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
from relift.rewrites.tactics.nests.normal_form import OPERANDS, Nest, Parts, normal_form, parts_at
from relift.rewrites.tactics.nests.padding import beyond_the_end, in_whole_chunks, steps_of
from relift.rewrites.tactics.nests.prologues import prologues_stored
from relift.rewrites.tactics.reuse import distances, lies_across
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import PadConstant
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import dimensions

GROUPS: tuple[Tactic, ...] = (apply("map_to_wrg", d=1), apply("map_to_wrg", d=0))
WORK_ITEMS: tuple[Tactic, ...] = (apply("map_to_lcl", d=1), apply("map_to_lcl", d=0))


@dataclass(frozen=True)
class Tiles:
    """The sizes of a tiling: a group's tile is `rows` by `columns`, and `depth` deep along the reduction.

    Each work-item has `row_blocks` by `column_blocks` blocks of `width` by `width` results.  A group may fetch the
    next chunk `ahead`, while it computes with one.
    An `element` of what the folds read is of so many numbers, and a `result` too.
    """

    rows: int
    columns: int
    depth: int
    row_blocks: int
    column_blocks: int
    width: int = 4
    ahead: bool = False
    element: int = 1
    result: int = 1

    @property
    def work_items(self) -> tuple[int, int]:
        """How many work-items a group has, down and across its tile."""
        return (
            self.rows // (self.row_blocks * self.width),
            self.columns // (self.column_blocks * self.width),
        )

    @property
    def cells(self) -> int:
        """How many results a work-item has."""
        return self.row_blocks * self.column_blocks * self.width**2

    @property
    def read(self) -> int:
        """The numbers that a work-item reads from local memory in a step: a row and a column of its blocks."""
        return (self.row_blocks + self.column_blocks) * self.width * self.element

    @property
    def held(self) -> int:
        """The numbers that a work-item holds while it computes: its results, and what it reads for them."""
        return self.cells * self.result + self.read

    @property
    def registers(self) -> int:
        """The numbers that a work-item holds, with those of the next chunk."""
        return self.held + self.fetched

    @property
    def staged(self) -> int:
        """The numbers of a chunk, or of two, that a group has in local memory."""
        sides = self.rows + self.columns + 2 * self.width
        return (1 + self.ahead) * self.depth * sides * self.element

    def padding(self, length: int) -> int:
        """The open cells behind every `width` rows of so many cells of a tile that is stored across.

        Neighbours hold the vectors of one column of what is copied, and write each cell of them to a row of its own: those
        of the next vector are `width` rows further on, and start where the banks end that the columns beside this one
        take.

        >>> from relift.rewrites.tactics.groups.tiles import Tiles
        >>> Tiles(128, 128, 16, 2, 2).padding(128), Tiles(128, 128, 8, 2, 2).padding(128), Tiles(8, 8, 4, 1, 1).padding(8)
        (8, 16, 0)
        """
        vectors = self.depth // self.width
        if vectors <= 1:
            return 0
        apart = LOCAL_BANKS // min(vectors, LOCAL_BANKS)
        return -(-((apart - self.width * length) % LOCAL_BANKS) // self.width) * self.width

    @property
    def fetched(self) -> int:
        """The numbers of the next chunk that a work-item holds."""
        down, across = self.work_items
        return (
            self.ahead * self.depth * (self.rows + self.columns) * self.element // (down * across)
        )

    def fits(self, device: DeviceDescription, scalar_bytes: int) -> bool:
        """Whether every work-item has the same to do, and the device has room for a group.

        >>> from relift.rewrites.tactics.groups.tiles import Tiles
        >>> from relift.device import GPU
        >>> Tiles(128, 128, 16, 2, 2).fits(GPU, 4), Tiles(128, 128, 64, 2, 2).fits(GPU, 4)
        (True, False)
        """
        down, across = self.work_items
        turn = down * across * self.width
        registers = max(1, scalar_bytes // 4) * self.registers + OTHER_REGISTERS
        shared = (
            self.rows == down * self.row_blocks * self.width
            and self.columns == across * self.column_blocks * self.width
            and self.depth % self.width == 0
            and all(side * self.depth % turn == 0 for side in (self.rows, self.columns))
        )
        return (
            shared
            and LEAST_GROUP <= down * across <= min(MOST_GROUP, device.max_work_group)
            and registers <= MOST_REGISTERS
            and down * across * registers <= REGISTER_FILE
            and self.staged * scalar_bytes <= device.local_memory_bytes
        )


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
    turns = then(
        apply("join_split", "backward", m=down), inside("xss")(copy(UNROLLED, *WORK_ITEMS))
    )
    vectors = then(apply("join_split", "backward", m=across), inside("xss")(turns))
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
    start = then(copy(*WORK_ITEMS, *[UNROLLED] * 4), apply("store_private"))
    chunk = then(
        inside("f")(_blocks(tiles)),
        inside("xs", "xs")(stage_first),
        inside("xs", "ys")(stage_second),
        apply("reduce_seq_to_unroll"),
    )
    step = apply("reduce_seq_to_ahead") if tiles.ahead else skip
    return then(inside("init")(start), inside("f")(chunk), step)


def _blocks(tiles: Tiles) -> Tactic:
    """A step of a reduction: each work-item multiplies its own blocks."""
    blocks = then(name_registers(tiles.width), inside("f", "f")(nest(*[UNROLLED] * 4)))
    return nest(*WORK_ITEMS, blocks)


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

    >>> from relift.rewrites.tactics.groups.tiles import Tiles, tile_for_groups
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
    at = inside(*parts.folds)(in_whole_chunks(tiles.depth))(at, place)
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
    down, across = tiles.work_items
    work = then(by_chunks(tiles.depth), give_out(tiles, *stages))
    if rest := steps % tiles.depth:
        last = inside("f")(_blocks(tiles))
        work = then(main_and_rest(steps - rest), inside("init")(work), last)
    work = then(lift_reduction(), work)
    items = then(inside(*parts.folds)(work), written(tiles, parts))
    group = then(
        in_blocks(TILES, parts, tiles.width, tiles.width),
        inside(*TILE)(
            then(
                in_blocks(INTERLEAVED_TILES, parts, down, across),
                inside(*INTERLEAVED)(items),
            )
        ),
    )
    return then(
        in_blocks(TILES, parts, tiles.rows, tiles.columns),
        inside(*TILE)(then(in_each_block(parts), nest(*GROUPS, group))),
    )


# ---- which sizes

LEAST_GROUP = 32
"""Work-items of a group: fewer leave lanes of a GPU's warps idle."""
MOST_GROUP = 512
"""Work-items of a group: those of larger ones wait too long for one another.

An H100 multiplies matrices of 1536^2 in 200 us by groups of 288, in 216 by the best of at most 256, and in 247 by groups of 576."""
REGISTER_FILE = 64 * 1024
"""Registers of 32 bits that the work-items of a group share."""
MOST_REGISTERS = 255
"""Registers that one work-item can have."""
LOCAL_BANKS = 32
"""Banks of local memory, each of which gives or takes one number of 32 bits at a time."""
OTHER_REGISTERS = 40
"""Registers of a work-item for what is no part of its blocks, such as indices and what it copies."""
