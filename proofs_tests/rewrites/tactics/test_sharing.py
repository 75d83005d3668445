"""Tactics for sharing: what is written out step by step, and what is finished before it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from relift.compiler.program import compile_program, refusal
from relift.device import CPU, GPU
from relift.egraph.process.saturation import Budget
from relift.egraph.search.guidance.scan_plans import chunked_scans
from relift.egraph.search.optimize import optimize
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.staged import kernels_of
from relift.egraph.search.starts.with_names import may_lose_names
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.batches import batches_apart, folded_apart
from relift.rewrites.tactics.combinators import derive, fission
from relift.rewrites.tactics.nests.where_read import through_zips
from relift.rewrites.tactics.sharing import apart, names_what_is_kept, storable, stored
from relift.rewrites.tactics.spelled_out import spelled_out
from relift.rewrites.tactics.steps.carried import copied, finished, unrolled
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Let, Map, Zip
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.terms import Input, Pattern, parts_of, subterms
from relift.semantics.syntax.types import f32, i32


def scaled(x: Any) -> Any:
    """An array over the largest of its elements: it reads the array in two places."""
    top = rl.reduce(rl.maximum, 1.0, x)
    return rl.map(lambda v: v / top, x)


@pytest.mark.parametrize("steps", [3, 16])
def test_iterations_are_written_out_where_that_is_not_too_much(steps: int) -> None:
    """Each step that reads its array twice doubles what there is of all steps before it: 16 are more than memory holds."""
    x = Input("x", f32[64])
    program = Program("scaled", (x,), as_term(rl.iterate(steps, scaled, x)))
    rules = [step.rule for step in derive(program, unrolled()).steps]
    assert rules.count("iterate_first") == (steps if steps == 3 else 0)


def test_a_scan_that_starts_with_something_is_shared_out_too() -> None:
    """Chunks start from the neutral element; what the scan started with is combined with each result."""
    x = Input("x", f32[4096])
    balances = Program("balances", (x,), as_term(rl.scan_seq(rl.add, 100.0, x)))

    tactic = next(iter(chunked_scans(balances, GPU)))

    rules = [step.rule for step in derive(balances, tactic).steps]
    assert rules[0] == "scan_start"
    assert "scan_blocked" in rules


def test_a_program_that_has_no_room_in_an_e_graph_ends_no_search() -> None:
    """Its floor stands, and what the search came to says why no rule was tried."""
    x = Input("x", f32[64])
    task = Proposals(
        Program("roots", (x,), as_term(rl.map(rl.sqrt, x))), {}, GPU, Budget(memory_mb=1)
    )

    grown, proposals = task.saturated(task.said())

    assert not proposals
    assert not grown.complete
    assert "raise memory_mb" in grown.stopped
    assert task.floor()


def test_an_iteration_that_reads_its_array_everywhere_has_a_program() -> None:
    """Sixteen steps, each of which reads its array twice: too much to write out, and no element may be written before all are read."""
    x = Input("x", f32[8])
    program = Program("scaled", (x,), as_term(rl.iterate(16, scaled, x)))

    found = optimize(program, {}, GPU, refused=refusal)

    assert any(step.rule == "store_private" for step in found.derivation.steps)
    values = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(replace(program, body=found.term.body)(values), program(values))


@pytest.mark.parametrize("way", [copied(), finished()], ids=["copied", "finished"])
def test_a_step_may_read_anywhere_in_an_array_that_it_carries_beside_others(way: Any) -> None:
    """A row of Smith and Waterman's table with the best score so far had no program: its state is a pair, and only arrays were copied."""
    x = Input("x", i32[3, 5])
    row = rl.repeat(70, i32(0))

    def step(state: Any, v: Any) -> Any:
        moved = rl.concat(rl.repeat(1, v), rl.take(69, state[0]))
        return (rl.map(lambda p: p[0] + 2 * p[1], rl.zip(moved, state[0])), state[1] + v)

    body = rl.map(lambda r: rl.reduce_seq(step, (row, i32(0)), r), as_term(x))
    last = rl.map(lambda p: p[0], body)
    program = Program("rows", (x,), as_term(last))
    found = derive(program, way).result
    low = next(p.low for p in Proposals(replace(program, body=found), {}, CPU).as_written())
    numbers = np.arange(15, dtype=np.int32).reshape(3, 5)
    expected = np.zeros((3, 70), np.int32)
    for j in range(5):
        expected = np.concatenate([numbers[:, [j]], expected[:, :-1]], axis=1) + 2 * expected
    np.testing.assert_array_equal(compile_program(low)(numbers), expected)


