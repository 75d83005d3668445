"""A folder of benchmarks: only files that list some are executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from relift.compiler.bench.benchmarks import load_benchmarks
from relift.semantics.errors import ReliftError

LISTING = {
    "plain": "benchmarks = []",
    "annotated": "benchmarks: list = []",
    "in a condition": "if True:\n    benchmarks = []",
    "imported": "from lists import benchmarks",
    "as": "from lists import those as benchmarks",
}
OTHERS = {
    "a script": "print('ran')",
    "used only": "print('ran', benchmarks)",
    "in a function": "print('ran')\ndef f():\n    benchmarks = []",
    "an attribute": "import os\nprint('ran')\nos.benchmarks = []",
    "no Python": "print('ran') benchmarks =",
    "no text": "\0benchmarks = []",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_lists_no_benchmarks_is_not_executed(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "script.py").write_text(text)

    with pytest.raises(ReliftError, match=r"no file of .* lists benchmarks"):
        load_benchmarks(tmp_path, [], "cpu")
    (tmp_path / "listed.py").write_text("benchmarks = []")
    assert load_benchmarks(tmp_path, [], "cpu") == []
    assert "ran" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("text", LISTING.values(), ids=LISTING)
def test_what_lists_benchmarks_is(text: str, tmp_path: Path) -> None:
    (tmp_path / "listed.py").write_text(f"{text}\nraise ValueError('it ran')")
    (tmp_path / "lists.py").write_text("benchmarks = those = []")

    with pytest.raises(ReliftError, match="it ran"):
        load_benchmarks(tmp_path, [], "cpu")
