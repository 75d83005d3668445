"""What a rule makes of a term, found once for a search: tactics that differ in a tile or two repeat most of their steps."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from relift.rewrites.application.matching import NoMatch, apply_filled, apply_rule, matched
from relift.rewrites.application.totality import has_open_cells
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.rule import Rule
from relift.semantics.syntax.binding import Position, replace_at, term_at
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import Term, free_variables

_known: ContextVar[dict[Hashable, tuple[Rule, tuple[Term, Substitution] | str]] | None] = (
    ContextVar("what rules made of terms, or why they do not match", default=None)
)

MOST_KNOWN = 1 << 14
"""So many applications are kept at a time."""


@contextmanager
def applied_once() -> Generator[None]:
    """What a rule makes of a term, and that it does not match, is found once inside.

    Terms are equal whatever the sizes that they name are at least; so inside are tactics for one program.

    >>> from relift import add, f32, program, reduce
    >>> from relift.rewrites.application.applied import applied_once
    >>> from relift.rewrites.tactics.combinators import apply, derive
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, x)
    >>> with applied_once():
    ...     first, again = (derive(total, apply("reduce_to_seq")) for _ in range(2))
    >>> first.result is again.result
    True
    """
    token = _known.set({} if _known.get() is None else _known.get())
    try:
        yield
    finally:
        _known.reset(token)


def applied(
    rule: Rule,
    t: Term,
    place: Position,
    direction: Direction,
    parts: Mapping[str, Position],
    choices: Mapping[str, int],
    policy: FloatPolicy,
) -> tuple[Term, Substitution]:
    """What the rule makes of a whole term, and what its metavariables stand for; raises `NoMatch`."""
    known = _known.get()
    if known is None:
        return apply_rule(
            rule, t, place, direction=direction, choices=choices, parts=parts, policy=policy
        )
    here = term_at(t, place)
    chosen = tuple(sorted(choices.items())), tuple(sorted(parts.items()))
    key = id(rule), here, direction, chosen, policy, has_open_cells(t)
    if (held := known.get(key)) is not None and held[0] is rule:
        if isinstance(found := held[1], str):
            raise NoMatch(found)
        new, substitution = found
        return replace_at(t, place, new), substitution
    if len(known) >= MOST_KNOWN:
        known.clear()
    try:
        substitution = matched(rule, here, direction, choices, parts)
    except NoMatch as failure:
        known[key] = rule, failure.message  # whatever the term stands in
        raise
    whole = apply_filled(rule, t, place, direction, substitution, policy)
    new = term_at(whole, place)
    if free_variables(new) <= free_variables(here):  # else it hangs on what is bound around
        known[key] = rule, (new, substitution)
    return whole, substitution
