"""Where metavariables stand that one side of a rule does not determine, so that it can be matched anew.

In `g(h(x))` any part of a term could be `h(x)`.  What a search has found says which function `h` is at its own sizes;
at others only the place can say it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from relift.rewrites.application.matching import NoMatch, match, same_function
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.metavariables import is_miller
from relift.rewrites.rule import Rule
from relift.semantics.syntax.binding import Position, positions
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import (
    Metavariable,
    Term,
    free_variables,
    innermost,
    operator_of,
    subterms,
)

TRIED = 400
"""So many places, or combinations of them, are tried."""


def given_values(
    rule: Rule, direction: Direction, substitution: Substitution
) -> Mapping[str, Term]:
    """The values that a side of a rule says nothing of, and that are the same wherever it is matched.

    >>> from relift import f32
    >>> from relift.rewrites.application.matching import apply_rule
    >>> from relift.rewrites.application.parts import given_values
    >>> from relift.rewrites.library import RULES
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> t = parse_term("reduce(add, 7.0, xs)", xs=Input("xs", f32[8]))
    >>> _, filled = apply_rule(RULES["reduce_start"], t, direction="backward")
    >>> given_values(RULES["reduce_start"], "backward", filled)
    {'z': Literal(value=0.0, type=f32)}
    """
    found = _determined(rule, direction) - _arguments(rule, direction).keys()
    return {
        name: f.body
        for name, f in substitution.functions.items()
        if name not in found and not f.parameters and not free_variables(f.body)
    }


def _determined(rule: Rule, direction: Direction) -> set[str]:
    """The metavariables of functions and operators that matching a side of a rule determines."""
    found: set[str] = set()
    before, _ = rule.side(direction)
    for t, bound in subterms(before):
        if isinstance(t, Metavariable) and is_miller(t, bound):
            found.add(t.name)
        elif (operator := operator_of(t)) is not None:
            found.add(innermost(operator).name)
    return found


def _arguments(rule: Rule, direction: Direction) -> dict[str, None]:
    """The metavariables to which a side applies others, in order."""
    before, _ = rule.side(direction)
    return dict.fromkeys(
        u.name
        for t, _ in subterms(before)
        if isinstance(t, Metavariable)
        for u in t.arguments
        if isinstance(u, Metavariable)
    )


def determines(rule: Rule, direction: Direction) -> bool:
    """Whether matching a side of a rule determines all functions, so that it can be matched anew."""
    found = _determined(rule, direction)
    return all(name in found for name in rule.parameters if name not in rule.sizes)


def parts_of(
    rule: Rule,
    direction: Direction,
    here: Term,
    substitution: Substitution,
    choices: Mapping[str, int],
) -> Mapping[str, Position]:
    """The places in `here` by which matching finds this substitution; none where it needs none, or they are not found.

    >>> from relift import i32
    >>> from relift.rewrites.application.matching import apply_rule
    >>> from relift.rewrites.application.parts import parts_of
    >>> from relift.rewrites.library import RULES
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> t = parse_term("map(lambda x: x + 1, map(lambda x: x * 2, xs))", xs=Input("xs", i32[8]))
    >>> fused, filled = apply_rule(RULES["map_fusion"], t)
    >>> parts_of(RULES["map_fusion"], "backward", fused, filled, {})
    {'g': ('f', 'arguments.0')}
    """
    if determines(rule, direction):
        return {}
    before, _ = rule.side(direction)
    inner = _arguments(rule, direction)
    inside = list(positions(here))
    places = [
        [(place, t) for place, t in inside if t.type == substitution.functions[name].body.type]
        for name in inner
    ]
    for combined in itertools.islice(itertools.product(*places), TRIED):
        chosen = dict(zip(inner, (t for _, t in combined), strict=True))
        try:
            found = match(rule, before, here, choices, chosen).functions
        except NoMatch:
            continue
        wanted = substitution.functions
        if all(name in found and same_function(found[name], wanted[name]) for name in wanted):
            return dict(zip(inner, (place for place, _ in combined), strict=True))
    return {}
