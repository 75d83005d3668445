"""A folder of C: all finds listed, counted by kind, labelled by hand."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.command_line import command, here
from relift.compiler.idioms import collection as module
from relift.compiler.idioms.collection import Collection, collected, in_file, labels_in, works_in
from relift.compiler.idioms.lift import lifted_function
from relift.processes.executors import on

FOLDER = Path(__file__).parent / "programs"


def collection(folder: Path, labels: Any = None) -> Collection:
    """What is found in all files of a folder."""
    *_, found = collected(works_in(folder), labels)
    return found


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


def _after_step(f: Any, *given: Any) -> Any:
    """The first function as it is; in the second one the work does not end."""
    if f.name == "total":
        time.sleep(60)
    return lifted_function(f, *given)


def test_a_file_whose_time_ends_is_cut_and_keeps_what_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The function in which it was is named, and the finds of those before it are there."""
    monkeypatch.setattr(module, "lifted_function", _after_step)
    work, *_ = works_in(FOLDER, seconds=2)
    begin = time.monotonic()
    found = in_file(work)
    assert time.monotonic() - begin < 20
    assert [f.function for f in found.finds] == ["step"]
    assert found.cut == "cut after 2 s in total"


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (lambda: os._exit(3), "its process ended in step"),
        (lambda: 1 // 0, "failed (ZeroDivisionError: integer division or modulo by zero) in step"),
    ],
)
def test_a_file_whose_process_ends_is_named(
    ends: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ends the work on a file ends no other one."""
    monkeypatch.setattr(module, "lifted_function", lambda f, *given: ends())
    work, *_ = works_in(FOLDER)
    assert in_file(work).cut == said


def test_several_processes_find_the_same() -> None:
    """In the order of the files, whoever looks at them."""
    with on(2) as executor:
        *_, found = collected(works_in(FOLDER), None, executor)
    assert found.to_json() == collection(FOLDER).to_json()


def test_what_is_found_is_written_after_each_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ctrl-C after the first file leaves its finds, printed, written and counted, and says what is left."""

    def interrupted(*given: Any) -> Iterator[Collection]:
        yield next(collected(*given))
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "collected", interrupted)
    out = tmp_path / "finds.json"
    done = here("lift", str(FOLDER), "--out", str(out))
    assert (done.returncode, done.stderr) == (130, "relift: interrupted\n")
    assert "heat.c:13: total: scalar (reduction)" in done.stdout
    assert "2 files are not looked at, from letters.c on" in done.stdout
    for written in (out.read_text(), here("lift", str(FOLDER), "--json").stdout):
        known = json.loads(written)
        assert [f["function"] for f in known["finds"]] == ["step", "total"]
        assert known["left"] == ["letters.c", "wrong.c"]


def test_a_folder_that_cannot_be_read_or_has_no_c_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In one line, with status 2; it is not a folder in which nothing is found."""
    assert command("lift", str(tmp_path)) == (2, f"relift: {tmp_path} has no C files (*.c)\n")

    def refused(path: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refused)
    said = f"relift: cannot read {tmp_path}: Permission denied\n"
    assert command("lift", str(tmp_path)) == (2, said)


def test_what_is_for_folders_is_refused_for_a_file() -> None:
    """Nothing would read it."""
    file = str(FOLDER / "letters.c")
    status, said = command("lift", file, "--workers", "2")
    assert status == 2
    assert "--workers 2" in said
