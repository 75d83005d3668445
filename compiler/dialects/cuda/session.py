"""Kernels in CUDA C++ on an NVIDIA device: compiled by NVRTC, launched through the driver's own interface.

It takes the kernels and the launch that OpenCL takes, so that both run the same tree on the same rows.  Nothing but
NVIDIA's driver and NVRTC is needed.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from relift.compiler.devices.naming import IS_GPU
from relift.compiler.dialects.cuda.nvrtc import ptx
from relift.compiler.dialects.cuda.printer import Cuda, options
from relift.compiler.lowering.threads import number
from relift.compiler.running.buffers import Row
from relift.compiler.running.launch import Launch, Piece
from relift.compiler.text.tree import Source
from relift.semantics.domains import DTYPES
from relift.semantics.errors import Unsupported

STATIC_SHARED = 48 * 1024
"""Bytes of `__shared__` arrays that a kernel may declare; more must be asked for at the launch."""


class Driver:
    """The functions of `libcuda`, each of which says whether it worked."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise Unsupported(
                "there is no NVIDIA driver here: kernels in CUDA need libcuda.so.1", place=""
            ) from None
        self("cuInit", 0)
        self.device = ctypes.c_int()
        self("cuDeviceGet", ctypes.byref(self.device), 0)
        context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self("cuCtxSetCurrent", context)

    def __call__(self, function: str, *arguments: Any) -> None:
        """Call a function; raises `Unsupported` with the driver's own words where it fails."""
        failed = getattr(self._library, function)(*arguments)
        if failed:
            said = ctypes.c_char_p()
            self._library.cuGetErrorString(failed, ctypes.byref(said))
            reason = (said.value or b"an unknown error").decode()
            raise Unsupported(f"CUDA: {function} failed with {failed}: {reason}", place="")

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
        return CudaDevice(
            name.value.decode("utf-8", "replace"),
            f"{version.value // 1000}.{version.value % 1000 // 10}",
            max_compute_units=self.attribute(16),
            max_clock_frequency=self.attribute(13) // 1000,
            max_work_group_size=self.attribute(1),
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


class CudaSession:
    """A program built for the first NVIDIA device, with options named as OpenCL does; raises `Unsupported` when that fails.

    As a `Session`, it asks no certificate.
    """

    def __init__(self, source: Source, plan: Launch, opencl: Sequence[str] = ()) -> None:
        for k in plan.kernels:
            if k.local_bytes > STATIC_SHARED:
                raise Unsupported(
                    f"{k.name} needs {k.local_bytes} bytes of shared memory, and a CUDA kernel may declare "
                    f"{STATIC_SHARED}; take smaller tiles"
                )
        self._plan, self._cuda = plan, driver()
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

    def run(self, rows: Mapping[str, Row]) -> list[Row]:
        """Copy the arguments, run all kernels, copy the result."""
        plan, memory = self._placed(rows)
        self._launch(plan, memory)
        results: list[Row] = []
        for b in plan.buffers:
            if b.role == "output":
                row = np.empty(number(b.cells), DTYPES[b.scalar.name])
                if len(row):
                    to = ctypes.c_void_p(row.ctypes.data)
                    size = ctypes.c_size_t(row.nbytes)
                    self._cuda("cuMemcpyDtoH_v2", to, memory[b.name], size)
                results.append(row)
        self._free(plan, memory)
        return results

    def timed(self, rows: Mapping[str, Row], repeats: int) -> list[float]:
        """Seconds of each run from the first kernel to the last, by the device's clock; a first run is not counted."""
        plan, memory = self._placed(rows)
        self._launch(plan, memory)
        begin, end = ctypes.c_void_p(), ctypes.c_void_p()
        for event in (begin, end):
            self._cuda("cuEventCreate", ctypes.byref(event), 0)
        times: list[float] = []
        for _ in range(repeats):
            self._cuda("cuEventRecord", begin, None)
            self._launch(plan, memory)
            self._cuda("cuEventRecord", end, None)
            self._cuda("cuEventSynchronize", end)
            milliseconds = ctypes.c_float()
            self._cuda("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
            times.append(milliseconds.value * 1e-3)
        self._free(plan, memory)
        return times

    def _placed(self, rows: Mapping[str, Row]) -> tuple[Launch, dict[str, Any]]:
        """The launch at the sizes of the rows, and what each buffer is there: a number, or a place of the device."""
        plan = self._plan.at({name: int(rows[name][0]) for name in self._plan.sizes})
        memory: dict[str, Any] = {}
        for b in plan.buffers:
            dtype = DTYPES[b.scalar.name]
            if b.role in ("scalar", "size"):
                memory[b.name] = rows[b.name].astype(np.int32 if dtype == np.bool_ else dtype)
                continue
            place = ctypes.c_uint64()
            size = max(1, number(b.cells)) * dtype.itemsize
            self._cuda("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(size))
            memory[b.name] = place
            if b.role == "input" and b.cells != 0:
                row = np.ascontiguousarray(rows[b.name])
                given = ctypes.c_void_p(row.ctypes.data)
                self._cuda("cuMemcpyHtoD_v2", place, given, ctypes.c_size_t(row.nbytes))
        return plan, memory

    def _free(self, plan: Launch, memory: Mapping[str, Any]) -> None:
        for b in plan.buffers:
            if b.role not in ("scalar", "size"):
                self._cuda("cuMemFree_v2", memory[b.name])

    def _launch(self, plan: Launch, memory: Mapping[str, Any]) -> None:
        for k in plan.kernels:
            places = [
                m.ctypes.data if isinstance(m := memory[a], np.ndarray) else ctypes.addressof(m)
                for a in k.arguments
            ]
            given = (ctypes.c_void_p * len(places))(*places)
            for piece in k.pieces:
                self._piece(self._kernels[k.name], piece, given)

    def _piece(self, kernel: ctypes.c_void_p, piece: Piece, given: Any) -> None:
        """Launch whole groups; those that start behind others are told where."""
        if not all(piece.range):
            return
        offset = (ctypes.c_int * 3)(*piece.offset)
        if any(piece.offset) or self._moved:
            self._cuda("cuMemcpyHtoD_v2", self._offset, offset, ctypes.c_size_t(12))
            self._moved = any(piece.offset)
        local = (*piece.local, 1, 1)[:3]
        groups = [n // m for n, m in itertools.zip_longest(piece.range, piece.local, fillvalue=1)]
        blocks = (*groups, 1, 1)[:3]
        self._cuda("cuLaunchKernel", kernel, *blocks, *local, 0, None, given, None)
