"""NumPy arrays as values of the interpreter, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relift.semantics.domains import DTYPES, UNSPECIFIED, Value
from relift.semantics.errors import Undefined
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    dimensions,
)


def from_numpy(array: Any, t: Type) -> Value:
    """A NumPy array (for an array of tuples: a tuple of arrays) as nested lists of NumPy scalars."""
    match t:
        case Tuple(parts):
            return tuple(from_numpy(x, part) for x, part in zip(array, parts, strict=True))
        case Array(element, _) | Vector(element, _):
            if isinstance(array, tuple):
                return [from_numpy(_row(array, i), element) for i in range(_rows(array))]
            if isinstance(element, Scalar):
                return list(np.asarray(array, DTYPES[element.name]))
            return [from_numpy(x, element) for x in array]
        case Scalar(name):
            return DTYPES[name].type(array)
        case TypeVariable():
            raise AssertionError(f"cannot happen: a value of type {t}")


def to_numpy(value: Value, t: Type) -> Any:
    """The inverse of `from_numpy`: arrays of scalars become NumPy arrays, arrays of tuples tuples of arrays.

    An empty array of rows keeps the length of its rows when the type says it as a number.
    """
    match t:
        case Tuple(parts):
            return tuple(to_numpy(x, part) for x, part in zip(value, parts, strict=True))
        case Scalar(name):
            return DTYPES[name].type(_specified(value, DTYPES[name]))
        case Array(element, _) | Vector(element, _):
            if (width := _tuple_width(element)) is not None:
                return tuple(
                    to_numpy(_component(value, t, i), _component_type(t, i)) for i in range(width)
                )
            dtype = DTYPES[str(_scalar_below(element))]
            try:
                cells = np.array(value, dtype=dtype)
            except (TypeError, Undefined):  # a cell is left open, which NumPy cannot say
                cells = np.array(_specified(value, dtype), dtype=dtype)
            shape = _shape(t)
            known = [length for length in shape if length is not None]
            return cells.reshape(known) if len(known) == len(shape) else cells
        case TypeVariable():
            raise AssertionError(f"cannot happen: a value of type {t}")


def argument_of(t: Type, cells: Callable[[Scalar, tuple[int, ...]], Any]) -> Any:
    """An argument of a type: what `cells` gives for a scalar and the extents of an array of such, as NumPy has it; of tuples one each."""
    shape, element = dimensions(t)
    extents = tuple(n.constant or 0 for n in shape)
    match element:
        case Tuple(parts):
            return tuple(argument_of(p[extents] if extents else p, cells) for p in parts)
        case Scalar(name):
            return np.asarray(cells(element, extents), DTYPES[name]).reshape(extents)[()]
        case Array() | Vector() | TypeVariable():
            raise AssertionError(f"cannot happen: an input of type {t}")


def _specified(value: Value, dtype: np.dtype[Any]) -> Value:
    """The value with NaN, or 0, in the cells that are left open."""
    if isinstance(value, list):
        return [_specified(x, dtype) for x in value]
    return (np.nan if dtype.kind == "f" else 0) if value is UNSPECIFIED else value


def _rows(array: Any) -> int:
    return _rows(array[0]) if isinstance(array, tuple) else len(array)


def _row(array: Any, i: int) -> Any:
    """Row i of an array, or of each array of a tuple."""
    return tuple(_row(x, i) for x in array) if isinstance(array, tuple) else array[i]


def _tuple_width(t: Type) -> int | None:
    """How many components the tuples below nested arrays have; None when there are no tuples."""
    while isinstance(t, Array | Vector):
        t = t.element
    return len(t.parts) if isinstance(t, Tuple) else None


def _component(value: Value, t: Type, i: int) -> Value:
    """Component i of all tuples below nested arrays."""
    if isinstance(t, Array | Vector):
        return [_component(x, t.element, i) for x in value]
    return value[i]


def _component_type(t: Type, i: int) -> Type:
    match t:
        case Array(element, n):
            return Array(_component_type(element, i), n)
        case Vector(element, n):
            return Vector(_component_type(element, i), n)
        case Tuple(parts):
            return parts[i]
        case Scalar() | TypeVariable():
            raise AssertionError(f"cannot happen: {t} holds no tuple")


def _shape(t: Type) -> list[int | None]:
    if isinstance(t, Array | Vector):
        length = t.length if isinstance(t, Array) else t.width
        return [length.constant, *_shape(t.element)]
    return []


def _scalar_below(t: Type) -> Scalar:
    while isinstance(t, Array | Vector):
        t = t.element
    assert isinstance(t, Scalar), f"cannot happen: {t} is stored as one array"
    return t
