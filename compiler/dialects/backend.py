"""What a back end is: a folder here whose module `backend` has one, called `BACKEND`.

Nothing else knows which there are: devices, self-tests, the command line and the tests ask `backends`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from relift.compiler.devices.drivers import Driver
from relift.compiler.devices.naming import Device
from relift.compiler.running.arrays.buffers import Held, Row
from relift.compiler.running.arrays.device_array import Memory, Resident
from relift.compiler.running.launch import Launch
from relift.compiler.text.tree import Source
from relift.device import Packing
from relift.plugins import working
from relift.semantics.errors import Unsupported

Repeated: TypeAlias = Callable[[Sequence["Resident | np.generic[Any]"]], "Sequence[Resident]"]
"""Kernels that are launched with rows of the device, and numbers: the rows of the results, which nobody has waited for."""


class Session(Protocol):
    """A program built for one device; no certificate is asked here, but by `session_on`.

    What is `unknown` of the program is said in some lines.
    """

    unknown: list[str]

    @property
    def device(self) -> Device:
        """The device that it is built for."""
        ...

    def enqueue(self, rows: Mapping[str, Held], *, in_place: bool = False) -> dict[str, Resident]:
        """Bring the arguments to the device, and run all kernels there without waiting for them: the results by buffer.

        Rows of the device are used where they lie, as inputs and to be written as outputs; those of the host are
        copied, unless they may be used `in_place`, because the caller waits.  Where it waits, new memory is filled
        with a pattern first: what a kernel leaves out is not what an earlier run wrote there.
        """
        ...

    def repeated(self, given: Sequence[str], sizes: Mapping[str, Held]) -> Repeated:
        """`enqueue` at these sizes, for buffers whose rows are given in this order, again and again."""

        def launched(values: Sequence[Resident | np.generic[Any]]) -> Sequence[Resident]:
            rows = (np.asarray(v).reshape(1) if isinstance(v, np.generic) else v for v in values)
            return tuple(self.enqueue({**sizes, **dict(zip(given, rows, strict=True))}).values())

        return launched

    def run(self, rows: Mapping[str, Held]) -> list[Row]:
        """The results, when they are there."""
        return [resident.read() for resident in self.enqueue(rows, in_place=True).values()]

    def timed(self, rows: Mapping[str, Held], repeats: int) -> list[float]:
        """Seconds of each run, summed over its kernels; a first run is not counted."""
        ...


class Trial(Protocol):
    """A device under test, which builds texts in OpenCL C and runs their kernels."""

    def build(self, source: str) -> Any:
        """What `call` takes for a program."""
        ...

    def call(self, program: Any, kernel: str, x: Row, cells: int, group: int) -> Row:
        """What a kernel of (x, out, n) writes to `out`; eight groups run it."""
        ...

    def speeds(self) -> dict[str, float]:
        """What was measured, under the names that `Tested` has; nothing where that is not compared."""
        ...


@dataclass(frozen=True)
class Opened:
    """A driver that a process of its own has loaded: its devices, how one is tried, and the files that it consists of."""

    devices: Sequence[Device]
    trial: Callable[[Device], Trial]
    files: Callable[[], list[str]]
    survives_forks: bool = False
    """Whether it needs none of its threads in a forked process, where they are not; others are not believed to."""
    saturates: bool = False
    """Whether its language has functions of vectors that saturate."""


class Backend(Protocol):
    """A language in which kernels are printed, and where they run that are."""

    @property
    def name(self) -> str:
        """How a target names it, and its folder is called."""
        ...

    @property
    def title(self) -> str:
        """Its name for a reader, which its devices have for that of a platform."""
        ...

    @property
    def install(self) -> str:
        """What to install where it has no device; empty where that is not to be had by installing something."""
        ...

    @property
    def stands_in(self) -> bool:
        """Whether its devices are used only by name, and where no other back end has one of their kind."""
        ...

    @property
    def packs(self) -> Packing:
        """The kernels of which its devices make vectors, where nothing else is known of them."""
        ...

    def text(self, source: Source) -> str:
        """A file with some kernels."""
        ...

    def drivers(self) -> list[Driver]:
        """What there is on this machine to run them by, working or not."""
        ...

    def seen(self, drivers: Sequence[Driver]) -> list[Device]:
        """The devices that these drivers show to this process, which survives them."""
        ...

    def owns(self, device: Device) -> bool:
        """Whether a device is one of its own."""
        ...

    def opened(self, library: str, say: Callable[[Any], None]) -> Opened | None:
        """A driver for its self-test, in a process made to be lost; none where `say` was told why not."""
        ...

    def memory(self, device: Device) -> Memory:
        """The memory of a device of its own, which its sessions share."""
        ...

    def session(
        self,
        source: str,
        plan: Launch,
        device: Device,
        options: Sequence[str] = (),
        *,
        apart: bool = True,
    ) -> Session:
        """Kernels in OpenCL C for a device; raises `Unsupported`.

        They are built in another process first, but in one made to be lost, which is not `apart`.
        """
        ...


FOLDER = Path(__file__).parent


@cache
def backends() -> Mapping[str, Backend]:
    """By name: one for each folder that has a module `backend`, then those of plug-ins; OpenCL C, which all others are read from, comes first.

    >>> from relift.compiler.dialects.backend import backends
    >>> [*backends()]
    ['opencl', 'c', 'cuda']
    """
    names = sorted(
        (file.parent.name for file in FOLDER.glob("*/backend.py")), key=lambda n: (n != "opencl", n)
    )
    own = {n: importlib.import_module(f"{__package__}.{n}.backend").BACKEND for n in names}
    return own | {n: _backend(value) for n, value in working("backends", unfit).items()}


def unfit(value: object) -> str | None:
    """Why what a plug-in names is no back end; raises what it raises when it is first asked for its devices."""
    lacking = [
        word for word in ("name", "text", "drivers", "seen", "owns", "opened", "session")
        if not hasattr(_backend(value), word)
    ]  # fmt: skip
    if lacking:
        return f"it has no {lacking[0]}"
    found = _backend(value)
    if (FOLDER / found.name).is_dir():
        return f"Relift has a back end {found.name}"
    if found.seen([]) or not all(isinstance(d, Driver) for d in found.drivers()):
        return "it shows devices without a driver, or drivers that are none"
    return None


def _backend(value: Any) -> Backend:
    """The back end that an entry point names, or that the module has which it names."""
    found: Backend = getattr(value, "BACKEND", value)
    return found


def folder_of(name: str) -> Path:
    """The folder in which a back end is written."""
    module = importlib.import_module(type(backends()[name]).__module__)
    return Path(str(module.__file__)).parent


def backend_of(device: Device) -> Backend:
    """The back end that a device belongs to."""
    for b in backends().values():
        if b.owns(device):
            return b
    raise Unsupported(f"{device!r} is no device of a back end")


def written_in(folder: Path) -> bytes:
    """All that stands in the folder of a back end: what a verdict on its devices depends on."""
    files = sorted(f for f in folder.rglob("*") if f.is_file() and f.suffix != ".pyc")
    return b"\0".join(f.read_bytes() for f in files)
