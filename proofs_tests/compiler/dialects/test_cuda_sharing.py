"""Arrays of other libraries on an NVIDIA device, with a stand-in for its driver whose memory is that of the host.

With a device and the libraries, `python -m proofs_tests.arrays_on_a_gpu` sees the same.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.devices import survey
from relift.compiler.dialects.cuda import session, sharing
from relift.compiler.running.arrays import dlpack, placing
from relift.compiler.running.arrays.placing import exchanging
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.session import memory

n = rl.nat("n")
OURS, THEIRS = 0, 77


@rl.program
def doubled(x: rl.f32[n]):
    return rl.map_glb(0)(lambda v: v + v, x)


def _number(value: Any) -> int:
    """What a function in C is given."""
    return getattr(value, "value", value) or 0


@dataclass
class Library:
    """libcuda, as far as sessions ask: a launch doubles what it is given, and each call that touches cells is written down."""

    calls: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    memory: dict[int, Any] = field(default_factory=dict[int, Any])

    def __getattr__(self, name: str) -> Callable[..., int]:
        return lambda *_: 0

    def cuMemAlloc_v2(self, place: Any, size: Any) -> int:
        made = memory(_number(size), np.dtype(np.uint8))
        self.memory[made.ctypes.data] = made
        place._obj.value = made.ctypes.data
        return 0

    def cuMemFree_v2(self, place: Any) -> int:
        del self.memory[_number(place)]
        return 0

    def _copied(self, what: str, to: Any, of: Any, size: Any, stream: Any = OURS) -> int:
        ctypes.memmove(_number(to), _number(of), _number(size))
        self.calls.append((what, _number(stream)))
        return 0

    def cuMemcpyHtoDAsync_v2(self, *given: Any) -> int:
        return self._copied("to device", *given) if _number(given[0]) else 0

    def cuMemcpyDtoDAsync_v2(self, *given: Any) -> int:
        return self._copied("on device", *given)

    def cuMemcpyDtoH_v2(self, *given: Any) -> int:
        return self._copied("to host", *given)

    def cuStreamWaitEvent(self, stream: Any, *_: Any) -> int:
        self.calls.append(("waits", _number(stream)))
        return 0

    def cuLaunchKernel(self, *given: Any) -> int:
        stream, places = _number(given[8]), given[9]
        x, out = (ctypes.c_uint64.from_address(places[i]).value for i in (0, 1))
        cells = given[1] * given[4]
        row = np.frombuffer((ctypes.c_float * cells).from_address(x), np.float32)
        np.frombuffer((ctypes.c_float * cells).from_address(out), np.float32)[:] = row + row
        self.calls.append(("launched", stream))
        return 0

    @property
    def copies(self) -> list[str]:
        return [what for what, _ in self.calls if what not in ("launched", "waits")]

    @property
    def streams(self) -> set[int]:
        return {stream for what, stream in self.calls if what == "launched"}


class Tensor:
    """An array of a library on the device: the driver cannot tell whether its cells lie there."""

    kept: bool = False

    def __init__(self, cells: Any, device: int = 0, dtype: Any = None) -> None:
        self.cells, self.device, self.dtype = cells, device, dtype or f"other.{cells.dtype}"
        self.asked: list[Any] = []

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.cells.shape)

    def reshape(self, shape: Any) -> Tensor:
        return Tensor(self.cells.reshape(shape))

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device

    def __dlpack__(self, stream: Any = None) -> Any:
        self.asked.append(stream)
        if not self.cells.flags.c_contiguous:
            return _Strided(self.cells).__dlpack__()
        return dlpack.lent(
            self.cells.ctypes.data, self.shape, self.cells.dtype, (2, self.device), self
        )


class _Strided:
    """NumPy hands out strides."""

    def __init__(self, cells: Any) -> None:
        self.cells = cells

    def __dlpack__(self) -> Any:
        return self.cells.__dlpack__()


def tensor(length: int = 32, start: int = 0) -> Tensor:
    """Cells that begin where vectors may, or some behind that."""
    cells = memory(length + start, np.dtype(np.float32))
    cells[:] = np.arange(length + start)
    return Tensor(cells[start:])


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Generator[Library]:
    """The stand-in as the driver of this machine, and its device as one that works."""
    library = Library()
    with monkeypatch.context() as only_here:  # other libraries are loaded when they are first used
        only_here.setattr(ctypes, "CDLL", lambda _: library)
        driver = session.Driver()
    monkeypatch.setattr(session, "ptx", lambda *_: "")
    find = survey.find_device
    for module in (survey, placing):
        monkeypatch.setattr(
            module,
            "find_device",
            lambda name=None: session.device() if name == "cuda" else find(name),
        )
    described = driver.described()
    monkeypatch.setattr(session, "driver", lambda: driver)
    for module in (session, sharing):
        monkeypatch.setattr(module, "device", lambda: described)
    monkeypatch.setattr(sharing, "driver", lambda: driver)
    exchanging.cache_clear()
    yield library
    exchanging.cache_clear()


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library says on which stream it works, and has memory."""
    made = SimpleNamespace(
        stream=THEIRS, empty=lambda cells: Tensor(memory(cells, np.dtype(np.float32)))
    )
    monkeypatch.setitem(sys.modules, "other", made)
    monkeypatch.setattr(Tensor, "__module__", "other")
    known = sharing.Library(
        lambda m: m.stream, lambda m, cells, _: m.empty(cells), lambda t: int(t.cells.ctypes.data)
    )
    monkeypatch.setitem(sharing.LIBRARIES, "other", known)


