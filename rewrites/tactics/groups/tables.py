"""Tactics for arrays of more dimensions than a table, whose neighbours in memory are neighbours in another dimension than the last.

    exchanged      two dimensions of a result are exchanged after it is computed, and those of what it is computed of before
    flattened      the two outermost dimensions of a result as one
    in_tables      the tactic for tables, for the two dimensions of an array for which it is

So a work-group has a tile of the dimension along which memory is read and the one along which it is written, whatever the order
of the others is: any permutation of axes is read and written in lines.
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
    fission,
    fuse,
    inside,
    skip,
    then,
)
from relift.rewrites.tactics.groups.tiles import cells_copied
from relift.rewrites.tactics.nests.dimensions import rows_first
from relift.rewrites.tactics.reuse import neighbours
from relift.semantics.patterns import Map, Transpose
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.types import dimensions

_MOST_DIMENSIONS = 5


@curried
def in_tables(
    at: Rewriting, place: Position, table: Tactic, outside: str = "map_to_wrg"
) -> Rewriting:
    """A tactic for groups that have tiles of a table, for the last dimension of an array and the one for which it applies.

    The other dimensions are for groups of the third one, or for work-items of it, as `outside` says.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.row_tiles import tiles_across
    >>> from relift.rewrites.tactics.groups.tables import in_tables
    >>> @rl.program
    ... def reversed_axes(x: rl.f32[64, 3, 32]):
    ...     return rl.transpose_axes(0, 2, x)
    >>> found = derive(reversed_axes, in_tables(tiles_across(32)))
    >>> [s.rule for s in found.steps if s.rule.startswith(("transpose", "tile"))][:3]
    ['transpose_transpose', 'tile_map', 'transpose_transpose']
    """
    depth = len(dimensions(term_at(at.term, place).type)[0])
    if not 2 <= depth <= _MOST_DIMENSIONS:
        raise NoMatch("no array of two to five dimensions")
    if depth == 2:
        return table(at, place)
    at = then(fuse(), cells_copied, _in_rows(depth))(at, place)
    found = neighbours(at.term, (*place, "xs")) or ((0.0, 0.0),) * depth
    nearest = sorted(range(depth - 1), key=lambda d: found[d][1])
    items = apply(outside, d=2)
    return first(*(_with(d, depth, table, items) for d in nearest))(at, place)


@curried
def _with(
    at: Rewriting, place: Position, dimension: int, depth: int, table: Tactic, outside: Tactic
) -> Rewriting:
    """A tactic for tables, for one dimension of an array and its last one."""
    for d in range(dimension, depth - 2):
        at = exchanged(d)(at, place)
        place = (*place, "xs" if d else "xss")
        at = _in_rows(depth)(at, place)
    for _ in range(depth - 3):
        at = flattened(at, place)
        place = (*place, "xs")
    return then(fuse(), inside("f")(table), outside)(at, place)


def _in_rows(depth: int) -> Tactic:
    """Maps in one another, each of which goes through the elements of the one around it."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map) or not isinstance(t.f.body, Map):
            raise NoMatch("no maps in one another")
        return then(inside("f")(_in_rows(depth - 1)), rows_first)(at, place)

    return tactic if depth > 1 else skip


def exchanged(d: int) -> Tactic:
    """The dimensions `d` and the one inside it change places before a result is computed, and back after it is."""
    here = then(apply("transpose_transpose", "backward"), inside("xss")(_read_exchanged))
    computed = ["xss", *("xs",) * d]
    outside = (inside(*("f",) * i)(fission("f", computed[d - 1 - i])) for i in reversed(range(d)))
    return then(inside(*("f",) * d)(here), *outside)


def _read_exchanged(at: Rewriting, place: Position) -> Rewriting:
    """A transposed result of maps in one another, computed from what is transposed."""
    t = term_at(at.term, place)
    if isinstance(t, Transpose) and isinstance(t.xss, Map) and isinstance(t.xss.f.body, Map):
        at = inside("xss")(rows_first)(at, place)
    by_maps = then(apply("map_map_transpose", "backward"), inside("xs")(attempt(_read_exchanged)))
    return first(by_maps, apply("zip_transpose", "backward"))(at, place)


def flattened(at: Rewriting, place: Position) -> Rewriting:
    """The rows of the two outermost dimensions, one after the other."""
    joined = inside("xs")(apply("split_of_join", "backward"))
    return then(joined, apply("split_map", "backward"))(at, place)
