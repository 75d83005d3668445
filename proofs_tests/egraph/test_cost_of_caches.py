"""The cost model: what caches of a CPU do not keep is sent again."""

from __future__ import annotations

from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.device import CPU
from relift.egraph.cost.model import Cost, estimate
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32


def cost(body: Any, **inputs: Any) -> Cost:
    """What a program of one expression is estimated to cost."""
    return estimate(typed(**inputs)(body), CPU)


@pytest.mark.parametrize(("rows", "again"), [(128, False), (2048, True)])
def test_a_matrix_that_each_work_item_goes_through_is_sent_again_if_the_second_cache_does_not_keep_it(
    rows: int, again: bool
) -> None:
    """A work-item adds up the rows of a matrix of 256 KB, or of 4 MB, in registers."""

    def sums(A: Any, xs: Any) -> Any:
        vectors = rl.map(lambda row: rl.as_vector(16, row), A)
        zero = rl.to_private(rl.map_seq(lambda v: v, rl.repeat(32, rl.splat(16, 0.0))))
        added = lambda t, row: rl.map_seq(
            lambda p: rl.vectorize(16, rl.add)(p[0], p[1]), rl.zip(t, row)
        )
        of_item = lambda _: rl.as_scalar(
            rl.map_seq(lambda v: v, rl.reduce_seq(added, zero, vectors))
        )
        return rl.map_glb(0)(of_item, xs)

    few, many = (cost(sums, A=f32[rows, 512], xs=f32[n]).memory for n in (64, 128))
    sent = (many - few) / 64 * CPU.core_ghz * 1e9 * CPU.compute_units / (rows * 512 * 4 / 64)
    assert (sent > 3) if again else (sent < 1)


def test_columns_whose_lines_share_a_part_of_the_second_cache_crowd_each_other_out() -> None:
    """8192 lines, each 2048 bytes after the other, or 2064."""

    def copied(x: Any) -> Any:
        row = lambda column: rl.as_scalar(
            rl.map_seq(lambda v: rl.map_vec(lambda a: a, v), rl.as_vector(16, column))
        )
        return rl.map_glb(0)(row, rl.transpose(x))

    together, apart = (cost(copied, x=f32[8192, m]).compute / m for m in (512, 516))
    assert together > 2 * apart


def test_a_part_of_an_index_that_no_turn_changes_is_computed_before_the_loop() -> None:
    """Each of 1024 rows is read by four work-items, for all lanes of a vector."""

    def sums(x: Any) -> Any:
        zero, add = rl.splat(16, 0.0), rl.vectorize(16, rl.add)
        of_row = lambda row: rl.reduce_seq(add, zero, rl.map(lambda v: rl.splat(16, v), row))
        return rl.as_scalar(rl.map_glb(0)(of_row, x))

    four = lambda x: sums(rl.join(rl.map(lambda r: rl.repeat(4, r), x)))
    assert cost(four, x=f32[1024, 256]).compute < 1.01 * cost(sums, x=f32[4096, 256]).compute
