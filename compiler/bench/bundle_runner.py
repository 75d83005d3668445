"""Runs a bundle: checks every kernel's result, times it, writes results.json.  Needs NumPy and pyopencl only.

    python runner.py [--device gpu] [--only NAME] [--out results.json] [--resume]

Inputs are drawn from a seed.  Results are compared at rows picked from the same seed, with what samples.py
computes in float64 there or with what the bundle brings; the output is filled with a pattern first, so that
a cell that no work-item writes is found.  A time is the device's own, from the start to the end of each kernel, summed over the kernels of a
run; of the runs the median is kept: 30 below 2 ms, 15 below 20 ms, else 10, after 3 that do not count.

This file travels inside bundles as runner.py; it imports nothing of Relift.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import re
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[Any]
Data = dict[str, Any]

SEED = 20261121
PICKED = 16
"""How many rows of a result are compared with samples.py."""

WARM_UPS = 3
RUNS = ((2e-3, 30), (20e-3, 15), (float("inf"), 10))
"""How often a kernel is timed, by its time."""

POISON = np.array([0xA5, 0xFF], np.uint8)
"""The bytes that an output of integers, or of floats, holds before the kernel runs: numbers that nothing computes, or a NaN."""

CHUNK = 1 << 24

FILLED_AT_ONCE = 1 << 28
"""Bytes: NVIDIA's driver does not come back from filling 2^31 of them."""


def drawn(name: str, shape: Sequence[int], dtype: str, draw: Data) -> Row:
    """The values of one component of an input, determined by its name and SEED."""
    generator = np.random.default_rng([SEED, zlib.crc32(name.encode())])
    flat = np.empty(int(np.prod(shape, dtype=np.int64)), dtype)
    low, high = draw["low"], draw["high"]
    for start in range(0, len(flat), CHUNK):
        part = flat[start : start + CHUNK]
        if draw["whole"]:
            part[:] = generator.integers(int(low), int(high), len(part))
        else:
            part[:] = generator.random(len(part), dtype=np.float32)
            if (low, high) != (0.0, 1.0):
                part *= high - low
                part += low
    return flat.reshape(shape)


def inputs_of(entry: Data) -> tuple[dict[str, Row], list[Any]]:
    """The rows by buffer, and the arguments as the functions of samples.py take them."""
    rows: dict[str, Row] = {}
    arguments: list[Any] = []
    for parameter in entry["parameters"]:
        parts = []
        for component in parameter["components"]:
            value = drawn(
                component["buffer"], component["shape"], component["dtype"], parameter["draw"]
            )
            rows[component["buffer"]] = value.reshape(-1)
            parts.append(value[()])
        arguments.append(tuple(parts) if parameter["tuple"] else parts[0])
    return rows, arguments


def picked_rows(length: int, count: int = PICKED) -> Row:
    """Rows to compare: all if there are no more than `count`, else both ends and about as many random ones."""
    if length <= count:
        return np.arange(length)
    generator = np.random.default_rng(SEED)
    return np.unique([0, length - 1, *generator.integers(0, length, count)])


def largest_error(outputs: Sequence[Row], expected: Any, picked: Row) -> float:
    """The largest difference at the picked rows, relative to the largest value there; NaN counts as infinite."""
    parts = expected if isinstance(expected, tuple) else (expected,)
    worst = 0.0
    for output, wanted in zip(outputs, parts, strict=True):
        got = output[picked].astype(np.float64)
        wanted = np.asarray(wanted, np.float64)
        if got.shape != wanted.shape:
            raise ValueError(f"samples.py gives shape {wanted.shape}, the result has {got.shape}")
        scale = max(float(np.max(np.abs(wanted))), 1e-30)
        error = float(np.max(np.abs(got - wanted))) / scale
        worst = max(worst, float("inf") if np.isnan(error) else error)
    return worst


def expected_rows(
    place: Path, entry: Data, samples: Any, length: int, arguments: Sequence[Any]
) -> tuple[Row, Any]:
    """Some rows, and what they must be: as stored in the bundle, or else as samples.py computes them."""
    if "expected" in entry:
        with np.load(place / entry["expected"]) as stored:
            picked, *parts = stored.values()
            return picked, tuple(parts)
    picked = picked_rows(length)
    return picked, getattr(samples, entry["name"])(picked, *arguments)


