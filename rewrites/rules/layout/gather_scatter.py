"""Gathering and scattering: elements in another order.

gather p . map f          =  map f . gather p                       so for scatter, p bijective
gather q . gather p       =  gather (p . q)
gather p . scatter p      =  id  =  scatter p . gather p            p bijective
gather p                  =  scatter q                              q the inverse of p
reduce op z . gather p    =  reduce op z                            p bijective, op commutative
gather (stride s)         =  join . transpose . split s
transpose                 =  split n . gather (transposition) . join
"""

from __future__ import annotations

from relift.rewrites.conditions import bijective, inverse
from relift.rewrites.notation import COMMUTATIVE_SEMIGROUP, A, B, k, m, n, r, t
from relift.rewrites.proof_scripts import (
    MAP_REORDERED_WITH_STRIDE,
    MAP_REORDERED_WITH_STRIDE_DEFINED,
)
from relift.rewrites.rule import rule
from relift.semantics.indices.functions import reorder_stride, reverse, shift
from relift.semantics.language.vocabulary import (
    concat,
    drop,
    gather,
    join,
    map,
    reduce,
    repeat,
    scatter,
    split,
    take,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Index, Op


@rule(source="LIFT gather under a map; RISE reorder, movement")
def gather_map(p: Index[n], f: Fun[A, B], xs: A[n]):
    """A map does not care about the order of the elements."""
    return gather(p, map(f, xs)), map(f, gather(p, xs))


@rule(where=[bijective("p")], source="LIFT scatter under a map; RISE reorder, movement")
def scatter_map(p: Index[n], f: Fun[A, B], xs: A[n]):
    """A map does not care where its results are written."""
    return scatter(p, map(f, xs)), map(f, scatter(p, xs))


@rule(source="LIFT reordering functions composed; RISE reorder of reorder")
def gather_fusion(p: Index[n], q: Index[n], xs: A[n]):
    """Two reorderings are one by the composed index function."""
    return gather(q, gather(p, xs)), gather(lambda i: p(q(i)), xs)


@rule(
    where=[bijective("p"), bijective("q")],
    source="LIFT reordering functions composed, on the writing side",
)
def scatter_fusion(p: Index[n], q: Index[n], xs: A[n]):
    """Two scatters are one by the composed index function, the last applied last."""
    return scatter(q, scatter(p, xs)), scatter(lambda i: q(p(i)), xs)


@rule(source="LIFT index functions; RISE reorder by the identity")
def gather_identity(xs: A[n]):
    """Every element from its own place."""
    return gather(lambda i: i, xs), xs


@rule(where=[bijective("p")], source="LIFT scatterGatherId, gatherScatterId, read side")
def gather_scatter(p: Index[n], xs: A[n]):
    """Gathering what was scattered gives the array back."""
    return gather(p, scatter(p, xs)), xs


@rule(where=[bijective("p")], source="LIFT scatterGatherId, gatherScatterId, write side")
def scatter_gather(p: Index[n], xs: A[n]):
    """Scattering what was gathered gives the array back."""
    return scatter(p, gather(p, xs)), xs


@rule(where=[inverse("p", "q")], source="RISE reorder, whose inverse is given and trusted")
def gather_undone(p: Index[n], q: Index[n], xs: A[n]):
    """Gathering by the inverse gives the array back."""
    return gather(q, gather(p, xs)), xs


@rule(
    where=[inverse("p", "q")],
    source="LIFT gatherToScatter, scatterToGather, with their missing guard: the inverse",
)
def gather_to_scatter(p: Index[n], q: Index[n], f: Fun[A, B], xs: A[n]):
    """What is read by an index function is written by its inverse."""
    return map(f, gather(p, xs)), scatter(q, map(f, xs))


@rule(where=[inverse("p", "p")], source="LIFT gatherToScatter, where it is right")
def gather_to_scatter_involution(p: Index[n], xs: A[n]):
    """An index function that undoes itself reads and writes alike."""
    return gather(p, xs), scatter(p, xs)


@rule(
    where=[bijective("p")],
    source="LIFT reorderBothSidesWithStride, for every permutation",
)
def map_reordered(p: Index[n], f: Fun[A, B], xs: A[n]):
    """A map may read in another order and write back in that order."""
    return map(f, xs), scatter(p, map(f, gather(p, xs)))


@rule(
    source="LIFT reorderBothSidesWithStride; apply2DRegisterBlocking",
    proof=MAP_REORDERED_WITH_STRIDE,
    defined=MAP_REORDERED_WITH_STRIDE_DEFINED,
)
def map_reordered_with_stride(f: Fun[A, B], xs: A[m * (k + 1)]):
    """A map may go through its array in strides."""
    s = reorder_stride(m)
    return map(f, xs), scatter(s, map(f, gather(s, xs)))


@rule(source="LIFT reorderBothSidesWithStride, for the order backwards")
def map_reversed(f: Fun[A, B], xs: A[n]):
    """A map may begin with the last element."""
    return map(f, xs), scatter(reverse, map(f, gather(reverse, xs)))


@rule(source="LIFT reorderTranspose, transposeMapTransposeReorder, read side")
def gather_transpose(p: Index[n], xss: A[m, n]):
    """Reordering columns reorders each row before the transpose."""
    return gather(p, transpose(xss)), transpose(map(gather(p), xss))


@rule(where=[bijective("p")], source="LIFT reorderTranspose")
def scatter_transpose(p: Index[n], xss: A[n, m]):
    """Transposing scattered rows scatters within each row."""
    return transpose(scatter(p, xss)), map(scatter(p), transpose(xss))


@rule(source="LIFT transposeMapTransposeReorder")
def transpose_map_transpose_gather(p: Index[k], xsss: A[n, m, k]):
    """A reordering after two transposes happens inside, before them."""
    return (
        map(lambda xss: gather(p, transpose(xss)), transpose(xsss)),
        map(transpose, transpose(map(lambda xss: map(gather(p), xss), xsss))),
    )


@rule(source="RISE reorder, movement: zip")
def gather_zip(p: Index[n], xs: A[n], ys: B[n]):
    """Reordered pairs are pairs of reordered elements."""
    return gather(p, zip(xs, ys)), zip(gather(p, xs), gather(p, ys))


@rule(where=[bijective("p")], source="RISE reorder, movement: zip; LIFT write views")
def scatter_zip(p: Index[n], xs: A[n], ys: B[n]):
    """Scattered pairs are pairs of scattered elements."""
    return scatter(p, zip(xs, ys)), zip(scatter(p, xs), scatter(p, ys))


@rule(source="LIFT ArrayFromValue under a gather")
def gather_repeat(p: Index[n], x: A):
    """Copies have no order."""
    return gather(p, repeat(n, x)), repeat(n, x)


@rule(source="LIFT split under a gather of chunks")
def gather_join(p: Index[n], xss: A[n, m]):
    """Reordering rows reorders blocks of what they join to."""
    return (
        join(gather(p, xss)),
        gather(lambda i: p(i // m) * m + i % m, join(xss)),
    )


@rule(
    where=[*COMMUTATIVE_SEMIGROUP, bijective("p")],
    source="LIFT partialReduceReorder, with its missing guards",
)
def reduce_gather(op: Op[A], z: A, p: Index[n], xs: A[n]):
    """A commutative reduction does not care about the order of the elements."""
    return reduce(op, z, gather(p, xs)), reduce(op, z, xs)


# ---- index functions of Lift


@rule(source="LIFT reverse; TensorRight, reverse rule 2")
def reverse_reverse(xs: A[n]):
    """Reversing twice changes nothing."""
    return gather(reverse, gather(reverse, xs)), xs


@rule(source="Bird, theory of lists")
def reverse_concat(xs: A[n], ys: A[m]):
    """Two arrays are reversed each, and change places."""
    return (
        gather(reverse, concat(xs, ys)),
        concat(gather(reverse, ys), gather(reverse, xs)),
    )


@rule(source="Bird, theory of lists; LIFT reverse")
def reverse_join(xss: A[n, m]):
    """Joined rows are reversed row by row."""
    return gather(reverse, join(xss)), join(gather(reverse, map(gather(reverse), xss)))


@rule(source="LIFT Shift, definition")
def shift_as_concat(xs: A[t + r]):
    """A rotation is the end of the array before its start."""
    return gather(shift(t), xs), concat(drop(t, xs), take(t, xs))


@rule(source="LIFT reorderStride, definition; partialReduceWithReorder")
def stride_as_transpose(xs: A[(k + 1) * m]):
    """Reading in strides is reading chunks down."""
    return gather(reorder_stride(m), xs), join(transpose(split(m, xs)))


@rule(source="RISE reorderWithStride, with the right inverse: the other factor")
def stride_undone(xs: A[(k + 1) * (m + 1)]):
    """Strides of one factor of the length are undone by strides of the other."""
    return gather(reorder_stride(k + 1), gather(reorder_stride(m + 1), xs)), xs


@rule(source="LIFT, CGO'17, section 3.2: transpose is split . gather . join")
def transpose_as_gather(xss: A[n, m]):
    """A transpose is a reordering of the joined rows."""
    return (
        transpose(xss),
        split(n, gather(lambda i: (i % n) * m + i // n, join(xss))),
    )
