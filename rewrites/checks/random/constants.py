"""The numbers that a rule mentions: at them, and beside them, its sides may differ and nowhere else."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from relift.rewrites.rule import Rule
from relift.semantics.syntax.terms import Call, Literal, subterms

_NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def constants_of(rule: Rule) -> tuple[float, ...]:
    """The numbers that a rule mentions, and those in the text of its functions in C.

    >>> import relift as rl
    >>> from relift.rewrites.checks.random.constants import constants_of
    >>> @rl.rule()
    ... def never_above(x: rl.i32):
    ...     return rl.minimum(x, 100000), x
    >>> constants_of(never_above)
    (100000,)
    """
    found: list[float] = []
    for t in (t for side in (rule.left, rule.right) for t, _ in subterms(side)):
        if isinstance(t, Literal) and not isinstance(t.value, bool):
            found.append(t.value)
        elif isinstance(t, Call) and t.function.c is not None:
            found += map(float, _NUMBER.findall(t.function.c))
    return tuple(sorted({x for x in found if np.isfinite(x)}))


def near_constants(rule: Rule) -> tuple[Fraction | int, ...]:
    """These numbers, and those one above and one below, exactly."""
    exact = [int(x) if x == int(x) else Fraction(x) for x in constants_of(rule)]
    return tuple(dict.fromkeys(x + d for d in (0, 1, -1) for x in exact))
