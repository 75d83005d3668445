"""Programs that are nests, written in as many ways as people write them: for what brings them to normal form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from relift.semantics.language.programs import Program
from relift.semantics.language.vocabulary import (
    add,
    join,
    map,
    maximum,
    reduce,
    split,
    transpose,
    zip,
)
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import f32

ROWS, COLUMNS, STEPS, BATCH = 16, 8, 8, 2


@dataclass(frozen=True)
class Manner:
    """How a nest is written: what lies transposed, what is done before the folds and after them, and where it stands.

    What is done before may be `captured` by the function of the fold, where the numbers for it are at hand.
    """

    first_across: bool
    second_across: bool
    swapped: bool
    before_first: str
    before_second: str
    after: str
    apart: bool
    batch: bool
    turned: bool
    captured: bool
    folds: str


BEFORE: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda v, s: v,
    "scaled": lambda v, s: v * s,
    "shifted": lambda v, s: maximum(v + s, 0.0),
}
AFTER: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "nothing": lambda v, r, c, e: v,
    "negated": lambda v, r, c, e: 0.0 - v,
    "squared": lambda v, r, c, e: v * v - v,
    "bias": lambda v, r, c, e: maximum(v + c, 0.0),
    "rows": lambda v, r, c, e: v * r,
    "cells": lambda v, r, c, e: 2.0 * v + e,
    "all": lambda v, r, c, e: r * v + c * e,
}


def manners() -> st.SearchStrategy[Manner]:
    """Manners of writing a nest."""
    flag = st.booleans()
    before, after = st.sampled_from(sorted(BEFORE)), st.sampled_from(sorted(AFTER))
    folds = st.sampled_from(("one", "of folds", "joined"))
    return st.builds(Manner, flag, flag, flag, before, before, after, flag, flag, flag, flag, folds)


def written(manner: Manner) -> Program:
    """A nest that is written in a manner."""
    across = (STEPS, ROWS) if manner.first_across else (ROWS, STEPS)
    across_2 = (STEPS, COLUMNS) if manner.second_across else (COLUMNS, STEPS)
    batch = (BATCH,) if manner.batch else ()
    inputs = {
        "a": f32[(*batch, *across)],
        "b": f32[(*batch, *across_2)],
        "r": f32[ROWS],
        "c": f32[COLUMNS],
        "e": f32[ROWS, COLUMNS],
    }
    a, b, r, c, e = (Input(name, t) for name, t in inputs.items())
    if manner.batch:
        body = map(lambda p: _nest(manner, p[0], p[1], r, c, e), zip(a, b))
    else:
        body = _nest(manner, a, b, r, c, e)
    return Program("nest", (a, b, r, c, e), body)


def _nest(manner: Manner, a: Any, b: Any, r: Any, c: Any, e: Any) -> Any:
    rows = transpose(a) if manner.first_across else a
    columns = transpose(b) if manner.second_across else b
    captured = manner.captured and not manner.apart and not manner.batch
    if not manner.batch and not captured:
        rows = _before(manner.before_first, rows, r)
        columns = _before(manner.before_second, columns, c)
    if manner.apart:
        table = _apart(manner, rows, columns, r, c, e)
    else:
        after = AFTER[manner.after]

        def cell(x: Any, y: Any) -> Any:
            numbers = (x[1][0], y[1][0]) if captured else None
            return after(_fold(manner, x[0], y[0], numbers), x[1][0], y[1][0], y[1][1])

        table = map(
            lambda x: map(lambda y: cell(x, y), zip(columns, zip(c, x[1][1]))),
            zip(rows, zip(r, e)),
        )
    return transpose(table) if manner.turned else table


def _apart(manner: Manner, rows: Any, columns: Any, r: Any, c: Any, e: Any) -> Any:
    """What is done with the results is written as maps of their own."""
    folds = map(lambda x: map(lambda y: _fold(manner, x, y), columns), rows)
    after = AFTER[manner.after]
    if manner.after in ("nothing", "negated", "squared"):
        return map(lambda row: map(lambda v: after(v, None, None, None), row), folds)
    return map(
        lambda p: map(lambda q: after(q[0], p[1][0], q[1][0], q[1][1]), zip(p[0], zip(c, p[1][1]))),
        zip(folds, zip(r, e)),
    )


def _before(what: str, rows: Any, numbers: Any) -> Any:
    if what == "nothing":
        return rows
    return map(lambda p: map(lambda v: BEFORE[what](v, p[1]), p[0]), zip(rows, numbers))


def _fold(manner: Manner, x: Any, y: Any, numbers: tuple[Any, Any] | None = None) -> Any:
    """The sum of products; of what is made of each with two numbers, where they are given."""
    first = int(manner.swapped)

    def product(p: Any) -> Any:
        v, w = p[first], p[1 - first]
        if numbers is not None:
            v = BEFORE[manner.before_first](v, numbers[0])
            w = BEFORE[manner.before_second](w, numbers[1])
        return v * w

    def products(of: Any) -> Any:
        return map(product, of)

    pairs = zip(y, x) if manner.swapped else zip(x, y)
    if manner.folds == "one":
        return reduce(add, 0.0, products(pairs))
    chunks = split(4, pairs)
    if manner.folds == "joined":
        return reduce(add, 0.0, join(map(products, chunks)))
    return reduce(add, 0.0, map(lambda chunk: reduce(add, 0.0, products(chunk)), chunks))
