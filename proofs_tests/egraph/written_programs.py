"""Programs as people write them, each with small sizes: what a search has to find a form for, whatever else it finds.

They follow the programs of Lift's own tests, and those in which values are shared, stored, scanned or iterated.
"""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import relift as rl
from relift.semantics.language.programs import Program

n, m, k, z = rl.nat("n"), rl.nat("m"), rl.nat("k"), rl.nat("z", least=0)
f = rl.f32
pairs, taps, window = f[n, 2], f[3], f[3, 3]
lefts, rights = f[4, n, k], f[4, k, m]

PROGRAMS: dict[str, tuple[Program, Mapping[str, int]]] = {}
"""By name: the program, and its sizes."""


def case(**sizes: int) -> Callable[[Any], Program]:
    """Enter a program with its sizes."""

    def enter(function: Any) -> Program:
        program = rl.program(function)
        PROGRAMS[program.name] = program, sizes
        return program

    return enter


largest = rl.operator(
    lambda a, b: rl.maximum(a, b), associative=True, commutative=True, name="largest"
)


def dot(u, v):
    """The inner product of two vectors."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))


def mv(a, x):
    """A matrix times a vector."""
    return rl.map(lambda row: dot(row, x), a)


def mm(a, b):
    """The product of two matrices."""
    return rl.map(lambda row: rl.map(lambda column: dot(row, column), rl.transpose(b)), a)


def three_sums(a):
    """The sums of neighbours, those at the border counted twice."""
    return rl.map(lambda w: w[0] + w[1] + w[2], rl.slide(3, 1, rl.pad(1, 1, rl.clamp, a)))


def three_sums_of_a_third(a):
    """The means of neighbours."""
    return rl.map(lambda v: v * 0.333, three_sums(a))


@case(n=64)
def vadd(x: f[n], y: f[n]):
    return rl.map(lambda p: p[0] + p[1], rl.zip(x, y))


@case(n=64)
def negate_reversed(x: f[n]):
    return rl.map(lambda v: -v, rl.gather(rl.reverse, x))


@case(n=64)
def norm(x: f[n]):
    return rl.sqrt(rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, x)))


@case(n=16, m=8)
def column_sums_fold(a: f[n, m], z: f[m]):
    return rl.reduce_seq(lambda acc, row: rl.map(lambda p: p[0] + p[1], rl.zip(acc, row)), z, a)


@case(n=16, m=128)
def column_sums_fold_wide(a: f[n, m], z: f[m]):
    return rl.reduce_seq(lambda acc, row: rl.map(lambda p: p[0] + p[1], rl.zip(acc, row)), z, a)


@case(n=64)
def iterate5(x: f[n]):
    return rl.iterate(5, lambda a: rl.map(lambda v: v + 1.0, a), x)


@case(n=64)
def iterate_two(x: f[n], b: f[n]):
    return rl.iterate(5, lambda a: rl.map(lambda p: p[0] + p[1], rl.zip(a, b)), x)


@case(n=64)
def iterate_elements(x: f[n]):
    return rl.map(lambda v: rl.iterate(3, lambda a: a * a + 1.0, v), x)


@case(n=64)
def jacobi(x: f[n]):
    return rl.iterate(
        4,
        lambda a: rl.map(
            lambda w: (w[0] + w[1] + w[2]) * 0.3, rl.slide(3, 1, rl.pad(1, 1, rl.clamp, a))
        ),
        x,
    )


@case(n=64)
def scan(x: f[n]):
    return rl.scan_seq(rl.add, 0.0, x)


@case(n=8)
def segmented_scan(x: f[8 * n]):
    return rl.join(rl.map(lambda c: rl.scan_seq(rl.add, 0.0, c), rl.split(8, x)))


@case(n=16, m=8)
def scan_rows(a: f[n, m]):
    return rl.transpose(rl.map(lambda c: rl.scan_seq(rl.add, 0.0, c), rl.transpose(a)))


@case(n=64)
def head_tail(x: f[n + 2]):
    return (rl.head(x), rl.tail(x))


@case(n=64)
def two_maps(x: f[n], y: f[n]):
    return (rl.map(lambda v: v + 1.0, x), rl.map(lambda v: v + 2.0, y))


@case(n=64)
def pair_of_results(x: f[n]):
    return (rl.map(lambda v: v + 1.0, x), rl.reduce(rl.add, 0.0, x))


@case(n=64)
def pairs_out(x: f[n]):
    return rl.map(lambda v: (v, v * v), x)


@case(n=64)
def scatter_reverse(x: f[n]):
    return rl.scatter(rl.reverse, rl.map(lambda v: v + 1.0, x))


@case(n=64)
def scatter_plain(x: f[n]):
    return rl.scatter(rl.reverse, x)


@case(n=8, m=12)
def transpose(a: f[n, m]):
    return rl.transpose(a)


@case(n=8, m=12)
def pad2d(a: f[n, m]):
    return rl.pad_nd((1, 1), (1, 1), rl.clamp, a)


@case(n=64)
def unzipped(x: f[n]):
    return rl.unzip(rl.map(lambda v: (v, v * 2.0), x))


@case(n=16, m=8)
def gemv(a: f[n, m], x: f[m], y: f[n]):
    return rl.map(lambda p: 1.5 * p[0] + 2.5 * p[1], rl.zip(mv(a, x), y))


@case(n=16, m=8)
def atax(a: f[n, m], x: f[m]):
    return mv(rl.transpose(a), mv(a, x))


@case(n=16)
def gemver(a: f[n, n], u1: f[n], v1: f[n], u2: f[n], v2: f[n], y: f[n], z: f[n]):
    b = rl.map(
        lambda q: rl.map(lambda p: p[0] + q[1] * p[1] + q[2] * p[2], rl.zip(q[0], v1, v2)),
        rl.zip(a, u1, u2),
    )
    x = rl.map(lambda p: 2.5 * p[0] + p[1], rl.zip(mv(rl.transpose(b), y), z))
    return rl.map(lambda v: 1.5 * v, mv(b, x))


@case(n=16)
def gesummv(a: f[n, n], b: f[n, n], x: f[n]):
    return rl.map(lambda p: 2.0 * p[0] + 1.5 * p[1], rl.zip(mv(a, x), mv(b, x)))


@case(n=8, m=16, k=8)
def two_products(a: f[n, m], b: f[m, k], c: f[k, n]):
    return mm(mm(a, b), c)


@case(n=8)
def three_products(a: f[n, n], b: f[n, n], c: f[n, n], d: f[n, n]):
    return mm(mm(a, b), mm(c, d))


@case(n=8, m=16, k=4)
def gemm(a: f[n, k], b: f[k, m], c: f[n, m]):
    return rl.map(
        lambda q: rl.map(
            lambda p: 1.5 * dot(q[0], p[0]) + 0.5 * p[1], rl.zip(rl.transpose(b), q[1])
        ),
        rl.zip(a, c),
    )


@case(n=4, m=8)
def add_matrices(a: f[n, m, m], z: f[m, m]):
    return rl.reduce_seq(
        lambda acc, x: rl.map(
            lambda q: rl.map(lambda p: p[0] + p[1], rl.zip(q[0], q[1])), rl.zip(acc, x)
        ),
        z,
        a,
    )


@case(n=16, m=512)
def row_sums(a: f[n, m]):
    return rl.map(lambda r: rl.reduce(rl.add, 0.0, r), a)


@case(n=512, m=16)
def column_sums(a: f[n, m]):
    return rl.map(lambda r: rl.reduce(rl.add, 0.0, r), rl.transpose(a))


@case(n=8, m=32)
def softmax(a: f[n, m]):
    def row(r):
        top = rl.reduce(largest, -1e30, r)
        e = rl.map(lambda v: rl.exp(v - top), r)
        total = rl.reduce(rl.add, 0.0, e)
        return rl.map(lambda v: v / total, e)

    return rl.map(row, a)


@case(n=8, m=32)
def softmax_let(a: f[n, m]):
    def row(r):
        return rl.let(
            lambda top: rl.let(
                lambda total: rl.map(lambda v: rl.exp(v - top) / total, r),
                rl.reduce(rl.add, 0.0, rl.map(lambda v: rl.exp(v - top), r)),
            ),
            rl.reduce(largest, -1e30, r),
        )

    return rl.map(row, a)


@case(n=8, m=32)
def layer_norm(a: f[n, m]):
    def row(r):
        mean = rl.reduce(rl.add, 0.0, r) / 32.0
        var = rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - mean) * (v - mean), r)) / 32.0
        return rl.map(lambda v: (v - mean) / rl.sqrt(var + 1e-5), r)

    return rl.map(row, a)


@case(n=64)
def normalised(x: f[n]):
    total = rl.reduce(rl.add, 0.0, x)
    return rl.map(lambda v: v / total, x)


@case(n=64)
def stored_by_hand(x: f[n]):
    return rl.map(lambda v: v * 2.0, rl.to_global(rl.map(lambda v: v + 1.0, x)))


@case(n=64)
def stored_result(x: f[n]):
    return rl.to_global(rl.map(lambda v: v + 1.0, x))


@case(n=64)
def sum_of_stored(x: f[n]):
    return rl.reduce(rl.add, 0.0, rl.to_global(rl.map(lambda v: v + 1.0, x)))


@case(n=64)
def let_array(x: f[n]):
    return rl.let(
        lambda y: rl.map(lambda p: p[0] * p[1], rl.zip(y, rl.gather(rl.reverse, y))),
        rl.map(lambda v: v * v + 1.0, x),
    )


@case(n=64)
def let_scalar(x: f[n]):
    return rl.let(lambda s: rl.map(lambda v: v / s, x), rl.reduce(rl.add, 0.0, x))


@case(n=64)
def shared(x: f[n]):
    def f3(v):
        for _ in range(3):
            v = v * v + 0.25 * v
        return v

    return rl.map(f3, x)


@case(n=16)
def sort_step(x: pairs):
    return rl.map(lambda r: rl.make_array(rl.minimum(r[0], r[1]), rl.maximum(r[0], r[1])), x)


@case(n=16)
def upsample(x: f[n]):
    return rl.join(rl.map(lambda v: rl.make_array(v, v * 0.5), x))


@case(n=16, m=4)
def concat_rows(a: f[n, m]):
    return rl.map(lambda r: rl.concat(r, rl.map(lambda v: v * 2.0, r)), a)


@case(n=64)
def concat_ends(x: f[n], y: f[n]):
    return rl.concat(rl.map(lambda v: v * 2.0, x), y)


@case(n=16, m=16)
def conv2d(x: f[n + 2, m + 2], w: window):
    return rl.map(
        lambda r: rl.map(lambda win: dot(rl.join(win), rl.join(w)), r),
        rl.slide_nd((3, 3), (1, 1), x),
    )


@case(n=16, m=16)
def separable(x: f[n + 2, m + 2], w: taps):
    rows = rl.map(lambda r: rl.map(lambda win: dot(win, w), rl.slide(3, 1, r)), x)
    return rl.transpose(
        rl.map(lambda c: rl.map(lambda win: dot(win, w), rl.slide(3, 1, c)), rl.transpose(rows))
    )


@case(n=64)
def iota(x: f[n]):
    return rl.map(lambda p: p[0], rl.zip(x, rl.generate(n, lambda j: j)))


@case(n=64)
def two_stencils(x: f[n]):
    return three_sums(three_sums(x))


@case(n=8, m=8, k=8)
def batched(a: lefts, b: rights):
    return rl.map(lambda p: mm(p[0], p[1]), rl.zip(a, b))


@case(n=8, m=6, k=4)
def attention(q: f[n, k], kk: f[m, k], v: f[m, k]):
    def row(r):
        s = rl.map(lambda kr: dot(r, kr), kk)
        top = rl.reduce(largest, -1e30, s)
        e = rl.map(lambda x: rl.exp(x - top), s)
        t = rl.reduce(rl.add, 0.0, e)
        return rl.map(lambda c: dot(e, c) / t, rl.transpose(v))

    return rl.map(row, q)


@case(n=64)
def dot_of_maps(x: f[n], y: f[n]):
    return dot(rl.map(lambda v: v * v + 1.0, x), rl.map(lambda v: v - 1.0, y))


@case(n=16)
def max_pool(a: f[2 * n, 2 * n]):
    return rl.map(
        lambda r: rl.map(lambda w: rl.reduce(largest, -1e30, rl.join(w)), r),
        rl.slide_nd((2, 2), (2, 2), a),
    )


@case(n=8)
def sum_all(a: f[n, n]):
    return rl.reduce(rl.add, 0.0, rl.join(a))


@case(n=16, m=8)
def variance(a: f[n, m]):
    def row(r):
        mean = rl.reduce(rl.add, 0.0, r) * 0.125
        return rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - mean) * (v - mean), r))

    return rl.map(row, a)


@case(n=8)
def chain12(x: f[n]):
    for _ in range(12):
        x = rl.map(lambda v: v * 2.0 + 1.0, x)
    return x


@case(n=8)
def reduce_rows_pair(x: f[8 * n]):
    return rl.map(
        lambda c: (rl.reduce(rl.add, 0.0, c), rl.reduce(largest, -1e30, c)), rl.split(8, x)
    )


@case(n=8)
def prefix_blocks(x: f[8 * n]):
    blocks = rl.map(lambda c: rl.scan_seq(rl.add, 0.0, c), rl.split(8, x))
    sums = rl.map(lambda c: rl.reduce(rl.add, 0.0, c), rl.split(8, x))
    starts = rl.scan_seq(rl.add, 0.0, sums)
    return rl.join(rl.map(lambda p: rl.map(lambda v: v + p[1], p[0]), rl.zip(blocks, starts)))


@case(n=16)
def stride(x: f[4 * n]):
    return rl.join(rl.transpose(rl.split(n, x)))


@case(n=8, m=4)
def rows_reversed(a: f[n, m]):
    return rl.map(lambda row: rl.gather(rl.reverse, row), rl.gather(rl.reverse, a))


@case(n=16)
def bitonic_step(x: f[2 * n]):
    def swapped(pair):
        return rl.make_array(rl.minimum(pair[0], pair[1]), rl.maximum(pair[0], pair[1]))

    return rl.join(rl.map(swapped, rl.split(2, x)))


@case(n=16)
def page_rank_step(links: f[n, n], ranks: f[n]):
    return rl.map(lambda v: 0.85 * v + 0.15, mv(links, ranks))


@case(n=6, m=5)
def cross_product(x: f[n], y: f[m]):
    return rl.join(rl.map(lambda u: rl.map(lambda v: (u, v), y), x))


@case(n=8, m=6)
def layer(w: f[n, m], b: f[n], x: f[m]):
    return rl.map(lambda p: rl.maximum(p[0] + p[1], 0.0), rl.zip(mv(w, x), b))


@case(n=4, m=6, k=5)
def two_layers(w: f[n, m], v: f[m, k], x: f[k]):
    hidden = rl.map(lambda h: rl.maximum(h, 0.0), mv(v, x))
    return rl.map(lambda h: rl.maximum(h, 0.0), mv(w, hidden))


@case(n=32)
def many_steps(x: f[n]):
    return rl.iterate(40, three_sums_of_a_third, x)


@case(n=16, m=8)
def mean_and_variance(a: f[n, m]):
    def both(row):
        mean = rl.reduce(rl.add, 0.0, row) * 0.125
        return (mean, rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - mean) * (v - mean), row)))

    return rl.map(both, a)


@case(n=16)
def pair_accumulator(x: f[n]):
    def both(totals, v):
        return (totals[0] + v, totals[1] * v)

    return rl.reduce_seq(both, (0.0, 1.0), x)


@case(n=12)
def nested_lets(x: f[n]):
    squares = rl.map(lambda v: v * v, x)

    def scaled(total):
        return rl.let(lambda ys: rl.map(lambda v: v / total, ys), squares)

    return rl.let(scaled, rl.reduce(rl.add, 0.0, squares))


@case(n=12)
def let_in_a_function(x: f[n]):
    return rl.map(lambda v: rl.let(lambda u: u * u + u, rl.exp(v)), x)


@case(n=6, m=8)
def let_of_a_row(a: f[n, m]):
    def row(r):
        return rl.let(
            lambda e: rl.map(lambda v: v / rl.reduce(rl.add, 0.0, e), e), rl.map(rl.exp, r)
        )

    return rl.map(row, a)


@case(n=4, m=4)
def scan_of_a_map(a: f[n, m]):
    return rl.scan_seq(rl.add, 0.0, rl.map(lambda row: rl.reduce(rl.add, 0.0, row), a))


@case(n=16)
def stored_twice(x: f[n]):
    y = rl.to_global(rl.map(lambda v: v + 1.0, x))
    return rl.map(lambda p: p[0] * p[1], rl.zip(y, rl.gather(rl.reverse, y)))


@case(n=8)
def generated(x: f[n]):
    return rl.map(lambda p: p[0], rl.zip(x, rl.generate(n, lambda j: j)))


# ---- on arrays without elements


@rl.program
def shifted(x: f[z]):
    total = rl.reduce(rl.add, 0.0, x)
    return rl.map(lambda v: v + total, x)


@rl.program
def dense(x: f[z], y: f[z]):
    def one(a):
        return rl.reduce(rl.add, 0.0, rl.map(lambda b: rl.exp(-(a - b) * (a - b)), y)) / 3.0

    return rl.map(one, x)


@rl.program
def again_and_again(a: f[z, z], x: f[z]):
    def step(v):
        w = rl.map(
            lambda row: rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, v))), a
        )
        length = rl.sqrt(rl.reduce(rl.add, 0.0, rl.map(lambda e: e * e, w)))
        return rl.map(lambda e: e / length, w)

    return rl.iterate(10, step, x)


WITHOUT_ELEMENTS = (shifted, dense, again_and_again)
