"""Iterations whose steps are kernels: launched again and again, between buffers that take turns."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.lowering.stages import stages_of
from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.semantics.errors import Unsupported
from relift.semantics.language.programs import Program
from relift.semantics.syntax.terms import Input, subterms

N = 12
STEPS = 9


def smoothed(x: Any) -> Any:
    """Sums of neighbours, which no step may write over what it still reads."""
    windows = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, x))
    return rl.map_glb(0)(lambda w: 0.25 * w[0] + 0.5 * w[1] + 0.25 * w[2], windows)


def between(x: Any, y: Any) -> Any:
    """Halfway between what a kernel of its own stores and another array."""
    return rl.map_glb(0)(lambda t: 0.5 * t[0] + 0.5 * t[1], rl.zip(rl.to_global(x), y))


@rl.program
def alone(x: rl.f32[N]) -> Any:
    return rl.iterate(STEPS, smoothed, rl.map_glb(0)(lambda v: v + 1.0, x))


@rl.program
def handed_on(x: rl.f32[N], y: rl.f32[N]) -> Any:
    """A step hands on what the one before has made: three buffers take turns."""
    last = rl.iterate(STEPS, lambda s: (s[1], between(smoothed(s[1]), s[0])), (x, y))
    return rl.map_glb(0)(lambda v: v, last[1])


@rl.program
def read_by_another(x: rl.f32[N], y: rl.f32[N]) -> Any:
    """One result of a step is stored, for another one reads it."""

    def step(s: Any) -> Any:
        new = smoothed(s[0])
        return between(new, s[1]), new

    return rl.iterate(STEPS, step, (x, y))


@rl.program
def same_in_all_steps(x: rl.f32[N], y: rl.f32[N]) -> Any:
    """What needs nothing of a step is computed in the first."""
    return rl.iterate(STEPS, lambda s: between(smoothed(y), s), x)


@rl.program
def one_in_the_other(x: rl.f32[N]) -> Any:
    return rl.iterate(3, lambda s: rl.iterate(4, smoothed, smoothed(s)), x)


@rl.program
def numbers(x: rl.f32[N]) -> Any:
    """A state of an array and a number, which is a buffer of one cell."""

    def step(s: Any) -> Any:
        scaled = rl.map_glb(0)(lambda v: v / s[1], s[0])
        return scaled, rl.reduce_seq(rl.maximum, 1.0, rl.to_global(scaled))

    return rl.iterate(STEPS, step, (x, 2.0))


@rl.program
def never(x: rl.f32[N]) -> Any:
    return rl.iterate(0, smoothed, rl.map_glb(0)(lambda v: v + 1.0, x))


PROGRAMS = [alone, handed_on, read_by_another, same_in_all_steps, one_in_the_other, numbers, never]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_the_kernels_of_all_steps_compute_the_program(program: Program) -> None:
    """Values on a device, and the text against the program for all data."""
    arguments = [
        np.arange(N, dtype=np.float32) * k % 7 for k in range(1, len(program.parameters) + 1)
    ]
    kernels = rl.compile(program)

    found, wanted = kernels(*arguments), program(*arguments)

    parts = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for one, other in parts:
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5)
    assert meaning_of(kernels, program).verdict == "validated"


def test_later_steps_are_the_kernels_of_earlier_ones() -> None:
    """A hundred steps have as many texts as nine, each buffer its own place."""
    long = replace(alone, body=rl.iterate(100, smoothed, alone.parameters[0]))
    launched = compile_program(long).plan

    assert (len(launched.kernels), len(launched.different)) == (100, 4)
    assert [b.role for b in launched.buffers] == ["input", "temporary", "temporary", "output"]


def test_no_step_writes_what_it_reads() -> None:
    """Nor what a kernel of the same step has stored for a later one."""
    for program in PROGRAMS:
        for stage in stages_of(program):
            read = {u.name for u, _ in subterms(stage.body) if isinstance(u, Input)}
            assert stage.result not in read


def test_what_is_the_same_in_all_steps_is_launched_once() -> None:
    launched = [stage.result for stage in stages_of(same_in_all_steps)]
    assert len(launched) == STEPS + 1


@pytest.mark.parametrize(
    "change",
    [
        lambda kernels: (*kernels[:3], kernels[4], kernels[3], *kernels[5:]),
        lambda kernels: kernels[:3] + kernels[5:],
    ],
    ids=["two in the other order", "two left out"],
)
def test_a_launch_that_leaves_steps_out_is_not_validated(change: Any) -> None:
    """Each kernel by itself is right, and their order is not that of the program."""
    right = compile_program(alone)
    wrong = Compiled(right.source, replace(right.plan, kernels=change(right.plan.kernels)))
    assert meaning_of(wrong, alone).verdict == "refuted"


def test_a_number_of_steps_that_is_open_is_refused() -> None:
    m = rl.nat("m")
    x = alone.parameters[0]
    program = Program("open", (x,), rl.iterate(m, smoothed, x))
    with pytest.raises(Unsupported, match="iterate runs m times, and its steps are kernels"):
        compile_program(program)


def test_more_steps_than_a_launch_lists_are_refused() -> None:
    x = alone.parameters[0]
    with pytest.raises(Unsupported, match="iterate runs 100000 times"):
        compile_program(Program("long", (x,), rl.iterate(100_000, smoothed, x)))
