"""Where folds start: what vectors, groups and chunks need is a neutral element, as each of them starts anew.

A fold from any other value is that value combined with the fold from the neutral element that its operator declares.
An operator that is idempotent and commutes needs none: each part may begin with the start, which counts once.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.declared_laws import has_law, is_neutral, neutral_of
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    curried,
    inside,
    somewhere,
    the,
)
from relift.semantics.patterns import Reduce, ScanSeq
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import BinaryOperator, Operator
from relift.semantics.syntax.types import Type


@curried
def from_neutral(at: Rewriting, place: Position, tactic: Tactic) -> Rewriting:
    """The tactic at a fold from the neutral element; raises `NoMatch` where the operator declares none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive, vectorize_reduction
    >>> from relift.rewrites.tactics.folds.starts import from_neutral
    >>> @rl.program
    ... def largest(x: rl.f32[64]):
    ...     return rl.reduce(rl.maximum, 0.0, x)
    >>> [step.rule for step in derive(largest, from_neutral(vectorize_reduction(16))).steps]
    ['reduce_start', 'vectorize_reduce']
    """
    t = term_at(at.term, place)
    if (
        isinstance(t, Reduce)
        and not is_neutral(t.op, t.init)
        and not _starts_anew(t.op, t.init.type)
    ):
        at = apply("reduce_start", "backward")(at, place)
        return inside("right")(tactic)(at, place)
    return tactic(at, place)


def in_any_parts(operator: Operator, element: Type) -> bool:
    """Whether a fold by an operator may be made of folds of any of its elements each, wherever these start.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.folds.starts import in_any_parts
    >>> of_nothing = rl.operator(rl.minimum, associative=True, commutative=True, name="least")
    >>> [in_any_parts(op, rl.f32) for op in (rl.add, rl.maximum.operator, of_nothing)]
    [True, True, False]
    """
    if _starts_anew(operator, element):
        return True
    if not isinstance(operator, BinaryOperator) or neutral_of(operator.laws, element) is None:
        return False
    return all(has_law(operator, law) for law in ("associative", "commutative"))


def scans_from_neutral() -> Tactic:
    """Every scan from the neutral element of its operator, and what it started with combined with each of its results.

    Raises `NoMatch` where all do so.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.starts import scans_from_neutral
    >>> @rl.program
    ... def balances(x: rl.f32[64]):
    ...     return rl.scan_seq(rl.add, 100.0, x)
    >>> [step.rule for step in derive(balances, scans_from_neutral()).steps]
    ['scan_start']
    """
    return somewhere(start_apart)


def start_apart(at: Rewriting, place: Position) -> Rewriting:
    """A scan from the neutral element, with each of whose results is combined what it started from.

    Raises `NoMatch` for one that starts from that element already.
    """
    t = the(ScanSeq, at, place)
    found = apply("scan_start", "backward")(at, place)
    if term_at(found.term, (*place, "xs", "init")) == t.init:
        raise NoMatch("a scan that starts from the neutral element")
    return found


def _starts_anew(operator: Operator, element: Type) -> bool:
    """Whether any start may count several times, and the operator has no neutral element that would do."""
    if not isinstance(operator, BinaryOperator) or neutral_of(operator.laws, element) is not None:
        return False
    return all(has_law(operator, law) for law in ("associative", "commutative", "idempotent"))
