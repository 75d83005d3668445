"""A kernel as the cost model counts it: instructions, waits, memory; and the seconds that they take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from relift.device import DeviceDescription
from relift.egraph.cost.beyond import Read, read_again
from relift.egraph.cost.fetched import GROUP, Begun
from relift.egraph.cost.walked import FROM_SECOND, LINE_BYTES, PASSED_BY, SIDE_BY_SIDE, Passed
from relift.semantics.indices.atoms import Index
from relift.semantics.indices.views import Memory
from relift.semantics.syntax.sizes import Size

_WORK_ITEM = 2.0  # cycles of a CPU
PACKED = 0.7  # how much of its lanes a driver uses that packs work-items, or turns of a loop
_WAITED = 2.5 / LINE_BYTES
"""Cycles for each byte: the folds of 8192 steps of `beyond.py` take 1.9 ms longer for 250 MB, which their cores compute with as they come."""
_OF_PACKED = 0.5
"""Cycles of a CPU that each work-item takes, beside memory, where a driver packs those of any kernel.

2^24 sums of two numbers take 5.3 ms of Intel's two cores, and 3.9 in vectors."""
_GATHERED = 6.0
"""How many times as long an access of cells that lie apart takes where a driver packs work-items of any kernel: it gathers them.

Every second element of 2^24 takes Intel's 6 ms on two cores, in vectors of which each is put together of two 2 ms."""
_MASKED = 12.0
"""Cycles that an access of cells which lie apart takes where a driver packs work-items of which some do more than others: those that do not
mask what they would access, out of bounds.

4 million products of complex numbers in pairs take two cores 66 ms through Intel's driver where the first 257 make another, and 1.8 where none does."""
_WAIT_RESULT = 2.0  # cycles until the result of an instruction is there, on a GPU
_OF_A_CORE = 25.0
"""GB that memory sends one core of a CPU in a second, at most: so many lines are on their way to it at a time.

A matrix of 2^24 numbers takes one core 2.6 ms, and two 1.7."""
ACCUMULATORS = 16.0
"""Registers of private arrays from which a work-item has so much to compute that no result waits for another."""
RESIDENT, _REGISTER_FILE = 2048, 65_536  # of a unit; registers of 32 bits
_OTHER_REGISTERS, _IN_EIGHTS = 32, 8  # of a work-item
_OPERANDS = 1.8
"""Registers that a block of n by n results has for the operands of its next step, so many times n.

A work-item with 64 results takes 126 registers, and 153 to 167 where it fetches 16 to 28 numbers ahead."""
_WAIT_FUNCTION = 1.7
"""How many times as long as it takes a function's result is waited for, which the other work-items of a scheduler hide.

Sums of 2^25 focal losses, two logarithms, a quotient and an exponential each, take an H200 126, 105, 95, 91 and 88 us by 256, 512, 1024, 2048 and
4096 groups of 256, of which a unit has up to eight at a time.
"""
_GROUPS = 32  # of a unit
_FEWEST_GROUPS = 16
"""Groups of which a launch has as many at least, for all cores; what is in a group of its own is packed with no neighbour."""
_NUMBER_BYTES = 4.0
_LOADED, _FETCHED_BYTES = 4.0, 21.0
"""A unit of a GPU starts a multiply-add for each of 128 lanes in a cycle, and loads 32 numbers; an H200's second cache sends
each of its units 21 bytes in a cycle.

512^3 takes 51 us with a work-item for each result, all of whose loads are of what lies side by side, and 164 of what lies apart.
8 rows of 4096 take 123 us with a group for each product with 4096 others, which all get from the second cache."""
_NEAREST, _SECOND = 160e3, 64e6
"""Bytes that the nearest cache of a unit of a GPU keeps, beside what goes through it, and that the second one keeps.

Rows of 32 KB that groups of 64 read again take an H100 93 us more for 268 MB, with groups of 128 nothing."""
_IN_FLIGHT, _FEW = 496.0, 0.12
"""Work-items of a unit whose loads keep memory busy, and what it takes longer for half as many.

The sum of 2^28 products takes an H100 711 us with 65,536 work-items, and 809 with 32,768."""
_LOCAL_BYTES = 224e3
"""Local memory of a unit, which the groups that run there share."""
WARP = 32.0
"""Work-items of a GPU that run as one: a smaller group leaves the others of its own idle."""
BANKS = 32
"""Of local memory of a GPU, each of which sends one work-item a number in a cycle."""
_FILLING, _FILLING_AHEAD = 0.4, 0.2
"""What of the time in which groups get from the second cache what they put in local memory is not behind what they compute, and
where they fetch it a turn ahead.

A product of 4096^2 takes an H200 3.07 ms, and 2.95 ahead, in tiles of 128 by 128.  So of tiles with as much to compute the larger
ones are taken."""
_FETCHED_AHEAD, _MOVED_ABOUT, _BESIDE = 28.0, 70.0, 4.0
"""Numbers that a work-item fetches ahead without a loss, how many more of them double what it takes, and beside how many other groups.

Sixteen products of 500^2 take an H100 138 us in groups of 64 that fetch 41 numbers each ahead, and 110 without."""
_DRAINED = 200.0
"""Cycles that a unit of a GPU loses at a barrier of the only group that it has: until work-items have again what they multiply.

A product of 300 x 5000 x 300 by a group for each unit takes an H100 59 us with 16 steps between two barriers, and 49 with 24.  Of a group
with several warps for each scheduler one is there sooner than another: 1024^3, written by hand, takes an H200 56 us in tiles of 64 by 128
by groups of 256 work-items, and 58 to 60 by groups of 128."""
_BESIDE_OTHERS, _FEW_TURNS = 2.0, 16
"""Groups of a unit beside one another that hide nothing of what they read first and write last, and barriers of so short a fold.

4096 x 4096 squared distances of 64 numbers take an H200 98 to 107 us in groups of 256 work-items, of which a unit has two, and 93 to 96 in groups
of 128, of which it has four.
"""
_OF_OPERANDS = 32.0
"""Bytes of local memory for each work-item of a group that holds more there than what each of them has found."""
_BEGUN = 1.2
"""Cycles of a GPU in which it begins a group that has local memory.

Products of 170,496 rows of 257 numbers with a vector take an H100 110 us by groups of 16 to 64 work-items for a row each, and 68 us
by groups for two to sixteen rows."""
_UNEVEN = 0.65
"""What a unit of a GPU does whose schedulers have one or two warps each, of what it does by what these come to.

A product of 4001 x 1000 x 1100 takes an H200 297 us in groups of 192 work-items, of which a unit has three, two at a time; in groups of 64,
nine of them and six at a time, 267.  One of 2000 x 1500 x 1800 takes 425 in groups of 160, three and two at a time, and 303 three at a time.
"""
SCHEDULERS = 4
"""Of a unit of a GPU, each of which has its own of the work-items that run as one."""


