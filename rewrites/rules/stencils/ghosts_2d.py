"""Ghost zones in two dimensions: steps of a stencil on what is larger than the table, so that several of them are done tile by tile.

map f (slide 3 1 (pad 1 1 clamp (middle zs)))  =  middle (map (\\(w, m). f (w where m, else the nearest cell)) (zip (slide 3 1 zs) inside))
pad a b d (map f (slide s 1 (pad l r c xs)))
    =  map (\\(w, m). if m then f w else d) (zip (slide s 1 (pad (a + l) (b + r) c xs)) inside)
slide t d (map f (zip (slide s 1 xs) ys))
    =  map (\\(x, y). map f (zip (slide s 1 x) y)) (zip (slide (t + s - 1) d xs) (slide t d ys))

All of it deep: `middle` leaves rows and columns out on all sides.  See `ghosts` for one dimension.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.conditions import naturals
from relift.rewrites.families import Among, Data
from relift.rewrites.notation import A, B, C, k, left, m, n, q, right, size, step
from relift.rewrites.rule import rule
from relift.rewrites.rules.stencils.ghosts import (
    GHOST_ZONE,
    GHOST_ZONE_CHOSEN,
    GHOST_ZONE_TOTAL,
    GHOST_ZONE_WRAP,
    GHOSTS,
    nearest,
    three,
    where,
    windows_inside,
)
from relift.semantics.language.multidimensional import (
    map_nd,
    pad_nd,
    slide_nd,
    tile,
    untile,
    zip_nd,
)
from relift.semantics.language.vocabulary import clamp, drop, make_array, map, repeat, take, wrap
from relift.semantics.syntax.signatures import Fun

a, b, c, d, above, below = naturals("a b c d above below")
width, across, l, r = naturals("width across l r")

_ONE = (1, 1)
_Around = Among({"clamp": clamp, "constant": Data("c", A), "wrap": wrap})
_TILES = "LIFT stencils, CGO'18: overlapped tiles, beside what stays as it is"


def _middle(rows: Any, columns: Any, above: Any, left: Any, table: Any) -> Any:
    """So many rows and columns of a table, from a place on."""
    return take(rows, drop(above, map(lambda row: take(columns, drop(left, row)), table)))


def _windows_inside(rows: Any, columns: Any) -> Any:
    """Of each window which of its rows and which of its columns are inside."""
    return map(lambda row: map(lambda column: (row, column), columns), rows)


def _cells_inside(above: Any, below: Any, left: Any, right: Any) -> Any:
    """Of each cell whether it is one of the table, which has so many around it."""
    return pad_nd((above, left), (below, right), False, repeat(n + 1, repeat(m + 1, True)))


def _nearest(inside: Any, window: Any) -> Any:
    """A window, but the nearest of its cells inside where others are not."""
    rows = nearest(inside[0], window)
    return make_array(*(make_array(*nearest(inside[1], row)) for row in rows))


def _stepped(f: Any, windows: Any, pair: Any) -> Any:
    """A step of one tile, beside another."""
    return map_nd(2, lambda p: f(p[0], p[1]), zip_nd(2, slide_nd(windows, _ONE, pair[0]), pair[1]))


@rule(source=GHOSTS, proof=GHOST_ZONE, defined=GHOST_ZONE_CHOSEN)
def ghost_zone_clamp_2d(
    f: Fun[A[three, three], B], zss: A[a + 1 + n + 1 + 1 + b, c + 1 + m + 1 + 1 + d]
):
    """A step that sees the ends go on is done in the middle of a larger table."""
    padded = pad_nd(_ONE, _ONE, clamp, _middle(n + 1, m + 1, a + 1, c + 1, zss))
    inside = _windows_inside(
        windows_inside(n + 1, a + 1, b + 1), windows_inside(m + 1, c + 1, d + 1)
    )
    windows = zip_nd(2, slide_nd((3, 3), _ONE, zss), inside)
    return (
        map_nd(2, f, slide_nd((3, 3), _ONE, padded)),
        _middle(n + 1, m + 1, a, c, map_nd(2, lambda p: f(_nearest(p[1], p[0])), windows)),
    )


@rule(source=GHOSTS, proof=GHOST_ZONE, defined=GHOST_ZONE_CHOSEN)
def ghost_zone_clamp_2d_beside(
    f: Fun[A[three, three], B, C],
    zss: A[a + 1 + n + 1 + 1 + b, c + 1 + m + 1 + 1 + d],
    yss: B[n + 1, m + 1],
):
    """The same beside what stays as it is."""
    padded = pad_nd(_ONE, _ONE, clamp, _middle(n + 1, m + 1, a + 1, c + 1, zss))
    inside = _windows_inside(
        windows_inside(n + 1, a + 1, b + 1), windows_inside(m + 1, c + 1, d + 1)
    )
    beside = zip_nd(2, pad_nd((a, c), (b, d), clamp, yss), inside)
    windows = zip_nd(2, slide_nd((3, 3), _ONE, zss), beside)
    stepped = map_nd(2, lambda p: f(_nearest(p[1][1], p[0]), p[1][0]), windows)
    return (
        map_nd(2, lambda p: f(p[0], p[1]), zip_nd(2, slide_nd((3, 3), _ONE, padded), yss)),
        _middle(n + 1, m + 1, a, c, stepped),
    )


@rule(source=GHOSTS, proof=GHOST_ZONE, defined=GHOST_ZONE_TOTAL)
def ghost_zone_constant_2d(
    e: A, o: B, f: Fun[A[above + 1 + below, left + 1 + right], B], xss: A[n + 1, m + 1]
):
    """What a step gives, and something else around it, is done on more around what it reads."""
    size = (above + 1 + below, left + 1 + right)
    padded = pad_nd((above, left), (below, right), e, xss)
    larger = pad_nd((a + above, c + left), (b + below, d + right), e, xss)
    windows = zip_nd(2, slide_nd(size, _ONE, larger), _cells_inside(a, b, c, d))
    return (
        pad_nd((a, c), (b, d), o, map_nd(2, f, slide_nd(size, _ONE, padded))),
        map_nd(2, lambda p: where(p[1], f(p[0]), o), windows),
    )


@rule(source=GHOSTS, proof=GHOST_ZONE, defined=GHOST_ZONE_TOTAL)
def ghost_zone_constant_2d_beside(
    e: A,
    o: C,
    f: Fun[A[above + 1 + below, left + 1 + right], B, C],
    xss: A[n + 1, m + 1],
    yss: B[n + 1, m + 1],
):
    """The same beside what stays as it is."""
    size = (above + 1 + below, left + 1 + right)
    padded = pad_nd((above, left), (below, right), e, xss)
    larger = pad_nd((a + above, c + left), (b + below, d + right), e, xss)
    beside = zip_nd(2, pad_nd((a, c), (b, d), clamp, yss), _cells_inside(a, b, c, d))
    windows = zip_nd(2, slide_nd(size, _ONE, larger), beside)
    stepped = map_nd(2, lambda p: f(p[0], p[1]), zip_nd(2, slide_nd(size, _ONE, padded), yss))
    return (
        pad_nd((a, c), (b, d), o, stepped),
        map_nd(2, lambda p: where(p[1][1], f(p[0], p[1][0]), o), windows),
    )


@rule(source=GHOSTS, proof=GHOST_ZONE_WRAP, defined=GHOST_ZONE_TOTAL)
def ghost_zone_wrap_2d(f: Fun[A[above + 1 + below, left + 1 + right], B], xss: A[n + 1, m + 1]):
    """What a step gives of a table that goes round, and more of that, is done on more around what it reads."""
    size = (above + 1 + below, left + 1 + right)
    padded = pad_nd((above, left), (below, right), wrap, xss)
    larger = pad_nd((a + above, c + left), (b + below, d + right), wrap, xss)
    nothing = repeat(a + n + 1 + b, repeat(c + m + 1 + d, True))
    return (
        pad_nd((a, c), (b, d), wrap, map_nd(2, f, slide_nd(size, _ONE, padded))),
        map_nd(2, lambda p: f(p[0]), zip_nd(2, slide_nd(size, _ONE, larger), nothing)),
    )


@rule(source=GHOSTS, proof=GHOST_ZONE_WRAP, defined=GHOST_ZONE_TOTAL)
def ghost_zone_wrap_2d_beside(
    f: Fun[A[above + 1 + below, left + 1 + right], B, C], xss: A[n + 1, m + 1], yss: B[n + 1, m + 1]
):
    """The same beside what stays as it is."""
    size = (above + 1 + below, left + 1 + right)
    padded = pad_nd((above, left), (below, right), wrap, xss)
    larger = pad_nd((a + above, c + left), (b + below, d + right), wrap, xss)
    stepped = map_nd(2, lambda p: f(p[0], p[1]), zip_nd(2, slide_nd(size, _ONE, padded), yss))
    windows = zip_nd(2, slide_nd(size, _ONE, larger), pad_nd((a, c), (b, d), wrap, yss))
    return pad_nd((a, c), (b, d), wrap, stepped), map_nd(2, lambda p: f(p[0], p[1]), windows)


@rule(source="RISE vectorize.roundUpAfter, at a border of a table: {boundary}")
def pad_boundary_removed_2d(boundary: _Around, xss: A[n, m]):
    """What a border ({boundary}) surrounds is the table."""
    return _middle(n, m, above, left, pad_nd((above, left), (below, right), boundary, xss)), xss


@rule(source=_TILES, defined={"forward": GHOST_ZONE_TOTAL["forward"]})
def slide_stencil_2d_beside(
    f: Fun[A[size, width], B, C],
    xss: A[size + k + q * step, width + l + r * across],
    yss: B[k + 1 + q * step, l + 1 + r * across],
):
    """Overlapping tiles of what a stencil gives are what it gives of wider ones."""
    tiles = zip_nd(
        2,
        slide_nd((size + k, width + l), (step, across), xss),
        slide_nd((k + 1, l + 1), (step, across), yss),
    )
    return (
        slide_nd(
            (k + 1, l + 1),
            (step, across),
            map_nd(2, lambda p: f(p[0], p[1]), zip_nd(2, slide_nd((size, width), _ONE, xss), yss)),
        ),
        map_nd(2, lambda t: _stepped(f, (size, width), t), tiles),
    )


@rule(source=_TILES)
def stencil_tiling_2d_beside(
    f: Fun[A[size, width], B, C],
    xss: A[size + k + q * (k + 1), width + l + r * (l + 1)],
    yss: B[(q + 1) * (k + 1), (r + 1) * (l + 1)],
):
    """A stencil that also reads one cell of another table runs tile by tile."""
    tiles = zip_nd(
        2,
        slide_nd((size + k, width + l), (k + 1, l + 1), xss),
        tile((k + 1, l + 1), yss),
    )
    return (
        map_nd(2, lambda p: f(p[0], p[1]), zip_nd(2, slide_nd((size, width), _ONE, xss), yss)),
        untile(2, map_nd(2, lambda t: _stepped(f, (size, width), t), tiles)),
    )


@rule(source="Bird, theory of lists; map after zip, in two dimensions")
def zip_map_left_2d(f: Fun[A, B], xss: A[n, m], yss: C[n, m]):
    """What is computed of one of two tables is computed of their pairs."""
    return (
        zip_nd(2, map_nd(2, f, xss), yss),
        map_nd(2, lambda p: (f(p[0]), p[1]), zip_nd(2, xss, yss)),
    )
