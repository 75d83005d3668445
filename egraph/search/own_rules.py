"""What the user's own rules and strategies do in a search beside its stages.

A rule that an e-graph can hold takes part in the stages.  Every rule is also applied to the program itself, wherever it
matches, so that what tactics make of the program, they make of that, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from relift.egraph.checks.admission import Admitted
from relift.egraph.process.saturation import Stage, named
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    topdown,
)
from relift.semantics.syntax.binding import Position, canonical, term_at

MOST_PLACES = 16
"""So often a rule is applied to a program at most; one that fits what it makes would go on forever."""


def stages_with(
    stages: Sequence[Stage], admitted: Admitted, policy: FloatPolicy
) -> tuple[Stage, ...]:
    """The stages, with one of the user's rules before them, which also take part in the last one."""
    own = admitted.searchable(policy)
    if not own:
        return tuple(stages)
    *before, last = stages
    joined = Stage(last.name, tuple(dict.fromkeys((*last.rules, *own))), last.iterations)
    return (Stage("the user's rules", own, 2), *before, joined)


def applied(admitted: Admitted) -> list[Tactic]:
    """For each rule, what applies it wherever it matches, a few times at most; `NoMatch` where it does nowhere."""
    found: list[Tactic] = []
    for name in admitted.names:
        rule, direction = named(name)
        found.append(_at_every_place(topdown(apply(admitted.rules[rule], direction))))
    return found


def _at_every_place(once: Tactic) -> Tactic:
    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = once(at, place)
        seen = {canonical(term_at(at.term, place))}
        for _ in range(MOST_PLACES - 1):
            try:
                after = once(at, place)
            except NoMatch:
                return at
            if (now := canonical(term_at(after.term, place))) in seen:
                return at
            at = after
            seen.add(now)
        return at

    return tactic
