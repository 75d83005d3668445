"""Lines that a group has, and folds of what all work-items read, by vectors: PROVED rules, and right results."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import relift as rl
from relift.compiler.program import compile_program
from relift.device import GPU
from relift.egraph.cost.model import least_seconds
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.in_vectors import folds_in_vectors
from relift.rewrites.tactics.groups.dimensions import (
    columns_of_rows,
    items_of_columns,
    items_of_rows,
    items_that_keep_rows,
    lines_by_groups,
    results_of_each,
)
from relift.semantics.patterns import Fold, MapGlb, MapSeqUnroll, ToPrivate
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import Array

c, n, m, k = (rl.nat(name) for name in "cnmk")


@rl.program
def squares(x: rl.f32[n]):
    return rl.map(lambda v: v * v, x)


@rl.program
def squares_of_planes(x: rl.f32[n, m]):
    return rl.map(lambda row: rl.map(lambda v: v * v, row), x)


@rl.program
def squares_of_cubes(x: rl.f32[n, m, k]):
    return rl.map(lambda t: rl.map(lambda row: rl.map(lambda v: v * v, row), t), x)


@rl.program
def squares_of_batches(x: rl.f32[c, n, m, k]):
    return rl.map(lambda b: rl.map_nd(3, lambda v: v * v, b), x)


@rl.program
def turned_pairs(x: rl.f32[n, 2 * m], angles: rl.f32[n, m]):
    """Each pair of each row, turned: the rows are joined pairs."""

    def turned(p):
        u, v, by = p[0][0], p[0][1], p[1]
        return rl.make_array(u - by * v, by * u + v)

    rows = rl.zip(x, angles)
    return rl.map(lambda r: rl.join(rl.map(turned, rl.zip(rl.split(2, r[0]), r[1]))), rows)


@rl.program
def blocks_of_squares(x: rl.f32[n, m]):
    """Each number four times, as a block of two by two."""

    def block(v):
        pair = rl.make_array(v, v * v)
        return rl.make_array(pair, pair)

    return rl.map(lambda row: rl.map(block, row), x)


@rl.program
def distances(x: rl.f32[n], y: rl.f32[m]):
    """The sum of the squared distances of each of the first from all of the others."""

    def total(v):
        return rl.reduce(rl.add, 0.0, rl.map(lambda w: (v - w) * (v - w), y))

    return rl.map(total, x)


def computed(program: rl.Program, tactic: Tactic, *inputs: np.ndarray) -> np.ndarray:
    """The result of what a tactic makes of a program, with rules that are all PROVED."""
    sizes = program.solve_sizes(inputs)
    found = derive(program, tactic, sizes)
    require_proved((step.rule for step in found.steps), RULES)
    result: np.ndarray = compile_program(replace(program.at(sizes), body=found.result))(*inputs)
    return result


@pytest.mark.parametrize(
    ("program", "shape"),
    [
        (squares, (64,)),
        (squares_of_planes, (6, 19)),
        (squares_of_cubes, (3, 4, 16)),
        (squares_of_batches, (3, 2, 4, 9)),
    ],
)
def test_a_group_has_lines(program: rl.Program, shape: tuple[int, ...]) -> None:
    """Two lines each, which eight work-items share, with a rest in the second case."""
    x = np.random.default_rng(1).random(shape, np.float32)

    np.testing.assert_array_equal(computed(program, lines_by_groups(2, 8), x), x * x)


@pytest.mark.parametrize("lines", [1, 2])
def test_lines_of_short_arrays_are_written_cell_by_cell(lines: int) -> None:
    """Where each row joins what is made of its elements, that is done after all rows; one line is a group's, too."""
    x, angles = (np.random.default_rng(1).random(shape, np.float32) for shape in ((6, 10), (6, 5)))
    tactic = lines_by_groups(lines, 8)

    for program, inputs in ((turned_pairs, (x, angles)), (blocks_of_squares, (x,))):
        result = computed(program, tactic, *inputs)

        np.testing.assert_allclose(result, program(*inputs), rtol=1e-6)


def test_long_lines_are_no_groups() -> None:
    """What neighbouring lines share is no longer near; in four dimensions nothing else has a work-item for each element."""
    with pytest.raises(NoMatch, match="too long"):
        derive(squares_of_planes, lines_by_groups(2, 8), {"n": 4, "m": 8192})
    found = derive(squares_of_batches, lines_by_groups(1, 8), {"c": 2, "n": 3, "m": 4, "k": 8192})
    assert {step.choices["d"] for step in found.steps if step.rule == "map_to_wrg"} == {0, 1, 2}


def stretched_of(x):
    """Rows of twice the number: each, and the mean of it and the next."""

    def column(c):
        pairs = rl.slide(2, 1, rl.pad(0, 1, rl.clamp, c))
        return rl.join(rl.map(lambda p: rl.make_array(p[0], 0.5 * (p[0] + p[1])), pairs))

    return rl.transpose(rl.map(column, rl.transpose(x)))


@rl.program
def stretched(x: rl.f32[n, m]):
    return stretched_of(x)


