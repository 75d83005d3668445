"""Where the best element is: the first of equal ones, in whatever order groups and blocks combine them."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.device import GPU
from relift.egraph.search.guidance.fold_plans import cooperative_reductions
from relift.egraph.search.guidance.plans import folded_rows
from relift.egraph.search.outcomes import Proposal
from relift.egraph.search.proposals import Proposals
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive, topdown
from relift.rewrites.tactics.folds.partial_results import partial_results
from relift.rewrites.tactics.folds.places import places_in_any_order
from relift.rewrites.tactics.groups.numbers import numbers_by_groups
from relift.rewrites.tactics.groups.rows.by_groups import rows_by_groups, rows_together
from relift.semantics.language.programs import Program

n, m = rl.nat("n"), rl.nat("m")
INFINITE = float("inf")


def first_by(better: Any, start: Any, xs: Any, value: Any = lambda v: v) -> Any:
    """A loop that keeps the best value, its place, and how far it is."""

    def step(acc, x):
        taken = better(value(x), acc[0])
        return rl.select(taken, value(x), acc[0]), rl.select(taken, acc[2], acc[1]), acc[2] + 1

    return rl.reduce_seq(step, (start, 0, 0), xs)


@rl.program
def largest(a: rl.f32[n, m]):
    return rl.map(lambda row: first_by(lambda v, b: v > b, -INFINITE, row)[1], a)


@rl.program
def largest_said_backwards(a: rl.f32[n, m]):
    return rl.map(lambda row: first_by(lambda v, b: b < v, -INFINITE, row)[1], a)


@rl.program
def smallest_in_columns(a: rl.f32[n, m]):
    return rl.map(lambda c: first_by(lambda v, b: v < b, INFINITE, c)[1], rl.transpose(a))


@rl.program
def farthest_whole(a: rl.i32[n, m]):
    """Of whole numbers, by what is computed of each."""
    return rl.map(lambda row: first_by(lambda v, b: v > b, -1, row, lambda v: v * v)[1], a)


@rl.program
def of_all(x: rl.f32[n]):
    return first_by(lambda v, b: v > b, -INFINITE, x)[1]


@rl.program
def with_indices(a: rl.f32[n, m]):
    """Value and place, of pairs that the program makes itself."""

    def later(acc, p):
        return rl.select(p[0] > acc[0], p, acc)

    indices = rl.generate(m, lambda i: i)
    return rl.map(lambda row: rl.reduce_seq(later, (-INFINITE, 0), rl.zip(row, indices)), a)


pair = rl.tup(rl.f32, rl.i32)


@rl.program
def larger(p: pair, q: pair):
    return rl.first_largest(p, q)


@rl.program
def smaller(p: pair, q: pair):
    return rl.first_smallest(p, q)


@rl.program
def last_largest(a: rl.f32[n, m]):
    """The last of equal ones, which the operators do not give."""

    def later(acc, x):
        taken = rl.select(acc[0] > x, False, True)
        return rl.select(taken, x, acc[0]), rl.select(taken, acc[2], acc[1]), acc[2] + 1

    return rl.map(lambda row: rl.reduce_seq(later, (-INFINITE, 0, 0), row)[1], a)


ROWS = rows_by_groups(1, 4, 4, 48 * 1024)
TABLE = np.array(
    [
        [2, 7, 1, 7, 7, 0, -3, 7],
        [1, 1, 1, 1, 1, 1, 1, 1],
        [-9, 0, 3, 9, 8, 9, 9, -9],
        [5, 4, 3, 2, 1, 0, 0, 0],
    ]
)
WAYS = [
    (largest, ROWS, TABLE, TABLE.argmax(1)),
    (largest_said_backwards, ROWS, TABLE, TABLE.argmax(1)),
    (smallest_in_columns, partial_results(2), TABLE, TABLE.argmin(0)),
    (smallest_in_columns, ROWS, TABLE, TABLE.argmin(0)),
    (farthest_whole, ROWS, TABLE, (TABLE * TABLE).argmax(1)),
    (largest, ROWS, TABLE[:, :7], TABLE[:, :7].argmax(1)),
    (largest, rows_together(1, 3, 2), TABLE[:, :7], TABLE[:, :7].argmax(1)),
    (of_all, topdown(numbers_by_groups(2, 4, 4, 48 * 1024, alone=8)), TABLE.ravel(), TABLE.ravel().argmax()),
]  # fmt: skip


@pytest.mark.parametrize(("program", "tactic", "data", "places"), WAYS)
def test_the_first_of_equal_ones_is_found_in_parts(
    program: Program, tactic: Tactic, data: Any, places: Any
) -> None:
    """By PROVED rules that replay, and every step means the same."""
    sizes = {str(name): int(n) for name, n in zip(("n", "m"), data.shape, strict=False)}
    typed = data.astype(np.int32 if program is farthest_whole else np.float32)

    def whole(at, place):
        return tactic(places_in_any_order()(at, place), place)

    derivation = derive(program, whole, sizes)
    require_standing(derivation, RULES)
    assert confirm(derivation, RULES) is not None
    found = Program(program.name, program.at(sizes).parameters, derivation.result)
    assert np.array_equal(found(typed), places)
    if program is not of_all:  # whose groups the search lowers
        assert np.array_equal(rl.compile(found)(typed), places)


def test_pairs_of_a_value_and_its_index_are_found_with_no_counter() -> None:
    """The rule for the operator takes them as the program has them."""
    derivation = derive(with_indices, places_in_any_order(), {"n": 4, "m": 8})
    assert [step.rule for step in derivation.steps] == ["reduce_seq_larger_place"]


def test_the_last_of_equal_ones_is_another_thing() -> None:
    """What keeps the last one is not taken for what keeps the first."""
    with pytest.raises(NoMatch):
        derive(last_largest, places_in_any_order(), {"n": 4, "m": 8})


@pytest.mark.parametrize(
    ("program", "sizes"), [(largest, {"n": 4096, "m": 4097}), (of_all, {"n": 1 << 24})]
)
def test_a_gpu_shares_the_loop_out(program: Program, sizes: dict[str, int]) -> None:
    """It takes a small part of what a work-item takes by itself, or one for each row."""
    proposals = Proposals(program, sizes, GPU)
    source = program.at(sizes)
    ways = [*folded_rows(source, GPU), *cooperative_reductions(source, GPU)]
    found: list[Proposal] = []
    for way in ways:
        with suppress(NoMatch):
            found += proposals.derived(way)
    alone = proposals.as_written()[0].cost.seconds
    assert min(each.cost.seconds for each in found) < alone / 10


def test_of_equal_values_the_smaller_place_is_chosen() -> None:
    """Whichever comes first: so the operators commute."""
    for program, worse in ((larger, (1.0, 0)), (smaller, (3.0, 0))):
        for other in (worse, (2.0, 7)):
            assert program((2.0, 5), other) == program(other, (2.0, 5)) == (2.0, 5)
