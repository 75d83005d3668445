"""Rows that groups fold together: derived by PROVED rules, right where the group shares them evenly or not, without races."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.certificates.claims import certificates
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.device import GPU
from relift.egraph.cost.model import estimate, least_seconds
from relift.egraph.process.saturation import Budget
from relift.egraph.search.proposals import Proposals
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.batches import rows_of_batches
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.groups.rows.by_groups import rows_by_groups, rows_together
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Let
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import Array, dimensions

b, n, m = rl.nat("b"), rl.nat("n"), rl.nat("m")
ROOM = 48 * 1024


@rl.program
def softmax(a: rl.f32[b, n, m]):
    def of_a_row(row):
        top = rl.reduce(rl.maximum, float("-inf"), row)
        powers = rl.map(lambda x: rl.exp(x - top), row)
        return rl.map(lambda p: p / rl.reduce(rl.add, 0.0, powers), powers)

    return rl.map(lambda rows: rl.map(of_a_row, rows), a)


@rl.program
def variance(a: rl.f32[b, n, m]):
    def of_a_row(row):
        mean = rl.reduce(rl.add, 0.0, row) / 8.0
        return rl.reduce(rl.add, 0.0, rl.map(lambda x: (x - mean) * (x - mean), row)) / 8.0

    return rl.map(lambda rows: rl.map(of_a_row, rows), a)


@rl.program
def spread(a: rl.f32[b, n, m]):
    """Folds that start with a number of the user's, which is no neutral element."""
    top = lambda row: rl.reduce(rl.maximum, 0.25, row)
    return rl.map(lambda rows: rl.map(lambda row: top(row) + rl.reduce(rl.add, 1.0, row), rows), a)


@rl.program
def doubled(a: rl.f32[n, m]):
    return rl.map(lambda row: rl.map(lambda x: x + x, row), a)


@rl.program
def of_kept(a: rl.f32[b, n, m], kept: rl.i32[b, n, m]):
    """What is folded is computed of two rows, and needed for each of three loops."""

    def of_a_row(p):
        row = rl.map(lambda q: rl.select(q[1] > 0, q[0], -1.0), rl.zip(p[0], p[1]))
        top = rl.reduce(rl.maximum, float("-inf"), row)
        powers = rl.map(lambda x: rl.exp(x - top), row)
        return rl.map(lambda p: p / rl.reduce(rl.add, 0.0, powers), powers)

    return rl.map(lambda t: rl.map(of_a_row, rl.zip(t[0], t[1])), rl.zip(a, kept))


@rl.program
def centred_sums(x: rl.f32[n, m]):
    return rl.map(lambda row: rl.reduce(rl.add, 0.0, row) / 8.0, x)


@rl.program
def of_pairs(x: rl.f32[b, n, m], y: rl.f32[b, n, m]):
    """Two rows, so that each element has two numbers."""

    def of_a_row(p):
        top = rl.reduce(
            rl.maximum, float("-inf"), rl.map(lambda q: q[0] * q[1], rl.zip(p[0], p[1]))
        )
        return rl.map(lambda q: q[0] * q[1] / top, rl.zip(p[0], p[1]))

    return rl.map(lambda t: rl.map(of_a_row, rl.zip(t[0], t[1])), rl.zip(x, y))


@rl.program
def named(x: rl.f32[n, m], scale: rl.f32):
    """Rows without their mean, to which the program gives a name: it is more than a fold."""
    mean = lambda row: rl.reduce(rl.add, 0.0, row) * scale
    return rl.map(lambda row: rl.let(lambda mu: rl.map(lambda v: v - mu, row), mean(row)), x)


