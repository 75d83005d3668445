"""Results that are computed by columns, row by row: PROVED rules, the same values, and folds of columns once each."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.cost.model import least_seconds
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.sharing import storable
from relift.rewrites.tactics.transpositions import (
    few_columns,
    few_outside,
    interchanged,
    rows_of_columns,
    scans_across,
)
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Transpose
from relift.semantics.syntax.terms import subterms

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")


def total(xs):
    return rl.reduce(rl.add, 0.0, xs)


def softmax(column):
    top = rl.reduce(rl.maximum, float("-inf"), column)
    powers = rl.map(lambda v: rl.exp(v - top), column)
    whole = total(powers)
    return rl.map(lambda v: v / whole, powers)


def of_columns(function, table):
    return rl.transpose(rl.map(function, rl.transpose(table)))


@rl.program
def softmax_of_columns(A: rl.f32[n, m]):
    return of_columns(softmax, A)


@rl.program
def without_folds(A: rl.f32[n, m], x: rl.f32[m]):
    columns = rl.zip(rl.transpose(A), x)
    return rl.transpose(rl.map(lambda p: rl.map(lambda v: v * p[1], p[0]), columns))


@rl.program
def of_each_element(A: rl.f32[n, m]):
    return of_columns(lambda column: rl.map(lambda v: v * v, column), A)


@rl.program
def with_a_gain_and_a_bias(A: rl.f32[n, m], gain: rl.f32[n], bias: rl.f32[n]):
    def column(c):
        whole = total(c)
        return rl.map(lambda p: (p[0] - whole) * p[1] + p[2], rl.zip(c, gain, bias))

    return of_columns(column, A)


@rl.program
def of_two_tables(A: rl.f32[n, m], B: rl.f32[n, m]):
    def columns(p):
        whole = total(p[1])
        return rl.map(lambda q: q[0] * whole + q[1], rl.zip(p[0], p[1]))

    return rl.transpose(rl.map(columns, rl.zip(rl.transpose(A), rl.transpose(B))))


@rl.program
def batched(A: rl.f32[k, n, m]):
    return rl.map(lambda table: of_columns(softmax, table), A)


ALL = (
    softmax_of_columns,
    without_folds,
    of_each_element,
    with_a_gain_and_a_bias,
    of_two_tables,
    batched,
)


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_a_result_of_columns_is_computed_by_rows(program: Program) -> None:
    """No transposition is left but of what folds go through, which need no variable where they stand."""
    sizes = {
        name: length for name, length in zip("nmk", (5, 4, 3), strict=True) if name in program.sizes
    }
    found = derive(program, rows_of_columns(), sizes)
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    at_sizes = program.at(sizes)
    assert not isinstance(found.result, Transpose)
    inputs = random_inputs(at_sizes, 0)
    by_rows = Program(program.name, at_sizes.parameters, found.result)
    np.testing.assert_allclose(by_rows(*inputs), at_sizes(*inputs), rtol=1e-6)
    stored = [each.value for each in storable(found.result)]
    assert len(stored) == {"softmax_of_columns": 2, "batched": 2}.get(
        program.name, int("fold" not in program.name and program is not of_each_element)
    )


@rl.program
def product_by_columns(A: rl.f32[n, k], B: rl.f32[k, m]):
    def cell(column, row):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(column, row)))

    return rl.transpose(rl.map(lambda c: rl.map(lambda r: cell(c, r), A), rl.transpose(B)))


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
def test_a_product_may_be_written_by_columns(device: DeviceDescription) -> None:
    """It is no slower than by rows: it was 2.9 times on a GPU, without tiles."""

    @rl.program
    def by_rows(A: rl.f32[n, k], B: rl.f32[k, m]):
        columns = rl.transpose(B)
        cell = lambda p, q: rl.reduce(rl.add, 0.0, rl.map(lambda z: z[0] * z[1], rl.zip(p, q)))
        return rl.map(lambda row: rl.map(lambda column: cell(row, column), columns), A)

    sizes = {"n": 256, "k": 128, "m": 192}
    found, plain = (optimize(p, sizes, target=device) for p in (product_by_columns, by_rows))
    assert found.cost.seconds <= 1.05 * plain.cost.seconds
    interchange = derive(product_by_columns, interchanged(), {"n": 5, "k": 3, "m": 4})
    interchange.replay(RULES)
    require_proved((step.rule for step in interchange.steps), RULES)
    assert not isinstance(interchange.result, Transpose)


def test_what_is_not_computed_by_columns_is_left_alone() -> None:
    """Rows that are computed and transposed, and a transposition of what is given."""

    @rl.program
    def rows(A: rl.f32[n, m]):
        return rl.transpose(rl.map(lambda row: rl.scan_seq(rl.add, 0.0, row), A))

    @rl.program
    def given(A: rl.f32[n, m]):
        return rl.transpose(A)

    for program in (rows, given):
        for tactic in (rows_of_columns(), interchanged()):
            with pytest.raises(NoMatch):
                derive(program, tactic, {"n": 5, "m": 4})


def test_softmax_of_columns_is_searched_row_by_row() -> None:
    """The first pick reads no column by itself: its folds are of strips, with vectors as accumulators."""
    found = optimize(softmax_of_columns, {"n": 2048, "m": 2048}, CPU)
    assert not isinstance(found.term.body, Transpose)
    assert "vectorize(16, maximum)" in rl.show(found.term.body)
    assert any(step.rule == "map_interchange_zip_inside" for step in found.derivation.steps)


@rl.program
def blurred(A: rl.f32[n, m]):
    def blur(row):
        around = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, row))
        return rl.map(lambda w: w[0] + 2.0 * w[1] + w[2], around)

    return of_columns(blur, rl.map(blur, A))


def test_rows_below_columns_stay_as_they_are() -> None:
    """What is computed of columns is computed row by row, and what these are computed of was so before."""
    found = derive(blurred, rows_of_columns(), {"n": 8, "m": 8}).result
    (rows,) = [value.value for value in storable(found)]
    assert not any(isinstance(t, Transpose) for t, _ in subterms(rows))


def test_a_blur_of_columns_reads_no_column() -> None:
    """It is found though other forms of it are lowered better: five arrays are moved at least, and twice as many are not."""
    sizes = {"n": 2048, "m": 2048}
    found = optimize(blurred, sizes, CPU)
    assert found.candidates[0].cost.seconds < 4 * least_seconds(found.source, CPU)


@rl.program
def filtered(x: rl.f32[n, m], w: rl.f32[n]):
    """The state of a row is a pair, and starts from a number of its own."""
    step = lambda s, v: (v + 0.5 * s[0] - 0.2 * s[1], s[0])
    return rl.map(
        lambda p: rl.map(lambda s: s[0], rl.scan_seq(step, (p[1], 0.0), p[0])), rl.zip(x, w)
    )


def test_rows_that_work_items_of_a_gpu_go_along_are_copied_by_columns() -> None:
    """The array beside the table is read as it is; with an operator, which may have laws, a group scans a row."""
    sizes = {"n": 4, "m": 6}
    found = derive(filtered, scans_across(), sizes)
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    at_sizes = filtered.at(sizes)
    inputs = random_inputs(at_sizes, 0)
    across = Program("across", at_sizes.parameters, found.result)
    np.testing.assert_allclose(across(*inputs), at_sizes(*inputs), rtol=1e-6)
    assert [step.rule for step in found.steps].count("store_global") == 2

    @rl.program
    def sums(x: rl.f32[n, m]):
        return rl.map(lambda row: rl.scan_seq(rl.add, 0.0, row), x)

    with pytest.raises(NoMatch):
        derive(sums, scans_across(), sizes)


@rl.program
def classes(x: rl.f32[n, k], w: rl.f32[k, m], b: rl.f32[m]):
    """A linear layer: each result is a fold of a row and a column, and a number of the column's."""

    def of_row(row):
        dot = lambda c: total(rl.map(lambda p: p[0] * p[1], rl.zip(row, c)))
        return rl.map(lambda p: dot(p[0]) + p[1], rl.zip(rl.transpose(w), b))

    return rl.map(of_row, x)


