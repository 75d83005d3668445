"""What the search finds on a CPU for programs of many fields for which nothing in it was tuned, beside NumPy.

    relift bench --folder examples/untuned --target intel,pocl

A benchmark is called like its program, with its sizes behind it where there are several.
"""

from math import prod
from pathlib import Path

from relift.bench import Draw, load_file

HERE = Path(__file__).parent
SEARCHING = load_file(HERE.parent / "searched" / "searching.py")
PROGRAMS, WITH_NUMPY = load_file(HERE / "programs.py"), load_file(HERE / "with_numpy.py")
SIGNED = Draw(-1.0, 1.0)
STEPS = Draw(-1.7, 1.7)
"""Steps of a path, of which the spread is about one."""


def on_cpu(program, sizes, flops, numbers, timed=2, tolerance=1e-4, **more):
    """Candidates of a program; `flops` are those of a cell, `numbers` how many of a cell are moved, or functions of sizes."""

    def counted(of, times):
        def count(candidate=0, **sizes):
            return times * (of(**sizes) if callable(of) else of * prod(sizes.values()))

        return count

    return SEARCHING.benchmark(
        program,
        "cpu",
        sizes,
        [],
        counted(flops, 1),
        counted(numbers, 4),
        timed,
        of=getattr(PROGRAMS, program, program),
        numpy=getattr(WITH_NUMPY, program),
        tolerance=tolerance,
        **more,
    )


def table(program, n, m, flops, numbers, **more):
    return on_cpu(program, {"n": n, "m": m}, flops, numbers, **more)


def block(program, n, m, k, flops, numbers, **more):
    return on_cpu(program, {"n": n, "m": m, "k": k}, flops, numbers, **more)


def square(program, n, flops, numbers, **more):
    """A program of a square matrix, of which there is one size."""
    return on_cpu(program, {"n": n}, lambda n: flops * n * n, lambda n: numbers * n * n, **more)


def operands(n, m, k):
    """The numbers of two matrices and of their product."""
    return n * k + k * m + n * m


