"""The interpreter, cell by cell: arrays whose elements are computed when somebody looks at them.

A program too large to be interpreted whole still says what single cells of its result are.  A pattern that has a
view is computed by it, over lists whose elements wait until somebody looks at them.  The others keep their meanings,
which work on anything that behaves as a list and compute it whole: that costs time and nothing else.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from relift.semantics.domains import DTYPES, UNSPECIFIED, Numeric, Value
from relift.semantics.errors import ReliftError, Undefined, bounded_depth
from relift.semantics.indices.algebra import asked_for
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.patterns import ScanSeq
from relift.semantics.patterns.lookups import within
from relift.semantics.syntax.terms import Pattern
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    component_count,
    i32,
)


class TooMuch(ReliftError):
    """The cells that were asked for need more work than was allowed."""


class Lazy(Sequence[Value]):
    """An array whose elements are computed when they are asked for, and then kept.

    >>> from relift.semantics.by_cell import Lazy
    >>> squares = Lazy(10**9, lambda i: i * i)
    >>> squares[5], squares[2:4][1], list((squares + [7])[-2:])
    (25, 9, [999999998000000001, 7])
    """

    __slots__ = ("_item", "_known", "_length")

    def __init__(self, length: int, item: Callable[[int], Value]) -> None:
        self._length, self._item = length, item
        self._known: dict[int, Value] = {}

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: Any) -> Value:
        if isinstance(place, slice):
            places = range(self._length)[place]
            return Lazy(len(places), lambda i: self[places[i]])
        i = range(self._length)[operator.index(place)]
        if i not in self._known:
            self._known[i] = self._item(i)
        return self._known[i]

    def __iter__(self) -> Iterator[Value]:
        return (self[i] for i in range(self._length))

    def __add__(self, other: Sequence[Value]) -> Lazy:
        return _joined(self, other)

    def __radd__(self, other: Sequence[Value]) -> Lazy:
        return _joined(other, self)


def _joined(first: Sequence[Value], second: Sequence[Value]) -> Lazy:
    n = len(first)
    return Lazy(n + len(second), lambda i: first[i] if i < n else second[i - n])


class OverIntegers:
    """What algebras have in common whose indices are Python's integers."""

    def size(self, n: int) -> int:
        return n

    def divide(self, i: int, n: int) -> int:
        return i // n

    def modulo(self, i: int, n: int) -> int:
        return i % n

    def minimum(self, i: int, j: int) -> int:
        return min(i, j)

    def maximum(self, i: int, j: int) -> int:
        return max(i, j)

    def position(self, row: int, width: int, column: int) -> int:
        return row * width + column

    def lane(self, v: Sequence[Value], i: int) -> Value:
        return v[i]

    def tuple(self, *parts: Value) -> Value:
        return parts

    def component(self, x: Value, index: int) -> Value:
        return x[index]

    def inside(self, i: int, n: int, yes: Value, no: Value) -> Value:
        return yes if 0 <= i < n else no

    def before(self, i: int, n: int, yes: Value, no: Value) -> Value:
        return yes if i < n else no


@dataclass(frozen=True)
class Lists(OverIntegers):
    """The algebra of the interpreter's own values, for the pattern called `name`, in lists that are lazy."""

    name: str
    domain: Numeric

    def function(self, f: Callable[[int], int], n: int) -> Callable[[int], int]:
        return lambda i: within(f(i), n, self.name)

    def undoing(self, f: Callable[[int], int], n: int) -> Callable[[int], int]:
        places = {f(i): i for i in range(n)}
        if places.keys() != set(range(n)):
            raise Undefined(f"{self.name}: the index function is no permutation of the indices")
        return places.__getitem__

    def array(self, n: int, at: Callable[[int], Value]) -> Lazy:
        return Lazy(n, at)

    def at(self, xs: Sequence[Value], i: int) -> Value:
        return xs[i] if 0 <= i < len(xs) else UNSPECIFIED  # nobody looks at it

    def vector(self, width: int, lane: Callable[[int], Value]) -> Lazy:
        return Lazy(width, lane)

    def open_outside(self, i: int, left: int, n: int, xs: Sequence[Value]) -> Value:
        raise AssertionError(f"cannot happen: {self.name} leaves cells open, as its meaning says")

    def place_before(self, i: int, n: int, xs: Sequence[Value]) -> Value:
        raise AssertionError(f"cannot happen: {self.name} is read, never written through")

    def chosen(self, values: Sequence[Value], i: int) -> Value:
        return values[i]

    def number(self, i: int) -> Value:
        return self.domain.literal(i, i32)

    def whole(self, x: Value) -> int:
        return operator.index(x)

    def below(self, x: Value, n: int) -> int:
        return operator.index(x)

    def within(self, x: Value, n: int) -> int:
        return within(x, n, self.name)

    def fold(self, place: str, first: Value, step: Callable[[Value, int], Value], n: int) -> Value:
        for i in range(n):
            first = step(first, i)
        return first


