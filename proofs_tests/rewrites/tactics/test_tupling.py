"""Several folds of a cell, and rows zipped with tables, are nests: tiled for groups, with the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.program import refusal
from relift.egraph.search.guidance.tilings import Extent, extent_of
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.groups.tiles import tile_for_groups
from relift.rewrites.tactics.groups.tiling.sizes import Tiles
from relift.rewrites.tactics.nests.dimensions import nested
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.patterns import ReduceSeq, ToLocal
from relift.semantics.syntax.binding import canonical, positions
from relift.semantics.syntax.types import Scalar, f32, types_within

SMALL = Tiles(8, 8, 4, 1, 1)


def dot(u: Any, v: Any) -> Any:
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))


def _of_pairs(cell: Callable[[Any, Any, Any], Any]) -> Program:
    @typed(x=f32[16, 8], a=f32[8, 16], b=f32[8, 16])
    def program(x: Any, a: Any, b: Any) -> Any:
        columns = rl.zip(rl.transpose(a), rl.transpose(b))
        return rl.map(lambda r: rl.map(lambda q: cell(r, q[0], q[1]), columns), x)

    return program


def _largest(u: Any, v: Any) -> Any:
    products = rl.map(lambda p: p[0] * p[1], rl.zip(u, v))
    return rl.reduce(rl.maximum, float("-inf"), products)


GATED = _of_pairs(lambda r, a, b: dot(r, a) / (1.0 + rl.exp(-dot(r, a))) * dot(r, b))
THREE = _of_pairs(lambda r, a, b: dot(r, a) + dot(r, b) * _largest(r, b))


@typed(x=f32[16, 8], y=f32[16, 12], a=f32[16, 8], b=f32[16, 12])
def two_lengths(x: Any, y: Any, a: Any, b: Any) -> Any:
    def cell(r: Any, q: Any) -> Any:
        return dot(r[0], q[0]) + dot(r[1], q[1])

    return rl.map(lambda r: rl.map(lambda q: cell(r, q), rl.zip(a, b)), rl.zip(x, y))


@typed(x=f32[16, 3, 8], w=f32[3, 8, 16], bias=f32[3, 16])
def of_heads(x: Any, w: Any, bias: Any) -> Any:
    """Each token has a row for each head, which has its own matrix."""

    def head(p: Any) -> Any:
        columns = rl.zip(rl.transpose(p[1]), p[2])
        return rl.map(lambda q: dot(p[0], q[0]) + q[1], columns)

    return rl.map(lambda token: rl.map(head, rl.zip(token, w, bias)), x)


@pytest.mark.parametrize("source", [GATED, THREE, of_heads], ids=["gated", "three", "heads"])
def test_the_nest_is_tiled_and_means_the_same(source: Program) -> None:
    found = derive(source, tile_for_groups(SMALL))
    require_standing(found, RULES)
    low = Program(source.name, source.parameters, found.result)
    inputs = whole_inputs(source, seed=0)

    assert refusal(low) is None
    assert any(isinstance(t, ToLocal) for _, t in positions(found.result))
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(source(*inputs)))


def test_what_several_folds_read_is_read_once() -> None:
    """The one fold of three goes through the row once, with its two columns: three numbers a step, not six."""
    assert extent_of(THREE) == Extent(16, 16, 8, 1, 4, element=3, result=3, work=3, in_parts=False)
    tiled = derive(THREE, tile_for_groups(SMALL)).result
    fold = next(t for _, t in positions(tiled) if isinstance(t, ReduceSeq))
    assert sum(isinstance(t, Scalar) for t in types_within(fold.xs.type)) == 3


def test_folds_of_other_lengths_stay_apart() -> None:
    folds = {
        canonical(t)
        for _, t in positions(derive(two_lengths, nested()).result)
        if isinstance(t, ReduceSeq)
    }
    assert len(folds) == 2


def test_what_rows_are_zipped_with_are_batches() -> None:
    assert extent_of(of_heads) == Extent(16, 16, 8, 3, 4)
