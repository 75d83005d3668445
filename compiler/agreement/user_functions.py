"""Opaque C against its reference in Python: the same values on edge cases and on what Hypothesis draws.

A user function written in C is believed to mean what its reference means; the interpreter runs one, the kernel
the other.  `check_reference` runs both.  Edge values are all combinations of NaN, infinities, signed zeros,
subnormals and the ends of the integer ranges.  Hypothesis is optional (`pip install hypothesis`), so nothing
else in Relift imports this module early.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from relift.compiler.agreement.functions_in_c import LARGEST, on_rows
from relift.compiler.codegen.values.functions import scalar_of
from relift.compiler.program import compile_program
from relift.rewrites.checks.random.drawing import simplest
from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.terms import UserFunction
from relift.semantics.syntax.types import FLOATS, INTEGERS, Scalar

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
        min(3.0e9, float(info.max)),
        info.max,
        np.inf,
    ]
    return np.array([*positive, *(-np.array(positive, dtype)), np.nan], dtype)


def _integer_edges(t: Scalar) -> Row:
    least, greatest = t.range
    values = t.held([least, least + 1, -7, -2, -1, 0, 1, 2, 7, greatest - 1, greatest])
    return np.array(list(dict.fromkeys(values)), t.dtype)


EDGES: dict[str, Row] = {
    **{t.name: _float_edges(np.dtype(t.dtype).type) for t in FLOATS.values()},
    **{t.name: _integer_edges(t) for t in INTEGERS.values()},
    "boolean": np.array([False, True]),
}
"""Values of each type at which functions go wrong."""


EXAMPLES = 200
"""Batches of arguments that are drawn at most."""
BATCH = 64
"""So many rows of arguments go to one kernel."""

MOST_EDGES = 10_000
"""Of more combinations of edges, which is of four floats and more, as many at most are tried, evenly."""


def scalars(t: Scalar, *, edges: bool = True) -> st.SearchStrategy[Any]:
    """All values of a scalar type, the edges often; without `edges`, finite ones up to a million."""
    if t.name == "boolean":
        return st.booleans()
    widths: dict[int, Literal[16, 32, 64]] = {2: 16, 4: 32, 8: 64}
    if not edges:
        if t.is_float:
            most = min(LARGEST, float(np.finfo(t.dtype).max))
            return st.floats(-most, most, width=widths[t.bytes])
        least, greatest = t.range
        return st.integers(max(-LARGEST, least), min(LARGEST, greatest))
    known = st.sampled_from(EDGES[t.name].tolist())
    if t.is_float:
        return st.floats(width=widths[t.bytes]) | known
    return st.integers(*t.range) | known


def close_enough(result: Row, expected: Row, ulps: int) -> npt.NDArray[np.bool_]:
    """Where two rows agree: exactly, both NaN, or by this many units in the last place.

    The sign of a zero counts where no error is allowed.

    >>> from relift.compiler.agreement.user_functions import close_enough
    >>> import numpy as np
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
class ReferenceDiffers:
    """Arguments on which C and Python differ."""

    function: str
    arguments: tuple[Any, ...]
    c: Any
    python: Any

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.arguments))
        return f"{self.function}({shown}) is {self.c} in C and {self.python} in Python"


def check_reference(
    function: UserFunction,
    *,
    ulps: int = 0,
    edges: bool = True,
) -> ReferenceDiffers | None:
    """The simplest arguments found on which a user function's C and Python differ on a device; None if none do.

    The combinations of `EDGES` are tried, and up to EXAMPLES batches of 1 to 64 rows of arguments that
    Hypothesis draws, the same each time.  `ulps` is the rounding that is allowed.  Without `edges`, only finite
    numbers up to a million are tried: for a function that is not meant to work beyond them.  Of a traced
    function, the C is Relift's own.

    >>> from relift import i32
    >>> from relift.semantics.syntax.terms import UserFunction
    >>> from relift.testing import check_reference
    >>> twice = UserFunction("twice", ("x",), (i32,), i32, "return 2 * x;", None, lambda x: x + 2)
    >>> print(check_reference(twice))
    twice(0) is 0 in C and 2 in Python
    """
    if not function.types:
        raise IllTyped(f"userfun {function.name} takes no argument; there is nothing to vary")
    types = [scalar_of(t) for t in function.types]
    batch = _Sides(function, types, BATCH, ulps)
    row = st.tuples(*(scalars(t, edges=edges) for t in types))
    drawn = simplest(
        st.lists(row, min_size=1, max_size=BATCH),
        lambda rows: batch.difference(rows) is not None,
        examples=EXAMPLES,
    )
    if drawn is not None:
        return batch.difference(drawn)
    if not edges:
        return None
    columns = corners(types)
    return _Sides(function, types, len(columns[0]), ulps).difference_of(columns)


def corners(types: list[Scalar]) -> list[Row]:
    """All combinations of the edges of some types, by columns; where these are too many, every n-th."""
    count = math.prod(len(EDGES[t.name]) for t in types)
    step = -(-count // MOST_EDGES)
    while any(math.gcd(step, len(EDGES[t.name])) > 1 for t in types):
        step += 1  # so that no argument skips an edge
    columns: list[Row] = []
    stride = 1
    for t in types:
        edges = EDGES[t.name]
        columns.append(edges[[at // stride % len(edges) for at in range(0, count, step)]])
        stride *= len(edges)
    return columns


class _Sides:
    """A user function's C, as one kernel on `count` rows of arguments, and its Python."""

    def __init__(self, function: UserFunction, types: list[Scalar], count: int, ulps: int) -> None:
        self.function, self.types, self.count, self.ulps = function, types, count, ulps
        self.python = on_rows(function, count)
        self.c = compile_program(self.python, contract=False)

    def difference(self, rows: list[tuple[Any, ...]]) -> ReferenceDiffers | None:
        """The first of at most `count` rows on which they differ."""
        filled = rows + rows[-1:] * (self.count - len(rows))
        return self.difference_of(
            [np.array([row[i] for row in filled], DTYPES[t.name]) for i, t in enumerate(self.types)]
        )

    def difference_of(self, columns: list[Row]) -> ReferenceDiffers | None:
        """The first of `count` rows, given by columns, on which they differ."""
        result, expected = self.c(*columns), self.python(*columns)
        wrong = np.flatnonzero(~close_enough(result, expected, self.ulps))
        if not len(wrong):
            return None
        at = int(wrong[0])
        arguments = tuple(column[at] for column in columns)
        return ReferenceDiffers(self.function.name, arguments, result[at], expected[at])
