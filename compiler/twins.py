"""Opaque C against its Python twin: the same values on edge cases and on random ones.

A user function written in C is believed to mean what its twin means; the interpreter runs one, the kernel
the other.  `check_twin` runs both.  Edge values are all combinations of NaN, infinities, signed zeros,
subnormals and the ends of the integer ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relift.compiler.functions import scalar_of
from relift.compiler.program import compile_program
from relift.semantics.errors import IllTyped
from relift.semantics.interpreter import DTYPES
from relift.semantics.language import Program, map_glb, zip
from relift.semantics.terms import Input, Term, UserFunction
from relift.semantics.types import Scalar

Row = npt.NDArray[Any]


def _float_edges(dtype: type[np.floating[Any]]) -> Row:
    info = np.finfo(dtype)
    positive = [
        0.0,
        info.smallest_subnormal,
        info.tiny,
        0.5,
        1.0,
        1.5,
        2.5,
        3.0e9,
        info.max,
        np.inf,
    ]
    return np.array([*positive, *(-np.array(positive, dtype)), np.nan], dtype)


def _integer_edges(dtype: type[np.signedinteger[Any]]) -> Row:
    info = np.iinfo(dtype)
    return np.array([info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 7, info.max - 1, info.max], dtype)


EDGES: dict[str, Row] = {
    "f32": _float_edges(np.float32),
    "f64": _float_edges(np.float64),
    "i32": _integer_edges(np.int32),
    "i64": _integer_edges(np.int64),
    "boolean": np.array([False, True]),
}
"""Values of each type at which functions go wrong."""


def random_values(t: Scalar, count: int, generator: np.random.Generator) -> Row:
    """Numbers of all magnitudes up to a million; small and large integers."""
    if t.is_float:
        row = generator.standard_normal(count) * 10.0 ** generator.integers(-6, 7, count)
    elif t.name == "boolean":
        row = generator.integers(0, 2, count)
    else:
        row = generator.integers(-100, 100, count) * 10 ** generator.integers(0, 7, count)
    values: Row = row.astype(DTYPES[t.name])
    return values


def close_enough(result: Row, expected: Row, ulps: int) -> npt.NDArray[np.bool_]:
    """Where two rows agree: exactly, both NaN, or by so many units in the last place.

    The sign of a zero counts where no error is allowed.

    >>> one = np.float32(1)
    >>> close_enough(np.array([one, one]), np.array([one, np.nextafter(one, 2 * one)]), 1)
    array([ True,  True])
    """
    same = np.equal(result, expected)
    if not np.issubdtype(expected.dtype, np.floating):
        return same
    if ulps == 0:
        same &= np.signbit(result) == np.signbit(expected)
    same |= np.isnan(result) & np.isnan(expected)
    with np.errstate(all="ignore"):
        largest = np.maximum(np.abs(result), np.abs(expected))
        near = np.abs(result - expected) <= ulps * np.spacing(largest)
    allowed: npt.NDArray[np.bool_] = same | (near & (ulps > 0))
    return allowed


@dataclass(frozen=True)
class TwinDiffers:
    """Arguments on which C and Python differ."""

    function: str
    arguments: tuple[Any, ...]
    c: Any
    python: Any

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.arguments))
        return f"{self.function}({shown}) is {self.c} in C and {self.python} in Python"


def check_twin(
    function: UserFunction,
    *,
    ulps: int = 0,
    examples: int = 1000,
    seed: int = 0,
    device: str | None = None,
    edges: bool = True,
) -> TwinDiffers | None:
    """The first arguments on which a user function's C and Python differ on a device; None if none do.

    `ulps` is the rounding that is allowed.  Without `edges`, only finite numbers up to a million are tried:
    for a function that is not meant to work beyond them.  Of a traced function, the C is Relift's own.
    """
    if not function.types:
        raise IllTyped(f"userfun {function.name} takes no argument; there is nothing to vary")
    types = [scalar_of(t) for t in function.types]
    generator = np.random.default_rng(seed)
    columns = [random_values(t, examples, generator) for t in types]
    if edges:
        grid = np.meshgrid(*(EDGES[t.name] for t in types), indexing="ij")
        columns = [np.concatenate([g.reshape(-1), c]) for g, c in _pairs(grid, columns)]
    program = _on_rows(function, types, len(columns[0]))
    result = compile_program(program, contract=False)(*columns, device=device)
    expected = program(*columns)
    wrong = np.flatnonzero(~close_enough(result, expected, ulps))
    if not len(wrong):
        return None
    at = int(wrong[0])
    return TwinDiffers(
        function.name, tuple(column[at] for column in columns), result[at], expected[at]
    )


def _pairs(left: Any, right: Any) -> list[tuple[Any, Any]]:
    return [(left[i], right[i]) for i in range(len(right))]


def _on_rows(function: UserFunction, types: list[Scalar], count: int) -> Program:
    """The function on rows of arguments."""
    inputs = tuple(Input(f"x{i}", t[count]) for i, t in enumerate(types))
    body: Term
    if len(inputs) == 1:
        body = map_glb(0)(function, inputs[0])
    else:
        body = map_glb(0)(lambda p: function(*p), zip(*inputs))
    return Program(f"twin_of_{function.name}", inputs, body)
