"""Lowering: who computes a map, and where a result is stored.

As equations these rules are trivial, for an OpenCL pattern means what its algorithmic counterpart means.
They are directed because which one applies depends on the place in the program: the extractor chooses
among them by context, and the compiler refuses a term that nests them in a way OpenCL does not have.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.families import Among, variants
from relift.rewrites.notation import A, B, d, k, m, n, size, step
from relift.rewrites.rule import rule
from relift.semantics.indices.functions import reorder_stride
from relift.semantics.language.multidimensional import slide_nd
from relift.semantics.language.vocabulary import (
    circular_buffer,
    gather,
    join,
    let,
    map,
    map_glb,
    map_lane,
    map_lcl,
    map_seq,
    map_seq_slide,
    map_seq_unroll,
    map_warp,
    map_wrg,
    reduce,
    reduce_seq,
    reduce_seq_unroll,
    rotate_values,
    slide,
    split,
    to_local,
    to_private,
    transpose,
)
from relift.semantics.patterns import EachInTurn, EachOf, Fold, Store
from relift.semantics.syntax.signatures import Fun, Op

_SOURCE = "LIFT, ICFP'15, OpenCL rules"


def _nested(outer: Any, inner: Any) -> Any:
    """A map over chunks at one level, and over their elements at another."""
    return lambda f, chunks: outer(0)(lambda c: inner(0)(f, c), chunks)


Level = variants(EachOf, lambda each: each.level)
Levels = Among({"wrg_lcl": _nested(map_wrg, map_lcl), "warp_lane": _nested(map_warp, map_lane)})
Loop = variants(EachInTurn, lambda each: each.name.removeprefix("map_"))
Turns = variants(Fold, lambda fold: fold.name.removeprefix("reduce_seq_"), but="reduce_seq")
Space = variants(Store, lambda store: str(store.space))

# ---- who computes


@rule(lowering=True, source=_SOURCE + "; LIFT and RISE, map to {loop}")
def map_to_loop(loop: Loop, f: Fun[A, B], xs: A[n]):
    """One work-item computes the elements, in a loop ({loop})."""
    return map(f, xs), loop(f, xs)


@rule(lowering=True, choose=(d,), source=_SOURCE + "; LIFT and RISE, map to {level}")
def map_to_level(level: Level, f: Fun[A, B], xs: A[n]):
    """Each unit of a level ({level}), in dimension d, computes one element."""
    return map(f, xs), level(d)(f, xs)


@rule(lowering=True, source="LIFT MapSeqUnroll of a loop")
def map_seq_to_unroll(f: Fun[A, B], xs: A[n]):
    """A loop is written out."""
    return map_seq(f, xs), map_seq_unroll(f, xs)


@rule(lowering=True, source="RISE reduceSeqUnroll on reduce")
def reduce_to_seq_unroll(op: Op[A], z: A, xs: A[n]):
    """A reduction in order, its loop written out."""
    return reduce(op, z, xs), reduce_seq_unroll(lambda acc, x: op(acc, x), z, xs)


@rule(
    lowering=True,
    source="LIFT reduceSeqUnroll; RISE reduceSeqUnroll, unroll, ocl.reduceSeqUnroll; Tan et al., SC'11 (ahead)",
)
def reduce_seq_to_turns(turns: Turns, f: Fun[B, A, B], z: B, xs: A[n]):
    """The loop of a reduction is written out, or a turn fetches what the next one reads from local memory ({turns})."""
    return reduce_seq(f, z, xs), turns(f, z, xs)


# ---- loops over chunks


@rule(lowering=True, source="LIFT splitJoinMapSeq, with its missing guard")
def map_seq_split_join(f: Fun[A, B], xs: A[k * m]):
    """A loop becomes two, one inside the other."""
    return map_seq(f, xs), join(map_seq(lambda c: map_seq(f, c), split(m, xs)))


@rule(lowering=True, choose=(m,), source="LIFT, ICFP'15, OpenCL rules: {levels}")
def map_to_levels(levels: Levels, f: Fun[A, B], xs: A[k * m]):
    """Each unit of the outer level takes a chunk, each unit in it an element ({levels})."""
    return map(f, xs), join(levels(f, split(m, xs)))


@rule(lowering=True, choose=(m,), source="LIFT, CGO'17: a work-item that computes several elements")
def map_to_glb_seq(f: Fun[A, B], xs: A[k * m]):
    """Each work-item takes a chunk, and goes through it in a loop."""
    return map(f, xs), join(map_glb(0)(lambda c: map_seq(f, c), split(m, xs)))


@rule(lowering=True, choose=(m,), source="LIFT, ICFP'15: coalesced access by strides")
def map_to_glb_strided(f: Fun[A, B], xs: A[m * (k + 1)]):
    """Each work-item takes every m-th element, so that neighbours read neighbours."""
    strided = split(k + 1, gather(reorder_stride(m), xs))
    return map(f, xs), join(transpose(map_glb(0)(lambda c: map_seq(f, c), strided)))


# ---- windows in a loop


@rule(lowering=True, source="LIFT mapSeqSlide; LIFT docs/rules.rst, slideSeqPlus")
def map_slide_to_map_seq_slide(f: Fun[A[size], B], xs: A[size + k * step]):
    """A loop over windows keeps the window in registers."""
    return map(f, slide(size, step, xs)), map_seq_slide(size, step, f, xs)


@rule(lowering=True, source="LIFT mapSeqSlideSeq")
def map_seq_slide_fusion(f: Fun[A[size], B], xs: A[size + k * step]):
    """A loop that already runs over windows keeps the window in registers."""
    return map_seq(f, slide(size, step, xs)), map_seq_slide(size, step, f, xs)


@rule(lowering=True, source="LIFT MapSeqSlideRewrite mapSeqSlide2DSeq, mapSeqSlide2D, "
      "with their missing transpose of the window")  # fmt: skip
def map_seq_slide_2d(
    f: Fun[A[size, size], B], xss: A[size + k * step, size + m * step]
):  # fmt: skip
    """A row of windows is one loop that keeps columns in registers."""
    return (
        map(lambda row: map(f, row), slide_nd((size, size), (step, step), xss)),
        map(
            lambda rows: map_seq_slide(
                size, step, lambda columns: f(transpose(columns)), transpose(rows)
            ),
            slide(size, step, xss),
        ),
    )


@rule(lowering=True, source="LIFT MapSeqSlideRewrite mapSeqSlide3DSlideND, mapSeqSlide3DSlideNDSeq")
def map_seq_slide_3d(
    f: Fun[A[size, size, size], B], xsss: A[size + k, size + k, size + m]
):  # fmt: skip
    """Windows of three dimensions: the loop runs along the innermost."""
    return (
        map(lambda p: map(lambda r: map(f, r), p), slide_nd((size,) * 3, (1,) * 3, xsss)),
        map(
            lambda planes: map(
                lambda rows: map_seq_slide(
                    size,
                    1,
                    lambda columns: f(transpose(map(transpose, transpose(columns)))),
                    transpose(map(transpose, rows)),
                ),
                slide(size, 1, transpose(planes)),
            ),
            slide(size, 1, xsss),
        ),
    )  # fmt: skip


@rule(lowering=True, source="RISE circularBuffer, ocl.circularBuffer, circular-buffer")
def slide_to_circular_buffer(xs: A[size + k]):
    """Windows at every index are kept in a ring buffer."""
    return slide(size, 1, xs), circular_buffer(size, lambda x: x, xs)


@rule(lowering=True, source="RISE circularBuffer with circularBufferLoadFusion")
def slide_map_to_circular_buffer(f: Fun[A, B], xs: A[size + k]):
    """Windows of results are computed as they are loaded into a ring buffer."""
    return slide(size, 1, map(f, xs)), circular_buffer(size, f, xs)


@rule(lowering=True, source="RISE rotateValues, ocl.rotateValues, rotate-values-scalar")
def slide_to_rotate_values(xs: A[size + k]):
    """Windows at every index are kept in rotating registers."""
    return slide(size, 1, xs), rotate_values(size, xs)


# ---- where it is stored


@rule(lowering=True, source=_SOURCE + "; LIFT {space}Memory")
def store_space(space: Space, xs: A):
    """A result is written to {space} memory."""
    return xs, space(xs)


@rule(lowering=True, source="LIFT macro rule userFunCompositionToPrivate")
def composition_through_private(f: Fun[B, A], g: Fun[A, B], x: A):
    """The value between two functions is kept in registers."""
    return f(g(x)), f(to_private(g(x)))


@rule(lowering=True, source="RISE storeToMem, toMemAfterMapSeq, toMemAfter, store-to-mem")
def store_and_name(xs: A):
    """A result is written to memory once, and read by name."""
    return xs, let(lambda ys: ys, to_local(xs))


@rule(lowering=True, source="RISE toMemBefore; LIFT addIdForMapParam")
def store_before_map(f: Fun[A, B], xs: A[n]):
    """The elements are copied to registers before they are used."""
    return map(f, xs), map(lambda x: f(to_private(x)), xs)


@rule(lowering=True, source="LIFT CopyRules implementOneLevelOfId, addId; RISE insertCopyAfter")
def insert_copy(xs: A[n]):
    """An array that is only rearranged is copied element by element."""
    return xs, map(lambda x: x, xs)


@rule(lowering=True, source="RISE mapSeqUnrollWrite, map-seq-unroll-write")
def insert_copy_unrolled(xs: A[n]):
    """A short array is copied by a loop that is written out."""
    return xs, map_seq_unroll(lambda x: x, xs)


@rule(lowering=True, source="RISE map-seq-unroll-map-seq-write; LIFT implementIdAsDeepCopy")
def insert_copy_of_rows(xss: A[n, m]):
    """Rows are copied element by element."""
    return xss, map_seq_unroll(lambda xs: map_seq(lambda x: x, xs), xss)
