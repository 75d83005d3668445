"""The programs of Lift's tests: all by the interpreter against NumPy, a drawn sample through searches and kernels.

The long run takes all of them through all levels; `python -m proofs_tests.conformance` does, too, and prints the table.
"""

from __future__ import annotations

import random

import pytest

from proofs_tests.conformance.all_cases import CASES
from proofs_tests.conformance.cases import Case
from proofs_tests.conformance.levels import LEVELS, Outcome, run, table
from proofs_tests.portions import portioned

SEARCHED = {"two": 2, "all": len(CASES)}
"""So many cases are searched: in every run of the tests, and in the long one."""

NUMBERS = {*map(str, range(1, 82))}


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_the_interpreter_agrees_with_numpy(case: Case) -> None:
    """Every case, at small sizes."""
    assert run(case, "interpreter") == Outcome("interpreter", True, "")


def test_no_number_of_the_list_is_left_out() -> None:
    """Each of Lift's programs has a case."""
    assert {case.number.rstrip("bcflmgrstxy") for case in CASES.values()} >= NUMBERS


@portioned("many", SEARCHED, {"two"})
def test_what_is_found_and_what_is_scheduled_by_hand_agree_with_the_interpreter(many: int) -> None:
    """A few cases, others each time; for a CPU and for a GPU."""
    seed = random.SystemRandom().randrange(10**6)
    print(f" [cases drawn with seed {seed}]", end="")
    for name in random.Random(seed).sample(sorted(CASES), many):
        for level in LEVELS[1:]:
            outcome = run(CASES[name], level)
            assert outcome.ok is not False, f"seed {seed}, {name}: {outcome}"


def test_the_table_says_which_levels_pass() -> None:
    """And of one that does not, why."""
    found = table({"14-scan": [Outcome("interpreter", True, ""), Outcome("found", False, "why")]})

    assert found.splitlines() == [
        "  14 ok  NO  scan",
        "       found: why",
        "interpreter: 1 of 1 pass",
        "found: 0 of 1 pass",
        "found for a GPU: 0 of 0 pass",
        "low-level: 0 of 0 pass",
    ]
