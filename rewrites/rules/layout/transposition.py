"""Transposition: rows and columns change places.

transpose . transpose                    =  id
map (map f) . transpose                  =  transpose . map (map f)
map transpose . transpose . map transpose  =  transpose . map transpose . transpose
split m . transpose                      =  map transpose . transpose . map (split m)
map (split m) . transpose                =  transpose . map transpose . split m
transpose . map (split m)                =  map transpose . split m . transpose
the same three with slide for split      (read from right to left: with join on the other side)
transpose . join                         =  map join . transpose . map transpose
map join . transpose                     =  transpose . join . map transpose
join . map transpose                     =  transpose . map join . transpose
transpose . map join                     =  join . map transpose . transpose
"""

from __future__ import annotations

from relift.rewrites.notation import A, B, k, m, n, size, step
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    generate,
    join,
    map,
    repeat,
    slide,
    split,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.types import i32


@rule(
    source="LIFT idTransposeTranspose, transposeTransposeId; RISE removeTransposePair, createTransposePair"
)
def transpose_transpose(xss: A[k, m]):
    """Transposing twice changes nothing."""
    return transpose(transpose(xss)), xss


@rule(source="RISE `**f >> T -> T >> **f`; LIFT EnablingRules transposeMapMap")
def map_map_transpose(f: Fun[A, B], xss: A[k, m]):
    """An elementwise function does not care about the order of the elements."""
    return (
        map(lambda row: map(f, row), transpose(xss)),
        transpose(map(lambda row: map(f, row), xss)),
    )


@rule(source="LIFT transposeBothSides, with its missing guard: f avoids the row; "
      "RISE transpose-around-map-map-f")  # fmt: skip
def transpose_both_sides(f: Fun[A, B], xss: A[k, m]):
    """Nested maps work on the transposed array and transpose their result back."""
    return (
        map(lambda row: map(f, row), xss),
        transpose(map(lambda col: map(f, col), transpose(xss))),
    )


@rule(source="LIFT mapTransposeTransposeMapTranspose")
def transpose_braid(xsss: A[k, m, n]):
    """Three axes are reversed by exchanging neighbours, in either of two orders."""
    return (
        map(transpose, transpose(map(transpose, xsss))),
        transpose(map(transpose, transpose(xsss))),
    )


@rule(source="RISE `T >> S -> *S >> T >> *T`; LIFT splitTranspose")
def split_transpose(xss: A[n, k * m]):
    """Splitting after a transpose is splitting each row before it."""
    return (
        split(m, transpose(xss)),
        map(transpose, transpose(map(split(m), xss))),
    )


@rule(source="RISE `T >> *S -> S >> *T >> T`; LIFT mapSplitTranspose")
def transpose_map_split(xss: A[k * m, n]):
    """Splitting each column is splitting the rows into blocks."""
    return (
        map(split(m), transpose(xss)),
        transpose(map(transpose, split(m, xss))),
    )


@rule(source="RISE `*S >> T -> T >> S >> *T`; LIFT transposeMapSplit")
def map_split_transpose(xss: A[n, k * m]):
    """Columns of chunks are the chunks of the columns."""
    return (
        transpose(map(split(m), xss)),
        map(transpose, split(m, transpose(xss))),
    )


@rule(source="LIFT mapTransposeSplit")
def split_map_transpose(xss: A[k * m, n]):
    """Transposing each block of rows is splitting the columns."""
    return (
        map(transpose, split(m, xss)),
        transpose(map(split(m), transpose(xss))),
    )


@rule(source="RISE `T >> S -> *S >> T >> *T` for slide; LIFT slideTransposeReordering")
def transpose_slide(xss: A[n, size + k * step]):
    """Windows of columns are made in each row before the transpose."""
    return (
        slide(size, step, transpose(xss)),
        map(
            transpose, transpose(map(slide(size, step), xss))
        ),
    )  # fmt: skip


@rule(source="RISE `T >> *S -> S >> *T >> T` for slide")
def transpose_map_slide(xss: A[size + k * step, n]):
    """The windows of each column come from windows of rows."""
    return (
        map(slide(size, step), transpose(xss)),
        transpose(map(transpose, slide(size, step, xss))),
    )


@rule(source="RISE `*S >> T -> T >> S >> *T` for slide, map-slide-before-transpose")
def map_slide_transpose(xss: A[n, size + k * step]):
    """Columns of windows are the windows of the columns."""
    return (
        transpose(map(slide(size, step), xss)),
        map(transpose, slide(size, step, transpose(xss))),
    )


@rule(source="RISE `J >> T -> *T >> T >> *J`")
def join_transpose(xsss: A[k, m, n]):
    """A column of joined blocks joins the columns of the blocks."""
    return (
        transpose(join(xsss)),
        map(
            join, transpose(map(transpose, xsss))
        ),
    )  # fmt: skip


@rule(source="RISE `T >> *J -> *T >> J >> T`")
def transpose_map_join(xsss: A[k, m, n]):
    """Joining after a transpose is transposing blocks and joining them."""
    return (
        map(join, transpose(xsss)),
        transpose(join(map(transpose, xsss))),
    )


@rule(source="RISE `*T >> J -> T >> *J >> T`")
def map_transpose_join(xsss: A[k, m, n]):
    """Transposed blocks are joined by joining the rows of a transposed array."""
    return (
        join(map(transpose, xsss)),
        transpose(map(join, transpose(xsss))),
    )


@rule(source="RISE `*J >> T -> T >> *T >> J`; LIFT transposeMapJoinReordering")
def map_join_transpose(xsss: A[k, m, n]):
    """A transpose of joined rows is made of transposed blocks."""
    return (
        transpose(map(join, xsss)),
        join(map(transpose, transpose(xsss))),
    )


@rule(source="RISE transposeBeforeMapZip")
def map_zip_transpose(ys: A[m], xss: B[n, m]):
    """Zipping every row with one array is zipping every column with copies of one element."""
    return (
        transpose(map(lambda xs: zip(ys, xs), xss)),
        map(
            lambda p: zip(p[0], p[1]), zip(map(lambda y: repeat(n, y), ys), transpose(xss))
        ),
    )  # fmt: skip


@rule(source="RISE mapOutsideMakeArray in general; LIFT zip of transposed arrays")
def zip_transpose(xss: A[n, m], yss: B[n, m]):
    """Zipping the columns is transposing zipped rows."""
    return (
        map(lambda p: zip(p[0], p[1]), zip(transpose(xss), transpose(yss))),
        transpose(map(lambda p: zip(p[0], p[1]), zip(xss, yss))),
    )


@rule(source="LIFT ArrayFromValue under a transpose")
def transpose_repeat(xs: A[n]):
    """Columns of copied rows are copied elements."""
    return transpose(repeat(m, xs)), map(lambda x: repeat(m, x), xs)


@rule(source="RISE mapOutsideGenerateSelect in general")
def map_outside_generate(h: Fun[i32, A, B], xs: A[n]):
    """Generated maps over one array are a map that generates."""
    return (
        generate(m, lambda i: map(lambda x: h(i, x), xs)),
        transpose(map(lambda x: generate(m, lambda i: h(i, x)), xs)),
    )