def test_folds_in_batches_of_rows_are_arrays_of_their_own() -> None:
    """Of heads of attention the scores, their largest and the sums: each goes through what it reads, and the values are the same."""
    q, k, v = (Input(name, f32[2, 4, 3]) for name in "qkv")

    def dot(xs: Any, ys: Any) -> Any:
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(xs, ys)))

    def row(x: Any, keys: Any, values: Any) -> Any:
        scores = rl.map(lambda key: dot(x, key), keys)
        top = rl.reduce(rl.maximum, float("-inf"), scores)
        powers = rl.map(lambda s: rl.exp(s - top), scores)
        return rl.map(lambda column: dot(powers, column), rl.transpose(values))

    heads = rl.map(lambda t: rl.map(lambda x: row(x, t[1], t[2]), t[0]), rl.zip(q, k, v))
    program = Program("heads", (q, k, v), as_term(heads))

    found = replace(program, body=derive(program, batches_apart()).result)
    kernels = derive(found, stored([each.value for each in storable(found.body)]))
    read = [
        {p.name for p in kernel.program.parameters}
        for kernel in kernels_of(replace(found, body=kernels.result))
    ]

    assert read == [{"q", "k"}, {"heads_1"}, {"heads_1", "heads_2", "v"}]
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(2, 4, 3)).astype(np.float32) for _ in range(3)]
    np.testing.assert_array_equal(found(*values), program(*values))


def nested(depth: int, f: Any) -> Any:
    """A function on each number of an array of so many dimensions."""
    return f if depth == 0 else lambda xs: rl.map(nested(depth - 1, f), xs)


def zipped(depth: int, xs: Any, ys: Any) -> Any:
    """The difference of two arrays of so many dimensions, number by number."""
    if depth == 0:
        return xs - ys
    return rl.map(lambda p: zipped(depth - 1, p[0], p[1]), rl.zip(xs, ys))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_what_a_map_reads_once_is_computed_where_it_is_read(depth: int) -> None:
    """However many dimensions there are: one loop for all."""
    shape: Any = f32
    for _ in range(depth):
        shape = shape[8]
    x, y = Input("x", shape), Input("y", shape)
    squares = nested(depth, lambda v: v * v)(y)
    program = Program("less", (x, y), as_term(zipped(depth, x, squares)))

    found = derive(program, through_zips()).result
    again = zipped(depth, x, y)
    assert [type(t) for t, _ in subterms(found) if isinstance(t, Pattern)] == [
        type(t) for t, _ in subterms(as_term(again)) if isinstance(t, Pattern)
    ]


FOLDS: dict[str, Any] = {
    "reduce": lambda xs: rl.reduce(rl.first_largest, (0.0, 0), xs)[1],
    "reduce_seq": lambda xs: rl.reduce_seq(lambda a, p: a + p[0] * p[0], 0.0, xs),
    "scan_seq": lambda xs: rl.scan_seq(lambda a, p: a * p[0] + p[0], 0.0, xs),
}


@pytest.mark.parametrize("fold", FOLDS.values(), ids=FOLDS)
def test_what_a_fold_reads_of_a_zip_is_computed_of_the_elements_of_the_zip(fold: Any) -> None:
    """Each element is read once, however often the step needs it; of a row and of a whole array."""
    x, y, a = Input("x", f32[8]), Input("y", i32[8]), Input("a", f32[4, 8])

    def folded(xs: Any) -> Any:
        return fold(rl.zip(rl.map(rl.absolute, xs), y))

    for body in (folded(x), rl.map(folded, a)):
        found = _attempted(Program("folded", (x, y, a), as_term(body)))
        zips = [t for t, _ in subterms(found) if isinstance(t, Zip)]
        assert zips
        assert not any(isinstance(u, Map) for t in zips for u in (t.xs, t.ys))


