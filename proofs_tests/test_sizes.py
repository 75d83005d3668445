"""Files, functions and classes stay short enough to be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs_tests import sizes
from proofs_tests.sizes import BARS, MOST_MODULES, above, crowded, lengths, sources


def test_nothing_is_above_its_bar() -> None:
    """No file over 500 lines, no function over 60, no class over 300."""
    assert not above(), f"split by idea what is too long (bars: {BARS}): {above()}"


def test_no_folder_is_crowded() -> None:
    """A folder reads like a chapter: what holds more modules has sub-chapters."""
    assert not crowded(), f"make sub-chapters by subject (at most {MOST_MODULES}): {crowded()}"


def test_a_crowded_folder_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules count too; what a folder says of itself does not."""
    monkeypatch.setattr(sizes, "ROOT", tmp_path)
    folder = tmp_path / "rewrites" / "rules" / "some"
    folder.mkdir(parents=True)
    for name in ("__init__", *(f"m{i}" for i in range(MOST_MODULES + 1))):
        (folder / f"{name}.py").write_text("")

    assert crowded() == {"rewrites/rules/some": MOST_MODULES + 1}


def test_all_that_is_long_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method and a function within a function are measured like any other."""
    monkeypatch.setattr(sizes, "ROOT", tmp_path)
    file = tmp_path / "some.py"
    inner = "\n".join(f"            x{i} = {i}" for i in range(61))
    file.write_text(f"class A:\n    def f(self):\n        def g():\n{inner}\n")

    found = {place: lines for _, place, lines in lengths(file)}

    assert found == {"some.py": 64, "some.py:A": 64, "some.py:A.f": 63, "some.py:A.f.g": 62}


def test_every_part_is_measured() -> None:
    """Each of the four layers and the facade, and links are not followed."""
    files = [path.relative_to(sizes.ROOT).as_posix() for path in sources()]

    assert {name.split("/")[0] for name in files} == {*sizes.PARTS[:-1], "src"}
    assert "src/relift/cli/__init__.py" in files
    assert not any(name.startswith("src/relift/semantics") for name in files)
    assert len(files) > 150
