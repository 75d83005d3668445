"""Tactics for work-groups: all pairs of rows of two arrays, each pair reduced, tile by tile.

The programs are

    map (\\x. map (\\y. reduce_seq f z (zip x y)) yss) xss

for any f and z, such as a matrix product.  A work-group has a tile of the result, and each of its work-items
blocks of the tile:

    in_order            the reductions as loops over zipped rows
    two_level_tiles     the pairs of a tile, and among them those of every work-item
    lift_reduction      the reduction outside of a tile, a table of accumulators inside
    by_chunks           the reduction in chunks, so that a chunk of both arrays is a tile of each
    stage_rows          a tile copied to local memory, vector by vector, by all work-items of the group
    keep                vectors copied to the registers of a work-item, once
    give_out            who computes what

`tile_for_groups` puts them together, and `group_tiles` proposes the sizes that a device has room for.
Source: LIFT's macro rules, GPGPU'16; Tan et al., SC'11, and Nugteren, CLBlast, IWOCL'18, for the kernels.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from relift.device import DeviceDescription
from relift.rewrites.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    fuse,
    inside,
    repeat,
    skip,
    then,
    tile_stencil_2d,
    topdown,
)
from relift.semantics.indices.views import is_layout
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Fold, Map, Reduce, ReduceSeq, Transpose, Zip
from relift.semantics.syntax.binding import Position, binders_at, positions, term_at
from relift.semantics.syntax.terms import Term, Var, free_variables
from relift.semantics.syntax.types import Scalar, dimensions

GROUPS: tuple[Tactic, ...] = (apply("map_to_wrg", d=1), apply("map_to_wrg", d=0))
WORK_ITEMS: tuple[Tactic, ...] = (apply("map_to_lcl", d=1), apply("map_to_lcl", d=0))
UNROLLED: Tactic = apply("map_to_seq_unroll")

TILE = ("xs", "xss", "xs")
"""From pairs in tiles to the maps over the tiles."""
INTERLEAVED = ("xss", "xss", "xs")
"""From pairs in interleaved tiles to the maps over the tiles."""


@dataclass(frozen=True)
class Tiles:
    """The sizes of a tiling: a group's tile is `rows` by `columns`, and `depth` deep along the reduction.

    Each work-item has `row_blocks` by `column_blocks` blocks of `width` by `width` results.  `padding` open
    cells follow each row of a tile that is stored across, so that work-items that write a column of it use
    different banks of local memory.
    """

    rows: int
    columns: int
    depth: int
    row_blocks: int
    column_blocks: int
    width: int = 4
    padding: int = 4

    @property
    def work_items(self) -> tuple[int, int]:
        """How many work-items a group has, down and across its tile."""
        return (
            self.rows // (self.row_blocks * self.width),
            self.columns // (self.column_blocks * self.width),
        )

    @property
    def registers(self) -> int:
        """The numbers that a work-item holds: its results, and a row and a column of its blocks."""
        down, across = self.row_blocks * self.width, self.column_blocks * self.width
        return down * across + down + across

    def fits(self, device: DeviceDescription, scalar_bytes: int) -> bool:
        """Whether every work-item has the same to do, and the device has room for a group.

        >>> from relift.rewrites.tactics.group_tiles import Tiles
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
        cells = self.depth * (self.rows + self.columns + 2 * self.padding)
        return (
            shared
            and LEAST_GROUP <= down * across <= device.max_work_group
            and self.registers + OTHER_REGISTERS <= MOST_REGISTERS
            and down * across * (self.registers + OTHER_REGISTERS) <= REGISTER_FILE
            and cells * scalar_bytes <= device.local_memory_bytes
        )


def nest(outermost: Tactic, *inner: Tactic) -> Tactic:
    """A tactic for each of nested maps, outermost first."""
    return then(outermost, inside("f")(nest(*inner))) if inner else outermost


def copy(*levels: Tactic, rest: Tactic = skip) -> Tactic:
    """An array copied by nested maps, each given to whom its tactic says; `rest` is for the elements."""
    return nest(*(then(apply("insert_copy"), level) for level in levels), rest)


# ---- the reduction


