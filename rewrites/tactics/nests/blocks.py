"""Tactics that cut a nest in normal form into blocks, whatever is done with the results of its folds.

    in_blocks           the folds and the epilogue, block by block; what stands for the nest is a nest of blocks
    table_in_blocks     the same of maps over any table
    in_each_block       the folds of each block, and then what is done with their results, in one function
    after_folds         the epilogue given to whom its tactics say

See `nests` for the normal form.  Source: Halide, PLDI'13, compute_at; the rules are those of `tiling`.
"""

from __future__ import annotations

from dataclasses import dataclass

from relift.rewrites.tactics.combinators import Tactic, apply, attempt, inside, skip, then
from relift.rewrites.tactics.nests.normal_form import Parts
from relift.semantics.syntax.binding import Position

TILE: Position = ("xs", "xss", "xs")
"""From pairs in tiles to the maps over the tiles."""
INTERLEAVED: Position = ("xss", "xss", "xs")
"""From pairs in interleaved tiles to the maps over the tiles."""


@dataclass(frozen=True)
class Level:
    """Rules that cut a table of pairs into blocks, and what is done with the table along with it.

    `pairs` cuts maps over all pairs, `table` a map over the elements of a table; `zipped` takes two tables that are
    read together apart, and `cut` cancels what puts the blocks together.  `blocks` leads from a table that was cut to
    the map over its blocks, `uncut` from the blocks of a table to the table.
    """

    pairs: str
    table: str
    zipped: str
    cut: str
    blocks: Position
    uncut: Position


TILES = Level("tile_map_map", "tile_map", "tile_zip", "tile_untile", TILE, ("xs", "xs", "xs"))
INTERLEAVED_TILES = Level(
    "tile_map_map_strided",
    "interleaved_map",
    "interleaved_zip",
    "interleaved_together",
    INTERLEAVED,
    ("xs", "xss", "xs"),
)


def in_blocks(level: Level, parts: Parts, rows: int, columns: int) -> Tactic:
    """A nest in normal form by blocks of `rows` by `columns`: a nest of blocks, in normal form again."""

    def cut(rule: str) -> Tactic:
        return apply(rule, m=rows, n=columns)

    if not parts.epilogue:
        return cut(level.pairs)
    folds = then(inside(*level.uncut)(cut(level.pairs)), apply(level.cut))
    return table_in_blocks(level, parts, rows, columns, folds)


def table_in_blocks(
    level: Level, parts: Parts, rows: int, columns: int, results: Tactic = skip
) -> Tactic:
    """Maps over a table of `results`, and over what they need of each cell beside, block by block."""
    cut = apply(level.table, m=rows, n=columns)
    if parts.alone:
        return then(cut, inside(*level.blocks, "xs")(results))
    blocks = then(
        inside("xs")(then(apply(level.zipped), inside(*parts.folds)(results))),
        apply("map_fusion"),
        inside("f")(apply("map_fusion")),
    )
    return then(cut, inside(*level.blocks)(blocks))


def in_each_block(parts: Parts) -> Tactic:
    """What is done with the folds of a block is done in it, after them."""
    if not parts.epilogue:
        return skip
    row = apply("map_fusion")
    if parts.alone:
        return then(row, inside("f")(row))
    row = then(inside("xs")(apply("zip_map_left")), row)
    return then(apply("map_fusion"), row, inside("f")(row))


def after_folds(*levels: Tactic) -> Tactic:
    """Each of the nested maps of an epilogue is given to whom its tactic says; the folds of all stand before."""
    outermost, *inner = levels
    here = then(attempt(apply("map_fusion")), outermost)
    return then(here, inside("f")(after_folds(*inner))) if inner else here
