"""The heat equation in three dimensions, one step in time; the border is repeated.

relift run examples/heat3d.py --size n=32,m=32,k=32 --random 0 --check
"""

import numpy as np

import relift as rl

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")


def step(at):
    """An eighth of the second difference along each axis is added."""
    here = at(0, 0, 0)
    return (
        0.125 * (at(1, 0, 0) - 2.0 * here + at(-1, 0, 0))
        + 0.125 * (at(0, 1, 0) - 2.0 * here + at(0, -1, 0))
        + 0.125 * (at(0, 0, 1) - 2.0 * here + at(0, 0, -1))
        + here
    )


@rl.program
def heat3d(grid: rl.f32[n, m, k]):
    """Every place and its six neighbours."""
    padded = rl.pad_nd((1, 1, 1), (1, 1, 1), rl.clamp, grid)
    windows = rl.slide_nd((3, 3, 3), (1, 1, 1), padded)
    return rl.map_nd(3, lambda w: step(lambda h, i, j: w[1 + h][1 + i][1 + j]), windows)


@heat3d.gold
def with_numpy(grid):
    padded = np.pad(grid.astype(np.float64), 1, mode="edge")
    n, m, k = grid.shape
    return step(lambda h, i, j: padded[1 + h :, 1 + i :, 1 + j :][:n, :m, :k])
