"""Folds that say where an element is, by operators that commute.

A loop that counts keeps the first of the best; with indices for the counter, and an operator that asks which index is
smaller, its elements may be combined in any order.
"""

from __future__ import annotations

from relift.rewrites.rules.folds import places
from relift.rewrites.tactics.combinators import (
    Tactic,
    any_rule,
    apply,
    first,
    repeat,
    somewhere,
    then,
    topdown,
)

_INDEXED = ("reduce_seq_counted", *(r.name for r in places.reduce_seq_counted_part.rules))

_FAMILIES = (
    places.reduce_seq_said_place_float,
    places.reduce_seq_said_place_whole,
)
_IN_ANY_ORDER = tuple(r.name for family in _FAMILIES for r in family.rules)


def places_in_any_order() -> Tactic:
    """Loops over elements and their places as reductions; raises `NoMatch` where there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.places import places_in_any_order
    >>> @rl.program
    ... def largest_place(x: rl.f32[64]):
    ...     def later(best, v):
    ...         return rl.select(v > best[0], (v, best[2], best[2] + 1), (best[0], best[1], best[2] + 1))
    ...     return rl.reduce_seq(later, (float("-inf"), 0, 0), x)[1]
    >>> [step.rule for step in derive(largest_place, places_in_any_order()).steps]
    ['select_same', 'reduce_seq_counted_second', 'reduce_seq_larger_place']
    """
    one = topdown(any_rule(*_INDEXED))
    indexed = first(one, then(somewhere(apply("select_same")), one))
    return then(repeat(indexed), somewhere(any_rule(*_IN_ANY_ORDER)))


def reduced_in_chunks(rule: str, length: int) -> Tactic:
    """A reduction by a rule for chunks, or by the one for idempotent operators, which may start from any element."""
    return first(apply(rule, m=length), apply(_IDEMPOTENT[rule], m=length))


_IDEMPOTENT = {
    "partial_reduce_chunks": "reduce_chunks_idempotent",
    "partial_reduce_strided": "reduce_strided_idempotent",
}
