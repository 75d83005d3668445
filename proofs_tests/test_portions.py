"""What a run leaves out stands for something that it takes, and is never left out in silence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proofs_tests.command_line import ROOT
from proofs_tests.portions import SHARES, SHORT, drawn, portioned, share_of


def marked(mark: pytest.MarkDecorator) -> list[object]:
    """The cases that are marked."""
    return [case.values[0] for case in mark.args[1] if case.marks]


def test_what_is_not_always_taken_is_marked() -> None:
    """By the cases, by their names, or each so many."""
    assert marked(portioned("x", "abc", {"b"})) == ["a", "c"]
    assert marked(portioned("x", {"first": 1, "second": 2}, {"second"})) == [1]
    assert marked(portioned("x", range(5), 2)) == [1, 3]


def test_no_test_is_left_out_altogether() -> None:
    """A name that is no case is a mistake, not a test that nobody runs."""
    with pytest.raises(ValueError, match="no case would be left"):
        portioned("x", "abc", {"d"})


@portioned("share", [3, 1], {3})
def test_a_share_has_so_many_cases(share: int) -> None:
    """Each once, and at least one."""
    assert len(set(drawn(range(10), share))) == -(-10 // share)
    assert drawn("a", share) == ["a"]


@pytest.mark.parametrize("share", [2, 3, 5, 40])
def test_a_share_is_spread_over_all_parameters(share: int) -> None:
    """So many cases, at least one, and not all with the same value of the parameter that changes fastest."""
    cases = [f"test[{a}-{b}]" for a in range(12) for b in range(share)]
    stay = share_of(cases, share)
    assert len(stay) == 12
    assert len({name.rpartition("-")[2] for name in stay}) > 1
    assert len(share_of(cases[:1], share)) == 1


def test_the_shares_are_of_tests() -> None:
    """A test that has another name now is not left out by its old one."""
    for test, share in SHARES.items():
        file, _, function = test.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), test
        assert share > 1, test


def test_a_test_in_the_table_runs_in_part() -> None:
    """The others are counted."""
    file = "proofs_tests/rewrites/tactics/test_row_chunks.py"
    test = f"{file}::test_the_rows_of_a_group_are_folded_together"
    said = ran("--collect-only", "-q", "-m", SHORT, tests=test)
    stay = sum(line.startswith(test) for line in said.splitlines())
    left = int(said.partition("--long: ")[2].partition("\n")[0])
    assert stay == -(-(stay + left) // SHARES[test]) < left


def ran(*options: str, tests: str = f"{__file__}::test_a_share_has_so_many_cases") -> str:
    """What pytest prints of these tests with these options."""
    chosen = (*options, tests)
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *chosen)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_how_many_are_left_out_is_said() -> None:
    """By the process that prints, though others collected them."""
    said = ran("-n", "1", "-m", SHORT)
    assert "== tests left to python -m proofs_tests --long: 1\n" in said
    assert "1 passed" in said


def test_of_the_cases_of_each_test_some_run_on_another_device() -> None:
    """The first is one of them, and the others are counted."""
    said = ran("--every", "2", "-rA")
    assert "== tests left to python -m proofs_tests --long: 1\n" in said
    assert "test_a_share_has_so_many_cases[3]" in said
    assert "1 passed" in said
