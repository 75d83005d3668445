"""MRI-Q: the matrix Q of a non-Cartesian image reconstruction, as in Parboil.

relift run examples/mriq.py --size n=1024,k=512 --random 0 --check
"""

import numpy as np

import relift as rl

n, k = rl.nat("n"), rl.nat("k")
voxel = rl.tup(rl.f32, rl.f32, rl.f32)
sample = rl.tup(rl.f32, rl.f32, rl.f32, rl.f32)
plus = rl.operator(
    lambda a, b: (a[0] + b[0], a[1] + b[1]), associative=True, commutative=True, name="plus"
)


@rl.program
def mriq(voxels: voxel[n], samples: sample[k]):
    """Real and imaginary part of every voxel; a sample is its frequencies and its magnitude."""

    def contribution(v, s):
        angle = (2 * np.pi) * (s[0] * v[0] + s[1] * v[1] + s[2] * v[2])
        return (s[3] * rl.cos(angle), s[3] * rl.sin(angle))

    def q(v):
        return rl.reduce(plus, (0.0, 0.0), rl.map(lambda s: contribution(v, s), samples))

    return rl.map(q, voxels)


@mriq.gold
def with_numpy(voxels, samples):
    places = np.stack(voxels, axis=1).astype(np.float64)
    *frequencies, magnitude = (a.astype(np.float64) for a in samples)
    angles = 2 * np.pi * (places @ np.stack(frequencies))
    return np.cos(angles) @ magnitude, np.sin(angles) @ magnitude
