"""Running a compiled program on a device, whatever back end it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relift.compiler.bench.bundle_runner import poison
from relift.compiler.certificates.consultation import require_text_not_refuted, unknowns
from relift.compiler.devices.naming import Device, label
from relift.compiler.running.arrays.buffers import Held, Row, on_host
from relift.compiler.running.launch import Launch
from relift.semantics.errors import Unsupported

if TYPE_CHECKING:
    from relift.compiler.dialects.backend import Session

ALIGNMENT = 128
"""Bytes; at least those of the largest OpenCL vector."""


def session_on(
    source: str,
    plan: Launch,
    target: str | Device | None = None,
    options: Sequence[str] = (),
    *,
    apart: bool = True,
    unchecked: bool = False,
) -> Session:
    """A program built for a device, or for the one that a target names; raises `Unsupported` where that fails.

    A text whose certificate is refuted is not built, whoever wrote it, unless it is to run `unchecked`; what is
    `unknown` of it is there to be said.
    """
    from relift.compiler.devices.survey import find_device
    from relift.compiler.dialects.backend import backend_of

    device = find_device(target) if target is None or isinstance(target, str) else target
    unknown = [] if unchecked else unknowns(require_text_not_refuted(source, plan, options))
    found = backend_of(device).session(source, plan, device, options, apart=apart)
    found.unknown = unknown
    return found


def plan_at(plan: Launch, rows: Mapping[str, Held], device: Device | None = None) -> Launch:
    """The launch at the sizes that are among the arguments; raises `Unsupported` where a device has no room for it."""
    here = plan.at({name: int(on_host(rows[name])[0]) for name in plan.sizes})
    if device is not None and plan.sizes:
        check_memory(here, device)
    return here


def memory(cells: int, dtype: np.dtype[Any]) -> Row:
    """Memory for a buffer, aligned for any vector.

    NumPy asks for large pages: misses in the address cache cost a tenth of the bandwidth.
    """
    found = np.empty(cells * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -address(found) % ALIGNMENT
    return found[start : start + cells * dtype.itemsize].view(dtype)


def address(row: Row) -> int:
    """Where the cells of a row begin; its `ctypes` takes several times as long to say so.

    >>> import numpy as np
    >>> from relift.compiler.running.session import address
    >>> x = np.zeros(3)
    >>> address(x) == x.ctypes.data
    True
    """
    where: int = row.__array_interface__["data"][0]
    return where


def poisoned(cells: int, dtype: np.dtype[Any]) -> Row:
    """The same, filled with a pattern."""
    found = memory(cells, dtype)
    found.view(np.uint8)[:] = poison(dtype)
    return found


def check_limits(plan: Launch, device: Device) -> None:
    """Raise `Unsupported` for what PoCL would not refuse but crash on, and for what no memory of the device holds."""
    wanted = plan.too_large(device.local_mem_size, device.max_work_group_size, label(device))
    if wanted is not None:
        raise Unsupported(wanted)
    check_memory(plan, device)


def check_memory(plan: Launch, device: Device) -> None:
    """Raise `Unsupported` where a device has no room for all buffers of a launch whose sizes are known."""
    wanted = None if plan.sizes else plan.beyond(device.global_mem_size, label(device))
    if wanted is not None:
        raise Unsupported(wanted)
