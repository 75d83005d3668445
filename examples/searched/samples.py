"""What some rows of each benchmark's result are, in float64: called like the benchmark.

Needs NumPy only: this file travels in bundles, and with it the `OTHERS`.  `picked` are indices along the first axis of
the result.  What is not said here is said by examples/low_level.
"""

from functools import cache
from pathlib import Path
from runpy import run_path

import numpy as np

CHUNK = 1 << 24
HERE = Path(__file__).parent
CARRIED = HERE / "low_level_samples.py"
LOW_LEVEL = CARRIED if CARRIED.exists() else HERE.parent / "low_level" / "samples.py"
OTHERS = ((LOW_LEVEL, CARRIED.name),)
"""The files that this one needs, and their names in a bundle."""


def __getattr__(name):
    if (found := low_level().get(name)) is None:
        raise AttributeError(name)
    return found


@cache
def low_level():
    return run_path(str(LOW_LEVEL))


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


matmul_512 = matmul_1024 = matmul_2048 = matmul_1000_999_777 = matmul_as_written = matmul


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


def kmeans_columns(picked, features, centres):
    return kmeans(picked, features.T, centres)


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


# ---- on a GPU


matmul_4000 = matmul_4097 = matmul_gpu_1024 = matmul


def histogram(picked, values, bins):
    return np.bincount(values, minlength=len(bins))[bins[picked]]


def hotspot(picked, temperature, power):
    near, m = around(temperature, picked, 1), temperature.shape[1]
    here = near[:, 1, 1:-1]
    down = (near[:, 0, 1:-1] + near[:, 2, 1:-1] - 2 * here) * 0.1
    right = (near[:, 1, :m] + near[:, 1, 2:] - 2 * here) * 0.1
    return here + 0.05 * (wide(power[picked]) + down + right + (80 - here) * 0.0625)


def md(picked, atoms, neighbours, cutoff, lj1, lj2):
    places = np.stack([wide(a) for a in atoms])
    gaps = places[:, picked, None] - places[:, neighbours[picked]]
    squared = (gaps**2).sum(axis=0)
    acts = (squared < cutoff) & (squared > 0)
    near = 1 / np.where(acts, squared, 1)
    s = np.where(acts, near**4 * (lj1 * near**3 - lj2), 0)
    return tuple((gaps * s).sum(axis=2))


def row_sums(picked, A):
    return wide(A[picked]).sum(axis=1)


def column_sums(picked, A):
    return wide(A[:, picked]).sum(axis=0)


def column_variance(picked, A):
    return wide(A[:, picked]).var(axis=0)


def largest_place(picked, A):
    return A[picked].argmax(axis=1)


def log_sum_exp(picked, A):
    rows = wide(A[picked])
    top = rows.max(axis=1)
    return top + np.log(np.exp(rows - top[:, None]).sum(axis=1))


def cross_entropy(picked, A, labels):
    return log_sum_exp(picked, A) - wide(A[picked, labels[picked]])


def scan(picked, x):
    return np.cumsum(x, dtype=np.float64)[picked]


def prefix_maximum(picked, x):
    return np.maximum.accumulate(x)[picked]


def row_scans(picked, A):
    return np.cumsum(wide(A[picked]), axis=1)


def softmax(picked, A):
    return np.exp(wide(A[picked]) - log_sum_exp(picked, A)[:, None])


def masked_softmax(picked, A, kept):
    rows = np.where(kept[picked] > 0, wide(A[picked]), -1e30)
    return softmax(slice(None), rows)


def layer_norm(picked, A, gain, bias):
    rows = wide(A[picked])
    spread = rows.var(axis=1, keepdims=True)
    return (rows - rows.mean(axis=1, keepdims=True)) / np.sqrt(spread + 1e-5) * gain + bias


def rms_norm(picked, A, gain):
    rows = wide(A[picked])
    return rows / np.sqrt((rows**2).mean(axis=1, keepdims=True) + 1e-6) * gain


