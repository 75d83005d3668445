"""Mistakes planted in Relift's own code, one at a time: each has to fail a test that takes less than a minute.

    python -m proofs_tests.planted_mutants [NAME...]

The table is `planted_mutants.toml`.  A mutant is a text that occurs once in one file, another text in its place, and
the tests that notice.  The checkout is copied, so that nothing here changes; in the copy the named tests have
to pass, and with each mutant one of them has to fail.  An error while tests are collected, and a test that is not
done in time, count as nothing noticed.  Exit status 1 when a mutant survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = Path(__file__).with_suffix(".toml")

LIMIT = 60
"""Seconds in which the tests of a mutant have to notice it, those included that a test run takes to start."""

COPIED = ("src", "semantics", "rewrites", "compiler", "egraph", "proofs_tests", "examples")

OK, FAILED = 0, 1
"""Exit statuses of pytest: all passed; some failed."""


@dataclass(frozen=True)
class Mutant:
    """A mistake: `after` takes the place of `before` in a file; some of the tests fail for it."""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The text of the file with the mistake; raises `ValueError` where it has no single place for it."""
        if (count := text.count(self.before)) != 1:
            raise ValueError(f"{self.name}: its text occurs {count} times in {self.file}")
        return text.replace(self.before, self.after)


def mutants() -> list[Mutant]:
    """All mutants of the table."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(tests=tuple(row.pop("tests")), **row) for row in rows]


def copied(folder: Path) -> Path:
    """A copy of the checkout, its links included, without what earlier runs left in it."""
    root = folder / "checkout"
    root.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis", "*.egg-info")
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=ignored)
    for file in ("pyproject.toml", "README.md"):
        shutil.copy2(ROOT / file, root / file)
    return root


def status(root: Path, tests: Sequence[str], limit: float | None) -> tuple[int | None, str]:
    """What pytest ends with in the copy, and what it prints; None where it is not done in time."""
    words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    words += ["--no-header"]
    environment = os.environ | {"PYTHONPATH": str(root / "src"), "RELIFT_HYPOTHESIS": "mutants"}
    try:
        done = subprocess.run(
            [sys.executable, *words, *tests],
            cwd=root, env=environment, capture_output=True, text=True, timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, f"not done in {limit:.0f} s"
    return done.returncode, done.stdout[-3000:] + done.stderr[-1000:]


def judged(root: Path, mutant: Mutant, number: int) -> tuple[str, float, str]:
    """Whether the tests of a mutant notice it, the seconds that they take, and what they print."""
    path = root / mutant.file
    before = path.read_bytes()
    times = path.stat()
    start = time.monotonic()
    try:
        path.write_text(mutant.applied(before.decode()), encoding="utf-8")
        later = int(start) + 10 * (number + 1)  # so that no compiled file of another text is taken
        os.utime(path, (later, later))
        found, said = status(root, mutant.tests, LIMIT)
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return "killed" if found == FAILED else "SURVIVED", time.monotonic() - start, said


def chosen(names: Sequence[str]) -> list[Mutant]:
    """The mutants of these names, or all; exits where there is none of a name."""
    table = {m.name: m for m in mutants()}
    for name in names:
        if name not in table:
            sys.exit(f"there is no mutant {name!r}; they are named in {TABLE.name}")
    return [table[name] for name in names] if names else list(table.values())


def main() -> int:
    """Judge some mutants, or all; see the module."""
    parser = argparse.ArgumentParser(description="Mistakes planted in Relift's own code.")
    parser.add_argument("name", nargs="*", help="a mutant of the table; all if none")
    asked = chosen(parser.parse_args().name)
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="relift-mutants-") as folder:
        root = copied(Path(folder))
        tests = list(dict.fromkeys(test for m in asked for test in m.tests))
        passed, said = status(root, tests, None)
        if passed != OK:
            print(f"{said}\nwithout a mutant, the tests have to pass", file=sys.stderr)
            return 1
        for number, mutant in enumerate(asked):
            verdict, seconds, said = judged(root, mutant, number)
            print(f"{verdict:8} {seconds:5.1f} s  {mutant.name}", flush=True)
            if verdict != "killed":
                survivors += 1
                print(said, file=sys.stderr, flush=True)
    print(f"{len(asked)} mutants, {len(asked) - survivors} killed, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
