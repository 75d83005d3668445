"""Arrays whose elements are constants: rows of numbers, of rows, or of tuples, with one part for all numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relift.semantics import patterns
from relift.semantics.errors import IllTyped
from relift.semantics.indices.rows import Numbers, numbers
from relift.semantics.language.tracing import build
from relift.semantics.syntax.terms import Literal, MakeTuple, Term
from relift.semantics.syntax.types import Scalar


def table(values: Any, of: Scalar | None = None) -> Term:
    """An array of constants in as many dimensions as they have: a row, split.

    >>> from relift import show
    >>> from relift.semantics.language.constants import table
    >>> show(table([[1, 2, 3], [4, 5, 6]]))
    'split(3, literal_array((1, 2, 3, 4, 5, 6), i32))'
    """
    if isinstance(values, Numbers):
        return build(patterns.LiteralArray, (values,))
    shape, row = _flat(values)
    if 0 in shape[1:]:
        raise IllTyped(f"literal_array: its rows have no numbers, the shape is {shape}")
    return _in_shape(build(patterns.LiteralArray, (numbers(row, of),)), shape)


def of_constants(elements: Sequence[Term], zipped: Callable[..., Term]) -> Term | None:
    """The array of some elements, where all are constants of one type, or arrays or tuples of such; else nothing.

    Of tuples it is what is `zipped` of an array for each component.

    >>> from relift import f32, make_array, show, zip
    >>> from relift.semantics.language.constants import of_constants
    >>> from relift.semantics.language.coercion import literal
    >>> row = of_constants([literal(1.0, f32), literal(2.0, f32)], zip)
    >>> show(row), show(of_constants([row, row], zip))
    ('literal_array((1.0, 2.0), f32)', 'split(2, literal_array((1.0, 2.0, 1.0, 2.0), f32))')
    >>> show(make_array((1.0, 2), (3.0, 4)))
    'zip(literal_array((1.0, 3.0), f32), literal_array((2, 4), i32))'
    """
    first = elements[0]
    if any(x.type != first.type for x in elements):
        return None
    if isinstance(first, MakeTuple):
        tuples = [x.parts for x in elements if isinstance(x, MakeTuple)]
        if len(tuples) < len(elements):
            return None
        columns = [of_constants(column, zipped) for column in zip(*tuples, strict=True)]
        known = [column for column in columns if column is not None]
        return zipped(*known) if len(known) == len(columns) else None
    rows = [found for x in elements if (found := _constants_of(x)) is not None]
    if len(rows) < len(elements):
        return None
    (_, inner, of), *_ = rows
    values = tuple(v for held, _, _ in rows for v in held)
    if len({shape for _, shape, _ in rows}) > 1:
        return None
    return _in_shape(build(patterns.LiteralArray, (Numbers(values, of),)), (len(rows), *inner))


def _constants_of(t: Term) -> tuple[tuple[Any, ...], tuple[int, ...], Scalar] | None:
    """The numbers, the shape and the type of a constant, or of an array of constants."""
    if isinstance(t, Literal) and isinstance(t.type, Scalar):
        return (t.value,), (), t.type
    if isinstance(t, patterns.LiteralArray):
        return t.values.values, (len(t.values.values),), t.values.type
    found = _constants_of(t.xs) if isinstance(t, patterns.Split) else None
    if found is None or not isinstance(t, patterns.Split) or not (width := t.m.constant):
        return None
    values, (n, *inner), of = found
    return values, (n // width, width, *inner), of


def _in_shape(row: Term, shape: Sequence[int]) -> Term:
    """A row as an array of these lengths, outermost first."""
    for n in reversed(shape[1:]):
        row = build(patterns.Split, (n, row))
    return row


def _flat(values: Any) -> tuple[tuple[int, ...], Any]:
    """How long an array is in each dimension, and all numbers in one row."""
    if isinstance(values, np.ndarray):
        return (values.shape, values.ravel()) if values.ndim > 1 else ((values.size,), values)
    if not isinstance(values, list | tuple):
        return (0,), values
    if not any(isinstance(v, list | tuple | np.ndarray) for v in values):
        return (len(values),), [v.item() if isinstance(v, np.generic) else v for v in values]
    parts = [_flat(v) for v in values]
    if len({shape for shape, _ in parts}) > 1:
        raise IllTyped("literal_array: its rows have different lengths")
    return (len(parts), *parts[0][0]), [v for _, row in parts for v in _listed(row)]


def _listed(row: Any) -> list[Any]:
    return row.tolist() if isinstance(row, np.ndarray) else list(row)
