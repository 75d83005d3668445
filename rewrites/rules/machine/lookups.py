"""Lookups at indices that are data, and arrays of tuples that lie row by row for them.

at_runtime i . map f         =  let f . at_runtime i
gather_indices (map f ids)   =  \\xs. map (\\i. at_runtime (f i) xs) ids
map (\\i. at_runtime i xs) indices  =  take n xs
at_runtime j (at_runtime i xss)    =  at_runtime i (at_runtime j (transpose xss))
xs                           =  map components . as_vector w . join . map row_of          (xs of w, or w - 1, numbers each)
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.notation import A, B, m, n
from relift.rewrites.proof_scripts import LOOKED_UP_IN_TURN
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    as_scalar,
    as_vector,
    at_runtime_unsafe,
    gather_indices,
    generate,
    join,
    let,
    make_array,
    map,
    repeat,
    take,
    transpose,
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


@rule(
    source="SaC, with-loops; Halide: an access at the index of a loop is the array's element",
    proof=LOOKED_UP_IN_TURN,
)
def looked_up_in_turn(xs: A[n + 1 + m]):
    """What is looked up at each index is the array, as far as it is looked up."""
    found = map(lambda i: at_runtime_unsafe(i, xs), generate(n + 1, lambda i: i))
    return found, take(n + 1, xs)


@rule(source="Lift, ICFP'15, transpose, for one element at two computed indices")
def looked_up_across(i: i32, j: i32, xss: A[n, m]):
    """An element of a row is one of a column."""
    return (
        at_runtime_unsafe(j, at_runtime_unsafe(i, xss)),
        at_runtime_unsafe(i, at_runtime_unsafe(j, transpose(xss))),
    )


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
