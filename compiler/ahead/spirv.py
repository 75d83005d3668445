"""Kernels as SPIR-V, where a compiler of it is at hand: clang and the translator of the same LLVM.

A driver that takes SPIR-V needs no compiler of OpenCL C, and nobody reads the text.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from relift.files import temporary_folder
from relift.semantics.errors import ReliftError, Unsupported

NAMES = tuple(
    (f"clang{end}", f"llvm-spirv{end}") for end in (*(f"-{n}" for n in range(25, 13, -1)), "")
)
"""clang and its translator, by the versions that Debian has."""

LIMIT = 300.0
"""Seconds for the kernels of a program."""

FLAGS = (
    *("-c", "-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-O2", "-emit-llvm"),
    *("-Xclang", "-finclude-default-header", "-Xclang", "-cl-ext=+all"),
)


def spirv_compilers() -> Iterator[tuple[str, str]]:
    """clang and its translator, of each version that is installed."""
    for names in NAMES:
        clang, translator = map(shutil.which, names)
        if clang is not None and translator is not None:
            yield clang, translator


def spirv_of(source: str) -> bytes:
    """The SPIR-V of kernels in OpenCL C, for devices of 64 bits; raises `Unsupported` without a compiler of it.

    Products and sums are contracted as the text says: its pragmas hold here, too.
    """
    found = next(spirv_compilers(), None)
    if found is None:
        raise Unsupported(
            "SPIR-V needs clang and llvm-spirv of one version; apt-get install clang-14 llvm-spirv-14, or leave --spirv out"
        )
    clang, translator = found
    with temporary_folder() as folder:
        (folder / "kernel.cl").write_text(source, encoding="utf-8")
        for command in (
            [clang, *FLAGS, "kernel.cl", "-o", "kernel.bc"],
            [translator, "kernel.bc", "-o", "kernel.spv"],
        ):
            try:
                done = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise ReliftError(f"{command[0]} does not work: {error}", place="") from None
            if done.returncode:
                said = " ".join(done.stderr.split())[:200]
                raise ReliftError(f"{command[0]} makes no SPIR-V of the kernels: {said}", place="")
        return (folder / "kernel.spv").read_bytes()
