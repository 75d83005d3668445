"""The tutorials: Python files in the percent format of jupytext, and the notebooks that are made of them.

A tutorial is run as it stands by a test; the notebook beside it holds the same cells with what they printed when
`python -m proofs_tests.site notebooks` executed them.
"""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

from proofs_tests.command_line import ROOT

TUTORIALS = tuple(sorted((ROOT / "docs" / "tutorials").glob("*.py")))


def cells(text: str) -> list[tuple[str, str]]:
    """The cells of a tutorial: `markdown` or `code`, and the text."""
    found: list[tuple[str, str]] = []
    for part in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        if head.strip() == "[markdown]":
            lines = (line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
            found.append(("markdown", "\n".join(lines).strip()))
        else:
            found.append(("code", body.strip()))
    return found


def stored(notebook: Path) -> list[tuple[str, str]]:
    """The cells of a notebook that is stored."""
    return [
        (cell["cell_type"], "".join(cell["source"]).strip()) for cell in _read(notebook)["cells"]
    ]


def failed(notebook: Path) -> list[str]:
    """The cells of a stored notebook that were not executed, or ended in an error."""
    return [
        "".join(cell["source"])
        for cell in _read(notebook)["cells"]
        if cell["cell_type"] == "code"
        and (
            cell["execution_count"] is None
            or any(output["output_type"] == "error" for output in cell["outputs"])
        )
    ]


def _read(notebook: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(notebook.read_text(encoding="utf-8"))
    return found


def execute(tutorial: Path) -> Path:
    """Execute a tutorial in a kernel of its own, and store it as a notebook with its outputs."""
    jupytext, nbclient = (importlib.import_module(name) for name in ("jupytext", "nbclient"))
    book = jupytext.read(tutorial, fmt="py:percent")
    book.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
    }
    nbclient.NotebookClient(
        book, timeout=600, resources={"metadata": {"path": str(ROOT)}}
    ).execute()
    for number, cell in enumerate(book.cells):
        cell["id"] = f"cell-{number}"  # the same every time
        cell["metadata"] = {}
    book.metadata.pop("language_info", None)
    place = tutorial.with_suffix(".ipynb")
    jupytext.write(book, place, fmt="ipynb")
    return place
