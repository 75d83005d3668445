"""A folder of C: all finds listed, counted by kind, labelled by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proofs_tests.command_line import command, here
from relift.compiler.idioms.collection import collection, labels_in

FOLDER = Path(__file__).parent / "programs"


def test_a_folder_is_listed_and_counted() -> None:
    """Programs are folders or files, headers are found, a file that does not compile is named."""
    found = collection(FOLDER)
    assert [(f.program, f.file, f.function, f.line, f.kind, f.idiom) for f in found.finds] == [
        ("heat", "heat/heat.c", "step", 6, "stencil", "stencil"),
        ("heat", "heat/heat.c", "total", 13, "scalar", "reduction"),
        ("letters", "letters.c", "letters", 2, "histogram", "histogram"),
    ]
    assert found.counts() == {"heat": {"stencil": 1, "scalar": 1}, "letters": {"histogram": 1}}
    ((file, reason),) = found.refused
    assert file == "wrong.c"
    assert "use of undeclared identifier 'x'" in reason
    assert found.precision() == {}


def test_labels_give_the_precision(tmp_path: Path) -> None:
    """What --json writes is filled in by hand and given back: how many of those that are labelled are right."""
    listed = json.loads(json.dumps(collection(FOLDER / "heat").to_json()))
    listed["finds"][0]["right"], listed["finds"][1]["right"] = True, False
    labels = tmp_path / "finds.json"
    labels.write_text(json.dumps(listed))
    assert collection(FOLDER / "heat", labels_in(labels)).precision() == {
        "stencil": (1, 1),
        "scalar": (0, 1),
    }
    done = here("lift", str(FOLDER / "heat"), "--labels", str(labels))
    assert done.returncode == 0
    for part in ("heat.c:6: step: stencil (stencil)  right", "scalar (reduction)  WRONG", "1 of 1"):
        assert part in done.stdout


@pytest.mark.parametrize("text", ["{}", "[", '{"finds": [{"right": 3, "file": "f", "line": 1}]}'])
def test_what_is_no_list_of_finds_is_refused(text: str, tmp_path: Path) -> None:
    """A file of labels that is none is named in a line."""
    labels = tmp_path / "labels.json"
    labels.write_text(text)
    status, said = command("lift", str(FOLDER), "--labels", str(labels))
    assert status == 2
    assert "labels.json" in said
    assert said.count("\n") == 1
