"""What it costs to read or write: by how far the cells lie apart that follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from relift.device import DeviceDescription
from relift.egraph.cost.beyond import read_of
from relift.egraph.cost.fetched import SECTOR_BYTES, Begun, fetched_bytes, overlap, read_near
from relift.egraph.cost.kernel import ACCUMULATORS, BANKS, RESIDENT, bytes_of
from relift.egraph.cost.meter import ISSUE, WAIT_MEMORY, Meter, Scope
from relift.egraph.cost.rows import Rows
from relift.egraph.cost.strides import (
    cells_used,
    changes,
    depends_on_data,
    gathered,
    in_vectors,
    is_computed,
    lie_apart,
    moving_with,
    somewhere,
    stride_between,
    stride_of,
    stride_of_lanes,
    turns_of,
    turns_of_each_place,
    turns_written_out,
)
from relift.egraph.cost.walked import (
    FROM_SECOND,
    KEPT,
    LINE_BYTES,
    LINE_CELLS,
    PAGE_CELLS,
    crowd_each_other,
)
from relift.semantics.indices.atoms import Index, Loaded, depends_on, parts_of, variables_of
from relift.semantics.indices.expressions import substitute
from relift.semantics.indices.lanes import Lane, away_from_borders
from relift.semantics.indices.ranges import surely_outside, surely_within
from relift.semantics.indices.stored import stored
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    CodeValue,
    Condition,
    Environment,
    Guarded,
    Leaf,
    Memory,
    TupleView,
    VectorView,
    View,
    memories_of,
)
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.monomials import Atom
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Type, i32

# Cycles of one core of a CPU.
_STORE = 1.0
_FAR_STRIDE, _FAR_ACCESS = 16, 4.0  # cells of f32: every access is a cache line of its own
_NEW_PAGE = 1.5  # what an access costs more that is in another page
_FAR_PAGE = 16.0  # what a scalar access costs when every step is in another page
_SEEN_STEP = 256
"""Cells of steps of which a page has so few that no core sees them; those of shorter steps it fetches in part before they are read."""
_NEAR_TABLE, _SECOND_TABLE = 1.0, 2.3
"""Cycles of a lookup at an index that is data, in a table that the nearest cache keeps, or the second one.

2^24 lookups take two cores 3.5 to 3.8 ms in a table of 4 KB, of which memory takes three, 6.8 in one of 200 KB and 10.3 in one of 4 MB, through
Intel's driver and PoCL alike; lanes that are put together take a cycle more each."""
_MOVED = 1.3
"""Cycles of a number that is moved from a row of its lane's, one by one: 200,000 rows of 20 numbers that are copied across take PoCL 1.4 each,
100,000 of 13, 17 and 31 numbers 1.2 to 1.4.  Intel's driver, which turns rows in registers, does not turn these: largest losses of 10,007 rows of
253 prices take it 0.87 ms with their numbers moved first, and 0.32 without."""

_OF_PAGES = 2.0
"""How many times as long lanes take that lie in a page each, where a driver gathers them.

A copy across of 4093, 4095 and 4096 rows of as many numbers takes PoCL 6.7, 10 and 2.7 to 3.9 cycles for each, A * B^T - C of 2999 rows of 3001 twelve,
and of rows of 96 numbers 1.5."""
_FROM_REGISTER = 0.5
"""Cycles of a lane that is taken from a register of its own: a shuffle puts two together."""

# Cycles that a work-item of a GPU waits, with about four accesses on their way at a time: an H200's memory answers after
# about 600 cycles, its caches after 40 to 200, behind what memory sends after more, local memory after 30.
_WAIT_CACHE, _WAIT_SECOND, _WAIT_LOCAL = 30.0, 300.0, 8.0
_CACHED_BYTES = 1 << 20  # a memory of this many bytes stays close to the work-items
_LOOKED_UP_BYTES = 1 << 17
"""The same of cells at indices that are data: a work-group's neighbours look up anything, and only the nearest cache has it.

A GPU takes 290 us for 9.4e6 lookups of three numbers each in tables of 295 kB."""
_SECTOR = SECTOR_BYTES // 4  # cells of f32
_APART = 15.0
"""What a cell costs that is sent and not used.  An H200's second cache sends 1.7e11 sectors a second, in which time its
work-items issue 170 instructions each: columns that are read by teams along them take seven times as long as memory."""
_WRITTEN_APART, _LINE_WRITTEN = 20.0, 32
"""What a cell costs that lies between those that neighbours write, up to so many: nothing puts together what they write one
after the other.

An H200 writes 2^26 cells in 62 us; in runs of 2, 4, 8, 16, 32 and 64 cells, each a work-item's own, in 85, 134, 600, 730, 1,150
and 1,400; by vectors of four in runs of 8, 16, 32 and 64 in 147, 240, 530 and 650."""


