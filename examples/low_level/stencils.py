"""Stencils: on grids whose border is part of the input, and, split in regions, on those without one.

relift bench stencil9 j2d5pt convolution j2d5pt_border
"""

import functools
import operator

import numpy as np
from by_hand import BY_HAND
from source import source
from tree import across
from with_numpy import WITH_NUMPY

import relift as rl
from relift.bench import Benchmark, Reference


def nine(at, centre, cardinal, diagonal):
    """The weighted sum of a place and its eight neighbours, by rows down and columns right."""
    sides = at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)
    corners = at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)
    return centre * at(0, 0) + cardinal * sides + diagonal * corners


def in_groups(f, size, items, columns, stage=lambda columns: columns):
    """f on all windows of columns: a work-item has a column, a group `items` of them.

    `stage` says where the `size` columns that it reads lie.
    """

    def item(columns):
        return rl.map_seq_unroll(f, rl.slide(size, 1, stage(columns)))

    done = rl.map_wrg(0)(lambda some: rl.map_lcl(0)(item, some), rl.split(items, columns))
    return rl.join(done)


def columns_of(size, lines, line=lambda line: line):
    """`size` neighbouring columns of lines, everywhere; `line` may pad or cut each line."""
    return rl.transpose(rl.map(lambda values: rl.slide(size, 1, line(values)), lines))


def by_strips(f, size, items, down, grid, stage=lambda columns: columns):
    """f on all windows of size*size: a work-item computes `down` rows of one column, one by one."""

    def strip(lines):
        return rl.transpose(in_groups(f, size, items, columns_of(size, lines), stage))

    return rl.join(rl.map_wrg(1)(strip, rl.slide(down + size - 1, down, grid)))


def repeated(r, values):
    """The border of a row, or of a grid, repeated `r` times on each side."""
    return rl.pad(r, r, rl.clamp, values)


def inside(border, values):
    """All but the border."""
    length = values.type.length
    return rl.take(length - 2 * border, rl.drop(border, values))


def in_regions(border, compute, windows, windows_inside):
    """`compute` on the windows at both borders, of `border` windows each, and on those inside.

    Which of the three comes out where follows from the rule `slide_clamp_regions`.
    """
    last = windows.type.length - border
    return rl.concat(
        compute(rl.take(border, windows)),
        rl.concat(compute(windows_inside), compute(rl.drop(last, windows))),
    )


def by_regions(f, size, items, down, grid, stage=lambda columns: columns):
    """`by_strips` of a grid whose border is repeated: only strips and groups at the border clamp."""
    r = size // 2

    def group(columns):
        return in_groups(f, size, items, columns, stage)

    def at_border(lines):
        return rl.transpose(group(columns_of(size, lines, lambda line: repeated(r, line))))

    def inner(lines):
        bordered = columns_of(size, lines, lambda line: repeated(r, line))
        free = columns_of(size, lines, lambda line: inside(items - r, line))
        return rl.transpose(in_regions(items, group, bordered, free))

    strips = rl.slide(down + size - 1, down, repeated(r, grid))
    free = rl.slide(down + size - 1, down, inside(down - r, grid))
    top, bottom = rl.take(1, strips), rl.drop(strips.type.length - 1, strips)
    return rl.join(
        rl.concat(
            rl.map_wrg(1)(at_border, top),
            rl.concat(rl.map_wrg(1)(inner, free), rl.map_wrg(1)(at_border, bottom)),
        )
    )


def in_registers(columns):
    return rl.to_private(
        rl.map_seq_unroll(lambda row: rl.map_seq_unroll(lambda v: v, row), columns)
    )


def stencil9_gpu(n, m, items=256, down=8):
    """Each value is read into a register once by each of three work-items."""

    @rl.program
    def stencil9(grid: rl.f32[n + 2, m + 2], centre: rl.f32, cardinal: rl.f32, diagonal: rl.f32):
        def weighted(w):
            return nine(lambda i, j: w[1 + i][1 + j], centre, cardinal, diagonal)

        return by_strips(weighted, 3, items, down, grid, in_registers)

    return stencil9


