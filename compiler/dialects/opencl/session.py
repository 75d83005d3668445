"""Running a compiled program through pyopencl."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from relift.compiler.bench.bundle_runner import EXACT, for_device, in_order
from relift.compiler.devices.naming import Device, label
from relift.compiler.devices.survey import REASSOCIATES, defects, require_alive
from relift.compiler.dialects.backend import Session
from relift.compiler.dialects.opencl.halves import EXTENSION, without_halves
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.dialects.opencl.queue import OpenCLRow, queue_of
from relift.compiler.dialects.reading import HALVES, understood
from relift.compiler.running.arrays.buffers import Held, Row, on_host
from relift.compiler.running.arrays.device_array import Resident
from relift.compiler.running.launch import Launch
from relift.compiler.running.processes.building import build, build_here
from relift.compiler.running.session import check_limits, plan_at
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.types import boolean

if TYPE_CHECKING:
    import pyopencl as cl


class OpenCLSession(Session):
    """A program built for one device; raises `Unsupported` with the build log when that fails.

    With `apart`, as always but in a process made to be lost, it is built in a child process first.
    """

    def __init__(
        self,
        source: str,
        plan: Launch,
        device: cl.Device,
        options: tuple[str, ...] = (),
        *,
        apart: bool = True,
    ) -> None:

        self._plan, self._device = plan, device
        self._explained = _Explained(device, plan.program, apart=apart)
        self.unknown: list[str] = []
        self._queue, self._lock = queue_of(device), Lock()  # a kernel has one set of arguments
        check_limits(plan, self.device)
        if apart and EXACT in source and REASSOCIATES in defects(self.device):
            source = in_order(source)
        if HALVES.search(source) and EXTENSION not in self.device.extensions:
            tree = understood(source, f"{label(self.device)} has no {EXTENSION}", options)
            source = OpenCL().source(without_halves(tree))
        source = for_device(source, self.device)
        program = (build if apart else build_here)(self._queue.context, source, options)
        self._kernels = [_kernel(program, k.name, device) for k in plan.kernels]

    @property
    def device(self) -> Device:
        """The device that it is built for."""
        return self._device

    def enqueue(self, rows: Mapping[str, Held], *, in_place: bool = False) -> dict[str, Resident]:
        """Run all kernels, without waiting for them."""
        with self._explained, self._lock:
            plan = plan_at(self._plan, rows)
            arguments = self._arguments(plan, rows, in_place=in_place)
            found = {b.name: arguments[b.name] for b in plan.buffers if b.role == "output"}
            for event in self._launch(plan, arguments, self._queue.queue)[-1:]:
                self._queue.keep(event, arguments)
                for row in found.values():
                    row.event = event
            return found

    def run(self, rows: Mapping[str, Held]) -> list[Row]:
        """The results, when they are there."""
        with self._explained:
            return super().run(rows)

    def timed(self, rows: Mapping[str, Held], repeats: int) -> list[float]:
        """Seconds of each run, summed over its kernels; the first run, which compiles, is not counted."""
        with self._explained, self._lock:
            plan = plan_at(self._plan, rows)
            arguments, queue = self._arguments(plan, rows), self._queue.clocked
            self._queue.queue.finish()
            self._launch(plan, arguments, queue)
            queue.finish()
            times: list[float] = []
            for _ in range(repeats):
                events = self._launch(plan, arguments, queue)
                queue.finish()
                times.append(sum((e.profile.end - e.profile.start) * 1e-9 for e in events))
            return times

    def _arguments(
        self, plan: Launch, rows: Mapping[str, Held], *, in_place: bool = False
    ) -> dict[str, Any]:
        placed = self._queue.around if in_place else self._queue.put
        found: dict[str, Any] = {}
        for b in plan.buffers:
            given = rows.get(b.name)
            if given is None:
                found[b.name] = self._queue.row(*b.row, filled=in_place)
            elif b.role in ("scalar", "size"):
                value = on_host(given)[0]
                found[b.name] = np.int32(value) if b.scalar == boolean else value
            elif isinstance(given, OpenCLRow):
                found[b.name] = given
            else:
                found[b.name] = placed(on_host(given))
        return found

    def _launch(
        self, plan: Launch, arguments: Mapping[str, Any], queue: cl.CommandQueue
    ) -> list[cl.Event]:
        import pyopencl as cl

        events: list[cl.Event] = []
        for launch, kernel in zip(plan.kernels, self._kernels, strict=True):
            given = [arguments[name] for name in launch.arguments]
            kernel.set_args(*[a.buffer if isinstance(a, OpenCLRow) else a for a in given])
            events += [
                cl.enqueue_nd_range_kernel(queue, kernel, p.range, p.local, p.offset)
                for p in launch.pieces
            ]
        return events


class _Explained:
    """Errors of OpenCL, such as too little memory, become messages that name the device.

    A class, for a generator takes longer than all else that is done once a call.
    """

    def __init__(self, device: Device, program: str, *, apart: bool) -> None:
        import pyopencl as cl

        self._device, self._program, self._apart, self._error = device, program, apart, cl.Error

    def __enter__(self) -> None:
        if self._apart:
            require_alive(self._device)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._error):
            raise Unsupported(
                f"{label(self._device)} cannot run {self._program}: {error}"
            ) from None


def _kernel(program: cl.Program, name: str, device: Device) -> cl.Kernel:
    """A kernel of what was built; raises `Unsupported` where the source has none of that name."""
    import pyopencl as cl

    try:
        return cl.Kernel(program, name)
    except cl.LogicError:
        raise Unsupported(
            f"the source built for {label(device)} has no kernel {name}; compile the program anew"
        ) from None
