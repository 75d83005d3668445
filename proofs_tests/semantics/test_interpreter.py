"""The meaning of every pattern against a NumPy formulation of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relift.semantics.domains import Exact
from relift.semantics.errors import Undefined
from relift.semantics.interpreter import World, evaluate, fits
from relift.semantics.language import programs
from relift.semantics.language import vocabulary as rl
from relift.semantics.numpy_values import from_numpy, to_numpy
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import at_sizes
from relift.semantics.syntax.terms import Input, Term, UserFunction
from relift.semantics.syntax.types import Type, Vector, f32, i32, nat, tup
from relift.testing import INPUTS, terms, values


@settings(max_examples=100)
@given(terms(), st.data())
def test_values_have_the_shape_of_their_type(t: Term, data: st.DataObject) -> None:
    """Typing tells the truth about lengths: the value of a random program fits its type."""
    sizes = {"n": data.draw(st.integers(1, 3)), "m": data.draw(st.integers(1, 3))}
    inputs = {name: data.draw(values(of, sizes)) for name, of in INPUTS.items()}
    world = World(sizes=sizes, inputs=inputs, domain=Exact())

    assert fits(evaluate(t, world), t.type, world.size)


@settings(max_examples=60)
@given(terms(), st.data())
def test_giving_sizes_first_or_last_is_the_same(t: Term, data: st.DataObject) -> None:
    """`at_sizes` retypes a program; its value is that of the symbolic program in a world of these sizes."""
    sizes = {"n": data.draw(st.integers(1, 3)), "m": data.draw(st.integers(1, 3))}
    inputs = {name: data.draw(values(of, sizes)) for name, of in INPUTS.items()}
    concrete = at_sizes(t, {name: Size.of(value) for name, value in sizes.items()})
    symbolic = World(sizes=sizes, inputs=inputs, domain=Exact())

    assert evaluate(concrete, World(inputs=inputs, domain=Exact())) == evaluate(t, symbolic)


def test_a_chunk_of_nothing_is_undefined() -> None:
    """A symbolic chunk size that turns out to be 0 stops the interpreter."""
    k, m = Size.atom("k"), Size.atom("m")
    t = rl.split(m, Input("xs", i32[k * m]))

    with pytest.raises(Undefined, match="split: m must be at least 1, but is 0"):
        evaluate(t, World(sizes={"k": 2, "m": 0}, inputs={"xs": []}))


def typed(function: Callable[[Any], Any], t: Type, c: str | None = None) -> UserFunction:
    """A user function from one value of type t to another."""
    function.__annotations__ = {"x": t, "return": t}
    made = rl.userfun(function, c=c)
    assert isinstance(made, UserFunction)
    return made


def test_traced_user_functions_mean_their_body() -> None:
    """A user function that calls functions of the language is interpreted by its traced body."""

    positive = typed(lambda x: rl.maximum(x, 0.0), f32)
    xs = Input("xs", f32[2])
    world = World(inputs={"xs": [np.float32(-1), np.float32(2)]})

    assert evaluate(rl.map(positive, xs), world) == [0, 2]


def test_opaque_user_functions_mean_their_twin() -> None:
    """A user function in C is interpreted by the Python function beside it."""

    square = typed(lambda x: x * x, i32, c="return x * x;")
    xs = Input("xs", i32[2])

    assert evaluate(rl.map(square, xs), World(inputs={"xs": [3, 4]}, domain=Exact())) == [9, 16]


n, m = nat("n"), nat("m")


@programs.program
def swap(pairs: tup(f32, i32)[n], offset: tup(f32, i32)):  # type: ignore[valid-type,no-untyped-def]
    """The components of each pair, swapped, and one pair that is added."""
    return rl.map(lambda p: (p[1] + offset[1], p[0] + offset[0]), pairs)


def test_tuples_go_in_and_out_as_columns() -> None:
    """An array of tuples is a tuple of NumPy arrays, on both sides of a program."""
    result = swap(
        (np.array([1, 2], np.float32), np.array([3, 4], np.int32)), (np.float32(0.5), np.int32(10))
    )

    assert isinstance(result, tuple)
    np.testing.assert_array_equal(result[0], np.array([13, 14], np.int32))
    np.testing.assert_array_equal(result[1], np.array([1.5, 2.5], np.float32))
    assert [column.dtype for column in result] == [np.int32, np.float32]


@pytest.mark.parametrize("t", [tup(f32, i32)[3, 2], tup(f32[2], i32)[3], tup(f32, i32[2])], ids=str)
@settings(max_examples=10)
@given(data=st.data())
def test_numpy_values_survive_the_way_there_and_back(t: Type, data: st.DataObject) -> None:
    """Nested lists to NumPy and back are the same nested lists."""
    value = data.draw(values(t, {}))

    assert from_numpy(to_numpy(value, t), t) == value


def test_lanes_are_combined_in_order() -> None:
    """An operator that is not commutative takes the lane of the left vector first."""
    first = rl.operator(lambda x, y: x, associative=True, name="first")
    vectors = rl.as_vector(2, Input("xs", i32[4]))
    t = rl.reduce(rl.vectorize(2, first), Input("z", Vector(i32, Size.of(2))), vectors)

    assert evaluate(t, World(inputs={"z": [7, 8], "xs": [1, 2, 3, 4]}, domain=Exact())) == [7, 8]
