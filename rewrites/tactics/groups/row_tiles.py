"""Tactics for maps over rows or tiles on a GPU: a group copies what it reads to local memory, side by side.

A work-item that goes through a row of its own reads far from its neighbours, which do the same one row further.  Here
the rows of a group, which lie one after the other, are copied first, neighbours copying neighbouring cells, and read
from local memory then; an open cell follows each row there, so that neighbours read from different banks.  A table
that lies column by column, and is written row by row, goes through local memory by square tiles in the same way.
Source: the padding is that of Ruetsch and Micikevicius, 2009, for transpositions.
"""

from __future__ import annotations

from collections.abc import Sequence

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    copy,
    curried,
    first,
    fission,
    fuse,
    inside,
    nest,
    normalize,
    then,
)
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.groups.rows.in_lanes import in_lanes
from relift.rewrites.tactics.groups.tiles import (
    GROUPS,
    as_vectors,
    cells_copied,
    columns_behind,
    rows_behind,
)
from relift.rewrites.tactics.groups.tiling.teams import WORK_ITEMS
from relift.rewrites.tactics.groups.whole_windows import first_of_more
from relift.rewrites.tactics.nests.padding import padded
from relift.rewrites.tactics.reuse import lies_across
from relift.rewrites.tactics.sharing import has_fold, named
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Zip
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    dimensions,
    holds_array,
    types_within,
)

_PAIR = 2
"""Cells that a work-item copies at a time: an H100 takes 6 % off k-means by that; four of a row of 34 cross its end."""

LEAST_ROW = 8
"""Cells of a row that neighbours read far apart: fewer lie in what memory sends at a time."""


@curried
def rows_in_groups(
    at: Rewriting, place: Position, items: int, local_bytes: int, lanes: int = 1
) -> Rewriting:
    """A map over rows by groups of so many work-items, with their rows in local memory; an element of `zip` may be a row.

    Each gives a value, or a row of its own, which is written as rows are read: through local memory.  A work-item has one row, or
    several that give a value each in the `lanes` of its vectors.

    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.row_tiles import rows_in_groups
    >>> from relift import add, f32, map, nat, program, reduce
    >>> n, m = nat("n"), nat("m")
    >>> @program
    ... def row_sums(a: f32[n, m]):
    ...     return map(lambda row: reduce(add, 0.0, row), a)
    >>> found = derive(row_sums, rows_in_groups(32, 48 * 1024), {"n": 64, "m": 9})
    >>> [step.rule for step in found.steps][:3], found.steps[-1].rule
    (['reduce_to_seq', 'split_join', 'map_to_wrg'], 'map_to_lcl')
    """
    t = term_at(at.term, place)
    gives_rows = isinstance(t, Map) and isinstance(t.f.body.type, Array)
    if gives_rows and not has_fold(t):
        raise NoMatch("no row is folded: its cells are read once, side by side")
    at = then(*([named()] if gives_rows else []), fuse())(at, place)
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not is_layout(t.xs):
        raise NoMatch("no map over rows stands here")
    tables = list(row_tables(at, (*place, "xs")))
    if not tables:
        raise NoMatch("neighbours read no rows that lie one after the other")
    written = _row(t.type)
    if gives_rows and written is None:
        raise NoMatch("the rows that are computed are not of numbers")
    if gives_rows and lanes > 1:
        raise NoMatch("a work-item writes one row")
    own = items * lanes
    rows = [(length, size) for _, length, size in tables]
    rows += [written] if written is not None else []
    room = sum(own * (length + 2) * size for length, size in rows)
    if room > local_bytes:
        raise NoMatch("the rows of a group do not fit into local memory")
    if more := -length_of(t.xs) % own:
        at, place = padded(more, 0)(at, place), (*place, "xs")
    at = apply("split_join", m=own)(at, place)
    at = inside("xss")(_zips_apart)(at, place)
    at = inside("xss")(then(apply("map_to_wrg", d=0)))(at, place)
    for below, length, _ in tables:
        at = inside("xss", "f", "xs", *below)(rows_staged(items, length))(at, place)
    each = in_lanes(lanes) if lanes > 1 else apply("map_to_lcl", d=0)
    at = inside("xss", "f")(each)(at, place)
    if written is None:
        return at
    at = inside("xss", "f", "f")(normalize(_in_order))(at, place)
    return inside("xss", "f")(_copied_back(items, written[0]))(at, place)


def _copied_back(items: int, length: int) -> Tactic:
    """A table that a group has computed in local memory, copied from there cell by cell by all work-items."""
    computed = inside("xs", "xss", "xs", "xs", "xss")(apart_by_rows(length))
    return then(_cell_by_cell(items), computed)


