"""What a call of a kernel on arrays of the device costs over the call of pyopencl alone: `python -m proofs_tests.call_cost`.

All are of one kernel of 64 work-items, so that the device has next to nothing to do; the time is that until the call returns.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import relift as rl

n = rl.nat("n")
CALLS, ROUNDS = 300, 25
BAR = 30e-6


@rl.program
def saxpy(a: rl.f32, x: rl.f32[n], y: rl.f32[n]):
    """A number times an array, plus another one."""
    return rl.map_glb(0)(lambda p: a * p[0] + p[1], rl.zip(x, y))


def seconds(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Those of one call, in the median of some rounds; nothing waits within one."""
    rounds: list[float] = []
    for _ in range(ROUNDS):
        wait()
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        rounds.append((time.perf_counter() - begin) / CALLS)
    return statistics.median(rounds)


def main() -> int:
    """A line for each way to call; exit status 1 where one costs more than the bar."""
    import pyopencl as cl

    from relift.compiler.dialects.opencl.session import OpenCLSession

    kernel, fast = rl.compile(saxpy), rl.jit(saxpy)
    x, y, out = (rl.device_array(np.ones(64, np.float32)) for _ in range(3))
    session = kernel.session()
    if not isinstance(session, OpenCLSession):
        print("the default device is none of OpenCL: there is nothing to compare with")
        return 2
    queue = cl.CommandQueue(x.resident.buffer.context)
    alone = cl.Program(x.resident.buffer.context, kernel.source).build().saxpy_1
    a, rows = np.float32(2), [r.resident.buffer for r in (x, y, out)]

    def raw() -> None:
        alone.set_args(a, *rows)
        cl.enqueue_nd_range_kernel(queue, alone, (64,), (64,))

    def wait() -> None:
        queue.finish()
        out.wait()

    ways: dict[str, Callable[[], Any]] = {
        "kernel(a, x, y, out=out)": lambda: kernel(a, x, y, out=out),
        "kernel(2.0, x, y, out=out)": lambda: kernel(2.0, x, y, out=out),
        "kernel(a, x, y)": lambda: kernel(a, x, y),
        "rl.jit(saxpy)(a, x, y, out=out)": lambda: fast(a, x, y, out=out),
    }
    for call in ways.values():
        call()
    base, worst = seconds(raw, wait), 0.0
    print(f"{'pyopencl alone':32} {base * 1e6:6.1f} us")
    for name, call in ways.items():
        over = seconds(call, wait) - base
        worst = max(worst, over)
        print(f"{name:32} {(base + over) * 1e6:6.1f} us, {over * 1e6:5.1f} more")
    return int(worst > BAR)


if __name__ == "__main__":
    sys.exit(main())
