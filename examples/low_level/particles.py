"""Many bodies: n-body as AMD and as NVIDIA write it, and molecular dynamics.

relift bench nbody nbody_nvidia md
"""

import functools
import operator

import numpy as np
from by_hand import BY_HAND
from source import source
from tree import across
from with_numpy import WITH_NUMPY

import relift as rl
from relift.bench import Benchmark, Draw, Reference, on_cpu

body = rl.tup(rl.f32, rl.f32, rl.f32, rl.f32)
vector = rl.tup(rl.f32, rl.f32, rl.f32)


def lanes_of(v):
    """The lanes of a vector that is loaded once, as an array."""
    return rl.as_scalar(rl.repeat(1, rl.to_private(v)))


@rl.userfun(c="return rsqrt(x);")
def inverse_root(x: rl.f32) -> rl.f32:
    """One instruction on a GPU, where 1/sqrt(x) is two; it may be off by two units in the last place."""
    return 1 / np.sqrt(x)


def named(values, body, known=()):
    """`body` of values that are computed once, each before the next."""
    if not values:
        return body(known)
    return rl.let(lambda v: named(values[1:], body, (*known, v)), values[0])


def gap(p, q):
    """The vector from p to q."""
    return tuple(q[i] - p[i] for i in range(3))


def square(v, *addends):
    """The squared length of v, and what is added to it."""
    return functools.reduce(operator.add, [*addends, *(v[i] * v[i] for i in range(3))])


def added(a, v, s):
    """a + s*v."""
    return tuple(a[i] + v[i] * s for i in range(3))


def by_root(mass, square):
    """mass / distance**3, from the squared distance: the reciprocal root is one instruction on a GPU."""
    return rl.let(lambda near: mass * (near * near * near), inverse_root(square))


def by_division(mass, square):
    """The same with operations that a CPU has for vectors."""
    return mass / (square * rl.sqrt(square))


def pulled(a, p, q, softening, strength=by_root):
    """The acceleration a of p, and what q adds to it."""

    def by(v):
        return rl.let(
            lambda s: added(a, v, s),
            rl.let(lambda d: strength(q[3], d), square(v, softening)),
        )

    return rl.let(by, gap(p, q))


def nbody_vectors(strength, n, items, width=4):
    """AMD's: a vector of bodies per work-item, all bodies one after the other."""

    @rl.program
    def nbody(bodies: body[n], velocities: vector[n], softening: rl.f32, dt: rl.f32):
        def acceleration(p):
            return rl.reduce_seq(
                lambda a, q: pulled(a, p, q, softening, strength), (0.0, 0.0, 0.0), bodies
            )

        def moved(b):
            p, v = b

            def at(a):
                x, y, z = (p[i] + v[i] * dt + a[i] * (0.5 * dt * dt) for i in range(3))
                return ((x, y, z, p[3]), tuple(v[i] + a[i] * dt for i in range(3)))

            return rl.let(at, acceleration(p))

        vectors = rl.as_vector(width, rl.zip(bodies, velocities))
        groups = rl.map_wrg(0)(
            lambda chunk: rl.map_lcl(0)(rl.map_vec(moved), chunk), rl.split(items, vectors)
        )
        return rl.as_scalar(rl.join(groups))

    return nbody


def of(k, accs):
    """The acceleration of the k-th own body: three of the numbers that are folded."""
    return tuple(accs[3 * k + i] for i in range(3))


def accelerations(ps, bodies, softening, width):
    """What all bodies add to those of ps, as one tuple; they come in vectors that all work-items share."""

    def step(accs, q):
        each = [pulled(of(k, accs), p, q, softening) for k, p in enumerate(ps)]
        return named(each, lambda known: tuple(a[i] for a in known for i in range(3)))

    def several(accs, v):
        return rl.reduce_seq(step, accs, lanes_of(v))

    return rl.reduce_seq(several, (0.0,) * (3 * len(ps)), rl.as_vector(width, bodies))


def nbody_nvidia_gpu(n, tile=2048, items=256, own=2, width=4):
    """NVIDIA's: tiles of bodies in local memory, `own` bodies per work-item.

    A group adds what one tile pulls on its bodies; a second kernel adds the tiles and moves the bodies.
    """

    @rl.program
    def nbody_nvidia(
        bodies: body[n], velocities: vector[n], softening: rl.f32, dt: rl.f32, damping: rl.f32
    ):
        def pulls(staged, bs):
            """An array of own accelerations."""

            def one(k, accs):
                """The k-th in an array of its own."""
                return rl.map_seq(lambda _: of(k, accs), rl.take(1, bs))

            def written(accs):
                return functools.reduce(rl.concat, [one(k, accs) for k in range(own)])

            def item(ps):
                return rl.let(written, accelerations(ps, staged, softening, width))

            return named([rl.to_private(bs[k]) for k in range(own)], item)

        def group(chunk, part):
            def computed(staged):
                done = rl.map_lcl(0)(lambda bs: pulls(staged, bs), across(items, chunk))
                return rl.join(rl.transpose(done))

            return rl.let(computed, rl.to_local(rl.map_lcl(0)(lambda q: q, part)))

        def of_tile(part):
            chunks = rl.split(items * own, bodies)
            return rl.join(rl.map_wrg(0)(lambda chunk: group(chunk, part), chunks))

        def moved(p, v, a):
            u = tuple((v[i] + a[i] * dt) * damping for i in range(3))
            return ((*(p[i] + u[i] * dt for i in range(3)), p[3]), u)

        def total(b):
            plus = rl.reduce_seq(lambda a, c: added(a, c, 1.0), (0.0, 0.0, 0.0), b[2])
            return rl.let(lambda a: moved(b[0], b[1], a), plus)

        tiles = rl.to_global(rl.map_wrg(1)(of_tile, rl.split(tile, bodies)))
        return rl.map_glb(0)(total, rl.zip(bodies, velocities, rl.transpose(tiles)))

    return nbody_nvidia


