"""What the search finds on a GPU for programs, and at sizes, for which nothing in it was tuned.

    relift bench --folder examples/untuned --target gpu --bundle found
    python found/runner.py && python examples/untuned/with_torch.py found results.json

A benchmark is called like its program, with its sizes behind it.
"""

from pathlib import Path

from relift.bench import Draw, load_file

HERE = Path(__file__).parent
SEARCHED = load_file(HERE.parent / "searched" / "gpu.py")
PROGRAMS = load_file(HERE / "programs.py")
SIGNED = Draw(-4.0, 4.0)
SMALL = {"n": 16, "m": 24, "k": 40, "c": 2, "o": 3, "b": 16}


def on_gpu(program, sizes, flops, numbers, **more):
    """A program at sizes; `flops` are those of a cell, `numbers` how many of a cell are moved, or functions of sizes."""
    return SEARCHED.on_gpu(
        "_".join(map(str, (program, *sizes.values()))),
        sizes,
        {size: SMALL[size] for size in sizes},
        flops,
        numbers,
        of=getattr(PROGRAMS, program, program),
        **more,
    )


def product(n, m, k, program="matmul", **more):
    def moved(n, m, k):
        return n * k + k * m + n * m

    sizes = {"n": n, "m": m, "k": k}
    return on_gpu(program, sizes, 2, moved, timed=6, options=SEARCHED.FAST, **more)


def table(program, n, m, flops, numbers, **more):
    return on_gpu(program, {"n": n, "m": m}, flops, numbers, **more)


benchmarks = [
    # products
    product(8192, 8, 8200),
    product(8, 8192, 8200),
    product(8200, 8200, 8200),
    product(1030, 1030, 1030),
    product(256, 256, 65536),
    product(4096, 4096, 16),
    product(100000, 64, 64),
    product(333, 777, 5555),
    product(33, 4096, 4096),
    product(200, 200, 200),
    product(64, 100000, 64),
    product(1500, 900, 700, "product_transposed"),
    product(3000, 2000, 64, "l1_distances"),
    on_gpu(
        "mlp",
        {"n": 8192, "m": 512, "k": 256, "o": 64},
        lambda n, m, k, o: 2 * n * m * (k + o),
        lambda n, m, k, o: n * (k + o) + m * (k + o),
        options=SEARCHED.FAST,
    ),
    on_gpu(
        "products_batched",
        {"c": 512, "n": 65, "m": 65, "k": 65},
        2,
        lambda c, n, m, k: c * (n * k + k * m + n * m),
        options=SEARCHED.FAST,
    ),
    # matrices and vectors
    on_gpu("batched_gemv", {"c": 512, "n": 333, "m": 257}, 2, 1),
    table("gemv", 1000000, 40, 2, 1),
    table("gemv", 48, 1000000, 2, 1),
    table("gemv_transposed", 1000000, 40, 2, 1),
    table("weighted_rows", 6001, 5003, 2, 1),
    # folds of rows and columns
    table("row_sums", 64, 1000003, 1, 1),
    table("row_sums", 1000000, 17, 1, 1),
    table("column_sums", 1000003, 16, 1, 1),
    table("column_sums", 64, 1000000, 1, 1),
    table("column_sums", 3001, 2003, 1, 1),
    table("softmax", 100000, 33, 4, 2, inputs={"A": SIGNED}),
    table("softmax", 16, 1000000, 4, 2, inputs={"A": SIGNED}),
    table("softmax", 3333, 1111, 4, 2, inputs={"A": SIGNED}),
    table("row_variance", 5000, 3000, 3, 1),
    table("normalized", 7777, 1001, 3, 2),
    table("largest_place", 333, 100001, 1, 1, inputs={"A": SIGNED}),
    # scans, counts, and what only moves
    on_gpu("scan", {"n": 3000001}, 1, 2),
    table("row_scans", 1000, 33333, 1, 2),
    table("column_scans", 4096, 4096, 1, 2),
    on_gpu(
        "histogram",
        {"n": 1 << 24, "b": 1000},
        1,
        lambda n, b: n,
        inputs={"values": Draw(0, "b", whole=True)},
    ),
    table("transpose", 7777, 3333, 1, 2),
    on_gpu("permuted", {"n": 200, "m": 300, "k": 500}, 1, 2),
    # windows
    on_gpu("conv1d", {"n": 1 << 22}, 128, 2),
    on_gpu("cube_mean", {"n": 300, "m": 300, "k": 300}, 27, 2),
    on_gpu("strided", {"n": 64, "m": 256, "k": 256}, 18, 5),
]
