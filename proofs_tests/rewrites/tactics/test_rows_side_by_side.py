"""Short rows of which a group has several: derived by PROVED rules, right where members share them evenly or not, without races."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import relift as rl
from proofs_tests.nested_results import require_same
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.device import GPU
from relift.egraph.cost.model import least_seconds
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.groups.row_tiles import rows_in_groups
from relift.rewrites.tactics.groups.rows.side_by_side import rows_side_by_side
from relift.semantics.language.programs import Program

b, n, m = rl.nat("b"), rl.nat("n"), rl.nat("m")


def softmax_of(row: Any) -> Any:
    top = rl.reduce(rl.maximum, float("-inf"), row)
    powers = rl.map(lambda x: rl.exp(x - top), row)
    total = rl.reduce(rl.add, 0.0, powers)
    return rl.map(lambda p: p / total, powers)


@rl.program
def softmax(x: rl.f32[n, m]) -> Any:
    return rl.map(softmax_of, x)


@rl.program
def masked(x: rl.f32[n, m], kept: rl.i32[n, m]) -> Any:
    """What the folds take is computed of two rows."""
    of_two = lambda p: rl.map(lambda q: rl.select(q[1] > 0, q[0], -9.0), rl.zip(p[0], p[1]))
    return rl.map(lambda p: softmax_of(of_two(p)), rl.zip(x, kept))


@rl.program
def normed(x: rl.f32[n, m], gain: rl.f32[m], bias: rl.f32[n]) -> Any:
    """A fold from what is not neutral, and operands along both axes."""

    def of_a_row(p: Any) -> Any:
        total = rl.reduce(rl.add, 1.0, rl.map(lambda v: v * v, p[0]))
        return rl.map(lambda q: q[0] * rl.rsqrt(total) * q[1] + p[1], rl.zip(p[0], gain))

    return rl.map(of_a_row, rl.zip(x, bias))


@rl.program
def number_and_row(x: rl.f32[n, m]) -> Any:
    """Two results of each row, of which one is a number."""

    def of_a_row(row: Any) -> Any:
        total = rl.reduce(rl.add, 0.0, row)
        return total, rl.map(lambda v: v - total, row)

    return rl.map(of_a_row, x)


@rl.program
def variance(x: rl.f32[n, m]) -> Any:
    """A number of each row."""

    def of_a_row(row: Any) -> Any:
        mean = rl.reduce(rl.add, 0.0, row) / m
        return rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - mean) * (v - mean), row)) / m

    return rl.map(of_a_row, x)


@rl.program
def of_batches(x: rl.f32[b, n, m]) -> Any:
    return rl.map(lambda rows: rl.map(softmax_of, rows), x)


PROGRAMS = (softmax, masked, normed, number_and_row, variance)


def low_level(
    program: Program, sizes: dict[str, int], most: int = 8, items: int = 64, depth: int = 1
) -> Program:
    """A program by groups of about so many work-items, its rows by at most so many each."""
    found = derive(program, rows_side_by_side(depth, most, items, 4), sizes)
    require_proved((step.rule for step in found.steps), RULES)
    return replace(found.program, body=found.result)


def require_right(compiled: Compiled, program: Program, *devices: str) -> None:
    inputs = random_inputs(program, 0)
    for device in devices:
        require_same(compiled(*inputs, device=device), program(*inputs))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.parametrize(
    ("rows", "length"), [(64, 32), (37, 96), (5, 20), (1, 23), (33, 47)], ids=str
)
def test_short_rows_are_right_and_free_of_races(program: Program, rows: int, length: int) -> None:
    """Of whole groups of rows or not, in vectors or not, with elements that no member shares or without."""
    found = low_level(program, {"n": rows, "m": length})
    compiled = compile_program(found)
    assert all(claim.ok for claim in compiled.certificates)
    require_right(compiled, found, "cpu", "c")


@pytest.mark.parametrize("program", [softmax, of_batches], ids=lambda p: p.name)
def test_members_of_several_rows_are_one_group(program: Program) -> None:
    """Eight members for each of eight rows, which wait twice: for each fold once, whatever the row's length."""
    batches = program is of_batches
    sizes = {"n": 16, "m": 96, **({"b": 3} if batches else {})}
    found = low_level(program, sizes, depth=2 if batches else 1)
    compiled = compile_program(found)
    (kernel,) = compiled.plan.kernels
    assert kernel.local[:2] == (8, 8)
    assert compiled.source.count("barrier(") == 2
    require_right(compiled, found, "cpu")


@pytest.mark.parametrize(
    ("length", "most", "why"),
    [
        (4, 8, "no rows of which 8 members fold"),
        (8 * 64 + 1, 8, "no rows of which 8 members fold up to 64 elements each"),
        (197, 4, "4 members read less of a row at a time than memory sends"),
    ],
)
def test_rows_that_are_no_use_to_several_members_are_left(length: int, most: int, why: str) -> None:
    with pytest.raises(NoMatch, match=why):
        low_level(softmax, {"n": 64, "m": length}, most)


def test_what_folds_nothing_has_no_members() -> None:
    @rl.program
    def doubled(x: rl.f32[n, m]) -> Any:
        return rl.map(lambda row: rl.map(lambda v: v + v, row), x)

    with pytest.raises(NoMatch, match="no map over rows is here whose function folds a row"):
        low_level(doubled, {"n": 64, "m": 96})


@pytest.mark.parametrize(("rows", "length"), [(37, 9), (65, 16), (3, 12)])
def test_rows_in_local_memory_need_not_fill_the_last_group(rows: int, length: int) -> None:
    """A work-item for each row: of the last group only those rows are written that there are."""
    found = derive(softmax, rows_in_groups(32, 48 * 1024), {"n": rows, "m": length})
    program = replace(found.program, body=found.result)
    compiled = compile_program(program)
    assert all(claim.ok for claim in compiled.certificates)
    require_right(compiled, program, "cpu", "c")


@pytest.mark.parametrize(
    ("rows", "length"), [(1677721, 10), (131072, 128), (167772, 100), (65536, 256), (100001, 63)]
)
def test_the_search_reads_short_rows_once(rows: int, length: int) -> None:
    """Of any number and length: up to four times as long were taken by groups of a row each, or of rows that do not fill them."""
    sizes = {"n": rows, "m": length}
    best = optimize(softmax, sizes, "gpu", top=1).candidates[0]
    bound = least_seconds(softmax.at(sizes), GPU)
    assert best.cost.seconds < 1.4 * bound + 2 * GPU.launch_seconds