def balance(work_items: float, groups: float) -> float:
    """The part of a unit's schedulers that has something to do where so many groups of so many work-items run there at a time.

    An H100 multiplies matrices of 4000^2 in 3,293 us in tiles of 64 by 160, of whose groups of five warps two run at a time, and
    in 2,849 in tiles of 128 by 128; those of 1100^2 in 118 us where a unit has five warps, in 97 where it has ten.

    >>> from relift.egraph.cost.kernel import balance
    >>> balance(256, 2), round(balance(160, 2), 2), balance(160, 1), balance(96, 1)
    (1.0, 0.83, 0.625, 0.75)
    """
    shared = max(1, math.ceil(groups)) * math.ceil(work_items / WARP) / SCHEDULERS
    return shared / math.ceil(shared)


class Times(NamedTuple):
    """The seconds that a kernel takes to compute, to move, and, on a CPU, to wait for what it computes with."""

    compute: float
    memory: float
    waiting: float


@dataclass
class Kernel:
    """One kernel: its work-items, what all and what the busiest of them issue, and the memories it touches.

    `started` are the work-items of which each may do what several are for, in turn, and `group` how many a group has, if it says so, `beside` how many dimension 0 has.
    `streamed` are the cycles in which a CPU's cores get parts of rows from memory, or rows again from the second cache;
    `passed` is what its loops walk through, `rows` where the work-items of a row begin to read each memory, `beyond` how they read
    each memory, which they may again when the second cache has it no more, by how an access moves.
    `waits` are the cycles that the busiest waits for memory, `waited` those of all groups, or of all work-items where there are none, and `taken` those in which
    these issue: as long they have their place on a unit, all members, also those that have nothing to do; `called` is the part of `issued` that functions take, for whose results few work-items wait longer; `registers` are those of
    the private arrays that one has at a time, `live` those that it has where it is, `ahead` the numbers that a group fetches for its next turn, `barriers` how often its work-items wait for one another; `counts` are the work-items of each
    dimension, which a kernel in parts asks for their number.  `reached` are the bytes of each memory that its accesses move at most, were none repeated, in each
    order in which work-items go through it: how far these are apart.  `loaded` are the numbers that the work-items of a GPU
    load, `loaded_anew` those of them that neither their neighbours load nor they did the turn before, `fetched` the bytes that its groups get from the second cache, of each memory at the `places` where an access begins.
    `read_again` are, of each memory, the bytes that a group reads before it reads them again, and those that all groups read again.
    `apart` is the part of `issued` that a driver cannot pack: neighbouring work-items access cells that lie apart, so many times as `strided`
    says; `gathered` is what of it an access would take whose cells are near, and `crowded` what packed ones take beside, whose lines crowd one another out.  `in_strips` says that rows are read a part at a time, which is charged for once
    for all kernels.  `renamed` says what another program than the one that it was counted for calls the memories that it touches.
    """

    items: float = 1.0
    started: float = 1.0
    group: float = 0.0
    beside: float = 0.0
    issued: float = 0.0
    longest: float = 0.0
    streamed: float = 0.0
    passed: dict[str, Passed] = field(default_factory=dict)
    rows: dict[str, list[int]] = field(default_factory=dict)
    beyond: dict[tuple[str, tuple[tuple[float, int], ...]], Read] = field(default_factory=dict)
    waits: float = 0.0
    waited: float = 0.0
    taken: float = 0.0
    called: float = 0.0
    registers: float = 0.0
    live: float = 0.0
    ahead: float = 0.0
    barriers: float = 0.0
    apart: float = 0.0
    strided: float = 0.0
    gathered: float = 0.0
    crowded: float = 0.0
    in_strips: bool = False
    loaded: float = 0.0
    loaded_anew: float = 0.0
    fetched: float = 0.0
    places: dict[str, list[Begun]] = field(default_factory=dict)
    read_again: dict[str, tuple[float, float]] = field(default_factory=dict)
    touched: dict[str, Memory] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    reached: dict[str, dict[int | None, float]] = field(default_factory=dict)
    counts: dict[tuple[str, Size], Index] = field(default_factory=dict)
    has_loop: bool = False
    is_guarded: bool = False
    has_lanes: bool = False
    has_library: bool = False
    by_rows: int = 0

    @property
    def bytes(self) -> float:
        """The bytes of all global memory that it touches, once in each order; of what it reads a part of, of that part."""
        return sum(
            min(bytes_of(m), moved)
            for name, m in self.touched.items()
            for moved in self.reached[name].values()
            if m.space.of_device
        )

    @property
    def members(self) -> float:
        """The work-items whose place a group has, with those that run as one; one where there are no groups.

        Means over the 512 rows that a mask keeps take an H200 135 us where 16 of the 256 members of a group fold them, for the mask's sum
        is folded by all, and 37 where each work-item has a column.
        """
        return math.ceil(self.group / WARP) * WARP if self.group else 1.0

    @property
    def called_of_all(self) -> float:
        """The part of its instructions that functions take."""
        return self.called / self.issued if self.issued else 0.0

    @property
    def filled(self) -> float:
        """The part of the work-items that run as one which a group has."""
        return self.group / self.members if self.group else 1.0

    def times(self, device: DeviceDescription, near: float = 0.0) -> Times:
        """The seconds that it takes on a device, whose last cache has a part of what the program touches."""
        beyond = read_again(self.beyond.values(), device, packed=self._fills_lanes(device))
        memory = self._seconds_of_memory(device, beyond, near)
        return Times(self._seconds(device), memory, self._seconds_of_waiting(device, beyond))

    def _seconds_of_memory(self, device: DeviceDescription, beyond: float, near: float) -> float:
        """What memory and, on a CPU, the second cache take to send what is read: a core gets one line at a time."""
        cores = self._cores(device)
        sizes = {name: bytes_of(m) for name, m in self.touched.items() if m.space.of_device}
        walked = [(sizes[name], each) for name, each in self.passed.items() if name in sizes]
        if device.kind == "gpu":
            few = max(0.0, _IN_FLIGHT * device.compute_units / self.started - 1.0)
            moved = self.bytes + self._read_again(device)[1]
            return moved * (1.0 + _FEW * few) / (device.bandwidth_gbs * 1e9)
        moved = self.bytes + device.unseen_rows * sum(each.not_ahead(size) for size, each in walked)
        moved -= SIDE_BY_SIDE * sum(each.side_by_side(size) for size, each in walked)
        again = sum(each.again(size) for size, each in walked)
        again = max(0.0, again - beyond)
        beside = min(again, self.bytes)
        by = sum(each.passed_by(size, device.nearest_bytes) for size, each in walked)
        cycles = self.streamed + FROM_SECOND * (beyond + beside) + PASSED_BY * (again - beside + by)
        if device.packs == "loops" and self._is_packed(device):
            cycles += _OF_PACKED * self.items
        sent = seconds_sent(moved, near, cores, device)
        return sent + cycles / cores / (device.core_ghz * 1e9)

    def seconds_of_loads_again(self, device: DeviceDescription) -> float:
        """What the units of a GPU take to load each its own cells from the nearest cache: all but as many as memory sends and takes."""
        again = max(0.0, self.loaded_anew - self.bytes / _NUMBER_BYTES)
        return _LOADED * again / (128 * self._occupied(device)) / (device.clock_ghz * 1e9)

    def _seconds_of_waiting(self, device: DeviceDescription, beyond: float) -> float:
        """What cores of a CPU wait, while they compute, for so many bytes that they read again from beyond their second cache."""
        return _WAITED * beyond / self._cores(device) / (device.core_ghz * 1e9)

    def _seconds(self, device: DeviceDescription) -> float:
        """Instructions over the units that the work-items occupy.

        A GPU runs one work-item per lane always, and each waits for its own accesses while others run.
        """
        longest = self.longest + _WORK_ITEM
        busy = self.issued + _WORK_ITEM * self.items
        if device.kind == "gpu":
            units = self._occupied(device)
            slots = units * 128
            resident = self._resident()
            busy /= self.filled
            loads = _LOADED * self.loaded
            if self.group:
                rounds = self._in_rounds(device)
                busy *= rounds * (1.0 + self._crowding(device))
                loads *= rounds if self.registers >= ACCUMULATORS else 1.0
            apart = 1.0 if self.registers >= ACCUMULATORS else _WAIT_RESULT
            together = self.members * (self.taken * apart + self.waited) / (units * resident)
            longest = max(longest * apart + self.waits, together)
            sent = (self.fetched + self._read_again(device)[0]) / (_FETCHED_BYTES * units)
            busy += self.called * self._seen_of_functions(device)
            busy = max(busy, loads) / slots
            if self.registers and self._local_bytes:
                # while one of two groups fetches, the other computes
                pairs = max(1.0, self._at_once(device) / 2.0)
                busy += (_FILLING_AHEAD if self.ahead else _FILLING / pairs) * sent
            if self.group and self.registers >= ACCUMULATORS:
                busy += self._drained(device)
            begun = _BEGUN * self.started / self.group if self.group and self._local_bytes else 0.0
            return max(busy, sent, longest, begun) / (device.clock_ghz * 1e9)
        if self._is_packed(device):
            busy = (busy - self.apart) / max(1.0, self._filled_lanes(device) * PACKED) + self.apart
            busy += self.crowded
            longest += self.crowded / self.items
            if device.packs == "loops":
                busy += (_GATHERED - 1.0) * self.gathered
        elif self.is_guarded and device.packs == "loops" and self._is_plain(device):
            busy += _MASKED * self.strided
        busy /= self._cores(device)
        return max(busy, longest) / (device.core_ghz * 1e9)

    def _cores(self, device: DeviceDescription) -> float:
        """As many cores of a CPU as would take as long, were they all busy to the end."""
        return self.items / math.ceil(self.items / device.compute_units)

    def _filled_lanes(self, device: DeviceDescription) -> float:
        """The lanes of a CPU's vectors that work-items fill: those of dimension 0, of which the last vector may have a few.

        Where dimension 0 has fewer than a vector has lanes, a quarter of one at most: by a work-item for each result, products of 2000 x 3000 with 7
        columns and of 1000 x 5000 with 13 take Intel's driver 9 and 16 ms, as with three or four lanes for each multiply-add.  It computes those that are
        left one after the other: 3.1 million exponentials take two cores 0.43 ms in rows of 32, 0.55 in rows of 311 and 2.6 in rows of 31.
        """
        beside, width = self.beside or self.items, device.vector_width
        if beside < width:
            return min(beside, max(1.0, width / 4))
        left = beside % width
        alone = left if device.packs == "loops" else math.ceil(left / width)
        return beside / (beside // width + alone)

    def _fills_lanes(self, device: DeviceDescription) -> bool:
        """Whether neighbouring work-items are lanes of one vector of a CPU: those of one group at most."""
        beside = min(self.beside or self.items, self.items // _FEWEST_GROUPS)
        return self._is_packed(device) and beside > device.vector_width / 2

    def _occupied(self, device: DeviceDescription) -> float:
        """As many units of a GPU as would take as long, were they all busy to the end: the last groups leave some idle."""
        groups = max(1.0, self.started / (self.group or WARP))
        return groups / math.ceil(groups / device.compute_units)

    @property
    def _held(self) -> float:
        """The registers of a work-item, which come in eights: a compiler makes do with a few less."""
        fetched = self.ahead / self.group if self.group else 0.0
        return (self.registers + fetched + _OTHER_REGISTERS) // _IN_EIGHTS * _IN_EIGHTS

    def _resident(self) -> float:
        """The work-items that a unit of a GPU has at a time: of groups, whole ones for whose local memory it has room."""
        resident = self._with_registers()
        if not self.group:
            return resident
        return self.group * max(1.0, min(resident // self.group, self._groups_with_room()))

    def _with_registers(self) -> float:
        """The work-items for which a unit of a GPU has registers, in as many groups as it has at most."""
        resident = min(RESIDENT, _REGISTER_FILE / self._held)
        return min(resident, _GROUPS * self.group) if self.group else resident

    def _at_once(self, device: DeviceDescription) -> float:
        """The groups that a unit of a GPU has at a time, of those that there are."""
        return min(self._resident(), self.started / device.compute_units) / self.group

    def _drained(self, device: DeviceDescription) -> float:
        """Cycles of a unit of a GPU in which a group waits for all of its work-items, and few others compute."""
        groups = max(1.0, self.started / self.group / device.compute_units)
        beside = max(self._at_once(device), self.group / WARP / SCHEDULERS)
        return _DRAINED * self.barriers * groups / max(1.0, beside)

    def moved_alone(self, device: DeviceDescription) -> float:
        """The part of what memory takes that nothing is computed beside: a group of few turns has its operands at the start, and writes at the end."""
        is_tile = self._local_bytes > _OF_OPERANDS * self.group > 0.0
        if not is_tile or self.registers < ACCUMULATORS or self.barriers > _FEW_TURNS:
            return 0.0
        return min(1.0, _BESIDE_OTHERS / self._at_once(device))

    def _seen_of_functions(self, device: DeviceDescription) -> float:
        """The part of what functions take for which too few work-items run beside one another to hide it."""
        at_once = min(self._resident(), self.started / device.compute_units)
        warps = max(1.0, at_once / WARP / SCHEDULERS)
        return max(0.0, _WAIT_FUNCTION / warps - _WAIT_FUNCTION * SCHEDULERS * WARP / RESIDENT)

    def _in_rounds(self, device: DeviceDescription) -> float:
        """How many times as long it takes because a unit of a GPU has groups in rounds, and fewer in the last one."""
        groups = math.ceil(max(1.0, self.started / self.group / device.compute_units))
        at_once = int(self._resident() // self.group)
        if self.registers >= ACCUMULATORS:
            held = (self._held + _OPERANDS * math.sqrt(self.registers)) // _IN_EIGHTS * _IN_EIGHTS
            at_once = min(at_once, int(_REGISTER_FILE / held // self.group))
        at_once = min(groups, max(1, at_once))
        full, left = divmod(groups, at_once)
        took = full * at_once / self._busy(at_once) + (left / self._busy(left) if left else 0.0)
        return max(took / groups, 1.0 / balance(self.group, self._at_once(device)))

    def _busy(self, groups: int) -> float:
        """The part of what a unit computes at most that it does with so many groups."""
        warps = groups * math.ceil(self.group / WARP) / SCHEDULERS
        uneven = self.registers >= ACCUMULATORS and 1.0 < warps < 2.0
        return balance(self.group, groups) * (_UNEVEN if uneven else 1.0)

    def _crowding(self, device: DeviceDescription) -> float:
        """What a group takes longer whose work-items fetch many numbers ahead each, beside others for whom registers are left."""
        more = max(0.0, self.ahead / self.group - _FETCHED_AHEAD) / _MOVED_ABOUT
        return more * min(1.0, max(0.0, self._at_once(device) - 1.0) / _BESIDE)

    @property
    def _local_bytes(self) -> float:
        """The local memory of a group."""
        return sum(bytes_of(m) for m in self.touched.values() if m.space.distance == "near")

    def _groups_with_room(self) -> float:
        """The groups whose local memory a unit of a GPU has."""
        return _LOCAL_BYTES // self._local_bytes if self._local_bytes else math.inf

    @property
    def is_short_of_local_memory(self) -> bool:
        """Whether a unit of a GPU has fewer groups than its registers allow: while one computes, few others load."""
        resident = min(self._with_registers(), self.started)
        return self._groups_with_room() < resident / (self.group or GROUP)

    def _read_again(self, device: DeviceDescription) -> tuple[float, float]:
        """The bytes that groups read again which the second cache sends a GPU, and of these those that memory sends it."""
        held = sum(before for before, _ in self.read_again.values())
        again = sum(more for _, more in self.read_again.values())
        group = self.group or GROUP
        at_once = max(1.0, self._resident() / group)
        if held * at_once <= _NEAREST:
            return 0.0, 0.0
        running = held * min(at_once * device.compute_units, max(1.0, self.started / group))
        return again, again * max(0.0, 1.0 - _SECOND / running)

    def _is_packed(self, device: DeviceDescription) -> bool:
        """Whether a driver makes vectors of neighbouring work-items, all of which do alike."""
        return not self.is_guarded and self._is_plain(device)

    def _is_plain(self, device: DeviceDescription) -> bool:
        """Whether a driver makes vectors of neighbouring work-items, if they do alike.

        Not where there are vectors already.
        One that packs no loops does not pack functions of the library either; one that does is told not to, where loops write along rows.
        """
        plain = not (self.has_loop or self.has_library)
        packs = device.packs == "loops" or (device.packs == "loop-free" and plain)
        by_rows = self.by_rows > 0 and not self.has_library
        return packs and not (self.has_lanes or by_rows)


def seconds_sent(moved: float, near: float, cores: float, device: DeviceDescription) -> float:
    """Seconds that so many bytes take to so many cores of a CPU: a part from the last cache, the others from memory."""
    each = (1.0 - near) / min(device.bandwidth_gbs, _OF_A_CORE * cores)
    if near:
        each += near / (device.third_gbs * cores)
    return moved * each * 1e-9


def bytes_of(m: Memory) -> float:
    """The bytes that a memory of known size has."""
    return float(m.cells.constant or 0) * m.scalar.bytes
