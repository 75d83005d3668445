"""What some rows of each benchmark's result are, in float64: called like the benchmark.

Needs NumPy only: this file travels in bundles.  `picked` are indices along the first axis of the result.
"""

import numpy as np

CHUNK = 1 << 24


def wide(a):
    return np.asarray(a, np.float64)


def total(picked, x):
    return np.array([sum(np.sum(x[i : i + CHUNK], dtype=np.float64) for i in chunks(x))])[picked]


def dot(picked, x, y):
    parts = (np.dot(wide(x[i : i + CHUNK]), wide(y[i : i + CHUNK])) for i in chunks(x))
    return np.array([sum(parts)])[picked]


def chunks(x):
    return range(0, len(x), CHUNK)


def saxpy(picked, a, x, y):
    return wide(a) * x[picked] + y[picked]


def nearest_neighbour(picked, records, latitude, longitude):
    south, east = wide(records[0][picked]), wide(records[1][picked])
    return np.hypot(latitude - south, longitude - east)


def transpose(picked, A):
    return A[:, picked].T


def gemv(picked, alpha, A, x, beta, y):
    return alpha * (wide(A[picked]) @ x) + wide(beta) * y[picked]


def gesummv(picked, alpha, beta, A, B, x):
    return alpha * (wide(A[picked]) @ x) + beta * (wide(B[picked]) @ x)


def atax(picked, A, x):
    Ax = np.concatenate([wide(A[i : i + 512]) @ x for i in range(0, len(A), 512)])
    return wide(A[:, picked]).T @ Ax
