"""Programs in the words of loops: what they look up at the indices of their loops, these go through instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.program import compile_program
from relift.device import CPU, GPU
from relift.egraph.search.optimize import optimize
from relift.egraph.search.proposals import Proposals
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import attempt, derive, then
from relift.rewrites.tactics.folds.partial_results import partial_results
from relift.rewrites.tactics.looked_up import gone_through_instead
from relift.rewrites.tactics.spelled_out import spelled_out
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.notation.printer import show
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.types import f32, i32

at = rl.at_runtime_unsafe


def total(xs: Any) -> Any:
    return rl.reduce(rl.add, 0.0, xs)


def dot(xs: Any, ys: Any) -> Any:
    return total(rl.map(lambda p: p[0] * p[1], rl.zip(xs, ys)))


def product_by_cells(A: Any, B: Any) -> Any:
    def cell(i: Any, j: Any) -> Any:
        return total(rl.generate(5, lambda l: at(l, at(i, A)) * at(j, at(l, B))))

    return rl.generate(3, lambda i: rl.generate(4, lambda j: cell(i, j)))


def product(A: Any, B: Any) -> Any:
    return rl.map(lambda row: rl.map(lambda column: dot(row, column), rl.transpose(B)), A)


def sums_by_cells(A: Any, B: Any) -> Any:
    return rl.generate(5, lambda j: total(rl.generate(3, lambda i: at(j, at(i, A)))))


def sums(A: Any, B: Any) -> Any:
    return rl.map(total, rl.transpose(A))


def turned_by_cells(A: Any, B: Any) -> Any:
    return rl.generate(4, lambda j: rl.generate(3, lambda i: at(j, at(i, B))))


def turned(A: Any, B: Any) -> Any:
    return rl.map(lambda column: rl.take(3, column), rl.transpose(B))


def of_tables(body: Any) -> Program:
    return typed(A=f32[3, 5], B=f32[5, 4])(body)


BOTH = {
    "product": (product_by_cells, product),
    "sums": (sums_by_cells, sums),
    "turned": (turned_by_cells, turned),
}
both = pytest.mark.parametrize(("by_cells", "over_arrays"), BOTH.values(), ids=list(BOTH))


@both
def test_a_program_in_the_words_of_loops_is_one_over_arrays(
    by_cells: Any, over_arrays: Any
) -> None:
    found = derive(of_tables(by_cells), then(attempt(spelled_out()), gone_through_instead()))

    assert alpha_equal(found.result, of_tables(over_arrays).body)
    require_standing(found, RULES)
    assert found.replay(RULES)[-1] == found.result


@both
@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
def test_it_is_searched_as_that(by_cells: Any, over_arrays: Any, device: Any) -> None:
    """At the same cost, and with results that are those of the program as written."""
    best, other = (Proposals(of_tables(b), {}, device).all()[1][0] for b in (by_cells, over_arrays))
    arrays = whole_inputs(of_tables(by_cells), seed=1)

    assert best.cost.seconds <= other.cost.seconds
    np.testing.assert_array_equal(compile_program(best.low)(*arrays), of_tables(by_cells)(*arrays))


def test_what_is_looked_up_elsewhere_stays() -> None:
    """Rows of a diagonal are gone through, its cells are not."""
    diagonal = of_tables(lambda A, B: rl.generate(3, lambda i: at(i, at(i, A))))
    found = derive(diagonal, gone_through_instead())

    assert show(found.result).count("at_runtime_unsafe") == 1
    with pytest.raises(NoMatch):
        derive(diagonal, then(gone_through_instead(), gone_through_instead()))


def test_folds_that_look_something_up_are_cut_into_chunks_too() -> None:
    """Nothing is looked up that was not: whoever computes a chunk needs all of it."""
    lags, n = 3, 64

    def body(x: Any, y: Any) -> Any:
        def fold(lag: Any) -> Any:
            places = rl.zip(x, rl.generate(n, lambda i: i))
            return total(rl.map(lambda p: p[0] * at(p[1] ^ lag, y), places))

        return rl.map(fold, rl.generate(lags, lambda i: i))

    source = typed(x=f32[n], y=f32[n])(body)
    found = derive(source, partial_results(8))

    require_standing(found, RULES)
    assert any(step.rule == "map_let_fission_alone" for step in found.steps)
    arrays = whole_inputs(source, seed=1)
    low = Program(source.name, source.parameters, found.result)
    np.testing.assert_array_equal(low(*arrays), source(*arrays))


def test_folds_of_generated_indices_have_the_plans_of_folds_of_any_array() -> None:
    """128 folds of a long array, at indices or at numbers that are given."""
    n, lags = 1 << 16, 128

    def fold(x: Any, v: Any) -> Any:
        return total(rl.map(lambda u: rl.absolute(u - v), x))

    generated = typed(x=f32[n])(lambda x: rl.generate(lags, lambda i: fold(x, f32(i))))
    given = typed(x=f32[n], c=i32[lags])(lambda x, c: rl.map(lambda i: fold(x, f32(i)), c))
    best, other = (optimize(p, {}, GPU).candidates[0].cost.seconds for p in (generated, given))

    assert best < 1.2 * other
