"""Every pattern against a NumPy formulation of it, and its way through printer, parser and instantiation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from relift.semantics.domains import Exact
from relift.semantics.indices.functions import reorder_stride, reverse, shift
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language import vocabulary as rl
from relift.semantics.notation.parser import parse_term
from relift.semantics.notation.printer import show
from relift.semantics.numpy_values import from_numpy, to_numpy
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.binding import alpha_equal, canonical, substitute
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import Input, Pattern, Term, subterms
from relift.semantics.syntax.types import Type, i32
from relift.testing import values

V, M = i32[6], i32[4, 6]
Build = Callable[..., Term]

CASES: list[tuple[str, tuple[Type, ...], Build, Callable[..., Any]]] = [
    ("map", (V,), lambda x: rl.map(lambda a: a * a + 1, x), lambda x: x * x + 1),
    ("map", (M,), lambda x: rl.map(rl.reduce(rl.add, 0), x), lambda x: x.sum(axis=1)),
    ("zip", (V, V), lambda x, y: rl.map(lambda p: p[0] - p[1], rl.zip(x, y)), np.subtract),
    (
        "zip",
        (V, V, V),
        lambda x, y, z: rl.map(lambda p: p[0] * p[1] + p[2], rl.zip(x, y, z)),
        lambda x, y, z: x * y + z,
    ),
    ("reduce", (V,), lambda x: rl.reduce(rl.add, 5, x), lambda x: 5 + x.sum()),
    (
        "reduce_seq",
        (V,),
        lambda x: rl.reduce_seq(lambda acc, a: acc * 2 + a, 1, x),
        lambda x: np.polyval(np.concatenate([[1], x]), 2),
    ),
    ("split", (V,), lambda x: rl.split(2, x), lambda x: x.reshape(3, 2)),
    ("join", (M,), rl.join, np.ravel),
    ("transpose", (M,), rl.transpose, np.transpose),
    ("slide", (V,), lambda x: rl.slide(3, 1, x), lambda x: sliding_window_view(x, 3)),
    ("slide", (V,), lambda x: rl.slide(2, 2, x), lambda x: sliding_window_view(x, 2)[::2]),
    (
        "pad_clamp",
        (V,),
        lambda x: rl.pad(2, 1, rl.clamp, x),
        lambda x: np.pad(x, (2, 1), mode="edge"),
    ),
    (
        "pad_constant",
        (V,),
        lambda x: rl.pad(1, 2, 9, x),
        lambda x: np.pad(x, (1, 2), constant_values=9),
    ),
    ("take", (V,), lambda x: rl.take(4, x), lambda x: x[:4]),
    ("drop", (V,), lambda x: rl.drop(4, x), lambda x: x[4:]),
    ("at", (M,), lambda x: x[2], lambda x: x[2]),
    ("repeat", (V,), lambda x: rl.repeat(3, x), lambda x: np.tile(x, (3, 1))),
    ("map_seq", (V,), lambda x: rl.map_seq(lambda a: -a, x), np.negative),
    ("map_glb", (V,), lambda x: rl.map_glb(0)(lambda a: -a, x), np.negative),
    ("map_lcl", (M,), lambda x: rl.map_wrg(0)(rl.map_lcl(0)(lambda a: a + a), x), lambda x: 2 * x),
    ("map_wrg", (M,), lambda x: rl.map_wrg(1)(lambda r: r[0], x), lambda x: x[:, 0]),
    ("to_global", (V,), rl.to_global, lambda x: x),
    ("to_local", (V,), rl.to_local, lambda x: x),
    ("to_private", (V,), rl.to_private, lambda x: x),
    (
        "map_vec",
        (V,),
        lambda x: rl.as_scalar(rl.map(lambda v: rl.map_vec(lambda a: 3 * a, v), rl.as_vector(2, x))),
        lambda x: 3 * x,
    ),
    (
        "as_vector",
        (V,),
        lambda x: rl.as_scalar(
            rl.repeat(1, rl.reduce(rl.vectorize(3, rl.add), rl.splat(3, 0), rl.as_vector(3, x)))
        ),
        lambda x: x.reshape(2, 3).sum(axis=0),
    ),
    ("unzip", (V, V), lambda x, y: rl.unzip(rl.zip(x, y))[1], lambda x, y: y),
    (
        "partial_reduce",
        (V,),
        lambda x: rl.partial_reduce(rl.add, 1, 3, x),
        lambda x: x.reshape(2, 3).sum(axis=1) + 1,
    ),
    (
        "iterate_sizes",
        (V,),
        lambda x: rl.iterate_sizes(1, 3, rl.partial_reduce(rl.add, 0, 3), x),
        lambda x: x.reshape(2, 3).sum(axis=1),
    ),
    (
        "iterate_sizes",
        (M,),
        lambda x: rl.iterate_sizes(2, 2, lambda l, y: rl.drop(l, y), x),
        lambda x: x[3:],
    ),
    ("iterate", (V,), lambda x: rl.iterate(3, rl.map(lambda a: a * 2), x), lambda x: 8 * x),
    ("let", (V,), lambda x: rl.let(lambda y: y[0] + y[1], x), lambda x: x[0] + x[1]),
    ("generate", (), lambda: rl.generate(5, lambda i: i * i), lambda: np.arange(5) ** 2),
    ("literal_array", (), lambda: rl.literal_array([3, 1, 2]), lambda: np.array([3, 1, 2])),
    (
        "scan_seq",
        (V,),
        lambda x: rl.scan_seq(lambda acc, a: acc + a, 0, x),
        np.cumsum,
    ),
    (
        "reduce_while",
        (V,),
        lambda x: rl.reduce_while(lambda s, a: s + a, lambda s, a: a > 0, 0, x)[1],
        lambda x: x[: np.argmin(np.append(x > 0, False))].sum(),
    ),
    (
        "filter_seq",
        (V,),
        lambda x: rl.filter_seq(lambda a: a > 0, 0, x)[1],
        lambda x: np.pad(x[x > 0], (0, int((x <= 0).sum()))),
    ),
    (
        "insertion_sort_seq",
        (V,),
        lambda x: rl.insertion_sort_seq(lambda a, b: a > b, x),
        lambda x: -np.sort(-x, kind="stable"),
    ),
    (
        "linear_search",
        (V,),
        lambda x: rl.linear_search(lambda a: a - 1, 7, x),
        lambda x: 1 if 1 in x else 7,
    ),
    (
        "binary_search",
        (V,),
        lambda x: rl.binary_search(
            lambda a: 1 - a, 7, rl.insertion_sort_seq(lambda a, b: a < b, x)
        ),
        lambda x: 1 if 1 in x else 7,
    ),
    (
        "at_runtime",
        (V, M),
        lambda x, y: rl.map(lambda i: rl.at_runtime(i, 9, y[0]), x),
        lambda x, y: np.where((x >= 0) & (x < 6), y[0][np.clip(x, 0, 5)], 9),
    ),
    (
        "at_runtime_unsafe",
        (V, M),
        lambda x, y: rl.map(lambda i: rl.at_runtime_unsafe(i % 4, y), x),
        lambda x, y: y[x % 4],
    ),
    (
        "gather_indices",
        (V, M),
        lambda x, y: rl.gather_indices(rl.map(lambda i: i % 4, x), y),
        lambda x, y: y[x % 4],
    ),
    (
        "scatter_indices",
        (V, M),
        lambda x, y: rl.scatter_indices(rl.literal_array([3, 1]), rl.take(2, x), rl.map(rl.head, y)),
        lambda x, y: np.array([y[0, 0], x[1], y[2, 0], x[0]]),
    ),
    (
        "reduce_by_index",
        (V, M),
        lambda x, y: rl.reduce_by_index(
            rl.add, rl.map(rl.head, y), rl.zip(rl.literal_array([3, 1, 3, -1, 4, 9]), x)
        ),
        lambda x, y: np.array([y[0, 0], y[1, 0] + x[1], y[2, 0], y[3, 0] + x[0] + x[2]]),
    ),
    ("head", (M,), rl.head, lambda x: x[0]),
    ("tail", (M,), rl.tail, lambda x: x[1:]),
    ("concat", (V, V), rl.concat, lambda x, y: np.concatenate([x, y])),
    ("gather", (V,), lambda x: rl.gather(reverse, x), np.flip),
    ("gather", (V,), lambda x: rl.gather(shift(2), x), lambda x: np.roll(x, -2)),
    (
        "gather",
        (V,),
        lambda x: rl.gather(reorder_stride(2), x),
        lambda x: x.reshape(3, 2).T.ravel(),
    ),
    ("scatter", (V,), lambda x: rl.scatter(shift(2), x), lambda x: np.roll(x, 2)),
    (
        "scatter",
        (V,),
        lambda x: rl.scatter(reorder_stride(2), x),
        lambda x: x.reshape(2, 3).T.ravel(),
    ),
    (
        "pad_mirror",
        (V,),
        lambda x: rl.pad(7, 8, rl.mirror, x),
        lambda x: np.pad(x, (7, 8), mode="symmetric"),
    ),
    (
        "pad_empty",
        (V,),
        lambda x: rl.pad_empty(1, 2, x),
        lambda x: np.pad(x, (1, 2)),  # a whole number that is left open comes out as 0
    ),
    (
        "pad_wrap",
        (V,),
        lambda x: rl.pad(7, 8, rl.wrap, x),
        lambda x: np.pad(x, (7, 8), mode="wrap"),
    ),
    ("map_seq_unroll", (V,), lambda x: rl.map_seq_unroll(lambda a: -a, x), np.negative),
    ("map_warp", (V,), lambda x: rl.map_warp(0)(rl.map_lane(0)(lambda a: -a), rl.split(2, x)), lambda x: -x.reshape(3, 2)),
    ("map_stream", (V,), lambda x: rl.map_stream(lambda a: -a, x), np.negative),
    ("iterate_stream", (V,), lambda x: rl.iterate_stream(lambda a: -a, x), np.negative),
    (
        "reduce_seq_unroll",
        (V,),
        lambda x: rl.reduce_seq_unroll(lambda acc, a: acc * 2 + a, 1, x),
        lambda x: np.polyval(np.concatenate([[1], x]), 2),
    ),
    (
        "reduce_seq_ahead",
        (V,),
        lambda x: rl.reduce_seq_ahead(lambda acc, a: acc * 2 + a, 1, x),
        lambda x: np.polyval(np.concatenate([[1], x]), 2),
    ),
    (
        "map_seq_slide",
        (V,),
        lambda x: rl.map_seq_slide(3, 1, rl.reduce(rl.add, 0), x),
        lambda x: np.convolve(x, [1, 1, 1], "valid"),
    ),
    (
        "circular_buffer",
        (V,),
        lambda x: rl.circular_buffer(3, lambda a: 2 * a, x),
        lambda x: sliding_window_view(2 * x, 3),
    ),
    (
        "rotate_values",
        (V,),
        lambda x: rl.rotate_values(3, x),
        lambda x: sliding_window_view(x, 3),
    ),
    (
        "as_vector_aligned",
        (V,),
        lambda x: rl.as_scalar(rl.as_vector_aligned(2, x)),
        lambda x: x,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("inputs", "build", "reference"),
    [case[1:] for case in CASES],
    ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)],
)
@settings(max_examples=10)
@given(data=st.data())
def test_pattern_means_what_numpy_computes(
    inputs: tuple[Type, ...], build: Build, reference: Callable[..., Any], data: st.DataObject
) -> None:
    """On whole numbers, a pattern and its NumPy formulation give the same array."""
    arrays = [np.array(data.draw(values(t, {})), dtype=np.int32) for t in inputs]
    parameters = [Input(f"x{i}", t) for i, t in enumerate(inputs)]
    term = build(*parameters)
    world = World(
        inputs={p.name: from_numpy(a, p.type) for p, a in zip(parameters, arrays, strict=True)}
    )

    np.testing.assert_array_equal(to_numpy(evaluate(term, world), term.type), reference(*arrays))


def term_of(types: tuple[Type, ...], build: Build) -> tuple[Term, dict[str, Any]]:
    """A case on inputs x0, x1, ..., and these by name."""
    parameters = [Input(f"x{i}", t) for i, t in enumerate(types)]
    return build(*parameters), {p.name: p for p in parameters}


def test_every_pattern_is_compared() -> None:
    """No pattern of the language lacks a case above."""
    found = {case[0] for case in CASES}
    for _, types, build, _ in CASES:
        term, _ = term_of(types, build)
        found |= {t.name for t, _ in subterms(term) if isinstance(t, Pattern)}

    assert found == PATTERNS.keys()


each_case = pytest.mark.parametrize(
    ("types", "build"),
    [case[1:3] for case in CASES],
    ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)],
)


@each_case
@pytest.mark.parametrize("width", [20, 100])
def test_pattern_reads_back(types: tuple[Type, ...], build: Build, width: int) -> None:
    """The nested text of a case denotes the same term, on one line and on several."""
    term, names = term_of(types, build)
    again = parse_term(show(term, width=width), names)

    assert alpha_equal(again, term)
    assert again.type == term.type


@each_case
def test_pipeline_names_the_data_first(types: tuple[Type, ...], build: Build) -> None:
    """The other style has the same words, with `>>` between stages."""
    term, _ = term_of(types, build)
    marks = str.maketrans("(),>[]", "      ")

    assert sorted(show(term, "pipeline").translate(marks).split()) == sorted(
        show(term).translate(marks).split()
    )


@each_case
def test_pattern_is_rebuilt_and_substituted(types: tuple[Type, ...], build: Build) -> None:
    """Rebuilding a term through its constructors, and substituting what does not occur, changes nothing."""
    term, _ = term_of(types, build)

    assert alpha_equal(Substitution().term(term), term)
    assert canonical(canonical(term)) == canonical(term)
    assert substitute(term, {"absent": Input("y", i32)}) == term


@each_case
def test_exact_numbers_give_what_numpy_scalars_give(types: tuple[Type, ...], build: Build) -> None:
    """On whole numbers the exact domain and that of NumPy agree."""
    term, _ = term_of(types, build)
    rng = np.random.default_rng(0)
    shapes = [(6,) if t == V else (4, 6) for t in types]
    arrays = [rng.integers(-4, 8, shape) for shape in shapes]
    exact = World(
        inputs={f"x{i}": array.tolist() for i, array in enumerate(arrays)}, domain=Exact()
    )
    scalars = World(
        inputs={
            f"x{i}": from_numpy(a, t) for i, (a, t) in enumerate(zip(arrays, types, strict=True))
        }
    )

    assert evaluate(term, exact) == evaluate(term, scalars)
