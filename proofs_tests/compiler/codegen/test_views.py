"""Views are the interpreter's layouts: on an array of its own indices, each cell holds its offset."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relift.semantics.domains import Exact
from relift.semantics.errors import Unsupported
from relift.semantics.indices import expressions as ix
from relift.semantics.indices.atoms import linear_in
from relift.semantics.indices.copies import same_cells
from relift.semantics.indices.expressions import variable
from relift.semantics.indices.inverses import invert_layout, invertible_data
from relift.semantics.indices.stored import inputs, memories, stored
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    CodeValue,
    Environment,
    Guarded,
    TupleView,
    VectorView,
    View,
    is_layout,
    view,
)
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language import vocabulary as rl
from relift.semantics.patterns import Generate
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input, Literal, Term
from relift.semantics.syntax.types import Array, Tuple, Type, Vector, i32

N = 24
XS = Input("xs", i32[N])


def length(t: Type) -> int:
    assert isinstance(t, Array)
    assert t.length.constant is not None
    return t.length.constant


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


@st.composite
def layouts(draw: st.DrawFn, invertible: bool = False) -> Term:
    """A layout of xs: some patterns, one after the other."""
    t: Term = XS
    for _ in range(draw(st.integers(0, 5))):
        t = draw(layout_of(t, invertible=invertible))
    return t


def layout_of(t: Term, *, invertible: bool) -> st.SearchStrategy[Term]:
    """One more layout pattern that fits the type of t."""
    n = length(t.type)
    assert isinstance(t.type, Array)
    element = t.type.element
    found = [st.sampled_from(divisors(n)).map(lambda d: rl.split(d, t))]
    found += [
        st.sampled_from([d for d in (2, 3, 4) if n % d == 0]).map(lambda d: rl.as_vector(d, t))
    ] * any(n % d == 0 and "vec" not in str(element) for d in (2, 3, 4))
    if isinstance(element, Vector):
        found.append(st.just(rl.as_scalar(t)))
    if isinstance(element, Array):
        found += [st.just(rl.join(t)), st.just(rl.transpose(t))]
        inner = [d for d in divisors(length(element)) if d < 9]
        found.append(st.sampled_from(inner).map(lambda d: rl.map(lambda row: rl.split(d, row), t)))
        if isinstance(element.element, Array):
            found.append(st.just(rl.map(rl.transpose, t)))
            found.append(st.just(rl.map(rl.join, t)))
    if not invertible:
        short = min(n, 3)
        found += [
            st.integers(0, short).map(lambda d: rl.drop(min(d, n - 1), t)),
            st.integers(1, n).map(lambda d: rl.take(d, t)),
            st.tuples(st.integers(0, 2), st.integers(0, 2)).map(
                lambda ends: rl.pad(ends[0], ends[1], rl.clamp, t)
            ),
            st.tuples(st.integers(0, 9), st.integers(0, 9)).map(
                lambda ends: rl.pad(ends[0], ends[1], rl.mirror, t)
            ),
            st.tuples(st.integers(0, 9), st.integers(0, 9)).map(
                lambda ends: rl.pad(ends[0], ends[1], rl.wrap, t)
            ),
            st.sampled_from(
                [(d, s) for d in range(1, short + 1) for s in (1, 2, 3) if (n - d) % s == 0]
            ).map(lambda window: rl.slide(window[0], window[1], t)),
            st.integers(1, short).map(lambda d: rl.concat(t, rl.take(d, t))),
            st.integers(1, 3).map(lambda d: rl.repeat(d, t)),
            st.just(rl.map(lambda p: p[1], rl.zip(t, rl.take(n, t)))),
        ]
        if element == i32:
            found.append(
                st.tuples(st.integers(0, 2), st.integers(0, 2)).map(
                    lambda ends: rl.pad(ends[0], ends[1], -7, t)
                )
            )
    return st.one_of(found)


def shown(v: View, values: dict[str, int], depth: int = 0) -> Any:
    """What a view shows of an array that holds its own indices, through symbolic indices."""
    match v:
        case Cell(_, offset):
            return ix.evaluate(offset, values)
        case CodeValue(code):
            return int(str(code))
        case Guarded(condition, inside, outside):
            holds = 0 <= ix.evaluate(condition.index, values) < ix.evaluate(condition.extent, {})
            return shown(inside if holds else outside, values, depth)
        case TupleView(parts):
            return tuple(shown(part, values, depth) for part in parts)
        case ArrayView(n, at) | VectorView(n, at):
            count = n.constant
            assert count is not None
            name = f"i{depth}"
            element = at(variable(name, n))
            return [shown(element, {**values, name: k}, depth + 1) for k in range(count)]


def literals(t: Term, environment: Environment) -> View:
    """Constants stand for themselves."""
    assert isinstance(t, Literal)
    return CodeValue(str(t.value), i32)


@given(layouts())
def test_a_view_shows_what_the_interpreter_computes(t: Term) -> None:
    """Reading, for every layout pattern and every composition of them."""
    assert is_layout(t)
    meaning = evaluate(t, World(inputs={"xs": list(range(N))}, domain=Exact()))
    assert shown(view(t, inputs(XS), literals), {}) == meaning


@given(layouts(invertible=True))
def test_writing_through_a_layout_inverts_it(t: Term) -> None:
    """What is written below a layout is found above it."""
    target: View = stored("out", t.type)
    data: Term = t
    while data != XS:
        inverted = invert_layout(data, target)
        assert inverted is not None
        assert invertible_data(data) == inverted[0]
        data, target = inverted
    places = shown(target, {})  # where each element of xs is written in the row `out`
    written: list[int] = [0] * N
    for value, place in enumerate(places):
        written[place] = value
    meaning = evaluate(t, World(inputs={"xs": list(range(N))}, domain=Exact()))
    assert written == flat(meaning)


def flat(value: Any) -> list[int]:
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


def test_the_stride_of_an_access() -> None:
    """A cost model reads it off the view: the columns of a matrix are read row by row."""
    xss = Input("xss", i32[6, 5])
    columns = view(rl.transpose(xss), inputs(xss))
    assert isinstance(columns, ArrayView)
    i, j = variable("i", 5), variable("j", 6)
    column = columns.at(i)
    assert isinstance(column, ArrayView)
    place = column.at(j)
    assert isinstance(place, Cell)
    assert linear_in(place.offset, j) == (Size.of(5), i)
    assert linear_in(place.offset, i) == (Size.of(1), 5 * j)


def test_what_computes_has_no_view() -> None:
    """Unless a producer says where its result lies."""
    t = rl.map(lambda x: x + 1, XS)
    with pytest.raises(Unsupported, match="map computes, where only a layout has a view"):
        view(t, inputs(XS))
    assert isinstance(view(t, inputs(XS), lambda u, env: stored("t", u.type)), ArrayView)


def test_arrays_of_tuples_have_a_memory_for_each_component() -> None:
    """In the order of the type, also where arrays stand between tuples."""
    t = Tuple((i32, Tuple((i32[3], i32))[2]))[4]
    found = [(m.name, m.cells.constant) for m in memories("x", t)]
    assert found == [("x_0", 4), ("x_1_0", 24), ("x_1_1", 8)]
    v = stored("x", t)
    assert isinstance(v, ArrayView)
    for i, j in itertools.product(range(4), range(2)):
        whole = v.at(Size.of(i))
        assert isinstance(whole, TupleView)
        pairs = whole.parts[1]
        assert isinstance(pairs, ArrayView)
        pair = pairs.at(Size.of(j))
        assert isinstance(pair, TupleView)
        assert shown(pair.parts[0], {}) == [(i * 2 + j) * 3 + k for k in range(3)]


def test_cells_are_the_same_in_the_same_order_only() -> None:
    """A square array and its transpose have the same cells, at the diagonal even in the same places."""
    xss = stored("xss", i32[4, 4])
    source = Input("xss", i32[4, 4])
    turned = view(rl.transpose(source), inputs(source))
    assert same_cells(xss, stored("xss", i32[4, 4]))
    assert not same_cells(xss, turned)
    assert not same_cells(xss, stored("yss", i32[4, 4]))


def looked_up(index: Callable[[Any], Any], i: Any) -> View:
    """What shows a cell of xs at a number that is computed of an index."""
    t = rl.generate(8, lambda i: rl.at_runtime_unsafe(index(i), XS))
    assert isinstance(t, Generate)
    return view(t.f.body, inputs(XS).bind(t.f, CodeValue(None, i32, index=i)))


@pytest.mark.parametrize(
    ("index", "offset"),
    [
        (lambda i: i + 1, lambda i: i + 1),
        (lambda i: N - 1 - i, lambda i: N - 1 - i),
        (lambda i: rl.maximum(2 * i - 3, 0), lambda i: ix.maximum(2 * i - 3, Size.of(0))),
        (lambda i: i % 5, lambda i: ix.modulo(i, 5)),
    ],
    ids=["sum", "difference", "clamped", "remainder"],
)
def test_what_is_looked_up_at_a_number_that_is_computed_of_indices_lies_there(
    index: Callable[[Any], Any], offset: Callable[[Any], Any]
) -> None:
    """It is no number in a register: who reads neighbours reads vectors."""
    i = variable("i", 8)
    (memory,) = memories("xs", XS.type)
    assert looked_up(index, i) == Cell(memory, offset(i))


@pytest.mark.parametrize(
    "index",
    [lambda i: i - 1, lambda i: i * 2**29, lambda i: (i - 1) // 2],
    ids=["negative", "large", "quotient"],
)
def test_a_number_that_may_be_negative_or_wrap_around_is_no_index(
    index: Callable[[Any], Any],
) -> None:
    with pytest.raises(Unsupported):
        looked_up(index, variable("i", 8))
