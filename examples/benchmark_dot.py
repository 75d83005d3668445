"""How fast the dot product that the search finds is, in one run on one device.

    python examples/benchmark_dot.py [N]

Prints the ratio to numpy.dot and to a naive kernel: one work-item per element, then a tree in local memory.
Times are the best of several rounds, taken in turn; quote the ratios, not the times.
"""

import sys
import time

import numpy as np
from dot import dot

import relift as rl
from relift.compiler.devices import describe, find_device, label

GROUP = 128


def naive(n):
    """One work-item multiplies one pair; each work-group then adds in a tree, halving every step."""

    @rl.program
    def naive_dot(x: rl.f32[n], y: rl.f32[n]):
        def add_pair(pair):
            return rl.reduce_seq(rl.add, 0.0, pair)

        def group(pairs):
            sums = rl.to_local(rl.map_lcl(0)(lambda p: p[0] * p[1], pairs))
            width = GROUP
            while width > 2:
                width //= 2
                sums = rl.to_local(rl.map_lcl(0)(add_pair, rl.split(2, sums)))
            return rl.map_lcl(0)(add_pair, rl.split(2, sums))

        partial = rl.join(rl.map_wrg(0)(group, rl.split(GROUP, rl.zip(x, y))))
        return rl.reduce_seq(rl.add, 0.0, rl.to_global(partial))

    return naive_dot


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 24
    device = find_device("cpu")
    generator = np.random.default_rng(0)
    arrays = tuple(generator.random(n, dtype=np.float32) for _ in range(2))
    found = rl.optimize(dot, sizes={"n": n}, target=describe(device))
    kernels = {"found": rl.compile(found.term), "naive": rl.compile(naive(n))}
    expected = np.dot(arrays[0].astype(np.float64), arrays[1])
    for name, kernel in kernels.items():
        error = abs(float(kernel(*arrays, device=label(device))) - expected) / expected
        assert error < 1e-3, f"{name} is off by {error:.1e}"
    times = {"found": [], "naive": [], "numpy": []}
    for _ in range(7):
        start = time.perf_counter()
        np.dot(*arrays)
        times["numpy"].append(time.perf_counter() - start)
        times["found"] += kernels["found"].timed(arrays, label(device), 1)
        if len(times["naive"]) < 3:
            times["naive"] += kernels["naive"].timed(arrays, label(device), 1)
    best = {name: min(seconds) for name, seconds in times.items()}
    print(f"dot, n = {n}, on {label(device)}, searched in {found.seconds:.1f} s")
    print(f"  faster than numpy.dot by  {best['numpy'] / best['found']:.2f}")
    print(f"  faster than naive by      {best['naive'] / best['found']:.2f}")


if __name__ == "__main__":
    main()