def cosines(picked, A, B):
    a, b = wide(A[picked]), wide(B[picked])
    return (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))


def gemv_transposed(picked, A, x):
    return wide(A[:, picked]).T @ wide(x)


def bicg(picked, A, p, r):
    return wide(A[picked]) @ wide(p), wide(A[:, picked]).T @ wide(r)


def gemver(picked, alpha, beta, A, u1, v1, u2, v2, y, z):
    def rows(some):
        return wide(A[some]) + np.outer(wide(u1[some]), v1) + np.outer(wide(u2[some]), v2)

    parts = [slice(i, i + 512) for i in range(0, len(A), 512)]
    x = beta * sum(wide(y[part]) @ rows(part) for part in parts) + z
    return alpha * (rows(picked) @ x)


def rank_one(picked, A, x, y):
    return wide(A[picked]) + np.outer(wide(x[picked]), y)


def sum_transposed(picked, A, B):
    return wide(A[picked]) + wide(B[:, picked]).T


def gemm(picked, alpha, A, B, beta, C):
    return alpha * matmul(picked, A, B) + beta * wide(C[picked])


def bias_relu(picked, A, B, bias):
    return np.maximum(matmul(picked, A, B) + bias, 0)


def product_transposed(picked, A, B):
    return wide(A[picked]) @ wide(B).T


def products_batched(picked, A, B):
    return np.stack([wide(A[i]) @ wide(B[i]) for i in picked])


def three_products(picked, A, B, C, D):
    return matmul(picked, A, B) @ wide(C) @ wide(D)


def squared_distances(picked, X, Y):
    return np.stack([((wide(X[i]) - wide(Y)) ** 2).sum(axis=1) for i in picked])


def mahalanobis(picked, X, mean, S):
    gaps = wide(X[picked]) - mean
    return ((gaps @ wide(S).T) * gaps).sum(axis=1)


def attention(picked, Q, K, V):
    return softmax(slice(None), wide(Q[picked]) @ wide(K).T) @ wide(V)


def conv2d(picked, x, K):
    n, m = (length - 2 for length in x.shape[1:])
    taps = [(i, j) for i in range(3) for j in range(3)]
    kernels, images = wide(K[picked]), wide(x)
    return sum(
        np.tensordot(kernels[:, :, i, j], images[:, i : i + n, j : j + m], 1) for i, j in taps
    )


def box_blur(picked, x):
    n, m = x.shape[1:]
    padded = np.pad(wide(x[picked]), ((0, 0), (3, 3), (3, 3)), "edge")
    down = np.sum([padded[:, i : i + n] for i in range(7)], axis=0)
    return np.sum([down[:, :, j : j + m] for j in range(7)], axis=0) / 49


def jacobi(picked, x):
    return np.stack([four_steps(x, i) for i in picked])


def four_steps(x, row):
    """A row after four steps: what is more than four rows away has not reached it."""
    least, most = max(0, row - 5), min(len(x), row + 6)
    near = wide(x[least:most])
    for _ in range(4):
        padded = np.pad(near, 1, "edge")
        middle = padded[1:-1]
        sides = padded[:-2, 1:-1] + padded[2:, 1:-1] + middle[:, :-2] + middle[:, 2:]
        near = 0.2 * (near + sides)
    return near[row - least]


def max_pool(picked, x):
    rows = np.stack([x[2 * picked], x[2 * picked + 1]])
    return rows.reshape(2, len(picked), -1, 2).max(axis=(0, 3))


def gelu(picked, x):
    v = wide(x[picked])
    return 0.5 * v * (1 + np.tanh(0.7978845608 * (v + 0.044715 * v**3)))


def covariance(picked, X):
    centred = wide(X) - wide(X).mean(axis=0)
    return centred[:, picked].T @ centred / (len(X) - 1)