def test_few_columns_that_are_folded_are_stored_as_rows() -> None:
    """One step stores them, wherever they are read; enough columns for vectors, or few rows, stay as they are."""
    found = derive(classes, few_columns, {"n": 2, "k": 20, "m": 3})
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    assert [step.rule for step in found.steps].count("store_global") == 1
    for sizes in ({"n": 2, "k": 20, "m": 16}, {"n": 2, "k": 4, "m": 3}, {"n": 2, "k": 20, "m": 1}):
        with pytest.raises(NoMatch):
            derive(classes, few_columns, sizes)


def test_a_product_with_few_columns_is_found_whose_vectors_go_along_them() -> None:
    """They are stored first, although a driver makes vectors of what is lowered as it is."""
    sizes = {"n": 256, "k": 1024, "m": 5}
    best = optimize(classes, sizes, replace(CPU, packs="loops")).candidates[0].term
    kernel = compile_program(best)
    assert (
        "float16 own0" in kernel.source
    )  # of a block of results, whose lanes are folded at the end
    assert len(kernel.plan.kernels) == 2
    x, w, b = random_inputs(best, 0)
    expected = x.astype(np.float64) @ w + b
    np.testing.assert_allclose(kernel(x, w, b, device="cpu"), expected, rtol=1e-3, atol=1e-3)


@rl.program
def few_of_many(x: rl.f32[k, n], w: rl.f32[m, k]):
    dot = lambda c, v: total(rl.map(lambda p: p[0] * p[1], rl.zip(c, v)))
    return rl.map(lambda c: rl.map(lambda v: dot(c, v), w), rl.transpose(x))


def test_few_go_outside_of_many_columns() -> None:
    """One PROVED step; as many as fill a vector, few columns, or rows stay as they are."""
    found = derive(few_of_many, few_outside(), {"n": 32, "k": 4, "m": 3})
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    assert [step.rule for step in found.steps] == ["map_interchange"]
    for sizes in ({"n": 32, "k": 4, "m": 16}, {"n": 8, "k": 4, "m": 3}, {"n": 32, "k": 4, "m": 1}):
        with pytest.raises(NoMatch):
            derive(few_of_many, few_outside(), sizes)
    with pytest.raises(NoMatch):
        derive(classes, few_outside(), {"n": 32, "k": 4, "m": 3})


def test_a_product_of_many_columns_with_few_is_found_whose_vectors_go_along_the_rows() -> None:
    """Its table is read in vectors, not number by number."""
    sizes = {"n": 512, "k": 1024, "m": 5}
    best = optimize(few_of_many, sizes, replace(CPU, packs="loops")).candidates[0].term
    kernel = compile_program(best)
    assert "(global const float16*)(x + " in kernel.source
    x, w = random_inputs(best, 0)
    expected = x.astype(np.float64).T @ w.T
    np.testing.assert_allclose(kernel(x, w, device="cpu"), expected, rtol=1e-3, atol=1e-3)
