"""Running a compiled program through pyopencl."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from relift.compiler.bench.bundle_runner import EXACT, for_device, in_order
from relift.compiler.devices.naming import is_simulator, label
from relift.compiler.devices.survey import REASSOCIATES, defects, require_alive
from relift.compiler.dialects.opencl.halves import EXTENSION, without_halves
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.dialects.reading import HALVES, understood
from relift.compiler.lowering.threads import number
from relift.compiler.running.buffers import Row
from relift.compiler.running.building import build, build_here
from relift.compiler.running.launch import Launch
from relift.compiler.running.session import check_limits, memory
from relift.semantics.domains import DTYPES
from relift.semantics.errors import Unsupported

if TYPE_CHECKING:
    import pyopencl as cl


class OpenCLSession:
    """A program built for one device; raises `Unsupported` with the build log when that fails.

    With `apart`, as always but in a process made to be lost, it is built in a child process first.
    """

    def __init__(
        self,
        source: str,
        plan: Launch,
        device: Any,
        options: tuple[str, ...] = (),
        *,
        apart: bool = True,
    ) -> None:
        self._plan, self._apart = plan, apart
        self.unknown: list[str] = []
        self.device: cl.Device = device
        import pyopencl as cl

        self._context = cl.Context([self.device])
        self._queue = cl.CommandQueue(
            self._context, properties=cl.command_queue_properties.PROFILING_ENABLE
        )
        check_limits(plan, self.device)
        if apart and EXACT in source and REASSOCIATES in defects(self.device):
            source = in_order(source)
        if HALVES.search(source) and EXTENSION not in self.device.extensions:
            tree = understood(source, f"{label(self.device)} has no {EXTENSION}", options)
            source = OpenCL().source(without_halves(tree))
        source = for_device(source, self.device)
        program = (build if apart else build_here)(self._context, source, options)
        self._kernels = [cl.Kernel(program, k.name) for k in plan.kernels]

    def run(self, rows: Mapping[str, Row]) -> list[Row]:
        """Copy the arguments, run all kernels, copy the result."""
        import pyopencl as cl

        with self._explained():
            plan = self._plan_of(rows)
            arguments = self._arguments(plan, rows)
            self._launch(plan, arguments)
            results: list[Row] = []
            for buffer in plan.buffers:
                if buffer.role == "output":
                    row = np.empty(number(buffer.cells), DTYPES[buffer.scalar.name])
                    if len(row):
                        cl.enqueue_copy(self._queue, row, arguments[buffer.name])
                    results.append(row)
            self._queue.finish()
            return results

    def timed(self, rows: Mapping[str, Row], repeats: int) -> list[float]:
        """Seconds of each run, summed over its kernels; the first run, which compiles, is not counted."""
        with self._explained():
            plan = self._plan_of(rows)
            arguments = self._arguments(plan, rows)
            self._launch(plan, arguments)
            self._queue.finish()
            times: list[float] = []
            for _ in range(repeats):
                events = self._launch(plan, arguments)
                self._queue.finish()
                times.append(sum((e.profile.end - e.profile.start) * 1e-9 for e in events))
            return times

    @contextmanager
    def _explained(self) -> Generator[None, None, None]:
        """Errors of OpenCL, such as too little memory, become messages that name the device."""
        import pyopencl as cl

        if self._apart:
            require_alive(self.device)
        try:
            yield
        except cl.Error as error:
            raise Unsupported(
                f"{label(self.device)} cannot run {self._plan.program}: {error}"
            ) from None

    def _plan_of(self, rows: Mapping[str, Row]) -> Launch:
        """The launch at the sizes that are among the arguments."""
        return self._plan.at({name: int(rows[name][0]) for name in self._plan.sizes})

    def _arguments(self, plan: Launch, rows: Mapping[str, Row]) -> dict[str, Any]:
        import pyopencl as cl

        found: dict[str, Any] = {}
        for buffer in plan.buffers:
            dtype = DTYPES[buffer.scalar.name]
            if buffer.role in ("scalar", "size"):
                row = rows[buffer.name]
                found[buffer.name] = np.int32(row[0]) if dtype == np.bool_ else row[0]
                continue
            cells = max(1, number(buffer.cells))  # OpenCL has no empty buffers
            content = rows[buffer.name] if buffer.role == "input" and buffer.cells != 0 else None
            if self.device.type & cl.device_type.CPU and not is_simulator(self.device):
                found[buffer.name] = self._shared(cells, dtype, content)
            elif content is not None:
                flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
                found[buffer.name] = cl.Buffer(self._context, flags, hostbuf=content)
            else:
                flags = cl.mem_flags.READ_WRITE
                found[buffer.name] = cl.Buffer(self._context, flags, cells * dtype.itemsize)
        return found

    def _shared(self, cells: int, dtype: np.dtype[Any], content: Row | None) -> cl.Buffer:
        """A buffer of a CPU device in memory of ours, where the driver's own allocation asks for no large pages.

        A simulator gets none: it takes what the host wrote for uninitialised.
        """
        import pyopencl as cl

        aligned = memory(cells, dtype)
        if content is not None:
            aligned[:] = content
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        return cl.Buffer(self._context, flags, hostbuf=aligned)

    def _launch(self, plan: Launch, arguments: Mapping[str, Any]) -> list[cl.Event]:
        import pyopencl as cl

        events: list[cl.Event] = []
        for launch, kernel in zip(plan.kernels, self._kernels, strict=True):
            kernel.set_args(*(arguments[name] for name in launch.arguments))
            events += [
                cl.enqueue_nd_range_kernel(self._queue, kernel, p.range, p.local, p.offset)
                for p in launch.pieces
            ]
        return events
