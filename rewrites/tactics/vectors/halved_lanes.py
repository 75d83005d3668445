"""Tactics for what is left of a fold by vectors on a CPU: lanes, and elements that fill no vector.

Sixteen lanes one after the other are sixteen sums of which each waits for the one before, and fifteen elements that are left over
fifteen more; of a row of 63 numbers that is more than all else.  Here the lanes are folded in halves, and what is left over by
narrower vectors, again in halves.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    curried,
    first,
    fuse,
    inside,
    the,
    then,
    vectorize_reduction,
)
from relift.rewrites.tactics.folds.remainders import fold_here_with_rest, length_of
from relift.semantics.patterns import Reduce
from relift.semantics.syntax.binding import Position, term_at


@curried
def in_halves(at: Rewriting, place: Position, width: int) -> Rewriting:
    """A fold by `width` lanes, or by fewer of which it fills two vectors, whatever its length; the lanes are folded in halves.

    Raises `NoMatch` where it does not fill two vectors of four, or its operator does not allow it.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.vectors.halved_lanes import in_halves
    >>> @rl.program
    ... def total(x: rl.f32[37]):
    ...     return rl.reduce(rl.add, 0.0, x)
    >>> steps = derive(total, in_halves(16)).steps
    >>> [step.choices["w"] for step in steps if step.rule == "vectorize_reduce"]
    [16, 8, 4, 2]
    """
    t = the(Reduce, at, place)
    length = length_of(t.xs)
    most = next((w for w in (16, 8, 4) if w <= width and 2 * w <= length), None)
    if most is None:
        raise NoMatch(f"{length} elements do not fill two vectors")
    lanes, main = _by_lanes(1, most, _LOOP), length - length % most
    if main == length:
        return lanes(at, place)
    parts = then(inside("left")(lanes), inside("right")(first(in_halves(most), _REST)))
    return then(fold_here_with_rest(main), parts)(at, place)


def lanes_in_halves(at: Rewriting, place: Position) -> Rewriting:
    """A fold of as many numbers as a vector has, which lie in registers, by halves."""
    lanes = length_of(term_at(at.term, (*place, "xs")))
    return _by_lanes(1, lanes // 2, _IN_A_ROW)(at, place)


def _by_lanes(lanes: int, most: int, loop: Tactic) -> Tactic:
    """A fold of as many elements as `most` divides as one of so many lanes, which come from twice as many; the `most` from a loop."""
    if lanes == most:
        return then(vectorize_reduction(lanes), inside(*_VECTORS)(loop))
    wider = _by_lanes(2 * lanes, most, loop)
    if lanes == 1:
        return then(wider, _IN_A_ROW)
    return then(wider, vectorize_reduction(lanes), inside(*_VECTORS)(_IN_A_ROW))


_VECTORS: Position = ("xs", "vs", "x")
"""From a fold of lanes to the fold of vectors that fills them."""
_LOOP = then(inside("xs")(attempt(apply("as_vector_map"))), fuse())
_IN_A_ROW = apply("reduce_to_seq_unroll")
"""A fold of lanes, one after the other."""
_REST = then(fuse(), attempt(apply("reduce_seq_to_unroll")))
