"""Rows that work-items of a CPU fold in vectors: derived by PROVED rules, right where vectors divide a row or not."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.device import CPU
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.vectors.folded_rows import rows_of_items
from relift.semantics.language.programs import Program

n, m = rl.nat("n"), rl.nat("m")
WIDTH = 8


@rl.program
def deviation(a: rl.f32[n, m]):
    """A value of each row, by two folds of which one needs the other."""

    def of_a_row(row):
        mean = rl.reduce(rl.add, 0.0, row) / 40.0
        squares = rl.map(lambda x: (x - mean) * (x - mean), row)
        return rl.sqrt(rl.reduce(rl.add, 0.0, squares) / 40.0)

    return rl.map(of_a_row, a)


@rl.program
def softmax(a: rl.f32[n, m]):
    """A row of each row, of powers that a fold and the result need."""

    def of_a_row(row):
        top = rl.reduce(rl.maximum, float("-inf"), row)
        powers = rl.map(lambda x: rl.exp(x - top), row)
        return rl.map(lambda p: p / rl.reduce(rl.add, 0.0, powers), powers)

    return rl.map(of_a_row, a)


@rl.program
def spread(a: rl.f32[n, m]):
    """Folds that start with a number of the user's, which is no neutral element."""
    top = lambda row: rl.reduce(rl.maximum, 0.25, row)
    return rl.map(lambda row: top(row) + rl.reduce(rl.add, 1.0, row), a)


@rl.program
def distances(a: rl.f32[n, m], b: rl.f32[n, m]):
    """A value of each pair of rows."""
    square = lambda p: (p[0] - p[1]) * (p[0] - p[1])
    apart = lambda x, y: rl.reduce(rl.add, 0.0, rl.map(square, rl.zip(x, y)))
    return rl.map(lambda x: rl.map(lambda y: apart(x, y), b), a)


@rl.program
def doubled(a: rl.f32[n, m]):
    return rl.map(lambda row: rl.map(lambda x: x + x, row), a)


def numpys_deviation(a: Any) -> Any:
    mean = a.sum(1, keepdims=True) / 40
    return np.sqrt(((a - mean) ** 2).sum(1) / 40)