def numpys_softmax(a: Any) -> Any:
    powers = np.exp(a - a.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def numpys_variance(a: Any) -> Any:
    return ((a - a.sum(axis=-1, keepdims=True) / 8) ** 2).sum(axis=-1) / 8


def numpys_spread(a: Any) -> Any:
    return np.maximum(a.max(axis=-1), 0.25) + 1 + a.sum(axis=-1)


@pytest.mark.parametrize(("length", "kept"), [(64, False), (23, False), (256, True), (187, True)])
@pytest.mark.parametrize(
    ("program", "wanted"),
    [(softmax, numpys_softmax), (variance, numpys_variance), (spread, numpys_spread)],
)
def test_a_group_has_a_row(
    program: Program, wanted: Callable[[Any], Any], length: int, kept: bool
) -> None:
    """Two folds that need each other, of rows that eight work-items share with and without a rest, read twice or kept."""
    sizes = {"b": 2, "n": 3, "m": length}
    found = derive(program, rows_by_groups(2, 8, 4, ROOM, kept), sizes)
    require_proved((step.rule for step in found.steps), RULES)
    compiled = compile_program(replace(program.at(sizes), body=found.result))
    assert_safe(compiled)
    a = np.random.default_rng(0).random((2, 3, length), dtype=np.float32)
    np.testing.assert_allclose(compiled(a), wanted(a.astype(np.float64)), rtol=1e-5)


@rl.program
def first_of_the_largest(a: rl.f32[n, m]):
    """Of each row the largest number, and its place: no number, so no lane of a vector."""
    pairs = lambda row: rl.zip(row, rl.generate(m, lambda i: i))
    best = lambda row: rl.reduce(rl.first_largest, (float("-inf"), 0), pairs(row))
    return rl.map(best, a)


@pytest.mark.parametrize(("length", "tables"), [(64, 2), (95, 2), (49, 2), (500, 2)])
def test_what_is_no_number_is_folded_by_shares(length: int, tables: int) -> None:
    """Members wait twice: for what they found beside what is left, and for those who fold shares of that."""
    sizes = {"n": 3, "m": length}
    found = derive(first_of_the_largest, rows_by_groups(1, 32, 4, ROOM), sizes)
    require_proved((step.rule for step in found.steps), RULES)
    compiled = compile_program(replace(first_of_the_largest.at(sizes), body=found.result))
    assert_safe(compiled)
    assert compiled.source.count("barrier(") == tables
    a = np.random.default_rng(0).integers(0, 50, (3, length)).astype(np.float32)
    largest, places = compiled(a)
    np.testing.assert_array_equal(largest, a.max(axis=1))
    np.testing.assert_array_equal(places, a.argmax(axis=1))


@rl.program
def scaled_norms(a: rl.f32[b, n, m]):
    """A fold to a number, and what is done with it."""
    norm = lambda row: rl.sqrt(rl.reduce(rl.add, 0.0, rl.map(lambda x: x * x, row)))
    return rl.map(lambda rows: rl.map(lambda row: 2.0 * norm(row), rows), a)


def test_a_group_has_several_short_rows() -> None:
    """Those that are left, too; a GPU begins few groups then, which takes it longer than to read short rows."""
    sizes = {"b": 2, "n": 7, "m": 10}
    found = derive(scaled_norms, rows_together(2, 3, 4), sizes)
    require_proved((step.rule for step in found.steps), RULES)
    compiled = compile_program(replace(scaled_norms.at(sizes), body=found.result))
    assert_safe(compiled)
    (kernel,) = compiled.launch["kernels"]
    assert (kernel["global"], kernel["local"]) == ([12, 6], [4, 3])
    a = np.random.default_rng(0).random((2, 7, 10), dtype=np.float32)
    np.testing.assert_allclose(compiled(a), 2 * np.linalg.norm(a, axis=-1), rtol=1e-5)

    def on_a_gpu(tactic: Tactic) -> float:
        many = {"b": 8, "n": 21_312, "m": 257}
        body = derive(scaled_norms, tactic, many).result
        return estimate(replace(scaled_norms.at(many), body=body), GPU).seconds

    assert on_a_gpu(rows_by_groups(2, 32, 4, ROOM)) > 2 * on_a_gpu(rows_together(2, 8, 32))


def assert_safe(compiled: Compiled) -> None:
    claims = [claim for one in certificates(compiled) for claim in one.claims]
    safety = [claim for claim in claims if claim.kind in ("races", "barriers")]
    assert {claim.verdict for claim in safety} == {"proved"}


@pytest.mark.parametrize("length", [23, 61, 64, 100, 187])
def test_members_wait_once_for_a_fold_of_any_length(length: int) -> None:
    """Rows that eight members share evenly, in vectors or not, and others: those go on beyond their end, where nothing is added."""
    sizes = {"b": 2, "n": 3, "m": length}
    found = derive(scaled_norms, rows_by_groups(2, 8, 4, ROOM), sizes)
    require_proved((step.rule for step in found.steps), RULES)
    compiled = compile_program(replace(scaled_norms.at(sizes), body=found.result))
    assert_safe(compiled)
    assert compiled.source.count("barrier(") == 1
    a = np.random.default_rng(2).random((2, 3, length), dtype=np.float32)
    np.testing.assert_allclose(compiled(a), 2 * np.linalg.norm(a, axis=-1), rtol=1e-5)


def of_components(p, q):
    """The sum of complex numbers."""
    return p[0] + q[0], p[1] + q[1]


plus = rl.operator(of_components, associative=True, commutative=True, neutral=0.0)


@rl.program
def complex_sums(x: rl.tup(rl.f32, rl.f32)[n, m]):
    return rl.map(lambda row: rl.reduce(plus, (0.0, 0.0), row), x)


def test_pairs_are_folded_beyond_the_end() -> None:
    """What is no number may be chosen as well, each of its components."""
    sizes = {"n": 3, "m": 29}
    found = derive(complex_sums, rows_by_groups(1, 8, 4, ROOM), sizes)
    compiled = compile_program(replace(complex_sums.at(sizes), body=found.result))
    assert "pad_constant_take_pair" in [step.rule for step in found.steps]
    a = np.random.default_rng(3).random((2, 3, 29), dtype=np.float32)
    for got, wanted in zip(compiled((a[0], a[1])), a.sum(axis=-1), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.parametrize("length", [1000, 1021])
def test_rows_of_any_length_are_kept_as_those_that_members_share_evenly(length: int) -> None:
    """Each number is read once, and the last once more by those who have none."""

    def takes(numbers: int) -> float:
        sizes = {"b": 8, "n": 512, "m": numbers}
        body = derive(softmax, rows_by_groups(2, 64, 4, ROOM, kept=True), sizes).result
        return estimate(replace(softmax.at(sizes), body=body), GPU).seconds

    assert takes(length) <= 1.1 * takes(1024)


def test_what_is_kept_is_read_once() -> None:
    """Each number of a row is named once in the text, where it goes into a register, though three loops need it."""
    sizes = {"b": 2, "n": 3, "m": 128}
    found = derive(of_kept, rows_by_groups(2, 8, 4, ROOM, kept=True), sizes)
    compiled = compile_program(replace(of_kept.at(sizes), body=found.result))
    a = np.random.default_rng(1).random((2, 3, 128), np.float32)
    kept = (a > 0.5).astype(np.int32)

    assert compiled.source.count("(global const float4*)(a") == 4  # four vectors for each member
    assert compiled.source.count("(global const int4*)(kept") == 4
    np.testing.assert_allclose(
        compiled(a, kept), numpys_softmax(np.where(kept > 0, a, -1.0)), rtol=1e-5
    )


def test_shares_of_two_rows_in_one_are_kept_once() -> None:
    """Rows that no group shares evenly are kept by shares, and a share of a zip is one of both of its rows."""
    sizes = {"b": 1, "n": 2, "m": 131}
    found = derive(of_kept, rows_by_groups(2, 8, 4, ROOM, kept=True), sizes)
    compiled = compile_program(replace(of_kept.at(sizes), body=found.result))
    a = np.random.default_rng(1).random((1, 2, 131), np.float32)
    kept = (a > 0.5).astype(np.int32)

    np.testing.assert_allclose(
        compiled(a, kept), numpys_softmax(np.where(kept > 0, a, -1.0)), rtol=1e-5
    )


@pytest.mark.parametrize("members", [256, 512])
def test_long_rows_are_kept_by_large_groups(members: int) -> None:
    """A group is as large as the array that its members keep is spread over; a few of them fold first what all found."""
    sizes = {"b": 1, "n": 2, "m": 16 * members}
    found = derive(softmax, rows_by_groups(2, members, 4, ROOM, kept=True), sizes)
    compiled = compile_program(replace(softmax.at(sizes), body=found.result))
    assert_safe(compiled)
    a = np.random.default_rng(4).random((1, 2, 16 * members), np.float32)

    assert f"reqd_work_group_size({members}, 1, 1)" in compiled.source
    assert f"if (lcl_0 < {members // 32})" in compiled.source
    np.testing.assert_allclose(compiled(a), numpys_softmax(a.astype(np.float64)), rtol=1e-5)


@rl.program
def normalised_tables(x: rl.f32[b, n, m, m + 3], scale: rl.f32[n, m]):
    """Each table less its mean, over its deviation, and its rows by numbers of their own: groups of channels."""

    def of_a_table(p):
        flat = lambda f: rl.map(lambda row: rl.reduce(rl.add, 0.0, rl.map(f, row)), p[0])
        mean = rl.reduce(rl.add, 0.0, flat(lambda v: v)) / (m * (m + 3))
        of_squares = rl.reduce(rl.add, 0.0, flat(lambda v: (v - mean) * (v - mean)))
        deviation = rl.sqrt(of_squares / (m * (m + 3)))
        row = lambda r: rl.map(lambda v: (v - mean) / deviation * r[1], r[0])
        return rl.map(row, rl.zip(p[0], p[1]))

    return rl.map(lambda tables: rl.map(of_a_table, rl.zip(tables, scale)), x)


@pytest.mark.parametrize("kept", [False, True])
def test_a_group_has_a_table_as_one_row(kept: bool) -> None:
    """Its rows are shorter than a group, and what it keeps is read once on a GPU, where it was read three times."""
    sizes = {"b": 2, "n": 3, "m": 13}
    found = derive(normalised_tables, rows_by_groups(2, 8, 4, ROOM, kept), sizes)
    require_proved((step.rule for step in found.steps), RULES)
    compiled = compile_program(replace(normalised_tables.at(sizes), body=found.result))
    assert_safe(compiled)
    x = np.random.default_rng(0).random((2, 3, 13, 16), dtype=np.float32)
    scale = np.arange(39, dtype=np.float32).reshape(3, 13)
    exact = x.astype(np.float64)
    wanted = (exact - exact.mean((2, 3), keepdims=True)) / exact.std((2, 3), keepdims=True)
    np.testing.assert_allclose(compiled(x, scale), wanted * scale[..., None], rtol=1e-5, atol=1e-5)

    many = {"b": 8, "n": 128, "m": 101}
    body = derive(normalised_tables, rows_by_groups(2, 512, 4, ROOM, kept), many).result
    low = replace(normalised_tables.at(many), body=body)
    within = 1.2 if kept else 2.0
    assert estimate(low, GPU).seconds < within * least_seconds(normalised_tables.at(many), GPU)


def test_what_is_read_once_is_not_kept() -> None:
    """Nor what takes each member no time, or more of the text than it is worth."""
    with pytest.raises(NoMatch, match="no row twice"):
        derive(centred_sums, rows_by_groups(1, 8, 4, ROOM, kept=True), {"n": 3, "m": 256})
    for length in (8 * 8, 8 * 128):
        with pytest.raises(NoMatch, match="no row twice"):
            derive(
                variance, rows_by_groups(2, 8, 4, ROOM, kept=True), {"b": 1, "n": 3, "m": length}
            )


def test_what_the_registers_do_not_hold_is_read_again() -> None:
    """Of a row of 64 K numbers half is kept, and of two such rows nothing."""
    sizes = {"b": 1, "n": 1, "m": 1 << 16}
    found = derive(variance, rows_by_groups(2, 1024, 4, ROOM, kept=True), sizes)
    text = compile_program(replace(variance.at(sizes), body=found.result)).source
    assert [text.count(f"(global const float4*)(a + at + {turn})") for turn in (28672, 32768)] == [
        1,
        2,
    ]
    with pytest.raises(NoMatch, match="have registers for 16384 numbers of 65536"):
        derive(of_pairs, rows_by_groups(2, 1024, 4, ROOM, kept=True), sizes)


def test_what_no_group_shares_is_left_to_others() -> None:
    """A row of fewer elements than work-items, and one that nobody folds."""
    with pytest.raises(NoMatch):
        derive(variance, rows_by_groups(2, 8, 4, ROOM), {"b": 2, "n": 3, "m": 7})
    with pytest.raises(NoMatch):
        derive(doubled, rows_by_groups(1, 8, 4, ROOM), {"n": 3, "m": 64})


def test_a_fold_in_what_has_a_name_is_shared() -> None:
    """A mean under a name is a number of which a fold has a name of its own."""
    found = derive(named, rows_by_groups(1, 8, 4, ROOM), {"n": 3, "m": 64})
    made = replace(found.program, body=found.result)
    data = np.random.default_rng(1).normal(3.0, 1.0, (3, 64)).astype(np.float32)

    assert "to_local" in rl.show(found.result)
    wanted = data - data.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(compile_program(made)(data, 1 / 64), wanted, atol=1e-5)


def test_rows_that_are_folded_twice_are_read_at_the_speed_of_memory() -> None:
    """A GPU's estimate is within a tenth of reading and writing everything once; a work-item for each row takes ten times that."""
    task = Proposals(variance, {"b": 16, "n": 512, "m": 1024}, GPU, Budget(seconds=120.0))
    least = least_seconds(task.source, GPU)
    _, proposals = task.all()
    assert proposals[0].cost.seconds < 1.2 * least
    assert min(each.cost.seconds for each in task.as_written()) > 10 * least


def test_what_one_fold_alone_takes_is_stored_nowhere() -> None:
    """The fold stands in two places, and so does what it takes: both are computed once, by the fold."""

    @rl.program
    def gated(a: rl.f32[n, m], x: rl.f32[m]):
        def of_a_row(row):
            z = rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, x)))
            return (1.0 - z) * rl.exp(z)

        return rl.map(of_a_row, a)

    found = derive(gated, rows_by_groups(1, 32, 4, ROOM), {"n": 2, "m": 512})
    values = [t.x for t, _ in subterms(found.result) if isinstance(t, Let)]
    assert len(values) == 1
    assert not isinstance(values[0].type, Array)


