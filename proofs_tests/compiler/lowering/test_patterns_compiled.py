"""Each pattern in a kernel that agrees with the interpreter, or refused by name; none silently dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import relift as rl
from proofs_tests.compiler.programs import CASES as LOW_LEVEL
from proofs_tests.compiler.programs import typed
from proofs_tests.semantics.patterns.test_patterns import CASES as ROWS
from relift.compiler import compile_program
from relift.semantics.indices.views import is_layout
from relift.semantics.language.programs import Program
from relift.semantics.language.tracing import build
from relift.semantics.patterns import PATTERNS
from relift.semantics.patterns.letters import a
from relift.semantics.syntax.signatures import Signature
from relift.semantics.syntax.terms import Input, Pattern, Term, subterms
from relift.semantics.syntax.types import dimensions, f32

Body = Callable[[Any], Any]
NOT_COMPILED = {name for name, p in PATTERNS.items() if not p.compiled} - {"reduce"}
XS = Input("xs", f32[12])


@dataclass(frozen=True)
class Elsewhere(Pattern):
    """A pattern that says of itself what nothing else knows."""

    xs: Term
    name: ClassVar = "elsewhere"
    compiled: ClassVar = True
    signature: ClassVar = Signature({"xs": a}, a)


def inc(v: Any) -> Any:
    return v + 1.0


def total(xs: Any) -> Any:
    return rl.reduce_seq(lambda acc, v: acc + v, 0.0, xs)


def weighted(fold: Any) -> Body:
    """A weighted sum of every three neighbours, with the given reduction."""
    return lambda xs: rl.map_glb(0)(
        lambda w: fold(
            lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(w, rl.literal_array([0.25, 0.5, 0.25]))
        ),
        rl.slide(3, 1, xs),
    )


def counted(c: Any) -> Any:
    """How many of a group's numbers are of each kind, and one more."""
    first = rl.to_local(rl.map_lcl(0)(lambda i: 1, rl.generate(3, lambda i: i)))
    kinds = rl.map_lcl(0)(lambda v: (rl.i32(4.0 * v), 2), c)
    return rl.map_lcl(0)(lambda v: rl.f32(v), rl.reduce_by_index(rl.add, first, kinds))


def each(layout: Body) -> Body:
    """A layout, read by one work-item an element."""
    return lambda xs: rl.map_glb(0)(inc, layout(xs))


def folded_pairs(c: Any) -> Any:
    """A fold over an array of pairs, in registers."""
    start = rl.to_private(rl.map_seq(lambda v: (v, v + 1.0), c))
    step = lambda acc, v: rl.map_seq(lambda p: (p[0] + v, p[1] * v), acc)
    return rl.reduce_seq(step, start, c)


def summed_beside(c: Any) -> Any:
    """A fold whose state is an array beside a number."""
    start = rl.to_private((rl.map_seq(lambda v: v + 1.0, c), 0.0))
    step = lambda acc, v: (rl.map_seq(lambda p: p + v, acc[0]), acc[1] + v)
    return rl.reduce_seq(step, start, c)