def numpys_softmax(a: Any) -> Any:
    powers = np.exp(a - a.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def numpys_spread(a: Any) -> Any:
    return np.maximum(a.max(1), 0.25) + 1 + a.sum(1)


def numpys_distances(a: Any, b: Any) -> Any:
    return ((a[:, None] - b[None]) ** 2).sum(2)


@pytest.mark.parametrize("length", [40, 43])
@pytest.mark.parametrize(
    ("program", "depth", "wanted"),
    [
        (deviation, 1, numpys_deviation),
        (softmax, 1, numpys_softmax),
        (spread, 1, numpys_spread),
        (distances, 2, numpys_distances),
    ],
)
def test_a_work_item_folds_its_row_in_vectors(
    program: Program, depth: int, wanted: Callable[..., Any], length: int
) -> None:
    sizes = {"n": 3, "m": length}
    found = derive(program, rows_of_items(depth, WIDTH, CPU.nearest_bytes), sizes)
    rules = [step.rule for step in found.steps]
    require_proved(rules, RULES)
    assert "vectorize_reduce" in rules
    compiled = compile_program(replace(program.at(sizes), body=found.result))
    drawn = np.random.default_rng(0)
    arrays = [drawn.random((3, length), dtype=np.float32) for _ in program.parameters]
    exact = [array.astype(np.float64) for array in arrays]
    np.testing.assert_allclose(compiled(*arrays), wanted(*exact), rtol=1e-5)


@rl.program
def largest_place(a: rl.f32[n, m]):
    """Where the largest number of each row is; of several the first."""

    def later(best, v):
        greater = v > best[0]
        place = rl.select(greater, best[2], best[1])
        return (rl.select(greater, v, best[0]), place, best[2] + 1)

    return rl.map(lambda row: rl.reduce_seq(later, (float("-inf"), 0, 0), row)[1], a)


added = rl.operator(
    lambda x, y: (x[0] + y[0], x[1] + y[1]), name="added", associative=True, commutative=True
)


@rl.program
def complex_product(a: rl.tup(rl.f32, rl.f32)[n, m], x: rl.tup(rl.f32, rl.f32)[m]):
    """A fold of pairs from their neutral element, of what is computed of zipped pairs."""

    def times(p):
        (u, v), (c, d) = (p[0][0], p[0][1]), (p[1][0], p[1][1])
        return (u * c - v * d, u * d + v * c)

    zero = (0.0, 0.0)
    return rl.map(lambda row: rl.reduce(added, zero, rl.map(times, rl.zip(row, x))), a)


def by_rows(program: Program, length: int) -> Compiled:
    """The program with a row for each work-item, by rules that are PROVED."""
    sizes = {"n": 4, "m": length}
    found = derive(program, rows_of_items(1, WIDTH, CPU.nearest_bytes), sizes)
    found.replay(RULES)
    require_proved([step.rule for step in found.steps], RULES)
    return compile_program(replace(program.at(sizes), body=found.result))


@pytest.mark.parametrize(
    ("length", "vectors"), [(4 * WIDTH * 3, 4), (4 * WIDTH * 2 + 5, 4), (WIDTH * 3 + 1, 1)]
)
def test_accumulators_of_tuples_are_vectors(length: int, vectors: int) -> None:
    """Places of the largest: in turn, equal values among them, with a rest that follows."""
    compiled = by_rows(largest_place, length)
    accumulators = re.findall(
        rf"^  float{WIDTH} (own\w*) = .*INFINITY", compiled.source, re.MULTILINE
    )
    assert len(accumulators) == vectors
    given = np.random.default_rng(0).integers(0, 9, (4, length)).astype(np.float32)
    given[2:] = [[-np.inf] * length, [*given[3, :-1], 9]]
    np.testing.assert_array_equal(compiled(given), given.argmax(1))


@rl.program
def extremes(a: rl.f32[n, m]):
    """Folds whose steps take longer than the next one can wait, from no neutral element of one of them."""
    top = lambda row: rl.reduce(rl.maximum, 0.5, row)
    return rl.map(lambda row: top(row) - rl.reduce(rl.minimum, float("inf"), row), a)


@pytest.mark.parametrize(
    ("length", "vectors"), [(4 * WIDTH * 3, 4), (4 * WIDTH * 2 + 5, 4), (WIDTH * 3 + 1, 1)]
)
def test_extremes_have_several_accumulators(length: int, vectors: int) -> None:
    """Sums have one, whose next step waits no longer than for memory; NaN comes through all of them."""
    compiled = by_rows(extremes, length)
    starts = re.findall(rf"^  float{WIDTH} \w+ = .*INFINITY", compiled.source, re.MULTILINE)
    assert len(starts) >= 2 * vectors if vectors > 1 else starts
    given = np.random.default_rng(0).random((4, length), dtype=np.float32)
    given[1], given[2, 7], given[3, -1] = -np.inf, np.nan, np.nan
    wanted = np.maximum(given.max(1), np.float32(0.5)) - given.min(1)
    np.testing.assert_array_equal(compiled(given), wanted)


@pytest.mark.parametrize("length", [4 * WIDTH * 2, 4 * WIDTH * 2 + 5])
def test_lanes_of_tuples_compute_what_is_folded(length: int) -> None:
    """Nothing is computed one by one but what follows the vectors."""
    compiled = by_rows(complex_product, length)
    drawn = np.random.default_rng(0)
    a, x = drawn.random((2, 4, length), dtype="f4"), drawn.random((2, length), dtype="f4")
    assert len(re.findall(r"for \(int", compiled.source)) == 1 + (length % WIDTH > 0)
    wanted = (a[0] + 1j * a[1]) @ (x[0] + 1j * x[1])
    found = compiled((a[0], a[1]), (x[0], x[1]))
    np.testing.assert_allclose(found[0] + 1j * np.asarray(found[1]), wanted, rtol=1e-4)


@pytest.mark.parametrize("length", [8, 15, 16, 31, 63, 64, 79])
def test_lanes_are_folded_in_halves_with_what_is_left(length: int) -> None:
    """No loop goes through numbers one by one: what is left over fills no two narrower vectors."""
    compiled = by_rows(extremes, length)
    assert not re.findall(r"^    \w+ = m..imum_f32\(", compiled.source, re.MULTILINE)
    given = np.random.default_rng(0).standard_normal((4, length)).astype(np.float32)
    wanted = np.maximum(given.max(1), np.float32(0.5)) - given.min(1)
    np.testing.assert_array_equal(compiled(given), wanted)


def test_places_are_estimated_to_take_what_is_read() -> None:
    """The first pick for places has vectors, whatever its driver packs, and is estimated to wait for memory alone."""
    for packs in ("loops", "loop-free"):
        device = replace(CPU, packs=packs)
        found = optimize(largest_place, {"n": 4096, "m": 4096}, device).candidates[0]
        rules = [step.rule for step in found.derivation.steps]
        assert "reduce_strided_idempotent" in rules
        assert "as_vector_map_reduce_seq" in rules
        read = device.launch_seconds + 4096 * 4096 * 4 / (device.bandwidth_gbs * 1e9)
        assert found.cost.seconds < 1.2 * read


def test_rows_that_fill_no_vectors_and_rows_that_nobody_folds_are_left_to_others() -> None:
    with pytest.raises(NoMatch, match="two vectors"):
        derive(deviation, rows_of_items(1, WIDTH, CPU.nearest_bytes), {"n": 3, "m": 7})
    with pytest.raises(NoMatch, match="folds nothing"):
        derive(doubled, rows_of_items(1, WIDTH, CPU.nearest_bytes), {"n": 3, "m": 64})
