"""A variance, a covariance and a correlation are summed in the pass that finds their means."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.folds.passes.moments import moments_in_one_pass
from relift.rewrites.tactics.sharing import has_fold
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Map, Split
from relift.semantics.syntax.binding import canonical
from relift.semantics.syntax.terms import subterms

n, m = rl.nat("n"), rl.nat("m")
MOMENT = "reduce_products_about"


def mean(xs: Any) -> Any:
    return rl.reduce(rl.add, 0.0, xs) / rl.f32(n)


def moment(xs: Any, ys: Any) -> Any:
    x, y = mean(xs), mean(ys)
    return mean(rl.map(lambda p: (p[0] - x) * (p[1] - y), rl.zip(xs, ys)))


def variance_of(xs: Any) -> Any:
    x = mean(xs)
    return mean(rl.map(lambda v: (v - x) * (v - x), xs))


@rl.program
def variance(x: rl.f32[n]):
    return variance_of(x)


@rl.program
def covariance(x: rl.f32[n], y: rl.f32[n]):
    return moment(x, y)


@rl.program
def correlation(x: rl.f32[n], y: rl.f32[n]):
    return moment(x, y) * rl.rsqrt(variance_of(x) * variance_of(y))


@rl.program
def of_columns(x: rl.f32[n, m]):
    return rl.map(variance_of, rl.transpose(x))


@rl.program
def scores(x: rl.f32[n]):
    """The mean and the variance are needed for each element, too."""
    deviation = rl.rsqrt(variance_of(x))
    return rl.map(lambda v: (v - mean(x)) * deviation, x)


@rl.program
def summary(x: rl.f32[n]):
    """The largest is no sum."""
    return (mean(x), variance_of(x), rl.reduce(rl.maximum, float("-inf"), x))


GOLD: dict[Program, Any] = {
    variance: np.var,
    covariance: lambda x, y: np.cov(x, y, bias=True)[0, 1],
    correlation: lambda x, y: np.corrcoef(x, y)[0, 1],
    of_columns: lambda x: x.var(axis=0),
    scores: lambda x: (x - x.mean()) / x.std(),
    summary: lambda x: (x.mean(), x.var(), x.max()),
}


def in_one_pass(program: Program, length: int) -> Derivation:
    """By rules that are PROVED, and a derivation that replays."""
    sizes = {"n": length} | ({"m": 3} if program is of_columns else {})
    found = derive(program, moments_in_one_pass(16), sizes)
    require_proved((step.rule for step in found.steps), RULES)
    assert found.replay(RULES)[-1] == found.result
    return found


def _result(found: Derivation) -> Program:
    """What was derived, as a program."""
    return replace(found.program, body=found.result)


@pytest.mark.parametrize(
    ("program", "length"),
    [(p, length) for length in (64, 75) for p in GOLD],
)
def test_it_means_the_same(program: Program, length: int) -> None:
    """Of numbers far from 0, too: each chunk's differences are from one of its own.  What fills no chunk follows."""
    shape = (length, 3) if program is of_columns else (length,)
    rng = np.random.default_rng(3)
    data = [rng.normal(100.0, 1.0, shape).astype(np.float32) for _ in program.parameters]
    if program is correlation:
        data[1] = (data[0] + data[1]).astype(np.float32)

    got = _result(in_one_pass(program, length))(*data)

    wanted = GOLD[program](*(x.astype(np.float64) for x in data))
    np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("program", [variance, covariance, correlation, of_columns, summary])
def test_all_is_found_in_a_chunk_at_once(program: Program) -> None:
    """Every sum of elements is a component of one map over chunks, which needs no sum of all."""
    of_chunks = {
        canonical(u)
        for u, _ in subterms(in_one_pass(program, 64).result)
        if isinstance(u, Map) and has_fold(u.f.body) and not has_fold(u.xs)
        if any(isinstance(v, Split) for v, _ in subterms(u.xs))
    }

    assert len(of_chunks) == 1


def test_an_element_that_lies_far_is_none_from_which_others_differ() -> None:
    """Each chunk begins with one: sums of the differences from it lose as many roundings as there are others."""
    data = np.random.default_rng(5).normal(0.0, 1.0, 4096).astype(np.float32)
    data[::1024] = 1e4

    got = _result(derive(variance, moments_in_one_pass(1024), {"n": 4096}))(data)

    np.testing.assert_allclose(got, data.astype(np.float64).var(), rtol=5e-5)


def test_differences_from_what_is_given_are_one_pass_already() -> None:
    @rl.program
    def about(x: rl.f32[n], given: rl.f32):
        return rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - given) * (v - given), x))

    with pytest.raises(NoMatch, match="no products are summed"):
        derive(about, moments_in_one_pass(16), {"n": 64})


def test_it_does_not_round_where_floats_are_exact() -> None:
    with pytest.raises(NoMatch, match="float=exact forbids it"):
        derive(variance, moments_in_one_pass(16), {"n": 64}, policy="exact")


@pytest.mark.parametrize(("target", "size"), [("cpu", 1 << 23), ("gpu", 1 << 26)])
def test_a_variance_reads_its_elements_once(target: str, size: int) -> None:
    """Where they do not stay in a cache, that is faster; of short rows, which do, nothing else is computed."""
    found = optimize(variance, {"n": size}, target)

    assert MOMENT in {step.rule for step in found.candidates[0].derivation.steps}


def test_rows_that_stay_in_registers_are_read_twice() -> None:
    @rl.program
    def of_rows(x: rl.f32[m, n]):
        return rl.map(variance_of, x)

    found = optimize(of_rows, {"m": 8192, "n": 1024}, "gpu")

    assert MOMENT not in {step.rule for step in found.candidates[0].derivation.steps}
