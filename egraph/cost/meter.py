"""Where in a program the cost model stands, and what is charged there: of all work-items, and of the busiest."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from relift.device import DeviceDescription
from relift.egraph.cost.fetched import GROUP, Around
from relift.egraph.cost.kernel import PACKED, WARP, Kernel
from relift.semantics.indices.atoms import Index
from relift.semantics.indices.expressions import variable
from relift.semantics.indices.views import View, name_of
from relift.semantics.patterns import EachOf, MapLcl, MapWrg
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import Type, Vector

# Cycles of one core of a CPU, fitted to times of the examples' candidates on two implementations of OpenCL.
ISSUE = 0.5  # two operations start in a cycle, and two loads
NEAR = 1.0  # of an access at most whose cells are near
_LOOP_STEP = 0.5
LATENCY = 4.0  # until a sum can be added to
WAIT_MEMORY = 150.0
"""Cycles that a work-item of a GPU waits for a load: in four turns of a loop, which are loaded together, four times as long."""
_BARRIER = 30.0  # cycles that a work-item waits
_ALONE = 1.2
"""How many times as long a function takes a work-item of a GPU that computes no other beside it, for a lane or a turn that is written out.

x tanh(log(1 + exp(x))) of 2^25 numbers takes an H200 87 us in a loop of single numbers, 76 instructions each, and 75 by vectors, 60 each."""
_UNROLLED, _AT_ONCE = 6.0, 16.0
"""Loads in whose time up to so many arrive that do not wait for one another: those of a copy, or of turns that are written out.

Rows of 4096 that groups of 32 fold in order take an H100 92 us, of which a group copies 128 columns at a time, and with groups of
128, which copy 16, 206.  784 columns of 60,013 numbers in 64 chunks, eight loads at a time, take an H200 95 us, where memory would need 46:
1,400 cycles for eight; in 128 chunks 66, in 256 chunks 55."""
_READ_AHEAD = 0.68
"""So many times as long waits a scan of what is read in chunks of 16 or 32 before: beside the first chunk nothing is on its way.

1024 numbers of 16,384 columns take an H200 97 us one after the other and in chunks of 8, 71 in chunks of 16, and 67 in chunks of 32; 8192 of 2048
columns 594, 388 and 362."""
_LANE_TAKEN = 0.5
"""Cycles in which a lane of a vector is taken out of it.

