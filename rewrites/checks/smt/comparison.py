"""Whether one value may stand for another, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeGuard

import z3

from relift.rewrites.checks.smt.denotation import (
    Cells,
    Choice,
    Fold,
    Known,
    Named,
    Opaque,
    Value,
    at,
    component,
)
from relift.rewrites.checks.smt.goals import Number, Open, Solver
from relift.rewrites.checks.smt.reductions import (
    Indices,
    Opened,
    Reductions,
    combination,
    indices_there,
    is_result,
    linear,
    product,
)
from relift.rewrites.checks.smt.values import Meaning
from relift.rewrites.rule import Rule
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector


@dataclass(frozen=True)
class Content:
    """What stands in the unspecified cell at `indices`, where the indices in scope are `scope`."""

    indices: Indices
    scope: Indices
    value: Value


Place: TypeAlias = tuple[object, tuple[int, ...]]
"""Where an unspecified cell comes from, and which component it is."""


class Comparison:
    """Shows that one value may stand for another, or raises `Open`.

    Without `substitution` it may do so only if both are equal: an unspecified cell is a value like any other.
    """

    def __init__(
        self, rule: Rule, prover: Solver, meaning: Meaning, substitution: bool = True
    ) -> None:
        self.rule, self.prover, self.meaning = rule, prover, meaning
        self.substitution = substitution
        self.scope = Opened(prover)
        self.reductions = Reductions(rule, self.scope, meaning)
        self.filled: dict[Place, Content] = {}

    def same(self, x: Value, y: Value, t: Type) -> None:
        """x may stand for y: they are equal but for the unspecified cells of x."""
        match t:
            case Array(element, n) | Vector(element, n):
                (i,) = self.scope.opened((self.prover.size(n),))
                with self.scope.inside((i,), (self.prover.size(n),)):
                    self.same(at(x, i), at(y, i), element)
            case Tuple(parts):
                for index, part in enumerate(parts):
                    self.same(component(x, index), component(y, index), part)
            case Scalar() | TypeVariable():
                self._same_cell(x, y, t)

    def _same_cell(self, x: Value, y: Value, t: Type) -> None:
        if isinstance(x, Choice):
            self._by_cases(x, y, t, x)
        elif self.substitution and _is_open(x):
            self._fill(x, y, t)
        elif isinstance(y, Choice):
            self._by_cases(x, y, t, y)
        elif isinstance(x, Known) and isinstance(y, Known):
            self.prover.show(x.number == y.number, "two indices are equal")
        elif isinstance(x, Opaque) and isinstance(y, Opaque):
            self._same_opaque(x, y)
        else:
            raise _different(x, y)

    def _by_cases(self, x: Value, y: Value, t: Type, choice: Choice) -> None:
        for holds, fact in ((True, choice.condition), (False, z3.Not(choice.condition))):
            with self.prover.assuming(fact):
                if not self.prover.impossible():
                    self._same_cell(_decided(x, choice, holds), _decided(y, choice, holds), t)

    def _fill(self, x: Opaque, y: Value, t: Type) -> None:
        """y stands in an unspecified cell: one value in each, so the cell tells all indices in scope apart."""
        opened = tuple(i for i, _ in self.scope.indices)
        place = (x.head, x.path)
        if place in self.filled:
            known = self.filled[place]
            if not (_identical(known.indices, x.indices) and _identical(known.scope, opened)):
                raise Open("an open cell is looked at in two places")
            Comparison(self.rule, self.prover, self.meaning, substitution=False).same(
                known.value, y, t
            )
            return
        others = self.scope.opened(opened)
        renamed = list(zip(opened, others, strict=True))
        ranges = [
            z3.And(other >= 0, other < z3.substitute(n, *renamed))
            for other, (_, n) in zip(others, self.scope.indices, strict=True)
        ]
        here = [i == z3.substitute(i, *renamed) for i in x.indices]
        with self.prover.assuming(*ranges, *here):
            for i, other in renamed:
                self.prover.show(i == other, "an open cell has one content")
        self.filled[place] = Content(x.indices, opened, y)

    def _same_opaque(self, x: Opaque, y: Opaque) -> None:
        if isinstance(x.head, Fold) or isinstance(y.head, Fold):
            self._same_folds(x, y)
            if not (isinstance(x.head, Fold) and isinstance(y.head, Fold)):
                return
        elif x.head == y.head:
            for (u, t), (v, _) in zip(x.arguments, y.arguments, strict=True):
                self.same(u, v, t)
        else:
            raise _different(x, y)
        if x.path != y.path or len(x.indices) != len(y.indices):
            raise Open(f"the sides take different components of {_shape(x)}")
        for i, j, n in zip(x.indices, y.indices, x.extents, strict=True):
            self.prover.show(i == j, "two indices are equal")
            self.prover.show(z3.And(i >= 0, i < n), "an index is in range")

    # ---- reductions

    def _same_folds(self, x: Opaque, y: Opaque) -> None:
        """One of the steps that `tier` lists shows the reductions equal."""
        f, g = self.reductions.as_fold(x, y), self.reductions.as_fold(y, x)
        if f is not None and g is not None:
            self._same_reductions(f, g)
        elif f is not None and is_result(x):
            empty = replace(f, init=y, extents=(z3.IntVal(0),))
            ways = partial(self._trimmed, f, empty), partial(self._last, f, y, True)
            self._one_of(iter(ways))
        elif g is not None and is_result(y):
            empty = replace(g, init=x, extents=(z3.IntVal(0),))
            ways = partial(self._trimmed, empty, g), partial(self._last, g, x, False)
            self._one_of(iter(ways))
        else:
            raise _different(x, y)

    def _same_reductions(self, f: Fold, g: Fold) -> None:
        if f.accumulator != g.accumulator:
            raise Open("two reductions have results of different types")
        for fold in (f, g):
            if isinstance(fold.init, Choice):
                choice = fold.init
                for holds, fact in ((True, choice.condition), (False, z3.Not(choice.condition))):
                    with self.prover.assuming(fact):
                        if not self.prover.impossible():
                            left, right = (
                                replace(h, init=_decided(h.init, choice, holds)) for h in (f, g)
                            )
                            self._same_reductions(left, right)
                return
        self._one_of(self._ways(f, g))

    def _one_of(self, ways: Iterator[Callable[[], None]]) -> None:
        """Take the first way that succeeds; raises what the first one raised if none does."""
        first: Open | None = None
        for way in ways:
            proved, filled = self.prover.proved, dict(self.filled)
            try:
                way()
                return
            except Open as error:
                self.prover.proved, self.filled = proved, filled
                first = first or error
                if self.prover.exhausted():
                    break
        assert first is not None, "cannot happen: there is one way at least"
        raise first

    def _ways(self, f: Fold, g: Fold) -> Iterator[Callable[[], None]]:
        yield partial(self._same_steps, f, g)
        for left, right in self.reductions.readings(f, g):
            yield partial(self._same_steps, left, right)
        yield partial(self._trimmed, f, g)
        for left, right in self.reductions.readings(f, g):
            yield partial(self._trimmed, left, right)
        left, right = self.reductions.consecutive(f), self.reductions.consecutive(g)
        if left is not f or right is not g:
            yield partial(self._same_steps, left, right)
            yield partial(self._trimmed, left, right)
        yield partial(self._first, f, g)

    def _same_steps(self, f: Fold, g: Fold) -> None:
        """The same steps: the box with more dimensions index by index, the other one by `count`."""
        self.same(f.init, g.init, f.accumulator)
        lengths = product(f.extents) == product(g.extents)
        self.prover.show(lengths, "two reductions have the same length")
        box = max(f.extents, g.extents, key=len)
        inside = self.scope.opened(box)
        with self.scope.inside(inside, box):
            here, there = (indices_there(inside, box, fold.extents) for fold in (f, g))
            a = self.meaning.opaque(f.accumulator, self.meaning.unknown("accumulator"))
            self.same(f.step(a, here), g.step(a, there), f.accumulator)

    def _trimmed(self, f: Fold, g: Fold) -> None:
        """What is done on one side is done on the other between steps that change nothing."""
        if not isinstance(f.accumulator, Scalar | TypeVariable):
            raise Open("two reductions have different lengths")
        self.same(f.init, g.init, f.accumulator)
        f, g = linear(f), linear(g)
        self._one_of(
            partial(self._between, longer, shorter, start, f)
            for start in self.reductions.starts(f, g)
            for longer, shorter in ((f, g), (g, f))
        )

    def _between(self, longer: Fold, shorter: Fold, start: Number, left: Fold) -> None:
        (n,), (m,) = longer.extents, shorter.extents
        self.prover.show(z3.And(start >= 0, start + m <= n), "one reduction is within the other")
        (i,), (j,) = self.scope.opened((n,)), self.scope.opened((m,))
        a, t = Opaque(self.meaning.unknown("accumulator")), left.accumulator
        outside = z3.Or(i < start, i >= start + m)
        with self.scope.inside((i,), (n,)), self.prover.assuming(outside):
            if not self.prover.impossible():
                self._idle(longer.step(a, (i,)), a, longer is left)
        with self.scope.inside((j,), (m,)):
            x, y = longer.step(a, (start + j,)), shorter.step(a, (j,))
            self._same_on((x, y), longer is left, t)

    def _idle(self, after: Value, a: Opaque, on_the_left: bool) -> None:
        """A step leaves the accumulator as it is, or combines it with a neutral element."""
        if isinstance(after, Choice):
            cases = ((after.condition, after.yes), (z3.Not(after.condition), after.no))
            for fact, branch in cases:
                with self.prover.assuming(fact):
                    if not self.prover.impossible():
                        self._idle(branch, a, on_the_left)
        elif (applied := combination(after)) is not None and applied[1] == a:
            name, _, element, t = applied
            neutral = self.reductions.neutral(name)
            if not neutral:
                raise Open(f"{name} has no neutral element")
            z = Opaque(Named("metavariable", neutral[0]))
            self._same_on((element, z), on_the_left, t)
        elif after != a:
            raise Open("a step changes the accumulator")

    def _last(self, fold: Fold, y: Value, on_the_left: bool) -> None:
        """A reduction of one element at least ends with the step at the last."""
        whole, t = linear(fold), fold.accumulator
        (n,) = whole.extents
        self.prover.show(n >= 1, "there is a last step")
        before = self.meaning.opaque(t, replace(whole, extents=(n - 1,)))
        self._same_on((whole.step(before, (n - 1,)), y), on_the_left, t)

    def _first(self, f: Fold, g: Fold) -> None:
        """A reduction of one element at least begins with the step at the first."""
        f, g = linear(f), linear(g)
        (n,), (m,) = f.extents, g.extents
        if self.prover.holds(n >= m + 1):
            f = _after_first(f)
        elif self.prover.holds(m >= n + 1):
            g = _after_first(g)
        else:
            raise Open("two reductions have different lengths")
        self._same_steps(f, g)

    def _same_on(self, values: tuple[Value, Value], on_the_left: bool, t: Type) -> None:
        """Two values are the same, the first being of the left side or of the right."""
        x, y = values if on_the_left else values[::-1]
        self.same(x, y, t)


def _after_first(fold: Fold) -> Fold:
    (n,) = fold.extents
    return replace(
        fold,
        step=lambda a, i: fold.step(a, (i[0] + 1,)),
        init=fold.step(fold.init, (z3.IntVal(0),)),
        extents=(n - 1,),
    )


def _identical(xs: Indices, ys: Indices) -> bool:
    return len(xs) == len(ys) and all(x.eq(y) for x, y in zip(xs, ys, strict=True))


def _decided(x: Value, choice: Choice, holds: bool) -> Value:
    """A value where the condition of a choice is decided."""
    if isinstance(x, Choice) and x.condition.eq(choice.condition):
        return x.yes if holds else x.no
    return x


def _different(x: Value, y: Value) -> Open:
    return Open(f"the sides differ in shape: {_shape(x)} and {_shape(y)}")


def _shape(x: Value) -> str:
    match x:
        case Opaque():
            return _made_by(x.head)
        case Known():
            return "an index"
        case Cells() | Choice() | tuple():
            return type(x).__name__.lower()


def _made_by(head: Named | Fold) -> str:
    match head:
        case Fold():
            return "a reduction"
        case Named("open cell" | "accumulator" as kind):
            return f"an {kind}"
        case Named("operator" | "user function", function):
            return str(function.name)
        case Named("literal", (value, _)):
            return str(value)
        case Named():
            return str(head.name)


def _is_open(x: Value) -> TypeGuard[Opaque]:
    """Whether a value is an unspecified cell."""
    return isinstance(x, Opaque) and isinstance(x.head, Named) and x.head.kind == "open cell"
