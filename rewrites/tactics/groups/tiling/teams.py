"""Tactics for tiles that several teams of a group share: each folds its part of every chunk, and their results are added.

    map (\\x. map (\\y. fold z g (zip x y)) ys) xs
        =  map (\\cs. map (reduce z) (transpose cs)) (transpose parts)
    parts  =  map (\\p. map (\\x. map (\\y. fold z g (zip x y)) (snd p)) (fst p)) (zip (every T-th of xs) (every T-th of ys))

A work-item of each team has the same blocks.  The teams go through the chunks of all together, which the group copies
to local memory as ever; their results meet there in the end, block by block, and each work-item adds its share.  So a
unit of a device has enough work-items also where there are few tiles for it.
Source: CUTLASS, sliced-K; the interchanges are LIFT's, lifting a fold out of a map RISE's.
"""

from __future__ import annotations

from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Tactic,
    apply,
    copy,
    fission,
    inside,
    nest,
    skip,
    then,
)
from relift.rewrites.tactics.folds.partial_results import IN_ORDER
from relift.rewrites.tactics.groups.tiling.sizes import Tiles
from relift.rewrites.tactics.nests.blocks import (
    INTERLEAVED,
    TILE,
    TILES,
    in_each_block,
    table_in_blocks,
)
from relift.rewrites.tactics.nests.normal_form import Parts
from relift.rewrites.tactics.nests.split_folds import PARTS, parts_outside
from relift.rewrites.tactics.vectors.lanes import in_vectors
from relift.semantics.syntax.binding import Position

WORK_ITEMS: tuple[Tactic, ...] = (apply("map_to_lcl", d=1), apply("map_to_lcl", d=0))
"""Those of a team, down and across a tile."""
TEAM: Tactic = apply("map_to_lcl", d=2)

_EVERY = then(inside("xss")(apply("split_zip")), apply("zip_transpose", "backward"))
"""Every so many pairs of two arrays are those of each."""


def members(tiles: Tiles) -> tuple[Tactic, ...]:
    """Who a group is made of: its work-items, those of each team where it has several."""
    return (TEAM, *WORK_ITEMS) if tiles.teams > 1 else WORK_ITEMS


def results_of_teams(tiles: Tiles, parts: Parts, blocks: Tactic, work: Tactic) -> Tactic:
    """A tile of a nest in normal form, whose folds teams share, and what is done with their results.

    `blocks` makes the folds of a team one fold of a table, in its blocks; `work` is for that of all teams.
    """
    parts_folded = then(
        inside("f")(then(IN_ORDER, blocks)),
        fission("f", *TILE, *INTERLEAVED),
        inside("xs")(then(_lifted, work)),
    )
    table = then(
        parts_outside("partial_reduce_strided", tiles.teams, _EVERY),
        inside(*PARTS)(parts_folded),
        inside("f", "f")(apply("reduce_to_seq")),
        fission("f", "xs"),
    )
    return then(inside(*parts.folds)(table), in_each_block(parts), _added(tiles, parts))


def _both(t: Tactic) -> Tactic:
    """Each of two arrays that are zipped."""
    return then(inside("xs")(t), inside("ys")(t))


_STEPS = then(
    inside("xss", "xs", "xss")(fission("f", "xss")),
    apply("transpose_braid", "backward"),
    inside("xs", "xss")(
        then(apply("map_fusion"), inside("f")(apply("transpose_transpose")), apply("map_identity"))
    ),
    apply("split_transpose", "backward"),
)
"""What teams read in each step lies side by side: they go through the steps of a table in turn."""

_lifted = then(
    apply("lift_reduce_seq"),
    inside("init")(apply("map_constant")),
    inside("xs")(
        then(
            inside("xss")(apply("map_before_zip")),
            apply("zip_transpose", "backward"),
            inside("xs")(_both(_STEPS)),
        )
    ),
    apply("reduce_map_fusion"),
)
"""The folds of all teams are one, of a table for each."""


def in_chunks_of_all(by_chunks: Tactic) -> Tactic:
    """The chunks that teams go through are those of all together, in each of which every team has its part."""
    return then(
        by_chunks,
        inside("xs")(then(_both(apply("split_split")), apply("zip_map_map"))),
        apply("reduce_map_fusion"),
    )


# ---- their results


def _added(tiles: Tiles, parts: Parts) -> Tactic:
    """The results of teams meet in local memory, block by block, and are added there; what is done with them is done then."""
    down, across = tiles.work_items
    rows, columns = tiles.width * down, tiles.width * across
    results: Position = ("xs",) if parts.alone else parts.folds
    block = then(inside(*results)(_met(tiles)), _shared_out(tiles))
    return then(
        skip if parts.alone else fission("f", "xs"),
        table_in_blocks(TILES, parts, rows, columns),
        inside(*TILE)(nest(UNROLLED, UNROLLED, block)),
    )


def _met(tiles: Tiles) -> Tactic:
    """A block of results, each of all teams, is copied to local memory, where it lies as a table for each team."""
    cells = then(apply("vectorize_map", w=tiles.width), inside("vs")(UNROLLED))
    table = then(
        apply("insert_copy"),
        inside("f")(apply("insert_copy")),
        apply("tile_map", m=tiles.width, n=tiles.width),
        inside(*TILE)(nest(*WORK_ITEMS, UNROLLED, cells)),
    )
    teams_first = then(
        apply("map_identity", "backward"),
        inside("f")(apply("transpose_transpose", "backward")),
        fission("f", "xss"),
        inside("xs")(apply("transpose_transpose", "backward")),
    )
    stored = then(copy(TEAM, rest=table), apply("store_local"))
    return then(teams_first, inside("xs", "xss")(stored))


def _shared_out(tiles: Tiles) -> Tactic:
    """A block of sums, and what is done with each: every work-item of all teams has as many."""
    down, across = tiles.work_items
    sums = then(in_vectors(tiles.width), inside("vs")(UNROLLED))
    items = then(
        apply("tile_map", m=1, n=tiles.width),
        inside(*TILE)(
            then(
                apply("interleaved_map", m=down, n=across),
                inside(*INTERLEAVED)(nest(*WORK_ITEMS, *[UNROLLED] * 3, sums)),
            )
        ),
    )
    rows = tiles.width * down // tiles.teams
    return then(apply("split_join", m=rows), inside("xss")(nest(TEAM, items)))
