"""The programs of Lift's tests: all by the interpreter against NumPy, a drawn sample through search and kernels.

`python -m proofs_tests.conformance` runs all of them on every level and prints the table.
"""

from __future__ import annotations

import random

import pytest

from proofs_tests.conformance.all_cases import CASES
from proofs_tests.conformance.cases import Case
from proofs_tests.conformance.levels import Outcome, run, table
from relift.compiler.program import refusal
from relift.device import CPU
from relift.egraph.search.optimize import optimize
from relift.semantics.errors import Unsupported

SAMPLE = 3
"""So many cases are searched in one run of the tests."""

WITHOUT_A_PROGRAM = frozenset(
    name
    for name in CASES
    if name.partition("-")[0] in {"16", "17", "18", "21", "21b", "23", "23b", "24", "25b", "80l"}
)
"""Cases for which the search finds nothing yet: folds that stop early, sorts in place, scans of arrays, deep lets."""

NUMBERS = {*map(str, range(1, 82))}


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_the_interpreter_agrees_with_numpy(case: Case) -> None:
    """Every case, at small sizes."""
    assert run(case, "interpreter") == Outcome("interpreter", True, "")


def test_no_number_of_the_list_is_left_out() -> None:
    """Each of Lift's programs has a case."""
    assert {case.number.rstrip("bcflmgrstxy") for case in CASES.values()} >= NUMBERS


def test_what_is_found_and_what_is_scheduled_by_hand_agree_with_the_interpreter() -> None:
    """A few cases, others each time."""
    seed = random.SystemRandom().randrange(10**6)
    print(f" [cases drawn with seed {seed}]", end="")
    for name in random.Random(seed).sample(sorted(set(CASES) - WITHOUT_A_PROGRAM), SAMPLE):
        for outcome in (run(CASES[name], "found"), run(CASES[name], "low-level")):
            assert outcome.ok is not False, f"seed {seed}, {name}: {outcome}"


@pytest.mark.parametrize("name", ["17", "21"])
def test_what_has_no_program_is_refused_by_name(name: str) -> None:
    """With the compiler's reason; a case that has a program does not belong to those without."""
    (case,) = (c for c in CASES.values() if c.number == name)

    with pytest.raises(
        Unsupported, match=r"optimize does not lower \w+ yet, and no kernel computes"
    ):
        optimize(case.program, case.sizes, CPU, refused=refusal)


def test_the_table_says_which_levels_pass() -> None:
    """And of one that does not, why."""
    found = table({"14-scan": [Outcome("interpreter", True, ""), Outcome("found", False, "why")]})

    assert found.splitlines() == [
        "  14 ok  NO  scan",
        "       found: why",
        "interpreter: 1 of 1 pass",
        "found: 0 of 1 pass",
        "low-level: 0 of 0 pass",
    ]
