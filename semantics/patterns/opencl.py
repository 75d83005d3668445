"""OpenCL patterns: who computes, and where it is stored; their values are those of algorithmic patterns."""

# pyright: reportUnboundVariable=false, reportUnusedImport=false
# (in a class body `m` is the schema size `m` above: the annotation of the field binds nothing)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from relift.semantics.indices.algebra import Algebra
from relift.semantics.patterns.algorithmic import Each, each, each_viewed
from relift.semantics.patterns.layout import windows, windows_viewed
from relift.semantics.patterns.letters import a, b, k, n, size, step
from relift.semantics.patterns.sequential import Fold
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.signatures import Dimension, Fun, Nat, Signature
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Lambda, Pattern, Term


def _same(xs: Any) -> Any:
    return xs


# ---- OpenCL: who computes


@dataclass(frozen=True)
class EachOf(Pattern):
    """f on every element, each by another work-item, or work-group, of a dimension.

    These are called `items` in a kernel, and see one array in the address spaces that they share.
    """

    dim: Size
    f: Lambda
    xs: Term
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = Signature({"dim": Dimension, "f": Fun[a, b], "xs": a[n]}, b[n])
    meaning: ClassVar = staticmethod(each)
    items: ClassVar[str]
    shares: ClassVar[frozenset[Space]]


@dataclass(frozen=True)
class MapSeq(Each):
    """`map_seq(f, xs)`: `map` as a loop in one work-item.

    Law: map_seq(f, xs) == map(f, xs).
    Source: LIFT, CGO'17, section 3.3.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map_seq(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    name: ClassVar = "map_seq"
    compiled: ClassVar = True
    searched: ClassVar = True


@dataclass(frozen=True)
class MapGlb(EachOf):
    """`map_glb(dim)(f, xs)`: `map` over the work-items of dimension `dim`, across all work-groups.

    Law: map_glb(d)(f, xs) == map(f, xs).
    Source: LIFT, CGO'17, section 3.3.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map_glb(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    name: ClassVar = "map_glb"
    compiled: ClassVar = True
    searched: ClassVar = True
    items: ClassVar = "glb"
    shares: ClassVar = frozenset(["global"])


@dataclass(frozen=True)
class MapWrg(EachOf):
    """`map_wrg(dim)(f, xs)`: `map` over the work-groups of dimension `dim`.

    Law: map_wrg(d)(f, xs) == map(f, xs).
    Source: LIFT, CGO'17, section 3.3.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map_wrg(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    name: ClassVar = "map_wrg"
    compiled: ClassVar = True
    searched: ClassVar = True
    items: ClassVar = "wrg"
    shares: ClassVar = frozenset(["global"])


@dataclass(frozen=True)
class MapLcl(EachOf):
    """`map_lcl(dim)(f, xs)`: `map` over the work-items of dimension `dim` of one work-group.

    Law: map_lcl(d)(f, xs) == map(f, xs).
    Source: LIFT, CGO'17, section 3.3.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map_lcl(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    name: ClassVar = "map_lcl"
    compiled: ClassVar = True
    searched: ClassVar = True
    items: ClassVar = "lcl"
    shares: ClassVar = frozenset(["global", "local"])


@dataclass(frozen=True)
class MapSeqUnroll(Each):
    """`map_seq_unroll(f, xs)`: `map_seq` with the loop written out.

    Law: map_seq_unroll(f, xs) == map(f, xs).
    Source: LIFT (`MapSeqUnroll`), RISE (`mapSeqUnroll`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map_seq_unroll(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    name: ClassVar = "map_seq_unroll"
    compiled: ClassVar = True


@dataclass(frozen=True)
class MapWarp(EachOf):
    """`map_warp(dim)(f, xs)`: `map` over the warps of a work-group.

    Law: map_warp(d)(f, xs) == map(f, xs).
    Source: LIFT (`MapWarp`), RISE (`mapWarp`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map_warp(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    name: ClassVar = "map_warp"
    instead: ClassVar = "OpenCL has no warps; use map_lcl"


@dataclass(frozen=True)
class MapLane(EachOf):
    """`map_lane(dim)(f, xs)`: `map` over the lanes of a warp.

    Law: map_lane(d)(f, xs) == map(f, xs).
    Source: LIFT (`MapLane`), RISE (`mapLane`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map_lane(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    name: ClassVar = "map_lane"
    instead: ClassVar = "OpenCL has no warps; use map_lcl"


@dataclass(frozen=True)
class MapStream(Each):
    """`map_stream(f, xs)`: `map` whose elements are computed when they are asked for.

    Law: map_stream(f, xs) == map(f, xs).
    Source: RISE (`mapStream`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map_stream(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    name: ClassVar = "map_stream"
    instead: ClassVar = "use map_seq"


@dataclass(frozen=True)
class IterateStream(Each):
    """`iterate_stream(f, xs)`: `map` as the loop that asks a stream for its elements.

    Law: iterate_stream(f, xs) == map(f, xs).
    Source: RISE (`iterateStream`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("iterate_stream(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    name: ClassVar = "iterate_stream"
    instead: ClassVar = "use map_seq"


@dataclass(frozen=True)
class ReduceSeqUnroll(Fold):
    """`reduce_seq_unroll(f, init, xs)`: `reduce_seq` with the loop written out.

    Law: reduce_seq_unroll(f, z, xs) == reduce_seq(f, z, xs).
    Source: LIFT (`ReduceSeqUnroll`), RISE (`reduceSeqUnroll`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("reduce_seq_unroll(lambda acc, x: acc * 10 + x, 0, xs)", xs=[1, 2, 3])
    123
    """

    name: ClassVar = "reduce_seq_unroll"
    compiled: ClassVar = True


@dataclass(frozen=True)
class MapSeqSlide(Pattern):
    """`map_seq_slide(size, step, f, xs)`: f on every window, in one loop that keeps the window in registers.

    Law: map_seq_slide(size, step, f, xs) == map_seq(f, slide(size, step, xs)).
    Rejects: what `slide` rejects.
    Source: LIFT (`MapSeqSlide`, whose interpreter reduces).

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("to_private(xs)", xs=[1, 2])
    [1, 2]
    """

    name: ClassVar = "to_private"
    space: ClassVar = "private"
