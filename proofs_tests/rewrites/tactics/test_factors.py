"""What a step of a nest makes of one operand alone is a table of its own: products are regrouped, and nothing else changes."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relift import add, f32, map, nat, program, reduce
from relift import zip as zipped
from relift.compiler.agreement.inputs import whole_inputs
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.nests.factors import factors_apart, factors_of_all
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Map
from relift.semantics.syntax.terms import Apply, subterms

n, m, k, c, d = (nat(name) for name in "nmkcd")
SIZES = {"n": 5, "m": 4, "k": 3}
MORE = {**SIZES, "c": 2, "d": 3}


def table(step):
    """A program whose cells fold a step of numbers of a row, of a column, and of two arrays beside them."""

    @program
    def cells(A: f32[n, k], B: f32[m, k], w: f32[k], v: f32[k]):
        def cell(a, b):
            return reduce(add, 0.0, map(step, zipped(a, b, w, v)))

        return map(lambda a: map(lambda b: cell(a, b) * 2.0, B), A)

    return cells


def products(t) -> int:
    """How many products each cell takes."""
    cell = t.f.body.f.body
    return sum(isinstance(u, Apply) and u.function == "mul" for u, _ in subterms(cell)) - 1


STEPS = {
    "beside the column": lambda p: p[0] * p[1] * p[2],
    "beside the row": lambda p: p[2] * p[0] * p[1],
    "two of them": lambda p: p[2] * (p[1] * p[3]) * p[0],
    "a constant too": lambda p: p[1] * (0.5 * p[2]) * p[0],
    "no product": lambda p: (p[0] - p[2]) * p[1],
}


@pytest.mark.parametrize("written", STEPS)
def test_a_step_multiplies_once(written: str) -> None:
    source: Program = table(STEPS[written])
    found = derive(source, factors_apart, SIZES)
    found.replay(RULES)
    assert isinstance(found.result, Map)
    assert isinstance(found.result.xs, Map)
    assert products(found.result) == 1
    small = source.at(SIZES)
    inputs = whole_inputs(small, seed=0)
    np.testing.assert_allclose(
        np.asarray(replace(small, body=found.result)(*inputs)),
        np.asarray(small(*inputs)),
        rtol=1e-6,
    )


def test_products_are_regrouped_only_where_that_is_granted() -> None:
    """In exact arithmetic `(a * b) * w` stays: no part of it belongs to one operand."""
    with pytest.raises(NoMatch, match="no step makes anything"):
        derive(table(STEPS["beside the column"]), factors_apart, SIZES, policy="exact")


def test_a_product_of_two_operands_alone_stays() -> None:
    with pytest.raises(NoMatch, match="no step makes anything"):
        derive(table(lambda p: p[0] * p[1]), factors_apart, SIZES)


def contraction(maps: int):
    """A product of a number of each of some arrays of rows, folded for all their rows."""

    @program
    def cells(A: f32[n, k], B: f32[m, k], C: f32[c, k], D: f32[d, k]):
        def of(rows, arrays):
            if not arrays:
                product = lambda p: p[0] * p[1] * p[2] * p[3] if maps == 4 else p[0] * p[1] * p[2]
                return reduce(add, 0.0, map(product, zipped(*rows)))
            return map(lambda row: of([*rows, row], arrays[1:]), arrays[0])

        return of([], [A, B, C, D][:maps])

    return cells


@pytest.mark.parametrize("maps", [3, 4])
def test_what_steps_of_nests_in_maps_make_is_a_table_of_all_their_elements(maps: int) -> None:
    source: Program = contraction(maps)
    found = derive(source, factors_of_all, MORE)
    found.replay(RULES)
    nests = found.result
    assert isinstance(nests, Map)
    assert isinstance(nests.xs, Map)
    products_inside = [
        u for u, _ in subterms(nests.f.body) if isinstance(u, Apply) and u.function == "mul"
    ]
    assert len(products_inside) == 1
    small = source.at(MORE)
    inputs = whole_inputs(small, seed=0)
    np.testing.assert_allclose(
        np.asarray(replace(small, body=found.result)(*inputs)),
        np.asarray(small(*inputs)),
        rtol=1e-6,
    )


def test_a_nest_in_no_map_has_no_elements() -> None:
    with pytest.raises(NoMatch, match="no map is around"):
        derive(table(STEPS["beside the row"]), factors_of_all, SIZES)
