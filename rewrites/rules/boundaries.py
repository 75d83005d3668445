"""Boundary regions: a padded stencil is one without padding inside, and one with it at the borders.

slide s 1 (pad l r b xs)    =  concat L (concat (slide s 1 inside) R)               (b: any boundary)
  where inside              =  take (s + k) (drop e xs)                     e elements more at each border
        L                   =  take (l + e) (slide s 1 (pad l r b xs))
        R                   =  drop (l + e + k + 1) (slide s 1 (pad l r b xs))
transpose (map (\\x. concat (f x) (g x)) xs)  =  concat (transpose (map f xs)) (transpose (map g xs))

With `map_concat` a stencil follows its windows: inside, no index is clamped, mirrored or wrapped.  Borders
may be wider than they must, so that what is inside is made of whole vectors or tiles.  In two dimensions
the rows are split first, and the columns of the rows inside after them; the tactic `split_boundary` does so.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.notation import A, B, e, k, left, m, q, right, size
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    clamp,
    concat,
    drop,
    map,
    mirror,
    pad,
    slide,
    take,
    transpose,
    wrap,
)
from relift.semantics.syntax.signatures import Fun

_SOURCE = (
    "LIFT stencils, CGO'18, pad and slide; Halide, boundary conditions: interior and border loops"
)


def _regions(padded: Any, xs: Any) -> Any:
    """The windows of a padded array by regions: at the left border, inside, at the right border."""
    windows = slide(size, 1, padded)
    inside = slide(size, 1, take(size + k, drop(e, xs)))
    return concat(
        take(left + e, windows), concat(inside, drop(left + e + k + 1, windows))
    )  # fmt: skip


@rule(choose=(left + e,), source=_SOURCE)
def slide_clamp_regions(xs: A[e + size + k + e]):
    """Only windows at the borders of a clamped array need clamping."""
    padded = pad(left, right, clamp, xs)
    return slide(size, 1, padded), _regions(padded, xs)


@rule(choose=(left + e,), source=_SOURCE)
def slide_mirror_regions(xs: A[e + size + k + e]):
    """Only windows at the borders of a mirrored array need mirroring."""
    padded = pad(left, right, mirror, xs)
    return slide(size, 1, padded), _regions(padded, xs)


@rule(choose=(left + e,), source=_SOURCE)
def slide_wrap_regions(xs: A[e + size + k + e]):
    """Only windows at the borders of a wrapped array need wrapping."""
    padded = pad(left, right, wrap, xs)
    return slide(size, 1, padded), _regions(padded, xs)


@rule(choose=(left + e,), source=_SOURCE)
def slide_constant_regions(c: A, xs: A[e + size + k + e]):
    """Only windows at the borders hold the constant that surrounds the array."""
    padded = pad(left, right, c, xs)
    return slide(size, 1, padded), _regions(padded, xs)


@rule(source="RISE concat, transpose")
def transpose_map_concat(f: Fun[A, B[m]], g: Fun[A, B[q]], xs: A[k]):
    """Columns of rows in two parts are the columns of one, then those of the other."""
    return (
        transpose(map(lambda x: concat(f(x), g(x)), xs)),
        concat(transpose(map(f, xs)), transpose(map(g, xs))),
    )
