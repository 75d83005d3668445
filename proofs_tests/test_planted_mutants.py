"""Every planted mutant still has its place, and the tests that have to notice it exist; that they do, see there."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from proofs_tests.planted_mutants import ROOT, Mutant, mutants

AREAS: dict[str, str | tuple[str, ...]] = {
    "interpreter": "semantics/interpreter.py", "patterns": "semantics/patterns/",
    "views": ("semantics/indices/views.py", "semantics/indices/stored.py"),
    "indices": "semantics/indices/expressions.py",
    "barriers": "compiler/codegen/barriers.py", "certificates": "compiler/certificates/prover.py",
    "extraction": "egraph/extraction/", "cost": "egraph/cost/",
    "statements": "rewrites/checks/rocq/statements.py", "guards": "rewrites/checks/guards.py",
    "matching": "rewrites/application/matching.py",
}  # fmt: skip


@pytest.mark.parametrize("mutant", mutants(), ids=lambda m: m.name)
def test_a_mutant_has_one_place_and_is_a_program(mutant: Mutant) -> None:
    """It changes its file, and the change is no syntax error, which any test would notice."""
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    changed = mutant.applied(text)

    assert changed != text
    compile(changed, mutant.file, "exec")
    assert mutant.tests


def test_there_are_more_than_sixty_and_some_of_each_part() -> None:
    found = mutants()

    assert len(found) > 60
    assert Counter(m.name for m in found).most_common(1)[0][1] == 1
    for area, place in AREAS.items():
        assert sum(m.file.startswith(place) for m in found) >= 3, area


def test_the_tests_that_notice_exist() -> None:
    """All that the table names is found by pytest."""
    named = list(dict.fromkeys(test for mutant in mutants() for test in mutant.tests))
    words = ["-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "--no-header"]
    found = subprocess.run(
        [sys.executable, *words, *named], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert found.returncode == 0, found.stdout[-3000:] + found.stderr
