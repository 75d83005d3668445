"""DLPack in Python: where the cells lie of an array that another library hands out, and our memory handed out so.

NumPy does this for the memory of the host.  Here nothing is read or copied: an address of a device is only named.
https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

_CODES = {0: "int", 1: "uint", 2: "float", 6: "bool"}
"""The kinds of numbers that NumPy knows, too; others are complex, opaque, or floats of 16 bits and fewer."""

_KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}
"""The same by what NumPy calls them."""

PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"
_READ_ONLY = 1


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


def _python(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_name = _python("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer_of = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_new = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


@dataclass(frozen=True, eq=False)
class Borrowed:
    """The cells of an array of another library; they stay there as long as this is kept.

    The capsule is not consumed: it gives the cells back when it is dropped.  `dtype` is None for what NumPy does not have.
    """

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None
    is_contiguous: bool
    is_read_only: bool
    device: tuple[int, int]
    capsule: object


def borrowed(array: Any, stream: int | None) -> Borrowed:
    """What an array says of its cells by DLPack, after all that its library has enqueued before `stream` goes on.

    >>> import numpy as np
    >>> from relift.compiler.running.arrays.dlpack import borrowed
    >>> x = np.float32([[1, 2, 3], [4, 5, 6]])
    >>> found = borrowed(x, None)
    >>> found.address == x.ctypes.data, found.shape, found.dtype, found.is_contiguous
    (True, (2, 3), dtype('float32'), True)
    >>> borrowed(x.T, None).is_contiguous
    False
    """
    try:
        capsule = array.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # a library of before 2024 knows no versions
        capsule = array.__dlpack__(stream=stream)
    name = _name(capsule)
    place = _pointer(capsule, name)
    flags = _Versioned.from_address(place).flags if name == VERSIONED else 0
    t = (_Versioned if name == VERSIONED else _Managed).from_address(place).tensor
    shape = tuple(t.shape[d] for d in range(t.ndim))
    return Borrowed(
        (t.data or 0) + t.byte_offset,
        shape,
        _dtype(t.dtype),
        _in_a_row(shape, t),
        bool(flags & _READ_ONLY),
        (t.device.kind, t.device.number),
        capsule,
    )


def _dtype(t: Any) -> np.dtype[Any] | None:
    return _named(t.code, t.bits) if t.lanes == 1 else None


@cache
def _named(code: int, bits: int) -> np.dtype[Any] | None:
    name = _CODES.get(code)
    return None if name is None else np.dtype("bool" if name == "bool" else f"{name}{bits}")


def _in_a_row(shape: tuple[int, ...], t: Any) -> bool:
    """Whether each cell lies behind the one before it; without strides they do."""
    if not t.strides or 0 in shape:
        return True
    step = 1
    for d in reversed(range(len(shape))):
        if shape[d] != 1 and t.strides[d] != step:
            return False
        step *= shape[d]
    return True


_lent: dict[int, Any] = {}
"""What is handed out, by the address of its description, until whoever has it gives it back."""


def _given_back(place: int) -> None:
    _lent.pop(place, None)


def _dropped(capsule: int) -> None:
    """A capsule that nobody consumed: one that was has another name."""
    if _is_valid(capsule, PLAIN):
        _given_back(_pointer_of(capsule, PLAIN))


_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_given_back)
_destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_dropped)


def lent(
    address: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    device: tuple[int, int],
    owner: object,
) -> Any:
    """A capsule of DLPack for cells in a row, which keeps their owner until it is given back.

    >>> import numpy as np
    >>> from relift.compiler.running.arrays.dlpack import lent
    >>> class Held:
    ...     x = np.float32([1, 2])
    ...     def __dlpack__(self, **_):
    ...         return lent(self.x.ctypes.data, (2,), self.x.dtype, (1, 0), self.x)
    ...     def __dlpack_device__(self):
    ...         return 1, 0
    >>> np.shares_memory(np.from_dlpack(Held()), Held.x)
    True
    """
    lengths = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    described = _Managed(
        _Tensor(
            address,
            _Device(*device),
            len(shape),
            _DataType(_KINDS[dtype.kind], 8 * dtype.itemsize, 1),
            ctypes.cast(lengths, ctypes.POINTER(ctypes.c_int64)),
            None,
            0,
        ),
        None,
        ctypes.cast(_deleter, ctypes.c_void_p),
    )
    place = ctypes.addressof(described)
    _lent[place] = (described, lengths, owner)
    return _new(place, PLAIN, ctypes.cast(_destructor, ctypes.c_void_p))
