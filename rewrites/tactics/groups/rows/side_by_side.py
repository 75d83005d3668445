"""Tactics for maps over short rows on a GPU: a group has several rows side by side, and each row a few of its work-items.

A row of some hundred elements is too short for a group, whose members would fold more partial results than elements of
their own, and too long for one work-item, which reads far from its neighbours.  Here the members of each row fold a share
of it; what they found, of all rows of the group, stands in local memory, where each reads what it needs of its row.

    map (\\r. f r (g r)) rows  =  map (\\p. f p.0 p.1) (zip rows (to_local (map g rows)))

Source: LIFT, GPGPU'16, for the folds of members; that several rows share a group is what libraries do with the lanes of a warp.
"""

from __future__ import annotations

from collections.abc import Sequence

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.batches import where_written
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    curried,
    fission,
    inside,
    then,
)
from relift.rewrites.tactics.folds.places import places_in_any_order
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.rewrites.tactics.groups.cooperative import has_lanes, share_stored
from relift.rewrites.tactics.groups.rows.by_groups import (
    FUSED_OUT_OF_ZIPS,
    IN_ORDER,
    for_groups,
    named,
    row_in_maps,
    shared_out,
    written_by,
)
from relift.rewrites.tactics.groups.rows.whole_turns import shared_evenly
from relift.rewrites.tactics.nests.padding import padded
from relift.rewrites.tactics.sharing import under_names
from relift.semantics.patterns import MapLcl, Reduce, Reduction
from relift.semantics.syntax.binding import Position, is_invariant, positions, term_at
from relift.semantics.syntax.terms import Term

_BY_MEMBERS, _BY_ROWS = (apply("map_to_lcl", d=d) for d in (0, 1))


@curried
def rows_side_by_side(
    at: Rewriting, place: Position, depth: int, most: int, items: int, width: int
) -> Rewriting:
    """A map over rows, in `depth` - 1 maps more, of which a group of about so many `items` has several, each by at most `most` members.

    These read vectors of `width`.  Of the last group only those rows are written that there are.  Raises `NoMatch` where a row
    is not folded, or no number of members shares its folds evenly.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.rows.side_by_side import rows_side_by_side
    >>> @rl.program
    ... def parts(a: rl.f32[64, 96]):
    ...     return rl.map(lambda row: rl.map(lambda v: v / rl.reduce(rl.add, 0.0, row), row), a)
    >>> steps = derive(parts, rows_side_by_side(1, 8, 128, 4)).steps
    >>> [s.rule for s in steps if s.rule.startswith(("map_fission", "store", "map_to_wrg"))]
    ['map_fission_with_zip', 'store_local', 'map_to_wrg']
    """
    at, row = row_in_maps(attempt(places_in_any_order())(at, place), place, depth)
    outer = row[:-1]
    at, names = named(FUSED_OUT_OF_ZIPS(at, row), row, 0)
    if not depth or not names:
        raise NoMatch("no map over rows is here whose function folds a row")
    members = _members(
        [term_at(at.term, (*row, *("f",) * i, "x")) for i in range(names)], most, width
    )
    rows = 1 << (items // members).bit_length() - 1
    of_rows = outer
    if more := -length_of(term_at(at.term, (*outer, "xs"))) % rows:
        at, of_rows = padded(more, 0)(at, outer), (*outer, "xs")
    at = apply("split_join", m=rows)(at, of_rows)
    chunk = (*of_rows, "xss", "f")
    for i in range(names):
        at = _by_members(members, width)(at, (*chunk, "f", *("f",) * i, "x"))
    result = (*chunk, "f", *("f",) * names)
    at = where_written(written_by(width, _shared_out(members)))(at, result)
    at = _in_phases(at, chunk, names)
    at = _BY_ROWS(at, chunk)
    at = apply("map_to_wrg", d=0)(at, (*of_rows, "xss"))
    return for_groups(at, outer, depth - 1, 1)


def _members(named: Sequence[Term], most: int, width: int) -> int:
    """How many members share the folds of a row: more than half of `most`, if some number divides their vectors, else `most`."""
    lengths = [length_of(t.xs) for t in named if isinstance(t, Reduce)]
    if len(lengths) < len(named):
        raise NoMatch("what has a name is no fold")
    if not most < min(lengths) <= max(lengths) <= _MOST_EACH * most:
        raise NoMatch(f"no rows of which {most} members fold up to {_MOST_EACH} elements each")
    shared_evenly = (d for d in range(most, most // 2, -1) if all(n % d == 0 for n in lengths))
    members = next(
        (d for d in shared_evenly if all(n % width or n % (d * width) == 0 for n in lengths)), most
    )
    in_vectors = all(n % (members * width) == 0 for n in lengths)
    if members * (width if in_vectors else 1) < _LEAST_TOGETHER:
        raise NoMatch(f"{members} members read less of a row at a time than memory sends")
    return members


_LEAST_TOGETHER = 8
"""Numbers of a row that its members read side by side.

Four, of rows of 197 numbers, take an H200 144 us, eight 49, and sixteen 43: fewer are a part of what memory sends, again and again.
"""

_MOST_EACH = 64
"""Elements of a row that each of its members folds."""


def _by_members(members: int, width: int) -> Tactic:
    """A fold by the members of a row, whose partial results each of them folds."""

    def fold(at: Rewriting, place: Position) -> Rewriting:
        xs = term_at(at.term, (*place, "xs"))
        length = length_of(xs)
        in_lanes = has_lanes(xs) and length % (members * width) == 0
        at, place = shared_evenly(at, place, members)
        return share_stored(members, width if in_lanes else 1, _BY_MEMBERS)(at, place)

    return then(from_neutral(fold), IN_ORDER)


def _shared_out(members: int) -> Tactic:
    """A map of which each member of a row computes every so manieth element, in turn; one each at once."""
    across = inside("xs")(apply("transpose_transpose", "backward"))
    in_turn = then(inside("f")(apply("map_to_seq")), _BY_MEMBERS)
    several = shared_out(members, then(across, apply("map_map_transpose"), inside("xss")(in_turn)))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        one_each = length_of(term_at(at.term, place)) == members
        return (_BY_MEMBERS if one_each else several)(at, place)

    return tactic


def _in_phases(at: Rewriting, chunk: Position, names: int) -> Rewriting:
    """What the members of all rows found stands in local memory; what a row's come to, each member computes where it needs it."""
    body = (*chunk, "f")
    for _ in range(names):
        found = next(
            p for p, t in positions(term_at(at.term, (*body, "x"))) if isinstance(t, MapLcl)
        )
        at = _folds_named(at, (*body, "x", *found))
        at = fission("f", "x", *found, beside=True)(at, chunk)
        at = inside("xs", "ys")(then(_BY_ROWS, apply("store_local")))(at, chunk)
        at = apply("let_inline")(at, body)
    return _folds_named(at, body)


def _fold_of_row(t: Term) -> Position | None:
    """The first fold that needs no variable of what is around it; of folds in one another the outermost."""
    folds = (place for place, u in positions(t) if place and isinstance(u, Reduction))
    return next((place for place in folds if is_invariant(t, place)), None)


_folds_named = under_names(_fold_of_row)
"""What is folded of a row as a whole, under names around the rest, which needs it for each of its elements."""
