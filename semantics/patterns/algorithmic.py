"""Algorithmic patterns: what is computed, with no say on who computes it or where it is stored."""

# pyright: reportUnboundVariable=false, reportUnusedImport=false
# (in a class body `m` is the schema size `m` above: the annotation of the field binds nothing)

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from relift.semantics.errors import Undefined
from relift.semantics.indices.algebra import Algebra
from relift.semantics.indices.functions import Numbers
from relift.semantics.patterns.letters import a, b, factor, k, length, m, n
from relift.semantics.syntax.signatures import Fun, FunctionKind, Nat, NumbersKind, Op, Signature
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Lambda, Operator, Pattern, Term
from relift.semantics.syntax.types import Tuple, boolean, i32


def each(f: Callable[[Any], Any], xs: list[Any]) -> list[Any]:
    """The meaning of every map."""
    return [f(x) for x in xs]


def fold(f: Callable[[Any, Any], Any], init: Any, xs: list[Any]) -> Any:
    """The meaning of every reduction: from the left."""
    for x in xs:
        init = f(init, x)
    return init


def each_viewed(ix: Algebra, xs: Any, f: Callable[[Any], Any], n: Any) -> Any:
    """The view of every map."""
    return ix.array(n, lambda i: f(ix.at(xs, i)))


def fold_viewed(ix: Algebra, f: Callable[[Any, Any], Any], init: Any, xs: Any, n: Any) -> Any:
    """The view of every reduction in order."""
    return ix.fold("init", init, lambda a, i: f(a, ix.at(xs, i)), n)


MAP = Signature({"f": Fun[a, b], "xs": a[n]}, b[n])
FOLD = Signature({"f": Fun[b, a, b], "init": b, "xs": a[n]}, b)


@dataclass(frozen=True)
class Map(Pattern):
    """`map(f, xs)`: f on every element.

    Law: map(f, map(g, xs)) == map(lambda x: f(g(x)), xs).
    Source: LIFT, CGO'17, section 3.1.

    >>> interpret("map(lambda x: x + 1, xs)", xs=[1, 2, 3])
    [2, 3, 4]
    """

    f: Lambda
    xs: Term
    name: ClassVar = "map"
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    layout: ClassVar = True
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = MAP
    meaning: ClassVar = staticmethod(each)

    @staticmethod
    def inverse(ix: Algebra, target: Any, f: Callable[[Any], Any], n: Any) -> Any:
        return ix.array(n, lambda i: f(ix.at(target, i)))


@dataclass(frozen=True)
class Zip(Pattern):
    """`zip(xs, ys)`: pairs of elements at the same index, of two arrays of one length.

    Law: map(lambda p: p[0], zip(xs, ys)) == xs.
    Rejects: arrays of unequal lengths, as RISE; Lift may cut to the shorter.
    Source: LIFT, CGO'17, section 3.1.

    >>> interpret("zip(xs, ys)", xs=[1, 2], ys=[3, 4])
    [(1, 3), (2, 4)]
    """

    xs: Term
    ys: Term
    name: ClassVar = "zip"
    spelled: ClassVar = "zip"  # of two arrays or more
    rocq: ClassVar = "zip {xs} {ys}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"xs": a[n], "ys": b[n]}, Tuple((a, b))[n])

    @staticmethod
    def meaning(xs: list[Any], ys: list[Any]) -> list[Any]:
        return list(zip(xs, ys, strict=True))

    @staticmethod
    def view(ix: Algebra, xs: Any, ys: Any, n: Any) -> Any:
        return ix.array(n, lambda i: ix.tuple(ix.at(xs, i), ix.at(ys, i)))


@dataclass(frozen=True)
class Unzip(Pattern):
    """`unzip(ps)`: the first components of an array of pairs, and the second ones.

    Law: unzip(zip(xs, ys)) == (xs, ys).
    Source: LIFT (`Unzip`), RISE (`unzip`).

    >>> interpret("unzip(zip(xs, ys))", xs=[1, 2], ys=[3, 4])
    ([1, 2], [3, 4])
    """

    ps: Term
    name: ClassVar = "unzip"
    rocq: ClassVar = "unzip {ps}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"ps": Tuple((a, b))[n]}, Tuple((a[n], b[n])))

    @staticmethod
    def meaning(ps: list[Any]) -> tuple[list[Any], list[Any]]:
        return [x for x, _ in ps], [y for _, y in ps]

    @staticmethod
    def view(ix: Algebra, ps: Any, n: Any) -> Any:
        return ix.tuple(
            ix.array(n, lambda i: ix.component(ix.at(ps, i), 0)),
            ix.array(n, lambda i: ix.component(ix.at(ps, i), 1)),
        )

    @staticmethod
    def inverse(ix: Algebra, target: Any, n: Any) -> Any:
        first, second = ix.component(target, 0), ix.component(target, 1)
        return ix.array(n, lambda i: ix.tuple(ix.at(first, i), ix.at(second, i)))


