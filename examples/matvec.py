"""Matrix-vector product.

relift run examples/matvec.py --size n=1024,m=512 --random 0 --check
"""

import numpy as np

import relift as rl

n, m = rl.nat("n"), rl.nat("m")


@rl.program
def matvec(A: rl.f32[n, m], x: rl.f32[m]):
    """The dot product of every row of A with x."""
    return rl.map(
        lambda row: rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, x))), A
    )


@matvec.gold
def with_numpy(A, x):
    return A.astype(np.float64) @ x
