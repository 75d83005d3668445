"""What a kernel does to values and memory, one work-item after another, and what no kernel may do.

Whole numbers are Python's where they are known, else symbols, as floating-point numbers always are (`symbols`).
Each cell of global and local memory remembers who wrote it and who read it last, and in which interval between
barriers, so a race is found whatever the order in which work-items run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from relift.compiler.validation.symbols import OPEN, Symbol

FaultKind: TypeAlias = Literal[
    "bounds", "alignment", "race", "divergence", "initialised", "overflow", "division", "loop",
    "launch", "covered", "values",
]  # fmt: skip


class Fault(Exception):
    """The kernel does what no kernel may, or computes something else than the program."""

    def __init__(self, kind: FaultKind, detail: str) -> None:
        super().__init__(detail)
        self.kind: FaultKind = kind
        self.detail = detail


class Undecided(Exception):
    """What the kernel does cannot be told; the message says why.

    `condition`: a truth value of data without which it could be told, if that is known.
    """

    def __init__(self, why: str, condition: Symbol | None = None) -> None:
        super().__init__(why)
        self.condition = condition


class Item:
    """A work-item: its numbers, and how many barriers of each kind it has passed."""

    __slots__ = (
        "gid", "global_epoch", "group", "grp", "gs", "lid", "local_epoch", "ls", "ng", "under", "ways",
    )  # fmt: skip

    gid: tuple[int, ...]
    lid: tuple[int, ...]
    grp: tuple[int, ...]
    ng: tuple[int, ...]
    gs: tuple[int, ...]
    ls: tuple[int, ...]
    group: object
    local_epoch: int
    global_epoch: int
    under: Any
    ways: Any

    def __init__(self) -> None:
        self.under = None
        """What must hold of data for the work-item to be where it is; nothing where it is there in any case."""
        self.ways = None
        """What follows the ways that data decide on; nothing where they are not followed."""

    def __str__(self) -> str:
        return f"work-item {_numbers(self.gid)}"


class Several(Item):
    """Work-items that updated a cell; of one group, or of several, which is none."""

    __slots__ = ()

    def __init__(self, group: object) -> None:
        self.group = group

    def __str__(self) -> str:
        return "several work-items"


Barrier: TypeAlias = tuple[int, bool, bool]
"""The number of a barrier in its kernel, and whether it orders local and global memory."""


def barriers(items: Sequence[Item], runs: Sequence[Iterator[Barrier]]) -> Iterator[Barrier]:
    """Where the work-items of a group wait for each other, until all end; raises `Fault` where they part."""
    for stops in itertools.zip_longest(*runs):
        for it, stop in zip(items, stops, strict=True):
            if stop != stops[0]:
                raise Fault(
                    "divergence",
                    f"{items[0]} {_stopped(stops[0])}, {it} of the same group {_stopped(stop)}",
                )
        yield stops[0]


def _stopped(stop: Barrier | None) -> str:
    return "ends" if stop is None else f"waits at barrier {stop[0]} of the kernel"


def _numbers(of: tuple[int, ...]) -> str:
    return str(of[0]) if of[1:] == (0, 0) else str(of)


@dataclass
class Memory:
    """Cells of private memory, or of memory that a kernel only reads."""

    name: str
    cells: list[Any]
    aligned: bool = True
    constant: bool = False
    kind: str = "i32"
    halves: dict[int, list[tuple[Any, Any]]] = field(
        default_factory=dict[int, list[tuple[Any, Any]]], repr=False
    )
    """Cells that were written under conditions on data and are open otherwise: each condition, and what was written."""

    def place(self, it: Item, i: Any, does: str) -> int:
        """An index that lies in the array."""
        if i.__class__ is not int:
            if i is OPEN:
                raise Fault(
                    "initialised", f"{it} {does} {self.name} at a place that nothing was written to"
                )
            i = i.__index__()
        if not 0 <= i < len(self.cells):
            raise Fault("bounds", f"{it} {does} {self.name}[{i}] of {len(self.cells)}")
        return i  # type: ignore[no-any-return]

    def load(self, it: Item, i: Any) -> Any:
        """The value of a cell."""
        if i.__class__ is not int or not 0 <= i < len(self.cells):
            if it.ways is not None and i.__class__ is Symbol and i is not OPEN:
                return it.ways.load(self, it, i)
            i = self.place(it, i, "reads")
        return self._seen(it, i)

    def _seen(self, it: Item, i: int) -> Any:
        """The value of a cell where a work-item is."""
        found = self.cells[i]
        if it.under is not None:
            return it.under.seen(self, i, found)
        if found is OPEN and i in self.halves:
            return it.ways.completed(self, i)
        return found

    def store(self, it: Item, i: Any, value: Any) -> None:
        """Set a cell."""
        if self._stored_on_ways(it, i, value):
            return
        i = self.place(it, i, "writes")
        if self.constant:
            raise Fault("bounds", f"{it} writes {self.name}, which is constant")
        self.cells[i] = value

    def _stored_on_ways(self, it: Item, i: Any, value: Any) -> bool:
        """Whether data decide if a cell is set, or which: it is set as far as that is known."""
        if it.ways is not None and i.__class__ is Symbol and i is not OPEN:
            it.ways.store(self, it, i, value)
            return True
        if it.under is not None:
            it.under.store(self, it, i, value)
            return True
        if self.halves:
            self.halves.pop(i, None)
        return False

    def load_vector(self, it: Item, i: Any, width: int, *, aligned: bool) -> tuple[Any, ...]:
        """Some cells in a row."""
        self._check_aligned(it, i, width if aligned else 1)
        return tuple([self.load(it, i + lane) for lane in range(width)])

    def store_vector(
        self, it: Item, i: Any, width: int, value: tuple[Any, ...], *, aligned: bool
    ) -> None:
        """Set some cells in a row."""
        self._check_aligned(it, i, width if aligned else 1)
        for lane in range(width):
            self.store(it, i + lane, value[lane])

    def _check_aligned(self, it: Item, i: Any, width: int) -> None:
        self.place(it, i, "reaches")
        if i % width:
            raise Fault(
                "alignment", f"{it} takes {self.name}[{i}] for the start of {width} in a row"
            )
        if width > 1 and not self.aligned:
            raise Undecided(f"{self.name} is not declared to be aligned to vectors of {width}")


class Shared(Memory):
    """Cells that other work-items see: each with its last writer, and its readers since.

    With `once`, no two work-items may write different values to a cell, barrier or not.  Who reads or writes a cell
    under a condition on data stands in `sometimes`, which `ways` keep; a cell whose last writer may not have
    written it is in `doubtful`, with the condition under which he has.
    """

    def __init__(
        self,
        name: str,
        cells: list[Any],
        *,
        local: bool,
        aligned: bool = True,
        once: bool = False,
        kind: str = "i32",
    ) -> None:
        super().__init__(name, cells, aligned, kind=kind)
        self.local = local
        self.once = once
        self.forget()

    def forget(self) -> None:
        """A kernel starts: nobody has read or written."""
        self.writers: list[tuple[Item, int] | None] = [None] * len(self.cells)
        self.readers: list[tuple[Item | None, object, int] | None] = [None] * len(self.cells)
        self.sometimes: dict[int, list[Any]] = {}
        self.doubtful: dict[int, Symbol] = {}
        self.updates: dict[int, tuple[tuple[Item, int] | None, str]] = {}
        self.updated_alone: set[int] = set()

    def epoch(self, it: Item) -> int:
        """The interval between barriers in which a work-item is."""
        return it.local_epoch if self.local else it.global_epoch

    def load(self, it: Item, i: Any) -> Any:
        """The value of a cell; nobody else may have written it since the last barrier."""
        if i.__class__ is not int or not 0 <= i < len(self.cells):
            if it.ways is not None and i.__class__ is Symbol and i is not OPEN:
                return it.ways.load(self, it, i)
            i = self.place(it, i, "reads")
        epoch = it.local_epoch if self.local else it.global_epoch
        if it.under is not None or i in self.sometimes:
            ways: Any = it.ways
            ways.accessed(self, it, i, writes=False)
            if it.under is not None:
                return self._seen(it, i)
        w = self.writers[i]
        if w is not None and w[0] is not it and not (w[0].group is it.group and w[1] < epoch):
            raise self.race(i, f"{self.name}[{i}] is read by {it} and written by {w[0]}")
        r = self.readers[i]
        if r is None:
            self.readers[i] = it, it.group, epoch
        elif r[0] is not it or r[2] != epoch:
            group = it.group if r[1] is it.group else None
            last = epoch if r[1] is it.group and epoch > r[2] else None
            # Readers of the interval before are apart from all that follows, if they are of this group.
            who = it if r[0] is it or last is not None else None
            self.readers[i] = who, group, epoch
        return self._seen(it, i)

    def store(self, it: Item, i: Any, value: Any) -> None:
        """Set a cell; nobody else may have read or written it since the last barrier."""
        if self._stored_on_ways(it, i, value):
            return
        i = self.place(it, i, "writes")
        epoch = self.epoch(it)
        if i in self.sometimes:
            it.ways.accessed(self, it, i, writes=True)
        w, r = self.writers[i], self.readers[i]
        if w is not None and w[0] is not it:
            if not (w[0].group is it.group and w[1] < epoch):
                both = f"{self.name}[{i}] is written by {it} and by {w[0]}"
                raise self.race(i, f"{both}: {_shown(value)} and {_shown(self.cells[i])}")
            if self.once and self.cells[i] is not value and self.cells[i] != value:
                both = f"{self.name}[{i}] is written by {w[0]} and later by {it}"
                raise Fault("covered", f"{both}: {_shown(self.cells[i])} and {_shown(value)}")
        if r is not None and r[0] is not it and not (r[1] is it.group and r[2] < epoch):
            reader = r[0] or "others"
            raise self.race(i, f"{self.name}[{i}] is written by {it} and read by {reader}")
        self.writers[i] = it, epoch
        self.cells[i] = value

    def updating(self, it: Item, i: Any, by: str) -> Iterator[None]:
        """Once, in which a cell is read and set while nobody else reaches it: others may have updated it likewise before.

        Others of its group may have since their last barrier; those of other groups where nobody has done anything else with the cell.
        """
        i = self.place(it, i, "updates")
        before, reader = self.writers[i], self.readers[i]
        now = before is not None and before[0].group is it.group and before[1] == self.epoch(it)
        last, known = self.updates.get(i, (None, ""))
        alike = before is not None and last is before and known == by
        alone = reader is None and (before is None or (alike and i in self.updated_alone))
        others = alone and before is not None and not self.local and before[0].group is not it.group
        together = (now and alike) or others
        if together:
            self.writers[i] = None
        yield
        self.readers[i] = reader
        if together and before is not None and before[0] is not it:
            self.writers[i] = Several(None if others else it.group), self.epoch(it)
        if together or not now:  # what it set itself since the last barrier is no update
            self.updates[i] = self.writers[i], by
        (self.updated_alone.add if alone else self.updated_alone.discard)(i)

    def race(self, i: int, detail: str) -> Exception:
        """Two work-items reach a cell at once, or may."""
        if i in self.doubtful:
            return Undecided(f"where data are such, {detail}", self.doubtful[i])
        return Fault("race", detail)


@dataclass
class Vectors:
    """Memory that a kernel takes for a row of vectors of `width` cells each."""

    memory: Memory
    width: int

    def load(self, it: Item, i: Any) -> tuple[Any, ...]:
        """All lanes of a vector."""
        return self.memory.load_vector(it, self._first(it, i), self.width, aligned=True)

    def store(self, it: Item, i: Any, value: tuple[Any, ...]) -> None:
        """Set all lanes of a vector."""
        self.memory.store_vector(it, self._first(it, i), self.width, value, aligned=True)

    def _first(self, it: Item, i: Any) -> int:
        """The cell of the first lane."""
        if i is OPEN:
            raise Fault(
                "initialised",
                f"{it} reaches {self.memory.name} at a place that nothing was written to",
            )
        return self.width * int(i.__index__())


def _shown(value: Any) -> str:
    return repr(value)
