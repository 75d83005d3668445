"""Loops of the rows of a map that carry arrays go on together, as what they were."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import random_inputs
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.steps.carried import all_rows
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Map
from relift.semantics.patterns.sequential import Accumulating
from relift.semantics.syntax.terms import subterms

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")
SIZES = {"n": 3, "m": 4, "k": 2}


def dot(x, y):
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


def network(w):
    """A step: the products of what is carried with weights, and what comes in."""
    return lambda h, v: rl.map(lambda p: rl.tanh(dot(p[0], h) + p[1]), rl.zip(w, v))


def halves(row):
    return rl.map(lambda v: rl.map(lambda t: t * 0.5, v), row)


@rl.program
def last(x: rl.f32[n, m, k], w: rl.f32[k, k]):
    return rl.map(lambda row: rl.reduce_seq(network(w), rl.repeat(k, 0.0), row), x)


@rl.program
def all_of_them(x: rl.f32[n, m, k], w: rl.f32[k, k]):
    return rl.map(lambda row: rl.scan_seq(network(w), rl.repeat(k, 0.0), row), x)


@rl.program
def read_out(x: rl.f32[n, m, k], w: rl.f32[k, k], u: rl.f32[k]):
    """The loop is over what is computed of the rows, and its result is read by a fold."""
    return rl.map(lambda row: dot(u, rl.reduce_seq(network(w), rl.repeat(k, 0.0), halves(row))), x)


@pytest.mark.parametrize("program", [last, all_of_them, read_out], ids=lambda p: p.name)
def test_one_loop_goes_on_for_all_rows_and_gives_what_they_gave(program: Program) -> None:
    """No loop is left in the function of a map."""
    found = derive(program, all_rows(), SIZES)
    require_standing(found, RULES)
    maps = [t for t, _ in subterms(found.result) if isinstance(t, Map)]
    carried = [
        u
        for t in maps
        for u, _ in subterms(t.f.body)
        if isinstance(u, Accumulating) and u.f.parameters[0].type == rl.f32[2]
    ]
    assert carried == []
    at_sizes = program.at(SIZES)
    given = random_inputs(at_sizes, 0)
    done = replace(at_sizes, body=found.result)(*given)
    np.testing.assert_array_equal(done, at_sizes(*given))


def test_loops_that_carry_numbers_or_fold_nothing_stay_those_of_their_rows() -> None:
    """A step of few instructions is begun sooner in a kernel than as one."""

    @rl.program
    def smoothed(x: rl.f32[n, m, k]):
        def step(s, v):
            return rl.map(lambda p: 0.5 * p[0] + p[1], rl.zip(s, v))

        return rl.map(lambda row: rl.reduce_seq(step, rl.repeat(k, 0.0), row), x)

    with pytest.raises(NoMatch):
        derive(smoothed, all_rows(), SIZES)


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
def test_a_step_of_all_rows_is_a_product_of_matrices(device: DeviceDescription) -> None:
    """A work-item that has a row would go through all weights for each of its steps."""
    found = optimize(last, {"n": 4096, "m": 8, "k": 64}, device)
    assert "reduce_seq_iterate" in {step.rule for step in found.derivation.steps}
