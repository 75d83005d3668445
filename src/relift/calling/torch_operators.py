"""Programs as operators of PyTorch: what `torch.compile`, `torch.export` and autograd see is one operator with a rule
for shapes and, where it is given, one for gradients; what runs is the kernel that `rl.jit` finds.

Nothing of this needs torch until `torch_op` is called.
"""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relift.calling.just_in_time import Jitted, jit
from relift.semantics.errors import IllTyped, ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, dimensions

NAMESPACE = "relift"
_numbers = itertools.count(1)

DEVICES = ("cpu", "cuda")
"""The kinds of devices of PyTorch whose tensors an operator takes."""

WHOLE = ("i32", "i64")
"""Scalars that an operator takes as whole numbers; `boolean` is one of truth, and the others are floats."""


def torch_op(
    program: Program | Jitted,
    *,
    gradient: Program | Jitted | Callable[..., Any] | None = None,
    name: str | None = None,
    target: str = "cpu",
) -> Callable[..., Any]:
    """A program as a custom operator of PyTorch; tensors are exchanged by DLPack, without a copy.

    Those of an NVIDIA device are used where they lie, by kernels in CUDA on PyTorch's current stream.

    Its rule for fake tensors says type and shape of the result from those of the arguments, also where these are
    symbolic; so `torch.compile` takes it whole.  With `gradient`, it can be differentiated: that is a program, or a
    function of tensors, of the arguments and the gradient of the result, and gives a gradient for each argument (one,
    or a tuple).  Without, the result needs no gradient.  Tensors that are not contiguous are made so; one on another kind
    of device is an error that names the call that fixes it.  `target` is as of `rl.jit`, for tensors of the CPU.

    Raises `ReliftError` where there is no torch, and for a program whose types no operator has (vectors, arrays of tuples).

    >>> import relift as rl
    >>> import torch  # doctest: +SKIP
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def doubled(x: rl.f32[n]):
    ...     return rl.map_glb(0)(lambda v: v + v, x)
    >>> op = rl.torch_op(doubled, gradient=lambda x, g: g + g)  # doctest: +SKIP
    >>> op(torch.ones(3, requires_grad=True)).sum().backward()  # doctest: +SKIP
    """
    torch = _torch()
    kernel = program if isinstance(program, Jitted) else jit(target=target)(program)
    source = kernel.program
    results = _results(source.body.type, source.name)
    backward = _backward(gradient, target) if gradient is not None else None
    called = name or f"{NAMESPACE}::{re.sub(r'[^0-9a-zA-Z_]', '_', source.name)}_{next(_numbers)}"

    def computed(*arguments: Any) -> Any:
        given = [_ready(a, p.name) for a, p in zip(arguments, source.parameters, strict=True)]
        found = kernel(*given)
        parts = found if isinstance(source.body.type, Tuple) else (found,)
        made = [_tensor(torch, part) for part in parts]
        return tuple(made) if len(results) > 1 else made[0]

    operator = torch.library.custom_op(
        called, computed, mutates_args=(), device_types=DEVICES, schema=schema(source)
    )
    operator.register_fake(lambda *arguments: _fake(torch, source, results, arguments))
    if backward is not None:
        operator.register_autograd(backward, setup_context=_remember)
    return operator  # type: ignore[no-any-return]


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        message = "torch_op needs PyTorch, which is not installed: pip install torch"
        raise ReliftError(message, place="") from None


def schema(program: Program) -> str:
    """The types of the operator, as PyTorch writes them.

    >>> import relift as rl
    >>> from relift.calling.torch_operators import schema
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def scaled(a: rl.f32, x: rl.f32[n]):
    ...     return rl.map(lambda v: a * v, x)
    >>> schema(scaled)
    '(float a, Tensor x) -> Tensor'
    """
    taken = [f"{_argument(p.type, p.name)} {p.name}" for p in program.parameters]
    given = ["Tensor"] * len(_results(program.body.type, program.name))
    result = given[0] if len(given) == 1 else f"({', '.join(given)})"
    return f"({', '.join(taken)}) -> {result}"


def _argument(t: Type, name: str) -> str:
    if isinstance(t, Scalar):
        return "bool" if t.name == "boolean" else "int" if t.name in WHOLE else "float"
    if not isinstance(t, Array) or _scalar_of(t) is None:
        raise IllTyped(f"{name}: an operator of PyTorch takes no {t}; give its parts apart")
    return "Tensor"


def _scalar_of(t: Type) -> Scalar | None:
    """The scalar of a tensor's elements; None where they are something else."""
    _, element = dimensions(t)
    return element if isinstance(element, Scalar) else None


