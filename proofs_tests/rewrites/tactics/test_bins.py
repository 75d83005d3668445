"""Histograms: each element is folded into the cell of its key, whatever the keys and labels are."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.portions import portioned
from relift.cli.building import certificates_of
from relift.device import CPU, GPU
from relift.egraph.cost.model import estimate
from relift.egraph.search.guidance.fold_plans import folds_in_bins
from relift.egraph.search.proposals import Proposals
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.bins import bins_of_each, in_bins
from relift.rewrites.tactics.spelled_out import spelled_out
from relift.semantics.language.programs import Program

n, m, b = rl.nat("n"), rl.nat("m"), rl.nat("b")
BELOW, LEAST = float("-inf"), -(2**31)


def counted(keys: Any, chosen: Any) -> Any:
    """How many keys are chosen."""
    return rl.reduce(rl.add, 0, rl.map(lambda v: rl.select(chosen(v), 1, 0), keys))


@rl.program
def labelled(keys: rl.i32[n], labels: rl.i32[b]):
    return rl.map(lambda label: counted(keys, lambda v: rl.equal(v, label)), labels)


@rl.program
def numbered(keys: rl.i32[n]):
    return rl.generate(5, lambda j: counted(keys, lambda v: rl.equal(j, v)))


@rl.program
def shares(keys: rl.i32[n]):
    def share(j):
        kept = rl.map(lambda v: rl.select(rl.equal(v, j), 1.0, 0.0), keys)
        return rl.reduce(rl.add, 0.0, kept) / n

    return rl.map(share, rl.generate(5, lambda j: j))


@rl.program
def largest(keys: rl.i32[n], values: rl.f64[n]):
    def best(j):
        kept = rl.map(lambda p: rl.select(rl.equal(p[0], j), p[1], BELOW), rl.zip(keys, values))
        return rl.reduce(rl.maximum, BELOW, kept)

    return rl.generate(5, best)


@rl.program
def of_tables(keys: rl.i32[n, m]):
    def occurrences(j):
        rows = rl.map(lambda row: counted(row, lambda v: rl.equal(v, j)), keys)
        return rl.reduce(rl.add, 0, rows)

    return rl.generate(5, occurrences)


@rl.program
def of_each_row(keys: rl.i32[n, m]):
    def occurrences(row):
        return rl.generate(5, lambda j: counted(row, lambda v: rl.equal(v, j)))

    return rl.map(occurrences, keys)


@rl.program
def below_each(keys: rl.i32[n]):
    return rl.generate(5, lambda j: counted(keys, lambda v: v < j))


KEYS = np.array(
    [3, 0, -1, 3, 7, 2, 5, 4, 3, -9, 0, 1, 2, 2, 99, 4, 4, 1, 0, 3, 2, 6, 1, 1], np.int32
)
LABELS = np.array([2, -1, 99, 0, 0, 4, 8, 3, -7], np.int32)
VALUES = np.arange(24) % 7 - 3.5
TABLE = KEYS.reshape(4, 6)
FIVE = np.arange(5)
OCCURRENCES = (FIVE[:, None] == KEYS).sum(1)

WAYS = [
    (labelled, in_bins(4), (KEYS, LABELS), (LABELS[:, None] == KEYS).sum(1)),
    (labelled, in_bins(1), (KEYS, LABELS), (LABELS[:, None] == KEYS).sum(1)),
    (numbered, in_bins(4), (KEYS,), OCCURRENCES),
    (numbered, in_bins(5), (KEYS,), OCCURRENCES),
    (shares, in_bins(3), (KEYS,), (OCCURRENCES / np.float32(24)).astype(np.float32)),
    (largest, in_bins(2), (KEYS, VALUES), [VALUES[j == KEYS].max() for j in FIVE]),
    (of_tables, in_bins(2), (TABLE,), OCCURRENCES),
    (of_each_row, bins_of_each, (TABLE,), (TABLE[:, None, :] == FIVE[None, :, None]).sum(2)),
]


@pytest.mark.parametrize(("program", "tactic", "arguments", "wanted"), WAYS)
def test_each_element_goes_into_the_cell_of_its_key(
    program: Program, tactic: Tactic, arguments: Any, wanted: Any
) -> None:
    """By PROVED rules that replay, and every step means the same: also where keys and labels are no indices."""
    sizes = program.solve_sizes(arguments)
    derivation = derive(program, tactic, sizes)
    require_standing(derivation, RULES)
    assert confirm(derivation, RULES) is not None
    assert any("bins" in step.rule for step in derivation.steps)
    found = Program(program.name, program.at(sizes).parameters, derivation.result)
    assert np.array_equal(found(*arguments), wanted)
    assert np.array_equal(rl.compile(found)(*arguments), wanted)


def test_a_label_without_a_cell_is_computed_only_then() -> None:
    """The loop of the default stands behind a condition."""
    derivation = derive(labelled, in_bins(4), {"n": 64, "b": 8})
    low = Program("labelled", labelled.at({"n": 64, "b": 8}).parameters, derivation.result)
    last = rl.compile(low).source.split("kernel void")[-1]
    assert last.index("if (") < last.index("for (")


def test_no_key_is_written_out_of_its_table() -> None:
    """Whatever the data are: an index that has no cell is another one that has."""
    derivation = derive(numbered, in_bins(2), {"n": 8})
    low = Program("numbered", numbered.at({"n": 8}).parameters, derivation.result)
    found = certificates_of(rl.compile(low), low)
    assert all(certificate.ok for certificate in found)


def test_what_is_chosen_by_no_equality_has_no_cell() -> None:
    """An element below several labels would go into several cells."""
    for tactic in (in_bins(4), bins_of_each):
        with pytest.raises(NoMatch):
            derive(below_each, tactic, {"n": 64})


MANY = np.random.default_rng(5).integers(-2, 8, 3000).astype(np.int32)
ROOM = 8192

BY_GROUPS = [
    (numbered, (MANY[:2048],), (FIVE[:, None] == MANY[:2048]).sum(1)),
    (labelled, (MANY, LABELS), (LABELS[:, None] == MANY).sum(1)),
    (numbered, (MANY,), (FIVE[:, None] == MANY).sum(1)),
    (largest, (MANY, MANY / 2.0), [j / 2.0 for j in FIVE]),
]


@portioned("program,arguments,wanted", BY_GROUPS, len(BY_GROUPS))
def test_the_members_of_a_group_have_a_table_each(
    program: Program, arguments: Any, wanted: Any
) -> None:
    """In local memory, in rows of an odd number of cells; they add them up together, and nobody writes what others do."""
    sizes = program.solve_sizes(arguments)
    derivation = derive(program, in_bins(4, ROOM), sizes)
    require_standing(derivation, RULES)
    low = Program(program.name, program.at(sizes).parameters, derivation.result)
    compiled = rl.compile(low)
    assert all(certificate.ok for certificate in certificates_of(compiled, low))
    assert "local" in compiled.source
    assert np.array_equal(compiled(*arguments), wanted)


@pytest.mark.parametrize(("cells", "members"), [(5, 256), (64, 64), (200, 50), (250, 25)])
def test_as_many_members_as_there_is_room_for_share_the_cells(cells: int, members: int) -> None:
    @rl.program
    def histogram(keys: rl.i32[n]):
        return rl.generate(cells, lambda j: counted(keys, lambda v: rl.equal(v, j)))

    low = derive(histogram, in_bins(4, 40 * 1024 if cells > 64 else 32 * 1024), {"n": 1 << 14})
    text = rl.compile(Program("low", histogram.at({"n": 1 << 14}).parameters, low.result)).source
    assert f"reqd_work_group_size({members}, 1, 1)" in text.split("kernel void")[0]


def test_tables_without_room_are_no_way() -> None:
    with pytest.raises(NoMatch):
        derive(labelled, in_bins(4, 1024), {"n": 1 << 14, "b": 128})


@rl.program
def heaviest(keys: rl.i32[n], weights: rl.i32[n]):
    def of(j):
        kept = rl.map(lambda p: rl.select(rl.equal(p[0], j), p[1], LEAST), rl.zip(keys, weights))
        return rl.reduce(rl.maximum, LEAST, kept)

    return rl.generate(5, of)


@rl.program
def product(keys: rl.i32[n]):
    def of(j):
        return rl.reduce(rl.mul, 1, rl.map(lambda v: rl.select(rl.equal(v, j), v, 1), keys))

    return rl.generate(5, of)


@rl.program
def weighed(keys: rl.i32[n], weights: rl.f32[n]):
    def of(j):
        kept = rl.map(lambda p: rl.select(rl.equal(p[0], j), p[1], 0.0), rl.zip(keys, weights))
        return rl.reduce(rl.add, 0.0, kept)

    return rl.generate(5, of)


@rl.program
def lightest(keys: rl.i32[n], weights: rl.f32[n]):
    def of(j):
        kept = rl.map(lambda p: rl.select(rl.equal(p[0], j), p[1], -BELOW), rl.zip(keys, weights))
        return rl.reduce(rl.minimum, -BELOW, kept)

    return rl.generate(5, of)


WEIGHTS = (np.arange(3000) % 11 - 5).astype(np.float32)
AT_ONCE: list[tuple[Program, Any, Any]] = [
    (numbered, (MANY[:2048],), (FIVE[:, None] == MANY[:2048]).sum(1)),
    (labelled, (MANY, LABELS), (LABELS[:, None] == MANY).sum(1)),
    (numbered, (MANY[:2999],), (FIVE[:, None] == MANY[:2999]).sum(1)),
    (heaviest, (MANY, 3 * MANY - 1), [3 * j - 1 for j in FIVE]),
    (of_tables, (MANY.reshape(1500, 2),), (FIVE[:, None] == MANY).sum(1)),
    (weighed, (MANY, WEIGHTS), [WEIGHTS[j == MANY].sum() for j in FIVE]),
    (lightest, (MANY, WEIGHTS), [WEIGHTS[j == MANY].min() for j in FIVE]),
]


@portioned("program,arguments,wanted", AT_ONCE, 4)
def test_the_members_of_a_group_update_one_table(
    program: Program, arguments: Any, wanted: Any
) -> None:
    """In local memory, at once: whoever comes first, all are counted."""
    sizes = program.solve_sizes(arguments)
    derivation = derive(program, in_bins(4, ROOM, at_once=True), sizes)
    require_standing(derivation, RULES)
    low = Program(program.name, program.at(sizes).parameters, derivation.result)
    compiled = rl.compile(low)
    assert all(certificate.ok for certificate in certificates_of(compiled, low))
    assert "atomic_" in compiled.source
    assert np.array_equal(compiled(*arguments), wanted)


@portioned("program,arguments,wanted", AT_ONCE, 3)
def test_all_work_items_update_one_table(program: Program, arguments: Any, wanted: Any) -> None:
    """In global memory, which another kernel has filled: nothing lies in that of a group."""
    sizes = program.solve_sizes(arguments)
    derivation = derive(program, in_bins(1, at_once=True), sizes)
    require_standing(derivation, RULES)
    low = Program(program.name, program.at(sizes).parameters, derivation.result)
    compiled = rl.compile(low)
    assert all(certificate.ok for certificate in certificates_of(compiled, low))
    assert "atomic_" in compiled.source
    assert "local int" not in compiled.source
    assert np.array_equal(compiled(*arguments), wanted)


@rl.program
def pairs(keys: rl.i32[n], others: rl.i32[n]):
    def occurrences(i, j):
        both = lambda p: rl.select(rl.equal(p[1], i) & rl.equal(p[0], j), 1, 0)
        return rl.reduce(rl.add, 0, rl.map(both, rl.zip(keys, others)))

    return rl.generate(3, lambda i: rl.generate(5, lambda j: occurrences(i, j)))


def by_keys(count: int) -> Program:
    """Rows that are added up by so many keys."""

    @rl.program
    def rows_by_key(keys: rl.i32[n], rows: rl.f32[n, m]):
        def of(j, column):
            kept = rl.map(lambda p: rl.select(rl.equal(j, p[0]), p[1], 0.0), rl.zip(keys, column))
            return rl.reduce(rl.add, 0.0, kept)

        return rl.generate(
            count, lambda j: rl.map(lambda column: of(j, column), rl.transpose(rows))
        )

    return rows_by_key


def sums_of_rows(keys: Any, rows: Any) -> Any:
    return np.stack([rows[keys == j].sum(0) for j in range(4)])


OTHERS = (7 * MANY + 3) % 5 - 1
TABLES = {
    "each": (4, 0, False),
    "groups": (4, ROOM, True),
    "blocks": (6, 12, True),
    "all": (1, 0, True),
}
TWO_INDICES = [
    (program, arguments, wanted, tables)
    for program, arguments, wanted in [
        (
            pairs,
            (MANY[:997], OTHERS[:997]),
            [[((OTHERS[:997] == i) & (MANY[:997] == j)).sum() for j in FIVE] for i in range(3)],
        ),
        (
            by_keys(4),
            (MANY[:101], WEIGHTS[:707].reshape(101, 7)),
            sums_of_rows(MANY[:101], WEIGHTS[:707].reshape(101, 7)),
        ),
        (
            of_each_row,
            (MANY[:999].reshape(9, 111),),
            (MANY[:999].reshape(9, 1, 111) == FIVE[None, :, None]).sum(2),
        ),
    ]
    for tables in TABLES
]


@portioned("program,arguments,wanted,tables", TWO_INDICES, 4)
def test_cells_of_two_indices_lie_in_one_row(
    program: Program, arguments: Any, wanted: Any, tables: str
) -> None:
    """Pairs that are counted, rows that are added up by keys and histograms of rows are tables of one key, whoever has these."""
    chunks, room, at_once = TABLES[tables]
    sizes = program.solve_sizes(arguments)
    derivation = derive(program, in_bins(chunks, room, at_once=at_once), sizes)
    require_standing(derivation, RULES)
    assert any("_keys" in step.rule for step in derivation.steps)
    low = Program(program.name, program.at(sizes).parameters, derivation.result)
    compiled = rl.compile(low)
    assert not any(certificate.refuted for certificate in certificates_of(compiled, low))
    assert np.array_equal(compiled(*arguments), wanted)


BLOCKS = [
    (numbered, (MANY[:2048],), 2),
    (numbered, (MANY[:2999],), 1),
    (of_tables, (MANY[:2998].reshape(1499, 2),), 2),
    (weighed, (MANY[:1537], WEIGHTS[:1537]), 2),
    (labelled, (MANY[:700], LABELS), 8),
    (numbered, (KEYS,), 1),
]


@portioned("program,arguments,room", BLOCKS, 3)
def test_what_lies_in_no_memory_of_a_group_is_updated_in_blocks(
    program: Program, arguments: Any, room: int
) -> None:
    """Each group has a block of the cells, the last one with more than there are, and goes through all elements of a chunk, or of all chunks."""
    sizes = program.solve_sizes(arguments)
    derivation = derive(program, in_bins(6, 4 * room, at_once=True), sizes)
    require_standing(derivation, RULES)
    low = Program(program.name, program.at(sizes).parameters, derivation.result)
    compiled = rl.compile(low)
    assert any(step.rule == "reduce_by_index_in_blocks" for step in derivation.steps)
    assert all(certificate.ok for certificate in certificates_of(compiled, low))
    assert np.array_equal(compiled(*arguments), program(*arguments))


def test_members_update_a_table_at_once_where_the_order_is_the_same() -> None:
    """By sums and extremes, of floats where a program lets them be regrouped; not by what no device has."""
    tactic = in_bins(4, ROOM, at_once=True)
    with pytest.raises(NoMatch):
        derive(weighed, tactic, {"n": 4096}, "exact")
    with pytest.raises(NoMatch):
        derive(product, tactic, {"n": 4096})


@rl.program
def added_to(cells: rl.f32[b], keys: rl.i32[n], weights: rl.f32[n]):
    return rl.reduce_by_index(rl.add, cells, rl.zip(keys, weights))


def test_what_is_added_to_given_cells_is_added_up_apart() -> None:
    """As a reduction by index says it, of any cells: a GPU's groups have tables, which start from nothing."""
    _, found = Proposals(added_to, {"n": 1 << 22, "b": 1000}, GPU).all()
    assert "reduce_by_index" in str(found[0].low)
    said = derive(added_to, spelled_out(), {"n": 3000, "b": 9})
    require_standing(said, RULES)
    cells = np.arange(9, dtype=np.float32)
    parameters = added_to.at({"n": 3000, "b": 9}).parameters
    wanted = cells + [WEIGHTS[j == MANY].sum() for j in range(9)]
    assert np.array_equal(Program("said", parameters, said.result)(cells, MANY, WEIGHTS), wanted)


