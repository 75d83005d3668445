"""Hypothesis strategies for tests of your own.

    from hypothesis import given, strategies as st
    from relift.testing import arguments, programs

    @given(programs(patterns=10), st.data())
    def test_my_device(program, data):
        inputs = data.draw(arguments(program))
        assert my_device(program, *inputs) == program(*inputs)

`programs` and `terms` are well typed by construction, `arguments` and `values` fit them; `kernels` are low-level
programs; `models` and `size_assignments` are concrete models of a rule.
"""

from __future__ import annotations

from relift.rewrites.checks.random.programs import (
    INPUTS,
    arguments,
    kernels,
    programs,
    terms,
    values,
)
from relift.rewrites.checks.random.strategies import models, size_assignments

__all__ = [
    "INPUTS", "arguments", "kernels", "models", "programs", "size_assignments", "terms", "values",
]  # fmt: skip
