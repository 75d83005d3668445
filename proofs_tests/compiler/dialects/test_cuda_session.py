"""What runs kernels in CUDA says where it cannot; that it computes is seen by `python -m proofs_tests.cuda_on_a_gpu`."""

from __future__ import annotations

import ctypes
import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.compiler.programs import CASES
from proofs_tests.documents import measurements
from relift.compiler.dialects.cuda import nvrtc
from relift.compiler.dialects.cuda.printer import options
from relift.compiler.dialects.cuda.session import STATIC_SHARED, CudaSession, Driver
from relift.compiler.program import kernels_of
from relift.semantics.errors import Unsupported

ROOT = Path(__file__).parents[3]
SOURCE, PLAN = kernels_of(CASES[0].make(*CASES[0].small[0]))


def test_without_a_driver_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without an NVIDIA driver has no library to load."""

    def absent(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    with pytest.raises(Unsupported, match="no NVIDIA driver here"):
        Driver()


def test_a_call_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the driver's number and its words."""

    class Failing:
        def cuInit(self, flags: int) -> int:
            return 100

        def cuGetErrorString(self, number: int, said: Any) -> int:
            said._obj.value = b"no CUDA-capable device is detected"
            return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Failing())
    with pytest.raises(Unsupported, match="cuInit failed with 100: no CUDA-capable device"):
        Driver()


def test_large_tiles_are_refused_before_anything_is_built() -> None:
    """A kernel may declare 48 KiB of shared memory, OpenCL drivers allow more; and a group has 1024 work-items at most."""
    kernel = PLAN.kernels[0]
    for large, what in (
        (replace(kernel, local_bytes=STATIC_SHARED + 1), "49153 bytes of local memory, a CUDA"),
        (replace(kernel, local=(2048, 1, 1)), "2048 work-items in a group, a CUDA kernel has 1024"),
    ):
        with pytest.raises(Unsupported, match=what):
            CudaSession(SOURCE, replace(PLAN, kernels=(large,)))


def test_options_are_those_of_opencl() -> None:
    """What flushes small numbers is said once, and what CUDA cannot do is refused by name."""
    both = ["-cl-fast-relaxed-math", "-cl-denorms-are-zero"]
    assert options(SOURCE, both) == ("--use_fast_math",)
    with pytest.raises(Unsupported, match="-cl-opt-disable"):
        options(SOURCE, ["-cl-opt-disable"])


def test_the_compiler_of_a_toolkit_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where no wheel has one."""
    (tmp_path / "lib64").mkdir()
    library = tmp_path / "lib64" / "libnvrtc.so.13"
    library.touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    assert nvrtc.found() == library


def test_the_documents_say_what_was_measured() -> None:
    """The least and the largest ratio of the times that are kept, which are of right results."""
    rows = json.loads((ROOT / "examples" / "low_level" / "cuda_h200.json").read_text("utf-8"))
    ratios = [row["opencl"] / row["cuda"] for row in rows.values()]
    said = f"the {len(rows)} programs above, CUDA is {min(ratios):.2f} to {max(ratios):.2f} times as fast as OpenCL"

    assert said in " ".join(measurements().split())
    assert max(row["error"] for row in rows.values()) < 1e-4
