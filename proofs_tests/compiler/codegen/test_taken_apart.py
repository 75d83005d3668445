"""Several results that are computed together, as an array of tuples that a name takes apart, are written by one kernel."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from typing import Any

import pytest

import relift as rl
from proofs_tests.nested_results import require_same
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.search.optimize import optimize
from relift.semantics.errors import Unsupported
from relift.semantics.indices.inverses import taken_apart
from relift.semantics.language.programs import Program

N, M = 64, 8
MANY, SHORT = 256, 20


def steps(p: Any) -> Any:
    """A loop of three accumulators, as a pair of a pair and a number."""

    def step(s: Any) -> Any:
        return (s[0][0] * 0.5 + s[0][1], s[0][1] - 0.25 * s[1]), s[1] * 0.5 + s[0][0]

    return rl.iterate(3, step, ((p[0], p[1]), p[0] * p[1]))


def three(ps: Any) -> tuple[Any, ...]:
    """The arrays of the three."""
    pairs = rl.map(lambda p: p[0], ps)
    return rl.map(lambda p: p[0], pairs), rl.map(lambda p: p[1], pairs), rl.map(lambda p: p[1], ps)


@rl.program
def by_items(x: rl.f32[N], y: rl.f32[N]) -> Any:
    return rl.let(three, rl.map_glb(0)(steps, rl.zip(x, y)))


@rl.program
def by_vectors(x: rl.f32[N], y: rl.f32[N]) -> Any:
    pairs = rl.as_vector(8, rl.zip(x, y))
    return rl.let(three, rl.as_scalar(rl.map_glb(0)(lambda v: rl.map_vec(steps, v), pairs)))


@rl.program
def in_another_order(x: rl.f32[N], y: rl.f32[N]) -> Any:
    """In a tuple of another shape, one of them by rows."""

    def arrays(ps: Any) -> Any:
        first, second, third = three(ps)
        return rl.split(M, third), (second, first)

    return rl.let(arrays, rl.map_glb(0)(steps, rl.zip(x, y)))


@rl.program
def of_tables(x: rl.f32[M, N], y: rl.f32[M, N]) -> Any:
    def tables(rows: Any) -> Any:
        return tuple(rl.map(lambda ps, i=i: three(ps)[i], rows) for i in range(3))

    def row(r: Any) -> Any:
        return rl.map_glb(0)(steps, rl.zip(r[0], r[1]))

    return rl.let(tables, rl.map_glb(1)(row, rl.zip(x, y)))


@pytest.mark.parametrize(
    "program", [by_items, by_vectors, in_another_order, of_tables], ids=lambda p: p.name
)
def test_one_kernel_has_one_loop_for_all_results(program: Program) -> None:
    assert taken_apart(program.body)
    compiled = compile_program(program)
    assert len(compiled.launch["kernels"]) == 1
    assert compiled.source.count("for (") == 1
    inputs = random_inputs(program, 0)
    require_same(compiled(*inputs, device="cpu"), program(*inputs), near=1e-6)


@pytest.mark.parametrize("chosen", [(0, 1, 2, 0), (0, 2)], ids=["twice", "not all"])
def test_a_component_that_is_written_twice_or_not_at_all_has_no_place(
    chosen: tuple[int, ...],
) -> None:
    @rl.program
    def program(x: rl.f32[N], y: rl.f32[N]) -> Any:
        together = rl.map_glb(0)(steps, rl.zip(x, y))
        return rl.let(lambda ps: tuple(three(ps)[i] for i in chosen), together)

    assert not taken_apart(program.body)
    with pytest.raises(Unsupported, match="map_glb computes an array where none can be stored"):
        compile_program(program)


@rl.program
def pulls(x: rl.f32[N], y: rl.f32[N], z: rl.f32[N]) -> Any:
    """Three results of one fold."""
    places = rl.zip(x, y, z)

    def pull(p: Any) -> Any:
        def step(s: Any, q: Any) -> Any:
            d = [q[i] - p[i] for i in range(3)]
            near = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 1.0
            return tuple(s[i] + d[i] / near for i in range(3))

        return rl.reduce_seq(step, (0.0, 0.0, 0.0), places)

    found = rl.map(pull, places)
    return tuple(rl.map(lambda v, i=i: v[i], found) for i in range(3))


@rl.program
def sums_and_differences(x: rl.f32[N], y: rl.f32[N]) -> Any:
    """What is made of the results of one fold, not its components as they are."""

    def fold(v: Any) -> Any:
        return rl.reduce_seq(lambda s, w: (s[0] + v * w, s[1] + v - w), (0.0, 0.0), y)

    found = rl.map(fold, x)
    return rl.map(lambda s: s[0] + s[1], found), rl.map(lambda s: s[0] - s[1], found)


@rl.program
def means_and_variances(x: rl.f32[M, N]) -> Any:
    """Rows of which one result is folded with the other."""

    def mean(r: Any) -> Any:
        return rl.reduce(rl.add, 0.0, r) / float(N)

    def variance(r: Any) -> Any:
        squares = rl.map(lambda v: (v - mean(r)) * (v - mean(r)), r)
        return rl.reduce(rl.add, 0.0, squares) / float(N)

    return rl.map(mean, x), rl.map(variance, x)


@rl.program
def residuals(x: rl.f32[MANY, M], y: rl.f32[MANY, M]) -> Any:
    """Rows that are a result, and what is made of each by a fold: a map of the other result."""
    sums = rl.map(lambda p: rl.map(lambda q: q[0] + q[1], rl.zip(p[0], p[1])), rl.zip(x, y))

    def row(r: Any) -> Any:
        scale = rl.rsqrt(rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, r)) / float(M))
        return rl.map(lambda v: v * scale, r)

    return sums, rl.map(row, sums)


ON_BOTH = (pulls, sums_and_differences, means_and_variances)


@pytest.mark.parametrize(
    ("program", "device"),
    [*((p, device) for p in ON_BOTH for device in (CPU, GPU)), (residuals, GPU)],
    ids=lambda each: each.name if isinstance(each, Program) else each.kind,
)
def test_search_computes_what_several_results_share_once(
    program: Program, device: DeviceDescription
) -> None:
    found = optimize(program, {}, device).candidates[0].term
    assert taken_apart(found.body)
    compiled = compile_program(found)
    assert len(compiled.launch["kernels"]) == 1
    inputs = random_inputs(program, 0)
    require_same(compiled(*inputs, device="cpu"), program(*inputs), near=1e-6)


def test_rows_that_no_group_makes_together_are_computed_for_each_result() -> None:
    """A layer norm of sums, of rows too short for a group to share: the results have kernels of their own."""

    @rl.program
    def program(x: rl.f32[MANY, SHORT], y: rl.f32[MANY, SHORT]) -> Any:
        sums = rl.map(lambda p: rl.map(lambda q: q[0] + q[1], rl.zip(p[0], p[1])), rl.zip(x, y))

        def row(r: Any) -> Any:
            mean = rl.reduce(rl.add, 0.0, r) / float(SHORT)
            gaps = rl.map(lambda v: v - mean, r)
            scale = rl.rsqrt(rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, gaps)) + 1e-5)
            return rl.map(lambda v: v * scale, gaps)

        return sums, rl.map(row, sums)

    found = rl.optimize(program, {}, "gpu").candidates[0].term
    inputs = random_inputs(program, 0)
    require_same(compile_program(found)(*inputs, device="cpu"), program(*inputs), near=1e-6)
