"""A kernel that somebody wrote on a device, on the inputs at which it was found to be wrong: what it gives there.

python -m relift.compiler.foreign.on_device FOLDER DEVICE    in a process of its own, which a wrong kernel may take along
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relift.compiler.foreign.comparison import interface
from relift.compiler.foreign.groups.launched import ByOthers
from relift.compiler.foreign.inputs import drawn_inputs
from relift.compiler.foreign.parameters import (
    Cells,
    Given,
    Number,
    Passed,
    given_by,
    kernel_in,
    parameters_of,
)
from relift.compiler.foreign.reading.parsing import parsed
from relift.compiler.running.arrays.buffers import flatten, unflatten
from relift.compiler.running.launch import Buffer
from relift.compiler.running.processes.build_child import UNCACHED, said_of
from relift.compiler.running.processes.isolated import apart
from relift.compiler.text.c_types import plain
from relift.files import temporary_folder
from relift.semantics.domains import DTYPES
from relift.semantics.errors import ReliftError, Unsupported
from relift.semantics.language.programs import Program

SECONDS = 60.0
"""A kernel that takes longer hangs."""

CLOSE = 1e-3
"""Numbers that are no further apart, relative to the larger one and to 1, differ by rounding at most."""

UNWRITTEN = {"f": np.nan, "i": -77, "b": True}
"""What cells of a result hold before the kernel runs, by the kind of their type."""

BEYOND = 4096
"""Bytes behind an array, all of whose bits are set: no numbers, and whole numbers of -1."""

_NUMPY = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
    "ulong": "u8", "size_t": "u8", "half": "f2", "float": "f4", "double": "f8",
}  # fmt: skip
"""Scalars of C, and what NumPy calls them."""

TEXT, LAUNCH, ROWS, RESULTS = "kernel.cl", "launch.json", "rows.npz", "results.npz"


@dataclass(frozen=True)
class OnDevice:
    """What a device gives: in how many cells it is not what the program means, and the worst of them; or how it ended.

    `result` is the number of the component of the result, `cell` a place in it as it lies in memory.
    """

    device: str
    apart: int
    cells: int
    result: int = 0
    cell: int = 0
    value: Any = None
    wanted: Any = None
    ended: str = ""

    @property
    def differs(self) -> bool:
        """Whether the run shows that the kernel is wrong."""
        return bool(self.apart or self.ended)

    def text(self) -> str:
        """One line for a person."""
        if self.ended:
            return f"{self.device}: {self.ended}"
        if not self.apart:
            return f"{self.device}: all {self.cells} cells are as they should be"
        name = "out" if not self.result else f"out.{self.result}"
        return (
            f"{self.device}: {name}[{self.cell}] is {self.value} instead of {self.wanted}, "
            f"{self.apart} of {self.cells} cells differ"
        )


def on_device(
    kernel: ByOthers,
    program: Program,
    device: str,
    inputs: str = "",
    requires: Sequence[Program] = (),
    *,
    seconds: float = SECONDS,
) -> OnDevice:
    """Run a kernel on the inputs of `drawn_inputs`, and compare with the interpreter.

    `inputs`: what a report calls those on which it found the kernel wrong; `requires` says what holds of them.
    Raises `ReliftError` where the device, or what a parameter is, is not known.
    """
    own, result, known = interface(program)
    functions = parsed(kernel.text, kernel.file, dict(kernel.defined))
    given = list(
        given_by(parameters_of(kernel_in(functions, kernel.entry)), kernel.arguments, known)
    )
    drawn = iter(drawn_inputs(program, inputs, requires).values())
    rows = {b.name: np.array(next(drawn), _stored(b)) for b in known if b.role != "output"}
    arguments = [unflatten([rows[name] for name in p.buffers], p.type) for p in own]
    wanted = flatten(program(*arguments), result.type, "out")
    outputs = [b.name for b in known if b.role == "output"]
    for b in known:
        if b.role == "output":
            t = _stored(b)
            rows[b.name] = np.full(b.cells.constant or 0, UNWRITTEN[t.kind], t)
    for one in given:
        if isinstance(one, Passed) and one.before is not None:
            held = one.before
            rows[one.buffer.name][:] = (
                rows[held.name]
                if isinstance(held, Buffer)
                else _stored(one.buffer).type(float(held))
            )
    with temporary_folder() as folder:
        (folder / TEXT).write_text(kernel.text, encoding="utf-8")
        (folder / LAUNCH).write_text(json.dumps(_launch(kernel, given)), encoding="utf-8")
        np.savez(folder / ROWS, **rows)  # type: ignore[arg-type]
        said = _ended(folder, device, seconds)
        if said is not None:
            return OnDevice(device, 0, sum(map(len, wanted)), ended=said)
        with np.load(folder / RESULTS) as stored:
            found = [stored[name] for name in outputs]
    return _compared(device, found, wanted)


def _stored(b: Buffer) -> np.dtype[Any]:
    """How the cells of a buffer lie in memory."""
    return np.dtype(DTYPES[str(b.scalar)])


def _compared(device: str, found: Sequence[Any], wanted: Sequence[Any]) -> OnDevice:
    """What differs, floats by more than rounding, and the cell in which it does most."""
    apart, worst = 0, (0.0, 0, 0, None, None)
    for k, (have, want) in enumerate(zip(found, wanted, strict=True)):
        with np.errstate(all="ignore"):  # a wrong kernel gives any bits, signalling NaN among them
            x, y = np.asarray(have, np.float64), np.asarray(want, np.float64)
            scale = np.maximum(1.0, np.maximum(np.abs(x), np.abs(y)))
            off = np.where(np.isnan(x) & np.isnan(y), 0.0, np.abs(x - y) / scale)
        off = np.where(np.isnan(off), np.inf, off)
        if np.asarray(want).dtype.kind != "f":
            off = np.where(np.asarray(have) == np.asarray(want), 0.0, np.maximum(off, 2 * CLOSE))
        apart += int(np.sum(off > CLOSE))
        at = int(np.argmax(off)) if len(off) else 0
        if len(off) and off[at] > worst[0]:
            worst = (float(off[at]), k, at, have[at], want[at])
    _, k, at, value, want = worst
    return OnDevice(device, apart, sum(map(len, wanted)), k, at, value, want)


_NEWER = re.compile(r"\bwork_group_(?:reduce|scan|broadcast|all|any)")
"""What no compiler takes unless it is told that this is no OpenCL C 1.2."""


def _launch(kernel: ByOthers, given: Sequence[Given]) -> dict[str, Any]:
    """What the other process has to know."""
    arguments: list[dict[str, Any]] = []
    for one in given:
        match one:
            case Number(text, t):
                arguments.append({"number": text, "of": _NUMPY[plain(t).scalar]})
            case Cells():
                arguments.append({"local": one.bytes})
            case Passed(_, t, buffer, _):
                arguments.append({"buffer": buffer.name, "by_value": not t.pointer})
    return {
        "entry": kernel.entry, "global": kernel.range, "local": kernel.local, "arguments": arguments,
        "options": [
            *(f"-D{name}={value}" for name, value in kernel.defined.items()),
            *(["-cl-std=CL3.0"] if _NEWER.search(kernel.text) else []),
        ],
    }  # fmt: skip


def _ended(folder: Path, device: str, seconds: float) -> str | None:
    """Run what lies in a folder in a process of its own; how it ended, where it gave nothing."""
    done = apart("relift.compiler.foreign.on_device", folder, device, seconds)
    if done is None:
        return f"it did not end within {seconds:g} s"
    if done.returncode == UNKNOWN:
        raise ReliftError(done.stderr.strip().splitlines()[-1], place="")
    if done.returncode < 0:
        return f"it crashed (signal {-done.returncode})"
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no word"]
        return lines[-1][:200]
    return None


UNKNOWN = 3
"""The status of a process that found no such device."""


def _followed(row: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array, and behind them what no kernel may read."""
    return np.concatenate([np.frombuffer(row.tobytes(), np.uint8), np.full(BEYOND, 0xFF, np.uint8)])


