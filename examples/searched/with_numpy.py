"""The programs of programs.py in NumPy, single precision: the fastest formulation that we know, into memory that is there.

What is not said here is said by examples/low_level.
"""

from pathlib import Path
from runpy import run_path

import numpy as np

OF_LOW_LEVEL = run_path(str(Path(__file__).parent.parent / "low_level" / "with_numpy.py"))
f, kept, weighted_sum = (OF_LOW_LEVEL[name] for name in ("f", "kept", "weighted_sum"))


def __getattr__(name):
    if (found := OF_LOW_LEVEL.get(name)) is None:
        raise AttributeError(name)
    return found


# ---- folds


def row_sums(A):
    return A.sum(axis=1)


def column_sums(A):
    return A.sum(axis=0)


def centred(name, A, axis):
    out = kept(name, A.shape)
    np.subtract(A, A.mean(axis=axis, keepdims=True), out=out)
    return out


def column_variance(A):
    gaps = centred("column_variance", A, 0)
    return np.einsum("ij,ij->j", gaps, gaps) / f(len(A))


def largest_place(A):
    return A.argmax(axis=1).astype(np.int32)


def powers(name, A):
    """What the exponentials of rows are without overflow, and the largest of each row."""
    out, top = kept(name, A.shape), A.max(axis=1)
    np.subtract(A, top[:, None], out=out)
    return np.exp(out, out=out), top


def log_sum_exp(A):
    out, top = powers("log_sum_exp", A)
    return top + np.log(out.sum(axis=1))


def cross_entropy(A, labels):
    return log_sum_exp(A) - A[np.arange(len(A)), labels]


def scan(x):
    return np.cumsum(x, out=kept("scan", x.shape))


def prefix_maximum(x):
    return np.maximum.accumulate(x, out=kept("prefix_maximum", x.shape))


def row_scans(A):
    return np.cumsum(A, axis=1, out=kept("row_scans", A.shape))


def histogram(values, bins):
    return np.bincount(values, minlength=len(bins))[bins].astype(np.int32)


# ---- rows and their folds


def softmax(A):
    out, _ = powers("softmax", A)
    out /= out.sum(axis=1, keepdims=True)
    return out


def masked_softmax(A, kept):
    return softmax(np.where(kept > 0, A, f(-1e30)))


def layer_norm(A, gain, bias):
    out = centred("layer_norm", A, 1)
    spread = np.einsum("ij,ij->i", out, out) / f(A.shape[1])
    out *= (1 / np.sqrt(spread + f(1e-5)))[:, None]
    out *= gain
    out += bias
    return out


def rms_norm(A, gain):
    square = np.einsum("ij,ij->i", A, A) / f(A.shape[1])
    out = np.multiply(A, (1 / np.sqrt(square + f(1e-6)))[:, None], out=kept("rms_norm", A.shape))
    out *= gain
    return out


def cosines(A, B):
    a, b, both = (np.einsum("ij,ij->i", x, y) for x, y in ((A, A), (B, B), (A, B)))
    return both / np.sqrt(a * b)


# ---- matrices and vectors


def gemv_transposed(A, x):
    return A.T @ x


def atax(A, x):
    return A.T @ (A @ x)


def gesummv(alpha, beta, A, B, x):
    return alpha * (A @ x) + beta * (B @ x)


def bicg(A, p, r):
    return A @ p, A.T @ r


def gemver(alpha, beta, A, u1, v1, u2, v2, y, z):
    """The sum of three matrices is never made."""
    x = beta * (A.T @ y + v1 * (u1 @ y) + v2 * (u2 @ y)) + z
    return alpha * (A @ x + u1 * (v1 @ x) + u2 * (v2 @ x))


def rank_one(A, x, y):
    out = np.multiply.outer(x, y, out=kept("rank_one", A.shape))
    out += A
    return out


def sum_transposed(A, B):
    return np.add(A, B.T, out=kept("sum_transposed", A.shape))


# ---- products


def gemm(alpha, A, B, beta, C):
    out = A @ B
    out *= alpha
    out += beta * C
    return out


def bias_relu(A, B, bias):
    out = A @ B
    out += bias
    return np.maximum(out, 0, out=out)


def product_transposed(A, B):
    return A @ B.T


def products_batched(A, B):
    return A @ B


def three_products(A, B, C, D):
    return A @ B @ C @ D


