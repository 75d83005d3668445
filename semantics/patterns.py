"""The patterns: name, typing rule, meaning, documentation, each in one place.

Arrays mean Python lists, tuples mean tuples, vectors mean lists of their lanes.  `meaning` is a function of
the pattern's parameters, by name, and of any size that its signature names.  OpenCL patterns mean what
their algorithmic counterpart means: where something is computed or stored changes no value.

Sources: LIFT (CGO'17) section 3; RISE where it is more exact (a window ends at the end, chunks divide).
"""

# pyright: reportUnboundVariable=false
# (in a class body `m` is the schema size `m` above: the annotation of the field binds nothing)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from relift.semantics.signatures import (
    Dimension,
    Fun,
    Nat,
    Op,
    Signature,
    Width,
    schema_size,
    schema_type,
)
from relift.semantics.sizes import Size
from relift.semantics.terms import Lambda, Operator, Pattern, Term
from relift.semantics.types import Tuple, Vector

a, b = schema_type("a"), schema_type("b")
n, m, k, r = schema_size("n"), schema_size("m"), schema_size("k"), schema_size("r")
size, step, left, right, index, width = map(
    schema_size, ("size", "step", "left", "right", "index", "width")
)


def _each(f: Callable[[Any], Any], xs: list[Any]) -> list[Any]:
    return [f(x) for x in xs]


_MAP = Signature({"f": Fun[a, b], "xs": a[n]}, b[n])
_MAP_IN = Signature({"dim": Dimension, "f": Fun[a, b], "xs": a[n]}, b[n])


def _same(xs: Any) -> Any:
    return xs


# ---- algorithmic patterns


@dataclass(frozen=True)
class Map(Pattern):
    """`map(f, xs)`: f on every element.

    Source: LIFT, CGO'17, section 3.1.

    >>> interpret("map(lambda x: x + 1, xs)", xs=[1, 2, 3])
    [2, 3, 4]
    """

    f: Lambda
    xs: Term
    name: ClassVar = "map"
    signature: ClassVar = _MAP
    meaning: ClassVar = staticmethod(_each)


@dataclass(frozen=True)
class Zip(Pattern):
    """`zip(xs, ys)`: pairs of elements at the same index, of two arrays of one length.

    Source: LIFT, CGO'17, section 3.1; unequal lengths are an error, as in RISE.

    >>> interpret("zip(xs, ys)", xs=[1, 2], ys=[3, 4])
    [(1, 3), (2, 4)]
    """

    xs: Term
    ys: Term
    name: ClassVar = "zip"
    signature: ClassVar = Signature({"xs": a[n], "ys": b[n]}, Tuple((a, b))[n])

    @staticmethod
    def meaning(xs: list[Any], ys: list[Any]) -> list[Any]:
        return list(zip(xs, ys, strict=True))


@dataclass(frozen=True)
class Reduce(Pattern):
    """`reduce(op, init, xs)`: all elements combined, from the left, starting with `init`; one value.

    Source: LIFT, CGO'17, section 3.1, whose result is an array of length 1; ours is RISE's scalar.

    >>> interpret("reduce(add, 0, xs)", xs=[1, 2, 3])
    6
    """

    op: Operator
    init: Term
    xs: Term
    name: ClassVar = "reduce"
    signature: ClassVar = Signature({"op": Op[a], "init": a, "xs": a[n]}, a)

    @staticmethod
    def meaning(op: Callable[[Any, Any], Any], init: Any, xs: list[Any]) -> Any:
        for x in xs:
            init = op(init, x)
        return init


# ---- data layout


@dataclass(frozen=True)
class Split(Pattern):
    """`split(m, xs)`: consecutive chunks of m elements; m divides the length.

    Source: LIFT, CGO'17, section 3.2.

    >>> interpret("split(2, xs)", xs=[1, 2, 3, 4])
    [[1, 2], [3, 4]]
    """

    m: Size
    xs: Term
    name: ClassVar = "split"
    signature: ClassVar = Signature({"m": Nat, "xs": a[k * m]}, a[k, m], positive=(m,))

    @staticmethod
    def meaning(m: int, xs: list[Any]) -> list[Any]:
        return [xs[i : i + m] for i in range(0, len(xs), m)]


