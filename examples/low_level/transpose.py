"""Matrix transposition by tiles in local memory.

relift bench transpose
"""

from by_hand import BY_HAND
from source import source
from with_numpy import WITH_NUMPY

import relift as rl
from relift.bench import Benchmark, Reference


def transpose_gpu(n, m, side=32, rows=8):
    """A group of side*rows work-items moves a tile of side*side.

    Row r of the tile lies rotated by r in local memory, so that the reading of a column, like the writing
    of a row, touches `side` banks.
    """

    def rotated(i):
        return i // side * side + (i % side + i // side) % side

    def move(tile):
        """Each work-item moves every `rows`-th row's element of its column."""
        owned = rl.map(rl.transpose, rl.transpose(rl.split(rows, tile)))
        moved = rl.map_lcl(1)(
            lambda row: rl.map_lcl(0)(lambda own: rl.map_seq_unroll(lambda v: v, own), row), owned
        )
        return rl.join(rl.transpose(rl.map(rl.transpose, moved)))

    def through_local(tile):
        stored = rl.to_local(rl.scatter(rotated, rl.join(move(tile))))
        return move(rl.transpose(rl.split(side, rl.gather(rotated, stored))))

    @rl.program
    def transpose(A: rl.f32[n, m]):
        tiles = rl.tile((side, side), A)
        done = rl.map_wrg(1)(lambda ts: rl.map_wrg(0)(through_local, ts), rl.transpose(tiles))
        return rl.untile(2, done)

    return transpose


def transpose_cpu(n, m, side=16, down=16):
    """A work-item moves a tile, in vectors that it writes; a group has `down` tiles, one below the other in A.

    What is read of a line of the cache is written while it is there, and neighbours write neighbouring lines.
    """

    @rl.program
    def transpose(A: rl.f32[n, m]):
        def line(values):
            return rl.as_scalar(rl.map_seq(rl.map_vec(lambda v: v), rl.as_vector(side, values)))

        def move(tile):
            return rl.map_seq(line, rl.transpose(tile))

        def column(tiles):
            groups = rl.map_wrg(1)(lambda some: rl.map_lcl(1)(move, some), rl.split(down, tiles))
            return rl.join(groups)

        return rl.untile(2, rl.map_wrg(0)(column, rl.transpose(rl.tile((side, side), A))))

    return transpose


benchmarks = [
    Benchmark(
        "transpose",
        "cpu",
        transpose_cpu,
        sizes={"n": 4096, "m": 4096},
        small=[{"n": 16, "m": 8, "side": 4, "down": 2}, {"n": 256, "m": 32}],
        gold=source("transpose").reference,
        flops=lambda **_: 0,
        moved=lambda n, m, **_: 8 * n * m,
        numpy=WITH_NUMPY["transpose"],
        by_hand=BY_HAND["transpose"],
    ),
    Benchmark(
        "transpose",
        "gpu",
        transpose_gpu,
        sizes={"n": 8192, "m": 8192},
        variants=[{"side": 64, "rows": 4}, {"side": 32, "rows": 8}],
        small=[
            {"n": 16, "m": 8, "side": 4, "rows": 2},
            {"n": 64, "m": 96, "side": 32, "rows": 8},
        ],
        gold=source("transpose").reference,
        flops=lambda **_: 0,
        moved=lambda n, m, **_: 8 * n * m,
        reference=Reference("NVIDIA SDK", 270.4e-6),
    ),
]
