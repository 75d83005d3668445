"""Running a compiled program through pyopencl."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from relift.compiler.bench.bundle_runner import EXACT, for_device, in_order
from relift.compiler.devices.naming import Device, implementation, label
from relift.compiler.devices.survey import PACKS, REASSOCIATES, defects, require_alive
from relift.compiler.dialects.backend import Repeated, Session
from relift.compiler.dialects.opencl.halves import EXTENSION, without_halves
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.dialects.opencl.queue import OpenCLRow, queue_of
from relift.compiler.dialects.reading import HALVES, understood
from relift.compiler.lowering.threads import GROUP_LIMIT
from relift.compiler.running.arrays.buffers import Held, Row, on_host
from relift.compiler.running.arrays.device_array import Resident
from relift.compiler.running.launch import Kernel, Launch, Packing, Piece
from relift.compiler.running.processes.building import Crashed, build, build_here
from relift.compiler.running.session import check_limits, plan_at
from relift.semantics.domains import DTYPES
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.types import Scalar, boolean

if TYPE_CHECKING:
    import pyopencl as cl

    _Step: TypeAlias = tuple[cl.Kernel, Sequence[Any], Sequence[Piece]]
    """A kernel, where its arguments are among those of a call, and what is launched."""


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
        self._packing = _packing(device)
        check_limits(plan, self.device)
        if apart and EXACT in source and REASSOCIATES in defects(self.device):
            source = in_order(source)
        if HALVES.search(source) and EXTENSION not in self.device.extensions:
            tree = understood(source, f"{label(self.device)} has no {EXTENSION}", options)
            source = OpenCL().source(without_halves(tree))
        source = for_device(source, self.device)
        try:
            program = (build if apart else build_here)(self._queue.context, source, options)
        except Crashed:  # Intel's makes vectors of a fold of 65 or more of |x|, and dies of it
            if REASSOCIATES not in defects(self.device) or (tried := in_order(source)) == source:
                raise
            program = build(self._queue.context, tried, options)
        built = {k: _kernel(program, k, plan, device) for k in plan.different}
        self._kernels = [built[k] for k in plan.kernels]

    @property
    def device(self) -> Device:
        """The device that it is built for."""
        return self._device

    def enqueue(self, rows: Mapping[str, Held], *, in_place: bool = False) -> dict[str, Resident]:
        """Run all kernels, without waiting for them."""
        with self._explained, self._lock:
            plan = plan_at(self._plan, rows, self._device)
            arguments = self._arguments(plan, rows, in_place=in_place)
            found = {b.name: arguments[b.name] for b in plan.buffers if b.role == "output"}
            self._launch(self._steps(plan), arguments, found.values())
            return found

    def repeated(self, given: Sequence[str], sizes: Mapping[str, Held]) -> Repeated:
        """The same with all that does not depend on the rows done before, for it takes longer than a small kernel."""
        plan = plan_at(self._plan, sizes, self._device)
        known = [on_host(row)[0] for row in sizes.values()]
        made = [b for b in plan.buffers if b.name not in given and b.name not in sizes]
        place = {n: k for k, n in enumerate((*given, *sizes, *(b.name for b in made)))}
        steps = [
            (kernel, [place[a] for a in names], pieces)
            for kernel, names, pieces in self._steps(plan)
        ]
        results = [place[b.name] for b in plan.buffers if b.role == "output"]
        numbers = [(place[b.name], b.scalar) for b in plan.buffers if b.role == "scalar"]
        queue, new = self._queue, [b.row for b in made]

        def launched(values: Sequence[Resident | np.generic[Any]]) -> Sequence[Resident]:
            with self._explained, self._lock:
                arguments: list[Any] = [*values, *known]
                arguments += [queue.row(*row, filled=False) for row in new]
                for k, scalar in numbers:
                    arguments[k] = _number(arguments[k], scalar)
                found = [arguments[k] for k in results]
                self._launch(steps, arguments, found)
                return found

        return launched

    def run(self, rows: Mapping[str, Held]) -> list[Row]:
        """The results, when they are there."""
        with self._explained:
            return super().run(rows)

    def timed(self, rows: Mapping[str, Held], repeats: int) -> list[float]:
        """Seconds of each run, summed over its kernels; the first run, which compiles, is not counted."""
        with self._explained, self._lock:
            plan = plan_at(self._plan, rows, self._device)
            arguments, queue = self._arguments(plan, rows), self._queue.clocked
            self._queue.queue.finish()
            self._enqueued(self._steps(plan), arguments, queue)
            queue.finish()
            times: list[float] = []
            for _ in range(repeats):
                events = self._enqueued(self._steps(plan), arguments, queue)
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
                found[b.name] = _number(given, b.scalar)
            elif isinstance(given, OpenCLRow):
                found[b.name] = given
            else:
                found[b.name] = placed(on_host(given))
        return found

    def _steps(self, plan: Launch) -> Iterator[_Step]:
        for k, kernel in zip(plan.kernels, self._kernels, strict=True):
            yield kernel, k.arguments, k.packed(self._packing) if self._packing else k.pieces

    def _launch(self, steps: Iterable[_Step], arguments: Any, results: Iterable[OpenCLRow]) -> None:
        """Enqueue kernels whose arguments are held, and whose results are there, when the last one is done."""
        for event in self._enqueued(steps, arguments, self._queue.queue)[-1:]:
            self._queue.keep(event, arguments)
            for row in results:
                row.event = event

    def _enqueued(
        self, steps: Iterable[_Step], arguments: Any, queue: cl.CommandQueue
    ) -> list[cl.Event]:
        import pyopencl as cl

        events: list[cl.Event] = []
        for kernel, wanted, pieces in steps:
            given = [arguments[a] for a in wanted]
            kernel.set_args(*[a.buffer if isinstance(a, OpenCLRow) else a for a in given])
            events += [
                cl.enqueue_nd_range_kernel(queue, kernel, p.range, p.local, p.offset)
                for p in pieces
            ]
        return events


def _packing(device: cl.Device) -> Packing | None:
    """How a CPU's driver makes vectors of work-items; None for other devices, and where groups are small."""
    import pyopencl as cl

    most = device.max_work_group_size
    if not device.type & cl.device_type.CPU or most < GROUP_LIMIT:
        return None
    lanes = max(1, device.native_vector_width_float)
    rows = PACKS.get(implementation(device)) == "loops"
    return Packing(lanes, device.max_compute_units, most, rows)


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


def _kernel(program: cl.Program, launch: Kernel, plan: Launch, device: Device) -> cl.Kernel:
    """A kernel of what was built; raises `Unsupported` where the source has none of that name."""
    import pyopencl as cl

    try:
        found = cl.Kernel(program, launch.name)
    except cl.LogicError:
        raise Unsupported(
            f"the source built for {label(device)} has no kernel {launch.name}; compile the program anew"
        ) from None
    if found.num_args == len(launch.arguments):  # else it says so itself, when they are set
        numbers = {b.name: b.scalar for b in plan.buffers if b.role in ("scalar", "size")}
        found.set_scalar_arg_dtypes([_passed(numbers.get(name)) for name in launch.arguments])
    return found


def _number(given: Held | np.generic[Any], scalar: Scalar) -> Any:
    """The value of a scalar, wherever it lies, as it is passed."""
    value = given if isinstance(given, np.generic) else on_host(given)[0]
    return int(value) if scalar == boolean else value


def _passed(scalar: Scalar | None) -> np.dtype[Any] | None:
    """What a number is passed as, which pyopencl would else find out in each call; none for a row."""
    if scalar is None:
        return None
    return np.dtype(np.int32) if scalar == boolean else DTYPES[scalar.name]
