"""Declared laws are tested: those that hold pass, those that do not come with values that a person can check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from relift.rewrites.laws import check_laws
from relift.semantics import language as rl
from relift.semantics.terms import BinaryOperator
from relift.semantics.types import Type, boolean, f32, i32, tup


def made(function: Callable[..., Any], **laws: Any) -> BinaryOperator:
    return rl.operator(function, name="op", **laws)


BOTH = {"associative": True, "commutative": True}


@pytest.mark.parametrize(
    ("operator", "element"),
    [
        (rl.add, f32),
        (rl.mul, i32),
        (made(rl.minimum, **BOTH, neutral=float("inf")), f32),
        (made(lambda x, y: x & y, **BOTH, neutral=True), boolean),
        (made(lambda x, y: x ^ y, **BOTH, neutral=0), i32),
        (made(lambda x, y: x, associative=True), i32),
        (made(lambda a, b: (a[0] + b[0], rl.maximum(a[1], b[1])), **BOTH), tup(f32, i32)),
        (made(lambda x, y: x - y), i32),
    ],
)
def test_what_holds_passes(operator: BinaryOperator, element: Type) -> None:
    """On numbers, truth values and pairs; without declared laws there is nothing to break."""
    assert check_laws(operator, element) is None


@pytest.mark.parametrize(
    ("operator", "element", "message"),
    [
        (made(lambda x, y: x - y, associative=True), i32, "declared associative, but with x = "),
        (made(lambda x, y: x, commutative=True), i32, "x = 0, y = 1 the sides are 0 and 1"),
        (made(lambda x, y: (x + y) / 2, **BOTH), f32, "declared associative"),
        (made(rl.maximum, **BOTH, neutral=0), i32, "the neutral element 0, but with x = -1"),
        (made(lambda x, y: x - y, neutral=0), i32, "the neutral element 0, but with x = 1 "),
        (made(lambda x, y: x & ~y, commutative=True), boolean, "declared commutative"),
        (made(lambda a, b: (a[0], b[0]), commutative=True), tup(i32, i32), r"x = (0, 0), y = "),
    ],
)
def test_what_does_not_hold_is_refuted(
    operator: BinaryOperator, element: Type, message: str
) -> None:
    """With the simplest values that Hypothesis finds."""
    assert message in str(check_laws(operator, element))
