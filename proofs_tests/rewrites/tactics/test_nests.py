"""Nests: however one is written, it is tiled for groups, by rules that replay, and means the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings

from proofs_tests.compiler.programs import typed
from proofs_tests.nests import Manner, manners, written
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.program import refusal
from relift.egraph.search.guidance.tilings import Extent, extent_of
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.groups.tiles import Tiles, tile_for_groups
from relift.rewrites.tactics.nests.split_folds import folds_in_parts
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32

SMALL = Tiles(8, 8, 4, 1, 1)
PLAIN = Manner(
    False, True, False, "nothing", "nothing", "nothing", False, False, False, False, "one"
)


@example(replace(PLAIN, after="all", apart=True))
@example(replace(PLAIN, before_first="scaled", before_second="shifted", second_across=False))
@example(replace(PLAIN, folds="of folds", first_across=True, swapped=True, after="bias"))
@example(
    replace(PLAIN, before_first="scaled", before_second="shifted", captured=True, swapped=True)
)
@example(replace(PLAIN, after="squared", apart=True))
@example(replace(PLAIN, batch=True, turned=True, after="cells"))
@given(manners())
@settings(max_examples=3, deadline=None, derandomize=True)
def test_every_manner_of_writing_a_nest_is_tiled(manner: Manner) -> None:
    """What is derived is accepted by the compiler, and what it means is what the program means."""
    source = written(manner)
    found = derive(source, tile_for_groups(SMALL))
    found.replay(RULES)
    low = replace(source, body=found.result)
    assert refusal(low) is None
    inputs = whole_inputs(source, seed=0)
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(source(*inputs)))


@example(PLAIN)
@example(replace(PLAIN, after="all", apart=True))
@example(replace(PLAIN, before_first="scaled", before_second="shifted", second_across=False))
@example(replace(PLAIN, folds="of folds", first_across=True, swapped=True, after="bias"))
@example(replace(PLAIN, turned=True, after="cells"))
@given(manners())
@settings(max_examples=3, deadline=None, derandomize=True)
def test_folds_in_parts_mean_the_same(manner: Manner) -> None:
    """Each half of the folds has tiles of its own, in whatever manner the nest is written; one in one more map is refused."""
    source = written(manner)
    tactic = folds_in_parts(2, tile_for_groups(SMALL))
    if manner.batch:
        with pytest.raises(NoMatch, match="a nest that stands by itself"):
            derive(source, tactic)
        return
    found = derive(source, tactic)
    require_standing(found, RULES)
    found.replay(RULES)
    low = replace(source, body=found.result)
    assert refusal(low) is None
    inputs = whole_inputs(source, seed=0)
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(source(*inputs)))


@pytest.mark.parametrize("manner", [PLAIN, replace(PLAIN, after="all", apart=True)])
@pytest.mark.parametrize("blocks", [(3, 1), (1, 3), (3, 3)])
def test_parts_are_longer_where_their_blocks_divide_no_rows_or_columns(
    manner: Manner, blocks: tuple[int, int]
) -> None:
    """What there is more of each part is not read."""
    source = written(manner)
    rows, columns = (8 * n for n in blocks)
    found = derive(source, folds_in_parts(2, tile_for_groups(SMALL), rows, columns))
    low = replace(source, body=found.result)
    inputs = whole_inputs(source, seed=0)

    require_standing(found, RULES)
    assert any(step.rule == "pad_clamp_removed" for step in found.steps)
    assert refusal(low) is None
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(source(*inputs)))


def test_parts_that_do_not_divide_the_folds_are_refused() -> None:
    with pytest.raises(NoMatch, match="5 parts do not divide folds of"):
        derive(written(PLAIN), folds_in_parts(5, tile_for_groups(SMALL)))


@typed(x=f32[2, 3, 4, 5], kernels=f32[2, 8, 3])
def of_pictures(x: Any, kernels: Any) -> Any:
    """Weighted channels of several pictures, each with weights of its own."""

    def weighted(picture: Any, weights: Any) -> Any:
        columns = rl.map(rl.transpose, rl.transpose(picture))
        pixel = lambda p: rl.reduce(rl.add, 0.0, rl.map(lambda q: q[0] * q[1], rl.zip(p, weights)))
        return rl.map(lambda row: rl.map(pixel, row), columns)

    def of_one(p: Any) -> Any:
        return rl.map(lambda weights: weighted(p[0], weights), p[1])

    return rl.map(of_one, rl.zip(x, kernels))


def test_the_dimensions_of_a_nest_are_those_of_its_fold_whatever_they_are_called() -> None:
    """A rule that joins dimensions may give an element the name that the outermost one has: it is another."""
    assert extent_of(of_pictures) == Extent(8, 20, 3, 2, 4)