COMPILED: dict[str, Body] = {
    "one array of two that a fold computes": lambda xs: rl.join(
        rl.map_glb(0)(lambda c: rl.unzip(folded_pairs(c))[0], rl.split(6, xs))
    ),
    "the array beside a number": lambda xs: rl.join(
        rl.map_glb(0)(lambda c: summed_beside(c)[0], rl.split(6, xs))
    ),
    "linear_search": lambda xs: rl.linear_search(lambda v: rl.select(v > 0.5, 0, 1), 0.25, xs),
    "linear_search of none": lambda xs: rl.linear_search(lambda v: 1, 0.25, xs),
    "linear_search of rows": lambda xs: rl.linear_search(
        lambda r: rl.select(r[0] > 0.5, 0, 1), rl.repeat(3, 0.0), rl.split(3, xs)
    ),
    "binary_search": lambda xs: rl.map_glb(0)(
        lambda v: rl.binary_search(lambda i: 7 - i, -1, rl.generate(12, lambda i: i)), xs
    ),
    "reduce_while": lambda xs: rl.reduce_while(lambda s, x: s + x, lambda s, x: s + x < 3.0, 0.0, xs)[1],
    "filter_seq": each(lambda xs: rl.to_global(rl.filter_seq(lambda v: v > 0.5, 0.25, xs))[1]),
    "insertion_sort_seq": lambda xs: rl.join(
        rl.map_glb(0)(lambda c: rl.insertion_sort_seq(lambda x, y: x < y, c), rl.split(6, xs))
    ),
    "insertion_sort_seq of rows": lambda xs: rl.insertion_sort_seq(
        lambda x, y: x[1] < y[1], rl.split(3, xs)
    ),
    "scatter_indices": lambda xs: rl.scatter_indices(
        rl.literal_array([5, 0]), rl.take(2, xs), rl.map_seq(inc, xs)
    ),
    "reduce_by_index": lambda xs: rl.join(rl.map_wrg(0)(counted, rl.split(6, xs))),
    "a fold in the array of its result": lambda xs: rl.reduce_seq(
        lambda acc, i: rl.scatter_indices(
            rl.make_array(i // 3), rl.make_array(rl.at_runtime_unsafe(i // 3, acc) + 1.0), acc
        ),
        rl.map_seq(inc, xs),
        rl.generate(12, lambda i: i),
    ),
    "folds in the arrays of their results": lambda xs: rl.map_glb(0)(
        lambda row: rl.reduce_seq(
            lambda acc, x: rl.map_seq(lambda a: a * x, acc), rl.map_seq(inc, row), row
        ),
        rl.split(4, xs),
    ),
    "concat, read": each(lambda xs: rl.concat(xs, rl.take(3, xs))),
    "concat, written": lambda xs: rl.concat(rl.map_glb(0)(inc, xs), rl.map_glb(0)(inc, rl.tail(xs))),
    "head": lambda xs: rl.map_glb(0)(lambda v: v + rl.head(xs), xs),
    "tail": each(rl.tail),
    "pad_empty": each(lambda xs: rl.drop(1, rl.take(12, rl.pad_empty(1, 2, xs)))),
    "mirror": each(lambda xs: rl.pad(3, 14, rl.mirror, xs)),
    "wrap": each(lambda xs: rl.pad(13, 14, rl.wrap, xs)),
    "gather reverse": each(lambda xs: rl.gather(rl.reverse, xs)),
    "gather in strides": each(lambda xs: rl.gather(rl.reorder_stride(3), xs)),
    "gather shifted": each(lambda xs: rl.gather(rl.shift(5), xs)),
    "gather in vectors": lambda xs: rl.as_scalar(
        rl.map_glb(0)(rl.map_vec(inc), rl.as_vector(4, rl.gather(rl.shift(5), xs)))
    ),
    "scatter shifted": lambda xs: rl.scatter(rl.shift(5), rl.map_glb(0)(inc, xs)),
    "scatter in strides": lambda xs: rl.scatter(rl.reorder_stride(3), rl.map_glb(0)(inc, xs)),
    "constants": weighted(rl.reduce_seq),
    "constants, unrolled": weighted(rl.reduce_seq_unroll),
    "rotating windows": lambda xs: rl.map_glb(0)(total, rl.rotate_values(3, xs)),
    "unzip": each(lambda xs: rl.unzip(rl.zip(xs, xs))[1]),
    "unzip, written": lambda xs: rl.unzip(rl.map_glb(0)(lambda v: (v, v * v), xs)),
    "aligned vectors": lambda xs: rl.as_scalar(
        rl.map_glb(0)(rl.map_vec(inc), rl.as_vector_aligned(4, xs))
    ),
    "looked up": lambda xs: rl.map_glb(0)(
        lambda i: rl.at_runtime_unsafe(i, xs) * 2.0, rl.generate(12, lambda i: i)
    ),
    "looked up at a computed index": lambda xs: rl.map_glb(0)(
        lambda x: rl.at_runtime_unsafe(rl.i32(x * 12.0), xs), xs
    ),
    "looked up in range": lambda xs: rl.map_glb(0)(
        lambda i: rl.at_runtime(i, 9.0, xs) * 2.0, rl.generate(15, lambda i: i)
    ),
    "looked up, rows": lambda xs: rl.map_glb(0)(
        total, rl.gather_indices(rl.generate(4, lambda i: i), rl.split(3, xs))
    ),
    "looked up at a number": each(lambda xs: rl.repeat(2, rl.at_runtime_unsafe(3, xs))),
    "halved, and halved again": lambda xs: rl.iterate_sizes(
        2, 2, lambda ys: rl.to_global(rl.map_glb(0)(total, rl.split(2, ys))), xs
    ),
    "scan": lambda xs: rl.scan_seq(lambda acc, v: acc + v, 0.5, xs),
    "scan of chunks": lambda xs: rl.join(
        rl.map_glb(0)(rl.scan_seq(lambda acc, v: acc * 0.5 + v, 0.0), rl.split(4, xs))
    ),
    "scan of pairs": lambda xs: rl.scan_seq(
        lambda acc, v: (acc[1], acc[0] + v), (0.0, 1.0), xs
    ),
    "iterate": lambda xs: rl.map_glb(0)(lambda v: rl.iterate(5, lambda a: a * 0.5 + v, v), xs),
    "iterate not at all": lambda xs: rl.map_glb(0)(lambda v: rl.iterate(0, inc, v), xs),
    "unrolled map": lambda xs: rl.join(rl.map_glb(0)(rl.map_seq_unroll(inc), rl.split(4, xs))),
    "sliding loop": lambda xs: rl.map_seq_slide(3, 1, total, xs),
    "sliding loop in steps": lambda xs: rl.map_seq_slide(4, 2, total, xs),
    "windows in steps": lambda xs: rl.map_glb(0)(total, rl.slide(3, 3, xs)),
    "windows that overlap by half": lambda xs: rl.map_glb(0)(total, rl.slide(4, 2, xs)),
    "indices": lambda xs: rl.map_glb(0)(
        lambda p: p[0] * rl.f32(p[1] * p[1]), rl.zip(xs, rl.generate(12, lambda i: i))
    ),
    "indices, copied": lambda xs: rl.map_glb(0)(lambda i: i, rl.generate(12, lambda i: i)),
    "indices, stored": lambda xs: rl.generate(3, lambda i: (i, xs[0])),
    "indices in vectors": lambda xs: rl.as_scalar(
        rl.map_glb(0)(
            rl.map_vec(lambda i: i * i), rl.as_vector(4, rl.generate(12, lambda i: i))
        )
    ),
    "indices, padded": lambda xs: rl.map_glb(0)(
        lambda i: i + 1, rl.pad(2, 3, 7, rl.gather(rl.reverse, rl.generate(12, lambda i: i)))
    ),
    "let": lambda xs: rl.map_glb(0)(lambda v: rl.let(lambda s: s * s, v + 1.0), xs),
    "let of an array": lambda xs: rl.map_glb(0)(
        lambda c: rl.let(lambda s: total(s) * s[0], rl.to_private(rl.map_seq(inc, c))),
        rl.split(4, xs),
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", COMPILED.values(), ids=COMPILED.keys())
def test_kernel_agrees_with_the_interpreter(body: Body) -> None:
    """The compiled program computes what the term means."""
    program = typed(xs=XS.type)(lambda xs: body(xs))
    object.__setattr__(program, "name", "kernel_of")
    xs = np.random.default_rng(0).random(12).astype(np.float32)

    np.testing.assert_allclose(compile_program(program)(xs), program(xs), rtol=1e-5)


def test_indices_from_an_array() -> None:
    """Rows are looked up by numbers in a buffer; those out of range give the default."""
    ids, rows = Input("ids", rl.i32[6]), Input("rows", rl.f32[4, 3])
    kept = rl.join(rl.map_glb(0)(rl.map_seq(inc), rl.gather_indices(rl.take(4, ids), rows)))
    checked = rl.map_glb(0)(lambda i: rl.at_runtime(i, 0.5, rl.join(rows)), ids)
    numbers = np.array([3, 0, 0, 2, -1, 12], np.int32)
    values = np.arange(12, dtype=np.float32).reshape(4, 3)

    found = compile_program(Program("kept", (ids, rows), kept))(numbers, values)
    np.testing.assert_array_equal(found, (values[numbers[:4]] + 1).ravel())
    compiled = compile_program(Program("checked", (ids, rows), checked))
    np.testing.assert_array_equal(compiled(numbers, values), [3, 0, 0, 2, 0.5, 0.5])
    assert "rows[ids[glb_0]]" in compiled.source


REFUSED: dict[str, tuple[Body, str]] = {
    "partial_reduce": (lambda xs: rl.partial_reduce(rl.add, 0.0, 3, xs), "map_seq"),
    "circular_buffer": (lambda xs: rl.circular_buffer(2, inc, xs), "map_seq_slide"),
    "map_warp": (lambda xs: rl.map_warp(0)(inc, xs), "map_lcl"),
    "map_lane": (lambda xs: rl.map_lane(0)(inc, xs), "map_lcl"),
    "map_stream": (lambda xs: rl.map_stream(inc, xs), "map_seq"),
    "iterate_stream": (lambda xs: rl.iterate_stream(inc, xs), "map_seq"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(NOT_COMPILED))
@pytest.mark.no_device
def test_what_is_not_compiled_is_refused_by_name(name: str) -> None:
    """The message names the pattern and says what to do instead."""
    body, hint = REFUSED[name]
    with pytest.raises(rl.Unsupported, match=f"{name} is not compiled yet; .*{hint}"):
        compile_program(typed(xs=XS.type)(lambda xs: body(xs)))


@pytest.mark.no_device
def test_what_says_that_it_is_compiled_and_is_not_is_refused_by_name() -> None:
    """A pattern that no kernel computes, as one who adds it finds out."""
    with pytest.raises(rl.Unsupported, match="elsewhere says that it is compiled"):
        compile_program(
            typed(xs=XS.type)(lambda xs: rl.map_glb(0)(lambda v: build(Elsewhere, (v,)) + 1.0, xs))
        )


def compiled_above() -> set[str]:
    """The patterns in the programs above, and in the low-level programs of the compiler's tests."""
    terms = [body(XS) for body in COMPILED.values()]
    terms += [case.make(*case.small[0]).body for case in LOW_LEVEL]
    return {t.name for u in terms for t, _ in subterms(u) if isinstance(t, Pattern)}


def test_every_pattern_is_compiled_or_refused() -> None:
    """The tables above leave no pattern out, but layouts that are copied as their own rows have them."""
    met = compiled_above() | {"map", "reduce"}
    for name, types, make, _ in ROWS:
        inputs = tuple(Input(f"x{i}", t) for i, t in enumerate(types))
        body = make(*inputs)
        if name not in met and is_layout(body):
            rng = np.random.default_rng(0)
            shapes = [[n.constant or 0 for n in dimensions(t)[0]] for t in types]
            arrays = [rng.integers(-4, 8, shape).astype(np.int32) for shape in shapes]
            program = Program(name, inputs, body)
            np.testing.assert_array_equal(compile_program(program)(*arrays), program(*arrays))
            met.add(name)

    assert REFUSED.keys() == NOT_COMPILED
    assert met | REFUSED.keys() == PATTERNS.keys()


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (each(lambda xs: rl.gather(lambda i: i + 1, xs)), rl.IllTyped, "leaves an array of 12"),
        (
            lambda xs: rl.scatter(lambda i: i // 2, rl.map_glb(0)(inc, xs)),
            rl.IllTyped,
            "scatter: lambda i: i // 2 is no permutation of 12 indices",
        ),
        (
            lambda xs: rl.generate(3, lambda i: i * i),
            rl.Unsupported,
            "generate computes, and says not where; write map_seq",
        ),
        (
            each(lambda xs: rl.scatter(rl.reverse, xs)),
            rl.Unsupported,
            "scatter is written through, never read",
        ),
        (
            lambda xs: rl.iterate(2, rl.map_seq(inc), xs),
            rl.Unsupported,
            r"iterate with an accumulator of type f32\[12\]",
        ),
        (
            lambda xs: rl.reduce_seq_unroll(rl.add, 0.0, rl.join(rl.repeat(100, xs))),
            rl.Unsupported,
            "reduce_seq_unroll of 1200 elements; at most 256",
        ),
        (
            lambda xs: rl.map_glb(0)(lambda c: rl.scan_seq(rl.add, 0.0, c)[1], rl.split(4, xs)),
            rl.Unsupported,
            "scan_seq computes an array where none can be stored",
        ),
    ],
)  # fmt: skip
@pytest.mark.no_device
def test_wrong_places_are_refused(body: Body, error: type[Exception], message: str) -> None:
    """Index functions are checked before code is generated, and so is where a result can lie."""
    with pytest.raises(error, match=message):
        compile_program(typed(xs=XS.type)(lambda xs: body(xs)))