def place(v):
    """The first three lanes of a vector."""
    return tuple(rl.as_scalar(rl.repeat(1, v))[i] for i in range(3))


def md_gpu(n, k):
    """A work-item per atom; the places are vectors of four, so that one access gathers a neighbour.

    The numbers of the k-th neighbours of all atoms lie side by side.
    """

    @rl.program
    def md(
        atoms: rl.vec(rl.f32, 4)[n],
        neighbours: rl.i32[k, n],
        cutoff: rl.f32,
        lj1: rl.f32,
        lj2: rl.f32,
    ):
        def strength(square):
            """The Lennard-Jones force over the distance; 0 beyond the cutoff and at no distance."""
            acts = (square < cutoff) & (square > 0.0)

            def of(near, cube):
                return rl.select(acts, near * cube * (lj1 * cube - lj2), 0.0)

            return rl.let(
                lambda near: rl.let(lambda cube: of(near, cube), near * near * near),
                1.0 / rl.select(acts, square, 1.0),
            )

        def force(f, p, q):
            return rl.let(
                lambda v: rl.let(lambda s: added(f, v, s), rl.let(strength, square(v))),
                gap(place(q), place(p)),
            )

        def total(p, numbers):
            def step(f, i):
                gathered = rl.to_private(rl.at_runtime_unsafe(i, atoms))
                return rl.let(lambda q: force(f, p, q), gathered)

            return rl.reduce_seq(step, (0.0, 0.0, 0.0), numbers)

        def atom(a):
            return rl.let(lambda p: total(p, a[1]), rl.to_private(a[0]))

        return rl.map_glb(0)(atom, rl.zip(atoms, rl.transpose(neighbours)))

    return md


def md_gold(atoms, neighbours, *constants):
    return source("md").reference(tuple(atoms.T[:3]), neighbours.T, *constants)


FAST = ("-cl-fast-relaxed-math",)
FLUSHED = (*FAST, "-cl-denorms-are-zero")
benchmarks = [
    Benchmark(
        "nbody",
        "cpu",
        functools.partial(nbody_vectors, by_division),
        sizes={"n": 8192, "items": 16, "width": 16},
        small=[{"n": 64, "items": 2, "width": 8}, {"n": 256, "items": 4, "width": 8}],
        gold=source("nbody").reference,
        flops=lambda n, **_: 20 * n * n,
        moved=lambda n, **_: 56 * n,
        options=FAST,
        tolerance=1e-4,
        numpy=WITH_NUMPY["nbody"],
        by_hand=BY_HAND["nbody"],
    ),
    Benchmark(
        "nbody",
        "gpu",
        functools.partial(nbody_vectors, by_root),
        sizes={"n": 131072},
        variants=[{"items": 128, "width": 2}, {"items": 128, "width": 4}],
        small=[{"n": 64, "items": 4}, {"n": 256, "items": 32}],
        gold=source("nbody").reference,
        flops=lambda n, **_: 20 * n * n,
        moved=lambda n, **_: 56 * n,
        options=FLUSHED,
        tolerance=1e-4,
        reference=Reference("AMD SDK", 12302e-6),
    ),
    Benchmark(
        "nbody_nvidia",
        "gpu",
        nbody_nvidia_gpu,
        sizes={"n": 131072},
        variants=[
            {"own": 4},
            {"own": 1},
        ],
        small=[
            {"n": 64, "tile": 16, "items": 8, "own": 2},
            {"n": 128, "tile": 64, "items": 32, "own": 1},
        ],
        gold=source("nbody_nvidia").reference,
        flops=lambda n, **_: 20 * n * n,
        moved=lambda n, **_: 56 * n,
        options=FLUSHED,
        tolerance=1e-4,
        reference=Reference("NVIDIA SDK", 9613e-6),
    ),
    Benchmark(
        "md",
        "gpu",
        md_gpu,
        sizes={"n": 73728, "k": 128},
        small=[{"n": 64, "k": 8}, {"n": 100, "k": 5}],
        gold=md_gold,
        flops=lambda n, k, **_: 8 * n * k,
        moved=lambda n, k, **_: 4 * n * k + 28 * n,
        inputs={
            "atoms": Draw(0.0, 20.0),
            "neighbours": Draw(0, "n", whole=True),
            "cutoff": Draw(16.0, 16.1),
            "lj1": Draw(1.5, 1.6),
            "lj2": Draw(2.0, 2.1),
        },
        options=FAST,
        reference=Reference("SHOC", 66.8e-6),
    ),
]
benchmarks += [on_cpu(benchmarks[2], n=4096), on_cpu(benchmarks[3], n=8192, k=128)]
