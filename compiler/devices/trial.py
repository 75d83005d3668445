"""The self-test on a device of any back end: kernels on two rows, run through its sessions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relift.compiler.devices.naming import Device
from relift.compiler.dialects.backend import Session
from relift.compiler.running.arrays.buffers import Row
from relift.compiler.running.launch import Buffer, Kernel, Launch, Parameter
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Scalar, f32, i32

GROUPS = 8


class SessionTrial:
    """A device, by what opens a session on it."""

    def __init__(self, device: Device, session: Callable[[str, Launch, Device], Session]) -> None:
        self.device, self._session = device, session

    def build(self, source: str) -> str:
        """The text: it is built with the first of its kernels, and kept."""
        return source

    def call(self, program: str, kernel: str, x: Row, cells: int, group: int = 64) -> Row:
        """What a kernel of (x, out, n) writes to `out`; eight groups run it."""
        plan = _plan(kernel, i32 if x.dtype == np.int32 else f32, len(x), cells, group)
        rows = {"x": x, "n": np.array([len(x)], np.int32)}
        [out] = self._session(program, plan, self.device).run(rows)
        return out

    def speeds(self) -> dict[str, float]:
        """Nothing: what stands in is not compared with others."""
        return {}


def _plan(kernel: str, scalar: Scalar, n: int, cells: int, group: int) -> Launch:
    buffers = (
        Buffer("x", scalar, Size.of(n), "input"),
        Buffer("out", scalar, Size.of(cells), "output"),
        Buffer("n", i32, Size.of(1), "scalar"),
    )
    launched = Kernel(kernel, ("x", "out", "n"), (Size.of(GROUPS * group),), (group,), 0)
    given = (Parameter("x", scalar[n], ("x",)), Parameter("n", i32, ("n",)))
    return Launch("test", given, Parameter("out", scalar[cells], ("out",)), buffers, (launched,))
