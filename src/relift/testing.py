"""Hypothesis strategies for tests of your own; needs `pip install hypothesis`.

    from hypothesis import given, strategies as st
    from relift.testing import arguments, programs

    @given(programs(patterns=10), st.data())
    def test_my_device(program, data):
        inputs = data.draw(arguments(program))
        assert my_device(program, *inputs) == program(*inputs)

`programs` and `terms` are well typed by construction, `arguments` and `values` fit them; `models` and
`size_assignments` are concrete models of a rule.
"""

from __future__ import annotations

try:
    from relift.rewrites.random_programs import INPUTS, arguments, programs, terms, values
    from relift.rewrites.strategies import models, size_assignments
except ModuleNotFoundError as missing:
    if missing.name != "hypothesis":
        raise
    raise ModuleNotFoundError(
        "relift.testing needs Hypothesis: pip install hypothesis", name="hypothesis"
    ) from None

__all__ = ["INPUTS", "arguments", "models", "programs", "size_assignments", "terms", "values"]
