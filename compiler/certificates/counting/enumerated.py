"""Which cells of local memory the work-items of a group access, found one after the other where all numbers are known.

Tiles have shapes of all kinds, and kernels that copy many of their elements by one work-item make hundreds of accesses:
Z3 is asked about each pair of them, and knows nothing of what it answered before.  A group has some hundred work-items,
and an index depends on few turns: of a counter that is only asked modulo something, on as many as that.  So the cells
of all accesses in one place are written down, with who makes them, and compared at once.

What is not known, such as a condition on data or on the number of the group, is left out: then there are cells that no
work-item accesses, and nothing is concluded from those.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from relift.compiler.certificates.counting.instances import (
    NotCounted,
    Numbers,
    Variable,
    at_all,
    number_of,
)
from relift.compiler.certificates.flows import Access, AccessAt, ConflictPair, Fact, Iteration
from relift.compiler.certificates.work_items import Grid
from relift.compiler.text import tree

MOST_CELLS = 1 << 22
"""Cells that are written down at most, each as often as it is accessed."""


@dataclass(frozen=True)
class Group:
    """The work-items of a group, whose kernel has these arrays of constants."""

    grid: Grid
    tables: Mapping[str, tuple[int, ...]]

    def local(self, d: int) -> int:
        """How many there are in a dimension; raises `NotCounted`."""
        many = number_of(self.grid.local[d], {}) if d not in self.grid.cut else None
        if many is None or many.constant is None:
            raise NotCounted("groups of several sizes")
        return many.constant

    # ---- races

    def keeps_apart(self, conflicts: Sequence[ConflictPair]) -> bool:
        """Whether it is found that no two work-items meet in a cell; conflicts of accesses in the same two places.

        False where they may, or where too little is known.
        """
        pair = conflicts[0]
        left = list(dict.fromkeys(p.left.access for p in conflicts))
        right = list(dict.fromkeys(p.right.access for p in conflicts))
        try:
            periods = _periods([*left, *right])
            one = self._accessed(left, periods, _conditions(pair.left))
            other = self._accessed(right, periods, _conditions(pair.right))
            met = pair.same if pair.follows is None else pair.same | {pair.follows}
            shared = sorted(met & one.turns.keys() & other.turns.keys())
            if pair.follows is not None and pair.follows in shared:
                one = one.a_turn_later(pair.follows, left[0], periods)
            return _of_one_each(_merged(one, shared), _merged(other, shared))
        except NotCounted:
            return False

    # ---- what is written

    def written_apart(
        self, left: Sequence[Access], right: Sequence[Access], common: Collection[str]
    ) -> bool:
        """Whether it is found that no cell is written twice in one turn of the loops `common`.

        Both are writes in one place; where they are the same, none of them writes what another or itself does.
        """
        inner = {w.counter for w in left[0].place if isinstance(w, Iteration)} - {*common}
        try:
            periods = _periods([*left, *right], but=inner)
            one = self._accessed(left, periods, (), inner)
            if left is right:
                (code,) = _codes([_merged(one, sorted(one.turns.keys() - inner))])
                return len(np.unique(code)) == len(code)
            other = self._accessed(right, periods, ())
            shared = sorted({*common} & one.turns.keys() & other.turns.keys())
            code, more = _codes([_merged(one, shared), _merged(other, shared)])
            return not np.isin(code, more).any()
        except NotCounted:
            return False

    def cells_of(self, access: Access) -> Numbers:
        """The cells of an access, those it may be made to among them; raises `NotCounted`."""
        return np.unique(self._accessed([access], _periods([access]), ()).cells)

    # ---- accesses

    def _accessed(
        self,
        accesses: Sequence[Access],
        periods: Mapping[str, int],
        more: Sequence[tree.Expression],
        needed: Collection[str] = (),
    ) -> _Accessed:
        """The cells of accesses in one place, where `more` conditions hold, too."""
        place = accesses[0].place
        loops = [w for w in place if isinstance(w, Iteration)]
        named = {
            u.name for a in accesses for u in tree.within(a.offset) if isinstance(u, tree.Name)
        }
        for w in reversed(loops):  # what bounds a loop that is needed is needed, too
            if w.counter in named or w.counter in needed:
                named |= {w.counter} | {
                    u.name for e in _ends(w) for u in tree.within(e) if isinstance(u, tree.Name)
                }
        known = _Instances(self, {name: np.array(row) for name, row in self.tables.items()})
        for around in place:
            if isinstance(around, Fact):
                known.require(around.condition, periods)
            elif around.counter in named:
                known.turn(around, periods)
        for condition in more:
            known.require(condition, periods)
        each = known.count * sum(a.width for a in accesses)
        if each > MOST_CELLS:
            raise NotCounted("too many cells")
        cells = [
            (
                np.broadcast_to(known.value(a.offset), known.count)[:, None] + np.arange(a.width)
            ).ravel()
            for a in accesses
        ]
        repeated = {
            name: np.concatenate([np.repeat(v, a.width) for a in accesses])
            for name, v in known.turns.items()
        }
        items = np.concatenate([np.repeat(known.items, a.width) for a in accesses])
        return _Accessed(np.concatenate(cells), items, repeated)


@dataclass
class _Instances:
    """The work-items of a group, and the turns of some of the loops around: all numbers of an access, side by side."""

    group: Group
    tables: Mapping[str, Numbers]
    at: dict[Variable, Numbers] = field(default_factory=dict[Variable, Numbers])
    turns: dict[str, Numbers] = field(default_factory=dict[str, Numbers])
    items: Numbers = field(init=False)

    def __post_init__(self) -> None:
        shape = [self.group.local(d) for d in range(len(self.group.grid.local))]
        if math.prod(shape) > MOST_CELLS:
            raise NotCounted("too many work-items")
        numbers = np.indices(shape).reshape(len(shape), -1)
        self.at |= {("lcl", d): row for d, row in enumerate(numbers)}
        self.items = np.arange(numbers.shape[1])

    @property
    def count(self) -> int:
        return len(self.items)

    def value(self, e: tree.Expression) -> Numbers:
        return at_all(e, self.at, self.group.local, self.tables)

    def turn(self, w: Iteration, periods: Mapping[str, int]) -> None:
        """Each of them in each turn of a loop; of one with a period, in as many turns as that, which are numbered."""
        start, end, step = (np.broadcast_to(self.value(e), self.count) for e in _ends(w))
        if (step < 1).any():
            raise NotCounted("a loop whose step may not be positive")
        many = np.maximum(0, -((start - end) // step))
        if w.counter in periods:
            many = np.minimum(many, periods[w.counter])
        if many.sum() > MOST_CELLS:
            raise NotCounted("too many turns")
        self._keep(np.repeat(np.arange(self.count), many))
        number = np.arange(self.count) - np.repeat(np.cumsum(many) - many, many)
        counter = np.repeat(start, many) + number * np.repeat(step, many)
        self.at["loop", w.counter] = counter
        self.turns[w.counter] = number if w.counter in periods else counter

    def require(self, condition: tree.Expression, periods: Mapping[str, int]) -> None:
        """Those for which a condition holds, where that is known: one on a turn that stands for others is not."""
        if any(isinstance(u, tree.Name) and u.name in periods for u in tree.within(condition)):
            return
        try:
            held = np.broadcast_to(self.value(condition) != 0, self.count)
        except NotCounted:
            return
        self._keep(np.flatnonzero(held))

    def _keep(self, places: Numbers) -> None:
        self.at = {name: row[places] for name, row in self.at.items()}
        self.turns = {name: row[places] for name, row in self.turns.items()}
        self.items = self.items[places]


@dataclass(frozen=True)
class _Accessed:
    """Cells, the work-item that accesses each, and in which turn of each loop."""

    cells: Numbers
    items: Numbers
    turns: Mapping[str, Numbers]

    def a_turn_later(self, counter: str, access: Access, periods: Mapping[str, int]) -> _Accessed:
        """The same, with the number of the next turn."""
        (w,) = (w for w in access.place if isinstance(w, Iteration) and w.counter == counter)
        if counter in periods:
            later = (self.turns[counter] + 1) % periods[counter]
        elif isinstance(w.stride, tree.Whole):
            later = self.turns[counter] + w.stride.value
        else:
            raise NotCounted("a step that is no number")
        return _Accessed(self.cells, self.items, {**self.turns, counter: later})


def _conditions(point: AccessAt) -> list[tree.Expression]:
    """What holds where an access is made in the first or last turn of loops, and on the way from or to it."""
    found = list(point.way.conditions)
    for w in point.access.place:
        if isinstance(w, Iteration) and w.counter in point.first:
            found.append(tree.Binary("==", tree.Name(w.counter), w.start))
        if isinstance(w, Iteration) and w.counter in point.last:
            after = tree.Binary("+", tree.Name(w.counter), w.step)
            found.append(tree.Binary(">=", after, w.end))
    return found


# ---- cells that are compared


_Rows = tuple[list[Numbers], Numbers]
"""Numbers that are the same where two meet, the cell among them, and the work-items."""


def _merged(found: _Accessed, shared: Iterable[str]) -> _Rows:
    return [found.cells, *(found.turns[name] for name in shared)], found.items


def _codes(several: Sequence[_Rows]) -> list[Numbers]:
    """One number for what is the same where two meet."""
    code = [np.zeros(len(items), np.int64) for _, items in several]
    whole = 1
    for columns in zip(*(rows for rows, _ in several), strict=True):
        least = min((int(c.min()) for c in columns if len(c)), default=0)
        size = max((int(c.max()) for c in columns if len(c)), default=0) - least + 1
        whole *= size
        if whole > 1 << 62:
            raise NotCounted("too many turns")
        code = [c * size + (column - least) for c, column in zip(code, columns, strict=True)]
    return code


def _of_one_each(left: _Rows, right: _Rows) -> bool:
    """Whether all who are at the same place on both sides are one work-item."""
    (codes, others), items, more = _codes([left, right]), left[1], right[1]
    if not len(codes) or not len(others):
        return True
    where, least, most = _ranges(codes, items)
    there, fewest, greatest = _ranges(others, more)
    _, i, j = np.intersect1d(where, there, assume_unique=True, return_indices=True)
    alone = (least[i] == most[i]) & (fewest[j] == greatest[j]) & (least[i] == fewest[j])
    return bool(alone.all())


def _ranges(codes: Numbers, items: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Each place once, and the first and the last work-item there."""
    order = np.argsort(codes, kind="stable")
    codes, items = codes[order], items[order]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    return codes[starts], np.minimum.reduceat(items, starts), np.maximum.reduceat(items, starts)


