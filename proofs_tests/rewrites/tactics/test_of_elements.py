"""What an iteration changes element by element is iterated for each element, in one kernel."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.nested_results import require_same
from relift.compiler.agreement.inputs import random_inputs, whole_inputs
from relift.compiler.program import compile_program
from relift.device import CPU, GPU, DeviceDescription
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.steps.iterations import of_elements
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Iterate, ReduceSeq, ScanSeq
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import holds_array

N, M, K, THREE = 40, 33, 5, 3
ROWS, DEPTH, COLUMNS = 256, 128, 192


@rl.program
def decayed(x: rl.f32[N]) -> Any:
    return rl.iterate(K, lambda s: rl.map(lambda v: v * 0.5 + 1.0, s), x)


@rl.program
def towards(x: rl.f32[N], c: rl.f32[N]) -> Any:
    """Other arrays stand beside the state, in any order, and one of them twice."""
    return rl.iterate(
        K, lambda s: rl.map(lambda p: p[1] + 0.5 * (p[0] - p[1]) * p[2], rl.zip(c, s, c)), x
    )


@rl.program
def in_steps(x: rl.f32[N, M], t: rl.f32[K]) -> Any:
    return rl.reduce_seq(lambda s, v: rl.map(lambda r: rl.map(lambda e: e + v * e, r), s), x, t)


@rl.program
def beside(x: rl.f32[N, M], c: rl.f32[N, M], t: rl.f32[K]) -> Any:
    """Rows beside rows, elements beside elements."""

    def row(p: Any, v: Any) -> Any:
        return rl.map(lambda e: e[0] + v * e[1], rl.zip(p[0], p[1]))

    return rl.reduce_seq(lambda s, v: rl.map(lambda p: row(p, v), rl.zip(s, c)), x, t)


@rl.program
def rows_of_steps(x: rl.f32[N], c: rl.f32[N], g: rl.f32[K, N], t: rl.f32[K]) -> Any:
    """A row for each step, a number for each, and what is the same in all."""

    def step(s: Any, q: Any) -> Any:
        return rl.map(lambda p: p[0] - q[1] * p[1] * p[2], rl.zip(s, q[0], c))

    return rl.reduce_seq(step, x, rl.zip(g, t))


@rl.program
def two(x: rl.f32[N], y: rl.f32[N]) -> Any:
    def step(s: Any) -> Any:
        moved = rl.map(lambda p: p[0] + 0.5 * p[1], rl.zip(s[0], s[1]))
        return moved, rl.map(lambda p: p[1] - 0.25 * p[0], rl.zip(moved, s[1]))

    return rl.iterate(K, step, (x, y))


@rl.program
def momentum(w: rl.f32[N], g: rl.f32[K, N]) -> Any:
    """One of two is read: the other one stays with the work-item."""

    def step(s: Any, row: Any) -> Any:
        before = rl.map(lambda p: 0.5 * p[0] + p[1], rl.zip(s[1], row))
        return rl.map(lambda p: p[0] - p[1], rl.zip(s[0], before)), before

    return rl.reduce_seq(step, (w, rl.map(lambda v: 0.0 * v, w)), g)[0]


@rl.program
def down_columns(x: rl.f32[K, N]) -> Any:
    """A recursive filter along the columns of a picture."""
    start = rl.repeat(N, 1.0)
    return rl.scan_seq(lambda s, r: rl.map(lambda p: 0.5 * p[0] + p[1], rl.zip(s, r)), start, x)


@rl.program
def down_columns_of_constants(x: rl.f32[N], t: rl.f32[K]) -> Any:
    return rl.scan_seq(lambda s, v: rl.map(lambda p: p[0] * v + p[1], rl.zip(s, x)), x, t)


@rl.program
def shares(x: rl.f32[N], g: rl.f32[K, N]) -> Any:
    """What a step folds of its own row is not computed for each element again."""

    def step(s: Any, row: Any) -> Any:
        total = rl.reduce(rl.add, 1.0, rl.map(lambda v: v * v, row))
        return rl.map(lambda p: p[0] + p[1] / total, rl.zip(s, row))

    return rl.reduce_seq(step, x, g)


@rl.program
def of_batches(x: rl.f32[THREE, N]) -> Any:
    """An iteration in a function."""
    return rl.map(lambda b: rl.iterate(K, lambda s: rl.map(lambda v: v * 0.5, s), b), x)


@rl.program
def epidemic(s: rl.f32[N], i: rl.f32[N], r: rl.f32[N], beta: rl.f32[N], t: rl.f32[K]) -> Any:
    """Three arrays, one beside them, and a number for each step."""

    def step(a: Any, v: Any) -> Any:
        new = rl.map(lambda p: v * p[2] * p[0] * p[1], rl.zip(a[0], a[1], beta))
        ill = rl.map(lambda p: p[0] + p[1] - 0.25 * p[0], rl.zip(a[1], new))
        return (
            rl.map(lambda p: p[0] - p[1], rl.zip(a[0], new)),
            ill,
            rl.map(lambda p: p[0] + 0.25 * p[1], rl.zip(a[2], a[1])),
        )

    return rl.reduce_seq(step, (s, i, r), t)


@rl.program
def orbits(
    x: rl.f32[N], y: rl.f32[N], z: rl.f32[N], u: rl.f32[N], v: rl.f32[N], w: rl.f32[N]
) -> Any:  # fmt: skip
    """Six arrays, of which all need a value that is computed of the new ones."""

    def step(a: Any) -> Any:
        places = [rl.map(lambda p: p[0] + 0.5 * p[1], rl.zip(a[i], a[i + 3])) for i in range(3)]
        near = rl.map(lambda p: p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + 1.0, rl.zip(*places))
        pulled = [
            rl.map(lambda p: p[1] - 0.5 * p[0] / p[2], rl.zip(places[i], a[i + 3], near))
            for i in range(3)
        ]
        return (*places, *pulled)

    return rl.iterate(K, step, (x, y, z, u, v, w))


@rl.program
def waves(x: rl.f32[N], y: rl.f32[N], t: rl.f32[K]) -> Any:
    """A scan of two arrays, of which one is read."""

    def step(s: Any, v: Any) -> Any:
        pairs = rl.zip(s[0], s[1])
        return rl.map(lambda p: p[0] + v * p[1], pairs), rl.map(lambda p: p[1] - v * p[0], pairs)

    return rl.map(lambda s: s[0], rl.scan_seq(step, (x, y), t))


PROGRAMS = (
    decayed, towards, in_steps, beside, rows_of_steps, two, momentum, down_columns,
    down_columns_of_constants, shares, of_batches, epidemic, orbits, waves,
)  # fmt: skip


@rl.program
def normalised(x: rl.f32[N]) -> Any:
    def step(s: Any) -> Any:
        total = rl.reduce(rl.add, 1.0, s)
        return rl.map(lambda v: v / total, s)

    return rl.iterate(K, step, x)


@rl.program
def smoothed(x: rl.f32[N]) -> Any:
    def step(s: Any) -> Any:
        return rl.map(lambda w: w[0] + w[1] + w[2], rl.slide(3, 1, rl.pad(1, 1, rl.clamp, s)))

    return rl.iterate(K, step, x)


@rl.program
def rows_smoothed(x: rl.f32[N, M], t: rl.f32[K]) -> Any:
    """Rows do not depend on each other, but elements of a row do."""

    def row(r: Any, v: Any) -> Any:
        return rl.map(lambda w: w[0] + v * w[1], rl.slide(2, 1, rl.pad(0, 1, rl.clamp, r)))

    return rl.reduce_seq(lambda s, v: rl.map(lambda r: row(r, v), s), x, t)


@rl.program
def in_three_dimensions(x: rl.f32[N, THREE]) -> Any:
    """The distance to another body is for all three components of what it adds."""

    def body(p: Any) -> Any:
        def step(s: Any, q: Any) -> Any:
            apart = rl.map(lambda e: e[1] - e[0], rl.zip(p, q))
            near = rl.reduce(rl.add, 1.0, rl.map(lambda v: v * v, apart))
            return rl.map(lambda e: e[0] + e[1] / near, rl.zip(s, apart))

        return rl.reduce_seq(step, rl.repeat(3, 0.0), x)

    return rl.map(body, x)


def steps_on_arrays(program: Program) -> int:
    """How many iterations, folds and scans of a program go from array to array."""
    states = [
        t.f.parameters[0].type
        for t, _ in subterms(program.body)
        if isinstance(t, Iterate | ReduceSeq | ScanSeq)
    ]
    return sum(holds_array(t) for t in states)


def require_each_alone(program: Program, tactic: Tactic) -> None:
    """By proved rules no step goes from array to array, and the meaning is the same."""
    derivation = derive(program, tactic)
    require_standing(derivation, RULES)
    apart = Program(program.name, program.parameters, derivation.result)
    assert not steps_on_arrays(apart)
    inputs = random_inputs(program, 0)
    require_same(apart(*inputs), program(*inputs), within=0.0)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_each_element_is_iterated_for_itself(program: Program) -> None:
    """By proved rules; no step goes from array to array, and the meaning is the same."""
    assert steps_on_arrays(program) == 1
    require_each_alone(program, of_elements())


@pytest.mark.parametrize(
    "program", [normalised, smoothed, rows_smoothed, in_three_dimensions], ids=lambda p: p.name
)
def test_what_reads_more_than_its_element_stays(program: Program) -> None:
    """A step that folds the state, that reads neighbours, or whose elements share what is computed."""
    with pytest.raises(NoMatch):
        derive(program, of_elements())


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_no_step_is_a_launch(program: Program, device: DeviceDescription) -> None:
    """What is found has one kernel, and one for what is stored before, and computes the same."""
    compiled = compile_program(rl.optimize(program, target=device).candidates[0].term)
    assert len(compiled.launch["kernels"]) <= 3
    inputs = random_inputs(program, 0)
    require_same(compiled(*inputs, device="cpu"), program(*inputs))


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
def test_a_sum_of_outer_products_is_a_product_of_matrices(device: DeviceDescription) -> None:
    """No element of the state reads a table of products: on a CPU that was 31 times slower, on a GPU four times."""

    @rl.program
    def outer(A: rl.f32[ROWS, DEPTH], B: rl.f32[DEPTH, COLUMNS]):
        def step(C, p):
            added = lambda z: rl.map(lambda q: q[0] + z[1] * q[1], rl.zip(z[0], p[1]))
            return rl.map(added, rl.zip(C, p[0]))

        zero = rl.repeat(ROWS, rl.repeat(COLUMNS, 0.0))
        return rl.reduce_seq(step, zero, rl.zip(rl.transpose(A), B))

    @rl.program
    def product(A: rl.f32[ROWS, DEPTH], B: rl.f32[DEPTH, COLUMNS]):
        columns = rl.transpose(B)
        cell = lambda p, q: rl.reduce(rl.add, 0.0, rl.map(lambda z: z[0] * z[1], rl.zip(p, q)))
        return rl.map(lambda row: rl.map(lambda column: cell(row, column), columns), A)

    found, plain = (rl.optimize(p, target=device) for p in (outer, product))
    assert found.cost.seconds <= 1.05 * plain.cost.seconds
    inputs = whole_inputs(outer, 0)
    result = rl.compile(found.term)(*inputs, device="cpu")
    np.testing.assert_array_equal(result, inputs[0] @ inputs[1])
