"""NaN, infinities, signed zeros, overflow, division by zero and empty arrays, as the interpreter defines them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from relift.semantics.domains import DTYPES, Exact
from relift.semantics.errors import IllTyped, Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language import programs
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.terms import Input, Term
from relift.semantics.syntax.types import Scalar, Type, f32, f64, i32, i64

NAN, INF = float("nan"), float("inf")
SMALLEST = -(2**31)
n, k = nat("n", least=0), nat("k")
xs, rows = Input("xs", f32[n]), Input("rows", f32[n, 3])


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """A value that is defined needs no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def run(f: Callable[..., Any], t: Scalar, *values: Any) -> Any:
    """What f gives on scalars of type t; only the interpreter's own arithmetic is at work."""
    parameters = tuple(Input(f"x{i}", t) for i in range(len(values)))
    inputs = {p.name: DTYPES[t.name].type(v) for p, v in zip(parameters, values, strict=True)}
    return evaluate(f(*parameters), World(inputs=inputs))


def same(x: Any, y: float) -> bool:
    """Equal, with NaN equal to itself and zeros told apart by their sign."""
    return bool((np.isnan(x) and np.isnan(y)) or (x == y and np.signbit(x) == np.signbit(y)))


FLOATS: list[tuple[str, Callable[..., Any], tuple[float, ...], float]] = [
    ("1/0", lambda x, y: x / y, (1, 0), INF),
    ("-1/0", lambda x, y: x / y, (-1, 0), -INF),
    ("1/-0", lambda x, y: x / y, (1, -0.0), -INF),
    ("0/0", lambda x, y: x / y, (0, 0), NAN),
    ("inf - inf", lambda x, y: x - y, (INF, INF), NAN),
    ("0 * inf", lambda x, y: x * y, (0, INF), NAN),
    ("-0 + 0", lambda x, y: x + y, (-0.0, 0.0), 0.0),
    ("-0 + -0", lambda x, y: x + y, (-0.0, -0.0), -0.0),
    ("-(0)", lambda x: -x, (0.0,), -0.0),
    ("|-0|", lambda x: rl.absolute(x), (-0.0,), 0.0),
    ("sqrt -1", lambda x: rl.sqrt(x), (-1,), NAN),
    ("sqrt -0", lambda x: rl.sqrt(x), (-0.0,), -0.0),
    ("log 0", lambda x: rl.log(x), (0,), -INF),
    ("minimum of NaN", lambda x, y: rl.minimum(x, y), (NAN, 1), NAN),
    ("minimum with NaN", lambda x, y: rl.minimum(x, y), (1, NAN), NAN),
    ("maximum with NaN", lambda x, y: rl.maximum(x, y), (1, NAN), NAN),
    ("NaN < 1 is false", lambda x: rl.select(x < 1.0, 1.0, 2.0), (NAN,), 2.0),
    ("NaN >= 1 is false", lambda x: rl.select(x >= 1.0, 1.0, 2.0), (NAN,), 2.0),
    ("-0 < 0 is false", lambda x, y: rl.select(x < y, x, y), (-0.0, 0.0), 0.0),
    ("select ignores the other branch", lambda x: rl.select(x > 0.0, 1.0 / x, 3.0), (0.0,), 3.0),
]  # fmt: skip


@pytest.mark.parametrize("t", [f32, f64], ids=str)
@pytest.mark.parametrize(
    ("f", "arguments", "expected"), [case[1:] for case in FLOATS], ids=[case[0] for case in FLOATS]
)
def test_floats_are_ieee(
    f: Callable[..., Any], arguments: tuple[float, ...], expected: float, t: Scalar
) -> None:
    """Each edge case has the value of the standard, in the precision of its type."""
    result = run(f, t, *arguments)

    assert same(result, expected)


def test_single_precision_overflows_to_infinity() -> None:
    """f32 overflows where f64 does not, and both keep the sign."""
    assert same(run(lambda x: x * x, f32, -1e30), INF)
    assert same(run(lambda x, y: x * y, f32, -1e30, 1e30), -INF)
    assert run(lambda x: x * x, f64, 1e30) == np.float64(1e30) ** 2 < INF
    assert same(run(lambda x: rl.exp(x), f32, 100), INF)


def test_single_precision_underflows_gradually() -> None:
    """Results below the smallest normal number are subnormal, then zero; nothing is flushed."""
    assert run(lambda x: x * x, f32, 1e-21) == np.float32(1e-42) != 0
    assert same(run(lambda x, y: x * y, f32, -1e-30, 1e-30), -0.0)


@pytest.mark.parametrize(
    ("f", "arguments", "expected"),
    [
        (lambda x, y: x + y, (2**31 - 1, 1), SMALLEST),
        (lambda x, y: x - y, (SMALLEST, 1), 2**31 - 1),
        (lambda x, y: x * y, (2**16, 2**16), 0),
        (lambda x: -x, (SMALLEST,), SMALLEST),
        (lambda x: rl.absolute(x), (SMALLEST,), SMALLEST),
    ],
)
def test_integers_wrap_around(
    f: Callable[..., Any], arguments: tuple[int, ...], expected: int
) -> None:
    """i32 arithmetic is modulo 2**32; i64 has room for these, exact integers for all."""
    result = run(f, i32, *arguments)

    assert np.asarray(result).dtype == np.int32
    assert result == expected


