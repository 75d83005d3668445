"""What the search finds on a GPU from high-level programs: those that have a reference by hand, and some that have none.

    relift bench --folder examples/searched --target gpu --bundle found
    python found/runner.py && python with_torch.py found results.json   (there, with results.json as it is written)

The times of the references are the best known of hand-written OpenCL, of PyTorch and of examples/low_level on an H200;
with_torch.py times PyTorch in the same run.
"""

from pathlib import Path
from typing import Any

from relift.bench import Draw, Reference, load_file

SEARCHING = load_file(Path(__file__).parent / "searching.py")
TIMED = 4
"""Candidates of each program: the best by estimate, of those that differ."""

MATRIX = {"n": 8192, "m": 8192}
SMALL = {"n": 64, "m": 64}
CUBE, SMALL_CUBE = dict.fromkeys("nmk", 4096), dict.fromkeys("nmk", 64)
SIGNED = Draw(-4.0, 4.0)
FAST = ("-cl-fast-relaxed-math",)
FLUSHED = (*FAST, "-cl-denorms-are-zero")
HAND = "by hand in low-level patterns"


def cells(sizes):
    """How many elements an array has whose lengths are all the sizes."""
    product = 1
    for length in sizes.values():
        product *= length
    return product


def on_gpu(name, sizes, small, flops, numbers, best=None, by=HAND, timed=TIMED, **more):
    """A program with its best known time in microseconds.

    `flops` are those of a cell, if a number, `numbers` how many of a cell are moved; functions of sizes give them all.
    """

    def count(of, **sizes) -> Any:
        sizes.pop("candidate", None)
        return of(**sizes) if callable(of) else of * cells(sizes)

    def operations(**sizes):
        return count(flops, **sizes)

    def moved(**sizes):
        return count(numbers, **sizes) * 4

    reference = None if best is None else Reference(by, best * 1e-6)
    return SEARCHING.benchmark(
        name, "gpu", sizes, [small], operations, moved, timed, reference=reference, **more
    )


def on_matrix(name, flops, numbers, best=None, by=HAND, **more):
    return on_gpu(name, MATRIX, SMALL, flops, numbers, best, by, **more)


def product(name, best, by="cuBLAS", size=4096, **more):
    sizes = dict.fromkeys("nmk", size)
    return on_gpu(
        name, sizes, SMALL_CUBE, 2, lambda n, m, k: n * k + k * m + n * m, best, by,
        timed=8, options=FAST, **more,
    )  # fmt: skip


OF_ROWS = {"n": 8192}
BATCH = {"c": 64, "n": 1024, "m": 1024, "k": 1024}
POINTS = {"n": 819200, "k": 5, "d": 34}
TORCH = "PyTorch"