def squared_distances(X, Y):
    """The square of a difference, multiplied out: the product of matrices does the work."""
    out = X @ Y.T
    out *= f(-2)
    out += (X * X).sum(axis=1)[:, None]
    out += (Y * Y).sum(axis=1)
    return out


def mahalanobis(X, mean, S):
    gaps = X - mean
    return np.einsum("ij,ij->i", gaps @ S.T, gaps)


def attention(Q, K, V):
    """The sums divide what is left of them: the product with V comes first."""
    out, _ = powers("attention", Q @ K.T)
    return (out @ V) / out.sum(axis=1, keepdims=True)


def covariance(X):
    gaps = centred("covariance", X, 0)
    return gaps.T @ gaps / f(len(X) - 1)


# ---- images


def conv2d(x, K):
    """A product of matrices for each place of the kernel."""
    n, m = (length - 2 for length in x.shape[1:])
    out = kept("conv2d", (len(K), n * m))
    out[:] = 0
    for i in range(3):
        for j in range(3):
            part = np.ascontiguousarray(x[:, i : i + n, j : j + m]).reshape(len(x), -1)
            out += K[:, :, i, j] @ part
    return out.reshape(len(K), n, m)


def convolution_border(image, weights):
    return OF_LOW_LEVEL["convolution"](np.pad(image, len(weights) // 2), weights)


def convolution_separable(image, rows, columns):
    h, w = image.shape
    reach = len(rows) // 2
    padded = np.pad(image, ((0, 0), (reach, reach)))
    along = [(rows[j], padded[:, j : j + w]) for j in range(len(rows))]
    padded = np.pad(weighted_sum("along rows", along), ((reach, reach), (0, 0)))
    down = [(columns[i], padded[i : i + h]) for i in range(len(columns))]
    return weighted_sum("along columns", down)


def hotspot(temperature, power):
    padded = np.pad(temperature, 1, mode="edge")
    n, m = temperature.shape

    def at(i, j):
        return padded[1 + i : 1 + i + n, 1 + j : 1 + j + m]

    weights = {(-1, 0): 0.1, (1, 0): 0.1, (0, -1): 0.1, (0, 1): 0.1, (0, 0): 19.5375}
    out = weighted_sum("hotspot", [(w, at(*place)) for place, w in weights.items()])
    out += power
    out += f(80 * 0.0625)
    out *= f(0.05)
    return out


def jacobi(x):
    for _ in range(4):
        padded = np.pad(x, 1, mode="edge")
        x = kept("jacobi", x.shape)
        np.add(padded[1:-1, 1:-1], padded[:-2, 1:-1], out=x)
        for other in (padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]):
            x += other
        x *= f(0.2)
    return x


def box_blur(x):
    """Sums along the rows, and of these along the columns."""
    n, m = x.shape[1:]
    padded = np.pad(x, ((0, 0), (3, 3), (3, 3)), "edge")
    along = weighted_sum("box along rows", [(1, padded[:, :, j : j + m]) for j in range(7)])
    return weighted_sum("box", [(1, along[:, i : i + n]) for i in range(7)], 1 / 49)


def max_pool(x):
    rows = np.maximum(x[::2], x[1::2])
    return np.maximum(rows[:, ::2], rows[:, 1::2])


# ---- particles and others


def gelu(x):
    out = np.multiply(x, x, out=kept("gelu", x.shape))
    out *= f(0.044715)
    out += f(1)
    out *= x
    out *= f(0.7978845608)
    np.tanh(out, out=out)
    out += f(1)
    out *= x
    out *= f(0.5)
    return out


def md(atoms, neighbours, cutoff, lj1, lj2):
    """4096 atoms at a time: what all of them see does not fit in a cache."""
    places = np.stack(atoms)
    out = np.empty_like(places)
    for start in range(0, len(neighbours), 4096):
        some = slice(start, start + 4096)
        gaps = places[:, some, None] - places[:, neighbours[some]]
        squared = np.einsum("ijk,ijk->jk", gaps, gaps)
        acts = (squared < cutoff) & (squared > 0)
        near = 1 / np.where(acts, squared, f(1))
        cube = near * near * near
        s = np.where(acts, cube * near * (lj1 * cube - lj2), f(0))
        out[:, some] = np.einsum("ijk,jk->ij", gaps, s)
    return tuple(out)
