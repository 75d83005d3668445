"""What a search for a GPU does last: whole groups, and turns of loops that are written out together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relift import (
    add,
    f32,
    insertion_sort_seq,
    map,
    map_glb,
    nat,
    program,
    reduce,
    reduce_seq,
    scan_seq,
    to_global,
    transpose,
)
from relift.compiler.program import compile_program
from relift.device import GPU
from relift.egraph.cost.model import estimate
from relift.egraph.search.derived import finished
from relift.egraph.search.optimize import optimize
from relift.egraph.search.outcomes import Proposal
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import attempt, derive
from relift.rewrites.tactics.turns import turns_together
from relift.rewrites.tactics.whole_groups import whole_groups
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Fold
from relift.semantics.syntax.terms import subterms

n, m = nat("n"), nat("m")


@program
def sums(A: f32[m, n]):
    return map_glb(0)(lambda c: reduce_seq(lambda s, x: s + x, 0.0, c), transpose(A))


@program
def scans(B: f32[m, n]):
    return map_glb(0)(lambda c: scan_seq(lambda s, x: s + x, 0.0, c), transpose(B))


@program
def doubled(xs: f32[n]):
    return map_glb(0)(lambda x: x + x, xs)


@program
def tables(A: f32[n, m]):
    return map_glb(0)(
        lambda row: reduce_seq(
            lambda s, x: s + reduce_seq(lambda t, y: t + x * y, 0.0, row), 0.0, row
        ),
        A,
    )


@program
def columns(A: f32[n, m]):
    return map(lambda c: reduce(add, 0.0, c), transpose(A))


def turns(t: Program) -> list[int]:
    """The lengths of the folds of a program, in the order in which they stand."""
    return [u.solved["n"].constant or 0 for u, _ in subterms(t.body) if isinstance(u, Fold)]


@pytest.mark.parametrize(
    ("length", "expected"),
    [(96, [12, 8]), (35, [5, 7]), (34, [34]), (15, [15]), (5, None), (211, [1, 30, 7])],
    ids=["eight divide", "seven divide", "written out", "short", "a few", "what is left follows"],
)
def test_turns_of_a_loop_are_written_out_together(length: int, expected: list[int] | None) -> None:
    source = sums.at({"n": 4, "m": length})
    if expected is None:
        with pytest.raises(NoMatch):
            derive(source, turns_together)
        return
    found = derive(source, turns_together)

    assert found.replay(RULES)[-1] == found.result
    assert turns(replace(source, body=found.result)) == expected


def test_only_the_innermost_loop_is_written_out() -> None:
    source = tables.at({"n": 2, "m": 24})

    assert turns(replace(source, body=derive(source, turns_together).result)) == [24, 3, 8]


def test_loads_that_are_written_out_are_waited_for_together() -> None:
    source = sums.at({"n": 4096, "m": 4096})
    together = replace(source, body=derive(source, turns_together).result)

    assert estimate(together, GPU).waited < 0.8 * estimate(source, GPU).waited


def test_what_may_come_first_is_finished_too() -> None:
    """Further back than as many as are asked for, where waiting less may make it the best; not what takes far longer."""
    source = sums.at({"n": 4096, "m": 4096})
    cost = estimate(source, GPU)
    slow = Proposal(cost, source, lambda: derive(source, attempt(turns_together)))
    far = replace(slow, cost=replace(cost, seconds=20 * cost.seconds))

    done = finished(source, [slow, slow, far, slow, slow], GPU, 1)

    assert [each.low is not source for each in done] == [True, True, False, True, False]
    assert done[1].cost.seconds < cost.seconds


def test_a_loop_of_one_kernel_of_many_is_written_out() -> None:
    """All kernels together wait hardly less, for most is waited in others, but the whole takes less."""
    short, long = sums.at({"n": 4096, "m": 256}), scans.at({"n": 1 << 16, "m": 32})
    both = as_term((short.body, long.body))
    source = replace(short, parameters=(*short.parameters, *long.parameters), body=both)
    slow = Proposal(estimate(source, GPU), source, lambda: derive(source, turns_together))

    [done] = finished(source, [slow], GPU, 1)

    assert estimate(done.low, GPU).waited > 0.8 * estimate(source, GPU).waited
    assert done.low is not source


@pytest.mark.parametrize(("length", "pieces"), [(1009, 2), (1000, 1)])
def test_a_launch_has_whole_groups(length: int, pieces: int) -> None:
    """What no group divides is one launch of more work-items, of which the last write nothing."""
    source = doubled.at({"n": length})
    xs = np.arange(length, dtype=np.float32)
    assert len(compile_program(source).plan.kernels[0].pieces) == pieces
    if pieces == 1:
        with pytest.raises(NoMatch):
            derive(source, whole_groups)
        return
    kernel = compile_program(replace(source, body=derive(source, whole_groups).result))

    assert len(kernel.plan.kernels[0].pieces) == 1
    np.testing.assert_array_equal(kernel(xs), 2 * xs)


@pytest.mark.parametrize("sizes", [(131, 37)], ids=str)
def test_columns_are_folded_by_groups_in_one_launch(sizes: tuple[int, int]) -> None:
    found = optimize(columns, dict(zip("nm", sizes, strict=True)), "gpu").term
    kernel = compile_program(found)
    (one,) = kernel.plan.kernels
    A = (np.arange(np.prod(sizes)) % 7).astype(np.float32).reshape(sizes)

    assert len(one.pieces) == 1
    np.testing.assert_array_equal(kernel(A), A.sum(0))


@program
def of_sums(A: f32[n, m]):
    stored = to_global(map_glb(0)(lambda row: reduce_seq(lambda s, x: s + x, 0.0, row), A))
    return map_glb(0)(lambda v: reduce_seq(lambda s, x: s + x * v, 0.0, stored), stored)


def test_loops_of_what_is_stored_before_are_written_out_with_those_that_read_it() -> None:
    """A loop that goes through what a kernel stores has that kernel's loops in it: both have more turns together."""
    source = of_sums.at({"n": 48, "m": 80})
    assert 48 in turns(source)
    found = derive(source, turns_together)
    assert found.replay(RULES)[-1] == found.result
    assert not {48, 80} & set(turns(replace(source, body=found.result)))


def test_rows_that_only_all_of_which_are_written_end_no_search() -> None:
    """Sorted rows lie where they are sorted: to drop those of groups that were made whole, nothing is written."""

    @program
    def rows(x: f32[n, m]):
        return map(lambda row: insertion_sort_seq(lambda a, b: a < b, row), x)

    assert optimize(rows, {"n": 8191, "m": 15}, GPU).candidates
