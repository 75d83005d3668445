"""The one gate: checks and tests go on at once, what they say comes one after the other, and each can fail it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import pytest

from proofs_tests import __main__ as gate


@pytest.mark.parametrize(("fails", "status"), [("", 0), ("mypy", 1), ("pytest", 1), ("kernels", 1)])
def test_each_check_can_fail_it_and_the_tests_are_told_last(
    fails: str, status: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The tests do not wait for the slowest check, whose output is complete before theirs begins."""
    began: list[str] = []

    def call(tool: str, *_: str, output: int, **__: Any) -> subprocess.CompletedProcess[str]:
        began.append(tool)
        if tool == "mypy":
            while "pytest" not in began:
                time.sleep(0.01)
        if tool == "pytest":
            os.write(output, b"1 passed\n" * 10_000)
        return subprocess.CompletedProcess(tool, tool == fails, f"{tool} says\n")

    monkeypatch.setattr(gate, "call", call)
    monkeypatch.setattr(gate, "kernels_pass_elsewhere", lambda every: fails != "kernels")
    monkeypatch.setattr(sys, "argv", ["proofs_tests"])
    assert gate.main() == status
    before, _, after = capfd.readouterr().out.partition("== pytest -n")
    assert all(f"{check[0]} says" in before for check in gate.CHECKS)
    assert ("FAILED before the tests: mypy" in before) == (fails == "mypy")
    assert after.count("1 passed\n") == 10_000


def test_the_checks_come_with_tests_that_are_named_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And then the tests are those, whatever the checks say."""
    called: list[tuple[str, ...]] = []

    def call(*words: str, **_: Any) -> subprocess.CompletedProcess[str]:
        called.append(words)
        return subprocess.CompletedProcess(words, words[0] == "ruff", "")

    monkeypatch.setattr(gate, "call", call)
    monkeypatch.setattr(sys, "argv", ["proofs_tests", "-x", "some_test.py"])
    assert gate.main() == 1
    assert called[-1] == ("pytest", "-x", "some_test.py")
    assert {*called[:-1]} == {*gate.CHECKS}
