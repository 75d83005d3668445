"""The table of scalar functions: against Python's arithmetic, at the edges, and against C on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relift.compiler.agreement.user_functions import EDGES, close_enough
from relift.compiler.program import compile_program
from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped, Undefined
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import scalar
from relift.semantics.language.programs import Program
from relift.semantics.notation.parser import parse_term
from relift.semantics.notation.printer import show
from relift.semantics.syntax.scalars import CONVERSIONS, SCALAR_FUNCTIONS
from relift.semantics.syntax.terms import Input, Term
from relift.semantics.syntax.types import SCALARS, Scalar, boolean, f32, f64, i32, i64

ORACLES: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "minimum": lambda x, y: min(x, y),
    "maximum": lambda x, y: max(x, y),
    "absolute": lambda x: x if x >= 0 else -x,
    "floor": math.floor,
    "ceil": math.ceil,
    "fma": lambda x, y, z: float(Fraction(x) * Fraction(y) + Fraction(z)),
    "sqrt": lambda x: math.sqrt(x),
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "arcsin": math.asin,
    "arccos": math.acos,
    "arctan": math.atan,
    "arctan2": math.atan2,
    "tanh": math.tanh,
    "power": math.pow,
    "hypot": math.hypot,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "select": lambda c, x, y: x if c else y,
    "f32": lambda x: np.float32(x),
    "f64": float,
    "f16": lambda x: float(np.float16(x)),
    "i32": int,
    "i64": int,
}
ON_INTEGERS: dict[str, Callable[..., Any]] = {
    "floor_divide": lambda x, y: x // y if y else 0,
    "modulo": lambda x, y: x % y if y else 0,
    "left_shift": lambda x, y: x << y if 0 <= y < 64 else 0,
    "right_shift": lambda x, y: x >> (y if y >= 0 else 64),
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "invert": lambda x: ~x,
}
POSITIVE = st.floats(0.125, 64, allow_nan=False)
UNIT = st.floats(-1, 1, allow_nan=False)
TYPES = (f32, f64, i32, i64, boolean)


def types_of(name: str) -> list[Scalar]:
    """The types on which a function is defined."""
    return [
        t
        for t in TYPES
        if {
            "numbers": t != boolean,
            "floats": t.is_float,
            "integers": t in (i32, i64),
            "bits": not t.is_float,
            "scalars": True,
        }[SCALAR_FUNCTIONS[name].on]
    ]


CASES = [(name, t) for name in SCALAR_FUNCTIONS for t in types_of(name)]


def argument_types(name: str, t: Scalar) -> list[Scalar]:
    """The types of the arguments of a function on t."""
    arity = SCALAR_FUNCTIONS[name].arity
    return [boolean, t, t] if name == "select" else [t] * arity


# ---- against Python


def test_every_function_has_an_oracle() -> None:
    """No function of the table goes untested, and each is found under its own name."""
    assert {*ORACLES, *ON_INTEGERS} == SCALAR_FUNCTIONS.keys()
    assert all(f.name == name for name, f in SCALAR_FUNCTIONS.items())


@pytest.mark.parametrize("name", ORACLES)
@given(data=st.data())
def test_doubles_agree_with_python(name: str, data: st.DataObject) -> None:
    """On doubles inside its domain, a function agrees with Python's to rounding."""
    f = SCALAR_FUNCTIONS[name]
    inside = UNIT if name in ("arcsin", "arccos") else POSITIVE
    values = [data.draw(inside) for _ in range(f.arity)]

    result = f.meaning(*map(np.float64, values))

    assert result == pytest.approx(ORACLES[name](*values), rel=1e-12)


@pytest.mark.parametrize("name", ON_INTEGERS)
@given(x=st.integers(-50, 50), y=st.integers(-50, 50))
def test_integers_agree_with_python(name: str, x: int, y: int) -> None:
    """On NumPy's integers and on exact ones."""
    f = SCALAR_FUNCTIONS[name]
    values = (x, y)[: f.arity]

    assert f.meaning(*values) == ON_INTEGERS[name](*values)
    assert f.meaning(*map(np.int32, values)) == SCALAR_FUNCTIONS["i32"].meaning(
        np.int64(ON_INTEGERS[name](*values))
    )