@dataclass(frozen=True)
class Reduce(Pattern):
    """`reduce(op, init, xs)`: all elements combined, from the left, starting with `init`; one value.

    Law: reduce(op, z, concat(xs, ys)) == op(reduce(op, z, xs), reduce(op, z, ys)), op being associative
    with neutral element z.
    Rejects: functions without declared laws; they are for `reduce_seq`.
    Source: LIFT, CGO'17, section 3.1, whose result is an array of length 1; ours is RISE's scalar.

    >>> interpret("reduce(add, 0, xs)", xs=[1, 2, 3])
    6
    """

    op: Operator
    init: Term
    xs: Term
    name: ClassVar = "reduce"
    rocq: ClassVar = "reduce {op} {init} {n} {xs}"
    rocq_defined: ClassVar = "fold_defined {op} {op_defined} {init} {n} {xs}"
    searched: ClassVar = True
    signature: ClassVar = Signature({"op": Op[a], "init": a, "xs": a[n]}, a)

    @staticmethod
    def meaning(op: Callable[[Any, Any], Any], init: Any, xs: list[Any]) -> Any:
        return fold(op, init, xs)

    @staticmethod
    def view(ix: Algebra, op: Callable[[Any, Any], Any], init: Any, xs: Any, n: Any) -> Any:
        return ix.fold("init", init, lambda a, i: op(a, ix.at(xs, i)), n)


@dataclass(frozen=True)
class PartialReduce(Pattern):
    """`partial_reduce(op, init, m, xs)`: each chunk of m elements combined to one.

    Law: partial_reduce(op, z, m, xs) == map(reduce(op, z), split(m, xs)).
    Rejects: a chunk size that does not divide the length.
    Source: LIFT, ICFP'15 (`partRed`); its code types it [a]n -> [a]1 and marks that as to do.

    >>> interpret("partial_reduce(add, 0, 2, xs)", xs=[1, 2, 3, 4])
    [3, 7]
    """

    op: Operator
    init: Term
    m: Size
    xs: Term
    name: ClassVar = "partial_reduce"
    rocq: ClassVar = "partial_reduce {op} {init} {m} {xs}"
    rocq_defined: ClassVar = "partial_reduce_defined {op} {op_defined} {init} {k} {m} {xs}"
    instead: ClassVar = "write map_seq(lambda c: reduce_seq(op, init, c), split(m, xs))"
    signature: ClassVar = Signature(
        {"op": Op[a], "init": a, "m": Nat, "xs": a[k * m]}, a[k], positive=(m,)
    )

    @staticmethod
    def meaning(op: Callable[[Any, Any], Any], init: Any, m: int, xs: list[Any]) -> list[Any]:
        return [fold(op, init, xs[i : i + m]) for i in range(0, len(xs), m)]

    @staticmethod
    def view(ix: Algebra, op: Callable[[Any, Any], Any], init: Any, xs: Any, m: Any, k: Any) -> Any:
        def chunk(c: Any) -> Any:
            return ix.fold("init", init, lambda a, i: op(a, ix.at(xs, ix.position(c, m, i))), m)

        return ix.array(k, chunk)


@dataclass(frozen=True)
class Iterate(Pattern):
    """`iterate(m, f, x)`: f applied m times, one after the other; it keeps the type.

    Law: iterate(m + k, f, x) == iterate(m, f, iterate(k, f, x)).
    Rejects: a function that changes the type; Lift and RISE let it change the length.
    Source: LIFT, CGO'17, section 3.1.

    >>> interpret("iterate(3, lambda x: x * 2, x)", x=5)
    40
    """

    m: Size
    f: Lambda
    x: Term
    name: ClassVar = "iterate"
    rocq: ClassVar = "iterate {m} {f} {x}"
    rocq_defined: ClassVar = "iterate_defined {m} {f} {f_defined} {x}"
    compiled: ClassVar = True
    searched: ClassVar = True
    signature: ClassVar = Signature({"m": Nat, "f": Fun[a, a], "x": a}, a)

    @staticmethod
    def meaning(m: int, f: Callable[[Any], Any], x: Any) -> Any:
        for _ in range(m):
            x = f(x)
        return x

    @staticmethod
    def view(ix: Algebra, f: Callable[[Any], Any], x: Any, m: Any) -> Any:
        return ix.fold("x", x, lambda a, _: f(a), m)


