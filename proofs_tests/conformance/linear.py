"""Linear algebra: numbers 34 to 44."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, no-any-return, operator, untyped-decorator, valid-type"
# pyright: reportGeneralTypeIssues=false
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import numpy as np

import relift as rl
from proofs_tests.conformance.cases import case, dot, dot_seq, mm, mv

n, m, k, l = rl.nat("n"), rl.nat("m"), rl.nat("k"), rl.nat("l")
f = rl.f32


@case(
    "34",
    "gemv core",
    lambda a, x: a @ x,
    n=16,
    m=24,
    low=lambda a, x: rl.map_glb(0)(lambda r: dot_seq(r, x), a),
)
def gemv_core(a: f[n, m], x: f[m]):
    return mv(a, x)


@case(
    "35",
    "gemv",
    lambda a, x, y: 1.5 * a @ x + 2.5 * y,
    n=16,
    m=24,
    low=lambda a, x, y: rl.map_glb(0)(lambda p: 1.5 * dot_seq(p[0], x) + 2.5 * p[1], rl.zip(a, y)),
)
def gemv(a: f[n, m], x: f[m], y: f[n]):
    return rl.map(lambda p: 1.5 * p[0] + 2.5 * p[1], rl.zip(mv(a, x), y))


@case(
    "35t",
    "gemv transposed",
    lambda a, x, y: 1.5 * a.T @ x + 2.5 * y,
    n=16,
    m=24,
    low=lambda a, x, y: rl.map_glb(0)(
        lambda p: 1.5 * dot_seq(p[0], x) + 2.5 * p[1], rl.zip(rl.transpose(a), y)
    ),
)
def gemv_transposed(a: f[n, m], x: f[n], y: f[m]):
    return rl.map(lambda p: 1.5 * p[0] + 2.5 * p[1], rl.zip(mv(rl.transpose(a), x), y))


@case(
    "36",
    "gesummv",
    lambda a, b, x: 2.0 * a @ x + 1.5 * b @ x,
    n=16,
    low=lambda a, b, x: rl.map_glb(0)(
        lambda p: 2.0 * dot_seq(p[0], x) + 1.5 * dot_seq(p[1], x), rl.zip(a, b)
    ),
)
def gesummv(a: f[n, n], b: f[n, n], x: f[n]):
    return rl.map(lambda p: 2.0 * p[0] + 1.5 * p[1], rl.zip(mv(a, x), mv(b, x)))


@case(
    "37",
    "atax",
    lambda a, x: a.T @ (a @ x),
    n=12,
    m=16,
    low=lambda a, x: rl.map_glb(0)(
        lambda c: dot_seq(c, rl.to_global(rl.map_glb(0)(lambda r: dot_seq(r, x), a))),
        rl.transpose(a),
    ),
)
def atax(a: f[n, m], x: f[m]):
    return mv(rl.transpose(a), mv(a, x))


def _gemver(a, u1, v1, u2, v2, y, z):
    b = a + np.outer(u1, v1) + np.outer(u2, v2)
    x = 2.5 * b.T @ y + z
    return 1.5 * b @ x


@case("38", "gemver", _gemver, n=12)
def gemver(a: f[n, n], u1: f[n], v1: f[n], u2: f[n], v2: f[n], y: f[n], z: f[n]):
    b = rl.map(
        lambda q: rl.map(lambda p: p[0] + q[1] * p[1] + q[2] * p[2], rl.zip(q[0], v1, v2)),
        rl.zip(a, u1, u2),
    )
    x = rl.map(lambda p: 2.5 * p[0] + p[1], rl.zip(mv(rl.transpose(b), y), z))
    return rl.map(lambda v: 1.5 * v, mv(b, x))


def _product_low(left, right):
    def low(a, b):
        return rl.map_glb(1)(
            lambda row: rl.map_glb(0)(lambda c: dot_seq(row, c), right(b)), left(a)
        )

    return low


def _same(xs):
    return xs


@case("39", "matmul NN", lambda a, b: a @ b, n=8, m=12, k=16, low=_product_low(_same, rl.transpose))
def matmul_nn(a: f[n, k], b: f[k, m]):
    return mm(a, b)


@case("39", "matmul NT", lambda a, b: a @ b.T, n=8, m=12, k=16, low=_product_low(_same, _same))
def matmul_nt(a: f[n, k], b: f[m, k]):
    return mm(a, rl.transpose(b))


@case(
    "39",
    "matmul TN",
    lambda a, b: a.T @ b,
    n=8,
    m=12,
    k=16,
    low=_product_low(rl.transpose, rl.transpose),
)
def matmul_tn(a: f[k, n], b: f[k, m]):
    return mm(rl.transpose(a), b)


@case(
    "39",
    "matmul TT",
    lambda a, b: a.T @ b.T,
    n=8,
    m=12,
    k=16,
    low=_product_low(rl.transpose, _same),
)
def matmul_tt(a: f[k, n], b: f[m, k]):
    return mm(rl.transpose(a), rl.transpose(b))


@case("40", "gemm", lambda a, b, c: 1.5 * a @ b + 0.5 * c, n=8, m=12, k=16)
def gemm(a: f[n, k], b: f[k, m], c: f[n, m]):
    return rl.map(
        lambda q: rl.map(
            lambda p: 1.5 * dot(q[0], p[0]) + 0.5 * p[1], rl.zip(rl.transpose(b), q[1])
        ),
        rl.zip(a, c),
    )


@case("41", "2mm", lambda a, b, c: a @ b @ c, n=8, m=6, k=4, l=10)
def two_products(a: f[n, m], b: f[m, k], c: f[k, l]):
    return mm(mm(a, b), c)


@case("42", "3mm", lambda a, b, c, d: (a @ b) @ (c @ d), n=8, m=6, k=4, l=5)
def three_products(a: f[n, m], b: f[m, k], c: f[k, l], d: f[l, n]):
    return mm(mm(a, b), mm(c, d))


@case("43", "sum of matrices", lambda a, z: z + a.sum(axis=0), n=4, m=6, k=5)
def sum_of_matrices(a: f[n, m, k], z: f[m, k]):
    return rl.reduce_seq(
        lambda acc, x: rl.map(
            lambda q: rl.map(lambda p: p[0] + p[1], rl.zip(q[0], q[1])), rl.zip(acc, x)
        ),
        z,
        a,
    )


@case("44", "triangular matrix times a vector", lambda a, x: np.tril(a) @ x, n=16)
def triangular(a: f[n, n], x: f[n]):
    def row(p):
        below = rl.map(
            lambda q: rl.select(q[2] <= p[1], q[0] * q[1], 0.0),
            rl.zip(p[0], x, rl.generate(n, lambda j: j)),
        )
        return rl.reduce(rl.add, 0.0, below)

    return rl.map(row, rl.zip(a, rl.generate(n, lambda j: j)))
