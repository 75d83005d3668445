"""Rules that are known already: a rule of the library under another name, an instance of one, or one step of one.

Both sides of the known rule are matched together, so that sizes which only one side names are found, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from relift.rewrites.application.matching import match_sides
from relift.rewrites.conditions import Condition, IndexCondition
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.binding import (
    Position,
    alpha_equal,
    canonical,
    positions,
    replace_at,
    term_at,
)
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import Metavariable, OperatorMetavariable, Term


@dataclass(frozen=True)
class Kin:
    """How a rule follows from another one."""

    how: Literal["the same rule as", "an instance of", "one step of"]
    other: str

    def __str__(self) -> str:
        return f"{self.how} {self.other}"


def kin(rule: Rule, known: Mapping[str, Rule]) -> Iterator[Kin]:
    """How a rule follows from the known rules, each of them that it follows from.

    >>> from relift.rewrites.checks.kinship import kin
    >>> from dataclasses import replace
    >>> from relift.rewrites.library import RULES
    >>> again = replace(RULES["drop_drop"], name="again")
    >>> [str(found) for found in kin(again, RULES)]
    ['the same rule as drop_drop']
    """
    left, right = canonical(rule.left), canonical(rule.right)
    redexes = [p for p, _ in positions(left) if _differ_only_at(left, right, p)]
    for other in known.values():
        if other is rule or other.lowering != rule.lowering or other.refinement != rule.refinement:
            continue
        if _is_copy(rule, other):
            yield Kin("the same rule as", other.name)
            continue
        for position in redexes:
            if _is_instance(other, rule, term_at(left, position), term_at(right, position)):
                yield _told(rule, other, position)
                break


def _is_copy(rule: Rule, other: Rule) -> bool:
    """Whether the two say the same word for word; matching does not find every size, as in `(k + 1) * (m + 1)`."""
    sides = (rule.left, rule.right), (other.left, other.right)
    turned = [(other.right, other.left)] if not other.refinement else []
    return (
        rule.parameters == other.parameters
        and set(rule.where) == set(other.where)
        and rule.lower_bounds == other.lower_bounds
        and any(all(map(alpha_equal, sides[0], given)) for given in (sides[1], *turned))
    )


def _told(rule: Rule, other: Rule, position: Position) -> Kin:
    if position:
        return Kin("one step of", other.name)
    if _is_instance(rule, other, canonical(other.left), canonical(other.right)):
        return Kin("the same rule as", other.name)
    return Kin("an instance of", other.name)


def _differ_only_at(left: Term, right: Term, position: Position) -> bool:
    try:
        return bool(replace_at(left, position, term_at(right, position)) == right)
    except (ReliftError, LookupError, AttributeError, AssertionError):
        return False


def _is_instance(other: Rule, rule: Rule, left: Term, right: Term) -> bool:
    """Whether the sides are those of the other rule, filled in, under conditions that the rule states."""
    for x, y in ((left, right), (right, left))[: 1 if other.refinement else 2]:
        try:
            substitution = match_sides(other, x, y)
            same = alpha_equal(substitution.term(other.left), x) and alpha_equal(
                substitution.term(other.right), y
            )
        except (ReliftError, LookupError, AssertionError):
            continue
        if same and _stated(other, rule, substitution):
            return True
    return False


def _stated(other: Rule, rule: Rule, substitution: Substitution) -> bool:
    """Whether the rule states what the other needs."""
    bounds = [bound.at(substitution.sizes) for bound in other.lower_bounds]
    if not all(bound.surely() or bound in rule.lower_bounds for bound in bounds):
        return False
    return all(_renamed(condition, substitution) in rule.where for condition in other.where)


def _renamed(
    condition: Condition | IndexCondition, substitution: Substitution
) -> Condition | IndexCondition | None:
    """A condition in the names of the rule; None where it speaks of what is no metavariable."""
    match condition:
        case Condition(law, operator, element, over):
            names = [substitution.operators.get(name) for name in (operator, over) if name]
            if not all(isinstance(found, OperatorMetavariable) for found in names):
                return None
            filler = substitution.functions.get(element) if element is not None else None
            z = filler.body if filler is not None else None
            if element is not None and not isinstance(z, Metavariable):
                return None
            shown = [found.name for found in names if isinstance(found, OperatorMetavariable)]
            return Condition(
                law,
                shown[0],
                z.name if isinstance(z, Metavariable) else None,
                shown[1] if over else None,
            )
        case IndexCondition(law, function, inverse):
            found = [
                substitution.indices[name].metavariable for name in (function, inverse) if name
            ]
            if any(alone is None for alone in found):
                return None
            alone = [f.name for f in found if f is not None]
            return IndexCondition(law, alone[0], alone[1] if inverse else None)