def _in_order(at: Rewriting, place: Position) -> Rewriting:
    """A map that computes, by the work-item that has its row."""
    if is_layout(term_at(at.term, place)):
        raise NoMatch("what only moves data is read where it is")
    return apply("map_to_seq")(at, place)


@curried
def tiles_across(at: Rewriting, place: Position, side: int) -> Rewriting:
    """A map over the cells of a table that lies across, by groups with a square tile each, read from local memory.

    Neighbours read the tile along the lines of memory, and write it along those of the result.  Of rows and columns that
    `side` does not divide a tile has as many as do, or there are tiles of which only what is in the table is written.

    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.row_tiles import tiles_across
    >>> found = derive(load_program("examples/transpose.py"), tiles_across(32), {"n": 64, "m": 96})
    >>> [step.rule for step in found.steps if step.rule.startswith(("tile", "store", "pad"))]
    ['tile_map', 'pad_empty_removed', 'pad_empty_transpose', 'store_local']
    """
    at = cells_copied(at, place)
    at = then(attempt(apply("map_map_transpose", "backward")), fuse())(at, place)
    t = term_at(at.term, place)
    if not isinstance(t, Map) or _row(t.xs.type) is None or not is_layout(t.xs):
        raise NoMatch("no map over the cells of one table stands here")
    if not lies_across(at.term, (*place, "xs")):
        raise NoMatch("neighbours read what lies side by side")
    at, place = _in_whole_tiles(at, place, side)
    rows, columns = _sides(term_at(at.term, place).type, side)
    at = apply("tile_map", m=rows, n=columns)(at, place)
    tile = then(nest(*WORK_ITEMS), inside("xs")(_across(rows)))
    return inside("xs", "xss", "xs")(nest(*GROUPS, tile))(at, place)


def _sides(t: Type, most: int) -> tuple[int, int]:
    """How many rows and columns a tile has: at most so many that divide those of a table."""
    rows, columns = (_dividing(n, most, LEAST_ROW) for n in _lengths(t))
    if not rows or not columns:
        raise NoMatch("no tile of some rows and columns divides the table")
    return rows, columns


def _dividing(length: int, most: int, least: int) -> int:
    """The largest number between two that divides a length; none is zero."""
    return next((d for d in range(most, least - 1, -1) if length % d == 0), 0)


def _lengths(t: Type) -> list[int]:
    return [n.constant or 1 for n in dimensions(t)[0]]


def _in_whole_tiles(at: Rewriting, place: Position, most: int) -> tuple[Rewriting, Position]:
    """Maps in one another over a table of whole tiles, and where they stand, beyond whose ends nothing is written.

    Where no number between half of `most` and `most` divides the rows or the columns of a table there are a few more.
    """
    more = _missing(_lengths(term_at(at.term, place).type), most)
    at = padded(*more)(at, place)
    place = (*place, *("xs",) * sum(map(bool, more)))
    if more[1]:
        at = fission("f", "xs")(at, place)
    return at, place


