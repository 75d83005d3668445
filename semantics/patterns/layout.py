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
from relift.semantics.patterns.algorithmic import within
from relift.semantics.patterns.letters import a, index, k, left, m, n, r, right, size, step
from relift.semantics.syntax.signatures import IndexKind, Nat, Signature
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Pattern, Term

_PAD = Signature({"left": Nat, "right": Nat, "xs": a[n]}, a[left + n + right], positive=(n,))


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


def clamped(ix: Algebra, i: Any, n: Any) -> Any:
    """The index of an array of n elements that is nearest to i."""
    return ix.minimum(ix.maximum(i, ix.size(0)), n - 1)


def mirrored(ix: Algebra, i: Any, n: Any) -> Any:
    """The index that i shows where an array of n elements is reflected at its ends."""
    j = ix.modulo(i, 2 * n)
    return ix.minimum(j, 2 * n - 1 - j)


@dataclass(frozen=True)
class Split(Pattern):
    """`split(m, xs)`: consecutive chunks of m elements; m divides the length.

    Law: join(split(m, xs)) == xs.
    Rejects: a chunk size that does not divide the length; Lift does not check.
    Source: LIFT, CGO'17, section 3.2.

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
class Pad(Pattern):
    """More elements at both ends; `boundary` is the word that says which, where a word does."""

    left: Size
    right: Size
    boundary: ClassVar[str] = ""


@dataclass(frozen=True)
class PadClamp(Pad):
    """`pad(left, right, clamp, xs)`: repeat the first element on the left, the last on the right.

    Law: the middle of a padded array is the array: take(n, drop(left, pad(left, right, clamp, xs))) == xs.
    Source: LIFT stencils, CGO'18; an empty array has no border and is refused.

    >>> interpret("pad(1, 2, clamp, xs)", xs=[1, 2, 3])
    [1, 1, 2, 3, 3, 3]
    """

    xs: Term
    name: ClassVar = "pad_clamp"
    spelled: ClassVar = "pad"
    boundary: ClassVar = "clamp"
    rocq: ClassVar = "pad_clamp {left} {n} {xs}"
    layout: ClassVar = True
    signature: ClassVar = _PAD

    @staticmethod
    def meaning(left: int, right: int, xs: list[Any]) -> list[Any]:
        last = len(xs) - 1
        return [xs[min(max(i - left, 0), last)] for i in range(left + len(xs) + right)]

    @staticmethod
    def view(ix: Algebra, left: Any, right: Any, xs: Any, n: Any) -> Any:
        return ix.array(left + n + right, lambda i: ix.at(xs, clamped(ix, i - left, n)))


@dataclass(frozen=True)
class PadConstant(Pad):
    """`pad(left, right, value, xs)`: `value` on both sides.

    Law: pad(left, right, v, xs) == concat(repeat(left, v), concat(xs, repeat(right, v))).
    Source: LIFT stencils, CGO'18.

    >>> interpret("pad(1, 2, 0, xs)", xs=[1, 2, 3])
    [0, 1, 2, 3, 0, 0]
    """

    value: Term
    xs: Term
    name: ClassVar = "pad_constant"
    spelled: ClassVar = "pad"
    rocq: ClassVar = "pad_constant {left} {n} {value} {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature(
        {"left": Nat, "right": Nat, "value": a, "xs": a[n]}, a[left + n + right]
    )

    @staticmethod
    def meaning(left: int, right: int, value: Any, xs: list[Any]) -> list[Any]:
        return [value] * left + xs + [value] * right

    @staticmethod
    def view(ix: Algebra, left: Any, right: Any, xs: Any, value: Any, n: Any) -> Any:
        return ix.array(
            left + n + right, lambda i: ix.inside(i - left, n, ix.at(xs, i - left), value)
        )


@dataclass(frozen=True)
class PadMirror(Pad):
    """`pad(left, right, mirror, xs)`: the array reflected at its ends, with the edge repeated.

    Law: for one element on each side it is the same as `clamp`; the period is twice the length.
    Rejects: an empty array, which has nothing to reflect.
    Source: LIFT stencils, CGO'18 (`Pad.Boundary.Mirror`).

    >>> interpret("pad(2, 4, mirror, xs)", xs=[1, 2, 3])
    [2, 1, 1, 2, 3, 3, 2, 1, 1]
    """

    xs: Term
    name: ClassVar = "pad_mirror"
    spelled: ClassVar = "pad"
    boundary: ClassVar = "mirror"
    rocq: ClassVar = "pad_mirror {left} {n} {xs}"
    layout: ClassVar = True
    signature: ClassVar = _PAD

    @staticmethod
    def meaning(left: int, right: int, xs: list[Any]) -> list[Any]:
        both = xs + xs[::-1]
        return [both[(i - left) % len(both)] for i in range(left + len(xs) + right)]

    @staticmethod
    def view(ix: Algebra, left: Any, right: Any, xs: Any, n: Any) -> Any:
        return ix.array(left + n + right, lambda i: ix.at(xs, mirrored(ix, i - left, n)))


@dataclass(frozen=True)
class PadWrap(Pad):
    """`pad(left, right, wrap, xs)`: the array again and again, on both sides.

    Law: pad(n, 0, wrap, xs) == concat(xs, xs), where n is the length.
    Rejects: an empty array, which has nothing to repeat.
    Source: LIFT stencils, CGO'18 (`Pad.Boundary.Wrap`).

    >>> interpret("pad(2, 1, wrap, xs)", xs=[1, 2, 3])
    [2, 3, 1, 2, 3, 1]
    """

    xs: Term
    name: ClassVar = "pad_wrap"
    spelled: ClassVar = "pad"
    boundary: ClassVar = "wrap"
    rocq: ClassVar = "pad_wrap {left} {n} {xs}"
    layout: ClassVar = True
    signature: ClassVar = _PAD

    @staticmethod
    def meaning(left: int, right: int, xs: list[Any]) -> list[Any]:
        return [xs[(i - left) % len(xs)] for i in range(left + len(xs) + right)]

    @staticmethod
    def view(ix: Algebra, left: Any, right: Any, xs: Any, n: Any) -> Any:
        return ix.array(left + n + right, lambda i: ix.at(xs, ix.modulo(i - left, n)))


@dataclass(frozen=True)
class PadEmpty(Pad):
    """`pad_empty(left, right, xs)`: cells on both sides whose content is left open.

    Whatever is computed from such a cell is open, too; a branch on it is `Undefined`.  A rule that fixes
    open cells is a refinement.

    Law: take(n, drop(left, pad_empty(left, right, xs))) == xs.
    Source: RISE (`padEmpty`).

    >>> interpret("pad_empty(1, 2, xs)", xs=[1, 2, 3])
    [unspecified, 1, 2, 3, unspecified, unspecified]
    """

    xs: Term
    name: ClassVar = "pad_empty"
    rocq: ClassVar = "pad_constant {left} {n} {unspecified} {xs}"
    layout: ClassVar = True
    leaves_open: ClassVar = True
    searched: ClassVar = False
    signature: ClassVar = Signature({"left": Nat, "right": Nat, "xs": a[n]}, a[left + n + right])

    @staticmethod
    def meaning(left: int, right: int, xs: list[Any], unspecified: Callable[[], Any]) -> list[Any]:
        return [unspecified() for _ in range(left)] + xs + [unspecified() for _ in range(right)]

    @staticmethod
    def view(ix: Algebra, left: Any, right: Any, xs: Any, n: Any) -> Any:
        return ix.array(left + n + right, lambda i: ix.open_outside(i, left, n, xs))

    @staticmethod
    def inverse(ix: Algebra, target: Any, left: Any, n: Any) -> Any:
        return ix.array(n, lambda i: ix.at(target, i + left))


@dataclass(frozen=True)
class Take(Pattern):
    """`take(m, xs)`: the first m elements.

    Law: concat(take(m, xs), drop(m, xs)) == xs.
    Rejects: more elements than there are.
    Source: RISE.

    >>> interpret("take(2, xs)", xs=[1, 2, 3])
    [1, 2]
    """

    m: Size
    xs: Term
    name: ClassVar = "take"
    rocq: ClassVar = "take {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"m": Nat, "xs": a[m + r]}, a[m])

    @staticmethod
    def meaning(m: int, xs: list[Any]) -> list[Any]:
        return xs[:m]

    @staticmethod
    def view(ix: Algebra, m: Any, xs: Any) -> Any:
        return ix.array(m, lambda i: ix.at(xs, i))


@dataclass(frozen=True)
class Drop(Pattern):
    """`drop(m, xs)`: all but the first m elements.

    Law: concat(take(m, xs), drop(m, xs)) == xs.
    Rejects: more elements than there are.
    Source: RISE.

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

    >>> interpret("concat(xs, ys)", xs=[1, 2], ys=[3])
    [1, 2, 3]
    """

    xs: Term
    ys: Term
    name: ClassVar = "concat"
    rocq: ClassVar = "concat {n} {xs} {ys}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"xs": a[n], "ys": a[m]}, a[n + m])

    @staticmethod
    def meaning(xs: list[Any], ys: list[Any]) -> list[Any]:
        return xs + ys

    @staticmethod
    def view(ix: Algebra, xs: Any, ys: Any, n: Any, m: Any) -> Any:
        return ix.array(n + m, lambda i: ix.before(i, n, ix.at(xs, i), ix.at(ys, i - n)))


@dataclass(frozen=True)
class Gather(Pattern):
    """`gather(idx, xs)`: the array whose element i is xs[idx(i)]; idx is an index function.

    An index function is written with the index, sizes and + - * // %, as in `gather(lambda i: n - 1 - i, xs)`;
    of two parameters the second is the length, as in `reverse`, `reorder_stride(s)` and `shift(k)`.

    Law: gather(idx, scatter(idx, xs)) == xs.
    Rejects: an index function that leaves the array (`Undefined`, when the program runs).
    Source: LIFT (`Gather`); RISE (`reorder`).

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
class Scatter(Pattern):
    """`scatter(idx, xs)`: the array whose element idx(i) is xs[i]; idx is a permutation.

    Law: scatter(idx, gather(idx, xs)) == xs.
    Rejects: an index function that is no permutation (`Undefined`, when the program runs).
    Source: LIFT (`Scatter`), whose interpreter gathers; RISE (`reorder`), which trusts a given inverse.

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
