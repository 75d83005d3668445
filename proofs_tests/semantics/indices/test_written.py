"""Index functions and rows of numbers: their text, their values, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relift.semantics.errors import IllTyped, Undefined
from relift.semantics.indices import expressions as indices
from relift.semantics.indices.functions import (
    IndexExpression,
    IndexFunction,
    SizeIndex,
    TheIndex,
    index_function,
    reorder_stride,
    reverse,
    shift,
)
from relift.semantics.indices.reader import read_literal_parameter
from relift.semantics.indices.rows import Numbers, numbers
from relift.semantics.language import vocabulary as rl
from relift.semantics.notation.printer import show
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import boolean, f32, f64, i32

n = nat("n")
xs = Input("xs", f32[n])
positive = st.integers(1, 5).map(Size.of)


@st.composite
def index_functions(draw: st.DrawFn) -> IndexFunction:
    """Index functions over the index, small constants and the size n."""

    def extend(inner: st.SearchStrategy[IndexExpression]) -> st.SearchStrategy[IndexExpression]:
        return st.one_of(
            st.builds(lambda x, y: x + y, inner, inner),
            st.builds(lambda x, y: x - y, inner, inner),
            st.builds(lambda x, c: x * c, inner, positive),
            st.builds(lambda x, c: x // c, inner, positive),
            st.builds(lambda x, c: x % c, inner, st.one_of(positive, st.just(n))),
        )

    leaves = st.one_of(st.just(TheIndex()), st.just(SizeIndex(n)), st.builds(SizeIndex, positive))
    return IndexFunction(draw(st.recursive(leaves, extend, max_leaves=6)))


@given(index_functions())
def test_index_functions_read_back(f: IndexFunction) -> None:
    """The text of an index function denotes it."""
    assert read_literal_parameter(str(f)).sizes == f.sizes
    assert str(read_literal_parameter(str(f))) == str(f)


@given(index_functions(), st.integers(1, 9), st.data())
def test_symbolic_values_are_the_values(f: IndexFunction, length: int, data: st.DataObject) -> None:
    """What views compute of an index function, simplified, is what the interpreter computes."""
    i = data.draw(st.integers(0, length - 1))
    concrete = f.substitute({"n": Size.of(length)})
    symbolic = concrete.of(indices.variable("i", length))

    assert indices.substitute(symbolic, indices.variable("i", length), Size.of(i)) == f.at(
        i, {"n": length}
    )


@given(index_functions(), st.integers(1, 9))
def test_a_whole_array_of_indices_at_once(f: IndexFunction, length: int) -> None:
    """On a NumPy array of indices the value is that of each."""
    every = np.arange(length)

    assert (np.zeros(length, int) + f.at(every, {"n": length})).tolist() == [
        f.at(i, {"n": length}) for i in range(length)
    ]


@pytest.mark.parametrize(
    "make",
    [reverse, reorder_stride(3), shift(1), shift(5)],
    ids=["reverse", "stride", "one", "five"],
)
@given(st.integers(1, 5))
def test_named_index_functions_are_permutations(make: Callable[..., Any], k: int) -> None:
    """At every length that they accept."""
    f = index_function(make, Size.of(3 * k))

    assert sorted(f.at(i, {}) for i in range(3 * k)) == list(range(3 * k))


def test_index_functions_compose() -> None:
    """An index function may call another one."""
    f = index_function(reverse, n)

    assert str(index_function(lambda i: f(f(i)), n)) == "lambda i: n - 1 - (n - 1 - i)"
    assert show(rl.gather(f, xs)) == "gather(lambda i: n - 1 - i, xs)"


def test_the_index_is_named_apart_from_sizes() -> None:
    """A size called i is not the index."""
    assert str(index_function(lambda index: index + nat("i"), n)) == "lambda j: j + i"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3, "a function on indices is needed"),
        (lambda i: i / 2, "an index function has"),
        (lambda i: 2 // i, "an index function has"),
        (lambda i: n % i, "sizes have no remainder|an index function has"),
        (lambda i: i // (i + 1), r"an index is divided by sizes only, not by i \+ 1"),
        (lambda i: i % 0, "an index is divided by 0"),
        (lambda i: i + xs, "computes with the index and sizes|f32"),
        (lambda i: 1.5 * i, "computes with the index and sizes, not with 1.5"),
        (lambda i: i < 3, "an index function has"),
        (lambda i, j, k: i, "takes the index, or the index and the length, not 3"),
    ],
    ids=range(10),
)
def test_other_functions_are_refused(function: Any, message: str) -> None:
    """What is no index function says what one may use."""
    with pytest.raises(IllTyped, match=message):
        rl.gather(function, xs)


def test_a_size_that_turns_out_to_be_zero_divides_nothing() -> None:
    """Division by a size is checked when its value is known."""
    with pytest.raises(Undefined, match="an index is divided by k, which is 0"):
        index_function(lambda i: i // nat("k", 0), n).at(1, {"k": 0})


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (numbers([1, 2.5]), "(1.0, 2.5), f32"),
        (numbers([1]), "(1,), i32"),
        (numbers([True, False]), "(True, False), boolean"),
        (numbers(np.array([0.5])), "(0.5,), f32"),
        (numbers([-0.0, float("nan"), float("-inf")], f64), "(-0.0, nan, -inf), f64"),
        (numbers([], i32), "(), i32"),
    ],
    ids=str,
)
def test_numbers_read_back(row: Numbers, text: str) -> None:
    """Constants keep their type, signed zeros and NaN."""
    assert str(row) == text
    assert read_literal_parameter(text) == row


def test_unlike_zeros_are_unlike() -> None:
    """Rows are equal when they are written alike."""
    assert numbers([0.0]) != numbers([-0.0])
    assert numbers([float("nan")]) == numbers([float("nan")])
    assert hash(numbers([1])) == hash(numbers([1]))


@pytest.mark.parametrize("values", [["a"], 3, [None], "ab"])
def test_other_rows_are_refused(values: Any) -> None:
    """A row of constants holds numbers."""
    with pytest.raises(IllTyped, match="literal_array takes a row of numbers"):
        rl.literal_array(values)


def test_rows_of_one_type() -> None:
    """A value that is none of the type is refused."""
    with pytest.raises(IllTyped, match=r"0\.5 is not a value of type i32"):
        rl.literal_array([0.5], i32)
    with pytest.raises(IllTyped, match="1 is not a value of type boolean"):
        rl.literal_array([1], boolean)
