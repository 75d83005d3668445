"""The programs of programs.py in NumPy; what is not said here is said by examples/searched.

Called with single precision for its time, and in double for what results must be (samples.py).
"""

from functools import cache
from pathlib import Path
from runpy import run_path

import numpy as np

SEARCHED = Path(__file__).parent.parent / "searched" / "with_numpy.py"
window_views = np.lib.stride_tricks.sliding_window_view


@cache
def searched():
    return run_path(str(SEARCHED))


def __getattr__(name):
    if (found := searched().get(name)) is None:
        raise AttributeError(name)
    return found


def around(x, reach, mode="edge"):
    """A function from steps down and right to the cells of a table that lie there."""
    n, m = x.shape
    padded = np.pad(x, reach, mode)
    return lambda i, j: padded[reach + i : reach + i + n, reach + j : reach + j + m]


def row_variance(A):
    return A.var(axis=1)


def normalized(A):
    return A / np.sqrt(np.einsum("ij,ij->i", A, A))[:, None]


def weighted_rows(A, w):
    return w @ A


def column_scans(A):
    return np.cumsum(A, axis=0)


def softmax_columns(A):
    powers = np.exp(A - A.max(axis=0))
    return powers / powers.sum(axis=0)


def two_largest(A):
    both = np.partition(A, -2, axis=1)[:, -2:]
    return both[:, 1], both[:, 0]


def layer_norm_gradient(X, G, gain):
    gaps = X - X.mean(axis=1, keepdims=True)
    spread = 1 / np.sqrt((gaps * gaps).mean(axis=1, keepdims=True) + 1e-5)
    gaps *= spread
    g = G * gain
    slope = (g * gaps).mean(axis=1, keepdims=True)
    return (g - g.mean(axis=1, keepdims=True) - gaps * slope) * spread


