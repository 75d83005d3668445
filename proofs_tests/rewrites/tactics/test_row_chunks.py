"""Rows that are folded in order, chunk by chunk through local memory: right, without races, and read along memory."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.cli.building import certificates_of
from relift.device import GPU
from relift.egraph.cost.model import least_seconds
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.groups.row_chunks import rows_in_chunks
from relift.rewrites.tactics.groups.row_tiles import rows_in_groups
from relift.semantics.language.programs import Program

n, m = rl.nat("n"), rl.nat("m")
BELOW = float("-inf")


def two_largest(row: Any) -> Any:
    def step(best, x):
        return rl.maximum(best[0], x), rl.maximum(best[1], rl.minimum(best[0], x))

    return rl.reduce_seq(step, (BELOW, BELOW), row)


@rl.program
def largest(a: rl.f32[n, m]):
    return rl.map(two_largest, a)


@rl.program
def gaps(a: rl.f32[n, m], scale: rl.f32[n]):
    """What is made of a fold and of a number beside the row."""

    def gap(p):
        best = two_largest(p[0])
        return p[1] * (best[0] - best[1])

    return rl.map(gap, rl.zip(a, scale))


@rl.program
def decayed(a: rl.f32[n, m], by: rl.f32[n]):
    """A fold that starts from the number beside the row, and needs it in each step."""
    return rl.map(lambda p: rl.reduce_seq(lambda acc, x: acc * p[1] + x, p[1], p[0]), rl.zip(a, by))


@rl.program
def of_columns(a: rl.f32[n, m]):
    return rl.map(two_largest, rl.transpose(a))


def ordered(a: Any) -> Any:
    return np.sort(a, axis=1)[:, ::-1]


def numpys_decayed(a: Any, by: Any) -> Any:
    acc = by.copy()
    for column in a.T:
        acc = acc * by + column
    return acc


A = np.random.default_rng(6).random((24, 40), np.float32)
B = np.random.default_rng(7).random(24, np.float32)

WAYS = [
    (largest, (A,), lambda a: (ordered(a)[:, 0], ordered(a)[:, 1])),
    (gaps, (A, B), lambda a, b: b * (ordered(a)[:, 0] - ordered(a)[:, 1])),
    (decayed, (A, B), numpys_decayed),
]


@pytest.mark.parametrize(("items", "columns"), [(8, 10), (12, 5), (24, 40)])
@pytest.mark.parametrize(
    ("program", "arguments", "wanted"), WAYS, ids=lambda p: getattr(p, "name", "")
)
def test_the_rows_of_a_group_are_folded_together(
    program: Program, arguments: Any, wanted: Any, items: int, columns: int
) -> None:
    sizes = program.solve_sizes(arguments)
    derivation = derive(program, rows_in_chunks(items, columns, 48 * 1024), sizes)
    require_standing(derivation, RULES)
    low = Program(program.name, program.at(sizes).parameters, derivation.result)
    compiled = rl.compile(low)
    assert all(certificate.ok for certificate in certificates_of(compiled, low))
    np.testing.assert_allclose(compiled(*arguments), wanted(*arguments), rtol=1e-5)


@pytest.mark.parametrize(("rows", "length"), [(25, 40), (24, 41), (29, 47), (8, 10)])
def test_rows_and_columns_that_no_chunks_divide_are_folded_too(rows: int, length: int) -> None:
    a = np.random.default_rng(rows).random((rows, length), np.float32)
    derivation = derive(largest, rows_in_chunks(8, 10, 48 * 1024), {"n": rows, "m": length})
    require_standing(derivation, RULES)
    low = Program("low", largest.at({"n": rows, "m": length}).parameters, derivation.result)
    compiled = rl.compile(low)
    assert all(certificate.ok for certificate in certificates_of(compiled, low))
    first, second = compiled(a)
    np.testing.assert_array_equal(first, ordered(a)[:, 0])
    np.testing.assert_array_equal(second, ordered(a)[:, 1])


@rl.program
def places(a: rl.f32[n, m], by: rl.f32[n, m]):
    """A fold of rows of two tables, and of where their elements stand: whichever is the largest product."""

    def step(best, p):
        better = p[0] * p[1] > best[0]
        return rl.select(better, p[0] * p[1], best[0]), rl.select(better, p[2], best[1])

    counted = rl.generate(m, lambda i: i)
    start = BELOW, rl.i32(-1)
    return rl.map(lambda p: rl.reduce_seq(step, start, rl.zip(p[0], p[1], counted)), rl.zip(a, by))


def test_rows_of_several_tables_are_folded_together() -> None:
    a, by = np.random.default_rng(8).random((2, 24, 40), np.float32)
    derivation = derive(places, rows_in_chunks(8, 10, 48 * 1024), {"n": 24, "m": 40})
    require_standing(derivation, RULES)
    low = Program("low", places.at({"n": 24, "m": 40}).parameters, derivation.result)
    compiled = rl.compile(low)
    assert all(certificate.ok for certificate in certificates_of(compiled, low))
    found, where = compiled(a, by)
    np.testing.assert_array_equal(where, (a * by).argmax(1))
    np.testing.assert_array_equal(found, (a * by).max(1))


def test_what_is_too_small_too_large_or_lies_across_is_left_to_others() -> None:
    for sizes in ({"n": 7, "m": 40}, {"n": 24, "m": 9}):
        with pytest.raises(NoMatch, match="no tile of 8 by 10"):
            derive(largest, rows_in_chunks(8, 10, 48 * 1024), sizes)
    with pytest.raises(NoMatch, match="do not fit"):
        derive(largest, rows_in_chunks(8, 10, 8 * 10 * 4), {"n": 24, "m": 40})
    with pytest.raises(NoMatch, match="lie along memory"):
        derive(of_columns, rows_in_chunks(8, 10, 48 * 1024), {"n": 40, "m": 24})


def test_a_function_that_may_be_undefined_is_folded_in_chunks() -> None:
    """What is looked up at an index that is data has no value where that is out of range: in a chunk as in the whole."""

    @rl.program
    def looked_up(a: rl.i32[n, m], x: rl.f32[n]):
        return rl.map(
            lambda row: rl.reduce_seq(lambda acc, i: acc + rl.at_runtime_unsafe(i, x), 0.0, row), a
        )

    derivation = derive(looked_up, rows_in_chunks(8, 10, 48 * 1024), {"n": 24, "m": 40})
    require_standing(derivation, RULES)
    assert "reduce_seq_chunks" in [step.rule for step in derivation.steps]


def test_a_fold_without_laws_reads_rows_along_memory() -> None:
    """On a GPU within eight times of reading all once; a work-item for each row takes sixty times that."""
    sizes = {"n": 4096, "m": 4096}
    found = rl.optimize(largest, sizes, "gpu").candidates[0]
    assert found.cost.seconds < 12 * least_seconds(largest.at(sizes), GPU)
    assert "local" in rl.compile(found.term).source


@pytest.mark.parametrize(("length", "cells"), [(34, 34), (36, 37), (35, 37), (33, 35)])
def test_rows_in_local_memory_are_apart_where_many_would_read_one_bank(
    length: int, cells: int
) -> None:
    """A row of 34 numbers begins in a bank that one other row of 32 begins in: it stays as it is."""
    sizes = {"n": 64, "m": length}
    derivation = derive(largest, rows_in_groups(32, 48 * 1024), sizes)
    low = Program("low", largest.at(sizes).parameters, derivation.result)
    assert f"local float tile[{32 * cells}]" in rl.compile(low).source
