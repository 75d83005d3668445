"""Arrays that loops update where data say: what a cell holds is chosen by what was written, and where.

Writes lie in layers, the last one on top.  A loop that is run once puts a layer down when it is entered, on which one
turn writes, and another one when it is left: a cell is then a fold, whose turns write it where their index is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from relift.compiler.meaning.numbers.algebra import Loop
from relift.compiler.meaning.numbers.arithmetic import Indices
from relift.compiler.meaning.numbers.lookups import Lookups
from relift.compiler.meaning.numbers.polynomials import Atom, Index, Whole, linear_in
from relift.compiler.validation.machine import Undecided
from relift.compiler.validation.symbols import OPEN, Symbol

MOST_LOOKED = 20_000
"""Cells of one array that are looked at after one loop."""


class AsTable(Undecided):
    """An array is updated where data say, or read by the kernel that writes it: it must be kept as a table."""

    def __init__(self, detail: str, name: str) -> None:
        super().__init__(detail)
        self.name = name


class Once(Protocol):
    """A loop that is run once for all its turns."""

    loop: Loop
    inner: set[Atom]
    joint: Any
    cells: dict[int, Callable[[], Symbol]]


@dataclass
class Numbers:
    """Writes at known places."""

    before: Layer
    cells: dict[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """One write at a place that is not known."""

    before: Layer
    place: Whole
    value: Any


@dataclass(frozen=True)
class Left:
    """All turns of a loop, of which one has written up to `last`."""

    loop: Carried
    last: Layer


Layer: TypeAlias = "Numbers | Written | Left | Carried | None"


class Table:
    """What an array holds, of whose cells only those are made that are looked at; `base` is what it began with."""

    def __init__(
        self, name: str, lookups: Lookups, arithmetic: Indices, base: Callable[[Whole], Any]
    ) -> None:
        self.name, self.lookups, self.arithmetic, self.base = name, lookups, arithmetic, base
        self.algebra = lookups.algebra
        self.top: Layer = None

    def store(self, place: Whole, value: Any) -> None:
        """Write a cell."""
        if isinstance(place, Index):
            self.top = Written(self.top, place, value)
            return
        if not isinstance(self.top, Numbers):
            self.top = Numbers(self.top)
        self.top.cells[place] = value

    def enter(self, turns: Once, kind: str) -> None:
        """A loop begins, of whose turns one is run."""
        self.top = Carried(self, turns, kind, self.top)

    def leave(self) -> None:
        """It ends."""
        loop = next(layer for layer in self._down(self.top) if isinstance(layer, Carried))
        if self.top is loop:
            self.top = loop.before
            return
        if loop.turns.joint is not None:
            raise Undecided(f"a loop in which work-items take turns updates {self.name}")
        loop.last = self.top
        self.top = Left(loop, self.top)

    def at(self, place: Whole) -> Any:
        """What a cell holds."""
        return self.below(self.top, place)

    def below(self, layer: Layer, place: Whole) -> Any:
        """What a cell holds in a layer or below."""
        while layer is not None:
            match layer:
                case Numbers(before, cells):
                    if not isinstance(place, Index) and place in cells:
                        return cells[place]
                    if isinstance(place, Index) and not all(self.apart(k, place) for k in cells):
                        raise Undecided(f"whether {self.name}[{place}] was written")
                    layer = before
                case Written(before, at, value):
                    here = self.arithmetic.order("==", at, place)
                    if here is True:
                        return self.lookups.where_same(value, at, place)
                    if here is not False:
                        return self._chosen(here, layer, place)
                    layer = before
                case Left(loop, last):
                    if any(True for _ in self._reaching(last, loop, place)):
                        return loop.after(place)
                    layer = loop.before
                case Carried():
                    return layer.at(place)
        return self.base(place)

    def _chosen(self, here: Symbol, layer: Written, place: Whole) -> Any:
        yes = self.lookups.where_same(layer.value, layer.place, place)
        no = self.below(layer.before, place)
        if no is OPEN and yes is not OPEN:
            raise Undecided(f"whether {self.name}[{place}] was written")
        if isinstance(yes, tuple) or isinstance(no, tuple):
            raise Undecided(f"vectors of {self.name} are updated where data say")
        known = [v.type for v in (yes, no) if isinstance(v, Symbol) and v is not OPEN]
        kind = known[0] if known else "i32"
        return self.algebra.select(here, self.algebra.lift(yes, kind), self.algebra.lift(no, kind))

    def apart(self, x: Whole, y: Whole) -> bool:
        """Whether two places are surely not one."""
        r, d = self.algebra.ranges, x - y
        return r.nonnegative(d - 1) or r.nonnegative(-1 - d)

    def _down(self, layer: Layer) -> Iterator[Layer]:
        """A layer and those below, those of loops that were left stepped over."""
        while layer is not None:
            yield layer
            layer = layer.loop.before if isinstance(layer, Left) else layer.before

    def _reaching(self, last: Layer, loop: Carried, place: Whole) -> Iterator[Written | Left]:
        """The writes of a turn that may be at a place, in some turn; of a loop inside, that loop."""
        for layer in self._down(last):
            if layer is loop:
                return
            match layer:
                case Numbers(_, cells):
                    for at, value in cells.items():
                        if not self.apart(at, place):
                            yield Written(layer.before, at, value)
                case Written(_, at, _) if not self.apart(at, place):
                    yield layer
                case Left(inner, written) if any(self._reaching(written, inner, place)):
                    yield layer
                case Written() | Left() | Carried() | None:
                    pass

    def swept(self, loop: Carried, place: Whole) -> Any:
        """A cell that at most one turn of a loop writes, which is known; None where that is not so."""
        found: list[tuple[Written, Whole]] = []
        for w in self._reaching(loop.last, loop, place):
            turn = None if isinstance(w, Left) else self._turn(w, loop, place)
            if turn is None:
                return None
            if turn is not NEVER:
                assert isinstance(w, Written), "cannot happen: it has a turn"
                found.append((w, turn))
        if len(found) != 1:
            return None if found else self.below(loop.before, place)
        [(w, turn)] = found
        inside = loop.turns.loop
        if not isinstance(w.value, Symbol):
            return self.algebra.substituted(w.value, {inside.atom: turn}, {}, {})
        if self.lookups.left_in(w.value):
            return None
        held = [s for s in self.algebra.free(w.value) if s in inside.places]
        now = {s: inside.after(inside.places[s], turn) for s in held}
        return self.algebra.substituted(w.value, {inside.atom: turn}, now, {})

    def _turn(self, w: Written, loop: Carried, place: Whole) -> Any:
        """The turn in which a write is at a place, or never; None where that is not known."""
        r, inside = self.algebra.ranges, loop.turns.loop
        parts = linear_in(w.place, inside.atom) if isinstance(w.place, Index) else None
        if parts is None:
            return None
        step, rest = parts
        if not isinstance(step, int) or step == 0:
            return None
        way = place - rest if step > 0 else rest - place
        if loop.changes(rest) or loop.changes(place, but=inside.atom):
            return None
        turn, left = r.quotient(way, abs(step))
        if left != 0:
            return NEVER if isinstance(left, int) else None
        within = r.nonnegative(turn) and r.nonnegative(inside.count - 1 - turn)
        return turn if within else None


class Never:
    """No turn."""


NEVER: Any = Never()


class Carried:
    """What a table holds when a turn of a loop begins."""

    def __init__(self, table: Table, turns: Once, kind: str, before: Layer) -> None:
        self.table, self.turns, self.kind, self.before = table, turns, kind, before
        self.last: Layer = self
        self.cells: dict[Whole, Symbol] = {}
        self.name = table.lookups.named(table.name, lambda path: self.at(path[0]))

    def changes(self, place: Whole, but: Atom | None = None) -> bool:
        """Whether a place is not the same in all turns."""
        inner = {self.turns.loop.atom, *self.turns.inner} - {but}
        return any(
            isinstance(a, Symbol) or a.kind == "bound" or a in inner
            for a in self.table.algebra.free(place)
        )

    def at(self, place: Whole) -> Symbol:
        """A cell when a turn begins."""
        if place not in self.cells:
            lookups, loop = self.table.lookups, self.turns.loop
            if self.changes(place):
                return self.table.algebra.looked(self.name, (place,), self.kind)
            if len(self.cells) >= MOST_LOOKED:
                raise Undecided(f"more than {MOST_LOOKED} cells of {self.table.name} in a loop")
            first = self._lifted(self.table.below(self.before, place))
            self.cells[place] = loop.carried(first, self.kind, self.name)
            lookups.places[self.cells[place]] = (self.name, (place,))
            made: list[Symbol] = []
            self.turns.cells[loop.places[self.cells[place]]] = lambda: self._next(place, made)
        return self.cells[place]

    def _next(self, place: Whole, made: list[Symbol]) -> Symbol:
        """What a turn makes of a cell."""
        if not made:
            value = self._lifted(self.table.below(self.last, place))
            if self.name in self.table.lookups.left_in(value):
                raise Undecided(f"turns look at other cells of {self.table.name} than they update")
            made.append(value)
        return made[0]

    def after(self, place: Whole) -> Any:
        """A cell after all turns."""
        found = self.table.swept(self, place)
        if found is not None:
            return found
        held = self.at(place)
        if held not in self.turns.loop.places:
            raise Undecided(f"{self.table.name}[{place}] is looked at after a loop that it is of")
        found = self.turns.loop.after(self.turns.loop.places[held])
        if found is OPEN:
            raise Undecided(f"whether {self.table.name}[{place}] was written")
        return found

    def _lifted(self, value: Any) -> Symbol:
        if isinstance(value, tuple):
            raise Undecided(f"vectors of {self.table.name} are carried from turn to turn")
        return value if isinstance(value, Symbol) else self.table.algebra.whole(value, self.kind)