def cross_entropy_gradient(A, labels):
    powers = np.exp(A - A.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    powers[np.arange(len(A)), labels.astype(int)] -= 1
    return powers / len(A)


def batched_gemv(A, x):
    return np.matmul(A, x[:, :, None])[:, :, 0]


def mvt(A, x, y, p, q):
    return x + A @ p, y + A.T @ q


def huber_gradient(A, y, w):
    return A.T @ np.clip(A @ w - y, -1, 1) / len(y)


def power_iteration(A, x):
    for _ in range(5):
        w = A @ x
        x = w / np.sqrt(w @ w)
    return x


def pagerank(A, degree, rank):
    return 0.85 * (A.T @ (rank / degree)) + 0.15 / len(A)


def gram_schmidt(Q, x):
    rest = x - Q @ (Q.T @ x)
    return rest / np.sqrt(rest @ rest + 1e-9)


def syr2k(alpha, A, B, beta, C):
    half = A @ B.T
    return alpha * (half + half.T) + beta * C


def syrk(alpha, A, beta, C):
    return alpha * (A @ A.T) + beta * C


def triangular_product(L, B):
    return np.tril(L) @ B


def correlation(X):
    gaps = X - X.mean(axis=0)
    gaps /= np.sqrt(np.einsum("ij,ij->j", gaps, gaps))
    return gaps.T @ gaps


def shortest_paths(A, B):
    return np.stack([(row[:, None] + B).min(axis=0) for row in A])


def l1_distances(X, Y):
    return np.stack([np.abs(x - Y).sum(axis=1) for x in X])


def density(x, y):
    return np.stack([np.exp(-0.5 * (a - y) ** 2).mean() for a in x])


def predicted_covariances(F, P, Q):
    return F @ P @ F.transpose(0, 2, 1) + Q


def mlp(x, w, b, v):
    hidden = x @ w
    hidden += b
    return np.maximum(hidden, 0, out=hidden) @ v


def gated_mlp(x, w, v, u):
    a = x @ w
    return (a / (1 + np.exp(-a)) * (x @ v)) @ u


def rotary(x, cosines, sines):
    out = np.empty_like(x)
    even, odd = x[:, ::2], x[:, 1::2]
    out[:, ::2] = even * cosines - odd * sines
    out[:, 1::2] = even * sines + odd * cosines
    return out


def grouped_queries(Q, K, V):
    scores = Q @ K.transpose(0, 2, 1)
    scores -= scores.max(axis=2, keepdims=True)
    np.exp(scores, out=scores)
    return scores @ V / scores.sum(axis=2, keepdims=True)


def batch_norm(x, mean, variance, gain, bias):
    scale = gain / np.sqrt(variance + 1e-5)
    out = x * scale[:, None]
    out += (bias - mean * scale)[:, None]
    return np.maximum(out, 0, out=out)


def embedded(tokens, table, places):
    return table[tokens.astype(int)] + places


def strided(x, w):
    padded = np.pad(x, ((0, 0), (1, 0), (1, 0)))
    n, m = (length // 2 * 2 for length in x.shape[1:])
    taps = [(i, j) for i in range(3) for j in range(3)]
    return sum(w[i, j] * padded[:, i : i + n : 2, j : j + m : 2] for i, j in taps)


def conv1d(x, w):
    return np.convolve(np.pad(x, (32, 31)), w[::-1], "valid")


def biquads(x):
    columns = np.ascontiguousarray(x.T)
    out = np.empty_like(columns)
    last = before = np.zeros_like(columns[0])
    for i, v in enumerate(columns):
        last, before = 0.2 * v + 1.2 * last - 0.5 * before, last
        out[i] = last
    return out.T


def upsampled(x):
    out = np.empty((len(x), 2 * x.shape[1]), x.dtype)
    out[:, ::2] = x
    out[:, 1:-1:2] = 0.5 * (x[:, :-1] + x[:, 1:])
    out[:, -1] = x[:, -1]
    return out


def spectra(x, cosines, sines):
    return (x @ cosines.T) ** 2 + (x @ sines.T) ** 2


def unsharp(x):
    here = around(x, 2)
    taps = list(zip((-2, -1, 0, 1, 2), (1, 4, 6, 4, 1), strict=True))
    padded = np.pad(x, 2, "edge")
    down = sum(w * padded[2 + i : 2 + i + len(x)] for i, w in taps)
    blurred = sum(w * down[:, 2 + j : 2 + j + x.shape[1]] for j, w in taps) / 256
    return here(0, 0) + 1.5 * (x - blurred)


def harris(x):
    here = around(x, 1)
    right = sum(w * (here(i, 1) - here(i, -1)) for i, w in ((-1, 1), (0, 2), (1, 1)))
    down = sum(w * (here(1, j) - here(-1, j)) for j, w in ((-1, 1), (0, 2), (1, 1)))

    def summed(t):
        padded = np.pad(t, 1, "edge")
        rows = padded[:-2] + padded[1:-1] + padded[2:]
        return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]

    xx, xy, yy = summed(right * right), summed(right * down), summed(down * down)
    return xx * yy - xy * xy - 0.04 * (xx + yy) ** 2


def bilateral(x):
    here = around(x, 2)
    whole, found = np.zeros_like(x), np.zeros_like(x)
    for i in range(-2, 3):
        for j in range(-2, 3):
            v = here(i, j)
            near = np.exp(-8 * (v - x) ** 2)
            whole += near
            found += near * v
    return found / whole


def dilated(x):
    padded = np.pad(x, 2, "edge")
    n, m = x.shape
    down = padded[:n].copy()
    for i in range(1, 5):
        np.maximum(down, padded[i : i + n], out=down)
    out = down[:, :m].copy()
    for j in range(1, 5):
        np.maximum(out, down[:, j : j + m], out=out)
    return out


def tile_histograms(x):
    n, m = (length // 16 for length in x.shape)
    tiles = x.reshape(n, 16, m, 16).transpose(0, 2, 1, 3).reshape(n * m, 256)
    labels = tiles.astype(int) + 16 * np.arange(n * m)[:, None]
    return np.bincount(labels.ravel(), minlength=16 * n * m).reshape(n, m, 16)


def fdtd(ex, ey, hz):
    up, left = (np.roll(hz, 1, axis) for axis in (0, 1))
    up[0], left[:, 0] = hz[0], hz[:, 0]
    return ex - 0.5 * (hz - up), ey - 0.5 * (hz - left)


def jacobi_1d(x):
    for _ in range(10):
        padded = np.pad(x, 1, "edge")
        x = 0.33333 * (padded[:-2] + x + padded[2:])
    return x


def advection(x, u, v):
    here = around(x, 1, "wrap")
    across = np.where(u > 0, x - here(0, -1), here(0, 1) - x)
    along = np.where(v > 0, x - here(-1, 0), here(1, 0) - x)
    return x - 0.1 * (u * across + v * along)


MOVES = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1)]
WEIGHTS = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


