"""Running the command line: in a process of its own, from the root of the checkout, as a person does, or here."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from relift.cli import main

ROOT = Path(__file__).parent.parent


def relift(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "relift", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def here(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, which has imported already what a new one would import first.

    What drivers are told by the environment when they are first asked for stays, as it does after other calls.
    """
    out, errors, status = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(ROOT),
        pytest.MonkeyPatch.context() as told,
        patch.object(sys, "argv", ["relift", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
    ):
        told.setenv("RELIFT_TRACEBACK", os.environ.get("RELIFT_TRACEBACK", ""))  # --verbose sets it
        for name, value in environment.items():
            told.setenv(name, value)
        try:
            main()
        except SystemExit as stop:
            status = int(stop.code or 0)
    return subprocess.CompletedProcess(words, status, out.getvalue(), errors.getvalue())


def command(*words: str) -> tuple[int, str]:
    """Status and standard error of a command, run in this process."""
    done = here(*words)
    return done.returncode, done.stderr


def session(leader: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of, *_ = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if int(of) == leader and state != "Z":
            found.append(int(stat.parent.name))
    return found
