"""Folds of many results by two kernels: right for whatever is folded, and chosen where results are few."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import pytest

import relift as rl
from proofs_tests.portions import portioned
from relift.compiler.agreement.inputs import whole_inputs
from relift.device import GPU
from relift.egraph.search.guidance.fold_plans import cooperative_reductions, partial_folds
from relift.egraph.search.outcomes import Proposal
from relift.egraph.search.proposals import Proposals
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.partial_results import (
    partial_results,
    partial_results_of_batches,
)
from relift.rewrites.tactics.groups.few_folds import few_columns, few_folds
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Fold, ToGlobal
from relift.semantics.syntax.binding import outside
from relift.semantics.syntax.terms import subterms

n, m = rl.nat("n"), rl.nat("m")
f = rl.f32


def dot(u, v):
    """The inner product of two vectors."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))


@rl.program
def column_sums(a: f[n, m]):
    """Each column's sum."""
    return rl.map(lambda column: rl.reduce(rl.add, 0.0, column), rl.transpose(a))


@rl.program
def column_products(a: f[n, m]):
    """Another operator, with a neutral element of its own."""
    return rl.map(lambda column: rl.reduce(rl.mul, 1.0, column), rl.transpose(a))


@rl.program
def transposed_times(a: f[n, m], x: f[n]):
    """The second half of atax."""
    return rl.map(lambda column: dot(column, x), rl.transpose(a))


@rl.program
def gemv_transposed(a: f[n, m], x: f[n], y: f[m]):
    """What is done with the results stays with them."""
    return rl.map(
        lambda p: 1.5 * p[0] + 2.5 * p[1],
        rl.zip(rl.map(lambda column: dot(column, x), rl.transpose(a)), y),
    )


@rl.program
def column_norms(a: f[n, m], y: f[m]):
    """What is done with a fold in the same function."""
    return rl.map(lambda p: rl.sqrt(dot(p[0], p[0])) * p[1], rl.zip(rl.transpose(a), y))


@rl.program
def two_folds(a: f[n, m], x: f[n]):
    """Two folds of equally many elements, of which one stands in two places."""

    def column(c):
        total = rl.reduce(rl.add, 0.0, c)
        return dot(c, x) * total + total

    return rl.map(column, rl.transpose(a))


@rl.program
def slopes(a: f[n, m], b: f[n, m], x: f[n]):
    """Two folds, of which one reads what the other reads beside other numbers: a gain's and a bias's gradient."""

    def column(p):
        steps = rl.map(lambda q: q[1] * (q[0] - q[2]), rl.zip(p[0], p[1], x))
        return (rl.reduce(rl.add, 0.0, steps), rl.reduce(rl.add, 0.0, p[1]))

    return rl.map(column, rl.zip(rl.transpose(a), rl.transpose(b)))


@rl.program
def rows(a: f[n, m], x: f[m]):
    """Rows are folded so, too."""
    return rl.map(lambda row: dot(row, x), a)


@rl.program
def empty_rows(a: f[rl.nat("n", 0), rl.nat("m", 0)]):
    """Rows that may be none."""
    return rl.map(lambda row: rl.reduce(rl.add, 0.0, row), a)


SMALL: Mapping[str, int] = {"n": 16, "m": 24}
ODD: Mapping[str, int] = {"n": 19, "m": 23}
PROGRAMS = [
    column_sums,
    column_products,
    transposed_times,
    gemv_transposed,
    column_norms,
    two_folds,
    slopes,
    rows,
]


def require_two_kernels(program: Program, tactic: Tactic, sizes: Mapping[str, int]) -> None:
    """What a tactic makes of a program is derived by proved rules, and two kernels that compute what the interpreter does."""
    found = derive(program, tactic, sizes)
    require_standing(found, RULES)
    assert confirm(found, RULES) is not None

    source = program.at(sizes)
    kernel = rl.compile(Program(program.name, source.parameters, found.result))
    inputs = tuple(np.sign(x) for x in whole_inputs(source, 1))
    assert kernel.source.count("kernel void") == 2
    np.testing.assert_array_equal(kernel(*inputs), source(*inputs))


@portioned("sizes", {"blocks": SMALL, "blocks and a rest": ODD}, {"blocks and a rest"})
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_two_kernels_compute_what_one_does(program: Program, sizes: Mapping[str, int]) -> None:
    """By proved rules, and the kernels as the interpreter has it."""
    require_two_kernels(program, partial_results(4), sizes)


k = rl.nat("k", 0)


@rl.program
def weighted_batches(w: f[k, n], a: f[k, n, m], s: f[k]):
    """Of each batch a sum of rows with weights that are computed and have a name: a head of attention for one token."""

    def batch(t):
        weights = rl.map(lambda v: v * t[2], t[0])
        return rl.let(lambda w: rl.map(lambda c: dot(w, c), rl.transpose(t[1])), weights)

    return rl.map(batch, rl.zip(w, a, s))