def test_what_is_computed_before_the_folds_is_computed_once() -> None:
    """It stands in local memory, and each of its elements is selected by one work-item."""
    sizes = {"b": 2, "n": 3, "m": 64}
    found = derive(of_kept, rows_by_groups(2, 8, 4, ROOM), sizes)
    compiled = compile_program(replace(of_kept.at(sizes), body=found.result))
    a = np.random.default_rng(1).random((2, 3, 64), np.float32)
    kept = (a > 0.5).astype(np.int32)

    assert compiled.source.count("kept[") == 1
    np.testing.assert_allclose(
        compiled(a, kept), numpys_softmax(np.where(kept > 0, a, -1.0)), rtol=1e-5
    )


@rl.program
def centred(a: rl.f32[b, n, m]):
    def of_a_row(row):
        mean = rl.reduce(rl.add, 0.0, row) / m
        return rl.map(lambda x: x - mean, row)

    return rl.map(lambda rows: rl.map(of_a_row, rows), a)


@rl.program
def running(a: rl.f32[b, n, m]):
    return rl.map(lambda rows: rl.map(lambda row: rl.scan_seq(rl.add, 0.0, row), rows), a)


@rl.program
def deviations(a: rl.f32[b, n, m], centres: rl.f32[b, n]):
    def of_a_row(p):
        squares = rl.map(lambda x: (x - p[1]) * (x - p[1]), p[0])
        return rl.reduce(rl.add, 0.0, squares)

    return rl.map(lambda rows: rl.map(of_a_row, rl.zip(rows[0], rows[1])), rl.zip(a, centres))


