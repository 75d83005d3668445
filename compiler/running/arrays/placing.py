"""Arrays brought into the memory of a device, and arrays of other libraries that lie in one already."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from relift.compiler.devices.naming import Device, label
from relift.compiler.devices.survey import find_device
from relift.compiler.dialects.backend import backend_of, backends
from relift.compiler.running.arrays.device_array import DeviceArray, Exchanging
from relift.semantics.array_exchange import HOST, device_of, host_array, is_foreign
from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped, Unsupported


def device_array(value: Any, device: str | None = None) -> Any:
    """An array, or a tuple of arrays, copied into the memory of a device (see `devices.find_device`).

    Any array that NumPy or DLPack knows is taken; one that lies on a device already stays there where none is named.  Raises `IllTyped` for what has no scalar type of the language,
    and `Unsupported` where there is no such device.

    >>> import numpy as np, relift as rl
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def double(x: rl.f32[n]):
    ...     return rl.map_glb(0)(lambda v: v + v, x)
    >>> kernel, x = rl.compile(double), rl.device_array(np.float32([1, 2]))
    >>> kernel(kernel(x)).numpy()
    array([4., 8.], dtype=float32)
    """
    value = shared(value, "device_array")
    if device is None and isinstance(value, DeviceArray):
        return value
    return _placed(value, find_device(device))


def shared(value: Any, name: str) -> Any:
    """A value whose arrays of other libraries on devices are arrays of ours, with the same cells; nothing is copied.

    What lies on a device that none of ours is stays as it is.

    >>> import numpy as np
    >>> from relift.compiler.running.arrays.placing import shared
    >>> x = np.float32([1, 2])
    >>> shared(x, "x") is x
    True
    """
    if isinstance(value, tuple):
        parts = tuple(shared(part, name) for part in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    if isinstance(value, DeviceArray) or not is_foreign(value):
        return value
    where = device_of(value, name)
    if where[0] in HOST:
        return value
    user = exchanging(where)
    return value if user is None else user.borrowed(value, name)


@cache
def exchanging(where: tuple[int, int]) -> Exchanging | None:
    """The back end whose working device DLPack calls so; asked once, for a survey takes longer than a kernel."""
    for name, backend in backends().items():
        if isinstance(backend, Exchanging) and backend.dlpack_device == where:
            try:
                find_device(name)
            except Unsupported:
                return None
            return backend
    return None


def _placed(value: Any, device: Device) -> Any:
    if isinstance(value, tuple):
        return tuple(_placed(part, device) for part in value)
    if isinstance(value, DeviceArray):
        if label(value.device) == label(device):
            return value
        value = value.numpy()
    array = np.asarray(host_array(value, "device_array"))
    if array.dtype not in DTYPES.values():
        known = ", ".join(str(dtype) for dtype in DTYPES.values())
        raise IllTyped(f"device_array: cells of {array.dtype} are none of {known}; use .astype")
    row = np.ascontiguousarray(array).reshape(-1)
    return DeviceArray(array.shape, array.dtype, device, backend_of(device).memory(device).put(row))
