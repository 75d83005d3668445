"""Iterations that are searched for one step: what is found for it is done in each."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.program import compile_program, is_parallel, refusal
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.search.derived import with_copies_by_steps
from relift.egraph.search.optimize import optimize
from relift.egraph.search.outcomes import Proposal
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.iterated import iterated, refused_in_parts
from relift.rewrites.library import RULES
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import canonical
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import f32

N = 8


def dot(x: Any, y: Any) -> Any:
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


@rl.program
def power(a: rl.f32[N, N], x: rl.f32[N]) -> Any:
    """A product, its norm, a scaling; the step calls its array as functions in it call theirs."""

    def step(x: Any) -> Any:
        y = rl.map(lambda row: dot(row, x), a)
        norm = rl.sqrt(dot(y, y))
        return rl.map(lambda x: x / norm, y)

    return rl.map(lambda v: v * 2.0, rl.iterate(17, step, rl.map(lambda v: v + 1.0, x)))


@rl.program
def wave(x: rl.f32[N], y: rl.f32[N]) -> Any:
    """A step hands on one of its arrays; both are results."""

    def step(s: Any) -> Any:
        near = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, s[1]))
        return s[1], rl.map(lambda t: 0.25 * (t[0][0] + t[0][2]) - 0.25 * t[1], rl.zip(near, s[0]))

    return rl.iterate(20, step, (x, y))


@rl.program
def descent(b: rl.f32[N]) -> Any:
    """A state of two arrays and a number, of which one array is asked for."""

    def step(s: Any) -> Any:
        x, r, rr = s[0], s[1], s[2]
        new = rl.map(lambda v: v - 0.5 / (rr + 1.0) * v, r)
        return rl.map(lambda t: t[0] + rr * t[1], rl.zip(x, r)), new, dot(new, new)

    return rl.iterate(5, step, (rl.map(lambda v: v * 0.0, b), b, dot(b, b)))[0]


@rl.program
def alone(x: rl.f32[N]) -> Any:
    """Each step is one work-item's, and a kernel all the same: none may write what it still reads."""
    return rl.iterate(9, lambda y: rl.scan_seq(rl.add, 0.0, rl.gather(rl.reverse, y)), x)


@pytest.mark.parametrize("program", [power, wave, descent, alone], ids=lambda p: p.name)
def test_what_is_found_for_a_step_is_done_in_each(program: Program) -> None:
    """The derivation of the whole replays to the program that runs, whose kernels are launched again, and is right."""
    given = with_copies_by_steps(Proposals(program, {}, GPU).prepared())
    cut = iterated(replace(program, body=given.result))
    assert cut is not None
    chosen = [_by_many(each) for each in cut.programs]

    low = replace(program, body=cut.low([each.low.body for each in chosen]))
    derivation = cut.derivation(given, [each.derive() for each in chosen])

    assert canonical(derivation.replay(RULES)[-1]) == canonical(low.body)
    launched = compile_program(low).plan
    assert len(launched.kernels) > len(launched.different)
    rng = np.random.default_rng(1)
    shapes = [[N] * (len(str(p.type).split(","))) for p in program.parameters]
    arguments = [rng.random(shape, dtype=np.float32) for shape in shapes]
    got, wanted = rl.compile(low)(*arguments), program(*arguments)
    np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-4)


def _by_many(program: Program) -> Proposal:
    """A program as it is written, by as many work-items as may do it."""
    found = Proposals(program, {}, GPU).floor()
    right = [each for each in found if refused_in_parts(refusal, each.low) is None]
    return next((each for each in right if is_parallel(each.low)), right[0])


def test_only_the_last_step_copies_what_it_hands_on() -> None:
    """The nineteen before compute one array each, and the other one is that of the step before."""
    given = with_copies_by_steps(Proposals(wave, {}, GPU).prepared())
    cut = iterated(replace(wave, body=given.result))
    assert cut is not None
    assert cut.iteration.m.constant == 19
    assert cut.computed == (1,)
    assert [step.rule for step in given.steps] == ["iterate_last", "insert_copy"]


def smoothed(y: Any) -> Any:
    """Each element with its neighbours: none is iterated for itself."""
    return rl.map(
        lambda w: 0.5 * w[1] + 0.25 * (w[0] + w[2]), rl.slide(3, 1, rl.pad(1, 1, rl.clamp, y))
    )


