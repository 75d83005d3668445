"""Where things stand: a folder of tests mirrors a folder of the source, and a package says what its modules are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from proofs_tests import sizes

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


def unnamed() -> list[str]:
    """The modules and folders that the docstring of their package does not name."""
    found: list[str] = []
    for file in (*sizes.sources(), *sizes.rules()):
        package = file.parent.parent if file.name == "__init__.py" else file.parent
        name = file.parent.name if file.name == "__init__.py" else file.stem
        if name.startswith("__") or not (package / "__init__.py").exists():
            continue
        said = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
        if not re.search(rf"(?<![\w.]){name}(?!\w)", said):
            found.append(file.relative_to(sizes.ROOT).as_posix())
    return found


def test_a_package_names_its_modules() -> None:
    """Who opens a folder is told what is where, and in which order it is read."""
    assert not unnamed(), "say in the docstring of the package what is in it"


def test_a_module_that_its_package_does_not_name_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose name is a part of another word, too; a folder of modules is one."""
    monkeypatch.setattr(sizes, "ROOT", tmp_path)
    folder = tmp_path / "egraph"
    (folder / "cost").mkdir(parents=True)
    (folder / "__init__.py").write_text('"""Searches: `plan`."""')
    (folder / "cost" / "__init__.py").write_text('"""What it costs."""')
    for name in ("plan", "plans", "searches"):
        (folder / f"{name}.py").write_text("")

    assert unnamed() == ["egraph/cost/__init__.py", "egraph/plans.py", "egraph/searches.py"]


_SENT_TO = re.compile(r"\b[Ss]ee `([\w./]+)(?:\([^`]*\))?`|\bmodule `([\w./]+)`")
_GIVEN = re.compile(r"^ *(?:def |class )?(\w+)(?=\(|:| = )|(?<=def )\w+", re.MULTILINE)


def sent_nowhere() -> list[str]:
    """Where a text of the source sends its reader, in words such as "see `name`", to what is not there."""
    texts = {
        file.relative_to(sizes.ROOT): file.read_text(encoding="utf-8")
        for file in (*sizes.sources(), *sizes.rules())
    }
    known: set[str] = set()
    for file, text in texts.items():
        parts = file.with_suffix("").parts
        for whole in (parts, parts[:-1]):
            known |= {".".join(whole[i:]) for i in range(len(whole))}
        known |= {name for name in _GIVEN.findall(text) if name}
    return [
        f"{file.as_posix()}: {name}"
        for file, text in texts.items()
        for found in _SENT_TO.finditer(text)
        if (name := next(filter(None, found.groups())).removesuffix(".py").replace("/", "."))
        if not {name, name.rpartition(".")[2]} & known
    ]


def test_a_text_sends_to_what_is_there() -> None:
    """A module or a function that was renamed is renamed where others speak of it."""
    assert not sent_nowhere()


def test_what_is_sent_nowhere_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of a module as of a function; a module is called by as much of its place as one likes."""
    monkeypatch.setattr(sizes, "ROOT", tmp_path)
    (tmp_path / "egraph").mkdir()
    (tmp_path / "egraph" / "cost.py").write_text(
        '"""See `egraph.cost`, see `cost`, see `gone`, and `other`, as the module `lost` says."""'
    )

    assert sent_nowhere() == ["egraph/cost.py: gone", "egraph/cost.py: lost"]
