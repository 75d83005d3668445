"""Gravity between n bodies, one step in time, as in the AMD SDK.

relift run examples/nbody.py --size n=1024 --random 0 --check

The implementations of AMD and NVIDIA differ in how they use the device (vectors there, tiles in local memory
here), which the search decides, and in the step in time: see nbody_nvidia.py.
"""

import numpy as np

import relift as rl

n = rl.nat("n")
body = rl.tup(rl.f32, rl.f32, rl.f32, rl.f32)  # place and mass
vector = rl.tup(rl.f32, rl.f32, rl.f32)
plus = rl.operator(
    lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]),
    associative=True,
    commutative=True,
    name="plus",
)


@rl.userfun
def cube(x: rl.f32) -> rl.f32:
    """The third power."""
    return x * x * x


@rl.program
def nbody(bodies: body[n], velocities: vector[n], softening: rl.f32, dt: rl.f32):
    """New bodies and new velocities; `softening` is added to squared distances."""

    def pull(p, q):
        x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        s = q[3] * cube(1.0 / rl.sqrt(x * x + y * y + z * z + softening))
        return (x * s, y * s, z * s)

    def acceleration(p):
        return rl.reduce(plus, (0.0, 0.0, 0.0), rl.map(lambda q: pull(p, q), bodies))

    def moved(p, v, a):
        x, y, z = (p[i] + v[i] * dt + a[i] * (0.5 * dt * dt) for i in range(3))
        return ((x, y, z, p[3]), tuple(v[i] + a[i] * dt for i in range(3)))

    return rl.map(
        lambda b: moved(b[0], b[1], b[2]), rl.zip(bodies, velocities, rl.map(acceleration, bodies))
    )


@nbody.gold
def with_numpy(bodies, velocities, softening, dt):
    p, m = np.stack(bodies[:3]).astype(np.float64), bodies[3]
    v = np.stack(velocities).astype(np.float64)
    gaps = p[:, None, :] - p[:, :, None]
    near = 1 / np.sqrt((gaps**2).sum(axis=0) + softening)
    a = (gaps * (m * near**3)).sum(axis=2)
    return (*(p + v * dt + a * (0.5 * dt * dt)), m), tuple(v + a * dt)