def test_what_is_the_same_for_all_folds_of_a_map_is_not_computed_in_each() -> None:
    x, a = Input("x", f32[8]), Input("a", f32[4, 8])
    powers = rl.map(rl.exp, x)
    rows = rl.map(lambda r: rl.reduce(rl.first_largest, (0.0, 0.0), rl.zip(powers, r)), a)
    found = _attempted(Program("rows", (x, a), as_term(rows)))
    assert powers in {t for t, _ in subterms(found)}


def test_what_is_read_again_or_stays_the_same_is_not_computed_where_it_is_read() -> None:
    """Twice in a function, in each turn of a loop, in two programs of one; or the same for each element of a map around."""
    x, y = Input("x", f32[8]), Input("y", f32[8])
    squares = rl.map(lambda v: v * v, y)
    minus = rl.map(lambda p: p[0] - p[1], rl.zip(x, squares))
    for again in (
        rl.map(lambda p: p[0] - p[1] * p[1], rl.zip(x, squares)),
        rl.map(lambda p: rl.map(lambda v: v - p[1], x), rl.zip(x, squares)),
        rl.map(lambda p: p[0] * p[1], rl.zip(minus, rl.map(rl.sqrt, squares))),
        rl.map(lambda v: rl.reduce(rl.add, v, minus), x),
    ):
        program = Program("again", (x, y), as_term(again))
        assert squares in {t for t, _ in subterms(_attempted(program))}


def test_folds_that_stay_the_same_for_a_map_around_compute_what_they_read() -> None:
    """Their results are stored, so nothing is computed again: the second half of gemver, whose matrix is computed."""
    x, y, a = Input("x", f32[8]), Input("y", f32[8]), Input("a", f32[8, 4])
    rows = rl.map(lambda r: rl.map(lambda v: v + v, r), a)
    sums = rl.map(lambda p: rl.reduce(rl.add, p[1], p[0]), rl.zip(rows, y))
    again = rl.map(lambda v: rl.reduce(rl.add, v, sums), x)
    found = derive(Program("again", (x, y, a), as_term(again)), through_zips()).result

    assert rows not in {t for t, _ in subterms(found)}


def test_what_is_the_same_for_a_line_is_computed_by_all_who_read_it() -> None:
    """Where that is asked for: gates of lines, each of which is multiplied with all elements of its line."""
    x, y = Input("x", f32[8, 4]), Input("y", f32[8])
    gates = rl.map(rl.exp, y)
    lines = rl.map(lambda p: rl.map(lambda v: v * p[1], p[0]), rl.zip(x, gates))
    found = derive(Program("gated", (x, y), as_term(lines)), through_zips(again=True)).result
    wanted = rl.map(lambda p: rl.map(lambda v: v * rl.exp(p[1]), p[0]), rl.zip(x, y))

    assert alpha_equal(found, as_term(wanted))


def test_what_is_folded_twice_is_a_table_where_maps_go_through_two_arrays() -> None:
    """The largest of each four products of a row: the products are a nest, which tiles make fast."""
    x, w = Input("x", f32[5, 3]), Input("w", f32[8, 3])

    def product(row: Any, column: Any) -> Any:
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, column)))

    def largest(row: Any, columns: Any) -> Any:
        return rl.reduce(rl.maximum, 0.0, rl.map(lambda c: product(row, c), columns))

    most = rl.map(lambda r: rl.map(lambda four: largest(r, four), rl.split(4, w)), x)
    program = Program("most", (x, w), as_term(most))
    found = derive(program, folded_apart()).result

    assert [str(each.value.type) for each in storable(program.body)] == []
    assert [str(each.value.type) for each in storable(found)] == ["f32[5, 2, 4]"]


def _attempted(program: Program) -> Any:
    try:
        return derive(program, through_zips()).result
    except NoMatch:
        return program.body


def test_what_a_long_function_repeats_has_names() -> None:
    """Twelve sums, each of which reads the one before it twice, are 8,000 parts; what they give is the same."""
    x = Input("x", f32[8])

    def cell(v: Any) -> Any:
        for _ in range(12):
            v = v * 0.5 + v
        return v

    program = Program("cells", (x,), as_term(rl.map(cell, x)))
    found = derive(program, spelled_out())
    values = np.arange(8, dtype=np.float32)

    assert sum(1 for _ in subterms(program.body)) > 8000
    assert sum(1 for _ in subterms(found.result)) < 200
    np.testing.assert_array_equal(replace(program, body=found.result)(values), program(values))