@pytest.mark.parametrize("cells", [16, 1000, 12_000, 70_001])
def test_a_gpu_counts_in_tables(cells: int) -> None:
    """Each group has its own, which its members update at once: that takes a third, at most, of a register for each of many labels."""
    histogram = load_program("examples/histogram.py")
    proposals = Proposals(histogram, {"n": 1 << 22, "b": cells}, GPU)
    _, found = proposals.all()
    assert "reduce_by_index" in str(found[0].low)
    others = [each for each in found if "_ind" not in str(each.low)]
    assert (3 if cells > 16 else 1) * found[0].cost.seconds < others[0].cost.seconds


@pytest.mark.parametrize(
    ("program", "sizes"),
    [
        ("examples/histogram.py", {"n": 1 << 24, "b": 1 << 20}),
        (by_keys(10_000), {"n": 1 << 20, "m": 64}),
    ],
)
def test_cells_that_few_find_occupied_are_those_of_one_table(program: Any, sizes: Any) -> None:
    """Of a million keys, and of rows of columns, which neighbours update side by side."""
    program = load_program(program) if isinstance(program, str) else program
    one = Proposals(program, sizes, GPU)
    *_, last = folds_in_bins(one.source, GPU)
    (found,) = one.derived(last)
    assert "to_local" not in rl.show(found.low.body)
    assert found.cost.seconds < 0.2 * one.as_written()[0].cost.seconds


