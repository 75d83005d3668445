"""Tactics for numbers that are folded of whole arrays, on a GPU: long folds by many groups, what they found by one.

reduce op z xs  =  reduce op z (store (map (reduce op z) (split m xs)))          (partial_reduce_chunks)

A group folds each chunk, together.  What the groups found is folded by the work-items of one group, and so is all else
of which the numbers are made: several folds are one kernel then, and the first work-item writes what comes of them.
Source: LIFT, GPGPU'16, macro rule partialReduce; NVIDIA, Optimizing parallel reduction, for the second kernel.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    first,
    inside,
    then,
)
from relift.rewrites.tactics.folds.places import places_in_any_order, reduced_in_chunks
from relift.rewrites.tactics.folds.remainders import fold_here_with_rest, length_of
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.rewrites.tactics.groups.cooperative import by_groups, chunk_near
from relift.rewrites.tactics.groups.rows.by_groups import IN_ORDER, rows_by_groups
from relift.semantics.patterns import Reduce
from relift.semantics.syntax.binding import Position, binders_at, positions, term_at
from relift.semantics.syntax.places import outermost
from relift.semantics.syntax.terms import Term, free_variables
from relift.semantics.syntax.types import holds_array

_MEMBERS = (256, 128, 64, 32)
"""Work-items of the one group: as many as there are vectors for."""

_FEW = 128
"""So few elements each work-item folds by itself."""


_ALONE = 1 << 14
"""So many elements one group folds: more than 16 vectors for each of its work-items are read faster by many groups."""


def numbers_by_groups(
    groups: int, members: int, width: int, local_bytes: int, alone: int = _ALONE
) -> Tactic:
    """A value that is no array: by one group, and its folds of more than `alone` elements by many before, of `members` each.

    Work-items read vectors of `width`.  Raises `NoMatch` where nothing is folded that needs no variable, or what is
    folded has no two chunks.

    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.numbers import numbers_by_groups
    >>> dot = load_program("examples/dot.py")
    >>> found = derive(dot, numbers_by_groups(512, 32, 4, 1 << 15), {"n": 1 << 20})
    >>> [step.rule for step in found.steps if step.rule.startswith("store")]
    ['store_local', 'store_global', 'store_local', 'store_local']
    """
    one_group = first(*(rows_by_groups(0, m, width, local_bytes) for m in _MEMBERS))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if holds_array(term_at(at.term, place).type):
            raise NoMatch("what is computed holds an array, and no numbers only")
        at = attempt(places_in_any_order())(at, place)
        if not _whole_folds(term_at(at.term, place)):
            raise NoMatch("no array is folded that needs no variable")
        for below in _whole_folds(term_at(at.term, place)):
            if length_of(term_at(at.term, (*place, *below, "xs"))) > alone:
                at = from_neutral(_in_chunks(groups, members, width))(at, (*place, *below))
        for below in _whole_folds(term_at(at.term, place)):
            if length_of(term_at(at.term, (*place, *below, "xs"))) <= _FEW:
                at = _BY_ITSELF(at, (*place, *below))
        return (one_group if _whole_folds(term_at(at.term, place)) else IN_ORDER)(at, place)

    return tactic


_BY_ITSELF = then(apply("reduce_to_seq"), attempt(apply("reduce_map_fusion")))
"""Few elements are computed as they are folded."""


def _whole_folds(t: Term) -> list[Position]:
    """Where whole arrays are folded to numbers, outside all functions, and in no other such fold; the last first."""
    folds = (place for place, u in positions(t) if isinstance(u, Reduce) and not free_variables(u))
    return outermost(place for place in folds if not binders_at(t, place))[::-1]


def _in_chunks(groups: int, members: int, width: int) -> Tactic:
    """A fold of what about so many groups find, each in a chunk, and of the rest."""
    each = then(
        attempt(inside("xs")(apply("split_map"))),
        attempt(apply("map_fusion")),
        by_groups(members, width),
        apply("store_global"),
    )

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        length = length_of(term_at(at.term, (*place, "xs")))
        chunk = chunk_near(length, groups, members * width)
        if not chunk:
            raise NoMatch(f"{groups} groups do not share {length} elements")
        if rest := length % chunk:
            at = fold_here_with_rest(length - rest)(at, place)
            place = (*place, "left")
        chunks = reduced_in_chunks("partial_reduce_chunks", chunk)
        return then(chunks, inside("xs")(each))(at, place)

    return tactic
