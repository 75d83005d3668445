"""Rows that the loops of a CPU go along, as accesses show them: what is charged for their lines, beside each access."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from relift.egraph.cost.meter import Meter
from relift.egraph.cost.strides import somewhere, stride_of, turns_of, turns_written_out
from relift.egraph.cost.walked import LINE_CELLS, PAGE_CELLS, Passed, Walked
from relift.semantics.indices.atoms import Index
from relift.semantics.indices.views import Memory

_STRIP, _FOLLOWED = 25.0, 32
"""What each part of a row costs that is read, where a loop goes down so many rows or more: nothing fetches the next one ahead.

The columns of a matrix of 4096 x 4096 are summed in 5.4, 4.1, 3.3 and 2.9 ms in strips of 1, 2, 4 and 8 lines, on two cores."""
PAGES_KNOWN = 1536
"""Pages that a core finds without asking for their places.

A product of 64 x 4096 numbers with 4096 x 1000, whose blocks of 13 rows by 32 columns go down rows of 4000 bytes, takes two cores 6.2 ms: 55
cycles a step, as in two parts of 2000 pages each, and 30 in four.  5000 rows of 2 KB take 1.7 ms where twice 2500 take 1.3.
"""


class Rows:
    """Charges for the rows that the accesses before have shown."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self._walks: dict[Index, Walked] = {}
        self._packed: dict[Index, Walked] = {}
        self._paces: dict[tuple[Index, int], Walked] = {}
        self._strips: dict[str, float] = {}

    def walk_through(self, memory: Memory, offset: Index, again: float, *, storing: bool) -> None:
        """Charge for vectors that come from further away, as their loop walks through much, or through rows in one set.

        That is known when the last of its accesses is seen, and what is owed of those before is charged with that.
        """
        scope, device = self.meter.scope, self.meter.device
        if self.meter.on_gpu or memory.space.distance == "register":
            return
        if scope.loop is None:
            return
        if scope.lane is None:
            if storing:
                self._write_together(memory, offset, scope.loop)
            self._numbers_of_rows(memory, offset, scope.loop, again, storing=storing)
            return
        turn, across = stride_of(offset, scope.loop), stride_of(offset, scope.lane)
        if turn and across is not None and abs(turn) < LINE_CELLS:
            self._keep_pace(memory, offset, turn, across, again, storing=storing)
        if not turn or not across or (abs(across) >= LINE_CELLS and abs(turn) >= LINE_CELLS):
            return
        in_row = across == 1 or abs(turn) >= LINE_CELLS  # the lanes may leave some cells out
        walk = self._walks.setdefault(scope.loop, Walked())
        first, turns = somewhere(offset), sorted(turns_written_out(scope.unrolled, offset))
        lanes, cells = range(1), min(float(abs(turn)), scope.width)
        side_by_side = turns == [int(i * scope.width) for i in range(len(turns))]
        if across == 1 and side_by_side and abs(turn) >= len(turns) * scope.width:
            turns, cells = turns[:1], len(turns) * scope.width  # a turn's vectors are of one row
        if not in_row:
            # each lane is in a row of its own, and crowds them as much in each turn that is written out
            lanes, turns = range(int(scope.width)), turns[:1]
        begun = walk.begin(memory, (first + each + across * i for each in turns for i in lanes))
        written_out = prod(n for _, n in scope.unrolled)
        lines = max(1.0, scope.width * abs(across) / device.vector_width)
        accesses = (lines if in_row else scope.width) * written_out / again
        self.meter.charge(
            walk.crowds(accesses, device, writing=storing, whole=across == 1) / written_out
        )
        if across == 1:
            self._walk_along(walk, memory, offset, begun, cells)

    def _write_together(self, memory: Memory, offset: Index, loop: Index) -> None:
        """Charge for rows that work-items write which a driver packs: each has one of its own, and may crowd out those of the others.

        A matrix of 2^24 numbers is transposed by a work-item for each column in 24 ms on two cores where rows of the result begin 16 KB apart, in
        8 where they begin 64 bytes further on.
        """
        thread, lanes = self.meter.scope.thread, self._packed_lanes
        turn = stride_of(offset, loop)
        across = None if thread is None else stride_of(offset, thread)
        if lanes and turn and across and abs(turn) < LINE_CELLS <= abs(across):
            walk, first = self._packed.setdefault(loop, Walked()), somewhere(offset)
            walk.begin(memory, (first + across * i for i in range(lanes)))
            self.meter.crowd(walk.crowds(1.0, self.meter.device, writing=True, whole=False))

    def _numbers_of_rows(
        self, memory: Memory, offset: Index, loop: Index, again: float, *, storing: bool
    ) -> None:
        """Charge for the numbers of several rows that a loop goes along, whose lines may crowd one another out before the next turn.

        Running sums of 4096 rows of 4096 numbers take two cores 7.2, 5.1, 5.5, 32 and 66 ms where a work-item has 1, 2, 4, 8 and 16 rows at a time.
        """
        unrolled = self.meter.scope.unrolled
        turn, turns = stride_of(offset, loop), turns_written_out(unrolled, offset)
        if not turn or abs(turn) >= LINE_CELLS or max(turns) - min(turns) < LINE_CELLS:
            return
        walk, first = self._walks.setdefault(loop, Walked()), somewhere(offset)
        walk.begin(memory, (first + each for each in turns))
        written_out = prod(n for _, n in unrolled)
        crowded = walk.crowds(written_out / again, self.meter.device, writing=storing, whole=False)
        self.meter.charge(crowded / written_out)

    @property
    def _packed_lanes(self) -> int:
        """How many work-items a driver makes a vector of, as their kernel has none; 0 where it packs no loops."""
        packs = self.meter.device.packs == "loops" and not self.meter.counted.has_lanes
        return self.meter.device.vector_width if packs else 0

    def walked(self, loop: Index) -> float:
        """The bytes of vectors that a loop is known to walk through."""
        return self._walks[loop].bytes if loop in self._walks else 0.0

    def _keep_pace(
        self, memory: Memory, offset: Index, turn: int, across: int, again: float, *, storing: bool
    ) -> None:
        """Charge for numbers that all lanes share, whose lines are crowded out by others of which a loop reads as much in a turn."""
        scope = self.meter.scope
        lanes = range(int(scope.width)) if abs(across) >= LINE_CELLS else range(1)
        if across and len(lanes) == 1:
            return
        assert scope.loop is not None, "cannot happen: a loop goes along"
        pace = self._paces.setdefault((scope.loop, turn * memory.scalar.bytes), Walked())
        turns, first = turns_written_out(scope.unrolled, offset), somewhere(offset)
        pace.begin(memory, (first + each + across * i for each in turns for i in lanes))
        written_out = prod(n for _, n in scope.unrolled)
        accesses = 0.0 if across else written_out / again
        crowded = pace.crowds(accesses, self.meter.device, writing=storing)
        self.meter.charge(crowded / written_out)

    def _walk_along(
        self, walk: Walked, memory: Memory, offset: Index, rows: int, cells: float
    ) -> None:
        """Charge for rows that a loop begins to walk through in vectors, by so many cells a turn."""
        scope, device = self.meter.scope, self.meter.device
        assert scope.loop is not None, "cannot happen: it walks through rows"
        written_out = prod(n for _, n in scope.unrolled)
        cycles, far = walk.streamed(memory, rows, cells, turns_of(scope.loop), device)
        self.meter.charge(cycles / written_out)
        times = scope.trips * scope.items / written_out
        passed = self.meter.counted.passed
        of_this = passed.setdefault(memory.name, Passed(memory.name))
        step = 0 if scope.thread is None else stride_of(offset, scope.thread) or 0
        size = memory.scalar.bytes
        walk.passes(memory, of_this, rows, cells * size * times, step * size)
        for name, moved in far.items():
            passed[name].far += moved * times

    def in_strips(self, memory: Memory, offset: Index, again: float) -> float:
        """Cycles for the rows of a memory that are read a part at a time: once for all, as what is read again is near.

        Not where a loop goes through more pages than a core knows the places of.
        """
        scope = self.meter.scope
        read = memory.space.of_device and not self.meter.on_gpu
        if not read or scope.loop is None or turns_of(scope.loop) < _FOLLOWED:
            return 0.0
        lane, width = scope.lane, scope.width
        if self._packed_lanes:
            lane, width = scope.thread, float(self._packed_lanes)
        if lane is None or stride_of(offset, lane) != 1:
            return 0.0
        turn = abs(stride_of(offset, scope.loop) or 0)
        together = sorted(turns_written_out(scope.unrolled, offset))
        rows = 1 + sum(1 for a, b in pairwise(together) if b - a >= PAGE_CELLS)
        part = len(together) * width / rows
        if turn <= part:
            return 0.0
        cells = scope.trips * scope.items * scope.width / again
        if turns_of(scope.loop) * rows * min(1.0, turn / PAGE_CELLS) <= PAGES_KNOWN:
            cells = min(float(memory.cells.constant or 0), cells)
        cycles = _STRIP * min(1.0, turn / PAGE_CELLS) * cells / part
        self.meter.counted.in_strips = True
        before = self._strips.get(memory.name, 0.0)
        self._strips[memory.name] = max(cycles, before)
        return max(cycles - before, 0.0)
