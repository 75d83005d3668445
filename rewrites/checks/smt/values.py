"""What a term of a rule means to tier 4a: index functions whose elements stay opaque.

Data are unknown cells, functions and operators are uninterpreted.  A reduction is a step done for each index of a box, the
last dimension fastest; one whose accumulator is an array or a tuple, and whose step keeps the cells apart, is one reduction
for each cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from relift.rewrites.checks.smt.denotation import (
    Cells,
    Choice,
    Denotation,
    Fold,
    Known,
    Named,
    Opaque,
    Value,
    at,
    component,
)
from relift.rewrites.checks.smt.goals import Number, Solver
from relift.rewrites.checks.smt.index_functions import IndexFunctions
from relift.rewrites.rule import Rule
from relift.semantics.errors import Unsupported
from relift.semantics.indices.rows import Numbers
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Input,
    Operator,
    OperatorMetavariable,
    Pattern,
    Vectorized,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector


class Meaning(Denotation):
    """The value of a term of one rule: elements are opaque."""

    def __init__(self, rule: Rule, prover: Solver) -> None:
        self.rule, self.prover = rule, prover
        self.of_rule = IndexFunctions(rule, prover)
        self.index_functions = self.of_rule

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
