"""Arrays of other libraries in the memory of an NVIDIA device: used where they lie, on the stream that the library works on.

A library that says on which stream it works needs to wait for nothing, and new memory is its own, which it gives to
nobody else before what is enqueued there is done.  Others are asked by DLPack to finish first what they have enqueued,
their arrays are kept until the kernels are done, and new memory is ours.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from relift.compiler.dialects.cuda.session import DLPACK, CudaRow, device, driver
from relift.compiler.running.arrays.device_array import DeviceArray
from relift.compiler.running.arrays.dlpack import Borrowed, borrowed
from relift.semantics.array_exchange import calls, handed_out, library_of
from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped

LEGACY = 1
"""What DLPack calls the stream that is 0 to the driver."""


@dataclass(frozen=True)
class Library:
    """What is asked of a library, as functions of its module: the number of its stream, new cells, and where those lie.

    `plain` is the type of the cells of an array that lies in a row and is nothing but its cells, None where more has to be
    looked at, by DLPack; libraries whose DLPack takes no longer than this are not asked.
    """

    stream: Callable[[Any], int]
    empty: Callable[[Any, int, str], Any]
    address: Callable[[Any], int]
    plain: Callable[[Any, Any], np.dtype[Any] | None] = lambda module, array: None


def _torch_stream(torch: Any) -> int:
    """What `torch.cuda.current_stream(0).cuda_stream` is, in a tenth of its time where PyTorch has it for its compilers."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    found: int = torch.cuda.current_stream(0).cuda_stream if raw is None else raw(0)
    return found


def _torch_plain(torch: Any, tensor: Any) -> np.dtype[Any] | None:
    """None for what `__dlpack__` refuses, or changes first: gradients, lazy signs, layouts, subclasses."""
    if (
        type(tensor) is not torch.Tensor
        or tensor.requires_grad
        or tensor.layout is not torch.strided
        or not tensor.is_contiguous()
        or tensor.is_neg()
    ):
        return None
    return _torch_types(torch).get(tensor.dtype)


@cache
def _torch_types(torch: Any) -> dict[Any, np.dtype[Any]]:
    return {getattr(torch, dtype.name): dtype for dtype in DTYPES.values()}


LIBRARIES = {
    "torch": Library(
        _torch_stream,
        lambda torch, cells, dtype: torch.empty(
            cells, dtype=getattr(torch, dtype), device="cuda:0"
        ),
        lambda tensor: tensor.data_ptr(),
        _torch_plain,
    ),
    "cupy": Library(
        lambda cupy: cupy.cuda.get_current_stream().ptr,
        lambda cupy, cells, dtype: cupy.empty(cells, dtype),
        lambda array: array.data.ptr,
    ),
}


def array_of(value: Any, name: str) -> DeviceArray:
    """An array of another library as one of ours, with the same cells.

    Raises `IllTyped`, with the call that makes it one that can be used, where its cells do not lie in a row, or are of
    a type that no program has.
    """
    library = library_of(value)
    known = LIBRARIES.get(library)
    stream = known.stream(sys.modules[library]) if known else 0
    with handed_out(value, name):
        dtype = known.plain(sys.modules[library], value) if known else None
        if known is None or dtype is None:
            found = borrowed(value, stream or LEGACY)
        else:
            lies = known.address(value)
            found = Borrowed(lies, tuple(value.shape), dtype, True, False, DLPACK, value)
    if not found.is_contiguous:
        raise IllTyped(
            f"{name}: the {library} array does not lie in a row on its device; give "
            f"{calls(library, name).contiguous}"
        )
    if found.dtype is None or found.dtype not in DTYPES.values():
        cast = calls(library, name).cast.format("float32")
        raise IllTyped(
            f"{name}: cells of {getattr(value, 'dtype', 'this type')} are those of no program; give {cast}"
        )
    return DeviceArray(found.shape, found.dtype, device(), _row(found, stream, library))


def _row(found: Borrowed, stream: int, library: str) -> CudaRow:
    empty = _empty(library) if library in LIBRARIES else None
    cells = math.prod(found.shape)
    assert found.dtype is not None, "cannot happen: a type that NumPy does not have is refused"
    return CudaRow(driver(), cells, found.dtype, stream, found, empty)


@cache
def _empty(library: str) -> Callable[[int, np.dtype[Any]], CudaRow]:
    """New rows in the memory of a library, for the stream that it works on then."""
    known, names = LIBRARIES[library], {dtype: dtype.name for dtype in DTYPES.values()}

    def empty(cells: int, dtype: np.dtype[Any]) -> CudaRow:
        module = sys.modules[library]
        made = known.empty(module, max(1, cells), names[dtype])
        lies = Borrowed(known.address(made), (cells,), dtype, True, False, DLPACK, made)
        return CudaRow(driver(), cells, dtype, known.stream(module), lies, empty, made)

    return empty
