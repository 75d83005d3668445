"""Schedules in which a work-item of a GPU has several neighbouring rows or columns, one in each lane of its vectors.

What all of them need is read once for all lanes, and columns that lie side by side are read in vectors.  Groups have the work-items
that run as one: of such groups a unit has few enough that each work-item has the registers to read many numbers ahead.

The nearest of five centres to 819,200 points of 34 columns takes an H200 32 to 34 us so by groups of 32, 42 to 46 by groups of 64
or more, to whose work-items NVIDIA's compiler gives half of the registers, and 38 with a work-item for each point.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    curried,
    fuse,
    inside,
    then,
)
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.nests.padding import padded
from relift.rewrites.tactics.reuse import lies_across
from relift.rewrites.tactics.sharing import has_fold
from relift.rewrites.tactics.vectors.lanes import in_vectors, short_folds
from relift.semantics.patterns import Map
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.types import cells, holds_array

TOGETHER = 32
"""Work-items that run as one."""

_WRITTEN_OUT = 256
"""Steps up to which folds of a work-item are written out: so many loads of a column are on their way together."""

_LEAST_READ = 32
"""Numbers that a work-item of such a group reads: of fewer, those that a unit has at a time do not keep memory busy.

Sums of 2^23 columns of 3 numbers take an H200 84 us by pairs and 45 by four, with a work-item for each 37; of 2^22 columns of 8, 47, 40 and 39."""


def in_lanes(lanes: int) -> Tactic:
    """A map by the work-items of a group, each of which has so many of its elements, in the lanes of vectors."""
    if lanes == 1:
        return then(inside("f")(short_folds(_WRITTEN_OUT)), apply("map_to_lcl", d=0))
    return then(in_vectors(lanes, _WRITTEN_OUT), inside("vs")(apply("map_to_lcl", d=0)))


@curried
def columns_in_lanes_of_groups(at: Rewriting, place: Position, lanes: int) -> Rewriting:
    """A map of folds over columns that lie side by side: each work-item of a small group has so many neighbouring ones.

    Where columns fill no group, there are a few more, of which nothing is written.  Raises `NoMatch` where columns do not lie side by
    side, are short, or are not folded to numbers, and where so many lanes do not divide the rows that they cross: neighbours then read
    cells that lie apart, and sums of 1,000,003 columns of 64 take an H200 216 us instead of 67.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.rows.in_lanes import columns_in_lanes_of_groups
    >>> @rl.program
    ... def sums(a: rl.f32[9, 300]):
    ...     return rl.map(lambda column: rl.reduce(rl.add, 0.0, column), rl.transpose(a))
    >>> found = derive(sums, columns_in_lanes_of_groups(4))
    >>> [step.rule for step in found.steps if step.rule.startswith(("split", "vec", "map_to"))]
    ['split_join', 'vectorize_map', 'map_to_lcl', 'map_to_wrg']
    """
    at = fuse()(at, place)
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not has_fold(t.f.body) or holds_array(t.f.body.type):
        raise NoMatch("no map of folds to numbers stands here")
    if not lies_across(at.term, (*place, "xs")):
        raise NoMatch("what is folded does not lie side by side")
    (column,) = t.f.parameters
    if lanes * (cells(column.type).constant or 0) < _LEAST_READ:
        raise NoMatch("the columns are short: a work-item reads few numbers")
    if length_of(t) % lanes:
        raise NoMatch(f"rows of {length_of(t)} numbers are no vectors of {lanes}")
    group = lanes * TOGETHER
    if length_of(t) < group:
        raise NoMatch(f"{length_of(t)} columns fill no group of {group}")
    if more := -length_of(t) % group:
        at, place = padded(more, 0, lanes)(at, place), (*place, "xs")
    by_groups = then(inside("f")(in_lanes(lanes)), apply("map_to_wrg", d=0))
    return then(apply("split_join", m=group), inside("xss")(by_groups))(at, place)
