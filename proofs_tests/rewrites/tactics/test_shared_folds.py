"""Folds that share what they read: blocks of neighbouring results compute the same, by proved rules."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relift as rl
from proofs_tests.command_line import ROOT
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.device import CPU
from relift.egraph.cost.model import estimate
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.folds.shared import blocks_across_results, blocks_of_folds
from relift.semantics.language.programs import Program
from relift.semantics.patterns import ReduceSeq
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import Array

WIDTH = 4
n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")


def products(*, columns: bool, shared_first: bool, epilogue: bool, batch: bool) -> Program:
    """The weighted sums of the rows or columns of a matrix, or of each of several, and what is done with them."""

    def weighted(row, x):
        pair = rl.zip(x, row) if shared_first else rl.zip(row, x)
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], pair))

    def of_one(A, x, y):
        rows = rl.transpose(A) if columns else A
        if epilogue:
            return rl.map(lambda p: 2.0 * weighted(p[0], x) + p[1], rl.zip(rows, y))
        return rl.map(lambda row: weighted(row, x), rows)

    shape = (m, n) if columns else (n, m)

    @rl.program
    def one(A: rl.f32[shape], x: rl.f32[m], y: rl.f32[n]):
        return of_one(A, x, y)

    @rl.program
    def several(As: rl.f32[(k, *shape)], x: rl.f32[m], y: rl.f32[n]):
        return rl.map(lambda A: of_one(A, x, y), As)

    return several if batch else one


@settings(max_examples=8, derandomize=True, deadline=None)
@given(
    columns=st.booleans(),
    shared_first=st.booleans(),
    epilogue=st.booleans(),
    batch=st.booleans(),
    across=st.booleans(),
    rest=st.sampled_from([0, 0, 3]),
    steps=st.sampled_from([5, 8, 11]),
    policy=st.sampled_from(["reassociate", "exact"]),
)
def test_blocks_of_results_compute_the_same(
    columns: bool,
    shared_first: bool,
    epilogue: bool,
    batch: bool,
    across: bool,
    rest: int,
    steps: int,
    policy: FloatPolicy,
) -> None:
    """Rows and columns, either order of a pair, with or without an epilogue, in batches, with a rest, in either policy."""
    program = products(columns=columns, shared_first=shared_first, epilogue=epilogue, batch=batch)
    sizes = {"n": 4 * WIDTH + (0 if batch else rest), "m": steps}
    if batch:
        sizes["k"] = 3
    tactic = blocks_across_results(2, WIDTH) if across else blocks_of_folds(4, WIDTH)
    found = derive(program, tactic, sizes, policy)
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    low = replace(program.at(sizes), body=found.result)
    assert shares(low)
    inputs = random_inputs(program.at(sizes), 0)
    np.testing.assert_allclose(
        compile_program(low)(*inputs), program.at(sizes)(*inputs), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("policy", ["reassociate", "exact"])
def test_what_steps_take_of_their_own_result_stands_beside_what_blocks_go_through(
    policy: FloatPolicy,
) -> None:
    """Rows that are computed of numbers of their own, and zipped with what all of them share."""

    @rl.program
    def updated(A: rl.f32[n, m], u: rl.f32[n], v: rl.f32[m], x: rl.f32[m]):
        def row(q):
            sums = rl.map(lambda p: p[0] + q[1] * p[1], rl.zip(q[0], v))
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(sums, x)))

        return rl.map(row, rl.zip(A, u))

    sizes = {"n": 11, "m": 8}
    found = derive(updated, blocks_of_folds(4, WIDTH), sizes, policy)
    require_proved((step.rule for step in found.steps), RULES)
    low = replace(updated.at(sizes), body=found.result)
    assert shares(low)
    A, u, v, x = inputs = random_inputs(low, 0)
    expected = (A + np.outer(u, v)) @ x
    np.testing.assert_allclose(compile_program(low)(*inputs), expected, rtol=1e-4, atol=1e-5)


def test_rows_that_no_vector_divides_are_folded_in_vectors_and_a_rest() -> None:
    """Four rows of eleven share the first eight elements of a vector in lanes, and the last three one by one."""
    program = products(columns=False, shared_first=False, epilogue=True, batch=False)
    found = derive(program, blocks_of_folds(4, WIDTH), {"n": 8, "m": 11})
    assert {"concat_take_drop", "vectorize_reduce", "lift_reduce_seq"} <= {
        step.rule for step in found.steps
    }
    low = replace(program.at({"n": 8, "m": 11}), body=found.result)
    inputs = random_inputs(low, 0)
    expected = program.at({"n": 8, "m": 11})(*inputs)
    np.testing.assert_allclose(compile_program(low)(*inputs), expected, rtol=1e-5, atol=1e-5)


def test_lanes_are_of_results_of_several_folds() -> None:
    """What chunks of rows came to, and the rows that fill none: each of two folds has its lanes."""

    def folded(p):
        return rl.reduce(rl.add, 0.0, p[0]) + rl.reduce(rl.add, 0.0, p[1])

    @rl.program
    def columns(A: rl.f32[m, n], B: rl.f32[k, n]):
        return rl.map(folded, rl.zip(rl.transpose(A), rl.transpose(B)))

    sizes = {"n": 2 * WIDTH + 1, "m": 5, "k": 3}
    low = derive(columns, blocks_across_results(2, WIDTH), sizes, "exact").result
    assert (
        sum(isinstance(t, ReduceSeq) and isinstance(t.type, Array) for t, _ in subterms(low)) == 2
    )
    program = replace(columns.at(sizes), body=low)
    A, B = inputs = random_inputs(program, 0)
    np.testing.assert_allclose(compile_program(program)(*inputs), A.sum(0) + B.sum(0), rtol=1e-6)


def shares(low: Program) -> bool:
    """Whether a work-item of a low-level program has a fold with an array of accumulators."""
    return any(
        isinstance(t, ReduceSeq) and isinstance(t.type, Array) for t, _ in subterms(low.body)
    )


def test_folds_that_share_nothing_are_left_alone() -> None:
    """Sums of rows, and a map without a fold."""

    @rl.program
    def sums(A: rl.f32[n, m]):
        return rl.map(lambda row: rl.reduce(rl.add, 0.0, row), A)

    saxpy = load_program(str(ROOT / "examples" / "saxpy.py"))
    for program, tactic in (
        (sums, blocks_of_folds(4, WIDTH)),
        (saxpy, blocks_of_folds(4, WIDTH)),
        (saxpy, blocks_across_results(1, WIDTH)),
    ):
        with pytest.raises(NoMatch):
            derive(program, tactic, dict.fromkeys(program.sizes, 16))


@pytest.mark.parametrize("rest", [0, 3])
@pytest.mark.parametrize("epilogue", [False, True])
@pytest.mark.parametrize("squares", [False, True])
def test_columns_are_folded_in_strips_of_rows(rest: int, epilogue: bool, squares: bool) -> None:
    """Sums and norms of columns, which read nothing twice: lanes are neighbouring columns, in the same order of sums."""

    def folded(column):
        terms = rl.map(lambda v: v * v, column) if squares else column
        total = rl.reduce(rl.add, 0.0, terms)
        return rl.sqrt(total) if epilogue else total

    @rl.program
    def columns(A: rl.f32[m, n]):
        return rl.map(folded, rl.transpose(A))

    sizes = {"n": 4 * WIDTH + rest, "m": 5}
    found = derive(columns, blocks_across_results(2, WIDTH), sizes, "exact")
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    low = replace(columns.at(sizes), body=found.result)
    assert shares(low)
    inputs = random_inputs(columns.at(sizes), 0)
    np.testing.assert_allclose(compile_program(low)(*inputs), columns.at(sizes)(*inputs), rtol=1e-6)


@pytest.mark.parametrize("rest", [0, 3])
def test_columns_are_folded_with_numbers_of_their_own(rest: int) -> None:
    """A lane has what its column is paired with beside it: two numbers here, one of them used twice."""

    def folded(p):
        terms = rl.map(lambda v: (v - p[0][1]) * (v - p[0][1]) * p[1], p[0][0])
        return rl.reduce(rl.add, 0.0, terms)

    @rl.program
    def columns(A: rl.f32[m, n], x: rl.f32[n], y: rl.f32[n]):
        return rl.map(folded, rl.zip(rl.zip(rl.transpose(A), x), y))

    sizes = {"n": 4 * WIDTH + rest, "m": 5}
    found = derive(columns, blocks_across_results(2, WIDTH), sizes, "exact")
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    low = replace(columns.at(sizes), body=found.result)
    assert shares(low)
    inputs = random_inputs(columns.at(sizes), 0)
    np.testing.assert_allclose(compile_program(low)(*inputs), columns.at(sizes)(*inputs), rtol=1e-6)


def test_columns_are_searched_in_strips() -> None:
    """The first pick for a large matrix reads several vectors of each row."""

    @rl.program
    def columns(A: rl.f32[m, n]):
        return rl.map(lambda column: rl.reduce(rl.add, 0.0, column), rl.transpose(A))

    assert shares(optimize(columns, {"n": 4096, "m": 4096}, CPU).term)


def test_what_is_read_across_a_border_is_left_alone() -> None:
    """Its vectors would be put together lane by lane: borders are split off by other plans."""
    program = load_program(str(ROOT / "examples" / "convolution.py"))
    for tactic in (blocks_of_folds(4, WIDTH), blocks_across_results(1, WIDTH)):
        with pytest.raises(NoMatch):
            derive(program, tactic, {"h": 32, "w": 32, "r": 1})


def memory_of_strips(rows: int, columns: int, vectors: int, cores: int = 2) -> float:
    """Seconds that memory is estimated to take for the weighted sum of each column, in strips of some vectors."""
    program = products(columns=True, shared_first=False, epilogue=False, batch=False)
    sizes = {"n": columns, "m": rows}
    strips = derive(program, blocks_across_results(vectors, 16), sizes, "reassociate")
    device = replace(CPU, compute_units=cores)
    return estimate(replace(program.at(sizes), body=strips.result), device).memory


def test_wide_strips_are_estimated_to_come_from_memory_faster() -> None:
    """The parts of a row that are read together are fetched together; little of it is seen where a page has many rows.

    Strips of 1, 2 and 4 vectors of 4096 x 4096 take two cores of an AMD 5.4, 4.1 and 3.3 ms, and those of 8 and 16 an Intel 1.7.  Strips that are
    whole rows lie one after the other.  Of five strips two cores have three at most.
    """
    one, two, four = (memory_of_strips(4096, 4096, vectors) for vectors in (1, 2, 4))
    assert [one, two, four] == pytest.approx([5.4e-3, 4.1e-3, 3.3e-3], rel=0.2)
    assert memory_of_strips(4096, 80, 1) < 1.2 * memory_of_strips(4096, 80, 4)
    whole, parts = (memory_of_strips(4096, 64, vectors, cores=1) for vectors in (4, 1))
    assert whole < parts  # by one core, which a single strip has


@pytest.mark.parametrize(
    ("columns", "policy"), [(False, "reassociate"), (True, "reassociate"), (True, "exact")]
)
def test_the_default_pick_for_a_cpu_shares_the_vector(columns: bool, policy: FloatPolicy) -> None:
    """A matrix or its transpose times a vector: the search puts first what reads the vector once for several results.

    Beside a row of 32 KB the vector does not stay near.
    """
    program = products(columns=columns, shared_first=False, epilogue=True, batch=False)
    found = optimize(program, {"n": 2048, "m": 8192}, "cpu", float=policy)
    assert shares(found.term)