5000 x 33 products of 128, 64 and 16 numbers, of which each has a vector of 16 sums, take two cores 0.56, 0.48 and 0.40 ms through either driver: 12 cycles for
the lanes of each.  200,000 sums of rows of 16 take 0.40 ms, 11 cycles each, and of rows of 20 0.46."""
_WINDOW = 100.0  # cycles of work that a core looks ahead


@dataclass(frozen=True)
class Computed:
    """A term, what its free variables showed, and where its value lies: it is computed once in a block."""

    term: Term
    bindings: tuple[View, ...]
    result: View


@dataclass(frozen=True)
class Scope:
    """How often a place is reached by how many work-items, and what is computed there already.

    The variables are those around it: of the innermost loop, of the fastest work-items, of the lanes.
    A driver makes vectors of so many turns of a `packed` loop.  `unrolled` are the loops inside the innermost one that are written out, with their lengths.  Of the `items` so
    many are `started`, `group` of them in a group, and each of these does `turns` of them.  `alike` of a group do the same
    here, outside of the maps that share it out, and `running` come here at a time.  `around` is all of it.
    """

    loop: Index | None = None
    thread: Index | None = None
    lane: Index | None = None
    width: float = 1.0
    trips: float = 1.0
    items: float = 1.0
    started: float = 1.0
    turns: float = 1.0
    group: float = 1.0
    alike: float = 1.0
    running: float = 1.0
    packed: float = 1.0
    host: bool = True
    unrolled: tuple[tuple[Index, float], ...] = ()
    computed: tuple[list[Computed], ...] = ()
    around: tuple[Around, ...] = ()


class Meter:
    """Counts the work of one kernel after the other."""

    def __init__(self, device: DeviceDescription) -> None:
        self.device = device
        self.on_gpu = device.kind == "gpu"
        self.finished: list[Kernel] = []
        self.counted = Kernel()
        self.scope = Scope()
        self._count = 0

    @contextmanager
    def kernel(self, members: float) -> Generator[None]:
        """What is inside is a kernel of its own, whose groups have so many members."""
        saved = (self.counted, self.scope)
        self.counted, self.scope = (
            Kernel(),
            Scope(items=members, alike=members, running=members, computed=([],)),
        )
        try:
            yield
        finally:
            self.finished.append(self.counted)
            self.counted, self.scope = saved

    @contextmanager
    def _inside(self, scope: Scope) -> Generator[None]:
        saved, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = saved

    def fresh(self, kind: str) -> str:
        """A name that nothing has yet."""
        self._count += 1
        return f"{kind}{self._count}"

    def charge(self, cycles: float, *, apart: float | None = None) -> None:
        """Instructions of every work-item, each time that it comes here; those that are `apart` are never packed, but gathered."""
        cycles /= self.scope.packed
        issued = cycles * self.scope.trips * self.scope.items
        self.counted.issued += issued
        self.counted.taken += issued / self.scope.running
        self.counted.longest += cycles * self.scope.trips * self.scope.turns
        if apart is not None:
            self.counted.strided += self.scope.trips * self.scope.items
            self.counted.apart += issued
            self.counted.gathered += apart * issued * min(1.0, NEAR / max(cycles, NEAR))

    def call(self, cycles: float) -> None:
        """Instructions of a function, whose result a GPU's work-item has later than that of an operation, unless it computes others meanwhile."""
        if self.scope.width <= 1 and not self.scope.unrolled:
            cycles *= _ALONE
        self.charge(cycles)
        self.counted.called += cycles * self.scope.trips * self.scope.items

    def alone(self, instructions: float) -> None:
        """Instructions of which a CPU has none for vectors: each lane has its own, whatever is packed."""
        self.charge_each(ISSUE * max(1.0, self.scope.width) * instructions)

    def charge_each(self, cycles: float) -> None:
        """Cycles that each work-item takes, whatever is packed."""
        cycles *= self.scope.trips
        self.counted.issued += cycles * self.scope.items
        self.counted.longest += cycles * self.scope.turns
        self.counted.apart += cycles * self.scope.items

    def crowd(self, cycles: float) -> None:
        """Cycles that each work-item takes where a driver packs its kernel, which is known when all of it is."""
        self.counted.crowded += cycles * self.scope.trips * self.scope.items

    def take_lane(self) -> None:
        """A lane of a vector of a CPU is taken out of its register."""
        if not self.on_gpu and self.scope.lane is None:
            self.charge(_LANE_TAKEN)

    def load(self, cells: float, bytes: float, *, new: float = 1.0) -> None:
        """Numbers that every work-item of a GPU loads each time that it comes here, and what all get of the second cache.

        The part of them is `new` that neither its neighbours load nor it loaded itself the turn before.
        """
        loaded = cells * self.scope.trips * self.scope.items
        self.counted.loaded += loaded
        self.counted.loaded_anew += new * loaded
        self.counted.fetched += bytes

    def again(self, memory: str, held: float, bytes: float) -> None:
        """Bytes that all groups of a GPU read again of a memory, after each of them has read so many that it may hold."""
        before, more = self.counted.read_again.get(memory, (0.0, 0.0))
        self.counted.read_again[memory] = max(before, held), more + bytes

    def hold(self, registers: float) -> None:
        """Registers that every work-item has from here to the end of the loop around."""
        self.counted.live += registers
        self.counted.registers = max(self.counted.registers, self.counted.live)

    def wait(self, cycles: float) -> None:
        """Cycles for which every work-item of a GPU waits each time that it comes here."""
        self.counted.waits += cycles * self.scope.trips * self.scope.turns
        self.counted.waited += cycles * self.scope.trips * self.scope.items / self.scope.running

    def barrier(self) -> None:
        """What a group of a GPU has stored is there for all of its work-items."""
        self.wait(_BARRIER)
        self.counted.barriers += self.scope.trips * self.scope.turns

    def together(self, waits: float, waited: float) -> None:
        """What was waited for since there were so many waits, is of loads that do not wait for one another."""
        counted, times = self.counted, self.scope.trips * self.scope.turns
        if not times:
            return  # nothing waits in what is never run
        here = (counted.waits - waits) / (WAIT_MEMORY * times)
        if here > _UNROLLED:
            part = _UNROLLED * -(-here // _AT_ONCE) / here
            counted.waits = waits + part * (counted.waits - waits)
            counted.waited = waited + part * (counted.waited - waited)

    def read_ahead(self, waits: float, waited: float) -> None:
        """What was waited for since then is of chunks that are read before they are scanned."""
        counted = self.counted
        counted.waits = waits + _READ_AHEAD * (counted.waits - waits)
        counted.waited = waited + _READ_AHEAD * (counted.waited - waited)

    def issue(self, t: Type | None = None) -> float:
        """Instructions for one scalar operation at this place, or for one on a vector of type t."""
        width = self.scope.width
        if isinstance(t, Vector):
            width = float(t.width.constant or 1)
        if self.on_gpu:
            return width
        return ISSUE * max(1.0, width / self.device.vector_width)

    @contextmanager
    def work_items(self, t: EachOf, length: Index, members: float) -> Generator[Index]:
        """What is inside is done by so many work-items, or by groups of so many `members`, at once."""
        i = variable(self.fresh("i"), length)
        scope = self.scope
        n = float(length.constant or 0)
        idle = min(WARP, scope.alike) if isinstance(t, MapLcl) else 0.0
        items = scope.items / scope.alike * max(n * members, idle)
        at_once = min(n, GROUP) if self.on_gpu and isinstance(t, MapLcl) else n
        running = members
        if isinstance(t, MapLcl):
            running = scope.running / scope.alike * max(at_once * members, idle)
        started = scope.started * at_once
        turns = scope.turns * n / max(at_once, 1.0)
        group = scope.group * at_once if isinstance(t, MapLcl) else scope.group
        self.counted.items = max(self.counted.items, items)
        self.counted.started = max(self.counted.started, started)
        if isinstance(t, MapLcl):
            self.counted.group = max(self.counted.group, group)
        self.counted.is_guarded |= (
            self.counted.counts.setdefault((name_of(t), t.dim), length) != length
        )
        fastest = t.dim == 0 and not isinstance(t, MapWrg)
        if fastest:
            self.counted.beside = max(self.counted.beside, n)
        thread = i if fastest else scope.thread
        if self.on_gpu:
            around = (*scope.around, *_shared_out(t, i, n))
        else:  # dimension 0 is gone through first, wherever its map stands
            of_all = Around(i, n, "group")
            around = (of_all, *scope.around) if t.dim != 0 else (*scope.around, of_all)
        block = (*scope.computed, [])
        inner = replace(
            scope,
            thread=thread,
            items=items,
            started=started,
            turns=turns,
            group=group,
            alike=members,
            running=max(running, 1.0),
            host=False,
            computed=block,
            around=around,
        )
        with self._inside(inner):
            yield i

    @contextmanager
    def repeated(self, times: float) -> Generator[None]:
        """What is inside is done by so many times as many work-items, each for itself."""
        with self._inside(replace(self.scope, items=self.scope.items * max(1.0, times))):
            yield

    @contextmanager
    def loop(self, length: Index, *, unrolled: bool = False) -> Generator[Index]:
        """What is inside is done so many times, one after the other."""
        i = variable(self.fresh("i"), length)
        scope = self.scope
        n = float(length.constant or 0)
        if unrolled:
            around = (*scope.unrolled, (i, n))
        elif n == 1:  # no loop
            around = scope.unrolled
        else:
            self.counted.has_loop = True
            self.charge(_LOOP_STEP * n)
            around = ()
        inner = replace(
            scope,
            loop=scope.loop if unrolled or n == 1 else i,
            trips=scope.trips * n,
            host=False,
            unrolled=around,
            computed=(*scope.computed, []),
            around=(*scope.around, Around(i, n, "loop")),
        )
        counted, live = self.counted, self.counted.live
        waits = counted.waits, counted.waited
        with self._inside(inner):
            yield i
        counted.live = live
        if unrolled and not scope.unrolled:
            self.together(*waits)

    @contextmanager
    def chain(self, length: Index, latency: float = LATENCY) -> Generator[None]:
        """A loop whose steps each need the result of the one before, so many cycles later."""
        before = self.counted.longest
        yield
        steps = float(length.constant or 0)
        if self.on_gpu or not steps or not self.scope.trips:
            return  # nothing waits in what is never run
        own = (self.counted.longest - before) / self.scope.trips
        alone = max(0.0, 1.0 - _WINDOW / max(own, 1.0))
        self.charge(max(0.0, latency * steps - own) * alone)

    @contextmanager
    def packed(self) -> Generator[None]:
        """What is inside is a loop of which a driver makes vectors, and none of work-items then."""
        self.counted.has_lanes = True
        lanes = max(1.0, self.device.vector_width * PACKED)
        with self._inside(replace(self.scope, packed=lanes)):
            yield

    @contextmanager
    def lanes(self, width: Index) -> Generator[Index]:
        """What is inside is done in the lanes of a vector."""
        i = variable(self.fresh("i"), width)
        scope = self.scope
        block = (*scope.computed, [])
        n = float(width.constant or 1)
        around = (*scope.around, Around(i, n, "item"))
        lane = replace(scope, lane=i, width=n, computed=block, around=around)
        with self._inside(lane):
            yield i


def _shared_out(t: EachOf, i: Index, n: float) -> list[Around]:
    """What the work-items, or groups, of a map stand for: without groups of their own, neighbours are a group."""
    if isinstance(t, MapLcl):
        return [Around(i, n, "item")]
    if isinstance(t, MapWrg) or t.dim != 0:
        return [Around(i, n, "group")]
    return [Around(i, n / min(n, GROUP), "group"), Around(i, min(n, GROUP), "item")] if n else []
