"""Stencils on grids whose border is part of the input: nine points and five.

relift bench stencil9 j2d5pt convolution
"""

import numpy as np
from source import source
from tree import across

import relift as rl
from relift.compiler.benchmarks import Benchmark, Reference


def nine(at, centre, cardinal, diagonal):
    """The weighted sum of a place and its eight neighbours, by rows down and columns right."""
    sides = at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)
    corners = at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)
    return centre * at(0, 0) + cardinal * sides + diagonal * corners


def by_strips(f, size, items, down, grid, stage=lambda columns: columns):
    """f on all windows of size*size: a work-item computes `down` rows of one column, one by one.

    `stage` says where the `size` columns that it reads lie.
    """

    def item(columns):
        return rl.map_seq_unroll(f, rl.slide(size, 1, stage(columns)))

    def strip(lines):
        columns = rl.transpose(rl.map(rl.slide(size, 1), lines))
        done = rl.map_wrg(0)(lambda some: rl.map_lcl(0)(item, some), rl.split(items, columns))
        return rl.transpose(rl.join(done))

    return rl.join(rl.map_wrg(1)(strip, rl.slide(down + size - 1, down, grid)))


def in_registers(columns):
    return rl.to_private(
        rl.map_seq_unroll(lambda row: rl.map_seq_unroll(lambda v: v, row), columns)
    )


def stencil9_gpu(n, m, items=256, down=8):
    """Each value is read into a register once by each of three work-items."""

    @rl.program
    def stencil9(grid: rl.f32[n + 2, m + 2], centre: rl.f32, cardinal: rl.f32, diagonal: rl.f32):
        def weighted(w):
            return nine(lambda i, j: w[1 + i][1 + j], centre, cardinal, diagonal)

        return by_strips(weighted, 3, items, down, grid, in_registers)

    return stencil9


def j2d5pt_cpu(n, m, items=256, down=4):
    """The five points of examples/j2d5pt.py."""

    @rl.program
    def j2d5pt(grid: rl.f32[n + 2, m + 2]):
        def star(w):
            weighted = 5.1 * w[0][1] + 12.1 * w[1][0] + 15.0 * w[1][1] + 12.2 * w[1][2]
            return (weighted + 5.2 * w[2][1]) * (1 / 118.0)

        return by_strips(star, 3, items, down, grid)

    return j2d5pt


def j2d5pt_with_numpy(grid):
    f = np.float32
    up, down, left, right = grid[:-2, 1:-1], grid[2:, 1:-1], grid[1:-1, :-2], grid[1:-1, 2:]
    weighted = f(5.1) * up + f(12.1) * left + f(15.0) * grid[1:-1, 1:-1] + f(12.2) * right
    return (weighted + f(5.2) * down) / f(118.0)


def convolution_cpu(h, w, r=1, items=256, down=4):
    """All weights written out."""
    size = 2 * r + 1

    @rl.program
    def convolution(image: rl.f32[h + 2 * r, w + 2 * r], weights: rl.f32[size, size]):
        def weighted(window):
            return rl.reduce_seq_unroll(
                lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(rl.join(window), rl.join(weights))
            )

        return by_strips(weighted, size, items, down, image)

    return convolution


