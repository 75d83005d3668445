"""What a device must compute before it is used, and what it may get wrong: run in a process of its own.

`python -m relift.compiler.devices.self_test LIBRARY FIRST` loads one driver and tests its devices from number FIRST on.
Each line of its output is an object of JSON: `{"doing": …}` before a step that a driver may not survive,
`{"device": …}` before the first step on a device, `{"tested": …}` with what was found of it.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from relift.compiler.codegen.passes.exact_loops import in_order
from relift.compiler.devices.drivers import Driver, register
from relift.compiler.running.build_child import UNCACHED

if TYPE_CHECKING:
    import pyopencl as cl

Floats: TypeAlias = npt.NDArray[np.float32]

STEP_SECONDS = 30
"""A step that takes longer is taken for one without an end."""

FORKED_SECONDS = 12
"""A forked process that takes longer waits for threads that it has not."""

LENGTH, GROUP = 997, 64

BASICS = """
#pragma OPENCL FP_CONTRACT OFF
kernel void scalars(global const float* restrict x, global float* restrict out, int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = 2.0f * x[i] + 1.0f;
}
#define VECTORS(W) \\
  kernel void vectors##W(global const float* restrict x, global float* restrict out, int n) { \\
    for (int i = get_global_id(0); i < n / W; i += get_global_size(0)) \\
      vstore##W(vload##W(i, x) * 2.0f + 1.0f, i, out); \\
    if (get_global_id(0) == 0) \\
      for (int i = n / W * W; i < n; ++i) out[i] = 2.0f * x[i] + 1.0f; \\
  }
