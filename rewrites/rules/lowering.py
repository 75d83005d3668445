"""Lowering: who computes a map, and where a result is stored.

As equations these rules are trivial, for an OpenCL pattern means what its algorithmic counterpart means.
They are directed because which one applies depends on the place in the program: the extractor chooses
among them by context, and the compiler refuses a term that nests them in a way OpenCL does not have.
"""

from __future__ import annotations

from relift.rewrites.notation import A, B, d, n
from relift.rewrites.rule import rule
from relift.semantics.language import (
    map,
    map_glb,
    map_lcl,
    map_seq,
    map_seq_unroll,
    map_wrg,
    reduce_seq,
    reduce_seq_unroll,
    to_global,
    to_local,
    to_private,
)
from relift.semantics.signatures import Fun

_SOURCE = "LIFT, ICFP'15, OpenCL rules"


@rule(lowering=True, source=_SOURCE)
def map_to_seq(f: Fun[A, B], xs: A[n]):
    """One work-item computes the elements in a loop."""
    return map(f, xs), map_seq(f, xs)


@rule(lowering=True, source="LIFT source, MapSeqUnroll")
def map_to_seq_unroll(f: Fun[A, B], xs: A[n]):
    """One work-item computes the elements one after the other, written out."""
    return map(lambda x: f(x), xs), map_seq_unroll(lambda x: f(x), xs)


@rule(lowering=True, source="RISE, reduceSeqUnroll")
def reduce_seq_to_unroll(f: Fun[B, A, B], z: B, xs: A[n]):
    """The steps of a sequential reduction are written out."""
    return (
        reduce_seq(lambda acc, x: f(acc, x), z, xs),
        reduce_seq_unroll(lambda acc, x: f(acc, x), z, xs),
    )


@rule(lowering=True, choose=(d,), source=_SOURCE)
def map_to_glb(f: Fun[A, B], xs: A[n]):
    """Each work-item of dimension d computes one element."""
    return map(f, xs), map_glb(d)(f, xs)


@rule(lowering=True, choose=(d,), source=_SOURCE)
def map_to_wrg(f: Fun[A, B], xs: A[n]):
    """Each work-group of dimension d computes one element."""
    return map(f, xs), map_wrg(d)(f, xs)


@rule(lowering=True, choose=(d,), source=_SOURCE)
def map_to_lcl(f: Fun[A, B], xs: A[n]):
    """Each work-item of a work-group, in dimension d, computes one element."""
    return map(f, xs), map_lcl(d)(f, xs)


@rule(lowering=True, source=_SOURCE)
def store_global(xs: A):
    """A result is written to global memory."""
    return xs, to_global(xs)


@rule(lowering=True, source=_SOURCE)
def store_local(xs: A):
    """A result is written to the local memory of the work-group."""
    return xs, to_local(xs)


@rule(lowering=True, source=_SOURCE)
def store_private(xs: A):
    """A result is written to the private memory of the work-item."""
    return xs, to_private(xs)


@rule(lowering=True, source="LIFT source, copy rules")
def insert_copy(xs: A[n]):
    """An array that is only rearranged is copied element by element."""
    return xs, map(lambda x: x, xs)
