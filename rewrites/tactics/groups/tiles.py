"""Tactics for work-groups: a nest, whatever is done before its folds and after them, tile by tile.

A nest in normal form (see `nests`) is cut twice (see `nest_blocks`): a work-group has a tile of the result, and each
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
from contextlib import suppress
from dataclasses import dataclass

from relift.device import DeviceDescription
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    inside,
    repeat,
    skip,
    then,
    tile_stencil_2d,
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
from relift.rewrites.tactics.nests.dimensions import nest_at, nested
from relift.rewrites.tactics.nests.normal_form import (
    OPERANDS,
    Nest,
    Parts,
    normal_form,
    parts_at,
    prologues_stored,
)
from relift.rewrites.tactics.nests.padding import beyond_the_end, in_whole_blocks
from relift.rewrites.tactics.reuse import lies_across
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map
from relift.semantics.syntax.binding import Position, binders_at, positions, term_at
from relift.semantics.syntax.terms import Term, Var
from relift.semantics.syntax.types import dimensions

GROUPS: tuple[Tactic, ...] = (apply("map_to_wrg", d=1), apply("map_to_wrg", d=0))
WORK_ITEMS: tuple[Tactic, ...] = (apply("map_to_lcl", d=1), apply("map_to_lcl", d=0))
UNROLLED: Tactic = apply("map_to_seq_unroll")


@dataclass(frozen=True)
class Tiles:
    """The sizes of a tiling: a group's tile is `rows` by `columns`, and `depth` deep along the reduction.

    Each work-item has `row_blocks` by `column_blocks` blocks of `width` by `width` results.  `padding` open
    cells follow each row of a tile that is stored across, so that work-items that write a column of it use
    different banks of local memory.  A group may fetch the next chunk `ahead`, while it computes with one.
    An `element` of what the folds read is of so many numbers, and a `result` too.
    """

    rows: int
    columns: int
    depth: int
    row_blocks: int
    column_blocks: int
    width: int = 4
    padding: int = 4
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
        sides = self.rows + self.columns + 2 * self.padding
        return (1 + self.ahead) * self.depth * sides * self.element

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
        shared = (
            self.rows == down * self.row_blocks * self.width
            and self.columns == across * self.column_blocks * self.width
            and self.depth % self.width == 0
            and all(side * self.depth % turn == 0 for side in (self.rows, self.columns))
        )
        return (
            shared
            and LEAST_GROUP <= down * across <= min(MOST_GROUP, device.max_work_group)
            and self.registers + OTHER_REGISTERS <= MOST_REGISTERS
            and down * across * (self.registers + OTHER_REGISTERS) <= REGISTER_FILE
            and self.staged * scalar_bytes <= device.local_memory_bytes
        )


def nest(outermost: Tactic, *inner: Tactic) -> Tactic:
    """A tactic for each of nested maps, outermost first."""
    return then(outermost, inside("f")(nest(*inner))) if inner else outermost


def copy(*levels: Tactic, rest: Tactic = skip) -> Tactic:
    """An array copied by nested maps, each given to whom its tactic says; `rest` is for the elements."""
    return nest(*(then(apply("insert_copy"), level) for level in levels), rest)


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
    """The rows of a table as one array of vectors, for which `t` is."""
    return then(
        apply("split_of_join", "backward"),
        inside("xs")(apply("as_scalar_as_vector", "backward", w=width)),
        inside("xs", "vs")(then(apply("as_vector_join"), t)),
    )


def keep(width: int) -> Tactic:
    """Rows of one vector each are copied to registers."""
    return as_vectors(width, then(copy(UNROLLED), apply("store_private")))


def copy_together(tiles: Tiles) -> Tactic:
    """The rows of a table are copied vector by vector by all work-items of a group."""
    down, across = tiles.work_items
    turns = then(
        apply("join_split", "backward", m=down), inside("xss")(copy(UNROLLED, *WORK_ITEMS))
    )
    vectors = then(apply("join_split", "backward", m=across), inside("xss")(turns))
    return as_vectors(tiles.width, vectors)


def stage_rows(tiles: Tiles) -> Tactic:
    """A table whose rows are contiguous is copied to local memory."""
    return then(copy_together(tiles), apply("store_local"))


def stage_columns(tiles: Tiles) -> Tactic:
    """A table whose columns are contiguous is copied to local memory column by column, but stored by rows.

    Open cells follow each row.
    """
    copied = then(apply("transpose_transpose", "backward"), inside("xss")(copy_together(tiles)))
    if tiles.padding == 0:
        return then(copied, apply("store_local"))
    padded = then(
        apply("pad_empty_removed", "backward", left=0, right=tiles.padding),
        inside("xs")(then(apply("drop_nothing"), apply("transpose_transpose", "backward"))),
        apply("take_transpose"),
    )
    return then(
        copied,
        inside("xss")(padded),
        apply("transpose_transpose"),
        inside("xs")(apply("store_local")),
    )


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
    (115, 'reduce_to_seq', 'map_to_seq_unroll')
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = nested()(at, place)
        found = nest_at(at, place)
        if len(found.around) > 1:
            raise NoMatch(
                "groups compute nests of two maps around a fold, alone or in one more map"
            )
        at = _in_whole_tiles(tiles, found)(at, place)
        for outside in found.around:
            at = apply("map_to_wrg", d=2)(at, (*place, *outside))
        return at

    return tactic


def _in_whole_tiles(tiles: Tiles, found: Nest) -> Tactic:
    """A nest tile by tile, padded where these do not divide it.

    What lies beyond is not written where vectors do, or where nothing can be stored before: conditions on each number take
    longer than a copy.  An H100 multiplies matrices of 4000^2 in 2.85 ms without a copy, and in 3.22 with one; of 4097^2 in
    3.45 and 3.39.
    """
    in_tiles = _in_tiles(tiles, found.lengths[2])
    if found.around or written_beyond(found.lengths[1]):
        return beyond_the_end(found, tiles.rows, tiles.columns, tiles.width, in_tiles)
    return in_whole_blocks(found, tiles.rows, tiles.columns, in_tiles)


def written_beyond(columns: int) -> bool:
    """Whether rows of so many results end with a vector, if one of two."""
    return columns % 2 == 0


def _in_tiles(tiles: Tiles, steps: int) -> Tactic:
    """A nest whose rows and columns tiles divide, tile by tile."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = normal_form()(at, place)
        parts = parts_at(at, place)
        at = inside(*parts.folds)(prologues_stored())(at, place)
        stages = [_staged(tiles, at, (*place, *parts.folds, *operand)) for operand in OPERANDS]
        return _tiled(tiles, parts, steps, stages)(at, place)

    return tactic