VECTORS(2) VECTORS(3) VECTORS(4) VECTORS(8) VECTORS(16)
kernel void aligned(global const float* restrict x, global float* restrict out, int n) {
  local float16 tile[4] __attribute__((aligned(128)));
  for (int i = get_group_id(0); i < n / 64; i += get_num_groups(0)) {
    for (int l = get_local_id(0); l < 4; l += get_local_size(0))
      tile[l] = ((global const float16*)x)[4 * i + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = get_local_id(0); l < 4; l += get_local_size(0))
      ((global float16*)out)[4 * i + l] = tile[3 - l].s76543210fedcba98;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
kernel void tree(global const int* restrict x, global int* restrict out, int n) {
  local int tile[64];
  const int l = get_local_id(0), size = get_local_size(0);
  for (int g = get_group_id(0); g < n / 64; g += get_num_groups(0)) {
    for (int i = l; i < 64; i += size) tile[i] = x[64 * g + i];
    for (int rest = 32; rest > 0; rest /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = l; i < rest; i += size) tile[i] = 3 * tile[i] + tile[i + rest];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) out[g] = tile[0];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
kernel void ordered(global const float* restrict x, global float* restrict out, int n) {
  for (int i = get_global_id(0); i < 8; i += get_global_size(0)) {
    volatile float acc = 0.0f;
    for (int k = i; k < n; k += 8) acc = acc + x[k];
    out[i] = acc;
  }
}
"""

DEFECTS = """
#pragma OPENCL FP_CONTRACT OFF
kernel void fold(global const float* restrict x, global float* restrict out, int n) {
  float acc = 0.0f;
  for (int k = 0; k < n; ++k) {
    acc = acc + x[k];
  }
  out[get_global_id(0)] = acc;
}
kernel void differences(global const float* restrict x, global float* restrict out, int n) {
  float acc = 0.0f;
  for (int k = 0; k < 96; ++k) {
    acc = acc - ((x[k] - x[k]) - x[k]);
  }
  for (int k = 0; k < 2 * n - 1000; ++k) {
    acc = acc + x[k % n] * x[k % n];
  }
  out[get_global_id(0)] = acc;
}
kernel void products(global const float* restrict x, global float* restrict out, int n) {
  float acc = 0.0f;
  for (int k = 0; k < 997; ++k) {
    acc = acc + (x[k] * x[996 - k]);
  }
  out[get_global_id(0)] = acc;
}
kernel void parts(global const float* restrict x, global float* restrict out, int n) {
  float own[16];
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    own[i] = 0.0f;
  }
  for (int k = 0; k < n / 16; ++k) {
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      own[i] = own[i] + x[16 * k + i];
    }
  }
  float acc = 0.0f;
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    acc = acc + own[i];
  }
  out[get_global_id(0)] = acc;
}
kernel void contracted(global const float* restrict x, global float* restrict out, int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = x[i] * x[i] + x[n - 1 - i];
}
kernel void extremes(global const float* restrict x, global float* restrict out, int n) {
  for (int i = get_global_id(0); i < 4; i += get_global_size(0)) {
    const float zero = 0.0f * (float)i, nan = zero / zero;
    out[4 * i] = fmin(zero, nan);
    out[4 * i + 1] = fmax(zero, nan);
    out[4 * i + 2] = fmin(nan, zero);
    out[4 * i + 3] = fmax(nan, zero);
  }
}
long i64_from_float(float x) {
  return isnan(x) ? 0 : x >= 0x1p63f ? LONG_MAX : x <= -0x1p63f ? LONG_MIN : (long)x;
}
kernel void reread(global const float* restrict x, global float* restrict out, int n) {
  local float tile[8];
  for (int g = get_group_id(0); g < 64; g += get_num_groups(0)) {
    for (int l = get_local_id(0); l < 8; l += get_local_size(0)) tile[l] = 100.0f * x[8 * g + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = get_local_id(0); l < 4; l += get_local_size(0))
      out[4 * g + l] = (float)max(i64_from_float(tile[3]), i64_from_float(tile[3]));
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
"""

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


@dataclass(frozen=True)
class Run:
    """A device under test, with programs and buffers on it."""

    context: cl.Context
    queue: cl.CommandQueue

    def build(self, source: str) -> cl.Program:
        import pyopencl as cl

        found: cl.Program = cl.Program(self.context, source).build(["-w"], cache_dir=UNCACHED)
        return found

    def call(
        self, program: cl.Program, kernel: str, x: npt.NDArray[Any], cells: int, group: int = GROUP
    ) -> npt.NDArray[Any]:
        """What a kernel of (x, out, n) writes to `out`; eight groups run it."""
        import pyopencl as cl

        flags = cl.mem_flags
        memory = np.empty(x.nbytes + 128, np.uint8)  # aligned as for the kernels of Relift
        start = -memory.ctypes.data % 128
        shared = memory[start : start + x.nbytes].view(x.dtype)
        shared[:] = x
        given = cl.Buffer(self.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=shared)
        out = np.zeros(cells, x.dtype)
        taken = cl.Buffer(self.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=out)
        cl.Kernel(program, kernel)(
            self.queue, (8 * group,), (group,), given, taken, np.int32(len(x))
        )
        cl.enqueue_copy(self.queue, out, taken)
        return out


def basics(run: Run, group: int) -> Iterator[tuple[str, bool]]:
    """What any program needs, each with whether the device computes it."""
    program = run.build(BASICS)
    x = np.arange(LENGTH, dtype=np.float32)
    for name in ("scalars", *(f"vectors{w}" for w in (2, 3, 4, 8, 16))):
        got = run.call(program, name, x, LENGTH, group)
        yield name, np.array_equal(got, 2 * x + 1)
    x = np.arange(1024, dtype=np.float32)
    lanes = [*range(7, -1, -1), *range(15, 7, -1)]
    wanted = x.reshape(-1, 4, 16)[:, ::-1, lanes].reshape(-1)
    yield (
        "aligned vectors in local memory",
        np.array_equal(run.call(program, "aligned", x, 1024, group), wanted),
    )
    numbers = np.arange(1024, dtype=np.int32) * 7 % 31
    tile = numbers.reshape(-1, 64)
    while tile.shape[1] > 1:
        half = tile.shape[1] // 2
        tile = 3 * tile[:, :half] + tile[:, half:]
    got = run.call(program, "tree", numbers, 16, group)
    yield "barriers", np.array_equal(got, tile[:, 0])
    x = drawn()
    folds = np.array([folded(x[i::8]) for i in range(8)])
    yield "a fold in memory", np.array_equal(run.call(program, "ordered", x, 8, group), folds)


def defects(run: Run, group: int) -> Iterator[str]:
    """The names, as in `devices.DEFECTS`, of what the device gets wrong."""
    program = run.build(DEFECTS)
    x = drawn()
    if not in_sequence(run, program):
        yield "reassociates"
        if not in_sequence(run, run.build(in_order(DEFECTS))):
            yield "reassociates always"
    if not np.array_equal(run.call(program, "contracted", x, LENGTH, group), x * x + x[::-1]):
        yield "contracts"
    wanted = np.zeros(4, np.float32)
    extremes = run.call(program, "extremes", x, 16, group).reshape(4, 4)
    if not all(np.array_equal(row, wanted) for row in extremes):
        yield "fmin of NaN"
    wanted = np.repeat(np.trunc(np.float32(100) * x[:512].reshape(64, 8)[:, 3]), 4)
    if not np.array_equal(run.call(program, "reread", x, 256, group), wanted):
        yield "stale local memory"


def in_sequence(run: Run, program: cl.Program) -> bool:
    """Whether folds of floats are taken from left to right."""
    x = drawn()
    squares = x[np.arange(2 * LENGTH - 1000) % LENGTH] ** 2
    lanes = np.zeros(16, np.float32)
    for row in x[: LENGTH // 16 * 16].reshape(-1, 16):
        lanes = lanes + row
    wanted = {
        "fold": folded(x),
        "differences": folded(squares, folded(x[:96])),
        "products": folded(x * x[::-1]),
        "parts": folded(lanes),
    }
    return all(
        np.array_equal(run.call(program, name, x, 8, 1), np.full(8, value, np.float32))
        for name, value in wanted.items()
    )


def drawn() -> Floats:
    """Floats whose sum depends on the order."""
    return np.random.default_rng(1).standard_normal(LENGTH).astype(np.float32)


def folded(x: Floats, start: np.float32 | float = 0.0) -> np.float32:
    """The sum from left to right."""
    return np.float32(np.add.accumulate(np.append(np.float32(start), x), dtype=np.float32)[-1])


def speeds(run: Run, device: cl.Device) -> dict[str, float]:
    """Bytes copied, and operations of fused multiply-add, in 1e9 per second: the best of some runs."""
    import pyopencl as cl

    program = run.build(SPEED)
    units = device.max_compute_units
    items = 4 * units if device.type & cl.device_type.CPU else 256 * units
    per_item = max(1, (1 << 18) // items)  # 16 MiB in all
    x = np.full(16 * items * per_item, 1e-3, np.float32)
    flags = cl.mem_flags
    given = cl.Buffer(run.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x)
    out = cl.Buffer(run.context, flags.READ_WRITE, x.nbytes)
    turns = 10_000

    def seconds(kernel: str, n: int) -> float:
        made, times = cl.Kernel(program, kernel), []
        for _ in range(8):
            run.queue.finish()
            before = time.perf_counter()
            made(
                run.queue,
                (items,),
                (1,) if device.type & cl.device_type.CPU else None,
                given,
                out,
                np.int32(n),
            )
            run.queue.finish()
            times.append(time.perf_counter() - before)
        return min(times)

    return {
        "bandwidth_gbs": round(2 * x.nbytes / seconds("copy", per_item) * 1e-9, 2),
        "fma_gflops": round(2 * 4 * 16 * turns * items / seconds("multiply", turns) * 1e-9, 2),
    }


def fork(run: Run, group: int) -> int:
    """A copy of this process that ends with 0 if the device still computes there."""
    process = os.fork()
    if not process:
        with suppress(Exception):
            signal.alarm(FORKED_SECONDS)
            if all(right for _, right in basics(run, group)):
                os._exit(0)
        os._exit(1)
    return process


def well(process: int) -> bool:
    """Whether a process ends with 0."""
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status) == 0


def examine(device: cl.Device, number: int, say: Callable[[Any], None]) -> None:
    """Test one device, and say what was found."""
    import pyopencl as cl

    from relift.compiler.devices.naming import is_simulator, label

    name = label(device)
    is_gpu = bool(device.type & cl.device_type.GPU)
    say(
        {
            "device": {
                "number": number,
                "name": name,
                "kind": "gpu" if is_gpu else "cpu",
                "driver": f"{device.platform.name} {device.driver_version}",
            }
        }
    )
    group = min(GROUP, device.max_work_group_size)
    try:
        say({"doing": "opening it"})
        context = cl.Context([device])
        run = Run(context, cl.CommandQueue(context))
        say({"doing": "building and running kernels"})
        failed = [name for name, right in basics(run, group) if not right]
        if failed:
            say({"tested": {"failure": f"it computes wrong results: {', '.join(failed)}"}})
            return
        say({"doing": "building and running folds of floats"})
        wrong = list(defects(run, group))
        say({"doing": "measuring its speed"})
        forked = fork(run, group)
        speed = {} if is_simulator(device) else speeds(run, device)
        say({"doing": "running a kernel in a forked process"})
        if not well(forked):
            wrong.append("lost by forking")
        say({"tested": {"defects": wrong, **speed}})
    except cl.Error as error:
        say({"tested": {"failure": reason(str(error))}})


def reason(message: str) -> str:
    """The line of an error of OpenCL that says most.

    >>> from relift.compiler.devices.self_test import reason
    >>> reason("clBuildProgram failed: FAILURE\\n\\nBuild on <device>:\\n\\nerror: unknown target CPU 'x'\\nmore")
    "error: unknown target CPU 'x'"
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(\S+: )?(fatal )?error\b", line)]
    return (errors or lines or ["an error without a message"])[0][:200]


def mapped() -> list[str]:
    """The files that this process has mapped and may run."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            rows = [line.split(maxsplit=5) for line in maps]
    except OSError:
        return []
    return sorted({r[5].strip() for r in rows if len(r) == 6 and "x" in r[1] and r[5][0] == "/"})


def main(library: str, first: int) -> None:
    """Test the devices of a driver from the given one on."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a driver prints is not for the reader of the results

    def say(line: Any) -> None:
        signal.alarm(STEP_SECONDS + 10)  # nobody may be left to end it
        print(json.dumps(line), file=channel, flush=True)

    say({"doing": "loading it"})
    importlib.import_module("pyopencl")
    before = set(mapped())
    try:
        loaded = ctypes.CDLL(library)
    except OSError as error:
        say({"failure": str(error)})
        return
    if not hasattr(loaded, "clGetExtensionFunctionAddress"):
        say({"failure": "it is no OpenCL driver"})
        return
    register([Driver(library, "the command line")])
    import pyopencl as cl

    say({"doing": "asking for its devices"})
    try:
        devices = [d for p in cl.get_platforms() for d in p.get_devices()]
    except cl.Error as error:
        say({"failure": f"it has no device: {reason(str(error))}"})
        return
    files = set(mapped()) - before
    for number, device in enumerate(devices):
        if number >= first:
            examine(device, number, say)
    beside = {os.path.dirname(file) for file in files}  # kernels are mapped too, from elsewhere
    files |= {file for file in mapped() if os.path.dirname(file) in beside}
    say({"files": sorted(files - before)})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
