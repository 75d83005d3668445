"""Neighbouring rows or columns in the lanes of a work-item's vectors: derived by PROVED rules, right where they fill no group, chosen."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import relift as rl
from proofs_tests.nested_results import require_same
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import Tactic, apply, derive, inside, then
from relift.rewrites.tactics.folds.shared import tables_in_registers
from relift.rewrites.tactics.groups.row_tiles import rows_in_groups
from relift.rewrites.tactics.groups.rows.in_lanes import columns_in_lanes_of_groups
from relift.semantics.language.programs import Program

b, n, m, k = rl.nat("b"), rl.nat("n"), rl.nat("m"), rl.nat("k")
KMEANS = load_program(str(Path(__file__).parents[3] / "examples" / "kmeans.py"))


def total(xs: Any) -> Any:
    return rl.reduce(rl.add, 0.0, xs)


@rl.program
def sums(a: rl.f32[n, m]):
    return rl.map(total, rl.transpose(a))


@rl.program
def products(a: rl.f32[n, m], c: rl.f32[n, m]):
    """Columns of two tables beside each other."""
    both = rl.zip(rl.transpose(a), rl.transpose(c))
    return rl.map(lambda p: total(rl.map(lambda q: q[0] * q[1], rl.zip(p[0], p[1]))), both)


@rl.program
def least_places(a: rl.f32[n, m]):
    """A fold of tuples."""

    def later(best, v):
        taken = v < best[0]
        return rl.minimum(best[0], v), rl.select(taken, best[2], best[1]), best[2] + 1

    start = (float("inf"), 0, 0)
    return rl.map(lambda c: rl.reduce_seq(later, start, c)[1], rl.transpose(a))


@rl.program
def nearest(points: rl.f32[m, n], centres: rl.f32[k, m]):
    def gap(p):
        return (p[0] - p[1]) * (p[0] - p[1])

    def least(point):
        gaps = rl.map(lambda c: total(rl.map(gap, rl.zip(point, c))), centres)
        return rl.reduce(rl.minimum, float("inf"), gaps)

    return rl.map(least, rl.transpose(points))


@rl.program
def norms(a: rl.f32[b, n, m]):
    """Columns of several tables."""
    squares = lambda c: total(rl.map(lambda v: v * v, c))
    return rl.map(lambda t: rl.map(squares, rl.transpose(t)), a)


ROOM = 48 * 1024
IN_TABLES = then(inside("f")(columns_in_lanes_of_groups(4)), apply("map_to_wrg", d=1))
CASES = [
    (sums, columns_in_lanes_of_groups(4), {"n": 9, "m": 256}),
    (sums, columns_in_lanes_of_groups(2), {"n": 17, "m": 66}),
    (sums, columns_in_lanes_of_groups(1), {"n": 40, "m": 131}),
    (products, columns_in_lanes_of_groups(4), {"n": 8, "m": 132}),
    (least_places, columns_in_lanes_of_groups(4), {"n": 9, "m": 260}),
    (norms, IN_TABLES, {"b": 3, "n": 9, "m": 132}),
    (
        nearest,
        then(tables_in_registers(), columns_in_lanes_of_groups(2)),
        {"n": 70, "m": 17, "k": 5},
    ),
    (KMEANS, rows_in_groups(32, ROOM, 2), {"n": 65, "k": 3, "d": 9}),
    (KMEANS, then(tables_in_registers(), rows_in_groups(64, ROOM, 2)), {"n": 1, "k": 5, "d": 34}),
]


@pytest.mark.parametrize(("program", "tactic", "sizes"), CASES)
def test_lanes_are_right_and_free_of_races(
    program: Program, tactic: Tactic, sizes: dict[str, int]
) -> None:
    """Where they fill groups and where not; by PROVED rules, in two languages."""
    found = derive(program, tactic, sizes)
    require_proved((step.rule for step in found.steps), RULES)
    low = replace(found.program, body=found.result)
    compiled = compile_program(low)
    assert all(claim.ok for claim in compiled.certificates)
    inputs = random_inputs(low, 0)
    for device in ("cpu", "c"):
        require_same(compiled(*inputs, device=device), low(*inputs), near=1e-5)


@pytest.mark.parametrize(
    ("program", "lanes", "sizes", "why"),
    [
        (sums, 4, {"n": 7, "m": 256}, "a work-item reads few numbers"),
        (sums, 4, {"n": 9, "m": 258}, "rows of 258 numbers are no vectors of 4"),
        (sums, 4, {"n": 9, "m": 64}, "64 columns fill no group of 128"),
        (KMEANS, 2, {"n": 256, "k": 5, "d": 34}, "what is folded does not lie side by side"),
    ],
)
def test_what_lanes_do_not_suit_is_left(
    program: Program, lanes: int, sizes: dict[str, int], why: str
) -> None:
    with pytest.raises(NoMatch, match=why):
        derive(program, columns_in_lanes_of_groups(lanes), sizes)


def test_a_work_item_that_writes_a_row_has_one() -> None:
    @rl.program
    def centred(a: rl.f32[n, m]):
        return rl.map(lambda row: rl.map(lambda v: v - total(row), row), a)

    with pytest.raises(NoMatch, match="a work-item writes one row"):
        derive(centred, rows_in_groups(32, ROOM, 2), {"n": 64, "m": 9})


def test_the_search_folds_columns_for_many_centres_in_lanes() -> None:
    """An H200 takes 34 us so, and 38 with a work-item for each point."""
    best = optimize(nearest, {"n": 819200, "m": 34, "k": 5}, "gpu", top=1).candidates[0]
    source = compile_program(best.term).source
    assert "reqd_work_group_size(32, 1, 1)" in source
    assert "global const float4*" in source
