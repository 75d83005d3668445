"""The cost model on groups of a GPU: how many there are, what they wait for, what leaves them no registers; times of an H100."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import relift as rl
from proofs_tests.compiler.programs import typed
from relift.device import GPU
from relift.egraph.cost.model import Cost, estimate
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import Tactic, derive, then
from relift.rewrites.tactics.groups.row_chunks import rows_in_chunks
from relift.rewrites.tactics.groups.row_tiles import rows_in_groups
from relift.rewrites.tactics.groups.stencils import strips_of_items
from relift.rewrites.tactics.groups.tiles import tile_for_groups
from relift.rewrites.tactics.groups.tiling.sizes import Tiles
from relift.rewrites.tactics.looked_up import tuples_side_by_side
from relift.semantics.language.programs import Program

n = rl.nat("n")
EXAMPLES = Path(__file__).parents[2] / "examples"
MATMUL = load_program(str(EXAMPLES / "matmul.py"))


def cost(program: Program, tactic: Tactic) -> Cost:
    found = derive(program, tactic)
    return estimate(dataclasses.replace(program, body=found.result), GPU)


def product(n: int, k: int, tiles: Tiles) -> float:
    """Seconds of a product of n x k and k x n numbers."""
    return cost(MATMUL.at({"n": n, "m": n, "k": k}), tile_for_groups(tiles)).seconds


@rl.program
def second(a: rl.f32[n, n]):
    def step(best, x):
        return rl.maximum(best[0], x), rl.maximum(best[1], rl.minimum(best[0], x))

    return rl.map(lambda row: rl.reduce_seq(step, (0.0, 0.0), row)[1], a)


@pytest.mark.parametrize("chunk", [(128, 16), (64, 32)])
def test_groups_that_occupy_few_units_take_longer(chunk: tuple[int, int]) -> None:
    """Rows that are folded in order: 92 us in groups of 32, which are 128, and 206 and 172 in larger ones."""
    assert cost(second.at({"n": 4096}), rows_in_chunks(*chunk, 48 * 1024)).seconds > 1.005 * (
        cost(second.at({"n": 4096}), rows_in_chunks(32, 128, 48 * 1024)).seconds
    )


def test_what_few_units_compute_takes_as_long_as_they_are_busy() -> None:
    """Sixteen groups of 256 keep sixteen units busy twice as long as 64 groups of 64 keep theirs."""
    few, many = (Tiles(side, side, 16, 2, 2, ahead=True) for side in (128, 64))
    assert product(512, 4096, few) > 1.5 * product(512, 4096, many)


def test_a_group_alone_loses_time_at_each_barrier() -> None:
    """Of 24 steps between barriers fewer are lost than of 8: with one group for each unit, not with several."""
    few, many = (Tiles(128, 128, depth, 2, 2, ahead=True) for depth in (24, 8))
    assert product(1408, 4800, many) > 1.1 * product(1408, 4800, few)


def test_a_large_group_alone_loses_less_at_each_barrier() -> None:
    """1024^3, written by hand, takes an H200 56 us by two teams of 128, of which one computes while the other waits, and 58 to 60 by one."""
    two, one = (Tiles(64, 128, 16, 2, 2, ahead=True, teams=teams) for teams in (2, 1))
    assert product(1024, 1024, two) < product(1024, 1024, one)


def test_small_products_take_less_time_by_teams() -> None:
    """704 x 2816 x 768, written by hand, takes an H200 86 us by four teams, 93 by two; derived, 110 by groups as large whose work-items have fewer results."""
    four, two = (Tiles(64, 64, 16, 2, 2, ahead=True, teams=teams) for teams in (4, 2))
    alone = Tiles(64, 64, 16, 1, 1, ahead=True)
    seconds = [
        cost(MATMUL.at({"n": 704, "m": 768, "k": 2816}), tile_for_groups(tiles)).seconds
        for tiles in (four, two, alone)
    ]
    assert seconds == sorted(seconds)


def test_numbers_fetched_ahead_leave_small_groups_no_registers() -> None:
    """A group of 64 that fetches 40 numbers for each work-item beside others is slower than one that does not."""
    ahead, not_ahead = (Tiles(64, 64, 20, 2, 2, ahead=each) for each in (True, False))
    assert product(4160, 500, ahead) > product(4160, 500, not_ahead)
    small, small_not_ahead = (Tiles(128, 128, 16, 2, 2, ahead=each) for each in (True, False))
    assert product(4096, 512, small) < product(4096, 512, small_not_ahead)


def test_a_last_round_of_few_warps_takes_long() -> None:
    """2000 x 1500 x 1800 takes an H200 425 us in groups of five warps that fetch ahead, of which a unit has two, then one; 303 by three at once."""
    ahead, not_ahead = (Tiles(64, 160, 20, 2, 2, ahead=each) for each in (True, False))
    sizes = {"n": 2000, "k": 1500, "m": 1800}
    rounds, at_once = (
        cost(MATMUL.at(sizes), tile_for_groups(tiles)).seconds for tiles in (ahead, not_ahead)
    )
    assert rounds > 1.2 * at_once


def test_groups_that_leave_no_local_memory_hide_little() -> None:
    """Whole rows of 128 in local memory leave a unit six groups of 64: chunks of 32 columns take 101 us instead of 120."""
    md = load_program(str(EXAMPLES / "md.py")).at({"n": 73728, "k": 128})
    whole = then(rows_in_groups(64, GPU.local_memory_bytes), tuples_side_by_side)
    in_chunks = then(rows_in_chunks(64, 32, 48 * 1024), tuples_side_by_side)
    assert cost(md, whole).seconds > cost(md, in_chunks).seconds


def test_small_tiles_wait_for_local_memory() -> None:
    """Sixteen results of a work-item need eight numbers of local memory in each step, 64 need sixteen."""
    assert product(4096, 512, Tiles(64, 64, 16, 1, 1, ahead=False)) > 1.3 * (
        product(4096, 512, Tiles(128, 128, 16, 2, 2, ahead=False))
    )


def test_a_product_and_its_sum_are_one_instruction() -> None:
    """As they are where a program writes them without an operator."""

    @rl.program
    def by_operator(x: rl.f32[n]):
        return rl.map_glb(0)(lambda v: rl.add(v, v * v), x)

    @rl.program
    def sums(x: rl.f32[n]):
        return rl.map_glb(0)(lambda v: v + v * v, x)

    assert (
        estimate(by_operator.at({"n": 1 << 20}), GPU).compute
        == estimate(sums.at({"n": 1 << 20}), GPU).compute
    )


def test_a_rest_of_the_folds_takes_no_registers_beside_them() -> None:
    """4097^2 in tiles of 128: 2,994 us ahead and 3,201 not; what the last step holds is free while the others compute."""
    ahead, not_ahead = (Tiles(128, 128, 16, 2, 2, ahead=each) for each in (True, False))
    assert product(4096, 4097, ahead) < 0.97 * product(4096, 4097, not_ahead)


def test_members_of_a_group_that_have_nothing_to_do_take_the_place_of_others() -> None:
    """A unit has 32 groups of 32 that each fold 32 columns, and 8 of 256, of which 224 wait: four rounds instead of one."""
    columns = rl.f32[512, 1 << 17]
    fold = lambda first: lambda column: rl.reduce_seq(rl.add, first, column)
    folds = lambda tile, first: rl.map_lcl(0)(fold(first), tile)
    by_groups = lambda x, f: rl.join(rl.map_wrg(0)(f, rl.split(32, rl.transpose(x))))
    copied = lambda y: rl.to_local(rl.map_lcl(0)(lambda v: v + 1.0, y))

    alone = typed(x=columns)(lambda x: by_groups(x, lambda tile: folds(tile, 0.0)))
    among_others = typed(x=columns, y=rl.f32[256])(
        lambda x, y: by_groups(x, lambda t: rl.let(lambda kept: folds(t, kept[0]), copied(y)))
    )

    assert estimate(among_others, GPU).compute > 3 * estimate(alone, GPU).compute


def test_few_work_items_wait_for_what_functions_give() -> None:
    """Losses of 2^25 numbers take an H200 105 us by 2^17 work-items, and 95 by 2^18; their sum 37 in both ways."""

    def folded(items: int, f: Callable[[Any], Any]) -> float:
        fold = lambda chunk: rl.reduce_seq(lambda s, v: s + f(v), 0.0, chunk)
        chunks = lambda x: rl.transpose(rl.split(items, x))
        whole = typed(x=rl.f32[1 << 25])(lambda x: rl.map_glb(0)(fold, chunks(x)))
        return estimate(whole, GPU).compute

    loss = lambda v: rl.log(1.0 + rl.exp(v)) * rl.log(2.0 + rl.exp(-v))
    assert folded(1 << 17, loss) > 1.05 * folded(1 << 18, loss)


def test_neighbours_that_ask_one_bank_of_local_memory_have_turns() -> None:
    """Rows of 32 numbers there begin in one bank, rows of 33 in all of them."""

    def rows(width: int) -> float:
        copied = lambda y: rl.to_local(rl.map_lcl(0)(lambda v: v + 1.0, y))
        folded = lambda kept, t: rl.map_lcl(0)(
            lambda row: rl.reduce_seq(rl.add, t, row), rl.split(width, kept)
        )
        each = lambda x, y: rl.map_wrg(0)(
            lambda t: rl.let(lambda kept: folded(kept, t), copied(y)), x
        )
        whole = typed(x=rl.f32[1 << 16], y=rl.f32[128 * width])(each)
        return estimate(whole, GPU).compute

    assert rows(32) > 2 * rows(33)


def test_what_lies_between_is_sent_for_those_who_read_it_next() -> None:
    """Means of three cells that begin two cells apart read all that is sent, of one cell in two half of it."""

    def means(window: int) -> float:
        whole = lambda x: rl.slide(window, 2, x)
        sums = lambda x: rl.map_glb(0)(lambda w: rl.reduce_seq_unroll(rl.add, 0.0, w), whole(x))
        return estimate(typed(x=rl.f32[(1 << 25) + window - 2])(sums), GPU).compute

    assert means(3) < means(1)


def test_what_a_work_item_writes_side_by_side_is_written_together() -> None:
    """Rows of four of a work-item each, 2^24 of them, take an H200 133 us written out."""

    def written(copy: Callable[[Any, Any], Any]) -> float:
        rows = lambda x: rl.map_glb(0)(lambda r: copy(lambda v: v + 1.0, r), x)
        return estimate(typed(x=rl.f32[1 << 24, 4])(rows), GPU).compute

    assert written(rl.map_seq_unroll) < 0.5 * written(rl.map_seq)


@rl.program
def windows_of_five(x: rl.f32[n + 4, n + 4]):
    windows = rl.slide_nd((5, 5), (1, 1), x)
    return rl.map_nd(2, lambda w: rl.reduce(rl.add, 0.0, rl.join(w)), windows)


def test_high_strips_load_fewer_cells_again() -> None:
    """Of 8192 x 8192 windows strips of 4, 8 and 16 take an H200 197, 163 and 157 us; memory takes 127."""
    four, eight, sixteen = (
        cost(windows_of_five.at({"n": 8192}), strips_of_items(down)).seconds for down in (4, 8, 16)
    )
    assert 1.1 * sixteen < 1.1 * eight < four < 2 * sixteen


def test_a_row_that_its_work_item_goes_through_again_is_near() -> None:
    """16,384 edit distances of words of 128 letters take an H200 0.34 ms; through rows of 8192 a unit goes from the second cache."""

    def per_step(length: int) -> float:
        def pair(p):
            inner = lambda a: rl.reduce_seq(lambda s, b: s + a * b, 0.0, p[1])
            return rl.reduce_seq(lambda acc, a: acc + inner(a), 0.0, p[0])

        rows = typed(x=rl.f32[16384, 64], y=rl.f32[16384, length])(
            lambda x, y: rl.map_glb(0)(pair, rl.zip(x, y))
        )
        return estimate(rows, GPU).compute / length

    assert per_step(128) < 0.7 * per_step(8192)
