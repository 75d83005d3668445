"""Which programs are searched without the names in their functions, and which of these with them, too."""

from __future__ import annotations

from collections.abc import Sequence

from relift.egraph.search.outcomes import Proposal, soonest
from relift.rewrites.tactics.combinators import LONG
from relift.rewrites.tactics.sharing import names_what_is_kept
from relift.semantics.syntax.terms import Pattern, Term, parts_of, subterms


def is_low_level(t: Term) -> bool:
    """Whether something of a term says what is stored, or who computes it."""
    return any(isinstance(u, Pattern) and u.fills for u, _ in subterms(t))


def may_lose_names(t: Term) -> bool:
    """Whether a program may be searched without the names in its functions: no long one, and none that says who computes what."""
    return parts_of(t) <= LONG and not is_low_level(t)


def may_keep_names(t: Term, written: Sequence[Proposal], without: Sequence[Proposal]) -> bool:
    """Whether a program is searched with the names in its functions, beside what was found without: of arrays that a work-item may keep.

    And where what it is lowered to as it is `written` is as good as all that.
    """
    return names_what_is_kept(t) or soonest(written) <= soonest(without)
