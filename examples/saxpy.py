"""a*x + y, one element at a time.

relift run examples/saxpy.py --size n=1048576 --random 0 --check
"""

import numpy as np

import relift as rl

n = rl.nat("n")


@rl.program
def saxpy(a: rl.f32, x: rl.f32[n], y: rl.f32[n]):
    """Scale x by a and add y."""
    return rl.map(lambda p: a * p[0] + p[1], rl.zip(x, y))


@saxpy.gold
def with_numpy(a, x, y):
    return np.float64(a) * x + y
