"""Campaigns: the same whoever does the work and wherever they were stopped; reports that run by themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from proofs_tests.command_line import command
from proofs_tests.compiler.fuzzing.test_blame import SUBJECT
from relift.compiler.devices.naming import Device, implementation
from relift.compiler.devices.survey import find_device
from relift.compiler.dialects.backend import backend_of
from relift.compiler.fuzzing.campaign import (
    CHUNK,
    FOUND,
    LOG,
    NO_DEVICE,
    Settings,
    campaign,
    round_of,
)
from relift.compiler.fuzzing.judgement.blame import Blame
from relift.compiler.fuzzing.judgement.judging import Seen
from relift.compiler.fuzzing.reports.findings import Finding
from relift.compiler.fuzzing.reports.report import FILES, HOST, PAGE, SOURCE, files_of
from relift.files import write_folder
from relift.semantics.errors import ReliftError, Unsupported

SETTINGS, COUNT = Settings(NO_DEVICE, seed=1), 2 * CHUNK


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The log of a campaign that nothing disturbed."""
    out = tmp_path_factory.mktemp("campaign")
    state = campaign(SETTINGS, out, count=COUNT)
    assert state.tried == COUNT
    assert not state.findings
    return (out / LOG).read_text()


def test_another_executor_finds_the_same(log: str, tmp_path: Path) -> None:
    """Any of `concurrent.futures` will do."""
    with ThreadPoolExecutor(2) as executor:
        campaign(SETTINGS, tmp_path, count=COUNT, executor=executor)
    assert (tmp_path / LOG).read_text() == log


def test_what_was_killed_goes_on(log: str, tmp_path: Path) -> None:
    """Behind the last whole line of its log."""
    campaign(SETTINGS, tmp_path, count=1)
    lines = log.splitlines(keepends=True)
    (tmp_path / LOG).write_text("".join(lines[: COUNT - 3]) + lines[COUNT - 3][:20])
    campaign(SETTINGS, tmp_path, count=COUNT)
    assert (tmp_path / LOG).read_text() == log


def test_another_campaign_takes_another_folder(tmp_path: Path) -> None:
    """And a damaged log is one message."""
    campaign(SETTINGS, tmp_path, count=1)
    with pytest.raises(ReliftError, match="other settings"):
        campaign(replace(SETTINGS, seed=2), tmp_path, count=1)
    (tmp_path / LOG).write_text("not JSON\n")
    with pytest.raises(ReliftError, match="is damaged"):
        campaign(SETTINGS, tmp_path, count=1)


def test_half_of_a_round_changes_what_was_new() -> None:
    """The first has nothing to change."""
    assert not any("/" in name for name in round_of(SETTINGS, 0, []))
    names = round_of(SETTINGS, 1, ["groups 17"])
    assert sum(name.startswith("groups 17/") for name in names) == len(names) // 2
    assert names == round_of(SETTINGS, 1, ["groups 17"])


def test_a_forced_rule_is_found_and_reported(tmp_path: Path) -> None:
    """One folder for the cause, however many programs show it."""
    rules = tmp_path / "rules.py"
    rules.write_text(
        "import relift as rl\nA, B = rl.type_variables('A B')\n(n,) = rl.naturals('n')\n\n"
        "@rl.rule()\ndef backwards(f: rl.Fun[A, B], xs: A[n]):\n"
        "    'Wrong.'\n    return rl.map(f, xs), rl.gather(rl.reverse, rl.map(f, xs))\n"
    )
    out = tmp_path / "out"
    settings = Settings(NO_DEVICE, kinds=("high",), rules=(str(rules),))
    state = campaign(settings, out, count=CHUNK)
    assert set(state.causes) == {"rule backwards"}
    [folder] = (out / FOUND).iterdir()
    assert "backwards" in (folder / PAGE).read_text()


# ---- reports


def finding(seen: Seen) -> Finding:
    """A finding on a device, made by hand."""
    blame = Blame(
        "device", "some device", ("values shown, all data",), "device some device differs"
    )
    return Finding("items 1", SUBJECT, seen, blame)


@pytest.mark.parametrize(("text", "status"), [("", 0), ("v + 2.0f", 1)])
def test_a_report_runs_without_relift(text: str, status: int, tmp_path: Path) -> None:
    """Its script says whether the device computes what the interpreter does; here the text is right, or is not."""
    device = _of_opencl()
    source = SUBJECT.compiled().source
    wrong = source.replace(" + ", " - ") if text else source
    folder, found = tmp_path / "report", Seen("differs", "1 instead of 2", "some device", wrong)
    write_folder(folder, files_of(finding(found)), last=PAGE, known=FILES)
    assert {f.name for f in folder.iterdir()} == set(FILES)
    assert "import relift" not in (folder / HOST).read_text()
    assert "some device computes a wrong result" in (folder / PAGE).read_text()
    assert (folder / SOURCE).read_text() == wrong
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, str(folder / HOST), device.name, implementation(device)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr


def _of_opencl() -> Device:
    """The device of this run, where a script that knows OpenCL only can find it."""
    try:
        device = find_device()
    except Unsupported as error:
        pytest.skip(error.message)
    if backend_of(device).name != "opencl":
        pytest.skip(f"{device.name} is no device of OpenCL")
    return device


# ---- the command


def test_the_command_tries_programs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without a device, their text; status 0 where nothing is found."""
    out = str(tmp_path / "out")
    words = ("fuzz", "--device", "none", "--count", "7", "--seed", "3", "--out", out)
    assert command(*words)[0] == 0
    status, said = command(*words)
    assert status == 2
    assert "--resume goes on with it" in said
    assert command(*words, "--resume", "--json")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind", "fast"], "there are: items, groups"),
        (["--resume"], "there is none"),
        (["--device", "no such device", "--count", "1"], "no device is called"),
    ],
)
def test_bad_input_of_the_command_is_one_line(words: list[str], said: str) -> None:
    """Status 2."""
    status, told = command("fuzz", *words)
    assert (status, told.count("\n")) == (2, 1)
    assert said in told


def test_logs_are_json(log: str) -> None:
    """A line for each case, with what was new about it."""
    lines = [json.loads(line) for line in log.splitlines()]
    assert len({line["case"] for line in lines}) == COUNT
    assert any(line.get("new") for line in lines)
    assert np.all([line["sight"] for line in lines])
