"""Arrays that lie on a device, arrays of other libraries, and results in arrays that the caller has."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import array_api_strict as other
import numpy as np
import pytest

import relift as rl
from relift.compiler.devices.naming import label
from relift.compiler.devices.survey import devices
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.session import memory
from relift.semantics.domains import DTYPES
from relift.semantics.language.coercion import as_term
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import Scalar

n = rl.nat("n")
DEVICES = [label(d) for d in devices()]
XS, YS = np.arange(100, dtype=np.float32), np.full(100, 7, np.float32)


@rl.program
def saxpy(a: rl.f32, x: rl.f32[n], y: rl.f32[n]):
    return rl.map_glb(0)(lambda p: a * p[0] + p[1], rl.zip(x, y))


@rl.program
def both(ps: rl.tup(rl.f32, rl.i32)[n]):
    return rl.map_glb(0)(lambda p: (p[1], p[0] + p[0]), ps)


@rl.program
def total(x: rl.f32[n]):
    return rl.to_global(rl.reduce_seq(rl.add, 0.0, x))


@pytest.fixture(scope="module")
def kernel() -> Compiled:
    return rl.compile(saxpy)


@pytest.mark.parametrize("device", DEVICES)
def test_results_stay_on_the_device(kernel: Compiled, device: str) -> None:
    """Where an argument lies on a device the result lies there, and is right, also as the argument of the next call."""
    x, y = rl.device_array(XS, device), rl.device_array(YS, device)

    first = kernel(np.float32(2), x, y)
    second = kernel(np.float32(3), first, y)

    assert isinstance(second, rl.DeviceArray)
    assert label(second.device) == device
    assert np.array_equal(second.numpy(), 3 * (2 * XS + YS) + YS)


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_that_a_kernel_computed_are_arguments(kernel: Compiled, device: str) -> None:
    """What a reduction leaves on a device is taken as a scalar by the next kernel."""
    x = rl.device_array(XS, device)

    found = kernel(rl.compile(total)(x), x, x)

    assert np.array_equal(found.numpy(), XS.sum() * XS + XS)


@pytest.mark.parametrize("device", DEVICES)
def test_a_call_made_before_takes_numbers_from_anywhere(kernel: Compiled, device: str) -> None:
    """A number of NumPy, of Python or of a kernel: in the first call and in those like it."""
    x, y = rl.device_array(XS, device), rl.device_array(YS, device)
    two, three = (
        rl.compile(total)(rl.device_array(np.array([1, k], np.float32), device)) for k in (1, 2)
    )

    for a, wanted in ((two, 2), (three, 3), (2, 2), (3, 3), (np.float32(2), 2), (np.float32(3), 3)):
        for _ in range(2):
            assert np.array_equal(kernel(a, x, y).numpy(), wanted * XS + YS)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("t", [rl.f16, rl.f32, rl.f64, rl.i32, rl.i64, rl.boolean], ids=str)
def test_numbers_of_each_type_arrive(t: Scalar, device: str) -> None:
    """Also those that are far from what other types hold, and again in a second call."""
    a, b, c = Input("a", t), Input("b", t), Input("c", rl.boolean[n])
    body = rl.map_glb(0)(lambda v: rl.select(v, a, b), c)
    chosen = rl.Program("chosen", (a, b, c), as_term(body))
    run, dtype = rl.compile(chosen), DTYPES[str(t)].type
    where = rl.device_array(np.array([True, False]), device)

    for first, second in ((1, 0), (0, 1)) if t is rl.boolean else ((3, -60000), (-60000, 3)):
        for _ in range(2):
            assert run(dtype(first), dtype(second), where).numpy().tolist() == [first, second]


def test_memory_is_used_again_when_nobody_looks_at_it(kernel: Compiled) -> None:
    """A call whose result replaces an earlier one takes the memory of one before it."""
    x, y = rl.device_array(XS), rl.device_array(YS)
    seen = set()
    for _ in range(200):
        result = kernel(np.float32(2), x, y).wait()
        seen.add(result.resident.buffer.int_ptr)

    assert len(seen) < 200


def test_what_somebody_looks_at_is_not_written_anew(kernel: Compiled) -> None:
    """A NumPy array in the memory of a result outlives it, whatever is computed afterwards."""
    x, y = rl.device_array(XS), rl.device_array(YS)
    looked_at = [np.from_dlpack(kernel(np.float32(k), x, y)) for k in range(100)]
    for _ in range(100):
        kernel(np.float32(-1), x, y).wait()

    for k, cells in enumerate(looked_at):
        assert np.array_equal(cells, k * XS + YS)


def test_tuples_of_arrays_lie_on_a_device() -> None:
    """An array of tuples is a tuple of arrays there, too."""
    found = rl.compile(both)(rl.device_array((XS, XS.astype(np.int32))))

    assert np.array_equal(found[0].numpy(), XS.astype(np.int32))
    assert np.array_equal(found[1].numpy(), 2 * XS)


def test_results_are_written_where_the_caller_says(kernel: Compiled) -> None:
    """`out` on a device is written there, and it is what the call returns, whichever call of its kind it is."""
    x, y, out = (rl.device_array(a) for a in (XS, YS, np.zeros_like(XS)))

    for a in (2, 3, 4):
        assert kernel(np.float32(a), x, y, out=out) is out
        assert np.array_equal(out.numpy(), a * XS + YS)


@pytest.mark.parametrize("aligned", [False, True])
def test_results_are_written_on_the_host(kernel: Compiled, aligned: bool) -> None:
    """`out` on the host is written, whatever its alignment."""
    out = memory(101, XS.dtype)[0 if aligned else 1 :][:100]

    assert kernel(np.float32(2), XS, YS, out=out) is out
    assert np.array_equal(out, 2 * XS + YS)


@pytest.mark.parametrize("aligned", [False, True])
def test_a_result_may_replace_an_argument_on_the_host(aligned: bool) -> None:
    """What is read at other places than it is written is not read after it was written."""

    @rl.program
    def reversed_sums(x: rl.f32[n]):
        return rl.map_glb(0)(lambda p: p[0] + p[1], rl.zip(x, rl.gather(rl.reverse, x)))

    x = memory(101, XS.dtype)[0 if aligned else 1 :][:100]
    x[:] = XS * XS

    rl.compile(reversed_sums)(x, out=x)

    assert np.array_equal(x, XS * XS + (XS * XS)[::-1])


def test_a_result_may_not_replace_an_argument_on_a_device(kernel: Compiled) -> None:
    """Kernels read while they write: the first call says so, and the second, which is checked less."""
    x, y, other_one = (rl.device_array(XS) for _ in range(3))

    for _ in range(2):
        with pytest.raises(rl.IllTyped, match="out: it is an argument, too"):
            kernel(np.float32(2), x, y, out=y)
        kernel(np.float32(2), x, y, out=other_one)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros(99, np.float32), r"out: f32 of shape \(100,\) is needed, it has float32 of shape \(99,\)"),
        (np.zeros(100), "out: f32 of shape .* is needed, it has float64"),
        ((np.zeros(100, np.float32),) * 2, "out: 1 arrays are needed for a result of type"),
        ([0.0] * 100, "out: an array is needed, not list"),
        (np.broadcast_to(np.float32(0), 100), "out: the array is read-only"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_a_result_are_refused(
    kernel: Compiled, out: Any, message: str
) -> None:
    """What cannot hold the result is named, with what is needed."""
    with pytest.raises(rl.IllTyped, match=message):
        kernel(np.float32(2), XS, YS, out=out)


def test_a_host_array_cannot_hold_what_is_left_on_a_device(kernel: Compiled) -> None:
    """The message names the call that makes the array."""
    x = rl.device_array(XS)

    with pytest.raises(rl.IllTyped, match=r"make it with rl\.device_array"):
        kernel(np.float32(2), x, x, out=np.zeros(100, np.float32))


def test_arguments_on_another_device_are_refused(kernel: Compiled) -> None:
    """Two devices, or another one than asked for, are named with the call that moves the array."""
    x, y = rl.device_array(XS, DEVICES[0]), rl.device_array(XS, DEVICES[-1])

    with pytest.raises(rl.IllTyped, match="an array lies on") as refused:
        kernel(np.float32(2), x, y)
    assert "rl.device_array(x, device=...)" in str(refused.value)
    with pytest.raises(rl.IllTyped, match="an array lies on"):
        kernel(np.float32(2), x, x, device=DEVICES[-1])


def test_what_lies_on_a_device_has_one_type(kernel: Compiled) -> None:
    """Neither another scalar type nor another shape is taken."""
    x = rl.device_array(XS)

    with pytest.raises(
        rl.IllTyped, match=r"y: f32 is needed, .*rl\.device_array\(x\.astype\(np\.float32\)\)"
    ):
        kernel(np.float32(2), x, rl.device_array(XS.astype(np.float64)))  # fmt: skip
    with pytest.raises(rl.IllTyped, match="y"):
        kernel(np.float32(2), x, rl.device_array(XS[1:]))
    with pytest.raises(rl.IllTyped, match="complex64 are none of"):
        rl.device_array(XS * 1j)


def test_a_program_may_be_run_where_its_arguments_lie(kernel: Compiled) -> None:
    """The interpreter takes them, too."""
    assert np.array_equal(saxpy(np.float32(2), rl.device_array(XS), XS), 3 * XS)


@pytest.mark.parametrize("device", [d for d in DEVICES if "grind" not in d.lower()])
def test_memory_of_the_host_is_exchanged_without_a_copy(kernel: Compiled, device: str) -> None:
    """On a CPU, another library sees the cells that the kernel wrote, and no others."""
    x = rl.device_array(XS, device)
    found = kernel(np.float32(2), x, x)

    seen, again = other.from_dlpack(found), np.from_dlpack(found)

    assert np.shares_memory(again, found.resident.read())
    assert np.shares_memory(np.from_dlpack(seen), again)


def test_aligned_arguments_are_used_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """An argument that lies as vectors need it is not copied, one that does not is: counted on the OpenCL device."""
    from relift.compiler.dialects.opencl.queue import Queue

    session = rl.compile(total).session("cpu")
    if not isinstance(getattr(session, "_queue", None), Queue):
        pytest.fail("the default device is one of OpenCL where the tests run")
    copies: list[int] = []
    put = Queue.put

    def counted(queue: Queue, row: Any) -> Any:
        copies.append(len(row))
        return put(queue, row)

    monkeypatch.setattr(Queue, "put", counted)
    x = memory(101, XS.dtype)
    x[:] = 1

    assert rl.compile(total)(x) == 101
    assert copies == []
    assert rl.compile(total)(x[1:]) == 100
    assert copies == [100]


def test_arguments_that_nobody_may_write_are_used_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As arrays of JAX are, which NumPy gets read-only: they are only read."""
    from relift.compiler.dialects.opencl.queue import Queue

    x = memory(100, XS.dtype)
    x[:] = XS
    x.flags.writeable = False
    monkeypatch.setattr(Queue, "put", lambda *_: pytest.fail("it was copied"))

    assert rl.compile(total)(x) == XS.sum()


