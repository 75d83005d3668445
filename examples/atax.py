"""A transposed times A times x.

relift run examples/atax.py --size n=512,m=512 --random 0 --check
"""

import numpy as np

import relift as rl

n, m = rl.nat("n"), rl.nat("m")


@rl.program
def atax(A: rl.f32[n, m], x: rl.f32[m]):
    """Two matrix-vector products, the second with the columns of A."""

    def times(B, v):
        def dot(row):
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, v)))

        return rl.map(dot, B)

    return times(rl.transpose(A), times(A, x))


@atax.gold
def with_numpy(A, x):
    A = A.astype(np.float64)
    return A.T @ (A @ x)
