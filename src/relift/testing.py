"""Hypothesis strategies for tests of your own.

    from hypothesis import given, strategies as st
    from relift.testing import arguments, assert_equivalent, programs

    def test_my_program():
        assert_equivalent(my_program, lambda x, y: np.dot(x, y))

    @given(programs(patterns=10), st.data())
    def test_my_device(program, data):
        inputs = data.draw(arguments(program))
        assert my_device(program, *inputs) == program(*inputs)

`programs` and `terms` are well typed by construction, `arguments` and `values` fit them; `kernels` are low-level
programs; `models` and `size_assignments` are concrete models of a rule.  `check_reference` runs the C of a function of yours
beside its Python, on edges and on what is drawn: `assert check_reference(f) is None`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings

from relift.compiler.agreement.comparison import agreed
from relift.compiler.agreement.user_functions import check_reference
from relift.rewrites.checks.random.programs import (
    INPUTS,
    arguments,
    kernels,
    programs,
    terms,
    values,
)
from relift.rewrites.checks.random.strategies import models, size_assignments
from relift.semantics.language.programs import Program

__all__ = [
    "INPUTS", "arguments", "assert_equivalent", "check_reference", "kernels", "models", "programs", "size_assignments", "terms", "values",
]  # fmt: skip


def assert_equivalent(
    program: Program, reference: Callable[..., Any], *, most: int = 4, examples: int = 100
) -> None:
    """Assert that a program means what a function of NumPy arrays, another program or a kernel computes.

    Arguments are drawn with each size from 1 up to `most`, and what separates the two is made as small as it can be.
    Results are equal to the last bit where every step of the program is exact on whole numbers, else within its rounding.

    >>> import numpy as np, relift as rl
    >>> from relift.testing import assert_equivalent
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def total(x: rl.f32[n]):
    ...     return rl.reduce(rl.add, 0.0, x)
    >>> assert_equivalent(total, np.sum)
    >>> try:
    ...     assert_equivalent(total, np.max, examples=20)
    ... except AssertionError as difference:
    ...     print(difference)
    total(array([...], dtype=float32)): DIFFERS with the reference: ...
    """

    @settings(max_examples=examples, deadline=None, database=None, print_blob=False)
    @given(arguments(program, most))
    def compare(drawn: tuple[Any, ...]) -> None:
        at = program.at(program.solve_sizes(drawn))
        found = agreed("the reference", at, reference(*drawn), program(*drawn))
        shown = ", ".join(map(repr, drawn))
        assert found.ok, f"{program.name}({shown}): {found.text()}"

    compare()