def unwritten(outputs: Sequence[Row]) -> int:
    """How many cells of the outputs still hold the pattern."""
    cells = ((o.reshape(-1).view(np.uint8).reshape(o.size, -1), poison(o.dtype)) for o in outputs)
    return sum(int(np.count_nonzero(np.all(bytes_ == wanted, axis=1))) for bytes_, wanted in cells)


def dtype_of(scalar: str) -> np.dtype[Any]:
    """The NumPy type of a scalar type, such as f32."""
    return np.dtype("?" if scalar == "boolean" else f"{scalar[0]}{int(scalar[1:]) // 8}")


def poison(dtype: np.dtype[Any]) -> Row:
    """The byte that memory for cells of a type is filled with."""
    return POISON[int(dtype.kind == "f") :][:1]


def fill(queue: Any, buffer: Any, size: int, dtype: np.dtype[Any]) -> None:
    """Fill a buffer with the pattern of a type, in parts."""
    import pyopencl as cl

    for start in range(0, size, FILLED_AT_ONCE):
        part = min(FILLED_AT_ONCE, size - start)
        cl.enqueue_fill_buffer(queue, buffer, poison(dtype), start, part)


def pieces(total: Sequence[int], local: Sequence[int]) -> list[tuple[tuple[int, ...], ...]]:
    """A launch as whole groups, and the work-items that are left: offset, global and local size of each.

    >>> from relift.compiler.bench.bundle_runner import pieces
    >>> pieces([150], [64])
    [((0,), (128,), (64,)), ((128,), (22,), (22,))]
    """
    parts = []
    for n, m in zip(total, local, strict=True):
        whole = n // m * m
        parts.append([p for p in ((0, whole, m), (whole, n - whole, n - whole)) if p[1]])
    return [tuple(zip(*p, strict=True)) for p in itertools.product(*parts)]


def median_of_runs(run: Callable[[], float]) -> tuple[float, list[float]]:
    """The median of the protocol's number of runs, and all of them."""
    *_, last = (run() for _ in range(WARM_UPS))
    count = next(count for limit, count in RUNS if last < limit)
    times = [run() for _ in range(count)]
    return statistics.median(times), times


_LOOKED_UP = re.compile(r"^ +constant (\w+ )(lookup(?:_\d+)?)(\[.*;)\n", re.MULTILINE)
_FLOATS = re.compile(r"\bglobal const float\* (?:restrict )?(\w+)")
_WIDE_LOAD = re.compile(r"\bvload16\(0, (\w+)")
_LOAD_IN_HALVES = """static inline float16 relift_vload16(global const float* p) {
  return (float16)(vload8(0, p), vload8(1, p));
}
"""
_WIDE_CALL = re.compile(
    r"^((float|double)(8|16)) (\w+)\((\w+ x(?:, \w+ y)?(?:, \w+ z)?)\) \{\n"
    r"  return (\w+)\((x(?:, y)?(?:, z)?)\);\n\}",
    re.MULTILINE,
)


EXACT = "#pragma OPENCL FP_CONTRACT OFF"
"""What the source of a kernel that must round as the interpreter does begins with."""

_LOOP = re.compile(r"^([ \t]*)(?:#pragma unroll[^\n]*\n[ \t]*)?(?=(?:for|while) \()", re.MULTILINE)
_KEPT = "#pragma clang loop vectorize(disable) interleave(disable)"
"""What keeps a loop as it is written, with the next one where it has no barrier."""
_NOT_UNROLLED = " unroll(disable)"
"""Turns that a driver unrolls are regrouped as well; Intel's computes nonsense where a loop with a barrier is not."""


def in_order(source: str) -> str:
    r"""OpenCL C whose loops are taken in order by drivers that make vectors of folds of floats.

    >>> from relift.compiler.bench.bundle_runner import in_order
    >>> print(in_order("  #pragma unroll\n  for (;;) {\n  }"))
      #pragma clang loop vectorize(disable) interleave(disable) unroll(disable)
      for (;;) {
      }
    >>> print(in_order("  for (;;) {\n    barrier(CLK_LOCAL_MEM_FENCE);\n  }"))
      #pragma clang loop vectorize(disable) interleave(disable)
      for (;;) {
        barrier(CLK_LOCAL_MEM_FENCE);
      }
    """

    def kept(loop: re.Match[str]) -> str:
        waits = "barrier(" in _body(source, loop.end())
        return f"{loop[1]}{_KEPT}{'' if waits else _NOT_UNROLLED}\n{loop[1]}"

    return _LOOP.sub(kept, source)


