"""The plug-in for pytest and Hypothesis, in a run of its own; --quiet, --verbose, NO_COLOR; what an editor shows."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import relift
from proofs_tests.command_line import ROOT

TEST = """
import numpy as np
from hypothesis import given, settings, strategies as st
import relift as rl

n = rl.nat("n")

@rl.program
def total(x: rl.f32[n]):
    return rl.reduce(rl.add, 0.0, x)

def test_total(assert_equivalent):
    assert_equivalent(total, np.sum, examples=5)

@settings(max_examples=2, deadline=None, database=None)
@given(st.from_type(rl.Program))
def test_drawn(program):
    assert program.body.type is not None
"""


def python(*words: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """What Python prints of some words, in a folder of its own."""
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "PYTEST_ADDOPTS")}
    environment = {**plain, "PYTHONPATH": str(ROOT / "src"), **variables}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_rules_and_programs_are_tested(tmp_path: Path) -> None:
    """A right rule passes and a wrong one shows its counterexample; the fixture and the strategy are there."""
    (tmp_path / "test_mine.py").write_text(TEST)
    shutil.copy(ROOT / "examples" / "my_rules.py", tmp_path)
    words = ["-m", "pytest", "-p", "relift.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    ran = python(*words, "--relift-rules", "--relift-tiers", "1,3", folder=tmp_path)

    assert "1 failed, 3 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "interchange_without_transpose: FAILED" in ran.stdout
    assert "xs = [x0, x1]" in ran.stdout
    assert "Traceback" not in ran.stdout


def test_a_tier_that_there_is_not(tmp_path: Path) -> None:
    """One line, before anything is collected."""
    words = ["-m", "pytest", "-p", "relift.pytest_plugin", "-p", "no:cacheprovider"]
    ran = python(*words, "--relift-tiers", "9", folder=tmp_path)

    assert ran.returncode == 4
    assert "there is no tier 9" in ran.stderr


def test_how_much_is_said(tmp_path: Path) -> None:
    """Every phase with --verbose, nothing but errors with --quiet; the answer is the same."""
    words = ["check", "map_fusion", "--tier", "1", "--json"]
    verbose, quiet = (
        python("-m", "relift", more, *words, folder=tmp_path) for more in ("--verbose", "--quiet")
    )
    assert "checking: map_fusion: tier 1" in verbose.stderr
    assert quiet.stderr == ""
    assert verbose.returncode == quiet.returncode


def test_errors_are_said_in_any_case(tmp_path: Path) -> None:
    """Also with --quiet, and that it does not go with --verbose."""
    refused = python("-m", "relift", "-q", "check", "mapp_fusion", folder=tmp_path)
    assert "did you mean map_fusion" in refused.stderr
    both = python("-m", "relift", "-q", "-v", "doctor", folder=tmp_path)
    assert (both.returncode, both.stderr) == (
        2,
        "relift: --quiet and --verbose: give one of them\n",
    )


@pytest.mark.parametrize("setting", ["NO_COLOR", "FORCE_COLOR"])
def test_colours(setting: str, tmp_path: Path) -> None:
    """A table has colours where they are asked for, and none with NO_COLOR, whatever else is asked for."""
    code = "from rich.table import Table; from relift.cli.output import print_table; t = Table('[red]a[/]'); print_table(t)"
    ran = python("-c", code, folder=tmp_path, **{"FORCE_COLOR": "1", setting: "1", "TERM": "xterm"})

    assert ("\x1b[31m" in ran.stdout or "31m" in ran.stdout) == (setting != "NO_COLOR")


def test_an_editor_shows_something_for_every_public_name() -> None:
    """Each has a docstring, and the patterns have theirs in the stub that editors read."""
    from relift.semantics.language import functions

    assert [n for n in relift.__all__ if not inspect.getdoc(getattr(relift, n))] == []
    lines = functions.stub().splitlines()
    for name in functions.__all__:
        at = lines.index(f"{name}: Final[PartialApplication]")
        assert lines[at + 1].startswith(f'"""`{name}('), name
