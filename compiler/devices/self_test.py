"""What a device must compute before it is used, and what it may get wrong: run in a process of its own.

`python -m relift.compiler.devices.self_test BACKEND DRIVER FIRST` loads one driver and tests its devices from number
FIRST on.  Each line of its output is an object of JSON: `{"doing": …}` before a step that a driver may not survive,
`{"device": …}` before the first step on a device, `{"tested": …}` with what was found of it.  The last is
`{"files": …}`, what the driver consists of, or `{"failure": …}`: without it the driver ended the process.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from relift.compiler.bench.bundle_runner import in_order
from relift.compiler.devices.naming import IS_GPU, Device, is_simulator, label
from relift.semantics.errors import ReliftError

if TYPE_CHECKING:
    from relift.compiler.dialects.backend import Opened, Trial

Floats: TypeAlias = npt.NDArray[np.float32]

STEP_SECONDS = 30
"""A step that takes longer is taken for one without an end."""

FORKED_SECONDS = 12
"""A forked process that takes longer waits for threads that it has not."""

LENGTH, GROUP = 997, 64


def threads() -> int:
    """How many threads this process has."""
    return len(os.listdir("/proc/self/task"))


_VECTORS = """
kernel void vectors{w}(global const float* restrict x, global float* restrict out, int n) {{
  for (int i = get_global_id(0); i < n / {w}; i += get_global_size(0)) {{
    vstore{w}(vload{w}(i, x) * 2.0f + 1.0f, i, out);
  }}
  if (get_global_id(0) == 0) {{
    for (int i = n / {w} * {w}; i < n; ++i) {{
      out[i] = 2.0f * x[i] + 1.0f;
    }}
  }}
}}
"""
BASICS = f"""
#pragma OPENCL FP_CONTRACT OFF
kernel void scalars(global const float* restrict x, global float* restrict out, int n) {{
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) {{
    out[i] = 2.0f * x[i] + 1.0f;
  }}
}}
{"".join(_VECTORS.format(w=w) for w in (2, 3, 4, 8, 16))}
kernel void aligned(global const float* restrict x, global float* restrict out, int n) {{
  local float16 tile[4] __attribute__((aligned(128)));
  for (int i = get_group_id(0); i < n / 64; i += get_num_groups(0)) {{
    for (int l = get_local_id(0); l < 4; l += get_local_size(0)) {{
      tile[l] = ((global const float16*)x)[4 * i + l];
    }}
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = get_local_id(0); l < 4; l += get_local_size(0)) {{
      ((global float16*)out)[4 * i + l] = tile[3 - l].s76543210fedcba98;
    }}
    barrier(CLK_LOCAL_MEM_FENCE);
  }}
}}
kernel void tree(global const int* restrict x, global int* restrict out, int n) {{
  local int tile[64];
  const int l = get_local_id(0), size = get_local_size(0);
  for (int g = get_group_id(0); g < n / 64; g += get_num_groups(0)) {{
    for (int i = l; i < 64; i += size) {{
      tile[i] = x[64 * g + i];
    }}
    for (int step = 0; step < 6; ++step) {{
      const int rest = 32 >> step;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = l; i < rest; i += size) {{
        tile[i] = 3 * tile[i] + tile[i + rest];
      }}
    }}
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {{
      out[g] = tile[0];
    }}
    barrier(CLK_LOCAL_MEM_FENCE);
  }}
}}
kernel void ordered(global const float* restrict x, global float* restrict out, int n) {{
  for (int i = get_global_id(0); i < 8; i += get_global_size(0)) {{
    out[i] = 0.0f;
    for (int k = i; k < n; k += 8) {{
      out[i] = out[i] + x[k];
    }}
  }}
}}
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
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
    out[i] = x[i] * x[i] + x[n - 1 - i];
  }
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
__attribute__((reqd_work_group_size(4, 1, 1)))
kernel void skipped(global const float* restrict x, global float* restrict out, int n) {
  local float tile[1];
  const int g = get_group_id(0);
  const int l = get_local_id(0);
  if (g < n / 4) {
    if (l < 1) {
      tile[0] = x[g];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 1) {
      out[g] = tile[0];
    }
  }
  if (l < 1) {
    out[n + g] = x[g];
  }
}

