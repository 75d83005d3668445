"""Scaled matrix-vector product with an addend: alpha*A*x + beta*y.

relift run examples/gemv.py --size n=1024,m=512 --random 0 --check
"""

import numpy as np

import relift as rl

n, m = rl.nat("n"), rl.nat("m")


@rl.program
def gemv(alpha: rl.f32, A: rl.f32[n, m], x: rl.f32[m], beta: rl.f32, y: rl.f32[n]):
    """The dot product of every row of A with x, scaled, and beta times y."""

    def dot(row):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, x)))

    return rl.map(lambda p: alpha * dot(p[0]) + beta * p[1], rl.zip(A, y))


@gemv.gold
def with_numpy(alpha, A, x, beta, y):
    return alpha * (A.astype(np.float64) @ x) + np.float64(beta) * y
