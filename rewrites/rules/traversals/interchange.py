"""Interchange: nested traversals change places.

map (\\x. map (\\y. h x y) ys) xs             =  transpose (map (\\y. map (\\x. h x y) xs) ys)
map (reduce_seq f z)                        =  reduce_seq (zip-with f) (repeat n z) . transpose
reduce_seq (zip-with f) zs                  =  map (\\(z, col). reduce_seq f z col) . zip zs . transpose
reduce_seq (\\ys x. map (\\y. f y x) ys) zs xs  =  map (\\z. reduce_seq f z xs) zs
map (\\x. reduce_seq (\\a y. h x a y) (z x) ys)  =  reduce_seq (\\as y. map (\\(x, a). h x a y) (zip xs as)) (map z xs)
map (\\x. map (\\y. reduce_seq f z (zip x y)) ys) xs  =  reduce_seq (f of every pair) (repeat n (repeat m z)) (zip columns)
map (map f . transpose) . slide s t         =  transpose . map (map f . slide s t) . transpose
"""

from __future__ import annotations

from relift.rewrites.notation import MONOID, A, B, C, D, E, k, m, n, r, size, step
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    join,
    map,
    partial_reduce,
    reduce,
    reduce_seq,
    repeat,
    slide,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import tup


@rule(source="LIFT mapMapInterchange, macro rules mapMapInterchange, interchange")
def map_interchange(h: Fun[A, B, C], xs: A[n], ys: B[m]):
    """Two nested maps over independent arrays may change places."""
    return (
        map(lambda x: map(lambda y: h(x, y), ys), xs),
        transpose(map(lambda y: map(lambda x: h(x, y), xs), ys)),
    )


@rule(source="LIFT mapMapTransposeZipOutside")
def map_interchange_zip_outside(h: Fun[A, B, C], xss: A[n, m], ys: B[n]):
    """Rows that each have a partner in a zip: the columns meet all partners."""
    return (
        map(lambda p: map(lambda x: h(x, p[1]), p[0]), zip(xss, ys)),
        transpose(map(lambda col: map(lambda p: h(p[0], p[1]), zip(col, ys)), transpose(xss))),
    )


@rule(source="LIFT mapMapTransposeZipInside")
def map_interchange_zip_inside(h: Fun[A, B, C], xss: A[n, m], ys: B[m]):
    """Rows that are each zipped with one array: each column meets one element of it."""
    return (
        map(lambda row: map(lambda p: h(p[0], p[1]), zip(row, ys)), xss),
        transpose(map(lambda p: map(lambda x: h(x, p[1]), p[0]), zip(transpose(xss), ys))),
    )


@rule(source="LIFT mapMapTransposeZipInside and mapMapTransposeZipOutside, joint generalisation")
def transpose_map_zip(h: Fun[B, C, A, D], g: Fun[A, B[m]], xs: A[n], ys: C[m]):
    """The columns of rows that are each zipped with one array are computed from its elements and the columns of the rows."""
    return (
        transpose(map(lambda x: map(lambda p: h(p[0], p[1], x), zip(g(x), ys)), xs)),
        map(
            lambda c: map(lambda r: h(r[0], c[1], r[1]), zip(c[0], xs)),
            zip(transpose(map(g, xs)), ys),
        ),
    )  # fmt: skip


@rule(source="LIFT mapMapTransposeZipOutside, in general")
def transpose_map_rows(h: Fun[B, A, C], g: Fun[A, B[m]], xs: A[n]):
    """The columns of computed rows are computed from the columns of what they are computed of."""
    return (
        transpose(map(lambda x: map(lambda y: h(y, x), g(x)), xs)),
        map(lambda c: map(lambda r: h(r[0], r[1]), zip(c, xs)), transpose(map(g, xs))),
    )


@rule(source="LIFT mapReduceInterchange, with its missing guard: f and z avoid the row; "
      "RISE lift-reduce-seq, liftReduce (usual case)")  # fmt: skip
def map_reduce_interchange(f: Fun[B, A, B], z: B, xss: A[n, m]):
    """Reducing every row is reducing all columns at once, accumulator by accumulator."""
    return (
        map(lambda row: reduce_seq(f, z, row), xss),
        reduce_seq(
            lambda accs, col: map(lambda p: f(p[0], p[1]), zip(accs, col)),
            repeat(n, z),
            transpose(xss),
        ),
    )


