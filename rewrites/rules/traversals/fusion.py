"""Fusion: two traversals become one.

map f . map g                    =  map (f . g)
reduce_seq f z . map g           =  reduce_seq (\\acc x. f acc (g x)) z
reduce op z . map g              =  reduce_seq (\\acc x. op acc (g x)) z
map h . generate n f             =  generate n (h . f)
map f . repeat m                 =  repeat m . f
circular_buffer s f . map g      =  circular_buffer s (f . g)
(reduce_seq f z xs, reduce_seq g y ys)  =  reduce_seq (f and g side by side) (z, y) (zip xs ys)

Read from right to left these are the laws of fission.
"""

from __future__ import annotations

from relift.rewrites.notation import A, B, C, D, k, m, n, size
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    circular_buffer,
    generate,
    map,
    map_seq,
    reduce,
    reduce_seq,
    repeat,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import i32


@rule(source="LIFT, ICFP'15, fusion rules; LIFT mapFusion, mapFission; RISE mapFusion")
def map_fusion(f: Fun[B, C], g: Fun[A, B], xs: A[n]):
    """Two maps in a row are one map of the composed function."""
    return map(lambda y: f(y), map(lambda x: g(x), xs)), map(lambda x: f(g(x)), xs)


@rule(source="LIFT mapFusion, its case for MapSeq, which un-lowers there")
def map_seq_fusion(f: Fun[B, C], g: Fun[A, B], xs: A[n]):
    """Two loops in a row are one loop."""
    return map_seq(f, map_seq(g, xs)), map_seq(lambda x: f(g(x)), xs)


@rule(source="LIFT, ICFP'15, fusion rules; LIFT reduceSeqMapSeqFusion; RISE reduce-seq-map-fusion")
def reduce_map_fusion(f: Fun[B, C, B], g: Fun[A, C], z: B, xs: A[n]):
    """A sequential reduction applies a map as it goes, without an array in between."""
    return (
        reduce_seq(lambda acc, y: f(acc, y), z, map(lambda x: g(x), xs)),
        reduce_seq(lambda acc, x: f(acc, g(x)), z, xs),
    )


@rule(source="LIFT reduceSeqMapSeqFusion and mapFusionInZip together")
def reduce_zip_map_left(f: Fun[D, C, B, D], u: Fun[A, C], z: D, xs: A[n], ys: B[n]):
    """What is done with the first of each pair that is folded is done before the zip."""
    return (
        reduce_seq(lambda acc, p: f(acc, u(p[0]), p[1]), z, zip(xs, ys)),
        reduce_seq(lambda acc, p: f(acc, p[0], p[1]), z, zip(map(u, xs), ys)),
    )


@rule(source="LIFT reduceSeqMapSeqFusion and mapFusionInZip together")
def reduce_zip_map_right(f: Fun[D, A, C, D], u: Fun[B, C], z: D, xs: A[n], ys: B[n]):
    """What is done with the second of each pair that is folded is done before the zip."""
    return (
        reduce_seq(lambda acc, p: f(acc, p[0], u(p[1])), z, zip(xs, ys)),
        reduce_seq(lambda acc, p: f(acc, p[0], p[1]), z, zip(xs, map(u, ys))),
    )


@rule(source="LIFT macro rule reduceMapFusion; RISE reduceMapFusion, reduceMapFission")
def reduce_operator_map_fusion(op: Op[B], g: Fun[A, B], z: B, xs: A[n]):
    """A reduction whose elements are computed as it goes is done in order: no law is needed."""
    return (
        reduce(op, z, map(g, xs)),
        reduce_seq(lambda acc, x: op(acc, g(x)), z, xs),
    )


@rule(source="LIFT reduceFusionInZip, with its missing guard: equal lengths")
def reduce_fusion_in_zip(
    f: Fun[C, A, C], g: Fun[D, B, D], y: C, z: D, xs: A[n], ys: B[n]
):  # fmt: skip
    """Two reductions over arrays of one length are one reduction of pairs."""
    return (
        (
            reduce_seq(f, y, xs),
            reduce_seq(g, z, ys),
        ),
        reduce_seq(lambda acc, p: (f(acc[0], p[0]), g(acc[1], p[1])), (y, z), zip(xs, ys)),
    )


@rule(source="Meijer, Fokkinga and Paterson, FPCA'91, banana split")
def reduce_banana_split(f: Fun[B, A, B], g: Fun[C, A, C], y: B, z: C, xs: A[n]):
    """Two reductions of one array are one reduction to a pair."""
    return (
        (
            reduce_seq(f, y, xs),
            reduce_seq(g, z, xs),
        ),
        reduce_seq(lambda acc, x: (f(acc[0], x), g(acc[1], x)), (y, z), xs),
    )


@rule(source="RISE map fusion, into generate")
def map_generate(g: Fun[A, B], f: Fun[i32, A]):
    """A map over a generated array generates the results."""
    return map(g, generate(n, f)), generate(n, lambda i: g(f(i)))


@rule(source="LIFT ArrayFromUserFunGenerator; RISE generate, on the indices themselves")
def generate_as_map(f: Fun[i32, A]):
    """What is computed from an index is computed of an array of indices."""
    return generate(n, f), map(f, generate(n, lambda i: i))


@rule(source="LIFT ArrayFromValue under a map")
def map_repeat(f: Fun[A, B], x: A):
    """A map over copies of one element copies its result."""
    return map(f, repeat(m, x)), repeat(m, f(x))


@rule(source="RISE circularBufferLoadFusion, ocl.circularBufferLoadFusion")
def circular_buffer_load_fusion(f: Fun[B, C], g: Fun[A, B], xs: A[size + k]):
    """A circular buffer computes what it loads."""
    return (
        circular_buffer(size, f, map(g, xs)),
        circular_buffer(size, lambda x: f(g(x)), xs),
    )
