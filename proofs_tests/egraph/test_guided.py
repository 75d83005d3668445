"""Guided search: the stages planned from a sketch lead there, and the derivation holds at any tiles."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import session
from proofs_tests.portions import portioned
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program, refusal
from relift.device import CPU
from relift.egraph.process.saturation import Budget
from relift.egraph.process.saturation_child import peak_mb
from relift.egraph.search.guidance.guided import GoalResult, Guide, reach
from relift.egraph.search.guidance.planning import Loop, assign, loops_of, model_sizes, waypoints
from relift.egraph.search.optimize import optimize
from relift.egraph.sketches.language import Sketch, sketch
from relift.egraph.sketches.search import Unsatisfied
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.files import from_json, to_json
from relift.rewrites.ledger.book import is_proved, verdict
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_file
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.patterns import MapGlb, Reduce, ReduceSeqUnroll, ToGlobal
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.terms import subterms

GOALS = load_file(Path(__file__).parents[2] / "examples" / "popl24_goals.py")
BINOMIAL = load_file(Path(__file__).parents[2] / "examples" / "binomial.py")
TILES = {"tn": 32, "tm": 32, "tk": 4, "w": 16}

n, m, k, nine = rl.nat("n"), rl.nat("m"), rl.nat("k"), 9


@rl.program
def cube(A: rl.f32[n, m, k]):
    """A function of every element of three dimensions."""
    return rl.map(lambda x: rl.map(lambda y: rl.map(lambda z: z * z + 1.0, y), x), A)


def sizes_of(goal: Sketch, **sizes: int) -> dict[str, int]:
    """The sizes that a goal needs, all dimensions 1024 unless given."""
    known = {"n": 1024, "m": 1024, "k": 1024, **TILES, **sizes}
    return {name: v for name, v in known.items() if name in ("n", "m", "k", *goal.names)}


@cache
def reached(name: str) -> GoalResult:
    """A goal of the matrix product, at 1024^3; it takes seconds, and several tests look at it."""
    goal = GOALS.GOALS[name]
    return reach(GOALS.product, goal, sizes_of(goal))


def scan_line(program: Program, rules: Sequence[str] = BINOMIAL.RULES) -> GoalResult:
    """A filter of 1024 by 2048 pixels, to the sketch of the scan-line form."""
    goal = BINOMIAL.SCANLINE
    return reach(program, goal, {"n": 1024, "m": 2048}, stages=[(rules, goal)])


def test_the_binomial_filter_reaches_its_scan_line_form() -> None:
    """From the sketch alone, in a small e-graph, by proved rules; confirmed by the interpreter."""
    found = scan_line(BINOMIAL.binomial)
    terms = found.derivation.replay(RULES)
    used = {step.rule for step in found.derivation.steps}

    assert found.classes < 300
    assert "separate_dot_vh" in used
    assert all(is_proved(verdict(RULES[name])) for name in used)
    sums = [str(t.xs.type) for t, _ in subterms(terms[-1]) if isinstance(t, Reduce)]
    assert sums == ["f32[3]", "f32[3]"]
    assert confirm(found.derivation, RULES) is not None


def test_a_filter_whose_weights_are_no_product_is_not_separated() -> None:
    """The same windows with nine weights of their own, and with a product that does not distribute."""

    @rl.program
    def any_weights(image: rl.f32[n + 2, m + 2], ws: rl.f32[nine]):
        def weighted(pixels):
            pairs = rl.zip(ws, rl.join(pixels))
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: rl.mul(p[0], p[1]), pairs))

        return rl.map_nd(2, weighted, rl.slide_nd((3, 3), (1, 1), image))

    undeclared = rl.operator(
        lambda x, y: x * y, associative=True, commutative=True, name="undeclared"
    )

    @rl.program
    def undistributed(image: rl.f32[n + 2, m + 2]):
        weights = rl.literal_array([0.25, 0.5, 0.25])
        window = rl.join(rl.map(lambda v: rl.map(lambda h: undeclared(v, h), weights), weights))

        def weighted(pixels):
            pairs = rl.zip(window, rl.join(pixels))
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: undeclared(p[0], p[1]), pairs))

        return rl.map_nd(2, weighted, rl.slide_nd((3, 3), (1, 1), image))

    for program in (any_weights, undistributed):
        with pytest.raises(Unsatisfied, match=r"no term satisfies|no term equal"):
            scan_line(program)


@pytest.mark.parametrize("name", GOALS.GOALS)
def test_every_goal_of_the_matrix_product_is_reached(name: str) -> None:
    """At 1024^3, in small e-graphs and 500 MB, with a derivation that replays and is confirmed."""
    found = reached(name)
    terms = found.derivation.replay(RULES)

    assert found.classes < 1_500  # a few seconds
    assert found.peak_mb - peak_mb() < 300  # this process is all of pytest
    assert found.derivation.sizes == {"n": 1024, "m": 1024, "k": 1024}
    assert len(terms) == len(found.derivation.steps) + 1
    patterns = {type(t) for t, _ in subterms(found.derivation.result)}
    assert (ReduceSeqUnroll in patterns) == (name in ("cache blocks", "parallel"))
    assert (MapGlb in patterns) == (name == "parallel")
    assert (ToGlobal in patterns) == (name in ("array packing", "cache blocks", "parallel"))


@portioned(
    "name,tile",
    [*((name, 16) for name in GOALS.GOALS), ("vectorisation", 32), ("parallel", 32)],
    {("baseline", 16), ("array packing", 16), ("parallel", 16), ("vectorisation", 32)},
    ids=lambda given: {16: "registers", 32: "private memory"}.get(given, given),
)
def test_every_goal_becomes_a_kernel(name: str, tile: int) -> None:
    """With accumulators that fit into registers and with larger ones, it computes the product."""
    goal = GOALS.GOALS[name]
    sizes = sizes_of(goal, n=64, m=64, k=32, tn=tile // 4, tm=tile, w=8)
    found = optimize(GOALS.product, sizes, CPU, sketch=goal, refused=refusal)
    A, B = random_inputs(found.source, 0)

    computed = compile_program(found.term)(A, B, device="cpu")
    np.testing.assert_allclose(computed, A.astype(np.float64) @ B, rtol=1e-4)


def test_a_goal_is_confirmed_by_the_interpreter() -> None:
    """The derivation of the parallel goal, redone with small tiles, keeps the program's value."""
    found = reached("parallel")
    small = found.at({"n": 4, "m": 8, "k": 6, "tn": 2, "tm": 4, "tk": 3, "w": 2})

    assert confirm(small, RULES) is not None


