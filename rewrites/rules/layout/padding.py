"""Padding: borders of an array, by clamping, mirroring, wrapping, with a constant, or left open.

pad l r b . map f               =  map f . pad l r b                     (b: clamp, mirror, wrap)
map f . pad l r c               =  pad l r (f c) . map f                 (a constant c)
pad l r cs . map (pad l' r' c)  =  map (pad l' r' c) . pad l r cs        (cs: rows of c)
pad l r css . map p              =  map p . pad l r css                  (css: planes of c; p borders rows and columns by c)
pad l r b . pad l' r' b         =  pad (l + l') (r + r') b               (b: clamp, a constant, open)
pad 0 0 b                       =  id
take n . drop l . pad l r b     =  id
pad l r b (zip xs ys)           =  zip (pad l r b xs) (pad l r b ys)
pad 0 r c (take n xs)           =  map (\\(p, x). if p then x else c) (zip (pad 0 r false (repeat n true)) xs)
pad l r b . transpose           =  transpose . map (pad l r b)
pad_empty l r                   -> pad l r b                             (a refinement: open cells are fixed)
pad_empty l r . map f           -> map f . pad_empty l r

A rule with a `boundary` is one for each of them (see `families`).  Wrapping and mirroring twice is not one wrap
or mirror: the border repeats what was padded already.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.conditions import associative, idempotent, naturals, neutral
from relift.rewrites.families import Number
from relift.rewrites.notation import (
    A,
    B,
    Border,
    Continued,
    d,
    k,
    left,
    m,
    n,
    q,
    r,
    right,
    size,
    step,
    w,
)
from relift.rewrites.proofs_of_idempotence import REDUCE_PAD_CLAMP_IDEMPOTENT
from relift.rewrites.rule import rule
from relift.semantics.indices.functions import reverse
from relift.semantics.language.vocabulary import (
    as_scalar,
    as_vector,
    as_vector_aligned,
    clamp,
    concat,
    drop,
    gather,
    map,
    mirror,
    pad,
    pad_empty,
    reduce,
    repeat,
    select,
    slide,
    split,
    take,
    transpose,
    wrap,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import f32, tup, vec

left2, right2, left3, right3 = naturals("left2 right2 left3 right3")
Inner = Border.without("mirror", "wrap")

# ---- maps


@rule(source="RISE padEmptyBeforeMap, at a border: {boundary}")
def pad_boundary_map(boundary: Continued, f: Fun[A, B], xs: A[n]):
    """A border that continues the array ({boundary}) may be made before or after a map."""
    return pad(left, right, boundary, map(f, xs)), map(f, pad(left, right, boundary, xs))


@rule(source="RISE padEmptyBeforeMap, at a constant border")
def pad_constant_map(f: Fun[A, B], c: A, xs: A[n]):
    """A constant border is mapped to the result of the constant."""
    return map(f, pad(left, right, c, xs)), pad(left, right, f(c), map(f, xs))


@rule(source="RISE padEmptyBeforeMap, at the constant border of an image")
def pad_constant_rows(c: A, xss: A[m, n]):
    """Rows of a constant around rows with a border of it are bordered as all others are."""
    rows = map(lambda xs: pad(left2, right2, c, xs), xss)
    return (
        pad(left, right, repeat(left2 + n + right2, c), rows),
        map(lambda xs: pad(left2, right2, c, xs), pad(left, right, repeat(n, c), xss)),
    )


@rule(source="RISE padEmptyBeforeMap, at the constant border of a volume")
def pad_constant_planes(c: A, xsss: A[k, m, n]):
    """Planes of a constant around planes whose rows and columns have a border of it are bordered as all others are."""

    def plane(xss):
        return map(lambda xs: pad(left3, right3, c, xs), pad(left2, right2, repeat(n, c), xss))

    rows = repeat(left3 + n + right3, c)
    return (
        pad(left, right, repeat(left2 + m + right2, rows), map(plane, xsss)),
        map(plane, pad(left, right, repeat(m, repeat(n, c)), xsss)),
    )


# ---- borders of borders, and of nothing


@rule(source="RISE padEmptyFusion, at a border: {boundary}")
def pad_boundary_fusion(boundary: Inner, xs: A[n]):
    """A border ({boundary}) around the same is a wider one."""
    return (
        pad(left, right, boundary, pad(left2, right2, boundary, xs)),
        pad(left + left2, right + right2, boundary, xs),
    )


@rule(source="RISE padEmptyNothing, at a border: {boundary}")
def pad_boundary_nothing(boundary: Border, xs: A[n]):
    """A border ({boundary}) of no elements is none."""
    return pad(0, 0, boundary, xs), xs


@rule(source="RISE vectorize.roundUpAfter, at a border: {boundary}")
def pad_boundary_removed(boundary: Border, xs: A[n]):
    """What a border ({boundary}) surrounds is the array."""
    return take(n, drop(left, pad(left, right, boundary, xs))), xs


# ---- what borders are made of


@rule(source="LIFT PadConstant, definition")
def pad_constant_as_concat(c: A, xs: A[n]):
    """A constant border is made of copies."""
    return pad(left, right, c, xs), concat(repeat(left, c), concat(xs, repeat(right, c)))


@rule(source="LIFT Pad.Boundary.Clamp, definition")
def pad_clamp_as_concat(xs: A[n + 1]):
    """A clamped border is made of copies of the first and of the last element."""
    return (
        pad(left, right, clamp, xs),
        concat(repeat(left, xs[0]), concat(xs, repeat(right, xs[n]))),
    )


@rule(source="LIFT Pad.Boundary.Wrap, definition, on the left")
def pad_wrap_left(xs: A[k + left]):
    """A wrapped border on the left is the end of the array."""
    return pad(left, 0, wrap, xs), concat(drop(k, xs), xs)


@rule(source="LIFT Pad.Boundary.Wrap, definition, on the right")
def pad_wrap_right(xs: A[right + k]):
    """A wrapped border on the right is the start of the array."""
    return pad(0, right, wrap, xs), concat(xs, take(right, xs))


@rule(source="LIFT Pad.Boundary.Mirror, definition, on the left")
def pad_mirror_left(xs: A[left + k]):
    """A mirrored border on the left is the start of the array, backwards."""
    return pad(left, 0, mirror, xs), concat(gather(reverse, take(left, xs)), xs)


@rule(source="LIFT Pad.Boundary.Mirror, definition, on the right")
def pad_mirror_right(xs: A[k + right]):
    """A mirrored border on the right is the end of the array, backwards."""
    return pad(0, right, mirror, xs), concat(xs, gather(reverse, drop(k, xs)))


@rule(source="LIFT Pad.Boundary, one element on each side")
def pad_mirror_one(xs: A[n]):
    """One mirrored element is one clamped element."""
    return pad(1, 1, mirror, xs), pad(1, 1, clamp, xs)


# ---- zips, transposes, chunks


@rule(source="RISE padEmptyInsideZip, at a border: {boundary}")
def pad_boundary_zip(boundary: Continued, xs: A[n], ys: B[n]):
    """A border ({boundary}) of a zip is a zip of borders."""
    return (
        pad(left, right, boundary, zip(xs, ys)),
        zip(pad(left, right, boundary, xs), pad(left, right, boundary, ys)),
    )


@rule(source="RISE padEmptyInsideZip, at a constant border")
def pad_constant_zip(b: A, c: B, xs: A[n], ys: B[n]):
    """A border of constant pairs is a zip of constant borders."""
    return (
        pad(left, right, (b, c), zip(xs, ys)),
        zip(pad(left, right, b, xs), pad(left, right, c, ys)),
    )


def _chosen(z: Any, xs: Any) -> tuple[Any, Any]:
    of_first = pad(0, r, False, repeat(n, True))
    return (
        pad(0, r, z, take(n, xs)),
        map(lambda p: select(p[0], p[1], z), zip(of_first, xs)),
    )


_MASKS = "Halide, loop tails under a predicate (TailStrategy); masks of vector machines"


@rule(source=_MASKS)
def pad_constant_take_number(z: Number, xs: Number[n + r]):
    """A constant ({number}) instead of all but the first elements is chosen where they are."""
    return _chosen(z, xs)


@rule(source=_MASKS)
def pad_constant_take_pair(z: tup(f32, f32), xs: tup(f32, f32)[n + r]):
    """The same for pairs, as complex numbers."""
    return _chosen(z, xs)


@rule(source=_MASKS)
def pad_constant_take_triple(z: tup(f32, f32, f32), xs: tup(f32, f32, f32)[n + r]):
    """The same for triples, as forces."""
    return _chosen(z, xs)


@rule(source="RISE padEmptyBeforeTranspose, at a border: {boundary}")
def pad_boundary_transpose(boundary: Continued, xss: A[m, n]):
    """A border ({boundary}) of columns is one of each row before the transpose."""
    return (
        pad(left, right, boundary, transpose(xss)),
        transpose(map(lambda xs: pad(left, right, boundary, xs), xss)),
    )


@rule(source="RISE padEmptyBeforeTranspose, at a constant border")
def pad_constant_transpose(c: A, xss: A[m, n]):
    """A border of constant columns is a constant border of each row."""
    return (
        pad(left, right, repeat(m, c), transpose(xss)),
        transpose(map(lambda xs: pad(left, right, c, xs), xss)),
    )


@rule(source="RISE padEmptyBeforeAsVector, for split and a constant border")
def pad_constant_split(c: A, xs: A[k * m]):
    """A border of constant chunks is a border of constants."""
    return (
        pad(left, right, repeat(m, c), split(m, xs)),
        split(m, pad(left * m, right * m, c, xs)),
    )


@rule(where=[neutral("op", "z")], source="RISE padEmpty before a reduction, its cells neutral")
def reduce_pad(op: Op[A], z: A, xs: A[n]):
    """A border of neutral elements adds nothing."""
    return reduce(op, z, pad(left, right, z, xs)), reduce(op, z, xs)


@rule(
    where=[associative("op"), idempotent("op")],
    source="Bird, theory of lists, idempotent reductions",
    proof=REDUCE_PAD_CLAMP_IDEMPOTENT,
)
def reduce_pad_clamp_idempotent(op: Op[A], z: A, xs: A[n + 1]):
    """The last element counts once, however often it is seen again."""
    return reduce(op, z, pad(0, r, clamp, xs)), reduce(op, z, xs)


# ---- borders whose content is left open; what fixes it is a refinement


@rule(refinement=True, source="RISE padEmpty, its cells filled with a constant")
def pad_empty_constant(c: A, xs: A[n]):
    """An open border may hold a constant."""
    return pad_empty(left, right, xs), pad(left, right, c, xs)


@rule(refinement=True, source="RISE padEmpty, its cells filled by clamping")
def pad_empty_clamp(xs: A[n + 1]):
    """An open border may hold the nearest element."""
    return pad_empty(left, right, xs), pad(left, right, clamp, xs)


@rule(refinement=True, source="RISE padEmptyBeforeMap")
def pad_empty_map(f: Fun[A, B], xs: A[n]):
    """An open border may hold results."""
    return pad_empty(left, right, map(f, xs)), map(f, pad_empty(left, right, xs))


@rule(source="RISE padEmptyInsideZip, padEmptyBeforeZip")
def pad_empty_zip(xs: A[n], ys: B[n]):
    """An open zip is a zip of open arrays."""
    return (
        pad_empty(left, right, zip(xs, ys)),
        zip(pad_empty(left, right, xs), pad_empty(left, right, ys)),
    )


@rule(source="RISE padEmptyBeforeTranspose")
def pad_empty_transpose(xss: A[m, n]):
    """Open columns are open cells at the end of each row."""
    return (
        pad_empty(left, right, transpose(xss)),
        transpose(map(lambda xs: pad_empty(left, right, xs), xss)),
    )


@rule(refinement=True, source="RISE padEmptyBeforeSlide")
def pad_empty_slide(xs: A[size + k * step]):
    """Open windows at the end may be those of an open end."""
    return (
        pad_empty(0, q, slide(size, step, xs)),
        slide(size, step, pad_empty(0, q * step, xs)),
    )


@rule(refinement=True, source="RISE removeTakeBeforePadEmpty")
def pad_empty_take(xs: A[n + d]):
    """Open cells behind the first elements may hold the elements that follow."""
    return pad_empty(0, d + r, take(n, xs)), pad_empty(0, r, xs)


@rule(source="RISE padEmptyBeforeAsScalar")
def pad_empty_as_scalar(vs: vec(A, w)[k]):
    """Open lanes are open vectors."""
    return pad_empty(0, q * w, as_scalar(vs)), as_scalar(pad_empty(0, q, vs))


@rule(source="RISE padEmptyBeforeAsVector")
def pad_empty_as_vector(xs: A[k * w]):
    """Open vectors are made of open cells."""
    return pad_empty(0, q, as_vector(w, xs)), as_vector(w, pad_empty(0, q * w, xs))


@rule(source="RISE padEmptyBeforeZipAsVector")
def pad_empty_zip_as_vector(xs: A[k * w], ys: B[k * w]):
    """Open pairs of vectors are vectors of open cells."""
    return (
        pad_empty(0, q, zip(as_vector(w, xs), as_vector(w, ys))),
        zip(
            as_vector_aligned(w, pad_empty(0, q * w, xs)),
            as_vector_aligned(w, pad_empty(0, q * w, ys)),
        ),
    )
