"""Arrays that are updated at indices that are data: right kernels are validated, wrong ones refuted, at large sizes."""

# mypy: disable-error-code="misc, no-untyped-def, valid-type"

from dataclasses import replace
from functools import cache

import pytest

from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.bins import bins_of_each, in_bins
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program, program
from relift.semantics.syntax.types import f32, i32

ROOM = 48_000


def counts(n: int, bins: int) -> Program:
    """How often each number is there."""

    @program
    def counts(keys: i32[n]):
        return rl.generate(
            bins,
            lambda j: rl.reduce(rl.add, 0, rl.map(lambda k: rl.select(rl.equal(k, j), 1, 0), keys)),
        )

    return counts


def sums(n: int, bins: int) -> Program:
    """The sum of what has each key."""

    @program
    def sums(keys: i32[n], xs: f32[n]):
        def of(j):
            kept = rl.map(lambda p: rl.select(rl.equal(p[0], j), p[1], 0.0), rl.zip(keys, xs))
            return rl.reduce(rl.add, 0.0, kept)

        return rl.generate(bins, of)

    return sums


def of_rows(m: int, n: int, bins: int) -> Program:
    """The same of each row."""

    @program
    def of_rows(rows: i32[m, n]):
        def row(keys):
            return rl.generate(
                bins,
                lambda j: rl.reduce(
                    rl.add, 0, rl.map(lambda k: rl.select(rl.equal(j, k), 1, 0), keys)
                ),
            )

        return rl.map(row, rows)

    return of_rows


def of_labels(n: int, labels: int) -> Program:
    """How often each label is there: labels that have no cell of a table are counted under a condition of data."""

    @program
    def of_labels(labels: i32[labels], keys: i32[n]):
        def of(label):
            return rl.reduce(rl.add, 0, rl.map(lambda k: rl.select(rl.equal(k, label), 1, 0), keys))

        return rl.map(of, labels)

    return of_labels


CASES: dict[str, tuple[Program, Tactic]] = {
    "counts of work-items": (counts(1 << 20, 256), in_bins(16)),
    "sums of work-items": (sums(1 << 16, 100), in_bins(16)),
    "counts of groups": (counts(1 << 22, 64), in_bins(64, ROOM)),
    "an odd number": (counts(70_001, 300), in_bins(16, ROOM)),
    "labels": (of_labels(1 << 16, 100), in_bins(16)),
    "rows": (of_rows(100, 1 << 12, 64), bins_of_each),
}


@cache
def made(name: str) -> tuple[Program, Compiled]:
    """A low-level program and its kernels."""
    of, tactic = CASES[name]
    lowered = replace(of, body=derive(of, tactic).result)
    compiled = compile_program(lowered)
    return lowered, Compiled(compiled.source, compiled.plan)


@pytest.mark.parametrize("name", CASES)
def test_tables_mean_their_programs(name: str) -> None:
    """Where one work-item, or one group, stands for all, and one turn for all that update a table."""
    lowered, compiled = made(name)
    meaning = meaning_of(compiled, lowered)
    assert meaning.ok, meaning.text()


FAULTS = {
    "another number": ("counts of work-items", "+ 1u", "+ 2u"),
    "another condition": ("counts of work-items", "== v)", "!= v)"),
    "another beginning": ("counts of work-items", "] = 0;", "] = 1;"),
    "another condition of a group": ("an odd number", "== v)", "!= v)"),
    "another way": ("labels", "found = acc;", "found = 0;"),
    "another sum": ("sums of work-items", "] + ", "] - "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_table_is_refuted(fault: str) -> None:
    """By inputs, although folds have many thousands of turns."""
    name, right, wrong = FAULTS[fault]
    lowered, compiled = made(name)
    assert right in compiled.source
    there = replace(compiled, source=compiled.source.replace(right, wrong, 1))
    assert meaning_of(there, lowered).verdict == "refuted"


def test_a_cell_beside_the_one_that_was_looked_at_is_not_shown() -> None:
    """What turns read of one cell and write to another one is no table of folds."""
    lowered, compiled = made("sums of work-items")
    text = compiled.source.replace("const int at = v;", "const int at = 99 - v;")
    assert text != compiled.source
    assert meaning_of(replace(compiled, source=text), lowered).verdict != "validated"