def test_columns_have_a_work_item_for_each_element() -> None:
    """Neighbours write side by side, as many as are made of an element."""
    x = np.random.default_rng(1).random((5, 7), np.float32)
    result = computed(stretched, items_of_columns(), x)

    np.testing.assert_allclose(result, stretched(x), rtol=1e-6)
    with pytest.raises(NoMatch):
        derive(squares_of_planes, items_of_columns(), {"n": 4, "m": 8})


def total(xs):
    return rl.reduce(rl.add, 0.0, xs)


def unit(row):
    squares = rl.map(lambda v: v * v, row)
    return rl.map(lambda v: v * rl.rsqrt(total(squares)), row)


@rl.program
def moments_of_columns(x: rl.f32[n, m]):
    return rl.map(lambda c: (total(c), total(rl.map(lambda v: v * v, c))), rl.transpose(x))


def test_several_folds_of_a_column_are_one_loop_of_a_work_item() -> None:
    x = np.random.default_rng(1).random((5, 7), np.float32)
    result = computed(moments_of_columns, results_of_each(), x)

    for found, expected in zip(result, moments_of_columns(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    found = derive(moments_of_columns, results_of_each(), {"n": 5, "m": 7}).result
    assert sum(isinstance(t, Fold) for t, _ in subterms(found)) == 1


@rl.program
def chunks_of_columns(x: rl.f32[n * k, m]):
    return rl.map(lambda column: rl.map(total, rl.split(k, column)), rl.transpose(x))


@pytest.mark.parametrize(("along", "dimensions"), [(0, [0, 1]), (1, [1, 0])])
def test_neighbours_are_along_either_of_two_maps_of_folds(
    along: int, dimensions: list[int]
) -> None:
    """Of chunks of columns those of neighbouring columns read side by side."""
    x = np.random.default_rng(1).random((6, 7), np.float32)
    chunked = chunks_of_columns.at({"n": 2, "k": 3, "m": 7})
    result = computed(chunked, results_of_each(along), x)

    np.testing.assert_allclose(result, chunked(x), rtol=1e-6)
    found = derive(chunks_of_columns, results_of_each(along), {"n": 2, "k": 3, "m": 7})
    assert [s.choices["d"] for s in found.steps if s.rule == "map_to_glb"] == dimensions


def variance_of(column):
    mean = total(column) / 17.0
    return total(rl.map(lambda v: (v - mean) * (v - mean), column))


@rl.program
def variances_of_columns(x: rl.f32[c, n, m]):
    return rl.map(lambda t: rl.map(variance_of, rl.transpose(t)), x)


@rl.program
def unit_columns(x: rl.f32[n, m]):
    return rl.transpose(rl.map(unit, rl.transpose(x)))


@pytest.mark.parametrize(
    ("program", "shape"), [(variances_of_columns, (3, 17, 5)), (unit_columns, (17, 5))]
)
def test_a_column_that_is_read_twice_stays_in_registers(program, shape) -> None:
    """Each of its elements is read where it is copied, and nowhere else."""
    x = np.random.default_rng(1).random(shape, np.float32)
    result = computed(program, items_that_keep_rows(), x)

    np.testing.assert_allclose(result, program(x), rtol=1e-5)
    sizes = dict(zip("cnm"[-len(shape) :], shape, strict=True))
    found = derive(program, items_that_keep_rows(), sizes).result
    assert [type(t.xs) for t, _ in subterms(found) if isinstance(t, ToPrivate)] == [MapSeqUnroll]
    copied = {t.f.parameters[0] for t, _ in subterms(found) if isinstance(t, MapGlb)}
    assert sum(t in copied and isinstance(t.type, Array) for t, _ in subterms(found)) == len(copied)


@rl.program
def sums_of_columns(x: rl.f32[n, m]):
    return rl.map(total, rl.transpose(x))


@pytest.mark.parametrize(
    ("program", "rows"), [(unit_columns, 129), (unit_columns, 8), (sums_of_columns, 16)]
)
def test_rows_that_are_long_or_read_once_are_not_kept(program, rows) -> None:
    """Nor are those so short that all loops over them are written out."""
    with pytest.raises(NoMatch):
        derive(program, items_that_keep_rows(), {"n": rows, "m": 5})


@rl.program
def stretched_channels(x: rl.f32[c, n, m]):
    return rl.map(stretched_of, x)


def test_columns_of_a_batch_have_a_work_item_for_each_element() -> None:
    """Neighbours write side by side in each of them."""
    x = np.random.default_rng(1).random((2, 5, 7), np.float32)
    result = computed(stretched_channels, items_of_columns(), x)

    np.testing.assert_allclose(result, stretched_channels(x), rtol=1e-6)
    found = derive(stretched_channels, items_of_columns(), {"c": 2, "n": 5, "m": 7})
    assert [s.choices["d"] for s in found.steps if s.rule == "map_to_glb"] == [1, 0, 2]


@rl.program
def unit_rows(x: rl.f32[n, m]):
    return rl.map(unit, x)


def test_a_short_row_has_a_work_item_that_folds_it_once() -> None:
    """Not one that is long, and none of which nothing is folded."""
    x = np.random.default_rng(1).random((6, 4), np.float32)
    result = computed(unit_rows, items_of_rows(), x)

    np.testing.assert_allclose(result, unit_rows(x), rtol=1e-6)
    found = derive(unit_rows, items_of_rows(), {"n": 6, "m": 4}).result
    assert sum(isinstance(t, Fold) for t, _ in subterms(found)) == 1
    for other, sizes in ((unit_rows, {"n": 6, "m": 64}), (squares_of_planes, {"n": 6, "m": 4})):
        with pytest.raises(NoMatch):
            derive(other, items_of_rows(), sizes)


@pytest.mark.parametrize("rows", [8, 10])
def test_rows_of_a_work_item_follow_one_another_where_they_divide(rows: int) -> None:
    """What is the same for a row is read together then; else the rows of a work-item lie apart."""
    program = squares_of_planes.at({"n": rows, "m": 64})
    low = replace(program, body=derive(program, columns_of_rows(4)).result)
    source = compile_program(low).source
    assert ("256*glb_1 + glb_0" in source) == (rows % 4 == 0)


@rl.program
def products_of_rows(x: rl.f32[n, k], y: rl.f32[m, k]):
    each = lambda a: rl.map(lambda b: rl.map(lambda p: p[0] * p[1], rl.zip(a, b)), y)
    return rl.map(each, x)


@rl.program
def shifted_rows(x: rl.f32[n, m]):
    """Two results of a cell, one of which the row has a part in."""
    pairs = lambda r: rl.map(lambda v: (v + r[0], v * v), r)
    return rl.map(pairs, x)


@pytest.mark.parametrize("rows", [8, 10, 11])
def test_a_work_item_has_a_column_of_several_rows(rows: int) -> None:
    """Where there is no multiple of so many rows only the last of each work-item may be none."""
    draw = np.random.default_rng(1)
    x, y = draw.random((3, 5), np.float32), draw.random((rows, 5), np.float32)
    low = replace(
        products_of_rows.at({"n": 3, "m": rows, "k": 5}),
        body=derive(products_of_rows, columns_of_rows(4), {"n": 3, "m": rows, "k": 5}).result,
    )
    source = compile_program(low).source
    assert source.count("out[") == 4
    assert source.count("if (") == (rows % 4 > 0)
    np.testing.assert_array_equal(
        computed(products_of_rows, columns_of_rows(4), x, y), x[:, None] * y
    )


@pytest.mark.parametrize(("length", "lanes"), [(6, 2), (8, 4)])
def test_a_column_of_rows_may_be_of_neighbours(length: int, lanes: int) -> None:
    """Where they fill the rows they are read and written as one vector."""
    draw = np.random.default_rng(1)
    x, y = draw.random((3, length), np.float32), draw.random((8, length), np.float32)
    tactic = columns_of_rows(4, lanes)
    sizes = {"n": 3, "m": 8, "k": length}
    low = replace(products_of_rows.at(sizes), body=derive(products_of_rows, tactic, sizes).result)

    assert compile_program(low).source.count(f"*(global float{lanes}*)(out") == 4
    np.testing.assert_array_equal(computed(products_of_rows, tactic, x, y), x[:, None] * y)
    with pytest.raises(NoMatch):
        derive(products_of_rows, tactic, {"n": 3, "m": 8, "k": 5})


def test_columns_of_rows_may_have_several_results() -> None:
    x = np.random.default_rng(1).random((9, 5), np.float32)
    sums, squares_ = computed(shifted_rows, columns_of_rows(4), x)
    np.testing.assert_array_equal(sums, x + x[:, :1])
    np.testing.assert_array_equal(squares_, x * x)


@pytest.mark.parametrize(
    ("program", "shape"), [(squares, (64,)), (squares_of_planes, (7, 8)), (stretched, (8, 8))]
)
def test_few_rows_and_other_elements_have_no_columns(
    program: rl.Program, shape: tuple[int, ...]
) -> None:
    """One dimension, less than two times four rows, and elements that are arrays."""
    with pytest.raises(NoMatch):
        derive(program, columns_of_rows(4), dict(zip(program.sizes, shape, strict=True)))


@pytest.mark.parametrize(
    ("program", "shape"), [(stretched, (2001, 5006)), (squares_of_batches, (32, 32, 8, 3136))]
)
def test_all_dimensions_are_parallel(program: rl.Program, shape: tuple[int, ...]) -> None:
    """Nothing takes much longer than to read and to write once."""
    sizes = dict(zip(program.sizes, shape, strict=True))
    found = rl.optimize(program, sizes, GPU)

    assert found.candidates[0].cost.seconds < 1.3 * least_seconds(program.at(sizes), GPU)


def test_what_all_read_is_read_in_vectors() -> None:
    """And only where vectors divide it."""
    x, y = (np.random.default_rng(1).random(length, np.float32) for length in (5, 16))

    result = computed(distances, folds_in_vectors(4), x, y)

    np.testing.assert_allclose(result, ((x[:, None] - y) ** 2).sum(axis=1), rtol=1e-5)
    with pytest.raises(NoMatch):
        derive(distances, folds_in_vectors(4), {"n": 5, "m": 15})
