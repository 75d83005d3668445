"""Who reads or writes a cell under a condition on data, and whether two do so at once.

Two work-items race only where the conditions of both hold; that these never do is asked of `Ways`.  What is not known to
be impossible is undecided, with the condition under which it happens, so that inputs can be looked for that show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from relift.compiler.validation.machine import Item, Shared
from relift.compiler.validation.symbols import Symbol


@dataclass(frozen=True, slots=True)
class Access:
    """A work-item reads or writes a cell in an interval between barriers, where a path leads."""

    it: Item
    epoch: int
    path: Any
    writes: bool


def others_at_once(
    memory: Shared, it: Item, i: int, *, writes: bool
) -> Iterator[tuple[str, Item | str, Symbol | None]]:
    """Who else reaches a cell at once, one of both writing: what he does, who he is, and under which condition."""
    epoch = memory.epoch(it)
    for other in memory.sometimes.get(i, ()):
        before = other.it.group is it.group and other.epoch < epoch
        if other.it is not it and not before and (writes or other.writes):
            yield "written" if other.writes else "read", other.it, other.path.since(None)
    if it.under is None:
        return  # of those who are there in any case, memory knows itself
    w, r = memory.writers[i], memory.readers[i]
    if w is not None and w[0] is not it and not (w[0].group is it.group and w[1] < epoch):
        yield "written", w[0], None  # also where it is in doubt: others may have written before
    if writes and r is not None and r[0] is not it and not (r[1] is it.group and r[2] < epoch):
        yield "read", r[0] or "others", None


def remember(memory: Shared, it: Item, i: int, *, writes: bool) -> None:
    """Note that a work-item is at a cell where its path leads; what a barrier has ordered for all is forgotten."""
    epoch = memory.epoch(it)
    known = memory.sometimes.setdefault(i, [])
    if memory.local and known and known[-1].epoch < epoch:
        known.clear()
    now = Access(it, epoch, it.under, writes)
    if now not in known[-1:]:
        known.append(now)
