"""Tactics for work-groups: all pairs of rows of two arrays, each pair reduced, tile by tile.

The programs are

    map (\\x. map (\\y. reduce_seq f z (zip x y)) yss) xss

for any f and z, such as a matrix product.  A work-group has a tile of the result, and each of its work-items
a block of the tile:

    two_level_tiles     the maps over a tile, and inside it those over every work-item's blocks
    lift_reduction      the reduction outside of a tile, its accumulators inside
    by_chunks           the reduction in chunks, so that a chunk of both arrays is a tile of each
    stage               a tile copied to local memory, vector by vector, by all work-items of the group
    keep                vectors copied to the registers of a work-item, once
    give_out            who computes what

`tile_for_groups` puts them together.  Source: LIFT's macro rules, GPGPU'16; the kernels that they lead to
are those of Tan et al., SC'11, and CLBlast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relift.rewrites.tactics import Tactic, apply, attempt, inside, repeat, skip, then, topdown

WORK_ITEMS: tuple[Tactic, ...] = (apply("map_to_lcl", d=1), apply("map_to_lcl", d=0))
GROUPS: tuple[Tactic, ...] = (apply("map_to_wrg", d=1), apply("map_to_wrg", d=0))
UNROLLED: Tactic = apply("map_to_seq_unroll")


@dataclass(frozen=True)
class Tiles:
    """The sizes of a tiling: a group's tile is `rows` by `columns`, and `depth` deep along the reduction.

    Each work-item has `row_blocks` by `column_blocks` blocks of `width` by `width` results.  `padding` open
    cells follow what is stored across, so that work-items that write a column of it use different banks.
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


def nest(first: Tactic, *inner: Tactic) -> Tactic:
    """A tactic for each of nested maps, outermost first."""
    return then(first, inside("f")(nest(*inner))) if inner else first


def copy(*levels: Tactic, rest: Tactic = skip) -> Tactic:
    """An array copied by nested maps, each given to whom its tactic says; `rest` is for the elements."""
    return nest(*(then(apply("insert_copy"), level) for level in levels), rest)


def sequential_reduction() -> Tactic:
    """The reductions become loops, which compute what they reduce."""
    return attempt(topdown(apply("reduce_operator_map_fusion")))


def as_vectors(width: int) -> Tactic:
    """The rows of a table as one array of vectors, which the tactics after this one find at `xs.vs`."""
    return then(
        apply("split_of_join", "backward"),
        inside("xs")(
            then(
                apply("as_scalar_as_vector", "backward", w=width),
                inside("vs")(apply("as_vector_join")),
            )
        ),
    )


def stage(tiles: Tiles) -> Tactic:
    """The rows of a table copied vector by vector by all work-items of a group."""
    down, across = tiles.work_items
    turns = then(
        apply("join_split", "backward", m=across),
        inside("xss")(
            then(
                apply("join_split", "backward", m=down),
                inside("xss")(copy(UNROLLED, *WORK_ITEMS)),
            )
        ),
    )
    return then(as_vectors(tiles.width), inside("xs", "vs")(turns))


def stage_columns(tiles: Tiles) -> Tactic:
    """The same for a table whose columns are contiguous; open cells follow each of its rows."""
    across = then(apply("transpose_transpose", "backward"), inside("xss")(stage(tiles)))
    if tiles.padding == 0:
        return then(across, apply("store_local"))
    return then(
        across,
        inside("xss")(
            then(
                apply("pad_empty_removed", "backward", left=0, right=tiles.padding),
                inside("xs")(
                    then(apply("drop_nothing"), apply("transpose_transpose", "backward"))
                ),
                apply("take_transpose"),
            )
        ),
        apply("transpose_transpose"),
        inside("xs")(apply("store_local")),
    )


def keep(width: int) -> Tactic:
    """Rows of one vector each are copied to registers."""
    return then(
        as_vectors(width),
        inside("xs", "vs")(then(copy(UNROLLED), apply("store_private"))),
    )


