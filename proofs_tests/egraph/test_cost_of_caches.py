"""The cost model: what caches of a CPU do not keep is sent again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.device import CPU, GPU, DeviceDescription, Packing
from relift.egraph.cost.model import Cost, estimate
from relift.egraph.cost.walked import within
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.folds.chunked_scans import in_step
from relift.rewrites.tactics.vectors.strips import strips_in_lanes
from relift.semantics.language import multidimensional
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32, i32


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


def test_rows_that_work_items_go_along_are_gathered_for_less_than_what_is_read_once() -> None:
    """A driver that packs work-items adds up parts of an array, one for each of them, sooner than one that does not."""

    def sums(chunks: Any) -> Any:
        return rl.map_glb(0)(lambda chunk: rl.reduce_seq(rl.add, 0.0, chunk), chunks)

    n = 1 << 20
    packed = estimate(
        typed(x=f32[n])(lambda x: sums(rl.split(n // 64, x))), replace(CPU, packs="loops")
    )
    one_by_one = cost(lambda x: sums(rl.split(n // 64, x)), x=f32[n])
    assert packed.compute < 0.5 * one_by_one.compute


def test_lanes_that_leave_few_cells_out_are_in_few_lines() -> None:
    """Every second number of rows, sixteen at a time: a turn goes on by 32, which is two lines."""

    def halves(step: int) -> Any:
        def of_row(row: Any) -> Any:
            first = rl.map(lambda p: p[0], rl.split(step, row))
            return rl.map_seq(lambda v: rl.map_vec(lambda a: a + a, v), rl.as_vector(16, first))

        return lambda x: rl.map_glb(0)(lambda r: rl.as_scalar(of_row(r)), x)

    near, afar = (cost(halves(step), x=f32[2000, 512 * step]).compute for step in (2, 64))
    assert near < 0.4 * afar


def test_extremes_of_floats_wait_longer_than_sums() -> None:
    """Each step of a sum takes 4 cycles until the next has its result, and of an extreme 7."""

    def folded(op: Any, zero: float) -> Any:
        return lambda x: rl.map_glb(0)(lambda row: rl.reduce_seq(op, zero, row), x)

    added, chosen = (
        cost(folded(op, zero), x=f32[64, 4096]).compute
        for op, zero in ((rl.add, 0.0), (rl.maximum, float("-inf")))
    )
    assert chosen > 1.5 * added


def test_sums_of_a_scan_wait_for_one_another() -> None:
    """One work-item adds up an array, and stores each sum."""

    def scanned(x: Any) -> Any:
        return rl.map_glb(0)(lambda row: rl.scan_seq(lambda a, v: a + v, 0.0, row), x)

    n = 1 << 16
    assert cost(scanned, x=f32[1, n]).compute > 3.9 * n / (CPU.core_ghz * 1e9)


def test_rows_of_which_lanes_leave_cells_out_crowd_each_other_out_of_a_set() -> None:
    """Pairs of rows of 16 KB in lanes that take every second cell: a set of the nearest cache has 12 lines."""

    def pooled(rows: int) -> float:
        def of_strip(strip: Any) -> Any:
            pairs = rl.map(
                lambda row: rl.as_vector(16, rl.head(rl.transpose(rl.split(2, row)))), strip
            )
            add, zero = rl.vectorize(16, rl.add), rl.splat(16, 0.0)
            of = lambda column: rl.reduce_seq_unroll(add, zero, column)
            return rl.as_scalar(rl.map_seq(of, rl.transpose(pairs)))

        x = f32[rows * 16, 4096]
        found = cost(lambda x: rl.map_glb(0)(of_strip, rl.split(rows, x)), x=x)
        return found.compute / rows

    assert pooled(24) > 1.08 * pooled(8)


@pytest.mark.parametrize(("length", "crowded"), [(4096, True), (4112, False)])
def test_numbers_for_all_lanes_crowd_each_other_out_of_a_set(length: int, crowded: bool) -> None:
    """Of 24 rows a number each is read in each step for all lanes: rows of 16 KB begin in one set, others a line later each."""

    def sums(x: Any, y: Any) -> Any:
        zero = rl.to_private(rl.map_seq_unroll(lambda v: v, rl.repeat(24, rl.splat(16, 0.0))))

        def step(held: Any, p: Any) -> Any:
            scaled = lambda q: rl.vectorize(16, rl.add)(q[0], rl.map_vec(lambda c: q[1] * c, p[1]))
            return rl.map_seq_unroll(scaled, rl.zip(held, p[0]))

        def block(columns: Any) -> Any:
            of_rows = rl.reduce_seq(step, zero, rl.zip(rl.transpose(x), columns))
            return rl.map_seq_unroll(lambda v: v, of_rows)

        return rl.map_glb(0)(block, rl.transpose(rl.map(lambda row: rl.as_vector(16, row), y)))

    def cycles(rows: int) -> float:
        return cost(sums, x=f32[24, rows], y=f32[rows, 64]).compute / rows

    assert (cycles(length) > 1.2 * cycles(4112)) == crowded


def test_lanes_that_are_taken_out_of_a_vector_have_their_price() -> None:
    """Rows of 32 numbers are folded by vectors of 16, whose lanes are folded at the end; or 16 of their cells are added in turn.

    200,000 rows of 16 numbers take two cores 11 cycles each so.
    """

    def by_vectors(x: Any) -> Any:
        add = rl.vectorize(16, rl.add)
        of_row = lambda row: rl.reduce_seq_unroll(
            rl.add,
            0.0,
            rl.as_scalar(
                rl.repeat(1, rl.reduce_seq(add, rl.splat(16, 0.0), rl.as_vector(16, row)))
            ),
        )
        return rl.map_glb(0)(of_row, x)

    def of_cells(x: Any) -> Any:
        return rl.map_glb(0)(lambda row: rl.reduce_seq_unroll(rl.add, 0.0, rl.take(16, row)), x)

    n = 4096
    lanes, cells = (cost(body, x=f32[n, 32]).compute for body in (by_vectors, of_cells))
    assert 8 < (lanes - cells) * CPU.core_ghz * 1e9 * CPU.compute_units / n < 16


def test_three_rows_take_two_cores_as_long_as_four() -> None:
    """A core has nothing to do while the other one computes the last of them."""

    def sums(x: Any) -> Any:
        return rl.map_glb(0)(lambda row: rl.reduce_seq(rl.add, 0.0, row), x)

    three, four = (cost(sums, x=f32[rows, 65536]) for rows in (3, 4))
    assert three.compute == pytest.approx(four.compute)


def test_rows_of_a_page_beside_one_another_cost_what_the_device_says() -> None:
    """Eight rows of 1 KB at a time, of which some CPUs fetch one alone before it is read."""

    def sums(x: Any) -> Any:
        def of_eight(rows: Any) -> Any:
            columns = rl.transpose(rl.map(lambda row: rl.as_vector(16, row), rows))
            add = rl.vectorize(16, rl.add)
            folded = lambda c: rl.reduce_seq_unroll(add, rl.splat(16, 0.0), c)
            return rl.as_scalar(rl.map_seq(folded, columns))

        return rl.map_glb(0)(of_eight, rl.split(8, x))

    program = typed(x=f32[65536, 256])(sums)
    unseen, seen = (estimate(program, replace(CPU, unseen_rows=u)).memory for u in (0.9, 0.0))
    assert unseen > 1.4 * seen


def test_cells_at_indices_that_work_items_compute_lie_apart() -> None:
    """Each has a number of its own in a register, whatever that is called: 600 x 601 pixels that are moved take 4.6 ms, not 0.4."""
    n = 1 << 16

    def looked_up(x: Any, v: Any) -> Any:
        return rl.map_glb(0)(lambda c: rl.at_runtime_unsafe(i32(c), x), v)

    def converted(x: Any, v: Any) -> Any:
        return rl.map_glb(0)(lambda p: p[0] * f32(i32(p[1])), rl.zip(x, v))

    found, other = (cost(body, x=f32[n], v=f32[n]).compute for body in (looked_up, converted))
    assert found > 2 * other


def test_cells_at_sums_of_indices_lie_where_these_say() -> None:
    """A stencil in the words of loops costs what it costs as shifted arrays, beside the sums."""
    n = 1 << 20

    def of_loops(x: Any) -> Any:
        return rl.map_glb(0)(
            lambda i: rl.at_runtime_unsafe(i, x) + rl.at_runtime_unsafe(i + 1, x),
            rl.generate(n, lambda i: i),
        )

    def of_arrays(x: Any) -> Any:
        return rl.map_glb(0)(lambda p: p[0] + p[1], rl.zip(rl.take(n, x), rl.drop(1, x)))

    for device in (CPU, GPU):
        found, other = (
            estimate(typed(x=f32[n + 1])(body), device).seconds for body in (of_loops, of_arrays)
        )
        assert found < 1.3 * other


def test_a_lookup_takes_as_long_as_the_cache_that_keeps_its_table() -> None:
    """Through drivers that pack work-items with loops, and without."""

    def looked_up(ids: Any, table: Any) -> Any:
        return rl.map_glb(0)(lambda i: rl.at_runtime_unsafe(i, table), ids)

    def compute(cells: int, packs: Packing) -> float:
        device = replace(CPU, packs=packs, second_bytes=1 << 20)
        program = typed(ids=i32[1 << 20], table=f32[cells])(looked_up)
        return estimate(program, device).compute

    near, second, far = (compute(cells, "loops") for cells in (1000, 50_000, 1_000_000))
    assert 1.8 * near < second
    assert 1.5 * second < far
    assert near == compute(1000, "loop-free")


def test_rows_are_compared_with_those_near_them_only() -> None:
    """Sixteen thousand that a loop reads side by side were each compared with all others: a search took minutes for its estimates."""

    class Compared(int):
        """A byte that counts how often it is compared."""

        times = 0

        def __lt__(self, other: int) -> bool:
            Compared.times += 1
            return int(self) < int(other)

    rows = [Compared(512 * i) for i in range(1 << 10)]
    assert within(rows, 512 * 700 - 64, 512 * 700 + 64) == 1
    assert within(rows, 512 * 700 - 64, 512 * 703 + 64) == 4
    assert Compared.times < 100


def test_what_the_last_cache_keeps_comes_from_there() -> None:
    """A program's arrays together, not those of each kernel; an estimate took all of it for sent by memory, three times as long."""
    device = replace(CPU, third_bytes=32 << 20, third_gbs=60.0)

    def seconds(cells: int, device: DeviceDescription, kernels: int = 1) -> float:
        def doubled(x: Any) -> Any:
            each = rl.map_glb(0)(lambda v: v + v, x)
            return each if kernels == 1 else rl.map_glb(0)(lambda v: v + v, rl.to_global(each))

        return estimate(typed(x=f32[cells])(doubled), device).memory

    few, many = 1 << 20, 1 << 24
    assert seconds(few, device) == pytest.approx(seconds(few, CPU) * CPU.bandwidth_gbs / 120.0)
    assert seconds(many, device) == seconds(many, CPU)
    some = 5 << 20  # 40 MB in two arrays are in part there, and 60 MB in three less
    kept = [1.0 - seconds(some, device, k) / seconds(some, CPU, k) for k in (1, 2)]
    assert kept[0] > 1.5 * kept[1] > 0.0