@given(st.integers(-50, 50), st.integers(-50, 50))
def test_integers_are_exact(x: int, y: int) -> None:
    """Whole numbers stay whole, and a quotient of them is a fraction."""
    for name in ("add", "sub", "mul", "minimum", "maximum"):
        assert SCALAR_FUNCTIONS[name].meaning(x, y) == ORACLES[name](x, y)
    if y:
        assert SCALAR_FUNCTIONS["div"].meaning(x, y) == Fraction(x, y)


@given(st.fractions(), st.fractions(), st.fractions())
def test_what_rationals_allow_is_exact_on_them(x: Fraction, y: Fraction, z: Fraction) -> None:
    """`fma`, `floor`, `ceil` and the conversions have exact values."""
    value = {name: f.meaning for name, f in SCALAR_FUNCTIONS.items()}

    assert value["fma"](x, y, z) == x * y + z
    assert value["floor"](x) <= x <= value["ceil"](x)
    assert value["f32"](x) == value["f64"](x) == x
    assert value["i32"](x) == value["i64"](x) == int(x)


# ---- edges


def test_exact_arithmetic_is_undefined_where_it_has_no_value() -> None:
    """There is no exact quotient by zero, and no exact root."""
    for name, values in (("div", (1, 0)), ("sqrt", (2,)), ("power", (2, Fraction(1, 2)))):
        with pytest.raises(Undefined):
            SCALAR_FUNCTIONS[name].meaning(*values)


def test_floating_edges_are_ieee() -> None:
    """Division by zero gives infinities and NaN, and `minimum` and `maximum` keep NaN."""
    one, zero, nan = np.float32(1), np.float32(0), np.float32("nan")
    divide = SCALAR_FUNCTIONS["div"].meaning

    assert divide(one, zero) == np.inf
    assert divide(one, -zero) == -np.inf
    assert np.isnan(divide(zero, zero))
    assert np.isnan(SCALAR_FUNCTIONS["sqrt"].meaning(-one))
    assert SCALAR_FUNCTIONS["rsqrt"].meaning(-zero) == -np.inf
    for name in ("minimum", "maximum"):
        meaning = SCALAR_FUNCTIONS[name].meaning
        assert np.isnan(meaning(nan, one))
        assert np.isnan(meaning(one, nan))
        assert np.signbit(meaning(zero, -zero))  # zeros are equal: the second is taken
        assert not np.signbit(meaning(-zero, zero))
    assert not SCALAR_FUNCTIONS["equal"].meaning(nan, nan)
    assert SCALAR_FUNCTIONS["not_equal"].meaning(nan, nan)


def test_integers_wrap_and_divide_by_zero() -> None:
    """At the ends of the range, and where mathematics has no value."""
    least, most, minus = np.int32(-(2**31)), np.int32(2**31 - 1), np.int32(-1)
    with np.errstate(over="ignore"):
        for name, values, expected in (
            ("add", (most, np.int32(1)), least),
            ("neg", (least,), least),
            ("absolute", (least,), least),
            ("floor_divide", (least, minus), least),
            ("floor_divide", (most, np.int32(0)), 0),
            ("modulo", (most, np.int32(0)), 0),
            ("modulo", (np.int32(-7), np.int32(3)), 2),
            ("modulo", (np.int32(7), np.int32(-3)), -2),
            ("left_shift", (most, np.int32(1)), -2),
            ("left_shift", (minus, np.int32(31)), least),
            ("left_shift", (minus, np.int32(32)), 0),
            ("left_shift", (minus, minus), 0),
            ("right_shift", (least, np.int32(31)), -1),
            ("right_shift", (least, np.int32(32)), -1),
            ("right_shift", (most, minus), 0),
        ):
            result = SCALAR_FUNCTIONS[name].meaning(*values)
            assert result == expected, name
            assert type(result) is np.int32, name


