"""The cost model: more work is never cheaper, and its order is the order of measured times."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.bench.benchmarks import Benchmark, load_benchmarks
from relift.compiler.bench.bundle import read_results
from relift.compiler.bench.times import predicted_anew, predictions, rank_correlation
from relift.device import CPU, GPU, DeviceDescription, Packing
from relift.egraph.cost.buffers import counted_once, known_kernels
from relift.egraph.cost.model import Cost, estimate
from relift.egraph.cost.operations import latency_of
from relift.egraph.search.optimize import optimize
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.folds.shared import blocks_of_folds
from relift.rewrites.tactics.groups.tiles import tile_for_groups
from relift.rewrites.tactics.groups.tiling.sizes import Tiles
from relift.rewrites.tactics.vectors.folded_rows import rows_of_items
from relift.rewrites.tactics.vectors.strips import strips_in_lanes
from relift.semantics.errors import Unsupported
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Concat, Fold, MapVec
from relift.semantics.syntax.terms import Input, Term, subterms
from relift.semantics.syntax.types import Scalar, dimensions, f32, i32

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDER = EXAMPLES / "low_level"
BENCHMARKS = load_benchmarks(FOLDER, [], "gpu")

devices = pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])


def cost(device: DeviceDescription, body: Any, **inputs: Any) -> Cost:
    """What a program of one expression is estimated to cost."""
    return estimate(typed(**inputs)(body), device)


def test_predicted_order_is_the_measured_one() -> None:
    """Every program that was timed on an H200 has an estimate, in the order of the times but for some."""
    rows = read_results(FOLDER / "results_h200.json")["entries"]

    def predict(program: Program) -> float:
        return estimate(program, GPU).seconds

    pairs = predictions(predicted_anew(rows, BENCHMARKS, predict))
    assert len(pairs) == len(rows)
    correlation = rank_correlation(pairs)
    assert correlation is not None
    assert correlation >= 0.95
    for predicted, measured in pairs:
        assert measured / 8 < predicted < measured * 4


@devices
def test_a_value_is_computed_once_whatever_its_variables_are_called(
    device: DeviceDescription,
) -> None:
    def total(row: Any) -> Any:
        return rl.reduce_seq(lambda a, v: a + v * v, 0.0, row)

    def whole(row: Any) -> Any:
        return rl.reduce_seq(lambda b, w: b + w * w, 0.0, row)

    def shares(f: Any) -> Cost:
        return cost(device, lambda x: rl.map_glb(0)(lambda r: total(r) / f(r), x), x=f32[64, 4096])

    once, renamed = shares(total), shares(whole)
    assert once == renamed


@devices
@pytest.mark.parametrize("rows", [0, 3])
def test_what_is_never_run_has_an_estimate(rows: int, device: DeviceDescription) -> None:
    """Folds in no row, and in rows of no element; and what is written out there."""
    total = lambda row: rl.reduce_seq(rl.add, 0.0, row)
    each = lambda row: rl.map_seq_unroll(lambda v: v + 1.0, row)
    shape = f32[rows, 3 - rows]
    folded = cost(device, lambda x: rl.map_seq(total, x), x=shape)
    written_out = cost(device, lambda x: rl.map_seq(each, x), x=shape)
    assert 0 <= folded.seconds < 1
    assert 0 <= written_out.seconds < 1


@devices
@pytest.mark.parametrize("b", BENCHMARKS, ids=lambda b: b.name)
def test_twice_the_data_is_not_cheaper(b: Benchmark, device: DeviceDescription) -> None:
    """For each size by itself."""
    sizes = {**b.sizes, **b.variants[0]}
    once = estimate(b.make(**sizes), device).seconds
    for name in b.sizes.keys() - {"k", "d", "items", "width"}:
        twice = dataclasses.replace(b, sizes={**sizes, name: 2 * sizes[name]}).at({})
        assert estimate(twice, device).seconds >= once


@devices
def test_neighbours_are_not_dearer_than_columns(device: DeviceDescription) -> None:
    """Work-items that read side by side, and work-items that read `n` apart."""
    n = 1024

    def rows(x: Any) -> Any:
        return rl.map_glb(1)(lambda r: rl.map_glb(0)(lambda v: v + 1.0, r), x)

    def columns(x: Any) -> Any:
        return rows(rl.transpose(x))

    assert cost(device, rows, x=f32[n, n]).compute < cost(device, columns, x=f32[n, n]).compute


@devices
def test_a_loop_costs_more_than_its_body_written_out(device: DeviceDescription) -> None:
    """The steps of the loop itself."""

    def by(reduce: Any) -> Any:
        return lambda x: rl.map_glb(0)(lambda r: reduce(rl.add, 0.0, r), x)

    loop, out = (
        cost(device, by(reduce), x=f32[1 << 16, 32]).compute
        for reduce in (rl.reduce_seq, rl.reduce_seq_unroll)
    )
    assert out < loop


@devices
def test_levels_of_a_tree_add_up(device: DeviceDescription) -> None:
    """Work-items of one level are not multiplied with those of the level below it; there are so many that no load takes as long."""

    def levels(count: int) -> Any:
        def group(xs: Any) -> Any:
            for _ in range(count):
                xs = rl.to_local(rl.map_lcl(0)(lambda v: v + 1.0, xs))
            return rl.map_lcl(0)(lambda v: v + 1.0, xs)

        return lambda x: rl.map_wrg(0)(group, x)

    eight, nine, ten = (
        cost(device, levels(count), x=f32[1 << 12, 1024]).compute for count in (8, 9, 10)
    )
    assert nine - eight == pytest.approx(ten - nine)
    assert eight < nine < 1.2 * eight


@devices
def test_what_is_iterated_is_paid_for_each_time(device: DeviceDescription) -> None:
    """An iterate in local memory, and one copy of it at the end."""

    def iterated(count: int) -> Any:
        def group(xs: Any) -> Any:
            step = rl.iterate(
                count,
                lambda v: rl.to_local(rl.map_lcl(0)(lambda e: e + 1.0, v)),
                rl.to_local(rl.map_lcl(0)(lambda e: e, xs)),
            )
            return rl.map_lcl(0)(lambda e: e, step)

        return lambda x: rl.map_wrg(0)(group, x)

    ten, twelve, fourteen = (
        cost(device, iterated(count), x=f32[1 << 12, 1024]).compute for count in (10, 12, 14)
    )
    assert ten < twelve
    assert twelve - ten == pytest.approx(fourteen - twelve)


def test_a_fold_in_place_is_no_copy() -> None:
    """The product of matrices keeps its tile in registers: at most four times what its operations need."""
    b = next(b for b in BENCHMARKS if b.name == "matmul_1024")
    for variant in b.variants:
        needed = b.flops(**b.sizes) / (GPU.fma_gflops * 1e9)
        assert needed / 2 < estimate(b.at(variant), GPU).compute < 4 * needed


def test_equal_terms_are_paid_once() -> None:
    """As the compiler computes them once."""

    def once(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: rl.let(lambda e: (e, e), rl.exp(v)), x)

    def twice(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: (rl.exp(v), rl.exp(v)), x)

    assert cost(GPU, once, x=f32[1024]) == cost(GPU, twice, x=f32[1024])


def test_few_work_items_of_a_gpu_wait_for_memory() -> None:
    """The same sums of columns, by 64 work-items and by 8192: nobody else runs while the few wait."""

    def sums(A: Any) -> Any:
        return rl.map_glb(0)(lambda column: rl.reduce_seq(rl.add, 0.0, column), rl.transpose(A))

    few, many = cost(GPU, sums, A=f32[1 << 20, 64]), cost(GPU, sums, A=f32[8192, 8192])
    assert few.seconds > 10 * many.seconds


@devices
def test_what_is_read_by_all_of_a_block_is_read_once(device: DeviceDescription) -> None:
    """A block of products, written out, reads each factor once; a loop reads them again."""

    def products(each: Any) -> Any:
        def block(rows: Any, columns: Any) -> Any:
            return each(lambda r: each(lambda c: r * c, columns), rows)

        return lambda x, y: rl.map_glb(0)(
            lambda p: block(p[0], p[1]), rl.zip(rl.split(8, x), rl.split(8, y))
        )

    out, loops = (
        cost(device, products(each), x=f32[1 << 14], y=f32[1 << 14])
        for each in (rl.map_seq_unroll, rl.map_seq)
    )
    assert out.compute < loops.compute / 1.5


def test_what_groups_read_again_comes_from_the_second_cache() -> None:
    """A group for each product of a row with all others reads these anew; one for a row alone reads each once."""

    def products(rows: Any, others: Any) -> Any:
        def product(row: Any, other: Any) -> Any:
            def lane(parts: Any) -> Any:
                return rl.reduce_seq(lambda acc, q: acc + q[0] * q[1], 0.0, parts)

            parts = rl.split(32, rl.zip(row, other))
            return rl.reduce_seq(rl.add, 0.0, rl.to_local(rl.map_lcl(0)(lane, parts)))

        return rl.map_wrg(1)(lambda r: rl.map_wrg(0)(lambda o: product(r, o), others), rows)

    few, many = (cost(GPU, products, rows=f32[n, 1024], others=f32[1 << 16, 1024]) for n in (1, 8))
    assert many.bytes < 1.1 * few.bytes
    assert many.compute > 7 * few.compute
    assert many.compute > 8 * (1 << 16) * 1024 * 4 / 6e12


def test_rows_that_windows_share_come_from_the_second_cache_once() -> None:
    """A work-item with strips of 16 windows reads 18 rows, not 48; those with one each read three."""

    def strip(column: Any) -> Any:
        return rl.map_seq_unroll(lambda w: w[0] + w[1] + w[2], rl.slide(3, 1, column))

    def lines(part: Any) -> Any:
        return rl.transpose(rl.map_glb(0)(strip, rl.transpose(part)))

    def strips(down: int) -> Any:
        def sums(image: Any) -> Any:
            return rl.join(rl.map_glb(1)(lines, rl.slide(down + 2, down, image)))

        return sums

    one, many = (cost(GPU, strips(down), image=f32[8194, 8192]).compute for down in (1, 16))
    assert many < 0.6 * one


def test_what_a_gpu_loads_hides_what_it_computes_until_that_takes_longer() -> None:
    """A unit starts four multiply-adds in the time of one load."""

    def powers(times: int) -> Any:
        def power(v: Any) -> Any:
            return rl.reduce_seq_unroll(lambda acc, w: acc * w + 1.0, 1.0, rl.repeat(times, v))

        return lambda x: rl.map_glb(0)(power, x)

    loads = cost(GPU, powers(2), x=f32[1 << 24]).compute
    assert loads == cost(GPU, powers(1), x=f32[1 << 24]).compute
    assert cost(GPU, powers(64), x=f32[1 << 24]).compute > 2 * loads


def test_what_neighbours_write_apart_is_not_put_together() -> None:
    """Each in a run of its own, of so many cells; by vectors there are fewer accesses."""

    def runs(length: int, width: int = 1) -> float:
        def copied(run: Any) -> Any:
            if width == 1:
                return rl.map_seq(lambda v: v + 1.0, run)
            lanes = rl.map_seq(lambda v: rl.map_vec(lambda x: x + 1.0, v), rl.as_vector(width, run))
            return rl.as_scalar(lanes)

        def body(x: Any) -> Any:
            return rl.map_glb(0)(copied, rl.split(length, rl.repeat(1 << 24, x)))

        return cost(GPU, body, x=f32).compute

    assert runs(4) * 3 < runs(32) < 1.5 * runs(1024)
    assert runs(32, 4) * 2 < runs(32)


def test_what_is_not_lowered_has_no_cost() -> None:
    with pytest.raises(Unsupported):
        cost(CPU, lambda x: rl.map(lambda v: v + v, x), x=f32[64])


def test_what_a_driver_packs_is_cheaper() -> None:
    """A scalar kernel with a loop, one without, and one that calls the library, on three kinds of drivers."""

    def looped(x: Any) -> Any:
        return rl.map_glb(0)(
            lambda v: rl.reduce_seq(lambda acc, w: acc * v + w, 0.0, rl.repeat(64, v)), x
        )

    def straight(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v * v * v * v * v * v * v * v, x)

    def library(x: Any) -> Any:
        return rl.map_glb(0)(rl.exp, x)

    kinds: tuple[Packing, ...] = ("nothing", "loop-free", "loops")
    seconds = {
        body.__name__: [
            cost(dataclasses.replace(CPU, packs=kind), body, x=f32[1 << 20]).compute
            for kind in kinds
        ]
        for body in (looped, straight, library)
    }
    for name, packed_by in (("looped", 1), ("straight", 2), ("library", 1)):
        nothing, loop_free, loops = seconds[name]
        assert loops < nothing / 4
        assert (loop_free < nothing / 4) == (packed_by == 2)


def sums(accumulators: int) -> Any:
    """Sums of products of rows of 4096, with this many accumulators at a time."""

    def rows(x: Any) -> Any:
        def block(chunk: Any) -> Any:
            start = rl.to_private(
                rl.map_seq_unroll(lambda v: v, rl.repeat(accumulators, rl.splat(16, 0.0)))
            )
            folded = rl.reduce_seq(
                lambda totals, vs: rl.map_seq_unroll(
                    lambda p: rl.vectorize(16, rl.add)(p[0], rl.map_vec(lambda c: c * 2.0, p[1])),
                    rl.zip(totals, vs),
                ),
                start,
                rl.transpose(rl.map(lambda row: rl.as_vector(16, row), chunk)),
            )
            return rl.map_seq_unroll(lambda v: v, folded)

        return rl.map_glb(0)(block, rl.split(accumulators, x))

    return rows


def test_several_accumulators_hide_how_long_a_sum_takes_until_registers_are_full() -> None:
    """The same sums by 1, 8 and 64 accumulators at a time; a CPU has 32 registers of such vectors."""
    one, eight, many = (cost(CPU, sums(n), x=f32[64, 65536]).compute for n in (1, 8, 64))
    assert eight < one / 1.4
    assert eight < many


@devices
def test_a_search_that_halves_looks_at_few(device: DeviceDescription) -> None:
    """Keys that are looked up in a table of 1,024 numbers: ten of them each, where a search in order looks at all."""

    def found(search: Any) -> Any:
        def of(keys: Any, table: Any) -> Any:
            return rl.map_glb(0)(lambda k: search(lambda x: k - x, -1, table), keys)

        return of

    sizes = {"keys": i32[1 << 20], "table": i32[1 << 10]}
    halving, in_order = (
        cost(device, found(search), **sizes).compute
        for search in (rl.binary_search, rl.linear_search)
    )
    assert halving < in_order / 50


def test_whole_numbers_are_added_at_once() -> None:
    """Running sums of 4 million take a core 1.3 ms, of floats 3.5: it need not wait for the sum before; for a product it does."""

    def scanned(op: Any, z: Any, of: Scalar) -> float:
        return cost(CPU, lambda x: rl.scan_seq(op, z, x), x=of[1 << 22]).compute

    floats, sums = scanned(rl.add, 0.0, f32), scanned(rl.add, 0, i32)
    products = scanned(rl.mul, 1, i32)
    assert 1.5 * sums < floats
    assert floats == products


def test_a_product_and_its_sum_are_one_instruction_where_the_device_has_it() -> None:
    def lines(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v * v + v, x)

    apart = dataclasses.replace(CPU, fused_multiply_add=False)
    assert cost(CPU, lines, x=f32[4096]).compute < cost(apart, lines, x=f32[4096]).compute


def test_a_buffer_that_every_work_item_reads_is_computed_once() -> None:
    """As the compiler lifts it into a kernel of its own, however many work-items around it read it."""

    def doubled(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v * 2.0, x)

    def folded(x: Any, ys: Any) -> Any:
        return rl.map_glb(0)(lambda y: rl.reduce_seq(lambda a, v: a + v * y, 0.0, x), ys)

    data = {"x": f32[1 << 12], "ys": f32[1 << 12]}
    apart = cost(CPU, doubled, x=f32[1 << 12]).seconds + cost(CPU, folded, **data).seconds
    both = cost(CPU, lambda x, ys: folded(rl.to_global(doubled(x)), ys), **data)
    within = cost(
        CPU,
        lambda x, ys: rl.map_glb(0)(
            lambda y: rl.reduce_seq(lambda a, v: a + v * y, 0.0, rl.to_global(doubled(x))), ys
        ),
        **data,
    )
    assert both.seconds == within.seconds <= 1.01 * apart


def test_a_loop_that_stores_a_work_items_numbers_is_packed_where_the_kernel_is_not() -> None:
    """Each turn is for itself: a driver that packs no loops of kernels makes vectors of it, unless it calls its library."""

    def of(kind: Packing, *, stored: bool, library: bool = False) -> float:
        def each(v: Any) -> Any:
            power = v * v * v * v * v * v * v * v
            return rl.exp(power) if library else power

        def folded(row: Any) -> Any:
            if not stored:
                return rl.reduce_seq(lambda acc, v: acc + each(v), 0.0, row)
            return rl.reduce_seq(rl.add, 0.0, rl.to_private(rl.map_seq(each, row)))

        def body(x: Any) -> Any:
            return rl.map_glb(0)(folded, x)

        return cost(dataclasses.replace(CPU, packs=kind), body, x=f32[4096, 256]).compute

    assert of("loop-free", stored=True) < of("nothing", stored=True) / 2
    assert of("loop-free", stored=True, library=True) == of("nothing", stored=True, library=True)
    assert of("loop-free", stored=False) == of("nothing", stored=False)


@pytest.mark.parametrize(
    ("by", "least", "most"), [(256, 1.0, 1.5), (1021, 10.0, 30.0), (None, 40.0, 160.0)]
)
def test_no_vector_divides_whole_numbers(by: int | None, least: float, most: float) -> None:
    """Of 2^21 sums what a power of two leaves takes two cores 0.04 ms, as the sums do, a constant 0.6, and a variable 3."""

    def of(modulo: bool) -> float:
        def item(p: Any) -> Any:
            for _ in range(8):
                p = (p[0] + p[1], p[1]) if not modulo else ((p[0] + p[1]) % (by or p[1]), p[1])
            return p[0]

        body = lambda x, y: rl.map_glb(0)(item, rl.zip(x, y))
        packs = dataclasses.replace(CPU, packs="loops")
        return cost(packs, body, x=i32[1 << 18], y=i32[1 << 18]).compute

    assert least * of(False) <= of(True) <= most * of(False)


def test_work_items_that_fill_no_vector_are_computed_one_by_one() -> None:
    """Intel's driver does; 3.1 million exponentials take two cores 0.43 ms in rows of 32 numbers, and 2.6 in rows of 31."""

    def of(row: int) -> float:
        packs = dataclasses.replace(CPU, packs="loops")
        each = lambda x: rl.map_glb(1)(lambda r: rl.map_glb(0)(rl.exp, r), x)
        return cost(packs, each, x=f32[(1 << 20) // row, row]).compute

    assert 4 * of(32) < of(31) < 10 * of(32)
    assert of(1023) < 1.3 * of(1024)


@pytest.mark.parametrize(("row", "ahead"), [(20, True), (32, True), (128, False)])
def test_short_rows_one_after_the_other_are_fetched_as_one(row: int, ahead: bool) -> None:
    """Eight rows of a page at a time come as soon as one does where nothing is between them, or few lines of their own."""
    device = dataclasses.replace(CPU, unseen_rows=0.9)

    def of(rows: int) -> float:
        product = load_program(str(EXAMPLES / "matvec.py"))
        sizes = {"n": (1 << 22) // row // 8 * 8, "m": row}
        found = derive(product, blocks_of_folds(rows, 4), sizes)
        return estimate(dataclasses.replace(product.at(sizes), body=found.result), device).memory

    assert (of(8) < 1.05 * of(1)) == ahead


def test_a_part_for_some_work_items_is_not_packed() -> None:
    """A driver makes no vectors of work-items that ask for their number, however much it packs."""

    def whole(x: Any) -> Any:
        return rl.map_glb(0)(rl.exp, x)

    def parts(x: Any) -> Any:
        return rl.concat(whole(rl.take(16, x)), whole(rl.drop(16, x)))

    device = dataclasses.replace(CPU, packs="loops")
    packed, guarded = (cost(device, body, x=f32[1 << 20]).compute for body in (whole, parts))
    assert guarded > 4 * packed


def test_one_turn_is_no_loop() -> None:
    """What is read in a loop of one turn is read at each of those around it."""

    def rows(length: int) -> Any:
        return lambda xs: rl.map_glb(0)(
            lambda r: rl.map_seq(rl.map_seq(lambda v: v + 1.0), rl.split(length, r)), xs
        )

    one, other = (cost(CPU, rows(n), xs=f32[1 << 10, 1 << 10]).compute for n in (1, 1 << 10))
    assert abs(one - other) < 0.3 * other


def test_a_lone_work_item_of_a_gpu_waits_for_what_it_reads() -> None:
    """While it waits nobody else works: each cell costs many times what adding it does."""

    def lone(read: bool) -> float:
        def sums(x: Any) -> Any:
            cells = x if read else rl.repeat(1 << 16, 1.0)
            return rl.map_glb(0)(lambda s: rl.reduce_seq(rl.add, s, cells), rl.repeat(1, x[0]))

        return cost(GPU, sums, x=f32[1 << 16]).seconds

    assert lone(read=True) > 4 * lone(read=False)


@pytest.mark.parametrize("width", [1, 16])
def test_on_a_cpu_columns_are_far(width: int) -> None:
    """Down a column every access is in another line, and vectors are put together cell by cell."""

    def steps(row: Any) -> Any:
        if width == 1:
            return rl.reduce_seq(rl.add, 0.0, row)
        packed = rl.map_seq(lambda v: rl.map_vec(lambda a: a + 1.0, v), rl.as_vector(width, row))
        return rl.as_scalar(packed)

    by_rows = cost(CPU, lambda x: rl.map_glb(0)(steps, x), x=f32[1024, 1024]).seconds
    by_columns = cost(CPU, lambda x: rl.map_glb(0)(steps, rl.transpose(x)), x=f32[1024, 1024])

    assert by_columns.seconds > 3 * by_rows


def a_cell_of_strips(device: DeviceDescription, rows: int, width: int) -> float:
    """Seconds for a cell where so many rows of an image are summed at a time."""

    def chunk(together: Any) -> Any:
        vectors = rl.transpose(rl.map(lambda row: rl.as_vector(16, row), together))
        zero = rl.splat(16, 0.0)
        summed = rl.map_seq(
            lambda column: rl.reduce_seq_unroll(rl.vectorize(16, rl.add), zero, column), vectors
        )
        return rl.as_scalar(summed)

    sums = lambda x: rl.map_glb(0)(chunk, rl.split(rows, x))
    return cost(device, sums, x=f32[rows << 7, width]).compute / (rows * width)


@pytest.mark.parametrize(
    ("ways", "rows", "crowded"), [(8, 7, False), (8, 16, True), (12, 15, True), (16, 15, False)]
)
def test_lines_that_share_a_set_of_the_nearest_cache_are_dear_if_there_are_many(
    ways: int, rows: int, crowded: bool
) -> None:
    """Rows of 4096 bytes begin in the same set, longer ones do not; a set has as many lines as the device says.

    What is written has a line there too.
    """
    device = dataclasses.replace(CPU, nearest_ways=ways)
    aligned, apart = (a_cell_of_strips(device, rows, width) for width in (1024, 1024 + 16))
    assert (aligned > 1.5 * apart) == crowded


def test_lines_that_a_device_gets_again_at_once_may_share_a_set() -> None:
    """What a line costs that was crowded out is the device's: where it costs nothing, rows may begin anywhere."""
    patient = dataclasses.replace(CPU, nearest_ways=8, refetch_cycles=0.0)
    aligned, apart = (a_cell_of_strips(patient, 16, width) for width in (1024, 1024 + 16))
    assert aligned == pytest.approx(apart, rel=0.05)


def test_rows_that_are_walked_through_together_come_from_the_second_cache_if_they_are_many() -> (
    None
):
    """Two rows of 4 KB stay in a nearest cache of 16 KB, and four of them with what is written do not."""
    wide, narrow = (
        dataclasses.replace(CPU, nearest_bytes=kilobytes * 1024) for kilobytes in (1024, 16)
    )
    for rows, more in ((2, False), (4, True)):
        near, far = (a_cell_of_strips(each, rows, 1024 + 16) for each in (wide, narrow))
        assert (far > near) == more


def of_strips(name: str, sizes: dict[str, int], down: int) -> Cost:
    """What a stencil of examples/ costs where a work-item has so many rows of windows below one another."""
    program = load_program(str(EXAMPLES / f"{name}.py")).at(sizes)
    strips = derive(program, strips_in_lanes(16, down)).result
    return estimate(dataclasses.replace(program, body=strips), CPU)


@pytest.mark.parametrize(("name", "reach"), [("j2d5pt", 1), ("j2d9pt", 2)])
def test_strips_of_a_stencil_are_as_high_as_a_set_of_the_nearest_cache_has_lines(
    name: str, reach: int
) -> None:
    """Rows that are read beside those that are written share a set where a row has a multiple of 4096 bytes."""
    heights = (1, 2, 4, 8)
    aligned, apart = (
        [of_strips(name, {"n": 512, "m": 4096 + more}, down).seconds for down in heights]
        for more in (0, 16)
    )
    fitting = [2 * (down + reach) <= CPU.nearest_ways for down in heights]
    dear = [a > 1.05 * b for a, b in zip(aligned, apart, strict=True)]
    assert dear == [not fits for fits in fitting]
    assert apart == sorted(apart, reverse=True)  # the higher, the fewer rows are read twice


def folded_columns(vectors: int) -> Cost:
    """The sums of 4096 columns of as many rows, where each work-item folds a row's vectors beside one another."""
    width = 16 * vectors

    def plus(p: Any) -> Any:
        return rl.vectorize(16, rl.add)(p[0], p[1])

    def folded(strip: Any) -> Any:
        zero = rl.map_seq_unroll(rl.splat(16), rl.repeat(vectors, 0.0))
        rows = rl.map(lambda row: rl.as_vector(16, row), rl.transpose(strip))
        step = lambda s, v: rl.map_seq_unroll(plus, rl.zip(s, v))
        return rl.as_scalar(
            rl.map_seq_unroll(lambda v: v, rl.reduce_seq(step, rl.to_private(zero), rows))
        )

    columns = typed(x=f32[4096, 4096])
    program = columns(lambda x: rl.map_glb(0)(folded, rl.split(width, rl.transpose(x))))
    return estimate(program, CPU)


def test_a_row_of_vectors_that_a_loop_leaves_in_each_turn_is_one_row() -> None:
    """Vectors beside one another come one after the other, however far the next row is: of a page nothing else is begun."""
    least = 4096 * 4096 * 4 / (CPU.bandwidth_gbs * 1e9)
    assert least < folded_columns(16).memory < 1.5 * least < folded_columns(1).memory


def test_one_core_is_not_sent_all_that_memory_can_send() -> None:
    """A matrix that one work-item folds comes at the pace of a core, and that which eight fold at that of two."""
    one, many = folded_columns(256).memory, folded_columns(32).memory
    assert one > 1.3 * many


def test_vectors_of_a_turn_that_lie_side_by_side_are_of_one_row() -> None:
    """Four sums, of every fourth vector, are sent what they read as one is: nothing of it lies apart in a page."""

    def of(vectors: int) -> Program:
        def plus(p: Any) -> Any:
            return rl.vectorize(16, rl.add)(p[0], p[1])

        def folded(row: Any) -> Any:
            zero = rl.map_seq_unroll(rl.splat(16), rl.repeat(vectors, 0.0))
            turns = rl.split(vectors, rl.as_vector(16, row))
            step = lambda s, v: rl.map_seq_unroll(plus, rl.zip(s, v))
            return rl.as_scalar(rl.reduce_seq(step, rl.to_private(zero), turns))

        row = typed(x=f32[1024, 16384])
        return row(lambda x: rl.map_glb(0)(lambda r: rl.reduce_seq(rl.add, 0.0, folded(r)), x))

    assert estimate(of(4), CPU).memory == estimate(of(1), CPU).memory


@pytest.mark.parametrize(
    ("name", "rows"), [("j2d5pt", {"n": 4096}), ("j3d7pt", {"n": 64, "m": 64})]
)
def test_rows_of_one_page_are_read_one_after_the_other(name: str, rows: dict[str, int]) -> None:
    """Of four rows of 1 KB that are read together memory sends one ahead; of longer ones each is in a page of its own."""
    along = "m" if name == "j2d5pt" else "k"
    one, four, one_long, four_long = (
        of_strips(name, {**rows, along: cells}, down).memory
        for cells in (256, 2048 + 16)
        for down in (1, 4)
    )
    assert four > 1.3 * one
    assert four_long < 1.15 * one_long


@pytest.mark.parametrize(("rows", "near"), [(16, True), (1024, False)])
def test_a_table_that_each_row_goes_through_is_sent_again_if_it_is_not_near(
    rows: int, near: bool
) -> None:
    """Rows of 4 KB that neighbouring work-items read: sixteen of them stay in a cache of 64 KB."""

    def dots(A: Any, B: Any) -> Any:
        zero, add = rl.splat(16, 0.0), rl.vectorize(16, rl.add)
        vectors = rl.map(lambda row: rl.as_vector(16, row), B)
        of_row = lambda b: rl.as_scalar(rl.repeat(1, rl.reduce_seq(add, zero, b)))
        return rl.map_glb(1)(lambda _: rl.map_glb(0)(of_row, vectors), A)

    device = dataclasses.replace(CPU, nearest_bytes=1 << 16)
    once, often = (cost(device, dots, A=f32[n, 16], B=f32[rows, 1024]).memory for n in (256, 4096))
    sent = (often - once) / (4096 - 256) * device.bandwidth_gbs * 1e9
    own = 4 * (16 + 16 * rows)  # of a row, read and written
    assert (sent < 1.1 * own) if near else (sent > 5 * own)


@pytest.mark.parametrize(("length", "near"), [(3072, True), (3840, False), (8192, False)])
def test_rows_are_folded_together_where_one_crowds_out_what_all_of_them_read(
    length: int, near: bool
) -> None:
    """One row with a vector of 12 KB leaves that in a nearest cache of 32 KB; with one of 15 KB it finds little of it again.

    With both near, eight rows are a little faster: more of them are on their way from memory.
    """
    product = load_program(str(EXAMPLES / "matvec.py")).at({"n": 4096, "m": length})
    device = dataclasses.replace(CPU, nearest_bytes=1 << 15)
    one, eight = (
        estimate(dataclasses.replace(product, body=derive(product, tactic).result), device).seconds
        for tactic in (rows_of_items(1, 16, 1 << 15), blocks_of_folds(8, 16))
    )
    assert eight < one
    assert (one < 1.1 * eight) == near


def test_only_lanes_that_may_be_outside_of_an_array_ask() -> None:
    """Windows of seven in vectors of sixteen: only what lies at the ends is computed by itself, and asks.

    2^22 windows take 2.1 ms of two cores in vectors, and 9.1 in a kernel with its borders beside it, with a driver that packs no loops.
    """
    device = dataclasses.replace(CPU, packs="loop-free", turned_cycles=2.8)

    def of_windows(x: Any) -> Any:
        return rl.map(lambda w: rl.reduce(rl.add, 0.0, w), rl.slide(7, 1, rl.pad(3, 3, 0.0, x)))

    def parts(t: Term) -> list[Term]:
        return [*parts(t.xs), *parts(t.ys)] if isinstance(t, Concat) else [t]

    found = optimize(typed(x=f32[1 << 22])(of_windows), {}, device).term.body
    alone = [t for t in parts(found) if not any(isinstance(u, MapVec) for u, _ in subterms(t))]
    assert sum(dimensions(t.type)[0][0].constant or 0 for t in alone) <= 16 * 16


def test_numbers_for_all_lanes_are_dear_if_each_is_in_a_line_of_its_own() -> None:
    """Down a column of 4096 numbers, whose lines do not stay near; along a row, and down a short column they do."""

    def scaled(x: Any) -> Any:
        zero, add = rl.splat(16, 0.0), rl.vectorize(16, rl.add)
        of_row = lambda row: rl.reduce_seq(add, zero, rl.map(lambda v: rl.splat(16, v), row))
        return rl.as_scalar(rl.map_glb(0)(of_row, x))

    def step(body: Any, rows: int, columns: int) -> float:
        return cost(CPU, body, x=f32[rows, columns]).compute / (rows * columns)

    down = lambda x: scaled(rl.transpose(x))
    assert step(down, 4096, 512) > 3 * step(scaled, 512, 4096)
    assert step(down, 256, 512) < 1.5 * step(scaled, 512, 256)


def test_far_cells_are_no_dearer_for_a_driver_that_packs_work_items() -> None:
    """A cell in another page takes what it takes, gathered with others or by itself."""

    def by_panels(x: Any) -> Any:
        copied = lambda column: rl.map_seq(lambda v: v, column)
        panel = lambda rows: rl.map_seq(copied, rl.transpose(rows))
        return rl.map_glb(0)(panel, rl.split(32, x))

    packings: tuple[Packing, ...] = ("nothing", "loops")
    alone, packed = (
        cost(dataclasses.replace(CPU, packs=packs), by_panels, x=f32[1024, 1024]).compute
        for packs in packings
    )
    assert packed < 2 * alone


def test_columns_of_a_wider_matrix_are_in_more_pages() -> None:
    """Down a column of vectors, each step is in a page of its own from 1024 cells on, each other one with 512."""

    def sums(x: Any) -> Any:
        blocks = rl.transpose(rl.map(lambda row: rl.as_vector(16, row), x))
        zero = rl.splat(16, 0.0)
        add = rl.vectorize(16, rl.add)
        return rl.as_scalar(rl.map_glb(0)(lambda block: rl.reduce_seq(add, zero, block), blocks))

    quarter, half, whole, more = (
        cost(CPU, sums, x=f32[1 << 12, width]).compute / width for width in (256, 512, 1024, 2048)
    )
    assert quarter < half < whole
    assert whole == pytest.approx(more, rel=0.05)


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
def test_what_is_named_around_a_parallel_map_is_computed_by_each_of_its_work_items(
    device: DeviceDescription,
) -> None:
    """A sum that all work-items of a row need costs as much as if each of them computed it where it is read."""

    def total(row: Any) -> Any:
        return rl.reduce_seq(rl.add, 0.0, row)

    def named(row: Any) -> Any:
        return rl.let(lambda s: rl.map_glb(0)(lambda v: v * s, row), total(row))

    def read(row: Any) -> Any:
        return rl.map_glb(0)(lambda v: v * total(row), row)

    one = cost(device, lambda x: rl.map_glb(1)(named, x), x=f32[4096, 1024])
    other = cost(device, lambda x: rl.map_glb(1)(read, x), x=f32[4096, 1024])
    assert one.compute == pytest.approx(other.compute, rel=0.1)


def test_a_group_starts_no_more_work_items_than_it_has() -> None:
    """Rows that groups go through start 32 times fewer work-items than there are cells, and cost less."""
    each = lambda v: v + 1.0
    rows = f32[8192, 8192]
    by_groups = cost(GPU, lambda x: rl.map_wrg(0)(rl.map_lcl(0)(each), x), x=rows)
    by_items = cost(GPU, lambda x: rl.map_glb(1)(rl.map_glb(0)(each), x), x=rows)
    assert by_groups.memory == by_items.memory
    assert by_groups.seconds < 0.9 * by_items.seconds


def test_what_a_kernel_computes_may_be_moved_by_another_beside_what_it_reads() -> None:
    """Rows are zipped with what is stored: it is computed once, by a kernel before, wherever it is read."""

    def beside(a: Any, x: Any) -> Any:
        stored = rl.to_global(rl.map_glb(0)(lambda v: v * v, x))
        rows = rl.map(lambda row: rl.zip(row, stored), a)

        def sum_of(row: Any) -> Any:
            return rl.reduce_seq(lambda acc, p: acc + p[0] * p[1], 0.0, row)

        return rl.map_glb(0)(sum_of, rows)

    def apart(a: Any, x: Any) -> Any:
        stored = rl.to_global(rl.map_glb(0)(lambda v: v * v, x))

        def sum_of(row: Any) -> Any:
            return rl.reduce_seq(lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(row, stored))

        return rl.map_glb(0)(sum_of, a)

    inputs = {"a": f32[64, 256], "x": f32[256]}
    assert cost(CPU, beside, **inputs) == cost(CPU, apart, **inputs)


def test_a_large_array_that_work_items_go_through_in_two_orders_is_read_twice() -> None:
    """By rows and by columns in one kernel; what two results need of the same places is there already."""

    def folded(row: Any) -> Any:
        return rl.reduce_seq(lambda acc, v: acc + v, 0.0, row)

    def both(a: Any) -> Any:
        return (rl.map_glb(0)(folded, a), rl.map_glb(0)(folded, rl.transpose(a)))

    def same(a: Any) -> Any:
        return (rl.map_glb(0)(folded, a), rl.map_glb(0)(folded, a))

    table = f32[2048, 2048]
    once = cost(CPU, lambda a: rl.map_glb(0)(folded, a), a=table).bytes
    assert cost(CPU, both, a=table).bytes > 1.9 * once
    assert cost(CPU, same, a=table).bytes < 1.1 * once


def test_a_driver_that_packs_any_work_items_gathers_what_lies_apart() -> None:
    """Cells of rows as long as a line; of shorter ones, and backwards, vectors are taken apart, and put together where they are written."""

    def compute(packs: Packing, row: int, *, back: bool = False, write: bool = False) -> float:
        def program(x: Any) -> Any:
            rows = rl.split(row, rl.gather(lambda i: row * (1 << 20) - 1 - i, x) if back else x)
            doubled = rl.map_seq_unroll(lambda v: v * 2.0)
            return rl.map_glb(0)(doubled if write else lambda r: r[0], rows)

        device = dataclasses.replace(CPU, packs=packs)
        return cost(device, program, x=f32[row * (1 << 20)]).compute

    assert compute("loops", 16) > 2 * compute("loop-free", 16)
    for row, back in itertools.product((1, 2, 4), (False, True)):
        assert compute("loops", row, back=back) == compute("loop-free", row, back=back)
    written = [compute("loops", row, write=True) / row for row in (1, 2, 3, 4, 8)]
    assert written == sorted(written)
    assert written[3] < written[4] / 2


def test_masked_work_items_that_access_cells_apart_take_far_longer_than_none_masked() -> None:
    """Where a few of them do more than the others; not in vectors, which are whole, and not where nothing is packed."""

    def pairs(x: Any, y: Any) -> Any:
        return rl.map_glb(0)(lambda p: p[0][0] * p[1][1], rl.zip(x, y))

    def in_parts(x: Any, y: Any) -> Any:
        return rl.concat(
            pairs(rl.take(1 << 20, x), rl.take(1 << 20, y)),
            pairs(rl.drop(1 << 20, x), rl.drop(1 << 20, y)),
        )

    def seconds(packs: Packing, program: Any) -> float:
        device, rows = dataclasses.replace(CPU, packs=packs), f32[(1 << 20) + 257, 8]
        return cost(device, program, x=rows, y=rows).compute

    assert seconds("loops", in_parts) > 2 * seconds("loops", pairs)
    assert seconds("nothing", in_parts) < 1.1 * seconds("nothing", pairs)


def test_lanes_that_are_known_to_be_in_one_of_two_parts_are_asked_nothing() -> None:
    """Pairs of an element of each of two arrays, as vectors; not where the parts end anywhere in a vector."""

    def pairs(x: Any, y: Any) -> Any:
        return rl.map(lambda p: rl.concat(rl.repeat(1, p[0]), rl.repeat(1, p[1])), rl.zip(x, y))

    def compute(joined: Any) -> float:
        def program(x: Any, y: Any) -> Any:
            moved = rl.map_glb(0)(rl.map_vec(lambda v: v), rl.as_vector(2, joined(x, y)))
            return rl.as_scalar(moved)

        return cost(CPU, program, x=f32[(1 << 20) + 1], y=f32[(1 << 20) + 1]).compute

    known, asked = compute(lambda x, y: rl.join(pairs(x, y))), compute(rl.concat)
    assert known < asked / 1.3


def test_a_group_of_few_leaves_the_rest_of_its_warp_idle() -> None:
    """Rows of three cells, one for each group of three work-items, take longer than a work-item for each row."""
    rows = f32[1 << 20, 3]

    def total(row: Any) -> Any:
        return rl.reduce_seq(rl.add, 0.0, row)

    def groups(x: Any) -> Any:
        return rl.map_wrg(0)(lambda row: rl.map_lcl(0)(lambda v: v / total(row), row), x)

    def items(x: Any) -> Any:
        return rl.map_glb(0)(lambda row: rl.map_seq(lambda v: v / total(row), row), x)

    assert cost(GPU, groups, x=rows).seconds > 2 * cost(GPU, items, x=rows).seconds


def shared(members: int, row: Any, before: Any) -> Any:
    """What so many members of a group find of a row, each of its own elements."""
    of_each = rl.map_lcl(0)(lambda xs: rl.reduce_seq(lambda a, x: a + x * before, 0.0, xs))
    return rl.to_local(of_each(rl.transpose(rl.split(members, row))))


def by_group(members: int, times: int = 1) -> Any:
    """A group of so many folds each row, and each of them what the others found; so many times, one after the other."""

    def of_a_row(row: Any, left: int, before: Any) -> Any:
        found = rl.reduce_seq(rl.add, 0.0, shared(members, row, before))
        return found if left == 1 else rl.let(lambda v: of_a_row(row, left - 1, v), found)

    return lambda x: rl.map_wrg(0)(lambda row: of_a_row(row, times, 1.0), x)


def test_what_all_of_a_group_compute_alike_all_of_them_compute() -> None:
    """Of rows that are hardly longer than the group, folding what the members found is most of the work."""
    rows = f32[1 << 18, 256]
    few, many = (cost(GPU, by_group(members), x=rows).compute for members in (32, 256))
    assert many > 4 * few


def test_one_work_item_of_a_group_takes_as_long_as_its_warp() -> None:
    """The others of its warp wait meanwhile: it is no faster to let the first of them fold what they found."""

    def by_the_first(x: Any) -> Any:
        fold = rl.map_lcl(0)(lambda found: rl.reduce_seq(rl.add, 0.0, found))
        return rl.map_wrg(0)(lambda row: fold(rl.repeat(1, shared(32, row, 1.0))), x)

    rows = f32[1 << 18, 32]
    first, alike = (cost(GPU, f, x=rows).compute for f in (by_the_first, by_group(32)))
    assert first == pytest.approx(alike, rel=0.2)


@pytest.mark.parametrize("length", [512, 8192])
def test_rows_that_too_many_groups_read_again_come_from_memory_again(length: int) -> None:
    """Small groups, of which many run at a time, have long rows between them that no cache keeps; short rows it keeps."""
    rows = f32[(1 << 26) // length, length]
    once, twice = (cost(GPU, by_group(32, times), x=rows).memory for times in (1, 2))
    assert (twice > 1.4 * once) == (length == 8192)
    assert cost(GPU, by_group(512, 2), x=rows).memory == pytest.approx(once, rel=0.1)


@pytest.mark.parametrize("device", [GPU, CPU], ids=["gpu", "cpu"])
def test_the_larger_of_two_numbers_takes_several_instructions(device: DeviceDescription) -> None:
    """It compares twice, for what is no number."""

    def compute(op: Any) -> float:
        def often(v: Any) -> Any:
            for k in range(64):
                v = op(v, float(k))
            return v

        return cost(device, lambda x: rl.map_glb(0)(often, x), x=f32[1 << 24]).compute

    assert compute(rl.maximum) > 2 * compute(rl.add)


def test_few_work_items_do_not_keep_memory_busy() -> None:
    """Half as many take a little longer for the same bytes; more than enough take no less."""

    def memory(rows: int) -> float:
        def sums(x: Any) -> Any:
            return rl.map_glb(0)(lambda column: rl.reduce_seq(rl.add, 0.0, column), rl.transpose(x))

        return cost(GPU, sums, x=f32[(1 << 28) // rows, rows]).memory

    few, enough, many = (memory(1 << power) for power in (15, 16, 18))
    assert 1.05 * enough < few < 1.25 * enough
    assert many == pytest.approx(enough, rel=0.02)


def test_a_number_of_another_kernel_is_not_computed_by_the_group_that_reads_it() -> None:
    """However many work-items computed it there: what reads it takes as long as with a number that is given."""
    rows = f32[1 << 16, 64]

    def whole(x: Any) -> Any:
        return rl.map_wrg(0)(lambda row: rl.reduce_seq(rl.add, 0.0, shared(256, row, 1.0)), x)

    def by(number: Any, x: Any) -> Any:
        return rl.map_wrg(0)(lambda row: rl.map_lcl(0)(lambda v: v * number, row), x)

    def of_another(y: Any, x: Any) -> Any:
        return by(rl.to_global(whole(y))[0], x)

    given = cost(GPU, by, number=f32, x=rows)
    other = cost(GPU, whole, x=f32[1, 1024])
    found = cost(GPU, of_another, y=f32[1, 1024], x=rows)
    assert found.compute == pytest.approx(given.compute + other.compute, rel=0.1)


def test_rows_in_the_lanes_of_a_vector_are_written_cell_by_cell() -> None:
    """Each lane moves a row of its own: that only moves data, and moves all of it."""

    def by_lanes(x: Any) -> Any:
        twice = lambda rows: rl.map_vec(lambda row: rl.join(rl.map(repeated, row)), rows)
        return rl.as_scalar(rl.map_glb(0)(twice, rl.as_vector(16, x)))

    repeated = lambda v: rl.repeat(2, v)
    rows, length = 64, 4096
    moved = cost(CPU, by_lanes, x=f32[rows, length])
    assert moved.seconds > 4 * rows * length * 3 / (CPU.bandwidth_gbs * 1e9)


def test_rows_that_other_work_items_read_too_come_from_the_second_cache() -> None:
    """Windows below one another, of rows that are long: three rows are read for one, unless they stay near."""

    def windows(x: Any) -> Any:
        summed = lambda cells: cells[0] + cells[1] + cells[2]
        row = lambda rows: rl.map_glb(0)(summed, rl.transpose(rows))
        return rl.map_glb(1)(row, rl.slide(3, 1, x))

    def memory(height: int, width: int) -> float:
        return cost(CPU, windows, x=f32[height + 2, width]).memory

    assert memory(1024, 16384) > 1.2 * memory(65536, 256)


def test_each_work_item_that_a_driver_packs_takes_time_beside_memory() -> None:
    """Where it packs those of any kernel; vectors are for sixteen of them."""
    device = dataclasses.replace(CPU, packs="loops")
    double = lambda v: v + v
    alone = cost(device, lambda x: rl.map_glb(0)(double, x), x=f32[1 << 24])
    lanes = lambda x: rl.as_scalar(
        rl.map_glb(0)(lambda v: rl.map_vec(double, v), rl.as_vector(16, x))
    )
    assert alone.memory > 1.3 * cost(device, lanes, x=f32[1 << 24]).memory


def test_tiles_that_a_unit_shares_evenly_are_taken_though_they_do_not_divide_a_product() -> None:
    """An H100 takes 2.85 ms for 4000^2 in tiles of 128 by 128, beyond its end, and 3.29 in tiles of 64 by 160."""
    source = load_program(str(EXAMPLES / "matmul.py")).at(dict.fromkeys(("n", "m", "k"), 4000))

    def seconds(rows: int, columns: int, depth: int) -> float:
        tiles = Tiles(rows, columns, depth, 2, 2, ahead=True)
        found = derive(source, tile_for_groups(tiles))
        return estimate(dataclasses.replace(source, body=found.result), GPU).seconds

    assert seconds(128, 128, 16) < seconds(64, 160, 20)


@devices
def test_a_kernel_that_is_known_comes_to_what_it_is_counted_as(device: DeviceDescription) -> None:
    """In programs that differ in what it reads, in what is one kernel with it, or in names."""

    def squares(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v * v, x)

    def total(x: Any) -> Any:
        return rl.reduce_seq(rl.add, 0.0, x)

    x = {"x": f32[1 << 20]}
    programs = [
        typed(**x)(lambda x: total(rl.to_global(squares(x)))),
        typed(y=f32[1 << 20])(lambda y: total(rl.to_global(squares(rl.to_global(squares(y)))))),
        typed(**x)(lambda x: (rl.to_global(squares(x)), total(x))),
        typed(**x)(lambda x: (rl.to_global(squares(rl.to_global(squares(x)))), total(x))),
        typed(**x)(lambda x: rl.zip(rl.to_global(squares(x)), squares(x))),
        typed(**x, y=f32[4096, 256])(lambda x, y: (total(x), total(rl.join(y)))),
    ]
    alone = [estimate(program, device) for program in programs]
    with counted_once():
        assert [estimate(program, device) for program in programs * 2] == alone * 2
        assert known_kernels()


def test_kernels_that_are_known_touch_the_memories_of_the_program_that_has_them() -> None:
    """Two arrays of 16 MB, and what is stored of them, leave a cache of 64 MB, which keeps one and what is stored of it."""
    device = dataclasses.replace(CPU, third_bytes=64 << 20, third_gbs=200.0)

    def stored(x: Any) -> Any:
        return rl.to_global(rl.map_glb(0)(lambda v: v * v, x))

    arrays = {"x": f32[4 << 20], "y": f32[4 << 20]}
    one = typed(**arrays)(lambda x, y: (stored(x), stored(stored(x))))
    both = typed(**arrays)(lambda x, y: (stored(x), stored(y)))
    alone = [estimate(program, device) for program in (one, both)]
    with counted_once():
        assert [estimate(program, device) for program in (one, both)] == alone
    assert alone[1].memory > 1.2 * alone[0].memory


@pytest.mark.parametrize("library", ["PoCL", "Intel"])
def test_what_a_library_takes_depends_on_whose_it_is(library: str) -> None:
    """A scalar power takes PoCL's several times as long as is assumed where nothing is known, and Intel's not."""

    @typed(x=f32[1024, 16])
    def powers(x: Any) -> Any:
        return rl.map_glb(0)(lambda r: rl.reduce_seq(lambda s, v: s + rl.power(v, v), 0.0, r), x)

    known = estimate(powers, dataclasses.replace(CPU, library=library)).compute
    general = estimate(powers, CPU).compute
    assert (known > 4 * general) == (library == "PoCL")


def test_work_items_whose_loops_write_rows_are_not_packed() -> None:
    """A driver that packs those of any kernel is told not to; what calls the library is packed all the same."""

    @typed(x=f32[1 << 14, 64])
    def doubled(x: Any) -> Any:
        return rl.map_glb(0)(lambda r: rl.map_seq(lambda v: v + v, r), x)

    @typed(x=f32[1 << 14, 64])
    def powers(x: Any) -> Any:
        return rl.map_glb(0)(lambda r: rl.map_seq(rl.exp, r), x)

    def seconds(program: Program, packs: Packing) -> float:
        return estimate(program, dataclasses.replace(CPU, packs=packs)).compute

    assert seconds(doubled, "loops") == seconds(doubled, "nothing")
    assert seconds(powers, "loops") < seconds(powers, "nothing") / 2


def test_a_fold_that_stands_twice_in_lanes_is_counted_once() -> None:
    """As in a work-item without vectors: a series of 24 at ten million points had been taken for twice as dear in vectors."""

    def series(twice: bool) -> Any:
        def one(a: Any, v: Any) -> Any:
            s = rl.reduce_seq(lambda s, w: v * s + w, 0.0, a)
            return s * s if twice else s

        return lambda x, a: rl.map_glb(0)(rl.map_vec(lambda v: one(a, v)), rl.as_vector(4, x))

    once, twice = (
        cost(GPU, series(twice), x=f32[1 << 22], a=f32[64]).compute for twice in (False, True)
    )
    assert twice < 1.1 * once


def test_a_fold_waits_for_what_its_steps_carry_on() -> None:
    """A Kalman filter's variance takes a sum, another, a quotient, a difference and a product, one after the other, and was thought to
    take as long as a sum; what is made of elements alone is there before, and components that only read another carry on nothing longer."""

    def latency(step: Any, *zeros: float) -> float:
        xs, start = Input("xs", f32[8]), [as_term(z, f32) for z in zeros]
        fold = as_term(rl.reduce_seq(step, tuple(start) if len(start) > 1 else start[0], xs))
        assert isinstance(fold, Fold)
        return latency_of(fold.f)

    def filtered(s: Any, v: Any) -> Any:
        variance = s[1] + 0.01
        gain = variance / (variance + 0.5)
        return (s[0] + gain * (v - s[0]), (1.0 - gain) * variance)

    assert latency(filtered, 0.0, 1.0) == 18.0
    assert latency(lambda s, v: s + rl.exp(v) / (v + 1.0), 0.0) == 4.0
    assert latency(lambda s, v: 0.9 * s + 0.1 * v, 0.0) == 4.0
    assert latency(lambda s, v: (s[0] + v, v / (s[0] + 1.0)), 0.0, 0.0) == 4.0
    assert (
        latency(lambda s, v: (s[1], 1.0 / (s[0] + v)), 0.0, 0.0) == 5.25
    )  # each goes round in two steps


def test_several_rows_in_turn_are_found_where_each_waits_for_itself() -> None:
    """Through PoCL, which makes no vectors of work-items with loops: 26 ms of two cores row by row, 3.8 with rows side by side."""
    x = Input("x", f32[4096, 2048])
    body = rl.map(lambda r: rl.reduce_seq(lambda s, v: 0.5 * (s + v / (s + 1.0)), 0.5, r), x)
    roots, device = (
        Program("roots", (x,), as_term(body)),
        dataclasses.replace(CPU, packs="loop-free", turned_cycles=2.8),
    )
    found = optimize(roots, {}, device).term.body
    assert any(isinstance(t, MapVec) for t, _ in subterms(found))
