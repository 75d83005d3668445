"""Kernels that the search finds from the high-level programs, as benchmarks: nothing here is low-level.

    relift bench --folder examples/searched --target cpu
    relift bench --folder examples/searched --target gpu --bundle found

Each variant is one of the candidates of `relift optimize`, in the order in which it would measure them; the
fastest is what `relift optimize --tune` keeps.
"""

from functools import cache
from pathlib import Path

import relift as rl
from relift.compiler.benchmarks import Benchmark, Reference
from relift.egraph.search import as_written
from relift.rewrites.loading import load_program

MOST = 12


def source(name):
    """The program of examples/NAME.py."""
    return load_program(str(Path(__file__).parents[1] / f"{name}.py"))


@cache
def candidates(name, target, sizes):
    """The programs that the search finds for examples/NAME.py."""
    found = rl.optimize(source(name), dict(sizes), target, top=MOST, varied=True)
    return [candidate.term for candidate in found.candidates]


def found(name, target):
    """A function from sizes and the number of a candidate to its program."""

    def program(candidate=0, **sizes):
        known = candidates(name, target, tuple(sorted(sizes.items())))
        return known[candidate % len(known)]

    return program


def written(name, target):
    """A function from sizes to the program of examples/NAME.py, lowered as it stands."""

    def program(**sizes):
        return as_written(source(name), sizes, target).term

    return program


def gold(name):
    """The NumPy function of the high-level program."""
    return source(name).reference


def benchmark(name, target, sizes, small, flops, moved, **more):
    return Benchmark(
        name,
        target,
        found(name, target),
        sizes=sizes,
        small=small,
        gold=gold(name),
        flops=flops,
        moved=moved,
        variants=[{"candidate": number} for number in range(MOST)],
        **more,
    )


def dots(n, m, **_):
    return 2 * n * m


def matrices(n, m, **_):
    return 8 * n * m


def windows(n, m, **_):
    return 2 * 5 * n * m


def streamed(n, m, **_):
    return 8 * n * m


PAIR = {"n": 1 << 28}
MATRIX = {"n": 8192, "m": 8192}
SMALL = [{"n": 64, "m": 64}, {"n": 128, "m": 64}]
SQUARES = [{"n": 64, "m": 64, "k": 64}]


def cube(n, m, k, **_):
    return 2 * n * m * k


def three_matrices(n, m, k, **_):
    return 4 * (n * k + k * m + n * m)


benchmarks = [
    benchmark("dot", "gpu", PAIR, [{"n": 4096}], lambda n, **_: 2 * n, lambda n, **_: 8 * n),
    benchmark(
        "gemv",
        "gpu",
        MATRIX,
        SMALL,
        dots,
        lambda n, m, **_: 4 * n * m,
        reference=Reference("NVIDIA SDK, one row per group", 116e-6),
    ),
    benchmark(
        "matmul",
        "gpu",
        {"n": 4096, "m": 4096, "k": 4096},
        SQUARES,
        cube,
        three_matrices,
        options=("-cl-fast-relaxed-math",),
        reference=Reference("CLBlast, tuned for an RTX 3080", 3.127e-3),
    ),
    benchmark("j2d5pt", "gpu", MATRIX, SMALL, windows, streamed),
    benchmark("j2d9pt", "gpu", MATRIX, SMALL, windows, streamed),
    benchmark(
        "matmul",
        "cpu",
        {"n": 1024, "m": 1024, "k": 1024},
        SQUARES,
        cube,
        three_matrices,
        numpy=lambda A, B: A @ B,
    ),
    Benchmark(
        "matmul_as_written",
        "cpu",
        written("matmul", "cpu"),
        {"n": 1024, "m": 1024, "k": 1024},
        SQUARES,
        gold("matmul"),
        cube,
        three_matrices,
        numpy=lambda A, B: A @ B,
    ),
]
