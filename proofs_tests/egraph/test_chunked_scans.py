"""Long scans in chunks: derived by proved rules, computed by several kernels, and as the interpreter has them."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import relift as rl
from proofs_tests.portions import portioned
from relift.compiler.program import compile_program
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.search.optimize import optimize
from relift.egraph.search.proposals import Proposals
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.chunked_scans import chunks_apart, in_chunks, in_step
from relift.rewrites.tactics.groups.scans import (
    columns_scanned,
    rows_scanned,
    scans_from_folds,
    scans_in_groups,
)
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.terms import Input

c, n, m = rl.nat("c"), rl.nat("n"), rl.nat("m")
ROOM = 48 * 1024


@rl.program
def sums(x: rl.i32[n]):
    return rl.scan_seq(rl.add, 0, x)


@rl.program
def squares(x: rl.i32[n]):
    return rl.scan_seq(lambda acc, v: acc * acc + v, 0, x)


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
def test_a_scan_in_chunks_is_proved_and_right(device: DeviceDescription) -> None:
    """Two levels of chunks, then one work-item for the few that are left."""
    task = Proposals(sums, {"n": 2048}, device)
    proposal = task.derived(in_chunks(16, 32))[0]
    derivation = proposal.derive()
    require_proved((step.rule for step in derivation.steps), RULES)
    assert alpha_equal(derivation.replay(RULES)[-1], proposal.low.body)
    assert [step.rule for step in derivation.steps].count("scan_blocked") == 2

    compiled = compile_program(proposal.low)
    x = np.random.default_rng(0).integers(-9, 9, 2048).astype(np.int32)
    np.testing.assert_array_equal(compiled(x), np.cumsum(x, dtype=np.int32))


def test_what_no_chunk_divides_and_what_is_no_monoid_stays_in_order() -> None:
    """A prime length has no chunks; a function without laws has nothing that chunks come to."""
    with pytest.raises(NoMatch):
        derive(sums, in_chunks(16, 32), {"n": 2053})
    with pytest.raises(NoMatch):
        derive(squares, in_chunks(16, 32), {"n": 2048})


@rl.program
def products(a: rl.i32[n, m]):
    return rl.map(lambda row: rl.scan_seq(rl.mul, 1, row), a)


@rl.program
def products_of_squares(a: rl.i32[n, m]):
    return rl.map(lambda row: rl.scan_seq(rl.mul, 1, rl.map(lambda v: v * v, row)), a)


@rl.program
def products_of_columns(a: rl.i32[m, n]):
    return rl.map(lambda c: rl.scan_seq(rl.mul, 1, c), rl.transpose(a))


@rl.program
def products_of_columns_of_squares(a: rl.i32[m, n]):
    return rl.map(lambda c: rl.scan_seq(rl.mul, 1, rl.map(lambda v: v * v, c)), rl.transpose(a))


@rl.program
def balances(x: rl.i32[n]):
    return rl.scan_seq(rl.add, 100, x)


@rl.program
def products_from_three(a: rl.i32[n, m]):
    return rl.map(lambda row: rl.scan_seq(rl.mul, 3, row), a)


@rl.program
def products_of_tables(a: rl.i32[c, n, m]):
    return rl.map(lambda rows: rl.map(lambda row: rl.scan_seq(rl.mul, 1, row), rows), a)


@pytest.mark.parametrize(
    ("program", "tactic", "shape"),
    [
        (products, in_step(4), (9, 5)),
        (products, in_step(4), (4, 1)),
        (products_of_tables, in_step(2), (2, 5, 3)),
        (sums, chunks_apart(4, 8), (4 * 1024,)),
        (sums, chunks_apart(4, 8), (37,)),
        (balances, chunks_apart(4, 8), (37,)),
    ],
)
def test_work_items_scan_several_rows_or_chunks(
    program: Program, tactic: Tactic, shape: tuple[int, ...]
) -> None:
    """Those that are left, of rows or of numbers, are scanned beside them."""
    sizes = dict(zip("cnm"[-max(2, len(shape)) :], shape, strict=False))
    task = Proposals(program, sizes, CPU)
    low = task.derived(tactic)[0]
    require_proved((step.rule for step in low.derive().steps), RULES)
    x = np.random.default_rng(0).integers(1, 3, shape).astype(np.int32)
    multiplies = len(shape) > 1
    wanted = np.cumprod(x, axis=-1) if multiplies else np.cumsum(x) + 100 * (program is balances)
    np.testing.assert_array_equal(compile_program(low.low)(x), wanted.astype(np.int32))


def test_chunks_that_are_scanned_in_step_begin_in_different_sets_of_a_cache() -> None:
    """Lines of four chunks that are read, and of what is written of them, would crowd one another out."""
    found = derive(sums, chunks_apart(256, 1 << 16), {"n": 1 << 24})
    assert [step.choices["m"] for step in found.steps if step.rule == "scan_blocked"] == [
        65536 - 16
    ]


def test_a_cpu_scans_chunks_in_step() -> None:
    """No running result waits for the one before alone: 2^24 sums in order would take 20 ms, 16 of them one after the other."""
    assert optimize(sums, {"n": 1 << 24}, CPU).cost.seconds < 8e-3


@portioned(
    "program,tactic,sizes,kernels",
    {
        "two levels": (sums, scans_in_groups(8, 4, ROOM), {"n": 4096}, 5),
        "folds of those before": (sums, scans_from_folds(8, 4, ROOM), {"n": 1024}, 2),
        "folds of those before, and less than a chunk": (
            sums,
            scans_from_folds(8, 4, ROOM),
            {"n": 1024 + 7},
            2,
        ),
        "folds of those before, from what is not neutral": (
            balances,
            scans_from_folds(8, 4, ROOM),
            {"n": 1024 + 7},
            2,
        ),
        "a row for each group": (products, rows_scanned(8, 4, ROOM), {"n": 3, "m": 32}, 1),
        "rows in chunks": (products, rows_scanned(8, 4, ROOM), {"n": 3, "m": 64}, 3),
        "two levels and rests": (sums, scans_in_groups(8, 4, ROOM), {"n": 4096 + 32 + 7}, 5),
        "a rest": (sums, scans_in_groups(8, 4, ROOM), {"n": 65}, 3),
        "rows of no whole chunks": (products, rows_scanned(8, 4, ROOM), {"n": 3, "m": 29}, 1),
        "rows in chunks and rests": (products, rows_scanned(8, 4, ROOM), {"n": 3, "m": 67}, 3),
        "computed rows of no whole chunks": (
            products_of_squares,
            rows_scanned(8, 4, ROOM),
            {"n": 3, "m": 29},
            1,
        ),
        "computed rows in chunks and rests": (
            products_of_squares,
            rows_scanned(8, 4, ROOM),
            {"n": 3, "m": 67},
            4,
        ),
        "what is not neutral first, and rests": (
            balances,
            scans_in_groups(8, 4, ROOM),
            {"n": 4096 + 32 + 7},
            5,
        ),
        "rows of no whole chunks from what is not neutral": (
            products_from_three,
            rows_scanned(8, 4, ROOM),
            {"n": 3, "m": 29},
            1,
        ),
        "rows in chunks and rests from what is not neutral": (
            products_from_three,
            rows_scanned(8, 4, ROOM),
            {"n": 3, "m": 67},
            3,
        ),
        "columns in chunks": (products_of_columns, columns_scanned(16), {"n": 3, "m": 64}, 3),
        "columns of no whole chunks": (
            products_of_columns,
            columns_scanned(16),
            {"n": 3, "m": 67},
            3,
        ),
        "computed columns of no whole chunks": (
            products_of_columns_of_squares,
            columns_scanned(16),
            {"n": 3, "m": 67},
            4,
        ),
    },
    {
        "folds of those before, from what is not neutral",
        "a row for each group",
        "two levels and rests",
        "rows in chunks and rests",
        "computed rows of no whole chunks",
        "what is not neutral first, and rests",
        "rows of no whole chunks from what is not neutral",
        "columns of no whole chunks",
    },
)
def test_groups_scan_in_local_memory(
    program: Program, tactic: Tactic, sizes: dict[str, int], kernels: int
) -> None:
    """What a group scans is read and written along the lines of memory, by proved rules, and right."""
    found = derive(program, tactic, sizes)
    require_proved((step.rule for step in found.steps), RULES)
    compiled = compile_program(replace(program.at(sizes), body=found.result))
    assert compiled.source.count("kernel void") == kernels
    shape = tuple(sizes.values())
    x = np.random.default_rng(0).integers(1, 3, shape).astype(np.int32)
    columns = program in (products_of_columns, products_of_columns_of_squares)
    got = compiled(np.ascontiguousarray(x.T) if columns else x)
    x = x * x if program in (products_of_squares, products_of_columns_of_squares) else x
    wanted = np.cumsum(x) if x.ndim == 1 else np.cumprod(x, axis=1, dtype=np.int32)
    wanted = {balances: wanted + 100, products_from_three: wanted * 3}.get(program, wanted)
    np.testing.assert_array_equal(got, wanted.astype(np.int32))


def test_a_gpu_begins_two_kernels_for_a_scan_of_a_few_million_numbers() -> None:
    """Each takes longer to begin than a group takes to fold what the chunks before its own come to."""
    assert optimize(sums, {"n": 1_000_003}, GPU).cost.launch == 2 * GPU.launch_seconds


def test_what_is_left_of_a_scan_is_scanned_by_a_group() -> None:
    """No work-item goes through all of it."""
    found = derive(sums, scans_in_groups(8, 16, ROOM), {"n": 4 * 128 + 101})
    compiled = compile_program(replace(sums.at({"n": 4 * 128 + 101}), body=found.result))
    turns = [int(n) for n in re.findall(r"for \(int \w+ = 0; \w+ < (\d+)", compiled.source)]
    assert max(turns) == 32, "of what the chunks come to"
    x = np.random.default_rng(0).integers(-9, 9, 4 * 128 + 101).astype(np.int32)
    np.testing.assert_array_equal(compiled(x), np.cumsum(x, dtype=np.int32))


@pytest.mark.parametrize("length", [1 << 20, (1 << 20) + 77])
def test_a_gpu_scans_what_is_chosen_in_chunks(length: int) -> None:
    """A choice is total, also where cells of a group's memory are left open beside it: the numbers of runs."""
    x = Input("x", rl.i32[length])
    begins = lambda p: rl.select(rl.not_equal(p[0], p[1]), 1, 0)
    marks = rl.map(begins, rl.slide(2, 1, rl.pad(1, 0, -1, x)))
    runs = Program("runs", (x,), as_term(rl.scan_seq(rl.add, 0, marks)))
    assert optimize(runs, {}, GPU).cost.seconds < 50e-6
