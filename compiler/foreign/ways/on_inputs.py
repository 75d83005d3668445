"""A kernel on numbers: data decide as these inputs say, so that one way through it is followed, and it has no other."""

from __future__ import annotations

from typing import Any

from relift.compiler.foreign.ways.paths import Path
from relift.compiler.foreign.ways.ways import Ways
from relift.compiler.meaning.computed import GivenUp, Machine
from relift.compiler.validation.arithmetic import Arithmetic
from relift.compiler.validation.machine import Fault, Item, Memory, Undecided
from relift.compiler.validation.symbols import OPEN, Symbol

EFFORT = 5_000_000
"""Operations that may be computed for one run."""


class OnInputs(Ways):
    """The ways that some inputs take; `machine` draws them."""

    in_one_order = True

    def __init__(self, arithmetic: Arithmetic, machine: type[Machine]) -> None:
        super().__init__(arithmetic)
        self.machine = machine({}, EFFORT)
        self.computed: dict[Symbol, Any] = {}

    def value(self, x: Any) -> Any:
        """A symbol as a number."""
        if x.__class__ is not Symbol:
            return x
        try:
            return self.machine.remembered(x, self.computed)
        except (GivenUp, RecursionError):
            raise Undecided(f"{x} cannot be computed") from None

    def settled(self, it: Item, c: Any) -> Any:
        """A condition of control flow."""
        if c is OPEN:
            raise Fault("initialised", f"{it} branches on what nothing was written to")
        return bool(self.value(c))

    def place(self, i: Any) -> Any:
        """Where an index is."""
        return i if i is OPEN else int(self.value(i))

    def leaves(self, it: Item, i: Symbol, extent: int = 0) -> list[tuple[Symbol, int]]:
        """The only place that an index is."""
        return [(self.choices.true, self.place(i))]

    def load(self, memory: Memory, it: Item, i: Symbol) -> Any:
        """The value of a cell."""
        return memory.load(it, self.place(i))

    def store(self, memory: Memory, it: Item, i: Symbol, value: Any) -> None:
        """Set a cell."""
        memory.store(it, self.place(i), value)

    def places(self, memory: Memory, it: Item, i: Any) -> list[tuple[Path | None, Any]]:
        """The only place that an index is."""
        return [(None, self.place(i))]

    def moved(self, place: Any, by: Any) -> Any:
        """A place in an array, moved."""
        return OPEN if OPEN in (place, by) else self.place(place) + self.place(by)

    def moved_back(self, place: Any, by: Any) -> Any:
        """A place so many elements before."""
        return OPEN if OPEN in (place, by) else self.place(place) - self.place(by)
