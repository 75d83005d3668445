"""Of a state of arrays and numbers, the numbers are known for all steps, and each element is computed for itself."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from typing import Any

import pytest

import relift as rl
from proofs_tests.nested_results import require_same
from proofs_tests.rewrites.tactics.test_of_elements import require_each_alone, steps_on_arrays
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.search.proposals import Proposals
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive, then
from relift.rewrites.tactics.steps.states import components_apart, flat_states, numbers_apart
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Reduce, ScanSeq
from relift.semantics.syntax.terms import MakeTuple, subterms

N, M, THREE, FOUR, K, LONG = 40, 33, 3, 4, 5, 256


def swung(s: Any) -> Any:
    """The position needs the velocity of the same step, which needs the time."""
    x, v, t = s[0], s[1], s[2]
    faster = rl.map(lambda p: p[1] - 0.25 * p[0] * t, rl.zip(x, v))
    return rl.map(lambda p: p[0] + 0.25 * p[1], rl.zip(x, faster)), faster, t + 0.25


@rl.program
def whole(x: rl.f32[N], v: rl.f32[N]) -> Any:
    return rl.iterate(K, swung, (x, v, 0.0))


@rl.program
def arrays_of_it(x: rl.f32[N], v: rl.f32[N]) -> Any:
    found = rl.iterate(K, swung, (x, v, 0.0))
    return found[1], found[0]


@rl.program
def one_of_it(x: rl.f32[N], v: rl.f32[N]) -> Any:
    return rl.iterate(K, swung, (x, v, 0.0))[1]


@rl.program
def number_of_it(x: rl.f32[N], v: rl.f32[N]) -> Any:
    return rl.iterate(K, swung, (x, v, 0.0))[2]


@rl.program
def made_of_it(x: rl.f32[N], v: rl.f32[N]) -> Any:
    found = rl.iterate(K, swung, (x, v, 0.0))
    return rl.map(lambda p: p[0] * p[1] + found[2], rl.zip(found[0], found[1]))


@rl.program
def with_numbers_of_its_own(w: rl.f32[N], g: rl.f32[N]) -> Any:
    """Two numbers, and two arrays that begin alike; a step needs what the numbers are after it."""

    def step(s: Any) -> Any:
        first, second = s[3] * 0.5, s[4] * 0.75
        mean = rl.map(lambda p: 0.5 * p[0] + 0.5 * p[1], rl.zip(s[1], g))
        spread = rl.map(lambda p: 0.75 * p[0] + 0.25 * p[1] * p[1], rl.zip(s[2], g))
        moved = rl.map(
            lambda p: p[0] - p[1] / (1.0 - first) / (p[2] / (1.0 - second) + 1.0),
            rl.zip(s[0], mean, spread),
        )
        return moved, mean, spread, first, second

    return rl.iterate(K, step, (w, rl.repeat(N, 0.0), rl.repeat(N, 0.0), 1.0, 1.0))[0]


@rl.program
def number_first(x: rl.f32[N], a: rl.f32[K]) -> Any:
    """An element of the step is read by the number and by the array."""
    return rl.reduce_seq(
        lambda s, k: (s[0] * 0.5 + k, rl.map(lambda v: v * 0.75 + s[0] * k, s[1])), (0.0, x), a
    )


@rl.program
def rows_of_steps(x: rl.f32[N], a: rl.f32[K, THREE]) -> Any:
    return rl.reduce_seq(
        lambda s, k: (
            rl.map(lambda v: v * 0.75 + s[1] * rl.reduce(rl.add, 0.0, k), s[0]),
            s[1] * 0.5 + rl.reduce(rl.add, 0.0, k),
        ),
        (x, 1.0),
        a,
    )


@rl.program
def given(state: rl.tup(rl.i32[N], rl.i32)) -> Any:
    """The state before the first step is a parameter."""
    return rl.iterate(K, lambda s: (rl.map(lambda v: v * 3 + s[1], s[0]), s[1] + 1), state)


@rl.program
def table(x: rl.f32[N, M]) -> Any:
    def step(s: Any) -> Any:
        return rl.map(lambda r: rl.map(lambda v: v * 0.5 + s[1], r), s[0]), s[1] + 1.0

    return rl.iterate(K, step, (x, 0.5))[0]


PROGRAMS = [
    whole, arrays_of_it, one_of_it, number_of_it, made_of_it, with_numbers_of_its_own, number_first, rows_of_steps, given,
    table,
]  # fmt: skip


@rl.program
def number_of_the_array(x: rl.f32[N]) -> Any:
    def step(s: Any) -> Any:
        return rl.map(lambda v: v * 0.5 + s[1], s[0]), rl.reduce(rl.add, 0.0, s[0])

    return rl.iterate(K, step, (x, 0.5))


@rl.program
def neighbours(x: rl.f32[N]) -> Any:
    def step(s: Any) -> Any:
        around = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, s[0]))
        return rl.map(lambda w: rl.reduce(rl.add, s[1], w), around), s[1] + 1.0

    return rl.iterate(K, step, (x, 0.5))


@rl.program
def numbers_alone(x: rl.f32) -> Any:
    return rl.iterate(K, lambda s: (s[0] + s[1], s[1] * 0.5), (x, 1.0))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_arrays_are_computed_for_each_element(program: Program) -> None:
    """By proved rules; no step goes from arrays to arrays, and the meaning is the same."""
    assert steps_on_arrays(program)
    require_each_alone(program, numbers_apart())


@pytest.mark.parametrize(
    "program", [number_of_the_array, neighbours, numbers_alone], ids=lambda p: p.name
)
def test_what_needs_more_stays(program: Program) -> None:
    """A number that is folded of the array, elements that read neighbours, and states without arrays."""
    with pytest.raises(NoMatch):
        derive(program, numbers_apart())


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_no_step_is_a_launch(program: Program, device: DeviceDescription) -> None:
    compiled = compile_program(rl.optimize(program, target=device).candidates[0].term)
    assert len(compiled.launch["kernels"]) < K
    inputs = random_inputs(program, 0)
    require_same(compiled(*inputs, device="cpu"), program(*inputs))


@rl.program
def in_pairs(x: rl.f32[N], y: rl.f32[N], t: rl.f32[K]) -> Any:
    """A pair of a pair and an array, and numbers in the inner one."""

    def step(s: Any, v: Any) -> Any:
        (first, number), second = (s[0][0], s[0][1]), s[1]
        together = rl.map(lambda p: p[0] + p[1] * number, rl.zip(first, second))
        return (rl.map(lambda e: e * v, first), number * v), together

    return rl.reduce_seq(step, ((x, 1.0), y), t)


@rl.program
def second_of_a_pair(x: rl.f32[N], y: rl.f32[N]) -> Any:
    def step(s: Any) -> Any:
        return (s[0][1], rl.map(lambda p: p[0] + p[1], rl.zip(*s[0]))), s[1] + 1

    return rl.iterate(K, step, ((x, y), 0))[0][1]


@pytest.mark.parametrize("program", [in_pairs, second_of_a_pair], ids=lambda p: p.name)
def test_states_in_tuples_of_tuples_are_flat(program: Program) -> None:
    require_each_alone(program, then(flat_states(), numbers_apart()))


def test_a_scan_goes_to_one_tuple() -> None:
    @rl.program
    def scanned(x: rl.f32[N], y: rl.f32[N], t: rl.f32[K]) -> Any:
        def step(s: Any, v: Any) -> Any:
            return rl.map(lambda e: e * v, s[0]), (rl.map(lambda e: e - v, s[1][1]), s[1][0])

        return rl.scan_seq(step, (x, (y, x)), t)

    derivation = derive(scanned, flat_states())
    require_standing(derivation, RULES)
    (scan,) = [t for t, _ in subterms(derivation.result) if isinstance(t, ScanSeq)]
    assert str(scan.f.parameters[0].type) == "(f32[40], f32[40], f32[40])"
    inputs = random_inputs(scanned, 0)
    flat = Program(scanned.name, scanned.parameters, derivation.result)
    require_same(flat(*inputs), scanned(*inputs), within=0.0)


def test_seven_components_stay() -> None:
    @rl.program
    def seven(x: rl.f32[N]) -> Any:
        def step(s: Any) -> Any:
            return rl.map(lambda v: v + s[1][0], s[0]), tuple(s[1][i] * 0.5 for i in range(6))

        return rl.iterate(K, step, (x, (1.0,) * 6))

    with pytest.raises(NoMatch):
        derive(seven, flat_states())


@pytest.mark.parametrize("count", [2, 3, 6])
def test_a_fold_to_numbers_that_need_themselves_alone_is_one_for_each(count: int) -> None:
    """Whatever their number, none is folded in order."""

    @rl.program
    def several(x: rl.f32[K]):
        def step(acc, v):
            largest = (rl.maximum(acc[i], v) for i in range(1, count))
            return (acc[0] + v * v, *largest)

        return rl.reduce_seq(step, (0.5,) * count, x)

    found = derive(several, components_apart())
    assert isinstance(found.result, MakeTuple)
    assert all(isinstance(part, Reduce) for part in found.result.parts)
    assert confirm(found, RULES) is not None


def test_a_number_that_needs_another_is_folded_with_it() -> None:
    """How far below the highest so far: it is not known without that."""

    @rl.program
    def fallen(x: rl.f32[M]):
        def step(acc, v):
            return rl.maximum(acc[0], v), rl.maximum(acc[1], acc[0] - v)

        return rl.reduce_seq(step, (0.0, 0.0), x)

    with pytest.raises(NoMatch):
        derive(fallen, components_apart())


def test_forces_are_one_loop_where_a_device_has_none_for_several() -> None:
    """What the components are computed of in common would be computed for each."""

    @rl.program
    def pulled(x: rl.f32[LONG], y: rl.f32[LONG]):
        def step(acc, p):
            far = rl.rsqrt(p[0] * p[0] + p[1] * p[1] + 1.0)
            return acc[0] + p[0] * far, acc[1] + p[1] * far

        return rl.reduce_seq(step, (0.0, 0.0), rl.zip(x, y))

    derive(pulled, components_apart())
    with pytest.raises(NoMatch):
        derive(pulled, components_apart(again=False))


def test_a_sum_beside_a_largest_element_is_shared_out() -> None:
    """In one loop they were one work-item's: 6 million elements took a GPU 312 ms by the model."""

    @rl.program
    def both(x: rl.f32[1 << 20]):
        step = lambda acc, v: (acc[0] + v, rl.maximum(acc[1], v))
        return rl.reduce_seq(step, (0.0, float("-inf")), x)

    best = Proposals(both, {}, GPU).floor()[0]
    assert best.cost.seconds < 1e-3


@rl.program
def forces_in_order(bodies: rl.f32[LONG, FOUR]):
    """What acts on each body, in one loop over all."""

    def on(p):
        def step(acc, q):
            dx, dy, dz = (q[i] - p[i] for i in range(3))
            squared = dx * dx + dy * dy + dz * dz + 0.01
            weight = q[3] * rl.rsqrt(squared * squared * squared)
            return acc[0] + dx * weight, acc[1] + dy * weight, acc[2] + dz * weight

        return rl.reduce_seq(step, (0.0, 0.0, 0.0), bodies)

    return rl.map(on, bodies)


def test_long_steps_are_apart_where_what_comes_of_them_is_not_long() -> None:
    """Each component needs its part of a step only; on the way to it the step stands there for each."""
    found = derive(forces_in_order, components_apart())

    folds = [t for t, _ in subterms(found.result) if isinstance(t, Reduce)]
    assert len(folds) == 3
    assert found.replay(RULES)[-1] == found.result
