"""Programs as operators of PyTorch, with PyTorch: `python -m proofs_tests.with_torch` (`pip install torch`).

CI has no torch; there `proofs_tests/test_torch_op.py` runs the same code with a stand-in of a few lines.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import relift as rl

n, m = rl.nat("n"), rl.nat("m")


@rl.program
def squares(x: rl.f32[n]):
    """Each element times itself."""
    return rl.map_glb(0)(lambda v: v * v, x)


@rl.program
def rows(a: rl.f32, xss: rl.f32[n, m]):
    """A number times the sum of each row."""
    return rl.map_glb(0)(lambda row: a * rl.reduce_seq(rl.add, 0.0, row), xss)


@rl.program
def slopes(x: rl.f32[n], g: rl.f32[n]):
    """The gradient of `squares`."""
    return rl.map_glb(0)(lambda p: 2.0 * p[0] * p[1], rl.zip(x, g))


def values(torch: Any) -> None:
    """The operator computes what torch does, also of what is not contiguous, and says what it does not take."""
    x = torch.arange(8, dtype=torch.float32)
    op, summed = rl.torch_op(squares), rl.torch_op(rows)
    assert torch.equal(op(x), x * x)
    assert torch.equal(op(x[::2]), x[::2] * x[::2])
    assert torch.equal(summed(2.0, x.reshape(2, 4).T), 2 * x.reshape(2, 4).T.sum(1))
    x[0] = 5.0
    assert op(x)[0] == 25.0


def copies(torch: Any) -> None:
    """None are made of tensors that lie where vectors may; nor of arrays of JAX, where that is installed."""
    from relift.compiler.dialects.opencl.queue import Queue

    counted, put = list[int](), Queue.put
    kernel, given = rl.compile(squares), [torch.arange(1024, dtype=torch.float32)]
    if importlib.util.find_spec("jax") is not None:
        given.append(importlib.import_module("jax.numpy").arange(1024, dtype="float32"))
    Queue.put = lambda queue, row: counted.append(len(row)) or put(queue, row)  # type: ignore[assignment, method-assign, func-returns-value]
    try:
        for x in given:
            found = kernel(x)
            assert type(found) is type(x)
            assert (found == x * x).all()
        assert counted == [], counted
        kernel(given[0][1:])  # begins inside a vector
        assert counted == [1023], counted
    finally:
        Queue.put = put  # type: ignore[method-assign]


def gradients(torch: Any) -> None:
    """By a program, and by a function of tensors."""
    x = torch.arange(4, dtype=torch.float32, requires_grad=True)
    for gradient in (slopes, lambda x, g: 2 * x * g):
        (found,) = torch.autograd.grad(rl.torch_op(squares, gradient=gradient)(x).sum(), x)
        assert torch.equal(found, 2 * x.detach())


def registration(torch: Any) -> None:
    """PyTorch's own check of an operator: schema, fake tensors, autograd, tracing with symbols for sizes."""
    x = torch.arange(4, dtype=torch.float32, requires_grad=True)
    torch.library.opcheck(rl.torch_op(squares, gradient=slopes), (x,))


def shapes(torch: Any) -> None:
    """Fake tensors have the shape and the type of the result; nothing is computed."""
    fake = importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode
    op = rl.torch_op(rows)
    with fake():
        found = op(1.0, torch.empty(3, 5))
    assert tuple(found.shape) == (3,)
    assert found.dtype is torch.float32


def graph(torch: Any) -> None:
    """`torch.export` keeps it as one operator in the graph, whatever the length is."""
    op = rl.torch_op(squares, name="relift::exported_squares")

    class Twice(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return op(op(x))

    length = torch.export.Dim("length", min=2)
    made = torch.export.export(Twice(), (torch.ones(4),), dynamic_shapes=({0: length},))
    assert str(made.graph).count("relift.exported_squares") == 2
    x = torch.arange(6, dtype=torch.float32)
    assert torch.equal(made.module()(x), x**4)


CHECKS: tuple[Callable[[Any], None], ...] = (values, copies, gradients, registration, shapes, graph)


def main() -> int:
    """Every check, and a line for each."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        print("there is no torch here: pip install torch", file=sys.stderr)
        return 2
    for check in CHECKS:
        check(torch)
        print(f"{check.__name__}: right")
    print(f"{len(CHECKS)} checks with torch {torch.__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
