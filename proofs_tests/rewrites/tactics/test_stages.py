"""Small blocks: a group has one, and what stands between its stages is in local memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift
from proofs_tests.compiler.programs import typed
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.program import refusal
from relift.device import CPU, GPU
from relift.egraph.search.guidance.plans import staged_blocks
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive, inside
from relift.rewrites.tactics.groups.stages import stages_by_groups
from relift.semantics.indices.inverses import written_place
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.patterns import ToLocal
from relift.semantics.syntax.binding import positions
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import f32

_ROOM = 48 * 1024


def product(a: Any, b: Any) -> Any:
    """A product of two matrices."""

    def cell(row: Any, column: Any) -> Any:
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, column)))

    return rl.map(lambda row: rl.map(lambda column: cell(row, column), rl.transpose(b)), a)


def transformed(blocks: int, side: int) -> Program:
    """Each block between a matrix and its transpose."""

    @typed(x=f32[blocks, side, side], d=f32[side, side])
    def transforms(x: Any, d: Any) -> Any:
        return rl.map(lambda block: product(product(d, block), rl.transpose(d)), x)

    return transforms


@typed(x=f32[8, 12], d=f32[4, 4])
def transforms_of_tiles(x: Any, d: Any) -> Any:
    """The same of the tiles of an image, which stand where the tiles stood."""

    def of_one(block: Any) -> Any:
        return product(product(d, block), rl.transpose(d))

    return relift.untile(2, relift.map_nd(2, of_one, relift.tile((4, 4), x)))


@typed(x=f32[3, 6, 5])
def running_sums(x: Any) -> Any:
    """Along rows, then along columns, so that a stage computes rows of which a work-item has one."""

    def rows(block: Any) -> Any:
        return rl.map(lambda row: rl.scan_seq(rl.add, 0.0, row), block)

    return rl.map(lambda block: rl.transpose(rows(rl.transpose(rows(block)))), x)


@typed(x=f32[4, 9], w=f32[9, 9])
def layers(x: Any, w: Any) -> Any:
    """Two layers for each of some vectors: stages of one dimension."""

    def layer(v: Any) -> Any:
        def cell(row: Any) -> Any:
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, v)))

        return rl.map(cell, w)

    return rl.map(lambda v: layer(rl.map(lambda y: rl.maximum(y, 0.0), layer(v))), x)


def stored_locally(t: Term) -> int:
    """How often an array is stored in local memory."""
    return sum(isinstance(u, ToLocal) for _, u in positions(t))


@pytest.mark.parametrize(
    ("source", "depth", "between"),
    [(transformed(3, 4), 1, 1), (transforms_of_tiles, 2, 1), (running_sums, 1, 1), (layers, 1, 2)],
)
def test_what_stands_between_the_stages_of_a_block_is_in_local_memory(
    source: Program, depth: int, between: int
) -> None:
    tactic = inside(*written_place(source.body))(stages_by_groups(depth, _ROOM))
    found = derive(source, tactic)
    require_standing(found, RULES)
    low = replace(source, body=found.result)
    inputs = whole_inputs(source, seed=0)

    assert stored_locally(low.body) == between
    assert refusal(low) is None
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(source(*inputs)))


@pytest.mark.parametrize(
    ("block", "depth", "room", "why"),
    [
        (lambda b: product(b, b), 1, _ROOM, "computed in one stage"),
        (lambda b: product(product(b, b), b), 1, 4 * 16 - 1, "no room"),
        (lambda b: product(product(b, b), b), 4, _ROOM, "no 4 maps stand in one another"),
    ],
)
def test_blocks_of_one_stage_and_those_without_room_are_left(
    block: Callable[[Any], Any], depth: int, room: int, why: str
) -> None:
    @typed(x=f32[3, 4, 4])
    def blocks(x: Any) -> Any:
        return rl.map(block, x)

    with pytest.raises(NoMatch, match=why):
        derive(blocks, stages_by_groups(depth, room))


def test_it_is_found_for_groups_where_it_pays() -> None:
    assert not list(staged_blocks(transformed(3, 4), CPU))
    found = relift.optimize(transformed(4096, 12), {}, GPU)
    assert stored_locally(found.term.body) == 1