def test_conversions_to_integers_have_a_value_everywhere() -> None:
    """Towards zero; to the ends of the range; NaN to 0; wider integers wrap."""
    convert = SCALAR_FUNCTIONS["i32"].meaning

    assert [convert(np.float32(x)) for x in (2.9, -2.9, 3e9, -np.inf, np.nan)] == [
        2, -2, 2**31 - 1, -(2**31), 0,
    ]  # fmt: skip
    assert convert(np.int64(2**32 + 5)) == 5
    assert convert(np.True_) == 1


@settings(max_examples=300)
@given(*[st.floats(width=32)] * 3)
def test_fma_rounds_once(x: float, y: float, z: float) -> None:
    """The nearest f32 to the exact value; its neighbours are further away."""
    result = SCALAR_FUNCTIONS["fma"].meaning(*map(np.float32, (x, y, z)))
    if not all(map(math.isfinite, (x, y, z))) or not np.isfinite(result):
        return
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    error = abs(Fraction(float(result)) - exact)
    for direction in (-np.inf, np.inf):
        other = np.nextafter(result, np.float32(direction))
        if np.isfinite(other):
            assert error <= abs(Fraction(float(other)) - exact)


# ---- notation and types


@pytest.mark.parametrize("name", SCALAR_FUNCTIONS)
def test_notations_mention_every_argument(name: str) -> None:
    """Python's has a place for each argument and for no other; C's is a name, or an operator of one or two."""
    f = SCALAR_FUNCTIONS[name]
    places = [f"{{{i}}}" for i in range(f.arity)]
    assert [place for place in places if place in f.python] == places
    assert f.python.count("{") == f.arity
    if f.c is not None and not f.c.isidentifier():
        assert f.arity <= 2 or f.c == "?:"


def applied(name: str, t: Scalar) -> tuple[dict[str, Input], Term]:
    """A function on inputs of type t."""
    inputs = {f"x{i}": Input(f"x{i}", of) for i, of in enumerate(argument_types(name, t))}
    return inputs, scalar(name, *inputs.values())


@pytest.mark.parametrize(("name", "t"), CASES)
def test_printed_functions_read_back(name: str, t: Scalar) -> None:
    """Alone, and inside and around other operators."""
    inputs, x = applied(name, t)
    result = SCALAR_FUNCTIONS[name].result
    assert str(x.type) == (str(t) if result == "same" else result)
    around = [x, ~x] if x.type == boolean else [x, -x, 1 - x * 2, abs(x)]
    for term in around:
        assert parse_term(show(term), inputs) == term


def test_notation_of_python_is_made_of_scalar_functions() -> None:
    """What has no function of its own is made of those that have."""
    x, k = Input("x", f32), Input("k", i32)

    assert math.floor(x) == rl.floor(x)
    assert math.ceil(x) == rl.ceil(x)
    assert +x == x
    assert divmod(k, 3) == (k // 3, k % 3)
    assert divmod(3, k) == (3 // k, 3 % k)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x, k, b: x % x, "modulo is defined on i32 and i64, not on f32"),
        (lambda x, k, b: k / k, "div is defined on f16, f32 and f64, not on i32"),
        (lambda x, k, b: x & x, "bitwise_and is defined on boolean, i32 and i64, not on f32"),
        (lambda x, k, b: b + b, "add works on numbers, not on boolean"),
        (lambda x, k, b: rl.equal(x, k), "equal: f32 and i32 do not mix"),
        (lambda x, k, b: rl.sqrt(x, x), "sqrt takes 1 argument, 2 are given"),
        (lambda x, k, b: rl.select(b, (x, k), (k, x)), r"select: .f32, i32. and .i32, f32. do not"),
        (lambda x, k, b: boolean(x), r"compare, as in not_equal\(x, 0\)"),
        (lambda x, k, b: i32(0.5), "0.5 is not a value of type i32"),
    ],
)
def test_wrong_types_are_refused(build: Callable[..., Any], message: str) -> None:
    """With the types that are right."""
    with pytest.raises(IllTyped, match=message):
        build(Input("x", f32), Input("k", i32), Input("b", boolean))


