"""Reduction: chunks are reduced on their own, and then their results.

reduce op z              =  reduce op z . map (reduce op z) . split m
reduce op z              =  reduce op z . map (reduce op z) . transpose . split m   (op commutative)
reduce op z              =  reduce_seq (\\acc c. op acc (reduce op z c)) z . split m
reduce op z . join       =  reduce op z . map (reduce op z)
reduce op z . map (reduce op z)  =  reduce op z . map (reduce op z) . transpose    (op commutative)
reduce op z (concat xs ys)       =  op (reduce op z xs) (reduce op z ys)
reduce_seq f z . join    =  reduce_seq (\\acc xs. reduce_seq f acc xs) z
partial_reduce op z m    =  map (reduce op z) . split m
reduce plus o . map (times c)    =  times c . reduce plus o                        (o with c times o = o)
reduce op z              =  reduce_seq op z
"""

from __future__ import annotations

from relift.rewrites.conditions import distributive, idempotent, neutral
from relift.rewrites.notation import (
    COMMUTATIVE_MONOID,
    COMMUTATIVE_SEMIGROUP,
    MONOID,
    A,
    B,
    k,
    m,
    n,
    q,
)
from relift.rewrites.proof_scripts import (
    PARTIAL_REDUCE_REORDER,
    REDUCE_ITERATE,
    REDUCE_SEQ_CHUNKS_DEFINED,
)
from relift.rewrites.proofs_of_idempotence import REDUCE_CONCAT_IDEMPOTENT, REDUCE_TWICE
from relift.rewrites.rule import rule
from relift.semantics.indices.functions import reorder_stride, reverse
from relift.semantics.language.vocabulary import (
    concat,
    gather,
    iterate_sizes,
    join,
    map,
    partial_reduce,
    reduce,
    reduce_seq,
    repeat,
    split,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op


@rule(where=MONOID, source="LIFT, ICFP'15, reduce rules; LIFT partialReduce, with its missing guards; "
      "TensorRight's reduce-split")  # fmt: skip
def partial_reduce_chunks(op: Op[A], z: A, xs: A[k * m]):
    """Reduce each chunk of m, then the partial results."""
    return (
        reduce(op, z, xs),
        reduce(op, z, map(lambda c: reduce(op, z, c), split(m, xs))),
    )


@rule(where=COMMUTATIVE_MONOID, source="LIFT, ICFP'15, reduce rules (with reordering)")
def partial_reduce_strided(op: Op[A], z: A, xs: A[k * m]):
    """Reduce every m-th element, then the m partial results."""
    return (
        reduce(op, z, xs),
        reduce(op, z, map(lambda c: reduce(op, z, c), transpose(split(m, xs)))),
    )


@rule(where=MONOID, source="RISE separateSumHV; Bird, theory of lists, reduce promotion")
def reduce_join(op: Op[A], z: A, xss: A[k, m]):
    """Reduce joined rows row by row."""
    return reduce(op, z, join(xss)), reduce(op, z, map(lambda xs: reduce(op, z, xs), xss))


@rule(where=COMMUTATIVE_MONOID, source="RISE separateSumVH")
def reduce_join_columns(op: Op[A], z: A, xss: A[k, m]):
    """Reduce joined rows column by column."""
    return (
        reduce(op, z, join(xss)),
        reduce(op, z, map(lambda xs: reduce(op, z, xs), transpose(xss))),
    )


@rule(where=COMMUTATIVE_MONOID, source="Fubini; TensorRight, reduce rule 5")
def reduce_fubini(op: Op[A], z: A, xss: A[k, m]):
    """A table is reduced by rows or by columns."""
    return (
        reduce(op, z, map(lambda xs: reduce(op, z, xs), xss)),
        reduce(op, z, map(lambda xs: reduce(op, z, xs), transpose(xss))),
    )


@rule(where=MONOID, source="RISE blockedReduce, with its missing guards")
def blocked_reduce(op: Op[A], z: A, xs: A[k * m]):
    """Reduce each chunk of m, and combine the results in order."""
    return (
        reduce(op, z, xs),
        reduce_seq(lambda acc, c: op(acc, reduce(op, z, c)), z, split(m, xs)),
    )


@rule(source="RISE reduceSeq over split, as in blockedReduce", defined=REDUCE_SEQ_CHUNKS_DEFINED)
def reduce_seq_chunks(f: Fun[B, A, B], z: B, xs: A[k * m]):
    """A fold goes through chunk after chunk."""
    return (
        reduce_seq(f, z, xs),
        reduce_seq(lambda acc, c: reduce_seq(f, acc, c), z, split(m, xs)),
    )


@rule(source="Bird, theory of lists, fold over concatenated lists")
def reduce_seq_join(f: Fun[B, A, B], z: B, xss: A[k, m]):
    """A fold over joined rows goes through row after row."""
    return (
        reduce_seq(f, z, join(xss)),
        reduce_seq(lambda acc, xs: reduce_seq(f, acc, xs), z, xss),
    )


@rule(source="Bird, theory of lists, fold over a concatenation")
def reduce_seq_concat(f: Fun[B, A, B], z: B, xs: A[n], ys: A[m]):
    """A fold over two arrays starts the second with the result of the first."""
    return reduce_seq(f, z, concat(xs, ys)), reduce_seq(f, reduce_seq(f, z, xs), ys)


@rule(where=MONOID, source="Bird, theory of lists, homomorphism; TensorRight, reduce rule 2")
def reduce_concat(op: Op[A], z: A, xs: A[n], ys: A[m]):
    """Two arrays are reduced each, and their results combined."""
    return reduce(op, z, concat(xs, ys)), op(reduce(op, z, xs), reduce(op, z, ys))


@rule(
    where=[*COMMUTATIVE_SEMIGROUP, idempotent("op")],
    source="Bird, theory of lists, idempotent reductions",
    proof=REDUCE_CONCAT_IDEMPOTENT,
)
def reduce_concat_idempotent(op: Op[A], z: A, xs: A[n], ys: A[m]):
    """Both may begin with the start, which counts once."""
    return reduce(op, z, concat(xs, ys)), op(reduce(op, z, xs), reduce(op, z, ys))


@rule(where=MONOID, source="Bird, theory of lists; RISE liftReduce (second case)")
def reduce_start(op: Op[A], x: A, z: A, xs: A[n]):
    """What is combined with a result may start the reduction."""
    return op(x, reduce(op, z, xs)), reduce(op, x, xs)


@rule(where=[*COMMUTATIVE_MONOID], source="Bird, theory of lists, abide law")
def reduce_pairs(op: Op[A], z: A, xs: A[n], ys: A[n]):
    """Reducing combined pairs is combining two reductions."""
    return (
        reduce(op, z, map(lambda p: op(p[0], p[1]), zip(xs, ys))),
        op(reduce(op, z, xs), reduce(op, z, ys)),
    )


@rule(source="LIFT reduce of one element; RISE reduce of makeArray(1)")
def reduce_one(op: Op[A], z: A, x: A):
    """One element is combined with the start."""
    return reduce(op, z, repeat(1, x)), op(z, x)


@rule(source="Bird, theory of lists, empty list")
def reduce_empty(op: Op[A], z: A, x: A):
    """No element leaves the start."""
    return reduce(op, z, repeat(0, x)), z


@rule(where=[neutral("op", "z")], source="Bird, theory of lists, neutral element")
def reduce_neutral(op: Op[A], z: A):
    """Neutral elements reduce to the neutral element."""
    return reduce(op, z, repeat(n, z)), z


@rule(
    where=[*COMMUTATIVE_SEMIGROUP, idempotent("op")],
    source="Bird, theory of lists, idempotent reductions",
    proof=REDUCE_TWICE,
)
def reduce_twice(op: Op[A], z: A, xs: A[n]):
    """Elements that are seen twice count once, as for a minimum or a maximum."""
    return reduce(op, z, concat(xs, xs)), reduce(op, z, xs)


@rule(where=COMMUTATIVE_SEMIGROUP, source="Bird, theory of lists, reduction from the right")
def reduce_reverse(op: Op[A], z: A, xs: A[n]):
    """A commutative reduction goes backwards as well."""
    return reduce(op, z, gather(reverse, xs)), reduce(op, z, xs)


@rule(
    where=[distributive("times", "plus")],
    source="TensorRight, reduce rule 3: Const * Reduce(X); RISE separateDotHV, its inner step",
)
def reduce_common_factor(times: Op[A], plus: Op[A], c: A, z: A, xs: A[n]):
    """A factor of all elements is a factor of their sum."""
    return (
        reduce(plus, times(c, z), map(lambda x: times(c, x), xs)),
        times(c, reduce(plus, z, xs)),
    )


# ---- partial reduction


@rule(source="LIFT, ICFP'15, definition of partRed; LIFT partialReduceToReduce")
def partial_reduce_as_reduce(op: Op[A], z: A, xs: A[k * m]):
    """Each chunk is reduced."""
    return partial_reduce(op, z, m, xs), map(reduce(op, z), split(m, xs))


@rule(source="LIFT partialReduceToReduce, whose partial reduction has one chunk")
def partial_reduce_whole(op: Op[A], z: A, xs: A[n]):
    """A partial reduction of one chunk is a reduction."""
    return partial_reduce(op, z, n, xs), repeat(1, reduce(op, z, xs))


@rule(where=MONOID, source="LIFT partialReduce, with its missing guards")
def reduce_partial_reduce(op: Op[A], z: A, xs: A[k * m]):
    """Reducing may begin with a partial reduction."""
    return reduce(op, z, xs), reduce(op, z, partial_reduce(op, z, m, xs))


@rule(source="LIFT partialReduceSplitJoin, with its missing guard")
def partial_reduce_split_join(op: Op[A], z: A, xs: A[q * k * m]):
    """A partial reduction goes block by block."""
    return (
        partial_reduce(op, z, m, xs),
        join(map(lambda c: partial_reduce(op, z, m, c), split(k * m, xs))),
    )


@rule(
    where=COMMUTATIVE_SEMIGROUP,
    source="LIFT partialReduceReorder, with its missing guards",
    proof=PARTIAL_REDUCE_REORDER,
)
def partial_reduce_reorder(op: Op[A], z: A, xs: A[(k + 1) * m]):
    """A partial reduction of one chunk may read in strides."""
    return (
        partial_reduce(op, z, (k + 1) * m, xs),
        partial_reduce(op, z, (k + 1) * m, gather(reorder_stride(m), xs)),
    )


@rule(where=MONOID, source="LIFT, ICFP'15, reduce rules: partRed of partRed")
def partial_reduce_twice(op: Op[A], z: A, xs: A[q * k * m]):
    """Chunks of chunks are reduced in two steps."""
    return (
        partial_reduce(op, z, k * m, xs),
        partial_reduce(op, z, k, partial_reduce(op, z, m, xs)),
    )


@rule(
    where=COMMUTATIVE_MONOID,
    source="LIFT macro rule partialReduceWithReorder, with its missing guards",
)
def partial_reduce_with_reorder(op: Op[A], z: A, xs: A[(k + 1) * m]):
    """Chunks of every m-th element are reduced, then the partial results."""
    return (
        reduce(op, z, xs),
        reduce(
            op,
            z,
            join(
                map(
                    lambda c: partial_reduce(op, z, k + 1, c),
                    split(k + 1, gather(reorder_stride(m), xs)),
                )
            ),
        ),
    )  # fmt: skip


@rule(source="LIFT splitJoinReduce")
def reduce_as_one_chunk(op: Op[A], z: A, xs: A[n]):
    """A reduction is a map over the one chunk of all elements."""
    return repeat(1, reduce(op, z, xs)), map(reduce(op, z), split(n, xs))


@rule(
    where=MONOID,
    source="LIFT, ICFP'15, reduce rules: iterated partial reduction",
    proof=REDUCE_ITERATE,
)
def reduce_iterate(op: Op[A], z: A, xs: A[k * (q + 1) ** m]):
    """A reduction tree: chunks are reduced again and again, then what is left."""
    return (
        reduce(op, z, xs),
        reduce(
            op, z, iterate_sizes(m, q + 1, lambda ys: partial_reduce(op, z, q + 1, ys), xs)
        ),
    )  # fmt: skip


# ---- in order


@rule(source="LIFT, ICFP'15, OpenCL rules; LIFT reduceSeq; RISE reduceSeq, undo-reduce-seq-for-add")
def reduce_to_seq(op: Op[A], z: A, xs: A[n]):
    """A reduction is a left fold: no law is needed to do it in order."""
    return reduce(op, z, xs), reduce_seq(lambda acc, x: op(acc, x), z, xs)
