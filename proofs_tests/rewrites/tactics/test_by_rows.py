"""Columns that are folded by whole rows: PROVED rules, right results, and the search finds them."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.device import CPU, Packing
from relift.egraph.cost.model import estimate
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.by_rows import columns_by_rows, columns_of_each
from relift.semantics.language.programs import Program

WIDTH, ROOM = 4, 1024
n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")


def total(xs):
    return rl.reduce(rl.add, 0.0, xs)


@rl.program
def sums(A: rl.f32[n, m]):
    return rl.map(total, rl.transpose(A))


@rl.program
def product(A: rl.f32[n, m], x: rl.f32[n], y: rl.f32[m]):
    def of_column(p):
        terms = rl.map(lambda q: q[0] * q[1], rl.zip(p[0], x))
        return 2.0 * total(terms) + p[1]

    return rl.map(of_column, rl.zip(rl.transpose(A), y))


@rl.program
def added(A: rl.f32[n, m], y: rl.f32[m]):
    return rl.map(lambda p: p[0] + p[1], rl.zip(y, rl.map(total, rl.transpose(A))))


@rl.program
def among_others(A: rl.f32[n, m], y: rl.f32[m], z: rl.f32[m]):
    sums = rl.map(total, rl.transpose(A))
    return rl.map(lambda p: p[0] * p[1][0] - p[1][1], rl.zip(y, rl.zip(sums, z)))


@rl.program
def powers(A: rl.f32[n, m], top: rl.f32[m]):
    columns = rl.zip(rl.transpose(A), top)
    return rl.map(lambda p: total(rl.map(lambda v: rl.exp(v - p[1]), p[0])), columns)


@rl.program
def largest(A: rl.f32[n, m]):
    return rl.map(lambda column: rl.reduce(rl.maximum, 0.0, column), rl.transpose(A))


@rl.program
def of_tables(A: rl.f32[k, n, m]):
    return rl.map(lambda table: rl.map(total, rl.transpose(table)), A)


@rl.program
def norms(A: rl.f32[n, m]):
    return rl.map(lambda c: total(c) / total(rl.map(lambda v: v * v, c)), rl.transpose(A))


def right(program: Program, tactic: Tactic, sizes: Mapping[str, int]) -> str:
    """The text of what a tactic makes of a program, by PROVED rules, which computes the same."""
    found = derive(program, tactic, sizes)
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    at_sizes = program.at(sizes)
    compiled = compile_program(replace(at_sizes, body=found.result))
    inputs = random_inputs(at_sizes, 0)
    np.testing.assert_allclose(compiled(*inputs), at_sizes(*inputs), rtol=1e-4, atol=1e-5)
    return compiled.source


@pytest.mark.parametrize(
    "program", [sums, product, added, among_others, powers, largest], ids=lambda p: p.name
)
@pytest.mark.parametrize(("rows", "columns"), [(32, 16), (37, 19)])
def test_columns_are_folded_by_rows(program: Program, rows: int, columns: int) -> None:
    """An accumulator for each column, four rows at a time; rows and columns that are left over, too."""
    text = right(program, columns_by_rows(2, 4, WIDTH, ROOM), {"n": rows, "m": columns})
    assert "own[4]" in text


@pytest.mark.parametrize("columns", [16, 19])
def test_each_table_has_its_columns_by_rows(columns: int) -> None:
    """There a work-item has all rows, so that one kernel does."""
    text = right(of_tables, columns_by_rows(2, 4, WIDTH, ROOM), {"k": 3, "n": 8, "m": columns})
    assert text.count("kernel void") == 1


@pytest.mark.parametrize(
    ("program", "tactic", "sizes", "why"),
    [
        (sums, columns_by_rows(2, 4, WIDTH, 32), {"n": 32, "m": 16}, "accumulators"),
        (sums, columns_by_rows(2, 4, WIDTH, ROOM), {"n": 32, "m": 3}, "accumulators"),
        (sums, columns_by_rows(2, 4, WIDTH, ROOM), {"n": 7, "m": 16}, "blocks of 4 rows"),
        (of_tables, columns_of_each(1, 4, WIDTH, ROOM), {"k": 3, "n": 6, "m": 16}, "divide 6"),
        (norms, columns_by_rows(2, 4, WIDTH, ROOM), {"n": 32, "m": 16}, "one fold"),
    ],
)
def test_what_does_not_suit_is_refused(
    program: Program, tactic: Tactic, sizes: Mapping[str, int], why: str
) -> None:
    """Too many columns for a work-item, too few rows for its blocks, rows that are not divided."""
    with pytest.raises(NoMatch, match=why):
        derive(program, tactic, sizes)


def test_a_product_with_a_transposed_matrix_is_searched_by_rows() -> None:
    """It is estimated to be faster than strips of rows, also where something is left over."""
    for length in (4096, 3001):
        found = optimize(product, {"n": length, "m": length}, CPU)
        assert any(step.rule == "reduce_seq_chunks" for step in found.derivation.steps)


@pytest.mark.parametrize("program", [sums, product, largest], ids=lambda p: p.name)
@pytest.mark.parametrize(("columns", "width"), [(2, 1), (3, 1), (5, 1), (5, WIDTH), (7, WIDTH)])
def test_few_columns_have_short_vectors_or_a_number_each(
    program: Program, columns: int, width: int
) -> None:
    """Rows that fill no two vectors: one loop with an accumulator for each column, or one for each length of vectors."""
    text = right(program, columns_by_rows(2, 4, width, ROOM), {"n": 37, "m": columns})
    assert "own" in text
    assert ("4 own" in text) == (width > 1)


@pytest.mark.parametrize(("columns", "packs"), [(5, "loop-free"), (20, "loops")])
def test_few_columns_of_many_rows_are_searched_by_rows(columns: int, packs: Packing) -> None:
    """A work-item for each column would have the lines of all rows sent again: a million of 20 numbers take it 30 ms, and 3 by rows."""
    device = replace(CPU, packs=packs)
    found = optimize(product, {"n": 1 << 20, "m": columns}, device)
    assert any(step.rule == "reduce_seq_chunks" for step in found.derivation.steps)


def test_a_kernel_that_reads_a_part_of_an_array_is_charged_for_that() -> None:
    """The rows that are left over cost no more than their share of the matrix."""
    even, odd = (
        estimate(replace(sums.at(sizes), body=derive(sums, tactic, sizes).result), CPU).bytes
        for tactic in [columns_by_rows(8, 8, 16, 1 << 14)]
        for sizes in ({"n": 1024, "m": 1024}, {"n": 1025, "m": 1024})
    )
    assert odd < 1.02 * even
