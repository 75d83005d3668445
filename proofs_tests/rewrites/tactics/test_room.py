"""Rows that need as a whole what they compute, and are too long for a work-item: it is stored, or computed where it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.program import compile_program, refusal
from relift.device import CPU
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.looked_up import computed_where_looked_up
from relift.rewrites.tactics.sharing import apart
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import dimensions, f32, i32

LONG = 67
"""More than a work-item keeps, and no vectors divide it."""

Row = Callable[[Any, Any], Any]


def squares(row: Any) -> Any:
    return rl.map(lambda v: v * v - 1.0, row)


ROWS: dict[str, Row] = {
    "looked up": lambda row, ids: rl.at_runtime(rl.head(ids), 0.0, squares(row)),
    "looked up each": lambda row, ids: rl.gather_indices(ids, squares(row)),
    "computed indices": lambda row, ids: rl.reduce(
        rl.add, 0.0, rl.gather_indices(rl.map(lambda i: LONG - 1 - i, ids), row)
    ),
    "filtered": lambda row, ids: rl.filter_seq(lambda v: v > 0.0, 0.0, squares(row)),
    "sorted": lambda row, ids: rl.head(rl.insertion_sort_seq(lambda a, b: a < b, squares(row))),
    "scattered": lambda row, ids: rl.scatter_indices(
        rl.map(lambda i: LONG - 1 - i, ids), squares(row), row
    ),
    "padded": lambda row, ids: rl.pad(1, 1, rl.mirror, squares(row)),
    "joined": lambda row, ids: rl.reduce(rl.add, 0.0, rl.concat(squares(row), row)),
}


def of_rows(row: Row, *, length: int = LONG) -> Program:
    """A program that does this to each of five rows."""
    shape = {"x": f32[5, length], "ids": i32[5, length]}
    return typed(**shape)(lambda x, ids: rl.map(lambda p: row(p[0], p[1]), rl.zip(x, ids)))


def of_rows_of_tables(row: Row) -> Program:
    """The same of each row of two tables."""
    shape = {"x": f32[2, 3, LONG], "ids": i32[2, 3, LONG]}
    return typed(**shape)(
        lambda x, ids: rl.map(
            lambda t: rl.map(lambda p: row(p[0], p[1]), rl.zip(t[0], t[1])), rl.zip(x, ids)
        )
    )


@pytest.mark.parametrize(
    ("made", "name"),
    [
        *((of_rows, name) for name in ROWS),
        (of_rows_of_tables, "filtered"),
        (of_rows_of_tables, "joined"),
    ],
)
def test_rows_without_room_have_a_program(name: str, made: Callable[[Row], Program]) -> None:
    """And it computes what the interpreter says."""
    program = made(ROWS[name])
    shape = tuple(n.constant or 0 for n in dimensions(program.parameters[0].type)[0])
    draw = np.random.default_rng(5)
    x = draw.standard_normal(shape).astype(np.float32)
    ids = draw.permuted(np.broadcast_to(np.arange(LONG, dtype=np.int32), shape), axis=-1)

    best = optimize(program, {}, CPU, refused=refusal)

    found, wanted = compile_program(best.term)(x, ids), program(x, ids)
    for got, meant in zip(_parts(found), _parts(wanted), strict=True):
        np.testing.assert_allclose(got, meant, rtol=1e-4, atol=1e-4)


def test_what_fits_is_not_stored() -> None:
    """A short row is kept by its work-item."""
    short = of_rows(ROWS["padded"], length=17)

    assert derive(short, apart()).steps == ()


def test_what_is_stored_is_looked_up_as_it_is() -> None:
    """What needs no variable is an array of a kernel of its own; nothing is computed again for each index."""
    shape = {"x": f32[LONG], "ids": i32[8]}
    program = typed(**shape)(lambda x, ids: rl.gather_indices(ids, squares(x)))

    with pytest.raises(NoMatch):
        derive(program, computed_where_looked_up())


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