@pytest.fixture
def kernel() -> Compiled:
    return rl.compile(doubled)


@pytest.mark.usefixtures("theirs")
def test_kernels_run_on_tensors_where_they_lie(cuda: Library, kernel: Compiled) -> None:
    """On the stream of their library, in its memory, into its memory; no cell is copied, whichever call it is."""
    x = tensor()

    for _ in range(3):
        found = kernel(x)
        assert isinstance(found, Tensor)
        assert np.array_equal(found.cells, 2 * x.cells)

    assert cuda.copies == []
    assert cuda.streams == {THEIRS}
    assert cuda.memory == {}
    assert x.asked == [THEIRS] * 3


@pytest.mark.usefixtures("theirs")
def test_plain_arrays_are_not_asked_for_more_than_their_cells(
    monkeypatch: pytest.MonkeyPatch, cuda: Library, kernel: Compiled
) -> None:
    """A library may say which arrays are nothing but their cells; others are handed out by DLPack."""
    plain, other = tensor(), tensor()
    known = sharing.LIBRARIES["other"]
    says = lambda _, array: array.cells.dtype if array is plain else None
    monkeypatch.setitem(sharing.LIBRARIES, "other", replace(known, plain=says))

    for x in (plain, other):
        assert np.array_equal(kernel(x).cells, 2 * x.cells)

    assert plain.asked == []
    assert other.asked == [THEIRS]
    assert cuda.copies == []
    assert cuda.streams == {THEIRS}


@pytest.mark.usefixtures("theirs")
def test_results_are_written_into_tensors(cuda: Library, kernel: Compiled) -> None:
    """`out=` is what is returned, and is written itself."""
    x, out = tensor(), tensor()

    assert kernel(x, out=out) is out
    assert np.array_equal(out.cells, 2 * x.cells)
    assert cuda.copies == []


def test_a_library_that_names_no_stream_is_waited_for(cuda: Library, kernel: Compiled) -> None:
    """It is asked to be done before the driver's own stream goes on; its array is kept until the kernel is done; the
    result is handed to it by DLPack, which waits in turn."""
    x = tensor()
    (here,) = [rl.device_array(x)]

    found = kernel(here)

    assert x.asked == [sharing.LEGACY]
    assert cuda.streams == {OURS}
    capsule = found.__dlpack__(stream=THEIRS)
    assert cuda.calls[-1] == ("waits", THEIRS)
    assert cuda.copies == []
    del capsule, found
    gc.collect()
    assert cuda.memory == {}


def test_a_row_that_another_stream_used_is_waited_for(cuda: Library, kernel: Compiled) -> None:
    """What was computed on one stream is an argument on another."""
    first = kernel(rl.device_array(tensor()))
    first.resident.stream = THEIRS

    kernel(first, out=rl.device_array(tensor()))

    # the borrowed array decides where it runs
    assert cuda.calls[-2:] == [("waits", OURS), ("launched", OURS)]


def test_what_begins_inside_a_vector_is_copied_on_the_device(
    cuda: Library, kernel: Compiled
) -> None:
    """An argument is; an array for the result is refused."""
    x = tensor(32, start=1)

    assert np.array_equal(kernel(rl.device_array(x)).numpy(), 2 * x.cells)
    assert cuda.copies == ["on device", "to host"]
    with pytest.raises(rl.IllTyped, match="out: the array begins in the middle of a vector"):
        kernel(rl.device_array(tensor()), out=rl.device_array(x))


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: Tensor(np.zeros(32, np.float64)), "x: f32 is needed, the .* array holds float64; give "),
        (lambda: Tensor(np.zeros(64, np.float32)[::2]), "x: the .* array does not lie in a row on its device; give "),
        (lambda: Tensor(np.zeros(32, np.float32), device=1), r"x: .*lies on a device \(DLPack 2:1\); copy it"),
    ],
)  # fmt: skip
def test_tensors_that_do_not_fit_are_refused_by_name(
    kernel: Compiled, given: Callable[[], Any], message: str
) -> None:
    """Of another type, not contiguous, on another device: with what to do."""
    with pytest.raises(rl.IllTyped, match=message):
        kernel(given())


@pytest.mark.usefixtures("cuda")
def test_two_devices_are_refused(kernel: Compiled) -> None:
    """A kernel asked for on one device takes no array of another one."""
    with pytest.raises(rl.IllTyped, match=r"bring it there by rl\.device_array"):
        kernel(tensor(), device="cpu")
