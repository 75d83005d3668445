"""Strategies of your own: rules applied by name, or rules of your own, and put together.

    from relift.strategies import apply, inside, then

    in_rows = then(apply("split_join", m=64), inside("xss")(apply("map_to_glb")))
    rl.optimize(program, sizes=..., strategies=[in_rows])

What a strategy makes of the program is a candidate among the others, lowered where it is not low-level, and searched
further; one that does not apply is an error that says where it stopped.  A strategy only ever applies rules, so what it
reaches is as right as they are.  `derive` applies one to a program where no search is wanted; `tile_for_groups` is the
schedule of a GPU for two dimensions around a fold, in blocks that `Tiles` names.
"""

from __future__ import annotations

from relift.rewrites.tactics.combinators import (
    apply,
    attempt,
    derive,
    everywhere,
    first,
    fuse,
    inside,
    repeat,
    skip,
    then,
    topdown,
    vectorize_reduction,
)
from relift.rewrites.tactics.groups.tiles import tile_for_groups
from relift.rewrites.tactics.groups.tiling.sizes import Tiles
from relift.rewrites.tactics.macros import (
    finish_tiling,
    reduce_with_reorder,
    register_block_1d,
    register_block_2d,
    split_boundary,
    tile_2d,
    tile_stencil,
    tile_stencil_2d,
    tile_stencil_3d,
)

__all__ = [
    "Tiles", "apply", "attempt", "derive", "everywhere", "finish_tiling", "first", "fuse", "inside", "reduce_with_reorder",
    "register_block_1d", "register_block_2d", "repeat", "skip", "split_boundary", "then", "tile_2d",
    "tile_for_groups", "tile_stencil", "tile_stencil_2d", "tile_stencil_3d", "topdown", "vectorize_reduction",
]  # fmt: skip
