"""The values that a program is called with are those that it computes with: none becomes another one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.program import compile_program
from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.types import Scalar, boolean, f32, f64, i32, i64, tup

n = nat("n")

TAKEN: list[tuple[Any, Any]] = [
    (f32, np.array([0.5, -1.5, np.inf, np.nan])),
    (f32, np.arange(-3, 3)),
    (f32, [0.1, 0.2]),
    (f64, np.array([0.1], np.float32)),
    (f64, np.array([2**53])),
    (i32, np.arange(5)),
    (i32, np.array([True, False])),
    (i32, np.array([2**31 - 1], np.uint32)),
    (i64, [2**62]),
]
"""Types, and values that are values of them."""

REFUSED: list[tuple[Any, Any, str]] = [
    (f32, np.array([0.5, 0.1, 0.2]), "x: 0.1 is no value of type f32, nor are 1 others"),
    (f32, np.array([1e300]), r"x: 1e\+300 is no value of type f32"),
    (f32, np.array([1e-300]), "x: 1e-300 is no value of type f32"),
    (f32, [1e300], r"x: 1e\+300 is no value of type f32"),
    (f32, np.array([2**24 + 1]), "x: 16777217 is no value of type f32"),
    (f64, np.array([2**53 + 1]), "x: 9007199254740993 is no value of type f64"),
    (i32, np.array([2**31]), "x: 2147483648 is no value of type i32"),
    (i32, np.array([2**31], np.uint32), "x: 2147483648 is no value of type i32"),
    (i32, [2**31], "x: 2147483648 is no value of type i32"),
    (i64, np.array([2**63], np.uint64), "x: 9223372036854775808 is no value of type i64"),
    (boolean, np.array([2]), "x: 2 is no value of type boolean"),
]
"""Types, and values that would be rounded, cut or wrapped around, with what is said."""


@pytest.mark.parametrize(("t", "value"), TAKEN)
def test_what_is_a_value_of_the_type_is_taken(t: Scalar, value: Any) -> None:
    """Whatever it is stored in; Python's own floats are rounded, as literals are."""
    found = typed(x=t[n])(lambda x: x)(value)
    np.testing.assert_array_equal(found, np.asarray(value).astype(found.dtype))


@pytest.mark.parametrize(("t", "value", "said"), REFUSED)
def test_what_is_no_value_of_the_type_is_refused(t: Scalar, value: Any, said: str) -> None:
    """As an array and in a tuple; the message has the parameter, the value, the hint."""
    said = rf"{said}.*\.astype\(np\.{DTYPES[t.name]}\)"
    with pytest.raises(IllTyped, match=said):
        typed(x=t[n])(lambda x: x)(value)
    with pytest.raises(IllTyped, match=said):
        typed(x=tup(t, i32)[n])(lambda x: x)((value, np.zeros(len(value), np.int32)))


@pytest.mark.parametrize(
    ("t", "value"), [(f32, np.float64(0.1)), (f32, 1e300), (f32, 2**24 + 1), (i32, 2**40), (i64, np.uint64(2**63))]
)  # fmt: skip
def test_one_number_is_no_other(t: Scalar, value: Any) -> None:
    """The same of a number alone."""
    with pytest.raises(IllTyped, match=r"x: .* is no value of type"):
        typed(x=t)(lambda x: x)(value)


def test_the_interpreter_takes_no_rounding_that_a_kernel_refuses() -> None:
    """Both say so, where only the kernel did."""
    program = typed(x=f32[3])(lambda x: rl.map_glb(0)(lambda v: v + v, x))
    for run in (program, compile_program(program)):
        with pytest.raises(IllTyped, match=r"convert .* with \.astype\(np\.float32\)"):
            run(np.array([0.1, 0.2, 0.3]))
