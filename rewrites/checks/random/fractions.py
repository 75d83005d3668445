"""Rules that compute with floats, run on exact fractions.

What holds of whole numbers need not hold between them: a conversion to integers and `floor` agree up to there.  Nothing
rounds here, so sides that differ are no matter of floating point: the rule is wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from relift.rewrites.checks.random.edges import difference, worlds
from relift.rewrites.checks.verdicts import Counterexample
from relift.rewrites.rule import Rule
from relift.semantics.domains import Exact, Value
from relift.semantics.errors import Undefined
from relift.semantics.interpreter import World
from relift.semantics.syntax.scalars import IRRATIONAL
from relift.semantics.syntax.signatures import OperatorKind
from relift.semantics.syntax.terms import Apply, Call, subterms
from relift.semantics.syntax.types import Scalar, types_within

TRIED = 200
"""So many worlds with broken numbers are tried."""


def differs_in_fractions(rule: Rule) -> Counterexample | None:
    """Fractions at which the sides of a rule differ; None of a rule without floats of its own, or with more than
    rational arithmetic.

    >>> import relift as rl
    >>> from relift.rewrites.checks.random.fractions import differs_in_fractions
    >>> @rl.rule()
    ... def truncated(x: rl.f32):
    ...     return rl.i32(rl.floor(x)), rl.i32(x)
    >>> found = differs_in_fractions(truncated)
    >>> found.left, found.right
    ('-16', '-15')
    """
    if not _computes_with_floats(rule):
        return None
    tried = itertools.islice(_between_whole_numbers(rule), TRIED)
    return difference(rule, tried, lambda x, y: bool(x == y), "exact numbers")


def _computes_with_floats(rule: Rule) -> bool:
    """Whether a rule has floats and arithmetic, and nothing of which more holds than exact numbers show.

    That are operators, whose laws would have to be kept, and functions that leave the rationals, or are a user's own:
    an `Exact` root is a number of no meaning.
    """
    if any(isinstance(kind, OperatorKind) for kind in rule.parameters.values()):
        return False
    terms = [t for side in (rule.left, rule.right) for t, _ in subterms(side)]
    if any(
        isinstance(t, Call) or (isinstance(t, Apply) and t.function in IRRATIONAL) for t in terms
    ):
        return False
    return any(isinstance(t, Apply) for t in terms) and any(
        isinstance(s, Scalar) and s.is_float for t in terms for s in types_within(t.type)
    )


def _between_whole_numbers(rule: Rule) -> Iterator[tuple[World, dict[str, Value]]]:
    """Worlds of finite numbers, some of them broken."""
    for world, data in worlds(rule):
        cells = [x for value in data.values() for x in _floats(value)]
        if all(map(np.isfinite, cells)) and any(x != np.floor(x) for x in cells):
            exact = {name: _exact(value) for name, value in data.items()}
            given = {name: _exact(value) for name, value in world.metavariables.items()}
            yield World(world.sizes, {}, given, Exact(), world.types), exact


def _floats(value: Value) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _floats(part)
    elif isinstance(value, np.floating):
        yield value


def _exact(value: Value) -> Value:
    """A value, or a function, of exact numbers; raises `Undefined` for what is none."""
    if isinstance(value, list):
        return [_exact(part) for part in value]
    if isinstance(value, tuple):
        return tuple(map(_exact, value))
    if isinstance(value, np.floating):
        if not np.isfinite(value):
            raise Undefined(f"{value} is no exact number", place="")
        return Fraction(float(value))
    if isinstance(value, np.integer):
        return int(value)
    if callable(value):
        return lambda *arguments: _exact(value(*arguments))
    return value
