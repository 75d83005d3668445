"""Ways through a kernel that data decide on: each is followed on its own, and where they meet they are one again.

A `Path` is what data must be for a work-item to be where it is; what a work-item writes there holds only then.  Ways
that part at a condition meet behind the branch, behind a loop or at the end of a function: what variables hold is then
chosen by the conditions, so that there are as many values as there were, and never as many as there are ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from relift.compiler.validation.machine import Fault, Item, Memory, Shared, Undecided
from relift.compiler.validation.symbols import OPEN, Symbol

State: TypeAlias = tuple[Any, ...]
"""What some variables hold."""


class Dead(Exception):
    """A way through a kernel goes on elsewhere: at the end of a loop, of a turn or of a function."""


class Path:
    """What holds of data where a work-item is: one condition more than at its `parent`."""

    __slots__ = ("known", "literal", "parent", "ways")

    known: dict[Symbol, bool]

    def __init__(self, ways: Any, parent: Path | None, literal: Symbol) -> None:
        self.ways, self.parent, self.literal = ways, parent, literal
        self.known = dict(parent.known) if parent is not None else {}
        ways.choices.learn(self.known, literal)

    def literals(self, above: Path | None = None) -> list[Symbol]:
        """The conditions since a path, the first one first."""
        found: list[Symbol] = []
        at: Path | None = self
        while at is not None and at is not above:
            found.append(at.literal)
            at = at.parent
        return found[::-1]

    def since(self, above: Path | None) -> Symbol:
        """The conditions since a path as one truth value."""
        found: Symbol = self.ways.all_of(self.literals(above))
        return found

    def store(self, memory: Memory, it: Item, i: Any, value: Any) -> None:
        """Set a cell where this holds."""
        place = memory.place(it, i, "writes")
        if isinstance(memory, Shared):
            self.ways.accessed(memory, it, place, writes=True)
            found = self.ways.beside(self, memory, place, value)
            if found is not OPEN:
                memory.halves.pop(place, None)
            memory.cells[place] = found
            return
        with self.ways.at(it, None):
            found = self.ways.beside(self, memory, place, value)
            halves = memory.halves.get(place)
            memory.store(it, place, found)
            if halves is not None and found is OPEN:
                memory.halves[place] = halves

    def seen(self, memory: Memory, i: int, value: Any) -> Any:
        """The value of a cell where this holds."""
        if value is OPEN and i in memory.halves:
            return self.ways.written(memory, i, self)
        return self.ways.chosen(value, self.known)


def common(one: Path | None, other: Path | None) -> Path | None:
    """The last path that both go on from."""
    above: set[int] = set()
    while one is not None:
        above.add(id(one))
        one = one.parent
    while other is not None and id(other) not in above:
        other = other.parent
    return other


def certain(it: Item, part: Callable[[], Any]) -> Any:
    """What is computed under a condition on data, where a fault need not happen."""
    try:
        return part()
    except Fault as fault:
        raise where_data_decide(it, fault.detail) from None


def where_data_decide(it: Item, detail: str) -> Undecided:
    """What happens if a work-item ever is where it is."""
    found = f"under a condition on data, {detail}"
    return Undecided(found, it.under.since(None) if it.under is not None else None)