def test_what_several_results_repeat_has_names() -> None:
    """Four results read an array of sums of what is looked up: 30,000 parts, most of which are written once."""
    x, ids = Input("x", f32[8]), Input("ids", i32[8, 2])

    def cell(row: Any) -> Any:
        sums = rl.reduce_seq(step, (f32(0.0), f32(0.0)), row)
        for _ in range(3):
            sums = (sums[0] * sums[1] + sums[0], sums[1] - sums[0])
        return sums[0] + sums[1]

    def step(sums: Any, i: Any) -> Any:
        v = rl.at_runtime_unsafe(i, x)
        for _ in range(3):
            v = v * 0.5 + v * v
        return (sums[0] + v, sums[1] * v)

    cells = rl.map(cell, ids)
    results = tuple(rl.map(lambda v, k=k: v * k, cells) for k in (1.0, 2.0, 3.0, 4.0))
    program = Program("results", (x, ids), as_term(results))
    found = derive(program, spelled_out())
    values = np.arange(8, dtype=np.float32) / 8, np.arange(16, dtype=np.int32).reshape(8, 2) % 8

    assert parts_of(program.body) > 6000
    assert parts_of(found.result) < 300
    for got, said in zip(
        replace(program, body=found.result)(*values), program(*values), strict=True
    ):
        np.testing.assert_array_equal(got, said)


def test_one_component_of_what_has_a_name_is_a_program() -> None:
    """Written out, the name would stand in a tuple of which one component is read, and kernels' places below it would be wrong."""

    def program(x: Any, w: Any) -> Any:
        doubled = rl.map(lambda v: v * 2.0, x)
        total = rl.reduce(rl.add, 0.0, doubled)
        moved = rl.map(lambda q: q[0] + q[1] * total, rl.zip(doubled, w))
        return rl.let(lambda z: (rl.map(lambda v: v + 1.0, z), rl.map(lambda v: -v, z), z), moved)[
            0
        ]

    x, w = Input("x", f32[64]), Input("w", f32[64])
    one = Program("one", (x, w), as_term(program(x, w)))
    found = optimize(one, {}, GPU, refused=refusal)
    values = np.arange(64, dtype=np.float32)
    np.testing.assert_allclose(compile_program(found.term)(values, values), one(values, values))


def shares(r: Any) -> Any:
    """The squares of a row over their sum; both have names."""
    squares = rl.map(lambda v: v * v, r)
    return rl.let(
        lambda e: rl.let(lambda s: rl.map(lambda v: v / s, e), rl.reduce(rl.add, 0.0, e)), squares
    )


def test_a_row_that_is_computed_under_a_name_is_stored_where_a_map_computes_it_again() -> None:
    """Shares of a row stood in a map over columns: every column computed them anew (attention whose weights stand there, of 1,500 rows of 64
    numbers, was estimated at 1,235 us of an H200, now 118)."""
    columns, x = Input("columns", f32[7, 5]), Input("x", f32[9, 5])

    def product(row: Any, column: Any) -> Any:
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, column)))

    body = rl.map(lambda r: rl.map(lambda c: product(shares(r), c), columns), x)
    found = derive(Program("shared", (x, columns), as_term(body)), apart()).result
    assert isinstance(found, Map)
    assert not any(isinstance(t, Let) for t, _ in subterms(found.f.body))


def test_rows_under_names_that_no_work_item_has_room_for_have_a_program() -> None:
    """A softmax of rows of 5000 numbers whose parts have names was refused on a GPU; a name that only reads another is none."""
    x = Input("x", f32[32, 5000])

    def softmax(r: Any) -> Any:
        top = rl.reduce(rl.maximum, float("-inf"), r)
        return shared(rl.let(lambda t: rl.map(lambda v: rl.exp(v - t), r), top))

    def shared(powers: Any) -> Any:
        return rl.let(
            lambda e: rl.let(lambda s: rl.map(lambda v: v / s, e), rl.reduce(rl.add, 0.0, e)),
            powers,
        )

    program = Program("softmax", (x,), as_term(rl.map(softmax, x)))
    found = optimize(program, {}, GPU, refused=refusal)
    assert found.cost.seconds < 1e-4  # 22 us; 114 if each number of a row computes the row's sum
    assert not any(isinstance(t, Let) for t, _ in subterms(derive(program, apart()).result))


