"""A pass over the tree of a kernel."""

from __future__ import annotations

import pytest

from proofs_tests.compiler.programs import CASES, Case
from relift.compiler.program import kernels_of
from relift.compiler.text.tree import (
    Expression,
    Name,
    Statement,
    expressions_of,
    mapped_expression,
    mapped_statement,
    mentioned,
    statements_within,
    variables,
    within,
)


def the_same(e: Expression) -> Expression:
    return mapped_expression(e, the_same)


def all_statements(case: Case) -> list[Statement]:
    source, _ = kernels_of(case.make(*case.small[0]))
    return [s for k in source.kernels for s in statements_within(k.body)]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_pass_that_changes_nothing_builds_nothing(case: Case) -> None:
    """Each statement is itself afterwards, not an equal one."""
    assert all(mapped_statement(s, the_same, lambda body: body) is s for s in all_statements(case))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_what_is_mentioned_is_what_stands_within(case: Case) -> None:
    """The names of variables are those of all names within the expressions."""
    for s in all_statements(case):
        names = {e.name for of in expressions_of(s) for e in within(of) if isinstance(e, Name)}
        assert set[str]().union(*map(variables, expressions_of(s))) == names
        assert names <= mentioned((s,))
