"""Fusion: two traversals become one.

map f . map g              =  map (f . g)
reduce_seq f z . map g     =  reduce_seq (\\acc x. f acc (g x)) z
zip (map f xs) ys          =  map (\\p. (f p0, p1)) (zip xs ys)
"""

from __future__ import annotations

from relift.rewrites.notation import A, B, C, n
from relift.rewrites.rule import rule
from relift.semantics.language import map, reduce_seq, zip
from relift.semantics.signatures import Fun


@rule(source="LIFT, ICFP'15, fusion rules")
def map_fusion(f: Fun[B, C], g: Fun[A, B], xs: A[n]):
    """Two maps in a row are one map of the composed function."""
    return map(lambda y: f(y), map(lambda x: g(x), xs)), map(lambda x: f(g(x)), xs)


@rule(source="LIFT, ICFP'15, fusion rules")
def reduce_map_fusion(f: Fun[B, C, B], g: Fun[A, C], z: B, xs: A[n]):
    """A sequential reduction applies a map as it goes, without an array in between."""
    return (
        reduce_seq(lambda acc, y: f(acc, y), z, map(lambda x: g(x), xs)),
        reduce_seq(lambda acc, x: f(acc, g(x)), z, xs),
    )


@rule(source="LIFT source, mapFusionInZip")
def zip_map_left(f: Fun[A, C], xs: A[n], ys: B[n]):
    """A map on the left of a zip happens after it."""
    return zip(map(lambda x: f(x), xs), ys), map(lambda p: (f(p[0]), p[1]), zip(xs, ys))


@rule(source="LIFT source, mapFusionInZip")
def zip_map_right(f: Fun[B, C], xs: A[n], ys: B[n]):
    """A map on the right of a zip happens after it."""
    return zip(xs, map(lambda y: f(y), ys)), map(lambda p: (p[0], f(p[1])), zip(xs, ys))
