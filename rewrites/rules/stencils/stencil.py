"""Stencils: windows over an array, and overlapped tiles of windows.

slide size step          =  join . map (slide size step) . slide (size + k step) ((k+1) step)
map (map f) . slide s t  =  slide s t . map f
split (k+1) . slide s t  =  map (slide s t) . slide (s + k t) ((k+1) t)
slide (k+1) d . slide s t  =  map (slide s t) . slide (s + k t) (d t)

Tiles of two and of three dimensions are in `tiling`, separable stencils in `separable`.
"""

from __future__ import annotations

from relift.rewrites.notation import A, B, d, k, m, q, size, step
from relift.rewrites.rule import rule
from relift.semantics.language.multidimensional import slide_nd
from relift.semantics.language.vocabulary import join, map, slide, split, take, transpose
from relift.semantics.syntax.signatures import Fun


@rule(
    choose=(k + 1,),
    source="LIFT stencils, CGO'18, overlapped tiling; LIFT slideTiling, RISE slideOverlap, "
    "with their missing guard: the step divides the tile's growth",
)
def slide_tiling(xs: A[size + k * step + q * (k + 1) * step]):
    """The windows of an array are the windows of overlapping tiles, each of k + 1 windows."""
    return (
        slide(size, step, xs),
        join(map(lambda t: slide(size, step, t), slide(size + k * step, (k + 1) * step, xs))),
    )


@rule(
    choose=(k + 1,),
    source="LIFT stencils, CGO'18, overlapped tiling; LIFT tileStencils, with its missing guard",
)
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


@rule(source="RISE `*f >> S -> S >> **f`, `S >> **f -> *f >> S`; LIFT slidePromotion, slideSwap")
def map_slide(f: Fun[A, B], xs: A[size + k * step]):
    """Computing inside the windows or before making them is the same."""
    return (
        map(lambda v: map(f, v), slide(size, step, xs)),
        slide(size, step, map(f, xs)),
    )


@rule(source="RISE slideBeforeSplit, with the formula that holds at every step")
def slide_before_split(xs: A[size + k * step + q * (k + 1) * step]):
    """Chunks of windows are the windows of overlapping tiles."""
    return (
        split(k + 1, slide(size, step, xs)),
        map(slide(size, step), slide(size + k * step, (k + 1) * step, xs)),
    )


@rule(source="RISE slideBeforeSlide, at every step of both")
def slide_before_slide(xs: A[size + k * step + q * d * step]):
    """Windows of windows are the windows of wider windows."""
    return (
        slide(k + 1, d, slide(size, step, xs)),
        map(slide(size, step), slide(size + k * step, d * step, xs)),
    )


@rule(source="LIFT slide over rows that are joined; RISE slide and join")
def slide_join(xss: A[size + k * step, m]):
    """Windows of whole rows are joined windows of rows."""
    return slide(size * m, step * m, join(xss)), map(join, slide(size, step, xss))


@rule(source="RISE slideAfter2, for wider windows")
def first_of_slide(xs: A[size + 1 + k]):
    """The firsts of the windows are the first elements."""
    return map(lambda v: v[0], slide(size + 1, 1, xs)), take(k + 1, xs)


@rule(source="LIFT stencils, CGO'18, slide2: the order of the two dimensions")
def slide_rows_and_columns(xss: A[size + k * step, size + q * step]):
    """Windows of two dimensions are made by rows or by columns first."""
    return (
        slide_nd((size, size), (step, step), xss),
        map(
            lambda rows: map(transpose, slide(size, step, rows)),
            map(transpose, slide(size, step, xss)),
        ),
    )  # fmt: skip
