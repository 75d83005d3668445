"""Stencils on grids whose border is part of the input: nine points and five.

    relift bench stencil9 j2d5pt
"""

import numpy as np

import relift as rl
from relift.compiler.benchmarks import Benchmark, Draw, Reference


def nine(at, centre, cardinal, diagonal):
    """The weighted sum of a place and its eight neighbours, by rows down and columns right."""
    sides = at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)
    corners = at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)
    return centre * at(0, 0) + cardinal * sides + diagonal * corners


def stencil9_gpu(n, m, items=256, down=8):
    """A work-item computes `down` rows of one column, from three columns in registers."""

    @rl.program
    def stencil9(
        grid: rl.f32[n + 2, m + 2], centre: rl.f32, cardinal: rl.f32, diagonal: rl.f32
    ):
        def weighted(w):
            return nine(lambda i, j: w[1 + i][1 + j], centre, cardinal, diagonal)

        def item(three):
            """Three columns of down + 2 rows."""
            own = rl.to_private(
                rl.map_seq_unroll(lambda row: rl.map_seq_unroll(lambda v: v, row), three)
            )
            return rl.map_seq_unroll(weighted, rl.slide(3, 1, own))

        def strip(lines):
            columns = rl.transpose(rl.map(rl.slide(3, 1), lines))
            done = rl.map_wrg(0)(
                lambda some: rl.map_lcl(0)(item, some), rl.split(items, columns)
            )
            return rl.transpose(rl.join(done))

        return rl.join(rl.map_wrg(1)(strip, rl.slide(down + 2, down, grid)))

    return stencil9


def stencil9_gold(grid, centre, cardinal, diagonal):
    grid = grid.astype(np.float64)
    n, m = grid.shape[0] - 2, grid.shape[1] - 2
    return nine(
        lambda i, j: grid[1 + i : 1 + i + n, 1 + j : 1 + j + m], centre, cardinal, diagonal
    )


benchmarks = [
    Benchmark(
        "stencil9",
        "gpu",
        stencil9_gpu,
        sizes={"n": 8192, "m": 8192},
        variants=[{"down": 8}, {"down": 4}, {"down": 16}],
        small=[
            {"n": 8, "m": 16, "items": 4, "down": 2},
            {"n": 32, "m": 64, "items": 32, "down": 8},
        ],
        gold=stencil9_gold,
        flops=lambda n, m, **_: 11 * n * m,
        moved=lambda n, m, **_: 8 * n * m,
        reference=Reference("SHOC", 183.1e-6),
    )
]
