"""Sum of two scaled matrix-vector products: alpha*A*x + beta*B*x.

relift run examples/gesummv.py --size n=512,m=512 --random 0 --check
"""

import numpy as np

import relift as rl

n, m = rl.nat("n"), rl.nat("m")


@rl.program
def gesummv(alpha: rl.f32, beta: rl.f32, A: rl.f32[n, m], B: rl.f32[n, m], x: rl.f32[m]):
    """Both dot products of a pair of rows with x."""

    def dot(row):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, x)))

    return rl.map(lambda rows: alpha * dot(rows[0]) + beta * dot(rows[1]), rl.zip(A, B))


@gesummv.gold
def with_numpy(alpha, beta, A, B, x):
    return alpha * (A.astype(np.float64) @ x) + beta * (B.astype(np.float64) @ x)
