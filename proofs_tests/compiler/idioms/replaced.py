"""C files with calls in the place of their loops, as libraries that are run in the place of what LLVM compiled."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from relift.compiler.devices.drivers import drivers, register
from relift.compiler.idioms.execution import Compiled
from relift.compiler.idioms.replacement.replacing import Replacement


def library(
    folder: Path, written: Replacement, *more: Path, flags: Sequence[str] = ()
) -> ctypes.CDLL:
    """The two files as a library, by the C compiler of the system, with more of C."""
    files = {"out.c": written.text, "out.kernels.c": written.kernels}
    for name, text in files.items():
        (folder / name).write_text(text)
    options = ["-O1", "-w", "-shared", "-fPIC", "-ffp-contract=off", "-o", "out.so", *flags]
    subprocess.run(["cc", *options, *files, *map(str, more), "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "out.so"))


def find_opencl(device: str) -> None:
    """Have libraries in this process find the loader and the drivers that Relift finds; raises `Unsupported` without pyopencl."""
    register(drivers())
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    loaded = [line.split()[-1] for line in maps if "libOpenCL" in line]
    if loaded:
        os.environ["RELIFT_OPENCL"] = loaded[0]
    if device:
        os.environ["RELIFT_DEVICE"] = device


class Replaced(Compiled):
    """A library in the place of what LLVM compiled."""

    def __init__(self, found: ctypes.CDLL) -> None:
        self.found = found

    def address(self, name: str) -> int:
        return int(ctypes.addressof(ctypes.c_char.in_dll(self.found, name)))
