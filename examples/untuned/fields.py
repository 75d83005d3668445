"""Programs of signals, images, physics and finance for which nothing in the search was tuned.

What each computes, in NumPy, is in with_numpy.py under its name.
"""

# pyright: reportGeneralTypeIssues=false
# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from pathlib import Path

import relift as rl
from relift.bench import load_file

SEARCHED = load_file(Path(__file__).parent.parent / "searched" / "programs.py")
n, m, k = (rl.nat(name) for name in "nmk")
f = rl.f32
dot, total, largest = (getattr(SEARCHED, name) for name in ("dot", "total", "largest"))


def windows(reach, grid, border=rl.clamp):
    """What lies around each cell of a table."""
    sides, whole = (reach, reach), (2 * reach + 1, 2 * reach + 1)
    return rl.slide_nd(whole, (1, 1), rl.pad_nd(sides, sides, border, grid))


def weighted(window, weights):
    """The sum of the cells of a square, weighted."""
    return sum(w * window[i][j] for i, row in enumerate(weights) for j, w in enumerate(row) if w)


# ---- signals


@rl.program
def conv1d(x: f[n], w: f[64]):
    return rl.map(lambda window: dot(window, w), rl.slide(64, 1, rl.pad(32, 31, 0.0, x)))


@rl.program
def biquads(x: f[n, m]):
    """A recursive filter of second order along each row."""

    def step(state, v):
        now = 0.2 * v + 1.2 * state[0] - 0.5 * state[1]
        return (now, state[0])

    return rl.map(lambda row: rl.map(lambda s: s[0], rl.scan_seq(step, (0.0, 0.0), row)), x)


@rl.program
def upsampled(x: f[n, m]):
    """Rows of twice the length: each number, and the mean of it and the next."""

    def row(r):
        pairs = rl.slide(2, 1, rl.pad(0, 1, rl.clamp, r))
        return rl.join(rl.map(lambda p: rl.make_array(p[0], 0.5 * (p[0] + p[1])), pairs))

    return rl.map(row, x)


@rl.program
def spectra(x: f[n, k], cosines: f[m, k], sines: f[m, k]):
    """The power of each frequency in each row, by tables of the waves."""

    def power(row, p):
        real, imaginary = dot(row, p[0]), dot(row, p[1])
        return real * real + imaginary * imaginary

    return rl.map(lambda row: rl.map(lambda p: power(row, p), rl.zip(cosines, sines)), x)


# ---- images


GAUSS = [[a * b / 256.0 for b in (1, 4, 6, 4, 1)] for a in (1, 4, 6, 4, 1)]


@rl.program
def unsharp(x: f[n, m]):
    """Away from what a blur gives."""
    return rl.map_nd(2, lambda w: w[2][2] + 1.5 * (w[2][2] - weighted(w, GAUSS)), windows(2, x))


SOBEL = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]


@rl.program
def harris(x: f[n, m]):
    """Corners: products of slopes, summed around each cell, and what they say of it."""

    def slopes(w):
        right = weighted(w, SOBEL)
        down = weighted(w, [list(row) for row in zip(*SOBEL, strict=True)])
        return (right * right, right * down, down * down)

    products = rl.map_nd(2, slopes, windows(1, x))

    def corner(w):
        xx, xy, yy = (sum(w[i][j][part] for i in range(3) for j in range(3)) for part in range(3))
        return xx * yy - xy * xy - 0.04 * ((xx + yy) * (xx + yy))

    return rl.map_nd(2, corner, windows(1, products))


@rl.program
def bilateral(x: f[n, m]):
    """A mean of what is near, in place and in value."""

    def cell(window):
        middle = window[2][2]

        def near(v):
            return rl.exp(-8.0 * ((v - middle) * (v - middle)))

        flat = rl.join(window)
        whole = total(rl.map(near, flat))
        return total(rl.map(lambda v: near(v) * v, flat)) / whole

    return rl.map_nd(2, cell, windows(2, x))


@rl.program
def dilated(x: f[n, m]):
    """The largest of five by five."""
    return rl.map_nd(2, lambda w: largest(rl.join(w)), windows(2, x))


@rl.program
def tile_histograms(x: rl.i32[16 * n, 16 * m]):
    """How often each of 16 values occurs in each tile of 16 by 16."""

    def counts(tile):
        def occurrences(label):
            found = rl.map(lambda v: rl.select(rl.equal(v, label), 1, 0), rl.join(tile))
            return rl.reduce(rl.add, 0, found)

        return rl.generate(16, occurrences)

    return rl.map_nd(2, counts, rl.slide_nd((16, 16), (16, 16), x))


