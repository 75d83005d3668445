"""Gravity between n bodies, one step in time, as in the NVIDIA SDK: velocities are damped, then places move.

relift run examples/nbody_nvidia.py --size n=1024 --random 0 --check
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
def nbody_nvidia(
    bodies: body[n], velocities: vector[n], softening: rl.f32, dt: rl.f32, damping: rl.f32
):
    """New bodies and new velocities; `softening` is added to squared distances."""

    def pull(p, q):
        x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        s = q[3] * cube(rl.rsqrt(x * x + y * y + z * z + softening))
        return (x * s, y * s, z * s)

    def acceleration(p):
        return rl.reduce(plus, (0.0, 0.0, 0.0), rl.map(lambda q: pull(p, q), bodies))

    def moved(p, v, a):
        u = tuple((v[i] + a[i] * dt) * damping for i in range(3))
        return ((*(p[i] + u[i] * dt for i in range(3)), p[3]), u)

    return rl.map(
        lambda b: moved(b[0], b[1], b[2]), rl.zip(bodies, velocities, rl.map(acceleration, bodies))
    )


@nbody_nvidia.gold
def with_numpy(bodies, velocities, softening, dt, damping):
    p, m = np.stack(bodies[:3]).astype(np.float64), bodies[3]
    gaps = p[:, None, :] - p[:, :, None]
    near = 1 / np.sqrt((gaps**2).sum(axis=0) + softening)
    a = (gaps * (m * near**3)).sum(axis=2)
    v = (np.stack(velocities) + a * dt) * damping
    return (*(p + v * dt), m), tuple(v)
