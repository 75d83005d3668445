"""Data layout: patterns that move elements and compute nothing."""

# pyright: reportUnboundVariable=false, reportUnusedImport=false
# (in a class body `m` is the schema size `m` above: the annotation of the field binds nothing)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from relift.semantics.errors import Undefined
from relift.semantics.indices.algebra import Algebra
from relift.semantics.indices.functions import IndexFunction
from relift.semantics.patterns.letters import a, index, k, m, n, r, size, step
from relift.semantics.patterns.lookups import within
from relift.semantics.syntax.signatures import IndexKind, Nat, Signature
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Pattern, Term


def windows(size: int, step: int, xs: list[Any]) -> list[list[Any]]:
    """The meaning of `slide` and of all that works on windows."""
    return [xs[i : i + size] for i in range(0, len(xs) - size + 1, step)]


def windows_viewed(ix: Algebra, k: Any, size: Any, step: Any, xs: Any) -> Any:
    """The view of k + 1 windows."""
    return ix.array(k + 1, lambda i: ix.array(size, lambda j: ix.at(xs, i * step + j)))


def rows_viewed(ix: Algebra, k: Any, m: Any, xs: Any) -> Any:
    """The view of an array as k rows of m elements."""
    return ix.array(k, lambda i: ix.array(m, lambda j: ix.at(xs, ix.position(i, m, j))))


def joined_viewed(ix: Algebra, k: Any, m: Any, xss: Any) -> Any:
    """The view of k rows of m elements as one array."""
    return ix.array(k * m, lambda i: ix.at(ix.at(xss, ix.divide(i, m)), ix.modulo(i, m)))


def transposed_viewed(ix: Algebra, n: Any, m: Any, xss: Any) -> Any:
    """The view of the m columns of n rows."""
    return ix.array(m, lambda i: ix.array(n, lambda j: ix.at(ix.at(xss, j), i)))


@dataclass(frozen=True)
class Split(Pattern):
    """`split(m, xs)`: consecutive chunks of m elements; m divides the length.

    Law: join(split(m, xs)) == xs.
    Rejects: a chunk size that does not divide the length; Lift does not check.
    Source: LIFT, CGO'17, section 3.2.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("split(2, xs)", xs=[1, 2, 3, 4])
    [[1, 2], [3, 4]]
    """

    m: Size
    xs: Term
    name: ClassVar = "split"
    rocq: ClassVar = "split {m} {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"m": Nat, "xs": a[k * m]}, a[k, m], positive=(m,))

    @staticmethod
    def meaning(m: int, xs: list[Any]) -> list[Any]:
        return [xs[i : i + m] for i in range(0, len(xs), m)]

    @staticmethod
    def view(ix: Algebra, m: Any, k: Any, xs: Any) -> Any:
        return rows_viewed(ix, k, m, xs)

    @staticmethod
    def inverse(ix: Algebra, target: Any, m: Any, k: Any) -> Any:
        return joined_viewed(ix, k, m, target)


@dataclass(frozen=True)
class Join(Pattern):
    """`join(xss)`: the rows one after the other.

    Law: split(m, join(xss)) == xss, where m is the length of the rows.
    Source: LIFT, CGO'17, section 3.2.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("join(xss)", xss=[[1, 2], [3, 4]])
    [1, 2, 3, 4]
    """

    xss: Term
    name: ClassVar = "join"
    rocq: ClassVar = "join {m} {xss}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"xss": a[k, m]}, a[k * m])

    @staticmethod
    def meaning(xss: list[list[Any]]) -> list[Any]:
        return [x for xs in xss for x in xs]

    @staticmethod
    def view(ix: Algebra, k: Any, m: Any, xss: Any) -> Any:
        return joined_viewed(ix, k, m, xss)

    @staticmethod
    def inverse(ix: Algebra, target: Any, k: Any, m: Any) -> Any:
        return rows_viewed(ix, k, m, target)


@dataclass(frozen=True)
class Transpose(Pattern):
    """`transpose(xss)`: rows become columns.

    Law: transpose(transpose(xss)) == xss.
    Source: LIFT, CGO'17, section 3.2 (there a gather and a split).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("transpose(xss)", xss=[[1, 2, 3], [4, 5, 6]])
    [[1, 4], [2, 5], [3, 6]]
    """

    xss: Term
    name: ClassVar = "transpose"
    rocq: ClassVar = "transpose {xss}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"xss": a[n, m]}, a[m, n])

    @staticmethod
    def meaning(xss: list[list[Any]], m: int) -> list[list[Any]]:
        return [[xs[j] for xs in xss] for j in range(m)]

    @staticmethod
    def view(ix: Algebra, n: Any, m: Any, xss: Any) -> Any:
        return transposed_viewed(ix, n, m, xss)

    @staticmethod
    def inverse(ix: Algebra, target: Any, n: Any, m: Any) -> Any:
        return transposed_viewed(ix, m, n, target)


