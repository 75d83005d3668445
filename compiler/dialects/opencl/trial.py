"""A driver of OpenCL under test, and its devices: what is done to it in a process that may be lost."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from relift.compiler.devices.drivers import Driver, register, require_pyopencl
from relift.compiler.devices.self_test import GROUP, reason
from relift.compiler.dialects.backend import Opened
from relift.compiler.running.arrays.buffers import Row
from relift.compiler.running.processes.build_child import UNCACHED
from relift.semantics.errors import ReliftError, Unsupported

if TYPE_CHECKING:
    import pyopencl as cl

SPEED = """
kernel void copy(global const float16* restrict x, global float16* restrict out, int n) {
  for (int i = get_global_id(0) * n; i < (get_global_id(0) + 1) * n; ++i) out[i] = x[i];
}
kernel void multiply(global const float16* restrict x, global float16* restrict out, int n) {
  float16 a = x[0], b = x[1], c = x[2], d = x[3];
  const float16 s = x[4];
  for (int i = 0; i < n; ++i) {
    a = fma(a, s, a); b = fma(b, s, b); c = fma(c, s, c); d = fma(d, s, d);
  }
  out[get_global_id(0)] = a + b + c + d;
}
"""


class OpenCLTrial:
    """A device under test, with programs and buffers on it."""

    def __init__(self, device: Any) -> None:
        import pyopencl as cl

        self.device: cl.Device = device
        with _said():
            self.context = cl.Context([device])
            self.queue = cl.CommandQueue(self.context)

    def build(self, source: str) -> cl.Program:
        """A program of OpenCL."""
        import pyopencl as cl

        with _said():
            found: cl.Program = cl.Program(self.context, source).build(["-w"], cache_dir=UNCACHED)
            return found

    def call(self, program: cl.Program, kernel: str, x: Row, cells: int, group: int = GROUP) -> Row:
        """What a kernel of (x, out, n) writes to `out`; eight groups run it."""
        import pyopencl as cl

        flags = cl.mem_flags
        memory = np.empty(x.nbytes + 128, np.uint8)  # aligned as for the kernels of Relift
        start = -memory.ctypes.data % 128
        shared = memory[start : start + x.nbytes].view(x.dtype)
        shared[:] = x
        with _said():
            given = cl.Buffer(self.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=shared)
            out = np.zeros(cells, x.dtype)
            taken = cl.Buffer(self.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=out)
            cl.Kernel(program, kernel)(
                self.queue, (8 * group,), (group,), given, taken, np.int32(len(x))
            )
            cl.enqueue_copy(self.queue, out, taken)
        return out

    def speeds(self) -> dict[str, float]:
        """Bytes copied, and operations of fused multiply-add, in 1e9 per second: the best of some runs."""
        import pyopencl as cl

        program = self.build(SPEED)
        units = self.device.max_compute_units
        is_cpu = bool(self.device.type & cl.device_type.CPU)
        items = 4 * units if is_cpu else 256 * units
        per_item = max(1, (1 << 18) // items)  # 16 MiB in all
        x = np.full(16 * items * per_item, 1e-3, np.float32)
        flags = cl.mem_flags
        given = cl.Buffer(self.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x)
        out = cl.Buffer(self.context, flags.READ_WRITE, x.nbytes)
        turns = 10_000

        def seconds(kernel: str, n: int) -> float:
            made, times = cl.Kernel(program, kernel), list[float]()
            for _ in range(8):
                self.queue.finish()
                before = time.perf_counter()
                local = (1,) if is_cpu else None
                made(self.queue, (items,), local, given, out, np.int32(n))
                self.queue.finish()
                times.append(time.perf_counter() - before)
            return min(times)

        with _said():
            return {
                "bandwidth_gbs": round(2 * x.nbytes / seconds("copy", per_item) * 1e-9, 2),
                "fma_gflops": round(
                    2 * 4 * 16 * turns * items / seconds("multiply", turns) * 1e-9, 2
                ),
            }


@contextmanager
def _said() -> Generator[None]:
    """What OpenCL raises, as errors of Relift."""
    import pyopencl as cl

    try:
        yield
    except cl.Error as error:
        raise ReliftError(str(error), place="") from None


def opened(library: str, say: Callable[[Any], None]) -> Opened | None:
    """A driver, loaded as the only one of this process."""
    try:
        require_pyopencl()
    except Unsupported as error:
        say({"failure": error.message})
        return None
    before = set(mapped())
    try:
        loaded = ctypes.CDLL(library)
    except OSError as error:
        say({"failure": str(error)})
        return None
    if not hasattr(loaded, "clGetExtensionFunctionAddress"):
        say({"failure": "it is no OpenCL driver"})
        return None
    register([Driver(library, "the command line")])
    import pyopencl as cl

    say({"doing": "asking for its devices"})
    try:
        devices = [d for p in cl.get_platforms() for d in p.get_devices()]
    except cl.Error as error:
        say({"failure": f"it has no device: {reason(str(error))}"})
        return None
    if not devices:
        say({"failure": "it has no device"})
        return None
    files = set(mapped()) - before

    def all_files() -> list[str]:
        beside = {os.path.dirname(file) for file in files}  # kernels are mapped too, from elsewhere
        found = files | {file for file in mapped() if os.path.dirname(file) in beside}
        return sorted(found - before)

    return Opened(devices, OpenCLTrial, all_files, saturates=True)


def mapped() -> list[str]:
    """The files that this process has mapped and may run."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            rows = [line.split(maxsplit=5) for line in maps]
    except OSError:
        return []
    return sorted({r[5].strip() for r in rows if len(r) == 6 and "x" in r[1] and r[5][0] == "/"})
