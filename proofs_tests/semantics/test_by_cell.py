"""Single cells of a result are those of the whole result, and cost no more than what they need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relift as rl
from proofs_tests.compiler.programs import typed
from relift.compiler.running.arrays.buffers import components, flatten
from relift.rewrites.checks.random.draws import KINDS
from relift.rewrites.checks.random.kernels import random_arguments, random_kernel
from relift.semantics.by_cell import Cells, Lazy, TooMuch
from relift.semantics.errors import Undefined, Unsupported
from relift.semantics.language.programs import Program
from relift.testing import arguments, programs

n = rl.nat("n")


def assert_cells_agree(program: Program, values: tuple[Any, ...]) -> None:
    """Every cell, asked for from the last to the first, is the whole result's."""
    here = program.at(program.solve_sizes(values))
    try:
        expected = here(*values)
    except Undefined:
        return  # a cell that needs nothing undefined may have a value
    cells = Cells(here, values, effort=10**6)
    rows = flatten(expected, here.body.type, "the result")
    for number, (row, (_, shape)) in enumerate(zip(rows, components(here.body.type), strict=True)):
        for place in reversed(range(len(row))):
            found = cells.at(number, tuple(map(int, np.unravel_index(place, shape))))
            np.testing.assert_array_equal(found, row[place])


@settings(max_examples=100, deadline=None)
@given(programs(), st.data())
def test_cells_of_random_programs(program: Program, data: st.DataObject) -> None:
    assert_cells_agree(program, data.draw(arguments(program)))


@pytest.mark.parametrize("kind", KINDS)
def test_cells_of_random_kernels(kind: Any) -> None:
    """Captures, accumulators, lets and tuples of arrays among them."""
    for seed in range(40):
        program = random_kernel(seed, kind)
        if program is not None:
            here = program.at({name: low + 2 for name, low in program.least_sizes.items()})
            assert_cells_agree(here, random_arguments(here, seed))


@typed(A=rl.f32[n, n], B=rl.f32[n, n])
def product(A: Any, B: Any) -> Any:
    def dot(row: Any, column: Any) -> Any:
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, column)))

    return rl.map(lambda row: rl.map(lambda column: dot(row, column), rl.transpose(B)), A)


@typed(x=rl.f32[n], y=rl.f32[2])
def chained(x: Any, y: Any) -> Any:
    return rl.reduce_seq(lambda acc, v: rl.map(lambda a: a + v, acc), y, x)


def test_a_cell_of_a_large_product_needs_a_row_and_a_column() -> None:
    size = 300
    A, B = (
        np.random.default_rng(s).integers(-8, 8, (size, size)).astype(np.float32) for s in (0, 1)
    )
    here = product.at({"n": size})

    assert Cells(here, (A, B), effort=2 * size).at(0, (7, 299)) == (A @ B)[7, 299]
    with pytest.raises(TooMuch):
        Cells(here, (A, B), effort=2 * size - 1).at(0, (7, 299))


def test_a_long_chain_is_refused_and_not_a_crash() -> None:
    here = chained.at({"n": 5000})
    with pytest.raises(Unsupported, match="nested too deeply"):
        Cells(here, (np.ones(5000, np.float32), np.ones(2, np.float32)), 10**6).at(0, (0,))


@given(st.lists(st.integers()), st.lists(st.integers()), st.slices(8))
def test_a_lazy_array_is_a_list(xs: list[int], ys: list[int], part: slice) -> None:
    lazy = Lazy(len(xs), xs.__getitem__)

    assert list(lazy) == xs
    assert list(lazy[part]) == xs[part]
    assert list(lazy + ys) == list(xs + Lazy(len(ys), ys.__getitem__)) == xs + ys
    for i in range(-len(xs), len(xs)):
        assert lazy[i] == xs[i]
    with pytest.raises(IndexError):
        lazy[len(xs)]