@dataclass(frozen=True)
class Join(Pattern):
    """`join(xss)`: the rows one after the other.

    Source: LIFT, CGO'17, section 3.2.

    >>> interpret("join(xss)", xss=[[1, 2], [3, 4]])
    [1, 2, 3, 4]
    """

    xss: Term
    name: ClassVar = "join"
    signature: ClassVar = Signature({"xss": a[k, m]}, a[k * m])

    @staticmethod
    def meaning(xss: list[list[Any]]) -> list[Any]:
        return [x for xs in xss for x in xs]


@dataclass(frozen=True)
class Transpose(Pattern):
    """`transpose(xss)`: rows become columns.

    Source: LIFT, CGO'17, section 3.2 (there a gather and a split).

    >>> interpret("transpose(xss)", xss=[[1, 2, 3], [4, 5, 6]])
    [[1, 4], [2, 5], [3, 6]]
    """

    xss: Term
    name: ClassVar = "transpose"
    signature: ClassVar = Signature({"xss": a[n, m]}, a[m, n])

    @staticmethod
    def meaning(xss: list[list[Any]], m: int) -> list[list[Any]]:
        return [[xs[j] for xs in xss] for j in range(m)]


@dataclass(frozen=True)
class Slide(Pattern):
    """`slide(size, step, xs)`: windows of `size` elements, one every `step`; the last ends at the end.

    Source: LIFT stencils, CGO'18; the exact end is RISE's.

    >>> interpret("slide(3, 1, xs)", xs=[1, 2, 3, 4])
    [[1, 2, 3], [2, 3, 4]]
    """

    size: Size
    step: Size
    xs: Term
    name: ClassVar = "slide"
    signature: ClassVar = Signature(
        {"size": Nat, "step": Nat, "xs": a[size + k * step]}, a[k + 1, size], positive=(step,)
    )

    @staticmethod
    def meaning(size: int, step: int, xs: list[Any]) -> list[list[Any]]:
        return [xs[i : i + size] for i in range(0, len(xs) - size + 1, step)]


@dataclass(frozen=True)
class PadClamp(Pattern):
    """`pad(left, right, clamp, xs)`: repeat the first element on the left, the last on the right.

    Source: LIFT stencils, CGO'18; an empty array has no border and is refused.

    >>> interpret("pad(1, 2, clamp, xs)", xs=[1, 2, 3])
    [1, 1, 2, 3, 3, 3]
    """

    left: Size
    right: Size
    xs: Term
    name: ClassVar = "pad_clamp"
    signature: ClassVar = Signature(
        {"left": Nat, "right": Nat, "xs": a[n]}, a[left + n + right], positive=(n,)
    )

    @staticmethod
    def meaning(left: int, right: int, xs: list[Any]) -> list[Any]:
        last = len(xs) - 1
        return [xs[min(max(i - left, 0), last)] for i in range(left + len(xs) + right)]


@dataclass(frozen=True)
class PadConstant(Pattern):
    """`pad(left, right, value, xs)`: `value` on both sides.

    Source: LIFT stencils, CGO'18.

    >>> interpret("pad(1, 2, 0, xs)", xs=[1, 2, 3])
    [0, 1, 2, 3, 0, 0]
    """

    left: Size
    right: Size
    value: Term
    xs: Term
    name: ClassVar = "pad_constant"
    signature: ClassVar = Signature(
        {"left": Nat, "right": Nat, "value": a, "xs": a[n]}, a[left + n + right]
    )

    @staticmethod
    def meaning(left: int, right: int, value: Any, xs: list[Any]) -> list[Any]:
        return [value] * left + xs + [value] * right


@dataclass(frozen=True)
class Take(Pattern):
    """`take(m, xs)`: the first m elements.

    Source: RISE.

    >>> interpret("take(2, xs)", xs=[1, 2, 3])
    [1, 2]
    """

    m: Size
    xs: Term
    name: ClassVar = "take"
    signature: ClassVar = Signature({"m": Nat, "xs": a[m + r]}, a[m])

    @staticmethod
    def meaning(m: int, xs: list[Any]) -> list[Any]:
        return xs[:m]


