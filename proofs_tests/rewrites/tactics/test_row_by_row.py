"""A fold of a computed table folds each row first, and gates of several products are one nest."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import random_inputs
from relift.device import GPU
from relift.egraph.cost.model import least_seconds
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.nests.dimensions import nested, row_by_row
from relift.rewrites.tactics.nests.normal_form import nest_in
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Join
from relift.semantics.syntax.terms import subterms

b, n, m, k = (rl.nat(name) for name in "bnmk")


def variation(windows: Any) -> Any:
    def cell(w: Any) -> Any:
        return rl.absolute(w[0][1] - w[0][0]) + rl.absolute(w[1][0] - w[0][0])

    return rl.map_nd(2, cell, windows)


@rl.program
def total_variation(x: rl.f32[n + 1, m + 1]) -> Any:
    return rl.reduce(rl.add, 0.0, rl.join(variation(rl.slide_nd((2, 2), (1, 1), x))))


@rl.program
def squares_of_pictures(x: rl.f32[b, n + 1, m + 1]) -> Any:
    """Rows of rows, and what is computed of each cell after they are joined."""
    each = rl.map(lambda p: variation(rl.slide_nd((2, 2), (1, 1), p)), x)
    return rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, rl.join(rl.join(each))))


@rl.program
def of_a_table(x: rl.f32[n, m]) -> Any:
    return rl.reduce(rl.add, 0.0, rl.join(x))


@pytest.mark.parametrize("program", [total_variation, squares_of_pictures], ids=lambda p: p.name)
def test_each_row_is_folded_first(program: Program) -> None:
    at_sizes = program.at(dict.fromkeys(program.sizes, 5))
    derivation = derive(at_sizes, row_by_row)
    require_standing(derivation, RULES)
    assert not any(isinstance(t, Join) for t, _ in subterms(derivation.result))
    inputs = random_inputs(at_sizes, 0)
    found = Program(program.name, at_sizes.parameters, derivation.result)(*inputs)
    np.testing.assert_allclose(found, at_sizes(*inputs), rtol=1e-5)


def test_a_table_that_lies_there_is_folded_whole() -> None:
    with pytest.raises(NoMatch):
        derive(of_a_table.at({"n": 4, "m": 8}), row_by_row)


@pytest.mark.parametrize("size", [8191, 8192], ids=["prime", "even"])
def test_no_cell_of_a_sum_is_stored(size: int) -> None:
    """To write the cells and to read them takes three times what to read the picture does."""
    sizes = {"n": size, "m": size}
    least = least_seconds(total_variation.at(sizes), GPU)
    assert rl.optimize(total_variation, sizes, GPU).candidates[0].cost.seconds < 2.5 * least


@rl.program
def gates(x: rl.f32[n, k], old: rl.f32[n, m], W: rl.f32[b, m, k], U: rl.f32[b, m, m]) -> Any:
    """Of a cell two products, of another row and another table each."""

    def dot(u: Any, v: Any) -> Any:
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))

    def gate(p: Any, q: Any) -> Any:
        return rl.map(lambda t: dot(p[0], t[0]) + dot(p[1], t[1]), rl.zip(q[0], q[1]))

    return rl.map(lambda p: rl.map(lambda q: gate(p, q), rl.zip(W, U)), rl.zip(x, old))


def test_several_products_of_tables_are_one_nest() -> None:
    """The rows of all tables are columns of one nest, whose folds are one fold of pairs."""
    nest = nest_in(derive(gates.at({"n": 6, "k": 8, "m": 8, "b": 4}), nested()).result)
    assert nest is not None
    assert nest.lengths == (6, 32, 8)
