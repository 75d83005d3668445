"""Algorithmic patterns: what is computed, with no say on who computes it or where it is stored."""

# pyright: reportUnboundVariable=false, reportUnusedImport=false
# (in a class body `m` is the schema size `m` above: the annotation of the field binds nothing)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from relift.semantics.indices.algebra import Algebra
from relift.semantics.indices.rows import Numbers
from relift.semantics.patterns.letters import a, b, factor, k, length, m, n
from relift.semantics.syntax.signatures import Fun, FunctionKind, Nat, NumbersKind, Op, Signature
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Lambda, Operator, Pattern, Term
from relift.semantics.syntax.types import Tuple, i32


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


@dataclass(frozen=True)
class Each(Pattern):
    """f on every element; kinds of it differ in who computes, and how the loop is written."""

    f: Lambda
    xs: Term
    rocq: ClassVar = "map {f} {xs}"
    rocq_defined: ClassVar = "map_defined {f_defined} {n} {xs}"
    view: ClassVar = staticmethod(each_viewed)
    signature: ClassVar = Signature({"f": Fun[a, b], "xs": a[n]}, b[n])
    meaning: ClassVar = staticmethod(each)
    loop: ClassVar = "map"
    weight: ClassVar = 3.0


class Stepping(Pattern):
    """f takes a value from step to step, from the first one on."""

    f: Lambda

    @property
    def first(self) -> Term:
        """The value that the first step takes."""
        raise NotImplementedError

    @property
    def reads_back(self) -> bool:
        """What a loop computes first, each step changes where it lies."""
        return isinstance(self.first, Pattern) and self.first.fills


class Reduction(Pattern):
    """All elements combined into one value, from `init` on."""

    init: Term
    xs: Term


@dataclass(frozen=True)
class Map(Each):
    """`map(f, xs)`: f on every element.

    Law: map(f, map(g, xs)) == map(lambda x: f(g(x)), xs).
    Source: LIFT, CGO'17, section 3.1.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map(lambda x: x + 1, xs)", xs=[1, 2, 3])
    [2, 3, 4]
    """

    name: ClassVar = "map"
    layout: ClassVar = True

    @staticmethod
    def inverse(ix: Algebra, target: Any, f: Callable[[Any], Any], n: Any) -> Any:
        return ix.array(n, lambda i: f(ix.at(target, i)))


@dataclass(frozen=True)
class Zip(Pattern):
    """`zip(xs, ys)`: pairs of elements at the same index, of two arrays of one length.

    Law: map(lambda p: p[0], zip(xs, ys)) == xs.
    Rejects: arrays of unequal lengths, as RISE; Lift may cut to the shorter.
    Source: LIFT, CGO'17, section 3.1.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("zip(xs, ys)", xs=[1, 2], ys=[3, 4])
    [(1, 3), (2, 4)]
    """

    xs: Term
    ys: Term
    name: ClassVar = "zip"
    parts: ClassVar = True
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

    >>> from relift.semantics.catalogue import interpret
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
class Reduce(Reduction):
    """`reduce(op, init, xs)`: all elements combined, from the left, starting with `init`; one value.

    Law: reduce(op, z, concat(xs, ys)) == op(reduce(op, z, xs), reduce(op, z, ys)), op being associative
    with neutral element z.
    Rejects: functions without declared laws; they are for `reduce_seq`.
    Source: LIFT, CGO'17, section 3.1, whose result is an array of length 1; ours is RISE's scalar.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("reduce(add, 0, xs)", xs=[1, 2, 3])
    6
    """

    op: Operator
    init: Term
    xs: Term
    name: ClassVar = "reduce"
    weight: ClassVar = 5.0
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

    >>> from relift.semantics.catalogue import interpret
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
class Iterate(Stepping):
    """`iterate(m, f, x)`: f applied m times, one after the other; it keeps the type.

    Law: iterate(m + k, f, x) == iterate(m, f, iterate(k, f, x)).
    Rejects: a function that changes the type; Lift and RISE let it change the length.
    Source: LIFT, CGO'17, section 3.1.

    >>> from relift.semantics.catalogue import interpret
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

    @property
    def first(self) -> Term:
        return self.x

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

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("let(lambda y: y * y, x + 1)", x=2)
    9
    """

    f: Lambda
    x: Term
    name: ClassVar = "let"
    keeps: ClassVar = True
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

    @staticmethod
    def inverse(ix: Algebra, target: Any, f: Callable[[Any], Any]) -> Any:
        return f(target)


# ---- arrays from nothing


@dataclass(frozen=True)
class Generate(Pattern):
    """`generate(n, f)`: the array whose element i is f(i), where i is an i32.

    Law: map(g, generate(n, f)) == generate(n, lambda i: g(f(i))).
    Source: RISE (`generate`); LIFT (`ArrayFromUserFunGenerator`; those of two and three dimensions nest).

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
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

    >>> from relift.semantics.catalogue import interpret
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