class ByCell(Numeric):
    """NumPy scalars, in arrays that are computed where somebody looks; raises `TooMuch` after so many operations."""

    lazy = True

    def __init__(self, effort: int) -> None:
        self.left = effort

    def function(self, name: str) -> Callable[..., Value]:
        """The meaning of a scalar function, which is counted."""
        known = super().function(name)

        def counted(*values: Value) -> Value:
            self.left -= 1
            if self.left < 0:
                raise TooMuch("the cells that are looked at need more work than is allowed")
            return known(*values)

        return counted

    def meaning(self, pattern: Pattern) -> tuple[tuple[str, ...], Callable[..., Value]]:
        """The pattern's view, which looks at nothing; its own meaning where that goes through all elements."""
        if not pattern.has_view() or pattern.leaves_open or isinstance(pattern, ScanSeq):
            return super().meaning(pattern)
        return asked_for(pattern.view), partial(pattern.view, Lists(pattern.name, self))


class Cells:
    """The result of a program at its sizes, on NumPy arguments; a cell is computed when it is asked for.

    A cell is named by a component of the result, in the order of its type, and the indices in it.

    >>> from relift import i32, map, program
    >>> from relift.semantics.by_cell import Cells
    >>> import numpy as np
    >>> @program
    ... def squares(x: i32[10**6]):
    ...     return map(lambda v: v * v, x)
    >>> int(Cells(squares, [np.arange(10**6, dtype=np.int32)], effort=5).at(0, (1000,)))
    1000000
    """

    def __init__(self, program: Program, arguments: Sequence[Any], effort: int) -> None:
        self._body = program.body
        inputs = {
            p.name: _looked_at(value, p.type)
            for p, value in zip(program.parameters, arguments, strict=True)
        }
        self._world = World(inputs=inputs, domain=ByCell(effort))
        self._result: list[Value] = []

    def at(self, component: int, indices: Sequence[int]) -> Value:
        """The value of one cell; raises `TooMuch` where it needs more than is left of the effort."""
        with np.errstate(all="ignore"), bounded_depth("what a cell is computed from"):
            if not self._result:
                self._result.append(evaluate(self._body, self._world))
            return _cell(self._result[0], self._body.type, component, tuple(indices))


def _looked_at(array: Any, t: Type) -> Value:
    """A NumPy argument as the interpreter's value, its cells read when they are looked at."""
    match t:
        case Tuple(parts):
            return tuple(_looked_at(x, part) for x, part in zip(array, parts, strict=True))
        case Array(element, n):
            return Lazy(n.evaluate({}), lambda i: _looked_at(_row(array, i), element))
        case Scalar(name):
            return DTYPES[name].type(array)
        case Vector() | TypeVariable():
            raise AssertionError(f"cannot happen: an argument of type {t}")


def _row(array: Any, i: int) -> Any:
    return tuple(_row(x, i) for x in array) if isinstance(array, tuple) else array[i]


def _cell(value: Value, t: Type, component: int, indices: tuple[int, ...]) -> Value:
    match t:
        case Array(element, _) | Vector(element, _):
            return _cell(value[indices[0]], element, component, indices[1:])
        case Tuple(parts):
            for part, inside in zip(value, parts, strict=True):
                if component < (many := component_count(inside)):
                    return _cell(part, inside, component, indices)
                component -= many
            raise IndexError("the result has no such component")
        case Scalar() | TypeVariable():
            return value
