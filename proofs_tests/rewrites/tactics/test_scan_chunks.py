"""Rows that are scanned in order, chunk by chunk through local memory: right, without races, and read and written along memory."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.cli.building import certificates_of
from relift.device import GPU
from relift.egraph.cost.model import estimate, least_seconds
from relift.egraph.search.starts.prepared import PREPARED
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive, then
from relift.rewrites.tactics.groups.scan_chunks import scans_apart, scans_in_chunks
from relift.rewrites.tactics.groups.scans import rows_folded_and_scanned
from relift.rewrites.tactics.turns import turns_together
from relift.semantics.indices.functions import reverse
from relift.semantics.language.programs import Program

n, m = rl.nat("n"), rl.nat("m")
LOCAL = 48 * 1024


def followed(s: Any, v: Any) -> Any:
    """An envelope, which rises and falls at different rates."""
    return rl.select(rl.absolute(v) > s, 0.5 * s + 0.5 * rl.absolute(v), 0.75 * s)


@rl.program
def envelopes(x: rl.f32[n, m]):
    return rl.map(lambda row: rl.scan_seq(followed, 0.0, row), x)


@rl.program
def filtered(x: rl.f32[n, m]):
    """What is made of each of its results, of which the scan carries more."""

    def step(s, v):
        return v, s[0], 0.25 * v + 0.25 * s[1] + 0.5 * rl.absolute(s[2])

    return rl.map(
        lambda row: rl.map(lambda q: 2.0 * q[2], rl.scan_seq(step, (0.0, 0.0, 0.0), row)), x
    )


@rl.program
def gated(x: rl.f32[n, m], y: rl.f32[n, m], start: rl.f32[n]):
    """Rows of two tables, from a number beside them."""
    step = lambda s, p: rl.absolute(p[0] * s - p[1])
    return rl.map(lambda r: rl.scan_seq(step, r[2], rl.zip(r[0], r[1])), rl.zip(x, y, start))


@rl.program
def backward(x: rl.f32[n, m]):
    """From the last element of each row to the first."""
    return rl.map(
        lambda row: rl.gather(reverse, rl.scan_seq(followed, 0.0, rl.gather(reverse, row))), x
    )


def arguments_of(program: Program, rows: int, length: int) -> tuple[Any, ...]:
    drawn = np.random.default_rng(rows * length)
    shapes = [(rows, length), (rows, length), (rows,)]
    return tuple(drawn.random(s, np.float32) - 0.5 for s in shapes[: len(program.parameters)])


@pytest.mark.parametrize(("rows", "length"), [(16, 32), (19, 32), (16, 37), (13, 43), (8, 16)])
@pytest.mark.parametrize(
    "program", [envelopes, filtered, gated, backward], ids=lambda p: getattr(p, "name", "")
)
def test_the_rows_of_a_group_are_scanned_together(program: Program, rows: int, length: int) -> None:
    arguments = arguments_of(program, rows, length)
    sizes = program.solve_sizes(arguments)
    derivation = derive(program, scans_in_chunks(8, 16, LOCAL), sizes)
    require_standing(derivation, RULES)
    low = Program(program.name, program.at(sizes).parameters, derivation.result)
    compiled = rl.compile(low)
    assert all(certificate.ok for certificate in certificates_of(compiled, low))
    np.testing.assert_allclose(compiled(*arguments), program(*arguments), rtol=1e-4)


@rl.program
def forward_and_back(x: rl.f32[n, m]):
    def row(r):
        there = rl.scan_seq(followed, 0.0, r)
        return rl.gather(reverse, rl.scan_seq(followed, 0.0, rl.gather(reverse, there)))

    return rl.map(row, x)


def test_each_of_several_scans_is_a_kernel() -> None:
    derivation = derive(forward_and_back, scans_apart(), {"n": 16, "m": 20})
    require_standing(derivation, RULES)
    found = rl.optimize(forward_and_back, {"n": 16384, "m": 1024}, "gpu").candidates[0]
    source = rl.compile(found.term).source
    assert "kernel 2 of 2" in source
    assert "local" in source


def test_what_laws_let_go_otherwise_or_lies_across_is_left_to_others() -> None:
    @rl.program
    def sums(x: rl.f32[n, m]):
        return rl.map(lambda row: rl.scan_seq(rl.add, 0.0, row), x)

    @rl.program
    def of_columns(x: rl.f32[n, m]):
        return rl.map(lambda column: rl.scan_seq(followed, 0.0, column), rl.transpose(x))

    for program, why in ((sums, "no law"), (of_columns, "along memory")):
        with pytest.raises(NoMatch, match=why):
            derive(program, scans_in_chunks(8, 16, LOCAL), {"n": 40, "m": 40})
    with pytest.raises(NoMatch, match="do not fit"):
        derive(envelopes, scans_in_chunks(8, 16, 8 * 17 * 4), {"n": 40, "m": 40})
    with pytest.raises(NoMatch, match="no tile of 8 by 16"):
        derive(envelopes, scans_in_chunks(8, 16, LOCAL), {"n": 40, "m": 15})


def test_a_scan_without_laws_reads_and_writes_rows_along_memory() -> None:
    """On a GPU within four times of reading and writing all once; columns that are stored before and after take twice that."""
    sizes = {"n": 16384, "m": 1024}
    found = rl.optimize(envelopes, sizes, "gpu").candidates[0]
    assert found.cost.seconds < 4 * least_seconds(envelopes.at(sizes), GPU)
    assert "kernel 1 of 1" in rl.compile(found.term).source


def test_a_map_goes_along_with_a_scan_by_one_work_item() -> None:
    """What is made of each result needs no array between."""

    @rl.program
    def rows(x: rl.f32[n, m]):
        def step(s, v):
            return s[1], s[0] + v

        return rl.map_glb(0)(
            lambda row: rl.map_seq(lambda q: q[0] * q[1], rl.scan_seq(step, (0.0, 0.0), row)), x
        )

    x = np.random.default_rng(3).random((5, 7), np.float32)
    compiled = rl.compile(rows, sizes={"n": 5, "m": 7})
    assert "own" not in compiled.source
    np.testing.assert_allclose(compiled(x), rows(x), rtol=1e-5)


def test_scans_of_one_work_item_go_many_turns_at_a_time() -> None:
    """Columns are read side by side already: what waits for memory is read in chunks, whose results are written after them."""

    @rl.program
    def columns(x: rl.f32[m, n]):
        found = rl.map_glb(0)(lambda c: rl.scan_seq(followed, 0.0, c), rl.transpose(x))
        return rl.transpose(found)

    sizes = {"n": 5, "m": 64}
    derivation = derive(columns, turns_together, sizes)
    require_standing(derivation, RULES)
    assert [step.choices["m"] for step in derivation.steps if step.rule == "scan_seq_chunks"] == [
        31
    ]
    low = Program("low", columns.at(sizes).parameters, derivation.result)
    x = np.random.default_rng(4).random((64, 5), np.float32) - 0.5
    np.testing.assert_allclose(rl.compile(low)(x), columns(x), rtol=1e-5)
    large = {"n": 16384, "m": 1024}
    before = columns.at(large)
    after = replace(before, body=derive(columns, turns_together, large).result)
    assert estimate(after, GPU).seconds < 0.8 * estimate(before, GPU).seconds
    with pytest.raises(NoMatch):
        derive(columns, turns_together, {"n": 5, "m": 67})


@rl.program
def shares(x: rl.f32[n, m]):
    """Running shares of the powers of a row, whose largest and whose sum come first."""

    def row(r):
        top = rl.reduce(rl.maximum, float("-inf"), r)
        powers = rl.map(lambda v: rl.exp(v - top), r)
        whole = rl.reduce(rl.add, 0.0, powers)
        return rl.scan_seq(rl.add, 0.0, rl.map(lambda v: v / whole, powers))

    return rl.map(row, x)


@pytest.mark.parametrize("length", [64, 128, 200])
def test_a_group_folds_a_row_and_scans_what_it_makes_of_it(length: int) -> None:
    sizes = {"n": 3, "m": length}
    prepared = then(PREPARED["gpu"], rows_folded_and_scanned(32, 4, LOCAL))
    derivation = derive(shares, prepared, sizes)
    require_standing(derivation, RULES)
    low = Program("low", shares.at(sizes).parameters, derivation.result)
    compiled = rl.compile(low)
    assert "kernel 1 of 1" in compiled.source
    assert all(certificate.ok for certificate in certificates_of(compiled, low))
    x = np.random.default_rng(length).random((3, length), np.float32)
    np.testing.assert_allclose(compiled(x), shares(x), rtol=1e-4)


def test_rows_that_are_folded_and_scanned_are_one_kernel() -> None:
    """On a GPU within twice of reading and writing all once; each fold, and the scan, took a kernel of its own."""
    sizes = {"n": 4096, "m": 4096}
    found = rl.optimize(shares, sizes, "gpu").candidates[0]
    assert found.cost.seconds < 2 * least_seconds(shares.at(sizes), GPU)
