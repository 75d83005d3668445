"""Where the result of a call goes: arrays that the caller has, on the host or on a device, or new ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from relift.compiler.devices.naming import Device, label
from relift.compiler.running.arrays.buffers import Held, Row, cell, components, nested
from relift.compiler.running.arrays.device_array import DeviceArray, Exchanged, Resident
from relift.compiler.running.arrays.placing import shared
from relift.semantics.array_exchange import as_given, host_array, leaves, require_cells
from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import Scalar, Type

if TYPE_CHECKING:
    from relift.compiler.dialects.backend import Repeated
    from relift.compiler.running.launch import Launch, Parameter


Cells: TypeAlias = tuple[tuple[int, ...], np.dtype[Any]]

_READ = "out: it is an argument, too, and kernels read while they write"


def common_device(arrays: Sequence[DeviceArray], asked: str | None, program: str) -> Device:
    """The device on which arrays lie; raises `IllTyped` where they are several, or another one is asked for."""
    from relift.compiler.devices.survey import find_device

    first = arrays[0].device if asked is None else find_device(asked)
    for a in arrays:
        if a.device is not first and label(a.device) != label(first):
            raise IllTyped(
                f"{program}: it is to run on {label(first)}, and an array lies on {label(a.device)}; bring it there "
                "by rl.device_array(x, device=...)"
            )
    return first


def taken(
    program: Program | Launch, arrays: tuple[Any, ...], out: Any
) -> tuple[tuple[Any, ...], Any]:
    """The arguments of a call and `out`, those of other libraries on devices as arrays of ours; the same where there are none.

    Raises `IllTyped` for cells of another type than the parameter's, with the call of their library that converts them.
    """
    called = program.name if isinstance(program, Program) else program.program
    known: Iterable[tuple[str, Type | None]] = chain(
        ((p.name, p.type) for p in program.parameters), repeat((called, None))
    )
    made: list[Any] = []
    for value, (name, t) in zip(arrays, known, strict=False):
        found = shared(value, name)
        if found is not value and not isinstance(value, tuple):
            require_cells(value, name, t)
        made.append(found)
    same = all(a is b for a, b in zip(made, arrays, strict=True))
    return arrays if same else tuple(made), shared(out, "out")


def returned(found: Any, arrays: tuple[Any, ...]) -> Any:
    """A result on a device as arrays of the library that the arguments are of; where it lies in that library's memory, as that."""
    if isinstance(found, tuple):
        return tuple(returned(part, arrays) for part in found)
    theirs = [a for a in leaves(arrays) if not isinstance(a, DeviceArray)]
    lender = found.resident.lender if isinstance(found.resident, Exchanged) else None
    return as_given(found, theirs) if lender is None else lender.reshape(found.shape)


def on_device(found: Iterable[Resident], t: Type, device: Device) -> Any:
    """New arrays of a device for a result of type t."""
    return nested(_arrays(found, cells_of(t), device), t)


def cells_of(t: Type) -> tuple[Cells, ...]:
    """The shape and the type of the cells of each component of a result."""
    return tuple((shape, DTYPES[scalar.name]) for scalar, shape in components(t))


def _arrays(
    found: Iterable[Resident], cells: Sequence[Cells], device: Device
) -> Iterator[DeviceArray]:
    for resident, (shape, dtype) in zip(found, cells, strict=True):
        yield DeviceArray(shape, dtype, device, resident)


def residents(out: Any, t: Type, rows: Mapping[str, Held]) -> Iterator[Resident]:
    """Where the components of a result of type t are to be written on the device.

    Raises `IllTyped` where an array does not fit, or is an argument, too: kernels read while they write.
    """
    for array, scalar, shape in _parts(out, t):
        if not isinstance(array, DeviceArray):
            raise IllTyped(
                f"out: an array of the device is needed, as the arguments are, not {type(array).__name__}; "
                "make it with rl.device_array"
            )
        _require(array, scalar, shape)
        if any(row is array.resident for row in rows.values()):
            raise IllTyped(_READ)
        yield array.resident


def of_host(out: Any, t: Type) -> list[Row]:
    """The arrays of the host that are to hold a result of type t; raises `IllTyped` where they do not fit."""
    found: list[Row] = []
    for array, scalar, shape in _parts(out, t):
        on_host = host_array(array, "out")
        if not isinstance(on_host, np.ndarray):
            raise IllTyped(f"out: an array is needed, not {type(array).__name__}")
        _require(on_host, scalar, shape)
        if not on_host.flags.writeable:
            raise IllTyped("out: the array is read-only; give a copy of it")
        found.append(on_host)
    return found


def written_in_place(out: Sequence[Row], rows: Mapping[str, Held]) -> bool:
    """Whether kernels may write these arrays themselves: they lie in one piece, and no argument lies there."""
    given = [row for row in rows.values() if isinstance(row, np.ndarray)]
    return all(
        a.flags.c_contiguous and not any(np.may_share_memory(a, row) for row in given) for a in out
    )


def _parts(out: Any, t: Type) -> Iterator[tuple[Any, Scalar, tuple[int, ...]]]:
    wanted, given = list(components(t)), list(leaves(out))
    if len(given) != len(wanted):
        raise IllTyped(f"out: {len(wanted)} arrays are needed for a result of type {t}")
    for array, (scalar, shape) in zip(given, wanted, strict=True):
        yield array, scalar, shape


def _require(array: Row | DeviceArray, scalar: Scalar, shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != DTYPES[scalar.name]:
        raise IllTyped(
            f"out: {scalar} of shape {shape} is needed, it has {array.dtype} of shape {array.shape}"
        )


def call_key(arrays: tuple[Any, ...], out: Any) -> Hashable | None:
    """What a call on arrays of a device depends on, but for their cells; None where more of it has to be looked at.

    >>> import numpy as np
    >>> from relift.compiler.running.arrays.results import call_key
    >>> call_key((np.float32(2),), None), call_key((np.ones(2),), None)
    ((dtype('float32'), None), None)
    """
    found: list[Hashable] = []
    for value in (*arrays, out):
        if isinstance(value, DeviceArray):
            found.append((value.shape, value.dtype, value.device))
        elif isinstance(value, np.generic):
            found.append(value.dtype)
        elif isinstance(value, int | float):
            found.append(type(value).__name__)
        elif value is None:
            found.append(None)
        else:
            return None
    return tuple(found)


@dataclass(frozen=True)
class Again:
    """A call whose arguments have the shapes, the types and the device of a call that was checked: little is left to do."""

    launched: Repeated
    device: Device
    parameters: Sequence[Parameter]
    cells: Sequence[Cells]
    result_type: Type

    def __call__(self, arrays: tuple[Any, ...], out: DeviceArray | None) -> Any:
        given = [_given(value, p) for value, p in zip(arrays, self.parameters, strict=True)]
        if out is None:
            made = _arrays(self.launched(given), self.cells, self.device)
            return next(made) if len(self.cells) == 1 else nested(made, self.result_type)
        if any(row is out.resident for row in given):
            raise IllTyped(_READ)
        given.append(out.resident)
        self.launched(given)
        return out


def _given(value: Any, p: Parameter) -> Resident | np.generic[Any]:
    if isinstance(value, DeviceArray):
        return value.resident
    if isinstance(value, np.generic):
        return value
    assert isinstance(p.type, Scalar), "cannot happen: a number was taken before"
    return cell(value, p.type, p.name)  # whether it fits is a matter of its value
