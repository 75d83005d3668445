"""Nests whose folds go along the rows of both operands, in vectors: derived by proved rules, right, and in registers."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.device import CPU
from relift.egraph.search.guidance.block_plans import register_blocks
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.vectors.folds_along import Along, folds_along
from relift.semantics.language.programs import Program

n, m, k, b = (rl.nat(name) for name in "nmkb")


def dot(x, y):
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


@rl.program
def rows_by_rows(A: rl.f32[n, k], B: rl.f32[m, k]):
    return rl.map(lambda x: rl.map(lambda y: dot(x, y), B), A)


@rl.program
def layer(A: rl.f32[n, k], B: rl.f32[m, k], bias: rl.f32[m]):
    def cell(x, p):
        return rl.maximum(0.0, dot(x, p[0]) + p[1])

    return rl.map(lambda x: rl.map(lambda p: cell(x, p), rl.zip(B, bias)), A)


@rl.program
def of_doubled_rows(A: rl.f32[n, k], B: rl.f32[m, k]):
    doubled = rl.map(lambda row: rl.map(lambda v: v + v, row), A)
    return rl.map(lambda x: rl.map(lambda y: dot(x, y), B), doubled)


@rl.program
def distances(A: rl.f32[n, k], B: rl.f32[m, k]):
    def squared(x, y):
        difference = lambda p: (p[0] - p[1]) * (p[0] - p[1])
        return rl.reduce(rl.add, 0.0, rl.map(difference, rl.zip(x, y)))

    return rl.map(lambda x: rl.map(lambda y: squared(x, y), B), A)


@rl.program
def batched(A: rl.f32[b, n, k], B: rl.f32[b, m, k]):
    def pairs(xs, ys):
        return rl.map(lambda x: rl.map(lambda y: dot(x, y), ys), xs)

    return rl.map(lambda p: pairs(p[0], p[1]), rl.zip(A, B))


@rl.program
def rows_by_columns(A: rl.f32[n, k], B: rl.f32[k, m]):
    return rl.map(lambda x: rl.map(lambda y: dot(x, y), rl.transpose(B)), A)


CASES: dict[str, tuple[Program, Callable[..., Any]]] = {
    "rows by rows": (rows_by_rows, lambda A, B: A @ B.T),
    "a layer": (layer, lambda A, B, bias: np.maximum(0, A @ B.T + bias)),
    "of doubled rows": (of_doubled_rows, lambda A, B: 2 * A @ B.T),
    "distances": (distances, lambda A, B: ((A[:, None] - B) ** 2).sum(axis=2)),
    "batched": (batched, lambda A, B: A @ B.mT),
}
WHOLE = {"n": 4, "m": 8, "k": 32, "b": 3}
AT_THE_END = {"n": 5, "m": 7, "k": 16, "b": 1}


def blocked(program: Program, sizes: Mapping[str, int], block: Along) -> tuple[Program, Any]:
    fixed = {name: sizes[name] for name in program.sizes}
    found = derive(program, folds_along(block), fixed)
    return replace(program.at(fixed), body=found.result), found


@pytest.mark.parametrize("sizes", [WHOLE, AT_THE_END], ids=["whole blocks", "blocks at the end"])
@pytest.mark.parametrize("name", CASES)
def test_blocks_along_folds_compute_what_the_program_does(
    name: str, sizes: Mapping[str, int]
) -> None:
    program, reference = CASES[name]
    low, found = blocked(program, sizes, Along(2, 4, 8))
    arguments = random_inputs(low, 1)

    require_proved([step.rule for step in found.steps], RULES)
    expected = reference(*(np.asarray(a, np.float64) for a in arguments))
    computed = compile_program(low)(*arguments, device="cpu")
    np.testing.assert_allclose(computed, expected, rtol=1e-4, atol=1e-5)


def test_their_derivation_is_confirmed() -> None:
    _, found = blocked(layer, WHOLE, Along(2, 4, 8))

    found.replay(RULES)
    assert confirm(found, RULES) is not None


def test_their_accumulators_are_vectors_in_registers() -> None:
    """Sixteen results whose 16 lanes are folded at the end are written out: no driver has an array to keep."""
    low, _ = blocked(rows_by_rows, {**WHOLE, "k": 64}, Along(4, 4, 16))
    source = compile_program(low).source

    assert len(re.findall(r"float16 own\d+ = ", source)) == 16
    assert "own[" not in source


@pytest.mark.parametrize(
    ("program", "sizes"), [(rows_by_columns, WHOLE), (rows_by_rows, {**WHOLE, "k": 20})], ids=str
)
def test_rows_that_lie_across_or_are_no_vectors_have_no_blocks_along(
    program: Program, sizes: Mapping[str, int]
) -> None:
    with pytest.raises(NoMatch):
        blocked(program, sizes, Along(2, 4, 8))


def test_long_folds_along_rows_are_in_parts_that_a_core_keeps() -> None:
    """Rows of 400 KB leave it before the next block reads them again."""
    sizes = {"n": 100, "m": 100, "k": 100_000}
    device = replace(CPU, vector_width=8, vector_registers=16, second_bytes=1 << 19)
    program = rows_by_rows.at(sizes)
    lengths = set[int]()
    for tactic in register_blocks(program, device):
        with suppress(NoMatch):
            found = derive(rows_by_rows, tactic, sizes)
            along = any(step.rule == "lift_reduce_seq" for step in found.steps)
            chunks = [s.choices["m"] for s in found.steps if s.rule == "partial_reduce_chunks"]
            lengths |= set(chunks) if along else set()

    assert lengths
    assert max(lengths) * 7 * 4 <= device.second_bytes / 4