def columns_of_blocks() -> Tactic:
    """The columns of an array of blocks are the blocks of each column."""
    return then(
        inside("xss")(
            then(
                apply("map_transpose_fission"),
                inside("xs")(
                    then(
                        apply("map_map_transpose"),
                        inside("xss")(
                            then(
                                apply("split_map", "backward"),
                                inside("xs")(apply("split_map_transpose")),
                                apply("split_transpose"),
                            )
                        ),
                    )
                ),
                apply("transpose_braid"),
            )
        ),
        apply("transpose_transpose"),
        inside("xs")(apply("transpose_transpose")),
        repeat(apply("map_fusion")),
    )


def lift_reduction() -> Tactic:
    """The reductions of a tile, which nests blocks three deep, are one reduction of tables."""
    lift = apply("lift_reduce_seq_2d")
    blocks = inside("f", "f")
    columns = then(attempt(topdown(apply("map_identity"))), columns_of_blocks())
    return then(
        blocks(blocks(lift)),
        blocks(lift),
        lift,
        inside("xs")(
            then(inside("xs")(columns), inside("ys")(columns), apply("zip_map_map")),
        ),
        apply("reduce_map_fusion"),
    )


def by_chunks(depth: int) -> Tactic:
    """A reduction of zipped arrays goes chunk by chunk of both."""
    return then(
        apply("reduce_seq_chunks", m=depth),
        inside("xs")(apply("split_zip")),
        apply("reduce_map_fusion"),
    )


STRIDED = ("xss", "xss", "xs")
"""From pairs in interleaved tiles to the nested maps over them."""
def two_level_tiles(tiles: Tiles) -> Tactic:
    """The pairs of a tile in blocks of `width` by `width`, and those in groups, one for each work-item.

    A work-item's blocks lie apart, so that neighbours read neighbouring vectors.
    """
    down, across = tiles.work_items
    return then(
        apply("tile_map_map", m=tiles.width, n=tiles.width),
        inside("xs", "xss", "xs")(apply("tile_map_map_strided", m=down, n=across)),
    )


def name_registers(width: int) -> Tactic:
    """What all blocks of a work-item read is copied to its registers before; for the maps over the blocks."""
    return then(
        inside("f")(apply("name_zipped")),
        apply("let_out_of_map"),
        inside("f")(then(apply("name_zipped"), inside("x")(keep(width)))),
        inside("x")(keep(width)),
    )


def give_out(tiles: Tiles) -> Tactic:
    """A reduction of tables, chunk by chunk: who computes what, and what is kept where."""
    blocks = nest(*[UNROLLED] * 4)
    start = then(copy(*WORK_ITEMS, *[UNROLLED] * 4), apply("store_private"))
    step = nest(*WORK_ITEMS, then(name_registers(tiles.width), inside("f", "f")(blocks)))
    rows, columns = ("f", "xs", "xs"), ("f", "xs", "ys")
    vectors = then(
        apply("as_scalar_as_vector", "backward", w=tiles.width), inside("vs")(copy(UNROLLED))
    )
    return then(
        inside("init")(start),
        inside("f", "f")(step),
        inside(*rows)(stage_columns(tiles)),
        inside(*columns)(then(stage(tiles), apply("store_local"))),
        inside("f")(apply("reduce_seq_to_unroll")),
        copy(*WORK_ITEMS, *[UNROLLED] * 3, rest=vectors),
    )


def tile_for_groups(tiles: Tiles) -> Tactic:
    """A low-level program in which every work-group computes a tile of the result."""
    return then(
        sequential_reduction(),
        apply("tile_map_map", m=tiles.rows, n=tiles.columns),
        inside("xs", "xss", "xs")(nest(*GROUPS, group(tiles))),
    )


def group(tiles: Tiles) -> Tactic:
    """The work of one group: the pairs of its tile."""
    return then(
        two_level_tiles(tiles),
        inside("xs", "xss", "xs", *STRIDED)(
            then(lift_reduction(), by_chunks(tiles.depth), give_out(tiles))
        ),
    )