def _results(t: Type, name: str) -> tuple[tuple[tuple[Size, ...], str], ...]:
    """The shape and the type of each result."""
    found: list[tuple[tuple[Size, ...], str]] = []
    for part in t.parts if isinstance(t, Tuple) else (t,):
        shape, scalar = _shape(part), _scalar_of(part)
        if scalar is None:
            raise IllTyped(f"{name}: an operator of PyTorch gives no {part}; unzip it first")
        found.append((shape, scalar.dtype))
    return tuple(found)


def _shape(t: Type) -> tuple[Size, ...]:
    return (t.length, *_shape(t.element)) if isinstance(t, Array) else ()


def _ready(value: Any, name: str) -> Any:
    """An argument as the kernel takes it: a tensor without its history, its elements in a row."""
    if not hasattr(value, "__dlpack__"):
        return value
    if value.device.type not in DEVICES:
        raise IllTyped(f"{name} lies on {value.device}; give {name}.cpu()")
    return value.detach().contiguous()


def _tensor(torch: Any, value: Any) -> Any:
    """A result as a tensor: an array that is shared, or a number that is not."""
    if isinstance(value, np.generic):
        return torch.from_numpy(np.array(value))
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _fake(torch: Any, program: Program, results: Any, arguments: Sequence[Any]) -> Any:
    """Tensors of the shapes that the result has, whose elements nobody computed."""
    sizes = fake_sizes(program, arguments)
    there = next((a.device for a in arguments if hasattr(a, "device")), "cpu")
    made = [
        torch.empty(
            [_evaluated(n, sizes) for n in shape], dtype=getattr(torch, _named(dtype)), device=there
        )
        for shape, dtype in results
    ]
    return tuple(made) if len(made) > 1 else made[0]


def _named(dtype: str) -> str:
    """What torch calls a type of NumPy."""
    return "bool" if dtype.startswith("bool") else dtype


def fake_sizes(program: Program, arguments: Sequence[Any]) -> dict[str, Any]:
    """The sizes that shapes determine; a length that is one name keeps what stands for it, also a symbol of torch.

    What is determined in another way, as `n` by `2 * n`, is taken as a number, for which torch may have to compile again.

    >>> import numpy as np, relift as rl
    >>> from relift.calling.torch_operators import fake_sizes
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def halves(x: rl.f32[2 * n]):
    ...     return rl.split(n, x)
    >>> fake_sizes(halves, [np.zeros(6, np.float32)])
    {'n': 3}
    """
    kept: dict[str, Any] = {}
    for p, argument in zip(program.parameters, arguments, strict=True):
        shape = _shape(p.type)
        if len(shape) != len(getattr(argument, "shape", ())):
            raise IllTyped(f"{p.name} is {p.type}, and has {len(shape)} dimensions")
        for n, length in zip(shape, getattr(argument, "shape", ()), strict=True):
            if str(n) in program.sizes:
                kept.setdefault(str(n), length)
    if kept.keys() >= set(program.sizes):
        return kept
    stand_ins = tuple(
        _stand_in(p.type, a) for p, a in zip(program.parameters, arguments, strict=True)
    )
    return {**program.solve_sizes(stand_ins), **kept}


def _stand_in(t: Type, argument: Any) -> Any:
    """An array of the shape of a tensor, which takes no memory."""
    scalar = _scalar_of(t)
    if scalar is None or not isinstance(t, Array):
        return argument
    return np.broadcast_to(np.zeros((), scalar.dtype), tuple(int(n) for n in argument.shape))


def _evaluated(n: Size, sizes: dict[str, Any]) -> Any:
    """A length where sizes may be symbols: a sum of products of them."""
    return sizes[str(n)] if str(n) in sizes else n.evaluate(sizes)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keep the arguments for the rule of gradients; torch calls it by these names."""
    del output
    ctx.numbers = [None if hasattr(value, "__dlpack__") else value for value in inputs]
    ctx.save_for_backward(*(value for value in inputs if hasattr(value, "__dlpack__")))


def _backward(gradient: Any, target: str) -> Callable[..., Any]:
    """The rule of gradients: what `gradient` gives for the tensors among the arguments, nothing for numbers."""
    rule = torch_op(gradient, target=target) if isinstance(gradient, Program | Jitted) else gradient

    def backward(context: Any, *given: Any) -> Any:
        saved = iter(context.saved_tensors)
        inputs = [next(saved) if number is None else number for number in context.numbers]
        # a gradient may be spread over many elements without being stored for each
        found = rule(*inputs, *(g.contiguous() for g in given))
        parts = iter(found if isinstance(found, tuple) else (found,))
        made = tuple(next(parts, None) if n is None else None for n in context.numbers)
        return made if len(made) != 1 else next(iter(made))

    return backward
