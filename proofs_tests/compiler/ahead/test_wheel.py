"""A wheel of kernels, used by a Python that cannot import Relift."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import command
from relift.compiler.ahead.spirv import spirv_compilers, spirv_of
from relift.compiler.ahead.wheel import package_files, write_wheel
from relift.compiler.bench.bundle_runner import Prepared, spirv_for
from relift.compiler.devices.survey import find_device
from relift.semantics.errors import ReliftError, Unsupported

n, m = rl.nat("n"), rl.nat("m")

USE = """
import sys
sys.modules["relift"] = None  # what it would import is not there
import numpy as np
import some_kernels as k
x = np.arange(64, dtype=np.float32)
print((k.scaled(2.0, x) == 2 * x).all(), (k.scaled(3.0, x + 1) == 3 * (x + 1)).all())
print(k.total(x.reshape(8, 8)).tolist() == x.reshape(8, 8).sum(1).tolist(), k.__all__)
try:
    k.scaled(2.0, x[:3])
except TypeError as error:
    print(error)
"""


@rl.program
def scaled(a: rl.f32, x: rl.f32[n]):
    """Each element times a number."""
    return rl.map_glb(0)(lambda v: a * v, x)


@rl.program
def total(xss: rl.f32[n, m]):
    """The sum of each row."""
    return rl.map_glb(0)(lambda row: rl.reduce_seq(rl.add, 0.0, row), xss)


def test_a_wheel_needs_nothing_of_relift(tmp_path: Path) -> None:
    """Each function computes what its program does, with other numbers and arrays at each call."""
    made = {p.name: (p, rl.compile(p)) for p in (scaled.at({"n": 64}), total.at({"n": 8, "m": 8}))}
    wheel = write_wheel(tmp_path / "dist", made, "some_kernels")
    again = write_wheel(tmp_path / "again", made, "some_kernels")
    assert wheel.read_bytes() == again.read_bytes()
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")

    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    ran = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines == [
        "True True",
        "True ['scaled', 'total']",
        "x is float32[3]; float32[64] is taken",
    ]


@pytest.mark.skipif(not list(spirv_compilers()), reason="no clang with llvm-spirv")
def test_a_wheel_with_spirv_needs_no_text_where_the_device_takes_it(tmp_path: Path) -> None:
    """The text is taken out of the package; other devices would need it."""
    program = scaled.at({"n": 64})
    made = {"scaled": (program, rl.compile(program))}
    wheel = write_wheel(tmp_path / "dist", made, "some_kernels", spirv=True)
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    folder = tmp_path / "site" / "some_kernels" / "scaled"
    device = find_device("cpu")
    if spirv_for(device, folder) is None:
        pytest.skip("the device takes no SPIR-V")
    cl = pytest.importorskip("pyopencl")
    (folder / "kernel.cl").write_text("")
    about = json.loads((folder / "function.json").read_text())
    given = {"a": np.array([2.0], np.float32), "x": np.arange(64, dtype=np.float32)}
    prepared = Prepared(cl, cl.Context([device]), folder, about, given)
    prepared.run()
    assert (prepared.results()[0] == 2 * given["x"]).all()


def test_without_a_compiler_of_spirv_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And --spirv is for wheels."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unsupported, match="SPIR-V needs clang and llvm-spirv of one version"):
        spirv_of("")
    status, said = command("build", "none.py", "--out", str(tmp_path), "--spirv")
    assert (status, said.count("\n")) == (2, 1)
    assert "give it with --wheel" in said


def test_what_no_wheel_takes() -> None:
    """Sizes that are open, and names that are no package's, by name."""
    with pytest.raises(Unsupported, match="scaled has open sizes"):
        package_files({"scaled": (scaled, rl.compile(scaled))}, "some_kernels")
    with pytest.raises(ReliftError, match="no name of a package"):
        package_files({}, "some-kernels")
