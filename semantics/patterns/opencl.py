"""OpenCL patterns: who computes, and where it is stored; their values are those of algorithmic patterns."""

# pyright: reportUnboundVariable=false, reportUnusedImport=false
# (in a class body `m` is the schema size `m` above: the annotation of the field binds nothing)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, TypeGuard

from relift.semantics.indices.algebra import Algebra
from relift.semantics.patterns.algorithmic import Each, each, each_viewed
from relift.semantics.patterns.layout import windows, windows_viewed
from relift.semantics.patterns.letters import a, b, k, n, size, step
from relift.semantics.patterns.sequential import Fold
from relift.semantics.patterns.variants import variant
from relift.semantics.syntax.memory import Space, shared_by
from relift.semantics.syntax.signatures import Dimension, Fun, Nat, Signature
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Lambda, Pattern, Term, children
from relift.semantics.syntax.types import holds_array


def _same(xs: Any) -> Any:
    return xs


# ---- OpenCL: who computes

Level: TypeAlias = Literal["glb", "wrg", "lcl", "warp", "lane"]
"""The work-items of a device, its work-groups, the work-items of a group; warps of a group, lanes of a warp."""

_LIFT = "LIFT, CGO'17, section 3.3"


class InTurn(Pattern):
    """f on one thing after the other in one work-item, of what xs holds."""

    f: Lambda
    xs: Term
    fills: ClassVar = True


@dataclass(frozen=True)
class EachInTurn(Each, InTurn):
    """f on every element, one after the other in one work-item, in a loop that may be `unrolled`."""


@dataclass(frozen=True)
class EachOf(Pattern):
    """f on every element, each by another unit of a `level` of OpenCL, in a dimension of it.

    What one unit writes the others see in the address spaces that they share.
    """

    dim: Size
    f: Lambda
    xs: Term
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = Signature({"dim": Dimension, "f": Fun[a, b], "xs": a[n]}, b[n])
    meaning: ClassVar = staticmethod(each)
    loop: ClassVar = "map"
    fills: ClassVar = True
    level: ClassVar[Level]
    shares: ClassVar[frozenset[Space]]


def _page(name: str, dimension: str, what: str, source: str) -> str:
    """What is said of a map that says who computes."""
    return f"""`{name}{"(dim)" * bool(dimension)}(f, xs)`: {what}.

    Law: {name}{"(d)" * bool(dimension)}(f, xs) == map(f, xs).
    Source: {source}.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("{name}{dimension}(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """


def _in_turn(name: str, what: str, source: str, **fields: Any) -> type[EachInTurn]:
    """`map` in one work-item, in a loop of some form."""
    return variant(EachInTurn, name, _page(name, "", what, source), **fields)


def _across(level: Level, units: str, source: str, **fields: Any) -> type[EachOf]:
    """`map` over the units of a level."""
    name = f"map_{level}"
    page = _page(name, "(0)", f"`map` over the {units}", source)
    return variant(EachOf, name, page, level=level, **fields)


_KERNELS: dict[str, Any] = {"compiled": True, "searched": True}
_NO_WARPS = "OpenCL has no warps; use map_lcl"
_EACH_OTHERS = shared_by("device")
_A_GROUPS = shared_by("device", "group")

MapSeq = _in_turn("map_seq", "`map` as a loop in one work-item", _LIFT, **_KERNELS)
MapGlb = _across(
    "glb",
    "work-items of dimension `dim`, across all work-groups",
    _LIFT,
    shares=_EACH_OTHERS,
    **_KERNELS,
)
MapWrg = _across("wrg", "work-groups of dimension `dim`", _LIFT, shares=_EACH_OTHERS, **_KERNELS)
MapLcl = _across(
    "lcl", "work-items of dimension `dim` of one work-group", _LIFT, shares=_A_GROUPS, **_KERNELS
)
MapSeqUnroll = _in_turn(
    "map_seq_unroll",
    "`map_seq` with the loop written out",
    "LIFT (`MapSeqUnroll`), RISE (`mapSeqUnroll`)",
    unrolled=True,
    compiled=True,
)
MapWarp = _across(
    "warp", "warps of a work-group", "LIFT (`MapWarp`), RISE (`mapWarp`)", instead=_NO_WARPS
)
MapLane = _across(
    "lane", "lanes of a warp", "LIFT (`MapLane`), RISE (`mapLane`)", instead=_NO_WARPS
)
MapStream = _in_turn(
    "map_stream",
    "`map` whose elements are computed when they are asked for",
    "RISE (`mapStream`)",
    instead="use map_seq",
)
IterateStream = _in_turn(
    "iterate_stream",
    "`map` as the loop that asks a stream for its elements",
    "RISE (`iterateStream`)",
    instead="use map_seq",
)
ReduceSeqUnroll = variant(
    Fold,
    "reduce_seq_unroll",
    """`reduce_seq_unroll(f, init, xs)`: `reduce_seq` with the loop written out.

    Law: reduce_seq_unroll(f, z, xs) == reduce_seq(f, z, xs).
    Source: LIFT (`ReduceSeqUnroll`), RISE (`reduceSeqUnroll`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("reduce_seq_unroll(lambda acc, x: acc * 10 + x, 0, xs)", xs=[1, 2, 3])
    123
    """,
    unrolled=True,
    compiled=True,
    __module__=__name__,
)


ReduceSeqAhead = variant(
    Fold,
    "reduce_seq_ahead",
    """`reduce_seq_ahead(f, init, xs)`: `reduce_seq` whose steps fill local memory, each for the next one while it computes.

    Law: reduce_seq_ahead(f, z, xs) == reduce_seq(f, z, xs).
    Source: Tan et al., SC'11; CUTLASS (software pipelining).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("reduce_seq_ahead(lambda acc, x: acc * 10 + x, 0, xs)", xs=[1, 2, 3])
    123
    """,
    ahead=True,
    compiled=True,
    __module__=__name__,
)


@dataclass(frozen=True)
class MapSeqSlide(InTurn):
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
    signature: ClassVar = Signature({"xs": a}, a)
    meaning: ClassVar = staticmethod(_same)

    @staticmethod
    def view(ix: Algebra, xs: Any) -> Any:
        return xs


def in_group_memory(t: Term | Lambda) -> TypeGuard[Store]:
    """Whether a term is stored where all of its work-group see it."""
    return isinstance(t, Store) and t.space.of_group


def shown_of_group(t: Term) -> Store | None:
    """What a term shows rearranged, where that is stored so that all of a work-group see it."""
    while isinstance(t, Pattern) and t.layout and not isinstance(t, Store):
        arrays = [u for _, u in children(t) if not isinstance(u, Lambda) and holds_array(u.type)]
        if len(arrays) != 1:
            return None
        (t,) = arrays
    return t if in_group_memory(t) else None


def _into(space: Space) -> type[Store]:
    """Storing in a space."""
    name = f"to_{space}"
    page = f"""`{name}(xs)`: compute xs into {space.page}.

    Law: {name}(xs) == xs.
    Source: {_LIFT}.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("{name}(xs)", xs=[1, 2])
    [1, 2]
    """
    return variant(Store, name, page, space=space, keeps=space.of_device, **_KERNELS)


ToGlobal = _into(Space.GLOBAL)
ToLocal = _into(Space.LOCAL)
ToPrivate = _into(Space.PRIVATE)
