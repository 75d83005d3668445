"""What a CPU device does, measured once: how fast it moves and multiplies, and which kernels its driver packs.

`relift bench --calibrate` measures and keeps it; `relift.compiler.devices.survey.describe` uses what is kept, and what `relift bench --refit` fitted to programs.  What was
measured of one version of a driver says nothing of another: it is kept under the device's name, its driver's
version and its units.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relift.compiler.devices.caches import data_caches
from relift.compiler.devices.naming import Device, label
from relift.device import Packing
from relift.files import user_cache, write_text
from relift.semantics.errors import ReliftError, Unsupported

if TYPE_CHECKING:
    import pyopencl as cl

FORMAT = 6
ROUNDS = 9
"""Each time is the least of this many."""


@dataclass(frozen=True)
class Calibration:
    """What was measured of a device: GB/s of a sum of two arrays, GFLOP/s of multiply-adds, seconds of a launch behind others.

    `packs` says which kernels run about as fast with scalars as with vectors, `refetch_cycles` what a read takes longer whose line
    others of its set have crowded out of a core's nearest cache, `unseen_rows` how many times as long memory takes more for rows of a page
    that are read side by side, `turned_cycles` what a number takes that a lane reads along a row of its own, `third_gbs` what the last cache sends each core, as far as
    there is one.
    """

    bandwidth_gbs: float
    fma_gflops: float
    launch_seconds: float
    packs: Packing
    refetch_cycles: float
    unseen_rows: float
    turned_cycles: float
    third_gbs: float


def kept(device: Device) -> Calibration | None:
    """What was measured of a device; None when nothing was, or it cannot be read.

    A file that holds something else is as good as none: it is measured again.
    """
    try:
        found = Calibration(**_read(file_of(device)))
        if found.packs not in ("nothing", "loop-free", "loops"):
            return None
        numbers = (found.bandwidth_gbs, found.fma_gflops, found.launch_seconds)
        known = all(isinstance(n, float) and 0 < n < 1e9 for n in numbers)
        more = (found.refetch_cycles, found.unseen_rows, found.turned_cycles, found.third_gbs)
        known &= all(0 <= n < 1e3 for n in more)
        return found if known else None
    except _UNREADABLE:
        return None


def keep(device: Device, found: Calibration) -> Path:
    """Write what was measured, whole or not at all; the file.  What was fitted before is forgotten."""
    _write(file_of(device, FITTED), None)
    return _write(file_of(device), asdict(found))


def kept_fit(device: Device) -> dict[str, Any]:
    """The GB/s and GFLOP/s that were fitted to the times of programs on a device; nothing where none were, or they cannot be read."""
    try:
        data = _read(file_of(device, FITTED))
        known = all(isinstance(data[name], float) and 0 < data[name] < 1e9 for name in _FITS)
        return {name: data[name] for name in _FITS} if known else {}
    except _UNREADABLE:
        return {}


def keep_fit(device: Device, bandwidth_gbs: float, fma_gflops: float) -> Path:
    """Write what was fitted; the file."""
    fits = {"bandwidth_gbs": bandwidth_gbs, "fma_gflops": fma_gflops}
    return _write(file_of(device, FITTED), fits)


FITTED = ".fitted"
_FITS = ("bandwidth_gbs", "fma_gflops")
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)


def _read(file: Path) -> dict[str, Any]:
    """What `_write` wrote; raises one of `_UNREADABLE` for what else may be there."""
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if data.pop("format") != FORMAT:
        raise ValueError("another format")
    return data


def _write(file: Path, data: Mapping[str, object] | None) -> Path:
    """Data to a file, whole or not at all; None: there is no such file any more."""
    try:
        if data is None:
            file.unlink(missing_ok=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, json.dumps({"format": FORMAT, **data}, indent=1) + "\n")
    except OSError as error:
        raise ReliftError(f"{file} cannot be written ({error.strerror})", place="") from None
    return file


def file_of(device: Device, kind: str = "") -> Path:
    """Where what was measured of a device is kept, or what was fitted."""
    words = (
        device.platform.name,
        device.name,
        device.driver_version,
        str(device.max_compute_units),
    )
    name = re.sub(r"[^A-Za-z0-9.]+", "-", " ".join(words)).strip("-")
    return user_cache() / "devices" / f"{name}{kind}.json"


def calibrate(device: Device) -> Calibration:
    """Measure a device of OpenCL; takes a few seconds.  Raises `Unsupported` for others."""
    import pyopencl as cl

    if not isinstance(device, cl.Device):
        raise Unsupported(f"{label(device)} is not measured: only devices of OpenCL are", place="")
    bench = _Bench(device)
    seconds = {name: bench.best(kernel) for name, kernel in _kernels(device).items()}
    units, width = device.max_compute_units, max(1, device.native_vector_width_float)
    flops = 2.0 * units * 16 * 8 * width * _STEPS
    slow = {kind: seconds[f"{kind} scalars"] / seconds[f"{kind} vectors"] for kind in _CHAINS}
    is_packed = {kind: ratio < width / 2 for kind, ratio in slow.items()}
    packs: Packing = "nothing"
    if is_packed["straight"]:
        packs = "loops" if is_packed["loop"] else "loop-free"
    gflops = flops / seconds["fma"] * 1e-9
    refetched = (
        units * (seconds["crowded rows"] - seconds["rows apart"]) / (_ROWS * _PASSES * _READ)
    )
    turned = units * (seconds["rows of lanes"] - seconds["lanes side by side"]) / _CELLS
    longer = seconds["rows of a page"] / seconds["rows in turn"] - 1.0
    near = _near_cells()
    core_hz = gflops * 1e9 / (units * width * 4)
    return Calibration(
        bandwidth_gbs=12.0 * _CELLS / seconds["add"] * 1e-9,
        fma_gflops=gflops,
        launch_seconds=seconds["empty"],
        packs=packs,
        refetch_cycles=max(0.0, refetched * core_hz),
        unseen_rows=max(0.0, longer / (1.0 - 1.0 / _PAGED)),
        turned_cycles=max(0.0, turned * core_hz),
        third_gbs=12.0 * near / seconds["add near"] / units * 1e-9 if near else 0.0,
    )


def _near_cells() -> int:
    """The numbers of each of three arrays that fill half of the last cache."""
    return data_caches().get("third_bytes", 0) // 2 // 12 // 1024 * 1024


_CELLS = 1 << 24
_STEPS = 1 << 16
_CHAINED = 1 << 18
_CHAINS = ("straight", "loop")
_ROWS, _PASSES, _READ = 32, 8, 4096
"""Rows that are read side by side, how often in each place, and at how many places: more rows than a set of a nearest cache has lines."""
_PAGED = 4
"""Rows of a page."""
_ROW_OF_LANE, _AT_ONCE = 34, 5
"""Numbers of a row that a lane goes along, and how many sums it makes of them at a time."""
_LAUNCHED = 100
"""Launches behind one another, of which one is timed: a host does not wait between kernels of a program.

