"""Agreement beyond the interpreter's reach: single cells of a result, at its corners and drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from relift.compiler.agreement.comparison import Agreement, compared, how_equal, is_exact, rounding
from relift.compiler.running.arrays.buffers import Row, components, flatten
from relift.semantics.by_cell import Cells, TooMuch
from relift.semantics.errors import Undefined, Unsupported
from relift.semantics.language.programs import Program

CELLS = 64
"""So many cells are compared, where their work is allowed."""

EFFORT = 2_000_000
"""Scalar operations of the interpreter for all of them."""


def sampled(
    against: str,
    program: Program,
    arrays: Sequence[Any],
    result: Any,
    effort: int = EFFORT,
    *,
    whole: bool = True,
) -> Agreement:
    """Some cells of the result of a program at its sizes, each computed by the interpreter alone.

    Equal to the last bit where every step is exact and the arguments are `whole` numbers, else within the rounding.
    Where not even one cell is in reach that is said, and nothing was compared.
    """
    rows = flatten(result, program.body.type, "the result")
    try:
        found = list(_cells(program, arrays, rows, effort))
    except (TooMuch, Undefined, Unsupported) as error:
        detail = f"the interpreter reaches no cell at these sizes: {error.message}"
        return Agreement(
            against, False, detail, known=False, beyond=not isinstance(error, Undefined)
        )
    one = (
        _exactly(against, found)
        if whole and is_exact(program)
        else _nearly(against, found, program)
    )
    if not one.ok:
        return one
    count = f"{len(found)} of {sum(map(len, rows))} cells, sampled"
    return replace(one, detail=f"{count}: {one.detail}; the interpreter does not reach the others")


@dataclass(frozen=True)
class _Cell:
    """One cell: where it is, what was computed, what it should be."""

    component: int
    indices: tuple[int, ...]
    found: Any
    expected: Any


def _cells(
    program: Program, arrays: Sequence[Any], rows: Sequence[Row], effort: int
) -> Iterator[_Cell]:
    """As many cells as the effort allows; raises what is in the way of the first."""
    cells = Cells(program, arrays, effort)
    first = True
    shapes = [shape for _, shape in components(program.body.type)]
    for component, place in _places([len(row) for row in rows]):
        indices = tuple(map(int, np.unravel_index(place, shapes[component])))
        try:
            expected = cells.at(component, indices)
        except (TooMuch, Undefined, Unsupported):
            if first:
                raise
            return
        first = False
        yield _Cell(component, indices, rows[component][place], expected)


def _exactly(against: str, cells: Sequence[_Cell]) -> Agreement:
    for c in cells:
        if not np.array_equal(c.found, c.expected, equal_nan=True):
            at = f"index {list(c.indices)}" + f" of component {c.component}" * (c.component > 0)
            return Agreement(against, False, f"{c.found!r} instead of {c.expected!r} at {at}")
    pairs = tuple(zip(*((c.found, c.expected) for c in cells), strict=True))
    return Agreement(against, True, how_equal(*pairs))


def _nearly(against: str, cells: Sequence[_Cell], program: Program) -> Agreement:
    """Each component by itself, whose values have one scale."""
    parts = [[c for c in cells if c.component == i] for i in sorted({c.component for c in cells})]
    found = tuple(np.array([c.found for c in part]) for part in parts)
    expected = tuple(np.array([c.expected for c in part]) for part in parts)
    return compared(against, found, expected, rounding(program))


def _places(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Cells of rows of these lengths: the first and the last of each, then drawn ones, no cell twice."""
    random = Random(0)
    seen: set[tuple[int, int]] = set()
    ends = [(i, place) for i, n in enumerate(lengths) if n for place in (n - 1, 0)]
    filled = [i for i, n in enumerate(lengths) if n]
    drawn = (
        (i, random.randrange(lengths[i])) for i in (random.choice(filled) for _ in range(4 * CELLS))
    )
    for cell in (*ends, *(drawn if filled else ())):
        if cell not in seen and len(seen) < max(CELLS, len(ends)):
            seen.add(cell)
            yield cell