def stencil9_border_gpu(n, m, items=256, down=8, split=1):
    """`stencil9` of a grid whose border is repeated: everything clamps, or only the border does."""

    @rl.program
    def stencil9_border(grid: rl.f32[n, m], centre: rl.f32, cardinal: rl.f32, diagonal: rl.f32):
        def weighted(w):
            return nine(lambda i, j: w[1 + i][1 + j], centre, cardinal, diagonal)

        if split:
            return by_regions(weighted, 3, items, down, grid, in_registers)
        padded = rl.pad_nd((1, 1), (1, 1), rl.clamp, grid)
        return by_strips(weighted, 3, items, down, padded, in_registers)

    return stencil9_border


def five(w):
    """The five points of examples/j2d5pt.py."""
    weighted = 5.1 * w[0][1] + 12.1 * w[1][0] + 15.0 * w[1][1] + 12.2 * w[1][2]
    return (weighted + 5.2 * w[2][1]) * (1 / 118.0)


def j2d5pt_cpu(n, m, items=256, down=4):
    """The border is part of the input."""

    @rl.program
    def j2d5pt(grid: rl.f32[n + 2, m + 2]):
        return by_strips(five, 3, items, down, grid)

    return j2d5pt


def j2d5pt_border_cpu(n, m, split=1, width=1):
    """The border is repeated: every row clamps, or only the first, the last and the ends of the others.

    A work-item has a row; inside, the driver makes vectors of `width` 1, and of any other we do.
    """

    def run(windows):
        if width == 1:
            return rl.map_seq(five, windows)
        return rl.as_scalar(
            rl.map_seq(lambda some: rl.map_vec(five, some), rl.as_vector(width, windows))
        )

    def clamped(lines):
        return columns_of(3, lines, lambda line: repeated(1, line))

    def inner(lines):
        free = columns_of(3, lines, lambda line: inside(width - 1, line))
        return in_regions(width, run, clamped(lines), free)

    @rl.program
    def j2d5pt_border(grid: rl.f32[n, m]):
        rows = rl.slide(3, 1, repeated(1, grid))

        def whole(some):
            return rl.map_glb(0)(lambda lines: run(clamped(lines)), some)

        if not split:
            return whole(rows)
        free = rl.map_glb(0)(inner, rl.slide(3, 1, grid))
        return rl.concat(whole(rl.take(1, rows)), rl.concat(free, whole(rl.drop(n - 1, rows))))

    return j2d5pt_border


def in_row(size, width, f, lines, columns=columns_of):
    """f on all windows of the columns of lines whose ends are repeated; inside, in vectors of `width`."""
    r = size // 2
    ends, free = (
        columns(size, lines, lambda line: repeated(r, line)),
        columns(size, lines, lambda line: inside(width - r, line)),
    )
    vectors = rl.map_seq(lambda some: rl.map_vec(f, some), rl.as_vector(width, free))
    return rl.concat(
        rl.map_seq(f, rl.take(width, ends)),
        rl.concat(rl.as_scalar(vectors), rl.map_seq(f, rl.drop(ends.type.length - width, ends))),
    )


def j2d9pt_cpu(n, m, width=16):
    """The star of examples/j2d9pt.py: a row for each work-item."""
    weights = {
        (0, 2): 7.1, (1, 2): 5.1, (3, 2): 5.2, (4, 2): 7.2, (2, 0): 9.2, (2, 1): 12.1,
        (2, 3): 12.2, (2, 4): 9.1, (2, 2): 15.0,
    }  # fmt: skip

    def star(w):
        return functools.reduce(operator.add, (c * w[i][j] for (i, j), c in weights.items())) * (
            1 / 118.0
        )

    @rl.program
    def j2d9pt(grid: rl.f32[n, m]):
        rows = rl.slide(5, 1, repeated(2, grid))
        return rl.map_glb(0)(lambda lines: in_row(5, width, star, lines), rows)

    return j2d9pt


