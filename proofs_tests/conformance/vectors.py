"""Vectors, reductions, scans, filters and sorts: numbers 1 to 25."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, no-any-return, operator, untyped-decorator, valid-type"
# pyright: reportGeneralTypeIssues=false
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from typing import Any

import numpy as np

import relift as rl
from proofs_tests.conformance.cases import case, dot, dot_seq, floats, total, total_seq, whole

n, m = rl.nat("n"), rl.nat("m")
f, i = rl.f32, rl.i32


@case(
    "1",
    "vector add",
    lambda x, y: x + y,
    n=96,
    low=lambda x, y: rl.map_glb(0)(lambda p: p[0] + p[1], rl.zip(x, y)),
)
def vector_add(x: f[n], y: f[n]):
    return rl.map(lambda p: p[0] + p[1], rl.zip(x, y))


@case(
    "2",
    "negate in chunks",
    lambda x: -x,
    n=12,
    low=lambda x: rl.join(rl.map_wrg(0)(lambda c: rl.map_lcl(0)(lambda v: -v, c), rl.split(8, x))),
)
def negate(x: f[8 * n]):
    return rl.join(rl.map(lambda c: rl.map(lambda v: -v, c), rl.split(8, x)))


@case(
    "3",
    "negate reversed",
    lambda x: -x[::-1],
    n=96,
    low=lambda x: rl.map_glb(0)(lambda v: -v, rl.gather(rl.reverse, x)),
)
def negate_reversed(x: f[n]):
    return rl.map(lambda v: -v, rl.gather(rl.reverse, x))


@case("4", "scal", lambda x: 2.5 * x, n=96, low=lambda x: rl.map_glb(0)(lambda v: v * 2.5, x))
def scal(x: f[n]):
    return rl.map(lambda v: v * 2.5, x)


@case("5", "scal, then sum", lambda x: np.sum(2.5 * x), n=96)
def scal_sum(x: f[n]):
    return total(rl.map(lambda v: v * 2.5, x))


@case("6", "norm", lambda x: np.sqrt(np.sum(x * x)), n=96)
def norm(x: f[n]):
    return rl.sqrt(total(rl.map(lambda v: v * v, x)))


@case("7", "sum", np.sum, n=96)
def vector_sum(x: f[n]):
    return total(x)


@case(
    "7b",
    "partial sums of groups",
    lambda x: x.reshape(-1, 16).sum(axis=1),
    n=6,
    low=lambda x: rl.map_glb(0)(total_seq, rl.split(16, x)),
)
def partial_sums(x: f[16 * n]):
    return rl.map(total, rl.split(16, x))


@case("8", "column sums from an initial array", lambda a, z: z + a.sum(axis=0), n=12, m=16)
def column_sums(a: f[n, m], z: f[m]):
    return rl.reduce_seq(lambda acc, row: rl.map(lambda p: p[0] + p[1], rl.zip(acc, row)), z, a)


@case("9", "asum", lambda x: np.abs(x).sum(), n=96)
def asum(x: f[n]):
    return total(rl.map(rl.absolute, x))


@case(
    "10",
    "scal by a parameter",
    lambda x, a: a * x,
    n=96,
    low=lambda x, a: rl.map_glb(0)(lambda v: v * a, x),
)
def scal_by(x: f[n], a: f):
    return rl.map(lambda v: v * a, x)


@case("11", "dot", lambda x, y: np.sum(x * y), n=96)
def dot_product(x: f[n], y: f[n]):
    return dot(x, y)


@case(
    "11b",
    "dot of prime length by rows",
    lambda x, y: (x * y).reshape(-1, 97).sum(axis=1),
    n=3,
    low=lambda x, y: rl.map_glb(0)(
        lambda p: dot_seq(p[0], p[1]), rl.zip(rl.split(97, x), rl.split(97, y))
    ),
)
def dots(x: f[97 * n], y: f[97 * n]):
    return rl.map(lambda p: dot(p[0], p[1]), rl.zip(rl.split(97, x), rl.split(97, y)))


@case("12", "iterate 5", lambda x: x + 5, n=64)
def iterated(x: f[n]):
    return rl.iterate(5, lambda a: rl.map(lambda v: v + 1.0, a), x)


@case("12b", "iterate 7 within an element", lambda x: x + 7, n=64)
def iterated_elements(x: f[n]):
    return rl.map(lambda v: rl.iterate(7, lambda a: a + 1.0, v), x)


@case("13", "iterate with a fixed array", lambda x, b: x + 5 * b, n=64)
def iterated_sum(x: f[n], b: f[n]):
    return rl.iterate(5, lambda a: rl.map(lambda p: p[0] + p[1], rl.zip(a, b)), x)


@case("14", "scan", np.cumsum, n=96)
def scan(x: f[n]):
    return rl.scan_seq(rl.add, 0.0, x)


@case(
    "15",
    "segmented scan",
    lambda x: x.reshape(-1, 32).cumsum(axis=1).ravel(),
    n=3,
    low=lambda x: rl.join(rl.map_glb(0)(lambda c: rl.scan_seq(rl.add, 0.0, c), rl.split(32, x))),
)
def segmented_scan(x: f[32 * n]):
    return rl.join(rl.map(lambda c: rl.scan_seq(rl.add, 0.0, c), rl.split(32, x)))


@case("16", "scan over rows", lambda a: a.cumsum(axis=0), n=12, m=16)
def scan_rows(a: f[n, m]):
    return rl.scan_seq(
        lambda acc, row: rl.map(lambda p: p[0] + p[1], rl.zip(acc, row)), rl.repeat(m, 0.0), a
    )


@case(
    "17",
    "bounded reduction",
    lambda x: (np.int32(100), np.float32(4950)),
    n=128,
    draws=lambda rng: (np.arange(128, dtype=np.float32),),
)
def bounded_reduction(x: f[n]):
    return rl.reduce_while(lambda s, v: s + v, lambda _, v: v < 100.0, 0.0, x)


def _leading(x: Any) -> Any:
    rows = x.reshape(-1, 32)
    stop = [next((j for j, v in enumerate(row) if not v < 8), 32) for row in rows]
    return whole(stop), floats([row[:j].sum() for row, j in zip(rows, stop, strict=True)])


@case(
    "18",
    "bounded reduction of each block",
    _leading,
    n=4,
    draws=lambda rng: (
        rng.permuted(np.tile(np.arange(32), (4, 1)), axis=1).astype(np.float32).ravel(),
    ),
)
def bounded_blocks(x: f[32 * n]):
    return rl.map(
        lambda c: rl.reduce_while(lambda s, v: s + v, lambda _, v: v < 8.0, 0.0, c), rl.split(32, x)
    )


@case("19", "head and tail", lambda x: (x[0], x[1:]), n=64)
def head_tail(x: f[n + 1]):
    return (rl.head(x), rl.tail(x))


@case(
    "19b",
    "second of each group",
    lambda x: x.reshape(-1, 32)[:, 1],
    n=4,
    low=lambda x: rl.map_glb(0)(lambda c: rl.head(rl.tail(c)), rl.split(32, x)),
)
def second_of_each(x: f[32 * n]):
    return rl.map(lambda c: rl.head(rl.tail(c)), rl.split(32, x))


@case(
    "20",
    "elements at indices",
    lambda x, ids: x[ids],
    n=64,
    m=32,
    draws=lambda rng: (
        rng.integers(0, 9, 64).astype(np.float32),
        np.arange(0, 64, 2, dtype=np.int32),
    ),
    low=lambda x, ids: rl.map_glb(0)(lambda v: v, rl.gather_indices(ids, x)),
)
def elements_at(x: f[n], ids: i[m]):
    return rl.gather_indices(ids, x)


@case(
    "20b",
    "rows at indices",
    lambda a, ids: a[ids],
    n=16,
    m=8,
    draws=lambda rng: (
        rng.integers(0, 9, (16, 8)).astype(np.float32),
        np.arange(8, dtype=np.int32)[::-1].copy(),
    ),
)
def rows_at(a: f[n, m], ids: i[m]):
    return rl.gather_indices(ids, a)


def _filtered(keep: np.ndarray, x: np.ndarray) -> tuple[np.int32, np.ndarray]:
    found = np.zeros_like(x)
    found[: keep.sum()] = x[keep]
    return np.int32(keep.sum()), found


@case(
    "21",
    "filter between two bounds",
    lambda x: _filtered((x > 0.2) & (x < 0.8), x),
    n=64,
    draws=lambda rng: (rng.random(64, dtype=np.float32),),
)
def filter_between(x: f[n]):
    return rl.filter_seq(lambda v: (v > 0.2) & (v < 0.8), 0.0, x)


@case(
    "21b",
    "filter rows by their sum",
    lambda a: _filtered(a.sum(axis=1) < 100, a),
    n=16,
    draws=lambda rng: (rng.integers(0, 7, (16, 32)).astype(np.float32),),
)
def filter_rows(a: f[n, 32]):
    return rl.filter_seq(lambda row: total(row) < 100.0, rl.repeat(32, 0.0), a)


@case(
    "22",
    "checked access",
    lambda x, ids: np.where((ids >= 0) & (ids < 64), x[ids % 64], -142),
    n=64,
    m=4,
    draws=lambda rng: (rng.integers(0, 9, 64).astype(np.float32), whole([-1, 128, 5, 63])),
    low=lambda x, ids: rl.map_glb(0)(lambda j: rl.at_runtime(j, -142.0, x), ids),
)
def checked_access(x: f[n], ids: i[m]):
    return rl.map(lambda j: rl.at_runtime(j, -142.0, x), ids)


@case(
    "23", "insertion sort", np.sort, n=48, draws=lambda rng: (rng.permutation(48).astype(np.int32),)
)
def insertion_sort(x: i[n]):
    return rl.insertion_sort_seq(lambda u, v: u < v, x)


@case(
    "23b",
    "insertion sort of blocks",
    lambda x: np.sort(x.reshape(-1, 32)).ravel(),
    n=3,
    draws=lambda rng: (rng.permutation(96).astype(np.int32),),
)
def sorted_blocks(x: i[32 * n]):
    return rl.join(rl.map(lambda c: rl.insertion_sort_seq(lambda u, v: u < v, c), rl.split(32, x)))


@case(
    "24",
    "rows in the order of their sums",
    lambda a: a[np.argsort(a.sum(axis=1), kind="stable")],
    n=12,
    draws=lambda rng: (rng.integers(0, 9, (12, 8)).astype(np.float32),),
)
def sorted_rows(a: f[n, 8]):
    return rl.insertion_sort_seq(lambda u, v: total(u) < total(v), a)


@case("25", "step of a bitonic sort", lambda x: np.sort(x.reshape(-1, 2)).ravel(), n=32)
def bitonic_step(x: f[2 * n]):
    def swapped(pair):
        return rl.make_array(rl.minimum(pair[0], pair[1]), rl.maximum(pair[0], pair[1]))

    return rl.join(rl.map(swapped, rl.split(2, x)))


def _bit(j, distance):
    """Whether the bit of j is set whose value is the distance."""
    return (j // distance) % 2


def _xor(j, distance):
    """The index that differs in this bit alone."""
    return rl.select(rl.equal(_bit(j, distance), 0), j + distance, j - distance)


@case(
    "25b", "bitonic sort of 8", np.sort, draws=lambda rng: (rng.permutation(8).astype(np.float32),)
)
def bitonic_sort(x: f[8]):
    def step(xs, distance, block):
        def value(j):
            other = rl.at_runtime_unsafe(_xor(j, distance), xs)
            own = rl.at_runtime_unsafe(j, xs)
            lower = _bit(j, distance)
            rising = _bit(j, block)
            return rl.select(
                rl.equal(lower, rising), rl.minimum(own, other), rl.maximum(own, other)
            )

        return rl.generate(8, value)

    def sorted_by(steps, xs):
        if not steps:
            return xs
        return rl.let(lambda ys: sorted_by(steps[1:], ys), step(xs, *steps[0]))

    return sorted_by([(1, 2), (2, 4), (1, 4), (4, 8), (2, 8), (1, 8)], x)
