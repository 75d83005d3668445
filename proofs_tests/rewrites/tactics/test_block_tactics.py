"""Blocks in vector registers: every program of pairs takes one way, and its kernel is right."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.portions import portioned
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.device import CPU
from relift.egraph.cost.model import estimate
from relift.egraph.search.guidance.tilings import extent_of
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.nests.split_folds import folds_in_parts
from relift.rewrites.tactics.vectors.register_blocks import Block, blocks_of_pairs, rows_of_panels
from relift.semantics.language.programs import Program
from relift.semantics.patterns import MapGlb, MapSeqUnroll, ReduceSeq, ToGlobal, ToPrivate
from relift.semantics.syntax.terms import subterms

EXAMPLES = Path(__file__).parents[3] / "examples"
n, m, k, b = (rl.nat(name) for name in "nmkb")


def fold(f, x, y):
    """The sum of what f makes of the pairs of two arrays."""
    return rl.reduce(rl.add, 0.0, rl.map(f, rl.zip(x, y)))


def dot(x, y):
    return fold(lambda p: p[0] * p[1], x, y)


def pairs(f, xs, ys):
    return rl.map(lambda x: rl.map(lambda y: f(x, y), ys), xs)


@rl.program
def product(A: rl.f32[n, k], B: rl.f32[k, m]):
    return pairs(dot, A, rl.transpose(B))


@rl.program
def of_a_transpose(A: rl.f32[k, n], B: rl.f32[k, m]):
    return pairs(dot, rl.transpose(A), rl.transpose(B))


@rl.program
def with_a_transpose(A: rl.f32[n, k], B: rl.f32[m, k]):
    return pairs(dot, A, B)


@rl.program
def the_other_way_round(A: rl.f32[n, k], B: rl.f32[k, m]):
    return pairs(lambda x, y: dot(y, x), A, rl.transpose(B))


@rl.program
def of_squares(A: rl.f32[n, n], B: rl.f32[n, n]):
    return pairs(dot, A, rl.transpose(B))


@rl.program
def distances(A: rl.f32[n, k], B: rl.f32[k, m]):
    def square(p):
        return (p[0] - p[1]) * (p[0] - p[1])

    return pairs(lambda x, y: fold(square, x, y), A, rl.transpose(B))


@rl.program
def roots(A: rl.f32[n, k], B: rl.f32[k, m]):
    return pairs(lambda x, y: rl.sqrt(dot(x, y)), A, rl.transpose(B))


@rl.program
def with_a_bias(A: rl.f32[n, k], B: rl.f32[k, m], bias: rl.f32[m]):
    def element(x, y):
        return rl.maximum(0.0, dot(x, y[0]) - y[1])

    return pairs(element, A, rl.zip(rl.transpose(B), bias))


@rl.program
def rows_scaled(A: rl.f32[n, k], B: rl.f32[k, m], s: rl.f32[n]):
    return pairs(lambda x, y: x[1] * dot(x[0], y), rl.zip(A, s), rl.transpose(B))


@rl.program
def scaled_and_added(
    alpha: rl.f32, beta: rl.f32, A: rl.f32[n, k], B: rl.f32[k, m], C: rl.f32[n, m]
):
    def row(r):
        cells = rl.zip(rl.transpose(B), r[1])
        return rl.map(lambda c: alpha * dot(r[0], c[0]) + beta * c[1], cells)

    return rl.map(row, rl.zip(A, C))


@rl.program
def subtracted(A: rl.f32[n, k], B: rl.f32[k, m], C: rl.f32[n, m]):
    """The cells stand before the columns, and the rows behind the cells."""

    def row(r):
        return rl.map(lambda c: c[0] - dot(c[1], r[1]), rl.zip(r[0], rl.transpose(B)))

    return rl.map(row, rl.zip(C, A))


@rl.program
def batched(A: rl.f32[b, n, k], B: rl.f32[b, k, m]):
    return rl.map(lambda p: pairs(dot, p[0], rl.transpose(p[1])), rl.zip(A, B))


@rl.program
def batched_with_itself(A: rl.f32[b, n, k]):
    return rl.map(lambda table: pairs(dot, table, table), A)


def squares(table):
    return rl.map(lambda row: rl.map(lambda v: v * v, row), table)


@rl.program
def batched_of_squares(A: rl.f32[b, n, k], B: rl.f32[b, k, m]):
    """What each fold reads is computed, of a table of each batch: of one the columns are read."""
    return rl.map(lambda p: pairs(dot, squares(p[0]), rl.transpose(squares(p[1]))), rl.zip(A, B))


@rl.program
def batched_of_squares_of_columns(A: rl.f32[b, n, k], B: rl.f32[b, k, m]):
    return rl.map(lambda p: pairs(dot, squares(p[0]), squares(rl.transpose(p[1]))), rl.zip(A, B))


SIZES = {"n": 8, "m": 32, "k": 5}
CASES: dict[str, tuple[Program, Mapping[str, int], Callable[..., Any]]] = {
    "product": (product, SIZES, lambda A, B: A @ B),
    "of a transpose": (of_a_transpose, SIZES, lambda A, B: A.T @ B),
    "with a transpose": (with_a_transpose, SIZES, lambda A, B: A @ B.T),
    "the other way round": (the_other_way_round, SIZES, lambda A, B: A @ B),
    "of squares": (of_squares, {"n": 32}, lambda A, B: A @ B),
    "distances": (distances, SIZES, lambda A, B: ((A[:, :, None] - B) ** 2).sum(axis=1)),
    "roots": (roots, SIZES, lambda A, B: np.sqrt(A @ B)),
    "with a bias": (with_a_bias, SIZES, lambda A, B, bias: np.maximum(0, A @ B - bias)),
    "rows scaled": (rows_scaled, SIZES, lambda A, B, s: s[:, None] * (A @ B)),
    "scaled and added": (
        scaled_and_added,
        SIZES,
        lambda alpha, beta, A, B, C: alpha * (A @ B) + beta * C,
    ),
    "subtracted": (subtracted, SIZES, lambda A, B, C: C - A @ B),
    "batched": (batched, {"b": 3, **SIZES}, lambda A, B: A @ B),
    "batched of squares": (batched_of_squares, {"b": 3, **SIZES}, lambda A, B: (A * A) @ (B * B)),
    "batched of squares of columns": (
        batched_of_squares_of_columns,
        {"b": 3, **SIZES},
        lambda A, B: (A * A) @ (B * B),
    ),
    "batched with itself": (batched_with_itself, {"b": 3, "n": 32, "k": 5}, lambda A: A @ A.mT),
}

programs = pytest.mark.parametrize("name", CASES)


def blocked(name: str, block: Block) -> tuple[Program, Derivation]:
    """A program in blocks, and the derivation of it."""
    program, sizes, _ = CASES[name]
    found = derive(program, blocks_of_pairs(block), sizes)
    return replace(program.at(sizes), body=found.result), found


@programs
@pytest.mark.parametrize("block", [Block(4, 2, 8), Block(2, 1, 16, packed=False)], ids=str)
def test_blocks_compute_what_the_program_does(name: str, block: Block) -> None:
    """On the CPU device, compared with NumPy in double precision."""
    low, _ = blocked(name, block)
    arguments = random_inputs(low, 1)

    expected = CASES[name][2](*(np.asarray(a, np.float64) for a in arguments))
    computed = compile_program(low)(*arguments, device="cpu")
    np.testing.assert_allclose(computed, expected, rtol=1e-4, atol=1e-5)


@programs
def test_the_accumulators_of_a_block_are_vectors(name: str) -> None:
    """No driver has to make vectors of a table of scalars."""
    low, _ = blocked(name, Block(4, 2, 8))
    (own,) = [
        t.init
        for t, _ in subterms(low.body)
        if isinstance(t, ReduceSeq) and isinstance(t.init, ToPrivate)
    ]

    assert str(own.type) == "vec(f32, 8)[4, 2]"


@portioned("name", list(CASES), 3)
def test_blocks_are_derived_by_proved_rules_and_confirmed(name: str) -> None:
    _, found = blocked(name, Block(2, 1, 4))

    require_proved([step.rule for step in found.steps], RULES)
    found.replay(RULES)
    assert confirm(found, RULES) is not None


def test_the_second_operand_is_copied_by_a_kernel_of_its_own() -> None:
    low, _ = blocked("with a bias", Block(4, 2, 8))
    copies = [t for t, _ in subterms(low.body) if isinstance(t, ToGlobal)]

    assert [str(t.type) for t in copies] == ["f32[2, 5, 16]"]


def test_the_first_operand_is_copied_where_each_step_would_read_a_line_of_its_own() -> None:
    """Rows of a transpose lie across: four of them side by side are one piece of a line for each step."""
    low, _ = blocked("of a transpose", Block(4, 2, 8))
    copies = {str(t.type) for t, _ in subterms(low.body) if isinstance(t, ToGlobal)}

    assert copies == {"f32[2, 5, 16]", "f32[2, 5, 4]"}


@rl.program
def batched_of_transposes(A: rl.f32[b, k, n], B: rl.f32[b, k, m]):
    return rl.map(
        lambda p: pairs(dot, rl.transpose(p[0]), rl.transpose(p[1])),
        rl.zip(A, B),
    )


@pytest.mark.parametrize(
    ("program", "sizes", "tactic"),
    [
        (batched_of_transposes, {"b": 3, "n": 8, "m": 32, "k": 5}, lambda blocks: blocks),
        (of_a_transpose, {"n": 8, "m": 32, "k": 15}, partial(folds_in_parts, 3)),
        (of_a_transpose, {"n": 6, "m": 23, "k": 15}, lambda t: folds_in_parts(3, t, 4, 16)),
    ],
    ids=["batches", "parts", "padded parts"],
)
def test_the_first_operands_of_batches_are_copied_together(
    program: Program, sizes: Mapping[str, int], tactic: Callable[[Tactic], Tactic]
) -> None:
    """Those of parts of a fold too, which are batches: no block reads a line of its own for each step."""
    found = derive(program, tactic(blocks_of_pairs(Block(4, 2, 8))), sizes)
    require_proved([step.rule for step in found.steps], RULES)
    low = replace(program.at(sizes), body=found.result)
    copies = {str(t.type) for t, _ in subterms(low.body) if isinstance(t, ToGlobal)}
    A, B = random_inputs(low, 1)

    assert {"f32[6, 5, 16]", "f32[6, 5, 4]"} <= copies
    expected = np.swapaxes(A, -1, -2) @ B
    np.testing.assert_allclose(compile_program(low)(A, B, device="cpu"), expected, rtol=1e-4)


def test_a_few_rows_that_lie_along_are_copied_side_by_side_where_that_is_asked_for() -> None:
    """Each step of a block reads a line of each of them, which may share a set of the nearest cache."""
    block = Block(4, 2, 8, packed=False, stored=False, rows_packed=True)
    sizes = {"n": 6, "m": 32, "k": 5}
    found = derive(with_a_transpose, blocks_of_pairs(block), sizes)
    low = replace(with_a_transpose.at(sizes), body=found.result)
    copies = {str(t.type) for t, _ in subterms(low.body) if isinstance(t, ToGlobal)}
    A, B = random_inputs(low, 1)

    assert copies == {"f32[2, 5, 4]"}
    np.testing.assert_allclose(compile_program(low)(A, B, device="cpu"), A @ B.T, rtol=1e-4)


@pytest.mark.parametrize(("length", "together"), [(48, 16), (20, 4), (5, 1)])
def test_an_operand_whose_rows_lie_along_is_copied_by_parts_of_lines(
    length: int, together: int
) -> None:
    """A work-item that reads a cell of a line leaves the others to neighbours, which would find the line crowded out."""
    sizes = {"n": 8, "m": 32, "k": length}
    found = derive(with_a_transpose, blocks_of_pairs(Block(4, 2, 8)), sizes)
    low = replace(with_a_transpose.at(sizes), body=found.result)
    (copied,) = [t for t, _ in subterms(low.body) if isinstance(t, ToGlobal)]
    written_out = [t for t, _ in subterms(copied) if isinstance(t, MapSeqUnroll)]
    read = {t.solved["n"].constant for t in written_out}
    A, B = random_inputs(low, 1)

    assert read == ({together} if together > 1 else set())
    dimensions = [t.dim for t, _ in subterms(copied) if isinstance(t, MapGlb)]
    assert dimensions == ([1, 0] if together > 1 else [0, 1]), "neighbours read the lines of a row"
    np.testing.assert_allclose(compile_program(low)(A, B, device="cpu"), A @ B.T, rtol=1e-4)


def test_batches_that_walk_down_lines_of_both_operands_cost_more_than_their_copies() -> None:
    """The lines of one operand alone stay in the nearest cache, those of both do not."""
    sizes = {"b": 16, "n": 204, "m": 208, "k": 500}
    device = replace(CPU, vector_width=8, vector_registers=16, nearest_bytes=1 << 15)

    def seconds(**choices: bool) -> float:
        blocks = blocks_of_pairs(Block(6, 2, 8, stored=False, **choices))
        found = derive(batched_of_transposes, blocks, sizes)
        return estimate(replace(batched_of_transposes.at(sizes), body=found.result), device).compute

    copied, walked = seconds(), seconds(packed=False)
    assert walked > 1.2 * copied


@rl.program
def with_its_conjugate(A: rl.tup(rl.f32, rl.f32)[n, k], B: rl.tup(rl.f32, rl.f32)[m, k]):
    def step(total, p):
        (x, y), (u, v) = p
        return (total[0] + (x * u + y * v), total[1] + (y * u - x * v))

    return pairs(lambda r, s: rl.reduce_seq(step, (0.0, 0.0), rl.zip(r, s)), A, B)


@pytest.mark.parametrize("length", [16, 6, 5])
def test_rows_that_folds_of_tuples_go_through_are_copied_for_lanes(length: int) -> None:
    """A fold of complex numbers has no block of vectors; its lanes read the parts of their rows side by side."""
    sizes = {"n": 3, "m": 16, "k": length}
    found = derive(with_its_conjugate, rows_of_panels(8), sizes)
    require_proved([step.rule for step in found.steps], RULES)
    low = replace(with_its_conjugate.at(sizes), body=found.result)
    copies = [t for t, _ in subterms(low.body) if isinstance(t, ToGlobal)]
    assert [str(t.type) for t in copies] == [f"(f32, f32)[2, {length}, 8]"]

    A, B = random_inputs(low, 1)
    a, b = (np.asarray(x[0]) + 1j * np.asarray(x[1]) for x in (A, B))
    real, imaginary = compile_program(low)(A, B, device="cpu")
    np.testing.assert_allclose(real + 1j * imaginary, a @ b.conj().T, rtol=1e-4, atol=1e-5)


def test_what_is_no_nest_over_rows_has_no_panels_of_rows() -> None:
    for name in ("gemv", "saxpy", "transpose"):
        program = load_program(str(EXAMPLES / f"{name}.py"))
        with pytest.raises(NoMatch):
            derive(program, rows_of_panels(8), dict.fromkeys(program.sizes, 32))


def test_the_second_operands_of_a_batch_are_copied_by_one_kernel() -> None:
    """As many panels as all have."""
    low, _ = blocked("batched", Block(4, 2, 8))
    copies = [t for t, _ in subterms(low.body) if isinstance(t, ToGlobal)]

    assert [str(t.type) for t in copies] == ["f32[6, 5, 16]"]


@pytest.mark.parametrize("name", ["gemv", "saxpy", "transpose", "j2d5pt", "convolution"])
def test_no_pairs_no_blocks(name: str) -> None:
    """A matrix times a vector reads each row once, and windows are read by their own cell."""
    program = load_program(str(EXAMPLES / f"{name}.py"))
    assert extent_of(program.at(dict.fromkeys(program.sizes, 32))) is None