def _body(source: str, at: int) -> str:
    """The text of a loop from its head to the brace that ends it."""
    start, depth = max(source.find("{", at), at), 0
    for end, letter in enumerate(source[start:], start):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth <= 0:
            return source[at:end]
    return source[at:]


_COUNTED = re.compile(r"(\bint \w+ = )?get_global_id\(")

_NO_LONGER_THAN_INT = """\
static inline size_t relift_global_id(const uint d) {
  const size_t id = get_global_id(d);
  if (d == 0) __builtin_assume(id <= 2147483647);
  return id;
}
#define get_global_id relift_global_id
"""


def for_device(source: str, device: Any) -> str:
    """The source as a device's driver needs it.

    In halves what PoCL's library cannot do on the vectors of 64 bytes that it lacks.  Intel's compiler is told that the first id is not
    cut off where `int` counts it: else it makes no vectors of neighbours (told so of the second, of rows).  NVIDIA's looks up in global memory.
    """
    lanes = device.native_vector_width_float
    if "PoCL" in device.platform.version and lanes * 4 < 64:
        return in_halves(source)
    if "Intel" in device.platform.name and device.type == 2:  # a CPU
        return with_short_ids(source)
    return in_global_memory(source) if "NVIDIA" in device.platform.name else source


def in_global_memory(source: str) -> str:
    r"""The source with tables that neighbours read at different places outside of kernels: constant memory sends one number at a time.

    >>> from relift.compiler.bench.bundle_runner import in_global_memory
    >>> in_global_memory("kernel void k() {\n  constant int lookup[2] = {3, 4};\n  f(lookup[i]);\n}")
    'global const int lookup_of_0[2] = {3, 4};\nkernel void k() {\n  f(lookup_of_0[i]);\n}'
    """
    first, *kernels = re.split(r"^(?=kernel void )", source, flags=re.MULTILINE)
    declared = ""
    for number, text in enumerate(kernels):
        for t, name, rest in _LOOKED_UP.findall(text):
            declared += f"global const {t}{name}_of_{number}{rest}\n"
            text = re.sub(rf"\b{name}\b", rf"\g<0>_of_{number}", _LOOKED_UP.sub("", text, count=1))
        first += text
    return re.sub(r"\A(?:#pragma.*\n+)*", lambda pragmas: pragmas[0] + declared, first, count=1)


def with_short_ids(source: str) -> str:
    """The source, told that first ids are no longer than `int`, where nothing else counts them.

    A launch whose ids `int` cannot count is refused.

    >>> from relift.compiler.bench.bundle_runner import with_short_ids
    >>> with_short_ids("const int i = get_global_id(0);").startswith("static inline")
    True
    >>> with_short_ids("const long i = get_global_id(0);")
    'const long i = get_global_id(0);'
    """
    short = [m[1] is not None for m in _COUNTED.finditer(source)]
    return _NO_LONGER_THAN_INT + source if short and all(short) else source


def in_halves(source: str) -> str:
    r"""The same functions, where those that call the library on vectors of 64 bytes call it on each half, loads too.

    >>> from relift.compiler.bench.bundle_runner import in_halves
    >>> print(in_halves("float16 cos_f32x16(float16 x) {\n  return cos(x);\n}"))
    float16 cos_f32x16(float16 x) {
      return (float16)(cos(x.lo), cos(x.hi));
    }
    """

    def halved(m: re.Match[str]) -> str:
        low, high = (
            f"{m[6]}({', '.join(f'{x}.{half}' for x in m[7].split(', '))})" for half in ("lo", "hi")
        )
        return m[0].replace(f"return {m[6]}({m[7]});", f"return ({m[1]})({low}, {high});")

    floats = set(_FLOATS.findall(source))
    loads = [m[1] for m in _WIDE_LOAD.finditer(source) if m[1] in floats]
    own = _WIDE_LOAD.sub(
        lambda m: f"relift_vload16({m[1]}" if m[1] in floats else m[0],
        _WIDE_CALL.sub(halved, source),
    )
    return _LOAD_IN_HALVES + own if loads else own


