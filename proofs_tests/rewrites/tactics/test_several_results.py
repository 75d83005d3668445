"""Several results for a work-item: PROVED rules, right results, and each element that they share is read once."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import ROOT
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import Tactic, derive, then
from relift.rewrites.tactics.folds.in_vectors import rows_in_vectors
from relift.rewrites.tactics.folds.several_results import several_results
from relift.rewrites.tactics.folds.shared import tables_in_registers
from relift.rewrites.tactics.groups.row_tiles import rows_in_groups
from relift.rewrites.tactics.groups.stencils import lines_in_groups, strips_of_lines
from relift.rewrites.tactics.looked_up import tuples_side_by_side
from relift.rewrites.tactics.transpositions import columns
from relift.semantics.patterns import ReduceSeq, ReduceSeqUnroll, Transpose
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import Array

n, m, r = rl.nat("n"), rl.nat("m"), rl.nat("r")


def example(name: str) -> rl.Program:
    return load_program(str(ROOT / "examples" / f"{name}.py"))


def lowered(program: rl.Program, tactic: Tactic, sizes: Mapping[str, int]) -> rl.Program:
    """What a tactic makes of a program, by PROVED rules, which computes the same."""
    found = derive(program, tactic, sizes)
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    low = replace(program.at(sizes), body=found.result)
    inputs = random_inputs(program.at(sizes), 0)
    for got, wanted in zip(
        parts(compile_program(low)(*inputs)), parts(program.at(sizes)(*inputs)), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=1e-4)
    return low


def parts(value: Any) -> list[Any]:
    return [part for each in value for part in parts(each)] if isinstance(value, tuple) else [value]


def accumulators(low: rl.Program) -> set[int]:
    """How many accumulators the folds in registers have."""
    return {
        t.type.length.constant or 0
        for t, _ in subterms(low.body)
        if isinstance(t, ReduceSeq | ReduceSeqUnroll) and isinstance(t.type, Array)
    }


@rl.program
def nearest(x: rl.f32[n], y: rl.f32[m]):
    """The least distance of each of the first from the others, squared, and one more."""

    def least(v):
        gaps = rl.map(lambda w: (v - w) * (v - w), y)
        return rl.reduce(rl.minimum, float("inf"), gaps) + 1.0

    return rl.map(least, x)


@pytest.mark.parametrize(
    ("program", "sizes", "own", "chunks"),
    [
        (example("histogram"), {"n": 64, "b": 8}, 4, 2),
        (example("histogram"), {"n": 4096, "b": 4}, 2, 256),  # as many chunks as a group folds
        (example("nbody_nvidia"), {"n": 32}, 2, 2),  # an operator on tuples, component by component
        (example("mriq"), {"n": 8, "k": 16}, 4, 1),
        (nearest, {"n": 8, "m": 16}, 2, 2),
        (
            nearest,
            {"n": 7, "m": 19},
            2,
            2,
        ),  # of the last one's results one is written, and three numbers are left
        (example("nbody_nvidia"), {"n": 31}, 4, 2),
        (example("mriq"), {"n": 9, "k": 13}, 4, 1),
        (example("histogram"), {"n": 1031, "b": 5}, 2, 128),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_a_work_item_has_several_folds(
    program: rl.Program, sizes: dict[str, int], own: int, chunks: int
) -> None:
    low = lowered(program, several_results(own, chunks, 4), sizes)
    assert accumulators(low) == {own}


def test_folds_of_what_is_their_own_are_left_alone() -> None:
    """Sums of rows; and chunks of which much is left, or that are longer than what there is."""

    @rl.program
    def sums(a: rl.f32[n, m]):
        return rl.map(lambda row: rl.reduce(rl.add, 0.0, row), a)

    with pytest.raises(NoMatch, match="read one array"):
        derive(sums, several_results(2, 2, 4), {"n": 8, "m": 16})
    for sizes, chunks in (
        ({"n": 8, "m": 96 + 255}, 64),
        ({"n": 1, "m": 16}, 2),
        ({"n": 8, "m": 7}, 2),
    ):
        with pytest.raises(NoMatch, match="leave few"):
            derive(nearest, several_results(2, chunks, 4), sizes)


def test_the_distances_of_a_point_stay_in_registers() -> None:
    """A cell of a point is read once for all centres; also where a group has copied the points."""
    tactic = then(tables_in_registers(), rows_in_groups(8, 48 * 1024))
    low = lowered(example("kmeans"), tactic, {"n": 16, "k": 5, "d": 10})
    assert accumulators(low) == {5}
    with pytest.raises(NoMatch):
        derive(example("kmeans"), tables_in_registers(), {"n": 16, "k": 40, "d": 10})


def test_what_is_looked_up_is_looked_up_at_the_lanes_of_vectors() -> None:
    low = lowered(example("md"), then(rows_in_vectors(4), tuples_side_by_side), {"n": 16, "k": 8})
    assert "int4" in compile_program(low).source


def blurred(line, weights):
    """The weighted sums of the windows of a line."""

    def weighted(window):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(window, weights)))

    return rl.map(weighted, rl.slide(2 * r + 1, 1, rl.pad(r, r, 0.0, line)))


@rl.program
def along(image: rl.f32[n, m], weights: rl.f32[2 * r + 1]):
    return rl.map(lambda line: blurred(line, weights), image)


@rl.program
def down(image: rl.f32[n, m], weights: rl.f32[2 * r + 1]):
    return rl.transpose(rl.map(lambda line: blurred(line, weights), rl.transpose(image)))


def test_a_work_item_has_several_windows_of_a_line() -> None:
    """Every eighth, so that neighbours read neighbours; or a strip, whose cells it keeps in registers."""
    sizes = {"n": 4, "m": 32, "r": 2}
    assert accumulators(lowered(along, lines_in_groups(32, 8), sizes)) == {4}
    low = lowered(down, strips_of_lines(2, kept=True), sizes)
    kernel = compile_program(low).source
    assert kernel.count("image[") == 2 + 2 * 2  # each cell of the strip once


@rl.program
def two_passes(a: rl.f32[n, m], u: rl.f32[n], v: rl.f32[m], x: rl.f32[n]):
    """The product of a changed matrix with its product with a vector."""

    def product(rows, y):
        def dot(row):
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, y)))

        return rl.map(dot, rows)

    rows = rl.map(lambda q: rl.map(lambda p: p[0] + q[1] * p[1], rl.zip(q[0], v)), rl.zip(a, u))
    return product(rows, product(rl.transpose(rows), x))


def test_the_columns_of_a_computed_table_are_computed() -> None:
    """So that two passes over it need no table in memory."""
    sizes = {"n": 8, "m": 16}
    found = derive(two_passes, columns, sizes)
    require_proved((step.rule for step in found.steps), RULES)
    assert "transpose_map_zip" in {step.rule for step in found.steps}
    program = two_passes.at(sizes)
    computed = (t for t, _ in subterms(found.result) if isinstance(t, Transpose))
    assert all(str(t.xss) == str(program.parameters[0]) for t in computed)
    inputs = random_inputs(program, 0)
    np.testing.assert_allclose(
        replace(program, body=found.result)(*inputs), program(*inputs), rtol=1e-4
    )
