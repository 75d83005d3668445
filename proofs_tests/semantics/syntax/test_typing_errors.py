"""Ill-typed programs: each message, and that it names the line of the user's file that is wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from relift.semantics.errors import IllTyped
from relift.semantics.language import programs
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import f32, i32, nat, tup

n, m = nat("n"), nat("m")
xs, ys, ks = Input("xs", f32[n]), Input("ys", f32[m]), Input("ks", i32[n])
rows, pairs, a, four = (
    Input("rows", f32[n, m]),
    Input("pairs", tup(f32, i32)[n]),
    Input("a", f32),
    Input("four", f32[4]),
)
shift = rl.operator(lambda x, y: x < y, name="below")

WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "split": (
        lambda: rl.split(3, xs),
        "split: 3 does not divide n for every size; pad the array or choose a size that divides n",
    ),
    "split of a number": (
        lambda: rl.split(3, four),
        "split: 3 does not divide 4; pad the array or choose a size that divides 4",
    ),
    "split by zero": (lambda: rl.split(0, four), "split: m must be at least 1"),
    "slide": (
        lambda: rl.slide(3, 2, four),
        "slide: 2 does not divide 1 (length 4 after 3); pad the array or choose a size that",
    ),
    "slide too short": (
        lambda: rl.slide(5, 1, four),
        "slide: length 4 is too short: 5 elements are needed at least",
    ),
    "zip": (
        lambda: rl.zip(xs, ys),
        "zip: length n is needed, but the argument has length m",
    ),
    "join": (
        lambda: rl.join(xs),
        "join: xss must be of the form ",
    ),
    "map of a scalar": (lambda: rl.map(lambda x: x, a), "map: xs must be of the form "),
    "mixed scalars": (
        lambda: rl.map(lambda p: p[0] + p[1], pairs),
        "add: f32 and i32 do not mix; both sides need one type: write f32(...) around the other",
    ),
    "component of a scalar": (
        lambda: rl.map(lambda x: x[0], xs),
        "a value of type f32 has no components",
    ),
    "component out of range": (
        lambda: rl.map(lambda p: p[2], pairs),
        "a tuple of type (f32, i32) has no component 2",
    ),
    "arithmetic on arrays": (
        lambda: rl.map(lambda row: row * 2.0, rows),
        "mul works on scalars, not on f32[m]; use map or a component",
    ),
    "arity": (
        lambda: rl.map(lambda x, y: x, xs),
        "a function of 1 argument is needed here, but this one takes 2",
    ),
    "float literal for an integer": (
        lambda: rl.map(lambda k: k + 0.5, ks),
        "0.5 is not a value of type i32; write a whole number",
    ),
    "square root of an integer": (
        lambda: rl.map(rl.sqrt, ks),
        "sqrt is defined on f16, f32 and f64, not on i32",
    ),
    "function for an operator": (
        lambda: rl.reduce(max, 0.0, xs),
        "reduce: an operator with declared laws is needed, such as rl.add; make one with rl.",
    ),
    "operator that leaves its type": (
        lambda: shift(a, a),
        "below maps two f32 to boolean; it must stay in f32",
    ),
    "accumulator": (
        lambda: rl.reduce_seq(lambda acc, x: acc < x, 0.0, xs),
        "reduce_seq: the result of f has type boolean, but f32 is needed here",
    ),
    "truth of a term": (
        lambda: rl.map(lambda x: 1.0 if x < 0.0 else 2.0, xs),
        "a term has no truth value while it is traced; use select(condition, a, b)",
    ),
    "unpacking": (
        lambda: rl.map(lambda x: next(iter(x)), xs),
        "only a tuple can be unpacked, not a value of type f32",
    ),
    "missing arguments": (
        lambda: rl.map(rl.map, rows),
        "map still lacks arguments: xs",
    ),
    "too many arguments": (lambda: rl.join(rows, 1), "join takes 1 argument, 2 are given"),
    "dimension": (
        lambda: rl.map_glb(3)(lambda x: x, xs),
        "map_glb: OpenCL has dimensions 0, 1 and 2, not 3",
    ),
    "negative size": (
        lambda: rl.take(-1, xs),
        "take: m is -1, but a size is not negative",
    ),
    "take too much": (
        lambda: rl.take(5, four),
        "take: length 4 is too short: 5 elements are needed at least",
    ),
    "float for a size": (lambda: rl.split(2.0, xs), "split: m is a size, not 2.0"),
    "no term": (
        lambda: rl.map(lambda x: "x", xs),
        "'x' is not a term; a program computes with its parameters and numbers",
    ),
}


@pytest.mark.parametrize(("build", "message"), WRONG.values(), ids=WRONG)
def test_message_and_place(build: Callable[[], Any], message: str) -> None:
    """The message says what is wrong, and the place is the line of the lambda that writes it."""
    lines, first = inspect.getsourcelines(build)
    with pytest.raises(IllTyped) as caught:
        build()

    assert caught.value.message.startswith(message)
    assert caught.value.place is not None
    file, _, line = caught.value.place.rpartition(":")
    assert file == __file__
    assert first <= int(line) < first + len(lines)


def test_place_is_the_line_inside_a_lambda() -> None:
    """An error in the body of a lambda is placed there, not at the pattern around it."""
    with pytest.raises(IllTyped) as caught:
        rl.map(
            lambda x: x[0],  # the wrong line
            xs,
        )

    assert caught.value.place is not None
    line = int(caught.value.place.rpartition(":")[2])
    with open(__file__) as source:
        assert "# the wrong line" in source.readlines()[line - 1]


def test_message_is_shown_with_its_place() -> None:
    """`str` of an error is `file:line: message`, one line."""
    with pytest.raises(IllTyped) as caught:
        rl.zip(xs, ys)

    assert str(caught.value) == f"{caught.value.place}: {caught.value.message}"
    assert "\n" not in str(caught.value)


def test_parameter_without_a_type_is_refused() -> None:
    """A program's parameters need types."""
    with pytest.raises(IllTyped, match=r"f: parameter x needs a type such as rl\.f32\[n\]"):

        @programs.program
        def f(x):  # type: ignore[no-untyped-def]
            return x
