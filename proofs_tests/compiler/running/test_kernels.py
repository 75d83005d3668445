"""Every kernel computes what the interpreter says: the meaning of the term is the only specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.compiler.codegen.test_views import layouts
from proofs_tests.compiler.programs import CASES, Case
from proofs_tests.portions import portioned
from relift.compiler import compile_program
from relift.compiler.running.arrays.buffers import components, unflatten
from relift.semantics.domains import DTYPES
from relift.semantics.indices.inverses import invertible_data
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.terms import Input, Term, subterms


def arguments(program: Program, seed: int = 0) -> list[Any]:
    """Small whole numbers in the types of the parameters: sums of them are exact."""
    random = np.random.default_rng(seed)
    return [
        unflatten(
            [
                random.integers(-9, 10, size=shape).astype(DTYPES[scalar.name]).reshape(-1)
                for scalar, shape in components(p.type)
            ],
            p.type,
        )
        for p in program.parameters
    ]


def assert_same(found: Any, expected: Any) -> None:
    """Equal values, shapes and dtypes, component by component."""
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        assert len(found) == len(expected)
        for part, other in zip(found, expected, strict=True):
            assert_same(part, other)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("case", "sizes"),
    [(c, sizes) for c in CASES for sizes in c.small],
    ids=lambda x: x.name if isinstance(x, Case) else "x".join(map(str, x)),
)
def test_kernel_agrees_with_the_interpreter(case: Case, sizes: tuple[int, ...]) -> None:
    """Bit for bit, on inputs whose sums are exact."""
    program = case.make(*sizes)
    values = arguments(program)
    found, expected = compile_program(program)(*values), program(*values)
    assert_same(found, expected)
    for part, other in zip(_flat(found), _flat(expected), strict=True):
        assert np.asarray(part).dtype == np.asarray(other).dtype


@portioned("case", {c.name: c for c in CASES}, 2)
def test_kernel_agrees_with_numpy_at_a_larger_size(case: Case) -> None:
    """Where the interpreter is too slow, NumPy is the reference."""
    program = case.make(*case.large)
    values = arguments(program, seed=1)
    assert_same(compile_program(program)(*values), case.reference(*values))


@given(layouts(), layouts(invertible=True), st.booleans())
@settings(max_examples=10, deadline=None)
def test_kernels_read_and_write_through_layouts(
    reading: Term, writing: Term, parallel: bool
) -> None:
    """Any layout of the input, copied by work-items or one, into any invertible layout of the result."""
    each = rl.map_glb(0) if parallel else rl.map_seq
    source = next(u for u, _ in subterms(reading) if isinstance(u, Input))
    read = Program("read", (source,), each(lambda v: v, reading))
    doubled = rl.map_seq(lambda v: v + v, source)
    written = Program("written", (source,), _on(doubled, writing))
    xs = np.arange(24, dtype=np.int32)
    for program in (read, written):
        assert_same(compile_program(program)(xs), program(xs))


def _on(data: Term, layout: Term) -> Term:
    """A layout of an input, applied to other data of the same type."""
    if isinstance(layout, Input):
        return data
    return map_children(
        layout, lambda u: _on(data, u) if u == invertible_data(layout) else u, lambda f: f
    )


def _flat(value: Any) -> list[Any]:
    return [x for part in value for x in _flat(part)] if isinstance(value, tuple) else [value]
