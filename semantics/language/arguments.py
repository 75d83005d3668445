"""What callers of the public functions pass, checked where it comes in.

Python checks no annotation, so a wrong argument would fail somewhere inside.  Each function here returns the
argument in the type that the caller needs, or raises `IllTyped` with its name, its value and what it may be.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, TypeVar

from relift.semantics.errors import IllTyped

T = TypeVar("T")

MOST_CELLS = 1 << 48
"""No array has more: its numbers of cells and bytes are computed with 64 bits everywhere."""


def whole_number(value: Any, name: str, *, least: int = 0, most: int = MOST_CELLS) -> int:
    """An `int`, also from a NumPy integer, between two bounds.

    >>> from relift.semantics.language.arguments import whole_number
    >>> whole_number(3, "top", least=1)
    3
    >>> whole_number(1.5, "top", least=1)
    Traceback (most recent call last):
    relift.semantics.errors.IllTyped: ...top is a whole number, not 1.5
    """
    try:
        found = operator.index(value)
    except TypeError:
        found = None
    if found is None or isinstance(value, bool):
        raise IllTyped(f"{name} is a whole number, not {shown(value)}")
    if not least <= found <= most:
        raise IllTyped(f"{name} is from {least} to {_power(most)}, not {shown(found)}")
    return found


def seconds(value: Any, name: str) -> float:
    """A time that is positive, and at most a year.

    >>> from relift.semantics.language.arguments import seconds
    >>> seconds(float("nan"), "budget")
    Traceback (most recent call last):
    relift.semantics.errors.IllTyped: ...budget is a number of seconds above 0, not nan
    """
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise IllTyped(f"{name} is a number of seconds above 0, not {shown(value)}")
    found = float(value)
    if math.isnan(found) or found <= 0:
        raise IllTyped(f"{name} is a number of seconds above 0, not {shown(value)}")
    return min(found, 365 * 86400.0)


def sizes_by_name(value: Any) -> dict[str, int]:
    """Sizes as a dictionary of whole numbers; none for None.

    >>> from relift.semantics.language.arguments import sizes_by_name
    >>> sizes_by_name({"n": "4"})
    Traceback (most recent call last):
    relift.semantics.errors.IllTyped: ...size n is a whole number, not '4'
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise IllTyped(f'sizes are given by name, as {{"n": 1024}}, not as {shown(value)}')
    return {name: whole_number(n, f"size {name}") for name, n in value.items()}


def an_instance(value: Any, kind: type[T] | tuple[type[T], ...], name: str, hint: str) -> T:
    """The value, when it is of a class, or of one of several; the message says how to get one.

    >>> from relift.semantics.language.arguments import an_instance
    >>> an_instance(None, str, "target", "name a device")
    Traceback (most recent call last):
    relift.semantics.errors.IllTyped: ...target cannot be None; name a device
    """
    if not isinstance(value, kind):
        raise IllTyped(f"{name} cannot be {shown(value)}; {hint}")
    return value


def names_in(value: Any, what: str) -> tuple[str, ...]:
    """The names in a text, apart by spaces.

    >>> from relift.semantics.language.arguments import names_in
    >>> names_in("k m", "sizes")
    ('k', 'm')
    >>> names_in(3, "sizes")
    Traceback (most recent call last):
    relift.semantics.errors.IllTyped: ...the names of sizes are one text, such as "k m", not 3
    """
    if not isinstance(value, str):
        raise IllTyped(f'the names of {what} are one text, such as "k m", not {shown(value)}')
    return tuple(value.split())


def one_for_each_axis(value: Any, name: str) -> tuple[Any, ...]:
    """A sequence of one thing for each of the outermost axes.

    >>> from relift.semantics.language.arguments import one_for_each_axis
    >>> one_for_each_axis(3, "tile: sizes")
    Traceback (most recent call last):
    relift.semantics.errors.IllTyped: ...tile: sizes is a tuple with one for each axis, such as (4, 4), not 3
    """
    if not isinstance(value, tuple | list):
        raise IllTyped(
            f"{name} is a tuple with one for each axis, such as (4, 4), not {shown(value)}"
        )
    return tuple(value)


def one_of(value: Any, choices: tuple[str, ...], name: str) -> str:
    """The value, when it is one of a few words.

    >>> from relift.semantics.language.arguments import one_of
    >>> one_of("fast", ("reassociate", "exact"), "float")
    Traceback (most recent call last):
    relift.semantics.errors.IllTyped: ...float is reassociate or exact, not 'fast'
    """
    if not isinstance(value, str) or value not in choices:
        raise IllTyped(f"{name} is {' or '.join(choices)}, not {shown(value)}")
    return value


def shown(value: Any) -> str:
    """The value as in Python, in one line, cut to a few words."""
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return f"a number of {len(hex(abs(value))) * 4 - 8} bits"  # Python refuses to print the longest
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _power(n: int) -> str:
    return f"2**{n.bit_length() - 1}" if n > 1 << 20 and n & (n - 1) == 0 else str(n)
