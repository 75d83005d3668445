"""Branches, loops and functions that data decide on: their ways, one after the other, and where these meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from relift.compiler.foreign.ways.paths import Path, State, where_data_decide
from relift.compiler.foreign.ways.ways import Ways
from relift.compiler.validation.machine import Fault, Item
from relift.compiler.validation.symbols import DependsOnData, Symbol

TURNS = 512
"""Turns of a loop that data may end."""

Waiting: TypeAlias = Iterator[tuple[Any, bool, bool]]
"""The barriers at which a work-item waits."""


class Fork:
    """A branch on data: its two parts, one after the other, and what variables hold behind it."""

    def __init__(self, ways: Ways, it: Item, c: Symbol, held: State, kinds: Sequence[str]) -> None:
        ways.left -= 1
        if ways.left < 0:
            raise DependsOnData(c, "a branch")
        ways.decided_on.append(c)
        self.ways, self.c, self.held, self.kinds, self.outer = ways, c, held, kinds, it.under
        self.ended: list[tuple[Path | None, State]] = []
        it.under = Path(ways, self.outer, c)

    def ends(self, it: Item, held: State) -> None:
        """A part has come to its end."""
        self.ended.append((it.under, held))

    def other(self, it: Item) -> State:
        """The other part begins."""
        it.under = Path(self.ways, self.outer, self.ways.not_(self.c))
        return self.held

    def joined(self, it: Item) -> State:
        """Both parts are done."""
        return self.ways.meet(it, self.ended, self.kinds)


class Turns:
    """A loop, a switch or a function that data may end: the ways out of it, and those that go on with the next turn."""

    def __init__(self, ways: Ways, it: Item, kinds: Sequence[str]) -> None:
        self.ways, self.kinds, self.outer = ways, kinds, it.under
        self.left = TURNS
        self.out: list[tuple[Path | None, State]] = []
        self.on: list[tuple[Path | None, State]] = []

    def turned(self, it: Item, c: Symbol, held: State) -> None:
        """The condition of a turn is on data: the way out is left for later."""
        self.left -= 1
        self.ways.left -= 1
        if self.left < 0 or self.ways.left < 0:
            raise DependsOnData(c, "a loop")
        self.ways.decided_on.append(c)
        self.out.append((Path(self.ways, it.under, self.ways.not_(c)), held))
        it.under = Path(self.ways, it.under, c)

    def leaves(self, it: Item, held: State) -> None:
        """`break`, or `return`."""
        self.out.append((it.under, held))

    def goes_on(self, it: Item, held: State) -> None:
        """`continue`, or the end of a turn."""
        self.on.append((it.under, held))

    def next(self, it: Item) -> State:
        """The ways meet that go on with the next turn."""
        ends, self.on = self.on, []
        return self.ways.meet(it, ends, self.kinds)

    def end(self, it: Item) -> State:
        """All ways out meet."""
        return self.ways.meet(it, self.out, self.kinds)

    def value(self, it: Item) -> Any:
        """What a function returns, which goes on where it was called."""
        found = self.ways.meet(it, self.out, self.kinds)
        it.under = self.outer
        return found[0] if found else None


def followed(run: Callable[..., Waiting], it: Item, *given: Any) -> Waiting:
    """A kernel on one work-item: a fault where data decide need not happen."""
    try:
        yield from run(it, *given)
    except Fault as fault:
        if it.under is None:
            raise
        raise where_data_decide(it, fault.detail) from None