@rule(source="LIFT macro rule moveReduceOutOneLevel; RISE liftReduce on reduce")
def column_sums(op: Op[A], z: A, xss: A[n, m]):
    """The columns are reduced row by row, adding rows as vectors."""
    return (
        map(reduce(op, z), transpose(xss)),
        reduce_seq(
            lambda accs, row: map(lambda p: op(p[0], p[1]), zip(accs, row)), repeat(m, z), xss
        ),
    )


@rule(source="LIFT docs/rules.rst, new rules, unverified there: reduce . map . zip")
def reduce_map_zip(f: Fun[B, A, B], zs: B[m], xss: A[n, m]):
    """Reducing rows as vectors is reducing each column from an initial value of its own."""
    return (
        reduce_seq(lambda accs, row: map(lambda p: f(p[0], p[1]), zip(accs, row)), zs, xss),
        map(
            lambda p: reduce_seq(f, p[0], p[1]),
            zip(zs, transpose(xss)),
        ),
    )


@rule(source="Bird, theory of lists, map promotion for folds")
def reduce_seq_map(f: Fun[B, A, B], zs: B[m], xs: A[n]):
    """A fold that changes each element on its own is a fold for each element."""
    return (
        reduce_seq(lambda ys, x: map(lambda y: f(y, x), ys), zs, xs),
        map(lambda z: reduce_seq(f, z, xs), zs),
    )


@rule(source="Bird, theory of lists, map promotion for folds, beside what stays as it is")
def reduce_seq_map_beside(f: Fun[B, C, A, B], zs: B[m], cs: C[m], xs: A[n]):
    """A fold that changes each element on its own, with what stands beside it, is a fold for each element."""
    return (
        reduce_seq(lambda ys, x: map(lambda p: f(p[0], p[1], x), zip(ys, cs)), zs, xs),
        map(lambda p: reduce_seq(lambda y, x: f(y, p[1], x), p[0], xs), zip(zs, cs)),
    )


@rule(source="LIFT docs/rules.rst, new rules, unverified there: reduce . map . zip, in general")
def reduce_seq_map_rows(f: Fun[B, C, A, B], g: Fun[A, C[m]], zs: B[m], xs: A[n]):
    """A fold that changes each element on its own, with one of a row of its step, is a fold of each column."""
    return (
        reduce_seq(lambda ys, x: map(lambda p: f(p[0], p[1], x), zip(ys, g(x))), zs, xs),
        map(
            lambda p: reduce_seq(lambda y, q: f(y, q[0], q[1]), p[0], zip(p[1], xs)),
            zip(zs, transpose(map(g, xs))),
        ),
    )


@rule(
    source="LIFT mapReduceInterchangeWithZipOutside; RISE lift-reduce-seq-3, with its missing guard"
)
def map_reduce_interchange_captured(
    h: Fun[A, C, B, C], z: Fun[A, C], xs: A[n], ys: B[m]
):  # fmt: skip
    """Reductions of one array, which each use an element of another from the start."""
    return (
        map(lambda x: reduce_seq(lambda acc, y: h(x, acc, y), z(x), ys), xs),
        reduce_seq(
            lambda accs, y: map(lambda p: h(p[0], p[1], y), zip(xs, accs)),
            map(z, xs),
            ys,
        ),
    )


@rule(source="RISE liftReduce in general; joint generalisation of LIFT's interchange rules")
def map_reduce_interchange_rows(
    h: Fun[A, C, B, C], z: Fun[A, C], g: Fun[A, B[m]], xs: A[n]
):  # fmt: skip
    """Function, start and array of a reduction may all depend on the element of the map."""
    return (
        map(lambda x: reduce_seq(lambda acc, y: h(x, acc, y), z(x), g(x)), xs),
        reduce_seq(
            lambda accs, col: map(
                lambda p: h(p[0], p[1][0], p[1][1]), zip(xs, zip(accs, col))
            ),
            map(z, xs),
            transpose(map(g, xs)),
        ),
    )  # fmt: skip


@rule(source="RISE liftReduce, zipped input, with the pair in the order of the zip")
def map_reduce_zip_interchange(f: Fun[D, A, B, D], z: D, xss: A[n, m], ys: B[m]):
    """Rows zipped with one array, as in a matrix product, are reduced column by column."""
    return (
        map(
            lambda row: reduce_seq(lambda acc, p: f(acc, p[0], p[1]), z, zip(row, ys)), xss
        ),
        reduce_seq(
            lambda accs, p: map(lambda q: f(q[0], q[1], p[1]), zip(accs, p[0])),
            repeat(n, z),
            zip(transpose(xss), ys),
        ),
    )  # fmt: skip


