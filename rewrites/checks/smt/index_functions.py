"""Index functions of a rule as functions of Z3: their laws, their ranges, and what undoes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from relift.rewrites.checks.smt.goals import Number, Open, Permutation, Solver
from relift.rewrites.conditions import IndexCondition
from relift.rewrites.rule import Rule
from relift.semantics.errors import Unsupported
from relift.semantics.indices.functions import (
    IndexExpression,
    IndexFunction,
    IndexMetavariable,
    IndexOperation,
    SizeIndex,
    TheIndex,
    folded,
)
from relift.semantics.patterns import Indexed
from relift.semantics.syntax.signatures import IndexKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import subterms


class WrittenFunctions:
    """Index functions that a term writes out, and those that have been given a function of Z3."""

    def __init__(self, prover: Solver) -> None:
        self.prover = prover
        self.functions: dict[str, z3.FuncDeclRef] = {}
        self.inverses: dict[tuple[str, str], Callable[[Number], Number]] = {}

    def at(self, f: IndexFunction, i: Number) -> Number:
        """The value of an index function."""

        def operation(e: IndexOperation, x: Number, y: Number) -> Number:
            match e.symbol:
                case "+":
                    return x + y
                case "-":
                    return x - y
                case "*":
                    return x * y
                case "//":
                    return x / y
                case "%":
                    return x % y

        return folded(
            f.body, i, self.prover.size, operation, lambda e, x: self.functions[e.name](x)
        )

    def divisors_of(self, f: IndexFunction) -> Iterator[Number]:
        """What an index function divides by."""

        def within(e: IndexExpression) -> Iterator[Number]:
            match e:
                case IndexOperation(symbol, left, right):
                    if symbol in ("//", "%") and isinstance(right, SizeIndex):
                        yield self.prover.size(right.value)
                    yield from within(left)
                    yield from within(right)
                case IndexMetavariable(_, _, argument):
                    yield from within(argument)
                case TheIndex() | SizeIndex():
                    pass

        return within(f.body)

    def in_range(self, f: IndexFunction, n: Number) -> None:
        """Show that the indices below n are mapped to such; what is out of range makes all undefined."""
        i = self.prover.index()
        with self.prover.anywhere(i >= 0, i < n):
            for d in self.divisors_of(f):
                self.prover.show(d >= 1, "a divisor is positive")
            j = self.at(f, i)
            self.prover.show(z3.And(j >= 0, j < n), "an index is in range")

    def undoing(self, f: IndexFunction, n: Number) -> Callable[[Number], Number]:
        """What undoes an index function on the indices below n, which must be a permutation of them."""

        def undone(e: IndexExpression) -> Callable[[Number], Number] | None:
            match e:
                case TheIndex():
                    return lambda i: i
                case IndexMetavariable(name, _, argument):
                    outer, inner = self.functions.get(_undone(name)), undone(argument)
                    if outer is None or inner is None:
                        return None
                    return lambda i: inner(outer(i))
                case SizeIndex() | IndexOperation():
                    return None

        return undone(f.body) or self._inverse(f, n)

    def _inverse(self, f: IndexFunction, n: Number) -> Callable[[Number], Number]:
        """The inverse of a permutation, once it is shown that there is one."""
        prover = self.prover
        key = self.at(f, z3.Int("i")).sexpr(), n.sexpr()
        if key in self.inverses:
            return self.inverses[key]
        i, j = prover.index(), prover.index()
        here, there = self.at(f, i), self.at(f, j)
        try:
            self.in_range(f, n)
            with prover.anywhere(i >= 0, i < n, j >= 0, j < n):
                divided = [
                    fact
                    for d in prover.names.values()
                    if prover.holds(d >= 1)
                    for fact in (here / d == there / d, here % d == there % d)
                ]
                with prover.assuming(here == there, *divided):
                    prover.show(i == j, "two indices are equal")
        except Open as error:
            raise Unsupported("a scatter by what is not known to permute", place="") from error
        permutation = Permutation(lambda i: self.at(f, i), n)
        self.inverses[key] = prover.inverse(permutation)
        return self.inverses[key]


class IndexFunctions(WrittenFunctions):
    """The index functions of one rule: those that it quantifies over, and those that it writes out."""

    def __init__(self, rule: Rule, prover: Solver) -> None:
        super().__init__(prover)
        self.rule = rule
        self._written = list(_written_permutations(rule))
        self._state_laws()

    def _state_laws(self) -> None:
        """Index metavariables stay in range; each has the inverse that its conditions give it."""
        integers = (z3.IntSort(), z3.IntSort())
        lengths: dict[str, Number] = {}
        for name, kind in self.rule.parameters.items():
            if isinstance(kind, IndexKind):
                lengths[name] = self.prover.size(kind.length)
                self.functions[name] = z3.Function(name, *integers)
        i = z3.Int("i")

        def state(function: Any, undone: Any, n: Number) -> None:
            inside = z3.And(i >= 0, i < n)
            facts = [function(i) >= 0, function(i) < n]
            facts += [undone(function(i)) == i] if undone is not None else []
            rule = z3.ForAll([i], z3.Implies(inside, z3.And(*facts)), patterns=[function(i)])
            self.prover.given.append(rule)

        for name, n in lengths.items():
            state(self.functions[name], None, n)
        for condition in self.rule.where:
            if not isinstance(condition, IndexCondition):
                continue
            f, n = self.functions[condition.function], lengths[condition.function]
            if condition.inverse is None:
                g = z3.Function(f"{condition.function} undone", *integers)
                self.functions[_undone(condition.function)] = g
            else:
                g = self.functions[condition.inverse]
                self.functions[_undone(condition.function)] = g
                self.functions[_undone(condition.inverse)] = f
            state(f, g, n)
            state(g, f, n)

    def permutations(self, n: Number) -> Iterator[Callable[[Number], Number]]:
        """The permutations of the indices below n that the rule names or writes, and what undoes them."""
        for name, kind in self.rule.parameters.items():
            if not isinstance(kind, IndexKind) or _undone(name) not in self.functions:
                continue
            if self.prover.holds(self.prover.size(kind.length) == n):
                yield self.functions[name]
                yield self.functions[_undone(name)]
        for f, length in self._written:
            if self.prover.holds(self.prover.size(length) == n):
                try:
                    undone = self.undoing(f, n)
                except Unsupported:
                    continue
                yield partial(self.at, f)
                yield undone


def _written_permutations(rule: Rule) -> Iterator[tuple[IndexFunction, Size]]:
    """The index functions of the rule that are no metavariables, and how many indices they are of."""
    seen: set[tuple[IndexFunction, Size]] = set()
    for side in (rule.left, rule.right):
        for t, _ in subterms(side):
            if isinstance(t, Indexed):
                found = t.idx, t.solved["n"]
                if not isinstance(t.idx.body, IndexMetavariable) and found not in seen:
                    seen.add(found)
                    yield found


def _undone(name: str) -> str:
    return f"{name} undone"