# ---- physics and finance


@rl.program
def fdtd(ex: f[n, m], ey: f[n, m], hz: f[n, m]):
    """PolyBench: a step of an electric field, by what the magnetic one is above and to the left."""

    def row(p):
        return rl.map(
            lambda q: (q[0] - 0.5 * (q[2] - q[3]), q[1] - 0.5 * (q[2] - q[4])),
            rl.zip(p[0], p[1], p[2], p[3], rl.take(m, rl.pad(1, 0, rl.clamp, p[2]))),
        )

    return rl.map(row, rl.zip(ex, ey, hz, rl.take(n, rl.pad(1, 0, rl.clamp, hz))))


@rl.program
def jacobi_1d(x: f[n]):
    """PolyBench: means of three neighbours, ten times."""

    def step(row):
        near = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, row))
        return rl.map(lambda w: 0.33333 * (w[0] + w[1] + w[2]), near)

    return rl.iterate(10, step, x)


@rl.program
def advection(x: f[n, m], u: f[n, m], v: f[n, m]):
    """A step of what is carried by a wind: differences are taken upwind."""

    def cell(p):
        w, right, down = p[0], p[1], p[2]
        across = rl.select(right > 0.0, w[1][1] - w[1][0], w[1][2] - w[1][1])
        along = rl.select(down > 0.0, w[1][1] - w[0][1], w[2][1] - w[1][1])
        return w[1][1] - 0.1 * (right * across + down * along)

    return rl.map(
        lambda rows: rl.map(cell, rl.zip(rows[0], rows[1], rows[2])),
        rl.zip(windows(1, x, rl.wrap), u, v),
    )


MOVES = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1)]
WEIGHTS = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


@rl.program
def lattice_boltzmann(cells: f[9, n, m]):
    """A step of D2Q9: what flows into each cell from its neighbours, and what it is after it has met there."""
    around = rl.map(lambda q: windows(1, q, rl.wrap), cells)
    around = rl.map(rl.transpose, rl.transpose(around))

    def cell(q):
        come = [q[i][1 - down][1 - right] for i, (down, right) in enumerate(MOVES)]
        density = sum(come[1:], come[0])
        down = sum(d * v for (d, _), v in zip(MOVES, come, strict=True) if d) / density
        right = sum(r * v for (_, r), v in zip(MOVES, come, strict=True) if r) / density
        square = 1.5 * (down * down + right * right)

        def rested(v, d, r, weight):
            along = 3.0 * (d * down + r * right)
            rest = weight * density * (1.0 + along + 0.5 * (along * along) - square)
            return v + 0.6 * (rest - v)

        parts = zip(come, MOVES, WEIGHTS, strict=True)
        return rl.make_array(*(rested(v, float(d), float(r), w) for v, (d, r), w in parts))

    return rl.map_nd(2, cell, around)


@rl.program
def bond_prices(rates: f[n], cash: f[m, k], times: f[k]):
    """What bonds are worth at many rates: flows of cash, discounted."""

    def price(rate, flows):
        return total(rl.map(lambda p: p[0] * rl.exp(0.0 - rate * p[1]), rl.zip(flows, times)))

    return rl.map(lambda rate: rl.map(lambda flows: price(rate, flows), cash), rates)


@rl.program
def barrier_options(steps: f[n, m]):
    """What paths of a price pay that never fell below a bound."""

    def path(r):
        prices = rl.scan_seq(lambda s, g: s * rl.exp(0.02 * g - 0.0002), 100.0, r)
        least = rl.reduce(rl.minimum, float("inf"), prices)
        mean = total(prices) / m
        return rl.select(least > 80.0, rl.maximum(0.0, mean - 100.0), 0.0)

    return rl.map(path, steps)


@rl.program
def permuted(x: f[n, m, k]):
    """The axes of a block in the other order."""
    return rl.transpose(rl.map(rl.transpose, rl.transpose(x)))


@rl.program
def cube_mean(x: f[n, m, k]):
    """The mean of 27 cells around each of a block."""
    padded = rl.pad_nd((1, 1, 1), (1, 1, 1), rl.clamp, x)
    around = rl.slide_nd((3, 3, 3), (1, 1, 1), padded)
    return rl.map_nd(3, lambda w: total(rl.join(rl.join(w))) * (1.0 / 27), around)
