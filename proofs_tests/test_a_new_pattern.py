"""A layout pattern is added in three places: its class and its definition, as CONTRIBUTING.md has them, and a row of a test.

What type checkers and editors see of it is a file that a command prints anew.  That every tier, the search and the
compiler take it is what the walk of CONTRIBUTING.md shows (`test_contributing`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from proofs_tests.test_contributing import walks, write

ROOT = Path(__file__).parents[1]

WRITTEN = walks()["How to add a pattern"][:2]
"""Its class, and its definition for the prover."""

ROW = '    ("evens", (V,), rl.evens, lambda x: x[::2]),\n'
CASES = "proofs_tests/semantics/patterns/test_patterns.py"
"""The test whose table has a row for each pattern."""

USE = """
import numpy as np
import relift as rl
from relift.rewrites.ledger.book import outdated, summary
from relift.rewrites.library import RULES

print(summary())
print(sum(outdated(rule) for rule in RULES.values()), "outdated")

@rl.program
def low(x: rl.f32[8]):
    return rl.map_glb(0)(lambda v: v + 1.0, rl.evens(x))

print(*rl.compile(low)(np.arange(8, dtype=np.float32)))
"""

TESTS = [
    CASES,
    "proofs_tests/semantics/patterns/test_patterns_viewed.py",
    "proofs_tests/semantics/patterns/test_patterns_laws.py::test_every_pattern_has_a_law",
    "proofs_tests/compiler/lowering/test_patterns_compiled.py::test_every_pattern_is_compiled_or_refused",
    "proofs_tests/egraph/test_patterns_searched.py::test_every_pattern_is_searched_or_said_in_others",
    "proofs_tests/test_packaging.py::test_the_stub_of_the_patterns_is_what_is_printed",
    "proofs_tests/test_packaging.py::test_editors_have_something_to_show_of_every_public_name",
    "proofs_tests/test_doctests.py::test_examples_import_what_they_use",
]
"""Those that ask something of every pattern."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the parts, in which the pattern is added."""
    copy = tmp_path_factory.mktemp("checkout") / "relift"
    skipped = shutil.ignore_patterns("*.pyc.*", ".*", "*.egg-info", "shared", "build")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=skipped)
    for block in WRITTEN:
        write(copy, block)
    table, head = copy / CASES, "Callable[..., Any]]] = [\n"
    text = table.read_text(encoding="utf-8")
    assert head in text
    table.write_text(text.replace(head, head + ROW, 1), encoding="utf-8")
    stub = ran(copy, "-m", "relift.semantics.language.functions")
    (copy / "semantics/language/functions.pyi").write_text(stub, encoding="utf-8")
    return copy


def ran(checkout: Path, *words: str) -> str:
    """What Python says of some words in the copy."""
    environment = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
    found = subprocess.run(
        [sys.executable, *words], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-3000:]
    return found.stdout


def test_it_makes_nothing_else_stale(checkout: Path) -> None:
    """No entry of the ledger is, and a kernel contains it under the name that it has without being listed anywhere."""
    (checkout / "use.py").write_text(USE)
    ledger, outdated, *results = ran(checkout, "use.py").splitlines()

    assert "stale" not in ledger
    assert outdated == "0 outdated"
    assert results == ["1.0 3.0 5.0 7.0"]


def test_the_tests_of_every_pattern_take_it(checkout: Path) -> None:
    """One row is all that they ask for."""
    ran(
        checkout,
        "-m",
        "pytest",
        "-q",
        "-k",
        "evens or every or law or stub or import",
        "-p",
        "no:cacheprovider",
        *TESTS,
    )