@dataclass(frozen=True)
class Drop(Pattern):
    """`drop(m, xs)`: all but the first m elements.

    Source: RISE.

    >>> interpret("drop(2, xs)", xs=[1, 2, 3])
    [3]
    """

    m: Size
    xs: Term
    name: ClassVar = "drop"
    signature: ClassVar = Signature({"m": Nat, "xs": a[m + r]}, a[r])

    @staticmethod
    def meaning(m: int, xs: list[Any]) -> list[Any]:
        return xs[m:]


@dataclass(frozen=True)
class At(Pattern):
    """`xs[i]`: the element at a constant index.

    Source: LIFT (`ArrayAccess`).

    >>> interpret("xs[1]", xs=[1, 2, 3])
    2
    """

    index: Size
    xs: Term
    name: ClassVar = "at"
    signature: ClassVar = Signature({"index": Nat, "xs": a[index + 1 + r]}, a)

    @staticmethod
    def meaning(index: int, xs: list[Any]) -> Any:
        return xs[index]


@dataclass(frozen=True)
class Repeat(Pattern):
    """`repeat(m, x)`: m times the same element.

    Source: LIFT (`ArrayFromValue`).

    >>> interpret("repeat(3, x)", x=7)
    [7, 7, 7]
    """

    m: Size
    x: Term
    name: ClassVar = "repeat"
    signature: ClassVar = Signature({"m": Nat, "x": a}, a[m])

    @staticmethod
    def meaning(m: int, x: Any) -> list[Any]:
        return [x] * m


# ---- OpenCL: who computes