# ---- against C

GROUPS = {
    tuple(types): [name for name, t in CASES if argument_types(name, t) == list(types)]
    for types in {tuple(argument_types(name, t)): None for name, t in CASES}
}
"""The functions by the types of their arguments; those of one group share a kernel."""


def on_rows(types: tuple[Scalar, ...], names: list[str], n: int, width: int | None) -> Program:
    """Several functions on rows of n arguments, one by one or in vectors."""
    inputs = tuple(Input(f"x{i}", of[n]) for i, of in enumerate(types))

    def each(p: Any) -> Any:
        values = tuple(p) if len(types) > 1 else (p,)
        results = tuple(scalar(name, *values) for name in names)
        (only, *more) = results
        return results if more else only

    (first, *others) = inputs
    xs: Term = rl.zip(first, *others) if others else first
    if width is None:
        return Program("several", inputs, rl.map_glb(0)(each, xs))
    vectors: Term = rl.as_vector(width, xs)
    body = rl.as_scalar(rl.map_glb(0)(lambda v: rl.map_vec(each, v), vectors))
    return Program("several", inputs, body)


def random_values(t: Scalar, count: int, generator: np.random.Generator) -> Any:
    """Numbers of all magnitudes up to a million; small and large integers."""
    if t.is_float:
        row = generator.standard_normal(count) * 10.0 ** generator.integers(-6, 7, count)
    elif t.name == "boolean":
        row = generator.integers(0, 2, count)
    else:
        row = generator.integers(-100, 100, count) * 10 ** generator.integers(0, 7, count)
    return row.astype(DTYPES[t.name])


@cache
def arguments_and_results(types: tuple[Scalar, ...]) -> tuple[list[Any], tuple[Any, ...]]:
    """All combinations of edge values and some random ones, and what the functions are on them."""
    grid = np.meshgrid(*(EDGES[t.name] for t in types), indexing="ij")
    count = 64 + -grid[0].size % 16
    generator = np.random.default_rng(0)
    values = [
        np.concatenate([column.reshape(-1), random_values(t, count, generator)])
        for column, t in zip(grid, types, strict=True)
    ]
    names = GROUPS[types]
    results = on_rows(types, names, len(values[0]), None)(*values)
    return values, results if len(names) > 1 else (results,)


def beside_a_large_one(x: Any, width: int) -> Any:
    """Where a vector has a lane beyond a million: there PoCL 3.0's sin(1e-45f) is 0.0078."""
    return np.repeat((np.abs(x.reshape(-1, width)) > 1e6).any(axis=1), width)


@pytest.mark.parametrize("width", [None, 2, 4, 8, 16])
@pytest.mark.parametrize("types", GROUPS, ids=lambda types: "-".join(map(str, types)))
def test_c_means_what_numpy_means(types: tuple[Scalar, ...], width: int | None) -> None:
    """On every combination of edge values and on random ones, by scalars and by vectors."""
    values, expected = arguments_and_results(types)
    names = GROUPS[types]
    program = on_rows(types, names, len(values[0]), width)

    found = compile_program(program, contract=False)(*values, device="cpu")

    for name, c, python in zip(names, found if len(names) > 1 else (found,), expected, strict=True):
        right = close_enough(c, python, SCALAR_FUNCTIONS[name].ulps)
        if name in ("sin", "cos", "tan") and width is not None:
            right |= beside_a_large_one(values[0], width)
        wrong = np.flatnonzero(~right)
        shown = [(*(v[i] for v in values), "C", c[i], "NumPy", python[i]) for i in wrong[:3]]
        assert not shown, f"{name} differs in {len(wrong)} places: {shown}"


def test_conversions_are_named_after_types() -> None:
    """`f32(x)` is the notation in programs and in the printed form."""
    x = Input("k", i32)
    assert show(f32(x) + 0.5) == "f32(k) + 0.5"
    assert {name for name in SCALARS if name != "boolean"} == set(CONVERSIONS)