@pytest.mark.parametrize("device", DEVICES)
def test_whether_a_result_is_there_can_be_asked(kernel: Compiled, device: str) -> None:
    """Without waiting; after waiting it is."""
    x = rl.device_array(XS, device)
    found = kernel(np.float32(2), x, x)

    assert found.is_ready in (True, False)
    assert found.wait() is found
    assert found.is_ready


def test_a_number_of_python_is_looked_at_in_each_call() -> None:
    """The second call of a kind is checked less, but for what is a matter of values."""

    @rl.program
    def repeated(a: rl.i32, x: rl.f32[n]):
        return rl.map_glb(0)(lambda v: rl.f32(a) * v, x)

    kernel, x = rl.compile(repeated), rl.device_array(XS)

    for a in (2, 3):
        assert np.array_equal(kernel(a, x).numpy(), a * XS)
    with pytest.raises(rl.IllTyped, match=r"a: .* is not a value of type i32"):
        kernel(1 << 40, x)


def test_cells_of_another_type_are_named_with_the_call_of_their_library(kernel: Compiled) -> None:
    """Not with NumPy's, which the array may not have."""
    y = other.asarray(YS.astype(np.float64))

    with pytest.raises(
        rl.IllTyped, match="y: f32 is needed, the array_api_strict array holds float64; give a call"
    ):
        kernel(np.float32(2), other.asarray(XS), y)