@pytest.mark.parametrize("turned", [0.5, 2.8])
def test_rows_that_are_copied_across_one_by_one_take_as_long_with_every_driver(
    turned: float,
) -> None:
    """One that turns rows in registers does not where a loop puts each of their numbers in a place of its own."""
    width, length = 16, 250

    def moved(A: Any) -> Any:
        def most(rows: Any) -> Any:
            by_column = rl.map_seq(
                lambda v: rl.as_scalar(
                    rl.map_seq(lambda w: rl.map_vec(lambda c: c, w), rl.as_vector(width, v))
                ),
                rl.transpose(rows),
            )
            return rl.reduce_seq(rl.maximum, 0.0, rl.join(rl.to_private(by_column)))

        return rl.map_glb(0)(most, rl.split(width, A))

    device = replace(CPU, turned_cycles=turned)
    program = typed(A=f32[1600, length])(moved)
    assert estimate(program, device).compute == estimate(program, CPU).compute


_PACKINGS: tuple[Packing, ...] = ("loops", "loop-free")


def rows_in_step(device: DeviceDescription, rows: int, length: int) -> float:
    """Seconds for a number where a work-item scans so many rows of a length in one loop."""
    scans = typed(x=f32[1 << 9, length])(
        lambda x: rl.map(lambda row: rl.scan_seq(rl.add, 0.0, row), x)
    )
    low = replace(scans, body=derive(scans, in_step(rows)).result)
    return estimate(low, device).compute / length