@pytest.mark.parametrize("program", [centred, running, deviations], ids=lambda p: p.name)
def test_long_rows_of_batches_take_what_long_rows_take(program: Program) -> None:
    """Rows that no local memory holds are folded, or scanned, by groups in maps of maps too: a work-item each is 20 times slower."""
    sizes = {"b": 8, "n": 256, "m": 65536}
    found = min(each.cost.seconds for each in rl.optimize(program, sizes, "gpu").candidates)
    assert found <= 4 * least_seconds(program.at(sizes), GPU)


@rl.program
def weighted(a: rl.f32[b, n, m], weights: rl.f32[b, n]):
    def of_a_batch(p):
        columns = rl.transpose(p[0])
        return rl.map(lambda c: rl.reduce(rl.add, 0.0, rl.map(product, rl.zip(c, p[1]))), columns)

    def product(q):
        return q[0] * q[1]

    return rl.map(of_a_batch, rl.zip(a, weights))


@rl.program
def shifted(a: rl.f32[b, n, m], by: rl.f32[b], scale: rl.f32[b]):
    def of_a_batch(p):
        return rl.map(lambda r: p[2] * rl.reduce(rl.add, 0.0, rl.map(lambda x: x - p[1], r)), p[0])

    return rl.map(of_a_batch, rl.zip(a, by, scale))


