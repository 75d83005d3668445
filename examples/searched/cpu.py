"""Kernels that the search finds from the high-level programs for a CPU: nothing here is low-level.

    relift bench --folder examples/searched --target cpu

Each variant is one of the candidates of `relift optimize`, in the order in which it would measure them; the
fastest is what `relift optimize --tune` keeps.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from relift.bench import Benchmark, Draw, load_file

HERE = Path(__file__).parent
LOW_LEVEL = HERE.parent / "low_level"
BY_HAND = load_file(LOW_LEVEL / "by_hand.py").BY_HAND
WITH_NUMPY = load_file(LOW_LEVEL / "with_numpy.py")
SEARCHING = load_file(HERE / "searching.py")


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
    return SEARCHING.benchmark(
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
benchmarks = [
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
        SEARCHING.written("matmul", "cpu"),
        {"n": 1024, "m": 1024, "k": 1024},
        SQUARES,
        SEARCHING.source("matmul").reference,
        cube,
        three_matrices,
        numpy=product,
    ),
]