def test_exact_integers_do_not_wrap() -> None:
    """In the exact domain a sum is the sum."""
    x = Input("x", i32)

    assert evaluate(x + x, World(inputs={"x": 2**31 - 1}, domain=Exact())) == 2**32 - 2


def test_exact_division_by_zero_is_undefined() -> None:
    """There is no rational quotient by zero, so it stops the interpreter."""
    x = Input("x", f32)

    with pytest.raises(Undefined, match="division by zero"):
        evaluate(x / x, World(inputs={"x": 0}, domain=Exact()))


def test_nan_goes_through_a_reduction() -> None:
    """One NaN makes a sum NaN, and infinities of both signs do."""
    total = programs.program(_total)

    assert np.isnan(total(np.array([1, NAN, 2], np.float32)))
    assert np.isnan(total(np.array([INF, 1, -INF], np.float32)))
    assert same(total(np.array([INF, 1], np.float32)), INF)


def _total(x: f32[n]):  # type: ignore[valid-type,no-untyped-def]
    return rl.reduce(rl.add, 0.0, x)


def test_a_sum_of_negative_zeros_starts_from_zero() -> None:
    """The initial value takes part: 0.0 + -0.0 is 0.0."""
    assert same(programs.program(_total)(np.array([-0.0, -0.0], np.float32)), 0.0)


EMPTY: list[tuple[str, Term, dict[str, Any], Any]] = [
    ("map", rl.map(lambda x: x + 1.0, xs), {"xs": []}, []),
    ("zip", rl.zip(xs, xs), {"xs": []}, []),
    ("reduce is its initial value", rl.reduce(rl.add, 7.0, xs), {"xs": []}, 7),
    ("reduce_seq, too", rl.reduce_seq(lambda a, x: a * x, 7.0, xs), {"xs": []}, 7),
    ("join of no rows", rl.join(rows), {"rows": []}, []),
    ("split of nothing has no chunks", rl.split(k, rl.take(0, xs)), {"xs": []}, []),
    ("transpose of no rows has empty columns", rl.transpose(rows), {"rows": []}, [[], [], []]),
    ("take nothing", rl.take(0, xs), {"xs": []}, []),
    ("drop nothing", rl.drop(0, xs), {"xs": []}, []),
    ("a constant pads nothing", rl.pad(1, 1, 5.0, xs), {"xs": []}, [5, 5]),
    ("repeat an empty array", rl.repeat(2, xs), {"xs": []}, [[], []]),
    ("repeat no times", rl.repeat(0, xs), {"xs": []}, []),
    ("windows of length 0", rl.slide(0, 1, xs), {"xs": []}, [[]]),
    ("no vectors", rl.as_scalar(rl.as_vector(4, rl.take(0, xs))), {"xs": []}, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("t", "inputs", "expected"), [case[1:] for case in EMPTY], ids=[case[0] for case in EMPTY]
)
def test_patterns_on_empty_arrays(t: Term, inputs: dict[str, Any], expected: Any) -> None:
    """A pattern on an empty array has the value that its definition gives."""
    world = World(sizes={"n": 0, "k": 2}, inputs=inputs, domain=Exact())

    assert evaluate(t, world) == expected


def test_the_border_of_an_empty_array_is_undefined() -> None:
    """`pad(clamp)` repeats the first and last element; without one it is refused or undefined."""
    with pytest.raises(IllTyped, match="pad_clamp: n must be at least 1"):
        rl.pad(1, 1, rl.clamp, rl.take(0, xs))
    with pytest.raises(Undefined, match="pad_clamp: n must be at least 1, but is 0"):
        evaluate(rl.pad(1, 1, rl.clamp, xs), World(sizes={"n": 0}, inputs={"xs": []}))


@pytest.mark.parametrize("t", [f32, i64], ids=str)
def test_an_empty_result_keeps_its_shape(t: Type) -> None:
    """No rows of 3 are an array of shape (0, 3)."""

    def first_rows(a: t[n, 3]):  # type: ignore[valid-type,no-untyped-def]
        return rl.take(0, a)

    first_rows.__annotations__ = {"a": t[n, 3]}
    result = programs.program(first_rows)(np.ones((2, 3), np.int32))

    assert result.shape == (0, 3)


def test_a_size_is_at_least_one_unless_it_says_so() -> None:
    """Typing relies on what a size states, so a call that breaks it is refused, with the hint."""

    def tail(x: f32[k]):  # type: ignore[valid-type,no-untyped-def]
        return rl.drop(1, x)

    program = programs.program(tail)
    message = r'tail: size k is 0, but it is at least 1; rl.nat\("k", least=0\) allows 0'
    with pytest.raises(IllTyped, match=message):
        program(np.array([], np.float32))
    with pytest.raises(IllTyped, match=message):
        program.at({"k": 0})
    assert programs.program(_total)(np.array([], np.float32)) == 0