BESIDE: dict[Program, Callable[..., Any]] = {
    weighted: lambda a, w: np.einsum("bnm,bn->bm", a, w),
    shifted: lambda a, by, scale: scale[:, None] * (a - by[:, None, None]).sum(-1),
}


@pytest.mark.parametrize("program", BESIDE, ids=lambda p: p.name)
def test_what_belongs_to_a_batch_stands_beside_its_rows(program: Program) -> None:
    """All batches are one table then, also where each has weights, a shift and a scale of its own."""
    sizes = {"b": 3, "n": 5, "m": 7}
    found = derive(program, rows_of_batches(), sizes)
    require_proved((step.rule for step in found.steps), RULES)
    rng = np.random.default_rng(2)
    shapes = [
        tuple(k.constant or 0 for k in dimensions(p.type)[0]) for p in program.at(sizes).parameters
    ]
    arrays = [rng.random(shape, np.float32) for shape in shapes]
    low = replace(program.at(sizes), body=found.result)

    assert sum(step.rule == "map_map_flat" for step in found.steps) == 1
    np.testing.assert_allclose(low(*arrays), BESIDE[program](*arrays), rtol=1e-4)


def test_columns_of_batches_with_weights_are_read_once() -> None:
    """At the speed of memory, as without weights."""
    sizes = {"b": 64, "n": 4096, "m": 512}
    found = rl.optimize(weighted, sizes, "gpu").candidates[0]
    assert found.cost.seconds <= 1.2 * least_seconds(weighted.at(sizes), GPU)


def test_rows_that_nobody_reads_are_not_paired() -> None:
    """What a batch has for its rows stands beside none of them where its function takes no row."""

    @rl.program
    def totals(a: rl.f32[b, n, m], weights: rl.f32[b, m]):
        def of_a_batch(p):
            return rl.map(lambda _: rl.reduce(rl.add, 0.0, p[1]), p[0])

        return rl.map(of_a_batch, rl.zip(a, weights))

    sizes = {"b": 3, "n": 5, "m": 7}
    with pytest.raises(NoMatch, match="stands nowhere"):
        derive(totals, rows_of_batches(), sizes)
    found = rl.optimize(totals, sizes, "gpu").term
    a, w = (np.random.default_rng(3).random(s, np.float32) for s in ((3, 5, 7), (3, 7)))
    expected = np.repeat(w.sum(1)[:, None], 5, 1)
    np.testing.assert_allclose(compile_program(found)(a, w), expected, rtol=1e-5)
