"""Libraries in C: built by a C compiler alone, they compute what the interpreter says, and their tests can fail."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import relift as rl
from proofs_tests.command_line import ROOT, here
from relift.compiler.ahead.c_library import CLibrary, c_library, owner
from relift.rewrites.checks.random.draws import KINDS, Kind
from relift.rewrites.checks.random.kernels import random_kernel
from relift.semantics.errors import Unsupported
from relift.semantics.language.programs import Program

n, m = rl.nat("n"), rl.nat("m")
SEEDS = 4


def outcome(library: CLibrary, folder: Path) -> tuple[int, str]:
    """The status of a library's test, built as C11 with warnings as errors but for what is unused, and what it says."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.fail("a C compiler is needed; install gcc")
    for name, text in library.files.items():
        (folder / name).write_text(text)
    sources = [f"{library.name}.c", f"test_{library.name}.c"]
    flags = ["-std=c11", "-O1", "-march=native", "-fopenmp", "-w", "-ffp-contract=fast"]
    subprocess.run([compiler, *flags, *sources, "-o", "test", "-lm"], cwd=folder, check=True)
    done = subprocess.run(
        [folder / "test"], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout


@rl.program
def rows(a: rl.f32, range: rl.f32[n, m], y: rl.f32[m]):
    return rl.map_glb(0)(
        lambda r: rl.reduce_seq(lambda acc, p: acc + p[0] * p[1], a, rl.zip(r, y)), range
    )


@rl.program
def twice(x: rl.f32[n]):
    parts = rl.to_global(rl.map_glb(0)(lambda v: v * v, x))
    return rl.map_glb(0)(lambda v: v + 1.0, parts)


@rl.program
def printf(x: rl.i32[n]):
    return rl.map_glb(0)(lambda v: v - 3, x)


@pytest.mark.parametrize("program", [rows, twice, printf], ids=lambda p: p.name)
def test_a_library_computes_what_the_interpreter_says(program: Program, tmp_path: Path) -> None:
    """With open sizes, arrays between kernels, and names that C or the library has taken."""
    status, said = outcome(c_library(program), tmp_path)

    assert status == 0, said
    assert said == "3 cases agree with the interpreter\n"


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_are_libraries(kind: Kind, tmp_path: Path) -> None:
    """Of groups and single work-items, with barriers, and of any types."""
    built = 0
    for seed in range(100):
        program = random_kernel(seed, kind)
        if program is None:
            continue
        try:
            library = c_library(program)
        except (Unsupported, rl.IllTyped):
            continue
        if library.tested.startswith("nothing"):
            continue
        folder = tmp_path / str(seed)
        folder.mkdir()
        status, said = outcome(library, folder)
        assert status == 0, f"seed {seed}: {said}"
        built += 1
        if built == SEEDS:
            return
    pytest.fail(f"only {built} programs of kind {kind} are libraries")


def test_the_test_of_a_library_can_fail(tmp_path: Path) -> None:
    """A kernel that computes something else is found, with the cell and both values."""
    library = c_library(twice)
    source = library.files["twice.c"]
    wrong = source.replace(" + 1.0f", " + 2.0f")
    assert wrong != source

    changed = CLibrary(library.name, {**library.files, "twice.c": wrong}, library.tested)
    status, said = outcome(changed, tmp_path)

    assert status == 1
    assert "out[0] is" in said


def test_sizes_beyond_the_kernels_are_refused_there(tmp_path: Path) -> None:
    """What they cannot count, and what is less than a program says, is a status with a reason, not a crash."""
    library = c_library(rows)
    calls = """
#include "rows.h"
#include <stdio.h>
int main(void) {
  puts(rows_error(rows(1, 0, 0, 0, 0, 0)));
  puts(rows_error(rows(1LL << 40, 1, 0, 0, 0, 0)));
  puts(rows_error(rows(1 << 20, 1 << 20, 0, 0, 0, 0)));
}
"""
    status, said = outcome(CLibrary("rows", {**library.files, "test_rows.c": calls}, ""), tmp_path)

    assert status == 0
    lines = said.splitlines()
    assert lines[0] == "a size is less than it may be"
    assert lines[1:] == ["the sizes are too large for kernels that count with int"] * 2


def test_a_library_is_built_from_the_command_line(tmp_path: Path) -> None:
    """From a program that says nothing of work-items, at given sizes; a second time into the same folder, too."""
    for _ in range(2):
        done = here("build", str(ROOT / "examples" / "dot.py"), "--size", "n=512", "--out", str(tmp_path / "lib"))  # fmt: skip
        assert done.returncode == 0, done.stderr
    texts = {f.name: f.read_text() for f in (tmp_path / "lib").iterdir()}
    assert set(texts) == {"dot.h", "dot.c", "test_dot.c", "CMakeLists.txt"}
    folder = tmp_path / "built"
    folder.mkdir()

    assert outcome(CLibrary("dot", texts, ""), folder)[0] == 0


def test_a_cmake_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    """That of a user's project, or of another library: what to do with it is said."""
    file = tmp_path / "CMakeLists.txt"
    for text in ("project(mine C)\n", f"{owner('other')}\n"):
        file.write_text(text)
        done = here("build", str(ROOT / "examples" / "dot.py"), "--size", "n=64", "--out", str(tmp_path))  # fmt: skip
        assert done.returncode == 2
        assert (
            f"{file} is not of the library dot; name another folder, {tmp_path / 'dot'}"
            in done.stderr
        )
        assert [f.name for f in tmp_path.iterdir()] == [file.name]
        assert file.read_text() == text
