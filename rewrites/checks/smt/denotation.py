"""Arrays as index functions: what a term means to Z3, whatever its elements are.

An array means its length and a function from an index to an element: that is `Denotation`, by the views of the patterns.
What an element is, and what a reduction, its subclasses say: `values.Meaning` for rules, whose elements are opaque, and the
proofs of lifted programs, whose elements are numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import z3

from relift.rewrites.checks.smt.goals import Fact, Number, Solver
from relift.rewrites.checks.smt.index_functions import WrittenFunctions
from relift.semantics.errors import Unsupported
from relift.semantics.indices.algebra import asked_for
from relift.semantics.indices.functions import IndexFunction, LiteralParameter
from relift.semantics.indices.rows import Numbers
from relift.semantics.interpreter import operand_type
from relift.semantics.syntax import terms
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import argument
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import AnyType, Type

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

    prover: Solver
    index_functions: WrittenFunctions

    def of(self, t: terms.Term, names: Mapping[str, Value]) -> Value:
        """The value of t, where free variables stand for `names`."""

        def applied(kind: str, name: Any, arguments: tuple[terms.Term, ...], of: Type) -> Value:
            return self.applied(
                Named(kind, name), tuple((self.of(u, names), u.type) for u in arguments), of
            )

        match t:
            case terms.Var(name):
                return names[name]
            case terms.Metavariable(name, arguments, of):
                return applied("metavariable", name, arguments, of)
            case terms.Literal(value, of):
                return self.literal(value, of)
            case terms.Apply(function, arguments, of):
                return applied("function", function, arguments, of)
            case terms.Call(user, arguments, of):
                return applied("user function", user, arguments, of)
            case terms.Combine(operator, left, right, of):
                return self.combined(operator, self.of(left, names), self.of(right, names), of)
            case terms.MakeTuple(parts):
                return tuple(self.of(u, names) for u in parts)
            case terms.Get(index, of):
                return component(self.of(of, names), index)
            case terms.Pattern():
                return self.pattern(t, names)
            case terms.Input():
                return self.input(t)

    @abstractmethod
    def applied(self, head: Named, arguments: tuple[tuple[Value, Type], ...], t: Type) -> Value:
        """What a function makes of its arguments."""

    @abstractmethod
    def literal(self, value: Any, t: Type) -> Value:
        """A number that the program says."""

    @abstractmethod
    def input(self, x: terms.Input) -> Value:
        """What the program is given."""

    @abstractmethod
    def numbers(self, row: Numbers, t: Type) -> Value:
        """An array of numbers that the program says."""

    @abstractmethod
    def border(self, t: terms.Pattern, i: Number) -> Value:
        """The cell i of a padded array, in its unspecified border."""

    @abstractmethod
    def within(self, i: Number, n: Number) -> Number:
        """An index that data give, where all is undefined unless it is below n; raises `Unsupported`."""

    @abstractmethod
    def combined(self, operator: terms.Operator, x: Value, y: Value, t: Type) -> Value:
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

    def function(self, f: terms.Lambda, names: Mapping[str, Value]) -> Callable[..., Value]:
        """A lambda as a function on values."""
        return lambda *values: self.of(
            f.body,
            {**names, **{x.name: v for x, v in zip(f.parameters, values, strict=True)}},
        )

    # ---- patterns

    def pattern(self, t: terms.Pattern, names: Mapping[str, Value]) -> Value:
        """The value of a pattern, by its view."""
        if not t.has_view():
            raise Unsupported(f"{t.name} is not known to this tier", place="")
        data = {
            place: self.of(u, names)
            for place in t.signature.term_fields
            if not isinstance(u := getattr(t, place), terms.Lambda)
        }

        def given(name: str) -> Any:
            match argument(t, name):
                case None:
                    return self.prover.size(t.solved[name])
                case Size() as n:
                    return self.prover.size(n)
                case terms.Lambda() as f:
                    return self.function(f, names)
                case IndexFunction() as f:
                    return f
                case Numbers() as row:
                    return self.numbers(row, t.type)
                case (
                    terms.BinaryOperator()
                    | terms.OperatorMetavariable()
                    | terms.Vectorized() as operator
                ):
                    of = operand_type(t)
                    return lambda x, y: self.combined(operator, x, y, of)
                case Expression():
                    return data[name]
                case (
                    LiteralParameter()
                    | str()
                    | int()
                    | float()
                    | tuple()
                    | terms.UserFunction()
                    | AnyType()
                ):
                    raise AssertionError(f"cannot happen: {t.name} holds no such {name}")

        ix = IndexAlgebra(self, t)
        found: Value = t.view(ix, **{name: given(name) for name in asked_for(t.view)})
        return found


@dataclass(frozen=True)
class IndexAlgebra:
    """The algebra of one pattern: numbers are Z3's, elements stay opaque."""

    meaning: Denotation
    pattern: terms.Pattern

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

    def place_before(self, i: Number, n: Number, xs: Value) -> Value:
        raise AssertionError(f"cannot happen: {self.pattern.name} is read, never written through")

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
