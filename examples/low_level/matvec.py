"""Products of matrices and vectors: GEMV, GESUMMV and ATAX.

    relift bench gemv gesummv atax

A team of work-items shares a row, each with every `team`-th vector of four, so that neighbours read
neighbours; a tree in local memory adds what they have.  For the columns of A, which ATAX needs, a
work-item has four columns and a chunk of the rows; a second kernel adds the chunks.
"""

from dataclasses import replace

from by_hand import BY_HAND
from source import source
from sums import four, lanes, plus
from tree import across, groups_of_rows, trees
from with_numpy import WITH_NUMPY

import relift as rl
from relift.bench import Benchmark, Reference, on_cpu


def folded(team, row, x):
    """What each of `team` work-items adds of a row times x: an array for map_lcl."""

    def part(vs):
        def step(acc, v):
            return four(acc, rl.map_vec(lambda p: p[0] * p[1], v))

        return lanes(rl.reduce_seq(step, rl.splat(4, 0.0), vs))

    return rl.map_lcl(0)(part, across(team, rl.as_vector(4, rl.zip(row, x))))


def dots(team, rows, A, x):
    """The dot product of each row of A with x; a group has `rows` rows."""

    def group(block):
        sums = rl.map_lcl(1)(lambda row: folded(team, row, x), block)
        return rl.join(trees(plus, team, sums))

    return rl.join(groups_of_rows(group, rl.split(rows, A)))


def gemv_gpu(n, m, team=32, rows=8):
    """alpha*A*x + beta*y; the last level of the tree scales and adds."""

    @rl.program
    def gemv(alpha: rl.f32, A: rl.f32[n, m], x: rl.f32[m], beta: rl.f32, y: rl.f32[n]):
        def group(block):
            sums = rl.map_lcl(1)(lambda p: folded(team, p[0], x), block)
            few = rl.to_local(trees(plus, team, sums))
            scaled = rl.map_lcl(1)(
                lambda p: rl.map_lcl(0)(lambda s: alpha * s + beta * p[1][1], p[0]),
                rl.zip(few, block),
            )
            return rl.join(scaled)

        return rl.join(groups_of_rows(group, rl.split(rows, rl.zip(A, y))))

    return gemv


def gesummv_gpu(n, m, team=32, rows=8):
    """alpha*A*x + beta*B*x: both sums are scaled by the work-item that has them."""

    @rl.program
    def gesummv(alpha: rl.f32, beta: rl.f32, A: rl.f32[n, m], B: rl.f32[n, m], x: rl.f32[m]):
        def part(vs):
            def step(acc, v):
                return (
                    four(acc[0], rl.map_vec(lambda p: p[0] * p[2], v)),
                    four(acc[1], rl.map_vec(lambda p: p[1] * p[2], v)),
                )

            zeros = (rl.splat(4, 0.0), rl.splat(4, 0.0))
            return rl.let(
                lambda both: alpha * lanes(both[0]) + beta * lanes(both[1]),
                rl.reduce_seq(step, zeros, vs),
            )

        def row(p):
            return rl.map_lcl(0)(part, across(team, rl.as_vector(4, rl.zip(p[0], p[1], x))))

        def group(block):
            return rl.join(trees(plus, team, rl.map_lcl(1)(row, block)))

        return rl.join(groups_of_rows(group, rl.split(rows, rl.zip(A, B))))

    return gesummv


def transposed_product(chunk, items, parts, A, v):
    """A transposed times v: `chunk` rows and `items` vectors of columns for a group, then their sums."""
    columns = rl.map(lambda row: rl.as_vector(4, row), A)

    def strip(p):
        """`chunk` rows of `items` vectors, and as many elements of v."""

        def column(vs):
            def step(acc, p):
                return four(acc, rl.map_vec(lambda a: a * p[1], p[0]))

            return rl.reduce_seq(step, rl.splat(4, 0.0), rl.zip(vs, p[1]))

        return rl.map_lcl(0)(column, rl.transpose(p[0]))

    def row_of_strips(p):
        strips = rl.transpose(rl.map(lambda row: rl.split(items, row), p[0]))
        return rl.as_scalar(rl.join(rl.map_wrg(0)(lambda s: strip((s, p[1])), strips)))

    pairs = rl.zip(rl.split(chunk, columns), rl.split(chunk, v))
    partial = rl.to_global(rl.map_wrg(1)(row_of_strips, pairs))

    def columns_sum(block):
        """32 columns of all chunks: each of `parts` rows of work-items adds some, a tree adds those."""
        several = rl.split(parts, block)

        def some(rows):
            return rl.map_lcl(0)(lambda c: rl.reduce_seq(rl.add, 0.0, c), rl.transpose(rows))

        sums = rl.to_local(rl.map_lcl(1)(some, rl.transpose(several)))
        length = parts
        while length > 1:
            length //= 2
            level = rl.map_lcl(1)(
                lambda p: rl.map_lcl(0)(lambda q: q[0] + q[1], rl.zip(p[0], p[1])),
                rl.transpose(rl.split(length, sums)),
            )
            sums = rl.to_local(level) if length > 1 else level
        return rl.join(sums)

    blocks = rl.transpose(rl.map(lambda row: rl.split(32, row), partial))
    return rl.join(groups_of_rows(columns_sum, blocks))


