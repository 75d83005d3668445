"""The command `relift validate`: its verdicts, its statuses and its JSON."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import relift as rl
from proofs_tests.command_line import command
from relift.cli import main
from relift.compiler.meaning.subjects import NoKernel, Subject, meanings
from relift.compiler.program import compile_program
from relift.processes.executors import Workers
from relift.rewrites.loading import load_program

SCALED = """
import relift as rl
n = rl.nat("n")

@rl.program
def scaled(a: rl.f32, x: rl.f32[n]):
    return rl.map_glb(0)(lambda v: a * v, x)

@rl.program
def wide(x: rl.f32[n]):
    return rl.map_glb(0)(lambda v: v + v, x)

@rl.program
def high(x: rl.f32[n]):
    return rl.reduce(rl.add, 0.0, x)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of programs."""
    path = tmp_path / "programs.py"
    path.write_text(SCALED)
    return path


def test_a_low_level_program_is_validated_for_all_sizes(file: Path) -> None:
    """Status 0, and JSON that says so."""
    assert command("validate", f"{file}:scaled")[0] == 0
    out, before = io.StringIO(), sys.argv
    sys.argv = ["relift", "validate", f"{file}:scaled", "--size", "n=100", "--json"]
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as stop:
        main()
    sys.argv = before
    assert stop.value.code == 0
    found = json.loads(out.getvalue())
    assert found["verdict"] == "validated"
    assert found["kernels"][0]["sizes"] == "these sizes"


def test_several_programs_are_what_they_are_alone(file: Path) -> None:
    """In their order, by this process or another; the worst decides on the status."""
    names = [f"{file}:{name}" for name in ("wide", "scaled", "wide")]
    here = list(meanings([Subject(name) for name in names]))
    assert [m.program for m in here] == ["wide", "scaled", "wide"]
    with Workers(1) as executor:
        assert list(meanings([Subject(name) for name in names], executor)) == here
    status, said = command("validate", *names, "--kernel", "none.cl")
    assert (status, said.count("\n")) == (2, 1)


def test_an_error_of_another_process_is_one_here(file: Path) -> None:
    """The message is the one of a process alone, and its class is."""
    subjects = [Subject(f"{file}:scaled"), Subject(f"{file}:high")]
    with ThreadPoolExecutor(1) as executor, pytest.raises(NoKernel, match="is not low-level"):
        list(meanings(subjects, executor))
    raised = NoKernel("why")
    assert str(pickle.loads(pickle.dumps(raised))) == "why"


def test_bad_input_is_one_line(file: Path) -> None:
    """Status 2: a program without a kernel, a size that it has not."""
    status, said = command("validate", f"{file}:high")
    assert (status, said.count("\n")) == (2, 1)
    assert "is not low-level" in said
    status, said = command("validate", f"{file}:scaled", "--size", "k=3")
    assert status == 2
    assert "scaled has no size k" in said


def test_a_wrong_kernel_is_refuted_by_the_function(file: Path) -> None:
    """`rl.validate` takes a kernel that somebody changed."""
    program = load_program(f"{file}:scaled")
    kernel = compile_program(program)
    assert rl.validate(program, kernel=kernel).ok
    wrong = type(kernel)(kernel.source.replace("a * x[", "a + x["), kernel.plan)
    assert rl.validate(program, kernel=wrong).verdict == "refuted"


TWICE = """
#define FACTOR 2.0f
__kernel void scale(float a, __global const float* src, __global float* dst, int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) dst[i] = a * src[i];
}
"""


def test_a_kernel_that_somebody_wrote(file: Path, tmp_path: Path) -> None:
    """Status 0 for a right one, 1 for a wrong one, 2 for what is not understood, with its line, and for half of a launch."""
    path = tmp_path / "scale.cl"
    path.write_text(TWICE)
    words = (
        "validate",
        f"{file}:scaled",
        "--size",
        "n=20",
        "--kernel",
        str(path),
        "--entry",
        "scale",
    )
    launch = ("--global", "8", "--local", "4", "--argument", "n=20", "--argument", "src=x")
    assert command(*words, *launch)[0] == 0
    path.write_text(TWICE.replace("a * src[i]", "a + src[i]"))
    assert command(*words, *launch)[0] == 1
    path.write_text(TWICE.replace("int i =", "goto end; int i ="))
    status, said = command(*words, *launch)
    assert (status, said.count("\n")) == (2, 1)
    assert "goto in line 4 is not understood" in said
    status, said = command(*words)
    assert (status, said.count("\n")) == (2, 1)
