"""Matrix product.

relift run examples/matmul.py --size n=256,m=256,k=256 --random 0 --check
"""

import numpy as np

import relift as rl

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")


@rl.program
def matmul(A: rl.f32[n, k], B: rl.f32[k, m]):
    """The dot product of every row of A with every column of B."""

    def dot(row, column):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, column)))

    return rl.map(lambda row: rl.map(lambda column: dot(row, column), rl.transpose(B)), A)


@matmul.gold
def with_numpy(A, B):
    return A.astype(np.float64) @ B
