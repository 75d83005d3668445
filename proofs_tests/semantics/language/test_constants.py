"""Arrays of constants: what users write for them, and that each is one part of a program."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.semantics.errors import IllTyped
from relift.semantics.notation.parser import parse_term
from relift.semantics.notation.printer import show
from relift.semantics.syntax.terms import Input, parts_of

TABLE = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("values", "of", "t"),
    [
        (TABLE, None, rl.f32[2, 3, 4]),
        (TABLE, rl.f64, rl.f64[2, 3, 4]),
        (TABLE.astype(np.uint8), None, rl.i32[2, 3, 4]),
        (TABLE > 3, None, rl.boolean[2, 3, 4]),
        (TABLE.tolist(), None, rl.f32[2, 3, 4]),
        ([[1, 2], (3, 4)], None, rl.i32[2, 2]),
        (list(np.array([[1, 2], [3, 4]], np.float32)), None, rl.f32[2, 2]),
        ([np.float32(1), np.float32(2)], None, rl.f32[2]),
        (np.zeros((0, 3)), None, rl.f32[0, 3]),
    ],
    ids=range(9),
)
def test_arrays_of_constants_have_the_shape_of_what_is_written(
    values: Any, of: Any, t: Any
) -> None:
    made = rl.literal_array(values, of)

    assert made.type == t

    @rl.program
    def given(x: rl.f32):
        return made

    np.testing.assert_array_equal(given(0.0), np.array(values))


def test_a_table_has_as_many_parts_as_dimensions() -> None:
    assert parts_of(rl.literal_array(np.zeros((64, 64)))) == 2


@pytest.mark.parametrize(
    ("elements", "shown"),
    [
        ((2.0, 1.0), "literal_array((2.0, 1.0), f32)"),
        ((1, rl.i64(2)), "literal_array((1, 2), i64)"),
        ((True, False), "literal_array((True, False), boolean)"),
        (tuple(np.eye(2)), "split(2, literal_array((1.0, 0.0, 0.0, 1.0), f32))"),
        (tuple(np.array([0.5, 2])), "literal_array((0.5, 2.0), f32)"),
        (((1.0, 2), (3.0, 4)), "zip(literal_array((1.0, 3.0), f32), literal_array((2, 4), i32))"),
    ],
    ids=range(6),
)  # fmt: skip
def test_an_array_that_is_made_of_constants_is_one(elements: Any, shown: str) -> None:
    assert show(rl.make_array(*elements)) == shown


@pytest.mark.parametrize("other", [0, 1])
def test_one_element_that_is_none_makes_no_constant(other: int) -> None:
    elements: list[Any] = [1.0, 2.0]
    elements[other] = Input("x", rl.f32)

    assert "literal_array" not in show(rl.make_array(*elements))


def test_a_table_reads_back() -> None:
    made = rl.literal_array(np.array([[0.1, -0.0], [np.inf, np.nan]]), rl.f64)

    assert parse_term(show(made)) == made


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.literal_array([[1, 2], [3]]), "its rows have different lengths"),
        (lambda: rl.literal_array([1, [2]]), "its rows have different lengths"),
        (lambda: rl.literal_array([[]]), r"its rows have no numbers, the shape is \(1, 0\)"),
        (lambda: rl.literal_array(np.zeros((2, 0))), r"its rows have no numbers, the shape is \(2, 0"),
        (lambda: rl.literal_array([[1, "a"]]), "literal_array takes a row of numbers, not"),
        (lambda: rl.literal_array(np.array([1j])), "literal_array takes a row of numbers, not"),
        (lambda: rl.zip(Input("x", rl.f32[3]), np.ones(3)), r"or a constant, rl.literal_array\(\.\.\.\)"),
    ],
    ids=range(7),
)  # fmt: skip
def test_other_tables_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(IllTyped, match=message):
        make()
