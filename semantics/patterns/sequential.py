"""Patterns that go through an array in order, one element after the other."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from relift.semantics.errors import Undefined
from relift.semantics.indices.algebra import Algebra
from relift.semantics.patterns.algorithmic import Reduction, Stepping, fold, fold_viewed
from relift.semantics.patterns.letters import a, b, n
from relift.semantics.patterns.variants import variant
from relift.semantics.syntax.signatures import Fun, Signature
from relift.semantics.syntax.terms import Lambda, Pattern, Term
from relift.semantics.syntax.types import Tuple, boolean, i32


class InOrder(Pattern):
    """What one work-item computes that looks at one element after the other, and whose loop no other pattern has."""

    compiled: ClassVar = True
    searched: ClassVar = True
    branches: ClassVar = True

    @staticmethod
    def looked_at(n: int) -> int:
        """At how many of n elements it looks, at most."""
        return n


@dataclass(frozen=True)
class Accumulating(Stepping):
    """f on what is accumulated so far and each element, from the left."""

    f: Lambda
    init: Term
    xs: Term

    @property
    def first(self) -> Term:
        return self.init


@dataclass(frozen=True)
class Fold(Accumulating, Reduction):
    """What is accumulated of all elements, in a loop that may be `unrolled`, or fetch `ahead` what is staged."""

    ahead: ClassVar[bool] = False
    rocq: ClassVar = "reduce_seq {f} {init} {n} {xs}"
    rocq_defined: ClassVar = "fold_defined {f} {f_defined} {init} {n} {xs}"
    view: ClassVar = staticmethod(fold_viewed)
    signature: ClassVar = Signature({"f": Fun[b, a, b], "init": b, "xs": a[n]}, b)
    meaning: ClassVar = staticmethod(fold)
    loop: ClassVar = "fold"
    weight: ClassVar = 3.0


ReduceSeq = variant(
    Fold,
    "reduce_seq",
    """`reduce_seq(f, init, xs)`: a left fold in one work-item; f needs no law.

    Law: reduce_seq(f, z, concat(xs, ys)) == reduce_seq(f, reduce_seq(f, z, xs), ys).
    Source: LIFT, CGO'17, section 3.3; its result is RISE's single value, not an array of length 1.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("reduce_seq(lambda acc, x: acc * 10 + x, 0, xs)", xs=[1, 2, 3])
    123
    """,
    compiled=True,
    searched=True,
)


@dataclass(frozen=True)
class ScanSeq(Accumulating):
    """`scan_seq(f, init, xs)`: the running folds, inclusive: element i has seen xs[0] to xs[i].

    Law: the last element of scan_seq(f, z, xs) == reduce_seq(f, z, xs); `init` itself is not among them.
    Source: LIFT (`ScanSeq`); RISE's `scanSeq` is inclusive too, and gives f the element first: we take
    Lift's order, that of `reduce_seq`.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("scan_seq(lambda acc, x: acc + x, 0, xs)", xs=[1, 2, 3])
    [1, 3, 6]
    """

    name: ClassVar = "scan_seq"
    fills: ClassVar = True
    rocq: ClassVar = "scan_seq {f} {init} {xs}"
    rocq_defined: ClassVar = "fold_defined {f} {f_defined} {init} {n} {xs}"
    compiled: ClassVar = True
    searched: ClassVar = True
    signature: ClassVar = Signature({"f": Fun[b, a, b], "init": b, "xs": a[n]}, b[n])

    @staticmethod
    def meaning(f: Callable[[Any, Any], Any], init: Any, xs: list[Any]) -> list[Any]:
        return [init := f(init, x) for x in xs]

    @staticmethod
    def view(ix: Algebra, f: Callable[[Any, Any], Any], init: Any, xs: Any, n: Any) -> Any:
        def prefix(c: Any) -> Any:
            return ix.fold("init", init, lambda a, i: f(a, ix.at(xs, i)), c + 1)

        return ix.array(n, prefix)


@dataclass(frozen=True)
class ReduceWhile(InOrder):
    """`reduce_while(f, p, init, xs)`: a left fold that stops before the first x with not p(acc, x).

    The result is how many elements were taken, an i32, and the fold of those.

    Law: it is (len(ys), reduce_seq(f, z, ys)) of the longest prefix ys that p admits.
    Source: LIFT (`ReduceWhileSeq`), which gives the fold alone, as an array of length 1.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("reduce_while(lambda s, x: s + x, lambda s, x: s + x < 7, 0, xs)", xs=[1, 2, 3, 4])
    (3, 6)
    """

    f: Lambda
    p: Lambda
    init: Term
    xs: Term
    name: ClassVar = "reduce_while"
    rocq: ClassVar = "reduce_while {f} {p} {init} {n} {xs}"
    rocq_defined: ClassVar = "reduce_while_defined {f} {f_defined} {p} {p_defined} {init} {n} {xs}"
    signature: ClassVar = Signature(
        {"f": Fun[b, a, b], "p": Fun[b, a, boolean], "init": b, "xs": a[n]}, Tuple((i32, b))
    )

    @staticmethod
    def meaning(
        f: Callable[[Any, Any], Any],
        p: Callable[[Any, Any], Any],
        init: Any,
        xs: list[Any],
        number: Callable[[int], Any],
    ) -> tuple[Any, Any]:
        for i, x in enumerate(xs):
            if not p(init, x):
                return number(i), init
            init = f(init, x)
        return number(len(xs)), init


@dataclass(frozen=True)
class FilterSeq(InOrder):
    """`filter_seq(p, fill, xs)`: the elements that p holds of, in order: how many, and an array of them.

    The array has the capacity in its type, the length of xs; its cells beyond the count hold `fill`.

    Law: of a filtered array, filtering keeps all that counts.
    Source: LIFT (`FilterSeq`), whose array has a capacity, a run-time size, and cells without a value.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("filter_seq(lambda x: x > 1, 0, xs)", xs=[1, 2, 0, 3])
    (2, [2, 3, 0, 0])
    """

    p: Lambda
    fill: Term
    xs: Term
    name: ClassVar = "filter_seq"
    fills: ClassVar = True
    rocq: ClassVar = "filter_seq {p} {fill} {n} {xs}"
    rocq_defined: ClassVar = "map_defined {p_defined} {n} {xs}"
    signature: ClassVar = Signature(
        {"p": Fun[a, boolean], "fill": a, "xs": a[n]}, Tuple((i32, a[n]))
    )

    @staticmethod
    def meaning(
        p: Callable[[Any], Any], fill: Any, xs: list[Any], number: Callable[[int], Any]
    ) -> tuple[Any, list[Any]]:
        kept = [x for x in xs if p(x)]
        return number(len(kept)), kept + [fill] * (len(xs) - len(kept))


@dataclass(frozen=True)
class InsertionSortSeq(InOrder):
    """`insertion_sort_seq(before, xs)`: each element in turn goes before the first it must be before.

    Law: for a strict order it is the stable sort; for `before` false everywhere it is xs.
    Source: LIFT (`InsertionSortSeq`), with a truth value where Lift has an int.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("insertion_sort_seq(lambda x, y: x < y, xs)", xs=[3, 1, 2])
    [1, 2, 3]
    """

    before: Lambda
    xs: Term
    name: ClassVar = "insertion_sort_seq"
    fills: ClassVar = True
    rocq: ClassVar = "insertion_sort_seq {before} {n} {xs}"
    rocq_defined: ClassVar = "insertion_sort_seq_defined {before} {before_defined} {n} {xs}"
    signature: ClassVar = Signature({"before": Fun[a, a, boolean], "xs": a[n]}, a[n])

    @property
    def reads_back(self) -> bool:
        """An element goes before some of those that are there."""
        return True

    @staticmethod
    def meaning(before: Callable[[Any, Any], Any], xs: list[Any]) -> list[Any]:
        found: list[Any] = []
        for x in xs:
            place = next((i for i, y in enumerate(found) if before(x, y)), len(found))
            found.insert(place, x)
        return found


@dataclass(frozen=True)
class Search(InOrder):
    """The first element of xs of which f is 0, or the default."""

    f: Lambda
    default: Term
    xs: Term


@dataclass(frozen=True)
class LinearSearch(Search):
    """`linear_search(f, default, xs)`: the first element x with f(x) == 0, else the default.

    Law: linear_search(f, d, concat(xs, ys)) == linear_search(f, linear_search(f, d, ys), xs).
    Source: LIFT (`Search`, `LSearch`), whose result is an array of length 1; ours is one element.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("linear_search(lambda x: x - 3, 0, xs)", xs=[1, 3, 5])
    3
    """

    f: Lambda
    default: Term
    xs: Term
    name: ClassVar = "linear_search"
    rocq: ClassVar = "linear_search {f} {default} {n} {xs}"
    rocq_defined: ClassVar = "linear_search_defined {f} {f_defined} {n} {xs}"
    signature: ClassVar = Signature({"f": Fun[a, i32], "default": a, "xs": a[n]}, a)

    @staticmethod
    def meaning(f: Callable[[Any], Any], default: Any, xs: list[Any]) -> Any:
        return next((x for x in xs if operator.index(f(x)) == 0), default)


@dataclass(frozen=True)
class BinarySearch(Search):
    """`binary_search(f, default, xs)`: as `linear_search`, where the sign of f tells where to look.

    f(x) is positive where what is sought stands after x, negative where before.

    Law: binary_search(f, d, xs) == linear_search(f, d, xs), wherever it is defined.
    Rejects: signs that rise (`Undefined`, when the program runs).
    Source: LIFT (`BSearch`), where the order is not checked.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("binary_search(lambda x: 3 - x, 0, xs)", xs=[1, 3, 5])
    3
    """

    f: Lambda
    default: Term
    xs: Term
    name: ClassVar = "binary_search"
    rocq: ClassVar = "binary_search {f} {default} {n} {xs}"
    rocq_defined: ClassVar = "binary_search_defined {f} {f_defined} {n} {xs}"
    partial: ClassVar = True
    signature: ClassVar = Signature({"f": Fun[a, i32], "default": a, "xs": a[n]}, a)

    @staticmethod
    def looked_at(n: int) -> int:
        return n.bit_length()

    @staticmethod
    def meaning(f: Callable[[Any], Any], default: Any, xs: list[Any]) -> Any:
        values = [operator.index(f(x)) for x in xs]
        signs = [(v > 0) - (v < 0) for v in values]
        if signs != sorted(signs, reverse=True):
            raise Undefined("binary_search: the array is not in the order of the search")
        return xs[signs.index(0)] if 0 in signs else default
