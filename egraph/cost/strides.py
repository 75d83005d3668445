"""How far accesses move with what they stand in: loops, work-items, lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product
from math import prod

from relift.egraph.cost.fetched import SECTOR_BYTES, Around, Moving
from relift.egraph.cost.walked import LINE_CELLS
from relift.semantics.indices.atoms import (
    Index,
    Loaded,
    Variable,
    depends_on,
    linear_in,
    parts_of,
    variables_of,
)
from relift.semantics.indices.expressions import evaluate, modulo
from relift.semantics.syntax.monomials import Atom

_ALONG = 0.35
"""How much dearer it is to gather cells of rows along which work-items go, than what lies apart and is read once.

The sums of 32 parts of 2^24 numbers take two cores 2.3 ms on Intel's, a cycle for each number, and the sums up to each of them 6.5: a sixth.
131,072 rows of 16 numbers, each of which is read 17 times, take 2.0 ms, and 0.9 in vectors: more than a quarter."""
_TOGETHER, _PUT_TOGETHER = 4, 0.2
"""Cells from a work-item to its neighbour that a driver takes out of vectors of all of them, and what it takes more to write them for each cell between.

400,000 rows of 2, 3, 4, 6, 8, 12 and 16 numbers that the nearer caches hold take two cores, through Intel's driver, 0.07, 0.10, 0.06, 0.52, 2.5, 4.7
and 6.7 ms to add up, and 0.07, 0.22, 0.45, 1.8, 2.5, 3.7 and 10.4 to double."""


def moving_with(around: Sequence[Around], offset: Index) -> list[Moving] | None:
    """How an access moves with what it stands in; None where that depends on data."""
    moving: list[Moving] = []
    for each in around:
        stride = stride_of(offset, each.index)
        if stride is None:
            return None
        moving.append(Moving(each, stride))
    return moving


def turns_of(loop: Index | None) -> int:
    """The turns of a loop."""
    if loop is None:
        return 0
    extents = [v.extent.constant for v in variables_of(loop) if isinstance(v, Variable)]
    return prod(n or 0 for n in extents)


def stride_between(offset: Index, thread: Index) -> int | None:
    """How far the accesses of neighbouring work-items are apart; None where the index of each is data of its own."""
    return None if depends_on_data(offset, thread) else stride_of(offset, thread)


def stride_of(offset: Index, v: Index) -> int | None:
    """How far the offset moves when `v` grows by one; None when that is not a constant.

    Where it is clamped or goes round, as at the border of a stencil, how far it moves inside.
    """
    linear = linear_in(offset, v)
    if linear is not None:
        return linear[0].constant
    inside = _inside(offset)
    if inside is None:
        return None
    moved = {atom.name for atom in variables_of(v) if isinstance(atom, Variable)}
    after = {name: n + (name in moved) for name, n in inside.items()}
    return evaluate(offset, after) - evaluate(offset, inside)


def stride_of_lanes(offset: Index, lane: Index, loop: Index | None) -> int | None:
    """How far the cells of neighbouring lanes are apart; None where they are not evenly, in most turns of the loop around them.

    Vectors of rows that are joined may cross from one to the next.

    >>> from relift.egraph.cost.strides import stride_of_lanes
    >>> from relift.semantics.indices.expressions import divide, variable
    >>> i, l = variable("i", 2), variable("l", 4)
    >>> [stride_of_lanes(97 * divide(4 * i + l, n) + 4 * i + l, l, i) for n in (3, 4)]
    [None, 1]
    """
    linear = linear_in(offset, lane)
    inside = _inside(offset)
    if linear is not None or inside is None:
        return None if linear is None else linear[0].constant
    turns: list[dict[str, int]] = [{}]
    for each in () if loop is None else variables_of(loop):
        if isinstance(each, Variable):
            few = min(each.extent.constant or 1, _TURNS)
            turns = [{**turn, each.name: k} for turn in turns for k in range(few)]
    [name] = (atom.name for atom in variables_of(lane) if isinstance(atom, Variable))
    found: list[int | None] = []
    for turn in turns:
        width = range(turns_of(lane))
        places = [evaluate(offset, {**inside, **turn, name: k}) for k in width]
        steps = {after - before for before, after in pairwise(places)}
        found.append(steps.pop() if len(steps) == 1 else None)
    [(most, _)] = Counter(found).most_common(1)
    return most


_TURNS = 4
"""Turns of a loop at most that say how lanes lie in most of them."""


def _inside(offset: Index) -> dict[str, int] | None:
    """Values of its variables in the middle of their ranges; None where one is data of many values, or has an unknown range."""
    inside: dict[str, int] = {}
    for atom in variables_of(offset):
        of_few = isinstance(atom, Loaded) and atom.offset is None and is_near(atom)
        if not (of_few or isinstance(atom, Variable)) or not (atom.extent and atom.extent.constant):
            return None
        inside[atom.name] = atom.extent.constant // 2
    return inside


def somewhere(offset: Index) -> int:
    """Where an access is in the middle of the loops around it; 0 where that depends on data."""
    inside = _inside(offset)
    return 0 if inside is None else evaluate(offset, inside)


def moving_alike(loops: Sequence[tuple[Index, float]], offset: Index) -> dict[int, list[float]]:
    """The turns of the loops that are written out, by how far each moves an access."""
    alike: dict[int, list[float]] = {}
    for i, n in loops:
        if (stride := stride_of(offset, i)) and n > 1:
            alike.setdefault(abs(stride), []).append(n)
    return alike


def places_of(turns: Sequence[float]) -> float:
    """At how many addresses loops of these turns are that all move an access alike."""
    return sum(turns) - len(turns) + 1


def turns_of_each_place(
    loops: Sequence[tuple[Index, float]], offset: Index, *, joined: bool = True
) -> float:
    """How many turns of loops that are written out access an address on average; of a loop through `joined` rows each is looked at.

    >>> from relift.egraph.cost.strides import turns_of_each_place
    >>> from relift.semantics.indices.expressions import divide, modulo, variable
    >>> row, cell = variable("row", 8), variable("cell", 9)
    >>> window = 100 * row + 100 * divide(cell, 3) + modulo(cell, 3)
    >>> [turns_of_each_place([(row, 8.0), (cell, 9.0)], window, joined=each) for each in (True, False)]
    [2.4, 1.0]
    """
    moving = [(i, int(n)) for i, n in loops if depends_on(offset, i)]
    inside, turns = _inside(offset), prod(n for _, n in moving)
    linear = all(linear_in(offset, i) is not None for i, _ in moving)
    if linear or inside is None or not joined or turns > _MOST_TURNS:
        return prod(prod(ns) / places_of(ns) for ns in moving_alike(loops, offset).values())
    names = [next(v.name for v in variables_of(i) if isinstance(v, Variable)) for i, _ in moving]
    each = product(*(range(n) for _, n in moving))
    at = (evaluate(offset, {**inside, **dict(zip(names, turn, strict=True))}) for turn in each)
    return turns / len(set(at))


_MOST_TURNS = 1024
"""Turns of which each is looked at."""


def turns_written_out(loops: Sequence[tuple[Index, float]], offset: Index) -> set[int]:
    """Where the turns of loops that are written out access a memory, from where the first of them does."""
    steps = [
        [k * stride for k in range(int(n))]
        for i, n in loops
        if (stride := stride_of(offset, i)) is not None
    ]
    return {sum(each) for each in product(*steps)}


def cells_used(loops: Sequence[tuple[Index, float]], offset: Index, stride: int | None) -> int:
    """Of the cells from one work-item to its neighbour, how many the turns of loops that are written out read: all are sent together.

    Means of 3 x 3 cells that begin two cells apart take an H200 83 us read so, where memory takes 79.  Where neighbours share nothing
    that is sent at a time it is only the nearest cache that has the rest: sums of 16 products of 2^20 rows take 146 us so, and 124.
    """
    if stride is None or abs(stride) >= SECTOR_BYTES // 4:
        return 1
    places = turns_written_out(loops, offset)
    return max(sum(0 <= place - first < abs(stride) for place in places) for first in places)


def depends_on_data(offset: Index, thread: Index) -> bool:
    """Whether an access is where data of each work-item, or of each lane, says; a number of few values moves it to a neighbour at most."""
    loaded = (atom for atom in variables_of(offset) if isinstance(atom, Loaded))
    data = (atom for atom in loaded if not is_near(atom))
    return any(atom.offset is None or depends_on(atom.offset, thread) for atom in data)


def is_near(number: Loaded) -> bool:
    """Whether a number that is data has few values: a cell of a window, which lies where its neighbours do."""
    return number.extent is not None and (number.extent.constant or _NEAR + 1) <= _NEAR


_NEAR = 4
"""Cells of a window, one of which is chosen."""


def lie_apart(offset: Index, thread: Index, loop: Index | None, *, storing: bool) -> float | None:
    """How dear it is to gather the cells of neighbouring work-items; None where they are neighbours, as far as a driver can see.

    What is looked up where data says has a cost of its own, which no vector makes less.
    """
    if depends_on_data(offset, thread) and not storing:
        return 0.0
    linear = linear_in(offset, thread)
    step = None if linear is None else linear[0].constant
    if step in (0, 1, -1):
        return None
    if step is not None and abs(step) <= _TOGETHER and loop is None:
        return (abs(step) - 2) * _PUT_TOGETHER if storing else None
    turn = 0 if loop is None else abs(stride_of(offset, loop) or 0)
    return _ALONG if 0 < turn < LINE_CELLS else 1.0


def is_computed(atom: Atom) -> bool:
    """Whether a part of an index takes an instruction."""
    return not isinstance(atom, Variable | Loaded)


def changes(atom: Atom, loop: Index | None) -> bool:
    """Whether it takes one in each turn of a loop: what no turn changes is computed before, if it is for all lanes."""
    inside = loop is None or any(depends_on(each, loop) for each in parts_of(atom))
    return is_computed(atom) and inside


def in_vectors(offset: Index, lane: Index) -> bool:
    """Whether the lanes of an access are a vector: begin where one does, and have no bound of their own."""
    linear = linear_in(offset, lane)
    return linear is not None and modulo(linear[1], turns_of(lane)) == 0


_OF_A_LINE = 1.1
"""Cycles of a lane that reads a number a few cells behind the lane before: a driver gathers them from few lines.

Sums of every second, third, fifth, eighth and twelfth number of rows of 208 take PoCL 0.65, 0.73, 0.73, 0.9 and 1.36 cycles for each in vectors of eight,
0.9 to 1.8 in vectors of 16; a number of a row of its own, further away, takes it 2.8."""


def gathered(apart: int | None, turned: float) -> float:
    """The cycles of a lane that reads a number so many cells behind the lane before, where one of a row of its own takes `turned`."""
    return turned if apart is None or abs(apart) >= LINE_CELLS else min(turned, _OF_A_LINE)