SPIRV = "kernel.spv"


def spirv_for(device: Any, folder: Path) -> bytes | None:
    """The kernels in SPIR-V where they are there, and the device takes them."""
    file = folder / SPIRV
    if not file.is_file() or device.address_bits != 64:
        return None
    import pyopencl as cl

    try:
        takes = "SPIR-V" in device.il_version
    except (cl.Error, AttributeError):  # a driver before OpenCL 2.1 has no such question
        return None
    return file.read_bytes() if takes else None


class Prepared:
    """An entry of the bundle built for a device, with its buffers in place."""

    def __init__(self, cl: Any, context: Any, folder: Path, entry: Data, rows: Mapping[str, Row]):
        self.cl, self.entry = cl, entry
        self.queue = cl.CommandQueue(
            context, properties=cl.command_queue_properties.PROFILING_ENABLE
        )
        launch = json.loads((folder / "launch.json").read_text(encoding="utf-8"))
        written = (folder / "kernel.cl").read_text(encoding="utf-8")
        (device,) = context.devices
        verbose = ["-cl-nv-verbose"] if "NVIDIA" in device.platform.name else []
        source = for_device(written, device)
        if EXACT in source and device.type == 2:  # a CPU, whose driver may make vectors of folds
            source = in_order(source)
        as_written = source == written and not entry["options"]
        made = (spirv_for(device, folder) if as_written else None) or source
        program = cl.Program(context, made).build(options=[*entry["options"], *verbose])
        self.log = program.get_build_info(device, cl.program_build_info.LOG).strip()
        self.outputs = [b["name"] for b in launch["buffers"] if b["role"] == "output"]
        self.buffers: dict[str, Any] = {}
        for b in launch["buffers"]:
            if b["role"] == "scalar":
                self.buffers[b["name"]] = rows[b["name"]][0]
            elif b["role"] == "input":
                flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
                self.buffers[b["name"]] = cl.Buffer(context, flags, hostbuf=rows[b["name"]])
            else:
                dtype = dtype_of(b["scalar"])
                size = dtype.itemsize * max(1, b["cells"])
                self.buffers[b["name"]] = cl.Buffer(context, cl.mem_flags.READ_WRITE, size)
                fill(self.queue, self.buffers[b["name"]], size, dtype)
        self.kernels = []
        for k in launch["kernels"]:
            kernel = cl.Kernel(program, k["name"])
            kernel.set_args(*(self.buffers[name] for name in k["arguments"]))
            self.kernels += [(kernel, piece) for piece in pieces(k["global"], k["local"])]
        self.queue.finish()

    def run(self) -> float:
        """Seconds of one run of all kernels, by the device's clock."""
        events = [
            self.cl.enqueue_nd_range_kernel(self.queue, kernel, total, local, offset)
            for kernel, (offset, total, local) in self.kernels
        ]
        self.queue.finish()
        return float(sum(e.profile.end - e.profile.start for e in events)) * 1e-9

    def results(self) -> list[Row]:
        """The outputs, by component."""
        found = []
        for name, about in zip(self.outputs, self.entry["outputs"], strict=True):
            row = np.empty(about["shape"], about["dtype"])
            self.cl.enqueue_copy(self.queue, row, self.buffers[name])
            found.append(row)
        self.queue.finish()
        return found


def measured(
    cl: Any, context: Any, place: Path, entry: Data, samples: Any, inputs: Any
) -> Iterator[Data]:
    """What is known of one entry: first whether it is right, then its time."""
    rows, arguments = inputs
    prepared = Prepared(cl, context, place / entry["folder"], entry, rows)
    prepared.run()
    outputs = prepared.results()
    picked, expected = expected_rows(place, entry, samples, len(outputs[0]), arguments)
    error = largest_error(outputs, expected, picked)
    missing = unwritten(outputs)
    ok = error <= entry["tolerance"] and not missing
    known = {"ok": ok, "error": error, "unwritten": missing, "log": prepared.log[-2000:]}
    yield known
    median, times = median_of_runs(prepared.run)
    yield {**known, "seconds": median, "fastest": min(times), "runs": len(times)}