@rl.program
def batch_of_sums(a: f[k, n, m]):
    """Of each batch the columns' sums, and what is computed of a sum."""
    return rl.map(lambda t: rl.map(lambda c: rl.reduce(rl.add, 0.0, c) + 1.0, rl.transpose(t)), a)


@rl.program
def pairs_of_batches(a: f[k, n, m]):
    """Two folds of each row of each batch."""
    return rl.map(lambda t: rl.map(lambda r: (rl.reduce(rl.add, 0.0, r), dot(r, r)), t), a)


@pytest.mark.parametrize("length", [16, 19])
@pytest.mark.parametrize(
    "program", [weighted_batches, batch_of_sums, pairs_of_batches], ids=lambda p: p.name
)
def test_batches_of_folds_are_two_kernels_too(program: Program, length: int) -> None:
    """By proved rules, and the kernels as the interpreter has it."""
    sizes = {"k": 3, "n": length, "m": length + 2}
    require_two_kernels(program, partial_results_of_batches(4), sizes)


def test_a_gpu_has_work_for_all_of_its_units_where_batches_have_few_long_folds() -> None:
    """By the model: 64 sums of 5,000 numbers for each of 32 heads had a work-item each, 310 us."""
    task = Proposals(weighted_batches, {"k": 32, "n": 5000, "m": 64}, GPU)
    found = [each for tactic in partial_folds(task.source, GPU) for each in _proposed(task, tactic)]
    assert min(each.cost.seconds for each in found) < 40e-6


def test_where_batches_have_no_long_folds_there_are_no_chunks() -> None:
    """Nor where there are no batches, which a kernel of no work-items is for."""
    sizes = {"k": 3, "n": 7, "m": 8}
    with pytest.raises(NoMatch, match="no map of maps of folds of at least 8 elements"):
        derive(batch_of_sums, partial_results_of_batches(4), sizes)
    none = {"k": 0, "n": 16, "m": 8}
    found = derive(batch_of_sums, partial_results_of_batches(4), none)
    kernel = rl.compile(Program("none", batch_of_sums.at(none).parameters, found.result))
    assert kernel(np.zeros((0, 16, 8), np.float32)).shape == (0, 8)


def test_the_second_kernel_folds_no_chunk_again() -> None:
    """What a chunk comes to in each of two folds is one pair."""
    found = derive(slopes, partial_results(4), ODD)
    last = outside(found.result, lambda u: isinstance(u, ToGlobal))
    folded = [u for u in last if isinstance(u, Fold)]

    assert sorted(u.solved["n"].constant or 0 for u in folded) == [3, 3, 4, 4]


@pytest.mark.parametrize("length", [96, 101], ids=["chunks", "chunks and a rest"])
@pytest.mark.parametrize(
    "tactic",
    [few_folds(12, 4, 4, 48 * 1024), few_columns(96, 8, 4, 48 * 1024)],
    ids=["groups", "side by side"],
)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_few_long_folds_are_shared(program: Program, tactic: Tactic, length: int) -> None:
    """By a group for each chunk of each fold, or by neighbours side by side, whatever is folded, and however long."""
    down = program is not rows
    sizes = {"n": length, "m": 3} if down else {"n": 3, "m": length}
    found = derive(program, tactic, sizes)
    require_standing(found, RULES)

    source = program.at(sizes)
    kernel = rl.compile(Program(program.name, source.parameters, found.result))
    inputs = tuple(np.sign(x) for x in whole_inputs(source, 1))
    assert kernel.source.count("kernel void") == 2
    np.testing.assert_array_equal(kernel(*inputs), source(*inputs))


@rl.program
def moments(a: f[n, m]):
    """Two folds of a row that read the same."""
    return rl.map(lambda row: (rl.reduce(rl.add, 0.0, row), dot(row, row)), a)


@pytest.mark.parametrize(("groups", "kept"), [(8, 1), (32, 0)], ids=["long chunks", "short ones"])
def test_members_of_a_group_keep_what_several_folds_of_a_chunk_read(groups: int, kept: int) -> None:
    """Where their registers have room; of shorter chunks what is read again is near."""
    found = derive(moments, few_folds(groups, 4, 4, 48 * 1024), {"n": 2, "m": 512})
    assert sum(step.rule == "store_private" for step in found.steps) == kept


def test_a_gpu_has_work_for_all_of_its_units_where_few_rows_are_long() -> None:
    """By the model one row takes hardly longer than to read it; its length is a prime number."""
    task = Proposals(rows, {"n": 1, "m": 16_777_213}, GPU)
    found = [each for tactic in partial_folds(task.source, GPU) for each in _proposed(task, tactic)]
    assert min(each.cost.seconds for each in found) < 100e-6


