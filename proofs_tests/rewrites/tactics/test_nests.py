"""Nests: however one is written, it is tiled for groups, by rules that replay, and means the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from proofs_tests.compiler.programs import typed
from proofs_tests.nests import Manner, manners, written
from proofs_tests.portions import portioned
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.program import compile_program, refusal
from relift.device import GPU
from relift.egraph.search.guidance.tilings import Extent, extent_of, worth
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.groups.tiles import tile_for_groups
from relift.rewrites.tactics.groups.tiling.sizes import MOST_REGISTERS, Tiles
from relift.rewrites.tactics.nests.gathered import scattered_operands_copied
from relift.rewrites.tactics.nests.split_folds import folds_in_parts
from relift.rewrites.tactics.vectors.register_blocks import Block, blocks_of_pairs
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.patterns import ToLocal
from relift.semantics.syntax.binding import positions
from relift.semantics.syntax.types import f32

EXAMPLES = Path(__file__).parents[3] / "examples"
SMALL = Tiles(8, 8, 4, 1, 1)
PLAIN = Manner(
    False, True, False, "nothing", "nothing", "nothing", False, False, False, False, "one"
)


MANNERS = {
    "all": replace(PLAIN, after="all", apart=True),
    "scaled": replace(PLAIN, before_first="scaled", before_second="shifted", second_across=False),
    "of folds": replace(PLAIN, folds="of folds", first_across=True, swapped=True, after="bias"),
    "captured": replace(
        PLAIN, before_first="scaled", before_second="shifted", captured=True, swapped=True
    ),
    "squared": replace(PLAIN, after="squared", apart=True),
    "batch": replace(PLAIN, batch=True, turned=True, after="cells"),
}


@portioned("manner", MANNERS, {"of folds", "batch"})
def test_manners_of_writing_a_nest_are_tiled(manner: Manner) -> None:
    is_tiled(manner)


@given(manners())
@settings(max_examples=3, deadline=None, derandomize=True)
def test_every_manner_of_writing_a_nest_is_tiled(manner: Manner) -> None:
    is_tiled(manner)


def is_tiled(manner: Manner) -> None:
    """What is derived is accepted by the compiler, and what it means is what the program means."""
    source = written(manner)
    found = derive(source, tile_for_groups(SMALL))
    found.replay(RULES)
    low = replace(source, body=found.result)
    assert refusal(low) is None
    inputs = whole_inputs(source, seed=0)
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(source(*inputs)))


IN_PARTS = {
    "plain": PLAIN,
    **{name: MANNERS[name] for name in ("all", "scaled", "of folds")},
    "turned": replace(PLAIN, turned=True, after="cells"),
}


@portioned("manner", IN_PARTS, {"of folds"})
def test_folds_in_parts_mean_the_same(manner: Manner) -> None:
    in_parts_the_same(manner)


@given(manners())
@settings(max_examples=3, deadline=None, derandomize=True)
def test_folds_in_parts_mean_the_same_in_every_manner(manner: Manner) -> None:
    in_parts_the_same(manner)


def in_parts_the_same(manner: Manner) -> None:
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


@pytest.mark.parametrize("packed", [False, True])
def test_folds_in_parts_are_computed_in_blocks_of_vectors(packed: bool) -> None:
    """Each part has blocks of its own, also where these do not divide it; copied side by side or read where it is."""
    source = load_program(str(EXAMPLES / "matmul.py")).at({"n": 6, "m": 20, "k": 8})
    blocks = blocks_of_pairs(Block(4, 2, 8, packed=packed))
    found = derive(source, folds_in_parts(2, blocks, 4, 16))
    kernel = compile_program(replace(source, body=found.result))
    inputs = whole_inputs(source, seed=0)

    require_standing(found, RULES)
    np.testing.assert_array_equal(kernel(*inputs), source(*inputs))
    assert kernel.source.count("i < 4") == 1


@pytest.mark.parametrize("manner", [PLAIN, replace(PLAIN, after="all", apart=True)])
def test_steps_that_parts_leave_follow_their_results(manner: Manner) -> None:
    """What is left after five parts is folded from their results, whatever is done with these."""
    source = written(manner)
    extent = extent_of(source)
    found = derive(source, folds_in_parts(5, tile_for_groups(SMALL)))
    low = replace(source, body=found.result)
    inputs = whole_inputs(source, seed=0)

    assert extent is not None
    assert extent.steps % 5
    require_standing(found, RULES)
    assert any(step.rule == "reduce_seq_concat" for step in found.steps)
    assert refusal(low) is None
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(source(*inputs)))


def test_more_parts_than_steps_are_refused() -> None:
    with pytest.raises(NoMatch, match="are too short for 500 parts"):
        derive(written(PLAIN), folds_in_parts(500, tile_for_groups(SMALL)))


def test_parts_are_lengthened_in_vectors() -> None:
    """What is read of a row beyond its end comes as whole vectors, so that each is one access."""
    source = load_program(str(EXAMPLES / "matmul.py")).at({"n": 16, "m": 20, "k": 64})
    found = derive(source, folds_in_parts(2, tile_for_groups(Tiles(16, 16, 4, 1, 1)), 16, 16))
    kernel = compile_program(replace(source, body=found.result))

    assert "*(global const float4*)(B" in kernel.source
    assert "(float4)(B[" not in kernel.source


@typed(A=f32[8, 12], B=f32[3, 8, 4])
def contraction(A: Any, B: Any) -> Any:
    """Over two dimensions of the second operand, of which neither those nor the third lie in the order in which they are read."""
    columns = rl.transpose(B)

    def cell(a: Any, b: Any) -> Any:
        read = rl.join(rl.transpose(rl.split(2, rl.transpose(b))))
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(a, rl.join(read))))

    return rl.map(lambda a: rl.map(lambda b: cell(a, b), columns), A)


def test_an_operand_that_lies_scattered_is_copied_before_it_is_tiled() -> None:
    found = derive(contraction, scattered_operands_copied(tile_for_groups(SMALL)))
    low = replace(contraction, body=found.result)
    inputs = whole_inputs(contraction, seed=0)

    assert len(compile_program(low).plan.kernels) == 2
    require_standing(found, RULES)
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(contraction(*inputs)))


def test_operands_that_lie_side_by_side_are_not_copied() -> None:
    with pytest.raises(NoMatch, match="lies side by side"):
        derive(written(PLAIN), scattered_operands_copied(tile_for_groups(SMALL)))


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


def complex_product(order: Sequence[int], after: Callable[[Any], Any]) -> Program:
    """Complex matrices as two arrays each, which the folds zip in an order; `after` has each result."""

    @typed(ar=f32[16, 8], ai=f32[16, 8], br=f32[8, 8], bi=f32[8, 8])
    def product(ar: Any, ai: Any, br: Any, bi: Any) -> Any:
        def step(acc: Any, given: Any) -> Any:
            a, b, c, d = (given[order.index(i)] for i in range(4))
            return acc[0] + a * c - b * d, acc[1] + a * d + b * c

        def cell(x: Any, y: Any) -> Any:
            arrays = (x[0], x[1], y[0], y[1])
            zipped = rl.zip(*(arrays[i] for i in order))
            return after(rl.reduce_seq(step, (0.0, 0.0), zipped))

        columns = rl.zip(rl.transpose(br), rl.transpose(bi))
        return rl.map(lambda x: rl.map(lambda y: cell(x, y), columns), rl.zip(ar, ai))

    return product


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (3, 1, 2, 0), (2, 3, 1, 0)])
@pytest.mark.parametrize("tiles", [SMALL, replace(SMALL, ahead=True)])
def test_folds_of_tuples_over_several_arrays_are_tiled_in_whatever_order_they_are_zipped(
    order: Sequence[int], tiles: Tiles
) -> None:
    source = complex_product(order, lambda v: v)
    found = derive(source, tile_for_groups(tiles))
    require_standing(found, RULES)
    low = replace(source, body=found.result)
    inputs = whole_inputs(source, seed=0)

    assert refusal(low) is None
    assert any(isinstance(t, ToLocal) for _, t in positions(found.result))
    for got, meant in zip(low(*inputs), source(*inputs), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(meant))


def test_what_is_done_with_tuples_is_done_in_their_tiles() -> None:
    source = complex_product((0, 1, 2, 3), lambda v: v[0] * v[0] + v[1] * v[1])
    low = replace(source, body=derive(source, tile_for_groups(SMALL)).result)
    inputs = whole_inputs(source, seed=0)

    assert refusal(low) is None
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(source(*inputs)))


def test_tiles_have_room_for_all_numbers_of_an_element_and_of_a_result() -> None:
    """A complex product has half as large tiles where registers are what limits them, and more to do in each."""
    found = extent_of(complex_product((0, 1, 2, 3), lambda v: v))
    assert found is not None
    assert (found.element, found.result, found.work) == (2, 2, 4)
    tiles = worth(replace(found, rows=1024, columns=1024, steps=1024), GPU)
    assert tiles
    assert all(t.cells * 2 + t.read <= MOST_REGISTERS for t in tiles)
    assert (128, 128) not in [(t.rows, t.columns) for t in tiles if t.ahead]


def test_an_array_that_belongs_to_neither_element_goes_with_the_rows() -> None:
    """Weights of the steps, read beside the columns."""

    @typed(a=f32[16, 8], w=f32[8], b=f32[8, 8])
    def weighted(a: Any, w: Any, b: Any) -> Any:
        def cell(x: Any, y: Any) -> Any:
            products = rl.map(lambda p: p[0] * p[1] * p[2], rl.zip(y, w, x))
            return rl.reduce(rl.add, 0.0, products)

        return rl.map(lambda x: rl.map(lambda y: cell(x, y), rl.transpose(b)), a)

    low = replace(weighted, body=derive(weighted, tile_for_groups(SMALL)).result)
    inputs = whole_inputs(weighted, seed=0)

    assert refusal(low) is None
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(weighted(*inputs)))


def test_a_fold_of_no_array_that_belongs_to_the_inner_element_is_refused() -> None:
    """The best sum and its place: no array of the fold is of the inner element alone."""

    @typed(a=f32[8, 16], b=f32[16, 16])
    def best(a: Any, b: Any) -> Any:
        def cell(x: Any, y: Any) -> Any:
            sums = rl.map(lambda p: p[0] + p[1], rl.zip(x, y))
            places = rl.zip(sums, rl.generate(16, lambda i: i))
            return rl.reduce_seq(rl.first_largest, (float("-inf"), 2**30), places)[0]

        return rl.map(lambda x: rl.map(lambda y: cell(x, y), b), a)

    with pytest.raises(NoMatch):
        derive(best, tile_for_groups(SMALL))


def test_what_is_computed_of_the_rows_of_each_of_many_nests_is_stored_for_all_of_them() -> None:
    """As the powers of an attention with heads are: one table of each head, before the tiles of all."""

    @typed(a=f32[3, 8, 12], top=f32[3, 8], b=f32[3, 12, 8])
    def heads(a: Any, top: Any, b: Any) -> Any:
        def row(r: Any, columns: Any) -> Any:
            powers = rl.map(lambda v: rl.exp(v - r[1]), r[0])

            def products(c: Any) -> Any:
                return rl.map(lambda p: p[0] * p[1], rl.zip(powers, c))

            return rl.map(lambda c: rl.reduce(rl.add, 0.0, products(c)), columns)

        def head(p: Any) -> Any:
            return rl.map(lambda r: row(r, rl.transpose(p[2])), rl.zip(p[0], p[1]))

        return rl.map(head, rl.zip(a, top, b))

    found = derive(heads, tile_for_groups(SMALL))
    require_standing(found, RULES)
    low = replace(heads, body=found.result)
    compiled = compile_program(low)
    assert next(kernel["global"] for kernel in compiled.launch["kernels"]) == [12, 8, 3]
    a, top, b = (
        np.random.default_rng(i).random(s, np.float32)
        for i, s in enumerate(((3, 8, 12), (3, 8), (3, 12, 8)))
    )
    np.testing.assert_allclose(compiled(a, top, b), np.exp(a - top[:, :, None]) @ b, rtol=1e-5)


def test_of_three_maps_around_a_fold_of_elements_of_all_the_inner_two_are_a_nest() -> None:
    """What the outermost is of goes with the rows: a product for each of its elements."""

    @typed(a=f32[2, 4], b=f32[8, 4], c=f32[16, 4])
    def of_three(a: Any, b: Any, c: Any) -> Any:
        def cell(x: Any, y: Any, z: Any) -> Any:
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1] * p[2], rl.zip(x, y, z)))

        return rl.map(lambda x: rl.map(lambda y: rl.map(lambda z: cell(x, y, z), c), b), a)

    extent = extent_of(of_three)
    assert extent is not None
    assert (extent.rows, extent.columns, extent.steps, extent.batches) == (8, 16, 4, 2)
    derivation = derive(of_three, tile_for_groups(SMALL))
    require_standing(derivation, RULES)
    tiled = Program(of_three.name, of_three.parameters, derivation.result)
    assert refusal(tiled) is None
    inputs = whole_inputs(of_three, 0)
    np.testing.assert_array_equal(compile_program(tiled)(*inputs), of_three(*inputs))