# ---- turns that come again


def _periods(accesses: Sequence[Access], but: Collection[str] = ()) -> dict[str, int]:
    """After how many turns of a loop, with constant bounds, all offsets are the same again; of loops with more turns."""
    found: dict[str, int] = {}
    loops = [*dict.fromkeys(w for a in accesses for w in a.place if isinstance(w, Iteration))]
    names = [w.counter for w in loops]
    bounds = {u for w in loops for e in _ends(w) for u in tree.within(e)}
    for w in loops:
        constant = all(isinstance(e, tree.Whole) for e in _ends(w)) and w.stride == w.step
        if w.counter in but or not constant or names.count(w.counter) > 1:
            continue
        if tree.Name(w.counter) in bounds:
            continue
        moduli = [n for a in accesses for n in _moduli(a.offset, w.counter)]
        if moduli and None not in moduli:
            found[w.counter] = math.lcm(*(n for n in moduli if n is not None))
    return found


def _ends(w: Iteration) -> tuple[tree.Expression, ...]:
    return w.start, w.end, w.step


def _moduli(e: tree.Expression, counter: str) -> Iterator[int | None]:
    """Modulo what an expression depends on a counter; None where it depends on all of it."""
    match e:
        case tree.Binary("%", left, tree.Whole(n)) if n > 0 and _is_sum(left, counter):
            yield n
        case tree.Name(name) if name == counter:
            yield None
        case (
            tree.Whole() | tree.Real() | tree.Name() | tree.Element() | tree.Member()
            | tree.Prefix() | tree.Binary() | tree.Conditional() | tree.Invocation()
            | tree.Cast()
        ):  # fmt: skip
            for part in tree.parts(e):
                yield from _moduli(part, counter)


def _is_sum(e: tree.Expression, counter: str) -> bool:
    """Whether it is a sum of multiples of a counter and of what does not depend on it, and depends on it."""
    if tree.Name(counter) not in tree.within(e):
        return False
    match e:
        case tree.Name():
            return True
        case tree.Binary("+", left, right):
            sides = [s for s in (left, right) if tree.Name(counter) in tree.within(s)]
            return all(_is_sum(s, counter) for s in sides)
        case tree.Binary("*", tree.Whole(n), factor) | tree.Binary("*", factor, tree.Whole(n)) if (
            n >= 0
        ):
            return _is_sum(factor, counter)
        case (
            tree.Whole() | tree.Real() | tree.Element() | tree.Member() | tree.Prefix()
            | tree.Binary() | tree.Conditional() | tree.Invocation() | tree.Cast()
        ):  # fmt: skip
            return False
