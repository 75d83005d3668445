"""Sum of squares, with a user function written in C.

relift run examples/sum_of_squares.py --size n=1048576 --random 0 --check
"""

import numpy as np

import relift as rl

n = rl.nat("n")


@rl.userfun(c="return x * x;")
def square(x: rl.f32) -> rl.f32:
    """What the C body computes, in Python: the reference, for the interpreter."""
    return x * x


@rl.program
def sum_of_squares(x: rl.f32[n]):
    """The squared Euclidean norm."""
    return rl.reduce(rl.add, 0.0, rl.map(square, x))


@sum_of_squares.gold
def with_numpy(x):
    return np.sum(x.astype(np.float64) ** 2)
