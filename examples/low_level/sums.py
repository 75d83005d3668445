"""The sum of a row, and the dot product of two: folds of vectors, then trees in local memory.

    relift bench total dot

Partial sums leave the first kernel, one per work-group; the second adds them.
"""

import numpy as np
from by_hand import BY_HAND
from source import source
from tree import across, tree

import relift as rl
from relift.bench import Benchmark, Reference

four = rl.vectorize(4, rl.add)


def plus(a, b):
    return a + b


def lanes(v):
    """The sum of the lanes of a vector."""
    return rl.reduce_seq(rl.add, 0.0, rl.as_scalar(rl.repeat(1, v)))


def in_two_kernels(part, groups, items, vectors):
    """`part` folds what one work-item has; trees add the work-items of a group, then the groups."""
    chunks = rl.split(items, across(groups * items, vectors))

    def group(chunk):
        return tree(plus, items, rl.map_lcl(0)(part, chunk))

    def last(partial):
        few = rl.map_lcl(0)(lambda xs: rl.reduce_seq(rl.add, 0.0, xs), partial)
        return tree(plus, min(items, groups), few)

    partial = rl.to_global(rl.join(rl.map_wrg(0)(group, chunks)))
    few = min(items, groups)
    return rl.join(rl.map_wrg(0)(last, rl.split(few, across(few, partial))))


def total_gpu(n, groups=1024, items=256):
    """Every work-item adds n/(4*groups*items) vectors of four."""

    def part(vs):
        return lanes(rl.reduce_seq(lambda acc, v: four(acc, v), rl.splat(4, 0.0), vs))

    @rl.program
    def total(x: rl.f32[n]):
        return in_two_kernels(part, groups, items, rl.as_vector(4, x))

    return total


def dot_gpu(n, groups=1024, items=256):
    """Every work-item adds the products of n/(4*groups*items) pairs of vectors of four."""

    def part(vs):
        def step(acc, v):
            return four(acc, rl.map_vec(lambda p: p[0] * p[1], v))

        return lanes(rl.reduce_seq(step, rl.splat(4, 0.0), vs))

    @rl.program
    def dot(x: rl.f32[n], y: rl.f32[n]):
        return in_two_kernels(part, groups, items, rl.as_vector(4, rl.zip(x, y)))

    return dot


def dot_cpu(n, parts=64, width=16):
    """A work-item adds the products of one part, in vectors; one work-item adds the parts."""
    wide = rl.vectorize(width, rl.add)

    def part(xs):
        def step(acc, v):
            return wide(acc, rl.map_vec(lambda p: p[0] * p[1], v))

        return lanes(rl.reduce_seq(step, rl.splat(width, 0.0), rl.as_vector(width, xs)))

    @rl.program
    def dot(x: rl.f32[n], y: rl.f32[n]):
        partial = rl.map_glb(0)(part, rl.split(n // parts, rl.zip(x, y)))
        return rl.map_glb(0)(
            lambda xs: rl.reduce_seq(rl.add, 0.0, xs), rl.repeat(1, rl.to_global(partial))
        )

    return dot


def dot_gold(x, y):
    return np.atleast_1d(source("dot").reference(x, y))


groups = [{"groups": 8192}, {"groups": 1024}]
benchmarks = [
    Benchmark(
        "dot",
        "cpu",
        dot_cpu,
        sizes={"n": 1 << 24},
        small=[{"n": 1024, "parts": 4, "width": 8}, {"n": 4096, "parts": 64}],
        gold=dot_gold,
        flops=lambda n, **_: 2 * n,
        moved=lambda n, **_: 8 * n,
        numpy=np.dot,
        by_hand=BY_HAND["dot"],
    ),
    Benchmark(
        "total",
        "gpu",
        total_gpu,
        sizes={"n": 1 << 28},
        variants=groups,
        small=[{"n": 4096, "groups": 4, "items": 64}, {"n": 2048, "groups": 16, "items": 8}],
        gold=lambda x: np.sum(x, dtype=np.float64, keepdims=True),
        flops=lambda n, **_: n,
        moved=lambda n, **_: 4 * n,
        reference=Reference("SHOC reduction, without the host's sum", 285.4e-6),
    ),
    Benchmark(
        "dot",
        "gpu",
        dot_gpu,
        sizes={"n": 1 << 28},
        variants=groups,
        small=[{"n": 4096, "groups": 4, "items": 64}, {"n": 2048, "groups": 16, "items": 8}],
        gold=dot_gold,
        flops=lambda n, **_: 2 * n,
        moved=lambda n, **_: 8 * n,
    ),
]
