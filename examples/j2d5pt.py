"""Five-point stencil in two dimensions; the border is repeated.

relift run examples/j2d5pt.py --size n=256,m=256 --random 0 --check
"""

import numpy as np

import relift as rl

n, m = rl.nat("n"), rl.nat("m")


def star(at):
    """The weighted sum of what lies around a place, by rows down and columns right."""
    return (
        5.1 * at(-1, 0) + 12.1 * at(0, -1) + 15.0 * at(0, 0) + 12.2 * at(0, 1) + 5.2 * at(1, 0)
    ) / 118.0


@rl.program
def j2d5pt(grid: rl.f32[n, m]):
    """One step of a weighted Jacobi iteration."""
    padded = rl.pad_nd((1, 1), (1, 1), rl.clamp, grid)
    windows = rl.slide_nd((3, 3), (1, 1), padded)
    return rl.map_nd(2, lambda w: star(lambda i, j: w[1 + i][1 + j]), windows)


@j2d5pt.gold
def with_numpy(grid):
    padded = np.pad(grid.astype(np.float64), 1, mode="edge")
    n, m = grid.shape
    return star(lambda i, j: padded[1 + i : 1 + i + n, 1 + j : 1 + j + m])
