"""Nests whose sizes no blocks divide: padded, and with a rest of the folds."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from proofs_tests.portions import portion
from relift import add, f32, map, maximum, nat, program, reduce, transpose
from relift import zip as zipped
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.certificates.claims import certificates
from relift.compiler.program import compile_program
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import Derivation, redo
from relift.rewrites.ledger import book as ledger
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.groups.tiles import tile_for_groups
from relift.rewrites.tactics.groups.tiling.sizes import Tiles
from relift.rewrites.tactics.nests.edges import edges_apart
from relift.rewrites.tactics.nests.split_folds import folds_in_parts
from relift.rewrites.tactics.vectors.register_blocks import Block, blocks_of_pairs
from relift.semantics.language.programs import Program
from relift.semantics.patterns import ToGlobal
from relift.semantics.syntax.terms import subterms

b, n, m, k = nat("b"), nat("n"), nat("m"), nat("k")


def dot(x, y):
    return reduce(add, 0.0, map(lambda p: p[0] * p[1], zipped(x, y)))


@program
def product(A: f32[n, k], B: f32[k, m]):
    return map(lambda x: map(lambda y: dot(x, y), transpose(B)), A)


@program
def scaled(A: f32[n, k], B: f32[m, k], C: f32[n, m], bias: f32[m]):
    """The epilogue reads a cell and a column of its own."""

    def row(r):
        def cell(q):
            return maximum(2.0 * dot(r[0], q[0]) + q[1][0], q[1][1])

        return map(cell, zipped(B, zipped(r[1], bias)))

    return map(row, zipped(A, C))


@program
def batched(A: f32[b, n, k], B: f32[b, k, m]):
    return map(
        lambda p: map(lambda x: map(lambda y: dot(x, y), transpose(p[1])), p[0]), zipped(A, B)
    )


@program
def across(A: f32[k, n], B: f32[k, m]):
    """Both operands lie across: neighbours of both are side by side."""
    return map(lambda x: map(lambda y: dot(x, y), transpose(B)), transpose(A))


@program
def gated(A: f32[n, k], B: f32[k, m], C: f32[k, m]):
    """A cell has two folds, whose columns are of two arrays."""

    def row(x):
        columns = zipped(transpose(B), transpose(C))
        return map(lambda q: dot(x, q[0]) * maximum(dot(x, q[1]), 0.0), columns)

    return map(row, A)


def nest_of(name: str, op: Any, start: float, of: Callable[[Any, Any], Any]) -> Program:
    """A nest whose folds are of what a function makes of two elements."""

    def pairs(A: f32[n, k], B: f32[m, k]):
        def cell(x, y):
            return reduce(op, start, map(lambda p: of(p[0], p[1]), zipped(x, y)))

        return map(lambda x: map(lambda y: cell(x, y), B), A)

    pairs.__name__ = name
    return program(pairs)


distances = nest_of("distances", add, 0.0, lambda a, b: (a - b) * (a - b))
turned = nest_of("turned", add, 1.5, lambda a, b: b * a)
widest = nest_of("widest", maximum, -np.inf, lambda a, b: a * b)
shifted = nest_of("shifted", add, 0.0, lambda a, b: a * b + 1.0)


SIZES = {"n": 9, "m": 19, "k": 6}
_FEW_STEPS = 100
TACTICS: dict[str, Tactic] = {
    "groups": tile_for_groups(Tiles(8, 16, 4, 1, 1)),
    "blocks": blocks_of_pairs(Block(4, 2, 8)),
    "blocks at the end": blocks_of_pairs(Block(2, 1, 4, stored=False)),
}


@pytest.fixture(scope="module", params=portion([(p, t) for p in (product, scaled) for t in TACTICS], {0, 1, 3, 5}),
                ids=lambda case: f"{case[0].name}-{case[1]}")  # fmt: skip
def found(request: pytest.FixtureRequest) -> Derivation:
    source, tactic = request.param
    return derive(source, TACTICS[tactic], SIZES)


def test_a_padded_nest_computes_what_the_program_means(found: Derivation) -> None:
    kernel = compile_program(replace(found.program, body=found.result))
    arrays = whole_inputs(found.program, seed=1)

    np.testing.assert_array_equal(kernel(*arrays), found.program(*arrays))
    claims = [claim for one in certificates(kernel) for claim in one.claims]
    assert {c.verdict for c in claims if c.kind in ("bounds", "races", "barriers")} == {"proved"}


def test_padding_is_by_proved_rules_and_is_confirmed(found: Derivation) -> None:
    entries = ledger.load()

    assert {entries[step.rule].tiers["4b"].status for step in found.steps} == {"proved"}
    if len(found.steps) < _FEW_STEPS:
        assert confirm(found, RULES) is not None
    else:
        assert found.replay(RULES)[-1] == found.result


@pytest.mark.parametrize("sizes", [{"n": 8, "m": 18, "k": 4}, {"n": 9, "m": 16, "k": 4}], ids=str)
def test_one_dimension_is_padded_alone(sizes: dict[str, int]) -> None:
    found = derive(product, TACTICS["groups"], sizes)
    kernel = compile_program(replace(found.program, body=found.result))
    arrays = whole_inputs(found.program, seed=1)

    assert [step.rule for step in found.steps].count("pad_clamp_removed") == 1
    np.testing.assert_array_equal(kernel(*arrays), found.program(*arrays))


@pytest.mark.parametrize(
    ("source", "rule"),
    [(product, "reduce_pad"), (distances, "reduce_pad"), (turned, "reduce_pad"), (widest, "reduce_seq_concat"),
     (shifted, "reduce_seq_concat")],
    ids=lambda case: getattr(case, "name", case),
)  # fmt: skip
def test_folds_go_on_to_the_end_of_a_chunk_where_zeros_change_nothing(
    source: Program, rule: str
) -> None:
    """What follows whole chunks is one more chunk, or goes on in registers."""
    found = derive(source, TACTICS["groups"], {"n": 8, "m": 16, "k": 7})
    kernel = compile_program(replace(found.program, body=found.result))
    arrays = whole_inputs(found.program, seed=1)

    assert {step.rule for step in found.steps} & {"reduce_pad", "reduce_seq_concat"} == {rule}
    assert kernel.source.count("kernel void") == 1
    np.testing.assert_array_equal(kernel(*arrays), found.program(*arrays))
    claims = [claim for one in certificates(kernel) for claim in one.claims]
    assert {c.verdict for c in claims if c.kind in ("bounds", "races", "barriers")} == {"proved"}


@pytest.mark.parametrize(("steps", "rules"), [(8, set()), (9, {"reduce_seq_concat"})], ids=str)
def test_few_steps_that_follow_whole_chunks_go_on_in_registers(steps: int, rules: set[str]) -> None:
    found = derive(product, TACTICS["groups"], {"n": 8, "m": 16, "k": steps})

    assert {step.rule for step in found.steps} & {"reduce_pad", "reduce_seq_concat"} == rules


def test_parts_of_folds_are_whole_chunks() -> None:
    """Two parts of eleven steps, in chunks of four, are of eight each."""
    tiles = Tiles(8, 16, 4, 1, 1)
    found = derive(
        product, folds_in_parts(2, tile_for_groups(tiles), 8, 16, 4), {"n": 8, "m": 16, "k": 11}
    )
    arrays = whole_inputs(found.program, seed=1)

    assert [step.rule for step in found.steps].count("reduce_pad") == 1
    assert "reduce_seq_concat" not in {step.rule for step in found.steps}
    np.testing.assert_array_equal(
        compile_program(replace(found.program, body=found.result))(*arrays),
        found.program(*arrays),
    )


@pytest.mark.parametrize(
    ("columns", "steps", "together"), [(16, 7, True), (18, 7, False), (18, 8, True)]
)
def test_rows_that_go_on_over_zeros_and_no_vectors_divide_are_copied_cell_by_cell(
    columns: int, steps: int, together: bool
) -> None:
    """So neighbours read neighbouring cells; otherwise they copy vectors, aligned or not."""
    found = derive(product, TACTICS["groups"], {"n": 8, "m": columns, "k": steps})
    text = compile_program(replace(found.program, body=found.result)).source

    assert ("*)(B" in text) == together


def test_a_nest_in_a_map_is_not_padded_by_what_is_stored_before() -> None:
    with pytest.raises(NoMatch, match="are not padded"):
        derive(batched, TACTICS["blocks"], {"b": 2, **SIZES})


@pytest.mark.parametrize(("columns", "at_the_end"), [(32, 0), (40, 0), (47, 1), (35, 2)])
def test_vectors_that_end_inside_are_written_as_vectors(columns: int, at_the_end: int) -> None:
    """What has an end in the middle of a vector asks once for each vector that may lie there, and writes the others at once."""
    tactic = blocks_of_pairs(Block(4, 2, 8, stored=False))
    found = derive(batched, tactic, {"b": 2, "n": 8, "m": columns, "k": 6})
    kernel = compile_program(replace(found.program, body=found.result))
    arrays = whole_inputs(found.program, seed=1)

    np.testing.assert_array_equal(kernel(*arrays), found.program(*arrays))
    lane_by_lane = re.findall(r"out\[.*\] = \w+\.s0;", kernel.source)
    assert len(lane_by_lane) == 4 * at_the_end  # in each row of a block


IN_VECTORS = {"n": 12, "m": 20, "k": 8}


@pytest.fixture(
    scope="module", params=[product, scaled, across, gated, batched], ids=lambda p: p.name
)
def beyond(request: pytest.FixtureRequest) -> Derivation:
    batches = {"b": 2} if request.param is batched else {}
    return derive(request.param, TACTICS["groups"], {**batches, **IN_VECTORS})


def test_blocks_at_the_end_write_what_is_taken_of_them(beyond: Derivation) -> None:
    kernel = compile_program(replace(beyond.program, body=beyond.result))
    arrays = whole_inputs(beyond.program, seed=1)

    np.testing.assert_array_equal(kernel(*arrays), beyond.program(*arrays))
    claims = [claim for one in certificates(kernel) for claim in one.claims]
    assert {c.verdict for c in claims if c.kind in ("bounds", "races", "barriers")} == {"proved"}
    assert {c.verdict for c in claims if c.kind == "covered"} <= {"proved", "shown"}


def test_whole_vectors_are_read_and_written_by_one_kernel(beyond: Derivation) -> None:
    text = compile_program(replace(beyond.program, body=beyond.result)).source
    accesses = [line for line in text.splitlines() if "min(" in line or "if (" in line]

    assert text.count("kernel void") == 1
    assert "[min(" not in text
    assert not any("(float4)(A" in s or "(float4)(B" in s for s in accesses)
    assert {step.rule for step in beyond.steps} >= {"join_take", "take_map"}
    assert beyond.replay(RULES)[-1] == beyond.result


def test_batches_of_odd_sizes_have_a_condition_for_each_number() -> None:
    found = derive(batched, TACTICS["groups"], {"b": 2, **SIZES})
    kernel = compile_program(replace(found.program, body=found.result))
    arrays = whole_inputs(found.program, seed=1)

    np.testing.assert_array_equal(kernel(*arrays), found.program(*arrays))
    assert kernel.source.count("kernel void") == 1


EDGES = {
    "rows": {"n": 17, "m": 16, "k": 3},
    "columns": {"n": 16, "m": 18, "k": 3},
    "both": {"n": 18, "m": 17, "k": 3},
}


@pytest.mark.parametrize("source", [product, scaled, across, gated], ids=lambda p: p.name)
@pytest.mark.parametrize("sizes", EDGES.values(), ids=EDGES)
def test_edges_are_computed_apart_and_put_together(source: Program, sizes: dict[str, int]) -> None:
    found = derive(source, edges_apart(4), sizes)
    arrays = whole_inputs(found.program, seed=1)

    np.testing.assert_array_equal(
        replace(found.program, body=found.result)(*arrays), found.program(*arrays)
    )
    assert found.replay(RULES)[-1] == found.result


@pytest.mark.parametrize("sizes", [(16, 16), (15, 16), (19, 19), (9, 8)], ids=str)
def test_whole_tiles_and_wide_edges_are_left_as_they_are(sizes: tuple[int, int]) -> None:
    """None beyond; three of four; a nest of two tiles only."""
    with pytest.raises(NoMatch, match="leave no few rows or columns"):
        derive(product, edges_apart(4), {"n": sizes[0], "m": sizes[1], "k": 3})


def test_a_column_beyond_is_stored_side_by_side() -> None:
    found = derive(product, edges_apart(4), {"n": 16, "m": 17, "k": 3})
    stored = [str(u.xs.type) for u, _ in subterms(found.result) if isinstance(u, ToGlobal)]

    assert set(stored) == {"f32[1, 3]", "f32[16, 1]", "f32[16, 16]"}


def test_folds_that_go_on_over_zeros_do_so_at_other_sizes_too() -> None:
    found = derive(product, TACTICS["groups"], {"n": 8, "m": 16, "k": 7})
    again = redo(found, RULES, {"n": 8, "m": 16, "k": 11}, {})

    assert "reduce_pad" in {step.rule for step in again.steps}
    assert again.replay(RULES)[-1] == again.result
