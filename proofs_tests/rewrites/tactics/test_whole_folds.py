"""Long folds of whole arrays that something is made of: one kernel for those of one length, none that only folds what chunks came to."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.program import compile_program
from relift.device import GPU
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.staged import kernels_of
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive, then
from relift.rewrites.tactics.folds.passes.moments import moments_in_one_pass
from relift.rewrites.tactics.sharing import has_fold
from relift.rewrites.tactics.whole_folds import parts_where_read, whole_folds_in_parts
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Reduce, Split
from relift.semantics.syntax.terms import free_variables, subterms

n, m = rl.nat("n"), rl.nat("m")


def total(xs: Any) -> Any:
    return rl.reduce(rl.add, 0.0, xs)


@rl.program
def scaled(x: rl.f32[n]):
    """Between the smallest and the largest number."""
    least, most = rl.reduce(rl.minimum, 9.0, x), rl.reduce(rl.maximum, float("-inf"), x)
    return rl.map(lambda v: (v - least) / (most - least), x)


@rl.program
def weights(x: rl.f32[n]):
    top = rl.reduce(rl.maximum, float("-inf"), x)
    return rl.map(lambda v: rl.exp(v - top) / total(rl.map(lambda v: rl.exp(v - top), x)), x)


@rl.program
def skewness(x: rl.f32[n]):
    """Of the deviations from a mean the cubes over the squares."""
    mean = total(x) * 2.0**-15
    cubes = total(rl.map(lambda v: (v - mean) * (v - mean) * (v - mean), x))
    return cubes / total(rl.map(lambda v: (v - mean) * (v - mean), x))


@pytest.mark.parametrize(("program", "kernels"), [(scaled, 2), (weights, 3), (skewness, 3)])
def test_kernels_fold_what_chunks_came_to_where_they_read_it(
    program: Program, kernels: int
) -> None:
    """One kernel for all folds of one array that need no other, one for those that need them, and one for the result."""
    found = derive(program, whole_folds_in_parts(512, 8192), {"n": 32771})
    require_proved((step.rule for step in found.steps), RULES)
    assert len(kernels_of(replace(program, body=found.result))) == kernels


@pytest.mark.parametrize(
    ("program", "length", "kernels", "wanted"),
    [
        (scaled, 32768, 2, lambda x: (x - x.min()) / (x.max() - x.min())),
        (weights, 32771, 3, lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum()),
    ],
)
def test_a_search_launches_no_kernel_for_a_number(
    program: Program, length: int, kernels: int, wanted: Callable[[Any], Any]
) -> None:
    """What it begins with is that form, for an array that chunks divide or not."""
    x = np.random.default_rng(0).random(length, dtype=np.float32)
    compiled = compile_program(Proposals(program, {"n": length}, GPU).floor()[0].low)
    assert len(compiled.launch["kernels"]) == kernels
    np.testing.assert_allclose(compiled(x), wanted(x.astype(np.float64)), rtol=1e-4)


@rl.program
def shares(x: rl.f32[n]):
    """The powers that are divided are those that are summed up."""
    top = rl.reduce(rl.maximum, float("-inf"), x)
    powers = rl.map(lambda v: rl.exp(v - top), x)
    return rl.map(lambda v: v / total(powers), powers)


@rl.program
def scores(x: rl.f32[n]):
    mean = total(x) / rl.f32(n)
    spread = rl.sqrt(total(rl.map(lambda v: (v - mean) * (v - mean), x)) / rl.f32(n))
    return rl.map(lambda v: (v - mean) / spread, x)


@pytest.mark.parametrize("length", [1 << 21, 3_000_000, 3_000_001])
def test_what_divides_nothing_is_in_chunks_that_groups_have(length: int) -> None:
    """No chunk is longer than was asked for, and no fold that every row needs is of what chunks leave."""
    found = derive(scores, whole_folds_in_parts(512, 8192), {"n": length}).result
    splits = [t.m.constant or 0 for t, _ in subterms(found) if isinstance(t, Split)]
    folds = [t for t, _ in subterms(found) if isinstance(t, Reduce) and not free_variables(t)]
    assert max(splits) <= 8192
    assert len({rl.show(t) for t in folds}) == 2


def test_what_is_computed_before_it_is_split_is_computed_in_the_row() -> None:
    """Every group folds for its row: outside of rows, each number would need all that chunks came to."""
    found = derive(shares, whole_folds_in_parts(512, 8192), {"n": 1 << 21}).result
    assert not [t for t, _ in subterms(found) if isinstance(t, Split) and has_fold(t.xs)]


def test_moments_are_folded_where_they_are_read() -> None:
    """A mean and a variance need one kernel, and the scores another one."""
    tactic = then(moments_in_one_pass(4096), parts_where_read)
    found = derive(scores, tactic, {"n": 1 << 16})
    require_proved((step.rule for step in found.steps), RULES)
    assert len(kernels_of(replace(scores, body=found.result))) == 2


def test_scores_are_found_by_two_kernels() -> None:
    x = np.random.default_rng(0).random(1 << 16, dtype=np.float32) + 7
    compiled = compile_program(Proposals(scores, {"n": len(x)}, GPU).floor()[0].low)
    assert len(compiled.launch["kernels"]) == 2
    wanted = (x - x.mean(dtype=np.float64)) / x.std(dtype=np.float64)
    np.testing.assert_allclose(compiled(x), wanted, rtol=1e-3, atol=1e-3)


@rl.program
def length_of(x: rl.f32[n]):
    return rl.sqrt(total(rl.map(lambda v: v * v, x)))


def test_a_number_of_one_fold_and_short_folds_are_left_to_others() -> None:
    for program, length in ((length_of, 1 << 20), (scaled, 1 << 10)):
        with pytest.raises(NoMatch, match="no long folds"):
            derive(program, whole_folds_in_parts(512, 8192), {"n": length})
