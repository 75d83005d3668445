"""Folds beside one another: one pass over what they read, wherever they stand, and what they give is as it was."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import random_inputs
from relift.device import GPU
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.staged import kernels_of
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.folds.beside import folds_together
from relift.rewrites.tactics.folds.partial_results import partial_results
from relift.rewrites.tactics.folds.windows import results_of_windows
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Map, Reduce, Slide
from relift.semantics.syntax.terms import MakeTuple, subterms

n, m = rl.nat("n"), rl.nat("m")


def smallest(v):
    return rl.reduce(rl.minimum, 100.0, v)


def largest(v):
    return rl.reduce(rl.maximum, -100.0, v)


def total(v):
    return rl.reduce(rl.add, 0.0, v)


@rl.program
def spans(x: rl.f32[n, m]):
    """Two folds of a column in one function."""
    return rl.map(lambda c: largest(c) - smallest(c), rl.transpose(x))


@rl.program
def scaled(x: rl.f32[n, m]):
    """A column of a result needs both of its folds for each element."""

    def column(c):
        least = smallest(c)
        return rl.map(lambda v: (v - least) * largest(c), c)

    return rl.transpose(rl.map(column, rl.transpose(x)))


@rl.program
def ends(x: rl.f32[n, m]):
    """Folds of two maps of the same columns."""
    columns = rl.transpose(x)
    return rl.map(smallest, columns), rl.map(largest, columns)


@rl.program
def three(x: rl.f32[n, m], y: rl.f32[n, m]):
    """Three folds, of what is read once and twice."""

    def dot(u, v):
        return total(rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))

    both = rl.zip(rl.transpose(x), rl.transpose(y))
    return rl.map(lambda p: dot(p[0], p[1]) + dot(p[0], p[0]) * total(p[1]), both)


@rl.program
def ranges(x: rl.f32[n, m]):
    """What is asked for is a tuple of folds already."""
    return rl.map(lambda c: (smallest(c), largest(c)), rl.transpose(x))


@rl.program
def deviations(x: rl.f32[n, m]):
    """One fold needs the other."""

    def column(c):
        mean = total(c)
        return total(rl.map(lambda v: (v - mean) * (v - mean), c))

    return rl.map(column, rl.transpose(x))


@rl.program
def across(x: rl.f32[n, m]):
    """Folds of unequally many elements."""
    return rl.map(total, x), rl.map(total, rl.transpose(x))


@pytest.mark.parametrize("program", [spans, scaled, ends, three], ids=lambda p: p.name)
def test_folds_of_equally_many_elements_are_of_one_map(program: Program) -> None:
    """By proved rules; no fold is left outside of the map of tuples."""
    found = derive(program, folds_together, {"n": 6, "m": 4})
    require_standing(found, RULES)
    assert confirm(found, RULES) is not None

    folding = {
        u
        for u, _ in subterms(found.result)
        if isinstance(u, Map) and any(isinstance(v, Reduce) for v, _ in subterms(u.f.body))
    }
    assert len(folding) == 1
    assert isinstance(folding.pop().f.body, MakeTuple)


@pytest.mark.parametrize("program", [ranges, deviations, across], ids=lambda p: p.name)
def test_others_stay_where_they_are(program: Program) -> None:
    with pytest.raises(NoMatch, match="no two folds of equally many elements"):
        derive(program, folds_together, {"n": 6, "m": 4})


@pytest.mark.parametrize("program", [spans, ranges], ids=lambda p: p.name)
def test_a_block_is_gone_through_once(program: Program) -> None:
    """One loop has an accumulator for each fold."""
    found = derive(program, partial_results(4), {"n": 1024, "m": 8})
    source = program.at({"n": 1024, "m": 8})
    kernel = rl.compile(replace(source, body=found.result))
    x = np.random.default_rng(0).integers(-50, 50, (1024, 8)).astype(np.float32)

    assert kernel.source.count("for (") == 1
    np.testing.assert_array_equal(kernel(x), source(x))


def test_a_search_reads_columns_once_for_all_of_their_folds() -> None:
    """Of the forms, the one is best that stores one array of tuples."""
    forms = Proposals(scaled, {"n": 4096, "m": 4096}, GPU).forms()
    best = min(forms, key=lambda form: min((p.cost.seconds for p in form.proposals), default=1.0))

    first, *_ = kernels_of(replace(scaled, body=best.parted.result))
    assert first.program.body.type == rl.tup(rl.f32, rl.f32)[4096]


@rl.program
def gradients(x: rl.f32[n + 2, m + 2]):
    windows = rl.slide_nd((3, 3), (1, 1), x)
    down = rl.map_nd(2, lambda w: w[2][1] - w[0][1], windows)
    across = rl.map_nd(2, lambda w: w[1][2] - w[1][0], windows)
    return down, across, rl.map_nd(2, lambda w: w[1][1] * 0.5, windows)


@rl.program
def differences(x: rl.f32[n + 1]):
    windows = rl.slide(2, 1, x)
    return rl.map(lambda w: w[1] - w[0], windows), rl.map(lambda w: w[1] + w[0], windows)


@pytest.mark.parametrize("program", [gradients, differences], ids=lambda p: p.name)
def test_results_of_the_same_windows_are_one_table_and_what_they_were(program: Program) -> None:
    """Be they in one map or in two, two or three of them."""
    sizes = {"n": 3, "m": 4} if "m" in program.sizes else {"n": 5}
    found = derive(program, results_of_windows, sizes)
    require_standing(found, RULES)
    windows = [t for t, _ in subterms(found.result) if isinstance(t, Slide)]
    assert len(windows) == len(sizes)
    at_sizes = program.at(sizes)
    (given,) = random_inputs(at_sizes, 0)
    np.testing.assert_array_equal(replace(at_sizes, body=found.result)(given), at_sizes(given))


def test_equal_results_of_windows_are_computed_once() -> None:
    @rl.program
    def ends(x: rl.f32[n + 2]):
        windows = rl.slide(3, 1, x)
        first = rl.map(lambda w: w[0] + w[2], windows)
        return first, rl.map(lambda w: w[0] - w[2], windows), rl.map(lambda v: v[0] + v[2], windows)

    found = derive(ends, results_of_windows, {"n": 5})

    (table,) = [
        t for t, _ in subterms(found.result) if isinstance(t, Map) and isinstance(t.xs, Slide)
    ]
    assert isinstance(table.f.body, MakeTuple)
    assert len(table.f.body.parts) == 2


def test_results_that_fold_windows_stay_apart() -> None:
    """Their folds are parts of others, or vectors, each for itself."""

    @rl.program
    def sums(x: rl.f32[n + 2]):
        windows = rl.slide(3, 1, x)
        return rl.map(total, windows), rl.map(largest, windows)

    with pytest.raises(NoMatch):
        derive(sums, results_of_windows, {"n": 16})