@dataclass(frozen=True)
class Slide(Pattern):
    """`slide(size, step, xs)`: windows of `size` elements, one every `step`; the last ends at the end.

    Law: window i is take(size, drop(i * step, xs)).
    Rejects: lengths at which the last window ends elsewhere; Lift drops such a tail silently.
    Source: LIFT stencils, CGO'18; the exact end is RISE's.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("slide(3, 1, xs)", xs=[1, 2, 3, 4])
    [[1, 2, 3], [2, 3, 4]]
    """

    size: Size
    step: Size
    xs: Term
    name: ClassVar = "slide"
    rocq: ClassVar = "slide {step} {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature(
        {"size": Nat, "step": Nat, "xs": a[size + k * step]}, a[k + 1, size], positive=(step,)
    )

    meaning: ClassVar = staticmethod(windows)

    @staticmethod
    def view(ix: Algebra, k: Any, size: Any, step: Any, xs: Any) -> Any:
        return windows_viewed(ix, k, size, step, xs)


@dataclass(frozen=True)
class Take(Pattern):
    """`take(m, xs)`: the first m elements.

    Law: concat(take(m, xs), drop(m, xs)) == xs.
    Rejects: more elements than there are.
    Source: RISE.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("take(2, xs)", xs=[1, 2, 3])
    [1, 2]
    """

    m: Size
    xs: Term
    name: ClassVar = "take"
    rocq: ClassVar = "take {xs}"
    layout: ClassVar = True
    drops: ClassVar = True
    signature: ClassVar = Signature({"m": Nat, "xs": a[m + r]}, a[m])

    @staticmethod
    def meaning(m: int, xs: list[Any]) -> list[Any]:
        return xs[:m]

    @staticmethod
    def view(ix: Algebra, m: Any, xs: Any) -> Any:
        return ix.array(m, lambda i: ix.at(xs, i))

    @staticmethod
    def inverse(ix: Algebra, target: Any, m: Any, r: Any) -> Any:
        return ix.array(m + r, lambda i: ix.place_before(i, m, target))


@dataclass(frozen=True)
class Drop(Pattern):
    """`drop(m, xs)`: all but the first m elements.

    Law: concat(take(m, xs), drop(m, xs)) == xs.
    Rejects: more elements than there are.
    Source: RISE.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("drop(2, xs)", xs=[1, 2, 3])
    [3]
    """

    m: Size
    xs: Term
    name: ClassVar = "drop"
    rocq: ClassVar = "drop {m} {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"m": Nat, "xs": a[m + r]}, a[r])

    @staticmethod
    def meaning(m: int, xs: list[Any]) -> list[Any]:
        return xs[m:]

    @staticmethod
    def view(ix: Algebra, m: Any, r: Any, xs: Any) -> Any:
        return ix.array(r, lambda i: ix.at(xs, i + m))


@dataclass(frozen=True)
class At(Pattern):
    """`xs[i]`: the element at a constant index.

    Law: map(f, xs)[i] == f(xs[i]).
    Rejects: an index that is not surely below the length.
    Source: LIFT (`ArrayAccess`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("xs[1]", xs=[1, 2, 3])
    2
    """

    index: Size
    xs: Term
    name: ClassVar = "at"
    spelled: ClassVar = "xs[index]"
    rocq: ClassVar = "at_index {index} {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"index": Nat, "xs": a[index + 1 + r]}, a)

    @staticmethod
    def meaning(index: int, xs: list[Any]) -> Any:
        return xs[index]

    @staticmethod
    def view(ix: Algebra, index: Any, xs: Any) -> Any:
        return ix.at(xs, index)


@dataclass(frozen=True)
class Head(Pattern):
    """`head(xs)`: the first element.

    Law: head(xs) == xs[0].
    Rejects: an array that may be empty.
    Source: LIFT (`Head`), typed as an array of length 1 there and documented as an element; ours is one.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("head(xs)", xs=[1, 2, 3])
    1
    """

    xs: Term
    name: ClassVar = "head"
    rocq: ClassVar = "head {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"xs": a[1 + r]}, a)

    @staticmethod
    def meaning(xs: list[Any]) -> Any:
        return xs[0]

    @staticmethod
    def view(ix: Algebra, xs: Any) -> Any:
        return ix.at(xs, ix.size(0))


