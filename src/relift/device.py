"""What a cost model needs to know of a device."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias

from relift.plugins import working
from relift.semantics.errors import IllTyped, Unsupported

Packing: TypeAlias = Literal["nothing", "loop-free", "loops"]


@dataclass(frozen=True)
class DeviceDescription:
    """A device in a dozen numbers; `vector_width` counts lanes of one instruction, of f32.

    `vector_registers` is how many vectors of this width a work-item can hold at a time.  `launch_seconds` is
    the time of an empty kernel behind others.  `packs` says of a CPU's driver which kernels it makes vectors of by itself,
    a lane for each work-item: those without loops, those with loops too, or none.  `nearest_bytes` is what the
    nearest cache of a CPU's core holds, `nearest_ways` how many lines each of its sets has, `second_bytes` and
    `second_ways` the same of the one behind it.  `third_bytes` is what the last one holds, which cores share, and `third_gbs` what it
    sends each of them; 0 where that is not known: then all comes from memory.  `refetch_cycles` is what a read of a CPU's core takes longer whose line others of
    its set have crowded out of the nearest cache; `unseen_rows` how many times as long memory takes more for rows of one page that are
    read side by side, all but one of which nothing fetches before.  `turned_cycles` is what a lane of a vector takes to read a number where each lane
    goes along a row of its own.  `library` is the implementation whose functions, such as `exp`, a CPU calls;
    where it is not known, what they take is assumed.  `memory_bytes` is what its memory holds, 0 where nobody knows.
    """

    name: str
    kind: Literal["cpu", "gpu"]
    compute_units: int
    vector_width: int
    vector_registers: int
    clock_ghz: float
    bandwidth_gbs: float
    fma_gflops: float
    local_memory_bytes: int
    max_work_group: int
    launch_seconds: float
    packs: Packing = "loop-free"
    fused_multiply_add: bool = True
    nearest_bytes: int = 32 * 1024
    nearest_ways: int = 8
    second_bytes: int = 1 << 20
    second_ways: int = 8
    third_bytes: int = 0
    third_gbs: float = 0.0
    refetch_cycles: float = 7.0
    unseen_rows: float = 0.9
    turned_cycles: float = 1.0
    library: str = ""
    memory_bytes: int = 0

    @property
    def core_ghz(self) -> float:
        """The clock at which a CPU reaches `fma_gflops`, if each core starts two multiply-adds of vectors a cycle."""
        return self.fma_gflops / (self.compute_units * self.vector_width * 4)

    def for_numbers_of(self, size: int) -> DeviceDescription:
        """The device as it computes with floats of so many bytes: on a CPU fewer of those that are longer fill a vector.

        >>> from relift.device import CPU
        >>> CPU.for_numbers_of(8).vector_width, CPU.for_numbers_of(8).core_ghz == CPU.core_ghz
        (8, True)
        """
        lanes = max(1, self.vector_width * 4 // size)
        if self.kind != "cpu" or lanes >= self.vector_width:
            return self
        gflops = self.fma_gflops * lanes / self.vector_width
        return replace(self, vector_width=lanes, fma_gflops=gflops)


CPU = DeviceDescription(
    name="2-core CPU with AVX-512 (measured)",
    kind="cpu",
    compute_units=2,
    vector_width=16,
    vector_registers=32,
    clock_ghz=2.8,
    bandwidth_gbs=40.0,
    fma_gflops=430.0,
    local_memory_bytes=512 * 1024,
    max_work_group=4096,
    launch_seconds=10e-6,
    nearest_bytes=48 * 1024,
    nearest_ways=12,
)
"""A small shared server, through PoCL."""

GPU = DeviceDescription(
    name="NVIDIA H200 (measured)",
    kind="gpu",
    compute_units=132,
    vector_width=4,
    vector_registers=63,
    clock_ghz=1.98,
    bandwidth_gbs=4240.0,
    fma_gflops=60_800.0,
    local_memory_bytes=48 * 1024,
    max_work_group=1024,
    launch_seconds=4.4e-6,
    memory_bytes=139 << 30,
)
"""An H200: copy bandwidth, FMA rate and empty kernel as measured on one."""


def memory_here() -> int:
    """The bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def bytes_text(count: int) -> str:
    """A number of bytes as messages have it.

    >>> from relift.device import bytes_text
    >>> bytes_text(3 << 42), bytes_text(3 << 19)
    ('12,288.0 GiB', '1.5 MiB')
    """
    unit, size = ("GiB", 30) if count >= 1 << 30 else ("MiB", 20)
    return f"{count / 2**size:,.1f} {unit}"


def registers_of(machine: str, width: int) -> int:
    """The vector registers of a CPU of an architecture, as `platform.machine` calls it.

    Vectors of 16 lanes are those of AVX-512, which has 32 registers, as ARM has; SSE and AVX have 16.

    >>> from relift.device import registers_of
    >>> registers_of("x86_64", 8), registers_of("x86_64", 16), registers_of("aarch64", 4)
    (16, 32, 32)
    """
    return 32 if width >= 16 or machine.lower() in ("aarch64", "arm64") else 16


def preset(target: str) -> DeviceDescription:
    """The description that stands for a kind of device, without asking OpenCL.

    >>> from relift.device import preset
    >>> preset("gpu").compute_units
    132
    """
    if not isinstance(target, str):
        raise IllTyped(f'target is "cpu", "gpu" or a description of a device, not {target!r}')
    known = {"cpu": CPU, "gpu": GPU} | described()
    if target in known:
        return known[target]
    raise Unsupported(
        f"no device description is called {target!r}; say {' or '.join(known)}, or describe the device"
    )


def described() -> dict[str, DeviceDescription]:
    """The devices that plug-ins describe, by their names: a search can be for one that is not here."""
    return working("devices", _unfit)


def _unfit(value: object) -> str | None:
    if not isinstance(value, DeviceDescription):
        return f"it names {value!r}"
    for field in fields(value):
        number = getattr(value, field.name)
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            least = 0 if field.name in _MAY_BE_NOTHING else 1e-9
            if not least <= number < math.inf:
                return f"its {field.name} is {number}"
    return None


_MAY_BE_NOTHING = (
    "local_memory_bytes",
    "memory_bytes",
    "launch_seconds",
    "refetch_cycles",
    "unseen_rows",
    "turned_cycles",
    "third_bytes",
    "third_gbs",
)
