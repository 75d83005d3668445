"""Building kernels in a child process first: a driver that crashes or hangs there costs one message.

One child serves a process; it starts with the first kernel, and again after one that ended it.  What it built is
used as it is where the driver takes its own binaries back, and kept in the user's cache.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relift.compiler.devices.naming import label
from relift.compiler.devices.verdicts import child_environment, death
from relift.compiler.running.processes.build_child import UNCACHED, Address, addressed, said_of
from relift.files import writable_cache, write_bytes, write_text
from relift.semantics.errors import ReliftError, Unsupported

if TYPE_CHECKING:
    import pyopencl as cl

SECONDS = 300
"""A build that takes longer is given up."""

KEPT_BINARIES, KEPT_SOURCES = 400, 20


def build(context: cl.Context, source: str, options: Sequence[str] = ()) -> cl.Program:
    """A program for the one device of a context; raises `Unsupported` when its driver refuses, crashes or hangs."""
    import pyopencl as cl

    (device,) = context.devices
    binary = _binary(device, source, ("-w", *options))
    if binary:
        with suppress(cl.Error), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            taken: cl.Program = cl.Program(context, [device], [binary]).build(["-w", *options])
            return taken
    return build_here(context, source, options)


def build_here(context: cl.Context, source: str, options: Sequence[str] = ()) -> cl.Program:
    """A program built in this process, whether it survives that or not."""
    import pyopencl as cl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the driver's compiler has to say of good code
            made: cl.Program = cl.Program(context, source).build(
                ["-w", *options], cache_dir=UNCACHED
            )
            return made
    except cl.Error as error:
        raise _refused(
            context.devices[0], source, f"refused the kernel; {{}}\n{said_of(error)}"
        ) from None


# ---- what was built before


def _binary(device: cl.Device, source: str, options: tuple[str, ...]) -> bytes:
    """The binary of a source, from the cache or the child; empty where the driver has none."""
    about = (label(device), device.driver_version, device.platform.version, *options, source)
    digest = hashlib.sha256("\0".join(about).encode()).hexdigest()
    with suppress(ReliftError, OSError):
        return _read(_folder("binaries") / digest)
    binary = _built(device, source, options, digest)
    if binary:
        with suppress(ReliftError, OSError):  # nothing is lost but time
            keep(_folder("binaries"), KEPT_BINARIES)
            write_bytes(_folder("binaries") / digest, hashlib.sha256(binary).digest() + binary)
    return binary


def _folder(name: str) -> Path:
    return writable_cache() / name


def _read(file: Path) -> bytes:
    """What a file holds behind its digest; raises `OSError` when that is not it."""
    content = file.read_bytes()
    if hashlib.sha256(content[32:]).digest() != content[:32]:
        raise OSError(f"{file} is damaged")
    return content[32:]


def keep(folder: Path, number: int) -> None:
    """Remove the oldest half of what a folder of the cache holds when that is too much."""
    if not folder.is_dir() or len(names := os.listdir(folder)) < number:
        return
    made: dict[Path, float] = {}
    for name in names:
        with suppress(OSError):  # another process was as quick
            made[folder / name] = (folder / name).lstat().st_mtime
    for file in sorted(made, key=made.__getitem__)[: number // 2]:
        with suppress(OSError):
            file.unlink()


# ---- the child


class Ended(Exception):
    """The child ended, or was ended, before it answered."""


class Died(Ended):
    """A signal ended it, as it does where a driver's compiler crashes."""


class Crashed(Unsupported):
    """The driver's compiler died of a source."""


class _Child:
    """A process that builds kernels for this one."""

    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the child)
        self._connection, other = Pipe()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).with_name("build_child.py")), str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                env=child_environment(),
                pass_fds=[other.fileno()],
            )  # fmt: skip

    def ask(self, request: tuple[Address, str, list[str]], seconds: int) -> tuple[str, Any]:
        """Its answer; raises `Ended` when there will be none."""
        try:
            self._connection.send((*request, seconds + 10))
            if self._connection.poll(seconds):
                answer: tuple[str, Any] = self._connection.recv()
                return answer
        except (EOFError, OSError):
            raise self._ended(self._process.wait()) from None
        raise Ended(f"did not finish the kernel in {seconds} s")

    def _ended(self, status: int) -> Ended:
        if status < 0:
            return Died(f"crashed on the kernel ({death(status)})")
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return Ended(f"ended on the kernel: {lines[-1][:200] if lines else f'status {status}'}")

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._connection.close()
        self._errors.close()


@dataclass
class _Builds:
    """The child of one process, and the sources that ended one."""

    child: _Child | None = None
    ended: dict[str, Ended] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self) -> None:
        """End the child."""
        if self.child is not None:
            self.child.end()
            self.child = None


@functools.cache
def _builds(process: int) -> _Builds:
    """What belongs to a process: a forked one has no share in the child of its parent."""
    found = _Builds()

    def end() -> None:
        if os.getpid() == process:
            found.end()

    atexit.register(end)
    return found


def _built(device: cl.Device, source: str, options: tuple[str, ...], digest: str) -> bytes:
    """What the child builds; raises `Unsupported` when it refuses or ends."""
    here = _builds(os.getpid())
    with here.lock:
        if digest in here.ended:
            raise _ended(device, source, here.ended[digest])
        if here.child is None:
            here.child = _Child()
        try:
            outcome, content = here.child.ask((_address(device), source, list(options)), SECONDS)
        except Ended as end:
            here.end()
            here.ended[digest] = end
            raise _ended(device, source, end) from None
    if outcome == "refused":
        raise _refused(device, source, "refused the kernel", f"\n{content}")
    binary: bytes = content
    return binary


def _ended(device: cl.Device, source: str, end: Ended) -> Unsupported:
    said = _refused(device, source, str(end))
    return Crashed(said.message) if isinstance(end, Died) else said


def _address(device: cl.Device) -> Address:
    return next(address for address, known in addressed().items() if known == device)


def _refused(device: cl.Device, source: str, what: str, log: str = "") -> Unsupported:
    """The error for a source that the driver does not build, which is kept to be looked at."""
    folder = writable_cache() / "refused"
    keep(folder, KEPT_SOURCES)
    kept = folder / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}-kernel.cl"
    write_text(kept, source)
    return Unsupported(
        f"the OpenCL compiler of {label(device)} {what}; its source is in {kept}{log}"
    )
