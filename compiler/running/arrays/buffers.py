"""NumPy values as rows of scalars, one for each component, and back.

The conventions are those of the interpreter: an array of tuples is a tuple of arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from relift.compiler.running.arrays.device_array import DeviceArray, Resident
from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    components_of,
)

Row = npt.NDArray[Any]

Held: TypeAlias = Row | Resident
"""A row of the host, or of a device."""


def on_host(held: Held) -> Row:
    """The cells of a row, wherever it lies."""
    return held if isinstance(held, np.ndarray) else held.read()


def components(t: Type) -> Iterator[tuple[Scalar, tuple[int, ...]]]:
    """The scalar type and the shape of each component of t, in order.

    >>> from relift import f32, i32, tup
    >>> from relift.compiler.running.arrays.buffers import components
    >>> list(components(tup(f32, i32[2])[3]))
    [(f32, (3,)), (i32, (3, 2))]
    """
    for scalar, lengths in components_of(t):
        assert isinstance(scalar, Scalar), f"cannot happen: a value of type {t}"
        yield scalar, tuple(map(_number, lengths))


def _number(n: Size) -> int:
    assert n.constant is not None, f"cannot happen: size {n} is symbolic"
    return n.constant


def flatten(value: Any, t: Type, name: str) -> list[Row]:
    """The components of a NumPy value as rows; raises `IllTyped` when it is not of type t.

    >>> from relift import f32, i32, tup
    >>> from relift.compiler.running.arrays.buffers import flatten
    >>> import numpy as np
    >>> flatten((np.float32([1, 2]), np.int32([3, 4])), tup(f32, i32)[2], "ps")
    [array([1., 2.], dtype=float32), array([3, 4], dtype=int32)]
    """
    return list(map(on_host, held(value, t, name)))


def held(value: Any, t: Type, name: str) -> list[Held]:
    """The same where parts of the value may lie on a device; they stay there."""
    found = list(_flatten(value, t, name))
    return [
        _row(part, scalar, shape, name)
        for part, (scalar, shape) in zip(found, components(t), strict=True)
    ]


def _flatten(value: Any, t: Type, name: str) -> Iterator[Any]:
    match t:
        case Array(element, _) | Vector(element, _):
            yield from _flatten(value, element, name)
        case Tuple(parts):
            if not isinstance(value, tuple) or len(value) != len(parts):
                raise IllTyped(
                    f"{name}: a tuple of {len(parts)} arrays is needed, one per component"
                )
            for part, of in zip(value, parts, strict=True):
                yield from _flatten(part, of, name)
        case Scalar() | TypeVariable():
            yield value


def _row(value: Any, scalar: Scalar, shape: tuple[int, ...], name: str) -> Held:
    if isinstance(value, np.ma.MaskedArray):
        raise IllTyped(
            f"{name}: a masked array has cells without a value; fill them with .filled()"
        )
    if not isinstance(value, np.ndarray | np.generic | int | float | bool | DeviceArray):
        raise IllTyped(f"{name}: a NumPy array is needed, not {type(value).__name__}")
    dtype = DTYPES[scalar.name]
    array = value if isinstance(value, DeviceArray) else np.asarray(value)
    if array.shape != shape:
        raise IllTyped(f"{name}: shape {shape} is needed, the argument has shape {array.shape}")
    if isinstance(array, DeviceArray):
        return _resident(array, scalar, name)
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        array = np.asarray(cell(value, scalar, name))
    if array.dtype != dtype:
        raise IllTyped(
            f"{name}: {scalar} is needed, the argument has dtype {array.dtype}; "
            f"convert it with .astype(np.{dtype.name})"
        )
    return np.ascontiguousarray(array).reshape(-1)


def cell(value: float, scalar: Scalar, name: str) -> np.generic[Any]:
    """A Python number, which has no precision of its own, as a value of a type; raises `IllTyped` where it is none.

    >>> from relift import f32
    >>> from relift.compiler.running.arrays.buffers import cell
    >>> cell(2, f32, "x")
    np.float32(2.0)
    """
    found: np.generic[Any] | None
    try:
        found = DTYPES[scalar.name].type(value)
    except OverflowError:
        found = None
    if found is None or (found != value and not math.isnan(value)):
        raise IllTyped(f"{name}: {value!r} is not a value of type {scalar}")
    return found


def _resident(array: DeviceArray, scalar: Scalar, name: str) -> Resident:
    if array.dtype != DTYPES[scalar.name]:
        raise IllTyped(
            f"{name}: {scalar} is needed, the array of the device has dtype {array.dtype}; "
            f"make it with rl.device_array(x.astype(np.{DTYPES[scalar.name].name}))"
        )
    return array.resident


def unflatten(rows: Sequence[Row], t: Type) -> Any:
    """The inverse of `flatten`.

    >>> from relift import f32, i32, tup
    >>> from relift.compiler.running.arrays.buffers import unflatten
    >>> import numpy as np
    >>> unflatten([np.float32([1, 2]), np.int32([3, 4])], tup(f32, i32)[2])
    (array([1., 2.], dtype=float32), array([3, 4], dtype=int32))
    """
    parts = [row.reshape(shape)[()] for row, (_, shape) in zip(rows, components(t), strict=True)]
    return nested(iter(parts), t)


def nested(parts: Iterator[Any], t: Type) -> Any:
    """The components in the tuples that a value of type t is."""
    match t:
        case Array(element, _) | Vector(element, _):
            return nested(parts, element)
        case Tuple(inner):
            return tuple(nested(parts, part) for part in inner)
        case Scalar() | TypeVariable():
            return next(parts)
