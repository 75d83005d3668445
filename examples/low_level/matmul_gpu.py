"""Matrix product for a GPU: tiles in local memory, blocks of the result in registers.

    relift bench --target gpu matmul

The program says who computes and where.  A work-group has a tile of the result, `BM` by `BN`; it goes over
the columns of A and the rows of B in steps of `BK`, and copies both tiles to local memory together.  A
work-item has `TM` by `TN` elements of the result, in its registers; they lie in groups of 4 by 4, `TY` or
`TX` groups apart, so that neighbours read neighbouring vectors.  `PAD` cells after each row of A's tile keep
work-items that write a column of it apart: local memory answers one row of cells at a time.

Lower-case names are arrays; the comments give their shapes, where `<4>` is a vector of 4.
"""

import numpy as np

import relift as rl
from relift.bench import Benchmark, Reference, on_cpu

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")


def each(levels, f, xs):
    """f of the elements of an array of arrays, `levels` deep: a layout, no loop."""
    return f(xs) if levels == 0 else rl.map(lambda row: each(levels - 1, f, row), xs)


def nest(maps, f, xs):
    """f of each scalar or vector, by one map for each dimension."""
    if not maps:
        return f(xs)
    return maps[0](lambda row: nest(maps[1:], f, row), xs)


def permute(order, xs):
    """The dimensions of xs in another order: dimension d of the result is dimension order[d] of xs."""
    now = list(range(len(order)))
    for place, wanted in enumerate(order):
        for level in reversed(range(place, now.index(wanted))):
            xs = each(level, rl.transpose, xs)
            now[level], now[level + 1] = now[level + 1], now[level]
    return xs


def zeros(*shape):
    """An array of zeros."""
    return rl.repeat(shape[0], zeros(*shape[1:])) if shape else 0.0


def same(x):
    """What copies."""
    return x


def product(A, B):
    """The gold."""
    return A.astype(np.float64) @ B


WORK_ITEMS = [rl.map_lcl(1), rl.map_lcl(0)]


