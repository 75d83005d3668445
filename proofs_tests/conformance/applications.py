"""Applications: numbers 71 to 81."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, no-any-return, operator, untyped-decorator, valid-type"
# pyright: reportGeneralTypeIssues=false
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import numpy as np

import relift as rl
from proofs_tests.conformance.cases import case, dot, floats, largest, mv, total, whole

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")
f, i = rl.f32, rl.i32
particle = rl.tup(f, f, f, f)


def _nbody(p, v):
    p, v = p.astype(np.float64), v.astype(np.float64)
    r = p[None, :, :3] - p[:, None, :3]
    a = np.sum(p[None, :, 3:] * r / ((r * r).sum(axis=2, keepdims=True) + 500.0) ** 1.5, axis=1)
    return p[:, :3] + v * 0.005 + 0.5 * a * 0.005**2


@case(
    "71",
    "n-body",
    _nbody,
    n=24,
    draws=lambda rng: (
        rng.random((24, 4), dtype=np.float32) * 20,
        rng.random((24, 3), dtype=np.float32),
    ),
)
def nbody(p: f[n, 4], v: f[n, 3]):
    def moved(q):
        here, speed = q[0], q[1]

        def pull(d):
            def one(other):
                rs = [other[j] - here[j] for j in range(3)]
                length = rs[0] * rs[0] + rs[1] * rs[1] + rs[2] * rs[2] + 500.0
                return other[3] * rs[d] / (length * rl.sqrt(length))

            return total(rl.map(one, p))

        cells = [here[d] + speed[d] * 0.005 + 0.5 * pull(d) * 0.000025 for d in range(3)]
        return rl.make_array(*cells)

    return rl.map(moved, rl.zip(p, v))


def _lennard_jones(p, neighbours):
    d = p[:, None, :].astype(np.float64) - p[neighbours]
    r2 = 1 / np.maximum((d * d).sum(axis=2), 0.01)
    r6 = r2**3
    near = np.where((d * d).sum(axis=2) < 16, r2 * r6 * (1.5 * r6 - 2.0), 0.0)
    return (d[..., 0] * near).sum(axis=1)


@case(
    "72",
    "forces of neighbours (Lennard-Jones)",
    _lennard_jones,
    n=16,
    m=4,
    draws=lambda rng: (
        rng.random((16, 3), dtype=np.float32) * 6,
        whole([[(j + s) % 16 for s in (1, 2, 5, 7)] for j in range(16)]),
    ),
)
def lennard_jones(p: f[n, 3], neighbours: i[n, m]):
    def force(q):
        def one(j):
            other = rl.at_runtime_unsafe(j, p)
            d = [q[0][c] - other[c] for c in range(3)]
            distance = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            r2 = 1.0 / rl.maximum(distance, 0.01)
            r6 = r2 * r2 * r2
            return rl.select(distance < 16.0, d[0] * (r2 * r6 * (1.5 * r6 - 2.0)), 0.0)

        return total(rl.map(one, q[1]))

    return rl.map(force, rl.zip(p, neighbours))


@case(
    "73",
    "k-means, assignment",
    lambda x, c: np.int32(((x[:, None] - c) ** 2).sum(axis=2).argmin(axis=1)),
    n=32,
    m=5,
    draws=lambda rng: (
        rng.integers(-9, 9, (32, 2)).astype(np.float32),
        floats([[0, 0], [5, 5], [-5, 5], [5, -5], [-5, -5]]),
    ),
)
def kmeans(x: f[n, 2], c: f[m, 2]):
    def nearest(point):
        def nearer(best, q):
            d = total(rl.map(lambda p: (p[0] - p[1]) * (p[0] - p[1]), rl.zip(point, q[0])))
            closer = d < best[0]
            return (rl.select(closer, d, best[0]), rl.select(closer, q[1], best[1]))

        return rl.reduce_seq(nearer, (1e30, 0), rl.zip(c, rl.generate(m, lambda j: j)))[1]

    return rl.map(nearest, x)


@case(
    "74",
    "nearest neighbour, distances",
    lambda x, lat, lng: np.hypot(x[:, 0] - lat, x[:, 1] - lng),
    n=64,
)
def distances(x: f[n, 2], lat: f, lng: f):
    return rl.map(lambda p: rl.sqrt((p[0] - lat) * (p[0] - lat) + (p[1] - lng) * (p[1] - lng)), x)


@case(
    "75",
    "MRI-Q, PhiMag",
    lambda re, im: re * re + im * im,
    n=64,
    low=lambda re, im: rl.map_glb(0)(lambda p: p[0] * p[0] + p[1] * p[1], rl.zip(re, im)),
)
def phi_mag(re: f[n], im: f[n]):
    return rl.map(lambda p: p[0] * p[0] + p[1] * p[1], rl.zip(re, im))


def _mriq(x, ks, phi):
    angle = 2 * np.pi * x.astype(np.float64) @ ks.astype(np.float64).T
    return (phi * np.cos(angle)).sum(axis=1)


@case(
    "76",
    "MRI-Q, ComputeQ",
    _mriq,
    n=16,
    m=12,
    draws=lambda rng: (
        rng.random((16, 3), dtype=np.float32),
        rng.random((12, 3), dtype=np.float32),
        rng.random(12, dtype=np.float32),
    ),
)
def compute_q(x: f[n, 3], ks: f[m, 3], phi: f[m]):
    def voxel(v):
        def sample(q):
            angle = 6.2831853 * (v[0] * q[0][0] + v[1] * q[0][1] + v[2] * q[0][2])
            return q[1] * rl.cos(angle)

        return total(rl.map(sample, rl.zip(ks, phi)))

    return rl.map(voxel, x)


@rl.userfun(c="return s * 0.5f + exp(-s * 0.1f) * sqrt(s);")
def price(s: rl.f32) -> rl.f32:
    """An opaque function of a price."""
    return np.float32(s * 0.5 + np.exp(-s * 0.1) * np.sqrt(s))


@case(
    "77",
    "Black-Scholes, an opaque function",
    lambda s: s * 0.5 + np.exp(-s * 0.1) * np.sqrt(s),
    n=64,
    draws=lambda rng: (rng.random(64, dtype=np.float32) * 30 + 1,),
    low=lambda s: rl.map_glb(0)(price, s),
)
def prices(s: f[n]):
    return rl.map(lambda v: price(v), s)


def _mandelbrot(xs, ys):
    c = xs[None, :] + 1j * ys[:, None]
    z, count = np.zeros_like(c), np.zeros(c.shape, dtype=np.int32)
    for _ in range(20):
        inside = (z.real * z.real + z.imag * z.imag) < 4
        count += inside
        z = np.where(inside, z * z + c, z)
    return count


@case(
    "78",
    "mandelbrot, 20 iterations",
    _mandelbrot,
    n=8,
    m=10,
    draws=lambda rng: (
        np.linspace(-2, 1, 10, dtype=np.float32),
        np.linspace(-1.2, 1.3, 8, dtype=np.float32),
    ),
)
def mandelbrot(xs: f[m], ys: f[n]):
    def pixel(x, y):
        def step(s):
            inside = s[0] * s[0] + s[1] * s[1] < 4.0
            real, imaginary = s[0] * s[0] - s[1] * s[1] + x, 2.0 * s[0] * s[1] + y
            return (
                rl.select(inside, real, s[0]),
                rl.select(inside, imaginary, s[1]),
                s[2] + rl.select(inside, rl.i32(1), rl.i32(0)),
            )

        return rl.iterate(20, step, (0.0, 0.0, rl.i32(0)))[2]

    return rl.map(lambda y: rl.map(lambda x: pixel(x, y), xs), ys)


@case("79", "PageRank, a step", lambda a, r: 0.85 * (a @ r) + 0.15, n=16)
def page_rank(a: f[n, n], r: f[n]):
    return rl.map(lambda v: 0.85 * v + 0.15, mv(a, r))


@case(
    "79b",
    "breadth-first search, a step",
    lambda a, r: ((a * r).max(axis=1)).astype(np.int32),
    n=16,
    draws=lambda rng: (
        rng.integers(0, 2, (16, 16)).astype(np.int32),
        rng.integers(0, 2, 16).astype(np.int32),
    ),
)
def bfs(a: i[n, n], r: i[n]):
    return rl.map(
        lambda row: rl.reduce(rl.maximum, 0, rl.map(lambda p: p[0] * p[1], rl.zip(row, r))), a
    )


@case("80", "relations, cross product", lambda x, y: (np.repeat(x, 6), np.tile(y, 5)), n=5, m=6)
def cross_product(x: f[n], y: f[m]):
    return rl.unzip(rl.join(rl.map(lambda u: rl.map(lambda v: (u, v), y), x)))


def _left_join(keys, others, values):
    return floats(
        [next((v for o, v in zip(others, values, strict=True) if o == key), -1) for key in keys]
    )


@case(
    "80l",
    "relations, left join",
    _left_join,
    n=16,
    m=8,
    draws=lambda rng: (
        rng.integers(0, 12, 16).astype(np.int32),
        np.arange(8, dtype=np.int32)[::-1].copy(),
        np.arange(8, dtype=np.float32),
    ),
)
def left_join(keys: i[n], others: i[m], values: f[m]):
    return rl.map(
        lambda key: rl.linear_search(
            lambda q: q[0] - key, (rl.i32(0), -1.0), rl.zip(others, values)
        )[1],
        keys,
    )


@case("80m", "relations, largest", np.max, n=64)
def database_max(x: f[n]):
    return rl.reduce(largest, -1e30, x)


@case(
    "80g",
    "relations, sum of each key",
    lambda ks, vs: floats([vs[ks == j].sum() for j in range(6)]),
    n=48,
    draws=lambda rng: (
        np.sort(rng.integers(0, 6, 48)).astype(np.int32),
        rng.integers(0, 9, 48).astype(np.float32),
    ),
)
def group_by(keys: i[n], values: f[n]):
    return rl.map(
        lambda j: total(
            rl.map(lambda p: rl.select(rl.equal(p[0], j), p[1], 0.0), rl.zip(keys, values))
        ),
        rl.generate(6, lambda j: j),
    )


@case(
    "81",
    "convolutional layer",
    lambda x, w: np.maximum(
        np.einsum(
            "chwij,ocij->ohw", np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2)), w
        ),
        0,
    ),
    k=2,
    n=5,
    m=6,
)
def convolutional(x: f[3, n + 2, m + 2], w: f[k, 3, 3, 3]):
    def cell(filters, windows):
        sums = rl.map(lambda p: dot(rl.join(p[0]), rl.join(p[1])), rl.zip(filters, windows))
        return rl.maximum(total(sums), 0.0)

    windows = rl.map(lambda channel: rl.slide_nd((3, 3), (1, 1), channel), x)  # c, h, w, 3, 3
    by_cell = rl.map(rl.transpose, rl.transpose(windows))  # h, w, c, 3, 3
    return rl.map(
        lambda filters: rl.map(lambda row: rl.map(lambda win: cell(filters, win), row), by_cell), w
    )


@case("81f", "fully connected layer", lambda w, b, x: np.maximum(w @ x + b, 0), n=12, m=16)
def fully_connected(w: f[n, m], b: f[n], x: f[m]):
    return rl.map(lambda p: rl.maximum(p[0] + p[1], 0.0), rl.zip(mv(w, x), b))
