"""Iterations that change the length: powers of sizes, the size that the pattern binds, and Lift's Listing 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relift.compiler.lowering.iterations import written_out
from relift.compiler.program import compile_program
from relift.rewrites.loading import load_program
from relift.semantics.domains import Exact
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language import vocabulary as rl
from relift.semantics.notation.parser import parse_term, parse_type
from relift.semantics.notation.printer import show
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.substitution import at_sizes
from relift.semantics.syntax.terms import Input, Term
from relift.semantics.syntax.types import f32, i32

n, m, b = nat("n"), nat("m"), nat("b")
NAMES = {"n": n, "m": m, "b": b}
EXPONENTS = st.sampled_from([Size.of(0), Size.of(2), m, m + 1, 2 * m + 1, m * n, m + n])
BASES = st.sampled_from([Size.of(1), Size.of(2), Size.of(3), b, b + 1, 2 * b])


@given(BASES, EXPONENTS, st.tuples(*[st.integers(0, 3)] * 3))
def test_powers_are_powers_of_numbers(base: Size, e: Size, values: tuple[int, ...]) -> None:
    """At numbers a power is what Python computes; so it is after the numbers are filled in."""
    at = dict(zip("nmb", values, strict=True))
    expected = base.evaluate(at) ** e.evaluate(at)

    assert (base**e).evaluate(at) == expected
    assert (base**e).substitute({name: Size.of(v) for name, v in at.items()}) == expected


@given(BASES, EXPONENTS, EXPONENTS)
def test_powers_of_sums_are_products(base: Size, d: Size, e: Size) -> None:
    """b**(d + e) is b**d * b**e, and divides exactly."""
    assert base ** (d + e) == base**d * base**e
    assert (base ** (d + e)).divided_by(base**d) == base**e


@given(BASES, EXPONENTS)
def test_powers_read_back(base: Size, e: Size) -> None:
    """The text of a power denotes it."""
    assert parse_type(str(f32[n * base**e])) == f32[n * base**e]


def test_powers_have_names_and_bounds() -> None:
    """What a power depends on, in what it is linear, and that it is at least 1."""
    assert (n * b**m).names() == {"n", "b", "m"}
    assert (n * b**m).linear_in("n") == (b**m, Size.of(0))
    assert (n * b**m).linear_in("m") is None
    assert (2**m).surely_at_least(1)
    assert not (2**m).surely_at_least(2)
    with pytest.raises(IllTyped, match="0 or more, not m - 1"):
        _ = 2 ** (m - 1)


def halved(y: Any) -> Term:
    """Sums of neighbours."""
    made: Term = rl.partial_reduce(rl.add, 0, 2, y)
    return made


def value(t: Term, **inputs: Any) -> Any:
    return evaluate(t, World(inputs=inputs, domain=Exact()))


def test_each_step_has_its_own_size() -> None:
    """The bound size is the length of each step's result."""
    xs = Input("xs", i32[12])
    t = rl.iterate_sizes(
        2, 2, lambda l, y: rl.map(lambda p: p[0] - p[1], rl.zip(rl.take(l, y), rl.drop(l, y))), xs
    )
    assert value(t, xs=list(range(0, 24, 2))) == [0, 0, 0]
    t = rl.iterate_sizes(2, 2, lambda l, y: rl.take(l, y), xs)
    assert value(t, xs=list(range(12))) == [0, 1, 2]


nested_input = Input("xs", i32[n * 4, 8])
TERMS: dict[str, Callable[[], Term]] = {
    "no size": lambda: rl.iterate_sizes(2, 2, halved, Input("xs", i32[4 * n])),
    "named": lambda: rl.iterate_sizes(2, 2, lambda l, y: rl.drop(l, y), Input("xs", i32[4 * n])),
    "open": lambda: rl.iterate_sizes(m, b, lambda l, y: rl.take(l, y), Input("xs", i32[n * b**m])),
    "nested": lambda: rl.iterate_sizes(
        2, 2,
        lambda l, rows: rl.map(lambda row: rl.concat(rl.iterate_sizes(1, 2, lambda k, y: rl.take(k, y), row), rl.drop(4, row)), rl.take(l, rows)),
        nested_input,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TERMS)
def test_terms_read_back_and_are_rebuilt(name: str) -> None:
    """Printed, with the bound size where it is used, and typed again."""
    t = TERMS[name]()
    inputs = {"xs": nested_input if name == "nested" else t.xs}  # type: ignore[union-attr]
    text = show(t)

    assert parse_term(text, {**NAMES, **inputs}) == t
    assert ("lambda l__1" in text) == (name != "no size")
    assert ("lambda l__2" in text) == (name == "nested")
    assert at_sizes(t, {}) == t


def test_at_numbers_nothing_is_left_of_a_power() -> None:
    """Substitution in the sizes gives a concrete type and the same meaning."""
    t = at_sizes(TERMS["open"](), {"n": Size.of(2), "m": Size.of(2), "b": Size.of(3)})
    assert t.type == i32[2]
    assert value(t, xs=list(range(18))) == [0, 1]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda xs: rl.iterate_sizes(2, 2, lambda y: y, xs), "length l__1 is needed"),
        (lambda xs: rl.iterate_sizes(5, 2, halved, xs), "32 does not divide 12"),
        (lambda xs: rl.iterate_sizes(1, 0, halved, xs), "factor must be at least 1"),
        (lambda xs: rl.iterate_sizes(1, 2, lambda l, y, z: y, xs), "a function of 1 argument"),
    ],
)
def test_what_does_not_fit_is_refused(build: Callable[[Any], Any], message: str) -> None:
    """The message says which length or which function is needed."""
    with pytest.raises(IllTyped, match=message):
        build(Input("xs", i32[12]))


def test_no_program_can_name_a_bound_size() -> None:
    """Two underscores in a row are for sizes that patterns bind."""
    with pytest.raises(IllTyped, match="no two underscores in a row"):
        nat("l__1")


# ---- compiled


def test_steps_are_written_out() -> None:
    """What is compiled means what the iteration means."""
    t = rl.iterate_sizes(2, 2, lambda l, y: rl.drop(l, y), Input("xs", i32[12]))
    assert show(written_out(t)) == "drop(3, drop(6, xs))"
    with pytest.raises(Unsupported, match="uses y 2 times"):
        written_out(
            rl.iterate_sizes(2, 2, lambda l, y: rl.take(l, rl.concat(y, y)), Input("xs", i32[4]))
        )
    with pytest.raises(Unsupported, match="runs m times; a kernel needs a number"):
        written_out(TERMS["open"]())


def test_listing_one_of_lift() -> None:
    """The partial dot product agrees with NumPy, interpreted and as a kernel."""
    program = load_program(str(Path(__file__).parents[3] / "examples" / "partial_dot.py"))
    x, y = np.random.default_rng(1).random((2, 512)).astype(np.float32)
    expected = (x.astype(np.float64) * y).reshape(4, 128).sum(axis=1)
    compiled = compile_program(program.at({"n": 4}))

    np.testing.assert_allclose(program(x, y), expected, rtol=1e-5)
    np.testing.assert_allclose(compiled(x, y), expected, rtol=1e-5)
    assert compiled.source.count("local float") == 2  # by turns, as in Lift's Figure 7
