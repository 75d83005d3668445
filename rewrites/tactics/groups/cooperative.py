"""Tactics for cooperative reductions: work-items of a group reduce together, each a share of the elements.

reduce op z xs
  =  the lanes, of the group's results, of what each member reduces    (vectorize_reduce, partial_reduce_strided)

Members read neighbouring vectors, so that a group reads whole rows of memory at a time.  What they found
stands in local memory, and one of them reduces it: in front of a map over one element, which is where a
kernel can store it (`map_one_by_one`).
Source: LIFT, GPGPU'16, macro rules vectorizeReduce and partialReduceWithReorder.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    curried,
    everywhere,
    inside,
    repeat,
    then,
    vectorize_reduction,
)
from relift.rewrites.tactics.folds.places import reduced_in_chunks
from relift.semantics.patterns import Map, Reduce
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.places import outermost
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import Array, Scalar

PARTS = ("xs", "vs", "x", "xs")
"""From a reduction by vectors to the results of the members."""
MOST_FOUND, SHARE_OF_FOUND = 128, 32
"""Numbers that each member reduces of what all found; of more, a few members reduce a share of so many each."""


def share(members: int, width: int) -> Tactic:
    """A reduction by this many `members`, which reduce vectors of `width`; what is reduced is computed by them."""
    return then(vectorize_reduction(width), inside(*PARTS[:-1])(shared(members)))


def shared(members: int) -> Tactic:
    """A reduction of vectors, each member with every `members`-th of them."""
    return then(
        inside("xs")(attempt(apply("as_vector_map"))),
        reduced_in_chunks("partial_reduce_strided", members),
        inside("xs", "xs")(
            attempt(then(inside("xss")(apply("split_map")), apply("map_map_transpose", "backward")))
        ),
        inside("xs")(attempt(apply("map_fusion"))),
        inside("xs", "f")(then(apply("reduce_to_seq"), attempt(apply("reduce_map_fusion")))),
    )


def shared_by_lanes(members: int, width: int, stored: Tactic) -> Tactic:
    """As `share` does, where each member also reduces the lanes of what it found: what is left is `width` times shorter.

    What the members found is `stored` where all see it, and reduced by vectors: by everybody alike, or where it is
    long by a few members first.
    """
    lanes_apart = then(
        inside(*PARTS)(apply("as_vector_as_scalar", "backward")),
        apply("vectorize_reduce", "backward"),
        reduced_in_chunks("partial_reduce_chunks", width),
    )
    of_each = then(
        inside("xs")(apply("split_as_scalar", m=1)),
        inside("xs", "xs")(apply("split_one")),
        repeat(inside("xs")(apply("map_fusion"))),
        repeat(apply("map_fusion")),
    )
    few = members // SHARE_OF_FOUND if members > MOST_FOUND else 0
    left = shared_by_lanes(few, width, stored) if few else vectorize_reduction(width)
    return then(share(members, width), lanes_apart, inside("xs")(then(of_each, stored)), left)


def share_stored(members: int, lanes: int, stored: Tactic) -> Tactic:
    """A reduction by this many `members`, of vectors of `lanes` if these are several; what they found is `stored`."""
    if lanes == 1:
        return then(shared(members), inside("xs")(stored))
    if members % lanes:
        return then(share(members, lanes), inside(*PARTS)(stored))
    return shared_by_lanes(members, lanes, stored)


def has_lanes(xs: Term) -> bool:
    """Whether elements are numbers: a pair of a value and its place is no lane of a vector."""
    return isinstance(xs.type, Array) and isinstance(xs.type.element, Scalar)


def reductions(at: Rewriting, place: Position) -> list[Position]:
    """The reductions below a place that no other reduction and no map encloses."""
    here = term_at(at.term, place)
    reduces = {below: isinstance(t, Reduce) for below, t in positions(here)}
    loops = (p for p, reduced in reduces.items() if reduced or isinstance(term_at(here, p), Map))
    return [below for below in outermost(loops) if reduces[below]]


@curried
def cooperative_each(at: Rewriting, place: Position, members: int, width: int) -> Rewriting:
    """A map whose function reduces, cooperatively for every element; raises `NoMatch` for other terms."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or isinstance(t.f.body.type, Array):
        raise NoMatch("a cooperative reduction computes one value of every element of a map")
    within = reductions(at, (*place, "f"))
    if len(within) != 1:
        raise NoMatch(
            f"the function of the map has {len(within)} reductions; a cooperative one is alone there"
        )
    (reduction,) = within
    lanes = has_lanes(term_at(at.term, (*place, "f", *reduction, "xs")))
    by_members, parts = (share(members, width), PARTS) if lanes else (shared(members), ("xs",))
    at = inside("f", *reduction)(by_members)(at, place)
    first = {"h": ("f", *reduction, *parts)}
    return apply("map_one_by_one", parts=first)(at, place)


def by_groups(members: int, width: int) -> Tactic:
    """The same, lowered: a group for every element of the map, whose first work-item reduces what its members found."""
    one = then(inside("f")(everywhere(attempt(apply("reduce_to_seq")))), apply("map_to_lcl", d=0))
    found = inside("xs", "x")(then(apply("map_to_lcl", d=0), apply("store_local")))
    group = then(inside("f")(then(found, one)), apply("map_to_wrg", d=0))
    return then(cooperative_each(members, width), inside("xss")(group))


def chunk_near(length: int, parts: int, unit: int, longest: int | None = None) -> int:
    """A multiple of `unit` by which there are about so many parts, and which leaves few elements; 0 where there are no two.

    None is longer than `longest`, unless there would be more than twice so many parts.

    >>> from relift.rewrites.tactics.groups.cooperative import chunk_near
    >>> chunk_near(1 << 20, 512, 128), chunk_near(1000003, 512, 128), chunk_near(100, 2, 64)
    (2048, 2304, 0)
    >>> chunk_near(3000000, 512, 512), chunk_near(3000000, 512, 512, longest=8192)
    (10752, 6144)
    """
    least = max(length // (parts * unit), 1)
    most = min(2 * least, length // (2 * unit))
    if longest is not None:
        most = min(most, max(longest // unit, least))
    turns = range(least, most + 1)
    return min((k * unit for k in turns), key=lambda chunk: (length % chunk, chunk), default=0)
