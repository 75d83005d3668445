"""A main part and a rest: right for every length, and as fast as a length that divides."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.program import refusal
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.remainders import remainder_starts
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.folds.remainders import fold_with_rest, map_with_rest
from relift.semantics.language.programs import Program

n, m = rl.nat("n"), rl.nat("m")
f = rl.f32


@rl.program
def dot(x: f[n], y: f[n]):
    """A fold alone."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


@rl.program
def product(x: f[n]):
    """Another operator."""
    return rl.reduce(rl.mul, 1.0, x)


@rl.program
def row_sums(a: f[m, n]):
    """A fold in a map."""
    return rl.map(lambda row: rl.reduce(rl.add, 0.0, row), a)


@rl.program
def polynomial(x: f[n]):
    """A map alone."""
    return rl.map(lambda v: (v * 2.0 + 1.0) * v + 3.0, rl.map(lambda v: v - 1.0, x))


@pytest.mark.parametrize("length", [17, 31, 97, 100])
@pytest.mark.parametrize(
    ("program", "tactic"),
    [(dot, fold_with_rest), (product, fold_with_rest), (row_sums, fold_with_rest),
     (polynomial, map_with_rest), (row_sums, map_with_rest)],
    ids=lambda of: of.name if isinstance(of, Program) else of.__name__,
)  # fmt: skip
def test_the_parts_are_the_whole(program: Program, tactic, length: int) -> None:
    """By proved rules; the kernels as the interpreter has it."""
    sizes = {
        name: length if name == "n" or tactic is map_with_rest else 5 for name in program.sizes
    }
    found = derive(program, tactic(16), sizes)
    require_standing(found, RULES)
    assert confirm(found, RULES) is not None

    task = Proposals(program, sizes, CPU)
    low = next(each.low for each in task.extracted(found, {}) if refusal(each.low) is None)
    inputs = tuple(np.sign(x) for x in whole_inputs(task.source, 1))
    np.testing.assert_array_equal(rl.compile(low)(*inputs), task.source(*inputs))


def test_a_length_that_divides_has_no_rest() -> None:
    """Nor has one that is shorter than a block."""
    for length in (32, 16, 5):
        with pytest.raises(NoMatch):
            derive(dot, fold_with_rest(16), {"n": length})


@pytest.mark.parametrize(("device", "gain"), [(CPU, 2), (GPU, 500)], ids=["cpu", "gpu"])
def test_the_dot_product_of_a_prime_length_is_not_left_to_one_work_item(
    device: DeviceDescription, gain: int
) -> None:
    """By the model, against the program as it is written."""
    task = Proposals(dot, {"n": 16_777_213}, device)

    (start,) = remainder_starts(dot, task.sizes, device, "reassociate")
    _, found = task.saturated(start)

    assert gain * found[0].cost.seconds < task.as_written()[0].cost.seconds
