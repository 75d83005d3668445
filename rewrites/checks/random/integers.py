"""Rules that compute with whole numbers, run in the integers of a machine, which wrap around.

Where floats are only moved the sides of a rule must be equal in these, too: what holds of all whole numbers need not.
"""

from __future__ import annotations

import numpy as np

from relift.rewrites.checks.random.edges import difference, worlds
from relift.rewrites.checks.verdicts import Counterexample
from relift.rewrites.rule import Rule
from relift.semantics.domains import Value
from relift.semantics.syntax.signatures import OperatorKind
from relift.semantics.syntax.terms import Apply, Call, subterms
from relift.semantics.syntax.types import Scalar, boolean, types_within


def differs_in_integers(rule: Rule) -> Counterexample | None:
    """Integers at which the sides of a rule differ; None of a rule without integers of its own, or that computes with floats.

    >>> import relift as rl
    >>> from relift.rewrites.checks.random.integers import differs_in_integers
    >>> @rl.rule()
    ... def halved(x: rl.i32):
    ...     return (x + x) // 2, x
    >>> found = differs_in_integers(halved)
    >>> found.data["x"], found.left
    ('1073741824', '-1073741824')
    """
    if not _computes_with_integers(rule):
        return None
    return difference(rule, worlds(rule), _same, "the integers of a machine, which wrap around")


def _same(x: Value, y: Value) -> bool:
    """Equality of cells; one NaN is like another."""
    both_nan = isinstance(x, np.floating) and bool(np.isnan(x) and np.isnan(y))
    return both_nan or bool(x == y)


def _computes_with_integers(rule: Rule) -> bool:
    """Whether a rule computes with integers and with no floats, nor with operators, whose laws would have to be kept."""
    if any(isinstance(kind, OperatorKind) for kind in rule.parameters.values()):
        return False
    terms = [t for side in (rule.left, rule.right) for t, _ in subterms(side)]
    computed = [
        (t.type, *(u.type for u in t.arguments)) for t in terms if isinstance(t, Apply | Call)
    ]
    scalars = {s for types in computed for t in types for s in types_within(t)}
    kinds = {s.is_float for s in scalars if isinstance(s, Scalar) and s != boolean}
    return kinds == {False}
