"""The copies that a whole group makes together, and what waits for them.

What is copied is neither read nor written by anyone else until the group has waited for it.  A copy needs what it
reads to be there: whoever wrote it is a barrier away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relift.compiler.foreign.runtime import everywhere
from relift.compiler.validation.machine import Fault, Item, Memory, Shared, Undecided, Vectors
from relift.compiler.validation.symbols import OPEN

Place: TypeAlias = tuple[Any, Any]
"""A memory, and an index into it."""


class Copier(Item):
    """Who makes the copies of a group."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"a copy of group {self.grp}"


@dataclass(eq=False)
class Event:
    """What one or several copies are waited for by: the cells that they still use."""

    written: list[tuple[Shared, int]] = field(default_factory=list[tuple[Shared, int]])
    read: list[tuple[Shared, int, Any]] = field(default_factory=list[tuple[Shared, int, Any]])
    waited: bool = False


@dataclass
class Copies:
    """The copies of the group that runs."""

    group: object = None
    made: dict[tuple[int, int], tuple[Any, Event]] = field(
        default_factory=dict[tuple[int, int], tuple[Any, Event]]
    )
    turns: dict[tuple[tuple[int, ...], int], int] = field(
        default_factory=dict[tuple[tuple[int, ...], int], int]
    )

    def copied(
        self,
        it: Item,
        site: int,
        to: Place,
        of: Place,
        count: Any,
        steps: tuple[Any, Any],
        event: Any,
    ) -> Event:
        """What a work-item does at a copy: the first one makes it, the others have to ask for the same."""
        everywhere(it)
        if it.group is not self.group:
            self.finished()
            self.group = it.group
        turn = self.turns.get((it.lid, site), 0)
        self.turns[it.lid, site] = turn + 1
        asked = _asked(to, of, count, steps)
        if (site, turn) in self.made:
            before, made = self.made[site, turn]
            if before != asked:
                raise Fault(
                    "divergence", f"{it} asks for another copy than the others of its group"
                )
            return made
        if event is OPEN:
            raise Fault("initialised", f"{it} copies for an event that nothing was written to")
        made = event if isinstance(event, Event) and not event.waited else Event()
        self.made[site, turn] = asked, made
        _copy(it, to, of, int(count.__index__()), steps, made)
        return made

    def waited(self, it: Item, events: Any, first: Any, count: Any) -> None:
        """The group has waited for so many events."""
        for k in range(int(count.__index__())):
            event = events.load(it, int(first.__index__()) + k)
            if not isinstance(event, Event):
                raise Fault("initialised", f"{it} waits for a copy that was not begun")
            _settled(event)

    def finished(self) -> None:
        """A group has ended: nothing may be left that nobody waited for."""
        for (site, _), (_, event) in self.made.items():
            if not event.waited:
                raise Fault(
                    "race", f"copy {site} of the kernel is not waited for before its group ends"
                )
        self.made.clear()
        self.turns.clear()


def _asked(to: Place, of: Place, count: Any, steps: tuple[Any, Any]) -> tuple[Any, ...]:
    return id(_cells(to[0])), to[1], id(_cells(of[0])), of[1], count, steps


def _cells(memory: Any) -> Memory:
    found = memory.memory if isinstance(memory, Vectors) else memory
    if not isinstance(found, Memory):
        raise Undecided("what is copied depends on data")
    return found


def _copy(it: Item, to: Place, of: Place, count: int, steps: tuple[Any, Any], event: Event) -> None:
    copier = Copier()
    copier.grp, copier.gid, copier.lid = it.grp, it.gid, it.lid
    copier.group, copier.local_epoch, copier.global_epoch = (
        it.group, it.local_epoch, it.global_epoch,
    )  # fmt: skip
    copier.ways = it.ways
    for k in range(count):
        source, target = (
            (memory, int(at.__index__()) + k * int(step.__index__()))
            for (memory, at), step in zip((of, to), reversed(steps), strict=True)
        )
        _copy_one(copier, target, source, event)


def _copy_one(copier: Copier, target: Place, source: Place, event: Event) -> None:
    """One element, which others may not use before the copy is waited for."""
    read, written = _cells(source[0]), _cells(target[0])
    width = source[0].width if isinstance(source[0], Vectors) else 1
    for lane in range(width):
        i, j = width * source[1] + lane, width * target[1] + lane
        before = read.readers[i] if isinstance(read, Shared) and i < len(read.cells) else None
        written.store(copier, j, read.load(copier, i))
        if isinstance(read, Shared):
            event.read.append((read, i, before))
            read.readers[i] = copier, copier.group, math.inf  # type: ignore[assignment]
        if isinstance(written, Shared):
            event.written.append((written, j))
            written.writers[j] = copier, math.inf  # type: ignore[assignment]


def _settled(event: Event) -> None:
    """The copies are done: their cells are as if they had been there before."""
    event.waited = True
    for memory, i in event.written:
        last = memory.writers[i]
        if last is not None and last[1] == math.inf:
            memory.writers[i] = None if memory.local else (last[0], 0)
    for memory, i, before in event.read:
        reader = memory.readers[i]
        if reader is not None and reader[2] == math.inf:
            memory.readers[i] = before
    event.written.clear()
    event.read.clear()
