"""Matrix transposition: a program that only moves data.

relift run examples/transpose.py --size n=512,m=256 --random 0 --check
"""

import numpy as np

import relift as rl

n, m = rl.nat("n"), rl.nat("m")


@rl.program
def transpose(A: rl.f32[n, m]):
    """Rows become columns."""
    return rl.transpose(A)


@transpose.gold
def with_numpy(A):
    return np.ascontiguousarray(A.T)
