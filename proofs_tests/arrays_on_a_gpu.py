"""Arrays of PyTorch, CuPy and JAX on an NVIDIA device, by kernels in CUDA: `python -m proofs_tests.arrays_on_a_gpu`.

Each library that is installed is tried: values, cells that are used in place (counted at the driver), its own stream,
`out=`, arrays that do not fit, and what a call costs.  CI has no such device; there
`proofs_tests/compiler/dialects/test_cuda_sharing.py` runs the same code with a stand-in for the driver.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

import relift as rl
from proofs_tests.with_torch import rows, slopes, squares

n = rl.nat("n")
XS = np.arange(1 << 20, dtype=np.float32)


@rl.program
def saxpy(a: rl.f32, x: rl.f32[n], y: rl.f32[n]):
    """A number times an array, plus another one."""
    return rl.map_glb(0)(lambda p: a * p[0] + p[1], rl.zip(x, y))


@dataclass(frozen=True)
class Library:
    """How arrays of a library are made, read, and worked on in a stream of one's own."""

    name: str
    made: Callable[[Any], Any]
    read: Callable[[Any], Any]
    stream: Callable[[], Any]
    is_written: bool = True
    """Whether arrays can be written."""


def _torch(torch: Any) -> Library:
    return Library(
        "torch",
        lambda x: torch.from_numpy(x.copy()).cuda(),
        lambda t: t.cpu().numpy(),
        lambda: torch.cuda.stream(torch.cuda.Stream()),
    )


def _cupy(cupy: Any) -> Library:
    return Library("cupy", cupy.asarray, cupy.asnumpy, lambda: cupy.cuda.Stream(non_blocking=True))


def _jax(jax: Any) -> Library:
    gpu = jax.devices("gpu")[0]
    made = lambda x: jax.device_put(x, gpu)
    return Library("jax", made, jax.device_get, nullcontext, is_written=False)


class Counted:
    """Copies that the driver is asked for between `with` and its end."""

    def __enter__(self) -> Self:
        from relift.compiler.dialects.cuda.session import Driver

        self.copies, call = list[str](), Driver.__call__

        def counted(driver: Any, function: str, *arguments: Any) -> None:
            small = function.startswith("cuMemcpyHtoDAsync") and arguments[2].value == 12
            if "Memcpy" in function and not small:  # where groups start is told in 12 bytes
                self.copies.append(function)
            call(driver, function, *arguments)

        self._driver, self._call = Driver, call
        Driver.__call__ = counted  # type: ignore[assignment, method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        self._driver.__call__ = self._call  # type: ignore[method-assign]


def values(of: Library) -> None:
    """What NumPy computes, in an array of the library; no cell is copied."""
    kernel, x, y = rl.compile(saxpy), of.made(XS), of.made(XS[::-1].copy())
    for a in (2.0, np.float32(3)):
        with Counted() as count:
            found = kernel(a, x, y)
        assert type(found) is type(x), type(found)
        assert np.array_equal(of.read(found), np.float32(a) * XS + XS[::-1])
        assert count.copies == [], count.copies


def streams(of: Library) -> None:
    """A chain of the library's work and ours, many times, on a stream of its own, with nobody waiting."""
    kernel = rl.compile(saxpy)
    with of.stream():
        x, zero = of.made(XS), of.made(np.zeros_like(XS))
        for _ in range(50):
            x = kernel(1.0, x + 1, zero)
            x = x * 1.0
        found = of.read(x)
    assert np.array_equal(found, XS + 50)


def memory(of: Library) -> None:
    """Arrays that nobody keeps are not taken away from kernels that run; nothing is lost."""
    kernel = rl.compile(saxpy)
    for i in range(200):
        found = kernel(
            1.0, of.made(np.full(1 << 16, i, np.float32)), of.made(np.ones(1 << 16, np.float32))
        )
        if i % 50 == 0:
            assert (of.read(found) == i + 1).all(), i


def written(of: Library) -> None:
    """`out=` is written in place, where arrays of the library can be."""
    kernel, x, out = rl.compile(saxpy), of.made(XS), of.made(np.zeros_like(XS))
    if not of.is_written:
        return
    with Counted() as count:
        assert kernel(2.0, x, x, out=out) is out
    assert np.array_equal(of.read(out), 3 * XS)
    assert count.copies == []