@dataclass(frozen=True)
class IterateSizes(Pattern):
    """`iterate_sizes(m, factor, f, xs)`: f applied m times, which divides the length by `factor` each time.

    f is one function for all lengths l of its result; `lambda l, xs: ...` may use l as a size.

    Law: iterate_sizes(m + k, b, f, xs) == iterate_sizes(k, b, f, iterate_sizes(m, b, f, xs)).
    Rejects: a function whose result is not shorter by the factor; Lift and RISE take other changes, too.
    Source: LIFT, CGO'17, section 3.2 and Listing 1 (`iterate`); RISE (`iterate`).

    >>> interpret("iterate_sizes(2, 2, partial_reduce(add, 0, 2), xs)", xs=[1, 2, 3, 4])
    [10]
    """

    m: Size
    factor: Size
    f: Lambda
    xs: Term
    name: ClassVar = "iterate_sizes"
    rocq: ClassVar = "iterate_sizes {m} {factor} {f} {k} {xs}"
    rocq_defined: ClassVar = "iterate_sizes_defined {m} {factor} {f} {f_defined} {k} {xs}"
    compiled: ClassVar = True
    signature: ClassVar = Signature(
        {
            "m": Nat,
            "factor": Nat,
            "f": FunctionKind((a[length * factor],), a[length], binds="length"),
            "xs": a[k * factor**m],  # pyright: ignore[reportOperatorIssue]  # as of `m` above
        },
        a[k],
        positive=(factor,),
    )

    @staticmethod
    def meaning(
        m: int, factor: int, f: Callable[[int], Callable[[Any], Any]], xs: list[Any]
    ) -> list[Any]:
        for _ in range(m):
            xs = f(len(xs) // factor)(xs)
        return xs


@dataclass(frozen=True)
class Let(Pattern):
    """`let(f, x)`: f of a value that has a name, and so is computed once.

    A Python variable is no such name: used twice, its term stands in the program twice.  That keeps rules
    simple, for none has to match through a name.  It costs length of text only: the interpreter computes one
    object once, the e-graph keeps equal terms once, and a kernel computes equal terms once in a block.  A value
    for which that block is too small, such as one of a whole group, is what `let` and `to_global` are for.

    Law: let(f, x) == f(x).
    Source: RISE (`let`); LIFT (`Let`).

    >>> interpret("let(lambda y: y * y, x + 1)", x=2)
    9
    """

    f: Lambda
    x: Term
    name: ClassVar = "let"
    rocq: ClassVar = "let_in {f} {x}"
    rocq_defined: ClassVar = "let_defined {f_defined} {x}"
    layout: ClassVar = True
    in_place: ClassVar = True
    searched: ClassVar = True
    signature: ClassVar = Signature({"f": Fun[a, b], "x": a}, b)

    @staticmethod
    def meaning(f: Callable[[Any], Any], x: Any) -> Any:
        return f(x)

    @staticmethod
    def view(ix: Algebra, x: Any, f: Callable[[Any], Any]) -> Any:
        return f(x)


# ---- arrays from nothing


@dataclass(frozen=True)
class Generate(Pattern):
    """`generate(n, f)`: the array whose element i is f(i), where i is an i32.

    Law: map(g, generate(n, f)) == generate(n, lambda i: g(f(i))).
    Source: RISE (`generate`); LIFT (`ArrayFromUserFunGenerator`; those of two and three dimensions nest).

    >>> interpret("generate(4, lambda i: i * i)")
    [0, 1, 4, 9]
    """

    n: Size
    f: Lambda
    name: ClassVar = "generate"
    rocq: ClassVar = "generate {f}"
    rocq_defined: ClassVar = "generate_defined {f_defined} {n}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"n": Nat, "f": Fun[i32, b]}, b[n])

    @staticmethod
    def meaning(n: int, f: Callable[[Any], Any], number: Callable[[int], Any]) -> list[Any]:
        return [f(number(i)) for i in range(n)]

    @staticmethod
    def view(ix: Algebra, n: Any, f: Callable[[Any], Any]) -> Any:
        return ix.array(n, lambda i: f(ix.number(i)))


@dataclass(frozen=True)
class LiteralArray(Pattern):
    """`literal_array((1.0, 2.0), f32)`: constants of one type; in Python also `literal_array([1, 2])`.

    Law: element i is constant number i.
    Source: RISE (`makeArray` of literals).

    >>> interpret("literal_array((1, 2, 3), i32)")
    [1, 2, 3]
    """

    values: Numbers
    name: ClassVar = "literal_array"
    spelled: ClassVar = "literal_array"  # of a row of numbers and their type
    rocq: ClassVar = "literal_array {values}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"values": NumbersKind(a, n)}, a[n])

    @staticmethod
    def meaning(values: list[Any]) -> list[Any]:
        return list(values)

    @staticmethod
    def view(ix: Algebra, values: Any, n: Any) -> Any:
        return ix.array(n, lambda i: ix.chosen(values, i))


@dataclass(frozen=True)
class Repeat(Pattern):
    """`repeat(m, x)`: m times the same element.

    Law: map(f, repeat(m, x)) == repeat(m, f(x)).
    Source: LIFT (`ArrayFromValue`).

    >>> interpret("repeat(3, x)", x=7)
    [7, 7, 7]
    """

    m: Size
    x: Term
    name: ClassVar = "repeat"
    rocq: ClassVar = "repeat {x}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"m": Nat, "x": a}, a[m])

    @staticmethod
    def meaning(m: int, x: Any) -> list[Any]:
        return [x] * m

    @staticmethod
    def view(ix: Algebra, m: Any, x: Any) -> Any:
        return ix.array(m, lambda i: x)


# ---- in order, one element after the other


@dataclass(frozen=True)
class ReduceSeq(Pattern):
    """`reduce_seq(f, init, xs)`: a left fold in one work-item; f needs no law.

    Law: reduce_seq(f, z, concat(xs, ys)) == reduce_seq(f, reduce_seq(f, z, xs), ys).
    Source: LIFT, CGO'17, section 3.3; its result is RISE's single value, not an array of length 1.

    >>> interpret("reduce_seq(lambda acc, x: acc * 10 + x, 0, xs)", xs=[1, 2, 3])
    123
    """

    f: Lambda
    init: Term
    xs: Term
    name: ClassVar = "reduce_seq"
    rocq: ClassVar = "reduce_seq {f} {init} {n} {xs}"
    rocq_defined: ClassVar = "fold_defined {f} {f_defined} {init} {n} {xs}"
    compiled: ClassVar = True
    searched: ClassVar = True
    view: ClassVar = staticmethod(fold_viewed)
    signature: ClassVar = FOLD
    meaning: ClassVar = staticmethod(fold)


@dataclass(frozen=True)
class ScanSeq(Pattern):
    """`scan_seq(f, init, xs)`: the running folds, inclusive: element i has seen xs[0] to xs[i].

    Law: the last element of scan_seq(f, z, xs) == reduce_seq(f, z, xs); `init` itself is not among them.
    Source: LIFT (`ScanSeq`); RISE's `scanSeq` is inclusive too, and gives f the element first: we take
    Lift's order, that of `reduce_seq`.

    >>> interpret("scan_seq(lambda acc, x: acc + x, 0, xs)", xs=[1, 2, 3])
    [1, 3, 6]
    """

    f: Lambda
    init: Term
    xs: Term
    name: ClassVar = "scan_seq"
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
class ReduceWhile(Pattern):
    """`reduce_while(f, p, init, xs)`: a left fold that stops before the first x with not p(acc, x).

    The result is how many elements were taken, an i32, and the fold of those.

    Law: it is (len(ys), reduce_seq(f, z, ys)) of the longest prefix ys that p admits.
    Source: LIFT (`ReduceWhileSeq`), which gives the fold alone, as an array of length 1.

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
    branches: ClassVar = True
    instead: ClassVar = "fold everything with reduce_seq, and select in the function"
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
class FilterSeq(Pattern):
    """`filter_seq(p, fill, xs)`: the elements that p holds of, in order: how many, and an array of them.

    The array has the capacity in its type, the length of xs; its cells beyond the count hold `fill`.

    Law: of a filtered array, filtering keeps all that counts.
    Source: LIFT (`FilterSeq`), whose array has a capacity, a run-time size, and cells without a value.

    >>> interpret("filter_seq(lambda x: x > 1, 0, xs)", xs=[1, 2, 0, 3])
    (2, [2, 3, 0, 0])
    """

    p: Lambda
    fill: Term
    xs: Term
    name: ClassVar = "filter_seq"
    rocq: ClassVar = "filter_seq {p} {fill} {n} {xs}"
    rocq_defined: ClassVar = "map_defined {p_defined} {n} {xs}"
    branches: ClassVar = True
    instead: ClassVar = "its result has a length that is known when the program runs only"
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
class InsertionSortSeq(Pattern):
    """`insertion_sort_seq(before, xs)`: each element in turn goes before the first it must be before.

    Law: for a strict order it is the stable sort; for `before` false everywhere it is xs.
    Source: LIFT (`InsertionSortSeq`), with a truth value where Lift has an int.

    >>> interpret("insertion_sort_seq(lambda x, y: x < y, xs)", xs=[3, 1, 2])
    [1, 2, 3]
    """

    before: Lambda
    xs: Term
    name: ClassVar = "insertion_sort_seq"
    rocq: ClassVar = "insertion_sort_seq {before} {n} {xs}"
    rocq_defined: ClassVar = "insertion_sort_seq_defined {before} {before_defined} {n} {xs}"
    branches: ClassVar = True
    instead: ClassVar = "the interpreter runs it"
    signature: ClassVar = Signature({"before": Fun[a, a, boolean], "xs": a[n]}, a[n])

    @staticmethod
    def meaning(before: Callable[[Any, Any], Any], xs: list[Any]) -> list[Any]:
        found: list[Any] = []
        for x in xs:
            place = next((i for i, y in enumerate(found) if before(x, y)), len(found))
            found.insert(place, x)
        return found


@dataclass(frozen=True)
class LinearSearch(Pattern):
    """`linear_search(f, default, xs)`: the first element x with f(x) == 0, else the default.

    Law: linear_search(f, d, concat(xs, ys)) == linear_search(f, linear_search(f, d, ys), xs).
    Source: LIFT (`Search`, `LSearch`), whose result is an array of length 1; ours is one element.

    >>> interpret("linear_search(lambda x: x - 3, 0, xs)", xs=[1, 3, 5])
    3
    """

    f: Lambda
    default: Term
    xs: Term
    name: ClassVar = "linear_search"
    rocq: ClassVar = "linear_search {f} {default} {n} {xs}"
    rocq_defined: ClassVar = "linear_search_defined {f} {f_defined} {n} {xs}"
    branches: ClassVar = True
    instead: ClassVar = "fold with reduce_seq, and select in the function"
    signature: ClassVar = Signature({"f": Fun[a, i32], "default": a, "xs": a[n]}, a)

    @staticmethod
    def meaning(f: Callable[[Any], Any], default: Any, xs: list[Any]) -> Any:
        return next((x for x in xs if operator.index(f(x)) == 0), default)


@dataclass(frozen=True)
class BinarySearch(Pattern):
    """`binary_search(f, default, xs)`: as `linear_search`, where the sign of f tells where to look.

    f(x) is positive where what is sought stands after x, negative where before.

    Law: binary_search(f, d, xs) == linear_search(f, d, xs), wherever it is defined.
    Rejects: signs that rise (`Undefined`, when the program runs).
    Source: LIFT (`BSearch`), where the order is not checked.

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
    branches: ClassVar = True
    instead: ClassVar = "the interpreter runs it"
    signature: ClassVar = Signature({"f": Fun[a, i32], "default": a, "xs": a[n]}, a)

    @staticmethod
    def meaning(f: Callable[[Any], Any], default: Any, xs: list[Any]) -> Any:
        values = [operator.index(f(x)) for x in xs]
        signs = [(v > 0) - (v < 0) for v in values]
        if signs != sorted(signs, reverse=True):
            raise Undefined("binary_search: the array is not in the order of the search")
        return xs[signs.index(0)] if 0 in signs else default


# ---- elements elsewhere


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
class ScatterIndices(Pattern):
    """`scatter_indices(ids, xs, into)`: `into`, with xs[j] at index ids[j].

    Law: gather_indices(ids, scatter_indices(ids, xs, into)) == xs.
    Rejects: an index out of range, and the same one twice (`Undefined`, when the program runs).
    Source: RISE (`scatter`), which has no `into` and leaves its cells without a value.

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
    instead: ClassVar = "cells are addressed by index functions only; see scatter"
    signature: ClassVar = Signature({"ids": i32[m], "xs": a[m], "into": a[n]}, a[n])

    @staticmethod
    def meaning(ids: list[Any], xs: list[Any], into: list[Any]) -> list[Any]:
        places = [within(i, len(into), "scatter_indices") for i in ids]
        if len(set(places)) < len(places):
            raise Undefined("scatter_indices: two elements have the same index")
        written = dict(zip(places, xs, strict=True))
        return [written.get(i, x) for i, x in enumerate(into)]
