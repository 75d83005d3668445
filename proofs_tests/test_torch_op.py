"""Programs as operators of PyTorch, with a stand-in of a few lines; `python -m proofs_tests.with_torch` takes PyTorch itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.with_torch import rows, slopes, squares
from relift.calling.torch_operators import fake_sizes, schema

n = rl.nat("n")


@dataclass
class Operator:
    """What `torch.library.custom_op` makes: it is told the rules, and computes."""

    name: str
    computed: Callable[..., Any]
    schema: str
    fake: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None
    remember: Callable[..., None] | None = None

    def __call__(self, *arguments: Any) -> Any:
        return self.computed(*arguments)

    def register_fake(self, rule: Callable[..., Any]) -> None:
        self.fake = rule

    def register_autograd(self, rule: Callable[..., Any], *, setup_context: Any) -> None:
        self.backward, self.remember = rule, setup_context


class Tensor:
    """An array with what the operator asks of a tensor."""

    def __init__(self, array: Any, device: str = "cpu") -> None:
        self.array, self.device = np.asarray(array), SimpleNamespace(type=device)
        self.shape = self.array.shape

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def detach(self) -> Tensor:
        return self

    def contiguous(self) -> Tensor:
        return Tensor(np.ascontiguousarray(self.array))


@dataclass
class Context:
    """What autograd hands from one pass to the other."""

    numbers: list[Any] = field(default_factory=list[Any])
    saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A stand-in for torch: what is made of it is seen by the tests."""

    def custom_op(name: str, computed: Any, **options: Any) -> Operator:
        assert options["mutates_args"] == ()
        assert options["device_types"] == ("cpu", "cuda")
        return Operator(name, computed, options["schema"])

    found = SimpleNamespace(
        library=SimpleNamespace(custom_op=custom_op),
        from_numpy=Tensor,
        empty=lambda shape, dtype, device: (tuple(shape), dtype, device),
        float32="float32",
        int64="int64",
    )
    monkeypatch.setitem(sys.modules, "torch", found)
    return found


def test_it_computes_what_the_program_does() -> None:
    """Of tensors, numbers and what is not contiguous; the result is a tensor."""
    op: Any = rl.torch_op(rows)
    xss = np.arange(8, dtype=np.float32).reshape(2, 4).T

    assert op.schema == "(float a, Tensor xss) -> Tensor"
    assert op.name.startswith("relift::rows_")
    found = op(2.0, Tensor(xss))
    assert (np.asarray(found.array) == 2 * xss.sum(1)).all()


def test_the_rule_for_fake_tensors_needs_no_elements() -> None:
    """Sizes that are symbols stay symbols; others are solved for."""
    op: Any = rl.torch_op(squares)
    symbol = object()

    assert op.fake(SimpleNamespace(shape=(symbol,), device="cuda:0")) == (
        (symbol,),
        "float32",
        "cuda:0",
    )

    @rl.program
    def halves(x: rl.f32[2 * n]):
        return rl.map(lambda pair: pair[0] + pair[1], rl.split(2, x))

    assert rl.torch_op(halves).fake(SimpleNamespace(shape=(6,))) == ((3,), "float32", "cpu")  # type: ignore[attr-defined]
    with pytest.raises(rl.IllTyped, match=r"x is .*, and has 1 dimensions"):
        fake_sizes(squares, [SimpleNamespace(shape=(2, 2))])


def test_gradients_are_those_of_the_rule() -> None:
    """Of each tensor among the arguments, and none of numbers."""
    op: Any = rl.torch_op(squares, gradient=slopes)
    x, g = np.array([1, 2, 3], np.float32), np.array([1, 0, 2], np.float32)
    context = Context()
    op.remember(context, (Tensor(x),), None)
    assert (np.asarray(op.backward(context, Tensor(g)).array) == 2 * x * g).all()

    scaled: Any = rl.torch_op(rows, gradient=lambda a, xss, g: ("of xss", a))
    scaled.remember(context, (2.0, Tensor(np.ones((2, 2), np.float32))), None)
    assert scaled.backward(context, Tensor(g)) == (None, "of xss")


def test_what_no_operator_has_is_refused() -> None:
    """Tensors of another device, and types that torch has not, by name."""
    with pytest.raises(rl.IllTyped, match=r"x lies on .*mps.*; give x.cpu\(\)"):
        rl.torch_op(squares)(Tensor(np.zeros(2, np.float32), "mps"))

    @rl.program
    def pairs(x: rl.f32[n]):
        return rl.zip(x, x)

    with pytest.raises(rl.IllTyped, match="unzip it first"):
        schema(pairs)


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(rl.ReliftError, match="pip install torch"):
        rl.torch_op(squares)
