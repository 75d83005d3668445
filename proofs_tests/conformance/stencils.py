"""Stencils: numbers 45 to 70.

Of two and three dimensions the result is that of the inner cells, whose windows lie within the input.
"""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, no-any-return, operator, untyped-decorator, valid-type"
# pyright: reportGeneralTypeIssues=false
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import relift as rl
from proofs_tests.conformance.cases import case, dot, dot_seq, total, total_seq

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")
f = rl.f32
view = np.lib.stride_tricks.sliding_window_view


def weighted(weights, window):
    """The sum of the cells of a window that have a weight, each times its own."""
    terms = []
    for place, w in np.ndenumerate(np.asarray(weights, dtype=np.float64)):
        if w:
            cell = window
            for j in place:
                cell = cell[j]
            terms.append(cell * float(w))
    found = terms[0]
    for term in terms[1:]:
        found = found + term
    return found


def by_numpy(weights):
    """The same of every window, by NumPy."""
    weights = np.asarray(weights, dtype=np.float64)

    def expected(a):
        axes = tuple(range(weights.ndim))
        return np.tensordot(
            view(a.astype(np.float64), weights.shape),
            weights,
            (tuple(d + len(axes) for d in axes), axes),
        )

    return expected


def stencil_1d(number, title, taps, low=True):
    """A stencil of one dimension with a clamped border."""
    reach = len(taps) // 2
    weights = [float(t) for t in taps]

    def program(x: f[n]):
        w = rl.literal_array(weights)
        return rl.map(
            lambda win: dot(win, w), rl.slide(len(taps), 1, rl.pad(reach, reach, rl.clamp, x))
        )

    def schedule(x):
        w = rl.literal_array(weights)
        return rl.map_glb(0)(
            lambda win: dot_seq(win, w), rl.slide(len(taps), 1, rl.pad(reach, reach, rl.clamp, x))
        )

    program.__annotations__ = {"x": f[n]}
    program.__name__ = f"stencil_{len(taps)}"
    pad = lambda x: np.pad(x, reach, mode="edge")
    case(number, title, lambda x: by_numpy(taps)(pad(x)), n=64, low=schedule if low else None)(
        program
    )


stencil_1d("45", "1-D, 3 points", [1, 2, 1])
stencil_1d("46", "1-D, 5 points", [1, 2, 3, 2, 1])


@case(
    "47",
    "1-D sum, clamped, as written",
    lambda x: view(np.pad(x, 1, mode="edge"), 3).sum(axis=1),
    n=4,
)
def sum_of_three(x: f[n]):
    return rl.map(total, rl.slide(3, 1, rl.pad(1, 1, rl.clamp, x)))


def stencil(number, title, weights, name, border=None, low=True):
    """A stencil of two or three dimensions."""
    weights = np.asarray(weights, dtype=np.float64)
    depth, reach = weights.ndim, weights.shape[0] // 2

    def windows(x):
        if border is not None:
            x = rl.pad_nd((reach,) * depth, (reach,) * depth, border, x)
        return rl.slide_nd(weights.shape, (1,) * depth, x)

    def program(x):
        return rl.map_nd(depth, lambda win: weighted(weights, win), windows(x))

    def schedule(x):
        def loops(d, xs):
            if d == 0:
                return rl.map_glb(0)(lambda win: weighted(weights, win), xs)
            return rl.map_glb(d)(lambda row: loops(d - 1, row), xs)

        return loops(depth - 1, windows(x))

    names = (k, n, m)[-depth:] if depth == 3 else (n, m)
    extra = 0 if border is not None else 2 * reach
    program.__annotations__ = {"x": f[tuple(s + extra for s in names)]}
    program.__name__ = name
    sizes: dict[str, Any] = {str(s): 6 + d for d, s in enumerate(names)}
    pad = (lambda x: np.pad(x, reach, mode="edge")) if border is not None else (lambda x: x)
    case(
        number, title, lambda x: by_numpy(weights)(pad(x)), low=schedule if low else None, **sizes
    )(program)


def cross(depth, centre, sides, reach=1):
    """The weights of a cross: one of the centre, and one for each cell in each direction."""
    found = np.zeros((2 * reach + 1,) * depth)
    found[(reach,) * depth] = centre
    each = iter(itertools.cycle(sides))
    for d in range(depth):
        for step in (*range(-reach, 0), *range(1, reach + 1)):
            place = [reach] * depth
            place[d] += step
            found[tuple(place)] = next(each)
    return found


