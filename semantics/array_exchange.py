"""Arrays of other libraries as NumPy's, and back: what speaks DLPack on the host is exchanged without a copy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np

from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, Vector

HOST = frozenset([1, 3, 11])
"""The kinds of DLPack devices whose memory the host reaches: its own, and what CUDA and ROCm pin of it."""


@dataclass(frozen=True)
class Calls:
    """How a library of arrays is told to change one, which is called `{0}`."""

    to_host: str
    cast: str
    contiguous: str


_NAMED: Mapping[str, Calls] = {
    "torch": Calls("{0}.cpu()", "{0}.to(torch.{1})", "{0}.contiguous()"),
    "cupy": Calls("cupy.asnumpy({0})", "{0}.astype('{1}')", "cupy.ascontiguousarray({0})"),
    "jaxlib": Calls("jax.device_get({0})", "{0}.astype('{1}')", "{0}.copy()"),
}
_ANY = Calls("a call of that library", "a call of that library", "a call of that library")


def calls(library: str, argument: str) -> Calls:
    """The calls that change an argument whose array is of a library.

    >>> from relift.semantics.array_exchange import calls
    >>> calls("torch", "xs").contiguous
    'xs.contiguous()'
    """
    found = _NAMED.get(library, _ANY)
    return Calls(
        *(c.format(argument, "{0}") for c in (found.to_host, found.cast, found.contiguous))
    )


def host_array(value: Any, name: str, t: Type | None = None) -> Any:
    """An array that speaks DLPack as a NumPy array of the same memory; tuples part by part; all else as it is.

    Raises `IllTyped` for one that lies on a device, for one that its library does not hand out, and, where `t` says
    what the cells must be, for one that has others.

    >>> import numpy as np
    >>> from relift.semantics.array_exchange import host_array
    >>> x = np.float32([1, 2])
    >>> host_array(x, "x") is x
    True
    """
    if isinstance(value, tuple):
        return tuple(
            host_array(v, name, part) for v, part in zip(value, _parts(t, value), strict=True)
        )
    if not is_foreign(value):
        return value
    require_cells(value, name, t)
    kind, number = device_of(value, name)
    if kind not in HOST:
        library = library_of(value)
        raise IllTyped(
            f"{name}: the {library} array lies on a device (DLPack {kind}:{number}); copy it to the "
            f"host, by {calls(library, name).to_host}"
        )
    with handed_out(value, name):
        return np.from_dlpack(value)


def device_of(value: Any, name: str) -> tuple[int, int]:
    """What DLPack calls the device on which an array lies: its kind, and its number."""
    with handed_out(value, name):
        kind, number = value.__dlpack_device__()
        return int(kind), int(number)


@contextmanager
def handed_out(value: Any, name: str) -> Generator[None, None, None]:
    """What a library says that does not share an array becomes a message that names the argument."""
    try:
        yield
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        said = " ".join(str(error).split())
        raise IllTyped(f"{name}: {library_of(value)} does not share this array: {said}") from None


def host_arguments(
    arguments: tuple[Any, ...],
    parameters: Iterable[tuple[str, Type | None]],
    program: str,
    stays: Callable[[Any], bool] = lambda _: False,
) -> tuple[Any, ...]:
    """The arguments of a program by `host_array`, but for those of which `stays` says so.

    Arguments beyond the parameters are called as the program: what takes them says that they are too many.

    >>> from relift.semantics.array_exchange import host_arguments
    >>> host_arguments((1.0, 2.0), [("x", None)], "f")
    (1.0, 2.0)
    """
    known: Iterable[tuple[str, Type | None]] = chain(parameters, repeat((program, None)))
    return tuple(
        a if stays(a) else host_array(a, name, t)
        for a, (name, t) in zip(arguments, known, strict=False)
    )


_NAMES = {t: dtype.name for t, dtype in DTYPES.items()}
"""Once, because NumPy takes longer to say it than to compare it."""


def require_cells(value: Any, name: str, t: Type | None) -> None:
    """Raise `IllTyped` for an array of another library whose cells are not those of a type, with the call that makes them so.

    >>> import numpy as np
    >>> from relift import f32, f64
    >>> from relift.semantics.array_exchange import require_cells
    >>> require_cells(np.float64(2), "x", f64[3])
    """
    while isinstance(t, Array | Vector):
        t = t.element
    if not isinstance(t, Scalar):
        return
    has, wanted = str(getattr(value, "dtype", "")).rpartition(".")[2], _NAMES[t.name]
    if has and has != wanted:
        library = library_of(value)
        cast = calls(library, name).cast.format(wanted)
        raise IllTyped(f"{name}: {t} is needed, the {library} array holds {has}; give {cast}")


def _parts(t: Type | None, value: tuple[Any, ...]) -> Iterable[Type | None]:
    """The types of the parts of a value that is a tuple, as far as they are known."""
    while isinstance(t, Array | Vector):
        t = t.element
    known = t.parts if isinstance(t, Tuple) and len(t.parts) == len(value) else None
    return known if known is not None else [None] * len(value)


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
    return giver(result if is_foreign(result) else np.asarray(result))


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
    module = namespace() if namespace is not None else sys.modules.get(library_of(value))
    found: Callable[[Any], Any] | None = getattr(module, "from_dlpack", None)
    return found


def library_of(value: Any) -> str:
    """The package that the type of an array is of.

    >>> import numpy as np
    >>> from relift.semantics.array_exchange import library_of
    >>> library_of(np.ones(1))
    'numpy'
    """
    return type(value).__module__.partition(".")[0]
