"""The C compilers of the system, and the libraries that they make of kernels, which are kept in the user's cache."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from relift.compiler.devices.drivers import Driver
from relift.compiler.devices.naming import IS_CPU
from relift.compiler.devices.verdicts import processor
from relift.compiler.running.processes.building import keep
from relift.device import memory_here
from relift.files import temporary_folder, writable_cache, write_bytes, write_text
from relift.semantics.errors import ReliftError, Unsupported

NAMES = ("gcc", "clang", "cc")
"""What is looked for on PATH; two names of one program are one compiler."""

TITLE = "C with OpenMP"
INSTALL = "apt-get install gcc"
SECONDS = 300
"""A build that takes longer is given up."""

PATIENCE = 45
"""Seconds of the processor after which a build is tried with less optimisation: a caller waits two minutes at most."""

KEPT = 400

FLAGS = (
    *("-std=c11", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-w"),
    *("-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math"),
)


@dataclass(frozen=True)
class _Platform:
    name: str
    version: str


@dataclass(frozen=True)
class Compiler:
    """A C compiler as a device: what it makes of kernels runs on the processor of this machine."""

    path: str
    version: str

    name: str = ""
    type: int = IS_CPU
    has_half: bool = False
    max_clock_frequency: int = 0
    max_work_group_size: int = 4096
    local_mem_size: int = 256 * 1024

    @property
    def halves_as_they_are(self) -> str:
        """The option that rounds every operation on halves; raises `Unsupported` where there are no halves."""
        if not self.has_half:
            raise Unsupported(f"{self.version} has no _Float16, which floats of 16 bits need")
        clang = "clang" in self.version
        return "-ffloat16-excess-precision=none" if clang else "-fexcess-precision=16"

    @property
    def platform(self) -> _Platform:
        """The back end, in the place of an implementation of OpenCL."""
        return _Platform(TITLE, self.version)

    @property
    def extensions(self) -> str:
        """What of OpenCL's extensions it can do."""
        return "cl_khr_fp64" + " cl_khr_fp16" * self.has_half

    @property
    def driver_version(self) -> str:
        """The version of the compiler."""
        return self.version

    @property
    def max_compute_units(self) -> int:
        """The processors that this process may use."""
        return len(os.sched_getaffinity(0))

    @property
    def global_mem_size(self) -> int:
        """The bytes of this machine's memory."""
        return memory_here()

    @property
    def native_vector_width_float(self) -> int:
        """The lanes of the widest vectors that the processor says to have."""
        known = processor().split()
        widths = {"avx512f": 16, "avx": 8, "avx2": 8}
        return max((widths[flag] for flag in known if flag in widths), default=4)


def drivers() -> list[Driver]:
    """The compilers on PATH, each once."""
    found: dict[str, Driver] = {}
    for name in NAMES:
        path = shutil.which(name)
        if path is not None:
            found.setdefault(os.path.realpath(path), Driver(path, "PATH", "c"))
    return list(found.values())


@cache
def compiler(path: str) -> Compiler | None:
    """A compiler, as it names itself; none where it does not."""
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = said.stdout.splitlines()
    if said.returncode or not lines:
        return None
    known = subprocess.run(
        [path, "-march=native", "-dM", "-E", "-x", "c", os.devnull],
        capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    has_half = "__FLT16_MANT_DIG__" in known.stdout
    *_, model = [line.partition(":")[2] for line in processor().splitlines() if "name" in line] or [
        ""
    ]
    return Compiler(
        path,
        " ".join(lines[0].split()),
        " ".join(model.split()) or platform.machine(),
        has_half=has_half,
    )


def built(by: Compiler, source: str, options: Sequence[str] = ()) -> ctypes.CDLL:
    """The library of a source; raises `Unsupported` with the first error of the compiler."""
    flags = (*FLAGS, *options)
    about = "\0".join((by.path, by.version, processor(), *flags, source))
    digest = hashlib.sha256(about.encode()).hexdigest()[:32]
    folder = writable_cache() / "libraries"
    for file in folder.glob(f"{digest}-*.so"):
        with suppress(OSError):
            if file.name == _named(digest, file.read_bytes()):
                return ctypes.CDLL(str(file))
    content = _compiled(by, source, flags)
    keep(folder, KEPT)
    file = folder / _named(digest, content)
    write_bytes(file, content)
    try:
        return ctypes.CDLL(str(file))
    except OSError as error:
        raise Unsupported(
            f"what {by.version} made of the kernel cannot be loaded: {error}"
        ) from None


def _named(digest: str, content: bytes) -> str:
    """The name of a library says what it was made of, and what it must hold."""
    return f"{digest}-{hashlib.sha256(content).hexdigest()[:32]}.so"


def _compiled(by: Compiler, source: str, flags: Sequence[str]) -> bytes:
    """The library, with less optimisation where the compiler itself fails at more, and with none where it does not end."""
    with temporary_folder() as folder:
        text, library = folder / "kernel.c", folder / "kernel.so"
        text.write_text(source, encoding="utf-8")
        waiting: list[tuple[str, ...]] = [(), ("-fno-tree-vectorize",), ("-O1",), ("-O0",)]
        while True:
            less = waiting.pop(0)
            command = [by.path, *flags, *less, "-o", str(library), str(text), "-lm"]
            status, said = _ran(by, command)
            if status == 0:
                return library.read_bytes()
            if _out_of_time(status, said):
                waiting = waiting[-1:]
            if not waiting or (status > 0 and "internal compiler error" not in said):
                raise _refused(by, source, said)


def _out_of_time(status: int, said: str) -> bool:
    """Whether a compiler, or the part of it that was at work, had no time left."""
    return status == -signal.SIGXCPU or "CPU time limit exceeded" in said


def _ran(by: Compiler, command: Sequence[str]) -> tuple[int, str]:
    limited = ("sh", "-c", 'ulimit -S -t "$0"; exec "$@"', str(PATIENCE))
    try:
        ran = subprocess.run(
            [*limited, *command], capture_output=True, text=True, errors="replace", timeout=SECONDS,
            check=False, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unsupported(f"{by.version} did not finish the kernel in {SECONDS} s") from None
    except OSError as error:
        raise Unsupported(f"{by.path} cannot be run: {error.strerror}") from None
    return ran.returncode, ran.stderr


def _refused(by: Compiler, source: str, said: str) -> Unsupported:
    """The error for a source that the compiler does not take, which is kept to be looked at."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line] or lines or ["without a word"]
    kept: Path = (
        writable_cache()
        / "refused"
        / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}-kernel.c"
    )
    with suppress(ReliftError, OSError):
        write_text(kept, source)
    reason = errors[0].rpartition("kernel.c:")[2][:200]
    return Unsupported(f"{by.version} refused the kernel; its source is in {kept}\n{reason}")
