"""Arrays that lie in the memory of a device, so that kernels need not copy them.

    x = rl.device_array(xs)            copied once
    y = kernel(x, x)                   returns at once; y lies on the device
    kernel(y, y, out=x)                writes where something lies already
    y.is_ready                         asks, and does not wait
    y.numpy()                          waits, and copies

On a CPU the memory of the device is that of the host, and what is exchanged by DLPack is not copied.  Nor is what lies on
an NVIDIA device: arrays of PyTorch, CuPy and JAX are used there where they lie, on the stream of their library.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from relift.compiler.devices.naming import Device, label
from relift.semantics.array_exchange import leaves


class Resident(Protocol):
    """A row of scalars in the memory of a device, which may still be written."""

    @property
    def is_shared(self) -> bool:
        """Whether `read` gives the memory itself."""
        ...

    def read(self) -> np.ndarray[Any, Any]:
        """The cells, when they are there: the memory itself where the host can reach it, else a copy."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether all that writes it is done."""
        ...

    def wait(self) -> None:
        """Return when all that writes it is done."""
        ...


class Exchanged(ABC):
    """A row of a device whose memory other libraries know, too; DLPack has a name for the device.

    `lender` is the array of another library in whose memory the row lies, and nothing else; None where it lies in ours.
    """

    dlpack_device: tuple[int, int]
    lender: Any

    @abstractmethod
    def lent(self, shape: tuple[int, ...], stream: int | None) -> Any:
        """A capsule of DLPack, for one who goes on on a stream."""


@runtime_checkable
class Exchanging(Protocol):
    """A back end that uses arrays of other libraries where they lie on its device."""

    @property
    def dlpack_device(self) -> tuple[int, int]:
        """What DLPack calls the device."""
        ...

    def borrowed(self, value: Any, name: str) -> DeviceArray:
        """An array of another library; raises `IllTyped` with the call that makes it one that can be used."""
        ...


class Memory(Protocol):
    """The memory of one device."""

    def put(self, row: np.ndarray[Any, Any]) -> Resident:
        """A row of the host, copied."""
        ...


@dataclass(frozen=True, eq=False)
class DeviceArray:
    """An array in the memory of a device, as `rl.device_array` and kernels make them.

    An array of tuples is a tuple of these, as it is a tuple of NumPy arrays elsewhere.

    >>> import numpy as np, relift as rl
    >>> x = rl.device_array(np.float32([1, 2, 3]))
    >>> x.shape, x.dtype, float(x.numpy()[2])
    ((3,), dtype('float32'), 3.0)
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: Device
    resident: Resident

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many cells it has."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """How many bytes its cells take."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of no dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return (
            f"device_array(shape={self.shape}, dtype={self.dtype}, device={label(self.device)!r})"
        )

    @property
    def is_ready(self) -> bool:
        """Whether all that writes it is done."""
        return self.resident.is_ready

    def wait(self) -> DeviceArray:
        """The same, when all that writes it is done."""
        self.resident.wait()
        return self

    def numpy(self) -> Any:
        """A copy in the memory of the host, when all that writes it is done."""
        found = self._cells()
        return found.copy() if self.resident.is_shared else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False and not self.resident.is_shared:
            raise ValueError(f"an array on {label(self.device)} reaches the host only as a copy")
        found = np.asarray(self._cells(), dtype)
        return found.copy() if copy and self.resident.is_shared else found

    def __dlpack__(self, **options: Any) -> Any:
        if isinstance(self.resident, Exchanged):
            return self.resident.lent(self.shape, options.get("stream"))
        return self._on_host().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        if isinstance(self.resident, Exchanged):
            return self.resident.dlpack_device
        kind, number = self._on_host().__dlpack_device__()
        return int(kind), int(number)

    def _on_host(self) -> np.ndarray[Any, Any]:
        if not self.resident.is_shared:
            raise BufferError(
                f"an array on {label(self.device)} is not exchanged by DLPack; take .numpy(), which copies it"
            )
        return np.asarray(self._cells())

    def _cells(self) -> Any:
        return self.resident.read().reshape(self.shape)


def is_resident(value: Any) -> bool:
    """Whether a value, or a part of it, lies on a device."""
    return any(isinstance(part, DeviceArray) for part in leaves(value))