On an AMD EPYC of two cores an empty kernel is there after 24 us of Intel's and 35 of PoCL's, one behind others after 8 and 9.
"""
_PAGE, _LINE = 1024, 16
"""Numbers: rows that are so many apart share the sets of a nearest cache, and with so many more they do not."""


@dataclass(frozen=True)
class _Kernel:
    """A kernel and its work-items; `cells` is how many numbers its arrays have.

    Of one that `is_launch` the time of a launch behind others counts, not that of its work-items.
    """

    source: str
    items: int
    group: int
    cells: int = _CHAINED
    is_launch: bool = False


def _kernels(device: cl.Device) -> dict[str, _Kernel]:
    units, width = device.max_compute_units, max(1, device.native_vector_width_float)
    v = f"float{width}" if width > 1 else "float"
    at = "get_global_id(0)"
    sums = "\n".join(f"{v} s{i} = ({v})(x[{i}]);" for i in range(8))
    steps = "\n".join(f"s{i} = fma(s{i}, a, b);" for i in range(8))
    total = " + ".join(f"s{i}" for i in range(8))
    polynomial = " ".join("v = v * a + b;" for _ in range(64))

    def chain(t: str, body: str) -> str:
        return (
            f"kernel void run(global {t}* x, global {t}* y, global {t}* out) "
            f"{{ const int i = {at}; {t} v = x[i]; const {t} a = y[i], b = y[i]; {body} out[i] = v; }}"
        )

    bodies = {"straight": polynomial, "loop": f"for (int k = 0; k < 4; ++k) {{ {polynomial} }}"}
    hint = f"__attribute__((vec_type_hint({v}))) "
    sums_of_two = (
        f"{hint}kernel void run(global float* x, global float* y, global float* out) {{"
        f" const int i = {at}; vstore16(vload16(i, x) + vload16(i, y), i, out); }}"
    )
    found = {
        "empty": _Kernel(
            "kernel void run(global float* x, global float* y, global float* out) { }",
            units, 1, is_launch=True,
        ),
        "add": _Kernel(sums_of_two, _CELLS // 16, 64, _CELLS),
        "fma": _Kernel(
            f"{hint}kernel void run(global float* x, global float* y, global float* out) {{ {sums}"
            f" const {v} a = ({v})(y[0]), b = ({v})(y[1]);"
            f" for (int k = 0; k < {_STEPS}; ++k) {{ {steps} }}"
            f" *(global {v}*)(out + {width} * {at}) = {total}; }}",
            units * 16, 1,
        ),
    }  # fmt: skip
    for kind, apart in (("crowded rows", _PAGE), ("rows apart", _PAGE + _LINE)):
        # the place depends on what no compiler knows, or all passes would be one
        reads = " ".join(
            f"s{r % 8} = s{r % 8} * a + *(global const {v}*)(x + {width} * {at} + {r * apart} + k * none);"
            for r in range(_ROWS)
        )
        found[kind] = _Kernel(
            f"{hint}kernel void run(global float* x, global float* y, global float* out) {{ {sums}"
            f" const {v} a = ({v})(y[0]); const int none = (int)y[1];"
            f" for (int k = 0; k < {_PASSES}; ++k) {{ {reads} }} *(global {v}*)(out + {width} * {at}) = {total}; }}",
            _READ,
            64,
            max(_ROWS * (_PAGE + _LINE) + _READ * width, _CHAINED),
        )
    if near := _near_cells():
        found["add near"] = _Kernel(sums_of_two, near // 16, 64, near)
    found |= _pages_of_rows(hint) | _rows_of_lanes(hint, v, width)
    for kind, body in bodies.items():
        found[f"{kind} scalars"] = _Kernel(chain("float", body), _CHAINED, 64)
        found[f"{kind} vectors"] = _Kernel(
            hint + chain(v, body), _CHAINED // width, max(1, 64 // width)
        )
    return found


def _pages_of_rows(hint: str) -> dict[str, _Kernel]:
    """Kernels that add up pages of a few rows each, one row after the other or beside one another."""
    at = "get_global_id(0)"
    found: dict[str, _Kernel] = {}
    pages = _CELLS // (16 * _PAGE)
    in_row = _PAGE // _PAGED // 16
    for kind, order in (("rows in turn", (_PAGED, in_row)), ("rows of a page", (in_row, _PAGED))):
        first, second = ("r", "j") if order[0] == _PAGED else ("j", "r")
        found[kind] = _Kernel(
            f"{hint}kernel void run(global float* x, global float* y, global float* out) {{ float16 s = (float16)(0.0f);"
            f" for (int p = 0; p < {pages}; ++p) for (int {first} = 0; {first} < {order[0]}; ++{first})"
            f" for (int {second} = 0; {second} < {order[1]}; ++{second})"
            f" s += *(global const float16*)(x + ({at} * {pages} + p) * {_PAGE} + r * {_PAGE // _PAGED} + 16 * j);"
            f" vstore16(s, {at}, out); }}",
            16,
            1,
            _CELLS,
        )
    return found


def _rows_of_lanes(hint: str, v: str, width: int) -> dict[str, _Kernel]:
    """Kernels whose lanes each go along a row of their own, or along rows that lie side by side: several sums of differences.

    Rows come from memory: where a driver gathers lanes, nothing fetches them before, which is most of what it takes.
    """
    at, apart = f"{width * _ROW_OF_LANE} * get_global_id(0)", _ROW_OF_LANE
    rows = ", ".join(f"x[at + {lane * apart}]" for lane in range(width))
    sums = " ".join(f"{v} s{j} = ({v})(y[{j}]);" for j in range(_AT_ONCE))
    steps = " ".join(
        f"s{j} += (r - y[i + {j * apart}]) * (r - y[i + {j * apart}]);" for j in range(_AT_ONCE)
    )
    total = " + ".join(f"s{j}" for j in range(_AT_ONCE))
    return {
        kind: _Kernel(
            f"{hint}kernel void run(global const float* restrict x, global const float* restrict y, global float* restrict out) {{ {sums}"
            f" for (int i = 0; i < {apart}; ++i) {{ const int at = {at} + {place}; const {v} r = {read}; {steps} }}"
            f" *(global {v}*)(out + {width} * get_global_id(0)) = {total}; }}",
            _CELLS // (width * apart),
            1,
            _CELLS,
        )
        for kind, place, read in (
            ("rows of lanes", "i", f"({v})({rows})"),
            ("lanes side by side", f"{width} * i", f"*(global const {v}*)(x + at)"),
        )
    }


class _Bench:
    """Runs kernels of three arrays on one device."""

    def __init__(self, device: cl.Device) -> None:
        import pyopencl as cl

        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(
            self.context, properties=cl.command_queue_properties.PROFILING_ENABLE
        )

    def best(self, kernel: _Kernel) -> float:
        """The seconds of its fastest run, by the device's clock; those of a launch by ours."""
        import pyopencl as cl

        memories = [_aligned(kernel.cells) for _ in range(3)]
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        buffers = [cl.Buffer(self.context, flags, hostbuf=m) for m in memories]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the driver's compiler has to say
            program = cl.Program(self.context, kernel.source).build(options=["-w"])
        built = cl.Kernel(program, "run")
        built.set_args(*buffers)
        times: list[float] = []
        launches = _LAUNCHED if kernel.is_launch else 1
        for _ in range(ROUNDS + 1):
            before = time.perf_counter()
            events = [
                cl.enqueue_nd_range_kernel(self.queue, built, (kernel.items,), (kernel.group,))
                for _ in range(launches)
            ]
            self.queue.finish()
            wall = (time.perf_counter() - before) / launches
            run = (events[0].profile.end - events[0].profile.start) * 1e-9
            times.append(wall if kernel.is_launch else run)
        return max(min(times[1:]), 1e-7)


def _aligned(cells: int) -> Any:
    """Small numbers, at an address that suits the largest vectors."""
    memory = np.empty(cells * 4 + 128, np.uint8)
    start = -memory.ctypes.data % 128
    found = memory[start : start + cells * 4].view(np.float32)
    found[...] = 0.5
    return found


__all__ = ["Calibration", "calibrate", "file_of", "keep", "kept"]
