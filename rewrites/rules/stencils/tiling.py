"""Tiling: blocks of an array of several dimensions, and what is reused inside a block.

tile                         =  slide with size and step alike:  map transpose . split . map split
map f (deep)                 =  untile . map (map f (deep)) . tile
transpose                    =  untile . map (map transpose) . transpose . tile
map (\\x. map (\\y. h x y) ys) xs  =  untile . blocks of xs against blocks of ys
map (\\x. map (\\y. h x y) ys) xs  =  the same with every m-th of xs against every n-th of ys
map f . slide (deep)         =  untile . map (map f . slide) . slide tiles (deep)

These are the macro rules of Lift, as equations; Lift builds each from smaller rules by a tactic.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.notation import A, B, C, D, k, m, n, q, r, size, step
from relift.rewrites.rule import rule
from relift.semantics.language.multidimensional import map_nd, slide_nd, tile, untile, zip_nd
from relift.semantics.language.vocabulary import join, map, reduce_seq, slide, split, transpose, zip
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.types import tup

_TILES = "LIFT stencils, CGO'18, overlapped tiling"

# ---- blocks


@rule(source="LIFT Tile, Untile2D, definitions; egg-sketches tiling")
def untile_tile(xss: A[k * m, q * n]):
    """Blocks put together are the array."""
    return untile(2, tile((m, n), xss)), xss


@rule(source="LIFT Tile, Untile2D, definitions; RISE split before join")
def tile_untile(xssss: A[k, q, m, n]):
    """An array put together from blocks has these blocks."""
    return tile((m, n), untile(2, xssss)), xssss


@rule(source="LIFT macro rule tileMapMap on one array; finishTiling, finishRectangularTiles")
def tile_map(f: Fun[A, B], xss: A[k * m, q * n]):
    """A map over rows and columns goes block by block."""
    return (
        map_nd(2, f, xss),
        untile(2, map_nd(2, lambda block: map_nd(2, f, block), tile((m, n), xss))),
    )


@rule(source="egg-sketches, tiling in three dimensions; RISE tiling strategies")
def tile_map_3d(f: Fun[A, B], xsss: A[k * m, n * m, q * m]):
    """A map over three dimensions goes block by block."""
    return (
        map_nd(3, f, xsss),
        untile(3, map_nd(3, lambda block: map_nd(3, f, block), tile((m, m, m), xsss))),
    )


@rule(source="LIFT ReuseRules tileTranspose")
def tile_of_transpose(xss: A[k * m, q * n]):
    """A transpose goes block by block."""
    return (
        transpose(xss),
        untile(2, map_nd(2, transpose, transpose(tile((m, n), xss)))),
    )


@rule(source="LIFT ReuseRules moveTransposeInsideTiling")
def transpose_inside_tiling(xss: A[q * n, k * m]):
    """The blocks of a transposed array are transposed blocks in transposed order."""
    return (
        tile((m, n), transpose(xss)),
        map_nd(2, transpose, transpose(tile((n, m), xss))),
    )


# ---- reuse


@rule(source="LIFT ReuseRules tileMapMap")
def tile_map_map(h: Fun[A, B, C], xs: A[k * m], ys: B[q * n]):
    """Every pair of elements: block of one array against block of the other."""
    return (
        map(lambda x: map(lambda y: h(x, y), ys), xs),
        untile(
            2,
            map(
                lambda xb: map(
                    lambda yb: map(lambda x: map(lambda y: h(x, y), yb), xb), split(n, ys)
                ),
                split(m, xs),
            ),
        ),
    )


@rule(source="LIFT ReuseRules tileMapMap, with cells of a third array that go along")
def tile_map_map_zip(h: Fun[A, tup(B, D), C], g: Fun[A, D[q * n]], xs: A[k * m], ys: B[q * n]):
    """Every pair of elements, and a cell of its own: block against block, with the cells of both."""
    return (
        map(lambda x: map(lambda y: h(x, y), zip(ys, g(x))), xs),
        untile(
            2,
            map(
                lambda xb: map(
                    lambda yb: map(
                        lambda x: map(lambda y: h(x[0], y), zip(yb[0], x[1])), zip(xb, yb[1])
                    ),
                    zip(split(n, ys), transpose(map(lambda x: split(n, g(x)), xb))),
                ),
                split(m, xs),
            ),
        ),
    )


@rule(source="LIFT GPGPU'16, tileMapMap with reorderStride: tiles whose rows and columns lie apart")
def tile_map_map_strided(h: Fun[A, B, C], xs: A[k * m], ys: B[q * n]):
    """Every pair of elements: each block has every m-th element of one array and every n-th of the other."""
    blocks = map(
        lambda xb: map(
            lambda yb: map(lambda x: map(lambda y: h(x, y), yb), xb), transpose(split(n, ys))
        ),
        transpose(split(m, xs)),
    )
    return (
        map(lambda x: map(lambda y: h(x, y), ys), xs),
        join(
            transpose(
                map(
                    lambda row: map(lambda line: join(transpose(line)), transpose(row)), blocks
                )
            )
        ),
    )  # fmt: skip


def _interleaved(rows: Any, columns: Any, xss: Any) -> Any:
    """Blocks of a table, each with every so manyth row and column, as `tile_map_map_strided` makes them."""
    return map(
        lambda chunk: transpose(map(transpose, map(lambda row: split(columns, row), chunk))),
        transpose(split(rows, xss)),
    )


def _together(blocks: Any) -> Any:
    """The table that is made of such blocks."""
    return join(
        transpose(map(lambda row: map(lambda line: join(transpose(line)), transpose(row)), blocks))
    )


@rule(source="Halide compute_at: what is done with a result is done where its tile is")
def tile_zip(xss: A[k * m, q * n], yss: B[k * m, q * n]):
    """The blocks of two tables that are read together are the blocks of each, read together."""
    return (
        tile((m, n), zip_nd(2, xss, yss)),
        map_nd(2, lambda p: zip_nd(2, p[0], p[1]), zip_nd(2, tile((m, n), xss), tile((m, n), yss))),
    )


@rule(source="LIFT GPGPU'16, reorderStride, of what is done with each element of a table")
def interleaved_map(f: Fun[A, B], xss: A[k * m, q * n]):
    """A map over rows and columns goes by blocks whose rows and columns lie apart."""
    return (
        map_nd(2, f, xss),
        _together(map_nd(2, lambda block: map_nd(2, f, block), _interleaved(m, n, xss))),
    )


@rule(source="Halide compute_at, of blocks whose rows and columns lie apart")
def interleaved_zip(xss: A[k * m, q * n], yss: B[k * m, q * n]):
    """Interleaved blocks of two tables that are read together are those of each, read together."""
    return (
        _interleaved(m, n, zip_nd(2, xss, yss)),
        map_nd(
            2,
            lambda p: zip_nd(2, p[0], p[1]),
            zip_nd(2, _interleaved(m, n, xss), _interleaved(m, n, yss)),
        ),
    )


@rule(source="LIFT GPGPU'16, reorderStride and back")
def interleaved_together(xssss: A[m, n, k, q]):
    """A table that is made of interleaved blocks has these blocks."""
    return _interleaved(m, n, _together(xssss)), xssss


@rule(source="LIFT ReuseRules apply1DRegisterBlocking, introduceReuseFromMap")
def register_blocking_1d(h: Fun[A, B, C], xs: A[k * m], ys: B[n]):
    """Each element of one array meets a block of the other before the next one does."""
    return (
        map(lambda x: map(lambda y: h(x, y), ys), xs),
        join(
            map(
                lambda xb: transpose(map(lambda y: map(lambda x: h(x, y), xb), ys)),
                split(m, xs),
            )
        ),
    )


@rule(source="LIFT ReuseRules apply2DRegisterBlocking, apply2DRegisterBlockingNoReorder")
def register_blocking_2d(h: Fun[A, B, C], xs: A[k * m], ys: B[q * n]):
    """Block against block, and within a pair of blocks the other array is the outer one."""
    return (
        map(lambda x: map(lambda y: h(x, y), ys), xs),
        untile(
            2,
            map(
                lambda xb: map(
                    lambda yb: transpose(map(lambda y: map(lambda x: h(x, y), xb), yb)),
                    split(n, ys),
                ),
                split(m, xs),
            ),
        ),
    )


@rule(source="LIFT apply2DRegisterBlocking on a matrix product, ICFP'15 and GPGPU'16")
def register_blocking_reduce(f: Fun[D, A, B, D], z: D, xss: A[k * m, r], yss: B[q * n, r]):
    """The sums of a block of a matrix product grow together, one pair of columns at a time."""

    def block(xb: Any, yb: Any) -> Any:
        return reduce_seq(
            lambda accs, p: map(
                lambda row: map(lambda s: f(s[0], row[1], s[1]), zip(row[0], p[1])),
                zip(accs, p[0]),
            ),
            map(lambda x: map(lambda y: z, yb), xb),
            zip(transpose(xb), transpose(yb)),
        )

    return (
        map(
            lambda xs: map(
                lambda ys: reduce_seq(lambda acc, p: f(acc, p[0], p[1]), z, zip(xs, ys)), yss
            ),
            xss,
        ),
        untile(
            2, map(lambda xb: map(lambda yb: block(xb, yb), split(n, yss)), split(m, xss))
        ),
    )  # fmt: skip


# ---- overlapped tiles


@rule(source=_TILES + "; LIFT tileSlide2D, with its missing guard")
def slide_tiling_2d(
    xss: A[size + k * step + q * (k + 1) * step, size + k * step + r * (k + 1) * step],
):
    """The windows of an image are those of overlapping tiles."""
    grown, tile_step = size + k * step, (k + 1) * step
    return (
        slide_nd((size, size), (step, step), xss),
        untile(
            2,
            map_nd(
                2,
                lambda t: slide_nd((size, size), (step, step), t),
                slide_nd((grown, grown), (tile_step, tile_step), xss),
            ),
        ),
    )


@rule(source=_TILES + "; LIFT tile2DStencils, with its missing guard")
def stencil_tiling_2d(
    f: Fun[A[size, size], B],
    xss: A[size + k * step + q * (k + 1) * step, size + k * step + r * (k + 1) * step],
):
    """A stencil of two dimensions runs tile by tile."""
    grown, tile_step = size + k * step, (k + 1) * step
    return (
        map_nd(2, f, slide_nd((size, size), (step, step), xss)),
        untile(
            2,
            map_nd(
                2,
                lambda t: map_nd(2, f, slide_nd((size, size), (step, step), t)),
                slide_nd((grown, grown), (tile_step, tile_step), xss),
            ),
        ),
    )


@rule(source=_TILES + "; LIFT tile2DStencilsZip, tile2DStencilsZip6, with their missing guard")
def stencil_tiling_2d_zip(
    f: Fun[A[size, size], B, C],
    xss: A[size + k + q * (k + 1), size + k + r * (k + 1)],
    yss: B[(q + 1) * (k + 1), (r + 1) * (k + 1)],
):
    """A stencil that also reads one cell of another grid runs tile by tile."""
    window, grown, tiles = (size, size), (size + k, size + k), (k + 1, k + 1)
    return (
        map_nd(2, lambda p: f(p[0], p[1]), zip_nd(2, slide_nd(window, (1, 1), xss), yss)),
        untile(
            2,
            map_nd(
                2,
                lambda t: map_nd(
                    2,
                    lambda p: f(p[0], p[1]),
                    zip_nd(2, slide_nd(window, (1, 1), t[0]), t[1]),
                ),
                zip_nd(2, slide_nd(grown, tiles, xss), tile(tiles, yss)),
            ),
        ),
    )


@rule(source=_TILES + " in three dimensions")
def stencil_tiling_3d(
    f: Fun[A[size, size, size], B],
    xsss: A[size + k + q * (k + 1), size + k + q * (k + 1), size + k + r * (k + 1)],
):
    """A stencil of three dimensions runs tile by tile."""
    window, one, grown, tiles = (size,) * 3, (1,) * 3, (size + k,) * 3, (k + 1,) * 3
    return (
        map_nd(3, f, slide_nd(window, one, xsss)),
        untile(
            3,
            map_nd(
                3, lambda t: map_nd(3, f, slide_nd(window, one, t)), slide_nd(grown, tiles, xsss)
            ),
        ),
    )


@rule(source="LIFT stencils, CGO'18: overlapped tiles of two stencils in a row")
def stencil_chain_tiling(
    f: Fun[B[size], C], g: Fun[A[size], B], xs: A[size + size + k + q * (k + 2)]
):
    """A stencil of a stencil runs tile by tile, each tile growing by both windows."""
    return (
        map(f, slide(size, 1, map(g, slide(size, 1, xs)))),
        join(
            map(
                lambda t: map(f, slide(size, 1, map(g, slide(size, 1, t)))),
                slide(size + size + k, k + 2, xs),
            )
        ),
    )