kernel void reread(global const float* restrict x, global float* restrict out, int n) {
  local float tile[8];
  for (int g = get_group_id(0); g < 64; g += get_num_groups(0)) {
    for (int l = get_local_id(0); l < 8; l += get_local_size(0)) {
      tile[l] = 100.0f * x[8 * g + l];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = get_local_id(0); l < 4; l += get_local_size(0)) {
      out[4 * g + l] = (float)max(i64_from_float(tile[3]), i64_from_float(tile[3]));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
"""

SATURATED = """
kernel void saturated(global const int* restrict x, global int* restrict out, int n) {
  for (int i = get_global_id(0); i < n / 4; i += get_global_size(0)) {
    vstore4(mad_sat(vload4(i, x), (int4)(2), (int4)(-1)), i, out);
  }
}
"""
"""2x - 1 of numbers as vectors, which is no number beyond its type where x is none of the largest.

The driver of Intel for CPUs (2026.22.10) gives 2147483647 where x is 0, and at all other such x what it should: where a
product that is not negative and a negative number come to less than 0.  Of single numbers it gives what it should.
"""


def basics(run: Trial, group: int) -> Iterator[tuple[str, bool]]:
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


def defects(run: Trial, group: int, *, saturates: bool = False) -> Iterator[str]:
    """The names, as in `devices.DEFECTS`, of what the device gets wrong; `saturates`: its language has such functions."""
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
    said = run.call(program, "skipped", x[:16], 24, 4)
    if not (np.array_equal(said[:4], x[:4]) and np.array_equal(said[16:], x[:8])):
        yield "conditional barriers"
    wanted = np.repeat(np.trunc(np.float32(100) * x[:512].reshape(64, 8)[:, 3]), 4)
    if not np.array_equal(run.call(program, "reread", x, 256, group), wanted):
        yield "stale local memory"
    if saturates:
        numbers = np.arange(-32, 32, dtype=np.int32)
        given = run.call(run.build(SATURATED), "saturated", numbers, len(numbers), group)
        if not np.array_equal(given, 2 * numbers - 1):
            yield "saturated vectors"


def in_sequence(run: Trial, program: Any) -> bool:
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


def fork(run: Trial, group: int) -> int:
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


def examine(
    device: Device, opened: Opened, number: int, say: Callable[[Any], None], before: int
) -> None:
    """Test one device, and say what was found; threads beyond those `before` are its driver's."""
    is_gpu = bool(device.type & IS_GPU)
    say(
        {
            "device": {
                "number": number,
                "name": label(device),
                "kind": "gpu" if is_gpu else "cpu",
                "driver": f"{device.platform.name} {device.driver_version}",
            }
        }
    )
    group = min(GROUP, device.max_work_group_size)
    try:
        say({"doing": "opening it"})
        run = opened.trial(device)
        say({"doing": "building and running kernels"})
        failed = [name for name, right in basics(run, group) if not right]
        if failed:
            say({"tested": {"failure": f"it computes wrong results: {', '.join(failed)}"}})
            return
        say({"doing": "building and running folds of floats"})
        wrong = list(defects(run, group, saturates=opened.saturates))
        say({"doing": "measuring its speed"})
        # in a forked process, where they are not, they are waited for: always, or once in 30 times, so none is tried
        has_threads = threads() > before and not opened.survives_forks
        forked = None if has_threads else fork(run, group)
        speed = {} if is_simulator(device) else run.speeds()
        say({"doing": "running a kernel in a forked process"})
        if forked is None or not well(forked):
            wrong.append("lost by forking")
        say({"tested": {"defects": wrong, **speed}})
    except RuntimeError as error:  # those of OpenCL are such
        say({"tested": {"failure": reason(str(error))}})
    except ReliftError as error:
        say({"tested": {"failure": reason(error.message)}})


def reason(message: str) -> str:
    """The line of an error of OpenCL that says most.

    >>> from relift.compiler.devices.self_test import reason
    >>> reason("clBuildProgram failed: FAILURE\\n\\nBuild on <device>:\\n\\nerror: unknown target CPU 'x'\\nmore")
    "error: unknown target CPU 'x'"
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(\S+: )?(fatal )?error\b", line)]
    return (errors or lines or ["an error without a message"])[0][:200]


def main(backend: str, library: str, first: int) -> None:
    """Test the devices of a driver from the given one on."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a driver prints is not for the reader of the results

    def say(line: Any) -> None:
        signal.alarm(STEP_SECONDS + 10)  # nobody may be left to end it
        print(json.dumps(line), file=channel, flush=True)

    from relift.compiler.dialects.backend import backends

    before = threads()
    say({"doing": "loading it"})
    opened = backends()[backend].opened(library, say)
    if opened is None:
        return
    for number, device in enumerate(opened.devices):
        if number >= first:
            examine(device, opened, number, say, before)
    say({"files": opened.files()})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
