"""Tiling: loops split in place and loops that change places, the moves of a blocked program.

reduce_seq f z                      =  reduce_seq (\\a c. reduce_seq f a c) z . split m
map (\\x. reduce_seq f (z x) (h x))  =  reduce_seq (\\as row. map f (zip as row)) (map z xs) . transpose (map h xs)
map (\\x. map g (h x))               =  transpose . map (map g) . transpose . map h
map (\\x. join (h x))                =  map join . map h          and the same for transpose

All of them hold bit for bit: none regroups an operator.
"""

from __future__ import annotations

from relift.rewrites.notation import A, B, C, k, m, n
from relift.rewrites.rule import rule
from relift.semantics.language import join, map, reduce_seq, split, transpose, zip
from relift.semantics.signatures import Fun


@rule(source="RISE, blockedReduce")
def reduce_seq_chunks(f: Fun[B, A, B], z: B, xs: A[k * m]):
    """A sequential reduction goes chunk by chunk and carries its accumulator on."""
    return (
        reduce_seq(lambda acc, x: f(acc, x), z, xs),
        reduce_seq(
            lambda total, c: reduce_seq(lambda acc, x: f(acc, x), total, c), z, split(m, xs)
        ),
    )


@rule(source="RISE, liftReduceSeq")
def lift_reduce_seq(f: Fun[B, C, B], z: Fun[A, B], h: Fun[A, C[m]], xs: A[n]):
    """Reductions of n rows are one reduction of columns, with an array of n accumulators."""
    return (
        map(lambda x: reduce_seq(lambda acc, y: f(acc, y), z(x), h(x)), xs),
        reduce_seq(
            lambda totals, column: map(lambda p: f(p[0], p[1]), zip(totals, column)),
            map(lambda x: z(x), xs),
            transpose(map(lambda x: h(x), xs)),
        ),
    )


@rule(source="RISE, transposeAroundMapMapF")
def map_interchange_rows(g: Fun[B, C], h: Fun[A, B[m]], xs: A[n]):
    """Nested maps over rows made from each element may change places."""
    return (
        map(lambda x: map(lambda y: g(y), h(x)), xs),
        transpose(
            map(
                lambda column: map(lambda y: g(y), column),
                transpose(map(lambda x: h(x), xs)),
            )
        ),
    )


@rule(source="RISE, mapFission for layouts")
def map_join_fission(h: Fun[A, B[k, m]], xs: A[n]):
    """Joining rows may wait until all of them are there."""
    return (
        map(lambda x: join(h(x)), xs),
        map(lambda yss: join(yss), map(lambda x: h(x), xs)),
    )


@rule(source="RISE, mapFission for layouts")
def map_transpose_fission(h: Fun[A, B[k, m]], xs: A[n]):
    """Transposing may wait until all arrays are there."""
    return (
        map(lambda x: transpose(h(x)), xs),
        map(lambda yss: transpose(yss), map(lambda x: h(x), xs)),
    )


@rule(source="RISE, movement rules")
def split_transpose(xss: A[n, k * m]):
    """Chunks of columns are columns of chunks."""
    return (
        split(m, transpose(xss)),
        map(lambda chunk: transpose(chunk), transpose(map(lambda row: split(m, row), xss))),
    )
