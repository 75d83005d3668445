"""The code and commands of README and of the guides are run, and print what is shown."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from proofs_tests.command_line import relift
from proofs_tests.documents import GUIDES, README

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MOST_LINES = 80
"""README is one screen: it says what Relift is, and where to read on."""


def console_examples() -> list[tuple[str, str]]:
    """Each `$ command` of the console blocks, with the output printed below it."""
    found: list[tuple[str, str]] = []
    for page in (README, *GUIDES):
        for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), console_examples())
def test_commands_print_what_the_documents_show(command: str, output: str) -> None:
    """A shown command prints the shown output, numbers behind `...` apart."""
    name, *words = shlex.split(command)
    assert name == "relift", f"a document shows the output of {name}, which is not run here"
    ran = relift(*words)
    shown = ran.stdout + ran.stderr

    assert doctest.OutputChecker().check_output(output, shown, FLAGS), f"it printed:\n{shown}"


@pytest.mark.parametrize(
    "page", [p for p in (README, *GUIDES) if ">>> " in p.read_text("utf-8")], ids=lambda p: p.stem
)
def test_python_sessions(page: Path) -> None:
    """Every >>> gives the result below it."""
    failed, attempted = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)

    assert attempted > 0
    assert failed == 0


def test_the_readme_is_one_screen() -> None:
    """It leads to the documents, and each of them is named there or in the index of the site."""
    text = README.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= MOST_LINES
    assert [page.name for page in GUIDES if f"docs/guides/{page.name}" not in text] == []


def test_the_readme_names_its_two_commands() -> None:
    """The two one-line commands install into a fresh environment themselves."""
    lines = README.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line.startswith("python -m venv")]

    assert len(lines) == 2
    assert "relift run examples/dot.py --size n=16777216 --random 0 --check" in lines[0]
    assert lines[1].endswith("python -m proofs_tests")
