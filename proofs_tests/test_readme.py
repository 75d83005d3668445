"""The README's code and commands are run, and print what the README says they print."""

from __future__ import annotations

import doctest
import re
import shlex

import pytest

from proofs_tests.command_line import ROOT, relift

README = (ROOT / "README.md").read_text()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def console_examples() -> list[tuple[str, str]]:
    """Each `$ command` of the README's console blocks, with the output printed below it."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), console_examples())
def test_commands_print_what_the_readme_shows(command: str, output: str) -> None:
    """A shown command prints the shown output, numbers behind `...` apart."""
    name, *words = shlex.split(command)
    assert name == "relift", f"the README shows the output of {name}, which is not run here"
    ran = relift(*words)
    shown = ran.stdout + ran.stderr

    assert doctest.OutputChecker().check_output(output, shown, FLAGS), f"it printed:\n{shown}"


def test_python_session_of_the_readme() -> None:
    """Every >>> of the README gives the result below it."""
    failed, attempted = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=FLAGS
    )

    assert attempted > 0
    assert failed == 0


def test_the_readme_names_its_two_commands() -> None:
    """The two one-line commands install into a fresh environment themselves."""
    lines = [line for line in README.splitlines() if line.startswith("python -m venv")]

    assert len(lines) == 2
    assert "relift run examples/dot.py --size n=16777216 --random 0 --check" in lines[0]
    assert lines[1].endswith("python -m proofs_tests")