def in_order() -> Tactic:
    """The reductions of pairs are loops that compute what they reduce, each over a zip in the order of the maps."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = attempt(fuse())(at, place)
        rows = term_at(at.term, place)
        if not (
            isinstance(rows, Map)
            and isinstance(columns := rows.f.body, Map)
            and isinstance(sum_ := columns.f.body, ReduceSeq)
            and isinstance(pairs := sum_.xs, Zip)
        ):
            raise NoMatch("groups reduce all pairs of rows of two arrays, zipped; see `in_order`")
        swapped = columns.f.parameters[0].name in free_variables(pairs.xs)
        swap = then(inside("xs")(apply("zip_swap")), apply("reduce_map_fusion"))
        return inside("f", "f")(swap)(at, place) if swapped else at

    return tactic


def two_level_tiles(tiles: Tiles) -> Tactic:
    """The pairs of a tile in blocks of `width` by `width`, and the blocks in tables, one for each work-item.

    A work-item's blocks lie apart, so that neighbours read neighbouring vectors.
    """
    down, across = tiles.work_items
    return then(
        apply("tile_map_map", m=tiles.width, n=tiles.width),
        inside(*TILE)(apply("tile_map_map_strided", m=down, n=across)),
    )


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
    blocks = then(name_registers(tiles.width), inside("f", "f")(nest(*[UNROLLED] * 4)))
    vectors = then(
        apply("as_scalar_as_vector", "backward", w=tiles.width), inside("vs")(copy(UNROLLED))
    )
    chunk = then(
        inside("f")(nest(*WORK_ITEMS, blocks)),
        inside("xs", "xs")(stage_first),
        inside("xs", "ys")(stage_second),
        apply("reduce_seq_to_unroll"),
    )
    return then(
        inside("init")(start),
        inside("f")(chunk),
        copy(*WORK_ITEMS, *[UNROLLED] * 3, rest=vectors),
    )


def tile_for_groups(tiles: Tiles) -> Tactic:
    """Reductions of all pairs of rows, as a low-level program: every work-group computes a tile of the result.

    >>> from relift.rewrites.tactics.group_tiles import Tiles, tile_for_groups
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> small = tile_for_groups(Tiles(16, 16, 4, 2, 2))
    >>> found = derive(load_program("examples/matmul.py"), small, {"n": 32, "m": 16, "k": 8})
    >>> len(found.steps), found.steps[0].rule, found.steps[-1].rule
    (115, 'reduce_to_seq', 'map_to_seq_unroll')
    """

    def stage(rows: Term) -> Tactic:
        """How a tile gets to local memory: rows that are columns of an array are contiguous across."""
        return (stage_rows if isinstance(rows, Transpose) else stage_columns)(tiles)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = in_order()(at, place)
        pairs = term_at(at.term, place)
        assert isinstance(pairs, Map), "cannot happen: in_order checks this"
        inner = pairs.f.body
        assert isinstance(inner, Map), "cannot happen: in_order checks this"
        work = then(
            lift_reduction(),
            by_chunks(tiles.depth),
            give_out(tiles, stage(pairs.xs), stage(inner.xs)),
        )
        group = then(two_level_tiles(tiles), inside(*TILE, *INTERLEAVED)(work))
        tiled = then(
            apply("tile_map_map", m=tiles.rows, n=tiles.columns),
            inside(*TILE)(nest(*GROUPS, group)),
        )
        return tiled(at, place)

    return tactic


# ---- stencils


def stencil_in_groups(windows: int) -> Tactic:
    """A stencil of an image in overlapping tiles, one for each group, which copies what it reads to local memory.

    A tile has `windows` windows in each direction.
    Source: LIFT, CGO'18, overlapped tiling.

    >>> from relift.rewrites.tactics.group_tiles import stencil_in_groups
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> jacobi = load_program("examples/j2d5pt.py")
    >>> found = derive(jacobi, stencil_in_groups(8), {"n": 64, "m": 64})
    >>> [step.rule for step in found.steps if step.rule.startswith(("stencil", "store"))]
    ['stencil_tiling_2d', 'store_local']
    """

    def tiles(at: Rewriting, place: Position) -> Rewriting:
        at = topdown(tile_stencil_2d(windows))(at, place)
        return inside(*_computing(at, place))(nest(*GROUPS, tile))(at, place)

    def tile(at: Rewriting, place: Position) -> Rewriting:
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

    return tiles


def _computing(at: Rewriting, place: Position) -> Position:
    """Where the outermost map below a place is that computes."""
    for below, t in positions(term_at(at.term, place)):
        if isinstance(t, Map) and not is_layout(t.f.body):
            return below
    raise NoMatch("no map computes here")


# ---- which sizes

LEAST_GROUP = 32
"""Work-items of a group: fewer leave lanes of a GPU's warps idle."""
REGISTER_FILE = 64 * 1024
"""Registers of 32 bits that the work-items of a group share."""
MOST_REGISTERS = 255
"""Registers that one work-item can have."""
OTHER_REGISTERS = 40
"""Registers of a work-item for what is no part of its blocks, such as indices and what it copies."""
_SIDES = (128, 64, 32, 16)
_DEPTHS = (32, 16, 8)
_BLOCKS = (2, 1)


def group_tiles(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that tile a program with fixed sizes for the groups of a GPU, those that read least first.

    None for other devices, and for programs that do not reduce all pairs of rows.  A tactic may raise
    `NoMatch`.

    >>> from relift.rewrites.tactics.group_tiles import group_tiles
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import CPU, GPU
    >>> product = load_program("examples/matmul.py").at({"n": 512, "m": 512, "k": 512})
    >>> len(list(group_tiles(product, GPU))), len(list(group_tiles(product, CPU)))
    (120, 0)
    """
    for place, t in positions(program.body):
        if (
            isinstance(t, Map)
            and isinstance(inner := t.f.body, Map)
            and isinstance(sum_ := inner.f.body, Reduce | Fold)
        ):
            for tiles in _tilings(t, inner, sum_, device):
                yield inside(*place)(tile_for_groups(tiles))
            return


def _tilings(
    rows: Map, columns: Map, sum_: Reduce | Fold, device: DeviceDescription
) -> list[Tiles]:
    """The tilings that divide the lengths of two maps and a reduction, and that a device has room for."""
    lengths = [dimensions(t.xs.type)[0][0].constant for t in (rows, columns, sum_)]
    scalars = [dimensions(t.xs.type)[1] for t in (rows, columns)]
    n, m, k = lengths
    if device.kind != "gpu" or n is None or m is None or k is None:
        return []
    scalar_bytes = max((s.bytes for s in scalars if isinstance(s, Scalar)), default=0)
    if not scalar_bytes:
        return []
    sizes = itertools.product(_SIDES, _SIDES, _DEPTHS, _BLOCKS, _BLOCKS)
    found = [Tiles(*each, width=device.vector_width) for each in sizes]
    return sorted(
        (
            tiles
            for tiles in found
            if n % tiles.rows == m % tiles.columns == k % tiles.depth == 0
            and tiles.fits(device, scalar_bytes)
        ),
        key=lambda tiles: 1 / tiles.rows + 1 / tiles.columns,
    )
