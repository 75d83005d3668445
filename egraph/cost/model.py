"""What a low-level program is estimated to cost on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from relift.device import DeviceDescription, bytes_text
from relift.display.displayed import Displayed
from relift.egraph.cost.kernel import Kernel, Times, bytes_of, seconds_sent
from relift.egraph.cost.repeated import launched
from relift.semantics.errors import Unsupported
from relift.semantics.indices.stored import inputs, stored
from relift.semantics.indices.views import is_layout, memories_of
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import canonical
from relift.semantics.syntax.terms import Input, Lambda, Term, children
from relift.semantics.syntax.types import Type, cells

_STARTED = 0.3 * 0.65e-9 / 256
"""Seconds of a GPU for each work-item that it starts whose group waits: an H200 starts a group of 256 in 0.65 ns, mostly behind other work."""
_ALONE, _AT_A_TIME = 1.41e-12, 0.187
"""Seconds for each that waits for nobody, and the part of what memory takes in which they are hidden: it waits for what it loads.

A copy of 2^25 numbers takes an H200 103 us with a work-item for each, 77 for each two, and 69 for each four, in vectors or not, or for more.
"""
_IN_TURN = 3e-13
"""Seconds of a GPU for each work-item whose work another one does in turn: that waits for the memory each time.

A five-point stencil of 8192^2 cells takes 178 us where a work-item has 32 windows in turn, and 148 where it has 16 written out; a gated
activation of 4001 x 3003 numbers takes an H100 62 us by groups that have a row each in turns, and 56 with four rows written out."""
_KEPT, _GONE = 0.5, 2.5
"""The parts of the last cache that a program may touch with all of it still there when it runs again, and with nothing.

Other programs have their share of it, too: 64 MB are summed up at 104 GB/s where the cache, of 32 MB, sends 165, and memory 60."""
_NEAR_SEEN = 0.65
"""The part of what loads of cells that a work-item or its neighbours loaded before take a GPU, beside what memory takes: they wait for the same.

Sums of 5 x 5 cells around each of 2^26 take an H200 157 us in strips of 16, 163 of 8 and 197 of 4, which load 6, 7.5 and 10 cells for each,
and of 3 x 3 x 3 around 2^27 396, 398 and 499; memory takes 127 and 255 for them."""
OVERLAP_SEEN = 0.1
"""The part of the shorter of two times that overlap, on a CPU."""
_SEEN_OF_FUNCTIONS = 0.2
"""The same on a GPU of a kernel that computes nothing but functions, whose results a work-item waits for when it has what it loads.

2^24 focal losses take an H200 59 us by vectors of four, of which 44 are instructions, and memory takes 47 for them."""
_IN_SINGLES = 1.02
"""How many times as long a GPU takes that reads no vectors: 2^25 numbers are copied in 70.6 us in loops of single ones, and in 68.5 by four."""
_SEEN_BESIDE_FEW = 0.3
"""The same on a GPU that has few groups at a time, for each holds much local memory.

