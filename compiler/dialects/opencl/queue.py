"""The context and the queue of an OpenCL device, which all its sessions share, and the rows in its memory."""

from __future__ import annotations

import os
from collections import defaultdict, deque
from functools import cache, cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from relift.compiler.bench.bundle_runner import fill
from relift.compiler.devices.naming import is_simulator, label
from relift.compiler.running.arrays.buffers import Row
from relift.compiler.running.session import address, memory, poisoned
from relift.semantics.errors import Unsupported

if TYPE_CHECKING:
    import pyopencl as cl

    Memory: TypeAlias = tuple[cl.Buffer, Row | None]
    """A buffer, and where the host reaches it."""


class OpenCLRow:
    """A row in a buffer; that of a CPU lies in memory of ours, where the driver's own allocation asks for no large pages.

    Memory that is `lent` by the queue goes back to it with the row, unless somebody may still look at it.
    """

    def __init__(
        self, queue: Queue, cells: int, dtype: np.dtype[Any], memory: Memory, *, lent: bool = False
    ) -> None:
        self._queue, self._cells, self._dtype, self._lent = queue, cells, dtype, lent
        self.buffer, self._host = memory
        self.event: cl.Event | None = None
        """That of the last kernel that writes it."""

    def __del__(self) -> None:
        if self._lent:
            self._queue.take_back(self._cells, self._dtype, (self.buffer, self._host))

    @property
    def is_shared(self) -> bool:
        """Whether the host reaches the memory."""
        return self._host is not None

    def write(self, row: Row) -> None:
        """Copy a row of the host there."""
        import pyopencl as cl

        if len(row):
            cl.enqueue_copy(self._queue.queue, self.buffer, np.ascontiguousarray(row))

    def read(self) -> Row:
        """The cells, when all that was enqueued before is done."""
        import pyopencl as cl

        if not self._cells:
            return np.empty(0, self._dtype)
        if self._host is None:
            row = np.empty(self._cells, self._dtype)
            cl.enqueue_copy(self._queue.queue, row, self.buffer)
            return row
        mapped, _ = cl.enqueue_map_buffer(
            self._queue.queue, self.buffer, cl.map_flags.READ, 0, (self._cells,), self._dtype
        )
        mapped.base.release(self._queue.queue)
        self._lent = False
        return self._host[: self._cells]

    @property
    def is_ready(self) -> bool:
        """Whether the last kernel that writes it is done."""
        import pyopencl as cl

        if self.event is None:
            return True
        self._queue.queue.flush()  # what nobody waits for might never begin
        return bool(self.event.command_execution_status <= cl.command_execution_status.COMPLETE)

    def wait(self) -> None:
        """Return when the last kernel that writes it is done."""
        if self.event is not None:
            self.event.wait()