def tiled(BM=128, BN=128, BK=16, TM=8, TN=8, PAD=4):
    """The program for tiles of one size; TM, TN, BK and BN are multiples of 4."""
    TY, TX, RI, RJ = BM // TM, BN // TN, TM // 4, TN // 4
    unrolled = [rl.map_seq_unroll] * 4

    def copied(columns, tile):
        """A tile with rows of `columns`, copied vector by vector by all work-items together."""
        vectors = rl.join(each(1, lambda row: rl.as_vector(4, row), tile))
        turns = rl.split(TY, rl.split(TX, vectors))  # [turns][TY][TX]<4>
        moved = nest([rl.map_seq_unroll, *WORK_ITEMS], same, turns)
        return each(1, rl.as_scalar, rl.split(columns // 4, rl.join(rl.join(moved))))

    def in_registers(vectors):
        """The vectors of a work-item, read once, as groups of 4 scalars."""
        return rl.split(4, rl.as_scalar(rl.to_private(rl.map_seq_unroll(same, vectors))))

    def add_products(acc, ab):
        """One column of A's tile times one row of B's; acc is [TY][TX][RI][4][RJ][4]."""
        a = rl.transpose(rl.split(TY, rl.as_vector(4, ab[0])))  # [TY][RI]<4>
        b = rl.transpose(rl.split(TX, rl.as_vector(4, ab[1])))  # [TX][RJ]<4>

        def block(a_mine, b_mine, acc_mine):
            def outer_product(a_regs, b_regs):
                return rl.map_seq_unroll(
                    lambda r: rl.map_seq_unroll(
                        lambda s: rl.map_seq_unroll(
                            lambda t: rl.map_seq_unroll(
                                lambda u: u[0] + s[1] * u[1], rl.zip(t[0], t[1])
                            ),
                            rl.zip(s[0], b_regs),
                        ),
                        rl.zip(r[0], r[1]),
                    ),
                    rl.zip(acc_mine, a_regs),
                )

            return rl.let(
                lambda a_regs: rl.let(
                    lambda b_regs: outer_product(a_regs, b_regs), in_registers(b_mine)
                ),
                in_registers(a_mine),
            )

        return rl.map_lcl(1)(
            lambda p: rl.map_lcl(0)(lambda q: block(p[1], q[1], q[0]), rl.zip(p[0], b)),
            rl.zip(acc, a),
        )

    def add_tile(acc, ab):
        """The product of two tiles, added to acc."""
        padded = rl.to_local(
            each(1, lambda row: rl.pad_empty(0, PAD, row), rl.transpose(copied(BK, ab[0])))
        )
        a = each(1, lambda row: rl.take(BM, row), padded)  # [BK][BM], stored column by column
        b = rl.to_local(copied(BN, ab[1]))  # [BK][BN]
        return rl.reduce_seq_unroll(add_products, acc, rl.zip(a, b))

    def tile(a_rows, b_columns):
        """A tile of the result, [BM][BN], from rows of A and columns of B."""
        a = each(1, rl.transpose, rl.split(BK, rl.transpose(a_rows)))  # [k][BM][BK]
        b = rl.split(BK, rl.transpose(b_columns))  # [k][BK][BN]
        start = rl.to_private(nest([*WORK_ITEMS, *unrolled], same, zeros(TY, TX, RI, 4, RJ, 4)))
        acc = rl.reduce_seq(add_tile, start, rl.zip(a, b))
        vectors = each(4, lambda x: rl.as_vector(4, rl.join(x)), acc)  # [TY][TX][RI][4][RJ]<4>
        written = nest([*WORK_ITEMS, *unrolled[1:]], same, vectors)
        ordered = permute((2, 0, 3, 4, 1), written)  # [RI][TY][4][RJ][TX]<4>
        return each(1, lambda row: rl.as_scalar(rl.join(row)), rl.join(rl.join(ordered)))

    @rl.program
    def matmul_gpu(A: rl.f32[n * BM, k * BK], B: rl.f32[k * BK, m * BN]):
        """The product of A and B, tile by tile."""
        tiles = rl.map_wrg(1)(
            lambda a_rows: rl.map_wrg(0)(
                lambda b_columns: tile(a_rows, b_columns), rl.split(BN, rl.transpose(B))
            ),
            rl.split(BM, A),
        )  # [n][m][BM][BN]
        return rl.join(each(1, lambda row: each(1, rl.join, rl.transpose(row)), tiles))

    matmul_gpu.gold(product)
    return matmul_gpu


matmul_gpu = tiled()


def squares(size, BM=128, BN=128, BK=16, **tiles):
    """The product of two square matrices."""
    return tiled(BM, BN, BK, **tiles).at({"n": size // BM, "m": size // BN, "k": size // BK})


TILES = ("BM", "BN", "BK", "TM", "TN")
small = [
    {"size": 32, **dict(zip(TILES, (16, 16, 8, 4, 4), strict=True))},
    {"size": 64, **dict(zip(TILES, (32, 16, 4, 8, 4), strict=True))},
]


def benchmark(name, size, reference, *tiles):
    return Benchmark(
        name,
        "gpu",
        squares,
        sizes={"size": size},
        variants=[dict(zip(TILES, each, strict=True)) for each in tiles],
        small=small,
        gold=product,
        flops=lambda size, **_: 2 * size**3,
        moved=lambda size, **_: 12 * size**2,
        options=("-cl-fast-relaxed-math",),
        reference=reference,
    )


benchmarks = [
    benchmark(
        "matmul",
        4096,
        Reference("CLBlast, tuned for an RTX 3080", 3.127e-3),
        (128, 128, 16, 8, 8),
        (128, 128, 32, 8, 8),
        (128, 64, 16, 8, 4),
    ),
    benchmark(
        "matmul_1024",
        1024,
        Reference("CLBlast, tuned for a V100", 79.5e-6),
        (64, 64, 16, 4, 4),
        (64, 64, 32, 4, 4),
        (64, 64, 16, 8, 4),
        (128, 64, 16, 8, 4),
        (64, 32, 16, 4, 4),
    ),
]
benchmarks.append(on_cpu(benchmarks[0], size=512, BM=32, BN=32, BK=8, TM=4, TN=4))
