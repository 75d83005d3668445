"""Molecular dynamics: the Lennard-Jones force on every atom, as in SHOC.

relift run examples/md.py --size n=1024,k=128 --random 0 --check

The numbers of every atom's k neighbours come as an array, and their places are looked up, as in SHOC.
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


@rl.userfun
def strength(near: rl.f32, lj1: rl.f32, lj2: rl.f32) -> rl.f32:
    """The Lennard-Jones force over the distance, from one over the squared distance."""
    return near * near * near * near * (lj1 * (near * near * near) - lj2)


@rl.userfun
def within(squared: rl.f32, cutoff: rl.f32, lj1: rl.f32, lj2: rl.f32) -> rl.f32:
    """The same from the squared distance; 0 beyond the cutoff and for atoms at one place."""
    acts = (squared < cutoff) & (squared > 0.0)
    return rl.select(acts, strength(1.0 / rl.select(acts, squared, 1.0), lj1, lj2), 0.0)


@rl.program
def md(atoms: place[n], neighbours: rl.i32[n, k], cutoff: rl.f32, lj1: rl.f32, lj2: rl.f32):
    """The sum of the forces of the neighbours whose squared distance is less than `cutoff`."""

    def force(p, q):
        x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
        s = within(x * x + y * y + z * z, cutoff, lj1, lj2)
        return (x * s, y * s, z * s)

    def total(a):
        return rl.reduce(
            plus,
            (0.0, 0.0, 0.0),
            rl.map(lambda i: force(a[0], rl.at_runtime_unsafe(i, atoms)), a[1]),
        )

    return rl.map(total, rl.zip(atoms, neighbours))


@md.gold
def with_numpy(atoms, neighbours, cutoff, lj1, lj2):
    places = np.stack(atoms)
    gaps = places[:, :, None] - places[:, neighbours]
    squared = (gaps**2).sum(axis=0)
    acts = (squared < cutoff) & (squared > 0)
    near = 1 / np.where(acts, squared, 1).astype(np.float64)
    s = np.where(acts, near**4 * (lj1 * near**3 - lj2), 0)
    return tuple((gaps * s).sum(axis=2))