@pytest.mark.parametrize(("rows", "crowded"), [(2, False), (4, False), (8, True)])
def test_numbers_of_rows_that_share_a_set_are_dear_if_there_are_many(
    rows: int, crowded: bool
) -> None:
    """What is written has a line in the set of what is read."""
    device = replace(CPU, nearest_ways=8)
    aligned, apart = (rows_in_step(device, rows, length) for length in (4096, 4096 + 64))
    assert (aligned > 1.5 * apart) == crowded


def test_rows_that_a_driver_does_not_pack_are_written_by_one_work_item_each() -> None:
    """Where loops write along rows, a driver that packs any kernel is told not to: no lines of sixteen rows crowd one another out."""
    packing, other = (
        rows_in_step(replace(CPU, packs=kind, nearest_ways=8), 2, 4096) for kind in _PACKINGS
    )
    assert packing == pytest.approx(other)


def test_a_strip_of_windows_reads_a_row_once_however_a_window_is_folded() -> None:
    """Smallest of 3 x 3 whole numbers, from one that is not neutral: rows are joined. Eight windows read ten rows, and not 24."""

    def smallest(x: Any) -> Any:
        windows = multidimensional.slide_nd((3, 3), (1, 1), x)
        return multidimensional.map_nd(2, lambda w: rl.reduce(rl.minimum, 99, rl.join(w)), windows)

    def strips(down: int) -> float:
        program = typed(x=i32[1026, 2050])(smallest)
        found = derive(program, strips_in_lanes(16, down))
        return estimate(replace(program, body=found.result), CPU).compute

    assert strips(8) < 0.75 * strips(1)