@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda d: d.kind)
def test_rows_that_are_scattered_and_folded_have_a_program(device: Any) -> None:
    """A scatter is undefined where two elements have one index: what folds rows of more cells than a work-item keeps had no program."""
    x = Input("x", f32[2, 5000])

    def row(r: Any) -> Any:
        there = rl.scatter_indices(rl.generate(5000, lambda i: 4999 - i), r, rl.repeat(5000, 0.0))
        return rl.reduce(rl.add, 0.0, there) / 5000.0

    program = Program("rows", (x,), as_term(rl.map(row, x)))
    found = optimize(program, {}, device, refused=refusal)
    rows = np.arange(10_000, dtype=np.float32).reshape(2, 5000) % 17
    np.testing.assert_allclose(compile_program(found.term)(rows), rows.mean(axis=1), rtol=1e-5)


def test_what_may_be_undefined_and_is_not_read_surely_has_no_kernel_of_its_own() -> None:
    """A row whose scatter nobody reads is defined whatever the indices are."""
    x, ids = Input("x", f32[2, 5000]), Input("ids", i32[5000])

    def row(r: Any) -> Any:
        there = rl.scatter_indices(ids, r, rl.repeat(5000, 0.0))
        return rl.map(lambda v: rl.reduce(rl.add, v, there), rl.take(0, r))

    with pytest.raises(NoMatch):
        derive(
            Program("rows", (x, ids), as_term(rl.map(row, x))),
            fission("f", "f", "xs", beside=True),
        )


@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda d: d.kind)
def test_a_row_under_a_name_that_each_column_reads_is_stored_where_it_is_long(device: Any) -> None:
    """A head's weights, of 5000 keys: no work-item has room for them, so that attention for one token was refused."""
    x, v = Input("x", f32[4, 5000]), Input("v", f32[4, 5000, 8])

    def head(p: Any) -> Any:
        def column(w: Any, c: Any) -> Any:
            return rl.reduce(rl.add, 0.0, rl.map(lambda q: q[0] * q[1], rl.zip(w, c)))

        return rl.let(lambda w: rl.map(lambda c: column(w, c), rl.transpose(p[1])), shares(p[0]))

    program = Program("heads", (x, v), as_term(rl.map(head, rl.zip(x, v))))
    found = optimize(program, {}, device, refused=refusal)
    compile_program(Program("heads", (x, v), found.term.body))


def test_what_has_a_name_in_a_function_is_searched_as_if_it_had_none() -> None:
    """A mean under a name was folded by each work-item for a row of its own: variances of 64 rows took 229 us by the model."""

    def variance(r: Any) -> Any:
        mean = rl.reduce(rl.add, 0.0, r) * (1 / 5000)
        return rl.let(
            lambda m: rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - m) * (v - m), r)), mean
        )

    x = Input("x", f32[64, 5000])
    found = optimize(Program("variances", (x,), as_term(rl.map(variance, x))), {}, GPU)
    assert found.cost.seconds < 1e-5
    assert found.derivation.steps[0].rule == "let_inline"


def test_names_of_arrays_that_a_work_item_may_keep_are_told_apart() -> None:
    """With these the program is searched, too: without, each number of a short row may compute the row again."""

    def shares(r: Any) -> Any:
        powers = rl.map(rl.exp, r)
        return rl.let(lambda e: rl.map(lambda v: v / rl.reduce(rl.add, 0.0, e), e), powers)

    kept, long = (as_term(rl.map(shares, Input("x", f32[8, n]))) for n in (10, 5000))
    assert names_what_is_kept(kept)
    assert not names_what_is_kept(long)


def test_long_programs_keep_their_names() -> None:
    """A program of thousands of parts, which search goes on with under names, was refused for its length where these were looked for."""
    v: Any = Input("v", f32)
    for _ in range(12):
        v = v * v
    assert not may_lose_names(as_term(v))
    assert may_lose_names(as_term(rl.map(lambda w: w + 1.0, Input("x", f32[8]))))