def by_distance(depth, values):
    """The weights of a cube of three by their distance from the centre: one for the centre, the faces, the edges."""
    found = np.zeros((3,) * depth)
    for place in np.ndindex(found.shape):
        found[place] = values[sum(p != 1 for p in place)]
    return found


stencil("48", "2-D, 3 by 3, weighted", by_distance(2, [0.2, 0.12, 0.08]), "weighted_9", rl.clamp)
stencil("49", "2-D, 5 by 5", 0.0042 * np.arange(1, 26).reshape(5, 5), "weighted_25", rl.clamp)
stencil("51", "2-D, 9 points of SHOC", by_distance(2, [0.25, 0.15, 0.05]), "shoc_9")
stencil("53", "j2d5pt", cross(2, 15 / 118, [5 / 118, 5 / 118, 12 / 118, 12 / 118]), "j2d5pt")
stencil("54", "j2d9pt", np.array([[7, 5, 9], [12, 15, 12], [9, 5, 7]]) / 118, "j2d9pt")
stencil("55", "j3d7pt", cross(3, -1.67, [0.161, 0.162, 0.163, 0.164, 0.165, 0.166]), "j3d7pt")
stencil("56", "heat3d", cross(3, 1 - 0.75, [0.125]), "heat3d")
stencil("57", "poisson3d, 19 points", by_distance(3, [2.666, -0.166, -0.0833, 0]), "poisson3d")
stencil("58", "j3d13pt", cross(3, -0.996, [0.083], reach=2), "j3d13pt")
stencil("59", "j3d27pt", by_distance(3, [1.5, 1.2, 0.9, 0.5]) / 159, "j3d27pt")
stencil("60", "19 points, reach 3", cross(3, -0.996, [0.083], reach=3), "reach_3", low=False)
stencil("61", "sum of 7", cross(3, 1, [1]), "sum_7")
stencil("61", "sum of 19", by_distance(3, [1, 1, 1, 0]), "sum_19", low=False)
stencil("61", "sum of 27", by_distance(3, [1, 1, 1, 1]), "sum_27", low=False)


@case("61r", "sum of 27 as a fold", lambda x: view(x, (3, 3, 3)).sum(axis=(3, 4, 5)), k=4, n=5, m=6)
def sum_27_fold(x: f[k + 2, n + 2, m + 2]):
    return rl.map_nd(3, lambda w: total(rl.join(rl.join(w))), rl.slide_nd((3, 3, 3), (1, 1, 1), x))


def _means(a, axis):
    return view(
        np.pad(a, [(1, 1) if d == axis else (0, 0) for d in (0, 1)], mode="wrap"), 3, axis=axis
    ).mean(axis=-1)


@case("50", "blur along x, wrapped", lambda a: _means(a, 1), n=6, m=8)
def blur_x(a: f[n, m]):
    return rl.map(
        lambda r: rl.map(lambda w: total(w) / 3.0, rl.slide(3, 1, rl.pad(1, 1, rl.wrap, r))), a
    )


@case("50y", "blur along y, wrapped", lambda a: _means(a, 0), n=6, m=8)
def blur_y(a: f[n, m]):
    return rl.map(
        lambda rows: rl.map(lambda c: total(c) / 3.0, rl.transpose(rows)),
        rl.slide(3, 1, rl.pad(1, 1, rl.wrap, a)),
    )


@case(
    "52",
    "Halide blur, in whole numbers",
    lambda a: view(a, (3, 3)).sum(axis=(2, 3)) // 9,
    n=6,
    m=8,
    draws=lambda rng: (rng.integers(0, 99, (8, 10)).astype(np.int32),),
)
def blur_whole(a: rl.i32[n + 2, m + 2]):
    return rl.map_nd(
        2, lambda w: rl.reduce(rl.add, 0, rl.join(w)) // 9, rl.slide_nd((3, 3), (1, 1), a)
    )


@case(
    "62",
    "hotspot",
    lambda t, p: by_numpy(cross(2, 0.6, [0.1]))(np.pad(t, 1, mode="edge")) + p + 0.25,
    n=8,
    m=8,
)
def hotspot(t: f[n, m], p: f[n, m]):
    windows = rl.slide_nd((3, 3), (1, 1), rl.pad_nd((1, 1), (1, 1), rl.clamp, t))
    return rl.map_nd(
        2, lambda q: weighted(cross(2, 0.6, [0.1]), q[0]) + q[1] + 0.25, rl.zip_nd(2, windows, p)
    )


