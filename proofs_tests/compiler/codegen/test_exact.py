"""A program that grants no other rounding gets none on the device either."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import command, here
from relift.compiler.devices import survey as devices
from relift.compiler.devices.naming import is_simulator
from relift.compiler.devices.survey import ALWAYS, CONTRACTS, DEFECTS, survey
from relift.compiler.program import compile_program
from relift.compiler.running import timing
from relift.compiler.running.compiled import Compiled, load
from relift.rewrites.loading import load_program
from relift.semantics.language.programs import Program

n = rl.nat("n")


@rl.program
def summed(x: rl.f32[n], y: rl.f32[n]):
    """A fold of what is read."""
    return rl.reduce_seq(lambda acc, v: acc + v, 0.0, x)


@rl.program
def product(x: rl.f32[n], y: rl.f32[n]):
    """A fold of products: neither regrouped nor contracted."""
    return rl.reduce_seq(lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(x, y))


@rl.program
def differences(x: rl.f32[n], y: rl.f32[n]):
    """What algebra would cancel."""
    return rl.reduce_seq(lambda acc, p: acc - ((p[0] - p[1]) - p[0]), 0.0, rl.zip(x, y))


@rl.program
def rows(x: rl.f32[n], y: rl.f32[n]):
    """A fold in each work-item, over accumulators in registers."""
    return rl.map_glb(0)(
        lambda row: rl.reduce_seq(lambda acc, v: acc * 0.5 + v, 1.0, row), rl.split(n, x)
    )


SOURCE = """
import relift as rl
n = rl.nat("n")

@rl.program
def square_and_more(x: rl.f32[n]):
    return rl.map(lambda v: v * v + v, x)
"""


def test_exact_kernels_are_exact_to_the_bit(tmp_path: Path) -> None:
    """`a*b + c` is rounded twice, as the interpreter does; contraction is off in the kernel that is written."""
    (tmp_path / "p.py").write_text(SOURCE)
    out = tmp_path / "out"
    done = here(
        "optimize", str(tmp_path / "p.py"), "--size", "n=1000", "--float", "exact", "--budget", "3", "--out", str(out)
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder,) = {file.parent for file in out.rglob("kernel.cl")}
    kernel = load(folder)
    assert "#pragma OPENCL FP_CONTRACT OFF" in kernel.source
    x = np.random.default_rng(0).random(1000, dtype=np.float32)
    np.testing.assert_array_equal(kernel(x).view(np.int32), (x * x + x).view(np.int32))


@pytest.mark.parametrize("program", [summed, product, differences, rows], ids=lambda p: p.name)
def test_exact_folds_are_the_interpreters_to_the_bit(program: Program) -> None:
    """On every device that promises it, an exact kernel folds floats in the order of the term."""
    kernel = compile_program(program.at({"n": 1009}), contract=False)
    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 1009)).astype(np.float32)
    wanted = np.asarray(program(x, y), np.float32).view(np.int32)
    for found in survey():
        if not found.works or (found.device is not None and is_simulator(found.device)):
            continue
        if not {ALWAYS, CONTRACTS} & {*found.defects}:
            got = np.asarray(kernel(x, y, device=found.name), np.float32).view(np.int32)
            np.testing.assert_array_equal(got, wanted, err_msg=found.name)


@pytest.fixture(scope="module")
def program_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the program of these tests, and the folders of its exact and its other kernel beside it."""
    file = tmp_path_factory.mktemp("exact") / "p.py"
    file.write_text(SOURCE)
    for policy in ("exact", "reassociate"):
        done = here(
            "optimize", str(file), "--size", "n=64", "--float", policy, "--budget", "3",
            "--out", str(file.parent / policy),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "the last bits" not in done.stderr, "only the devices of the next test are so bad"
    return file


@pytest.mark.parametrize("defect", [ALWAYS, CONTRACTS])
@pytest.mark.parametrize("policy", ["exact", "reassociate"])
def test_what_no_build_makes_exact_is_said(
    program_file: Path, defect: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a device that regroups or contracts whatever it is told, one line says so of exact kernels only."""
    faulty = tuple(
        replace(f, tested=f.tested and replace(f.tested, defects=(*f.defects, defect)))
        for f in survey()
    )
    monkeypatch.setattr(devices, "survey", lambda: faulty)
    file, of = str(program_file), ("--size", "n=64")
    for words in (
        ("run", file, *of, "--random", "0", "--kernel", str(program_file.parent / policy)),
        ("optimize", file, *of, "--float", policy, "--budget", "2"),
        ("verify", str(program_file.parent / policy), "--devices", "cpu"),
    ):
        status, said = command(*words)
        lines = [line for line in said.splitlines() if line.startswith("--float exact: ")]
        assert len(lines) == (policy == "exact"), (words[0], said)
        assert all(DEFECTS[defect] in line for line in lines)
        assert status == 0 or words[0] == "verify", said


def test_the_kernel_of_a_folder_is_exact_or_refused(program_file: Path) -> None:
    """A kernel that was searched with leave to regroup is not taken for an exact one; an exact one verifies."""
    given = (str(program_file), "--size", "n=64", "--random", "0", "--float", "exact", "--kernel")
    folders = {policy: str(program_file.parent / policy) for policy in ("exact", "reassociate")}
    assert command("run", *given, folders["exact"]) == (0, "")
    for words in (("run", *given), ("verify", "--float", "exact")):
        status, said = command(*words, folders["reassociate"])
        assert status == 2, said
        assert "write one with relift optimize --float exact" in said
    status, said = command("verify", folders["exact"], "--devices", "cpu")
    assert (status, said) == (0, "")


def test_a_policy_that_there_is_not_is_refused_for_low_level_programs_too() -> None:
    """What needs no search refuses a word that is no policy anyway."""
    file = "examples/low_level/maps.py:saxpy_cpu"
    for verb in ("run", "verify"):
        status, said = command(verb, file, "--size", "n=64", "--float", "exactly")
        assert (status, said) == (2, "relift: --float exactly: say reassociate or exact\n")


def test_what_a_search_times_is_exact_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here and in a bundle: no product is contracted with its sum."""
    contracted = "FP_CONTRACT OFF"
    words = ("optimize", "examples/saxpy.py", "--size", "n=64", "--bundle")
    for name, options in (("loose", ()), ("exact", ("--float", "exact"))):
        assert here(*words, str(tmp_path / name), *options).returncode == 0
        texts = [file.read_text("utf-8") for file in (tmp_path / name).rglob("*.cl")]
        assert texts
        assert all((contracted in text) == (name == "exact") for text in texts)

    timed: list[str] = []

    def compiled(low: Program, *, contract: bool) -> Compiled:
        kernel = compile_program(low, contract=contract)
        timed.append(kernel.source)
        return kernel

    monkeypatch.setattr(timing, "compile_program", compiled)
    saxpy = load_program("examples/saxpy.py")
    for policy in ("reassociate", "exact"):
        rl.optimize(
            saxpy, {"n": 64}, tune=True, tuning=tmp_path / f"{policy}.sqlite", float=policy, top=1
        )
        assert timed
        assert all((contracted in text) == (policy == "exact") for text in timed)
        timed.clear()
