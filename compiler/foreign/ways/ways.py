"""What the code of kernels calls where data may decide: on conditions, and on cells that work-items reach under them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from relift.compiler.foreign.ways.accesses import others_at_once, remember
from relift.compiler.foreign.ways.conditions import Conditions
from relift.compiler.foreign.ways.paths import Path, certain
from relift.compiler.validation.machine import Item, Memory, Shared, Undecided
from relift.compiler.validation.symbols import OPEN, DependsOnData, Symbol

ANYWHERE = 64
"""An index of which nothing more is known may be at so many places."""


class Ways(Conditions):
    """Memory, where data decide which cell is meant, or whether it is reached."""

    def leaves(self, it: Item, i: Symbol, extent: int = 0) -> list[tuple[Symbol, int]]:
        """The places that an index may be, and where it is which; raises `DependsOnData` where these are not few.

        `extent`: how many there are to be at.
        """
        found = self.choices.of(i) or self._anywhere(it, i, extent)
        known = it.under.known if it.under is not None else {}
        kept = [(self.choices.resolved(c, known), n) for n, c in found.items()]
        return [(c, n) for c, n in kept if c.op != "whole" or c.args[0]]

    def _anywhere(self, it: Item, i: Symbol, extent: int) -> Mapping[int, Symbol]:
        """All places of a small array, for an index that is surely one of them."""
        a = self.algebra
        zero, end = (a.whole(n, i.type) for n in (0, extent))
        inside = a.bits("and", a.le(zero, i), a.lt(i, end))
        if extent and not self._implied(inside, it.under):
            path = [] if it.under is None else [it.under.since(None)]
            self.doubts.append(self.all_of([*path, self.not_(inside)]))
            extent = 0
        if not 0 < extent <= ANYWHERE:
            raise DependsOnData(i, "an index")
        self.placed.append(i)
        if self.required is not None:
            known = it.under.known if it.under is not None else {}
            low, high = self.required.range_where(i, known) or (0, extent)
            places = range(max(low, 0), min(high + 1, extent))
            return {n: a.equal(i, a.whole(n, i.type)) for n in places}
        here = a.whole(1, "bool") if it.under is None else it.under.since(None)
        there = {n: a.equal(i, a.whole(n, i.type)) for n in range(extent)}
        return {n: c for n, c in there.items() if a.bits("and", here, c) is not self.choices.false}

    def load(self, memory: Memory, it: Item, i: Symbol) -> Any:
        """The value of a cell at one place or another."""
        value: Any = None
        for c, n in self.leaves(it, i, len(memory.cells)):
            if self._beyond(memory, it, c, n):
                continue
            with self.at(it, self.under(it, c)):
                one = memory.load(it, n)
            value = one if value is None else self.picked(c, one, value, memory.kind)
        if value is None:
            raise DependsOnData(i, "an index")
        return value

    def places(self, memory: Memory, it: Item, i: Any) -> list[tuple[Path | None, Any]]:
        """Each place that an index may be, and the path on which it is there."""
        if i.__class__ is not Symbol or i is OPEN:
            return [(it.under, i)]
        leaves = self.leaves(it, i, len(memory.cells))
        found = [(c, n) for c, n in leaves if not self._beyond(memory, it, c, n)]
        return [(self.under(it, c), n) for c, n in found]

    def store(self, memory: Memory, it: Item, i: Symbol, value: Any) -> None:
        """Set a cell at one place or another."""
        for path, n in self.places(memory, it, i):
            with self.at(it, path):
                certain(it, partial(memory.store, it, n, value))

    def accessed(self, memory: Shared, it: Item, i: int, *, writes: bool) -> None:
        """A work-item reads or writes a cell that it, or somebody else, reaches under a condition."""
        self.alone(memory, it, i, writes=writes)
        if it.under is not None:
            remember(memory, it, i, writes=writes)

    def alone(self, memory: Shared, it: Item, i: int, *, writes: bool) -> None:
        """Raise `Undecided` where somebody else may reach a cell at the same time, one of both writing."""
        for does, other, when in others_at_once(memory, it, i, writes=writes):
            both = [c for c in (it.under and it.under.since(None), when) if c is not None]
            here = self.all_of(both)
            if not self._implied(self.not_(here), None):
                said = f"{memory.name}[{i}] is {'written' if writes else 'read'} by {it} and {does}"
                raise Undecided(f"where data are such, {said} by {other}", here)

    def _beyond(self, memory: Memory, it: Item, c: Symbol, n: int) -> bool:
        """Whether a place is beyond the array, where a work-item never is."""
        if 0 <= n < len(memory.cells):
            return False
        if self._implied(self.not_(c), it.under):
            return True
        here = c if it.under is None else self.algebra.bits("and", it.under.since(None), c)
        raise Undecided(
            f"{it} may be at {memory.name}[{n}] of {len(memory.cells)}, which depends on data", here
        )

    def moved(self, place: Any, by: Any) -> Any:
        """A place in an array, moved by a number that may be one of several."""
        if place.__class__ is not Symbol and by.__class__ is not Symbol:
            return place + by
        if place is OPEN or by is OPEN:
            return OPEN
        a = self.algebra
        return a.add(*(a.convert(a.lift(v, "i64"), "i64") for v in (place, by)))

    def moved_back(self, place: Any, by: Any) -> Any:
        """A place so many elements before."""
        if by.__class__ is not Symbol:
            return self.moved(place, -by)
        a = self.algebra
        return by if by is OPEN else self.moved(place, a.neg(a.convert(by, "i64")))

    def beside(self, path: Path, memory: Memory, i: int, value: Any) -> Any:
        """What a cell holds once a value was written to it on a path; where it was open before, what is known so far."""
        old = memory.cells[i]
        literals = path.literals()
        if old is not OPEN:
            found = value
            for k in range(len(literals), 0, -1):
                known: dict[Symbol, bool] = {}
                for c in literals[: k - 1]:
                    self.choices.learn(known, c)
                self.choices.learn(known, self.not_(literals[k - 1]))
                found = self.picked(literals[k - 1], found, self.chosen(old, known), memory.kind)
            return found
        halves = memory.halves.setdefault(i, [])
        halves.append((self.all_of(literals), value))
        if literals == literals[:1] and len(halves) == 2 and halves[0][0] is self.not_(literals[0]):
            return self.completed(memory, i)
        return OPEN

    def written(self, memory: Memory, i: int, path: Path | None) -> Any:
        """What a cell holds that was written under conditions only: open if none of them surely holds on a path."""
        known = path.known if path is not None else {}
        later: list[tuple[Symbol, Any]] = []
        for condition, value in reversed(memory.halves[i]):
            c = self.choices.resolved(condition, known)
            if c.op == "whole" and not c.args[0]:
                continue
            later.append((c, value))
            if c.op == "whole":
                break
        else:
            if not self._implied(self._any_of([c for c, _ in later]), path):
                return OPEN
        value = later[-1][1]
        for c, one in reversed(later[:-1]):
            value = self.picked(c, one, value, memory.kind)
        return value

    def unwritten(self, memory: Memory, i: int) -> Symbol:
        """Where nothing was written to a cell."""
        return self.not_(self._any_of([c for c, _ in memory.halves[i]]))

    def completed(self, memory: Memory, i: int) -> Any:
        """A cell that is open but for what was written under conditions: if one of these holds in any case, it is not."""
        whole = self.written(memory, i, None)
        if whole is not OPEN:
            del memory.halves[i]
            memory.cells[i] = whole
        return whole
