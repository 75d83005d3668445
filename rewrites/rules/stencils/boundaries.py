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

from relift.rewrites.notation import A, B, Border, e, k, left, m, q, right, size
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import concat, drop, map, pad, slide, take, transpose
from relift.semantics.syntax.signatures import Fun

_SOURCE = (
    "LIFT stencils, CGO'18, pad and slide; Halide, boundary conditions: interior and border loops"
)


Definite = Border.without("empty")


def _regions(padded: Any, xs: Any) -> Any:
    """The windows of a padded array by regions: at the left border, inside, at the right border."""
    windows = slide(size, 1, padded)
    inside = slide(size, 1, take(size + k, drop(e, xs)))
    return concat(
        take(left + e, windows), concat(inside, drop(left + e + k + 1, windows))
    )  # fmt: skip


@rule(choose=(left + e,), source=_SOURCE)
def slide_boundary_regions(boundary: Definite, xs: A[e + size + k + e]):
    """Only windows at the ends of a padded array see its border ({boundary})."""
    padded = pad(left, right, boundary, xs)
    return slide(size, 1, padded), _regions(padded, xs)


@rule(source="RISE concat, transpose")
def transpose_map_concat(f: Fun[A, B[m]], g: Fun[A, B[q]], xs: A[k]):
    """Columns of rows in two parts are the columns of one, then those of the other."""
    return (
        transpose(map(lambda x: concat(f(x), g(x)), xs)),
        concat(transpose(map(f, xs)), transpose(map(g, xs))),
    )
