"""Element by element: saxpy, and the distances of nearest neighbour.  Several vectors per work-item.

relift bench saxpy nearest_neighbour
"""

from pathlib import Path

from by_hand import BY_HAND
from source import source
from with_numpy import WITH_NUMPY

import relift as rl
from relift.bench import Benchmark, Draw, Reference, load_file, on_cpu


def by_groups(f, items, vectors, xs):
    """f on every element: vectors of four, `vectors` for a work-item, `items` apart."""

    def group(chunk):
        lines = rl.split(items, chunk)
        return rl.join(rl.map_seq_unroll(lambda line: rl.map_lcl(0)(rl.map_vec(f), line), lines))

    chunks = rl.split(items * vectors, rl.as_vector(4, xs))
    return rl.as_scalar(rl.join(rl.map_wrg(0)(group, chunks)))


def saxpy_gpu(n, items=256, vectors=4):
    """a*x + y."""

    @rl.program
    def saxpy(a: rl.f32, x: rl.f32[n], y: rl.f32[n]):
        return by_groups(lambda p: a * p[0] + p[1], items, vectors, rl.zip(x, y))

    return saxpy


def nearest_neighbour_gpu(n, items=256, vectors=4):
    """The distance of every record to a place."""
    place = rl.tup(rl.f32, rl.f32)

    @rl.program
    def nearest_neighbour(records: place[n], latitude: rl.f32, longitude: rl.f32):
        def distance(p):
            south, east = latitude - p[0], longitude - p[1]
            return rl.sqrt(south * south + east * east)

        return by_groups(distance, items, vectors, records)

    return nearest_neighbour


OPTIONS = load_file(Path(__file__).parents[1] / "black_scholes.py")
FAST = ("-cl-fast-relaxed-math",)
small = [{"n": 512, "items": 32, "vectors": 2}, {"n": 1024, "items": 64, "vectors": 1}]


def saxpy_cpu(n, chunk=64, width=16):
    """A work-item has `chunk` vectors that lie side by side."""

    @rl.program
    def saxpy(a: rl.f32, x: rl.f32[n], y: rl.f32[n]):
        def line(vectors):
            return rl.map_seq(rl.map_vec(lambda p: a * p[0] + p[1]), vectors)

        chunks = rl.split(chunk, rl.as_vector(width, rl.zip(x, y)))
        return rl.as_scalar(rl.join(rl.map_glb(0)(line, chunks)))

    return saxpy


def black_scholes_cpu(n, width=16):
    """The prices of examples/black_scholes.py, of a vector of options for each work-item."""
    option = rl.tup(rl.f32, rl.f32, rl.f32)

    @rl.program
    def black_scholes(options: option[n]):
        return rl.as_scalar(rl.map_glb(0)(rl.map_vec(OPTIONS.prices), rl.as_vector(width, options)))

    return black_scholes


vectors = [{"vectors": 1}, {"vectors": 4}]
benchmarks = [
    Benchmark(
        "saxpy",
        "cpu",
        saxpy_cpu,
        sizes={"n": 1 << 24},
        small=[{"n": 1024, "chunk": 4, "width": 8}, {"n": 2048}],
        gold=source("saxpy").reference,
        flops=lambda n, **_: 2 * n,
        moved=lambda n, **_: 12 * n,
        numpy=WITH_NUMPY["saxpy"],
        by_hand=BY_HAND["saxpy"],
    ),
    Benchmark(
        "black_scholes",
        "cpu",
        black_scholes_cpu,
        sizes={"n": 1 << 21},
        small=[{"n": 64, "width": 8}, {"n": 96, "width": 16}],
        gold=source("black_scholes").reference,
        flops=lambda n, **_: 60 * n,
        moved=lambda n, **_: 20 * n,
        inputs={"options": Draw(1.0, 30.0)},
        tolerance=1e-4,
        numpy=WITH_NUMPY["black_scholes"],
        by_hand=BY_HAND["black_scholes"],
    ),
    Benchmark(
        "saxpy",
        "gpu",
        saxpy_gpu,
        sizes={"n": 1 << 28},
        variants=vectors,
        small=small,
        gold=source("saxpy").reference,
        flops=lambda n, **_: 2 * n,
        moved=lambda n, **_: 12 * n,
    ),
    Benchmark(
        "nearest_neighbour",
        "gpu",
        nearest_neighbour_gpu,
        sizes={"n": 1 << 25},
        variants=vectors,
        small=small,
        gold=source("nearest_neighbour").reference,
        flops=lambda n, **_: 6 * n,
        moved=lambda n, **_: 12 * n,
        options=FAST,
        reference=Reference("Rodinia", 118.0e-6),
    ),
]
benchmarks.append(on_cpu(benchmarks[-1], n=1 << 22))
