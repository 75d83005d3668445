"""Stencils in search: borders apart from an inside, and overlapping tiles."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program, refusal
from relift.device import CPU, GPU
from relift.egraph.cost.model import estimate, least_seconds
from relift.egraph.search.guidance.window_plans import shared_windows
from relift.egraph.search.optimize import Optimized, optimize
from relift.egraph.search.outcomes import FoundProgram
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.stencils import stencil_starts
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.multidimensional import map_nd, pad_nd, slide_nd
from relift.semantics.language.programs import Program, program
from relift.semantics.language.vocabulary import concat, drop, map_glb, take
from relift.semantics.patterns import Let
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import f32

EXAMPLES = Path(__file__).parents[2] / "examples"
N = 1 << 12


def stencil(name: str) -> Program:
    return load_program(str(EXAMPLES / f"{name}.py"))


def used(found: FoundProgram) -> set[str]:
    """The rules of its derivation."""
    return {step.rule for step in found.derivation.steps}


@pytest.fixture(scope="module", params=["j2d5pt", "j2d9pt"])
def searched(request: pytest.FixtureRequest) -> Optimized:
    """The stencils of five and of nine points, on a large image."""
    return optimize(stencil(request.param), {"n": N, "m": N}, CPU, top=32)


def test_the_best_clamps_at_the_border_only(searched: Optimized) -> None:
    """Of each row: which rows it reads is clamped once for all of its columns, which are vectors."""
    rules = [step.rule for step in searched.derivation.steps]

    assert rules.count("slide_clamp_regions") == rules.count("vectorize_map") == 1


def test_overlapping_tiles_are_a_candidate(searched: Optimized) -> None:
    assert any("stencil_tiling_2d" in used(found) for found in searched.candidates)


def test_the_derivation_of_regions_replays_and_is_confirmed(searched: Optimized) -> None:
    """The tactic's steps are the first, and those of the search and of lowering follow."""
    assert len(searched.derivation.replay(RULES)) == len(searched.derivation.steps) + 1
    assert confirm(searched.derivation, RULES) is not None


def test_every_candidate_in_regions_is_one_kernel() -> None:
    """The parts of a result have the same work-items, so one kernel writes them all, and right."""
    source = stencil("j2d5pt")
    sizes = {"n": 32, "m": 64}
    arrays = random_inputs(source.at(sizes), 0)
    found = optimize(source, sizes, CPU, top=64).candidates
    in_regions = [f for f in found if "slide_clamp_regions" in used(f)]

    assert len(in_regions) >= 2
    for candidate in in_regions:
        compiled = compile_program(candidate.term)
        assert len(compiled.launch["kernels"]) == 1
        np.testing.assert_allclose(compiled(*arrays), source(*arrays), rtol=1e-5)


def test_other_programs_start_from_themselves_only() -> None:
    assert list(stencil_starts(stencil("dot"), {"n": 64}, CPU, "reassociate")) == []


@pytest.mark.parametrize("cut", [1, N // 2, N - 1])
def test_parts_of_a_result_cost_what_the_whole_costs(cut: int) -> None:
    """The same work-items write one part after the other; where a driver packs none of them, that is all."""

    @program
    def whole(xs: f32[N]):
        return map_glb(0)(lambda x: x + 1.0, xs)

    @program
    def parts(xs: f32[N]):
        first, second = take(cut, xs), drop(cut, xs)
        return concat(map_glb(0)(lambda x: x + 1.0, first), map_glb(0)(lambda x: x + 1.0, second))

    device = replace(CPU, packs="nothing")
    assert estimate(parts, device).compute == pytest.approx(
        estimate(whole, device).compute, rel=0.3
    )


images, height, width = nat("images"), nat("height", 1), nat("width", 1)


@program
def twice_blurred(x: f32[images, height + 4, width + 4]):
    """Each image of a batch, blurred twice."""

    def blurred(image):
        return map_nd(2, lambda w: w[1][1] + w[0][1] + w[1][2], slide_nd((3, 3), (1, 1), image))

    return rl.map(lambda image: blurred(blurred(image)), x)


def test_what_windows_read_of_each_of_a_batch_is_stored() -> None:
    """A table that is computed of each image has windows again: it is an array of its own, for all of them."""
    sizes = {"images": 3, "height": 100, "width": 99}
    found = optimize(twice_blurred, sizes, CPU, refused=refusal)

    (x,) = random_inputs(found.term, 1)
    expected = x
    for _ in range(2):
        rows, columns = expected[:, 1:-1, 1:-1] + expected[:, :-2, 1:-1], expected[:, 1:-1, 2:]
        expected = rows + columns
    np.testing.assert_allclose(compile_program(found.term)(x), expected, rtol=1e-5)


@program
def opened(x: f32[height, width]):
    """The largest of what is the smallest around each cell."""

    def around(op, z, image):
        windows = slide_nd((3, 3), (1, 1), pad_nd((1, 1), (1, 1), rl.clamp, image))
        return map_nd(2, lambda w: rl.reduce(op, z, rl.join(w)), windows)

    least = around(rl.minimum, float("inf"), x)
    return around(rl.maximum, float("-inf"), least)


def test_of_two_stencils_each_is_in_vectors() -> None:
    """As they are lowered, the first is faster in the second; neither says anything of what vectors take."""
    sizes = {"height": 2000, "width": 1777}
    found = optimize(opened, sizes, CPU, refused=refusal)
    assert found.cost.seconds < 3 * least_seconds(opened.at(sizes), CPU)


@program
def spreads(x: f32[height + 4, width + 4]):
    """The variance of each window of 5 by 5."""

    def spread(window):
        cells = rl.join(window)
        mean = rl.reduce(rl.add, 0.0, cells) * 0.04
        return rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - mean) * (v - mean), cells)) * 0.04

    return map_nd(2, spread, slide_nd((5, 5), (1, 1), x))


def test_a_group_has_the_cells_of_windows_that_are_folded_twice() -> None:
    """Folds in functions of tiles were not lowered: each work-item read 50 cells from memory, 103 us by the model of 2048 by 3072."""
    task = Proposals(spreads, {"height": 64, "width": 64}, GPU)
    tactic = next(shared_windows(task.source, GPU))
    (found,) = task.derived(tactic)
    assert any(isinstance(t, Let) for t, _ in subterms(found.low.body))
    assert confirm(found.derive(), RULES) is not None
