"""Comparisons of a result: what differs in one cell, in its shape or in a NaN does not agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.compiler.programs import typed
from relift.compiler.agreement.verification import agreed, check_run, is_exact
from relift.semantics.language.vocabulary import Program
from relift.semantics.syntax.types import f32

NAN = float("nan")


def doubled() -> Program:
    """Exact on whole numbers."""
    return typed(x=f32[4])(lambda x: rl.map(lambda v: v + v, x))


def roots() -> Program:
    """Rounds."""
    return typed(x=f32[4])(lambda x: rl.map(rl.sqrt, x))


def row(*values: float) -> Any:
    return np.array(values, np.float32)


WRONG = [
    row(2, 4, 6, 9), row(2, 4, 6, NAN), row(2, 4, 6), row(4, 2, 6, 8), row(0, 0, 0, 0),
    row(2, 4, 6, 8.001), row(2, 4, 6, float("inf")),
]  # fmt: skip


@pytest.mark.parametrize("make", [doubled, roots], ids=lambda make: make.__name__)
def test_a_result_that_differs_does_not_agree(make: Any) -> None:
    """To the last bit where nothing rounds, else beyond the rounding."""
    source, expected = make(), row(2, 4, 6, 8)

    assert is_exact(source) == (make is doubled)
    assert agreed("itself", source, expected, expected).ok
    for wrong in WRONG:
        assert not agreed("another", source, wrong, expected).ok, wrong
        assert not agreed("another", source, expected, wrong).ok, wrong


@pytest.mark.parametrize("make", [doubled, roots], ids=lambda make: make.__name__)
def test_not_a_number_is_right_where_it_is_meant(make: Any) -> None:
    assert agreed("itself", make(), row(1, NAN, 3, 4), row(1, NAN, 3, 4)).ok
    assert not agreed("another", make(), row(NAN, 1, 3, 4), row(1, NAN, 3, 4)).ok


def test_each_part_of_a_tuple_is_compared() -> None:
    expected = row(1, 2), row(3, 4)
    for source in (doubled(), roots()):
        assert agreed("itself", source, expected, expected).ok
        assert not agreed("another", source, (row(1, 2), row(3, 5)), expected).ok
        assert not agreed("another", source, (row(0, 2), row(3, 4)), expected).ok


def test_a_run_is_compared_with_the_interpreter() -> None:
    source, x = doubled(), row(1, 2, 3, 4)
    (right,) = check_run(source, (x,), row(2, 4, 6, 8), source)
    (wrong,) = check_run(source, (x,), row(2, 4, 6, 9), source)

    assert right.ok
    assert not wrong.ok
