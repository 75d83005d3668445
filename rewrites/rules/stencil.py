"""Stencils: windows over an array, and overlapped tiles of windows.

slide size step          =  join . map (slide size step) . slide (size + k step) ((k+1) step)
map (map f) . slide s t  =  slide s t . map f
"""

from __future__ import annotations

from relift.rewrites.notation import A, B, k, q, size, step
from relift.rewrites.rule import rule
from relift.semantics.language import join, map, slide
from relift.semantics.signatures import Fun


@rule(choose=(k + 1,), source="LIFT stencils, CGO'18, overlapped tiling, with its missing guard")
def slide_tiling(xs: A[size + k * step + q * (k + 1) * step]):
    """The windows of an array are the windows of overlapping tiles, each of k + 1 windows."""
    return (
        slide(size, step, xs),
        join(map(slide(size, step), slide(size + k * step, (k + 1) * step, xs))),
    )


@rule(choose=(k + 1,), source="LIFT stencils, CGO'18, overlapped tiling")
def stencil_tiling(f: Fun[A[size], B], xs: A[size + k * step + q * (k + 1) * step]):
    """A stencil runs tile by tile; neighbouring tiles overlap by size - step elements."""
    return (
        map(f, slide(size, step, xs)),
        join(
            map(
                lambda t: map(f, slide(size, step, t)),
                slide(size + k * step, (k + 1) * step, xs),
            )
        ),
    )


@rule(source="RISE, movement rules")
def map_slide(f: Fun[A, B], xs: A[size + k * step]):
    """Computing inside the windows or before making them is the same."""
    return (
        map(lambda v: map(f, v), slide(size, step, xs)),
        slide(size, step, map(f, xs)),
    )
