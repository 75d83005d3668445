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


def matmul(picked, A, B):
    return wide(A[picked]) @ B


matmul_1024 = matmul
matmul_derived = matmul


def forces(picked, bodies, softening):
    p, m = np.stack([wide(c) for c in bodies[:3]]), wide(bodies[3])
    gaps = p[:, None, :] - p[:, picked, None]
    near = 1 / np.sqrt((gaps**2).sum(axis=0) + softening)
    return p[:, picked], m[picked], (gaps * (m * near**3)).sum(axis=2)


def nbody(picked, bodies, velocities, softening, dt):
    p, m, a = forces(picked, bodies, softening)
    v, dt = np.stack([wide(c[picked]) for c in velocities]), wide(dt)
    return (*(p + v * dt + a * (0.5 * dt * dt)), m, *(v + a * dt))


def nbody_nvidia(picked, bodies, velocities, softening, dt, damping):
    p, m, a = forces(picked, bodies, softening)
    v = (np.stack([wide(c[picked]) for c in velocities]) + a * dt) * damping
    return (*(p + v * dt), m, *v)


def md(picked, atoms, neighbours, cutoff, lj1, lj2):
    gaps = wide(atoms[picked, None, :3]) - atoms[neighbours[:, picked].T, :3]
    squared = (gaps**2).sum(axis=2)
    acts = (squared < cutoff) & (squared > 0)
    near = 1 / np.where(acts, squared, 1)
    s = np.where(acts, near**4 * (lj1 * near**3 - lj2), 0)
    return tuple((gaps * s[:, :, None]).sum(axis=1).T)


def kmeans(picked, features, centres):
    gaps = wide(features[:, picked]).T[:, None, :] - centres[None, :, :]
    return np.argmin((gaps**2).sum(axis=2), axis=1)


def mriq(picked, voxels, samples):
    places = np.stack([wide(c[picked]) for c in voxels], axis=1)
    *frequencies, magnitude = (wide(c) for c in samples)
    angles = 2 * np.pi * (places @ np.stack(frequencies))
    return np.cos(angles) @ magnitude, np.sin(angles) @ magnitude


def convolution_separable(picked, image, rows, columns):
    r = len(rows) // 2
    padded = np.pad(image, r)

    def blurred(line):
        return np.convolve(wide(line), wide(rows)[::-1], "valid")

    return np.stack(
        [sum(c * blurred(padded[i + k]) for k, c in enumerate(wide(columns))) for i in picked]
    )


def stencil9(picked, grid, centre, cardinal, diagonal):
    def line(i):
        up, here, down = (wide(grid[i + k]) for k in range(3))
        sides = up[1:-1] + down[1:-1] + here[:-2] + here[2:]
        corners = up[:-2] + up[2:] + down[:-2] + down[2:]
        return centre * here[1:-1] + cardinal * sides + diagonal * corners

    return np.stack([line(i) for i in picked])


def j2d5pt(picked, grid):
    def line(i):
        up, here, down = (wide(grid[i + k]) for k in range(3))
        sides = 12.1 * here[:-2] + 12.2 * here[2:]
        return (5.1 * up[1:-1] + sides + 15.0 * here[1:-1] + 5.2 * down[1:-1]) / 118.0

    return np.stack([line(i) for i in picked])


def stencil9_border(picked, grid, centre, cardinal, diagonal):
    return stencil9(picked, np.pad(grid, 1, mode="edge"), centre, cardinal, diagonal)


def j2d5pt_border(picked, grid):
    return j2d5pt(picked, np.pad(grid, 1, mode="edge"))


def convolution(picked, image, weights):
    size = len(weights)
    return np.stack(
        [
            sum(
                np.convolve(wide(image[i + k]), wide(weights[k])[::-1], "valid")
                for k in range(size)
            )
            for i in picked
        ]
    )


def j2d9pt(picked, grid):
    padded = np.pad(grid, 2, mode="edge")

    def line(i):
        rows = [wide(padded[i + k]) for k in range(5)]
        here = rows[2]
        down = 7.1 * rows[0] + 5.1 * rows[1] + 5.2 * rows[3] + 7.2 * rows[4]
        right = 9.2 * here[:-4] + 12.1 * here[1:-3] + 12.2 * here[3:-1] + 9.1 * here[4:]
        return (down[2:-2] + right + 15.0 * here[2:-2]) / 118.0

    return np.stack([line(i) for i in picked])


def j3d7pt(picked, grid):
    padded = np.pad(grid, 1, mode="edge")

    def plane(h):
        front, here, back = (wide(padded[h + k]) for k in range(3))
        return (
            0.161 * here[1:-1, 2:] + 0.162 * here[1:-1, :-2]
            + 0.163 * here[2:, 1:-1] + 0.164 * here[:-2, 1:-1]
            + 0.165 * back[1:-1, 1:-1] + 0.166 * front[1:-1, 1:-1] - 1.67 * here[1:-1, 1:-1]
        )  # fmt: skip

    return np.stack([plane(h) for h in picked])


def black_scholes(picked, options):
    price, strike, years = (wide(a[picked]) for a in options)
    spread = 0.3 * np.sqrt(years)
    d = (np.log(price / strike) + (0.02 + 0.045) * years) / spread

    def cumulative(d):
        t = 1 / (1 + 0.2316419 * np.abs(d))
        series = 1.330274429 * t
        for c in (-1.821255978, 1.781477937, -0.356563782, 0.31938153):
            series = (series + c) * t
        beyond = 0.3989422804 * np.exp(-0.5 * d * d) * series
        return np.where(d > 0, 1 - beyond, beyond)

    discounted = strike * np.exp(-0.02 * years)
    above, at = cumulative(d), cumulative(d - spread)
    return price * above - discounted * at, discounted * (1 - at) - price * (1 - above)
