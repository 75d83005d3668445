"""Folds of affine steps in chunks: right, proved, and shared out over the work-items of a device."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import random_inputs
from relift.device import GPU
from relift.egraph.cost.model import least_seconds
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.folds.recurrences import affine_folds_in_chunks
from relift.semantics.language.programs import Program

b, n, m = rl.nat("b"), rl.nat("n"), rl.nat("m")


@rl.program
def value(x: rl.f32[n], t: rl.f32):
    """A polynomial, by Horner's scheme."""
    return rl.reduce_seq(lambda s, v: s * t + v, 0.0, x)


@rl.program
def lasts(x: rl.f32[n, m], y: rl.f32[n, m]):
    step = lambda s, p: p[1] * s + p[0]
    return rl.map(lambda r: rl.reduce_seq(step, 1.0, rl.zip(r[0], r[1])), rl.zip(x, y))


@rl.program
def batches(x: rl.f32[b, n, m]):
    last = lambda r: rl.reduce_seq(lambda s, v: v + 0.5 * s, 0.0, r)
    return rl.map(lambda t: rl.map(last, t), x)


@pytest.mark.parametrize("length", [64, 65, 79, 1023])
@pytest.mark.parametrize("program", [value, lasts, batches], ids=lambda p: p.name)
def test_chunks_come_to_what_the_whole_does(program: Program, length: int) -> None:
    sizes = {"n": length} if program is value else {"b": 2, "n": 3, "m": length}
    sizes = {name: sizes[name] for name in program.sizes}
    arguments = random_inputs(program.at(sizes), length)
    derivation = derive(program, affine_folds_in_chunks(4), sizes)
    require_standing(derivation, RULES)
    high = Program(program.name, program.at(sizes).parameters, derivation.result)
    np.testing.assert_allclose(high(*arguments), program(*arguments), rtol=1e-4)


def test_a_fold_without_laws_and_a_short_one_stay() -> None:
    @rl.program
    def clipped(x: rl.f32[n]):
        return rl.reduce_seq(lambda s, v: rl.absolute(0.5 * s + v), 0.0, x)

    with pytest.raises(NoMatch):
        derive(clipped, affine_folds_in_chunks(4), {"n": 64})
    with pytest.raises(NoMatch):
        derive(value, affine_folds_in_chunks(4), {"n": 63})
    with pytest.raises(NoMatch):
        derive(value, affine_folds_in_chunks(4), {"n": 64}, "exact")


def test_few_long_folds_of_affine_steps_are_shared_out() -> None:
    """On a GPU within twice of reading all once, where each row was one work-item's: a hundred times that."""
    sizes = {"n": 1024, "m": 16384}
    found = rl.optimize(lasts, sizes, "gpu").candidates[0]
    assert found.cost.seconds < 2 * least_seconds(lasts.at(sizes), GPU)