_HOTSPOT = cross(3, 0.2, [0.1, 0.1, 0.15, 0.15, 0.15, 0.15])


@case(
    "63",
    "hotspot3D",
    lambda t, p: by_numpy(_HOTSPOT)(np.pad(t, 1, mode="symmetric")) + 0.5 * p + 8.0,
    k=4,
    n=5,
    m=6,
)
def hotspot_3d(t: f[k, n, m], p: f[k, n, m]):
    windows = rl.slide_nd((3, 3, 3), (1, 1, 1), rl.pad_nd((1, 1, 1), (1, 1, 1), rl.mirror, t))
    return rl.map_nd(
        3, lambda q: weighted(_HOTSPOT, q[0]) + 0.5 * q[1] + 8.0, rl.zip_nd(3, windows, p)
    )


Q0 = 0.053787220269


def _srad1(j):
    w = view(np.pad(j.astype(np.float64), 1, mode="symmetric"), (3, 3))
    c = w[..., 1, 1]
    d = [w[..., 0, 1] - c, w[..., 2, 1] - c, w[..., 1, 0] - c, w[..., 1, 2] - c]
    g2, l = sum(x * x for x in d) / (c * c), sum(d) / c
    q = (0.5 * g2 - l * l / 16) / (1 + 0.25 * l) ** 2
    return np.clip(1 / (1 + (q - Q0) / (Q0 * (1 + Q0))), 0, 1)


@case(
    "64", "srad1", _srad1, n=6, m=8, draws=lambda rng: (rng.random((6, 8), dtype=np.float32) + 1,)
)
def srad1(j: f[n, m]):
    def point(w):
        c = w[1][1]
        d = [w[0][1] - c, w[2][1] - c, w[1][0] - c, w[1][2] - c]
        g2 = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3]) / (c * c)
        l = (d[0] + d[1] + d[2] + d[3]) / c
        low = 1.0 + 0.25 * l
        q = (0.5 * g2 - l * l / 16.0) / (low * low)
        coefficient = 1.0 / (1.0 + (q - Q0) / (Q0 * (1.0 + Q0)))
        return rl.minimum(rl.maximum(coefficient, 0.0), 1.0)

    windows = rl.slide_nd((3, 3), (1, 1), rl.pad_nd((1, 1), (1, 1), rl.mirror, j))
    return rl.map_nd(2, point, windows)


def _srad2(j, c):
    padded, cs = (
        np.pad(j.astype(np.float64), 1, mode="edge"),
        np.pad(c.astype(np.float64), 1, mode="edge"),
    )
    w, v = view(padded, (3, 3)), view(cs, (3, 3))
    here = w[..., 1, 1]
    total = v[..., 1, 1] * (w[..., 0, 1] - here) + v[..., 2, 1] * (w[..., 2, 1] - here)
    total = total + v[..., 1, 1] * (w[..., 1, 0] - here) + v[..., 1, 2] * (w[..., 1, 2] - here)
    return here + 0.125 * total


@case("65", "srad2", _srad2, n=6, m=8)
def srad2(j: f[n, m], c: f[n, m]):
    def windows(x):
        return rl.slide_nd((3, 3), (1, 1), rl.pad_nd((1, 1), (1, 1), rl.clamp, x))

    def point(p):
        w, v = p[0], p[1]
        here = w[1][1]
        return here + 0.125 * (
            v[1][1] * (w[0][1] - here)
            + v[2][1] * (w[2][1] - here)
            + v[1][1] * (w[1][0] - here)
            + v[1][2] * (w[1][2] - here)
        )

    return rl.map_nd(2, point, rl.zip_nd(2, windows(j), windows(c)))


@case("66", "acoustic, 2-D", lambda a: by_numpy(cross(2, 0, [1]))(np.pad(a, 1)), n=8, m=8)
def acoustic_2d(a: f[n, m]):
    windows = rl.slide_nd((3, 3), (1, 1), rl.pad_nd((1, 1), (1, 1), 0.0, a))
    return rl.map_nd(2, lambda w: weighted(cross(2, 0, [1]), w), windows)


