"""Rows of constants that are written out in a pattern."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from relift.semantics.errors import IllTyped
from relift.semantics.indices.functions import IndexFunction, LiteralParameter
from relift.semantics.language.coercion import literal
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Number
from relift.semantics.syntax.types import Scalar, boolean, f32, i32


@dataclass(frozen=True)
class Numbers(LiteralParameter):
    """A row of constants of one scalar type."""

    values: tuple[Number, ...]
    type: Scalar

    def substitute(
        self, sizes: Mapping[str, Size], functions: Mapping[str, IndexFunction] | None = None
    ) -> Numbers:
        return self

    def meaning(
        self,
        size: Callable[[Size], int],
        literal: Callable[..., Any],
        metavariables: Mapping[str, Any],
    ) -> Any:
        return [literal(value, self.type) for value in self.values]

    @property
    def sizes(self) -> frozenset[Size]:
        return frozenset()

    def __eq__(self, other: object) -> bool:
        """Equal numbers written alike: 0.0 and -0.0 differ, NaN is NaN."""
        return self is other or (isinstance(other, Numbers) and self._text == other._text)

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        shown = ", ".join(map(number, self.values)) + "," * (len(self.values) == 1)
        return f"({shown}), {self.type}"

    @cached_property
    def is_table(self) -> bool:
        """Whether kernels look them up in a table: they are more than two, and none is NaN, which is no constant of OpenCL C."""
        return len(self.values) > 2 and not any(map(math.isnan, self.values))

    @cached_property
    def digest(self) -> str:
        """Digits that say which numbers they are."""
        return hashlib.sha256(self._text.encode()).hexdigest()


def number(value: Number) -> str:
    """The text of a number, which Python reads back where inf and nan are known."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return repr(value)


def numbers(values: Any, of: Scalar | None = None) -> Numbers:
    """Constants of one type: of the given one, else `f32`, `i32` or `boolean`.

    >>> from relift.semantics.indices.rows import numbers
    >>> numbers([1, 2.5]), numbers([1])
    ((1.0, 2.5), f32, (1,), i32)
    """
    if isinstance(values, Numbers):
        return values
    row = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(row, list | tuple) or not all(isinstance(x, int | float) for x in row):
        raise IllTyped(f"literal_array takes a row of numbers, not {values!r}")
    if of is not None and not isinstance(of, Scalar):
        raise IllTyped(f"literal_array: its numbers are of a scalar type, such as f32, not {of!r}")
    if of is None:
        kinds = {type(value) for value in row}
        if isinstance(values, np.ndarray) and values.size == 0 and values.dtype.kind in "bf":
            kinds = {bool if values.dtype.kind == "b" else float}
        of = boolean if kinds == {bool} else f32 if float in kinds else i32
    return Numbers(tuple(literal(value, of).value for value in row), of)