def j3d7pt_cpu(n, m, k, width=16):
    """The star of examples/j3d7pt.py: a row for each work-item."""
    weights = {
        (1, 1, 2): 0.161, (1, 1, 0): 0.162, (1, 2, 1): 0.163, (1, 0, 1): 0.164,
        (2, 1, 1): 0.165, (0, 1, 1): 0.166, (1, 1, 1): -1.67,
    }  # fmt: skip

    def star(w):
        return functools.reduce(operator.add, (c * w[h][i][j] for (h, i, j), c in weights.items()))

    def columns(size, planes, line):
        """Neighbouring columns of all lines of some planes."""
        return rl.transpose(rl.map(lambda lines: columns_of(size, lines, line), planes))

    @rl.program
    def j3d7pt(grid: rl.f32[n, m, k]):
        padded = rl.pad_nd((1, 1), (1, 1), rl.clamp, grid)
        rows = rl.slide_nd((3, 3), (1, 1), padded)
        return rl.map_glb(1)(
            lambda row: rl.map_glb(0)(lambda planes: in_row(3, width, star, planes, columns), row),
            rows,
        )

    return j3d7pt


def convolution_cpu(h, w, r=1, items=256, down=4):
    """All weights written out."""
    size = 2 * r + 1

    @rl.program
    def convolution(image: rl.f32[h + 2 * r, w + 2 * r], weights: rl.f32[size, size]):
        def weighted(window):
            return rl.reduce_seq_unroll(
                lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(rl.join(window), rl.join(weights))
            )

        return by_strips(weighted, size, items, down, image)

    return convolution


def convolution_gpu(h, w, r=8, wide=32, high=8, down=4):
    """Overlapping tiles in local memory: `wide` by `high` work-items, `down` pixels each, `high` rows apart.

    The work-items of a group must divide the pixels of a tile.
    """
    size, rows = 2 * r + 1, high * down

    @rl.program
    def convolution(image: rl.f32[h + 2 * r, w + 2 * r], weights: rl.f32[size, size]):
        def weighted(window):
            def line(acc, p):
                return rl.reduce_seq_unroll(
                    lambda acc, q: acc + q[0] * q[1], acc, rl.zip(p[0], p[1])
                )

            return rl.reduce_seq(line, 0.0, rl.zip(window, weights))

        def tile(part):
            shares = rl.split(wide, across(wide * high, rl.join(part)))
            copied = rl.map_lcl(1)(
                lambda row: rl.map_lcl(0)(lambda own: rl.map_seq(lambda v: v, own), row), shares
            )
            flat = rl.to_local(rl.join(rl.transpose(rl.join(copied))))
            staged = rl.split(wide + 2 * r, flat)
            windows = rl.slide_nd((size, size), (1, 1), staged)
            owned = rl.map(rl.transpose, rl.transpose(rl.split(high, windows)))
            done = rl.map_lcl(1)(
                lambda row: rl.map_lcl(0)(lambda own: rl.map_seq(weighted, own), row), owned
            )
            return rl.join(rl.transpose(rl.map(rl.transpose, done)))

        tiles = rl.slide_nd((rows + 2 * r, wide + 2 * r), (rows, wide), image)
        return rl.untile(2, rl.map_wrg(1)(lambda ts: rl.map_wrg(0)(tile, ts), tiles))

    return convolution


def convolution_gold(image, weights):
    r = len(weights) // 2
    return source("convolution").reference(image, weights)[r:-r, r:-r]


def stencil9_gold(grid, centre, cardinal, diagonal):
    grid = grid.astype(np.float64)
    n, m = grid.shape[0] - 2, grid.shape[1] - 2
    return nine(lambda i, j: grid[1 + i : 1 + i + n, 1 + j : 1 + j + m], centre, cardinal, diagonal)


def stencil9_border_gold(grid, centre, cardinal, diagonal):
    return stencil9_gold(np.pad(grid, 1, mode="edge"), centre, cardinal, diagonal)