@rule(
    where=MONOID,
    source="RISE liftReduce (second case), lift-reduce-seq-2, with their missing guards",
)
def map_combine_reduce_interchange(op: Op[A], z: A, ys: A[n], xss: A[n, m]):
    """What is combined with the result of a reduction may start it."""
    return (
        map(lambda p: op(p[0], reduce(op, z, p[1])), zip(ys, xss)),
        reduce_seq(
            lambda accs, col: map(lambda p: op(p[0], p[1]), zip(accs, col)), ys, transpose(xss)
        ),
    )


@rule(where=MONOID, source="LIFT mapReducePartialReduce, with its missing guard")
def map_reduce_partial_reduce(op: Op[A], z: A, xsss: A[n, k, m]):
    """Blocks are reduced into the accumulators of all rows, one column of blocks at a time."""
    return (
        map(
            lambda xss: reduce(op, z, join(map(lambda xs: partial_reduce(op, z, m, xs), xss))),
            xsss,
        ),
        reduce_seq(
            lambda accs, blocks: map(lambda p: reduce(op, p[0], p[1]), zip(accs, blocks)),
            repeat(n, z),
            transpose(xsss),
        ),
    )


@rule(source="LIFT docs/rules.rst, new rules, unverified there and ill typed: "
      "window-map exchange, with its missing transpose")  # fmt: skip
def window_map_exchange(f: Fun[A[size], B], xss: A[size + k * step, m]):
    """Windows of rows, read down, are windows of the columns."""
    return (
        map(
            lambda rows: map(f, transpose(rows)), slide(size, step, xss)
        ),
        transpose(
            map(lambda col: map(f, slide(size, step, col)), transpose(xss))
        ),
    )  # fmt: skip


@rule(source="Bird, theory of lists: folds over independent arrays; LIFT interchange of reductions")
def reduce_interchange(h: Fun[A, B, C, C], z: C, xs: A[n], ys: B[m]):
    """A fold inside a fold is one fold over all pairs, row by row."""
    return (
        reduce_seq(
            lambda outer, x: reduce_seq(lambda inner, y: h(x, y, inner), outer, ys), z, xs
        ),
        reduce_seq(
            lambda acc, p: h(p[0], p[1], acc),
            z,
            join(map(lambda x: map(lambda y: (x, y), ys), xs)),
        ),
    )  # fmt: skip


@rule(source="RISE, liftReduceSeq")
def lift_reduce_seq(f: Fun[B, C, B], z: Fun[A, B], h: Fun[A, C[m]], xs: A[n]):
    """Reductions of n rows are one reduction of columns, with an array of n accumulators."""
    return (
        map(lambda x: reduce_seq(f, z(x), h(x)), xs),
        reduce_seq(
            lambda totals, column: map(lambda p: f(p[0], p[1]), zip(totals, column)),
            map(z, xs),
            transpose(map(h, xs)),
        ),
    )


@rule(source="RISE, transposeAroundMapMapF")
def map_interchange_rows(g: Fun[B, C], h: Fun[A, B[m]], xs: A[n]):
    """Nested maps over rows made from each element may change places."""
    return (
        map(lambda x: map(g, h(x)), xs),
        transpose(
            map(
                lambda column: map(g, column),
                transpose(map(h, xs)),
            )
        ),
    )


@rule(source="RISE liftReduceSeq twice; LIFT apply2DRegisterBlocking, GPGPU'16, its reduction")
def lift_reduce_seq_2d(
    f: Fun[E, tup(C, D), E], z: E, g: Fun[A, C[r]], h: Fun[B, D[r]], xs: A[n], ys: B[m]
):
    """The reductions of all pairs of rows are one reduction of columns, with a table of accumulators."""
    return (
        map(lambda x: map(lambda y: reduce_seq(f, z, zip(g(x), h(y))), ys), xs),
        reduce_seq(
            lambda totals, columns: map(
                lambda row: map(lambda p: f(p[0], (row[1], p[1])), zip(row[0], columns[1])),
                zip(totals, columns[0]),
            ),
            repeat(n, repeat(m, z)),
            zip(transpose(map(g, xs)), transpose(map(h, ys))),
        ),
    )
