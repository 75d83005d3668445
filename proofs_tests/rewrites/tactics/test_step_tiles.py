"""Several steps of a stencil as one, tile by tile: what tiles and ends that do not meet give is what steps give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relift
from proofs_tests.compiler.programs import typed
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.program import refusal
from relift.device import GPU
from relift.egraph.search.guidance.window_plans import steps_by_groups
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive, then, topdown
from relift.rewrites.tactics.groups.stages import stages_by_groups
from relift.rewrites.tactics.steps.tiles import several_steps, steps_in_tiles
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32

Step = Callable[[Any], Any]


def windows(boundary: Any, xs: Any, left: int = 1, right: int = 1) -> Any:
    """The windows around all cells."""
    return rl.slide(left + 1 + right, 1, rl.pad(left, right, boundary, xs))


def smoothed(boundary: Any) -> Step:
    """A step that weighs three cells."""
    return lambda xs: rl.map(lambda w: w[0] * 0.25 + w[1] * 0.5 + w[2], windows(boundary, xs))


def lopsided(xs: Any) -> Any:
    """A step that sees more on one side."""
    return rl.map(lambda w: rl.reduce(rl.maximum, 0.0, w) - w[3], windows(0.5, xs, 1, 2))


def table_windows(boundary: Any, xss: Any, around: tuple[int, int, int, int] = (1, 1, 1, 1)) -> Any:
    """The windows around all cells of a table, which see so far up, down, left and right."""
    up, down, left, right = around
    padded = relift.pad_nd((up, left), (down, right), boundary, xss)
    return relift.slide_nd((up + 1 + down, left + 1 + right), (1, 1), padded)


def crossed(boundary: Any) -> Step:
    """A step that weighs a cell and those beside it."""
    return lambda xss: relift.map_nd(
        2,
        lambda w: w[0][1] * 0.25 + w[1][0] * 0.5 + w[1][1] + w[1][2] * 2.0 + w[2][1],
        table_windows(boundary, xss),
    )


def summed(boundary: Any) -> Step:
    """A step that folds its windows."""
    return lambda xss: relift.map_nd(
        2,
        lambda w: rl.reduce(rl.add, 0.0, rl.join(w)) - w[0][0] * 3.0,
        table_windows(boundary, xss),
    )


def lopsided_table(xss: Any) -> Any:
    """A step that sees more below and on the left."""
    return relift.map_nd(
        2, lambda w: w[0][0] - w[2][1] * 0.5 + w[1][2], table_windows(0.5, xss, (0, 2, 2, 0))
    )


STEPS: dict[str, Step] = {
    "clamp": smoothed(rl.clamp),
    "mirror": smoothed(rl.mirror),
    "constant": smoothed(-1.0),
    "wrap": smoothed(rl.wrap),
    "lopsided": lopsided,
}


STEPS_OF_TABLES: dict[str, Step] = {
    "clamp": crossed(rl.clamp),
    "mirror": crossed(rl.mirror),
    "constant": crossed(-1.0),
    "wrap": crossed(rl.wrap),
    "sums of cells that go on": summed(rl.clamp),
    "sums beside a constant": summed(2.0),
    "sums that go round": summed(rl.wrap),
    "lopsided": lopsided_table,
}


def repeated(step: Step, times: int, *lengths: int) -> Program:
    """A step that is written out several times."""

    @typed(x=f32[lengths])
    def steps(x: Any) -> Any:
        for _ in range(times):
            x = step(x)
        return x

    return steps


def same(program: Program, low: Any) -> bool:
    """Whether a term gives what a program does."""
    inputs = whole_inputs(program, 1)
    given = np.asarray(relift.Program(program.name, program.parameters, low)(*inputs))
    return np.array_equal(given, np.asarray(program(*inputs)))


@pytest.mark.parametrize("length", [1, 2, 13, 24])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_tiles_of_steps_are_the_steps(step: Step, length: int) -> None:
    program = repeated(step, 3, length)

    found = derive(program, steps_in_tiles(8))

    require_standing(found, RULES)
    assert same(program, found.result)


@pytest.mark.parametrize("lengths", [(1, 1), (8, 4), (3, 9)])
@pytest.mark.parametrize("step", STEPS_OF_TABLES.values(), ids=STEPS_OF_TABLES)
def test_tiles_of_steps_of_tables_are_the_steps(step: Step, lengths: tuple[int, int]) -> None:
    program = repeated(step, 3, *lengths)

    found = derive(program, steps_in_tiles(4, 2))

    require_standing(found, RULES)
    assert same(program, found.result)


@pytest.mark.parametrize("boundary", [rl.clamp, 1.5, rl.wrap], ids=["clamp", "constant", "wrap"])
def test_what_stays_as_it_is_goes_with_the_tiles_of_tables(boundary: Any) -> None:
    @typed(x=f32[5, 7], s=f32[5, 7])
    def heated(x: Any, s: Any) -> Any:
        for _ in range(2):
            windows = relift.zip_nd(2, table_windows(boundary, x), s)
            x = relift.map_nd(2, lambda p: p[0][0][1] + p[0][1][2] - p[1], windows)
        return x

    found = derive(heated, steps_in_tiles(4, 4))

    assert same(heated, found.result)


@pytest.mark.parametrize("step", STEPS_OF_TABLES.values(), ids=STEPS_OF_TABLES)
def test_a_group_keeps_tables_between_the_steps(step: Step) -> None:
    program = repeated(step, 3, 40, 50)

    [tactic] = [t for t in steps_by_groups(program, GPU) if _applies(t, program)][:1]
    found = derive(program, tactic)

    assert [step.rule for step in found.steps].count("store_local") == 2
    assert refusal(relift.Program(program.name, program.parameters, found.result)) is None


def _applies(tactic: Tactic, program: Program) -> bool:
    try:
        return bool(derive(program, tactic).steps)
    except NoMatch:
        return False


def test_what_stays_as_it_is_goes_with_the_tiles() -> None:
    @typed(x=f32[21], s=f32[21])
    def heated(x: Any, s: Any) -> Any:
        for _ in range(2):
            x = rl.map(lambda p: p[0][0] + p[0][2] - p[1], rl.zip(windows(rl.clamp, x), s))
        return x

    found = derive(heated, steps_in_tiles(8))

    assert same(heated, found.result)


def test_a_group_keeps_what_stands_between_the_steps() -> None:
    program = repeated(STEPS["clamp"], 3, 100)

    found = derive(program, then(steps_in_tiles(16), topdown(stages_by_groups(1, 1 << 14))))

    stored = [step.rule for step in found.steps if step.rule == "store_local"]
    assert len(stored) == 2
    assert refusal(relift.Program(program.name, program.parameters, found.result)) is None


def test_one_step_is_no_tile() -> None:
    with pytest.raises(NoMatch, match="several steps"):
        derive(repeated(STEPS["clamp"], 1, 16), steps_in_tiles(8))


@pytest.mark.parametrize(("turns", "loops", "last"), [(12, 3, 0), (13, 3, 1), (100, 10, 0)])
def test_steps_that_are_left_come_last(turns: int, loops: int, last: int) -> None:
    @typed(x=f32[4])
    def halved(x: Any) -> Any:
        return rl.iterate(turns, lambda y: rl.map(lambda v: v * 0.5, y), x)

    found = derive(halved, several_steps(16, 3))

    shown = relift.show(found.result)
    assert f"iterate({loops}, " in " ".join(shown.split()).replace("iterate( ", "iterate(")
    assert [step.rule for step in found.steps].count("iterate_last") == last


@pytest.mark.parametrize(
    ("step", "lengths"), [(STEPS["clamp"], (4099,)), (STEPS_OF_TABLES["clamp"], (65, 66))]
)
def test_a_gpu_does_several_steps_in_one_launch(step: Step, lengths: tuple[int, ...]) -> None:
    @typed(x=f32[lengths])
    def heat(x: Any) -> Any:
        return rl.iterate(12, step, x)

    best = relift.optimize(heat, {}, GPU).candidates[0]

    assert best.cost.launch < 12 * GPU.launch_seconds / 2


def test_steps_that_are_written_out_are_one_launch_too() -> None:
    program = repeated(STEPS_OF_TABLES["constant"], 2, 65, 66)

    best = relift.optimize(program, {}, GPU).candidates[0]

    assert best.cost.launch == GPU.launch_seconds