def _acoustic(u0, u1, inside):
    s = by_numpy(cross(3, 0, [1]))(np.pad(u1, 1))
    cf, cf2 = np.where(inside < 6, 0.9, 1.0), np.where(inside < 6, 0.8, 1.0)
    return cf * ((2.0 - 0.1 * inside) * u1 + 0.1 * s - cf2 * u0)


@case(
    "67",
    "acoustic, 3-D, with a mask",
    _acoustic,
    k=4,
    n=4,
    m=5,
    draws=lambda rng: (
        *(rng.integers(-9, 9, (4, 4, 5)).astype(np.float32) for _ in "ab"),
        rng.integers(3, 7, (4, 4, 5)).astype(np.float32),
    ),
)
def acoustic_3d(u0: f[k, n, m], u1: f[k, n, m], inside: f[k, n, m]):
    windows = rl.slide_nd((3, 3, 3), (1, 1, 1), rl.pad_nd((1, 1, 1), (1, 1, 1), 0.0, u1))

    def point(p):
        cf = rl.select(p[2] < 6.0, 0.9, 1.0)
        cf2 = rl.select(p[2] < 6.0, 0.8, 1.0)
        s = weighted(cross(3, 0, [1]), p[1])
        return cf * ((2.0 - 0.1 * p[2]) * p[1][1][1][1] + 0.1 * s - cf2 * p[0])

    return rl.map_nd(3, point, rl.zip_nd(3, u0, windows, inside))


@case(
    "68",
    "convolution with an image of weights",
    lambda a, w: np.einsum("ijkl,kl->ij", view(a, (5, 5)), w),
    n=8,
    m=8,
)
def convolution(a: f[n + 4, m + 4], w: f[5, 5]):
    return rl.map_nd(2, lambda win: dot(rl.join(win), rl.join(w)), rl.slide_nd((5, 5), (1, 1), a))


@case(
    "68s",
    "separable convolution",
    lambda a, w: np.einsum("ijkl,k,l->ij", view(a, (5, 5)), w, w),
    n=8,
    m=8,
)
def separable(a: f[n + 4, m + 4], w: f[5]):
    rows = rl.map(lambda r: rl.map(lambda win: dot(win, w), rl.slide(5, 1, r)), a)
    return rl.transpose(
        rl.map(lambda c: rl.map(lambda win: dot(win, w), rl.slide(5, 1, c)), rl.transpose(rows))
    )


@case(
    "69",
    "overlapped tiles",
    lambda x: view(x, 3).sum(axis=1),
    n=6,
    low=lambda x: rl.join(
        rl.map_wrg(0)(
            lambda tile: rl.map_lcl(0)(total_seq, rl.slide(3, 1, tile)), rl.slide(10, 8, x)
        )
    ),
)
def overlapped(x: f[8 * n + 10]):
    return rl.join(rl.map(lambda tile: rl.map(total, rl.slide(3, 1, tile)), rl.slide(10, 8, x)))


_SOBEL = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 12


def _harris(a):
    w = view(a.astype(np.float64), (3, 3))
    ix, iy = np.einsum("ijkl,kl->ij", w, _SOBEL), np.einsum("ijkl,lk->ij", w, _SOBEL)
    sxx, sxy, syy = (view(p, (3, 3)).sum(axis=(2, 3)) for p in (ix * ix, ix * iy, iy * iy))
    return sxx * syy - sxy * sxy - 0.04 * (sxx + syy) ** 2


@case("70", "Harris", _harris, n=4, m=5)
def harris(a: f[n + 4, m + 4]):
    windows = rl.slide_nd((3, 3), (1, 1), a)
    ix = rl.map_nd(2, lambda w: weighted(_SOBEL, w), windows)
    iy = rl.map_nd(2, lambda w: weighted(_SOBEL.T, w), windows)

    def sums(g):
        products = rl.map_nd(2, g, rl.zip_nd(2, ix, iy))
        return rl.map_nd(2, lambda w: total(rl.join(w)), rl.slide_nd((3, 3), (1, 1), products))

    def corner(p):
        trace = p[0] + p[2]
        return p[0] * p[2] - p[1] * p[1] - 0.04 * (trace * trace)

    parts = sums(lambda p: p[0] * p[0]), sums(lambda p: p[0] * p[1]), sums(lambda p: p[1] * p[1])
    return rl.map_nd(2, corner, rl.zip_nd(2, *parts))