class Queue:
    """The one context of a device in this process, and its queue, which keeps the order; it holds what is still in use."""

    def __init__(self, device: cl.Device) -> None:
        import pyopencl as cl

        self.device = device
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self._simulated = is_simulator(device)
        self._shared = bool(device.type & cl.device_type.CPU) and not self._simulated
        self._used: deque[tuple[cl.Event, object]] = deque()
        self._free: defaultdict[tuple[int, np.dtype[Any]], list[Memory]] = defaultdict(list)
        self._freed, self._lock = 0, RLock()  # a row may go while its own thread has it

    @cached_property
    def clocked(self) -> cl.CommandQueue:
        """A queue that writes down when kernels begin and end, which costs something with some drivers."""
        import pyopencl as cl

        return cl.CommandQueue(
            self.context, properties=cl.command_queue_properties.PROFILING_ENABLE
        )

    def row(self, cells: int, dtype: np.dtype[Any], *, filled: bool) -> OpenCLRow:
        """A row whose cells are not written yet, or `filled` with a pattern.

        A simulator, which sees what is not written, gets neither a pattern nor memory of the host, nor memory twice.
        Others get that of rows which are gone: the queue keeps the order, so nothing is read after it is written anew.
        """
        lent = not (filled or self._simulated)
        if lent and (again := self._taken(cells, dtype)) is not None:
            return OpenCLRow(self, cells, dtype, again, lent=True)
        import pyopencl as cl

        if self._shared:
            host = (poisoned if filled else memory)(max(1, cells), dtype)
            return OpenCLRow(self, cells, dtype, self._memory(host), lent=lent)
        size = max(1, cells) * dtype.itemsize  # none is empty
        buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size)
        if filled and not self._simulated:
            fill(self.queue, buffer, size, dtype)
        return OpenCLRow(self, cells, dtype, (buffer, None), lent=lent)

    def take_back(self, cells: int, dtype: np.dtype[Any], memory: Memory) -> None:
        """Keep the memory of a row which is gone for the next one like it, where that is not too much."""
        with self._lock:
            if self._freed + cells * dtype.itemsize <= MOST_FREE:
                self._freed += cells * dtype.itemsize
                self._free[cells, dtype].append(memory)

    def _taken(self, cells: int, dtype: np.dtype[Any]) -> Memory | None:
        with self._lock:
            free = self._free.get((cells, dtype))
            if not free:
                return None
            self._freed -= cells * dtype.itemsize
            return free.pop()

    def _memory(self, host: Row) -> Memory:
        import pyopencl as cl

        fixed = not host.flags.writeable  # an argument, which no kernel writes
        access = cl.mem_flags.READ_ONLY if fixed else cl.mem_flags.READ_WRITE
        return cl.Buffer(self.context, access | cl.mem_flags.USE_HOST_PTR, hostbuf=host), host

    def put(self, row: Row) -> OpenCLRow:
        """A copy of a row."""
        if self._shared:
            host = memory(max(1, len(row)), row.dtype)
            host[: len(row)] = row
            return OpenCLRow(self, len(row), row.dtype, self._memory(host))
        found = self.row(len(row), row.dtype, filled=False)
        found.write(row)
        return found

    def around(self, row: Row) -> OpenCLRow:
        """A row of the host for the time of a call: in place where the device reaches it, and its vectors may lie there."""
        if not self.reaches(row):
            return self.put(row)
        return OpenCLRow(self, len(row), row.dtype, self._memory(row))

    def reaches(self, row: Row) -> bool:
        """Whether the device can use the memory of a row as it is."""
        alignment = LANES * row.dtype.itemsize
        return (
            self._shared
            and len(row) > 0
            and row.flags.c_contiguous
            and address(row) % alignment == 0
        )

    def keep(self, event: cl.Event, things: object) -> None:
        """Hold memory until an event, so that nothing is taken away from a kernel that runs."""
        import pyopencl as cl

        self._used.append((event, things))
        if len(self._used) % AT_ONCE == 0:
            last, _ = self._used[AT_ONCE - 1]  # those before it are done when it is
            if last.command_execution_status <= cl.command_execution_status.COMPLETE:
                for _ in range(AT_ONCE):
                    self._used.popleft()


MOST_FREE = 1 << 24
"""Bytes of rows which are gone that a queue keeps for others: those of large ones cost little beside their kernels."""

AT_ONCE = 16
"""Events of which only the last is asked whether it is there: a driver may take longer to say so than to start a kernel."""

LANES = 16
"""The lanes of the largest OpenCL vector, which a pointer to it must be a multiple of."""


def queue_of(device: cl.Device) -> Queue:
    """The queue of a device in this process, not that of one that it was forked from.

    Raises `Unsupported` where the device cannot be opened any more.
    """
    return _queue_of(device, os.getpid())


@cache
def _queue_of(device: cl.Device, process: int) -> Queue:
    import pyopencl as cl

    try:
        return Queue(device)
    except cl.Error as error:  # it was there when it was found, and when it was tested
        again = "see whether relift devices still lists it"
        raise Unsupported(f"{label(device)} cannot be opened: {error}; {again}") from None
