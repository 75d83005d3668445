"""Substitution without capture, and equality up to the names of binders."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings

from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import make_tuple
from relift.semantics.language.tracing import FixedLambda
from relift.semantics.syntax.binding import (
    alpha_equal,
    canonical,
    positions,
    replace_at,
    substitute,
    term_at,
    tidy,
)
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import (
    Get,
    Input,
    Lambda,
    Metavariable,
    Pattern,
    Term,
    Var,
    free_variables,
    subterms,
)
from relift.semantics.syntax.types import f32
from relift.testing import terms

x, y, z = (Var(name, f32) for name in "xyz")
xs, ys = Input("xs", f32[4]), Input("ys", f32[4])


def mapped(binder: Var, body: Term, data: Term = xs) -> Term:
    """A map whose binder has a given name."""
    term: Term = rl.map(FixedLambda((binder,), body), data)
    return term


def test_a_binder_that_would_capture_is_renamed() -> None:
    """Putting y for x under a binder y renames the binder, not the y that comes in."""
    result = substitute(mapped(y, x + y), {"x": y})

    assert free_variables(result) == {"y"}
    assert alpha_equal(result, mapped(z, y + z))
    assert not alpha_equal(result, mapped(y, y + y))


def test_a_bound_variable_is_not_replaced() -> None:
    """A binder of the same name hides the variable."""
    t = mapped(x, x + x)

    assert substitute(t, {"x": y}) == t


def test_substitution_is_simultaneous() -> None:
    """Two variables can be swapped."""
    assert substitute(x - y, {"x": y, "y": x}) == y - x


def test_renaming_avoids_the_names_below() -> None:
    """The new name of a binder is none that its body uses already."""
    underscored = Var("y_", f32)
    result = substitute(mapped(y, x + (y + underscored)), {"x": y})

    assert alpha_equal(result, mapped(z, y + (z + underscored)))


def test_capture_is_avoided_two_binders_deep() -> None:
    """A variable that comes in passes below several binders of its name."""
    inner = mapped(y, x + y, ys)
    result = substitute(mapped(y, rl.reduce(rl.add, y, inner)), {"x": y})

    assert free_variables(result) == {"y"}
    assert alpha_equal(
        result, mapped(z, rl.reduce(rl.add, z, mapped(Var("w", f32), y + Var("w", f32), ys)))
    )


def test_substitution_renames_the_binders_of_the_rule() -> None:
    """What fills a metavariable keeps its own x, though the rule binds an x around it."""
    hole = Metavariable("c", (), f32)
    filled = Substitution(functions={"c": Lambda((), x)}).term(mapped(x, x + hole))

    assert free_variables(filled) == {"x"}
    assert alpha_equal(filled, mapped(z, z + x))


def test_function_metavariables_are_applied() -> None:
    """A function metavariable becomes its body with the arguments put in."""
    hole = Metavariable("f", (x,), f32)
    filled = Substitution(functions={"f": Lambda((y,), y * y)}).term(mapped(x, hole))

    assert alpha_equal(filled, mapped(x, x * x))


@pytest.mark.parametrize(
    ("t", "u"),
    [
        (mapped(x, x), mapped(x, y)),
        (mapped(x, x + y), mapped(y, y + y)),
        (mapped(x, x), mapped(x, x, ys)),
    ],
)
def test_different_terms_are_not_equal(t: Term, u: Term) -> None:
    """Equality up to names does not confuse free with bound variables, nor one input with another."""
    assert not alpha_equal(t, u)


def test_a_body_that_two_functions_share_is_equal_where_both_bind_the_same() -> None:
    """One object says other things below binders of other names; a component of a tuple that is written out is that part."""
    body, part = x + y, Get(0, make_tuple(xs, ys), xs.type)

    assert not alpha_equal(mapped(x, body), mapped(y, body))
    assert not alpha_equal(mapped(x, mapped(y, body)), mapped(y, mapped(x, body)))
    assert alpha_equal(mapped(x, mapped(y, body)), mapped(z, mapped(y, z + y)))
    assert alpha_equal(mapped(x, x, part), mapped(y, y, xs))
    assert alpha_equal(mapped(x, x, xs), mapped(y, y, part))


@settings(max_examples=40)
@given(terms(), terms())
def test_equality_up_to_names_is_that_of_canonical_terms(t: Term, u: Term) -> None:
    """Of two terms, what is below them, and the same under other names."""
    few = [
        v for v, _ in (*itertools.islice(subterms(t), 6), *itertools.islice(subterms(tidy(t)), 6))
    ]
    for a, b in itertools.product([*few, u], repeat=2):
        assert alpha_equal(a, b) == (canonical(a) == canonical(b))


@settings(max_examples=60)
@given(terms())
def test_tidying_changes_only_names(t: Term) -> None:
    """Tidy terms are equal up to names, closed, and bind no name twice along a path."""
    tidied = tidy(t)

    assert alpha_equal(t, tidied)
    assert not free_variables(tidied)
    for _, bound in subterms(tidied):
        names = [v.name for v in bound]
        assert len(names) == len(set(names))


@settings(max_examples=60)
@given(terms(patterns=4))
def test_positions_lead_to_their_subterms(t: Term) -> None:
    """Each position names its subterm, and putting that back changes nothing."""
    for position, subterm in positions(t):
        assert term_at(t, position) == subterm
        assert replace_at(t, position, subterm) == t


@settings(max_examples=60)
@given(terms())
def test_rebuilding_keeps_types(t: Term) -> None:
    """Every node keeps its type when it goes through its typed constructor again."""
    again = Substitution().term(t)

    assert alpha_equal(again, t)
    assert [u.type for u, _ in subterms(again)] == [u.type for u, _ in subterms(t)]
    assert all(
        u.solved == v.solved
        for (u, _), (v, _) in zip(subterms(again), subterms(t), strict=True)
        if isinstance(u, Pattern) and isinstance(v, Pattern)
    )
