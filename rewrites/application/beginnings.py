"""How the sides of rules begin: most places that a rule is tried at differ from its side in their kinds already."""

from __future__ import annotations

from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.rule import Rule
from relift.semantics.syntax import terms


def may_match(rule: Rule, direction: Direction, t: terms.Term) -> bool:
    """Whether the side that a rule starts from begins as a term does, which takes no time to see.

    >>> from relift.rewrites.application.beginnings import may_match
    >>> from relift.rewrites.library import RULES
    >>> fusion = RULES["map_fusion"]
    >>> may_match(fusion, "forward", fusion.left), may_match(fusion, "forward", fusion.right)
    (True, False)
    """
    before, _ = rule.side(direction)
    return unlike(before, t) is None


def unlike(p: terms.Term, t: terms.Term) -> tuple[terms.Term, terms.Term] | None:
    """The outermost nodes of a rule's side and of a term that differ in their kind: seen before anything is solved."""
    if isinstance(p, terms.Metavariable):
        return None
    if type(p) is not type(t):
        return p, t
    for place in p.below:
        mine, theirs = getattr(p, place), getattr(t, place)
        if isinstance(mine, terms.Lambda):
            mine, theirs = mine.body, theirs.body
        if (found := unlike(mine, theirs)) is not None:
            return found
    return None
