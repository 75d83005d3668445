"""C with OpenMP: for the processor of this machine, where no driver of OpenCL works, and beside those that do."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from relift.compiler.devices.drivers import Driver
from relift.compiler.devices.naming import Device
from relift.compiler.dialects.backend import Opened, Session
from relift.compiler.dialects.c import compiler as known
from relift.compiler.dialects.c.printer import C
from relift.compiler.running.arrays.device_array import Memory
from relift.compiler.running.launch import Launch
from relift.compiler.text.tree import Source
from relift.device import Packing


class CBackend:
    """A device for each C compiler on PATH."""

    name, title, stands_in = "c", known.TITLE, True
    install = known.INSTALL
    packs: Packing = "loop-free"

    def text(self, source: Source) -> str:
        """A file in C."""
        return C().file(source)

    def drivers(self) -> list[Driver]:
        """The compilers."""
        return known.drivers()

    def seen(self, drivers: Sequence[Driver]) -> list[Device]:
        """One for each compiler that says what it is."""
        found = (known.compiler(d.library) for d in drivers)
        return [c for c in found if c is not None]

    def owns(self, device: Device) -> bool:
        """Whether it is a compiler."""
        return isinstance(device, known.Compiler)

    def opened(self, library: str, say: Callable[[Any], None]) -> Opened | None:
        """A compiler, whose file is that of its program."""
        from relift.compiler.devices.trial import SessionTrial

        found = known.compiler(library)
        if found is None:
            say({"failure": "it does not answer --version"})
            return None
        return Opened(
            [found],
            lambda d: SessionTrial(d, self.session),
            lambda: [os.path.realpath(library)],
            survives_forks=True,
        )

    def memory(self, device: Device) -> Memory:
        """That of this process."""
        from relift.compiler.dialects.c.session import CMemory

        return CMemory()

    def session(
        self,
        source: str,
        plan: Launch,
        device: Device,
        options: Sequence[str] = (),
        *,
        apart: bool = True,
    ) -> Session:
        """A library; the compiler that makes it is always a process of its own."""
        from relift.compiler.dialects.c.session import CSession

        assert isinstance(device, known.Compiler), "cannot happen: it owns compilers"
        return CSession(source, plan, device, options)


BACKEND = CBackend()
