"""OpenCL: patterns of vectors, whose lanes a device processes in one instruction."""

# pyright: reportUnboundVariable=false, reportUnusedImport=false
# (in a class body `width` is the schema size `width` above: the annotation of the field binds nothing)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from relift.semantics.indices.algebra import Algebra
from relift.semantics.patterns.letters import a, b, k, width
from relift.semantics.syntax.signatures import Fun, Signature, Width
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Lambda, Pattern, Term
from relift.semantics.syntax.types import Vector


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

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("as_scalar(map(lambda v: map_vec(lambda x: x + 1, v), as_vector(2, xs)))", xs=[1, 2])
    [2, 3]
    """

    f: Lambda
    v: Term
    name: ClassVar = "map_vec"
    loop: ClassVar = "lanes"
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

    >>> from relift.semantics.catalogue import interpret
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
