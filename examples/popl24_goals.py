"""The seven matrix-product goals of guided equality saturation (POPL 2024), each from its sketch alone.

python examples/popl24_goals.py [--size 1024] [--workers 2] [--run]

The published guides (up to three per goal) are not needed: the stages in between are planned from the sketch.
Every goal comes with a derivation that has been replayed step by step.  With --workers 2, two goals are searched
at once: what is found is the same, and the times are those of searches that share the machine.  With --run, each
is also lowered and compiled; afterwards the kernels and NumPy take turns on the CPU device.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

import relift as rl

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")


@rl.program
def product(A: rl.f32[n, k], B: rl.f32[k, m]):
    """The dot product of every row of A with every column of B."""

    def dot(row, column):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, column)))

    return rl.map(lambda row: rl.map(lambda column: dot(row, column), rl.transpose(B)), A)


def nest(*loops, packed=""):
    """The sketch of loops, outermost first, around a product that is added; `packed` is the data of the first."""
    text = "... + ... * ..."
    for loop in reversed(loops[1:]):
        text = f"{loop}(... >= {text})"
    return rl.sketch(f"... >= {loops[0]}(... >= {text}{packed})")


PACKED = ", to_global(f32[m // tm, k, tm])"  # B as a row of blocks, in which a row of a block is contiguous
INSIDE = ("map[n // tn]", "reduce_seq[k // tk]", "map[tn]")
VECTORS = ("map[tm // w]", "map_vec[w]")

BASELINE = nest("map[n]", "map[m]", "reduce_seq[k]")
GOALS = {
    "baseline": BASELINE,
    "blocking": nest(
        "map[n // tn]",
        "map[m // tm]",
        "reduce_seq[k // tk]",
        "reduce_seq[tk]",
        "map[tn]",
        "map[tm]",
    ),
    "vectorisation": nest(
        "map[n // tn]", "map[m // tm]", "reduce_seq[k // tk]", "reduce_seq[tk]", "map[tn]", *VECTORS
    ),
    "loop permutation": nest(
        "map[n // tn]", "map[m // tm]", "reduce_seq[k // tk]", "map[tn]", "reduce_seq[tk]", *VECTORS
    ),
    "array packing": nest("map[m // tm]", *INSIDE, "reduce_seq[tk]", *VECTORS, packed=PACKED),
    "cache blocks": nest("map[m // tm]", *INSIDE, "reduce_seq_unroll[tk]", *VECTORS, packed=PACKED),
    "parallel": nest(
        "map_glb(0)[m // tm]", *INSIDE, "reduce_seq_unroll[tk]", *VECTORS, packed=PACKED
    ),
}


def sizes_of(sketch, size):
    """The sizes of a goal at square matrices of some size."""
    values = {"n": size, "m": size, "k": size, "tn": 32, "tm": 32, "tk": 4, "w": 16}
    return {s: v for s, v in values.items() if s in ("n", "m", "k", *sketch.names)}


def row(size, name):
    """One line of the table: a goal at square matrices of some size."""
    sketch = GOALS[name]
    found = rl.reach(product, sketch, sizes_of(sketch, size))
    return (
        f"{name:18}{found.nodes:7}{found.classes:9}{found.applied:9}"
        f"{found.seconds:7.2f} s{found.peak_mb:6.0f} MB{len(found.derivation.steps):7}"
    )


def times(size, rounds=7):
    """Seconds of the best kernel that satisfies each sketch, and of NumPy: the least of rounds in which they take turns."""
    draw = np.random.default_rng(0)
    A, B = (draw.random((size, size), np.float32) for _ in range(2))
    kernels = {}
    for name, sketch in GOALS.items():
        found = rl.optimize(product, sizes_of(sketch, size), "cpu", sketch=sketch)
        kernels[name] = rl.compile(found.term)
        np.testing.assert_allclose(kernels[name](A, B, device="cpu"), A @ B, rtol=1e-4)

    def numpy_seconds():
        started = time.perf_counter()
        A @ B
        return time.perf_counter() - started

    least = dict.fromkeys([*kernels, "NumPy"], float("inf"))
    for _ in range(rounds):
        taken = {name: min(kernel.timed((A, B), "cpu", 2)) for name, kernel in kernels.items()}
        taken["NumPy"] = numpy_seconds()
        least = {name: min(least[name], taken[name]) for name in least}
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024, help="rows and columns of every matrix")
    parser.add_argument("--workers", type=int, default=1, help="goals searched at once")
    parser.add_argument(
        "--run", action="store_true", help="compile and time each on the CPU device"
    )
    options = parser.parse_args()
    print(
        f"{'goal':18}{'nodes':>7}{'classes':>9}{'applied':>9}{'time':>9}{'memory':>9}{'steps':>7}"
    )
    line = partial(row, options.size)
    with ProcessPoolExecutor(options.workers) as workers:
        for text in workers.map(line, GOALS):
            print(text, flush=True)
    if options.run:
        least = times(options.size)
        print(f"\n{'kernel':18}{'time':>12}{'x NumPy':>9}")
        for name, seconds in least.items():
            print(f"{name:18}{seconds * 1e3:9.1f} ms{least['NumPy'] / seconds:9.2f}")


if __name__ == "__main__":
    main()
