"""The site of documents: its pages are in a table of contents, its notebooks are of today's tutorials, a part of it builds."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from proofs_tests import site
from proofs_tests.notebooks import TUTORIALS, cells, failed, stored

SMALL = ("myst_parser", "alabaster")
"""The extension and the theme that need nothing but what the tests install."""
named_by_name = pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)


def test_every_page_is_in_a_table_of_contents() -> None:
    """Those of the folder, and those that are made."""
    index = (site.DOCS / "index.md").read_text(encoding="utf-8")
    files = [p.relative_to(site.DOCS) for p in site.DOCS.rglob("*.md") if p.name != "index.md"]
    pages = [p.with_suffix("").as_posix() for p in files]
    pages += [f"tutorials/{path.stem}" for path in TUTORIALS]
    pages += [place.removesuffix(".md") for place in site.BESIDE.values()]

    assert site.unnamed(index, pages) == []
    assert site.unnamed(index, ["guides/nothing"]) == ["guides/nothing"]


@named_by_name
def test_a_stored_notebook_is_of_todays_tutorial(tutorial: Path) -> None:
    """Its cells are those of the file, and each was executed without an error."""
    notebook = tutorial.with_suffix(".ipynb")
    said = f"python -m proofs_tests.site notebooks {tutorial.stem}"

    assert stored(notebook) == cells(tutorial.read_text(encoding="utf-8")), said
    assert failed(notebook) == []


@named_by_name
def test_a_tutorial_runs(tutorial: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a plain script; what it asserts holds."""
    runpy.run_path(str(tutorial), run_name="tutorial")

    assert capsys.readouterr().out


def test_there_are_six_tutorials() -> None:
    """One for each thing that people come for."""
    assert len(TUTORIALS) == 6


def test_links_between_documents_are_those_of_the_site() -> None:
    """A page beside README is found where it stands there, and what is no page is only named."""
    text = "[a](../CONTRIBUTING.md#the-gate), [b](guides/theorem.md), [c](../examples/dot.py), [d](https://x.y/z)"
    found = site.relinked(text, site.DOCS, Path("there/about"), Path("there"))

    assert found == (
        "[a](contributing.md#the-gate), [b](../guides/theorem.md), c, [d](https://x.y/z)"
    )


def test_a_part_of_the_site_builds_without_warnings(tmp_path: Path) -> None:
    """A page with a link, a table and code; and a link that leads nowhere is an error."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("comparison.md", "conf.py"):
        (source / name).write_text((site.DOCS / name).read_text("utf-8"), "utf-8")
    page = source / "comparison.md"
    page.write_text(site.LINK.sub(r"\1", page.read_text("utf-8")), "utf-8")
    options = ["-D", f"extensions={SMALL[0]}", "-D", f"html_theme={SMALL[1]}"]
    (source / "index.md").write_text("# Site\n\n```{toctree}\ncomparison\n```\n")

    assert site.built(source, tmp_path / "out", options) == 0
    assert "TensorRight" in (tmp_path / "out" / "comparison.html").read_text("utf-8")

    (source / "index.md").write_text("# Site\n\n[lost](lost.md)\n\n```{toctree}\ncomparison\n```\n")
    assert site.built(source, tmp_path / "out", options) == 1
