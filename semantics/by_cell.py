"""The interpreter, cell by cell: arrays whose elements are computed when somebody looks at them.

A program too large to be interpreted whole still says what single cells of its result are.  The patterns keep
their meanings, which work on anything that behaves as a list; those of the table here, which compute elements that
nobody may look at, get one that does not.  What is left out is computed whole, which costs time and nothing else.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from relift.semantics.errors import ReliftError, Undefined, bounded_depth
from relift.semantics.interpreter import DTYPES, Numeric, Value, World, evaluate
from relift.semantics.language.vocabulary import Program
from relift.semantics.patterns import (
    AsScalar,
    AsVector,
    AsVectorAligned,
    CircularBuffer,
    Gather,
    GatherIndices,
    Generate,
    Join,
    MapSeqSlide,
    PadClamp,
    PadMirror,
    PadWrap,
    PartialReduce,
    RotateValues,
    Scatter,
    Slide,
    Split,
    Transpose,
    Unzip,
    Zip,
)
from relift.semantics.patterns.algorithmic import each, fold, within
from relift.semantics.syntax.terms import Pattern
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, Vector


class TooMuch(ReliftError):
    """The cells that were asked for need more work than was allowed."""


class Lazy(Sequence[Value]):
    """An array whose elements are computed when they are asked for, and then kept.

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


# ---- meanings that look at nothing


def _each(f: Callable[[Value], Value], xs: Sequence[Value]) -> Lazy:
    return Lazy(len(xs), lambda i: f(xs[i]))


def _zip(xs: Sequence[Value], ys: Sequence[Value]) -> Lazy:
    return Lazy(len(xs), lambda i: (xs[i], ys[i]))


def _unzip(ps: Sequence[Value]) -> tuple[Lazy, Lazy]:
    return Lazy(len(ps), lambda i: ps[i][0]), Lazy(len(ps), lambda i: ps[i][1])


def _split(m: int, xs: Sequence[Value]) -> Lazy:
    return _windows(m, m, xs)


def _as_vector(width: int, xs: Sequence[Value]) -> Lazy:
    return _windows(width, width, xs)


def _join(xss: Sequence[Sequence[Value]]) -> Lazy:
    m = len(xss[0]) if len(xss) else 0
    return Lazy(len(xss) * m, lambda i: xss[i // m][i % m])


def _as_scalar(vs: Sequence[Sequence[Value]]) -> Lazy:
    return _join(vs)


def _transpose(xss: Sequence[Sequence[Value]], m: int) -> Lazy:
    return Lazy(m, lambda j: Lazy(len(xss), lambda i: xss[i][j]))


def _windows(size: int, step: int, xs: Sequence[Value]) -> Lazy:
    return Lazy(len(range(0, len(xs) - size + 1, step)), lambda i: xs[i * step : i * step + size])


def _map_windows(size: int, step: int, f: Callable[[Value], Value], xs: Sequence[Value]) -> Lazy:
    return _each(f, _windows(size, step, xs))


def _loaded_windows(size: int, f: Callable[[Value], Value], xs: Sequence[Value]) -> Lazy:
    return _windows(size, 1, _each(f, xs))


def _rotated(size: int, xs: Sequence[Value]) -> Lazy:
    return _windows(size, 1, xs)


def _clamped(left: int, right: int, xs: Sequence[Value]) -> Lazy:
    last = len(xs) - 1
    return Lazy(left + len(xs) + right, lambda i: xs[min(max(i - left, 0), last)])


def _mirrored(left: int, right: int, xs: Sequence[Value]) -> Lazy:
    n = len(xs)

    def item(i: int) -> Value:
        at = (i - left) % (2 * n)
        return xs[min(at, 2 * n - 1 - at)]

    return Lazy(left + n + right, item)


def _wrapped(left: int, right: int, xs: Sequence[Value]) -> Lazy:
    return Lazy(left + len(xs) + right, lambda i: xs[(i - left) % len(xs)])


def _gathered(idx: Callable[[int], int], xs: Sequence[Value]) -> Lazy:
    return Lazy(len(xs), lambda i: xs[within(idx(i), len(xs), "gather")])


def _gathered_at(ids: Sequence[Value], xs: Sequence[Value]) -> Lazy:
    return Lazy(len(ids), lambda i: xs[within(ids[i], len(xs), "gather_indices")])


def _scattered(idx: Callable[[int], int], xs: Sequence[Value]) -> Lazy:
    places = {idx(i): i for i in range(len(xs))}
    if places.keys() != set(range(len(xs))):
        raise Undefined("scatter: the index function is no permutation of the indices")
    return Lazy(len(xs), lambda i: xs[places[i]])


def _generated(n: int, f: Callable[[Value], Value], number: Callable[[int], Value]) -> Lazy:
    return Lazy(n, lambda i: f(number(i)))


def _reduced_chunks(
    op: Callable[[Value, Value], Value], init: Value, m: int, xs: Sequence[Value]
) -> Lazy:
    chunks = _split(m, xs)
    return Lazy(len(chunks), lambda i: fold(op, init, chunks[i]))


_MEANINGS: dict[Callable[..., Value], Callable[..., Value]] = {
    each: _each, Zip.meaning: _zip, Unzip.meaning: _unzip, Split.meaning: _split,
    Join.meaning: _join, Transpose.meaning: _transpose, Slide.meaning: _windows,
    AsVector.meaning: _as_vector, AsVectorAligned.meaning: _as_vector, AsScalar.meaning: _as_scalar,
    MapSeqSlide.meaning: _map_windows, CircularBuffer.meaning: _loaded_windows,
    RotateValues.meaning: _rotated, PadClamp.meaning: _clamped, PadMirror.meaning: _mirrored,
    PadWrap.meaning: _wrapped, Gather.meaning: _gathered, GatherIndices.meaning: _gathered_at,
    Scatter.meaning: _scattered, Generate.meaning: _generated, PartialReduce.meaning: _reduced_chunks,
}  # fmt: skip


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

    def meaning(self, pattern: Pattern) -> Callable[..., Value]:
        """That of the table, or the pattern's own."""
        return _MEANINGS.get(pattern.meaning, pattern.meaning)


class Cells:
    """The result of a program at its sizes, on NumPy arguments; a cell is computed when it is asked for.

    A cell is named by a component of the result, in the order of its type, and the indices in it.

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
        case _:
            raise AssertionError(f"cannot happen: an argument of type {t}")


def _row(array: Any, i: int) -> Any:
    return tuple(_row(x, i) for x in array) if isinstance(array, tuple) else array[i]


def _cell(value: Value, t: Type, component: int, indices: tuple[int, ...]) -> Value:
    match t:
        case Array(element, _) | Vector(element, _):
            return _cell(value[indices[0]], element, component, indices[1:])
        case Tuple(parts):
            for part, inside in zip(value, parts, strict=True):
                if component < (many := _components(inside)):
                    return _cell(part, inside, component, indices)
                component -= many
            raise IndexError("the result has no such component")
        case _:
            return value


def _components(t: Type) -> int:
    match t:
        case Array(element, _) | Vector(element, _):
            return _components(element)
        case Tuple(parts):
            return sum(map(_components, parts))
        case _:
            return 1
