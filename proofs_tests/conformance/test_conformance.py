"""The programs of Lift's tests: all by the interpreter against NumPy, a drawn sample through search and kernels.

`python -m proofs_tests.conformance` runs all of them on every level and prints the table.
"""

from __future__ import annotations

import random

import pytest

from proofs_tests.conformance.all_cases import CASES
from proofs_tests.conformance.cases import Case
from proofs_tests.conformance.levels import Outcome, run, table

SAMPLE = 2
"""So many cases are searched in one run of the tests."""

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
    for name in random.Random(seed).sample(sorted(CASES), SAMPLE):
        for outcome in (run(CASES[name], "found"), run(CASES[name], "low-level")):
            assert outcome.ok is not False, f"seed {seed}, {name}: {outcome}"


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
