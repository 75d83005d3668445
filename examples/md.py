"""Molecular dynamics: the Lennard-Jones force on every atom, as in SHOC.

relift run examples/md.py --size n=1024,k=128 --random 0 --check

The places of every atom's k neighbours come as an array; SHOC keeps their numbers and looks the places up.
"""

import numpy as np

import relift as rl

n, k = rl.nat("n"), rl.nat("k")
place = rl.tup(rl.f32, rl.f32, rl.f32)
plus = rl.operator(
    lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]),
    associative=True,
    commutative=True,
    name="plus",
)


@rl.program
def md(atoms: place[n], neighbours: place[n, k], cutoff: rl.f32, lj1: rl.f32, lj2: rl.f32):
    """Forces of the neighbours nearer than the square root of `cutoff`; atoms at one place do not act."""

    def force(p, q):
        x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
        squared = x * x + y * y + z * z
        acts = (squared < cutoff) & (squared > 0.0)
        near = 1.0 / rl.select(acts, squared, 1.0)
        sixth = near * near * near
        s = rl.select(acts, near * sixth * (lj1 * sixth - lj2), 0.0)
        return (x * s, y * s, z * s)

    def total(a):
        return rl.reduce(plus, (0.0, 0.0, 0.0), rl.map(lambda q: force(a[0], q), a[1]))

    return rl.map(total, rl.zip(atoms, neighbours))


@md.gold
def with_numpy(atoms, neighbours, cutoff, lj1, lj2):
    gaps = np.stack(atoms)[:, :, None].astype(np.float64) - np.stack(neighbours)
    squared = (gaps**2).sum(axis=0)
    acts = (squared < cutoff) & (squared > 0)
    near = 1 / np.where(acts, squared, 1)
    s = np.where(acts, near**4 * (lj1 * near**3 - lj2), 0)
    return tuple((gaps * s).sum(axis=2))
