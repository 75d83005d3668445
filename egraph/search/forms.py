"""The forms that a program may have before it is lowered: what is shared under names, and what is stored."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from relift.rewrites.tactics.combinators import Tactic, skip
from relift.rewrites.tactics.sharing import apart, has_fold, named, unrolled
from relift.semantics.syntax.terms import Term

FORMS: tuple[tuple[Tactic, int], ...] = ((skip, 3), (named(), 2), (apart(), 0), (unrolled(), 0))
"""What the program as it is written may become before it is lowered, each on its own.

Of so many values that may be stored every choice is tried; of more all, none, and those that are computed by folds.
"""


def choices_of(values: Sequence[Term], most: int) -> list[tuple[Term, ...]]:
    """Which values are stored, each choice once."""
    if len(values) > most:
        folds = tuple(value for value in values if has_fold(value))
        return list(dict.fromkeys([(), tuple(values), folds]))
    counts = range(len(values) + 1)
    return [chosen for k in counts for chosen in itertools.combinations(values, k)]
