"""OpenCL patterns: who computes, and where it is stored; their values are those of algorithmic patterns."""

# pyright: reportUnboundVariable=false, reportUnusedImport=false
# (in a class body `m` is the schema size `m` above: the annotation of the field binds nothing)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from relift.semantics.indices.algebra import Algebra
from relift.semantics.patterns.algorithmic import FOLD, MAP, each, each_viewed, fold, fold_viewed
from relift.semantics.patterns.layout import windows, windows_viewed
from relift.semantics.patterns.letters import a, b, k, n, size, step, width
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.signatures import Dimension, Fun, Nat, Signature, Width
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Lambda, Pattern, Term
from relift.semantics.syntax.types import Vector

_MAP_IN = Signature({"dim": Dimension, "f": Fun[a, b], "xs": a[n]}, b[n])


def _same(xs: Any) -> Any:
    return xs


# ---- OpenCL: who computes


@dataclass(frozen=True)
class MapSeq(Pattern):
    """`map_seq(f, xs)`: `map` as a loop in one work-item.

    Law: map_seq(f, xs) == map(f, xs).
    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("map_seq(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    f: Lambda
    xs: Term
    name: ClassVar = "map_seq"
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    compiled: ClassVar = True
    searched: ClassVar = True
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = MAP
    meaning: ClassVar = staticmethod(each)


@dataclass(frozen=True)
class MapGlb(Pattern):
    """`map_glb(dim)(f, xs)`: `map` over the work-items of dimension `dim`, across all work-groups.

    Law: map_glb(d)(f, xs) == map(f, xs).
    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("map_glb(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    dim: Size
    f: Lambda
    xs: Term
    name: ClassVar = "map_glb"
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    compiled: ClassVar = True
    searched: ClassVar = True
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = _MAP_IN
    meaning: ClassVar = staticmethod(each)


@dataclass(frozen=True)
class MapWrg(Pattern):
    """`map_wrg(dim)(f, xs)`: `map` over the work-groups of dimension `dim`.

    Law: map_wrg(d)(f, xs) == map(f, xs).
    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("map_wrg(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    dim: Size
    f: Lambda
    xs: Term
    name: ClassVar = "map_wrg"
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    compiled: ClassVar = True
    searched: ClassVar = True
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = _MAP_IN
    meaning: ClassVar = staticmethod(each)


@dataclass(frozen=True)
class MapLcl(Pattern):
    """`map_lcl(dim)(f, xs)`: `map` over the work-items of dimension `dim` of one work-group.

    Law: map_lcl(d)(f, xs) == map(f, xs).
    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("map_lcl(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    dim: Size
    f: Lambda
    xs: Term
    name: ClassVar = "map_lcl"
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    compiled: ClassVar = True
    searched: ClassVar = True
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = _MAP_IN
    meaning: ClassVar = staticmethod(each)


@dataclass(frozen=True)
class MapSeqUnroll(Pattern):
    """`map_seq_unroll(f, xs)`: `map_seq` with the loop written out.

    Law: map_seq_unroll(f, xs) == map(f, xs).
    Source: LIFT (`MapSeqUnroll`), RISE (`mapSeqUnroll`).

    >>> interpret("map_seq_unroll(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    f: Lambda
    xs: Term
    name: ClassVar = "map_seq_unroll"
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    compiled: ClassVar = True
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = MAP
    meaning: ClassVar = staticmethod(each)


@dataclass(frozen=True)
class MapWarp(Pattern):
    """`map_warp(dim)(f, xs)`: `map` over the warps of a work-group.

    Law: map_warp(d)(f, xs) == map(f, xs).
    Source: LIFT (`MapWarp`), RISE (`mapWarp`).

    >>> interpret("map_warp(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    dim: Size
    f: Lambda
    xs: Term
    name: ClassVar = "map_warp"
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    instead: ClassVar = "OpenCL has no warps; use map_lcl"
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = _MAP_IN
    meaning: ClassVar = staticmethod(each)


@dataclass(frozen=True)
class MapLane(Pattern):
    """`map_lane(dim)(f, xs)`: `map` over the lanes of a warp.

    Law: map_lane(d)(f, xs) == map(f, xs).
    Source: LIFT (`MapLane`), RISE (`mapLane`).

    >>> interpret("map_lane(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    dim: Size
    f: Lambda
    xs: Term
    name: ClassVar = "map_lane"
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    instead: ClassVar = "OpenCL has no warps; use map_lcl"
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = _MAP_IN
    meaning: ClassVar = staticmethod(each)


@dataclass(frozen=True)
class MapStream(Pattern):
    """`map_stream(f, xs)`: `map` whose elements are computed when they are asked for.

    Law: map_stream(f, xs) == map(f, xs).
    Source: RISE (`mapStream`).

    >>> interpret("map_stream(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    f: Lambda
    xs: Term
    name: ClassVar = "map_stream"
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    instead: ClassVar = "use map_seq"
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = MAP
    meaning: ClassVar = staticmethod(each)


@dataclass(frozen=True)
class IterateStream(Pattern):
    """`iterate_stream(f, xs)`: `map` as the loop that asks a stream for its elements.

    Law: iterate_stream(f, xs) == map(f, xs).
    Source: RISE (`iterateStream`).

    >>> interpret("iterate_stream(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    f: Lambda
    xs: Term
    name: ClassVar = "iterate_stream"
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    instead: ClassVar = "use map_seq"
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = MAP
    meaning: ClassVar = staticmethod(each)


@dataclass(frozen=True)
class ReduceSeqUnroll(Pattern):
    """`reduce_seq_unroll(f, init, xs)`: `reduce_seq` with the loop written out.

    Law: reduce_seq_unroll(f, z, xs) == reduce_seq(f, z, xs).
    Source: LIFT (`ReduceSeqUnroll`), RISE (`reduceSeqUnroll`).

    >>> interpret("reduce_seq_unroll(lambda acc, x: acc * 10 + x, 0, xs)", xs=[1, 2, 3])
    123
    """

    f: Lambda
    init: Term
    xs: Term
    name: ClassVar = "reduce_seq_unroll"
    rocq: ClassVar = "reduce_seq {f} {init} {n} {xs}"
    rocq_defined: ClassVar = "fold_defined {f} {f_defined} {init} {n} {xs}"
    compiled: ClassVar = True
    view: ClassVar = staticmethod(fold_viewed)
    signature: ClassVar = FOLD
    meaning: ClassVar = staticmethod(fold)


@dataclass(frozen=True)
class MapSeqSlide(Pattern):
    """`map_seq_slide(size, step, f, xs)`: f on every window, in one loop that keeps the window in registers.

    Law: map_seq_slide(size, step, f, xs) == map_seq(f, slide(size, step, xs)).
    Rejects: what `slide` rejects.
    Source: LIFT (`MapSeqSlide`, whose interpreter reduces).

    >>> interpret("map_seq_slide(2, 1, lambda w: w[0] + w[1], xs)", xs=[1, 2, 3])
    [3, 5]
    """

    size: Size
    step: Size
    f: Lambda
    xs: Term
    name: ClassVar = "map_seq_slide"
    rocq: ClassVar = "map_slide {step} {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} ({k} + 1) (slide {step} {xs})"
    compiled: ClassVar = True
    signature: ClassVar = Signature(
        {"size": Nat, "step": Nat, "f": Fun[a[size], b], "xs": a[size + k * step]},
        b[k + 1],
        positive=(step,),
    )

    @staticmethod
    def meaning(size: int, step: int, f: Callable[[Any], Any], xs: list[Any]) -> list[Any]:
        return [f(window) for window in windows(size, step, xs)]

    @staticmethod
    def view(ix: Algebra, k: Any, size: Any, step: Any, f: Callable[[Any], Any], xs: Any) -> Any:
        found = windows_viewed(ix, k, size, step, xs)
        return ix.array(k + 1, lambda i: f(ix.at(found, i)))


@dataclass(frozen=True)
class CircularBuffer(Pattern):
    """`circular_buffer(size, f, xs)`: windows of `size` loaded elements f(x), one at every index.

    Law: circular_buffer(size, f, xs) == slide(size, 1, map(f, xs)).
    Source: RISE (`circularBuffer`, `oclCircularBuffer`); how much to allocate is left to the compiler.

    >>> interpret("circular_buffer(2, lambda x: x * 10, xs)", xs=[1, 2, 3])
    [[10, 20], [20, 30]]
    """

    size: Size
    f: Lambda
    xs: Term
    name: ClassVar = "circular_buffer"
    rocq: ClassVar = "circular_buffer {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} ({size} + {k}) {xs}"
    instead: ClassVar = "use map_seq_slide, or slide of an array in private memory"
    signature: ClassVar = Signature(
        {"size": Nat, "f": Fun[a, b], "xs": a[size + k]}, b[k + 1, size]
    )

    @staticmethod
    def meaning(size: int, f: Callable[[Any], Any], xs: list[Any]) -> list[list[Any]]:
        return windows(size, 1, [f(x) for x in xs])

    @staticmethod
    def view(ix: Algebra, k: Any, size: Any, f: Callable[[Any], Any], xs: Any) -> Any:
        loaded = ix.array(size + k, lambda i: f(ix.at(xs, i)))
        return windows_viewed(ix, k, size, 1, loaded)


@dataclass(frozen=True)
class RotateValues(Pattern):
    """`rotate_values(size, xs)`: windows of `size` elements, one at every index, in rotating registers.

    Law: rotate_values(size, xs) == slide(size, 1, xs).
    Source: RISE (`rotateValues`, `oclRotateValues`), which also takes the function that copies.

    >>> interpret("rotate_values(2, xs)", xs=[1, 2, 3])
    [[1, 2], [2, 3]]
    """

    size: Size
    xs: Term
    name: ClassVar = "rotate_values"
    rocq: ClassVar = "slide 1 {xs}"
    layout: ClassVar = True
    searched: ClassVar = False
    signature: ClassVar = Signature({"size": Nat, "xs": a[size + k]}, a[k + 1, size])

    @staticmethod
    def meaning(size: int, xs: list[Any]) -> list[list[Any]]:
        return windows(size, 1, xs)

    @staticmethod
    def view(ix: Algebra, k: Any, size: Any, xs: Any) -> Any:
        return windows_viewed(ix, k, size, 1, xs)


# ---- OpenCL: where it is stored


@dataclass(frozen=True)
class Store(Pattern):
    """xs, computed into memory of a `space`."""

    xs: Term
    space: ClassVar[Space]
    rocq: ClassVar = "store {xs}"
    compiled: ClassVar = True
    searched: ClassVar = True
    signature: ClassVar = Signature({"xs": a}, a)
    meaning: ClassVar = staticmethod(_same)

    @staticmethod
    def view(ix: Algebra, xs: Any) -> Any:
        return xs


@dataclass(frozen=True)
class ToGlobal(Store):
    """`to_global(xs)`: compute xs into global memory; between kernels, a buffer.

    Law: to_global(xs) == xs.
    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("to_global(xs)", xs=[1, 2])
    [1, 2]
    """

    name: ClassVar = "to_global"
    space: ClassVar = "global"


@dataclass(frozen=True)
class ToLocal(Store):
    """`to_local(xs)`: compute xs into the local memory of the work-group.

    Law: to_local(xs) == xs.
    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("to_local(xs)", xs=[1, 2])
    [1, 2]
    """

    name: ClassVar = "to_local"
    space: ClassVar = "local"


@dataclass(frozen=True)
class ToPrivate(Store):
    """`to_private(xs)`: compute xs into the private memory of the work-item.

    Law: to_private(xs) == xs.
    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("to_private(xs)", xs=[1, 2])
    [1, 2]
    """

    name: ClassVar = "to_private"
    space: ClassVar = "private"


# ---- OpenCL: vectors


def lanes_viewed(ix: Algebra, k: Any, width: Any, vs: Any) -> Any:
    """The view of the lanes of k vectors as one array."""
    return ix.array(
        k * width, lambda i: ix.lane(ix.at(vs, ix.divide(i, width)), ix.modulo(i, width))
    )


@dataclass(frozen=True)
class AsVector(Pattern):
    """`as_vector(width, xs)`: consecutive elements as the lanes of vectors; the width divides the length.

    Law: as_scalar(as_vector(w, xs)) == xs.
    Rejects: a width that does not divide the length.
    Source: LIFT, CGO'17, section 3.4.

    >>> interpret("as_vector(2, xs)", xs=[1, 2, 3, 4])
    [[1, 2], [3, 4]]
    """

    width: Size
    xs: Term
    name: ClassVar = "as_vector"
    rocq: ClassVar = "as_vector {width} {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature(
        {"width": Width, "xs": a[k * width]}, Vector(a, width)[k], positive=(width,)
    )

    @staticmethod
    def meaning(width: int, xs: list[Any]) -> list[Any]:
        return [xs[i : i + width] for i in range(0, len(xs), width)]

    @staticmethod
    def view(ix: Algebra, k: Any, width: Any, xs: Any) -> Any:
        def vector(i: Any) -> Any:
            return ix.vector(width, lambda j: ix.at(xs, ix.position(i, width, j)))

        return ix.array(k, vector)

    @staticmethod
    def inverse(ix: Algebra, target: Any, k: Any, width: Any) -> Any:
        return lanes_viewed(ix, k, width, target)


@dataclass(frozen=True)
class AsVectorAligned(Pattern):
    """`as_vector_aligned(width, xs)`: `as_vector` of an array that is aligned to whole vectors.

    Law: as_vector_aligned(w, xs) == as_vector(w, xs).
    Rejects: a width that does not divide the length.
    Source: RISE (`asVectorAligned`).

    >>> interpret("as_scalar(as_vector_aligned(2, xs))", xs=[1, 2, 3, 4])
    [1, 2, 3, 4]
    """

    width: Size
    xs: Term
    name: ClassVar = "as_vector_aligned"
    rocq: ClassVar = "as_vector {width} {xs}"
    layout: ClassVar = True
    searched: ClassVar = False
    view: ClassVar = staticmethod(AsVector.view)
    inverse: ClassVar = staticmethod(AsVector.inverse)
    signature: ClassVar = AsVector.signature
    meaning: ClassVar = staticmethod(AsVector.meaning)


@dataclass(frozen=True)
class AsScalar(Pattern):
    """`as_scalar(vs)`: the lanes of the vectors, one after the other.

    Law: as_vector(w, as_scalar(vs)) == vs.
    Source: LIFT, CGO'17, section 3.4.

    >>> interpret("as_scalar(as_vector(2, xs))", xs=[1, 2, 3, 4])
    [1, 2, 3, 4]
    """

    vs: Term
    name: ClassVar = "as_scalar"
    rocq: ClassVar = "as_scalar {width} {vs}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"vs": Vector(a, width)[k]}, a[k * width])

    @staticmethod
    def meaning(vs: list[list[Any]]) -> list[Any]:
        return [x for v in vs for x in v]

    @staticmethod
    def view(ix: Algebra, k: Any, width: Any, vs: Any) -> Any:
        return lanes_viewed(ix, k, width, vs)

    @staticmethod
    def inverse(ix: Algebra, target: Any, k: Any, width: Any) -> Any:
        return AsVector.view(ix, k, width, target)


@dataclass(frozen=True)
class MapVec(Pattern):
    """`map_vec(f, v)`: f on every lane of a vector, in one vector instruction where f is arithmetic.

    Law: as_scalar(map(lambda v: map_vec(f, v), as_vector(w, xs))) == map(f, xs).
    Source: RISE (`mapVec`); LIFT's `vectorize`.

    >>> interpret("as_scalar(map(lambda v: map_vec(lambda x: x + 1, v), as_vector(2, xs)))", xs=[1, 2])
    [2, 3]
    """

    f: Lambda
    v: Term
    name: ClassVar = "map_vec"
    rocq: ClassVar = "map {f} {v}"
    rocq_defined: ClassVar = "map_defined {f_defined} {width} {v}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"f": Fun[a, b], "v": Vector(a, width)}, Vector(b, width))

    @staticmethod
    def meaning(f: Callable[[Any], Any], v: list[Any]) -> list[Any]:
        return [f(x) for x in v]

    @staticmethod
    def view(ix: Algebra, v: Any, f: Callable[[Any], Any], width: Any) -> Any:
        return ix.vector(width, lambda i: f(ix.lane(v, i)))


@dataclass(frozen=True)
class Splat(Pattern):
    """`splat(width, x)`: the vector whose lanes are all x.

    Law: map_vec(f, splat(w, x)) == splat(w, f(x)).
    Source: RISE (`vectorFromScalar`).

    >>> interpret("as_scalar(repeat(1, splat(4, x)))", x=7)
    [7, 7, 7, 7]
    """

    width: Size
    x: Term
    name: ClassVar = "splat"
    rocq: ClassVar = "repeat {x}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"width": Width, "x": a}, Vector(a, width), positive=(width,))

    @staticmethod
    def meaning(width: int, x: Any) -> list[Any]:
        return [x] * width

    @staticmethod
    def view(ix: Algebra, width: Any, x: Any) -> Any:
        return ix.vector(width, lambda i: x)