benchmarks = [
    # folds of rows and columns
    table("row_variance", 3001, 1999, 4, 1),
    table("normalized", 3001, 1999, 3, 2),
    table("column_scans", 2048, 2048, 1, 2),
    table("softmax_columns", 2001, 1501, 4, 2, inputs={"A": SIGNED}),
    table("two_largest", 3001, 1001, 3, 1, inputs={"A": SIGNED}),
    table("layer_norm_gradient", 2000, 1000, 14, 3),
    table(
        "cross_entropy_gradient",
        3001,
        1000,
        5,
        2,
        inputs={"A": SIGNED, "labels": Draw(0, "m", whole=True)},
    ),
    # vectors and matrices
    table("weighted_rows", 3001, 2003, 2, 1),
    on_cpu("batched_gemv", {"c": 64, "n": 333, "m": 257}, 2, 1),
    square("mvt", 2000, 4, 1),
    table("huber_gradient", 3000, 1000, 4, 1),
    square("power_iteration", 1500, 10, 1),
    square("pagerank", 3001, 2, 1, inputs={"degree": Draw(1.0, 50.0)}),
    table("gram_schmidt", 20001, 64, 4, 1),
    # products
    on_cpu("syrk", {"n": 1000, "k": 500}, lambda n, k: 2 * n * n * k, lambda n, k: n * (k + 2 * n)),
    on_cpu(
        "syr2k", {"n": 700, "k": 500}, lambda n, k: 4 * n * n * k, lambda n, k: n * (2 * k + 2 * n)
    ),
    on_cpu(
        "triangular_product",
        {"n": 900, "m": 700},
        lambda n, m: 2 * n * n * m,
        lambda n, m: n * n + 2 * n * m,
    ),
    on_cpu(
        "correlation", {"n": 3001, "m": 300}, lambda n, m: 2 * n * m * m, lambda n, m: n * m + m * m
    ),
    block("shortest_paths", 501, 400, 300, 2, operands),
    block("l1_distances", 1001, 900, 64, 3, operands),
    table("density", 5000, 4000, 5, lambda n, m: n + m),
    on_cpu("predicted_covariances", {"c": 20000}, lambda c: 272 * c, lambda c: 48 * c),
    # layers of neural networks
    on_cpu(
        "mlp",
        {"n": 1001, "k": 256, "m": 384, "o": 10},
        lambda n, k, m, o: 2 * n * m * (k + o),
        lambda n, k, m, o: n * (k + o) + m * (k + o),
    ),
    block("gated_mlp", 256, 1000, 512, 6, operands),
    table("rotary", 4001, 500, 6, 6),
    on_cpu(
        "grouped_queries",
        {"c": 8, "o": 4, "k": 64, "m": 4001},
        lambda c, o, k, m: 4 * c * o * k * m,
        lambda c, o, k, m: 2 * c * k * m,
    ),
    on_cpu("batch_norm", {"n": 16, "c": 64, "m": 3136}, 3, 2),
    on_cpu(
        "embedded",
        {"n": 64, "m": 500, "c": 10000, "k": 128},
        lambda n, m, c, k: n * m * k,
        lambda n, m, c, k: 2 * n * m * k,
        inputs={"tokens": Draw(0, "c", whole=True)},
    ),
    block("strided", 16, 128, 128, 18, 5),
    # signals
    on_cpu("conv1d", {"n": 1 << 20}, 128, 2),
    table("biquads", 2000, 1000, 5, 2),
    table("upsampled", 2001, 1500, 2, 3),
    block("spectra", 2000, 129, 256, 4, lambda n, m, k: n * k + 2 * m * k + n * m),
    # images
    table("unsharp", 1500, 1001, 52, 2),
    table("harris", 1001, 1500, 60, 2),
    table("bilateral", 700, 801, 125, 2),
    table("dilated", 1000, 1500, 25, 2),
    table(
        "tile_histograms",
        64,
        96,
        256,
        272,
        inputs={"x": Draw(0, 16, whole=True)},
    ),
    # physics and finance
    table("fdtd", 1500, 1501, 6, 5),
    on_cpu("jacobi_1d", {"n": 1000001}, 30, 2),
    table("advection", 1501, 1000, 8, 4, inputs={"u": SIGNED, "v": SIGNED}),
    table("lattice_boltzmann", 400, 401, 130, 18, inputs={"cells": Draw(0.5, 1.0)}),
    block("bond_prices", 1001, 300, 60, 4, lambda n, m, k: n + m * k + n * m),
    table("barrier_options", 5000, 252, 6, 1, inputs={"steps": STEPS}),
    on_cpu(
        "fluxes",
        {"n": 100003},
        lambda n: 300 * n,
        lambda n: 26 * n,
        inputs={"cells": Draw(1.0, 2.0), "neighbours": Draw(0, "n", whole=True), "normals": SIGNED},
    ),
    on_cpu(
        "smoothed_particles",
        {"n": 20001, "k": 16},
        50,
        lambda n, k: n * (k + 8),
        inputs={"neighbours": Draw(0, "n", whole=True)},
    ),
    on_cpu(
        "best_paths",
        {"n": 301, "m": 203},
        lambda n, m: 3 * n * m * m,
        lambda n, m: 4 * n * m + m * m,
        inputs={"scores": SIGNED, "steps": SIGNED},
    ),
    block("curls", 61, 126, 130, 15, 9),
    on_cpu(
        "orthonormal",
        {"n": 100, "m": 5003},
        lambda n, m: 4 * n * n * m,
        lambda n, m: 2 * n * m,
        inputs={"A": SIGNED},
        tolerance=1e-3,
    ),
    table("slopes", 1001, 1003, 60, 3, inputs={"x": SIGNED}),
    block("permuted", 120, 130, 150, 1, 2),
    block("cube_mean", 120, 121, 130, 27, 2),
]
