"""C and its Python twin: agreement is found, and so is every difference, with the arguments that show it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relift.compiler.twins import check_twin
from relift.semantics import language as rl
from relift.semantics.language import userfun
from relift.semantics.terms import UserFunction
from relift.semantics.types import f32, f64, i32


def opaque(c: str, twin: Any, *types: Any) -> UserFunction:
    """A function in C, and its twin, of x, y, ...; the last type is the result's."""
    *parameters, result = types
    names = "xyz"[: len(parameters)]
    return UserFunction("f", tuple(names), tuple(parameters), result, c, None, twin)


def logistic() -> UserFunction:
    """A traced function."""

    def traced(x: Any) -> Any:
        return 1.0 / (1.0 + rl.exp(-x))

    traced.__annotations__ = {"x": f32, "return": f32}
    made: UserFunction = userfun(traced)
    return made


def test_twins_agree() -> None:
    """Opaque and traced functions, of one argument and of several."""
    assert check_twin(logistic(), ulps=16) is None
    assert check_twin(opaque("return x * y + 1;", lambda x, y: x * y + 1, f64, f64, f64)) is None
    assert check_twin(opaque("return x < y ? x : z;", _first, i32, i32, i32, i32)) is None


def _first(x: Any, y: Any, z: Any) -> Any:
    return x if x < y else z


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        (opaque("return fmin(x, y);", lambda x, y: min(y, x), f32, f32, f32), "nan"),
        (opaque("return x + 2;", lambda x: x + 1, i32, i32), "f(-2147483648) is"),
        (
            opaque("return x;", np.nan_to_num, f32, f32),
            "f(inf) is inf in C",
        ),
        (opaque("return x / y;", lambda x, y: x // y if y > 0 else x - x, i32, i32, i32), "f("),
    ],
)
def test_differences_are_found(function: UserFunction, shown: str) -> None:
    """At edges and elsewhere."""
    edges = "x / y" not in str(function.c)  # C has no value at 0
    found = check_twin(function, edges=edges)
    assert shown in str(found)


@settings(max_examples=10, deadline=None)
@given(st.integers(-100, 100), st.integers(1, 50))
def test_random_twins(a: int, b: int) -> None:
    """A family of functions agrees with itself, and not with its neighbour."""
    c = f"return ({a}) + x * {b};"
    assert check_twin(opaque(c, lambda x: a + x * b, i32, i32), edges=False) is None
    assert check_twin(opaque(c, lambda x: a + x * b + 1, i32, i32), edges=False) is not None
