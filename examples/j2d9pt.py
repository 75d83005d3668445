"""Nine-point star of radius two in two dimensions; the border is repeated.

relift run examples/j2d9pt.py --size n=256,m=256 --random 0 --check
"""

import numpy as np

import relift as rl

n, m = rl.nat("n"), rl.nat("m")


def star(at):
    """The weighted sum of what lies around a place, by rows down and columns right."""
    down = 7.1 * at(-2, 0) + 5.1 * at(-1, 0) + 5.2 * at(1, 0) + 7.2 * at(2, 0)
    right = 9.2 * at(0, -2) + 12.1 * at(0, -1) + 12.2 * at(0, 1) + 9.1 * at(0, 2)
    return (down + right + 15.0 * at(0, 0)) / 118.0


@rl.program
def j2d9pt(grid: rl.f32[n, m]):
    """One step of a weighted Jacobi iteration."""
    padded = rl.pad_nd((2, 2), (2, 2), rl.clamp, grid)
    windows = rl.slide_nd((5, 5), (1, 1), padded)
    return rl.map_nd(2, lambda w: star(lambda i, j: w[2 + i][2 + j]), windows)


@j2d9pt.gold
def with_numpy(grid):
    padded = np.pad(grid.astype(np.float64), 2, mode="edge")
    n, m = grid.shape
    return star(lambda i, j: padded[2 + i : 2 + i + n, 2 + j : 2 + j + m])
