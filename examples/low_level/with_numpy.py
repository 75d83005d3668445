"""The benchmarks in NumPy, single precision: the fastest formulation that we know, into memory that is there already."""

from functools import cache

import numpy as np

f = np.float32


@cache
def kept(name, shape):
    """Memory for a result or between two steps: taken once, as a kernel's is."""
    return np.empty(shape, f)


def saxpy(a, x, y):
    out = kept("saxpy", x.shape)
    np.multiply(x, a, out=out)
    out += y
    return out


def gemv(alpha, A, x, beta, y):
    return alpha * (A @ x) + beta * y


def transpose(A):
    out = kept("transpose", A.shape[::-1])
    np.copyto(out, A.T)
    return out


def weighted_sum(name, terms, last=None):
    """The sum of products of a weight and a part of a grid, times `last`."""
    (weight, part), *others = terms
    out, product = kept(name, part.shape), kept(f"{name}, one term", part.shape)
    np.multiply(part, f(weight), out=out)
    for weight, part in others:
        np.multiply(part, f(weight), out=product)
        out += product
    if last is not None:
        out *= f(last)
    return out


def j2d5pt(grid):
    n, m = (length - 2 for length in grid.shape)

    def at(i, j):
        return grid[1 + i : 1 + i + n, 1 + j : 1 + j + m]

    weights = {(-1, 0): 5.1, (0, -1): 12.1, (0, 0): 15.0, (0, 1): 12.2, (1, 0): 5.2}
    return weighted_sum("j2d5pt", [(w, at(*place)) for place, w in weights.items()], 1 / 118)


def j2d5pt_border(grid):
    return j2d5pt(np.pad(grid, 1, mode="edge"))


def j2d9pt(grid):
    n, m = grid.shape
    padded = np.pad(grid, 2, mode="edge")

    def at(i, j):
        return padded[2 + i : 2 + i + n, 2 + j : 2 + j + m]

    down = {-2: 7.1, -1: 5.1, 1: 5.2, 2: 7.2}
    right = {-2: 9.2, -1: 12.1, 0: 15.0, 1: 12.2, 2: 9.1}
    terms = [(w, at(i, 0)) for i, w in down.items()] + [(w, at(0, j)) for j, w in right.items()]
    return weighted_sum("j2d9pt", terms, 1 / 118)


def j3d7pt(grid):
    n, m, k = grid.shape
    padded = np.pad(grid, 1, mode="edge")

    def at(h, i, j):
        return padded[1 + h :, 1 + i :, 1 + j :][:n, :m, :k]

    weights = {
        (0, 0, 1): 0.161, (0, 0, -1): 0.162, (0, 1, 0): 0.163, (0, -1, 0): 0.164,
        (1, 0, 0): 0.165, (-1, 0, 0): 0.166, (0, 0, 0): -1.67,
    }  # fmt: skip
    return weighted_sum("j3d7pt", [(w, at(*place)) for place, w in weights.items()])


def convolution(image, weights):
    size = len(weights)
    h, w = (length - size + 1 for length in image.shape)
    places = [(i, j) for i in range(size) for j in range(size)]
    terms = [(weights[i, j], image[i : i + h, j : j + w]) for i, j in places]
    return weighted_sum("convolution", terms)


def nbody(bodies, velocities, softening, dt):
    """256 bodies at a time: all pairs at once do not fit in memory."""
    p, v = np.stack(bodies[:3]), np.stack(velocities)
    a = np.empty_like(v)
    for start in range(0, p.shape[1], 256):
        some = slice(start, start + 256)
        gaps = p[:, None, :] - p[:, some, None]
        near = 1 / np.sqrt((gaps * gaps).sum(axis=0) + softening)
        a[:, some] = (gaps * (bodies[3] * (near * near * near))).sum(axis=2)
    return p + v * dt + a * (dt * dt / 2), v + a * dt


def kmeans(features, centres):
    """The square of a difference, multiplied out: the product of matrices does the work."""
    lengths = (centres * centres).sum(axis=1)
    return np.argmin(lengths[:, None] - 2 * (centres @ features), axis=0).astype(np.int32)


def kmeans_rows(points, centres):
    lengths = (centres * centres).sum(axis=1)
    return np.argmin(lengths - 2 * (points @ centres.T), axis=1).astype(np.int32)


def black_scholes(options):
    price, strike, years = options
    spread = f(0.3) * np.sqrt(years)
    d = (np.log(price / strike) + f(0.02 + 0.5 * 0.3 * 0.3) * years) / spread

    def cumulative(d):
        t = 1 / (1 + f(0.2316419) * np.abs(d))
        series = f(1.330274429) * t
        for coefficient in (-1.821255978, 1.781477937, -0.356563782, 0.31938153):
            series += f(coefficient)
            series *= t
        series *= f(0.3989422804) * np.exp(f(-0.5) * d * d)
        return np.where(d > 0, 1 - series, series)

    above, at = cumulative(d), cumulative(d - spread)
    discounted = strike * np.exp(f(-0.02) * years)
    return price * above - discounted * at, discounted * (1 - at) - price * (1 - above)


def mriq(voxels, samples):
    *frequencies, magnitude = samples
    angles = f(2 * np.pi) * (np.stack(voxels, axis=1) @ np.stack(frequencies))
    return np.cos(angles) @ magnitude, np.sin(angles) @ magnitude


def matmul(A, B):
    return A @ B


WITH_NUMPY = {
    "dot": np.dot, "saxpy": saxpy, "gemv": gemv, "transpose": transpose, "j2d5pt": j2d5pt,
    "j2d5pt_border": j2d5pt_border, "j2d9pt": j2d9pt, "j3d7pt": j3d7pt, "convolution": convolution,
    "nbody": nbody, "kmeans": kmeans, "kmeans_rows": kmeans_rows, "black_scholes": black_scholes,
    "mriq": mriq, "matmul": matmul,
}  # fmt: skip
