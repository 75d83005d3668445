"""Kernels that the search finds from the high-level programs for a CPU: nothing here is low-level.

    relift bench --folder examples/searched --target cpu

Each variant is one of the candidates of `relift optimize` for the device that is timed, in the order in which it would
measure them; the fastest is what `relift optimize --tune` keeps.
"""

from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np

from relift.bench import Benchmark, Draw, load_file

HERE = Path(__file__).parent
LOW_LEVEL = HERE.parent / "low_level"
BY_HAND = load_file(LOW_LEVEL / "by_hand.py").BY_HAND
WITH_NUMPY = load_file(HERE / "with_numpy.py")
SEARCHING = load_file(HERE / "searching.py")


SQUARES = [{"n": 64, "m": 64, "k": 64}]


def cube(n, m, k, **_):
    return 2 * n * m * k


def three_matrices(n, m, k, **_):
    return 4 * (n * k + k * m + n * m)


def of_cells(flops, numbers):
    """Operations and bytes of a program of n, n by m, or n by m by k cells."""
    return lambda **sizes: flops * cells(sizes), lambda **sizes: 4 * numbers * cells(sizes)


def cells(sizes):
    return prod(sizes[name] for name in ("c", "n", "m", "k") if name in sizes)


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


def of_product(name, sizes, products=1, **more):
    """Products of matrices that are made along an axis k."""

    def flops(**sizes):
        return products * 2 * cells(sizes)

    return on_cpu(name, sizes, flops, lambda **sizes: 4 * sizes["n"] * sizes["m"], **more)


STREAM = {"n": 1 << 24}
PLANE = {"n": 4096, "m": 4096}
ROWS = {"n": 2048}
CUBE = dict.fromkeys("nmk", 1024)
SIGNED = Draw(-4.0, 4.0)
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
        numpy=WITH_NUMPY.convolution_border,
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
    # folds
    on_cpu("row_sums", PLANE, *of_cells(1, 1)),
    on_cpu("column_sums", PLANE, *of_cells(1, 1)),
    on_cpu("column_variance", {"m": 4096}, *of_cells(4 * 8192, 8192)),
    on_cpu("largest_place", PLANE, *of_cells(1, 1), inputs={"A": SIGNED}),
    on_cpu("log_sum_exp", PLANE, *of_cells(3, 1), inputs={"A": SIGNED}),
    on_cpu(
        "cross_entropy",
        PLANE,
        *of_cells(3, 1),
        inputs={"A": SIGNED, "labels": Draw(0, "m", whole=True)},
    ),
    on_cpu("scan", STREAM, *of_cells(1, 2), tolerance=1e-3),
    on_cpu("prefix_maximum", STREAM, *of_cells(1, 2), inputs={"x": SIGNED}),
    on_cpu("row_scans", PLANE, *of_cells(1, 2), tolerance=1e-4),
    on_cpu(
        "histogram",
        {"n": 1 << 22, "b": 256},
        *of_cells(1, 1),
        inputs={"values": Draw(0, "b", whole=True)},
    ),
    # rows and their folds
    on_cpu("softmax", PLANE, *of_cells(4, 2), inputs={"A": SIGNED}),
    on_cpu(
        "masked_softmax",
        PLANE,
        *of_cells(4, 3),
        inputs={"A": SIGNED, "kept": Draw(0, 2, whole=True)},
    ),
    on_cpu("layer_norm", ROWS, *of_cells(7 * 8192, 2 * 8192), tolerance=1e-4),
    on_cpu("rms_norm", ROWS, *of_cells(4 * 8192, 2 * 8192)),
    on_cpu("cosines", PLANE, *of_cells(6, 2)),
    # matrices and vectors
    on_cpu("gemv_transposed", PLANE, *of_cells(2, 1)),
    on_cpu("atax", PLANE, *of_cells(4, 2)),
    on_cpu("gesummv", PLANE, *of_cells(4, 2)),
    on_cpu("bicg", PLANE, *of_cells(4, 2)),
    on_cpu("gemver", {"n": 4096}, *of_cells(12 * 4096, 2 * 4096)),
    on_cpu("rank_one", PLANE, *of_cells(2, 2)),
    on_cpu("sum_transposed", PLANE, *of_cells(1, 3)),
    # products
    replace(
        of_product("matmul", {"n": 1000, "m": 999, "k": 777}, numpy=product),
        name="matmul_1000_999_777",
        by_hand=None,  # whose blocks do not divide it
    ),
    of_product("gemm", CUBE),
    of_product("bias_relu", CUBE),
    of_product("product_transposed", CUBE),
    of_product("products_batched", {"c": 16, "n": 256, "m": 256, "k": 256}),
    on_cpu("three_products", {"n": 768}, lambda n, **_: 6 * n**3, lambda n, **_: 20 * n * n),
    of_product("squared_distances", {"n": 2048, "m": 2048, "k": 64}, tolerance=1e-4),
    on_cpu("mahalanobis", {"n": 1 << 17, "m": 16}, *of_cells(35, 1), tolerance=1e-4),
    of_product("attention", {"n": 2048, "m": 2048, "k": 64}, 2, tolerance=1e-4),
    on_cpu(
        "covariance",
        {"m": 512},
        lambda m, **_: 2 * 8192 * m * m,
        lambda m, **_: 4 * (8192 + m) * m,
        tolerance=1e-4,
    ),
    # images
    on_cpu(
        "conv2d",
        {"c": 64, "o": 64, "n": 128, "m": 128},
        lambda c, o, n, m, **_: 18 * c * o * n * m,
        lambda c, o, n, m, **_: 4 * (c + o) * n * m,
        tolerance=1e-4,
    ),
    on_cpu(
        "convolution_separable",
        {"h": 2048, "w": 2048, "r": 8},
        lambda h, w, r, **_: 4 * h * w * (2 * r + 1),
        lambda h, w, **_: 8 * h * w,
    ),
    on_cpu("hotspot", PLANE, *of_cells(15, 3)),
    on_cpu("jacobi", PLANE, *of_cells(20, 2)),
    on_cpu("box_blur", {"c": 3, "n": 2048, "m": 2048}, *of_cells(49, 2)),
    on_cpu("max_pool", {"n": 2048, "m": 2048}, *of_cells(3, 5), inputs={"x": SIGNED}),
    # particles and others
    on_cpu("gelu", {"n": 1 << 23}, *of_cells(10, 2), inputs={"x": SIGNED}),
    on_cpu(
        "mriq",
        {"n": 16384, "k": 1024},
        *of_cells(14, 0),
        tolerance=1e-3,
    ),
    on_cpu(
        "md",
        {"n": 12288, "k": 128},
        *of_cells(13, 1),
        inputs=SEARCHING.OF_ATOMS,
        tolerance=1e-4,
    ),
]
