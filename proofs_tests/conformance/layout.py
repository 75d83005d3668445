"""Layouts: numbers 26 to 33."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, no-any-return, operator, untyped-decorator, valid-type"
# pyright: reportGeneralTypeIssues=false
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from typing import Any

import numpy as np

import relift as rl
from proofs_tests.conformance.cases import case

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")
f = rl.f32
BORDERS = {"clamp": "edge", "mirror": "symmetric", "wrap": "wrap"}
"""What NumPy calls the borders."""


def copy(xs):
    """Each element as it is, by a work-item."""
    return rl.map_glb(0)(lambda v: v, xs)


@case(
    "26",
    "reverse by reading",
    lambda x: x[::-1],
    n=96,
    low=lambda x: copy(rl.gather(rl.reverse, x)),
)
def reversed_read(x: f[n]):
    return rl.gather(rl.reverse, x)


@case(
    "26b",
    "reverse by writing",
    lambda x: x[::-1],
    n=96,
    low=lambda x: rl.scatter(rl.reverse, copy(x)),
)
def reversed_written(x: f[n]):
    return rl.scatter(rl.reverse, x)


@case("26c", "rows and columns reversed", lambda a: a[::-1, ::-1], n=12, m=8)
def rows_reversed(a: f[n, m]):
    return rl.map(lambda row: rl.gather(rl.reverse, row), rl.gather(rl.reverse, a))


@case(
    "27",
    "stride",
    lambda x: x.reshape(-1, 4).T.ravel(),
    n=8,
    low=lambda x: copy(rl.gather(rl.reorder_stride(4), x)),
)
def strided(x: f[4 * n]):
    return rl.gather(rl.reorder_stride(4), x)


@case(
    "28",
    "transpose",
    np.transpose,
    n=12,
    m=8,
    low=lambda a: rl.map_glb(0)(lambda row: rl.map_seq(lambda v: v, row), rl.transpose(a)),
)
def transposed(a: f[n, m]):
    return rl.transpose(a)


@case("28b", "transpose of three dimensions", lambda a: a.transpose(0, 2, 1), n=2, m=4, k=8)
def transposed_inner(a: f[n, m, k]):
    return rl.map(rl.transpose, a)


@case("29", "transposed twice after a border", lambda a: np.pad(a, 1, mode="edge"), n=2, m=2)
def transposed_twice(a: f[n, m]):
    return rl.transpose(rl.transpose(rl.pad_nd((1, 1), (1, 1), rl.clamp, a)))


@case("30", "tile and untile", lambda a: a, n=3, m=2)
def tiled(a: f[4 * n, 4 * m]):
    return rl.untile(2, rl.tile((4, 4), a))


@case(
    "30b",
    "tiles one after the other",
    lambda a: a.reshape(3, 4, 2, 4).transpose(0, 2, 1, 3),
    n=3,
    m=2,
)
def tiles(a: f[4 * n, 4 * m]):
    return rl.tile((4, 4), a)


def _padded(border: str, mode: Any) -> None:
    boundary = getattr(rl, border)

    def padded(x: f[16]):
        return rl.pad(4, 8, boundary, x)

    padded.__annotations__ = {"x": f[16]}
    padded.__name__ = f"pad_{border}"
    case(
        "31",
        f"pad with {border}",
        lambda x: np.pad(x, (4, 8), mode=mode),
        low=lambda x: copy(rl.pad(4, 8, boundary, x)),
    )(padded)

    def windows(x: f[5]):
        return rl.slide(3, 1, rl.pad(1, 1, boundary, x))

    windows.__annotations__ = {"x": f[5]}
    windows.__name__ = f"windows_{border}"
    case("33", f"windows with {border}", lambda x: _windows(np.pad(x, 1, mode=mode), 3))(windows)


def _windows(x: np.ndarray, size: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, size)


for _border, _mode in BORDERS.items():
    _padded(_border, _mode)


@case("32", "pad with a constant", lambda x: np.pad(x, (2, 3), constant_values=7), n=16)
def pad_constant(x: f[n]):
    return rl.pad(2, 3, 7.0, x)


@case(
    "32b", "pad two dimensions with a constant", lambda a: np.pad(a, 1, constant_values=7), n=4, m=6
)
def pad_constant_2d(a: f[n, m]):
    return rl.pad_nd((1, 1), (1, 1), 7.0, a)


@case(
    "32c",
    "pad three dimensions with a constant",
    lambda a: np.pad(a, 1, constant_values=7),
    n=2,
    m=3,
    k=4,
)
def pad_constant_3d(a: f[n, m, k]):
    return rl.pad_nd((1, 1, 1), (1, 1, 1), 7.0, a)


@case("33b", "windows, two before", lambda x: _windows(np.pad(x, (2, 0), mode="edge"), 3))
def windows_before(x: f[5]):
    return rl.slide(3, 1, rl.pad(2, 0, rl.clamp, x))