A softmax of rows of 8192 whose powers lie there takes an H100 235 us, and 184 with the row in registers."""


@dataclass(frozen=True)
class Cost(Displayed):
    """Estimated seconds: of launches, of instructions, of memory traffic; and their combination.

    `hidden` are those of instructions of a CPU that memory hides: where a cache keeps what is read, they are not.  `waited` are the cycles
    for which all work-items of a GPU together wait for memory; while they do, others run, if there are any.
    """

    shown_by: ClassVar = "relift.egraph.displays:of_cost"

    launch: float
    compute: float
    memory: float
    seconds: float
    bytes: float
    hidden: float = 0.0
    waited: float = field(default=0.0, compare=False, repr=False)

    def __str__(self) -> str:
        return (
            f"{time_text(self.seconds)} (compute {time_text(self.compute)}, memory {time_text(self.memory)}, "
            f"launch {time_text(self.launch)})"
        )


def time_text(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def estimate(program: Program, device: DeviceDescription) -> Cost:
    """The estimated cost of a low-level program at concrete sizes.

    Raises `Unsupported` for a term that computes where only a layout can stand.
    """
    kernels = launched(program.body, inputs(*program.parameters), device)
    near = _near(kernels, device)
    each = {
        id(k): k.times(device, near) for k in kernels
    }  # those of an iteration's steps are the same
    times = [each[id(k)] for k in kernels]
    launch = device.launch_seconds * len(kernels)
    compute, memory = sum(t.compute for t in times), sum(t.memory for t in times)
    total = launch + sum(_together(k, t, device) for k, t in zip(kernels, times, strict=True))
    hidden = sum(min(t.compute, t.memory) for t in times) if device.kind == "cpu" else 0.0
    waited = sum(k.members * k.waited for k in kernels)
    return Cost(launch, compute, memory, total, sum(k.bytes for k in kernels), hidden, waited)


def _near(kernels: Sequence[Kernel], device: DeviceDescription) -> float:
    """The part of what kernels read and write that the last cache of a CPU sends them."""
    touched = {
        k.renamed.get(name, name): m
        for k in kernels
        for name, m in k.touched.items()
        if m.space.of_device
    }
    return _part_near(sum(bytes_of(m) for m in touched.values()), device)


def _part_near(touched: float, device: DeviceDescription) -> float:
    """The part of so many bytes that is in the last cache, as these were touched before: given, or computed the time before."""
    if not (device.third_bytes and device.third_gbs):
        return 0.0
    return min(1.0, max(0.0, (_GONE - touched / device.third_bytes) / (_GONE - _KEPT)))


def least_seconds(program: Program, device: DeviceDescription) -> float:
    """Seconds that any program takes to read what it needs of what it is given, and to write the result, once."""
    parts = _parts_read(program.body)
    moved = sum(_bytes(x.type) * parts.get(x.name, 0.0) for x in program.parameters)
    moved += _bytes(program.body.type)
    if device.kind == "gpu":
        return device.launch_seconds + moved / (device.bandwidth_gbs * 1e9)
    near = _part_near(moved, device)
    return device.launch_seconds + seconds_sent(moved, near, device.compute_units, device)


def _parts_read(t: Term) -> dict[str, float]:
    """The part of each array that is read, of which a program may need a part: one of its elements, or some that it takes."""
    read: dict[str, dict[Term, int]] = {}
    whole: dict[str, int] = {}
    waiting: list[tuple[Term, Term | None]] = [(t, None)]
    while waiting:
        u, above = waiting.pop()  # the least that layouts around it leave of it
        part = u if above is None or _cells(u) <= _cells(above) else above
        if isinstance(u, Input):
            whole[u.name] = _cells(u)
            read.setdefault(u.name, {})[canonical(part)] = _cells(part)
        left = part if is_layout(u) else None
        waiting += ((v.body if isinstance(v, Lambda) else v, left) for _, v in children(u))
    return {name: min(1.0, sum(of.values()) / whole[name]) for name, of in read.items()}


def _cells(t: Term) -> int:
    return cells(t.type).constant or 1


def _bytes(t: Type) -> float:
    """The bytes of an array, or of several."""
    return sum(map(bytes_of, memories_of(stored("", t))))


def require_room(program: Program, device: DeviceDescription) -> None:
    """Raise `Unsupported` where a device has no memory for what a program is given and for its result."""
    needed = int(sum(map(_bytes, (*(each.type for each in program.parameters), program.body.type))))
    if 0 < device.memory_bytes < needed:
        raise Unsupported(
            f"the arrays of {program.name} need {bytes_text(needed)} at these sizes, "
            f"{device.name} has {bytes_text(device.memory_bytes)}"
        )


def _together(kernel: Kernel, times: Times, device: DeviceDescription) -> float:
    """Seconds of a kernel that computes and moves: of the shorter time, a part hides behind the longer one."""
    computed, moved, waited = times
    longer, shorter = max(computed, moved), min(computed, moved)
    if device.kind == "gpu":
        in_turn = kernel.items - kernel.started
        seen = _SEEN_BESIDE_FEW if kernel.is_short_of_local_memory else kernel.moved_alone(device)
        seen += _SEEN_OF_FUNCTIONS * kernel.called_of_all
        beside = _STARTED * kernel.started / kernel.filled
        near = 0.0
        if not kernel.barriers:
            near = _NEAR_SEEN * min(kernel.seconds_of_loads_again(device), shorter)
            longer *= 1.0 if kernel.has_lanes else _IN_SINGLES
            alone = _ALONE * kernel.started / kernel.filled
            beside = max(0.0, alone - _AT_A_TIME * moved)
        return longer + seen * shorter + near + beside + _IN_TURN * in_turn
    return max(computed + waited, moved) + OVERLAP_SEEN * shorter
