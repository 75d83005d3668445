"""Scans with affine steps in chunks: derived by proved rules, computed by groups of a GPU, and as the interpreter has them."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import relift as rl
from relift.compiler.program import compile_program
from relift.device import GPU
from relift.egraph.cost.model import estimate, least_seconds
from relift.egraph.search.proposals import Proposals
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.recurrences import affine_steps, by_operators, chunks_scanned
from relift.rewrites.tactics.groups.scans import columns_scanned, rows_scanned, scans_in_groups
from relift.rewrites.tactics.transpositions import scans_across
from relift.semantics.language.programs import Program

n, m = rl.nat("n"), rl.nat("m")
ROOM = 48 * 1024


@rl.program
def weighted(x: rl.i32[m]):
    return rl.scan_seq(lambda acc, v: 2 * acc + v, 7, x)


@rl.program
def weighted_rows(x: rl.i32[n, m]):
    return rl.map(lambda r: rl.scan_seq(lambda acc, v: v + 3 * acc + 3, 7, r), x)


@rl.program
def weighted_columns(x: rl.i32[m, n]):
    column = lambda c: rl.scan_seq(lambda acc, v: v + 3 * acc + 3, 7, c)
    return rl.transpose(rl.map(column, rl.transpose(x)))


@rl.program
def gated(g: rl.i32[n, m], x: rl.i32[n, m]):
    step = lambda acc, p: p[0] * acc + (1 - p[0]) * p[1]
    return rl.map(lambda r: rl.scan_seq(step, 7, rl.zip(r[0], r[1])), rl.zip(g, x))


def steps_in_order(factors: np.ndarray, added: np.ndarray) -> np.ndarray:
    """What the steps along the last dimension come to, from 7 on; whole numbers wrap."""
    found, acc = np.empty_like(added), np.full(added.shape[:-1], 7, np.int32)
    for i in range(added.shape[-1]):
        acc = factors[..., i] * acc + added[..., i]
        found[..., i] = acc
    return found


def wanted(program: Program, *given: np.ndarray) -> np.ndarray:
    x = given[-1]
    if program is gated:
        return steps_in_order(given[0], (1 - given[0]) * x)
    if program is weighted:
        return steps_in_order(np.full_like(x, 2), x)
    if program is weighted_columns:
        return steps_in_order(np.full_like(x.T, 3), x.T + 3).T
    return steps_in_order(np.full_like(x, 3), x + 3)


@pytest.mark.parametrize(
    ("program", "tactic", "sizes", "kernels"),
    [
        (weighted, scans_in_groups(8, 4, ROOM), {"m": 4096}, 5),
        (weighted, scans_in_groups(8, 4, ROOM), {"m": 2048 + 32 + 7}, 5),
        (weighted_rows, rows_scanned(8, 4, ROOM), {"n": 3, "m": 29}, 1),
        (weighted_rows, rows_scanned(8, 4, ROOM), {"n": 3, "m": 67}, 3),
        (weighted_columns, columns_scanned(16), {"m": 67, "n": 3}, 3),
        (gated, rows_scanned(8, 4, ROOM), {"n": 3, "m": 32}, 1),
        (gated, rows_scanned(8, 4, ROOM), {"n": 3, "m": 67}, 3),
    ],
    ids=[
        "an array", "an array of no whole chunks", "rows of no whole chunks", "rows in chunks",
        "columns in chunks", "steps of pairs", "steps of pairs in chunks",
    ],
)  # fmt: skip
def test_what_chunks_come_to_is_found_side_by_side(
    program: Program, tactic: Tactic, sizes: dict[str, int], kernels: int
) -> None:
    found = derive(program, tactic, sizes)
    require_proved((step.rule for step in found.steps), RULES)
    compiled = compile_program(replace(program.at(sizes), body=found.result))
    assert compiled.source.count("kernel void") == kernels
    draw = np.random.default_rng(0)
    given = [draw.integers(-9, 9, tuple(sizes.values())).astype(np.int32) for _ in range(2)]
    given = given[: len(program.parameters)]
    np.testing.assert_array_equal(compiled(*given), wanted(program, *given))


@pytest.mark.parametrize(
    "step",
    [
        lambda s, v: rl.sqrt(s) * 0.5 + v,
        lambda s, v: s * s + v,
        lambda s, v: 0.5 * s + s * v,
        lambda s, v: rl.maximum(0.5 * s, v),
    ],
    ids=["of a root", "of a square", "of two multiples", "of a maximum"],
)
def test_other_steps_stay_in_order(step) -> None:
    @rl.program
    def steps(x: rl.f32[m]):
        return rl.scan_seq(step, 0.0, x)

    with pytest.raises(NoMatch):
        derive(steps, affine_steps, {"m": 64})


STEPS = {
    "a sum": (lambda s, v: s + v, "scan_seq(add, 0.0, x)"),
    "the other way round": (lambda s, v: v + s, "scan_seq(add, 0.0, x)"),
    "of what is computed": (lambda s, v: s + v * v, "scan_seq(add, 0.0, map(lambda x_: x_ * x_, x))"),
    "by the operator": (
        lambda s, v: rl.add(v * v, s), "scan_seq(add, 0.0, map(lambda x_: x_ * x_, x))"
    ),
    "of three": (
        lambda s, v: (s + v) + 2.0 * v, "scan_seq(add, 0.0, map(lambda x_: add(x_, 2.0 * x_), x))"
    ),
    "a product": (lambda s, v: s * rl.exp(v), "scan_seq(mul, 0.0, map(lambda x_: exp(x_), x))"),
    "a maximum": (
        lambda s, v: rl.maximum(rl.absolute(v), s),
        "scan_seq(maximum, 0.0, map(lambda x_: absolute(x_), x))",
    ),
    "a minimum": (lambda s, v: rl.minimum(s, v), "scan_seq(minimum, 0.0, x)"),
    "of a constant": (lambda s, v: s + 1.0, "scan_seq(add, 0.0, map(lambda x_: 1.0, x))"),
    "where something holds": (
        lambda s, v: rl.select(v > 0.0, v + s, s),
        "scan_seq(add, 0.0, map(lambda x_: select(x_ > 0.0, x_, 0.0), x))",
    ),
    "a product where something holds": (
        lambda s, v: rl.select(v > 0.0, s * v, s),
        "scan_seq(mul, 0.0, map(lambda x_: select(x_ > 0.0, x_, 1.0), x))",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("step", "wanted"), STEPS.values(), ids=STEPS)
def test_steps_are_those_of_an_operator(step, wanted: str) -> None:
    @rl.program
    def steps(x: rl.f32[m]):
        return rl.scan_seq(step, 0.0, x)

    @rl.program
    def folded(x: rl.f32[m]):
        return rl.reduce_seq(step, 0.0, x)

    for program, said in ((steps, wanted), (folded, wanted.replace("scan_seq", "reduce"))):
        found = derive(program, by_operators(), {"m": 8})
        require_proved((each.rule for each in found.steps), RULES)
        assert rl.show(found.result) == said


@pytest.mark.parametrize(
    "step",
    [
        rl.add,
        lambda s, v: 0.5 * s + v,
        lambda s, v: rl.maximum(s, v) + v,
        lambda s, v: s + s * v,
        lambda s, v: v - s,
        lambda s, v: rl.select(s > v, s + v, s),
        lambda s, v: rl.select(v > 0.0, s + v, v),
    ],
    ids=[
        "of an operator already",
        "affine",
        "of two operators",
        "of what is carried",
        "no law",
        "chosen by it",
        "kept nowhere",
    ],
)
def test_steps_that_are_no_operators_stay(step) -> None:
    @rl.program
    def steps(x: rl.f32[m]):
        return rl.scan_seq(step, 0.0, x)

    with pytest.raises(NoMatch):
        derive(steps, by_operators(), {"m": 8})


def test_a_fold_of_an_operator_without_a_law_stays_in_order() -> None:
    of = {
        law: rl.operator(lambda x, y: x + y, name=law, associative=law == "sum")
        for law in ("sum", "some")
    }

    def folded(law: str) -> Program:
        @rl.program
        def fold(x: rl.f32[m]):
            return rl.reduce_seq(of[law], 0.0, x)

        return fold

    assert rl.show(derive(folded("sum"), by_operators(), {"m": 8}).result) == "reduce(sum, 0.0, x)"
    with pytest.raises(NoMatch):
        derive(folded("some"), by_operators(), {"m": 8})


def test_a_search_for_a_gpu_finds_for_steps_what_it_finds_for_their_operator() -> None:
    """And not one work-item for all: of a long array, and of rows."""

    @rl.program
    def by_steps(x: rl.f32[n, m]):
        return rl.map(lambda r: rl.scan_seq(lambda s, v: rl.maximum(s, v * v), 0.0, r), x)

    @rl.program
    def by_an_operator(x: rl.f32[n, m]):
        return rl.map(lambda r: rl.scan_seq(rl.maximum, 0.0, rl.map(lambda v: v * v, r)), x)

    found = [rl.optimize(p, {"n": 4000, "m": 1024}, "gpu").cost for p in (by_steps, by_an_operator)]
    assert found[0].seconds < 1.05 * found[1].seconds

    @rl.program
    def along(x: rl.f32[m], y: rl.f32[m]):
        step = lambda s, p: s + rl.absolute(p[0]) * p[1]
        return rl.scan_seq(step, 0.0, rl.zip(rl.map(rl.absolute, x), y))

    @rl.program
    def folded(x: rl.f32[m]):
        return rl.reduce_seq(lambda s, v: s + v * v, 1.0, x)

    sizes = {"m": 1 << 22}
    for program in (along, folded):
        least = least_seconds(program.at(sizes), GPU)
        assert rl.optimize(program, sizes, "gpu").cost.seconds < 3 * least


def test_floating_point_that_is_to_be_exact_stays_in_order() -> None:
    @rl.program
    def averages(x: rl.f32[m]):
        return rl.scan_seq(lambda s, v: 0.9 * s + 0.1 * v, 0.0, x)

    with pytest.raises(NoMatch):
        derive(averages, chunks_scanned(16), {"m": 64}, policy="exact")


def test_a_search_for_a_gpu_has_rows_of_averages_by_groups() -> None:
    """Rows are neither copied by columns nor gone along by a work-item each: they are read and written once."""

    @rl.program
    def averages(x: rl.f32[n, m]):
        return rl.map(lambda r: rl.scan_seq(lambda s, v: 0.9 * s + 0.1 * v, 0.0, r), x)

    sizes = {"n": 4001, "m": 5003}
    with pytest.raises(NoMatch):
        derive(averages, scans_across(), sizes)
    program = averages.at(sizes)
    tactic = rows_scanned(256, 32, GPU.local_memory_bytes)
    (proposal, *_) = Proposals(averages, sizes, GPU).derived(tactic)
    assert estimate(proposal.low, GPU).seconds < 1.5 * least_seconds(program, GPU)


def test_what_is_added_where_something_holds_is_added_in_order_where_floats_are_exact() -> None:
    """To -0.0 a neutral 0.0 is not nothing."""

    @rl.program
    def held(x: rl.f32[m]):
        return rl.reduce_seq(lambda s, v: rl.select(v > 0.0, s + v, s), 0.0, x)

    with pytest.raises(NoMatch):
        derive(held, by_operators(), {"m": 8}, "exact")
