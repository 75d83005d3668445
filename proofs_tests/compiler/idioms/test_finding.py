"""What is found in C: each fixture's idioms, and nothing in near misses."""

from __future__ import annotations

import pytest

from proofs_tests.compiler.idioms.checks import FILES, FUNCTIONS, compiled, expected
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.finding import find
from relift.compiler.idioms.refusals import refusal


@pytest.mark.parametrize(("file", "name"), FUNCTIONS)
def test_what_is_found(file: str, name: str) -> None:
    """A function holds the idioms that stand before it, no others; the search ends."""
    module = compiled(file)
    function = module.functions[name]
    found = () if refusal(function, module) else find(Relations(function, module)).found
    assert sorted(f.idiom for f in found) == expected(file)[name]


def test_three_of_ten_are_near_misses() -> None:
    """Fixtures that look like an idiom and are none keep the share that shows what is refused."""
    kinds = [kinds for file in FILES for kinds in expected(file).values()]
    assert sum(not k for k in kinds) * 10 >= 3 * len(kinds)
