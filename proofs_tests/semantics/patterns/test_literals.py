"""Whole numbers are `i32` until they meet a float, fit their type, and read back as they were printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.program import compile_program
from relift.semantics.errors import IllTyped
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import combine, scalar
from relift.semantics.notation.parser import parse_term
from relift.semantics.notation.printer import show
from relift.semantics.syntax.terms import Input, Literal, Term
from relift.semantics.syntax.types import Type, boolean, f32, f64, i32, i64

V, K, D = Input("v", f32), Input("k", i32), Input("d", f64)
NUMBERS = {"v": V, "k": K, "d": D, "i64": i64, "i32": i32, "f64": f64}

TYPED: list[tuple[Callable[[], Term], Type]] = [
    (lambda: rl.select(V < 0.5, 1, 0), i32),
    (lambda: rl.select(V < 0.5, 1.0, 0), f32),
    (lambda: rl.select(V < 0.5, True, False), boolean),
    (lambda: rl.select(V < 0.5, rl.minimum(1, 2), 3), i32),
    (lambda: rl.minimum(1, 2), i32),
    (lambda: rl.minimum(1, 2.0), f32),
    (lambda: rl.add(1, 2), i32),
    (lambda: rl.add(1, 2.5), f32),
    (lambda: rl.sqrt(2), f32),
    (lambda: V * rl.select(V < 0.5, 1, 0), f32),
    (lambda: rl.select(V < 0.5, 1, 0) + D, f64),
    (lambda: rl.select(V < 0.5, rl.select(V < 0.1, 1, 2), 0) + i64(K), i64),
    (lambda: K + rl.maximum(1, 2), i32),
]


@pytest.mark.parametrize(("make", "of"), TYPED)
def test_numbers_take_the_type_that_they_meet(make: Callable[[], Term], of: Type) -> None:
    """Nothing that is counted in whole numbers is counted in floats."""
    t = make()
    assert t.type == of
    assert parse_term(show(t), NUMBERS) == t


@pytest.mark.parametrize(
    "name", ["lt", "le", "gt", "ge", "equal", "not_equal", "add", "sub", "mul"]
)
@pytest.mark.parametrize("other", [V, K, D, Input("k", i64)], ids=lambda t: str(t.type))
def test_a_constant_on_either_side_reads_back(name: str, other: Any) -> None:
    """Python turns `3 >= v` round; what is printed is not."""
    three = Literal(3.0 if other.type in (f32, f64) else 3, other.type)
    for t in (scalar(name, three, other), scalar(name, other, three), scalar(name, three, three)):
        assert parse_term(show(t), {**NUMBERS, other.name: other}) == t


@pytest.mark.parametrize("name", ["minimum", "maximum", "equal", "select"])
@pytest.mark.parametrize("of", [f32, f64, i32, i64], ids=str)
def test_constants_alone_read_back(name: str, of: Any) -> None:
    """Of any type, also as operands of an operator."""
    values = (
        [Literal(1.0, of), Literal(2.0, of)] if of.is_float else [Literal(1, of), Literal(2, of)]
    )
    condition = [V < 0.5] if name == "select" else []
    for t in (scalar(name, *condition, *values), combine(rl.add, *values)):
        assert parse_term(show(t), NUMBERS) == t


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: K + 2**31, r"2147483648 is not a value of type i32, .* make it an i64"),
        (lambda: K - (2**31 + 1), "2147483649 is not a value of type i32"),
        (lambda: i64(2**63), "9223372036854775808 is not a value of type i64"),
        (lambda: rl.select(V < 0.5, 2**31, 0), "2147483648 is not a value of type i32"),
        (lambda: V * 10**400, "is not a value of type f32: it is too large"),
    ],
)  # fmt: skip
def test_numbers_beyond_their_type_are_refused(make: Callable[[], Term], message: str) -> None:
    """At the line where they are written."""
    with pytest.raises(IllTyped, match=message):
        make()


def test_counts_beyond_2_to_the_24th_are_right() -> None:
    """A float stops counting there; a kernel that counts in whole numbers does not."""
    length = 2**24 + 3

    @typed(x=f32[length])
    def counted(x: Any) -> Any:
        def ones(c: Any) -> Any:
            return rl.reduce_seq(lambda a, v: a + rl.select(v > 0.5, 1, 0), 0, c)

        return rl.map_glb(0)(ones, rl.split(length, x))

    result = compile_program(counted)(np.ones(length, np.float32))
    assert result.dtype == np.int32
    assert result[0] == length