def lattice_boltzmann(cells):
    come = [np.roll(q, move, (0, 1)) for q, move in zip(cells, MOVES, strict=True)]
    whole = sum(come)
    down = sum(d * v for (d, _), v in zip(MOVES, come, strict=True) if d) / whole
    right = sum(r * v for (_, r), v in zip(MOVES, come, strict=True) if r) / whole
    square = 1.5 * (down * down + right * right)
    out = np.empty((*whole.shape, 9), cells.dtype)
    for i, (v, (d, r), w) in enumerate(zip(come, MOVES, WEIGHTS, strict=True)):
        along = 3 * (d * down + r * right)
        out[:, :, i] = v + 0.6 * (w * whole * (1 + along + 0.5 * along * along - square) - v)
    return out


def bond_prices(rates, cash, times):
    return np.exp(-np.outer(rates, times)) @ cash.T


def barrier_options(steps):
    prices = 100 * np.exp(np.cumsum(0.02 * steps - 0.0002, axis=1))
    paid = np.maximum(0, prices.mean(axis=1) - 100)
    return np.where(prices.min(axis=1) > 80, paid, 0)


def permuted(x):
    return np.ascontiguousarray(x.transpose(2, 1, 0))


def cube_mean(x):
    padded = np.pad(x, 1, "edge")
    for axis in range(3):
        length = padded.shape[axis] - 2
        turned = np.moveaxis(padded, axis, 0)
        padded = np.moveaxis(sum(turned[i : i + length] for i in range(3)), 0, axis)
    return padded / 27


def fluxes(cells, neighbours, normals):
    speeds = cells[1:4] / cells[0]
    pressures = 0.4 * (cells[4] - 0.5 * cells[0] * (speeds * speeds).sum(axis=0))
    flow = np.zeros_like(cells)
    for j, normal in zip(neighbours.T, np.moveaxis(normals, 0, -1), strict=True):
        across = 0.5 * ((speeds + speeds[:, j]) * normal).sum(axis=0)
        pressure = 0.5 * (pressures + pressures[j])
        flow += across * 0.5 * (cells + cells[:, j])
        flow[1:4] += pressure * normal
        flow[4] += across * pressure
    return flow.T


def smoothed_particles(places, masses, neighbours):
    gaps = places[:, None] - places[neighbours]
    near = np.maximum(0, 1 - (gaps * gaps).sum(axis=2))
    densities = (near**3 * masses[neighbours]).sum(axis=1)
    pressures = np.maximum(0, densities - 1)
    pushes = pressures[:, None] + pressures[neighbours]
    return densities, np.einsum("ij,ijd->id", near**2 * masses[neighbours] * pushes, gaps)


def best_paths(scores, steps, seen):
    sums = scores[:, None] + steps.T
    return sums.max(axis=2) + seen, sums.argmax(axis=2).astype(np.int32)


def curls(electric, magnetic):
    def along(axis, cube):
        return np.diff(cube, axis=axis, append=0)

    turns = ((axis, (axis + 1) % 3, (axis + 2) % 3) for axis in range(3))
    return tuple(
        magnetic[axis] - 0.3 * (along(one, electric[two]) - along(two, electric[one]))
        for axis, one, two in turns
    )


def orthonormal(A):
    rows = A.copy()
    for i in range(len(rows)):
        rows[i] /= np.sqrt(rows[i] @ rows[i])
        rows[i + 1 :] -= np.outer(rows[i + 1 :] @ rows[i], rows[i])
    return rows


def slopes(x):
    here = around(x, 1)
    down, right = here(1, 0) - here(-1, 0), here(0, 1) - here(0, -1)
    return np.hypot(down, right), np.arctan2(down, right)
