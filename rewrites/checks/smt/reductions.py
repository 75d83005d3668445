"""What reductions may be read as: larger boxes, other orders, one after the other."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import z3

from relift.rewrites.checks.smt.denotation import Choice, Fold, Named, Opaque, Value
from relift.rewrites.checks.smt.goals import Number, Solver
from relift.rewrites.checks.smt.values import Meaning
from relift.rewrites.rule import Rule
from relift.semantics.patterns import Bordered
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import Scalar, Type, TypeVariable

Indices: TypeAlias = tuple[Number, ...]


class Opened:
    """The indices that were opened, each below its extent."""

    def __init__(self, prover: Solver) -> None:
        self.prover = prover
        self.indices: list[tuple[Number, Number]] = []

    def opened(self, extents: Indices) -> Indices:
        return tuple(self.prover.index() for _ in extents)

    @contextmanager
    def inside(self, indices: Indices, extents: Indices) -> Generator[None]:
        """With these indices, each below its extent."""
        opened = list(zip(indices, extents, strict=True))
        known = len(self.indices)
        self.indices += opened
        try:
            with self.prover.assuming(*(fact for i, n in opened for fact in (i >= 0, i < n))):
                yield
        finally:
            del self.indices[known:]


class Reductions:
    """The readings of the reductions of one rule, as its laws and its permutations of indices allow them."""

    def __init__(self, rule: Rule, scope: Opened, meaning: Meaning) -> None:
        self.rule, self.scope, self.prover, self.meaning = rule, scope, scope.prover, meaning

    def as_fold(self, x: Opaque, other: Opaque) -> Fold | None:
        """The reduction that an element is: `partial` and `one`."""
        if isinstance(x.head, Fold):
            return self._flat(x.head)
        if (applied := combination(x)) is not None and (rest := _whole_fold(applied[2])):
            inner = self._flat(rest)
            if self._monoid(inner) == applied[0]:
                return replace(inner, init=applied[1])
        if isinstance(other.head, Fold) and is_result(other):
            g = self._flat(other.head)
            name = self._monoid(g)
            if name is not None:
                t, head = g.accumulator, Named("operator metavariable", name)
                return replace(g, step=lambda a, _: Opaque(head, ((a, t), (x, t))), extents=())
        return None

    def _flat(self, fold: Fold) -> Fold:
        """The reduction over the larger box that a `nested` one is, or one of `partial` results."""
        if not isinstance(fold.accumulator, Scalar | TypeVariable):
            return fold
        head = self.meaning.unknown("accumulator")
        accumulator, indices = Opaque(head), self.scope.opened(fold.extents)
        with self.scope.inside(indices, fold.extents):
            inner = self._inner(fold, accumulator, head, indices)
        if inner is None or any(_mentions(n, indices) for n in inner.extents):
            return fold
        depth = len(indices)

        def step(a: Value, i: Indices) -> Value:
            rows = self._inner(fold, accumulator, head, i[:depth])
            assert rows is not None, "cannot happen: there was one at new indices"
            return rows.step(a, i[depth:])

        return self._flat(replace(fold, step=step, extents=(*fold.extents, *inner.extents)))

    def _inner(self, fold: Fold, accumulator: Opaque, head: Named, i: Indices) -> Fold | None:
        """The reduction that is one step of a reduction."""
        stepped = fold.step(accumulator, i)
        applied = combination(stepped)
        if (rows := _whole_fold(stepped)) is not None and rows.init == accumulator:
            inner, within = self._flat(rows), replace(rows, init=Opaque(Named("unused", "")))
        elif (
            applied is not None
            and applied[1] == accumulator
            and (rows := _whole_fold(applied[2])) is not None
        ):
            inner, within = self._flat(rows), rows
            if self._monoid(inner) != applied[0]:
                return None
        else:
            return None
        return None if any(self.meaning.uses_within(within, head)) else inner

    def _operator(self, fold: Fold) -> str | None:
        """The associative operator that a step merely applies to the accumulator and an element."""
        step = self._applied(fold, self.scope.opened(fold.extents))
        if step is None or not self._obeys(step[0], "associative"):
            return None
        return step[0]

    def _applied(self, fold: Fold, i: Indices) -> tuple[str, Value] | None:
        """The operator and the element at an index, where a step is no more than that."""
        if not isinstance(fold.accumulator, Scalar | TypeVariable):
            return None
        head = self.meaning.unknown("accumulator")
        accumulator = Opaque(head)
        applied = combination(fold.step(accumulator, i))
        if applied is None:
            return None
        name, a, element, t = applied
        known = a == accumulator and not any(self.meaning.uses(element, t, head))
        return (name, element) if known else None

    def _monoid(self, fold: Fold) -> str | None:
        """The operator of a reduction that starts from its neutral element."""
        name, z = self._operator(fold), fold.init
        if name is None or not isinstance(z, Opaque) or z.arguments or z.path or z.indices:
            return None
        if not isinstance(z.head, Named) or z.head.kind != "metavariable":
            return None
        return name if z.head.name in self.neutral(name) else None

    def _obeys(self, operator: str, law: str) -> bool:
        return any(c.law == law for c in self.rule.laws(operator))

    def neutral(self, operator: str) -> list[str]:
        return [c.element for c in self.rule.laws(operator) if c.law == "neutral" and c.element]

    def readings(self, f: Fold, g: Fold) -> Iterator[tuple[Fold, Fold]]:
        """The larger box read in other orders: `reordered`, where the operator allows it."""
        swapped = len(f.extents) < len(g.extents)
        fold = g if swapped else f
        operator = self._operator(fold)
        if operator is None or not self._obeys(operator, "commutative"):
            return
        for order in self._orders(fold):
            yield (f, order) if swapped else (order, g)

    def _orders(self, fold: Fold) -> Iterator[Fold]:
        dimensions = range(len(fold.extents))
        for order in itertools.islice(itertools.permutations(dimensions), 1, 24):
            extents = tuple(fold.extents[d] for d in order)
            yield replace(fold, step=partial(_unordered, fold, order), extents=extents)
        if len(fold.extents) == 1:
            (n,) = fold.extents
            for permutation in (*self.meaning.of_rule.permutations(n), lambda i: n - 1 - i):
                yield replace(fold, step=partial(_permuted, fold, permutation))

    def starts(self, f: Fold, g: Fold) -> Iterator[Number]:
        """Where what is reduced on one side may be found on the other."""
        yield z3.IntVal(0)
        yield z3.simplify(f.extents[0] - g.extents[0])
        yield z3.simplify(g.extents[0] - f.extents[0])
        lefts = [
            t.left
            for side in (self.rule.left, self.rule.right)
            for t, _ in subterms(side)
            if isinstance(t, Bordered)
        ]
        for n in (*lefts, *map(Size.atom, self.rule.sizes)):
            yield self.prover.size(n)

    def consecutive(self, fold: Fold) -> Fold:
        """A reduction that goes on from another one, as one over both, one after the other."""
        first = _whole_fold(fold.init)
        if first is None or first.accumulator != fold.accumulator:
            return fold
        before, after = linear(self.consecutive(self._flat(first))), linear(fold)
        (n,), (m,) = before.extents, after.extents
        return replace(
            before,
            step=lambda a, i: Choice(i[0] < n, before.step(a, i), after.step(a, (i[0] - n,))),
            extents=(n + m,),
        )


def is_result(x: Opaque) -> bool:
    """Whether an element is all that something makes, not a cell of it."""
    return not x.path and not x.indices


def linear(fold: Fold) -> Fold:
    """A reduction over a box as one over the count of its indices."""
    if len(fold.extents) == 1:
        return fold
    box = (z3.simplify(product(fold.extents)),)
    return replace(
        fold, step=lambda a, i: fold.step(a, indices_there(i, box, fold.extents)), extents=box
    )


def _mentions(e: Number, indices: Indices) -> bool:
    return not z3.substitute(e, *((i, i + 1) for i in indices)).eq(e)


def product(extents: Indices) -> Number:
    return functools.reduce(lambda n, m: n * m, extents, z3.IntVal(1))


def _permuted(fold: Fold, permutation: Callable[[Number], Number], a: Value, i: Indices) -> Value:
    """The step at the place of an index in another order."""
    return fold.step(a, (permutation(i[0]),))


def _unordered(fold: Fold, order: tuple[int, ...], a: Value, i: Indices) -> Value:
    """The step at an index of which `i` lists the dimensions in an order."""
    return fold.step(a, tuple(i[order.index(d)] for d in range(len(order))))


def _whole_fold(x: Value) -> Fold | None:
    """The reduction whose whole result a value is."""
    if not isinstance(x, Opaque) or x.arguments or x.path or x.indices:
        return None
    return x.head if isinstance(x.head, Fold) else None


def combination(x: Value) -> tuple[str, Value, Value, Type] | None:
    """An operator metavariable applied, its operands, and the type of the second."""
    if not isinstance(x, Opaque) or not isinstance(x.head, Named) or x.path or x.indices:
        return None
    if x.head.kind != "operator metavariable":
        return None
    (left, _), (right, t) = x.arguments
    return x.head.name, left, right, t


def indices_there(i: Indices, box: Indices, extents: Indices) -> Indices:
    """The index of another box that is counted the same number of times as i is in its own."""
    if extents is box or len(extents) == len(box) == 1:
        return i
    count: Number = z3.IntVal(0)
    for index, n in zip(i, box, strict=True):
        count = count * n + index
    found: list[Number] = []
    for n in reversed(extents[1:]):
        found.append(count % n)
        count = count / n
    return (count, *reversed(found)) if extents else ()
