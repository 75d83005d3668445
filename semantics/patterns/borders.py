"""Patterns that put a border around an array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from relift.semantics.indices.algebra import Algebra
from relift.semantics.patterns.letters import a, left, n, right
from relift.semantics.patterns.variants import variant
from relift.semantics.syntax.signatures import Nat, Signature
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Pattern, Term


def clamped(ix: Algebra, i: Any, n: Any) -> Any:
    """The index of an array of n elements that is nearest to i."""
    return ix.minimum(ix.maximum(i, ix.size(0)), n - 1)


def mirrored(ix: Algebra, i: Any, n: Any) -> Any:
    """The index that i shows where an array of n elements is reflected at its ends."""
    j = ix.modulo(i, 2 * n)
    return ix.minimum(j, 2 * n - 1 - j)


@dataclass(frozen=True)
class Bordered(Pattern):
    """More elements at both ends; `boundary` is the word for which."""

    left: Size
    right: Size
    boundary: ClassVar[str]


@dataclass(frozen=True)
class Pad(Bordered):
    """The array continued at both ends by its own elements: at index i stands that at `index(i, n)`.

    `index` says it over an algebra, and `cell` of whole numbers.
    """

    xs: Term
    spelled: ClassVar = "pad"
    rocq: ClassVar = "pad_{boundary} {left} {n} {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature(
        {"left": Nat, "right": Nat, "xs": a[n]}, a[left + n + right], positive=(n,)
    )
    cell: ClassVar[Callable[[int, int], int]]
    index: ClassVar[Callable[[Algebra, Any, Any], Any]]

    @classmethod
    def meaning(cls, left: int, right: int, xs: list[Any]) -> list[Any]:
        return [xs[cls.cell(i, len(xs))] for i in range(-left, len(xs) + right)]

    @classmethod
    def view(cls, ix: Algebra, left: Any, right: Any, xs: Any, n: Any) -> Any:
        return ix.array(left + n + right, lambda i: ix.at(xs, cls.index(ix, i - left, n)))


PadClamp = variant(
    Pad,
    "pad_clamp",
    """`pad(left, right, clamp, xs)`: repeat the first element on the left, the last on the right.

    Law: the middle of a padded array is the array: take(n, drop(left, pad(left, right, clamp, xs))) == xs.
    Source: LIFT stencils, CGO'18; an empty array has no border and is refused.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("pad(1, 2, clamp, xs)", xs=[1, 2, 3])
    [1, 1, 2, 3, 3, 3]
    """,
    boundary="clamp",
    cell=lambda i, n: min(max(i, 0), n - 1),
    index=clamped,
)


@dataclass(frozen=True)
class PadConstant(Bordered):
    """`pad(left, right, value, xs)`: `value` on both sides.

    Law: pad(left, right, v, xs) == concat(repeat(left, v), concat(xs, repeat(right, v))).
    Source: LIFT stencils, CGO'18.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("pad(1, 2, 0, xs)", xs=[1, 2, 3])
    [0, 1, 2, 3, 0, 0]
    """

    value: Term
    xs: Term
    name: ClassVar = "pad_constant"
    spelled: ClassVar = "pad"
    boundary: ClassVar = "constant"
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


PadMirror = variant(
    Pad,
    "pad_mirror",
    """`pad(left, right, mirror, xs)`: the array reflected at its ends, with the edge repeated.

    Law: for one element on each side it is the same as `clamp`; the period is twice the length.
    Rejects: an empty array, which has nothing to reflect.
    Source: LIFT stencils, CGO'18 (`Pad.Boundary.Mirror`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("pad(2, 4, mirror, xs)", xs=[1, 2, 3])
    [2, 1, 1, 2, 3, 3, 2, 1, 1]
    """,
    boundary="mirror",
    cell=lambda i, n: min(i % (2 * n), -(i + 1) % (2 * n)),
    index=mirrored,
)

PadWrap = variant(
    Pad,
    "pad_wrap",
    """`pad(left, right, wrap, xs)`: the array again and again, on both sides.

    Law: pad(n, 0, wrap, xs) == concat(xs, xs), where n is the length.
    Rejects: an empty array, which has nothing to repeat.
    Source: LIFT stencils, CGO'18 (`Pad.Boundary.Wrap`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("pad(2, 1, wrap, xs)", xs=[1, 2, 3])
    [2, 3, 1, 2, 3, 1]
    """,
    boundary="wrap",
    cell=lambda i, n: i % n,
    index=lambda ix, i, n: ix.modulo(i, n),
)


@dataclass(frozen=True)
class PadEmpty(Bordered):
    """`pad_empty(left, right, xs)`: cells on both sides whose content is left open.

    Whatever is computed from such a cell is open, too; a branch on it is `Undefined`.  A rule that fixes
    open cells is a refinement.

    Law: take(n, drop(left, pad_empty(left, right, xs))) == xs.
    Source: RISE (`padEmpty`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("pad_empty(1, 2, xs)", xs=[1, 2, 3])
    [unspecified, 1, 2, 3, unspecified, unspecified]
    """

    xs: Term
    name: ClassVar = "pad_empty"
    boundary: ClassVar = "empty"
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
