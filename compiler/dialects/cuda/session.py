"""Kernels in CUDA C++ on an NVIDIA device: compiled by NVRTC, launched through the driver's own interface.

It takes the kernels and the launch that OpenCL takes, so that both run the same tree on the same rows.  Nothing but
NVIDIA's driver and NVRTC is needed.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from relift.compiler.bench.bundle_runner import poison
from relift.compiler.devices.naming import IS_GPU
from relift.compiler.dialects.backend import Session
from relift.compiler.dialects.cuda.nvrtc import ptx
from relift.compiler.dialects.cuda.printer import Cuda, options
from relift.compiler.lowering.threads import number
from relift.compiler.running.arrays.buffers import Held, Row, on_host
from relift.compiler.running.arrays.device_array import Exchanged, Resident
from relift.compiler.running.arrays.dlpack import Borrowed, lent
from relift.compiler.running.launch import Launch, Piece
from relift.compiler.running.session import check_memory, plan_at
from relift.compiler.text.tree import Source
from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped, Unsupported

DLPACK = (2, 0)
"""What DLPack calls the first device of the driver."""

LANES = 16
"""The lanes of the longest vector, which lies at a multiple of its bytes."""

NO_TIMES = 2
"""An event that is no clock, which costs less: CU_EVENT_DISABLE_TIMING."""

STATIC_SHARED = 48 * 1024
"""Bytes of `__shared__` arrays that a kernel may declare; more must be asked for at the launch."""
MOST_THREADS = 1024
"""Work-items of a group at most, on every device that NVRTC compiles for."""


class Driver:
    """The functions of `libcuda`, each of which says whether it worked."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise Unsupported(
                "there is no NVIDIA driver here: kernels in CUDA need libcuda.so.1", place=""
            ) from None
        self._context, self._here = ctypes.c_void_p(), threading.local()
        self._here.is_known = True  # until there is a context, none can be made current
        self("cuInit", 0)
        self.device = ctypes.c_int()
        self("cuDeviceGet", ctypes.byref(self.device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self.device)
        self("cuCtxSetCurrent", self._context)
        self._mark = ctypes.c_void_p()
        self("cuEventCreate", ctypes.byref(self._mark), NO_TIMES)
        self._used: deque[tuple[ctypes.c_void_p, object]] = deque()

    def __call__(self, function: str, *arguments: Any) -> None:
        """Call a function; raises `Unsupported` with the driver's own words where it fails."""
        if not getattr(self._here, "is_known", False):  # a thread of autograd's, say
            self._here.is_known = True
            self("cuCtxSetCurrent", self._context)
        failed = getattr(self._library, function)(*arguments)
        if failed:
            said = ctypes.c_char_p()
            self._library.cuGetErrorString(failed, ctypes.byref(said))
            reason = (said.value or b"an unknown error").decode()
            raise Unsupported(f"CUDA: {function} failed with {failed}: {reason}", place="")

    def follow(self, stream: int, before: int) -> None:
        """What is enqueued on a stream from now on begins when all is done that another one has now."""
        if stream != before:
            self("cuEventRecord", self._mark, ctypes.c_void_p(before))
            self("cuStreamWaitEvent", ctypes.c_void_p(stream), self._mark, 0)

    def is_done(self, stream: int) -> bool:
        """Whether all that a stream has is done."""
        answer: int = self._library.cuStreamQuery(ctypes.c_void_p(stream))
        return answer == 0

    def keep(self, stream: int, things: object) -> None:
        """Hold things until all is done that a stream has now."""
        while self._used and self._library.cuEventQuery(self._used[0][0]) == 0:
            event, _ = self._used.popleft()
            self("cuEventDestroy_v2", event)
        event = ctypes.c_void_p()
        self("cuEventCreate", ctypes.byref(event), NO_TIMES)
        self("cuEventRecord", event, ctypes.c_void_p(stream))
        self._used.append((event, things))

    def attribute(self, number_: int) -> int:
        """What the driver says of the device, under a number of its own."""
        value = ctypes.c_int()
        self("cuDeviceGetAttribute", ctypes.byref(value), number_, self.device)
        return value.value

    def architecture(self) -> str:
        """What NVRTC compiles for: the device's own capability."""
        major, minor = (
            self.attribute(n) for n in (75, 76)
        )  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_
        return f"--gpu-architecture=compute_{major}{minor}"

    def described(self) -> CudaDevice:
        """The device in the words of OpenCL."""
        name, version = ctypes.create_string_buffer(256), ctypes.c_int()
        self("cuDeviceGetName", name, 256, self.device)
        self("cuDriverGetVersion", ctypes.byref(version))
        memory = ctypes.c_size_t()
        self("cuDeviceTotalMem_v2", ctypes.byref(memory), self.device)
        return CudaDevice(
            name.value.decode("utf-8", "replace"),
            f"{version.value // 1000}.{version.value % 1000 // 10}",
            max_compute_units=self.attribute(16),
            max_clock_frequency=self.attribute(13) // 1000,
            max_work_group_size=self.attribute(1),
            global_mem_size=memory.value,
        )


@dataclass(frozen=True)
class _Platform:
    name: str
    version: str


@dataclass(frozen=True)
class CudaDevice:
    """A device of NVIDIA's driver, which has a version."""

    name: str
    driver_version: str
    max_compute_units: int
    max_clock_frequency: int
    max_work_group_size: int
    global_mem_size: int

    type: int = IS_GPU
    extensions: str = "cl_khr_fp64"
    native_vector_width_float: int = 1
    local_mem_size: int = STATIC_SHARED

    @property
    def platform(self) -> _Platform:
        """The back end, in the place of an implementation of OpenCL."""
        return _Platform("CUDA", self.driver_version)


@cache
def driver() -> Driver:
    """The driver of this machine; raises `Unsupported` where there is none."""
    return Driver()


@cache
def device() -> CudaDevice:
    """Its first device; raises `Unsupported` where there is no driver."""
    return driver().described()


class CudaRow(Exchanged):
    """A row in the memory of the device, which is given back when nobody has it any more; or one that is `borrowed`.

    `stream` is where it was used last: who uses it on another one waits for that.  `empty` makes a new row in memory of
    the library that it is borrowed of, `lender` is that library's array, where it has one for nothing else.
    """

    is_shared = False
    dlpack_device = DLPACK

    def __init__(
        self,
        cuda: Driver,
        cells: int,
        dtype: np.dtype[Any],
        stream: int = 0,
        borrowed: Borrowed | None = None,
        empty: Callable[[int, np.dtype[Any]], CudaRow] | None = None,
        lender: Any = None,
    ) -> None:
        self._cuda, self._cells, self._dtype, self.stream = cuda, cells, dtype, stream
        self.borrowed, self.empty, self.lender = borrowed, empty, lender
        self._place = ctypes.c_uint64(0 if borrowed is None else borrowed.address)
        if borrowed is None:
            size = ctypes.c_size_t(max(1, cells) * dtype.itemsize)
            cuda("cuMemAlloc_v2", ctypes.byref(self._place), size)
            weakref.finalize(self, cuda, "cuMemFree_v2", self._place)  # which waits for the kernels

    @property
    def address(self) -> int:
        """Where the number lies that a kernel takes."""
        return ctypes.addressof(self._place)

    @property
    def is_aligned(self) -> bool:
        """Whether the longest vector may begin where it begins; what the driver allocates always does."""
        return self._place.value % (LANES * self._dtype.itemsize) == 0

    def use(self, stream: int) -> None:
        """Wait, on a stream, for all that used it before."""
        self._cuda.follow(stream, self.stream)
        self.stream = stream

    def write(self, row: Row) -> None:
        """Copy a row of the host there."""
        row = np.ascontiguousarray(row)
        if row.nbytes:
            given = ctypes.c_void_p(row.ctypes.data)
            size, stream = ctypes.c_size_t(row.nbytes), ctypes.c_void_p(self.stream)
            self._cuda("cuMemcpyHtoDAsync_v2", self._place, given, size, stream)
            self.wait()  # memory that is pinned is read later than this call

    def fill(self) -> None:
        """Fill it with a pattern."""
        size = ctypes.c_size_t(max(1, self._cells) * self._dtype.itemsize)
        pattern, stream = ctypes.c_ubyte(int(poison(self._dtype)[0])), ctypes.c_void_p(self.stream)
        self._cuda("cuMemsetD8Async", self._place, pattern, size, stream)

    def aligned(self) -> CudaRow:
        """A copy of the row on the device, at a place where vectors may lie."""
        found = CudaRow(self._cuda, self._cells, self._dtype, self.stream)
        size = ctypes.c_size_t(self._cells * self._dtype.itemsize)
        if size.value:
            stream = ctypes.c_void_p(self.stream)
            self._cuda("cuMemcpyDtoDAsync_v2", found._place, self._place, size, stream)
        return found

    def read(self) -> Row:
        """A copy, when the kernels that use it are done."""
        row = np.empty(self._cells, self._dtype)
        self.wait()
        if row.nbytes:
            to = ctypes.c_void_p(row.ctypes.data)
            self._cuda("cuMemcpyDtoH_v2", to, self._place, ctypes.c_size_t(row.nbytes))
        return row

    @property
    def is_ready(self) -> bool:
        """Whether the kernels that use it are done."""
        return self._cuda.is_done(self.stream)

    def wait(self) -> None:
        """Return when the kernels that use it are done."""
        self._cuda("cuStreamSynchronize", ctypes.c_void_p(self.stream))

    def lent(self, shape: tuple[int, ...], stream: int | None) -> Any:
        """A capsule of DLPack, for one who goes on on a stream: none and 1 are the driver's own, -1 is nobody who waits."""
        if stream != -1:
            self._cuda.follow(0 if stream in (None, 1) else int(stream or 0), self.stream)
        return lent(self._place.value, shape, self._dtype, DLPACK, self)


class CudaMemory:
    """The memory of the driver's device."""

    def put(self, row: Row) -> CudaRow:
        """A copy of a row."""
        found = CudaRow(driver(), len(row), row.dtype)
        found.write(row)
        return found


class CudaSession(Session):
    """A program built for the first NVIDIA device, with options named as OpenCL does; raises `Unsupported` when that fails.

    As a `Session`, it asks no certificate.
    """

    def __init__(self, source: Source, plan: Launch, opencl: Sequence[str] = ()) -> None:
        wanted = plan.too_large(STATIC_SHARED, MOST_THREADS, "a CUDA kernel")
        if wanted is not None:
            raise Unsupported(wanted)
        check_memory(plan, device())
        self._plan, self._cuda = plan, driver()
        self._stream, self._lock = 0, threading.Lock()
        self.unknown: list[str] = []
        code = ptx(Cuda().source(source), (self._cuda.architecture(), *options(source, opencl)))
        self._module = ctypes.c_void_p()
        self._cuda("cuModuleLoadData", ctypes.byref(self._module), code.encode())
        self._kernels = {k.name: self._function(k.name) for k in plan.kernels}
        self._moved = True
        self._offset, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._cuda(
            "cuModuleGetGlobal_v2",
            ctypes.byref(self._offset), ctypes.byref(size), self._module, b"relift_offset",
        )  # fmt: skip

    def _function(self, name: str) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        self._cuda("cuModuleGetFunction", ctypes.byref(found), self._module, name.encode())
        return found

    @property
    def device(self) -> CudaDevice:
        """The device of the driver."""
        return device()

    def enqueue(self, rows: Mapping[str, Held], *, in_place: bool = False) -> dict[str, Resident]:
        """Launch all kernels on the stream of the arguments, which is the driver's own where they have none."""
        with self._lock:  # a kernel has one place for where its groups start
            plan, places, stream = self._placed(rows, filled=in_place)
            self._launch(plan, places, stream)
            return {b.name: places[b.name] for b in plan.buffers if b.role == "output"}

    def timed(self, rows: Mapping[str, Held], repeats: int) -> list[float]:
        """Seconds of each run from the first kernel to the last, by the device's clock; a first run is not counted."""
        plan, places, stream = self._placed(rows)
        self._launch(plan, places, stream)
        begin, end, on = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(stream)
        for event in (begin, end):
            self._cuda("cuEventCreate", ctypes.byref(event), 0)
        times: list[float] = []
        for _ in range(repeats):
            self._cuda("cuEventRecord", begin, on)
            self._launch(plan, places, stream)
            self._cuda("cuEventRecord", end, on)
            self._cuda("cuEventSynchronize", end)
            milliseconds = ctypes.c_float()
            self._cuda("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
            times.append(milliseconds.value * 1e-3)
        return times

    def _placed(
        self, rows: Mapping[str, Held], *, filled: bool = False
    ) -> tuple[Launch, dict[str, Any], int]:
        """The launch at the sizes of the rows, what each buffer is there, a number or a row of the device, and the stream."""
        plan = plan_at(self._plan, rows, self.device if self._plan.sizes else None)
        given_rows = [r for r in rows.values() if isinstance(r, CudaRow)]
        first = next((r for r in given_rows if r.borrowed), next(iter(given_rows), None))
        stream = 0 if first is None else first.stream
        empty = None if first is None else first.empty
        places: dict[str, Any] = {}
        for b in plan.buffers:
            dtype, given = DTYPES[b.scalar.name], rows.get(b.name)
            if given is not None and b.role in ("scalar", "size"):
                places[b.name] = on_host(given).astype(np.int32 if dtype == np.bool_ else dtype)
            elif isinstance(given, CudaRow):
                given.use(stream)
                places[b.name] = _usable(given, b.role, b.name)
            else:
                cells = number(b.cells)
                row = (
                    CudaRow(self._cuda, cells, dtype, stream)
                    if empty is None
                    else empty(cells, dtype)
                )
                row.use(stream)
                places[b.name] = row
                if given is not None:
                    row.write(on_host(given))
                elif filled:
                    row.fill()
        return plan, places, stream

    def _launch(self, plan: Launch, places: Mapping[str, Any], stream: int) -> None:
        self._cuda.follow(stream, self._stream)
        self._stream = stream
        for k in plan.kernels:
            found = [
                m.ctypes.data if isinstance(m := places[a], np.ndarray) else m.address
                for a in k.arguments
            ]
            given = (ctypes.c_void_p * len(found))(*found)
            for piece in k.pieces:
                self._piece(self._kernels[k.name], piece, given, ctypes.c_void_p(stream))
        held = [r for r in places.values() if isinstance(r, CudaRow) and r.borrowed and not r.empty]
        if held:
            self._cuda.keep(stream, held)

    def _piece(
        self, kernel: ctypes.c_void_p, piece: Piece, given: Any, stream: ctypes.c_void_p
    ) -> None:
        """Launch whole groups; those that start behind others are told where."""
        if not all(piece.range):
            return
        offset = (ctypes.c_int * 3)(*piece.offset)
        if any(piece.offset) or self._moved:
            self._cuda("cuMemcpyHtoDAsync_v2", self._offset, offset, ctypes.c_size_t(12), stream)
            self._moved = any(piece.offset)
        local = (*piece.local, 1, 1)[:3]
        groups = [n // m for n, m in itertools.zip_longest(piece.range, piece.local, fillvalue=1)]
        blocks = (*groups, 1, 1)[:3]
        self._cuda("cuLaunchKernel", kernel, *blocks, *local, 0, stream, given, None)


def _usable(row: CudaRow, role: str, name: str) -> CudaRow:
    """A row that vectors can be read of: a borrowed one may begin anywhere; raises `IllTyped` for one that is to be written."""
    if row.borrowed is None:
        return row
    if role != "output":
        return row if row.is_aligned else row.aligned()
    if row.borrowed.is_read_only:
        raise IllTyped(f"{name}: the array is read-only; give a copy of it")
    if not row.is_aligned:
        raise IllTyped(f"{name}: the array begins in the middle of a vector; give a copy of it")
    return row