def test_floats_of_few_keys_have_tables_of_a_work_item_each() -> None:
    """Which work-items that exchange them would wait for again and again."""
    found = [
        Proposals(weighed, {"n": 1 << 22}, GPU).derived(way)[0]
        for way in folds_in_bins(weighed.at({"n": 1 << 22}), GPU)
    ]
    own, *exchanged = found
    assert "scatter_indices" in str(own.low)
    assert all(own.cost.seconds < each.cost.seconds for each in exchanged)


def test_what_fills_no_chunk_is_shared_out_too() -> None:
    """A prime number of elements leaves a thousand, of which the members of a group for each label have a few each."""
    histogram = load_program("examples/histogram.py")

    def seconds(elements: int) -> float:
        proposals = Proposals(histogram, {"n": elements, "b": 256}, GPU)
        way = next(iter(folds_in_bins(proposals.source, GPU)))
        return proposals.derived(way)[0].cost.seconds

    assert seconds(4_194_301) < 1.7 * seconds(1 << 22)


def test_a_cpu_does_not_go_through_all_elements_for_each_label() -> None:
    """Tables are estimated to take a small part of what the program takes as it is written."""
    histogram = load_program("examples/histogram.py")
    proposals = Proposals(histogram, {"n": 1 << 20, "b": 256}, CPU)
    way = next(iter(folds_in_bins(proposals.source, CPU)))
    found = proposals.derived(way)[0]
    assert estimate(found.low, CPU) == found.cost
    assert 4 * found.cost.seconds < proposals.as_written()[0].cost.seconds
