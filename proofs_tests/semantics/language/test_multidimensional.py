"""The helpers on nested arrays agree with NumPy, and each that has an inverse is undone by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relift.semantics.errors import IllTyped
from relift.semantics.language import multidimensional as nd
from relift.semantics.language.programs import Program
from relift.semantics.language.vocabulary import clamp, map, zip
from relift.semantics.syntax.terms import Input, Term
from relift.semantics.syntax.types import f32, i32, nat


def run(build: Any, *arrays: Any) -> Any:
    """A function of terms on NumPy arrays of i32, by the interpreter."""
    inputs = tuple(Input(f"x{i}", i32[a.shape]) for i, a in enumerate(arrays))
    body: Term = build(*inputs)
    return Program("built", inputs, body)(*arrays)


def arrays(axes: int) -> st.SearchStrategy[Any]:
    """Arrays of that many axes, with all elements different."""
    shapes = st.tuples(*[st.integers(1, 4)] * axes)
    return shapes.map(lambda shape: np.arange(np.prod(shape), dtype=np.int32).reshape(shape))


@given(data=st.data(), axes=st.integers(1, 3))
def test_slide_nd_is_numpys_sliding_window_view(data: st.DataObject, axes: int) -> None:
    """Windows of all extents, with steps."""
    counts, sizes, steps = (data.draw(st.tuples(*[st.integers(1, 3)] * axes)) for _ in range(3))
    shape = [size + (n - 1) * step for n, size, step in zip_(counts, sizes, steps)]
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    windows = np.lib.stride_tricks.sliding_window_view(x, sizes)
    expected = windows[tuple(slice(None, None, step) for step in steps)]

    assert np.array_equal(run(lambda t: nd.slide_nd(sizes, steps, t), x), expected)


def zip_(*columns: Any) -> Any:
    """Python's zip; this module imports Relift's."""
    return [tuple(c[i] for c in columns) for i in range(len(columns[0]))]


@given(data=st.data(), x=st.integers(1, 3).flatmap(arrays), value=st.sampled_from([clamp, 0, -7]))
def test_pad_nd_is_numpys_pad(data: st.DataObject, x: Any, value: Any) -> None:
    """By the border and by a constant, on all axes or the outermost few."""
    axes = data.draw(st.integers(1, x.ndim))
    left, right = (data.draw(st.tuples(*[st.integers(0, 2)] * axes)) for _ in range(2))
    widths = [*zip_(left, right), *[(0, 0)] * (x.ndim - axes)]
    mode: Any = "edge" if value is clamp else "constant"
    options: Any = {} if value is clamp else {"constant_values": value}

    padded = run(lambda t: nd.pad_nd(left, right, value, t), x)

    assert np.array_equal(padded, np.pad(x, widths, mode=mode, **options))


@given(data=st.data(), x=st.integers(1, 4).flatmap(arrays))
@settings(max_examples=60)
def test_transpose_axes_is_numpys_swapaxes(data: st.DataObject, x: Any) -> None:
    """Any two axes; twice is not at all."""
    i, j = (data.draw(st.integers(0, x.ndim - 1)) for _ in range(2))

    assert np.array_equal(run(lambda t: nd.transpose_axes(i, j, t), x), np.swapaxes(x, i, j))
    twice = run(lambda t: nd.transpose_axes(j, i, nd.transpose_axes(i, j, t)), x)
    assert np.array_equal(twice, x)


@given(data=st.data(), axes=st.integers(1, 3))
def test_untile_undoes_tile(data: st.DataObject, axes: int) -> None:
    """And a block is the rectangle at its place."""
    counts, sizes = (data.draw(st.tuples(*[st.integers(1, 3)] * axes)) for _ in range(2))
    shape = [n * size for n, size in zip_(counts, sizes)]
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)

    blocks = run(lambda t: nd.tile(sizes, t), x)

    place = tuple(data.draw(st.integers(0, n - 1)) for n in counts)
    inside = tuple(slice(i * s, (i + 1) * s) for i, s in zip_(place, sizes))
    assert np.array_equal(blocks[place], x[inside])
    assert np.array_equal(run(lambda t: nd.untile(axes, nd.tile(sizes, t)), x), x)


@given(x=st.integers(1, 3).flatmap(arrays))
def test_map_nd_and_zip_nd_reach_every_element(x: Any) -> None:
    """A sum of two arrays of any number of axes."""

    def added(s: Term, t: Term) -> Any:
        return nd.map_nd(x.ndim, lambda p: p[0] + p[1] * 2, nd.zip_nd(x.ndim, s, t))

    assert np.array_equal(run(added, x, x[::-1].copy()), x + 2 * x[::-1])


def test_the_helpers_are_compositions() -> None:
    """They trace to what can be written with the patterns themselves, at symbolic sizes, too."""
    n, m = nat("n"), nat("m")
    xs, ys = Input("xs", f32[n, m]), Input("ys", f32[n, m])

    assert nd.zip_nd(2, xs, ys) == map(lambda rows: zip(*rows), zip(xs, ys))
    assert str(nd.slide_nd((3, 3), (1, 1), nd.pad_nd((1, 1), (1, 1), clamp, xs)).type) == (
        "f32[n, m, 3, 3]"
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: nd.map_nd(3, lambda e: e, x), r"map_nd: f32\[4, 6\] has 2 axes, 3 are needed"),
        (lambda x: nd.map_nd(0, lambda e: e, x), "map_nd: at least one axis is needed"),
        (lambda x: nd.slide_nd((3, 3), (1,), x), "slide_nd: sizes gives 2 axes, steps gives 1"),
        (lambda x: nd.pad_nd((1,), (1, 1), 0, x), "pad_nd: left gives 1 axes, right gives 2"),
        (lambda x: nd.transpose_axes(-1, 1, x), "axes count from 0, so there is no axis -1"),
        (lambda x: nd.tile((2, 4), x), "split.*4"),
        (lambda x: nd.untile(2, x), "untile: .* has 2 axes, 4 are needed"),
    ],
)
def test_what_does_not_fit_is_refused(build: Any, message: str) -> None:
    """At the user's line."""
    with pytest.raises(IllTyped, match=message) as caught:
        build(Input("x", f32[4, 6]))
    assert "test_multidimensional.py" in str(caught.value)
