"""Runs the kernels of this folder on an OpenCL device, and compares: python host.py [WORDS OF A DEVICE'S NAME …]

Exit status 0 when the device computes what is expected, 1 when it does not, 2 when there is no such device.
Needs NumPy and pyopencl only.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def chosen(cl: Any, wanted: list[str]) -> Any:
    """The first device that has all of some texts in its name or its platform's: one of the very name, if there is."""
    devices = [d for p in cl.get_platforms() for d in p.get_devices()]
    for d in sorted(devices, key=lambda d: d.name not in wanted):
        said = f"{d.name} {d.platform.name} {d.platform.version}".lower()
        if all(text.lower() in said for text in wanted):
            return d
    print("no such device; there are:", *(f"{d.name} [{d.platform.name}]" for d in devices))
    sys.exit(2)


def main() -> int:
    """Build, run, compare."""
    import pyopencl as cl

    here = Path(__file__).resolve().parent
    launch = json.loads((here / "launch.json").read_text())
    data = np.load(here / "data.npz")
    device = chosen(cl, sys.argv[1:])
    print(f"{device.name} [{device.platform.name}, {device.platform.version}]")
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, (here / "kernel.cl").read_text()).build()
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    arguments: dict[str, Any] = {}
    for b in launch["buffers"]:
        if b["role"] in ("scalar", "size"):
            value = data[f"in_{b['name']}"][0]
            arguments[b["name"]] = np.int32(value) if value.dtype == np.bool_ else value
        elif b["role"] == "input":
            row = data[f"in_{b['name']}"]
            row = row if row.size else np.zeros(1, row.dtype)
            arguments[b["name"]] = cl.Buffer(context, flags, hostbuf=row)
        else:  # filled with a pattern, so that a cell that nobody writes is seen
            fill = np.full(max(1, b["bytes"]), 0xFF, np.uint8)
            arguments[b["name"]] = cl.Buffer(context, flags, hostbuf=fill)
    for k in launch["kernels"]:
        kernel = cl.Kernel(program, k["name"])
        kernel.set_args(*(arguments[name] for name in k["arguments"]))
        for offset, total, local in k["pieces"]:
            cl.enqueue_nd_range_kernel(queue, kernel, total, local, offset)
    queue.finish()
    wrong = 0
    for name in launch["outputs"]:
        expected = data[f"out_{name}"]
        found = np.empty_like(expected)
        if expected.size:
            cl.enqueue_copy(queue, found, arguments[name])
            queue.finish()
        if not np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f"):
            wrong += 1
            print(f"{name}:\n  expected {expected}\n  found    {found}")
    print("WRONG" if wrong else "right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
