"""The false rules of the literature, as they are written there; none of them is in the library.

A rule is rejected where its sides do not type-check, or refuted by a counterexample.  Each docstring says where
the rule stands, why it is wrong, and which rule of the library is its correction; `CORRECTIONS` says that as
data.  Lift assumes that chunks divide, that windows end at the end and that operators obey laws; RISE
checks the windows' length in its types, and little else.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.conditions import associative, bijective, distributive, neutral
from relift.rewrites.notation import MONOID, A, B, C, D, e, k, m, n, q, r, size, step, w
from relift.rewrites.rule import RejectedRule, Rule, rule
from relift.rewrites.rules.machine.vectorization import windows_as_vectors
from relift.rewrites.rules.stencils.separable import weighted_sum
from relift.semantics.indices.functions import reorder_stride
from relift.semantics.language.multidimensional import slide_nd
from relift.semantics.language.vocabulary import (
    as_scalar,
    as_vector,
    gather,
    join,
    let,
    make_array,
    map,
    map_seq_slide,
    map_vec,
    pad_empty,
    partial_reduce,
    reduce,
    reduce_seq,
    repeat,
    scatter,
    slide,
    splat,
    split,
    take,
    transpose,
    unzip,
    vectorize,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Index, Op
from relift.semantics.syntax.types import tup, vec


class _Escaped:
    """A variable that a rule carries out of its binder."""

    def __init__(self) -> None:
        self.variable: Any = None

    def keep(self, x: Any) -> Any:
        self.variable = x
        return x


# ---- laws of operators that nobody asks for


@rule(source="LIFT partialReduce")
def partial_reduce_unguarded(op: Op[A], z: A, xs: A[k * m]):
    """z is combined once on the left and once for each chunk on the right, which also regroups.

    Corrected: `reduce_partial_reduce`.
    """
    return reduce(op, z, xs), reduce(op, z, partial_reduce(op, z, m, xs))


@rule(source="LIFT partialReduceReorder")
def partial_reduce_reorder_unguarded(op: Op[A], z: A, xs: A[(k + 1) * m]):
    """Reading in strides reorders the operands.

    Corrected: `partial_reduce_reorder`.
    """
    return (
        partial_reduce(op, z, (k + 1) * m, xs),
        partial_reduce(op, z, (k + 1) * m, gather(reorder_stride(m), xs)),
    )


@rule(source="LIFT macro rule partialReduceWithReorder")
def partial_reduce_with_reorder_unguarded(op: Op[A], z: A, xs: A[(k + 1) * m]):
    """Regroups, reorders, and combines z more than once.

    Corrected: `partial_reduce_with_reorder`.
    """
    chunks = split(k + 1, gather(reorder_stride(m), xs))
    return (
        reduce(op, z, xs),
        reduce(op, z, join(map(lambda c: partial_reduce(op, z, k + 1, c), chunks))),
    )


@rule(source="LIFT partialReduceVectorize, macro rule vectorizeReduce")
def vectorize_reduce_unguarded(op: Op[A], z: A, xs: A[k * w]):
    """Lanes reduce every w-th element, which reorders, and combine z more than once.

    Corrected: `vectorize_reduce`.
    """
    lanes = reduce(vectorize(w, op), splat(w, z), as_vector(w, xs))
    return reduce(op, z, xs), reduce(op, z, as_scalar(repeat(1, lanes)))


@rule(source="LIFT mapReducePartialReduce")
def map_reduce_partial_reduce_unguarded(op: Op[A], z: A, xsss: A[n, k, m]):
    """The accumulator takes the place of z in every block.

    Corrected: `map_reduce_partial_reduce`.
    """
    return (
        map(
            lambda xss: reduce(op, z, join(map(lambda xs: partial_reduce(op, z, m, xs), xss))),
            xsss,
        ),
        reduce_seq(
            lambda accs, blocks: map(lambda p: reduce(op, p[0], p[1]), zip(accs, blocks)),
            repeat(n, z),
            transpose(xsss),
        ),
    )


@rule(source="RISE blockedReduce, blocked-reduce-n")
def blocked_reduce_unguarded(op: Op[A], z: A, xs: A[k * m]):
    """z is combined once for each chunk, and chunks regroup.

    Corrected: `blocked_reduce`.
    """
    return (
        reduce(op, z, xs),
        reduce_seq(lambda acc, c: op(acc, reduce(op, z, c)), z, split(m, xs)),
    )


# ---- reductions and maps


@rule(source="RISE lift-reduce-seq-2, lift-reduce-seq-cnf-2")
def lift_reduce_seq_2(plus: Op[A], f: Fun[A, A, A], z: A, ys: A[n], xss: A[n, m]):
    """What is added to a reduction by f starts it, whatever f is: wrong for a maximum.

    Corrected: `map_combine_reduce_interchange`.
    """
    return (
        map(lambda p: plus(p[0], reduce_seq(f, z, p[1])), zip(ys, xss)),
        reduce_seq(
            lambda accs, col: map(lambda p: f(p[0], p[1]), zip(accs, col)), ys, transpose(xss)
        ),
    )


@rule(source="RISE lift-reduce-seq-3")
def lift_reduce_seq_3(
    f: Fun[B[m], A[m], B[m]], start: B[m], yss: A[r, m], xss: tup(B, A[r])[n, m]
):  # fmt: skip
    """Start and array of the reduction are matched by type alone, and others are put in their place.

    Corrected: `map_reduce_interchange_rows`.
    """
    parts = unzip(map(unzip, xss))
    return (
        map(lambda x: reduce_seq(f, start, yss), xss),
        reduce_seq(
            lambda accs, y: map(lambda p: f(p[0], p[1]), zip(accs, y)),
            parts[0],
            transpose(map(transpose, parts[1])),
        ),
    )


@rule(where=MONOID, source="RISE liftReduce, second case")
def lift_reduce_function_lost(op: Op[A], f: Fun[A, A], z: A, ys: A[n], xss: A[n, m]):
    """The function around the reduction is not looked at.

    Corrected: `map_combine_reduce_interchange`.
    """
    return (
        map(lambda p: f(reduce(op, z, p[1])), zip(ys, xss)),
        reduce_seq(
            lambda accs, col: map(lambda p: op(p[0], p[1]), zip(accs, col)), ys, transpose(xss)
        ),
    )


@rule(source="RISE liftReduce, zipped input")
def lift_reduce_pair_flipped(f: Fun[D, A, A, D], z: D, xss: A[n, m], ys: A[m]):
    """The pair comes out in the other order where the row stands first in the zip.

    Corrected: `map_reduce_zip_interchange`.
    """
    return (
        map(lambda row: reduce_seq(lambda acc, p: f(acc, p[0], p[1]), z, zip(row, ys)), xss),
        reduce_seq(
            lambda accs, p: map(lambda q: f(q[0], p[1], q[1]), zip(accs, p[0])),
            repeat(n, z),
            zip(transpose(xss), ys),
        ),
    )


@rule(source="LIFT mapReduceInterchangeBroken, removed in 2015")
def map_reduce_interchange_untransposed(f: Fun[B, A, B], z: B, xss: A[n, m]):
    """The results, arrays of length 1 in Lift, are not transposed back.

    Corrected: `map_reduce_interchange`.
    """
    return (
        map(lambda row: repeat(1, reduce_seq(f, z, row)), xss),
        repeat(
            1,
            reduce_seq(
                lambda accs, col: map(lambda p: f(p[0], p[1]), zip(accs, col)),
                repeat(n, z),
                transpose(xss),
            ),
        ),
    )


@rule(source="LIFT reduceFusionInZip")
def reduce_fusion_in_zip_unequal(
    f: Fun[C, A, C], g: Fun[D, B, D], y: C, z: D, xs: A[n], ys: B[m]
):  # fmt: skip
    """The arrays need not have one length, but the zip needs it.

    Corrected: `reduce_fusion_in_zip`.
    """
    return (
        (reduce_seq(f, y, xs), reduce_seq(g, z, ys)),
        reduce_seq(lambda acc, p: (f(acc[0], p[0]), g(acc[1], p[1])), (y, z), zip(xs, ys)),
    )


# ---- variables carried out of their binder


@rule(source="LIFT mapReduceInterchange")
def map_reduce_interchange_capturing(h: Fun[A[m], B, A, B], z: B, xss: A[n, m]):
    """The reduction may use its row, which is out of scope on the right.

    Corrected: `map_reduce_interchange`; where the row is used, `map_reduce_interchange_rows`.
    """
    row = _Escaped()
    left = map(
        lambda xs: reduce_seq(lambda acc, x: h(xs, acc, x), z, row.keep(xs)), xss
    )  # fmt: skip
    right = reduce_seq(
        lambda accs, col: map(lambda p: h(row.variable, p[0], p[1]), zip(accs, col)),
        repeat(n, z),
        transpose(xss),
    )
    return left, right


@rule(source="LIFT joinSplit")
def join_split_capturing(h: Fun[A[m], A, B], xss: A[k, m]):
    """The inner function may use its row, which is out of scope on the right.

    Corrected: `map_map_flat`.
    """
    row = _Escaped()
    left = map(lambda xs: map(lambda x: h(xs, x), row.keep(xs)), xss)
    return left, split(m, map(lambda x: h(row.variable, x), join(xss)))


@rule(source="LIFT transposeBothSides")
def transpose_both_sides_capturing(h: Fun[A[m], A, B], xss: A[k, m]):
    """The inner function may use its row, which is out of scope on the right.

    Corrected: `transpose_both_sides`.
    """
    row = _Escaped()
    left = map(lambda xs: map(lambda x: h(xs, x), row.keep(xs)), xss)
    right = map(lambda col: map(lambda x: h(row.variable, x), col), transpose(xss))
    return left, transpose(right)


@rule(source="LIFT mapFission, before its guard of 2016; RISE mapFirstFission")
def map_fission_capturing(f: Fun[A, B, C], g: Fun[A, B], xs: A[n]):
    """The second function may use the element, which is out of scope once the first is a map of its own.

    Corrected: `map_fission_with_zip`.
    """
    element = _Escaped()
    left = map(lambda x: f(x, g(element.keep(x))), xs)
    return left, map(lambda y: f(element.variable, y), map(g, xs))


@rule(source="RISE fBeforeZipMap")
def map_before_zip_capturing(
    f: Fun[tup(A, B), A, C[m]], g: Fun[B, D[m]], xs: A[n], ys: B[n]
):  # fmt: skip
    """The function of one component may use the pair, which is out of scope before the zip.

    Corrected: `map_before_zip`.
    """
    pair = _Escaped()
    left = map(lambda p: zip(f(p, pair.keep(p)[0]), g(p[1])), zip(xs, ys))
    mapped = map(lambda x: f(pair.variable, x), xs)
    return left, map(lambda p: zip(p[0], p[1]), zip(mapped, map(g, ys)))


@rule(source="RISE reduceMapFission, reduce-seq-map-fission, their argument")
def reduce_map_fission_capturing_argument(f: Fun[B, C, B], g: Fun[B, A, C], z: B, xs: A[n]):
    """What is computed from the element may use the accumulator, which a map does not have.

    Corrected: `reduce_map_fusion`, read from right to left.
    """
    total = _Escaped()
    left = reduce_seq(lambda acc, x: f(acc, g(total.keep(acc), x)), z, xs)
    return left, reduce_seq(f, z, map(lambda x: g(total.variable, x), xs))


@rule(source="RISE reduceMapFission, reduce-seq-map-fission, their operator")
def reduce_map_fission_capturing_operator(f: Fun[B, B, C, B], g: Fun[A, C], z: B, xs: A[n]):
    """The operator itself may use the accumulator, and is taken out of its binder.

    Corrected: `reduce_map_fusion`, read from right to left.
    """
    total = _Escaped()
    left = reduce_seq(lambda acc, x: f(total.keep(acc), acc, g(x)), z, xs)
    return left, reduce_seq(lambda kept, y: f(total.variable, kept, y), z, map(g, xs))


@rule(source="RISE hoist-let-lam, commented out")
def let_out_of_map_capturing(f: Fun[B, C], g: Fun[A, B], xs: A[n]):
    """It asks that the body avoids the element; it is the value that must.

    Corrected: `let_out_of_map`.
    """
    element = _Escaped()
    left = map(lambda x: let(f, g(element.keep(x))), xs)
    return left, let(lambda y: map(lambda x: f(y), xs), g(element.variable))


@rule(source="RISE let-swap")
def let_swap_unrenamed(h: Fun[A, A, C], x: A, y: A):
    """The two bindings change places, and the indices of the body do not.

    Corrected: `let_swap`.
    """
    return (
        let(lambda u: let(lambda v: h(u, v), y), x),
        let(lambda v: let(lambda u: h(v, u), x), y),
    )


# ---- computations that a wildcard deletes


@rule(source="LIFT joinSwap")
def join_swap_wildcard(f: Fun[A, B], g: Fun[A[m], A[m]], xss: A[k, m]):
    """The argument of the inner map is not looked at, so g is lost.

    Corrected: `map_join`.
    """
    return join(map(lambda xs: map(f, g(xs)), xss)), map(f, join(xss))


@rule(source="LIFT slidePromotion")
def slide_promotion_wildcard(g: Fun[A[n, m], A[n, m]], xsss: A[size + k * step, n, m]):
    """The argument of the inner join is not looked at, so g is lost.

    Corrected: `map_slide`, with a join for its function.
    """
    return (
        slide(size, step, map(lambda xss: join(g(xss)), xsss)),
        map(lambda rows: map(join, rows), slide(size, step, xsss)),
    )


@rule(source="LIFT slideSwap")
def slide_swap_wildcard(
    g: Fun[A[size + q * step], A[size + q * step]], xss: A[size + k, size + q * step]
):
    """The argument of the inner slide is not looked at, so g is lost.

    Corrected: `map_slide`, with a slide for its function.
    """
    return (
        slide(size, 1, map(lambda xs: slide(size, step, g(xs)), xss)),
        map(lambda rows: map(slide(size, step), rows), slide(size, 1, xss)),
    )


@rule(source="LIFT transposeSwap")
def transpose_swap_wildcard(g: Fun[A[n, m], A[n, m]], xssss: A[k, q, n, m]):
    """The argument of the inner transpose is not looked at, so g is lost.

    Corrected: `map_map_transpose`, with a transpose for its function.
    """
    return (
        map(lambda row: map(lambda xss: transpose(g(xss)), row), transpose(xssss)),
        transpose(map(lambda row: map(transpose, row), xssss)),
    )


@rule(source="LIFT slideTransposeSwap")
def slide_transpose_swap_wildcard(
    g: Fun[A[size + r * step], A[size + r * step]], xsss: A[k, q, size + r * step]
):
    """The argument of the inner slide is not looked at, so g is lost.

    Corrected: `map_map_transpose`, with a slide for its function.
    """
    return (
        map(lambda row: map(lambda xs: slide(size, step, g(xs)), row), transpose(xsss)),
        transpose(map(lambda row: map(slide(size, step), row), xsss)),
    )


@rule(source="LIFT slideTransposeReordering")
def slide_transpose_reordering_wildcard(
    g: Fun[A[size + k * step, n], A[size + k * step, n]], xss: A[n, size + k * step]
):
    """The argument of the slide is not looked at, so g is lost.

    Corrected: `transpose_slide`.
    """
    return (
        slide(size, step, g(transpose(xss))),
        map(transpose, transpose(map(slide(size, step), xss))),
    )


@rule(source="LIFT transposeMapJoinReordering")
def transpose_map_join_reordering_wildcard(g: Fun[A[m, n], A[m, n]], xsss: A[k, m, n]):
    """The argument of the inner join is not looked at, so g is lost.

    Corrected: `map_join_transpose`.
    """
    return (
        transpose(map(lambda xss: join(g(xss)), xsss)),
        join(map(transpose, transpose(xsss))),
    )


@rule(source="LIFT dropId, its cases for maps")
def drop_identity_wildcard(g: Fun[A, A], xs: A[n]):
    """The argument of the inner identity is not looked at, so g is lost.

    Corrected: `map_identity`.
    """
    return map(lambda x: g(x), xs), xs


# ---- sizes


@rule(source="LIFT splitJoin; RISE `*f -> S >> **f >> J`")
def split_join_any_size(f: Fun[A, B], xs: A[n]):
    """Nothing says that m divides n.

    Corrected: `split_join`.
    """
    return map(f, xs), join(map(lambda c: map(f, c), split(m, xs)))


@rule(source="LIFT vectorize; RISE lowering.vectorize")
def vectorize_map_any_width(f: Fun[A, B], xs: A[n]):
    """Nothing says that w divides n.

    Corrected: `vectorize_map`; for lengths that it does not divide, `vectorize_map_padded`.
    """
    return map(f, xs), as_scalar(map(lambda v: map_vec(f, v), as_vector(w, xs)))


@rule(source="RISE vectorize.after, vec-after-n")
def as_scalar_as_vector_any_width(xs: A[n]):
    """The guard is said to be a hack, and that of the e-graph is missing: nothing says that w divides n.

    Corrected: `as_scalar_as_vector`.
    """
    return as_scalar(as_vector(w, xs)), xs


@rule(source="LIFT slideTiling, tileStencils; RISE slideOverlap")
def slide_tiling_any_growth(xs: A[size + e + q * (step + e)]):
    """The tile grows by e, and nothing says that the step divides e.

    Corrected: `slide_tiling`.
    """
    return (
        slide(size, step, xs),
        join(map(slide(size, step), slide(size + e, step + e, xs))),
    )


@rule(source="RISE slideBeforeSplit")
def slide_before_split_any_step(xs: A[size + k * step + q * (k + 1) * step]):
    """Tiles of (k + 1) * step elements hold k + 1 windows, not (k + 1) * step, unless the step is 1.

    Corrected: `slide_before_split`.
    """
    return (
        split((k + 1) * step, slide(size, step, xs)),
        map(slide(size, step), slide(size + k * step, (k + 1) * step, xs)),
    )


@rule(source="LIFT docs/rules.rst, new rules: window-map exchange")
def window_map_exchange_untransposed(f: Fun[A[size], B], xss: A[size + k, k + 1]):
    """The left side has a row for each window, the right side one for each column.

    Corrected: `window_map_exchange`.
    """
    return (
        map(lambda rows: map(f, transpose(rows)), slide(size, 1, xss)),
        map(lambda col: map(f, slide(size, 1, col)), transpose(xss)),
    )


@rule(source="LIAR (foresight), CoreRules.scala: e -> (build N (\\i. e))[j]")
def index_of_build_any_index(x: A):
    """The index need not be below the length.

    Corrected: `index_of_repeat`.
    """
    return x, repeat(n, x)[m]


# ---- order


@rule(where=[bijective("p")], source="LIFT gatherToScatter, scatterToGather")
def gather_to_scatter_same(p: Index[n], f: Fun[A, B], xs: A[n]):
    """What is read by p is written by its inverse, not by p.

    Corrected: `gather_to_scatter`; for a p that undoes itself, `gather_to_scatter_involution`.
    """
    return map(f, gather(p, xs)), scatter(p, map(f, xs))


@rule(source="RISE reorderWithStride")
def stride_is_its_own_inverse(xs: A[(k + 1) * (m + 1)]):
    """Strides of m + 1 undo themselves only where the length is its square.

    Corrected: `stride_undone`.
    """
    return gather(reorder_stride(m + 1), gather(reorder_stride(m + 1), xs)), xs


@rule(source="LIFT Shift, gatherScatterId")
def shift_by_two(xs: A[n + 2]):
    """Lift's Shift leaves the array for shifts of 2 or more: (i + 2) - n * (i / (n - 1)), n the length.

    Corrected: `gather_scatter`, whose index function is a permutation, and `shift_as_concat`.
    """

    def shift(i: Any) -> Any:
        return (i + 2) - (n + 2) * (i // (n + 1))

    return gather(shift, scatter(shift, xs)), xs


@rule(source="LIFT MapSeqSlideRewrite mapSeqSlide2D, mapSeqSlide2DSeq")
def map_seq_slide_2d_untransposed(
    f: Fun[A[size, size], B], xss: A[size + k * step, size + m * step]
):  # fmt: skip
    """f is given columns for rows; Lift's tests have a stencil that is the same either way.

    Corrected: `map_seq_slide_2d`.
    """
    return (
        map(lambda row: map(f, row), slide_nd((size, size), (step, step), xss)),
        map(lambda rows: map_seq_slide(size, step, f, transpose(rows)), slide(size, step, xss)),
    )


@rule(source="RISE vectorize.mapAfterShuffle")
def map_after_shuffle_any_function(f: Fun[vec(A, e + r), vec(A, e + r)], vs: vec(A, e + r)[k + 2]):
    """f need not work lane by lane.

    Corrected: `map_after_shuffle`.
    """
    first = (k + 1) * (e + r) + e
    return (
        windows_as_vectors(e + r, first, map(f, vs)),
        map(f, windows_as_vectors(e + r, first, vs)),
    )


# ---- literals and weights


@rule(source="RISE idx-reduction-0-3")
def idx_reduction_0_3(x: A, y: A, z: A):
    """The index that it matches is 1.

    Corrected: `first_of_three`.
    """
    return make_array(x, y, z)[1], x


@rule(source="RISE idx-reduction-2-3")
def idx_reduction_2_3(x: A, y: A, z: A):
    """The index that it matches is 1.

    Corrected: `third_of_three`.
    """
    return make_array(x, y, z)[1], z


_SEMIRING = (
    associative("plus"), neutral("plus", "z"), associative("times"), distributive("times", "plus"),
)  # fmt: skip


@rule(where=_SEMIRING, source="RISE separateDotHV, separate-dot-hv-simplified")
def separate_dot_hv_any_weights(
    times: Op[A], plus: Op[A], z: A, wss: A[n, m], vs: A[n], hs: A[m], xss: A[n, m]
):  # fmt: skip
    """The weights need not be the outer product of the two rows that replace them.

    Corrected: `separate_dot_hv`.
    """
    return (
        weighted_sum(times, plus, z, join(wss), join(xss)),
        weighted_sum(times, plus, z, vs, map(lambda xs: weighted_sum(times, plus, z, hs, xs), xss)),
    )


@rule(where=_SEMIRING, source="RISE separateDotVH, separate-dot-vh-simplified")
def separate_dot_vh_any_weights(
    times: Op[A], plus: Op[A], z: A, wss: A[n, m], vs: A[n], hs: A[m], xss: A[n, m]
):  # fmt: skip
    """The weights need not be the outer product of the two rows that replace them.

    Corrected: `separate_dot_vh`.
    """
    return (
        weighted_sum(times, plus, z, join(wss), join(xss)),
        weighted_sum(
            times, plus, z, hs, map(lambda xs: weighted_sum(times, plus, z, vs, xs), transpose(xss))
        ),
    )


# ---- refinements that are no equations


@rule(source="RISE removeTakeBeforePadEmpty, as an equation")
def pad_empty_take_as_equation(xs: A[n + q]):
    """Open cells on the left are elements on the right: that holds in one direction only.

    Corrected: `pad_empty_take`, a refinement.
    """
    return pad_empty(0, q + r, take(n, xs)), pad_empty(0, r, xs)


@rule(source="RISE padEmptyBeforeMap, as an equation")
def pad_empty_map_as_equation(f: Fun[A, B], xs: A[n]):
    """Open results on the left are results of open cells on the right, which f may restrict.

    Corrected: `pad_empty_map`, a refinement.
    """
    return pad_empty(0, q, map(f, xs)), map(f, pad_empty(0, q, xs))


@rule(source="RISE padEmptyBeforeSlide, as an equation")
def pad_empty_slide_as_equation(xs: A[size + k * step]):
    """Open windows on the left overlap on the right, and with windows that are not open.

    Corrected: `pad_empty_slide`, a refinement.
    """
    return (
        pad_empty(0, q, slide(size, step, xs)),
        slide(size, step, pad_empty(0, q * step, xs)),
    )


REFUTED: dict[str, Rule | RejectedRule] = {
    r.name: r for r in list(vars().values()) if isinstance(r, Rule | RejectedRule)
}
"""All of them, by name."""

CORRECTIONS: dict[str, tuple[str, ...]] = {
    "partial_reduce_unguarded": ("reduce_partial_reduce",),
    "partial_reduce_reorder_unguarded": ("partial_reduce_reorder",),
    "partial_reduce_with_reorder_unguarded": ("partial_reduce_with_reorder",),
    "vectorize_reduce_unguarded": ("vectorize_reduce",),
    "map_reduce_partial_reduce_unguarded": ("map_reduce_partial_reduce",),
    "blocked_reduce_unguarded": ("blocked_reduce",),
    "lift_reduce_seq_2": ("map_combine_reduce_interchange",),
    "lift_reduce_seq_3": ("map_reduce_interchange_rows",),
    "lift_reduce_function_lost": ("map_combine_reduce_interchange",),
    "lift_reduce_pair_flipped": ("map_reduce_zip_interchange",),
    "map_reduce_interchange_untransposed": ("map_reduce_interchange",),
    "reduce_fusion_in_zip_unequal": ("reduce_fusion_in_zip",),
    "map_reduce_interchange_capturing": ("map_reduce_interchange", "map_reduce_interchange_rows"),
    "join_split_capturing": ("map_map_flat",),
    "transpose_both_sides_capturing": ("transpose_both_sides",),
    "map_fission_capturing": ("map_fission_with_zip",),
    "map_before_zip_capturing": ("map_before_zip",),
    "reduce_map_fission_capturing_argument": ("reduce_map_fusion",),
    "reduce_map_fission_capturing_operator": ("reduce_map_fusion",),
    "let_out_of_map_capturing": ("let_out_of_map",),
    "let_swap_unrenamed": ("let_swap",),
    "join_swap_wildcard": ("map_join",),
    "slide_promotion_wildcard": ("map_slide",),
    "slide_swap_wildcard": ("map_slide",),
    "transpose_swap_wildcard": ("map_map_transpose",),
    "slide_transpose_swap_wildcard": ("map_map_transpose",),
    "slide_transpose_reordering_wildcard": ("transpose_slide",),
    "transpose_map_join_reordering_wildcard": ("map_join_transpose",),
    "drop_identity_wildcard": ("map_identity",),
    "split_join_any_size": ("split_join",),
    "vectorize_map_any_width": ("vectorize_map", "vectorize_map_padded"),
    "as_scalar_as_vector_any_width": ("as_scalar_as_vector",),
    "slide_tiling_any_growth": ("slide_tiling",),
    "slide_before_split_any_step": ("slide_before_split",),
    "window_map_exchange_untransposed": ("window_map_exchange",),
    "index_of_build_any_index": ("index_of_repeat",),
    "gather_to_scatter_same": ("gather_to_scatter", "gather_to_scatter_involution"),
    "stride_is_its_own_inverse": ("stride_undone",),
    "shift_by_two": ("gather_scatter", "shift_as_concat"),
    "map_seq_slide_2d_untransposed": ("map_seq_slide_2d",),
    "map_after_shuffle_any_function": ("map_after_shuffle",),
    "idx_reduction_0_3": ("first_of_three",),
    "idx_reduction_2_3": ("third_of_three",),
    "separate_dot_hv_any_weights": ("separate_dot_hv",),
    "separate_dot_vh_any_weights": ("separate_dot_vh",),
    "pad_empty_take_as_equation": ("pad_empty_take",),
    "pad_empty_map_as_equation": ("pad_empty_map",),
    "pad_empty_slide_as_equation": ("pad_empty_slide",),
}
"""The rules of the library that say correctly what a false rule meant."""
