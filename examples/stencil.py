"""Three-point stencil: every element becomes the mean of itself and its neighbours.

relift run examples/stencil.py --size n=1048576 --random 0 --check
"""

import numpy as np

import relift as rl

n = rl.nat("n")


@rl.program
def stencil(x: rl.f32[n]):
    """Mean over a window of three; the border is repeated."""
    windows = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, x))
    return rl.map(lambda w: (w[0] + w[1] + w[2]) * (1 / 3), windows)


@stencil.gold
def with_numpy(x):
    padded = np.pad(x.astype(np.float64), 1, mode="edge")
    return (padded[:-2] + padded[1:-1] + padded[2:]) / 3