def chosen_device(cl: Any, wanted: str) -> Any:
    """The first device that is a gpu or a cpu, or whose name has `wanted` in it."""
    devices = [d for p in cl.get_platforms() for d in p.get_devices()]
    kinds = {"gpu": cl.device_type.GPU, "cpu": cl.device_type.CPU}
    for d in devices:
        if d.type & kinds[wanted] if wanted in kinds else wanted.lower() in d.name.lower():
            return d
    raise SystemExit(f"no OpenCL device is a {wanted!r}; there are: {[d.name for d in devices]}")


def samples_of(place: Path) -> Any:
    """The module samples.py of a bundle; None where every entry brings what is expected."""
    if not (place / "samples.py").exists():
        return None
    spec = importlib.util.spec_from_file_location("samples", place / "samples.py")
    assert spec is not None, "cannot happen: samples.py is Python"
    assert spec.loader is not None, "cannot happen: samples.py is a file"
    samples = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(samples)
    return samples


def kept(file: Path, about: Data, entries: Sequence[Data]) -> dict[str, Data]:
    """The right rows, by folder, that an earlier run of the entries on the same device wrote."""
    if not file.exists():
        return {}
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
        same = {name: known.get(name) for name in about} == about
        rows = {row["folder"]: row for row in known["entries"] if row["ok"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SystemExit(f"{file} holds no results to resume; remove it") from None
    if not same:
        raise SystemExit(f"{file} is of another device or driver; say --out for a file of its own")
    return {
        e["folder"]: rows[e["folder"]]
        for e in entries
        if e["folder"] in rows and e.items() <= rows[e["folder"]].items()
    }


def write_whole(file: Path, data: Data) -> None:
    """Write JSON; an interruption leaves what was there."""
    complete = file.with_name(file.name + ".part")
    complete.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    os.replace(complete, file)


def main(arguments: Sequence[str]) -> int:
    """Run all entries; 0 when every result is right."""
    import pyopencl as cl

    parser = argparse.ArgumentParser(description="Check and time the kernels of this bundle.")
    parser.add_argument("--device", default="gpu", help="gpu, cpu, or part of a device's name")
    parser.add_argument("--only", action="append", help="names of benchmarks; all if not given")
    parser.add_argument("--out", default="results.json", type=Path)
    parser.add_argument(
        "--resume", action="store_true", help="keep the right entries that --out holds already"
    )
    options = parser.parse_args(arguments)
    place = Path(__file__).parent
    samples = samples_of(place)
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    device = chosen_device(cl, options.device)
    context = cl.Context([device])
    about = {
        "version": manifest["version"],
        "device": device.name,
        "driver": f"{device.platform.version}, {device.driver_version}",
    }
    entries = manifest["entries"]
    rows = kept(options.out, about, entries) if options.resume else {}
    last, inputs = None, None
    for entry in entries:
        if (options.only and entry["name"] not in options.only) or entry["folder"] in rows:
            continue
        started = time.perf_counter()
        if last != (key := (entry["name"], entry["sizes"], entry["parameters"])):
            inputs = None  # before the next ones are drawn: they may be large
            last, inputs = key, inputs_of(entry)
        found: Data = {"ok": False}
        try:
            for known in measured(cl, context, place, entry, samples, inputs):
                found = known
        except Exception as error:  # noqa: BLE001 (one entry's failure must not end the others)
            found = {**found, "ok": False, "failed": f"{type(error).__name__}: {error}"[:2000]}
        rows[entry["folder"]] = {**entry, **found}
        so_far = [rows[e["folder"]] for e in entries if e["folder"] in rows]
        write_whole(options.out, {**about, "entries": so_far})
        seconds = found.get("seconds")
        shown = f"{seconds * 1e6:10.1f} us" if seconds else " " * 13
        state = "right" if found["ok"] else f"WRONG {found.get('failed', found.get('error'))}"
        print(
            f"{entry['folder']:28} {shown}  {state}  ({time.perf_counter() - started:.1f} s)",
            flush=True,
        )
    return 0 if rows and all(row["ok"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
