"""A size is a number where a number is needed: of the type that it meets, on either side, at open and at fixed sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.program import compile_program
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.notation.parser import parse_term
from relift.semantics.notation.printer import show
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import Type, f32, f64, i32, i64, nat

n: Any = nat("n")
DATA = [3, -1, 4, 1, -5]

CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Type]] = {
    "divides": (lambda v: v / n, lambda v: v / 5, f32),
    "is divided": (lambda v: n / v, lambda v: 5 / v, f32),
    "of a number": (lambda v: 2 / n + v, lambda v: 2 / 5 + v, f32),
    "of a number with a point": (lambda v: 0.5 / n * v, lambda v: 0.5 / 5 * v, f32),
    "by a number with a point": (lambda v: (n - 1) / 2.0 - v, lambda v: 2 - v, f32),
    "with numbers alone first": (lambda v: (1.0 / n) * v, lambda v: v / 5, f64),
    "times a number with a point": (lambda v: v / (2.0 * n), lambda v: v / 10, f64),
    "less a number with a point": (lambda v: (n - 0.5) * v, lambda v: 4.5 * v, f32),
    "from a number with a point": (lambda v: v * (0.5 - n), lambda v: v * -4.5, f64),
    "to a power": (lambda v: v * n**-0.5 + 0.5**n, lambda v: v * 5**-0.5 + 0.5**5, f64),
    "root": (lambda v: v / rl.sqrt(n), lambda v: v / 5**0.5, f64),
    "is taken away": (lambda v: v - n, lambda v: v - 5, f64),
    "is less by": (lambda v: n - v, lambda v: 5 - v, i32),
    "as a polynomial": (lambda v: (2 * n + 1) * v, lambda v: 11 * v, i64),
    "remainder": (lambda v: n % v, lambda v: 5 % int(v), i32),
    "quotient": (lambda v: n // v, lambda v: 5 // int(v), i32),
    "compared": (lambda v: rl.select(n > v + 1, v, n), lambda v: v if v + 1 < 5 else 5, i32),
    "in a function": (lambda v: rl.sqrt(n) * v, lambda v: np.float32(5) ** 0.5 * v, f32),
    "extremes": (lambda v: rl.maximum(n - 3, v), lambda v: max(2, v), i32),
}


def each(f: Callable[[Any], Any], of: Any) -> Program:
    def each(xs: Any) -> Any:
        return rl.map_glb(0)(f, xs)

    return typed(xs=of[n])(each)


@pytest.mark.parametrize(("built", "meant", "of"), CASES.values(), ids=CASES)
def test_a_size_is_its_number(
    built: Callable[[Any], Any], meant: Callable[[Any], Any], of: Any
) -> None:
    """The interpreter and the kernels, with the size as an argument and written in, give what Python does."""
    program, data = each(built, of), np.array(DATA, of.dtype)
    expected = np.array([meant(v) for v in data])
    for found in (
        program(data),
        compile_program(program)(data),
        compile_program(program.at({"n": 5}))(data),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_size_may_be_nothing(size: int) -> None:
    """Where there is no element, the number is 0, and one less is below zero."""
    k = nat("k", least=0)
    both = typed(xs=f32[k])(lambda xs: (rl.reduce(rl.add, 0.0, xs) + k, i32(k - 1)))
    assert both(np.zeros(size, np.float32)) == (size, size - 1)


def test_what_is_written_is_read() -> None:
    """The text of a program with a size as a value is a program."""
    xs = Input("xs", f32[n])
    t = rl.map(lambda v: v / n, xs)
    assert show(t) == "map(lambda v: v / f32(generate(n + 1, lambda i: i)[n]), xs)"
    assert parse_term(show(t), xs=xs, n=n) == t


def test_a_kernel_takes_the_number_itself() -> None:
    """No counters are computed: the size is an argument, or a constant."""
    program = each(lambda v: v / n, f32)
    assert "xs[glb_0] / (float)(((int)(n)))" in compile_program(program).source
    assert "xs[glb_0] / (float)(((int)(5)))" in compile_program(program.at({"n": 5})).source
