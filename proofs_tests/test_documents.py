"""What the documents name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relift

ROOT = Path(__file__).resolve().parent.parent
PATH = re.compile(r"`([\w./]+/[\w./]*)(?::(\w+))?`")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)#:]+)\)")


def named(document: str) -> list[tuple[str, str | None]]:
    """The paths of the tree that a document names, with the definition in it where one is named."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [(path, name) for path, name in PATH.findall(text) if path[0] != "/"]


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_is_there(document: str) -> None:
    """A file or folder that is named exists, and defines what is named in it."""
    made = ("mine", "DIR", "examples/dot.py:", "compiler/dialects/serial")
    found = [(path, name) for path, name in named(document) if not path.startswith(made)]
    missing = [
        (path, name)
        for path, name in found
        if not any(ROOT.glob(path.rstrip("/")))
        or (name and f"def {name}" not in (ROOT / path).read_text(encoding="utf-8"))
    ]

    assert len(found) > 5
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    """Links between the documents, from where each lies."""
    text = page.read_text(encoding="utf-8")

    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []


def test_the_version_is_the_newest_of_the_changelog() -> None:
    """`relift --version`, pyproject.toml and the newest dated section of CHANGELOG.md are one."""
    sections = re.findall(
        r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$",
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)

    assert sections == sorted(sections, key=lambda s: s[1], reverse=True)
    assert version is not None
    assert sections[0][0] == version[1] == relift.__version__