@pytest.mark.parametrize("name", ["blocking", "parallel"])
def test_a_goals_derivation_survives_its_file(name: str) -> None:
    """Its binders are nested under equal names, and are told apart anyway."""
    found = reached(name).derivation
    again = from_json(json.loads(json.dumps(to_json(found))), RULES)

    assert alpha_equal(again.replay(RULES)[-1], found.result)


def test_tiles_are_variables_of_the_plan() -> None:
    """One search serves every tile that divides the sizes; one that does not is refused."""
    found = reached("blocking")
    for tn, tm, tk in ((8, 64, 2), (64, 8, 16), (16, 16, 16)):
        other = found.at({"n": 128, "m": 128, "k": 64, "tn": tn, "tm": tm, "tk": tk})
        other.replay(RULES)
        lengths = [loop.length for loop in loops_of(other.result)]
        assert lengths == [128 // tn, 128 // tm, 64 // tk, tk, tn, tm]
    with pytest.raises(ReliftError, match="does not divide"):
        found.at({"n": 100, "m": 128, "k": 64, "tn": 32, "tm": 32, "tk": 4})


def test_three_dimensions_are_tiled() -> None:
    """Six loops in the order of a three-dimensional tiling, in small e-graphs."""
    loops = ("map[n // tn]", "map[m // tm]", "map[k // tk]", "map[tn]", "map[tm]", "map[tk]")
    text = "... + ..."
    for loop in reversed(loops):
        text = f"{loop}(... >= {text})"
    sizes = {"n": 12, "m": 10, "k": 21, "tn": 2, "tm": 5, "tk": 3}
    found = reach(cube, "... >= " + text, sizes)

    assert found.classes < 1_500
    assert [loop.length for loop in loops_of(found.derivation.result)] == [6, 2, 7, 2, 5, 3]
    assert confirm(found.derivation, RULES) is not None


def test_a_goal_out_of_reach_names_the_stage_and_the_part() -> None:
    """A loop that no rule makes is named."""
    with pytest.raises(Unsatisfied, match=r"no term satisfies this part of the sketch: map\[\d+\]"):
        reach(cube, "... >= map[n](... >= map[t](...))", {"n": 4, "m": 4, "k": 4, "t": 3})


def test_loops_are_assigned_by_kind_and_product() -> None:
    """A loop of the sketch belongs to the loop of the program whose length its group multiplies to."""
    source = [Loop("map", 6), Loop("map", 35), Loop("fold", 10)]
    wanted = [
        Loop("map", 2),
        Loop("map", 5),
        Loop("fold", 10),
        Loop("map", 3),
        Loop("map", 7),
    ]

    assert assign(source, wanted) == [[0, 3], [1, 4], [2]]
    assert assign(source, wanted[:-1]) is None


def test_every_waypoint_changes_one_thing() -> None:
    """Between two waypoints one loop is split or two neighbours have changed places."""
    goal = GOALS.GOALS["blocking"]
    model: Any = model_sizes(GOALS.product.sizes, goal)
    source = [Loop("map", model["n"]), Loop("map", model["m"]), Loop("fold", model["k"])]
    plan = waypoints(source, goal.at(model))

    assert plan is not None
    assert [w.stage.name for w in plan] == ["split and tile"] * 3 + ["reorder"] * 5


def test_numbers_in_a_sketch_are_searched_as_they_are() -> None:
    """A sketch that fixes a length by a number has no model sizes, and is reached anyway."""
    goal = sketch("... >= map[n // 4](... >= map[4](...))")
    assert model_sizes(("n", "m", "k"), goal) is None
    found = reach(cube, goal, {"n": 8, "m": 3, "k": 5})

    assert [loop.length for loop in loops_of(found.derivation.result)][:2] == [2, 4]


SQUARE = {"n": 8, "m": 12, "k": 15, "t": 4}


def test_a_users_own_stages_are_followed() -> None:
    """Each stage uses its rules alone, and the program goes through its sketch."""
    stages = [
        (("split_join",), "... >= map[n // t](... >= map[t](... >= map[m](...)))"),
        (("map_interchange_rows",), "... >= map[n // t](... >= map[m](... >= map[t](...)))"),
    ]
    found = reach(cube, stages[-1][1], SQUARE, stages=stages)

    assert [stage.name for stage in found.stages] == ["stage 1", "stage 2", "stage into memory"]
    assert {rule for stage in found.stages[:2] for rule in stage.firings} >= {"split_join"}
    assert [loop.length for loop in loops_of(found.derivation.result)] == [2, 12, 4, 15]


def test_a_stage_of_unknown_rules_is_refused() -> None:
    """A rule that the library does not have is named before anything is searched."""
    with pytest.raises(ReliftError, match="there is no rule split_jion"):
        reach(cube, "... >= map(...)", SQUARE, stages=[(("split_jion",), "... >= map(...)")])


def test_every_rule_is_accounted_for() -> None:
    """Matches and seconds are kept by rule."""
    found = reached("blocking")
    fired = {rule for stage in found.stages for rule, n in stage.firings.items() if n}
    timed = {rule for stage in found.stages for rule in stage.profile}

    assert {"split_join", "lift_reduce_seq", "map_interchange"} <= fired
    assert fired <= timed
    assert found.applied == sum(n for stage in found.stages for n in stage.firings.values())


RAN_OUT = (
    "the budget of {} ran out in the stage '{}', before the sketch was reached; "
    "give the search a larger one"
)
TOO_FEW = "a process of the search had 1 MB, too few for the program itself, so no rule was tried; raise memory_mb"


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (Budget(seconds=0.0), RAN_OUT.format("seconds", "normalise")),
        (Budget(nodes=1), RAN_OUT.format("nodes", "normalise")),
        (Budget(nodes=100), RAN_OUT.format("nodes", "reorder") + " (so far: "),
        (Budget(memory_mb=1), TOO_FEW),
    ],
)
def test_a_budget_too_small_is_an_answer(budget: Budget, message: str) -> None:
    """Without room for one iteration, or for one stage, the search says which budget ran out, and where."""
    goal = GOALS.GOALS["blocking"]
    with pytest.raises(ReliftError) as raised:
        Guide(GOALS.product, budget=budget).reach(goal, sizes_of(goal))
    assert raised.value.message.startswith(message)
    assert message.endswith("so far: ") or raised.value.message == message


