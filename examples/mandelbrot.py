"""The Mandelbrot set: after how many of 64 steps a point has left the circle of radius 2.

relift run examples/mandelbrot.py --size n=128,m=128 --random 0 --check
"""

import numpy as np

import relift as rl

n, m = rl.nat("n"), rl.nat("m")
STEPS = 64


@rl.program
def mandelbrot(real: rl.f64[n], imaginary: rl.f64[m]):
    """One row for each imaginary part; 64 inside the set."""

    def steps(a, b):
        def step(z, _):
            x, y, count = z
            inside = x * x + y * y <= 4.0
            further = (x * x - y * y + a, 2.0 * x * y + b, count + 1)
            return rl.select(inside, further, z)

        return rl.reduce_seq(step, (a, b, 0), rl.repeat(STEPS, 0))[2]

    return rl.map(lambda b: rl.map(lambda a: steps(a, b), real), imaginary)


@mandelbrot.gold
def with_numpy(real, imaginary):
    c = real[None, :] + 1j * imaginary[:, None]
    z, count = c.copy(), np.zeros(c.shape, np.int32)
    for _ in range(STEPS):
        inside = z.real**2 + z.imag**2 <= 4
        z = np.where(inside, z * z + c, z)
        count += inside
    return count
