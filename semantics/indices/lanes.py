"""The lanes of a vector, and its cells near a border: where no lane is beyond it, these lie side by side.

What pads, clamps or goes round asks of each cell where it is.  Most vectors of a row are far from its ends: one question tells
them from the few that are put together number by number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter

from relift.semantics.indices.atoms import (
    Index,
    Larger,
    Loaded,
    Quotient,
    Remainder,
    Smaller,
    Variable,
    depends_on,
    index_atom,
    linear_in,
    parts_of,
)
from relift.semantics.indices.expressions import divide, modulo, recombined, substitute
from relift.semantics.indices.ranges import surely_at_most
from relift.semantics.indices.views import Cell, CodeValue, Condition, Guarded, Leaf, guarded
from relift.semantics.syntax.monomials import Atom
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import boolean

_NARROW_BYTES = 16
"""Bytes of a vector that is put together as fast: a GPU has no wider access, and its work-items would part ways."""


@dataclass(frozen=True)
class Lane:
    """The lane variable of the vector operation that is being emitted, and how many lanes there are."""

    index: Index
    width: int


def at_lane(leaf: Leaf, lane: Lane, k: int) -> Leaf:
    """The leaf of lane k alone."""
    return with_lane(leaf, lane, Size.of(k))


def with_lane(leaf: Leaf, lane: Lane, at: Index) -> Leaf:
    """The leaf where its lane is another index."""
    match leaf:
        case Cell(memory, offset, shares):
            return Cell(memory, substitute(offset, lane.index, at), shares)
        case CodeValue(lane=of, index=index):
            of, index = (None if e is None else substitute(e, lane.index, at) for e in (of, index))
            return replace(leaf, lane=of, index=index)
        case Guarded(condition, inside, outside):
            index = substitute(condition.index, lane.index, at)
            chosen = guarded(
                Condition(index, condition.extent),
                with_lane(inside, lane, at),
                with_lane(outside, lane, at),
            )
            assert isinstance(chosen, Leaf), "cannot happen: a choice of scalars"
            return chosen


def decided_by(leaf: Guarded, lane: Lane) -> bool:
    """Whether the condition may hold for some lanes and not for others."""
    return depends_on(leaf.condition.index, lane.index)


def in_whole_vectors(leaf: Leaf, lane: Lane | None) -> Leaf:
    """The same leaf, where a condition on vectors that lie within it or beyond it asks for their first lane alone."""
    if lane is None or not isinstance(leaf, Guarded) or not decided_by(leaf, lane):
        return leaf
    index, extent = leaf.condition.index, leaf.condition.extent
    linear = linear_in(index, lane.index)
    if linear is None or linear[0] != 1:
        return leaf
    if modulo(linear[1], lane.width) != 0 or modulo(extent, lane.width) != 0:
        return leaf
    chosen = guarded(Condition(linear[1], extent), leaf.inside, leaf.outside)
    assert isinstance(chosen, Leaf), "cannot happen: a choice of scalars"
    return chosen


@dataclass(frozen=True)
class AtMost:
    """`low <= high`."""

    low: Index
    high: Index


def away_from_borders(leaf: Leaf, lane: Lane) -> tuple[Cell, tuple[AtMost, ...]] | None:
    """The cells of all lanes where none is beyond a border, and when that is so; None where they never lie side by side.

    >>> from relift import f32
    >>> from relift.semantics.indices.lanes import Lane, away_from_borders
    >>> from relift.semantics.indices.expressions import clamp, divide, minimum, modulo, variable
    >>> from relift.semantics.indices.views import Cell, Memory
    >>> from relift.semantics.syntax.memory import Space
    >>> from relift.semantics.syntax.sizes import Size
    >>> i, l, x = variable("i", 13), variable("l", 8), Memory("x", f32, Size.of(100), Space.GLOBAL)
    >>> def shown(offset):
    ...     found = away_from_borders(Cell(x, offset), Lane(l, 8))
    ...     return found and (str(found[0].offset), [(str(b.low), str(b.high)) for b in found[1]])
    >>> shown(clamp(8 * i + l - 1, Size.of(100)))
    ('8*i + l - 1', [('0', '8*i - 1'), ('8*i + 6', '99')])
    >>> shown(modulo(8 * i + l + 97, Size.of(100)))
    ('4*((2*i + 24) % 25) + l + 1', [('4*((2*i + 24) % 25) + 8', '99')])
    >>> j = 8 * i + l
    >>> shown(minimum(j, 2 * Size.of(52) - 1 - j))  # reflected at its end
    ('8*i + l', [('8*i + 7', '-8*i + 96')])
    >>> shown(4 * minimum(divide(j, 4), Size.of(24)) + modulo(j, 4))  # in rows of four, beyond which there is none
    ('8*i + l', [('2*i + 1', '24')])
    >>> shown(clamp(8 * i - l, Size.of(100))) is None
    True
    >>> shown(minimum(l, 6 * divide(l, 7) + 1)) is None  # as large in lane 7 and in lane 1, not in those between
    True
    >>> shown(l + divide(8 - l, Size.of(8))) is None  # 1, 1, 2: it falls into another row
    True
    """
    bounds: dict[AtMost, None] = {}
    found = _inside(leaf, lane, bounds)
    if found is None or any(surely_at_most(b.high + 1, b.low) for b in bounds):
        return None
    asked = tuple(b for b in bounds if not surely_at_most(b.low, b.high))
    return found, asked


def _inside(leaf: Leaf, lane: Lane, bounds: dict[AtMost, None]) -> Cell | None:
    """The cells of all lanes, as far from borders as the `bounds` say, to which it adds."""
    match leaf:
        case CodeValue():
            return None
        case Guarded(condition, inside, _):
            index = _straight(condition.index, lane, bounds)
            ends = None if index is None else _ends(index, lane)
            if ends is None:
                return None
            for end in ends:
                bounds[AtMost(Size.of(0), end)] = None
                bounds[AtMost(end, condition.extent - 1)] = None
            return _inside(inside, lane, bounds)
        case Cell(memory, offset):
            if not memory.space.of_device or memory.scalar == boolean:
                return None
            straight = _straight(offset, lane, bounds)
            linear = None if straight is None else linear_in(straight, lane.index)
            wide = memory.scalar.bytes * lane.width > _NARROW_BYTES
            if straight is None or linear is None or linear[0] != 1 or not wide:
                return None
            return Cell(memory, straight, leaf.shares)


def _straight(e: Index, lane: Lane, bounds: dict[AtMost, None]) -> Index | None:
    """The index where no border is between its lanes."""
    total = Size.of(0)
    for monomial, c in e.terms.items():
        product = Size.of(c)
        for atom, power in monomial:
            factor = _straight_atom(atom, lane, bounds)
            if factor is None:
                return None
            for _ in range(power):
                product = product * factor
        total = total + product
    return recombined(total)


def _straight_atom(atom: Atom, lane: Lane, bounds: dict[AtMost, None]) -> Index | None:
    if not any(depends_on(part, lane.index) for part in parts_of(atom)):
        return Size.atom(atom)
    match index_atom(atom):
        case Smaller(left, right) | Larger(left, right) as either:
            return _growing(either, left, right, lane, bounds)
        case Quotient(dividend, divisor) | Remainder(dividend, divisor) as either:
            straight = _straight(dividend, lane, bounds)
            ends = None if straight is None else _ends(straight, lane)
            if straight is None or ends is None or depends_on(divisor, lane.index):
                return None
            first, last = ends
            whole = isinstance(either, Quotient)
            if surely_at_most(divisor, last - first):  # several rows, which may make one line
                return divide(straight, divisor) if whole else modulo(straight, divisor)
            within = modulo(first, divisor)
            moved = within + (last - first)
            bounds[AtMost(Size.of(0), moved)] = None
            bounds[AtMost(moved, divisor - 1)] = None
            return divide(first, divisor) if whole else within + straight - first
        case Loaded() | Variable():  # data: of each lane its own
            return None


def _growing(
    atom: Smaller | Larger, left: Index, right: Index, lane: Lane, bounds: dict[AtMost, None]
) -> Index | None:
    """Of two indices the one that grows more from lane to lane, where in all of them it is the one that is asked for."""
    grown: list[tuple[int, Index, tuple[Index, Index]]] = []
    for side in (left, right):
        straight = _straight(side, lane, bounds)
        ends = None if straight is None else _ends(straight, lane)
        growth = None if ends is None else (ends[1] - ends[0]).constant
        if straight is None or ends is None or growth is None:
            return None
        grown.append((growth, straight, ends))
    steady = all(linear_in(straight, lane.index) is not None for _, straight, _ in grown)
    if not steady and all(depends_on(straight, lane.index) for _, straight, _ in grown):
        return None  # between the ends they may cross
    (_, _, (other_first, other_last)), (_, straight, (first, last)) = sorted(
        grown, key=itemgetter(0)
    )
    if isinstance(atom, Smaller):
        bounds[AtMost(last, other_last)] = None
    else:
        bounds[AtMost(other_first, first)] = None
    return straight


def _ends(e: Index, lane: Lane) -> tuple[Index, Index] | None:
    """The index in the first lane and in the last, between which it only grows or only falls."""
    if _directions(e, lane) in (None, {-1, 1}):
        return None
    return substitute(e, lane.index, Size.of(0)), substitute(e, lane.index, Size.of(lane.width - 1))


def _directions(e: Index, lane: Lane) -> set[int] | None:
    """Which ways the terms of an index go from lane to lane: 1 where they grow, -1 where they fall; None where that is open."""
    ways: set[int] = set()
    for monomial, c in e.terms.items():
        if not depends_on(Size({monomial: c}), lane.index):
            continue
        (atom, power), *others = monomial
        within = None if others or power > 1 else _ways_of(atom, lane)
        if within is None:
            return None
        ways |= {way if c > 0 else -way for way in within}
    return ways


def _ways_of(atom: Atom, lane: Lane) -> set[int] | None:
    if Size.atom(atom) == lane.index:
        return {1}
    found = index_atom(atom)
    if isinstance(found, Quotient) and not depends_on(found.divisor, lane.index):
        return _directions(found.dividend, lane)
    return None
