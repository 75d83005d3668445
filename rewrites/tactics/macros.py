"""The macro rules of LIFT: tiles, blocks of registers, borders apart and reductions in order, from rules applied by name.

Source: LIFT, GPGPU'16; of stencils CGO'18; borders are those of Halide.
"""

from __future__ import annotations

from relift.rewrites.rules.stencils.boundaries import slide_boundary_regions
from relift.rewrites.tactics.combinators import (
    Tactic,
    apply,
    attempt,
    first,
    inside,
    normalize,
    then,
    topdown,
)


def tile_2d(rows: int, columns: int) -> Tactic:
    """Two nested maps tile by tile, `rows` by `columns`; LIFT's tileMapMap."""
    return then(
        apply("split_join", m=rows),
        inside("xss", "f")(apply("map_interchange")),
        inside("xss", "f", "xss")(apply("split_join", m=columns)),
        inside("xss", "f", "xss", "xss", "f")(apply("map_interchange")),
    )


def tile_stencil(windows: int) -> Tactic:
    """A stencil in overlapping tiles of this many windows each; LIFT's tileStencils."""
    return apply("stencil_tiling", k=windows - 1)


def tile_stencil_2d(windows: int) -> Tactic:
    """A stencil of an image in overlapping tiles of this many windows in each direction."""
    return apply("stencil_tiling_2d", k=windows - 1)


def tile_stencil_3d(windows: int) -> Tactic:
    """A stencil of three dimensions in overlapping tiles of this many windows in each direction."""
    return apply("stencil_tiling_3d", k=windows - 1)


def split_boundary(extra: int = 0, columns: int | None = None) -> Tactic:
    """A stencil of a padded array in parts: borders, and an inside that needs no border.

    A border has as many windows as reach over the edge, and `extra` more, so that vectors or tiles fit
    inside.  With `columns`, which is the same for the second dimension, the rows inside are split as well.
    Source: Halide's interior and boundary loops; here they follow from rules.

    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.macros import split_boundary
    >>> from relift.rewrites.loading import load_program
    >>> jacobi = load_program("examples/j2d5pt.py")
    >>> found = derive(jacobi, split_boundary(0, 7), {"n": 64, "m": 64})
    >>> [step.choices["e"] for step in found.steps if step.rule == "slide_clamp_regions"]
    [0, 7]
    """
    split = then(
        normalize(apply("map_slide", "backward"), "map_fusion", "zip_map_left", "zip_map_right"),
        topdown(first(*(apply(rule, e=extra) for rule in slide_boundary_regions.rules))),
        attempt(topdown(apply("drop_nothing"))),
        attempt(topdown(apply("take_all"))),
        normalize("map_concat", "transpose_map_concat", "zip_concat_left", "zip_concat_right"),
    )
    if columns is None:
        return split
    return then(split, inside("ys", "xs")(split_boundary(columns)))


def register_block_1d(size: int) -> Tactic:
    """`size` sequential reductions share what they read; LIFT's apply1DRegisterBlocking."""
    return then(apply("split_join", m=size), inside("xss", "f")(apply("lift_reduce_seq")))


def register_block_2d(rows: int, columns: int) -> Tactic:
    """A tile of accumulators, `rows` by `columns`, in one reduction; LIFT's apply2DRegisterBlocking.

    Applies to two nested maps over a sequential reduction.
    """
    tile = inside("xss", "f", "xs", "xss", "f")
    return then(
        apply("split_join", m=rows),
        inside("xss", "f", "f")(apply("split_join", m=columns)),
        inside("xss", "f")(apply("map_join_fission")),
        inside("xss", "f", "xs")(apply("map_interchange")),
        tile(inside("f")(apply("lift_reduce_seq"))),
        tile(apply("lift_reduce_seq")),
    )


def finish_tiling(size: int) -> Tactic:
    """The outermost sequential reduction goes in chunks of `size`; LIFT's finishTiling."""
    return topdown(apply("reduce_seq_chunks", m=size))


def reduce_with_reorder(stride: int) -> Tactic:
    """Every `stride`-th element is reduced on its own; LIFT's partialReduceWithReorder."""
    return apply("partial_reduce_strided", m=stride)
