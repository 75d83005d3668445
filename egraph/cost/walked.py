"""Rows of memory that a loop of a CPU walks through side by side: what of them is near when it is accessed again.

A row that was read in an earlier turn of the loop around this one comes from the second cache if the rows together are
longer than the nearest one.  Rows whose lines share a set crowd each other out of it, whatever their length.  Of rows that
lie in one page, memory sends one ahead.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd

from relift.device import DeviceDescription
from relift.semantics.indices.views import Memory

LINE_BYTES = 64
PAGE_BYTES = 4096
LINE_CELLS, PAGE_CELLS = LINE_BYTES // 4, PAGE_BYTES // 4  # of f32
_SETS_BYTES = 4096
"""Cells that lie a multiple of so many bytes apart share a set of the nearest cache: an x86 CPU has 64 sets of lines of
64 bytes."""
_WRITTEN_AGAIN = 12 / 7
"""How many times as much a write costs more than a read, where its line was crowded out and comes from the second cache again.

The read costs `refetch_cycles`, of an AMD 7: there, a 5-point stencil of rows of 24 KB takes 0.29, 0.43, 0.62 and 0.86 ms in strips of 3, 4, 8 and 16 rows, which with what is
written are 8, 10, 18 and 34 lines where a set has 8; with rows of 16 KB and 512 bytes 0.20, 0.19, 0.19 and 0.16.
Sixteen rows of 16 KB whose sums so far are taken in lanes take 57 ms of 2^24 cells, in 32 lines of one set."""
_STREAMED, _STREAMED_LINE = 0.5, 0.125
"""What a vector costs more in a loop that walks through more than the nearest cache has: it comes from the next one.

A product of 1024^3 in blocks of two rows by four vectors of eight lanes takes 1.3 to 2 times as long as in four rows by two:
both start six loads for eight multiply-adds, the latter half as many of vectors, and a CPU with AVX2 is sent one in a cycle.
A vector that is a whole line costs little: with AVX-512, four rows by four vectors of sixteen lanes take 8.8 ms where eight by two take
10.2, which read twice as much of A again from beyond the second cache."""
KEPT = 7 / 8
"""How much of the nearest cache a loop may walk through and find what it has there again: lines of others come in between.

A product of a matrix of 2^24 numbers with a vector takes 2.1, 2.4, 2.7, 3.1 and 3.9 ms on two cores, a row at a time, where a row
and the vector have 16, 24, 30, 32 and 48 KB together; eight rows at a time, which share the vector, from 2.3 to 2.6."""
FROM_SECOND = 4.2 / LINE_BYTES
"""Cycles for a byte that a core of a CPU gets from its second cache, while memory sends others.

A 5-point stencil of 256 x 4224 cells takes 256, 209, 184 and 173 us in strips of 1, 2, 4 and 8 rows on two cores: of 3, 2, 1.5
and 1.25 rows that are read for one that is written, all but one were read before, each line in 4.2 cycles."""
PASSED_BY = 2.2 / LINE_BYTES
"""The same where memory sends nothing, as where each work-item reads other rows than the one before, all of them again for each of
those around.

A product with B transposed, of 1024^3, whose work-items fold four rows of 4 KB with one of A, takes 26 ms on two cores: each of
2^26 lines takes 2.2 cycles, beside one multiply-add."""

SIDE_BY_SIDE, _SIDE_BY_SIDE_ROWS = 0.06, 8
"""How much sooner rows come from memory where so many are read in one loop, and once: more are on their way.

A product of a matrix of 2^24 numbers with a vector takes one core 4.8, 4.5, 3.8 and 3.5 ms in 1, 2, 4 and 8 rows of 16 KB at a time;
with both cores, which then wait for memory, it is less."""
_ONCE = 1.05


_FEW_LINES = 3 * LINE_BYTES
"""Rows that are shorter lie one after the other in what is fetched ahead.

