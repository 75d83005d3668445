"""Arrays that loops walk through, as arrays of the language: their dimensions from the strides, their cells as views.

A stride is a product of lengths, `nx*ny`, so the strides of all accesses to an array, the largest first, say its shape:
each divides the one before, and the quotient is the length of a dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from relift.compiler.idioms.facts.values.terms import Opaque
from relift.semantics.indices.functions import reverse
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term
from relift.semantics.language.multidimensional import transpose_axes
from relift.semantics.patterns import Generate, Map
from relift.semantics.syntax.monomials import Monomial
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Lambda, Term, Var
from relift.semantics.syntax.types import Array


@dataclass(frozen=True)
class Walk:
    """A dimension of an access: where it begins, and the counters that move along it, each forwards or backwards."""

    first: Size
    moves: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Shape:
    """The strides of the dimensions of an array, the outermost first; the last is 1."""

    strides: tuple[Size, ...]

    def lengths(self) -> tuple[Size, ...]:
        """The lengths of all dimensions but the first."""
        return tuple(exact(high, low) for high, low in pairwise(self.strides))


def exact(high: Size, low: Size) -> Size:
    """A quotient of strides; raises `Opaque` where one does not divide the other."""
    found = high.divided_by(low)
    if found is None:
        raise Opaque(f"the strides {high} and {low} of one array do not divide each other")
    return found


def absolute(stride: Size) -> Size:
    """A stride without its sign."""
    return -stride if all(c < 0 for c in stride.terms.values()) else stride


def shape_of(strides: Sequence[Size]) -> Shape:
    """The dimensions that strides show; raises `Opaque`."""

    def compare(a: Size, b: Size) -> int:
        if a == b:
            return 0
        if a.divided_by(b) is not None:
            return -1
        if b.divided_by(a) is not None:
            return 1
        raise Opaque(f"the strides {a} and {b} of one array do not divide each other")

    found = sorted(dict.fromkeys(map(absolute, strides)), key=cmp_to_key(compare))
    if not found or found[-1] != 1:
        found.append(Size.of(1))
    for high, low in pairwise(found):
        exact(high, low)
    return Shape(tuple(found))


def walks(index: Size, counters: Sequence[str], shape: Shape) -> tuple[Walk, ...]:
    """An index, dimension by dimension; raises `Opaque`."""
    moves: dict[Size, list[tuple[str, int]]] = {s: [] for s in shape.strides}
    rest = index
    for counter in counters:
        linear = rest.linear_in(counter)
        if linear is None:
            raise Opaque("an index is not linear in the counters of the loops")
        stride, rest = linear
        if stride != 0:
            size = absolute(stride)
            moves[size].append((counter, 1 if size == stride else -1))
    firsts: list[Size] = []
    for stride in shape.strides:
        here = Size({})
        for monomial, c in rest.terms.items():
            here = here + _whole_strides(monomial, c, stride)
        firsts.append(here)
        rest = rest - here * stride
    if rest != 0:
        raise Opaque("the begin of an access is no cell of the array")
    return tuple(
        Walk(first, tuple(moves[s])) for first, s in zip(firsts, shape.strides, strict=True)
    )


def _whole_strides(monomial: Monomial, c: int, stride: Size) -> Size:
    """How many whole strides are in a term, rounded down: of 21 cells in rows of 20 it is one."""
    if len(stride.terms) != 1:
        return Size({monomial: c}).divided_by(stride) or Size.of(0)
    ((unit, each),) = stride.terms.items()
    part = Size({monomial: 1}).divided_by(Size({unit: 1}))
    return Size.of(0) if part is None else part * (c // each)


@dataclass(frozen=True)
class Window:
    """A dimension of an access in the sizes of the program: cells from `low` on, as many as the counters reach."""

    low: Size
    moves: tuple[tuple[str, int], ...]
    span: Size

    @property
    def end(self) -> Size:
        """One behind the last cell."""
        return self.low + self.span


def windows(
    found: Sequence[Walk],
    trips: Mapping[str, Size],
    lengths: Sequence[Size],
    sizes: Callable[[Size], Size],
) -> list[Window]:
    """The cells that an access reaches in each dimension; what begins before a row begins in the row before."""
    firsts = [sizes(w.first) for w in found]
    made: list[Window] = []
    for d in range(len(found) - 1, -1, -1):
        w = found[d]
        span, low = Size.of(1), firsts[d]
        for counter, sign in w.moves:
            span = span + trips[counter] - 1
            if sign < 0:
                low = low - (trips[counter] - 1)
        if d > 0:
            length = lengths[d - 1]
            for _ in range(3):
                if low.surely_at_least(0):
                    break
                low, firsts[d - 1] = low + length, firsts[d - 1] - 1
        made.append(Window(low, w.moves, span))
    return made[::-1]


def view(
    array: Any, dimensions: Sequence[Window], trips: Mapping[str, Size], order: Sequence[str]
) -> Term:
    """The cells of an access: one dimension for each counter, in the order of the loops."""
    axes: list[str] = []

    def along(depth: int, xs: Any) -> Any:
        if depth == len(dimensions):
            return xs
        window = dimensions[depth]
        t = as_term(xs).type
        assert isinstance(t, Array), "cannot happen: there are as many dimensions as windows"
        if not window.moves:
            return along(depth + 1, _cell(xs, window.low))
        rows = _part(xs, window, t.length)
        if len(window.moves) == 1:
            return mapped(lambda row: along(depth + 1, row), rows)
        slid = rl.slide(trips[window.moves[1][0]], 1, rows)
        return mapped(lambda w: mapped(lambda row: along(depth + 1, row), w), slid)

    found = along(0, array)
    for window in dimensions:
        if len(window.moves) > 2 or (
            len(window.moves) == 2 and any(s < 0 for _, s in window.moves)
        ):
            raise Opaque("three loops move along one dimension, or two in contrary ways")
        axes += [counter for counter, _ in window.moves]
    wanted = [c for c in order if c in axes]
    for place, counter in enumerate(wanted):
        at = axes.index(counter)
        if at != place:
            found = transpose_axes(place, at, found)
            axes[place], axes[at] = axes[at], axes[place]
    return as_term(found)


def mapped(f: Any, xs: Any) -> Any:
    """A map, unless it changes nothing; of numbers that are generated, what is generated of each."""
    if isinstance(xs, Generate) and _is_same(xs.f):
        return rl.generate(xs.n, f)
    found = rl.map(f, xs)
    assert isinstance(found, Map), "cannot happen: it is applied to all its data"
    return xs if _is_same(found.f) else found


def _is_same(f: Lambda) -> bool:
    """Whether a function gives what it is given."""
    return isinstance(f.body, Var) and f.body.name == f.parameters[0].name


def _cell(xs: Any, at: Size) -> Any:
    """One row or cell."""
    return xs[at.constant] if at.constant is not None else rl.drop(at, xs)[0]


def _part(xs: Any, window: Window, length: Size) -> Any:
    """The rows from the first to the last that is reached, backwards if that is how they are walked through."""
    if window.low != 0:
        xs = rl.drop(window.low, xs)
    if length - window.low != window.span:
        xs = rl.take(window.span, xs)
    if len(window.moves) == 1 and window.moves[0][1] < 0:
        xs = rl.gather(reverse, xs)
    return xs
