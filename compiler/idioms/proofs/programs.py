"""What a lifted program means: index functions over scalars of Z3, and a fold for each reduction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import z3

from relift.compiler.idioms.lifting.programs import Lifted
from relift.compiler.idioms.proofs.folds import Equations
from relift.compiler.idioms.proofs.scalars import Term
from relift.rewrites.checks.smt.denotation import (
    Cells,
    Choice,
    Denotation,
    Known,
    Named,
    Opaque,
    Value,
    at,
)
from relift.rewrites.checks.smt.goals import Number, Open
from relift.rewrites.checks.smt.index_functions import WrittenFunctions
from relift.semantics.errors import Unsupported
from relift.semantics.indices.rows import Numbers
from relift.semantics.interpreter import operator_lambda
from relift.semantics.patterns.algorithmic import Repeat
from relift.semantics.patterns.lookups import AtRuntimeUnsafe, ScatterIndices
from relift.semantics.patterns.sequential import ReduceWhile
from relift.semantics.syntax import terms
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Input,
    Operator,
    Pattern,
    free_variables,
)
from relift.semantics.syntax.types import (
    SCALARS,
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    dimensions,
)


class Programs(Denotation):
    """The values of the terms of one program; arrays are those of the function that it was lifted from."""

    def __init__(
        self, lifted: Lifted, equations: Equations, size: Callable[[Size], Number], wide: bool
    ) -> None:
        self.lifted, self.equations, self.size, self.wide = lifted, equations, size, wide
        self.prover, self.scalars = equations.prover, equations.scalars
        self.index_functions = WrittenFunctions(self.prover)
        self.parameters = {p.name: p for p in lifted.parameters}
        self.places: list[Number] = []
        self.at_once = 0
        """Of so many steps is what an iteration does to cells one after the other: no loop, which would have an invariant."""

    def result(self, indices: tuple[Number, ...]) -> Term:
        """The cell of the result at some indices."""
        found = self.of(self.lifted.program.body, {})
        t = self.lifted.program.body.type
        for i in indices:
            assert isinstance(t, Array), "cannot happen: there is an index for each dimension"
            assert isinstance(found, Cells), "cannot happen: the result is an array"
            found, t = found.at(i), t.element
        return self.scalar(found)

    def scalar(self, x: Value) -> Term:
        """A scalar as a term of Z3."""
        match x:
            case Known(term):
                return term
            case Choice(condition, yes, no):
                return z3.If(condition, self.scalar(yes), self.scalar(no))
            case Cells() | Opaque() | tuple():
                raise AssertionError("cannot happen: it is a scalar")

    def applied(self, head: Named, arguments: tuple[tuple[Value, Type], ...], t: Type) -> Value:
        if head.kind != "function" or not isinstance(t, Scalar):
            raise Unsupported(f"{head.kind} {head.name} in a proof", place="")
        kinds = [str(of) for _, of in arguments]
        return Known(
            self.scalars.applied(
                str(head.name), [self.scalar(x) for x, _ in arguments], kinds, t.name
            )
        )

    def literal(self, value: Any, t: Type) -> Value:
        return Known(self.scalars.literal(value, str(t)))

    def input(self, x: Input) -> Value:
        p = self.parameters.get(x.name)
        if p is None or p.type != x.type:
            raise Unsupported(f"{x.name}: {x.type} is nothing that the function has", place="")
        if p.first is None:
            return Known(self.scalars.named(p.value, str(p.type)))
        first = self.size(p.first)

        def below(t: Type, at: Number) -> Value:
            match t:
                case Array(element, n):
                    length = self.prover.size(n)
                    width = self.prover.size(_cells(element))
                    return Cells(length, lambda i: below(element, at + i * width))
                case Scalar():
                    return Known(self.cell(p.value, first + at, t.name, p.cells))
                case Tuple() | Vector() | TypeVariable():
                    raise Unsupported(f"an array of {t} in a proof", place="")

        return below(p.type, z3.IntVal(0))

    def cell(self, array: str, at: Number, kind: str, cells: str) -> Term:
        """A cell as it is before the loops, its index in normal form."""
        place = self.prover.number_of(self.prover.polynomial(at))
        return self.scalars.cell(array, place, kind, cells)

    def numbers(self, row: Numbers, t: Type) -> Value:
        raise Unsupported("an array that is written out, in a proof", place="")

    def border(self, t: Pattern, i: Number) -> Value:
        raise Unsupported("an unspecified border, in a proof", place="")

    def within(self, i: Number, n: Number) -> Number:
        return i  # that it is below n is a condition that stays

    def pattern(self, t: Pattern, names: Mapping[str, Value]) -> Value:
        if isinstance(t, ScatterIndices):
            return self._scattered(t, names)
        if isinstance(t, AtRuntimeUnsafe):
            return at(self.of(t.xs, names), self.place(t.index, names))
        return self._while(t, names) if isinstance(t, ReduceWhile) else super().pattern(t, names)

    def place(self, index: terms.Term, names: Mapping[str, Value]) -> Number:
        """The cell that an index leads to, a condition being that it is one.

        With `wide`, what was cut to 32 bits stands for itself: the index is below 2 ** 31, and has the same lowest bits.
        """
        if not isinstance(index, Apply) or not self.wide:
            return self.scalar(self.of(index, names))
        if is_cut(index):
            return self.scalar(self.of(index.arguments[0], names))
        match index.function, index.arguments:
            case "select", (condition, yes, no):
                chosen = (self.place(x, names) for x in (yes, no))
                return z3.If(self.scalar(self.of(condition, names)), *chosen)
            case "add" | "sub" | "mul", (a, b):
                x, y = self.place(a, names), self.place(b, names)
                return {"add": x + y, "sub": x - y, "mul": x * y}[index.function]
            case _:
                return self.scalar(self.of(index, names))

    def _scattered(self, t: ScatterIndices, names: Mapping[str, Value]) -> Value:
        """An array of which one cell, that data choose, is another."""
        xs, into = (self.of(u, names) for u in (t.xs, t.into))
        of = t.ids.type
        if not isinstance(of, Array) or of.length != 1 or not isinstance(into, Cells):
            raise Unsupported("several cells that are written together, in a proof", place="")
        assert isinstance(t.ids, Repeat), "cannot happen: one cell is an array of one index"
        place, value = self.place(t.ids.x, names), at(xs, z3.IntVal(0))
        self.places.append(place)
        return Cells(into.length, lambda i: Choice(i == place, value, into.at(i)))

    def _while(self, t: ReduceWhile, names: Mapping[str, Value]) -> Value:
        """A fold that stops where its index comes to a number, which is one of its indices: that is a condition.

        One whose test asks for no index stays as it is once it does not go on.
        """
        acc, i = t.p.parameters
        test = t.p.body
        if i.name not in free_variables(test):
            return Known(z3.IntVal(0)), self._halting(t, names)
        counts = isinstance(test, Apply) and test.function == "lt" and test.arguments[0] == i
        if not isinstance(test, Apply) or not counts:
            raise Unsupported("a fold that data end, in a proof", place="")
        end = test.arguments[1]
        if {acc.name, i.name} & free_variables(end):
            raise Unsupported("a fold that data end, in a proof", place="")
        n = self.scalar(self.of(end, names))
        if not self.lifted.asks("rows that rise"):
            raise Unsupported("a fold that may end early, in a proof", place="")
        xs, step = self.of(t.xs, names), self.function(t.f, names)
        init = self.of(t.init, names)
        return Known(n), self.fold(lambda a, k: step(a, at(xs, k[0])), init, t.init.type, n)

    def _halting(self, t: ReduceWhile, names: Mapping[str, Value]) -> Value:
        """A fold that goes on while a test holds of what it has."""
        xs, step, goes_on = (
            self.of(t.xs, names),
            self.function(t.f, names),
            self.function(t.p, names),
        )

        def halting(acc: Value, k: tuple[Number, ...]) -> Value:
            x = at(xs, k[0])
            return Choice(self.scalar(goes_on(acc, x)), step(acc, x), acc)

        assert isinstance(t.xs.type, Array), "cannot happen: a fold is over an array"
        n = self.prover.size(t.xs.type.length)
        return self.fold(halting, self.of(t.init, names), t.init.type, n)

    def combined(self, operator: Operator, x: Value, y: Value, t: Type) -> Value:
        if not isinstance(operator, BinaryOperator):
            raise Unsupported("an operator on vectors, in a proof", place="")
        f = operator_lambda(operator, t)
        return self.function(f, {})(x, y)

    def fold(
        self,
        step: Callable[[Value, tuple[Number, ...]], Value],
        init: Value,
        accumulator: Type,
        n: Number,
    ) -> Value:
        """A reduction whose accumulator is a scalar, or some."""
        if isinstance(accumulator, Array) and isinstance(accumulator.element, Scalar):
            return self._folded_cells(step, init, accumulator.element, n)
        parts = accumulator.parts if isinstance(accumulator, Tuple) else (accumulator,)
        kinds = tuple(t.name for t in parts if isinstance(t, Scalar))
        if len(kinds) < len(parts):
            raise Unsupported(f"an accumulator of type {accumulator} in a proof", place="")

        def flat(x: Value) -> tuple[Term, ...]:
            if isinstance(x, tuple):
                return tuple(map(self.scalar, x))
            if isinstance(x, Choice) and len(kinds) > 1:
                yes, no = flat(x.yes), flat(x.no)
                return tuple(z3.If(x.condition, a, b) for a, b in zip(yes, no, strict=True))
            return (self.scalar(x),)

        def whole(terms: tuple[Term, ...]) -> Value:
            known = tuple(map(Known, terms))
            return known if isinstance(accumulator, Tuple) else known[0]

        return whole(
            self.equations.fold(
                kinds,
                flat(init),
                lambda state, k: flat(step(whole(state), (k,))),
                n,
                by_program=True,
            )
        )

    def _is_cell(self, j: Number, written: Number) -> bool:
        """Whether an index is of a cell, where another one is, which is a condition."""
        up_to = z3.And(j >= 0, j <= written)
        return self.prover.holds(j == written) or self.prover.holds(z3.Implies(written >= 0, up_to))

    def _folded_cells(
        self,
        step: Callable[[Value, tuple[Number, ...]], Value],
        init: Value,
        element: Scalar,
        n: Number,
    ) -> Value:
        """A fold over an array, cell by cell: of the others nothing is known while one is followed."""
        assert isinstance(init, Cells), "cannot happen: an array begins as one"
        length = init.length
        if self.at_once and z3.is_int_value(n) and n.as_long() == self.at_once:
            left: Value = init
            for k in range(self.at_once):
                left = step(left, (z3.IntVal(k),))
            return left

        def followed(i: Number) -> Value:
            def one(state: tuple[Term, ...], k: Number) -> tuple[Term, ...]:
                others: Any = z3.Function(
                    f"?cells {self.prover.number()}", z3.IntSort(), self.scalars.sort(element.name)
                )
                read: list[Number] = []

                def cell(j: Number) -> Value:
                    read.append(j)
                    return Known(z3.If(j == i, state[0], others(j)))

                before = len(self.places)
                after = self.scalar(at(step(Cells(length, cell), (k,)), i))
                written = self.places[before:]
                for j in read:  # what is read beside the cells that are written may be no cell
                    if not j.eq(i) and not any(self._is_cell(j, p) for p in written):
                        raise Open("a cell that is read is one up to that which is written")
                return (after,)

            first = (self.scalar(at(init, i)),)
            (found,) = self.equations.fold((element.name,), first, one, n, by_program=True)
            return Known(found)

        return Cells(length, followed)


def _cells(t: Type) -> Size:
    """How many scalars an element has."""
    return math.prod(dimensions(t)[0], start=Size.of(1))


def is_cut(t: terms.Term) -> bool:
    """Whether a term is a whole number of 64 bits of which 32 are kept."""
    return isinstance(t, Apply) and t.function == "i32" and t.arguments[0].type == SCALARS["i64"]
