"""What a run leaves out stands for something that it takes, and is never left out in silence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proofs_tests.command_line import ROOT
from proofs_tests.portions import SHORT, drawn, portioned


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


def ran(*options: str) -> str:
    """What pytest prints of the test above with these options."""
    chosen = (*options, f"{__file__}::test_a_share_has_so_many_cases")
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
