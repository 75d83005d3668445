"""The NumPy values that a program is called with: their types, and that no value becomes another one.

An array of another type than the parameter's is taken where it holds the same numbers: `np.arange(3)` is i32[3].
Where a number would be rounded or cut that is an error, as it is for kernels, and `astype` is the way to mean it.
Python's own floats have no precision of their own: they are rounded, as they are in the text of a program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    dimensions,
)


def actual_type(value: Any, expected: Type, name: str) -> Type:
    """The type of a NumPy value, read with the element type that is expected of it."""
    match expected:
        case Tuple(parts):
            if not isinstance(value, tuple) or len(value) != len(parts):
                raise IllTyped(f"{name}: a tuple of {len(parts)} is needed")
            return Tuple(
                tuple(actual_type(v, part, name) for v, part in zip(value, parts, strict=True))
            )
        case Array():
            lengths, inner = dimensions(expected)
            if isinstance(inner, Tuple) and isinstance(value, tuple):
                return _tuples(value, inner, lengths, name)
            shape = np.shape(value)
            if len(shape) != len(lengths):
                raise IllTyped(
                    f"{name}: {expected} has {len(lengths)} dimensions, the argument has shape {shape}"
                )
            _require_kind(value, inner, name)
            return inner[shape]
        case Scalar() | Vector() | TypeVariable():
            if np.shape(value) != ():
                raise IllTyped(f"{name}: one {expected} is needed, not shape {np.shape(value)}")
            _require_kind(value, expected, name)
            return expected


def _tuples(value: tuple[Any, ...], t: Tuple, lengths: tuple[Size, ...], name: str) -> Type:
    """The type of an array of tuples, which is a tuple of arrays, one for each component."""
    if len(value) != len(t.parts):
        raise IllTyped(f"{name}: a tuple of {len(t.parts)} arrays is needed, one per component")
    found = [actual_type(v, part[lengths], name) for v, part in zip(value, t.parts, strict=True)]
    shapes = [dimensions(u)[0][: len(lengths)] for u in found]
    if any(shape != shapes[0] for shape in shapes):
        shown = ", ".join(str(shape) for shape in shapes)
        raise IllTyped(f"{name}: the components have shapes {shown}; all have one")
    for _ in lengths:
        found = [u.element for u in found if isinstance(u, Array)]
    return Tuple(tuple(found))[shapes[0]]


def _require_kind(value: Any, expected: Type, name: str) -> None:
    """No float becomes a whole number, and no text a number, without being asked to."""
    if isinstance(expected, Tuple) and isinstance(value, tuple):
        for v, part in zip(value, expected.parts, strict=True):
            _require_kind(v, part, name)
    elif isinstance(value, np.ma.MaskedArray):
        raise IllTyped(
            f"{name}: a masked array has cells without a value; fill them with .filled()"
        )
    elif isinstance(expected, Scalar):
        if getattr(value, "dtype", None) == DTYPES[expected.name]:
            return  # nothing becomes another value, wherever the cells lie
        given = np.asarray(value)
        if given.dtype.kind not in ("biuf" if expected.is_float else "biu"):
            raise IllTyped(
                f"{name}: {expected} is needed, the argument holds {given.dtype}; convert it with astype"
            )
        _require_values(value, given, expected, name)


def _require_values(value: Any, given: np.ndarray[Any, Any], expected: Scalar, name: str) -> None:
    """No value is another one in the type that is expected; only Python's floats are rounded, as literals are."""
    dtype = DTYPES[expected.name]
    if given.dtype == dtype:
        return
    with np.errstate(all="ignore"):
        held = given.astype(dtype)
        same = (held.astype(given.dtype) == given) & ((held < 0) == (given < 0))
    if given.dtype.kind == "f":
        literal = not isinstance(value, np.ndarray | np.generic)
        same |= np.isnan(given) | (literal & np.isfinite(held))
    if not np.all(same):
        lost = np.atleast_1d(given)[~np.atleast_1d(same)]
        more = f", nor are {lost.size - 1} others" if lost.size > 1 else ""
        raise IllTyped(
            f"{name}: {lost[0]} is no value of type {expected}{more}; "
            f"convert them with .astype(np.{dtype.name})"
        )
