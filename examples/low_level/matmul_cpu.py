"""Matrix product for a CPU: blocks of the result in vector registers, no local memory and no barriers.

    relift bench --target cpu matmul_1024

Two kernels.  The first copies B in the order in which the second reads it: columns in blocks of `TN`, each
block element after element of k.  In the second, a work-item has `TM` by `TN` elements of the result in vectors
of `W`, and adds the products of one column of A and one row of B at a time.  A is read where it lies, a number
of each of `TM` rows: to copy it, too, took Intel's driver longer than it saved.

Lower-case names are arrays; the comments give their shapes, where `<W>` is a vector.
"""

import numpy as np
from by_hand import BY_HAND

import relift as rl
from relift.bench import Benchmark

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")


def same(x):
    """What copies."""
    return x


def product(A, B):
    """The gold."""
    return A.astype(np.float64) @ B


def tiled(TM=4, TN=16, W=8):
    """The program for blocks of one size; W divides TN."""

    def packed(blocks):
        """An array of blocks, [blocks][k][length], copied into this order."""
        return rl.to_global(
            rl.map_glb(0)(
                lambda block: rl.map_seq(lambda row: rl.map_seq_unroll(same, row), block), blocks
            )
        )

    def block(a, b):
        """TM by TN elements of the result; a is [k][TM], b is [k][TN / W]<W>."""
        zeros = rl.repeat(TM, rl.repeat(TN // W, rl.splat(W, 0.0)))
        start = rl.to_private(rl.map_seq_unroll(lambda row: rl.map_seq_unroll(same, row), zeros))

        def add_products(acc, ab):
            return rl.map_seq_unroll(
                lambda p: rl.map_seq_unroll(
                    lambda q: rl.vectorize(W, rl.add)(
                        q[0], rl.vectorize(W, rl.mul)(rl.splat(W, p[1]), q[1])
                    ),
                    rl.zip(p[0], ab[1]),
                ),
                rl.zip(acc, ab[0]),
            )

        acc = rl.reduce_seq(add_products, start, rl.zip(a, b))
        return rl.map_seq_unroll(lambda row: rl.map_seq_unroll(same, row), acc)  # [TM][TN / W]<W>

    @rl.program
    def matmul_cpu(A: rl.f32[n * TM, k], B: rl.f32[k, m * TN]):
        """The product of A and B, block by block."""
        a = rl.map(rl.transpose, rl.split(TM, A))  # [n][k][TM]
        vectors = rl.map(
            lambda row: rl.split(TN // W, rl.as_vector(W, row)), B
        )  # [k][m][TN / W]<W>
        b = packed(rl.transpose(vectors))  # [m][k][TN / W]<W>
        blocks = rl.map_glb(1)(
            lambda columns: rl.map_glb(0)(lambda rows: block(rows, columns), a), b
        )  # [m][n][TM][TN / W]<W>
        rows = rl.join(rl.map(rl.transpose, rl.transpose(blocks)))  # [n TM][m][TN / W]<W>
        return rl.map(lambda row: rl.as_scalar(rl.join(row)), rows)

    matmul_cpu.gold(product)
    return matmul_cpu


matmul_cpu = tiled()


def at_sizes(n, m, k, TM=8, TN=32, W=16):
    """The product of a matrix of n rows and one of m columns."""
    return tiled(TM, TN, W).at({"n": n // TM, "m": m // TN, "k": k})


def cube(size):
    return {"n": size, "m": size, "k": size}


benchmarks = [
    Benchmark(
        "matmul_1024",
        "cpu",
        at_sizes,
        sizes=cube(1024),
        variants=[{}, {"TM": 8, "TN": 8, "W": 8}, {"TM": 4, "TN": 16, "W": 8}],
        small=[cube(32), {**cube(48), "TM": 4, "TN": 16, "W": 8}],
        gold=product,
        flops=lambda n, m, k, **_: 2 * n * m * k,
        moved=lambda n, m, k, **_: 4 * (n * k + k * m + n * m),
        numpy=lambda A, B: A @ B,
        by_hand=BY_HAND["matmul"],
    )
]
