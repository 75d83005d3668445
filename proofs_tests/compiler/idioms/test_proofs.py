"""Proofs that programs are what loops compute: those of affine loops are found, those of wrong programs are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import relift as rl
from proofs_tests.compiler.idioms.checks import FILES, FOLDER, lifted
from proofs_tests.compiler.idioms.mutations import misplaced, mutants
from proofs_tests.portions import portioned
from relift.compiler.idioms.evidence import evidence
from relift.compiler.idioms.execution import Compiled
from relift.compiler.idioms.facts.llvm.source import bitcode
from relift.compiler.idioms.lift import LiftedIdiom
from relift.compiler.idioms.proofs import folds
from relift.compiler.idioms.proofs.equality import proof
from relift.rewrites.checks.smt.goals import answer_of

OPEN = {
    "scattered_rows": "two dimensions of which it is not known which is the larger",
}


@portioned("file", FILES, 2)
def test_affine_loops_are_proved(file: str) -> None:
    """Every lifted idiom has a proof for all sizes but those that are listed; where data choose cells or lengths, too."""
    without = [i.function for i in lifted(file).idioms if not i.proof.ok]
    assert set(without) <= OPEN.keys()


def found(file: str, function: str) -> LiftedIdiom:
    """The idiom of a function."""
    (one,) = [i for i in lifted(file).idioms if i.function == function]
    return one


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("reductions", "sum"), ("products", "gemm_kji"), ("products", "gemm_alpha_inside"), ("products", "syrk"),
        ("maps", "five_points"), ("maps", "matrix_sum"), ("reductions", "running"),
    ],
)  # fmt: skip
def test_sums_in_the_order_of_the_loops_hold_to_the_last_bit(file: str, function: str) -> None:
    """Where a program does the same operations in the same order, nothing is asked of floats."""
    shown = found(file, function).proof
    assert shown.ok, shown
    assert shown.rounded


def test_what_is_no_number_is_seen_to_the_last_bit() -> None:
    """A number that is not equal to itself is told from others: what differs there alone is not proved to the last bit."""
    right = found("ways", "clamped_by_calls")
    assert right.lifted is not None
    assert right.proof.rounded
    wrong = [replace(right.lifted, program=m) for m in mutants(right.lifted.program)]
    assert wrong
    assert not any(proof(right.relations, right.found, w).rounded for w in wrong)


def test_what_is_no_number_is_told_from_real_numbers() -> None:
    """Over real numbers, too, what is not equal to itself is told from what is: no real number is taken for it."""
    right = found("ways", "clamped_by_calls")
    assert right.lifted is not None
    compiled = Compiled(bitcode(FOLDER / "ways.c"))
    wrong = [replace(right.lifted, program=m) for m in mutants(right.lifted.program)]
    believed = [w for w in wrong if proof(right.relations, right.found, w).ok]
    assert 0 < len(believed) < len(wrong)
    for same in believed:
        assert evidence(
            right.relations, right.found, same, compiled, 200, 2, beside=right.lifted
        ).ok


def test_sums_that_are_regrouped_hold_over_real_numbers() -> None:
    """A sum over rows that goes on in each row is a sum of sums, and the invariant says so."""
    shown = found("reductions", "sum_matrix").proof
    assert shown.ok
    assert not shown.rounded
    assert any("what it began with, and (add)" in said for said in shown.invariants)


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("reductions", "sum"), ("reductions", "sum_matrix"), ("products", "gemm_ikj"), ("products", "gemm_alpha_beta"),
        ("maps", "five_points"), ("products", "gemv_by_columns"),
    ],
)  # fmt: skip
def test_wrong_programs_are_not_proved(file: str, function: str) -> None:
    """A program with one mistake has no proof."""
    right = found(file, function)
    assert right.lifted is not None
    planted = list(mutants(right.lifted.program))[:2]
    assert planted
    for wrong in planted:
        shown = proof(right.relations, right.found, replace(right.lifted, program=wrong))
        assert not shown.ok, wrong


@portioned(
    "file,function",
    [
        ("reductions", "scan_in_place"), ("reductions", "histogram"), ("reductions", "histogram_if"),
        ("reductions", "histogram_max"), ("reductions", "histogram_of_image"), ("reductions", "histogram_shifted"),
        ("products", "csr"), ("products", "jds_in_blocks"),
    ],
    {("reductions", "scan_in_place"), ("reductions", "histogram"), ("reductions", "histogram_max"), ("products", "csr")},
)  # fmt: skip
def test_wrong_programs_over_data_are_not_proved(file: str, function: str) -> None:
    """No mistake has a proof where data choose cells or lengths: one reads what may be no cell."""
    right = found(file, function)
    assert right.lifted is not None
    wrong = [replace(right.lifted, program=m) for m in mutants(right.lifted.program)]
    wrong += misplaced(right.lifted)
    assert len(wrong) > 5
    assert not any(proof(right.relations, right.found, w).ok for w in wrong)


def test_a_row_that_may_end_before_it_begins_is_not_proved() -> None:
    """What is shown of rows rests on the condition that their bounds rise: without it there is no proof."""
    right = found("products", "csr")
    assert right.lifted is not None
    assert right.lifted.asks("rows that rise")
    less = tuple(c for c in right.lifted.conditions if c.about != "rows that rise")
    assert not proof(right.relations, right.found, replace(right.lifted, conditions=less)).ok


def test_the_program_of_other_loops_is_not_proved() -> None:
    """The product is not that of a transposed matrix, and a window that begins elsewhere is another one."""
    plain, turned = (found("products", f) for f in ("gemv", "gemv_transposed"))
    assert plain.lifted is not None
    assert not proof(turned.relations, turned.found, plain.lifted).ok


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i <= n; i++) y[i] = x[i];",
        "for (int i = 1; i < n; i++) y[i] = x[i - 1];",
        "for (int i = 0; i < n; i += 2) y[i] = x[i];",
        "for (int i = n - 1; i >= 0; i--) y[i] = x[i];",
        "for (int i = 0; i < n; i++) y[i] = x[n - 1 - i];",
    ],
)
def test_bounds_and_strides_are_of_the_proof(loop: str) -> None:
    """Each loop is its own program, and the program of the plain copy only where both are one."""
    texts = [
        f"void f(int n, float *restrict y, const float *restrict x) {{\n{body}\n}}\n"
        for body in (loop, "for (int i = 0; i < n; i++) y[i] = x[i];")
    ]
    (own,), (plain,) = (rl.lift(text, runs=0).idioms for text in texts)
    assert own.proof.ok, own.proof
    assert plain.lifted is not None
    assert own.lifted is not None
    other = replace(own.lifted, program=plain.lifted.program)
    same = own.lifted.program.body == plain.lifted.program.body
    assert proof(own.relations, own.found, other).ok == same


@pytest.mark.parametrize(
    ("file", "function", "number"),
    [("narrow", "bins_of_floats", 2), ("walks", "bins_long_if", 19)],
)
def test_what_reads_another_cell_only_where_it_is_not_asked_means_the_same(
    file: str, function: str, number: int
) -> None:
    """What is cut off below 0 may be asked by another number; what is not chosen may be another cell up to the one that is written."""
    right = found(file, function)
    assert right.lifted is not None
    same = list(mutants(right.lifted.program))[number]
    shown = proof(right.relations, right.found, replace(right.lifted, program=same))
    assert shown.ok, shown
    assert not shown.rounded


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_rests_by_large_numbers_are_proved_whatever_z3_begins_with(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a loop and its program divide alike is one unknown: Z3 has not to find it out, which it did by chance."""

    def answered(solver: Any) -> Any:
        solver.set("random_seed", seed)
        return answer_of(solver)

    monkeypatch.setattr(folds, "answer_of", answered)
    one = found("searches", "bins_of_rests")
    assert one.lifted is not None
    assert proof(one.relations, one.found, one.lifted).rounded


def test_a_search_divides_what_is_never_negative_without_asking_for_its_sign() -> None:
    """The ends of an interval are no negative numbers: their middle is a plain quotient, in the program and in the proof."""
    one = found("searches", "roots")
    assert one.lifted is not None
    assert "< 0" not in str(one.lifted.program)
    assert one.proof.rounded
    less = found("searches", "ranks")  # whose interval begins at -1, and which shifts
    assert less.proof.ok