def refused(of: Library) -> None:
    """Of another type, not in a row, shorter than the other one: by name, with the call that fixes it."""
    kernel, x = rl.compile(saxpy), of.made(XS)
    for given, said in (
        (of.made(XS.astype(np.int32)), "give y."),
        (of.made(np.zeros((4, XS.size // 4), np.float32)).T if of.is_written else None, "y"),
        (x[1:], "y"),
    ):
        if given is not None:
            message = refusal(kernel, x, given)
            print(f"    {message}")
            assert said in message


def refusal(kernel: Any, *arguments: Any) -> str:
    """What is said of arguments that do not fit; nothing where they do."""
    try:
        kernel(2.0, *arguments)
    except rl.ReliftError as error:
        return error.message
    return ""


def inside(of: Library) -> None:
    """What begins inside a vector."""
    x = of.made(XS)[1:]
    assert np.array_equal(of.read(rl.compile(saxpy)(2.0, x, x)), 3 * XS[1:])


def resident(of: Library) -> None:
    """Arrays of ours and theirs, by DLPack in both directions."""
    x = rl.device_array(XS, "cuda")
    theirs = rl.compile(saxpy)(2.0, of.made(XS), x)
    assert np.array_equal(of.read(theirs), 3 * XS)
    ours = rl.device_array(of.made(XS))
    assert np.array_equal(rl.compile(saxpy)(2.0, ours, x).numpy(), 3 * XS)


def times(of: Library) -> None:
    """Until a call returns; the library's own work beside it."""
    kernel, x = rl.compile(saxpy), of.made(XS[:1024])
    out = of.made(XS[:1024]) if of.is_written else None
    for name, call in (
        ("kernel(a, x, x)", lambda: kernel(2.0, x, x)),
        ("kernel(a, x, x, out=out)", lambda: kernel(2.0, x, x, out=out)),
        ("2 * x + x by the library", lambda: 2 * x + x),
    ):
        call()
        begin = time.perf_counter()
        for _ in range(2000):
            call()
        print(f"    {name:28} {(time.perf_counter() - begin) / 2000 * 1e6:7.1f} us")
        of.read(x)


def operators(torch: Any) -> None:
    """`rl.torch_op` on tensors of the device: values, gradients, PyTorch's own check, torch.compile."""
    op = rl.torch_op(squares, gradient=slopes)
    x = torch.arange(64, dtype=torch.float32, device="cuda", requires_grad=True)
    assert torch.equal(op(x), x * x)
    (found,) = torch.autograd.grad(op(x).sum(), x)
    assert torch.equal(found, 2 * x.detach())
    torch.library.opcheck(op, (x,))
    summed = rl.torch_op(rows)
    xss = torch.arange(64, dtype=torch.float32, device="cuda").reshape(8, 8)
    assert torch.equal(summed(2.0, xss.T), 2 * xss.T.sum(1))
    whole = torch.compile(lambda x: op(x) + 1, fullgraph=True)
    assert torch.equal(whole(x.detach()), x.detach() ** 2 + 1)


CHECKS = (values, streams, memory, written, refused, inside, resident, times)
MADE = {"torch": _torch, "cupy": _cupy, "jax": _jax}


def main() -> int:
    """Every check for every library that is here; exit status 1 where one fails, 2 where there is none."""
    tried = failed = 0
    for name, make in MADE.items():
        try:
            module = importlib.import_module(name)
            of = make(module)
        except Exception as error:  # noqa: BLE001 - a library that is not here says so in many ways
            print(f"{name}: not tried: {type(error).__name__}: {error}")
            continue
        own = [lambda _, m=module: operators(m)] if name == "torch" else []
        for check, called in [(c, c.__name__) for c in CHECKS] + [(c, "operators") for c in own]:
            tried += 1
            try:
                check(of)
                print(f"{name} {called}: right", flush=True)
            except Exception as error:  # noqa: BLE001 - the other checks go on
                failed += 1
                print(f"{name} {called}: WRONG: {type(error).__name__}: {error}", flush=True)
    print(f"{tried} checks, {failed} failed")
    return 2 if not tried else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