benchmarks = [
    # folds
    on_gpu("dot", {"n": 1 << 28}, {"n": 4096}, 2, 2, 477),
    on_matrix("row_sums", 1, 1, 66),
    on_matrix("column_sums", 1, 1, 73.6, TORCH),
    on_gpu("column_variance", {"m": 8192}, {"m": 64}, lambda m: 4 * 8192 * m, lambda m: 8192 * m),
    on_matrix("largest_place", 1, 1, inputs={"A": SIGNED}),
    on_matrix("log_sum_exp", 3, 1, inputs={"A": SIGNED}),
    on_matrix(
        "cross_entropy", 3, 1, 141, TORCH, inputs={"A": SIGNED, "labels": Draw(0, "m", whole=True)}
    ),
    on_gpu("scan", {"n": 1 << 26}, {"n": 4096}, 1, 2),
    on_gpu("prefix_maximum", {"n": 1 << 26}, {"n": 4096}, 1, 2, inputs={"x": SIGNED}),
    on_matrix("row_scans", 1, 2),
    on_gpu(
        "histogram",
        {"n": 1 << 22, "b": 256},
        {"n": 1024, "b": 16},
        1,
        lambda n, b: n,
        inputs={"values": Draw(0, "b", whole=True)},
    ),
    # rows and their folds
    on_matrix("softmax", 4, 2, 199, TORCH, inputs={"A": SIGNED}),
    on_matrix("masked_softmax", 4, 3, inputs={"A": SIGNED, "kept": Draw(0, 2, whole=True)}),
    on_gpu(
        "layer_norm", OF_ROWS, {"n": 16}, lambda n: 7 * n * 8192, lambda n: 2 * n * 8192, 140, TORCH
    ),
    on_gpu("rms_norm", OF_ROWS, {"n": 16}, lambda n: 4 * n * 8192, lambda n: 2 * n * 8192),
    on_matrix("cosines", 6, 2),
    # matrices and vectors
    on_matrix("gemv", 2, 1, 65),
    on_matrix("gemv_transposed", 2, 1, 66.8, TORCH),
    on_matrix("atax", 4, 2, 133),
    on_matrix("gesummv", 4, 2, 119),
    on_matrix("bicg", 4, 2, 133),
    on_gpu("gemver", OF_ROWS, {"n": 64}, lambda n: 12 * n * n, lambda n: 2 * n * n, 282),
    on_matrix("rank_one", 2, 2),
    on_matrix("transpose", 1, 2, 136),
    on_matrix("sum_transposed", 1, 3),
    # products
    product("matmul", 2681),
    product("matmul_4000", 2641, size=4000, of="matmul"),
    product("matmul_4097", 3129, size=4097, of="matmul"),
    product("matmul_gpu_1024", 68, size=1024, of="matmul"),
    product("gemm", 2738),
    product("bias_relu", 2736),
    product("product_transposed", 2737),
    on_gpu(
        "products_batched",
        BATCH,
        {"c": 2, "n": 64, "m": 64, "k": 64},
        2,
        lambda c, n, m, k: c * (n * k + k * m + n * m),
        2735,
        "cuBLAS",
        options=FAST,
    ),
    on_gpu(
        "three_products",
        {"n": 2048},
        {"n": 64},
        lambda n: 6 * n**3,
        lambda n: 8 * n * n,
        options=FAST,
    ),
    on_gpu(
        "squared_distances",
        {"n": 4096, "m": 4096, "k": 64},
        SMALL_CUBE,
        3,
        lambda n, m, k: (n + m) * k + n * m,
    ),
    on_gpu(
        "mahalanobis",
        {"n": 1 << 20, "m": 16},
        {"n": 64, "m": 16},
        lambda n, m: n * m * (2 * m + 3),
        lambda n, m: n * m,
    ),
    on_gpu(
        "attention",
        {"n": 4096, "m": 4096, "k": 64},
        {"n": 32, "m": 32, "k": 8},
        4,
        lambda n, m, k: 2 * (n + m) * k,
        inputs={"Q": Draw(-1.0, 1.0), "K": Draw(-1.0, 1.0)},
    ),
    on_gpu(
        "covariance",
        {"m": 1024},
        {"m": 16},
        lambda m: 2 * 8192 * m * m,
        lambda m: 8192 * m + m * m,
    ),
    # images
    on_gpu(
        "conv2d",
        {"c": 64, "o": 64, "n": 128, "m": 128},
        {"c": 4, "o": 4, "n": 16, "m": 16},
        18,
        lambda c, o, n, m: (c + o) * n * m,
        46,
        "cuDNN",
    ),
    on_gpu(
        "convolution",
        {"h": 8192, "w": 8192, "r": 8},
        {"h": 64, "w": 64, "r": 2},
        lambda h, w, r: 2 * h * w * (2 * r + 1) ** 2,
        lambda h, w, r: 2 * h * w,
        1266,
    ),
    on_gpu(
        "convolution_separable",
        {"h": 8192, "w": 8192, "r": 8},
        {"h": 64, "w": 64, "r": 2},
        lambda h, w, r: 4 * h * w * (2 * r + 1),
        lambda h, w, r: 4 * h * w,
        364,
    ),
    on_matrix("j2d5pt", 10, 2, 154),
    on_matrix("j2d9pt", 18, 2, 166),
    on_gpu("j3d7pt", dict.fromkeys("nmk", 512), dict.fromkeys("nmk", 16), 14, 2),
    on_matrix("hotspot", 15, 3, 208, "Rodinia"),
    on_matrix("jacobi", 20, 8),
    on_gpu("box_blur", {"c": 3, "n": 4096, "m": 4096}, {"c": 3, "n": 32, "m": 32}, 49, 2),
    on_matrix("max_pool", 3, 5, inputs={"x": SIGNED}),
    # particles and others
    on_gpu("gelu", {"n": 1 << 28}, {"n": 4096}, 10, 2, inputs={"x": SIGNED}),
    on_gpu(
        "black_scholes",
        {"n": 1 << 25},
        {"n": 4096},
        60,
        5,
        inputs={"options": Draw(1.0, 30.0)},
        tolerance=1e-4,
    ),
    on_gpu(
        "nbody_nvidia",
        {"n": 131072},
        {"n": 256},
        lambda n: 20 * n * n,
        lambda n: 14 * n,
        8478,
        options=FLUSHED,
        tolerance=1e-3,
    ),
    on_gpu(
        "mriq",
        {"n": 262144, "k": 2048},
        {"n": 256, "k": 64},
        14,
        lambda n, k: 5 * n,
        320,
        options=FLUSHED,
        tolerance=1e-3,
    ),
    on_gpu(
        "md",
        {"n": 73728, "k": 128},
        {"n": 128, "k": 16},
        13,
        lambda n, k: n * k + 6 * n,
        67,
        "SHOC",
        inputs=SEARCHING.OF_ATOMS,
        options=FAST,
        tolerance=1e-4,
    ),
    on_gpu(
        "kmeans_columns",
        {"n": 819200, "k": 5, "m": 34},
        {"n": 128, "k": 5, "m": 34},
        3,
        lambda n, k, m: n * (m + 1),
        38,
        inputs={"features": Draw(0, 8, whole=True), "centres": Draw(0, 8, whole=True)},
    ),
    on_gpu(
        "kmeans",
        POINTS,
        {"n": 128, "k": 5, "d": 34},
        3,
        lambda n, k, d: n * (d + 1),
        36,
        inputs={"points": Draw(0, 8, whole=True), "centres": Draw(0, 8, whole=True)},
    ),
]
