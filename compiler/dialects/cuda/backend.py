"""CUDA C++, for the NVIDIA device of this machine; chosen by name, and where no driver of OpenCL has a GPU."""

from __future__ import annotations

import ctypes.util
from collections.abc import Callable, Sequence
from typing import Any

from relift.compiler.devices.drivers import Driver
from relift.compiler.devices.naming import Device
from relift.compiler.dialects.backend import Opened, Session
from relift.compiler.dialects.cuda.printer import Cuda
from relift.compiler.running.arrays.device_array import DeviceArray, Memory
from relift.compiler.running.launch import Launch
from relift.compiler.text.tree import Source
from relift.device import Packing

LIBRARY = "libcuda.so.1"


class CudaBackend:
    """The first device of NVIDIA's driver."""

    name, title, stands_in = "cuda", "CUDA", True
    install = ""
    packs: Packing = "nothing"

    def text(self, source: Source) -> str:
        """A file in CUDA C++."""
        return Cuda().source(source)

    def drivers(self) -> list[Driver]:
        """NVIDIA's, where the linker finds it."""
        return (
            [Driver(LIBRARY, "the linker", self.name)] if ctypes.util.find_library("cuda") else []
        )

    def seen(self, drivers: Sequence[Driver]) -> list[Device]:
        """What the driver has under its first number."""
        from relift.compiler.dialects.cuda.session import device

        return [device()] if drivers else []

    def owns(self, device: Device) -> bool:
        """Whether it is described by CUDA."""
        from relift.compiler.dialects.cuda.session import CudaDevice

        return isinstance(device, CudaDevice)

    def opened(self, library: str, say: Callable[[Any], None]) -> Opened | None:
        """The driver, and NVRTC, which compiles for it."""
        from relift.compiler.devices.trial import SessionTrial
        from relift.compiler.dialects.cuda.session import device
        from relift.semantics.errors import ReliftError

        try:
            found = device()
        except ReliftError as error:
            say({"failure": error.message})
            return None
        return Opened([found], lambda d: SessionTrial(d, self.session), list)

    dlpack_device = (2, 0)

    def borrowed(self, value: Any, name: str) -> DeviceArray:
        """An array of another library on the driver's device, where it lies."""
        from relift.compiler.dialects.cuda.sharing import array_of

        return array_of(value, name)

    def memory(self, device: Device) -> Memory:
        """That of the driver's device."""
        from relift.compiler.dialects.cuda.session import CudaMemory

        return CudaMemory()

    def session(
        self,
        source: str,
        plan: Launch,
        device: Device,
        options: Sequence[str] = (),
        *,
        apart: bool = True,
    ) -> Session:
        """A module of the driver, from a text that the reader understands."""
        from relift.compiler.dialects.cuda.session import CudaSession
        from relift.compiler.dialects.reading import understood

        return CudaSession(
            understood(source, self.title, options),
            plan,
            [o for o in options if not o.startswith("-D")],
        )


BACKEND = CudaBackend()