def convolution_gpu(h, w, r=8, wide=32, high=8, down=4):
    """Overlapping tiles in local memory: `wide` by `high` work-items, `down` pixels each, `high` rows apart.

    The work-items of a group must divide the pixels of a tile.
    """
    size, rows = 2 * r + 1, high * down

    @rl.program
    def convolution(image: rl.f32[h + 2 * r, w + 2 * r], weights: rl.f32[size, size]):
        def weighted(window):
            def line(acc, p):
                return rl.reduce_seq_unroll(
                    lambda acc, q: acc + q[0] * q[1], acc, rl.zip(p[0], p[1])
                )

            return rl.reduce_seq(line, 0.0, rl.zip(window, weights))

        def tile(part):
            shares = rl.split(wide, across(wide * high, rl.join(part)))
            copied = rl.map_lcl(1)(
                lambda row: rl.map_lcl(0)(lambda own: rl.map_seq(lambda v: v, own), row), shares
            )
            flat = rl.to_local(rl.join(rl.transpose(rl.join(copied))))
            staged = rl.split(wide + 2 * r, flat)
            windows = rl.slide_nd((size, size), (1, 1), staged)
            owned = rl.map(rl.transpose, rl.transpose(rl.split(high, windows)))
            done = rl.map_lcl(1)(
                lambda row: rl.map_lcl(0)(lambda own: rl.map_seq(weighted, own), row), owned
            )
            return rl.join(rl.transpose(rl.map(rl.transpose, done)))

        tiles = rl.slide_nd((rows + 2 * r, wide + 2 * r), (rows, wide), image)
        return rl.untile(2, rl.map_wrg(1)(lambda ts: rl.map_wrg(0)(tile, ts), tiles))

    return convolution


def convolution_with_numpy(image, weights):
    size = len(weights)
    h, w = (length - size + 1 for length in image.shape)
    total = np.zeros((h, w), np.float32)
    for i in range(size):
        for j in range(size):
            total += weights[i, j] * image[i : i + h, j : j + w]
    return total


def convolution_gold(image, weights):
    r = len(weights) // 2
    return source("convolution").reference(image, weights)[r:-r, r:-r]


def stencil9_gold(grid, centre, cardinal, diagonal):
    grid = grid.astype(np.float64)
    n, m = grid.shape[0] - 2, grid.shape[1] - 2
    return nine(lambda i, j: grid[1 + i : 1 + i + n, 1 + j : 1 + j + m], centre, cardinal, diagonal)


benchmarks = [
    Benchmark(
        "j2d5pt",
        "cpu",
        j2d5pt_cpu,
        sizes={"n": 4096, "m": 4096},
        small=[{"n": 4, "m": 16, "items": 8, "down": 2}, {"n": 12, "m": 64, "items": 32}],
        gold=lambda grid: source("j2d5pt").reference(grid)[1:-1, 1:-1],
        flops=lambda n, m, **_: 10 * n * m,
        moved=lambda n, m, **_: 8 * n * m,
        numpy=j2d5pt_with_numpy,
    ),
    Benchmark(
        "convolution",
        "cpu",
        convolution_cpu,
        sizes={"h": 4096, "w": 4096},
        small=[
            {"h": 4, "w": 16, "items": 8, "down": 2},
            {"h": 8, "w": 64, "r": 2, "items": 32},
        ],
        gold=convolution_gold,
        flops=lambda h, w, r=1, **_: 2 * (2 * r + 1) ** 2 * h * w,
        moved=lambda h, w, **_: 8 * h * w,
        numpy=convolution_with_numpy,
    ),
    Benchmark(
        "convolution",
        "gpu",
        convolution_gpu,
        sizes={"h": 4096, "w": 4096},
        small=[
            {"h": 8, "w": 8, "r": 1, "wide": 2, "high": 2, "down": 1},
            {"h": 8, "w": 8, "r": 3, "wide": 2, "high": 2, "down": 1},
        ],
        gold=convolution_gold,
        flops=lambda h, w, r=8, **_: 2 * (2 * r + 1) ** 2 * h * w,
        moved=lambda h, w, **_: 8 * h * w,
    ),
    Benchmark(
        "stencil9",
        "gpu",
        stencil9_gpu,
        sizes={"n": 8192, "m": 8192},
        variants=[{"down": 8}, {"down": 16}],
        small=[
            {"n": 8, "m": 16, "items": 4, "down": 2},
            {"n": 32, "m": 64, "items": 32, "down": 8},
        ],
        gold=stencil9_gold,
        flops=lambda n, m, **_: 11 * n * m,
        moved=lambda n, m, **_: 8 * n * m,
        reference=Reference("SHOC", 183.1e-6),
    ),
]
