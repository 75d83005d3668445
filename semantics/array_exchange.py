"""Arrays of other libraries as NumPy's, and back: what speaks DLPack on the host is exchanged without a copy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from typing import Any

import numpy as np

from relift.semantics.errors import IllTyped

HOST = frozenset([1, 3, 11])
"""The kinds of DLPack devices whose memory the host reaches: its own, and what CUDA and ROCm pin of it."""


def host_array(value: Any, name: str) -> Any:
    """An array that speaks DLPack as a NumPy array of the same memory; tuples part by part; all else as it is.

    Raises `IllTyped` for one that lies on a device, and for one that its library does not hand out.

    >>> import numpy as np
    >>> from relift.semantics.array_exchange import host_array
    >>> x = np.float32([1, 2])
    >>> host_array(x, "x") is x
    True
    """
    if isinstance(value, tuple):
        return tuple(host_array(part, name) for part in value)
    if not is_foreign(value):
        return value
    library = _library(value)
    try:
        kind, number = value.__dlpack_device__()
        if kind not in HOST:
            raise IllTyped(
                f"{name}: the {library} array lies on a device (DLPack {int(kind)}:{int(number)}); copy it to the "
                f"host, by {_to_host(library)}"
            )
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        said = " ".join(str(error).split())
        raise IllTyped(f"{name}: {library} does not share this array: {said}") from None


def host_arguments(
    arguments: tuple[Any, ...],
    parameters: Iterable[str],
    program: str,
    stays: Callable[[Any], bool] = lambda _: False,
) -> tuple[Any, ...]:
    """The arguments of a program by `host_array`, but for those of which `stays` says so.

    Arguments beyond the parameters are called as the program: what takes them says that they are too many.

    >>> from relift.semantics.array_exchange import host_arguments
    >>> host_arguments((1.0, 2.0), ["x"], "f")
    (1.0, 2.0)
    """
    names = chain(parameters, repeat(program))
    return tuple(
        a if stays(a) else host_array(a, name) for a, name in zip(arguments, names, strict=False)
    )


def is_foreign(value: Any) -> bool:
    """Whether it is an array of another library than NumPy, which DLPack can exchange."""
    return hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray | np.generic)


def as_given(result: Any, arguments: Iterable[Any]) -> Any:
    """A result of NumPy as an array of the one other library that the arguments are of; as it is where they are several, or none."""
    givers = {_giver(value) for value in leaves(tuple(arguments)) if is_foreign(value)}
    if len(givers) != 1:
        return result
    (giver,) = givers
    return result if giver is None else _converted(result, giver)


def _converted(result: Any, giver: Callable[[Any], Any]) -> Any:
    if isinstance(result, tuple):
        return tuple(_converted(part, giver) for part in result)
    return giver(np.asarray(result))


def leaves(value: Any) -> Iterator[Any]:
    """The arrays of nested tuples of arrays, in order."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def _giver(value: Any) -> Callable[[Any], Any] | None:
    """The `from_dlpack` of the library of an array: that of its array API, else that of its package."""
    namespace = getattr(value, "__array_namespace__", None)
    module = namespace() if namespace is not None else sys.modules.get(_library(value))
    found: Callable[[Any], Any] | None = getattr(module, "from_dlpack", None)
    return found


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _to_host(library: str) -> str:
    known = {"torch": ".cpu()", "cupy": "cupy.asnumpy", "jaxlib": "jax.device_get"}
    return known.get(library, "a call of that library")