def _staged(tiles: Tiles, at: Rewriting, operand: Position) -> Tactic:
    """How a tile of an array of rows gets to local memory: in the order in which it lies."""
    return (stage_rows if lies_across(at.term, operand) else stage_columns)(tiles)


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


# ---- stencils


def stencil_in_groups(windows: int) -> Tactic:
    """A stencil of an image in overlapping tiles, one for each group, which copies what it reads to local memory.

    A tile has `windows` windows in each direction.
    Source: LIFT, CGO'18, overlapped tiling.

    >>> from relift.rewrites.tactics.groups.tiles import stencil_in_groups
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> jacobi = load_program("examples/j2d5pt.py")
    >>> found = derive(jacobi, stencil_in_groups(8), {"n": 64, "m": 64})
    >>> [step.rule for step in found.steps if step.rule.startswith(("stencil", "store"))]
    ['stencil_tiling_2d', 'store_local']
    """

    def tile(at: Rewriting, place: Position) -> Rewriting:
        if not isinstance(term_at(at.term, place), Map):
            raise NoMatch("a tile is no map over its windows")
        around = binders_at(at.term, place)[-1].name
        uses = [
            below
            for below, t in positions(term_at(at.term, (*place, "xs")))
            if isinstance(t, Var) and t.name == around
        ]
        if len(uses) != 1:
            raise NoMatch("the windows of a tile are not those of one array")
        staged = then(copy(*WORK_ITEMS), apply("store_local"))
        return then(nest(*WORK_ITEMS), inside("xs", *uses[0])(staged))(at, place)

    return tiles_in_groups(tile_stencil_2d(windows), tile)


def tiles_in_groups(tiling: Tactic, tile: Tactic) -> Tactic:
    """The outermost map that is tiled, alone or in one more map, with a group for each tile."""

    def tiled(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        for below, _ in list(positions(t)):
            here = (*place, *below)
            with suppress(NoMatch):
                done = tiling(at, here)
                done = inside(*computing(done, here))(nest(*GROUPS, tile))(done, here)
                return _around(t, below)(done, place)
        raise NoMatch("nothing here is tiled for groups")

    return tiled


def _around(t: Term, place: Position) -> Tactic:
    """The map around a place is for groups of the third dimension; raises `NoMatch` where there are several."""
    maps = [place[:i] for i, field in enumerate(place) if field == "f"]
    if len(maps) > 1 or any(not isinstance(term_at(t, each), Map) for each in maps):
        raise NoMatch("tiles for groups stand in one more map at most")
    return then(*(inside(*each)(apply("map_to_wrg", d=2)) for each in maps))


def computing(at: Rewriting, place: Position) -> Position:
    """Where the outermost map below a place is that computes."""
    for below, t in positions(term_at(at.term, place)):
        if isinstance(t, Map) and not is_layout(t.f.body):
            return below
    raise NoMatch("no map computes here")


# ---- which sizes

LEAST_GROUP = 32
"""Work-items of a group: fewer leave lanes of a GPU's warps idle."""
MOST_GROUP = 256
"""Work-items that the compiler gives a group at most."""
REGISTER_FILE = 64 * 1024
"""Registers of 32 bits that the work-items of a group share."""
MOST_REGISTERS = 255
"""Registers that one work-item can have."""
OTHER_REGISTERS = 40
"""Registers of a work-item for what is no part of its blocks, such as indices and what it copies."""
