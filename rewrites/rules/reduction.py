"""Reduction: chunks are reduced on their own, and then their results.

reduce op z              =  reduce op z . map (reduce op z) . split m
reduce op z              =  reduce op z . map (reduce op z) . transpose . split m   (op commutative)
reduce op z . join       =  reduce op z . map (reduce op z)
reduce op z              =  reduce_seq op z
"""

from __future__ import annotations

from relift.rewrites.notation import COMMUTATIVE_MONOID, MONOID, A, k, m, n
from relift.rewrites.rule import rule
from relift.semantics.language import join, map, reduce, reduce_seq, split, transpose
from relift.semantics.signatures import Op


@rule(where=MONOID, source="LIFT, ICFP'15, reduce rules; TensorRight's reduce-split")
def partial_reduce_chunks(op: Op[A], z: A, xs: A[k * m]):
    """Reduce each chunk of m, then the partial results."""
    return (
        reduce(op, z, xs),
        reduce(op, z, map(reduce(op, z), split(m, xs))),
    )


@rule(where=COMMUTATIVE_MONOID, source="LIFT, ICFP'15, reduce rules (with reordering)")
def partial_reduce_strided(op: Op[A], z: A, xs: A[k * m]):
    """Reduce every m-th element, then the m partial results."""
    return (
        reduce(op, z, xs),
        reduce(op, z, map(reduce(op, z), transpose(split(m, xs)))),
    )


@rule(where=MONOID, source="RISE, blocked reduction")
def reduce_join(op: Op[A], z: A, xss: A[k, m]):
    """Reduce joined rows row by row."""
    return reduce(op, z, join(xss)), reduce(op, z, map(reduce(op, z), xss))


@rule(source="LIFT, ICFP'15, OpenCL rules")
def reduce_to_seq(op: Op[A], z: A, xs: A[n]):
    """A reduction is a left fold: no law is needed to do it in order."""
    return reduce(op, z, xs), reduce_seq(lambda acc, x: op(acc, x), z, xs)