def test_an_iteration_of_kernels_is_found() -> None:
    """Fifty steps over an array that is long enough that one work-item should not do them, ten of them in each kernel."""
    n = 4096
    x = Input("x", f32[n])
    program = Program("smoothed", (x,), as_term(rl.iterate(50, smoothed, x)))

    found = optimize(program, {}, GPU, refused=refusal)

    assert len(compile_program(found.term).plan.kernels) == 5
    assert found.derivation.replay(RULES)[-1] == found.derivation.result


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
def test_no_step_leaves_what_it_starts_from(device: DeviceDescription) -> None:
    """As it is written no kernel computes anything, which takes no time: of that there is no logarithm."""
    x = Input("x", f32[40, 30])
    step = functools.partial(rl.map, smoothed)
    program = Program("unchanged", (x,), as_term(rl.iterate(0, step, x)))
    found = optimize(program, {}, device, refused=refusal)
    values = np.arange(1200, dtype=np.float32).reshape(40, 30)
    np.testing.assert_array_equal(compile_program(found.term)(values, device="cpu"), values)


def test_few_steps_on_little_are_those_of_one_work_item() -> None:
    """What a kernel takes to be launched is more than all that it would do."""
    x = Input("x", f32[2])
    program = Program(
        "halved", (x,), as_term(rl.iterate(50, lambda y: rl.map(lambda v: v * 0.5, y), x))
    )
    found = optimize(program, {}, GPU, refused=refusal)
    assert len(compile_program(found.term).plan.kernels) == 1


def test_rows_are_iterated_together() -> None:
    """A step of each row reads its neighbours: no work-item of a GPU keeps a row, but a kernel takes a step of all rows."""

    def step(row: Any) -> Any:
        windows = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, row))
        return rl.map(lambda w: 0.25 * w[0] + 0.5 * w[1] + 0.25 * w[2], windows)

    x = Input("x", f32[4096, 4096])
    program = Program("smooth", (x,), as_term(rl.map(lambda row: rl.iterate(20, step, row), x)))

    found = optimize(program, {}, GPU, refused=refusal)

    assert len(compile_program(found.term).plan.kernels) == 20
    assert found.derivation.replay(RULES)[-1] == found.derivation.result


cells, steps = rl.nat("cells"), rl.nat("steps")


@rl.program
def least_paths(first: rl.f32[cells], rows: rl.f32[steps, cells]) -> Any:
    """The least sum down a table, where each step goes to one of three cells: Rodinia's pathfinder."""

    def step(best: Any, row: Any) -> Any:
        near = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, best))
        least = rl.map(lambda w: rl.minimum(w[0], rl.minimum(w[1], w[2])), near)
        return rl.map(lambda p: p[0] + p[1], rl.zip(least, row))

    return rl.reduce_seq(step, first, rows)


def test_the_steps_of_a_fold_to_an_array_are_kernels() -> None:
    """No work-item of a GPU keeps the array, and the next element is looked up by a count of the steps."""
    found = optimize(least_paths, {"cells": 4096, "steps": 6}, GPU, refused=refusal)

    assert "reduce_seq_iterate" in {step.rule for step in found.derivation.steps}
    assert found.derivation.replay(RULES)[-1] == found.derivation.result
    rng = np.random.default_rng(1)
    best, rows = rng.random(4096, np.float32), rng.random((6, 4096), np.float32)
    got = rl.compile(found.term)(best, rows)
    for row in rows:
        around = np.pad(best, 1, "edge")
        best = row + np.minimum(np.minimum(around[:-2], around[1:-1]), around[2:])
    np.testing.assert_allclose(got, best, rtol=1e-6)


def test_steps_that_are_counted_take_turns_with_the_same_kernels() -> None:
    """However many steps a fold has, a count that begins with a number has two buffers, as what is folded has."""
    sizes = [{"cells": 10_000, "steps": steps} for steps in (8, 200)]
    found = [optimize(least_paths, each, CPU, refused=refusal) for each in sizes]
    few, many = (compile_program(each.term).source.count("kernel void") for each in found)
    assert few == many


@rl.program
def running_sums(first: rl.f32[cells], rows: rl.f32[steps, cells]) -> Any:
    """Each step sums up what the one before it left and a row."""

    def step(sums: Any, row: Any) -> Any:
        return rl.scan_seq(rl.add, 0.0, rl.map(lambda p: 0.001 * p[0] + p[1], rl.zip(sums, row)))

    return rl.reduce_seq(step, first, rows)


@pytest.mark.parametrize("width", [5, 150])
def test_a_step_that_scans_is_one_of_a_work_item(width: int) -> None:
    """More steps than are launched: the array is kept by a work-item, in an order that registers do not have."""
    found = optimize(running_sums, {"cells": width, "steps": 200}, CPU, refused=refusal)

    rng = np.random.default_rng(1)
    sums, rows = rng.random(width, np.float32), rng.random((200, width), np.float32)
    got = rl.compile(found.term)(sums, rows)
    for row in rows:
        sums = np.cumsum(np.float32(0.001) * sums + row)
    np.testing.assert_allclose(got, sums, rtol=1e-4)
