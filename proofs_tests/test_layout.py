"""Tests stand where what they test stands: a folder of tests mirrors a folder of the source."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

OF_ALL = ("conformance",)
"""Chapters of tests that are about no one package."""


def stray(root: Path) -> list[str]:
    """The folders with tests that mirror no folder of the source."""
    tests = root / "proofs_tests"
    folders = {p.parent.relative_to(tests) for p in tests.rglob("test_*.py")} - {Path()}
    return sorted(
        folder.as_posix()
        for folder in folders
        if folder.parts[0] not in OF_ALL and not (root / "src" / "relift" / folder).is_dir()
    )


def test_tests_mirror_the_source() -> None:
    """Who looks for the tests of a package finds them under its name."""
    assert not stray(ROOT)


def test_a_folder_that_mirrors_nothing_is_seen(tmp_path: Path) -> None:
    """A package that was renamed leaves its tests behind."""
    for folder in ("src/relift/compiler", "proofs_tests/compiler", "proofs_tests/generator"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("compiler", "generator", "conformance"):
        (tmp_path / "proofs_tests" / folder).mkdir(exist_ok=True)
        (tmp_path / "proofs_tests" / folder / "test_some.py").write_text("")

    assert stray(tmp_path) == ["generator"]
