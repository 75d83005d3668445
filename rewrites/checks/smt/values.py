"""Arrays as index functions: what a term means to Z3.

An array means its length and a function from an index to an element.  That is `Denotation`; what an element is,
and what a reduction, its subclasses say.  To tier 4a (`Meaning`) an element stays opaque: data are unknown cells,
functions and operators are uninterpreted.  A reduction is a step done for each index of a box, the last
dimension fastest; one whose accumulator is an array or a tuple, and whose step keeps the cells apart, is one
reduction for each cell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import z3

from relift.rewrites.checks.smt.goals import Fact, Number, Prover
from relift.rewrites.checks.smt.index_functions import IndexFunctions, WrittenFunctions
from relift.rewrites.rule import Rule
from relift.semantics.errors import Unsupported
from relift.semantics.indices.algebra import asked_for
from relift.semantics.indices.functions import IndexFunction, Written
from relift.semantics.indices.rows import Numbers
from relift.semantics.interpreter import operand_type
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import argument
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Get,
    Input,
    Lambda,
    Literal,
    MakeTuple,
    Metavariable,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    UserFunction,
    Var,
    Vectorized,
)
from relift.semantics.syntax.types import AnyType, Array, Scalar, Tuple, Type, TypeVariable, Vector

# ---- values


@dataclass(frozen=True)
class Cells:
    """An array: how many elements, and which one is at an index."""

    length: Number
    at: Callable[[Number], Value]


@dataclass(frozen=True)
class Known:
    """An element that Z3 knows: a whole number of the program that is an index, or any other scalar."""

    number: Number


@dataclass(frozen=True)
class Named:
    """What makes an element that nothing more is known of: a metavariable, a function, a literal."""

    kind: str
    name: Any


@dataclass(frozen=True)
class Fold:
    """A reduction over a box of indices: `step(accumulator, indices)` for each, from the left.

    An iteration is one, too, with steps that do not look at the index.
    """

    step: Callable[[Value, tuple[Number, ...]], Value]
    init: Value
    accumulator: Type
    extents: tuple[Number, ...]


@dataclass(frozen=True)
class Opaque:
    """An element that nothing is known of but where it comes from.

    It is the cell at `indices` (below `extents`) and component `path` of what `head` makes of `arguments`.
    """

    head: Named | Fold
    arguments: tuple[tuple[Value, Type], ...] = ()
    path: tuple[int, ...] = ()
    indices: tuple[Number, ...] = ()
    extents: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Choice:
    """One of two values, by a condition on indices."""

    condition: Fact
    yes: Value
    no: Value


Value: TypeAlias = "Cells | Known | Opaque | Choice | tuple[Value, ...]"


def at(xs: Value, i: Number) -> Value:
    """The element of an array at an index."""
    match xs:
        case Cells():
            return xs.at(i)
        case Choice(condition, yes, no):
            return Choice(condition, at(yes, i), at(no, i))
        case Known() | Opaque() | tuple():
            raise AssertionError("cannot happen: only arrays are indexed")


def component(x: Value, index: int) -> Value:
    """A component of a tuple."""
    match x:
        case tuple():
            return x[index]
        case Choice(condition, yes, no):
            return Choice(condition, component(yes, index), component(no, index))
        case Known() | Opaque() | Cells():
            raise AssertionError("cannot happen: only tuples have components")


# ---- what terms mean


class Denotation(ABC):
    """The values of terms, over index functions; what elements are, the subclasses say."""

    prover: Prover
    index_functions: WrittenFunctions

    def of(self, t: Term, names: Mapping[str, Value]) -> Value:
        """The value of t, where free variables stand for `names`."""

        def applied(kind: str, name: Any, arguments: tuple[Term, ...], of: Type) -> Value:
            return self.applied(
                Named(kind, name), tuple((self.of(u, names), u.type) for u in arguments), of
            )

        match t:
            case Var(name):
                return names[name]
            case Metavariable(name, arguments, of):
                return applied("metavariable", name, arguments, of)
            case Literal(value, of):
                return self.literal(value, of)
            case Apply(function, arguments, of):
                return applied("function", function, arguments, of)
            case Call(user, arguments, of):
                return applied("user function", user, arguments, of)
            case Combine(operator, left, right, of):
                return self.combined(operator, self.of(left, names), self.of(right, names), of)
            case MakeTuple(parts):
                return tuple(self.of(u, names) for u in parts)
            case Get(index, of):
                return component(self.of(of, names), index)
            case Pattern():
                return self.pattern(t, names)
            case Input():
                return self.input(t)

    @abstractmethod
    def applied(self, head: Named, arguments: tuple[tuple[Value, Type], ...], t: Type) -> Value:
        """What a function makes of its arguments."""

    @abstractmethod
    def literal(self, value: Any, t: Type) -> Value:
        """A number that the program says."""

    @abstractmethod
    def input(self, x: Input) -> Value:
        """What the program is given."""

    @abstractmethod
    def numbers(self, row: Numbers, t: Type) -> Value:
        """An array of numbers that the program says."""

    @abstractmethod
    def border(self, t: Pattern, i: Number) -> Value:
        """The cell i of a padded array, in its unspecified border."""

    @abstractmethod
    def within(self, i: Number, n: Number) -> Number:
        """An index that data give, where all is undefined unless it is below n; raises `Unsupported`."""

    @abstractmethod
    def combined(self, operator: Operator, x: Value, y: Value, t: Type) -> Value:
        """op(x, y)."""

    @abstractmethod
    def fold(
        self,
        step: Callable[[Value, tuple[Number, ...]], Value],
        init: Value,
        accumulator: Type,
        n: Number,
    ) -> Value:
        """A reduction over the indices below n."""

    def function(self, f: Lambda, names: Mapping[str, Value]) -> Callable[..., Value]:
        """A lambda as a function on values."""
        return lambda *values: self.of(
            f.body,
            {**names, **{x.name: v for x, v in zip(f.parameters, values, strict=True)}},
        )

    # ---- patterns

    def pattern(self, t: Pattern, names: Mapping[str, Value]) -> Value:
        """The value of a pattern, by its view."""
        if not t.has_view():
            raise Unsupported(f"{t.name} is not known to this tier", place="")
        data = {
            place: self.of(u, names)
            for place in t.signature.term_fields
            if not isinstance(u := getattr(t, place), Lambda)
        }

        def given(name: str) -> Any:
            match argument(t, name):
                case None:
                    return self.prover.size(t.solved[name])
                case Size() as n:
                    return self.prover.size(n)
                case Lambda() as f:
                    return self.function(f, names)
                case IndexFunction() as f:
                    return f
                case Numbers() as row:
                    return self.numbers(row, t.type)
                case BinaryOperator() | OperatorMetavariable() | Vectorized() as operator:
                    of = operand_type(t)
                    return lambda x, y: self.combined(operator, x, y, of)
                case Expression():
                    return data[name]
                case Written() | str() | int() | float() | tuple() | UserFunction() | AnyType():
                    raise AssertionError(f"cannot happen: {t.name} holds no such {name}")

        ix = Indices(self, t)
        found: Value = t.view(ix, **{name: given(name) for name in asked_for(t.view)})
        return found


class Meaning(Denotation):
    """The value of a term of one rule: elements are opaque."""

    def __init__(self, rule: Rule, prover: Prover) -> None:
        self.rule, self.prover = rule, prover
        self.index_functions: IndexFunctions = IndexFunctions(rule, prover)

    def applied(self, head: Named, arguments: tuple[tuple[Value, Type], ...], t: Type) -> Value:
        return self.opaque(t, head, arguments)

    def literal(self, value: Any, t: Type) -> Value:
        return Opaque(Named("literal", (repr(value), str(t))))

    def input(self, x: Input) -> Value:
        raise AssertionError("cannot happen: rules have no inputs")

    def numbers(self, row: Numbers, t: Type) -> Value:
        return self.opaque(t, Named("numbers", repr(row)))

    def within(self, i: Number, n: Number) -> Number:
        raise Unsupported("an index that data give is not known to this tier", place="")

    def border(self, t: Pattern, i: Number) -> Value:
        """Each evaluation of a term has its own cells, which is more than is used."""
        assert isinstance(t.type, Array), "cannot happen: an array is padded"
        length = self.prover.size(t.type.length)
        return self.opaque(t.type.element, Named("open cell", id(t)), (), (), (i,), (length,))

    def opaque(
        self,
        t: Type,
        head: Named | Fold,
        arguments: tuple[tuple[Value, Type], ...] = (),
        path: tuple[int, ...] = (),
        indices: tuple[Number, ...] = (),
        extents: tuple[Number, ...] = (),
    ) -> Value:
        """A value of type t of which only the cells are unknown."""
        match t:
            case Array(element, n) | Vector(element, n):
                length = self.prover.size(n)
                return Cells(
                    length,
                    lambda i: self.opaque(
                        element, head, arguments, path, (*indices, i), (*extents, length)
                    ),
                )
            case Tuple(parts):
                return tuple(
                    self.opaque(part, head, arguments, (*path, i), indices, extents)
                    for i, part in enumerate(parts)
                )
            case Scalar() | TypeVariable():
                return Opaque(head, arguments, path, indices, extents)

    def combined(self, operator: Operator, x: Value, y: Value, t: Type) -> Value:
        """op(x, y); of a vectorised operator, lane by lane."""
        match operator:
            case Vectorized(_, inner):
                assert isinstance(t, Vector | Array), "cannot happen: only vectors have lanes"
                return Cells(
                    self.prover.size(t.length if isinstance(t, Array) else t.width),
                    lambda i: self.combined(inner, at(x, i), at(y, i), t.element),
                )
            case BinaryOperator():
                return self.opaque(t, Named("operator", operator), ((x, t), (y, t)))
            case OperatorMetavariable(name, _):
                return self.opaque(t, Named("operator metavariable", name), ((x, t), (y, t)))

    # ---- reductions

    def fold(
        self,
        step: Callable[[Value, tuple[Number, ...]], Value],
        init: Value,
        accumulator: Type,
        n: Number,
    ) -> Value:
        """A reduction; cell by cell where its step keeps the cells of the accumulator apart."""
        match accumulator:
            case Array(element, width) | Vector(element, width) if self._apart(
                step, accumulator, n
            ):
                length = self.prover.size(width)
                return Cells(
                    length,
                    lambda c: self.fold(
                        lambda a, i: at(step(Cells(length, lambda _: a), i), c),
                        at(init, c),
                        element,
                        n,
                    ),
                )
            case Tuple(parts) if self._apart(step, accumulator, n):
                return tuple(self._part_of_fold(step, init, parts, c, n) for c in range(len(parts)))
            case Scalar() | TypeVariable() | Array() | Vector() | Tuple():
                return self.opaque(accumulator, Fold(step, init, accumulator, (n,)))

    def _part_of_fold(
        self,
        step: Callable[[Value, tuple[Number, ...]], Value],
        init: Value,
        parts: tuple[Type, ...],
        c: int,
        n: Number,
    ) -> Value:
        def part(a: Value, i: tuple[Number, ...]) -> Value:
            others = (self.opaque(of, Named("unused", "")) for of in parts)
            whole = tuple(a if d == c else other for d, other in enumerate(others))
            return component(step(whole, i), c)

        return self.fold(part, component(init, c), parts[c], n)

    def _apart(
        self, step: Callable[[Value, tuple[Number, ...]], Value], t: Type, n: Number
    ) -> bool:
        """Whether a cell (or a component) of the next accumulator depends on that of the last alone."""
        i = self.prover.index()
        last = self.unknown("accumulator")
        with self.prover.assuming(i >= 0, i < n):
            after = step(self.opaque(t, last), (i,))
            match t:
                case Array(element, width) | Vector(element, width):
                    c, length = self.prover.index(), self.prover.size(width)
                    with self.prover.assuming(c >= 0, c < length):
                        return all(
                            len(x.indices) > 0 and self.prover.holds(x.indices[0] == c)
                            for x in self.uses(at(after, c), element, last)
                        )
                case Tuple(parts):
                    return all(
                        x.path[:1] == (d,)
                        for d, part in enumerate(parts)
                        for x in self.uses(component(after, d), part, last)
                    )
                case Scalar() | TypeVariable():
                    raise AssertionError("cannot happen: only these have cells and components")

    def unknown(self, kind: str) -> Named:
        """What makes a value that is as new as a bound variable."""
        return Named(kind, self.prover.number())

    def uses(self, x: Value, t: Type, head: Named) -> Iterator[Opaque]:
        """Where x, of type t, depends on what `head` makes; every array and function is opened."""
        match x:
            case Cells():
                assert isinstance(t, Array | Vector), "cannot happen: only arrays have cells"
                yield from self.uses(x.at(self.prover.index()), t.element, head)
            case tuple():
                assert isinstance(t, Tuple), "cannot happen: only tuples have components"
                for part, of in zip(x, t.parts, strict=True):
                    yield from self.uses(part, of, head)
            case Choice(_, yes, no):
                yield from self.uses(yes, t, head)
                yield from self.uses(no, t, head)
            case Opaque():
                if x.head == head:
                    yield x
                for argument, of in x.arguments:
                    yield from self.uses(argument, of, head)
                yield from self.uses_within(x.head, head)
            case Known():
                pass

    def uses_within(self, inner: Named | Fold, head: Named) -> Iterator[Opaque]:
        """Where what makes an element depends on what `head` makes."""
        match inner:
            case Fold(step, init, of, extents):
                a = self.opaque(of, self.unknown("accumulator"))
                yield from self.uses(init, of, head)
                yield from self.uses(step(a, tuple(self.prover.index() for _ in extents)), of, head)
            case Named():
                pass


@dataclass(frozen=True)
class Indices:
    """The algebra of one pattern: numbers are Z3's, elements stay opaque."""

    meaning: Denotation
    pattern: Pattern

    def size(self, n: int) -> Number:
        return z3.IntVal(n)

    def divide(self, i: Number, n: Number) -> Number:
        return i / n

    def modulo(self, i: Number, n: Number) -> Number:
        return i % n

    def minimum(self, i: Number, j: Number) -> Number:
        return z3.If(i <= j, i, j)

    def maximum(self, i: Number, j: Number) -> Number:
        return z3.If(i >= j, i, j)

    def position(self, row: Number, width: Number, column: Number) -> Number:
        return row * width + column

    def function(self, f: IndexFunction, n: Number) -> Callable[[Number], Number]:
        self.meaning.index_functions.in_range(f, n)
        return partial(self.meaning.index_functions.at, f)

    def undoing(self, f: IndexFunction, n: Number) -> Callable[[Number], Number]:
        return self.meaning.index_functions.undoing(f, n)

    def array(self, n: Number, at: Callable[[Number], Value]) -> Cells:
        return Cells(n, at)

    def at(self, xs: Value, i: Number) -> Value:
        return at(xs, i)

    def vector(self, width: Number, lane: Callable[[Number], Value]) -> Cells:
        return Cells(width, lane)

    def lane(self, v: Value, i: Number) -> Value:
        return at(v, i)

    def tuple(self, *parts: Value) -> Value:
        return parts

    def component(self, x: Value, index: int) -> Value:
        return component(x, index)

    def inside(self, i: Number, n: Number, yes: Value, no: Value) -> Choice:
        return Choice(z3.And(i >= 0, i < n), yes, no)

    def before(self, i: Number, n: Number, yes: Value, no: Value) -> Choice:
        return Choice(i < n, yes, no)

    def open_outside(self, i: Number, left: Number, n: Number, xs: Value) -> Choice:
        border = self.meaning.border(self.pattern, i)
        return Choice(z3.And(i >= left, i < left + n), at(xs, i - left), border)

    def chosen(self, values: Value, i: Number) -> Value:
        return at(values, i)

    def number(self, i: Number) -> Known:
        return Known(i)

    def whole(self, x: Value) -> Number:
        if isinstance(x, Known):
            return x.number
        raise Unsupported(f"{self.pattern.name} is not known to this tier", place="")

    def below(self, x: Value, n: Number) -> Number:
        return self.whole(x)

    def within(self, x: Value, n: Number) -> Number:
        return self.meaning.within(self.whole(x), n)

    def fold(
        self, place: str, first: Value, step: Callable[[Value, Number], Value], n: Number
    ) -> Value:
        of = getattr(self.pattern, place).type
        return self.meaning.fold(lambda a, i: step(a, i[0]), first, of, n)
