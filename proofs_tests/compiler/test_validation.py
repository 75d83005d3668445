"""Validation: the text of every kernel equals the interpreter on symbols, and wrong texts do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs_tests.compiler.programs import CASES, Case
from relift.compiler.benchmarks import Benchmark, load_benchmarks
from relift.compiler.program import compile_program
from relift.compiler.validation import Report, validate
from relift.semantics.language import Program

LOW_LEVEL = [
    b
    for target in ("cpu", "gpu")
    for b in load_benchmarks(Path(__file__).parents[2] / "examples" / "low_level", [], target)
    if b.small
]


def compared(program: Program) -> Report:
    """The text of a program's kernels against the interpreter."""
    compiled = compile_program(program)
    return validate(compiled.source, compiled.plan, program)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_kernel_of_the_tests_is_right(case: Case) -> None:
    """To the last bit, for all data, at each small size; only C functions of the user are known by name."""
    for sizes in case.small:
        found = compared(case.make(*sizes))
        assert found.ok, found.text()
        assert bool(found.notes) == (case.name == "squares_in_c")


@pytest.mark.parametrize("b", LOW_LEVEL, ids=lambda b: f"{b.name}-{b.target}")
def test_kernels_that_are_timed_are_right_at_a_small_size(b: Benchmark) -> None:
    """The programs of examples/low_level, to the last bit, for all data."""
    found = compared(b.make(**b.small[0]))
    assert found.ok, found.text()
