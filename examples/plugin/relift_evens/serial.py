"""C on the thread that calls it."""

import os
from dataclasses import dataclass

from relift.extending.backends import (
    IS_CPU,
    C,
    CSession,
    Driver,
    Opened,
    Platform,
    SessionTrial,
    compilers,
)


@dataclass(frozen=True)
class Named:
    name: str
    version: str


@dataclass(frozen=True)
class OneThread:
    compiler: compilers.Compiler
    name: str
    driver_version: str
    platform: Platform

    type = IS_CPU
    extensions = "cl_khr_fp64"
    max_compute_units, max_clock_frequency = 1, 0
    max_work_group_size, local_mem_size = 4096, 256 * 1024
    native_vector_width_float = 4


class SerialSession(CSession):
    def _piece(self, name, kernel, piece, given, threads):
        super()._piece(name, kernel, piece, given, 1)


class SerialBackend:
    name, title, install = "serial", "C on one thread", compilers.INSTALL
    stands_in, packs = True, "loop-free"

    def text(self, source):
        return C().file(source)

    def drivers(self):
        return [Driver(d.library, d.named_by, self.name) for d in compilers.drivers()]

    def seen(self, drivers):
        found = [c for d in drivers if (c := compilers.compiler(d.library)) is not None]
        return [OneThread(c, c.name, c.version, Named(self.title, c.version)) for c in found]

    def owns(self, device):
        return isinstance(device, OneThread)

    def opened(self, library, say):
        devices = self.seen([Driver(library, "PATH", self.name)])
        trial = lambda d: SessionTrial(d, self.session)
        return Opened(devices, trial, lambda: [os.path.realpath(library)])

    def session(self, source, plan, device, options=(), *, apart=True):
        return SerialSession(source, plan, device.compiler, options)


BACKEND = SerialBackend()