@pytest.mark.parametrize("run", [saxpy, rl.compile(saxpy)], ids=["interpreter", "kernel"])
def test_arrays_of_another_library_are_taken_and_given(run: Any) -> None:
    """A result is an array of the library that its arguments are of."""
    x, y = other.asarray(XS), other.asarray(YS)

    found = run(np.float32(2), x, y)

    assert isinstance(found, type(x))
    assert np.array_equal(np.from_dlpack(found), 2 * XS + YS)


def test_arrays_beyond_the_reach_of_the_host_are_refused_by_name(kernel: Compiled) -> None:
    """The library's own words, or the device's number, and what to do."""

    class Elsewhere:
        shape, dtype = (100,), np.dtype(np.float32)

        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("it is somewhere else")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

    class Locked(Elsewhere):
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    with pytest.raises(
        rl.IllTyped, match=r"x: .*lies on a device \(DLPack 2:0\); copy it to the host"
    ):
        kernel(np.float32(2), Elsewhere(), YS)  # fmt: skip
    with pytest.raises(rl.IllTyped, match=r"x: .*does not share this array: it is somewhere else"):
        saxpy(np.float32(2), Locked(), YS)


MANY = """
import numpy as np, relift as rl
n = rl.nat("n")
@rl.program
def twice(x: rl.f32[n]):
    return rl.map_glb(0)(lambda v: v + v, x)
kernel = rl.compile(twice, sizes={"n": 1 << 20})
x = rl.device_array(np.ones(1 << 20, np.float32))
for _ in range(300):
    kernel(x)  # nobody waits for it, and nobody keeps it
y = kernel(x)
del x
print(float(y.numpy().sum()))
kernel(y)
"""


def test_memory_in_use_is_not_taken_away() -> None:
    """Calls whose results nobody keeps end well, and so does the process."""
    done = subprocess.run(
        [sys.executable, "-c", MANY], capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 2 << 20


@pytest.mark.parametrize("device", DEVICES)
def test_what_a_kernel_leaves_out_is_not_what_an_earlier_one_wrote(device: str) -> None:
    """A kernel that writes one cell gives no right result, though the memory that it gets held one just before."""
    right = rl.compile(saxpy, sizes={"n": 100})
    lazy = dataclasses.replace(
        right, source=right.source.replace("out[glb_0]", "out[0]"), unchecked=True
    )
    assert lazy.source != right.source

    for _ in range(5):
        expected = right(np.float32(2), XS, YS, device=device).copy()
        assert not np.any(lazy(np.float32(2), XS, YS, device=device)[1:] == expected[1:])
