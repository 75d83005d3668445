"""Seven-point stencil in three dimensions; the border is repeated.

relift run examples/j3d7pt.py --size n=32,m=32,k=32 --random 0 --check
"""

import numpy as np

import relift as rl

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")


def star(at):
    """The weighted sum of what lies around a place."""
    return (
        0.161 * at(0, 0, 1) + 0.162 * at(0, 0, -1) + 0.163 * at(0, 1, 0) + 0.164 * at(0, -1, 0)
        + 0.165 * at(1, 0, 0) + 0.166 * at(-1, 0, 0) - 1.67 * at(0, 0, 0)
    )  # fmt: skip


@rl.program
def j3d7pt(grid: rl.f32[n, m, k]):
    """One step of a weighted Jacobi iteration."""
    padded = rl.pad_nd((1, 1, 1), (1, 1, 1), rl.clamp, grid)
    windows = rl.slide_nd((3, 3, 3), (1, 1, 1), padded)
    return rl.map_nd(3, lambda w: star(lambda h, i, j: w[1 + h][1 + i][1 + j]), windows)


@j3d7pt.gold
def with_numpy(grid):
    padded = np.pad(grid.astype(np.float64), 1, mode="edge")
    n, m, k = grid.shape
    return star(lambda h, i, j: padded[1 + h :, 1 + i :, 1 + j :][:n, :m, :k])
