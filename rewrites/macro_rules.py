"""Macro rules: the large rewrites of the literature, each a sequence of rules of the library.

Source: LIFT, GPGPU'16, and its implementation (`MacroRules`, `ReuseRules`, `SlideTiling`).  None of them is
a rule of its own: what they do is done by rules that are checked, step by step.
"""

from __future__ import annotations

from relift.rewrites.tactics import Tactic, at, first, repeat, use

FUSED = repeat(first(use("map_fusion") | use("reduce_to_seq") | use("reduce_map_fusion")))
"""Maps are fused, and reductions are sequential and fused with the maps before them."""


def tile_1d(size: int) -> Tactic:
    """The outermost map goes in chunks of `size`."""
    return first(use("split_join", m=size))


def tile_2d(rows: int, columns: int) -> Tactic:
    """Two nested maps go in tiles of `rows` by `columns` (LIFT, tileMapMap)."""
    return first(
        use("split_join", m=rows)
        >> at("xss.f.f", use("split_join", m=columns))
        >> at("xss.f", use("map_join_fission"))
        >> at("xss.f.xs", use("map_interchange") | use("map_interchange_rows"))
    )


def register_block_1d(size: int) -> Tactic:
    """`size` reductions at a time share what they read (LIFT, apply1DRegisterBlocking)."""
    return first(use("split_join", m=size) >> at("xss.f", use("lift_reduce_seq")))


def register_block_2d(rows: int, columns: int) -> Tactic:
    """A tile of `rows` by `columns` accumulators in one reduction (LIFT, apply2DRegisterBlocking)."""
    tile = "xss.f.xs.xss.f"
    return first(
        use("split_join", m=rows)
        >> at("xss.f.f", use("split_join", m=columns))
        >> at("xss.f", use("map_join_fission"))
        >> at("xss.f.xs", use("map_interchange"))
        >> at(tile + ".f", use("lift_reduce_seq"))
        >> at(tile, use("lift_reduce_seq"))
    )


def finish_tiling(size: int) -> Tactic:
    """The reduction inside goes in chunks of `size`, so that every loop is tiled (LIFT, finishTiling)."""
    return first(use("reduce_seq_chunks", m=size))


def vectorize_reduction(width: int) -> Tactic:
    """A reduction works on vectors, and then on their lanes (LIFT, vectorizeReduce)."""
    return first(use("vectorize_reduce", w=width))


def reduce_with_reorder(stride: int) -> Tactic:
    """Every `stride`-th element is reduced on its own (LIFT, partialReduceWithReorder)."""
    return first(use("partial_reduce_strided", m=stride))


def overlapped_tiling_1d(windows: int) -> Tactic:
    """A stencil goes in overlapping tiles of `windows` windows (LIFT, tileStencils)."""
    return first(use("stencil_tiling", k=windows - 1))


__all__ = [
    "FUSED", "finish_tiling", "overlapped_tiling_1d", "reduce_with_reorder",
    "register_block_1d", "register_block_2d", "tile_1d", "tile_2d", "vectorize_reduction",
]  # fmt: skip