def atax_gpu(n, m, team=32, rows=8, chunk=128, items=256, parts=8):
    """A transposed times A times x, in three kernels; A is read twice."""

    @rl.program
    def atax(A: rl.f32[n, m], x: rl.f32[m]):
        return transposed_product(chunk, items, parts, A, rl.to_global(dots(team, rows, A, x)))

    return atax


def dots_cpu(rows, width, block, x):
    """The dot products of `rows` rows with x: they share what is read of x; a sum of vectors for each."""
    wide = rl.vectorize(width, rl.add)
    zeros = rl.map_seq_unroll(lambda v: v, rl.repeat(rows, rl.splat(width, 0.0)))
    columns = rl.transpose(rl.map(lambda row: rl.as_vector(width, row), block))

    def step(sums, p):
        return rl.map_seq_unroll(
            lambda q: wide(q[0], rl.vectorize(width, rl.mul)(q[1], p[1])), rl.zip(sums, p[0])
        )

    return rl.reduce_seq(step, rl.to_private(zeros), rl.zip(columns, rl.as_vector(width, x)))


def gemv_cpu(n, m, rows=4, width=16):
    """A work-item has `rows` rows."""

    @rl.program
    def gemv(alpha: rl.f32, A: rl.f32[n, m], x: rl.f32[m], beta: rl.f32, y: rl.f32[n]):
        def block(p):
            sums = dots_cpu(rows, width, p[0], x)
            return rl.map_seq_unroll(
                lambda q: alpha * lanes(q[0]) + beta * q[1], rl.zip(sums, p[1])
            )

        return rl.join(rl.map_glb(0)(block, rl.zip(rl.split(rows, A), rl.split(rows, y))))

    return gemv


def gesummv_cpu(n, m, rows=4, width=16):
    """Both products of a block of rows, one after the other."""

    @rl.program
    def gesummv(alpha: rl.f32, beta: rl.f32, A: rl.f32[n, m], B: rl.f32[n, m], x: rl.f32[m]):
        def block(p):
            both = rl.zip(dots_cpu(rows, width, p[0], x), dots_cpu(rows, width, p[1], x))
            return rl.map_seq_unroll(lambda q: alpha * lanes(q[0]) + beta * lanes(q[1]), both)

        return rl.join(rl.map_glb(0)(block, rl.zip(rl.split(rows, A), rl.split(rows, B))))

    return gesummv


teams = [{"team": 256, "rows": 1}, {"team": 32, "rows": 8}]
small = [
    {"n": 8, "m": 64, "team": 4, "rows": 2},
    {"n": 32, "m": 256, "team": 32, "rows": 8},
]
benchmarks = [
    Benchmark(
        "gemv",
        "gpu",
        gemv_gpu,
        sizes={"n": 8192, "m": 8192},
        variants=teams,
        small=small,
        gold=source("gemv").reference,
        flops=lambda n, m, **_: 2 * n * m,
        moved=lambda n, m, **_: 4 * n * m,
        reference=Reference("NVIDIA SDK, one row per group", 115.5e-6),
    ),
    Benchmark(
        "gesummv",
        "gpu",
        gesummv_gpu,
        sizes={"n": 8192, "m": 8192},
        variants=teams,
        small=small,
        gold=source("gesummv").reference,
        flops=lambda n, m, **_: 4 * n * m,
        moved=lambda n, m, **_: 8 * n * m,
        reference=Reference("CLBlast", 459.2e-6),
    ),
    Benchmark(
        "atax",
        "gpu",
        atax_gpu,
        sizes={"n": 8192, "m": 8192},
        variants=[{"chunk": 128}, {"chunk": 64}],
        small=[
            {"n": 16, "m": 64, "team": 4, "rows": 2, "chunk": 4, "items": 8, "parts": 2},
            {"n": 64, "m": 256, "team": 32, "rows": 8, "chunk": 8, "items": 32, "parts": 8},
        ],
        gold=source("atax").reference,
        flops=lambda n, m, **_: 4 * n * m,
        moved=lambda n, m, **_: 8 * n * m,
        reference=Reference("CLBlast", 430.1e-6),
    ),
]
on_rows = {
    "target": "cpu",
    "sizes": {"n": 4096, "m": 4096},
    "variants": [{}],
    "small": [{"n": 8, "m": 64}, {"n": 12, "m": 32, "rows": 2, "width": 8}],
    "reference": None,
}
benchmarks += [
    replace(
        benchmarks[0],
        make=gemv_cpu,
        numpy=WITH_NUMPY["gemv"],
        by_hand=BY_HAND["gemv"],
        **on_rows,
    ),
    replace(benchmarks[1], make=gesummv_cpu, **on_rows),
    on_cpu(benchmarks[2], n=2048, m=2048),
]
