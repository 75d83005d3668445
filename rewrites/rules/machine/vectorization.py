"""Vectorisation: elements become the lanes of vectors.

map f                    =  as_scalar . map (map_vec f) . as_vector w
as_vector w . as_scalar  =  id            as_scalar . as_vector w  =  id
as_vector w . map f      =  map (map_vec f) . as_vector w
map f . as_scalar        =  as_scalar . map (map_vec f)
map_vec f . map_vec g    =  map_vec (f . g)          map_vec f . splat w  =  splat w . f
as_vector w . map (\\x. reduce_seq plus z (map g (zip ys (h x))))
                         =  map (\\vs. reduce_seq (vectorize w plus) (splat w z) (g in lanes of zip ys vs)) . columns of vectors
as_vector w . map (reduce op z)  =  map (reduce (vectorize w op) (splat w z)) . transpose . map (as_vector w) . transpose
reduce op z              =  reduce op z . as_scalar . singleton . reduce (vectorize w op) (splat w z)
                              . as_vector w                               (op a commutative monoid)
map f xs                 =  take n (as_scalar (map (map_vec f) (as_vector w (pad 0 r c xs))))   n + r a multiple of w
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.notation import COMMUTATIVE_MONOID, A, B, C, D, e, k, m, n, q, r, w
from relift.rewrites.proof_scripts import VECTORIZE_REDUCE_PADDED
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    as_scalar,
    as_vector,
    as_vector_aligned,
    concat,
    join,
    map,
    map_vec,
    pad,
    pad_empty,
    reduce,
    reduce_seq,
    repeat,
    slide,
    splat,
    split,
    take,
    transpose,
    unzip,
    vectorize,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import tup, vec


@rule(source="LIFT, ICFP'15, vectorisation rules; LIFT vectorize; RISE lowering.vectorize")
def vectorize_map(f: Fun[A, B], xs: A[k * w]):
    """A map works on w elements at a time."""
    return (
        map(f, xs),
        as_scalar(map(lambda v: map_vec(f, v), as_vector(w, xs))),
    )


@rule(source="RISE vectorize.beforeMap")
def as_vector_map(f: Fun[A, B], xs: A[k * w]):
    """A map moves over the making of vectors, into their lanes."""
    return (
        as_vector(w, map(f, xs)),
        map(lambda v: map_vec(f, v), as_vector(w, xs)),
    )


@rule(source="LIFT asScalarAsVectorId; RISE vectorize.asScalarAsVectorId")
def as_vector_as_scalar(vs: vec(A, w)[k]):
    """Taking vectors apart and making them again changes nothing."""
    return as_vector(w, as_scalar(vs)), vs


@rule(source="LIFT asVectorAsScalarId; RISE vectorize.after")
def as_scalar_as_vector(xs: A[k * w]):
    """Making vectors and taking them apart changes nothing."""
    return as_scalar(as_vector(w, xs)), xs


@rule(source="RISE vectorize.beforeMap, on the other side")
def as_scalar_map(f: Fun[A, B], vs: vec(A, w)[k]):
    """A map moves into the lanes of vectors that are taken apart."""
    return map(f, as_scalar(vs)), as_scalar(map(lambda v: map_vec(f, v), vs))


@rule(source="LIFT VectorizeUserFun composed; RISE map fusion in lanes")
def map_vec_fusion(f: Fun[B, C], g: Fun[A, B], v: vec(A, w)):
    """Two functions of the lanes are one."""
    return map_vec(f, map_vec(g, v)), map_vec(lambda x: f(g(x)), v)


@rule(source="LIFT VectorizeUserFun of the identity")
def map_vec_identity(v: vec(A, w)):
    """Lanes that are left alone are the vector."""
    return map_vec(lambda x: x, v), v


@rule(source="RISE vectorFromScalar, as in beforeMapReduce")
def map_vec_splat(f: Fun[A, B], x: A):
    """A function of equal lanes is computed once."""
    return map_vec(f, splat(w, x)), splat(w, f(x))


@rule(source="RISE vectorFromScalar of constant operands")
def vectorize_splat(op: Op[A], x: A, y: A):
    """Equal lanes combine to equal lanes."""
    return vectorize(w, op)(splat(w, x), splat(w, y)), splat(w, op(x, y))


@rule(source="LIFT vectorizeMapZip, with its missing guard: the width divides")
def vectorize_map_zip(op: Op[A], xs: A[k * w], ys: A[k * w]):
    """Pairs are combined w at a time."""
    return (
        map(lambda p: op(p[0], p[1]), zip(xs, ys)),
        as_scalar(
            map(
                lambda p: vectorize(w, op)(p[0], p[1]),
                zip(as_vector(w, xs), as_vector(w, ys)),
            )
        ),
    )


@rule(source="RISE vectorize.beforeMap on pairs, vec-before-map for f32 x f32")
def as_vector_map_zip(op: Op[A], xs: A[k * w], ys: A[k * w]):
    """Combined pairs as vectors are combined vectors."""
    return (
        as_vector(w, map(lambda p: op(p[0], p[1]), zip(xs, ys))),
        map(lambda p: vectorize(w, op)(p[0], p[1]), zip(as_vector(w, xs), as_vector(w, ys))),
    )


@rule(source="RISE vec-before-map for f32 x (f32 x f32)")
def as_vector_map_zip_three(
    op: Op[A], times: Op[A], xs: A[k * w], ys: A[k * w], zs: A[k * w]
):  # fmt: skip
    """Combined triples as vectors are combined vectors."""
    return (
        as_vector(w, map(lambda p: op(p[0], times(p[1][0], p[1][1])), zip(xs, zip(ys, zs)))),
        map(
            lambda p: vectorize(w, op)(p[0], vectorize(w, times)(p[1][0], p[1][1])),
            zip(as_vector(w, xs), zip(as_vector(w, ys), as_vector(w, zs))),
        ),
    )


@rule(source="RISE vectorize.beforeMapReduce")
def as_vector_map_reduce(op: Op[A], z: A, xss: A[k * w, n]):
    """Each lane reduces a row of its own."""
    return (
        as_vector(w, map(reduce(op, z), xss)),
        map(
            lambda vs: reduce(vectorize(w, op), splat(w, z), vs),
            transpose(map(as_vector(w), transpose(xss))),
        ),
    )


@rule(source="RISE vectorize.beforeMapDot")
def as_vector_map_dot(plus: Op[A], times: Op[A], z: A, ys: A[n], xss: A[k * w, n]):
    """Each lane takes the weighted sum of a row of its own."""
    return (
        as_vector(
            w,
            map(
                lambda xs: reduce_seq(
                    lambda acc, p: plus(acc, times(p[0], p[1])), z, zip(ys, xs)
                ),
                xss,
            ),
        ),
        map(
            lambda vs: reduce_seq(
                lambda acc, p: vectorize(w, plus)(acc, vectorize(w, times)(p[0], p[1])),
                splat(w, z),
                zip(map(splat(w), ys), vs),
            ),
            transpose(map(as_vector(w), transpose(xss))),
        ),
    )  # fmt: skip


@rule(source="RISE vectorize.beforeMapReduce, for any element function and any rows")
def as_vector_map_reduce_seq(plus: Op[A], z: A, g: Fun[C, A], h: Fun[D, C[n]], xs: D[k * w]):
    """Each lane folds a row of its own."""
    return (
        as_vector(w, map(lambda x: reduce_seq(lambda acc, c: plus(acc, g(c)), z, h(x)), xs)),
        map(
            lambda vs: reduce_seq(
                lambda acc, v: vectorize(w, plus)(acc, map_vec(lambda c: g(c), v)),
                splat(w, z),
                vs,
            ),
            transpose(map(as_vector(w), transpose(map(h, xs)))),
        ),
    )


@rule(source="RISE vectorize.beforeMapDot, for any element function and any rows")
def as_vector_map_fold(
    plus: Op[A], z: A, g: Fun[tup(B, C), A], h: Fun[D, C[n]], ys: B[n], xs: D[k * w]
):
    """Each lane folds a row of its own, whose elements all lanes pair with those of one array."""
    return (
        as_vector(
            w, map(lambda x: reduce_seq(lambda acc, p: plus(acc, g(p)), z, zip(ys, h(x))), xs)
        ),
        map(
            lambda vs: reduce_seq(
                lambda acc, p: vectorize(w, plus)(acc, map_vec(lambda c: g((p[0], c)), p[1])),
                splat(w, z),
                zip(ys, vs),
            ),
            transpose(map(as_vector(w), transpose(map(h, xs)))),
        ),
    )


@rule(
    where=COMMUTATIVE_MONOID,
    source="LIFT partialReduceVectorize, macro rule vectorizeReduce, with their missing guards",
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


# ---- lengths that the width does not divide


@rule(source="RISE vectorize.roundUpAfter")
def as_vector_rounded_up(xs: A[q * (e + r) + e]):
    """An array that does not fill its last vector is padded with open cells."""
    vectors = as_vector(e + r, pad_empty(0, r, xs))
    return take(q * (e + r) + e, as_scalar(vectors)), xs


@rule(source="RISE vectorize.roundUpAfter with lowering.vectorize, at a constant border")
def vectorize_map_padded(f: Fun[A, B], c: A, xs: A[q * (e + r) + e]):
    """A map over an array that does not fill its last vector."""
    vectors = as_vector(e + r, pad(0, r, c, xs))
    return (
        map(f, xs),
        take(q * (e + r) + e, as_scalar(map(lambda v: map_vec(f, v), vectors))),
    )


@rule(
    where=COMMUTATIVE_MONOID,
    source="LIFT vectorizeReduce on a padded array; RISE vectorize.roundUpAfter",
    proof=VECTORIZE_REDUCE_PADDED,
)
def vectorize_reduce_padded(op: Op[A], z: A, xs: A[q * (e + r) + e]):
    """The last vector is filled with neutral elements."""
    vectors = as_vector(e + r, pad(0, r, z, xs))
    return (
        reduce(op, z, xs),
        reduce(op, z, as_scalar(repeat(1, reduce(vectorize(e + r, op), splat(e + r, z), vectors)))),
    )


# ---- vectors and layout


@rule(lowering=True, source="RISE vectorize.alignedAfter, promote-aligned")
def as_vector_to_aligned(xs: A[k * w]):
    """The vectors start at the address of the array, which is aligned."""
    return as_vector(w, xs), as_vector_aligned(w, xs)


@rule(source="LIFT as_vector as split of lanes; RISE movement: join")
def as_vector_join(xss: A[n, k * w]):
    """Vectors do not cross rows whose length the width divides."""
    return as_vector(w, join(xss)), join(map(as_vector(w), xss))


@rule(source="LIFT as_vector as split of lanes; RISE movement: split")
def as_vector_split(xs: A[n * m * w]):
    """Chunks of vectors are vectors of chunks."""
    return split(m, as_vector(w, xs)), map(as_vector(w), split(m * w, xs))


@rule(source="LIFT as_scalar as join of lanes; RISE `J >> J -> *J >> J`")
def as_scalar_join(vss: vec(A, w)[k, m]):
    """Rows of vectors are taken apart row by row."""
    return as_scalar(join(vss)), join(map(as_scalar, vss))


@rule(source="LIFT as_scalar as join of lanes; RISE split before join")
def split_as_scalar(vs: vec(A, w)[k * m]):
    """Chunks of whole vectors."""
    return split(m * w, as_scalar(vs)), map(as_scalar, split(m, vs))


@rule(source="RISE take and asScalar, as in roundUpAfter")
def take_as_scalar(vs: vec(A, w)[m + r]):
    """The lanes of the first vectors are the first elements."""
    return take(m * w, as_scalar(vs)), as_scalar(take(m, vs))


@rule(source="RISE concat, asVector")
def as_vector_concat(xs: A[n * w], ys: A[m * w]):
    """Vectors do not cross from one array to the next if they fit."""
    return as_vector(w, concat(xs, ys)), concat(as_vector(w, xs), as_vector(w, ys))


@rule(source="RISE vectorFromScalar; LIFT ArrayFromValue of vector type")
def as_vector_repeat(x: A):
    """Copies as vectors are copies of one vector."""
    return as_vector(w, repeat(k * w, x)), repeat(k, splat(w, x))


@rule(lowering=True, source="RISE zipAsVectorUnzipSimplification")
def zip_as_vector_unzip(ps: tup(A, B)[k * w]):
    """The two parts of pairs, as aligned vectors."""
    return (
        zip(as_vector(w, unzip(ps)[0]), as_vector(w, unzip(ps)[1])),
        zip(as_vector_aligned(w, unzip(ps)[0]), as_vector_aligned(w, unzip(ps)[1])),
    )


def windows_as_vectors(width: Any, first: Any, vs: Any) -> Any:
    """The windows of `width` elements among the `first` elements of vectors, as vectors."""
    return as_vector(width, join(slide(width, 1, take(first, as_scalar(vs)))))


@rule(source="RISE vectorize.mapAfterShuffle, with its missing guard: f works lane by lane")
def map_after_shuffle(f: Fun[A, B], vs: vec(A, e + r)[k + 2]):
    """Windows as vectors are made from vectors before or after f."""
    first = (k + 1) * (e + r) + e
    return (
        windows_as_vectors(e + r, first, map(lambda v: map_vec(f, v), vs)),
        map(lambda v: map_vec(f, v), windows_as_vectors(e + r, first, vs)),
    )


@rule(source="RISE vectorize.alignSlide, its windows of aligned vectors")
def slide_as_vector(xs: A[(k + 2) * w]):
    """Pairs of neighbouring vectors are windows of twice the width."""
    return (
        slide(2, 1, as_vector(w, xs)),
        map(as_vector(w), slide(2 * w, w, xs)),
    )
