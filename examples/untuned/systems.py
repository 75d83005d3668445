"""Programs of physics, of chains and of vectors for which nothing in the search was tuned, written as one writes Python:
with functions that are called in many places, tuples in tuples, loops that build a term, and several results.

What each computes, in NumPy, is in with_numpy.py under its name.
"""

# pyright: reportGeneralTypeIssues=false
# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from pathlib import Path

import relift as rl
from relift.bench import load_file

SEARCHED = load_file(Path(__file__).parent.parent / "searched" / "programs.py")
n, m, k = (rl.nat(name) for name in "nmk")
f = rl.f32
dot, total = SEARCHED.dot, SEARCHED.total


def components(place, table):
    """A table of the components of tuples."""
    return rl.map_nd(2, lambda p: p[place], table)


@rl.program
def fluxes(cells: f[5, n], neighbours: rl.i32[n, 4], normals: f[n, 4, 3]):
    """Rodinia's cfd: what flows into each cell through its four faces, of density, momenta and energy."""
    states = rl.zip(*(cells[q] for q in range(5)))

    def pressed(cell):
        speeds = tuple(cell[1 + d] / cell[0] for d in range(3))
        return (0.4 * (cell[4] - 0.5 * cell[0] * sum(v * v for v in speeds)), *speeds)

    def cell(p):
        here = tuple(p[q] for q in range(5))
        own = pressed(here)

        def face(flow, other):
            there = rl.at_runtime_unsafe(other[0], states)
            beyond = pressed(there)
            across = 0.5 * sum((own[1 + d] + beyond[1 + d]) * other[1][d] for d in range(3))
            pressure = 0.5 * (own[0] + beyond[0])
            moved = [across * 0.5 * (here[q] + there[q]) for q in range(5)]
            pushed = [0.0, *(pressure * other[1][d] for d in range(3)), across * pressure]
            return tuple(flow[q] + moved[q] + pushed[q] for q in range(5))

        flow = rl.reduce_seq(face, (f(0.0),) * 5, rl.zip(p[5], p[6]))
        return rl.make_array(*(flow[q] for q in range(5)))

    return rl.map(cell, rl.zip(*(cells[q] for q in range(5)), neighbours, normals))


@rl.program
def smoothed_particles(places: f[n, 3], masses: f[n], neighbours: rl.i32[n, k]):
    """Densities, and forces by pressures, which both look up what is near."""

    def gap(here, j):
        return tuple(here[d] - rl.at_runtime_unsafe(j, places)[d] for d in range(3))

    def nearness(gaps):
        return rl.maximum(0.0, 1.0 - sum(g * g for g in gaps))

    def density(p):
        def part(j):
            near = nearness(gap(p[0], j))
            return near * near * near * rl.at_runtime_unsafe(j, masses)

        return total(rl.map(part, p[1]))

    densities = rl.map(density, rl.zip(places, neighbours))
    pressures = rl.map(lambda v: rl.maximum(0.0, v - 1.0), densities)

    def force(p):
        def part(sums, j):
            gaps = gap(p[0], j)
            near = nearness(gaps)
            push = p[2] + rl.at_runtime_unsafe(j, pressures)
            scale = near * near * rl.at_runtime_unsafe(j, masses) * push
            return tuple(sums[d] + gaps[d] * scale for d in range(3))

        sums = rl.reduce_seq(part, (f(0.0),) * 3, p[1])
        return rl.make_array(*(sums[d] for d in range(3)))

    return (densities, rl.map(force, rl.zip(places, neighbours, pressures)))


@rl.program
def best_paths(scores: f[n, m], steps: f[m, m], seen: f[n, m]):
    """A step of Viterbi's algorithm for many chains: the best score of each state, and from where."""

    def chain(p):
        def state(q):
            sums = rl.map(lambda r: r[0] + r[1], rl.zip(p[0], q[0]))
            places = rl.zip(sums, rl.generate(m, lambda i: i))
            best = rl.reduce(rl.first_largest, (float("-inf"), 2**30), places)
            return (best[0] + q[1], best[1])

        return rl.map(state, rl.zip(rl.transpose(steps), p[1]))

    both = rl.map(chain, rl.zip(scores, seen))
    return (components(0, both), components(1, both))


@rl.program
def curls(electric: f[3, n, m, k], magnetic: f[3, n, m, k]):
    """Maxwell's equations in three dimensions: the magnetic field after a step."""

    def ahead(line):
        return rl.map(lambda w: w[1] - w[0], rl.slide(2, 1, rl.pad(0, 1, 0.0, line)))

    def along(axis, cube):
        turned = rl.transpose_axes(axis, 2, cube)
        return rl.transpose_axes(axis, 2, rl.map_nd(2, ahead, turned))

    def after(axis):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        parts = rl.zip_nd(3, magnetic[axis], along(one, electric[two]), along(two, electric[one]))
        return rl.map_nd(3, lambda p: p[0] - 0.3 * (p[1] - p[2]), parts)

    return tuple(after(axis) for axis in range(3))


@rl.program
def orthonormal(A: f[n, m]):
    """Gram and Schmidt's rows, one after the other, each taken from all that follow."""
    places = rl.generate(n, lambda i: i)

    def step(rows, i):
        row = rl.at_runtime_unsafe(i, rows)
        scale = rl.rsqrt(dot(row, row))
        unit = rl.map(lambda v: v * scale, row)

        def one(p):
            along = dot(p[0], unit)

            def cell(q):
                rest = rl.select(p[1] > i, q[0] - along * q[1], q[0])
                return rl.select(rl.equal(p[1], i), q[1], rest)

            return rl.map(cell, rl.zip(p[0], unit))

        return rl.map(one, rl.zip(rows, places))

    return rl.reduce_seq(step, A, places)


@rl.program
def slopes(x: f[n, m]):
    """How steep a picture is at each pixel, and in which direction."""
    around = rl.slide_nd((3, 3), (1, 1), rl.pad_nd((1, 1), (1, 1), rl.clamp, x))

    def of(window):
        down, right = window[2][1] - window[0][1], window[1][2] - window[1][0]
        return (rl.hypot(down, right), rl.arctan2(down, right))

    both = rl.map_nd(2, of, around)
    return (components(0, both), components(1, both))
