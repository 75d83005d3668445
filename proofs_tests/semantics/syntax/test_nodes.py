"""The one view of terms: a node is its kind and its fields, and is made of them again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from relift.rewrites.library import RULES
from relift.semantics.errors import IllTyped
from relift.semantics.language.programs import Program
from relift.semantics.notation.parser import parse_term
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import fields, rebuilt
from relift.semantics.syntax.terms import Input, Lambda, Pattern, Term, children, subterms
from relift.semantics.syntax.types import f32
from relift.testing import programs


def below(t: Term) -> list[Term | Lambda]:
    """The terms and lambdas among the fields of a node."""
    found: list[Term | Lambda] = []
    for value in fields(t):
        if isinstance(value, tuple):
            found += value
        elif isinstance(value, Expression | Lambda):
            found.append(value)
    return found


@settings(max_examples=100, deadline=None)
@given(programs())
def test_a_node_is_made_of_its_fields(program: Program) -> None:
    """Every part of a program is what its kind and its fields make."""
    for t, _ in subterms(program.body):
        assert rebuilt(t, fields(t)) == t
        assert rebuilt(t, fields(t)).type == t.type


def test_every_kind_of_term_in_the_rules_is_made_of_its_fields() -> None:
    """So it is with metavariables, user functions and all patterns of the library."""
    for rule in RULES.values():
        for side in (rule.left, rule.right):
            for t, _ in subterms(side):
                assert rebuilt(t, fields(t)) == t


@settings(max_examples=50, deadline=None)
@given(programs())
def test_children_are_among_the_fields(program: Program) -> None:
    """What is below a node is what of its fields are terms and lambdas, in that order."""
    for t, _ in subterms(program.body):
        assert [u for _, u in children(t)] == below(t)


def test_every_kind_states_what_it_holds() -> None:
    """What is below a node, and its row, are among what it holds; a pattern that is shared by others holds nothing."""
    for kind in (*Expression.__subclasses__(), *Pattern.__subclasses__()):
        assert {*kind.below, *filter(None, [kind.row])} <= {*kind.holds}
        assert kind.holds or not hasattr(kind, "signature")


def test_other_fields_are_typed_again() -> None:
    """A node that holds other values has the type that these give it."""
    xs = Input("xs", f32[8])
    t = parse_term("split(2, xs)", xs=xs)

    assert str(rebuilt(t, (4, xs)).type) == "f32[2, 4]"
    with pytest.raises(IllTyped, match="3 does not divide 8"):
        rebuilt(t, (3, xs))
