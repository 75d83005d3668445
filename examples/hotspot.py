"""Hotspot: the temperature of a chip, one step in time, as in Rodinia.

relift run examples/hotspot.py --size n=256,m=256 --random 0 --check
"""

import numpy as np

import relift as rl

n, m = rl.nat("n"), rl.nat("m")
AMBIENT = 80.0
SCALE = 0.05  # length of the step in time over the capacity of a cell
ROW, COLUMN, AWAY = 0.1, 0.1, 0.0625  # one over the resistances


def step(at, power):
    """The power that a cell takes up, and what flows to it from its neighbours and its surroundings."""
    here = at(0, 0)
    down = (at(-1, 0) + at(1, 0) - 2.0 * here) * ROW
    right = (at(0, -1) + at(0, 1) - 2.0 * here) * COLUMN
    return here + SCALE * (power + down + right + (AMBIENT - here) * AWAY)


@rl.program
def hotspot(temperature: rl.f32[n, m], power: rl.f32[n, m]):
    """Every cell and its four neighbours; beyond the border it is as warm as at it."""
    padded = rl.pad_nd((1, 1), (1, 1), rl.clamp, temperature)
    windows = rl.slide_nd((3, 3), (1, 1), padded)
    return rl.map_nd(
        2,
        lambda p: step(lambda i, j: p[0][1 + i][1 + j], p[1]),
        rl.zip_nd(2, windows, power),
    )


@hotspot.gold
def with_numpy(temperature, power):
    padded = np.pad(temperature.astype(np.float64), 1, mode="edge")
    n, m = temperature.shape
    return step(lambda i, j: padded[1 + i : 1 + i + n, 1 + j : 1 + j + m], power)
