"""Values as rows of cells, one for each component, as buffers have them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    component_count,
    components_of,
)


def scalars_of(t: Type) -> Iterator[Scalar]:
    """The scalars of a value of type t, one for each component."""
    return (scalar for scalar, _ in rows_of_type(t))


def rows_of_type(t: Type) -> Iterator[tuple[Scalar, int]]:
    """The scalar and the number of cells of each component."""
    for scalar, lengths in components_of(t):
        assert isinstance(scalar, Scalar), f"cannot happen: a value of type {t}"
        yield scalar, math.prod(n.evaluate({}) for n in lengths)


def row_name(parameter: str, number: int, rows: int) -> str:
    """What the cells of one component of an input are called, of so many.

    >>> from relift.compiler.validation.cells import parameter_of, row_name
    >>> row_name("x", 0, 1), row_name("x", 1, 2), parameter_of("x.1")
    ('x', 'x.1', 'x')
    """
    return parameter if rows == 1 else f"{parameter}.{number}"


def parameter_of(row: str) -> str:
    """The input that a row of cells is of, by its name."""
    return row.partition(".")[0]


def nested(t: Type, rows: Sequence[Iterator[Any]]) -> Any:
    """A value of type t, whose components come in rows."""
    match t:
        case Array(element, n) | Vector(element, n):
            assert n.constant is not None, "cannot happen: an open size"
            return [nested(element, rows) for _ in range(n.constant)]
        case Tuple(parts):
            found, at = [], 0
            for part in parts:
                width = component_count(part)
                found.append(nested(part, rows[at : at + width]))
                at += width
            return tuple(found)
        case Scalar() | TypeVariable():
            return next(rows[0])


def flattened(t: Type, value: Any, rows: Sequence[list[Any]]) -> None:
    """The inverse of `nested`: the cells of a value, added to rows."""
    match t:
        case Array(element, _) | Vector(element, _):
            for v in value:
                flattened(element, v, rows)
        case Tuple(parts):
            at = 0
            for part, v in zip(parts, value, strict=True):
                width = component_count(part)
                flattened(part, v, rows[at : at + width])
                at += width
        case Scalar() | TypeVariable():
            rows[0].append(value)
