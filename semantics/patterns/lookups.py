"""Patterns whose elements are elsewhere: at indices that are data."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from relift.semantics.errors import Undefined
from relift.semantics.indices.algebra import Algebra
from relift.semantics.patterns.algorithmic import Stepping
from relift.semantics.patterns.letters import a, m, n
from relift.semantics.patterns.sequential import InOrder
from relift.semantics.syntax.signatures import Op, Signature
from relift.semantics.syntax.terms import Literal, Operator, Pattern, Term, subterms
from relift.semantics.syntax.types import Scalar, Tuple, f32, i32


def within(i: Any, n: int, what: str) -> int:
    """The index i, an element of the domain, as a position; `Undefined` out of range."""
    position = operator.index(i)
    if not 0 <= position < n:
        raise Undefined(f"{what}: index {position} of an array of {n} elements")
    return position


@dataclass(frozen=True)
class AtRuntime(Pattern):
    """`at_runtime(index, default, xs)`: the element at a computed index, an i32, else the default.

    Law: at_runtime(i, d, xs) == xs[i], for a constant i below the length; below 0 it is d.
    Source: LIFT (`CheckedArrayAccess`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("zip(map(lambda i: at_runtime(i, 9, xs), ids), ids)", xs=[7, 8], ids=[1, 2, -1])
    [(8, 1), (9, 2), (9, -1)]
    """

    index: Term
    default: Term
    xs: Term
    name: ClassVar = "at_runtime"
    rocq: ClassVar = "at_runtime {index} {default} {n} {xs}"
    layout: ClassVar = True
    branches: ClassVar = True
    signature: ClassVar = Signature({"index": i32, "default": a, "xs": a[n]}, a)

    @property
    def computes_default(self) -> bool:
        """Whether a loop computes the default, a scalar: kernels run it only where it is asked for."""
        below = (u for u, _ in subterms(self.default))
        return isinstance(self.type, Scalar) and any(
            isinstance(u, Stepping | InOrder) for u in below
        )

    def of_cells(self) -> AtRuntime:
        """The same with nothing for a default."""
        assert isinstance(self.type, Scalar), "cannot happen: such a default is a scalar"
        nothing = Literal(np.dtype(self.type.dtype).type(0).item(), self.type)
        return replace(self, default=nothing)

    @staticmethod
    def meaning(index: Any, default: Any, xs: list[Any]) -> Any:
        i = operator.index(index)
        return xs[i] if 0 <= i < len(xs) else default

    @staticmethod
    def view(ix: Algebra, xs: Any, index: Any, default: Any, n: Any) -> Any:
        inside = ix.at(xs, ix.below(index, n))
        return ix.inside(ix.whole(index), n, inside, default)


@dataclass(frozen=True)
class AtRuntimeUnsafe(Pattern):
    """`at_runtime_unsafe(index, xs)`: the element at a computed index, an i32 that is in range.

    Law: at_runtime_unsafe(i, xs) == at_runtime(i, d, xs), wherever it is defined.
    Rejects: an index out of range (`Undefined`, when the program runs).
    Source: LIFT (`UnsafeArrayAccess`); RISE (`idx`), where the type of the index has the bound.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map(lambda i: at_runtime_unsafe(i, xs), ids)", xs=[7, 8], ids=[1, 0])
    [8, 7]
    """

    index: Term
    xs: Term
    name: ClassVar = "at_runtime_unsafe"
    rocq: ClassVar = "at_runtime_unsafe {index} {n} {xs}"
    rocq_defined: ClassVar = "in_range {n} {index}"
    partial: ClassVar = True
    rocq_positive: ClassVar = (n,)
    layout: ClassVar = True
    signature: ClassVar = Signature({"index": i32, "xs": a[n]}, a)

    @staticmethod
    def meaning(index: Any, xs: list[Any]) -> Any:
        return xs[within(index, len(xs), "at_runtime_unsafe")]

    @staticmethod
    def view(ix: Algebra, xs: Any, index: Any, n: Any) -> Any:
        return ix.at(xs, ix.within(index, n))


@dataclass(frozen=True)
class GatherIndices(Pattern):
    """`gather_indices(ids, xs)`: the elements at the indices in an array of i32.

    Law: gather_indices(ids, xs) == map(lambda i: at_runtime_unsafe(i, xs), ids).
    Rejects: an index out of range (`Undefined`, when the program runs).
    Source: LIFT (`Filter`), RISE (`gather`).

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("gather_indices(ids, xs)", ids=[2, 0, 2], xs=[7, 8, 9])
    [9, 7, 9]
    """

    ids: Term
    xs: Term
    name: ClassVar = "gather_indices"
    rocq: ClassVar = "gather_indices {ids} {n} {xs}"
    rocq_defined: ClassVar = "gather_indices_defined {ids} {m} {n}"
    partial: ClassVar = True
    rocq_positive: ClassVar = (n,)
    layout: ClassVar = True
    signature: ClassVar = Signature({"ids": i32[m], "xs": a[n]}, a[m])

    @staticmethod
    def meaning(ids: list[Any], xs: list[Any]) -> list[Any]:
        return [xs[within(i, len(xs), "gather_indices")] for i in ids]

    @staticmethod
    def view(ix: Algebra, xs: Any, ids: Any, m: Any, n: Any) -> Any:
        return ix.array(m, lambda i: ix.at(xs, ix.within(ix.at(ids, i), n)))


@dataclass(frozen=True)
class ScatterIndices(InOrder):
    """`scatter_indices(ids, xs, into)`: `into`, with xs[j] at index ids[j].

    Law: gather_indices(ids, scatter_indices(ids, xs, into)) == xs.
    Rejects: an index out of range, and the same one twice (`Undefined`, when the program runs).
    Source: RISE (`scatter`), which has no `into` and leaves its cells without a value.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("scatter_indices(ids, xs, into)", ids=[2, 0], xs=[7, 8], into=[1, 1, 1])
    [8, 1, 7]
    """

    ids: Term
    xs: Term
    into: Term
    name: ClassVar = "scatter_indices"
    rocq: ClassVar = "scatter_indices {m} {ids} {xs} {into}"
    rocq_defined: ClassVar = "scatter_indices_defined {ids} {m} {n}"
    partial: ClassVar = True
    fills: ClassVar = True
    branches: ClassVar = False
    signature: ClassVar = Signature({"ids": i32[m], "xs": a[m], "into": a[n]}, a[n])

    @staticmethod
    def meaning(ids: list[Any], xs: list[Any], into: list[Any]) -> list[Any]:
        places = [within(i, len(into), "scatter_indices") for i in ids]
        if len(set(places)) < len(places):
            raise Undefined("scatter_indices: two elements have the same index")
        written = dict(zip(places, xs, strict=True))
        return [written.get(i, x) for i, x in enumerate(into)]


@dataclass(frozen=True)
class ReduceByIndex(Pattern):
    """`reduce_by_index(op, init, xs)`: `init`, with x combined into cell i for each (i, x) of xs in turn.

    What has an index without a cell changes nothing.  In a kernel the work-items of a group do so at once, in any order, or all
    of the kernel where another one has stored the cells: op is one of which that is the same, or a sum of floats that is not rounded
    alike in each.

    Law: reduce_by_index(op, z, concat(xs, ys)) == reduce_by_index(op, reduce_by_index(op, z, xs), ys).
    Source: accumArray of Haskell; Futhark (`reduce_by_index`), Henriksen et al., SC'20.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("reduce_by_index(add, zs, zip(ids, xs))", zs=[0, 0, 9], ids=[1, 2, 1, 7], xs=[1, 2, 3, 4])
    [0, 4, 11]
    """

    op: Operator
    init: Term
    xs: Term
    name: ClassVar = "reduce_by_index"
    rocq: ClassVar = (
        "(fun cell => fold (fun acc x => if Z.eqb (fst x) (Z.of_nat cell) then {op} acc (snd x) else acc) "
        "({init} cell) {n} {xs})"
    )
    rocq_respects: ClassVar = """
start. intros i I. reduced.
match goal with |- ?R ?x ?y => apply (@fold_related _ _ _ _ R) end; reduced; [auto |].
intros j b c J E. match goal with X : Rarr _ (Rpair eq _) xs xs' |- _ => destruct (X j J) as [K V] end.
rewrite K. destruct (_ =? _)%Z; [| assumption].
match goal with F : Rfun _ (Rfun _ _) op op' |- _ => apply F; assumption end.
"""
    rocq_defined: ClassVar = (
        "(every {m} (fun cell => fold_defined "
        "(fun acc x => if Z.eqb (fst x) (Z.of_nat cell) then {op} acc (snd x) else acc) "
        "(fun acc x => Z.eqb (fst x) (Z.of_nat cell) = true -> {op_defined} acc (snd x)) "
        "({init} cell) {n} {xs}))"
    )
    compiled: ClassVar = True
    branches: ClassVar = True
    at_once: ClassVar = ("add", "maximum", "minimum")
    at_once_of: ClassVar = (i32, f32)
    """The operators by which kernels combine, and of what: of whole numbers, which wrap around, every order gives the same."""
    signature: ClassVar = Signature({"op": Op[a], "init": a[m], "xs": Tuple((i32, a))[n]}, a[m])

    @staticmethod
    def meaning(op: Callable[[Any, Any], Any], init: list[Any], xs: list[Any]) -> list[Any]:
        cells = list(init)
        for i, x in xs:
            if 0 <= (place := operator.index(i)) < len(cells):
                cells[place] = op(cells[place], x)
        return cells
