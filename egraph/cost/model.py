"""What a low-level program is estimated to cost on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relift.device import DeviceDescription
from relift.display.displayed import Displayed
from relift.egraph.cost.kernel import Kernel, Times, bytes_of
from relift.egraph.cost.repeated import launched
from relift.semantics.indices.stored import inputs, stored
from relift.semantics.indices.views import memories_of
from relift.semantics.language.programs import Program

_STARTED = 0.3 * 0.65e-9 / 256
"""Seconds of a GPU for each work-item that it starts: an H200 starts a group of 256 in 0.65 ns, mostly behind other work.

A five-point stencil of two arrays takes 259 us with a work-item for each of 8192^2 cells, and 192 us with one for eight."""
_IN_TURN = 3e-13
"""Seconds of a GPU for each work-item whose work another one does in turn: that waits for the memory each time.

A five-point stencil of 8192^2 cells takes 178 us where a work-item has 32 windows in turn, and 148 where it has 16 written out; a gated
activation of 4001 x 3003 numbers takes an H100 62 us by groups that have a row each in turns, and 56 with four rows written out."""
_SEEN = 0.1  # of the shorter of two times that overlap, on a CPU
_SEEN_BESIDE_FEW = 0.3
"""The same on a GPU that has few groups at a time, for each holds much local memory.

A softmax of rows of 8192 whose powers lie there takes an H100 235 us, and 184 with the row in registers."""


@dataclass(frozen=True)
class Cost(Displayed):
    """Estimated seconds: of launches, of instructions, of memory traffic; and their combination."""

    shown_by: ClassVar = "relift.egraph.displays:of_cost"

    launch: float
    compute: float
    memory: float
    seconds: float
    bytes: float

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
    each = {id(k): k.times(device) for k in kernels}  # those of an iteration's steps are the same
    times = [each[id(k)] for k in kernels]
    launch = device.launch_seconds * len(kernels)
    compute, memory = sum(t.compute for t in times), sum(t.memory for t in times)
    total = launch + sum(_together(k, t, device) for k, t in zip(kernels, times, strict=True))
    return Cost(launch, compute, memory, total, sum(k.bytes for k in kernels))


def waiting(program: Program, device: DeviceDescription) -> float:
    """Cycles for which all work-items of a GPU together wait for memory; while they do, others run, if there are any."""
    kernels = launched(program.body, inputs(*program.parameters), device)
    return sum(k.members * k.waited for k in kernels)


def least_seconds(program: Program, device: DeviceDescription) -> float:
    """Seconds that any program takes to read what it is given, and to write the result, once."""
    types = (*(each.type for each in program.parameters), program.body.type)
    moved = sum(bytes_of(memory) for t in types for memory in memories_of(stored("", t)))
    return device.launch_seconds + moved / (device.bandwidth_gbs * 1e9)


def _together(kernel: Kernel, times: Times, device: DeviceDescription) -> float:
    """Seconds of a kernel that computes and moves: of the shorter time, a part hides behind the longer one."""
    computed, moved, waited = times
    longer, shorter = max(computed, moved), min(computed, moved)
    if device.kind == "gpu":
        in_turn = kernel.items - kernel.started
        seen = _SEEN_BESIDE_FEW if kernel.is_short_of_local_memory else kernel.moved_alone(device)
        return (
            longer + seen * shorter + _STARTED * kernel.started / kernel.filled + _IN_TURN * in_turn
        )
    return max(computed + waited, moved) + _SEEN * shorter
