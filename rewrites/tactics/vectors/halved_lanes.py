"""Tactics for what is left of a fold by vectors on a CPU: lanes, and elements that fill no vector.

Sixteen lanes one after the other are sixteen sums of which each waits for the one before, and fifteen elements that are left over
fifteen more; of a row of 63 numbers that is more than all else.  Here the lanes are folded in halves, and what is left joins them where
as many of its elements are a vector as there are lanes then:

    16 lanes, 15 left   8 lanes: both halves, and the next 8 elements;  4: both halves, and the next 4;  2;  1
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    first,
    fuse,
    inside,
    then,
    vectorize_reduction,
)
from relift.rewrites.tactics.folds.remainders import fold_here_with_rest, length_of
from relift.semantics.patterns import Reduce
from relift.semantics.syntax.binding import Position, term_at


def in_halves(width: int) -> Tactic:
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

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Reduce):
            raise NoMatch("no fold")
        length = length_of(t.xs)
        most = next((w for w in (16, 8, 4) if w <= width and 2 * w <= length), None)
        if most is None:
            raise NoMatch(f"{length} elements do not fill two vectors")
        return _by_lanes(1, most, _LOOP)(at, place)

    return tactic


def lanes_in_halves() -> Tactic:
    """A fold of as many numbers as a vector has, which lie in registers, by halves."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        lanes = length_of(term_at(at.term, (*place, "xs")))
        return _by_lanes(1, lanes // 2, _IN_A_ROW)(at, place)

    return tactic


def _by_lanes(lanes: int, most: int, loop: Tactic) -> Tactic:
    """A fold of as many elements as `lanes` divide as one of so many lanes, which come from twice as many; the `most` from a loop."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if lanes == most:
            return then(vectorize_reduction(lanes), inside(*_VECTORS)(loop))(at, place)
        length = length_of(term_at(at.term, (*place, "xs")))
        whole = length - length % (2 * lanes)
        wider = _by_lanes(2 * lanes, most, loop)
        if whole < length:
            wider = then(fold_here_with_rest(whole), inside("left")(wider), _TOGETHER)
        at = wider(at, place)
        if lanes == 1:
            return _IN_A_ROW(at, place)
        return then(
            vectorize_reduction(lanes),
            inside(*_VECTORS)(then(attempt(inside("xs")(apply("as_vector_concat"))), _IN_A_ROW)),
        )(at, place)

    return tactic


_VECTORS: Position = ("xs", "vs", "x")
"""From a fold of lanes to the fold of vectors that fills them."""
_LOOP = then(inside("xs")(attempt(apply("as_vector_map"))), fuse())
_TOGETHER = first(apply("reduce_concat", "backward"), apply("reduce_concat_idempotent", "backward"))
"""Lanes and elements that join them as one fold of both."""
_COMPUTED = then(
    inside("xs")(attempt(apply("as_vector_map"))),
    attempt(apply("reduce_map_fusion")),
    apply("reduce_seq_to_unroll"),
)
_IN_A_ROW = then(
    apply("reduce_to_seq"),
    first(
        then(apply("reduce_seq_concat"), inside("init")(apply("reduce_seq_to_unroll")), _COMPUTED),
        apply("reduce_seq_to_unroll"),
    ),
)
"""A fold written out, of lanes and of what joins them, one after the other."""