benchmarks = [
    Benchmark(
        "j2d5pt",
        "cpu",
        j2d5pt_cpu,
        sizes={"n": 4096, "m": 4096},
        small=[{"n": 4, "m": 16, "items": 8, "down": 2}, {"n": 12, "m": 64, "items": 32}],
        gold=lambda grid: source("j2d5pt").reference(grid)[1:-1, 1:-1],
        flops=lambda n, m, **_: 10 * n * m,
        moved=lambda n, m, **_: 8 * n * m,
        numpy=WITH_NUMPY["j2d5pt"],
        by_hand=BY_HAND["j2d5pt"],
    ),
    Benchmark(
        "j2d5pt_border",
        "cpu",
        j2d5pt_border_cpu,
        sizes={"n": 4096, "m": 4096},
        variants=[{"width": 16}, {"split": 0, "width": 16}, {}, {"split": 0}],
        small=[
            {"n": 5, "m": 9},
            {"n": 4, "m": 16, "width": 4},
            {"n": 4, "m": 8, "width": 4, "split": 0},
        ],
        gold=lambda grid: source("j2d5pt").reference(grid),
        flops=lambda n, m, **_: 10 * n * m,
        moved=lambda n, m, **_: 8 * n * m,
        numpy=WITH_NUMPY["j2d5pt_border"],
        by_hand=BY_HAND["j2d5pt_border"],
    ),
    Benchmark(
        "j2d9pt",
        "cpu",
        j2d9pt_cpu,
        sizes={"n": 4096, "m": 4096},
        small=[{"n": 5, "m": 32, "width": 8}, {"n": 3, "m": 16, "width": 4}],
        gold=lambda grid: source("j2d9pt").reference(grid),
        flops=lambda n, m, **_: 18 * n * m,
        moved=lambda n, m, **_: 8 * n * m,
        numpy=WITH_NUMPY["j2d9pt"],
        by_hand=BY_HAND["j2d9pt"],
    ),
    Benchmark(
        "j3d7pt",
        "cpu",
        j3d7pt_cpu,
        sizes={"n": 256, "m": 256, "k": 256},
        small=[{"n": 3, "m": 4, "k": 16, "width": 4}, {"n": 2, "m": 3, "k": 32, "width": 8}],
        gold=lambda grid: source("j3d7pt").reference(grid),
        flops=lambda n, m, k, **_: 14 * n * m * k,
        moved=lambda n, m, k, **_: 8 * n * m * k,
        numpy=WITH_NUMPY["j3d7pt"],
        by_hand=BY_HAND["j3d7pt"],
    ),
    Benchmark(
        "convolution",
        "cpu",
        convolution_cpu,
        sizes={"h": 4096, "w": 4096},
        small=[
            {"h": 4, "w": 16, "items": 8, "down": 2},
            {"h": 8, "w": 64, "r": 2, "items": 32},
        ],
        gold=convolution_gold,
        flops=lambda h, w, r=1, **_: 2 * (2 * r + 1) ** 2 * h * w,
        moved=lambda h, w, **_: 8 * h * w,
        numpy=WITH_NUMPY["convolution"],
        by_hand=BY_HAND["convolution"],
    ),
    Benchmark(
        "convolution",
        "gpu",
        convolution_gpu,
        sizes={"h": 4096, "w": 4096},
        small=[
            {"h": 8, "w": 8, "r": 1, "wide": 2, "high": 2, "down": 1},
            {"h": 8, "w": 8, "r": 3, "wide": 2, "high": 2, "down": 1},
        ],
        gold=convolution_gold,
        flops=lambda h, w, r=8, **_: 2 * (2 * r + 1) ** 2 * h * w,
        moved=lambda h, w, **_: 8 * h * w,
    ),
    Benchmark(
        "stencil9",
        "gpu",
        stencil9_gpu,
        sizes={"n": 8192, "m": 8192},
        variants=[{"down": 8}, {"down": 16}],
        small=[
            {"n": 8, "m": 16, "items": 4, "down": 2},
            {"n": 32, "m": 64, "items": 32, "down": 8},
        ],
        gold=stencil9_gold,
        flops=lambda n, m, **_: 11 * n * m,
        moved=lambda n, m, **_: 8 * n * m,
        reference=Reference("SHOC", 183.1e-6),
    ),
    Benchmark(
        "stencil9_border",
        "gpu",
        stencil9_border_gpu,
        sizes={"n": 8192, "m": 8192},
        variants=[{}, {"split": 0}],
        small=[
            {"n": 8, "m": 16, "items": 4, "down": 2},
            {"n": 8, "m": 16, "items": 4, "down": 2, "split": 0},
        ],
        gold=stencil9_border_gold,
        flops=lambda n, m, **_: 11 * n * m,
        moved=lambda n, m, **_: 8 * n * m,
    ),
]
