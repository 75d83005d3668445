"""The walks of CONTRIBUTING.md are carried out in a copy of the tree, word for word."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from proofs_tests.portions import portioned
from relift.semantics.syntax.types import SCALARS

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("semantics", "rewrites", "egraph", "compiler", "src", "proofs_tests/rocq")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(
    r"(?P<before>[^\n]*(?:\n[^\n]+)*)\n\n```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL
)
NEW = re.compile(r"[Ii]n\s+a\s+new\s+file\s+`(?P<file>[^`]+)`:$")
END = re.compile(r"[Aa]t\s+the\s+end\s+of\s+`(?P<file>[^`]+)`:$")
BESIDE = re.compile(
    r"[Ii]n\s+`(?P<file>[^`]+)`,\s+(?P<side>after|before)\s+the\s+line\s+with\s+`(?P<line>[^`]+)`(?:, for [^`:]*)?:$"
)


@dataclass(frozen=True)
class Block:
    """A fenced block: the paragraph before it, its language, and its text."""

    before: str
    kind: str
    text: str


def walks() -> dict[str, list[Block]]:
    """By title: the blocks of each `How to add ...`."""
    found: dict[str, list[Block]] = {}
    for section in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        title = section.partition("\n")[0]
        if title.startswith("How to"):
            found[title] = [Block(**match.groupdict()) for match in FENCE.finditer(section)]
    return found


def write(copy: Path, block: Block) -> None:
    """Put code where the sentence before it says."""
    if match := NEW.search(block.before):
        file = copy / match["file"]
        file.parent.mkdir(exist_ok=True)
        assert not file.exists(), f"{file} is no new file"
        file.write_text(block.text, encoding="utf-8")
    elif match := END.search(block.before):
        file = copy / match["file"]
        file.write_text(f"{file.read_text(encoding='utf-8')}\n\n{block.text}", encoding="utf-8")
    elif match := BESIDE.search(block.before):
        file = copy / match["file"]
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        (at,) = (i for i, line in enumerate(lines) if match["line"] in line)
        at += match["side"] == "after"
        file.write_text("".join((*lines[:at], block.text, *lines[at:])), encoding="utf-8")
    else:
        raise AssertionError(f"no sentence says where this goes:\n{block.text}")


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each `$ command` of a console block, and what it prints."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def run(command: str, copy: Path) -> str:
    """What a command of the walk prints, with the copy as Relift."""
    command = re.sub(r"^relift\b", "python -m relift", command)
    command = re.sub(r"^python\b", f'"{sys.executable}"', command)
    ran = subprocess.run(
        command,
        shell=True,
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return ran.stdout + ran.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what Relift needs to run, with what Python has compiled of it: what is not changed stays valid."""
    ignore = shutil.ignore_patterns("*.pyc.*", "*.egg-info", "*.vo*", "*.glob", ".*.aux")
    for part in COPIED:
        shutil.copytree(ROOT / part, tmp_path / part, symlinks=True, ignore=ignore)
    return tmp_path


def take_out(name: str, copy: Path) -> None:
    """A copy without a scalar type: neither its row nor its public names; comments and messages may name it."""
    types, public = copy / "semantics/syntax/types.py", copy / "src/relift/__init__.py"
    text = types.read_text(encoding="utf-8")
    text = re.sub(rf'"{name}", |^{name} = Scalar\(.*\n', "", text, flags=re.MULTILINE)
    types.write_text(text, encoding="utf-8")
    text = public.read_text(encoding="utf-8")
    text = re.sub(rf'^ *"{name}": .*\n|"{name}", |\b{name}, ', "", text, flags=re.MULTILINE)
    public.write_text(text, encoding="utf-8")
    listed = "from relift.semantics.syntax.types import SCALARS; print(*SCALARS)"
    assert run(f'python -c "{listed}"', copy).split() == [t for t in SCALARS if t != name]


@portioned("title", [*walks()], {"How to add a scalar function"})
def test_a_walk_does_what_it_says(title: str, copy: Path) -> None:
    """The code is put where the text says, and every command prints what stands below it."""
    blocks = walks()[title]
    if "scalar type" in title:
        take_out("f16", copy)
    assert {"python", "console"} <= {block.kind for block in blocks}
    for block in blocks:
        if block.kind in ("python", "text"):
            write(copy, block)
            continue
        for command, output in commands(block):
            shown = run(command, copy)
            matches = doctest.OutputChecker().check_output(output, shown, FLAGS)
            assert matches, f"{command} printed:\n{shown}"


def test_every_walk_is_there() -> None:
    """What is added most often has a walk."""
    titles = walks().keys()

    for what in (
        "pattern",
        "rule",
        "scalar function",
        "scalar type",
        "back end",
        "benchmark",
    ):
        assert any(what in title for title in titles), what


@pytest.mark.parametrize(
    ("title", "place"),
    [
        ("How to add a scalar type", "semantics/syntax/types.py"),
        ("How to add a back end", "compiler/dialects/serial"),
    ],
)
def test_what_is_added_stands_in_one_place(title: str, place: str) -> None:
    """A scalar type is in one file, a back end in one folder; besides it there is only the program that uses it."""
    found = [
        Path(match["file"])
        for block in walks()[title]
        if (match := NEW.search(block.before) or BESIDE.search(block.before)) is not None
    ]

    assert Path("mine.py") in found
    assert any(file.is_relative_to(place) for file in found)
    assert all(file.is_relative_to(place) for file in found if file != Path("mine.py"))
