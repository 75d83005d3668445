"""Tier 4a: arrays as index functions, and Z3, for all sizes.

Both sides of a rule mean index functions (see `index_values`).  They are opened at new indices in range and
compared from the root down, by congruence and case split, until what is left are statements about whole
numbers (see `index_goals`): two indices are equal, an index is in range.

Of reductions it is known that they are equal when their starts are, and their steps at each index.  Further
steps, each named where it is taken below:

    nested      a step that reduces on from its accumulator: one reduction over a larger box
    partial     (+), associative with neutral z:  a + (z + x + y) = a + x + y, so the same of partial results
    one         (+), associative with neutral z:  x = z + x, the reduction of one element
    count       boxes of one size, read in order, are read by one count
    reordered   (+), associative and commutative: any order of the dimensions, or of the indices by a permutation
    trimmed     steps at both ends that change nothing, like (+ z) for a neutral z, are left out
    consecutive a reduction that starts from the result of another goes on from its last step
    first, last a reduction of one element at least is a step, and a reduction of the others

What needs induction otherwise is left to tier 4b.  The right side of a refinement may have anything in the
unspecified cells of the left, but one thing in each.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import z3

from relift.rewrites.checks.instances import Instances
from relift.rewrites.checks.random.models import confirm_difference
from relift.rewrites.checks.smt.goals import Number, Open, Prover
from relift.rewrites.checks.smt.values import (
    Choice,
    Fold,
    Meaning,
    Named,
    Opaque,
    Value,
    Whole,
    at,
    component,
)
from relift.rewrites.checks.verdicts import Counterexample, Status, TierResult
from relift.rewrites.rule import Rule
from relift.semantics.errors import Unsupported
from relift.semantics.patterns import Pad
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Pattern, subterms
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

LARGEST_INSTANCE = 5000
"""A counterexample of Z3 with an array of more cells is not tried by the interpreter."""

CELLS_TRIED = 50_000
"""How many cells the arrays of all instances have together that are tried for one counterexample of Z3."""

Indices: TypeAlias = tuple[Number, ...]


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
        self, rule: Rule, prover: Prover, meaning: Meaning, substitution: bool = True
    ) -> None:
        self.rule, self.prover, self.meaning, self.substitution = (
            rule,
            prover,
            meaning,
            substitution,
        )
        self.scope: list[
            tuple[Number, Number]
        ] = []  # indices that were opened, below their extents
        self.filled: dict[Place, Content] = {}

    def same(self, x: Value, y: Value, t: Type) -> None:
        """x may stand for y: they are equal but for the unspecified cells of x."""
        match t:
            case Array(element, n) | Vector(element, n):
                (i,) = self._opened((self.prover.size(n),))
                with self._in_scope((i,), (self.prover.size(n),)):
                    self.same(at(x, i), at(y, i), element)
            case Tuple(parts):
                for index, part in enumerate(parts):
                    self.same(component(x, index), component(y, index), part)
            case Scalar() | TypeVariable():
                self._same_cell(x, y, t)

    def _opened(self, extents: Indices) -> Indices:
        return tuple(self.prover.index() for _ in extents)

    @contextmanager
    def _in_scope(self, indices: Indices, extents: Indices) -> Generator[None]:
        """With these indices, each below its extent."""
        opened = list(zip(indices, extents, strict=True))
        known = len(self.scope)
        self.scope += opened
        try:
            with self.prover.assuming(*(fact for i, n in opened for fact in (i >= 0, i < n))):
                yield
        finally:
            del self.scope[known:]

    def _same_cell(self, x: Value, y: Value, t: Type) -> None:
        match x, y:
            case (Choice() as choice, _):
                self._by_cases(x, y, t, choice)
            case Opaque(Named("open cell")), _ if self.substitution:
                self._fill(x, y, t)
            case (_, Choice() as choice):
                self._by_cases(x, y, t, choice)
            case Whole(i), Whole(j):
                self.prover.show(i == j, "two indices are equal")
            case Opaque(), Opaque():
                self._same_opaque(x, y)
            case _:
                raise _different(x, y)

    def _by_cases(self, x: Value, y: Value, t: Type, choice: Choice) -> None:
        for holds, fact in ((True, choice.condition), (False, z3.Not(choice.condition))):
            with self.prover.assuming(fact):
                if not self.prover.impossible():
                    self._same_cell(_decided(x, choice, holds), _decided(y, choice, holds), t)

    def _fill(self, x: Opaque, y: Value, t: Type) -> None:
        """y stands in an unspecified cell: one value in each, so the cell tells all indices in scope apart."""
        opened = tuple(i for i, _ in self.scope)
        place = (x.head, x.path)
        if place in self.filled:
            known = self.filled[place]
            if not (_identical(known.indices, x.indices) and _identical(known.scope, opened)):
                raise Open("an open cell is looked at in two places")
            Comparison(self.rule, self.prover, self.meaning, substitution=False).same(
                known.value, y, t
            )
            return
        others = self._opened(opened)
        renamed = list(zip(opened, others, strict=True))
        ranges = [
            z3.And(other >= 0, other < z3.substitute(n, *renamed))
            for other, (_, n) in zip(others, self.scope, strict=True)
        ]
        here = [i == z3.substitute(i, *renamed) for i in x.indices]
        with self.prover.assuming(*ranges, *here):
            for i, other in renamed:
                self.prover.show(i == other, "an open cell has one content")
        self.filled[place] = Content(x.indices, opened, y)

    def _same_opaque(self, x: Opaque, y: Opaque) -> None:
        match x.head, y.head:
            case (Fold(), _) | (_, Fold()):
                self._same_folds(x, y)
                if not (isinstance(x.head, Fold) and isinstance(y.head, Fold)):
                    return
            case Named() as made, Named() as by if made == by:
                for (u, t), (v, _) in zip(x.arguments, y.arguments, strict=True):
                    self.same(u, v, t)
            case _:
                raise _different(x, y)
        if x.path != y.path or len(x.indices) != len(y.indices):
            raise Open(f"the sides take different components of {_shape(x)}")
        for i, j, n in zip(x.indices, y.indices, x.extents, strict=True):
            self.prover.show(i == j, "two indices are equal")
            self.prover.show(z3.And(i >= 0, i < n), "an index is in range")

    # ---- reductions

    def _same_folds(self, x: Opaque, y: Opaque) -> None:
        """One of the steps of the module shows the reductions equal."""
        f, g = self._as_fold(x, y), self._as_fold(y, x)
        if f is not None and g is not None:
            self._same_reductions(f, g)
        elif f is not None and _is_result(x):
            empty = replace(f, init=y, extents=(z3.IntVal(0),))
            ways = partial(self._trimmed, f, empty), partial(self._last, f, y, True)
            self._one_of(iter(ways))
        elif g is not None and _is_result(y):
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
        for left, right in self._readings(f, g):
            yield partial(self._same_steps, left, right)
        yield partial(self._trimmed, f, g)
        for left, right in self._readings(f, g):
            yield partial(self._trimmed, left, right)
        left, right = self._consecutive(f), self._consecutive(g)
        if left is not f or right is not g:
            yield partial(self._same_steps, left, right)
            yield partial(self._trimmed, left, right)
        yield partial(self._first, f, g)

    def _as_fold(self, x: Opaque, other: Opaque) -> Fold | None:
        """The reduction that an element is: `partial` and `one`."""
        if isinstance(x.head, Fold):
            return self._flat(x.head)
        match x:
            case Opaque(
                Named("operator metavariable", name),
                ((start, _), (Opaque(Fold() as rest, (), (), ()), _)),
                (),
                (),
            ):
                inner = self._flat(rest)
                if self._monoid(inner) == name:
                    return replace(inner, init=start)
            case _:
                pass
        if isinstance(other.head, Fold) and _is_result(other):
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
        accumulator, indices = Opaque(head), self._opened(fold.extents)
        with self._in_scope(indices, fold.extents):
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
        match fold.step(accumulator, i):
            case Opaque(Fold() as rows, (), (), ()) if rows.init == accumulator:
                inner, within = self._flat(rows), replace(rows, init=Opaque(Named("unused", "")))
            case Opaque(
                Named("operator metavariable", name),
                ((a, _), (Opaque(Fold() as rows, (), (), ()), _)),
            ) if a == accumulator:
                inner, within = self._flat(rows), rows
                if self._monoid(inner) != name:
                    return None
            case _:
                return None
        return None if any(self.meaning.uses_within(within, head)) else inner

    def _operator(self, fold: Fold) -> str | None:
        """The associative operator that a step merely applies to the accumulator and an element."""
        step = self._applied(fold, self._opened(fold.extents))
        if step is None or not self._obeys(step[0], "associative"):
            return None
        return step[0]

    def _applied(self, fold: Fold, i: Indices) -> tuple[str, Value] | None:
        """The operator and the element at an index, where a step is no more than that."""
        if not isinstance(fold.accumulator, Scalar | TypeVariable):
            return None
        head = self.meaning.unknown("accumulator")
        accumulator = Opaque(head)
        match fold.step(accumulator, i):
            case Opaque(Named("operator metavariable", name), ((a, _), (element, t))) if (
                a == accumulator and not any(self.meaning.uses(element, t, head))
            ):
                return name, element
            case _:
                return None

    def _monoid(self, fold: Fold) -> str | None:
        """The operator of a reduction that starts from its neutral element."""
        name = self._operator(fold)
        match fold.init:
            case Opaque(Named("metavariable", z), (), (), ()) if name is not None:
                return name if z in self._neutral(name) else None
            case _:
                return None

    def _obeys(self, operator: str, law: str) -> bool:
        return any(c.law == law for c in self.rule.laws(operator))

    def _neutral(self, operator: str) -> list[str]:
        return [c.element for c in self.rule.laws(operator) if c.law == "neutral" and c.element]

    def _readings(self, f: Fold, g: Fold) -> Iterator[tuple[Fold, Fold]]:
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
            for permutation in (*self.meaning.permutations(n), lambda i: n - 1 - i):
                yield replace(fold, step=partial(_permuted, fold, permutation))

    def _same_steps(self, f: Fold, g: Fold) -> None:
        """The same steps: the box with more dimensions index by index, the other one by `count`."""
        self.same(f.init, g.init, f.accumulator)
        lengths = _product(f.extents) == _product(g.extents)
        self.prover.show(lengths, "two reductions have the same length")
        box = max(f.extents, g.extents, key=len)
        inside = self._opened(box)
        with self._in_scope(inside, box):
            here, there = (_there(inside, box, fold.extents) for fold in (f, g))
            a = self.meaning.opaque(f.accumulator, self.meaning.unknown("accumulator"))
            self.same(f.step(a, here), g.step(a, there), f.accumulator)

    def _trimmed(self, f: Fold, g: Fold) -> None:
        """What is done on one side is done on the other between steps that change nothing."""
        if not isinstance(f.accumulator, Scalar | TypeVariable):
            raise Open("two reductions have different lengths")
        self.same(f.init, g.init, f.accumulator)
        f, g = _linear(f), _linear(g)
        self._one_of(
            partial(self._between, longer, shorter, start, f)
            for start in self._starts(f, g)
            for longer, shorter in ((f, g), (g, f))
        )

    def _starts(self, f: Fold, g: Fold) -> Iterator[Number]:
        """Where what is reduced on one side may be found on the other."""
        yield z3.IntVal(0)
        yield z3.simplify(f.extents[0] - g.extents[0])
        yield z3.simplify(g.extents[0] - f.extents[0])
        lefts = [
            t.left
            for side in (self.rule.left, self.rule.right)
            for t, _ in subterms(side)
            if isinstance(t, Pad)
        ]
        for n in (*lefts, *map(Size.atom, self.rule.sizes)):
            yield self.prover.size(n)

    def _between(self, longer: Fold, shorter: Fold, start: Number, left: Fold) -> None:
        (n,), (m,) = longer.extents, shorter.extents
        self.prover.show(z3.And(start >= 0, start + m <= n), "one reduction is within the other")
        (i,), (j,) = self._opened((n,)), self._opened((m,))
        a, t = Opaque(self.meaning.unknown("accumulator")), left.accumulator
        outside = z3.Or(i < start, i >= start + m)
        with self._in_scope((i,), (n,)), self.prover.assuming(outside):
            if not self.prover.impossible():
                self._idle(longer.step(a, (i,)), a, longer is left)
        with self._in_scope((j,), (m,)):
            x, y = longer.step(a, (start + j,)), shorter.step(a, (j,))
            self._same_on((x, y), longer is left, t)

    def _idle(self, after: Value, a: Opaque, on_the_left: bool) -> None:
        """A step leaves the accumulator as it is, or combines it with a neutral element."""
        match after:
            case Choice(condition, yes, no):
                for fact, branch in ((condition, yes), (z3.Not(condition), no)):
                    with self.prover.assuming(fact):
                        if not self.prover.impossible():
                            self._idle(branch, a, on_the_left)
            case Opaque(Named("operator metavariable", name), ((b, _), (element, t))) if b == a:
                neutral = self._neutral(name)
                if not neutral:
                    raise Open(f"{name} has no neutral element")
                z = Opaque(Named("metavariable", neutral[0]))
                self._same_on((element, z), on_the_left, t)
            case _ if after == a:
                pass
            case _:
                raise Open("a step changes the accumulator")

    def _last(self, fold: Fold, y: Value, on_the_left: bool) -> None:
        """A reduction of one element at least ends with the step at the last."""
        whole, t = _linear(fold), fold.accumulator
        (n,) = whole.extents
        self.prover.show(n >= 1, "there is a last step")
        before = self.meaning.opaque(t, replace(whole, extents=(n - 1,)))
        self._same_on((whole.step(before, (n - 1,)), y), on_the_left, t)

    def _consecutive(self, fold: Fold) -> Fold:
        """A reduction that goes on from another one, as one over both, one after the other."""
        match fold.init:
            case Opaque(Fold() as first, (), (), ()) if first.accumulator == fold.accumulator:
                before, after = _linear(self._consecutive(self._flat(first))), _linear(fold)
                (n,), (m,) = before.extents, after.extents
                return replace(
                    before,
                    step=lambda a, i: Choice(
                        i[0] < n, before.step(a, i), after.step(a, (i[0] - n,))
                    ),
                    extents=(n + m,),
                )
            case _:
                return fold

    def _first(self, f: Fold, g: Fold) -> None:
        """A reduction of one element at least begins with the step at the first."""
        f, g = _linear(f), _linear(g)
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


def _is_result(x: Opaque) -> bool:
    """Whether an element is all that something makes, not a cell of it."""
    return not x.path and not x.indices


def _linear(fold: Fold) -> Fold:
    """A reduction over a box as one over the count of its indices."""
    if len(fold.extents) == 1:
        return fold
    box = (z3.simplify(_product(fold.extents)),)
    return replace(fold, step=lambda a, i: fold.step(a, _there(i, box, fold.extents)), extents=box)


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


def _mentions(e: Number, indices: Indices) -> bool:
    return not z3.substitute(e, *((i, i + 1) for i in indices)).eq(e)


def _product(extents: Indices) -> Number:
    return functools.reduce(lambda n, m: n * m, extents, z3.IntVal(1))


def _permuted(fold: Fold, permutation: Callable[[Number], Number], a: Value, i: Indices) -> Value:
    """The step at the place of an index in another order."""
    return fold.step(a, (permutation(i[0]),))


def _unordered(fold: Fold, order: tuple[int, ...], a: Value, i: Indices) -> Value:
    """The step at an index of which `i` lists the dimensions in an order."""
    return fold.step(a, tuple(i[order.index(d)] for d in range(len(order))))


def _there(i: Indices, box: Indices, extents: Indices) -> Indices:
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


def _decided(x: Value, choice: Choice, holds: bool) -> Value:
    """A value where the condition of a choice is decided."""
    if isinstance(x, Choice) and x.condition.eq(choice.condition):
        return x.yes if holds else x.no
    return x


def _different(x: Value, y: Value) -> Open:
    return Open(f"the sides differ in shape: {_shape(x)} and {_shape(y)}")


def _shape(x: Value) -> str:
    match x:
        case Opaque(Fold()):
            return "a reduction"
        case Opaque(Named("open cell" | "accumulator" as kind)):
            return f"an {kind}"
        case Opaque(Named("operator", operator)):
            return str(operator.name)
        case Opaque(Named("user function", function)):
            return str(function.name)
        case Opaque(Named("literal", (value, _))):
            return str(value)
        case Opaque(Named(_, name)):
            return str(name)
        case Whole():
            return "an index"
        case _:
            return type(x).__name__.lower()


# ---- the tier


def check_index(rule: Rule) -> TierResult:
    """Both sides for all sizes, as far as Z3 and congruence go.

    >>> from relift.rewrites.library import RULES
    >>> check_index(RULES["join_split"]).detail
    '2 statements about indices, all sizes'
    """
    start = time.monotonic()

    def result(status: Status, detail: str, found: Counterexample | None = None) -> TierResult:
        return TierResult("4a", "index", status, detail, time.monotonic() - start, found)

    prover = Prover()
    for n in (*Instances(rule).naturals, *map(Size.atom, rule.sizes)):
        prover.given.append(prover.size(n) >= 0)
    for bound in rule.lower_bounds:
        prover.given.append(prover.size(bound.size) >= bound.least)
    meaning = Meaning(rule, prover)
    sides = [(rule.left, rule.right)]
    if not rule.refinement and _has_open_cells(rule):
        sides.append((rule.right, rule.left))
    if prover.impossible():
        return result("unproved", "no sizes make both sides defined")
    try:
        for x, y in sides:
            values = meaning.of(x, {}), meaning.of(y, {})
            Comparison(rule, prover, meaning).same(*values, rule.left.type)
    except Unsupported as error:
        return result("skipped", error.message)
    except Open as error:
        found = _confirmed(rule, error.sizes)
        if found is not None:
            return result("refuted", found.obligation, found)
        return result("unfinished" if error.unfinished else "unproved", str(error))
    count = prover.proved
    return result("proved", f"{count} statement{'s' * (count != 1)} about indices, all sizes")


def _has_open_cells(rule: Rule) -> bool:
    return any(
        isinstance(t, Pattern) and t.leaves_open
        for side in (rule.left, rule.right)
        for t, _ in subterms(side)
    )


def _confirmed(rule: Rule, sizes: Mapping[str, int] | None) -> Counterexample | None:
    """What the interpreter says at the sizes of Z3's counterexample, where they are small enough to run."""
    if sizes is None:
        return None
    found = {name: max(0, sizes.get(name, 0)) for name in rule.sizes}
    instances = Instances(rule)
    if not instances.admissible(found) or instances.largest(found) > LARGEST_INSTANCE:
        return None
    attempts = min(40, max(4, CELLS_TRIED // max(1, instances.largest(found))))
    return confirm_difference(instances, found, attempts)