@dataclass(frozen=True)
class MapSeq(Pattern):
    """`map_seq(f, xs)`: `map` as a loop in one work-item.

    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("map_seq(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    f: Lambda
    xs: Term
    name: ClassVar = "map_seq"
    signature: ClassVar = _MAP
    meaning: ClassVar = staticmethod(_each)


@dataclass(frozen=True)
class MapGlb(Pattern):
    """`map_glb(dim)(f, xs)`: `map` over the work-items of dimension `dim`, across all work-groups.

    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("map_glb(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    dim: Size
    f: Lambda
    xs: Term
    name: ClassVar = "map_glb"
    signature: ClassVar = _MAP_IN
    meaning: ClassVar = staticmethod(_each)


@dataclass(frozen=True)
class MapWrg(Pattern):
    """`map_wrg(dim)(f, xs)`: `map` over the work-groups of dimension `dim`.

    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("map_wrg(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    dim: Size
    f: Lambda
    xs: Term
    name: ClassVar = "map_wrg"
    signature: ClassVar = _MAP_IN
    meaning: ClassVar = staticmethod(_each)


@dataclass(frozen=True)
class MapLcl(Pattern):
    """`map_lcl(dim)(f, xs)`: `map` over the work-items of dimension `dim` of one work-group.

    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("map_lcl(0)(lambda x: x * 2, xs)", xs=[1, 2])
    [2, 4]
    """

    dim: Size
    f: Lambda
    xs: Term
    name: ClassVar = "map_lcl"
    signature: ClassVar = _MAP_IN
    meaning: ClassVar = staticmethod(_each)


@dataclass(frozen=True)
class ReduceSeq(Pattern):
    """`reduce_seq(f, init, xs)`: a left fold in one work-item; f needs no law.

    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("reduce_seq(lambda acc, x: acc * 10 + x, 0, xs)", xs=[1, 2, 3])
    123
    """

    f: Lambda
    init: Term
    xs: Term
    name: ClassVar = "reduce_seq"
    signature: ClassVar = Signature({"f": Fun[b, a, b], "init": b, "xs": a[n]}, b)

    @staticmethod
    def meaning(f: Callable[[Any, Any], Any], init: Any, xs: list[Any]) -> Any:
        for x in xs:
            init = f(init, x)
        return init


# ---- OpenCL: where it is stored


@dataclass(frozen=True)
class ToGlobal(Pattern):
    """`to_global(xs)`: compute xs into global memory; between kernels, a buffer.

    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("to_global(xs)", xs=[1, 2])
    [1, 2]
    """

    xs: Term
    name: ClassVar = "to_global"
    signature: ClassVar = Signature({"xs": a}, a)
    meaning: ClassVar = staticmethod(_same)


@dataclass(frozen=True)
class ToLocal(Pattern):
    """`to_local(xs)`: compute xs into the local memory of the work-group.

    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("to_local(xs)", xs=[1, 2])
    [1, 2]
    """

    xs: Term
    name: ClassVar = "to_local"
    signature: ClassVar = Signature({"xs": a}, a)
    meaning: ClassVar = staticmethod(_same)


@dataclass(frozen=True)
class ToPrivate(Pattern):
    """`to_private(xs)`: compute xs into the private memory of the work-item.

    Source: LIFT, CGO'17, section 3.3.

    >>> interpret("to_private(xs)", xs=[1, 2])
    [1, 2]
    """

    xs: Term
    name: ClassVar = "to_private"
    signature: ClassVar = Signature({"xs": a}, a)
    meaning: ClassVar = staticmethod(_same)


# ---- OpenCL: vectors


@dataclass(frozen=True)
class AsVector(Pattern):
    """`as_vector(width, xs)`: consecutive elements as the lanes of vectors; the width divides the length.

    Source: LIFT, CGO'17, section 3.4.

    >>> interpret("as_vector(2, xs)", xs=[1, 2, 3, 4])
    [[1, 2], [3, 4]]
    """

    width: Size
    xs: Term
    name: ClassVar = "as_vector"
    signature: ClassVar = Signature(
        {"width": Width, "xs": a[k * width]}, Vector(a, width)[k], positive=(width,)
    )

    @staticmethod
    def meaning(width: int, xs: list[Any]) -> list[Any]:
        return [xs[i : i + width] for i in range(0, len(xs), width)]


@dataclass(frozen=True)
class AsScalar(Pattern):
    """`as_scalar(vs)`: the lanes of the vectors, one after the other.

    Source: LIFT, CGO'17, section 3.4.

    >>> interpret("as_scalar(as_vector(2, xs))", xs=[1, 2, 3, 4])
    [1, 2, 3, 4]
    """

    vs: Term
    name: ClassVar = "as_scalar"
    signature: ClassVar = Signature({"vs": Vector(a, width)[k]}, a[k * width])

    @staticmethod
    def meaning(vs: list[list[Any]]) -> list[Any]:
        return [x for v in vs for x in v]


@dataclass(frozen=True)
class MapVec(Pattern):
    """`map_vec(f, v)`: f on every lane of a vector, in one vector instruction where f is arithmetic.

    Source: RISE (`mapVec`); LIFT's `vectorize`.

    >>> interpret("as_scalar(map(lambda v: map_vec(lambda x: x + 1, v), as_vector(2, xs)))", xs=[1, 2])
    [2, 3]
    """

    f: Lambda
    v: Term
    name: ClassVar = "map_vec"
    signature: ClassVar = Signature({"f": Fun[a, b], "v": Vector(a, width)}, Vector(b, width))

    @staticmethod
    def meaning(f: Callable[[Any], Any], v: list[Any]) -> list[Any]:
        return [f(x) for x in v]


@dataclass(frozen=True)
class Splat(Pattern):
    """`splat(width, x)`: the vector whose lanes are all x.

    Source: RISE (`vectorFromScalar`).

    >>> interpret("as_scalar(repeat(1, splat(4, x)))", x=7)
    [7, 7, 7, 7]
    """

    width: Size
    x: Term
    name: ClassVar = "splat"
    signature: ClassVar = Signature({"width": Width, "x": a}, Vector(a, width), positive=(width,))

    @staticmethod
    def meaning(width: int, x: Any) -> list[Any]:
        return [x] * width


AnyPattern: TypeAlias = (
    Map | Zip | Reduce
    | Split | Join | Transpose | Slide | PadClamp | PadConstant | Take | Drop | At | Repeat
    | MapSeq | MapGlb | MapWrg | MapLcl | ReduceSeq
    | ToGlobal | ToLocal | ToPrivate
    | AsVector | AsScalar | MapVec | Splat
)  # fmt: skip

PATTERNS: dict[str, type[Pattern]] = {
    p.name: p
    for p in (
        Map, Zip, Reduce,
        Split, Join, Transpose, Slide, PadClamp, PadConstant, Take, Drop, At, Repeat,
        MapSeq, MapGlb, MapWrg, MapLcl, ReduceSeq,
        ToGlobal, ToLocal, ToPrivate,
        AsVector, AsScalar, MapVec, Splat,
    )
}  # fmt: skip
