"""Comparisons of a result: what differs in one cell, in its shape or in a NaN does not agree."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.compiler.programs import typed
from relift.compiler.agreement import comparison, verification
from relift.compiler.agreement.comparison import agreed, compared, is_exact
from relift.compiler.agreement.sampled import sampled
from relift.compiler.agreement.verification import check_run
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32, f64

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


def test_whole_numbers_are_equal_or_not() -> None:
    """A count that is off by one is wrong, however large it is; so is an index, and a truth value."""
    for t in (np.int32, np.int64):
        expected = np.array([2**25, 7], t)
        assert compared("itself", expected, expected, 1e-3).ok
        found = compared("another", expected - np.array([1, 0], t), expected, 1e-3)
        assert not found.ok
        assert (
            found.detail == "1 of 2 values differ, the first at [0]: 33554431 instead of 33554432"
        )
    truths = np.array([True, False])
    assert not compared("another", truths, ~truths, 1e-3).ok
    assert not compared("another", np.int32(3), np.int64(4), 1e-3).ok


def test_doubles_are_as_near_as_doubles_are() -> None:
    """What was computed in single precision is no double."""
    program = typed(x=f64[4])(lambda x: rl.map(rl.sqrt, x))
    x = np.array([2.0, 3.0, 5.0, 7.0])
    (right,) = check_run(program, (x,), np.sqrt(x), program)
    (single,) = check_run(program, (x,), np.sqrt(x.astype(np.float32)).astype(np.float64), program)
    assert right.ok
    assert not single.ok


def test_what_is_said_to_be_equal_to_the_last_bit_is() -> None:
    """Zeros of two signs are equal numbers, and differ in a bit."""
    zeros = agreed("itself", doubled(), row(0.0, 1, 2, 3), row(-0.0, 1, 2, 3))
    assert zeros.ok
    assert zeros.detail == "equal but for the sign of zeros"
    same = agreed("itself", doubled(), row(-0.0, NAN, 2, 3), row(-0.0, -NAN, 2, 3))
    assert same.detail == "equal to the last bit"


@pytest.mark.parametrize("limit", ["INTERPRETER_LIMIT", "WORK_LIMIT"])
def test_a_run_beyond_the_interpreter_is_compared_cell_by_cell(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells are sampled, within the rounding of the arguments of a run; a wrong one differs, and none is said."""
    source, x = (
        typed(x=f32[100])(lambda x: rl.map(lambda v: v * v + 1.0, x)),
        np.linspace(0, 1, 100, dtype=np.float32),
    )
    monkeypatch.setattr(comparison, limit, 1)
    result = x * x + np.float32(1)
    (right,) = check_run(source, (x,), result, source)
    assert right.ok
    assert "64 of 100 cells, sampled: largest error" in right.detail
    result[99] = 0
    (wrong,) = check_run(source, (x,), result, source)
    assert wrong.refuted
    monkeypatch.setattr(verification, "sampled", partial(sampled, effort=0))
    (none,) = check_run(source, (x,), result, source)
    assert not none.known
    assert not none.ok
    right_one = x * x + np.float32(1)
    judged = replace(source, reference=lambda _: right_one)
    numpy, none = check_run(judged, (x,), right_one, source)
    assert numpy.ok
    assert none.text() == (
        "not compared with cells of the interpreter at full size: none is within its reach; NumPy judges all of them"
    )
