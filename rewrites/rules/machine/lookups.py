"""Lookups at indices that are data, and arrays of tuples that lie row by row for them.

at_runtime i . map f         =  let f . at_runtime i
gather_indices (map f ids)   =  \\xs. map (\\i. at_runtime (f i) xs) ids
xs                           =  map components . as_vector w . join . map row_of          (xs of w, or w - 1, numbers each)
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.notation import A, B, m, n
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    as_scalar,
    as_vector,
    at_runtime_unsafe,
    gather_indices,
    join,
    let,
    make_array,
    map,
    repeat,
)
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.types import i32, tup


def _lane(v: Any, i: int) -> Any:
    return as_scalar(repeat(1, v))[i]


@rule(source="LIFT, ICFP'15, map fusion, for one element at a computed index")
def at_runtime_of_map(f: Fun[A, B], i: i32, xs: A[n]):
    """Of what is computed of all elements, the one that is looked up is computed alone."""
    return at_runtime_unsafe(i, map(f, xs)), let(f, at_runtime_unsafe(i, xs))


@rule(source="LIFT, ICFP'15, map fusion, for indices that are computed")
def gather_indices_of_map(f: Fun[A, i32], ids: A[m], xs: B[n]):
    """Each index is computed where it is looked up."""
    return gather_indices(map(f, ids), xs), map(lambda i: at_runtime_unsafe(f(i), xs), ids)


@rule(source="SHOC MD: positions are one vector each")
def pairs_as_vectors(xs: tup(A, A)[n]):
    """Pairs are vectors of two."""
    rows = map(lambda p: make_array(p[0], p[1]), xs)
    return xs, map(lambda v: (_lane(v, 0), _lane(v, 1)), as_vector(2, join(rows)))


@rule(source="SHOC MD: positions are one vector each")
def triples_as_vectors(xs: tup(A, A, A)[n]):
    """Triples are vectors of four, of which nobody reads the last lane."""
    rows = map(lambda p: make_array(p[0], p[1], p[2], p[2]), xs)
    return xs, map(lambda v: (_lane(v, 0), _lane(v, 1), _lane(v, 2)), as_vector(4, join(rows)))


@rule(source="SHOC MD: positions are one vector each")
def quadruples_as_vectors(xs: tup(A, A, A, A)[n]):
    """Quadruples are vectors of four."""
    rows = map(lambda p: make_array(p[0], p[1], p[2], p[3]), xs)
    return xs, map(
        lambda v: (_lane(v, 0), _lane(v, 1), _lane(v, 2), _lane(v, 3)), as_vector(4, join(rows))
    )
