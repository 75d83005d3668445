"""What some rows of each benchmark's result are, in float64: called like the benchmark.

Needs NumPy only: this file travels in bundles.  `picked` are indices along the first axis of the result.  What runs on
this machine only, and is in examples/low_level too, is compared with what that folder says.
"""

from pathlib import Path
from runpy import run_path

import numpy as np

CHUNK = 1 << 24
LOW_LEVEL = Path(__file__).parents[1] / "low_level" / "samples.py"


def __getattr__(name):
    found = run_path(str(LOW_LEVEL)) if LOW_LEVEL.exists() else {}
    if name not in found:
        raise AttributeError(name)
    return found[name]


def wide(a):
    return np.asarray(a, np.float64)


def dot(picked, x, y):
    starts = range(0, len(x), CHUNK)
    parts = (np.dot(wide(x[i : i + CHUNK]), wide(y[i : i + CHUNK])) for i in starts)
    return np.array([sum(parts)])[picked]


def gemv(picked, alpha, A, x, beta, y):
    return wide(alpha) * (wide(A[picked]) @ wide(x)) + wide(beta) * y[picked]


def matmul(picked, A, B):
    return wide(A[picked]) @ wide(B)


matmul_512 = matmul_1024 = matmul_2048 = matmul_as_written = matmul


def around(grid, picked, reach):
    """For each picked row, the rows from `reach` above to `reach` below, with clamped ends."""
    rows = np.clip(picked[:, None] + np.arange(-reach, reach + 1), 0, len(grid) - 1)
    return np.pad(wide(grid[rows]), ((0, 0), (0, 0), (reach, reach)), "edge")


def star(picked, grid, weights):
    """The sum of what lies around each cell of the picked rows, weighted by rows down and columns right."""
    reach = max(abs(step) for place in weights for step in place)
    near, m = around(grid, picked, reach), grid.shape[1]
    total = sum(
        weight * near[:, reach + i, reach + j : reach + j + m] for (i, j), weight in weights.items()
    )
    return total / 118.0


def j2d5pt(picked, grid):
    weights = {(-1, 0): 5.1, (0, -1): 12.1, (0, 0): 15.0, (0, 1): 12.2, (1, 0): 5.2}
    return star(picked, grid, weights)


def j2d9pt(picked, grid):
    down = {(-2, 0): 7.1, (-1, 0): 5.1, (1, 0): 5.2, (2, 0): 7.2}
    right = {(0, -2): 9.2, (0, -1): 12.1, (0, 1): 12.2, (0, 2): 9.1}
    return star(picked, grid, {**down, **right, (0, 0): 15.0})


def kmeans(picked, points, centres):
    gaps = wide(points[picked])[:, None, :] - wide(centres)
    return np.argmin((gaps**2).sum(axis=2), axis=1)


def convolution(picked, image, weights):
    reach = len(weights) // 2
    padded = np.pad(wide(image), reach)
    rows = padded[picked[:, None] + np.arange(len(weights))]
    m = image.shape[1]
    return sum(
        wide(weights[i, j]) * rows[:, i, j : j + m]
        for i in range(len(weights))
        for j in range(len(weights))
    )
