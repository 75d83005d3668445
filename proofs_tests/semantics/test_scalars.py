"""The table of scalar functions: arithmetic against Python's own, and what it says at the edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relift.semantics.errors import Undefined
from relift.semantics.scalars import SCALAR_FUNCTIONS

ORACLES: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "minimum": lambda x, y: min(x, y),
    "maximum": lambda x, y: max(x, y),
    "absolute": lambda x: x if x >= 0 else -x,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "select": lambda c, x, y: x if c else y,
}
POSITIVE = st.floats(0.125, 64, allow_nan=False)


def test_every_function_has_an_oracle() -> None:
    """No function of the table goes untested, and each is found under its own name."""
    assert ORACLES.keys() == SCALAR_FUNCTIONS.keys()
    assert all(f.name == name for name, f in SCALAR_FUNCTIONS.items())


@pytest.mark.parametrize("name", ORACLES)
@given(data=st.data())
def test_doubles_agree_with_python(name: str, data: st.DataObject) -> None:
    """On doubles inside its domain, a function agrees with Python's to rounding."""
    f = SCALAR_FUNCTIONS[name]
    values = [data.draw(POSITIVE) for _ in range(f.arity)]

    result = f.meaning(*map(np.float64, values))

    assert result == pytest.approx(ORACLES[name](*values), rel=1e-12)


@given(st.integers(-50, 50), st.integers(-50, 50))
def test_integers_are_exact(x: int, y: int) -> None:
    """Whole numbers stay whole, and a quotient of them is a fraction."""
    for name in ("add", "sub", "mul", "minimum", "maximum"):
        assert SCALAR_FUNCTIONS[name].meaning(x, y) == ORACLES[name](x, y)
    if y:
        assert SCALAR_FUNCTIONS["div"].meaning(x, y) == Fraction(x, y)


def test_exact_division_by_zero_is_undefined() -> None:
    """There is no exact quotient by zero."""
    with pytest.raises(Undefined):
        SCALAR_FUNCTIONS["div"].meaning(1, 0)


def test_floating_edges_are_ieee() -> None:
    """Division by zero gives infinities and NaN, and `minimum` and `maximum` keep NaN."""
    one, zero, nan = np.float32(1), np.float32(0), np.float32("nan")
    divide = SCALAR_FUNCTIONS["div"].meaning

    assert divide(one, zero) == np.inf
    assert np.isnan(divide(zero, zero))
    assert np.isnan(SCALAR_FUNCTIONS["sqrt"].meaning(-one))
    for name in ("minimum", "maximum"):
        meaning = SCALAR_FUNCTIONS[name].meaning
        assert np.isnan(meaning(nan, one))
        assert np.isnan(meaning(one, nan))


@pytest.mark.parametrize("name", SCALAR_FUNCTIONS)
def test_notations_mention_every_argument(name: str) -> None:
    """Both notations have a place for each argument and for no other."""
    f = SCALAR_FUNCTIONS[name]
    for notation in (f.c, f.python):
        places = [f"{{{i}}}" for i in range(f.arity)]
        assert [place for place in places if place in notation] == places
        assert notation.count("{") == f.arity
