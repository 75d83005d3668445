"""Inner product of two vectors.

relift run examples/dot.py --size n=16777216 --random 0 --check
"""

import numpy as np

import relift as rl

n = rl.nat("n")


@rl.program
def dot(x: rl.f32[n], y: rl.f32[n]):
    """The sum of the products of corresponding elements."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


@dot.gold
def with_numpy(x, y):
    return np.dot(x.astype(np.float64), y)
