"""Running the command line: in a process of its own, from the root of the checkout, as a person does, or here."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

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


def command(*words: str) -> tuple[int, str]:
    """Status and standard error of a command, run in this process."""
    errors, before = io.StringIO(), sys.argv
    sys.argv = ["relift", *words]
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            main()
    except SystemExit as stop:
        return int(stop.code or 0), errors.getvalue()
    finally:
        sys.argv = before
    return 0, errors.getvalue()


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
