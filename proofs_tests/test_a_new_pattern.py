"""A layout pattern is added in three places, and every tier, the compiler and the search take it.

What type checkers and editors see of it is a file that a command prints anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CLASS = '''

@dataclass(frozen=True)
class Evens(Pattern):
    """`evens(xs)`: every other element.

    Law: evens(map(f, xs)) == map(f, evens(xs)).
    Source: this test.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("evens(xs)", xs=[1, 2, 3, 4])
    [1, 3]
    """

    xs: Term
    name: ClassVar = "evens"
    rocq: ClassVar = "evens {xs}"
    layout: ClassVar = True
    signature: ClassVar = Signature({"xs": a[2 * k]}, a[k])

    @staticmethod
    def meaning(xs: list[Any]) -> list[Any]:
        return xs[::2]

    @staticmethod
    def view(ix: Algebra, xs: Any, k: Any) -> Any:
        return ix.array(k, lambda i: ix.at(xs, 2 * i))
'''
DEFINITION = "Definition evens (A : Type) (xs : arr A) : arr A := fun i => xs (2 * i).\n"
ROW = '    ("evens", (V,), rl.evens, lambda x: x[::2]),\n'

EDITS = {
    "semantics/patterns/layout.py": CLASS,
    "proofs_tests/rocq/Patterns.v": DEFINITION,
    "proofs_tests/semantics/patterns/test_patterns.py": ROW,
}
"""All that is written, by file; a row goes to the head of its table."""

USE = """
import numpy as np
import relift as rl
from relift.rewrites.ledger.book import load, outdated, summary
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, B, k
from relift.rewrites.rule import make_rule

print(summary())
print(sum(outdated(rule) for rule in RULES.values()), "outdated")

def evens_map(f: rl.Fun[A, B], xs: A[2 * k]):
    return rl.evens(rl.map(f, xs)), rl.map(f, rl.evens(xs))

for result in rl.check(make_rule(evens_map)).results:
    print(result.tier, result.status)

@rl.program
def low(x: rl.f32[8]):
    return rl.map_glb(0)(lambda v: v + 1.0, rl.evens(x))

@rl.program
def high(x: rl.f32[8]):
    return rl.map(lambda v: v + 1.0, rl.evens(x))

x = np.arange(8, dtype=np.float32)
print(*rl.compile(low)(x))
best = rl.optimize(high, budget=4)
print("evens" in rl.show(best.term.body), *rl.compile(best.term)(x))
"""

TESTS = [
    "proofs_tests/semantics/patterns/test_patterns.py",
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
    skipped = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info", "shared", "build")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=skipped)
    for name, added in EDITS.items():
        path = copy / name
        text = path.read_text(encoding="utf-8")
        match path.suffix:
            case ".v":
                line = next(
                    row for row in text.splitlines(keepends=True) if "Definition drop" in row
                )
                text = text.replace(line, line + added, 1)
            case _ if added is ROW:
                head = "Callable[..., Any]]] = [\n"
                assert head in text
                text = text.replace(head, head + added, 1)
            case _:
                text += added
        path.write_text(text, encoding="utf-8")
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


def test_every_part_takes_it(checkout: Path) -> None:
    """All tiers hold its law, a kernel and the search contain it, and no entry of the ledger is stale."""
    (checkout / "use.py").write_text(USE)
    ledger, outdated, *lines = ran(checkout, "use.py").splitlines()

    assert len(EDITS) == 3
    assert "stale" not in ledger
    assert outdated == "0 outdated"
    assert lines[:-2] == ["1 ok", "2 ok", "3 ok", "4a proved", "4b proved", "5 ok"]
    assert lines[-2:] == ["1.0 3.0 5.0 7.0", "True 1.0 3.0 5.0 7.0"]


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
