"""Room acoustics: the wave equation in three dimensions, one step in time, with walls that absorb.

relift run examples/acoustic.py --size n=32,m=32,k=32 --random 0 --check
"""

import numpy as np

import relift as rl

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")
COURANT = 1 / 3  # the squared Courant number
LOSS = 0.01  # at a place that a wall touches


def step(at, before, neighbours, loss):
    """The next pressure at a place that has that many neighbours inside the room."""
    around = at(1, 0, 0) + at(-1, 0, 0) + at(0, 1, 0) + at(0, -1, 0) + at(0, 0, 1) + at(0, 0, -1)
    waves = (2.0 - COURANT * neighbours) * at(0, 0, 0) + COURANT * around
    return (waves - (1.0 - loss) * before) / (1.0 + loss)


@rl.program
def acoustic(now: rl.f32[n, m, k], before: rl.f32[n, m, k], neighbours: rl.i32[n, m, k]):
    """Pressures now and one step before; outside the room there is none."""

    def at_place(p):
        window, last, count = p
        loss = rl.select(count < 6, LOSS, 0.0)
        return step(lambda h, i, j: window[1 + h][1 + i][1 + j], last, rl.f32(count), loss)

    windows = rl.slide_nd((3, 3, 3), (1, 1, 1), rl.pad_nd((1, 1, 1), (1, 1, 1), 0.0, now))
    return rl.map_nd(3, at_place, rl.zip_nd(3, windows, before, neighbours))


@acoustic.gold
def with_numpy(now, before, neighbours):
    padded = np.pad(now.astype(np.float64), 1)
    n, m, k = now.shape
    loss = np.where(neighbours < 6, LOSS, 0.0)
    return step(
        lambda h, i, j: padded[1 + h :, 1 + i :, 1 + j :][:n, :m, :k], before, neighbours, loss
    )