16 million products of rows with a vector take two cores through PoCL, a row and eight rows at a time, 1.2 and 1.15 ms with rows of 20 numbers, 1.3 and 1.6 of 32,
1.2 and 1.7 of 48, 1.2 and 4.0 of 64, 1.2 and 3.7 of 128."""


@dataclass
class Passed:
    """What the loops of a kernel walk through of a memory: bytes, how many of these come from the second cache or from
    further, and how many rows one loop goes through, and how many of them in one page.

    `by_items` says of each loop how many bytes of each of its rows all work-items read, and how far on the next one's are.
    """

    memory: str
    moved: float = 0.0
    far: float = 0.0
    rows: int = 1
    paged: int = 1
    by_items: list[tuple[Walked, float, int]] = field(default_factory=list)

    def again(self, memory: float) -> float:
        """The bytes that come from the second cache, where the memory has so many."""
        return max(0.0, self.far - memory)

    def side_by_side(self, memory: float) -> float:
        """The bytes of those of a memory that are read once, with those of many rows."""
        many = self.rows >= _SIDE_BY_SIDE_ROWS and self.moved <= _ONCE * memory
        return memory if many else 0.0

    def passed_by(self, memory: float, nearest: int) -> float:
        """The bytes that are read again, but not by the next work-item, of a memory that does not fit in the nearest cache."""
        if memory <= nearest:
            return 0.0
        new = sum(moved * walk.new_rows(self.memory, step) for walk, moved, step in self.by_items)
        return max(0.0, new - max(self.far, memory))

    def not_ahead(self, memory: float) -> float:
        """The part of so many bytes that nothing fetches before they are read: of the rows that are not near, all but one.

        On an AMD, which takes 1.9 times as long for these, a 5-point stencil of 2^24 cells takes 7.2, 13.2, 12.6 and 13.3 ms in strips of 1, 2, 4
        and 8 rows of 1 KB, of which a page has four, 8.5, 11.5, 11.8 and 11.0 with rows of 2 KB, and 8.8, 8.9, 8.9 and 8.0 with rows that are longer
        than a page.
        """
        new = min(self.paged, self.rows * memory / max(self.moved, memory, 1.0))
        return memory * (1.0 - 1.0 / max(new, 1.0))


@dataclass
class Walked:
    """The rows that one loop walks through, and what of its accesses is not charged yet, as they are not all known.

    `begun` says for each memory at which bytes rows begin, and `places` where these are among the sets of a cache, both in order;
    `bytes` says how long the rows are together.
    `owed` are the cycles of vectors that come from the second cache if there are more rows, `owed_bytes` what they are of each memory.
    `accesses` is what those of one turn would cost if every line were crowded out, `crowded` what is charged of it.
    """

    begun: dict[str, list[int]] = field(default_factory=dict)
    places: list[int] = field(default_factory=list)
    bytes: float = 0.0
    owed: float = 0.0
    owed_bytes: dict[str, float] = field(default_factory=dict)
    accesses: float = 0.0
    crowded: float = 0.0
    together: int = 0

    def begin(self, memory: Memory, places: Iterable[int]) -> int:
        """How many of the rows that begin at these cells no access before walked through."""
        rows = self.begun.setdefault(memory.name, [])
        before = len(rows)
        for place in places:
            at = place * memory.scalar.bytes
            if not within(rows, at - LINE_BYTES, at + LINE_BYTES):
                insort(rows, at)
                insort(self.places, at % _SETS_BYTES)
                self.together = max(self.together, self._in_the_set_of(at % _SETS_BYTES))
        return len(rows) - before

    def _in_the_set_of(self, place: int) -> int:
        """How many rows begin with lines that share a set with one there, in memories that begin at a set of their own."""
        around = (place - _SETS_BYTES, place, place + _SETS_BYTES)
        return sum(within(self.places, at - LINE_BYTES, at + LINE_BYTES) for at in around)

    def new_rows(self, memory: str, step: int) -> int:
        """How many rows of a memory the work-item before did not read, if it begins so many bytes before."""
        rows = self.begun.get(memory, [])
        before = (at + step for at in rows)
        return sum(not within(rows, at - LINE_BYTES, at + LINE_BYTES) for at in before)

    def streamed(
        self, memory: Memory, rows: int, cells: float, turns: int, device: DeviceDescription
    ) -> tuple[float, dict[str, float]]:
        """Cycles of a turn, and bytes that it brings from the second cache, with so many more rows of so many cells a turn."""
        moved = cells * memory.scalar.bytes
        self.bytes += rows * moved * turns
        lines = device.vector_width * memory.scalar.bytes >= LINE_BYTES
        each = _STREAMED_LINE if lines else _STREAMED
        self.owed += each * rows * max(1.0, cells / device.vector_width)
        self.owed_bytes[memory.name] = self.owed_bytes.get(memory.name, 0.0) + rows * moved
        if self.bytes <= KEPT * device.nearest_bytes:
            return 0.0, {}
        due = self.owed, self.owed_bytes
        self.owed, self.owed_bytes = 0.0, {}
        return due

    def crowds(
        self, accesses: float, device: DeviceDescription, *, writing: bool, whole: bool = True
    ) -> float:
        """Cycles of a turn, with so many accesses more, for lines that others in their set have crowded out.

        A line that one instruction writes `whole`, as a vector, may leave at once where that is as long.
        """
        leaves = writing and whole and device.vector_width * 4 >= LINE_BYTES
        times = 0.0 if leaves else _WRITTEN_AGAIN if writing else 1.0
        self.accesses += accesses * times * device.refetch_cycles
        part = max(0.0, 1.0 - device.nearest_ways / max(self.together, 1))
        before, self.crowded = self.crowded, self.accesses * part
        return self.crowded - before

    def passes(self, memory: Memory, passed: Passed, more: int, moved: float, step: int) -> None:
        """Note that so many more rows of a memory, each of so many bytes, are read or written by this loop.

        The next work-item begins `step` bytes on.
        """
        rows = self.begun[memory.name]
        apart = _not_one_after_another(rows)
        paged = max(within(apart, at - PAGE_BYTES, at + 1) for at in apart)
        passed.moved += more * moved
        if all(walk is not self for walk, _, _ in passed.by_items):
            passed.by_items.append((self, moved, step))
        passed.rows = max(passed.rows, len(rows))
        passed.paged = max(passed.paged, paged)


def crowd_each_other(lines: int, apart: int, cell_bytes: int, device: DeviceDescription) -> bool:
    """Whether so many lines that begin so many cells apart are more than the second cache holds: of each of its ways they share a part.

    512 columns of 8192 numbers are copied as rows, 16 numbers at a time, in 11 to 16 ms on two cores: neighbours have the same
    8192 lines, of which a second cache of a megabyte in eight ways holds 512, as they are 2048 bytes apart.

    >>> from relift.device import CPU
    >>> from relift.egraph.cost.walked import crowd_each_other
    >>> [crowd_each_other(8192, apart, 4, CPU) for apart in (500, 512, 516)]
    [False, True, False]
    """
    way = device.second_bytes // device.second_ways
    places = way // max(gcd(way, abs(apart) * cell_bytes), LINE_BYTES)
    return lines > device.second_ways * places


def _not_one_after_another(rows: Sequence[int]) -> list[int]:
    """Where rows begin, without those that follow the one before within a few lines: what is fetched ahead of that has them, too."""
    near = {after for before, after in pairwise(rows) if after - before < _FEW_LINES}
    return [at for at in rows if at not in near]


def within(rows: Sequence[int], after: int, before: int) -> int:
    """How many of rows, in order, begin after a byte and before another one.

    >>> from relift.egraph.cost.walked import within
    >>> within([0, 64, 128], 0, 129)
    2
    """
    return bisect_left(rows, before) - bisect_right(rows, after)
