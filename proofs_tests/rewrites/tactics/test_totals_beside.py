"""Results of which some are maps of an array, and others folds of all of it, are made in one pass over what they read."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from typing import Any

import pytest

import relift as rl
from proofs_tests.nested_results import require_same
from relift.compiler.agreement.inputs import random_inputs
from relift.device import CPU, GPU
from relift.egraph.cost.model import least_seconds
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.folds.beside import totals_beside
from relift.semantics.language.programs import Program

n, m = rl.nat("n"), rl.nat("m")
LARGE = 1 << 26


@rl.program
def loss_and_gradient(p: rl.f32[n], t: rl.f32[n]) -> Any:
    apart = rl.map(lambda a: a[0] - a[1], rl.zip(p, t))
    return rl.map(lambda v: 2.0 * v, apart), rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, apart))


@rl.program
def step_and_norms(w: rl.f32[n], g: rl.f32[n]) -> Any:
    """A fold of another result, by an operator whose start counts once, and two maps."""
    after = rl.map(lambda a: a[0] - 0.01 * a[1], rl.zip(w, g))
    largest = rl.reduce(rl.maximum, -1.0, after)
    return largest, after, rl.reduce(rl.add, 0.0, after), rl.map(lambda v: v > 0.0, after)


@rl.program
def of_rows(x: rl.f32[m, n]) -> Any:
    squares = rl.map(lambda r: rl.map(lambda v: v * v, r), x)
    return squares, rl.reduce(rl.add, 0.0, rl.join(squares))


@rl.program
def of_whole_numbers(x: rl.i32[n]) -> Any:
    return rl.reduce(rl.add, 0, rl.map(lambda v: v & 1, x)), rl.map(lambda v: v >> 1, x)


PROGRAMS = (loss_and_gradient, step_and_norms, of_rows, of_whole_numbers)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("size", [1, 37, 640])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_what_is_found_is_right(program: Program, size: int, kind: str) -> None:
    """With chunks and without, where no divisor of the length is one."""
    sizes = {name: size if name == "n" else 3 for name in program.sizes}
    inputs = random_inputs(program.at(sizes), 0)
    found = rl.optimize(program, sizes=sizes, target=kind).candidates[0].term
    require_same(rl.compile(found)(*inputs, device="cpu"), program(*inputs), 1e-4, 1e-4)


@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda d: d.kind)
@pytest.mark.parametrize(
    ("program", "sizes"),
    [(loss_and_gradient, {"n": LARGE}), (of_rows, {"n": 8192, "m": 8192})],
    ids=["chunks", "rows"],
)
def test_what_is_read_is_read_once(program: Program, sizes: dict[str, int], device: Any) -> None:
    """All kernels together move little more than what is given, and what is asked for."""
    best = rl.optimize(program, sizes=sizes, target=device.kind).candidates[0]
    least = least_seconds(program.at(sizes), GPU) * GPU.bandwidth_gbs * 1e9
    assert best.cost.bytes < 1.02 * least


@rl.program
def of_two_arrays(x: rl.f32[n], y: rl.f32[n]) -> Any:
    return rl.map(lambda v: v + 1.0, x), rl.reduce(rl.add, 0.0, y)


@rl.program
def of_maps_alone(x: rl.f32[n]) -> Any:
    return rl.map(lambda v: v + 1.0, x), rl.map(lambda v: v * v, x)


@rl.program
def in_order(x: rl.f32[n]) -> Any:
    """No operator may begin in the middle."""
    return rl.map(lambda v: v + 1.0, x), rl.reduce_seq(lambda a, v: 0.5 * a + v, 0.0, x)


@pytest.mark.parametrize(
    ("program", "size"),
    [(of_two_arrays, 4096), (of_maps_alone, 4096), (in_order, 4096), (loss_and_gradient, 4099)],
    ids=lambda p: getattr(p, "name", None),
)
def test_others_are_left_as_they_are(program: Program, size: int) -> None:
    """What has nothing to read in common, and an array whose length is prime."""
    with pytest.raises(NoMatch):
        derive(program, totals_beside, {"n": size})
