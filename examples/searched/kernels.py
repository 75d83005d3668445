"""Kernels that the search finds from the high-level programs, as benchmarks: nothing here is low-level.

    relift bench --folder examples/searched --target cpu
    relift bench --folder examples/searched --target gpu --bundle found

Each variant is one of the candidates of `relift optimize`, in the order in which it would measure them; the
fastest is what `relift optimize --tune` keeps.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import relift as rl
from relift.compiler.bench.benchmarks import Benchmark, Draw, Reference
from relift.egraph.search.optimize import as_written
from relift.rewrites.loading import load_file, load_program

MOST = 12
LOW_LEVEL = Path(__file__).parents[1] / "low_level"
BY_HAND = load_file(LOW_LEVEL / "by_hand.py").BY_HAND
WITH_NUMPY = load_file(LOW_LEVEL / "with_numpy.py")


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


def benchmark(name, target, sizes, small, flops, moved, candidates_timed=MOST, **more):
    return Benchmark(
        name,
        target,
        found(name, target),
        sizes=sizes,
        small=small,
        gold=gold(name),
        flops=flops,
        moved=moved,
        variants=[{"candidate": number} for number in range(candidates_timed)],
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


def of_cells(flops, numbers):
    """Operations and bytes of a program of n, n by m, or n by m by k cells."""

    def cells(sizes):
        return int(np.prod([sizes[name] for name in ("n", "m", "k") if name in sizes]))

    return lambda **sizes: flops * cells(sizes), lambda **sizes: 4 * numbers * cells(sizes)


def on_cpu(name, sizes, flops, moved, numpy=None, hand=None, **more):
    """Three candidates of a program beside NumPy and, where there is one, a kernel written by hand."""
    return benchmark(
        name,
        "cpu",
        sizes,
        [],
        flops,
        moved,
        candidates_timed=3,
        numpy=numpy or getattr(WITH_NUMPY, name),
        by_hand=BY_HAND.get(hand or name),
        **more,
    )


def product(A, B):
    return A @ B


def padded_convolution(image, weights):
    return WITH_NUMPY.convolution(np.pad(image, len(weights) // 2), weights)


STREAM = {"n": 1 << 24}
PLANE = {"n": 4096, "m": 4096}
CPU_BENCHMARKS = [
    on_cpu("dot", STREAM, *of_cells(2, 2), numpy=np.dot),
    on_cpu("saxpy", STREAM, *of_cells(2, 3)),
    on_cpu("gemv", PLANE, *of_cells(2, 1)),
    on_cpu("transpose", PLANE, *of_cells(1, 2)),
    on_cpu("j2d5pt", PLANE, *of_cells(10, 2), numpy=WITH_NUMPY.j2d5pt_border, hand="j2d5pt_border"),
    on_cpu("j2d9pt", PLANE, *of_cells(18, 2)),
    on_cpu("j3d7pt", dict.fromkeys("nmk", 256), *of_cells(14, 2)),
    on_cpu(
        "convolution",
        {"h": 2048, "w": 2048, "r": 2},
        lambda h, w, r, **_: 2 * h * w * (2 * r + 1) ** 2,
        lambda h, w, **_: 8 * h * w,
        numpy=padded_convolution,
        hand="convolution_border",
    ),
    on_cpu("nbody", {"n": 4096}, lambda n, **_: 20 * n * n, lambda n, **_: 52 * n, tolerance=1e-3),
    on_cpu(
        "kmeans",
        {"n": 1 << 17, "k": 5, "d": 34},
        lambda n, k, d, **_: 3 * n * k * d,
        lambda n, d, **_: 4 * n * (d + 1),
        numpy=WITH_NUMPY.kmeans_rows,
        hand="kmeans_rows",
    ),
    on_cpu(
        "black_scholes",
        {"n": 1 << 22},
        *of_cells(60, 5),
        inputs={"options": Draw(1.0, 30.0)},
        tolerance=1e-4,
    ),
]

benchmarks = [
    *CPU_BENCHMARKS,
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
    *(
        replace(
            on_cpu("matmul", dict.fromkeys("nmk", size), cube, three_matrices, numpy=product),
            name=f"matmul_{size}",
            small=SQUARES,
        )
        for size in (512, 1024, 2048)
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
        numpy=product,
    ),
]
