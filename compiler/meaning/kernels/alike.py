"""The one form of the values that cells have, as a function of where they are.

Values at points may differ in numbers that move with the point: in their form, unknown numbers are in its place.  At
some points a bound is decided and at others it is not: there the form has the choice, or the smaller or larger number,
and what it is at each of the points is asked for, not taken for granted.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, TypeAlias

from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.polynomials import AtomKind, Index, Monomial, Whole, made
from relift.compiler.validation.symbols import Symbol

Point: TypeAlias = "tuple[Whole, ...]"
Form: TypeAlias = "Callable[[Point], Whole]"
"""A number at a point, or at atoms that stand for all points."""

Bound: TypeAlias = "tuple[AtomKind, int, Monomial]"
"""A bound, quotient or datum in a sum, times a number and other atoms."""

EXTREMES: tuple[AtomKind, ...] = ("min", "max")

DEPTH = 6
"""Bounds and quotients in one number that are looked for."""

CHOICES = 64
"""Symbols that may be a choice which are looked at, at most: each way to choose has such symbols in both branches."""


class Unasked:
    """What may be at a point where nobody looks."""


ANY: Any = Unasked()


@dataclass(frozen=True)
class Condition:
    """A condition: whether it is known to hold at a point, and the symbol that it is there."""

    at: Callable[[Point], bool | None]
    of: Callable[[Point], Symbol]


@dataclass
class AtPoints(ABC):
    """Numbers at `points`, where `atoms` stand for any of these."""

    algebra: Folding
    points: Sequence[tuple[int, ...]]
    atoms: Point
    steps: Sequence[int]
    """How far apart, in the array, points are that are neighbours along an axis."""

    def __post_init__(self) -> None:
        self.place = {point: k for k, point in enumerate(self.points)}

    @abstractmethod
    def of(self, values: Sequence[Any]) -> Any:
        """What values have in common."""

    def _number(self, values: Sequence[Any]) -> Form | None:
        return next(self._numbers(values), None)

    def _numbers(self, values: Sequence[Any], depth: int = DEPTH) -> Iterator[Form]:
        """What may be a number that is linear in the atoms, but for bounds and quotients of such."""
        if any(v.__class__ not in (int, Index) and v is not ANY for v in values):
            return
        linear = False
        for form in self._linear(values):
            linear = True
            yield form
        if depth and not linear:
            for bound in _bounds(values):
                if bound[0] == "data":
                    yield from self._with_data(values, bound, depth)
                else:
                    yield from self._without(values, bound, depth)
            yield from self._bent(values)

    def _bent(self, values: Sequence[Any]) -> Iterator[Form]:
        """The smaller or the larger one of two numbers, where at every point it is known which: the first's and the last's."""
        known = [k for k, v in enumerate(values) if v is not ANY]
        first, last = self._line(values, known[0], 1), self._line(values, known[-1], -1)
        for kind in EXTREMES:
            form = partial(self._bounded, kind, 1, first, last)
            if all(form(self.points[k]) == values[k] for k in known):
                yield form

    def _line(self, values: Sequence[Any], at: int, way: int) -> Form:
        """What is linear as it is from one point on, or before it."""
        base = self.points[at]
        slopes: list[Whole] = []
        for d, x in enumerate(base):
            near = self.place.get((*base[:d], x + way, *base[d + 1 :]))
            value = ANY if near is None else values[near]
            slopes.append(0 if value is ANY else way * (value - values[at]))
        return partial(_along, values[at], slopes, base)

    def _with_data(self, values: Sequence[Any], bound: Bound, depth: int) -> Iterator[Form]:
        """A number with data in it, which are at the same place of it at all points."""
        seen = [ANY if v is ANY else _only(v, bound) for v in values]
        if None in seen:
            return
        data = self.of([a if a is ANY else a.args[0] for a in seen])
        if data is None:
            return
        _, c, others = bound
        r = self.algebra.ranges
        times, own = made({others: c}, r), self.algebra.number(data)
        at: dict[Point, Whole] = {
            p: made({(a,): 1}, r) for p, a in zip(self.points, seen, strict=True) if a is not ANY
        }
        rest = [
            ANY if v is ANY else v - times * at[point]
            for point, v in zip(self.points, values, strict=True)
        ]
        for left in self._numbers(rest, depth - 1):
            yield _sum(left, lambda point: times * at.get(point, own))

    def _without(self, values: Sequence[Any], bound: Bound, depth: int) -> Iterator[Form]:
        """A number with a bound or quotient in it, which is decided at the points that do not show it."""
        kind, c, others = bound
        seen = [None if v is ANY else _only(v, bound) for v in values]
        if all(a is None for a in seen):
            return
        times = made({others: c}, self.algebra.ranges)
        args = [
            self._numbers([ANY if a is None else a.args[k] for a in seen], depth - 1)
            for k in range(2)
        ]
        for first, second in itertools.product(*args):
            inner = partial(self._bounded, kind, times, first, second)
            rest = [
                ANY if v is ANY else v - inner(point)
                for point, v in zip(self.points, values, strict=True)
            ]
            for left in self._numbers(rest, depth - 1):
                yield _sum(left, inner)

    def _bounded(self, kind: AtomKind, times: Whole, x: Form, y: Form, point: Point) -> Whole:
        return times * self._made(kind, x(point), y(point))

    def _made(self, kind: AtomKind, x: Whole, y: Whole) -> Whole:
        r = self.algebra.ranges
        return r.quotient(x, y)[kind == "mod"] if kind in ("div", "mod") else r.extreme(kind, x, y)

    def _linear(self, values: Sequence[Any]) -> Iterator[Form]:
        """A number that is linear in the atoms; in several ways, where it is not asked for at points that tell them apart."""
        at = next(k for k, v in enumerate(values) if v is not ANY)
        base, start = self.points[at], values[at]
        slopes = [self._slope(values, at, d) for d in range(len(base))]
        for way in self._ways(start, slopes):
            form = partial(_along, start, way, base)
            if all(
                v is ANY or form(point) == v for point, v in zip(self.points, values, strict=True)
            ):
                yield form
            else:
                return

    def _ways(self, start: Whole, slopes: Sequence[Whole | None]) -> Iterator[list[Whole]]:
        """Slopes along all axes, of which some are not known.

        They may be as along the rows that one is in, one by row, so steep that neighbours are decided, or none.
        """
        unknown = [d for d, c in enumerate(slopes) if c is None]
        if not unknown:
            yield [0 if c is None else c for c in slopes]
            return
        own = [d for d, c in enumerate(slopes) if c.__class__ is int and c != 0]
        unit = min(own or unknown, key=lambda d: abs(self.steps[d]))
        of_unit = slopes[unit]
        low, high = self.algebra.ranges.interval(start)
        steep = max(1 if low is None else -low, 1 if high is None else high + 1, 1)
        for rise in dict.fromkeys((1, -1, steep, -steep, 0) if of_unit is None else (of_unit, 0)):
            yield [
                rise * (self.steps[d] // self.steps[unit]) if c is None else c
                for d, c in enumerate(slopes)
            ]

    def _slope(self, values: Sequence[Any], at: int, d: int) -> Whole | None:
        """By how much a number grows along an axis; None where no two points show it."""
        base = self.points[at]
        after = self.place.get((*base[:d], base[d] + 1, *base[d + 1 :]))
        if after is not None and values[after] is not ANY:
            return values[after] - values[at]  # type: ignore[no-any-return]
        seen: dict[Any, tuple[int, Any]] = {}
        for point, v in zip(self.points, values, strict=True):
            if v is ANY:
                continue
            row = (*point[:d], *point[d + 1 :])
            if row in seen:
                x, before = seen[row]
                way, step = v - before, point[d] - x
                terms = way.terms if isinstance(way, Index) else {(): way}
                return made(
                    {m: c // step for m, c in terms.items() if c // step}, self.algebra.ranges
                )
            seen[row] = (point[d], v)
        return None


@dataclass
class Alike(AtPoints):
    """What values at `points` have in common, where `atoms` stand for any of these; None where they have nothing."""

    known: dict[tuple[int, ...], Symbol | None] = field(default_factory=dict)
    choices: int = 0

    def of(self, values: Sequence[Any]) -> Any:
        """That value, or None; at least one of them is not `ANY`."""
        first = next(v for v in values if v is not ANY)
        if all(v is first or v is ANY for v in values):
            return first
        if isinstance(first, tuple):
            rows = [(ANY,) * len(first) if v is ANY else v for v in values]
            lanes = [self.of(column) for column in zip(*rows, strict=True)]
            return None if None in lanes else tuple(lanes)
        if isinstance(first, Symbol):
            if any(not isinstance(v, Symbol) and v is not ANY for v in values):
                return None
            same = tuple([-1 if v is ANY else v.number for v in values])
            if same not in self.known:
                self.known[same] = self._symbol(values)
            return self.known[same]
        if first.__class__ in (int, Index):
            form = self._number(values)
            return None if form is None else form(self.atoms)
        return first if all(v == first or v is ANY for v in values) else None

    # ---- symbols

    def _symbol(self, values: Sequence[Any]) -> Symbol | None:
        """An operation that all of them are, of what their arguments have in common, or a choice between some."""
        known = [v for v in values if v is not ANY]
        first = known[0]
        heads = {(v.op, v.type, len(v.args)) for v in known}
        if len(heads) == 1:
            found = self._operation(first, values)
            if found is not None:
                return found
        elif all(v.op in ("whole", "index") and v.type == first.type != "bool" for v in known):
            form = self._number([v if v is ANY else v.args[0] for v in values])
            return None if form is None else self.algebra.whole(form(self.atoms), first.type)
        if all(v.type == first.type for v in known):
            return self._chosen(values)
        return None

    def _operation(self, first: Symbol, values: Sequence[Any]) -> Symbol | None:
        """The operation of the first on what each column of arguments has in common."""
        args = []
        rows = [(ANY,) * len(first.args) if v is ANY else v.args for v in values]
        for column in zip(*rows, strict=True):
            found = self.of(column)
            if found is None:
                return None
            args.append(found)
        return self.algebra.again(first, args)

    def _chosen(self, values: Sequence[Any]) -> Symbol | None:
        """A choice by a condition that is open at some points, and decided at others or without influence there."""
        self.choices += 1
        for shape in self._outermost(values):
            here = [v is not ANY and _chosen_by(v) == shape for v in values]
            asked = [v.args[0] if h else ANY for v, h in zip(values, here, strict=True)]
            others = [
                point
                for point, v, h in zip(self.points, values, here, strict=True)
                if not h and v is not ANY
            ]
            found = self._conditions(asked)
            for c in sorted(found, key=lambda c: sum(c.at(point) is None for point in others)):
                if self.choices > CHOICES:
                    return None
                yes, no = self._branches(values, here, c)
                one = self.of(yes)
                other = None if one is None else self.of(no)
                if one is not None and other is not None:
                    return self.algebra.select(c.of(self.atoms), one, other)
        return None

    def _branches(
        self, values: Sequence[Any], here: Sequence[bool], condition: Condition
    ) -> tuple[list[Any], list[Any]]:
        """What values are where a condition holds and where it does not; at other points than `here`, both or one."""
        yes: list[Any] = []
        no: list[Any] = []
        for point, v, asked in zip(self.points, values, here, strict=True):
            if asked:
                yes.append(v.args[1])
                no.append(v.args[2])
            else:
                holds = None if v is ANY else condition.at(point)
                yes.append(ANY if holds is False else v)
                no.append(ANY if holds is True else v)
        return yes, no

    def _outermost(self, values: Sequence[Any]) -> list[Any]:
        """How conditions look by which values are chosen, those first that stand in no other choice."""
        tops: dict[Any, None] = {}
        inner: set[Any] = set()
        seen: set[Symbol] = set()
        for v in values:
            top = None if v is ANY else _chosen_by(v)
            if top is None:
                continue
            tops[top] = None
            waiting = list(v.args[1:])
            while waiting:
                x = waiting.pop()
                if x not in seen and (shape := _chosen_by(x)) is not None:
                    seen.add(x)
                    waiting += x.args[1:]
                    if shape != top:
                        inner.add(shape)
        return sorted(tops, key=lambda shape: shape in inner)

    # ---- conditions

    def _conditions(self, values: Sequence[Any]) -> Iterator[Condition]:
        """What may be the condition that values are, at every point where one is asked for."""
        known = [v for v in values if v is not ANY]
        first = known[0]
        if any((v.op, len(v.args)) != (first.op, len(first.args)) for v in known):
            return
        columns = [[v if v is ANY else v.args[k] for v in values] for k in range(len(first.args))]
        if first.op == "nonneg":
            for number in self._numbers(columns[0]):
                yield self._at_least_0(number)
        elif first.op in ("bitwise_and", "bitwise_or"):
            for parts in itertools.product(*map(self._conditions, columns)):
                yield self._joined(first.op, parts)

    def _at_least_0(self, number: Form) -> Condition:
        return Condition(
            lambda point: self._decided(number(point)), lambda point: self._holds(number(point))
        )

    def _joined(self, op: str, parts: Sequence[Condition]) -> Condition:
        """Whether all of some conditions hold, or one of them."""
        one = op == "bitwise_or"  # what decides it alone

        def at(point: Point) -> bool | None:
            seen = [part.at(point) for part in parts]
            return one if one in seen else None if None in seen else not one

        def of(point: Point) -> Symbol:
            found = [part.of(point) for part in parts]
            return reduce(partial(self.algebra.bits, "or" if one else "and"), found)

        return Condition(at, of)

    def _decided(self, number: Whole) -> bool | None:
        """Whether a number is at least 0, where that is known."""
        r = self.algebra.ranges
        return True if r.nonnegative(number) else False if r.nonnegative(-1 - number) else None

    def _holds(self, number: Whole) -> Symbol:
        found = self._decided(number)
        if found is not None:
            return self.algebra.whole(int(found), "bool")
        assert isinstance(number, Index), "cannot happen: a known number is decided"
        return self.algebra.condition(number)


def _along(start: Whole, slopes: Sequence[Whole], base: Point, point: Point) -> Whole:
    """The number at a point, where it is known at another one."""
    found = start
    for c, x, y in zip(slopes, point, base, strict=True):
        if c.__class__ is not int or c:
            found = found + c * (x - y)
    return found


def _sum(x: Form, y: Form) -> Form:
    return lambda point: x(point) + y(point)


def _bounds(values: Sequence[Any]) -> list[Bound]:
    """The bounds and quotients in some numbers, those first that most of them have."""
    found: Counter[Bound] = Counter()
    for v in values:
        for m, c in v.terms.items() if isinstance(v, Index) else ():
            for k, a in enumerate(m):
                if a.kind in ("min", "max", "div", "mod", "data"):
                    found[a.kind, c, (*m[:k], *m[k + 1 :])] += 1
    return [bound for bound, _ in found.most_common()]


def _only(v: Whole, bound: Bound) -> Any:
    """The one atom of a number that is such a bound; None where there is none, or are several."""
    kind, c, others = bound
    found = [
        a
        for m, n in (v.terms.items() if isinstance(v, Index) else ())
        for k, a in enumerate(m)
        if a.kind == kind and n == c and (*m[:k], *m[k + 1 :]) == others
    ]
    return found[0] if len(found) == 1 else None


def _chosen_by(x: Symbol) -> Any:
    """How the condition looks by which a value is chosen, where it is one of indices."""
    return _shape(x.args[0]) if x.op == "select" else None


def _shape(condition: Symbol) -> Any:
    """How a condition looks but for the constants in its numbers: such may be one at different points."""
    if condition.op == "nonneg":
        return frozenset((m, c) for m, c in condition.args[0].terms.items() if m)
    if condition.op in ("bitwise_and", "bitwise_or"):
        parts = tuple(map(_shape, condition.args))
        return None if None in parts else (condition.op, *parts)
    return None