def test_lanes_that_read_a_few_cells_apart_take_less_than_lanes_of_rows() -> None:
    """Every second number, and one of each row of 64, where a driver takes long for numbers of rows of their own."""
    slow = replace(CPU, turned_cycles=2.8)

    def sums(x: Any) -> Any:
        row = lambda r: rl.reduce_seq(
            rl.add,
            0.0,
            rl.as_scalar(
                rl.repeat(
                    1,
                    rl.reduce_seq(
                        lambda s, v: rl.vectorize(16, rl.add)(s, rl.map_vec(lambda w: w[0], v)),
                        rl.splat(16, 0.0),
                        rl.as_vector(16, r),
                    ),
                )
            ),
        )
        return rl.map_glb(0)(row, x)

    near, far = (estimate(typed(x=f32[512, 512, m])(sums), slow).compute for m in (2, 64))
    assert 2 * near < far


def test_what_is_only_moved_to_registers_is_not_packed() -> None:
    """Numbers that are squared before they are added up are made in vectors; to move them first gains nothing."""

    def seconds(of_row: Any) -> float:
        def sums(x: Any) -> Any:
            each = lambda r: rl.reduce_seq(rl.add, 0.0, of_row(rl.split(3, r)))
            return rl.map_glb(0)(each, x)

        return estimate(typed(x=f32[4096, 192])(sums), CPU).compute

    first = lambda w: w[0]
    moved = seconds(lambda r: rl.to_private(rl.map_seq(first, r)))
    assert moved > seconds(lambda r: rl.map(first, r))