@dataclass(frozen=True)
class Tail(Pattern):
    """`tail(xs)`: all but the first element.

    Law: concat(repeat(1, head(xs)), tail(xs)) == xs.
    Rejects: an array that may be empty.
    Source: LIFT (`Tail`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("tail(xs)", xs=[1, 2, 3])
    [2, 3]
    """

    xs: Term
    name: ClassVar = "tail"
    rocq: ClassVar = "tail {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"xs": a[1 + r]}, a[r])

    @staticmethod
    def meaning(xs: list[Any]) -> list[Any]:
        return xs[1:]

    @staticmethod
    def view(ix: Algebra, r: Any, xs: Any) -> Any:
        return ix.array(r, lambda i: ix.at(xs, i + 1))


@dataclass(frozen=True)
class Concat(Pattern):
    """`concat(xs, ys)`: the elements of xs, then those of ys.

    Law: map(f, concat(xs, ys)) == concat(map(f, xs), map(f, ys)).
    Source: RISE (`concat`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("concat(xs, ys)", xs=[1, 2], ys=[3])
    [1, 2, 3]
    """

    xs: Term
    ys: Term
    name: ClassVar = "concat"
    parts: ClassVar = True
    rocq: ClassVar = "concat {n} {xs} {ys}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"xs": a[n], "ys": a[m]}, a[n + m])

    @staticmethod
    def meaning(xs: list[Any], ys: list[Any]) -> list[Any]:
        return xs + ys

    @staticmethod
    def view(ix: Algebra, xs: Any, ys: Any, n: Any, m: Any) -> Any:
        return ix.array(n + m, lambda i: ix.before(i, n, ix.at(xs, i), ix.at(ys, i - n)))


class Indexed(Pattern):
    """Elements of xs at places that an index function says."""

    idx: IndexFunction
    xs: Term


@dataclass(frozen=True)
class Gather(Indexed):
    """`gather(idx, xs)`: the array whose element i is xs[idx(i)]; idx is an index function.

    An index function is written with the index, sizes and + - * // %, as in `gather(lambda i: n - 1 - i, xs)`;
    of two parameters the second is the length, as in `reverse`, `reorder_stride(s)` and `shift(k)`.

    Law: gather(idx, scatter(idx, xs)) == xs.
    Rejects: an index function that leaves the array (`Undefined`, when the program runs).
    Source: LIFT (`Gather`); RISE (`reorder`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("gather(lambda i: 2 - i, xs)", xs=[1, 2, 3])
    [3, 2, 1]
    """

    idx: IndexFunction
    xs: Term
    name: ClassVar = "gather"
    rocq: ClassVar = "gather {idx} {xs}"
    rocq_defined: ClassVar = "gather_defined {idx_whole} {n}"
    partial: ClassVar = True
    layout: ClassVar = True
    signature: ClassVar = Signature({"idx": IndexKind(n), "xs": a[n]}, a[n])

    @staticmethod
    def meaning(idx: Callable[[int], int], xs: list[Any]) -> list[Any]:
        return [xs[within(idx(i), len(xs), "gather")] for i in range(len(xs))]

    @staticmethod
    def view(ix: Algebra, idx: IndexFunction, xs: Any, n: Any) -> Any:
        place = ix.function(idx, n)
        return ix.array(n, lambda i: ix.at(xs, place(i)))


@dataclass(frozen=True)
class Scatter(Indexed):
    """`scatter(idx, xs)`: the array whose element idx(i) is xs[i]; idx is a permutation.

    Law: scatter(idx, gather(idx, xs)) == xs.
    Rejects: an index function that is no permutation (`Undefined`, when the program runs).
    Source: LIFT (`Scatter`), whose interpreter gathers; RISE (`reorder`), which trusts a given inverse.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("scatter(lambda i: (i + 1) % 3, xs)", xs=[1, 2, 3])
    [3, 1, 2]
    """

    idx: IndexFunction
    xs: Term
    name: ClassVar = "scatter"
    rocq: ClassVar = "scatter {idx} {n} {xs}"
    rocq_defined: ClassVar = "scatter_defined {idx_whole} {n}"
    partial: ClassVar = True
    compiled: ClassVar = True
    searched: ClassVar = True
    signature: ClassVar = Signature({"idx": IndexKind(n), "xs": a[n]}, a[n])

    @staticmethod
    def meaning(idx: Callable[[int], int], xs: list[Any]) -> list[Any]:
        written = {idx(i): x for i, x in enumerate(xs)}
        if written.keys() != set(range(len(xs))):
            raise Undefined("scatter: the index function is no permutation of the indices")
        return [written[i] for i in range(len(xs))]

    @staticmethod
    def view(ix: Algebra, idx: IndexFunction, xs: Any, n: Any) -> Any:
        source = ix.undoing(idx, n)
        return ix.array(n, lambda i: ix.at(xs, source(i)))

    @staticmethod
    def inverse(ix: Algebra, target: Any, idx: IndexFunction, n: Any) -> Any:
        place = ix.function(idx, n)
        return ix.array(n, lambda i: ix.at(target, place(i)))