def _run(folder: Path, target: str) -> None:
    """The other process."""
    from relift.compiler.devices.survey import find_device
    from relift.compiler.dialects.backend import backend_of

    try:
        device: Any = find_device(target)
        if backend_of(device).name != "opencl":
            raise Unsupported(f"{target} runs no OpenCL C", place="")
    except ReliftError as error:
        print(error.message.splitlines()[0], file=sys.stderr)
        sys.exit(UNKNOWN)
    import pyopencl as cl

    launch = json.loads((folder / LAUNCH).read_text(encoding="utf-8"))
    with np.load(folder / ROWS) as stored:
        rows = {name: np.ascontiguousarray(stored[name]) for name in stored.files}
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    text = (folder / TEXT).read_text(encoding="utf-8")
    try:
        program = cl.Program(context, text).build(launch["options"], cache_dir=UNCACHED)
    except cl.Error as error:
        said = said_of(error).splitlines()
        wrong = next((line for line in said if "error:" in line), said[0])
        sys.exit(f"its compiler says {wrong.strip()}")
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    held = {name: cl.Buffer(context, flags, hostbuf=_followed(row)) for name, row in rows.items()}

    def argument(said: Mapping[str, Any]) -> Any:
        if "local" in said:
            return cl.LocalMemory(said["local"])
        if "number" in said:
            t = np.dtype(said["of"]).type
            return t(float(said["number"])) if t(0).dtype.kind == "f" else t(int(said["number"]))
        return rows[said["buffer"]][0] if said["by_value"] else held[said["buffer"]]

    made = cl.Kernel(program, launch["entry"])
    made(
        queue, tuple(launch["global"]), tuple(launch["local"]), *map(argument, launch["arguments"])
    )
    for name, row in rows.items():
        cl.enqueue_copy(queue, row, held[name])
    np.savez(folder / RESULTS, **rows)  # type: ignore[arg-type]


if __name__ == "__main__":
    _run(Path(sys.argv[1]), sys.argv[2])