def goals_in_a_process(*arguments: str) -> subprocess.Popen[str]:
    """The example of the goals, at small sizes, in a session of its own."""
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "examples/popl24_goals.py", "--size", "64", *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def test_the_table_of_goals_does_not_depend_on_the_number_of_workers() -> None:
    """The example prints a row for every goal; what is searched beside another differs in time and memory only."""
    with goals_in_a_process("--workers", "2") as process:
        printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    header, *rows = printed.splitlines()
    assert header.split() == ["goal", "nodes", "classes", "applied", "time", "memory", "steps"]
    assert [row[:18].strip() for row in rows] == list(GOALS.GOALS)
    for name, row in list(zip(GOALS.GOALS, rows, strict=True))[:1]:
        alone = GOALS.row(64, name)
        assert (row[:43], row[61:]) == (alone[:43], alone[61:])


@pytest.mark.skipif(
    not Path("/proc").exists(), reason="the processes of a session are read in /proc"
)
def test_an_interrupt_ends_both_workers_and_their_searches() -> None:
    """Ctrl-C while two goals are searched leaves no process of the session behind."""
    with goals_in_a_process("--workers", "2") as process:
        assert process.stdout is not None
        process.stdout.readline()  # the header
        process.stdout.readline()  # one goal is done, two others are searched, or will be in a moment
        searched = time.monotonic() + 60
        while len(session(process.pid)) <= 3 and time.monotonic() < searched:
            time.sleep(0.02)
        assert len(session(process.pid)) > 3
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode != 0
    assert session(process.pid) == []