class Accesses:
    """Charges for accesses where the meter stands."""

    def __init__(self, meter: Meter, environment: Environment) -> None:
        self.meter = meter
        self._memories = {m.name: m for v in environment.inputs.values() for m in memories_of(v)}
        self._storing = self._moving = False
        self._rows = Rows(meter)

    def stored(self, name: str, t: Type, space: Space = Space.GLOBAL) -> View:
        """A new memory for a value of a type."""
        target = stored(name, t, space)
        self._memories |= {m.name: m for m in memories_of(target)}
        return target

    def copy(self, source: View, target: View) -> None:
        """Write what a view shows to where another one is."""
        if source is target:  # a fold in place
            return
        if isinstance(source, ArrayView) and isinstance(target, ArrayView):
            with self.meter.loop(source.length) as i:
                self.copy(source.at(i), target.at(i))
        elif isinstance(source, TupleView) and isinstance(target, TupleView):
            for part, at in zip(source.parts, target.parts, strict=True):
                self.copy(part, at)
        elif isinstance(source, VectorView) and isinstance(target, VectorView):
            self.meter.counted.has_lanes = True
            before, self._moving = self._moving, _is_private(target)
            with self.meter.lanes(source.width) as i:
                self.copy(source.lane(i), target.lane(i))
            self._moving = before
        else:
            self.touch(source)
            kernel = self.meter.counted
            waits = kernel.waits, kernel.waited
            self._storing = True
            self.touch(target)
            self._storing = False
            kernel.waits, kernel.waited = waits  # nobody waits for what is written

    def touch(self, v: View) -> None:
        """Read what a view shows."""
        match v:
            case TupleView(parts):
                for part in parts:
                    self.touch(part)
            case VectorView():
                self.meter.counted.has_lanes = True
                with self.meter.lanes(v.width) as i:
                    self.touch(v.lane(i))
            case Guarded(condition, inside, outside):
                if (bounds := self._away_from_borders(v)) is not None:
                    self.meter.charge(ISSUE * bounds)
                    return self.touch(inside)
                self.meter.charge(self._guard(condition))
                self.touch(inside)
                self.touch(outside)
            case Cell(memory, offset):
                self._reach(memory, offset)
                self.meter.counted.by_rows += self._by_rows(memory, offset)
                again = self._read_again(offset)
                cycles, waits = self._access(memory, offset)
                self._rows.walk_through(memory, offset, again, storing=self._storing)
                if not self._storing:
                    self.meter.counted.streamed += self._rows.in_strips(memory, offset, again)
                    self.meter.counted.streamed += _rows_again(self.meter, memory, offset)
                    _from_beyond(self.meter, memory, offset)
                apart, scope = None, self.meter.scope
                if scope.thread is not None and not memory.space.of_item:
                    apart = lie_apart(offset, scope.thread, scope.loop, storing=self._storing)
                self.meter.charge(cycles / again, apart=apart)
                self.meter.wait(waits / again)
                if self.meter.on_gpu and not self._storing:
                    if memory.space.of_device:
                        _load(self.meter, memory, offset, again)
                    elif memory.space.of_group:
                        self.meter.load(self._of_local_memory(offset) / again, 0.0)
                for atom in variables_of(offset):
                    if isinstance(atom, Loaded) and atom.offset is not None:
                        self.touch(self._cell_of(atom, atom.offset))
            case CodeValue() | ArrayView():
                pass

    def _cell_of(self, number: Loaded, offset: Index) -> Leaf:
        """The cell that an index is read from: of a memory, or of a table of constants, which costs what a number does."""
        memory = self._memories.get(number.name)
        return CodeValue(None, i32) if memory is None else Cell(memory, offset)

    @property
    def _has_accumulators(self) -> bool:
        """Whether a work-item has so much to compute that it does not wait for local memory, but for its turn there."""
        return self.meter.counted.registers >= ACCUMULATORS

    def _of_local_memory(self, offset: Index) -> float:
        """The numbers in whose time a GPU's work-item loads what it does of local memory: neighbours that ask one bank have turns.

        Means of 32 neighbours of 2^25 numbers, which lie in local memory, take an H200 162 us, where memory takes 63; means of windows
        whose neighbours begin two cells further 190 so, and 83 where each is read from memory.
        """
        scope = self.meter.scope
        if self._has_accumulators:
            return scope.width
        stride = 1 if scope.thread is None else stride_of(offset, scope.thread)
        if stride == 0:
            return 1.0
        return max(scope.width, float(gcd(stride or 1, BANKS)))

    def _reach(self, memory: Memory, offset: Index) -> None:
        """Count the bytes that an access moves: of a line its cells, where neighbours or the next step access the others.

        Work-items of a CPU that go through a large memory in two orders, as by rows and by columns, read it twice.
        """
        scope, counted = self.meter.scope, self.meter.counted
        around = (scope.lane, scope.thread, scope.loop, *(i for i, _ in scope.unrolled))
        steps = (abs(stride_of(offset, i) or 0) for i in around if i is not None)
        cells = 1 if 1 in steps else LINE_CELLS
        times = scope.trips * scope.items * scope.width
        counted.touched[memory.name] = memory
        near = self.meter.on_gpu or bytes_of(memory) <= _CACHED_BYTES
        order = None if near or scope.thread is None else stride_of(offset, scope.thread)
        passes = counted.reached.setdefault(memory.name, {})
        passes[order] = passes.get(order, 0.0) + times * cells * memory.scalar.bytes

    def _by_rows(self, memory: Memory, offset: Index) -> int:
        """Whether a loop writes neighbours: 1; whether work-items side by side access them: -1."""
        scope = self.meter.scope
        if not memory.space.of_device or scope.lane is not None or scope.loop is None:
            return 0
        of_items = scope.thread is not None and stride_of(offset, scope.thread) == 1
        fills = self._storing and turns_of(scope.loop) >= LINE_CELLS
        return (fills and stride_of(offset, scope.loop) == 1) - of_items

    def _read_again(self, offset: Index) -> float:
        """How often the turns of loops that are written out read an address that others of them read: once is enough.

        Of loops that move it alike, as those over the windows of a strip and over their cells, most turns do; of those that go
        through joined rows, too, but numbers of a GPU are fitted without.
        """
        # what has no turns is charged for none
        loops = [(i, max(1, n)) for i, n in self.meter.scope.unrolled]
        if any(isinstance(atom, Loaded) and atom.offset is None for atom in variables_of(offset)):
            return 1.0  # a number in a register may be another one in each turn
        same = prod(n for i, n in loops if not depends_on(offset, i))
        if self._storing:
            return same
        return same * turns_of_each_place(loops, offset, joined=not self.meter.on_gpu)

    def _away_from_borders(self, leaf: Guarded) -> int | None:
        """How many bounds tell a vector of a CPU that is read at once; it is put together at a border alone."""
        scope = self.meter.scope
        if self.meter.on_gpu or scope.lane is None or self._storing:
            return None
        found = away_from_borders(leaf, Lane(scope.lane, int(scope.width)))
        return None if found is None else len(found[1])

    def _guard(self, condition: Condition) -> float:
        """Instructions of a condition on what is read; where lanes differ in it, a CPU asks for each that may be outside, and
        puts the vector together.
        """
        lane, width = self.meter.scope.lane, self.meter.scope.width
        if self.meter.on_gpu or lane is None or not depends_on(condition.index, lane):
            return 2.0 * self.meter.issue()
        places = [substitute(condition.index, lane, Size.of(i)) for i in range(int(width))]
        known = sum(surely_within(each, condition.extent) for each in places)
        asked = width - known - sum(surely_outside(each, condition.extent) for each in places)
        return (2.0 * ISSUE + 1.0) * asked + ISSUE * known if asked else 0.0

    def _access(self, memory: Memory, offset: Index) -> tuple[float, float]:
        """Cycles that an access takes, and that a work-item waits for it."""
        if self.meter.on_gpu:
            return self._access_together(memory, offset)
        scope = self.meter.scope
        if scope.loop is not None and not self._storing and not depends_on(offset, scope.loop):
            return 0.0, 0.0  # read before the loop
        if memory.space.distance == "register":
            vectors = self.meter.counted.live / self.meter.device.vector_width
            spilled = self.meter.issue() if vectors > self.meter.device.vector_registers else 0.0
            return spilled + self._turned(offset), 0.0
        computed = [atom for atom in offset.atoms() if is_computed(atom)]
        arithmetic = ISSUE * len(computed)
        stride = self._step(offset)
        issue = _STORE if self._storing else ISSUE
        if scope.lane is not None:
            match stride_of_lanes(offset, scope.lane, scope.loop):
                case 0:
                    anew = ISSUE * sum(changes(atom, scope.loop) for atom in offset.atoms())
                    return issue + anew + self._new_line(offset), 0.0
                case 1:
                    vectors = max(1.0, scope.width / self.meter.device.vector_width)
                    return (issue + self._from_afar(offset)) * vectors + arithmetic, 0.0
                case apart:
                    together = apart is None and not depends_on_data(offset, scope.lane)
                    near = together or any(
                        n is not None and abs(n) < _FAR_STRIDE for n in (stride, apart)
                    )
                    lines = turns_of(scope.loop) * int(scope.width)
                    page = apart is None or abs(apart) >= PAGE_CELLS
                    turned = self.meter.device.turned_cycles
                    each = max(2.0, _OF_PAGES * turned) if page else 1.0
                    if (
                        not self._storing and not page
                    ):  # moved one by one: no vector is made of them
                        each = _MOVED if self._moving else gathered(apart, turned)
                    if depends_on_data(offset, scope.lane):
                        each = _looked_up(memory, self.meter.device) + 1.0
                    elif not near:
                        each = _far(lines, apart or PAGE_CELLS, memory, self.meter)
                    return each * scope.width + self._of_lanes(computed), 0.0
        if stride is not None and abs(stride) < _FAR_STRIDE:
            return issue + arithmetic, 0.0
        if stride is None and not self._storing:
            return _looked_up(memory, self.meter.device) + arithmetic, 0.0
        return _far(turns_of(scope.loop), stride, memory, self.meter) + arithmetic, 0.0

    def _turned(self, offset: Index) -> float:
        """Cycles of lanes that are taken from as many registers."""
        lane = self.meter.scope.lane
        apart = lane is not None and stride_of(offset, lane) not in (0, 1)
        return _FROM_REGISTER * self.meter.scope.width if apart else 0.0

    def _of_lanes(self, computed: Sequence[Atom]) -> float:
        """Cycles of parts of an index of lanes that lie apart: each that a lane decides is computed for all of them, in a loop anew."""
        lane, loop, width = self.meter.scope.lane, self.meter.scope.loop, self.meter.scope.width
        if loop is None or lane is None:
            return ISSUE * len(computed)
        by_lane = [any(depends_on(each, lane) for each in parts_of(atom)) for atom in computed]
        return ISSUE * sum(width if each else 1.0 for each in by_lane)

    def _new_line(self, offset: Index) -> float:
        """Cycles that a number for all lanes takes more whose line is another one in each turn of a loop that is long."""
        loop = self.meter.scope.loop
        turn = 0 if loop is None else abs(stride_of(offset, loop) or 0)
        if loop is None or turn < LINE_CELLS:
            return 0.0
        places = turns_written_out(self.meter.scope.unrolled, offset)
        together = len({each // LINE_CELLS for each in places})
        walked = turns_of(loop) * LINE_BYTES * together + self._rows.walked(loop)
        if walked <= KEPT * self.meter.device.nearest_bytes:
            return 0.0
        # what does not move it is read once for all of its turns
        moving = prod(n for i, n in self.meter.scope.unrolled if depends_on(offset, i))
        line = _FAR_PAGE if turn >= PAGE_CELLS // 2 else _FAR_ACCESS * min(1.0, turn / _SEEN_STEP)
        return line * together / moving

    def _from_afar(self, offset: Index) -> float:
        """Cycles that a vector of neighbours takes more, where pages change."""
        loop = self.meter.scope.loop
        turn = 0 if loop is None else stride_of(offset, loop)
        return _NEW_PAGE * (1.0 if turn is None else min(1.0, abs(turn) / PAGE_CELLS))

    def _step(self, offset: Index) -> int | None:
        """How far an access is from the one before: in what is written out, in a loop, or by the work-item before.

        What is written out comes again in the next turn of the loop around it, and is near then if that moves little.
        """
        scope = self.meter.scope
        written_out = [stride_of(offset, i) for i, _ in scope.unrolled]
        if moving := [stride for stride in written_out if stride]:
            turn = None if scope.loop is None else stride_of(offset, scope.loop)
            return min((*moving, turn) if turn else moving, key=abs)
        if scope.loop is not None:
            return stride_of(offset, scope.loop)
        return 0 if scope.thread is None else stride_between(offset, scope.thread)

    def _access_together(self, memory: Memory, offset: Index) -> tuple[float, float]:
        """An access by neighbouring work-items of a GPU: cheap when they read one row of cells, or one cell."""
        if memory.space.distance == "register":
            return 0.0, 0.0
        scope, accesses, row = self.meter.scope, 1.0, 1.0
        if scope.lane is not None:
            match stride_of(offset, scope.lane):
                case 0:
                    pass
                case 1:
                    row = scope.width
                    accesses = max(1.0, scope.width / self.meter.device.vector_width)
                    if memory.space.of_device and not in_vectors(offset, scope.lane):
                        accesses = scope.width
                case _:
                    accesses = scope.width
        if memory.space.distance == "near":
            return accesses, 0.0 if self._has_accumulators else _WAIT_LOCAL * accesses
        stride = 0 if scope.thread is None else stride_between(offset, scope.thread)
        close = _LOOKED_UP_BYTES if stride is None else _CACHED_BYTES
        near = stride == 0 or bytes_of(memory) <= close
        apart = _SECTOR if stride is None else min(abs(stride) / row, _SECTOR)
        kept = _WAIT_SECOND if _differs_in_the_group(scope, offset, stride) else _WAIT_CACHE
        waits = (kept if near else WAIT_MEMORY) * accesses
        if self._storing:
            between = _LINE_WRITTEN if stride is None else min(abs(stride), _LINE_WRITTEN)
            if near or between <= row:
                return accesses, waits
            unused = max(0.0, between / row / cells_used(scope.unrolled, offset, stride) - 1.0)
            part = unused / (between / row - 1.0)
            return accesses * (1.0 + (_WRITTEN_APART * between - 1.0) * part), waits
        if near or apart <= 1.0:
            return accesses * max(1.0, apart), waits
        unused = max(0.0, apart / cells_used(scope.unrolled, offset, stride) - 1.0) / (apart - 1.0)
        far = accesses * apart * (1.0 + (_APART - 1.0) * unused), waits
        return _of_own_rows(self.meter, memory, offset, far, (accesses, _WAIT_CACHE * accesses))


def _of_own_rows(
    meter: Meter, memory: Memory, offset: Index, far: tuple[float, float], near: tuple[float, float]
) -> tuple[float, float]:
    """What an access takes, and waits, where the nearest cache keeps rows from turns before: for all that run beside one another."""
    items = min(RESIDENT, meter.counted.started / meter.device.compute_units)
    anew = 1.0 / read_near(moving_with(meter.scope.around, offset), memory.scalar.bytes, items)
    return near[0] + anew * (far[0] - near[0]), near[1] + anew * (far[1] - near[1])


def _is_private(v: VectorView) -> bool:
    """Whether a vector is of a work-item's own memory, where its lanes are moved one by one."""
    cell = v.lane(Size.of(0))
    return isinstance(cell, Cell) and cell.memory.space.of_item


def _far(lines: int, apart: int | None, memory: Memory, meter: Meter) -> float:
    """Cycles of an access that is so many cells from the one before, if that is known, of so many that a neighbour makes again."""
    if apart is None:
        return _FAR_ACCESS
    gone = crowd_each_other(lines, apart, memory.scalar.bytes, meter.device)
    return _FAR_PAGE if gone or abs(apart) >= 3 * PAGE_CELLS // 4 else _FAR_ACCESS


def _looked_up(memory: Memory, device: DeviceDescription) -> float:
    """Cycles of a CPU's core that look up a number of a table where data says."""
    bytes = bytes_of(memory)
    if bytes <= device.nearest_bytes:
        return _NEAR_TABLE
    return _SECOND_TABLE if bytes <= device.second_bytes else _FAR_ACCESS


def _differs_in_the_group(scope: Scope, offset: Index, stride: int | None) -> bool:
    """Whether neighbours read one cell of a memory, and others of the group another one, in each turn of a loop anew."""
    if stride != 0 or scope.loop is None or not depends_on(offset, scope.loop):
        return False
    return any(depends_on(offset, a.index) for a in scope.around if a.level == "item")


def _rows_again(meter: Meter, memory: Memory, offset: Index) -> float:
    """Cycles for a row of a memory that other rows of work-items of a CPU read too, which comes from the second cache then."""
    scope, rows = meter.scope, meter.counted.rows.setdefault(memory.name, [])
    thread, size = scope.thread, memory.scalar.bytes
    if meter.on_gpu or not memory.space.of_device or thread is None or scope.loop is not None:
        return 0.0
    first = somewhere(offset)
    near = any(abs(first - other) * size < LINE_BYTES for other in rows)
    if near or scope.lane is not None or stride_of(offset, thread) != 1:
        return 0.0
    rows.append(first)
    together = sum(map(len, meter.counted.rows.values())) * turns_of(thread) * size
    if len(rows) == 1 or together <= meter.device.nearest_bytes:
        return 0.0
    return FROM_SECOND * size * scope.trips * scope.items


def _from_beyond(meter: Meter, memory: Memory, offset: Index) -> None:
    """Keep how a memory is read by cores of a CPU, which may read it again: once where accesses move alike."""
    if meter.on_gpu or not memory.space.of_device:
        return
    read = read_of(meter.scope.around, offset, bytes_of(memory), memory.scalar.bytes)
    alike = memory.name, tuple((m.around.turns, m.stride) for m in read.moving)
    meter.counted.beyond.setdefault(alike, read)


def _load(meter: Meter, memory: Memory, offset: Index, again: float) -> None:
    """Count what work-items of a GPU load, and what groups get from the second cache: once where it is read alike."""
    scope = meter.scope
    differs = scope.thread is None or stride_of(offset, scope.thread) != 0
    cells = (scope.width if differs else 1.0) / again
    moving = moving_with(scope.around, offset)
    # where the nearest cache has none of these cells, `_access_together` charges a sector for each
    if moving is None:
        return meter.load(cells, 0.0, new=float(differs))
    bytes, run = fetched_bytes(moving, memory.scalar.bytes, meter.device.compute_units)
    here = Begun((scope.loop, scope.thread), somewhere(offset), tuple(moving))
    begun = meter.counted.places.setdefault(memory.name, [])
    within = [m for m in moving if m.around.level != "group"]
    alone = [m for m in moving if any(m.around.index is i for i, _ in scope.unrolled)]
    apart = [here.first - each.first for each in begun if each.alike(here)]
    near = max((overlap(by, within, max(run, _SECTOR)) for by in apart), default=0.0)
    same = max((overlap(by, alone, 1.0) for by in apart), default=0.0)
    held = max((each.held(here, memory.scalar.bytes) for each in begun), default=0.0)
    begun.append(here)
    if held and not apart:
        meter.again(memory.name, held, bytes)
        bytes = 0.0
    turns = prod(m.around.turns for m in moving if m.around.level == "loop" and not m.stride)
    return meter.load(cells * (1.0 - same), bytes * (1.0 - near), new=differs / max(1.0, turns))
