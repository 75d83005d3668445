"""Vectorisation: elements become the lanes of vectors.

map f                    =  as_scalar . map (map_vec f) . as_vector w
as_vector w . map f      =  map (map_vec f) . as_vector w
reduce op z              =  reduce op z . as_scalar . singleton . reduce (vectorize w op) (splat w z)
                              . as_vector w                               (op a commutative monoid)
"""

from __future__ import annotations

from relift.rewrites.notation import COMMUTATIVE_MONOID, A, B, k, w
from relift.rewrites.rule import rule
from relift.semantics.language import (
    as_scalar,
    as_vector,
    map,
    map_vec,
    reduce,
    repeat,
    splat,
    vectorize,
)
from relift.semantics.signatures import Fun, Op
from relift.semantics.types import vec


@rule(source="LIFT, ICFP'15, vectorisation rules")
def vectorize_map(f: Fun[A, B], xs: A[k * w]):
    """A map works on w elements at a time."""
    return (
        map(f, xs),
        as_scalar(map(lambda v: map_vec(f, v), as_vector(w, xs))),
    )


@rule(source="RISE, vectorisation rules (before-map)")
def as_vector_map(f: Fun[A, B], xs: A[k * w]):
    """A map moves over the making of vectors, into their lanes."""
    return (
        as_vector(w, map(f, xs)),
        map(lambda v: map_vec(f, v), as_vector(w, xs)),
    )


@rule(source="RISE, vectorisation rules (asScalarAsVectorId)")
def as_vector_as_scalar(vs: vec(A, w)[k]):
    """Taking vectors apart and making them again changes nothing."""
    return as_vector(w, as_scalar(vs)), vs


@rule(
    where=COMMUTATIVE_MONOID, source="LIFT source, partialReduceVectorize, with its missing guard"
)
def vectorize_reduce(op: Op[A], z: A, xs: A[k * w]):
    """Each lane reduces its own elements, then the lanes are reduced."""
    return (
        reduce(op, z, xs),
        reduce(
            op,
            z,
            as_scalar(repeat(1, reduce(vectorize(w, op), splat(w, z), as_vector(w, xs)))),
        ),
    )
