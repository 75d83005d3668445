"""What the work-groups of a GPU get from its second cache: of what a group reads again soon, the nearest cache has it.

Of an access the cells are counted that the work-items of a group read together, and in those of the loops around it that
walk through no more than the nearest cache keeps.  Other groups, and the turns of the other loops, get them anew.
What a group reads again in another loop, or with other work-items, depends on how many groups run at a time: see `kernel`.
Source: the footprint of an affine access, as in Bastoul and Feautrier, CC'03.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from relift.semantics.indices.atoms import Index

_KEPT_BYTES = 64 * 1024
"""Bytes of one memory that the nearest cache keeps for a group, beside what it keeps for the others of its unit."""
GROUP = 256
"""Work-items of a group at most: what it has more to do, each does in turn."""
SECTOR_BYTES = 32
"""The least that memory sends."""

Level: TypeAlias = Literal["group", "item", "loop"]


@dataclass(frozen=True)
class Around:
    """What an access stands in: so many turns of a loop, work-items or lanes of a group, or groups; outermost first."""

    index: Index
    turns: float
    level: Level


@dataclass(frozen=True)
class Moving:
    """By how many cells an access moves with each of what it stands in; 0 with what it does not depend on."""

    around: Around
    stride: int


@dataclass(frozen=True)
class Begun:
    """An access that was counted: the innermost loop and the work-items that it is for, where it begins, how it moves."""

    within: tuple[Index | None, Index | None]
    first: int
    moving: tuple[Moving, ...]

    def alike(self, other: Begun) -> bool:
        """Whether they stand in the same loop, and move alike."""
        same = (a is b for a, b in zip(self.within, other.within, strict=True))
        return all(same) and _steps(self.moving) == _steps(other.moving)

    def held(self, other: Begun, cell_bytes: int) -> float:
        """The bytes that a group reads from this one to the other, if that reads the same cells again; else 0.

        What all groups read is not counted: the caches have it once.
        """
        groups, others = (
            [m for m in each.moving if m.around.level == "group"] for each in (self, other)
        )
        if _steps(groups) != _steps(others) or not any(m.stride for m in groups):
            return 0.0
        around = [m.around.index for m in other.moving]
        passed = [
            m
            for m in self.moving
            if m.around.level != "group"
            if m.around.level == "item" or not any(m.around.index is i for i in around)
        ]
        size, _ = footprint(passed, cell_bytes)
        return size if 4 * abs(self.first - other.first) * cell_bytes <= size else 0.0


def _steps(moving: Sequence[Moving]) -> list[tuple[float, int]]:
    return [(m.around.turns, m.stride) for m in moving]


def fetched_bytes(moving: Sequence[Moving], cell_bytes: int, units: int) -> tuple[float, float]:
    """The bytes that all groups get of an access, and the cells that lie side by side of what is read together.

    Groups that follow one another run at the same time: what they all read, each of so many units gets once.

    >>> from relift.egraph.cost.fetched import Around, Moving, fetched_bytes
    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.syntax.sizes import Size
    >>> i = variable("i", Size.of(64))
    >>> groups, items, turns = (Around(i, 64.0, level) for level in ("group", "item", "loop"))
    >>> fetched_bytes([Moving(groups, 64), Moving(items, 1), Moving(turns, 0)], 4, 132)
    (16384.0, 64.0)
    >>> fetched_bytes([Moving(groups, 0), Moving(turns, 4096), Moving(items, 1)], 4, 132)
    (1048576.0, 64.0)
    """
    if not all(m.around.turns for m in moving):
        return 0.0, 1.0  # it is never done
    together = [m for m in moving if m.around.level == "item"]
    times = 1.0
    for m in reversed([m for m in moving if m.around.level == "loop"]):
        if times == 1.0 and footprint([*together, m], cell_bytes)[0] <= _KEPT_BYTES:
            together.append(m)
        else:
            times *= m.around.turns
    apart = float(units)
    for m in reversed([m for m in moving if m.around.level == "group"]):
        alike = m.stride == 0
        times *= min(m.around.turns, apart) if alike else m.around.turns
        apart = max(1.0, apart / m.around.turns) if alike or m.around.turns == 1 else math.inf
    size, run = footprint(together, cell_bytes)
    return size * times, run


def overlap(apart: int, moving: Sequence[Moving], run: float) -> float:
    """The part of what an access reads that one like it reads too, which begins so many cells further; `run` lie side by side.

    >>> from relift.egraph.cost.fetched import Around, Moving, overlap
    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.syntax.sizes import Size
    >>> down = Moving(Around(variable("i", Size.of(16)), 16.0, "loop"), 8192)
    >>> [overlap(apart, [down], 256.0) for apart in (0, 8192, 8192 + 64, 4096)]
    [1.0, 0.9375, 0.703125, 0.0]
    """
    part, left = 1.0, abs(apart)
    for m in sorted(moving, key=lambda m: -abs(m.stride)):
        if abs(m.stride) >= run:
            turns = round(left / abs(m.stride))
            if turns < m.around.turns:
                part *= 1.0 - turns / m.around.turns
                left = abs(left - turns * abs(m.stride))
    return part * max(0.0, 1.0 - left / run)


def footprint(
    moving: Sequence[Moving], cell_bytes: int, least: int = SECTOR_BYTES
) -> tuple[float, float]:
    """The bytes of the sectors, or lines, in which an access reads, and how many cells of them lie side by side.

    Runs of cells that loops reach again, as the windows of a strip do, are read once: five rows of each of eight windows are twelve.

    >>> from relift.egraph.cost.fetched import Around, Moving, footprint
    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.syntax.sizes import Size
    >>> i = variable("i", Size.of(64))
    >>> items, windows, rows = (Moving(Around(i, t, "loop"), s) for t, s in ((64.0, 1), (8.0, 512), (5.0, 512)))
    >>> footprint([items, windows, rows], 4)
    (3072.0, 64.0)
    """
    run, runs = 1.0, 1.0
    apart, reached = 0, 1.0  # how far the runs of the loop before are apart, and how many they are
    for stride, turns in sorted((abs(m.stride), m.around.turns) for m in moving if m.stride):
        if stride <= run:
            run += stride * (turns - 1)
        elif apart and stride % apart == 0 and stride // apart <= reached:
            reached += stride // apart * (turns - 1)
        else:
            runs *= reached
            apart, reached = stride, turns
    return max(run * cell_bytes, least) * runs * reached, run


def read_near(moving: Sequence[Moving] | None, cell_bytes: int, items: float) -> float:
    """How often each of so many work-items reads a row in the turns of loops between which they all read no more than the nearest cache keeps.

    16,384 edit distances of words of 128 letters take an H200 0.34 ms: each of 128 work-items of a unit reads its own word of 512 bytes for
    every letter of the other one.
    """
    held, again = 0.0, 1.0
    for each in reversed(moving or ()):
        if each.around.level != "loop":
            continue
        if each.stride:
            step = min(abs(each.stride) * cell_bytes, SECTOR_BYTES)
            held = each.around.turns * (held or step)
        elif held * items > _KEPT_BY_A_UNIT:
            break
        elif held:
            again *= max(1.0, each.around.turns)
    return again


_KEPT_BY_A_UNIT = 128 * 1024
"""Bytes of one memory that the nearest cache keeps for all work-items of a unit."""
