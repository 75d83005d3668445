"""OpenCL C: what the compiler writes, for the drivers that the loader knows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from relift.compiler.devices import drivers as known
from relift.compiler.devices.drivers import Driver
from relift.compiler.devices.naming import Device
from relift.compiler.dialects.backend import Opened, Session
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.running.arrays.device_array import Memory
from relift.compiler.running.launch import Launch
from relift.compiler.text.tree import Source
from relift.device import CPU, Packing
from relift.semantics.errors import Unsupported


class OpenCLBackend:
    """The devices of OpenCL."""

    name, title, stands_in = "opencl", "OpenCL", False
    install = known.INSTALL
    packs: Packing = CPU.packs

    def text(self, source: Source) -> str:
        """A file in OpenCL C."""
        return OpenCL().source(source)

    def drivers(self) -> list[Driver]:
        """Those of wheels and of the system."""
        return known.drivers()

    def seen(self, drivers: Sequence[Driver]) -> list[Device]:
        """What the loader shows after it was told of these drivers; nothing where there is no loader."""
        found: list[Device] = []
        try:
            known.register(drivers)
        except Unsupported:
            return found  # as each driver's self-test says
        import pyopencl as cl

        try:
            platforms = cl.get_platforms()
        except cl.Error:
            return found
        for platform in platforms:
            try:
                found += platform.get_devices()
            except cl.Error:
                continue  # a driver without its device
        return found

    def owns(self, device: Device) -> bool:
        """Whether it is one of pyopencl's: of a module that was not imported none is."""
        cl: Any = sys.modules.get("pyopencl")
        return cl is not None and isinstance(device, cl.Device)

    def opened(self, library: str, say: Callable[[Any], None]) -> Opened | None:
        """A driver, loaded as the only one of this process."""
        from relift.compiler.dialects.opencl.trial import opened

        return opened(library, say)

    def memory(self, device: Device) -> Memory:
        """That of the device's one queue."""
        import pyopencl as cl

        from relift.compiler.dialects.opencl.queue import queue_of

        assert isinstance(device, cl.Device), "cannot happen: it owns pyopencl's"
        return queue_of(device)

    def session(
        self,
        source: str,
        plan: Launch,
        device: Device,
        options: Sequence[str] = (),
        *,
        apart: bool = True,
    ) -> Session:
        """A program of OpenCL."""
        import pyopencl as cl

        from relift.compiler.dialects.opencl.session import OpenCLSession

        assert isinstance(device, cl.Device), "cannot happen: it owns pyopencl's"
        return OpenCLSession(source, plan, device, tuple(options), apart=apart)


BACKEND = OpenCLBackend()