def _missing(lengths: Sequence[int], most: int) -> list[int]:
    """How many rows and columns a table has less than whole tiles have."""
    if min(lengths) < LEAST_ROW:
        raise NoMatch("the table has few rows or columns")
    return [0 if _dividing(n, most, min(n, most // 2 + 1)) else -n % most for n in lengths]


def _first_table(at: Rewriting, place: Position) -> Position:
    """From a map over zips to the first of the tables that are zipped."""
    below: Position = ("xs",)
    while isinstance(term_at(at.term, (*place, *below)), Zip):
        below = (*below, "xs")
    return below


def _across(rows: int) -> Tactic:
    """A tile of so many rows that lies across, in local memory, with one or two open cells behind each of its lines."""
    return then(
        apply("transpose_transpose", "backward"),
        inside("xss")(copy(*WORK_ITEMS)),
        columns_behind(1 + rows % 2),
    )


@curried
def zipped_across(at: Rewriting, place: Position, side: int) -> Rewriting:
    """A map over the cells of two tables of which one lies across, by groups with a square tile of each.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.row_tiles import zipped_across
    >>> @rl.program
    ... def sums(a: rl.f32[64, 96], b: rl.f32[96, 64]):
    ...     rows = rl.zip(a, rl.transpose(b))
    ...     return rl.map(lambda p: rl.map(lambda q: q[0] + q[1], rl.zip(p[0], p[1])), rows)
    >>> [s.rule for s in derive(sums, zipped_across(32)).steps if s.rule.startswith(("tile", "store"))]
    ['tile_map', 'tile_zip', 'store_local']
    """
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not isinstance(t.xs, Zip) or not isinstance(t.f.body, Map):
        raise NoMatch("no map over the cells of two tables stands here")
    across = [f for f in ("xs", "ys") if lies_across(at.term, (*place, "xs", f))]
    if not across:
        raise NoMatch("neighbours read what lies side by side")
    for depth, more in enumerate(_missing(_lengths(t.type), side)):
        if more:
            at = first_of_more(at, (*place, *_first_table(at, place)), more, depth, place)
            place = (*place, "xs")
    at = fission("f", "xs")(at, place)
    rows, columns = _sides(term_at(at.term, place).type, side)
    at = apply("tile_map", m=rows, n=columns)(at, place)
    blocks = (*place, "xs", "xss", "xs")
    at = inside("xs")(apply("tile_zip"))(at, blocks)
    at = fuse()(at, blocks)
    for field in across:
        at = inside("f", "f", "xs", field)(_across(rows))(at, blocks)
    return nest(*GROUPS, *WORK_ITEMS)(at, blocks)


def row_tables(at: Rewriting, place: Position) -> list[tuple[Position, int, int]]:
    """The tables of rows that are zipped here and lie row by row: where, how long a row is, and the bytes of a cell."""
    t = term_at(at.term, place)
    if isinstance(t, Zip):
        return [
            ((field, *below), length, size)
            for field in ("xs", "ys")
            for below, length, size in row_tables(at, (*place, field))
        ]
    row = _row_of_tuples(t.type)
    if row is None or row[0] < LEAST_ROW or lies_across(at.term, place):
        return []
    return [((), *row)]


def _row(t: Type) -> tuple[int, int] | None:
    """How many scalars the rows of a table have, and the bytes of each; None for what is no table of scalars."""
    match t:
        case Array(Array(Scalar() as scalar, n), _) if n.constant is not None:
            return n.constant, scalar.bytes
        case Array() | Scalar() | Tuple() | Vector() | TypeVariable():
            return None


def _row_of_tuples(t: Type) -> tuple[int, int] | None:
    """The same of a table of scalars, or of tuples of them."""
    lengths, each = dimensions(t)
    if len(lengths) != 2 or not isinstance(each, Tuple) or holds_array(each):
        return _row(t)
    length = lengths[1].constant
    return None if length is None else (length, bytes_of(each))


def bytes_of(t: Type) -> int:
    """Of a scalar, or of a tuple of them."""
    return sum(p.bytes for p in types_within(t) if isinstance(p, Scalar))


def _zips_apart(at: Rewriting, place: Position) -> Rewriting:
    """A map over chunks of zips as one over zips of chunks."""
    t = term_at(at.term, (*place, "xs", "xs"))
    if not isinstance(t, Zip):
        return at
    at = then(inside("xs")(apply("split_zip")), apply("map_fusion"))(at, place)
    return at


def rows_staged(items: int, length: int, *, of: int = 0) -> Tactic:
    """A table of rows in local memory, copied by all work-items in pairs of cells, if no pair is apart; see `apart_by_rows`.

    They may be chunks `of` longer rows: where these are odd, each second pair begins in the middle of what memory sends together.
    The components of tuples are arrays of their own there.
    """
    in_pairs = as_vectors(_PAIR, _turns(items))
    odd = length % _PAIR or of % _PAIR
    copied = _cell_by_cell(items) if odd else first(in_pairs, _cell_by_cell(items))
    return then(copied, apart_by_rows(length))


def _cell_by_cell(items: int) -> Tactic:
    """A table copied by so many work-items, neighbours copying neighbouring cells."""
    return then(apply("split_of_join", "backward"), inside("xs")(_turns(items)))


def _turns(items: int) -> Tactic:
    """An array copied by so many work-items in turn."""
    return then(
        apply("join_split", "backward", m=items),
        inside("xss")(copy(apply("map_to_seq"), apply("map_to_lcl", d=0))),
    )


def apart_by_rows(length: int) -> Tactic:
    """A table whose rows have so many cells, in local memory: one or two open cells are behind each row, if that is dear otherwise.

    So an odd number of cells is between the rows, and no two work-items read from one bank.  Where only two would, the rows stay
    as they are, and no copy has to count which one it is in: k-means, of rows of 34, takes an H100 48 us instead of 51.
    """
    if length % 4 == 2:
        return apply("store_local")
    return rows_behind(1 + length % 2)