@rl.program
def pulls(x: f[n], y: f[n]):
    """Both parts of the sum of what each point pulls at each other one with."""

    def pulled(p):
        def pull(q):
            right, up = q[0] - p[0], q[1] - p[1]
            return rl.let(lambda w: (right * w, up * w), rl.rsqrt(right * right + up * up + 1.0))

        parts = rl.map(pull, rl.zip(x, y))
        sums = [rl.reduce(rl.add, 0.0, rl.map(lambda v, i=i: v[i], parts)) for i in range(2)]
        return tuple(sums)

    return rl.map(pulled, rl.zip(x, y))


def test_sums_of_the_parts_of_a_force_are_one_loop() -> None:
    """Each part was a map of maps, which no work-item computes as it folds: 5003 points took 40 us by the model, and 159 in three dimensions, all forces stored."""
    best = Proposals(pulls, {"n": 5003}, GPU).floor()[0]
    assert best.cost.seconds < 30e-6
    assert not any(t.type == rl.tup(f, f)[5003, 5003] for t, _ in subterms(best.low.body))
    rules = [step.rule for step in derive(pulls, partial_results(4), {"n": 37}).steps]
    assert "reduce_banana_split" in rules


def _proposed(task: Proposals, tactic: Tactic) -> list[Proposal]:
    with suppress(NoMatch):
        return task.derived(tactic)
    return []


@pytest.mark.parametrize(
    ("program", "sizes", "loops"), [(rows, {"n": 4, "m": 256}, 1), (rows, {"n": 4, "m": 512}, 2)]
)
def test_few_partial_results_are_read_at_once(
    program: Program, sizes: Mapping[str, int], loops: int
) -> None:
    """Up to 64 of them: more are folded in a loop."""
    found = derive(program, partial_results(sizes["m"] // 4), sizes)
    source = program.at(sizes)
    kernel = rl.compile(Program(program.name, source.parameters, found.result))
    assert kernel.source.count("for (") == loops


@pytest.mark.parametrize("sizes", [{"n": 0, "m": 3}, {"n": 3, "m": 0}], ids=["rows", "elements"])
@pytest.mark.parametrize(
    "tactic",
    [partial_results(4), few_folds(12, 4, 4, 48 * 1024), few_columns(9, 1, 4, 1024)],
    ids=["one", "few", "side by side"],
)
def test_where_there_is_nothing_there_are_no_chunks(
    tactic: Tactic, sizes: Mapping[str, int]
) -> None:
    """No rows, or rows without elements."""
    with pytest.raises(NoMatch, match="nothing is folded"):
        derive(empty_rows, tactic, sizes)


@pytest.mark.parametrize("blocks", [9, 16])
def test_blocks_of_one_element_are_none(blocks: int) -> None:
    with pytest.raises(NoMatch, match=f"16 elements are too few for {blocks} blocks"):
        derive(column_sums, partial_results(blocks), SMALL)


@pytest.mark.parametrize(("items", "members"), [(24 * 16, 4), (24 * 3, 4)])
def test_columns_that_are_many_or_short_have_no_group_each(items: int, members: int) -> None:
    """A work-item would have one element, or a group fewer partial results than work-items."""
    with pytest.raises(NoMatch, match="24 folds of 16 elements are not few and long"):
        derive(column_sums, few_columns(items, members, 4, 48 * 1024), SMALL)


@pytest.mark.parametrize("rows_of", [1 << 20, 1_000_003])
def test_a_gpu_has_work_for_all_of_its_units_where_few_columns_are_long(rows_of: int) -> None:
    """By the model sums of 16 columns take hardly longer than to read them, where the chunks of each column took 107 us."""
    task = Proposals(column_sums, {"n": rows_of, "m": 16}, GPU)
    found = [each for tactic in partial_folds(task.source, GPU) for each in _proposed(task, tactic)]
    assert min(each.cost.seconds for each in found) < 40e-6


@pytest.mark.parametrize(
    "program", [column_sums, transposed_times, gemv_transposed], ids=lambda p: p.name
)
def test_a_gpu_has_work_for_all_of_its_units(program: Program) -> None:
    """By the model the folds of 8192 columns take no longer than to read the matrix, and a few launches."""
    task = Proposals(program, {"n": 8192, "m": 8192}, GPU)

    (blocks,) = task.derived(partial_results(16))

    assert blocks.cost.seconds < 1.3 * blocks.cost.memory
    assert 5 * blocks.cost.seconds < task.as_written()[0].cost.seconds


def test_teams_go_along_rows_and_blocks_along_columns() -> None:
    """Where neighbouring work-items read far apart, a GPU sends what nobody uses: on an H200 column sums of 8192 by 8192 took
    teams 459 us, and blocks of rows written by hand 74 us."""

    def least(program: Program, plan) -> float:
        task = Proposals(program, {"n": 8192, "m": 8192}, GPU)
        found = [each for tactic in plan(task.source, GPU) for each in _proposed(task, tactic)]
        return min(each.cost.seconds for each in found)

    assert 2 * least(column_sums, partial_folds) < least(column_sums, cooperative_reductions)
    assert 2 * least(rows, cooperative_reductions) < least(rows, partial_folds)
