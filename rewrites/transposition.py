"""Transposition: rows and columns change places.

transpose . transpose            =  id
map (map f) . transpose          =  transpose . map (map f)
map (\\x. map (\\y. h x y) ys) xs  =  transpose (map (\\y. map (\\x. h x y) xs) ys)
"""

from __future__ import annotations

from relift.rewrites.notation import A, B, C, k, m, n
from relift.rewrites.rule import rule
from relift.semantics.language import map, transpose
from relift.semantics.signatures import Fun


@rule(source="LIFT source, idTransposeTranspose")
def transpose_transpose(xss: A[k, m]):
    """Transposing twice changes nothing."""
    return transpose(transpose(xss)), xss


@rule(source="RISE, movement rules")
def map_map_transpose(f: Fun[A, B], xss: A[k, m]):
    """An elementwise function does not care about the order of the elements."""
    return (
        map(lambda row: map(lambda x: f(x), row), transpose(xss)),
        transpose(map(lambda row: map(lambda x: f(x), row), xss)),
    )


@rule(source="LIFT source, mapMapInterchange")
def map_interchange(h: Fun[A, B, C], xs: A[n], ys: B[m]):
    """Two nested maps over independent arrays may change places."""
    return (
        map(lambda x: map(lambda y: h(x, y), ys), xs),
        transpose(map(lambda y: map(lambda x: h(x, y), xs), ys)),
    )
