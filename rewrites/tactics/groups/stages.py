"""Tactics for maps over small blocks on a GPU: a group has a block, and its work-items share every stage of it.

What a stage computes stands in local memory, where the next one reads it: a product of three small matrices, a
transform of rows and then of columns.

    map (\\x. map g (map f x)) xs  =  map_wrg (\\x. map_lcl g (to_local (map_lcl f x))) xs

What is computed of a tile along both of its axes reads it there, too:

    map (\\t. (map f t, map g (transpose t))) xs  =  map_wrg (\\t. let l = to_local t in (map_lcl f l, map_lcl g (transpose l))) xs

Source: Halide, PLDI'13, compute_at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    apply,
    copy,
    curried,
    inside,
    nest,
    then,
    under_a_name,
)
from relift.rewrites.tactics.groups.rows.by_groups import IN_ORDER, for_groups, in_maps
from relift.rewrites.tactics.groups.tiles import rows_behind
from relift.rewrites.tactics.groups.tiling.teams import WORK_ITEMS
from relift.rewrites.tactics.nests.zips import zipped
from relift.rewrites.tactics.sharing import under_names
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Let, Map, Transpose
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    is_invariant,
    places_of,
    positions,
    term_at,
)
from relift.semantics.syntax.terms import Lambda, MakeTuple, Term, children, parts_of
from relift.semantics.syntax.types import (
    Scalar,
    Tuple,
    cells,
    dimensions,
    holds_array,
    is_table_of_numbers,
)


@curried
def stages_by_groups(at: Rewriting, place: Position, depth: int, local_bytes: int) -> Rewriting:
    """Maps `depth` deep over blocks, a group for each block, whose stages stand in local memory.

    Raises `NoMatch` where a block is computed in one stage, or there is no room for what stands between them.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.stages import stages_by_groups
    >>> @rl.program
    ... def turned_twice(x: rl.f32[4, 8, 8]):
    ...     double = lambda b: rl.map(lambda row: rl.map(lambda v: v + v, row), b)
    ...     return rl.map(lambda b: double(rl.transpose(double(b))), x)
    >>> [step.rule for step in derive(turned_twice, stages_by_groups(1, 48 * 1024)).steps]
    ['map_to_lcl', 'map_to_lcl', 'store_local', 'map_to_lcl', 'map_to_lcl', 'map_to_wrg']
    """
    block = in_maps(at, place, depth)
    if isinstance(term_at(at.term, block).type, Tuple):
        raise NoMatch("of several results none is a stage before the others")
    at = under_names(_invariant)(at, block)
    stages = list(_stages(term_at(at.term, block)))
    kept = [term_at(at.term, (*block, *stage)) for stage in stages[:-1]]
    if not kept:
        raise NoMatch("a block is computed in one stage")
    if 4 * sum(cells(t.type).constant or local_bytes for t in kept) > local_bytes:
        raise NoMatch("local memory has no room for what stands between the stages")
    for stage in stages:
        last = stage == stages[-1]
        lowered = _shared_out if last else then(_shared_out, apply("store_local"))
        at = inside(*stage)(lowered)(at, block)
    return for_groups(at, block, depth)


@curried
def tiles_both_ways(at: Rewriting, place: Position, depth: int, local_bytes: int) -> Rewriting:
    """Maps `depth` deep over tiles, of whose rows and columns arrays are computed, by groups with a tile in local memory each.

    An open cell follows each row there where its length is even, so that neighbours that go along rows read from different banks.  Raises
    `NoMatch` where no tile is computed with along both axes, or there is no room for it.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.stages import tiles_both_ways
    >>> @rl.program
    ... def margins(x: rl.f32[4, 8, 8]):
    ...     total = lambda u: rl.reduce(rl.add, 0.0, u)
    ...     return rl.map(lambda t: (rl.map(total, t), rl.map(total, rl.transpose(t))), x)
    >>> steps = derive(margins, tiles_both_ways(1, 48 * 1024)).steps
    >>> [step.rule for step in steps if step.rule.startswith(("map_to", "let", "store"))]
    ['let_inline', 'map_to_seq', 'map_to_lcl', 'store_local', 'map_to_lcl', 'map_to_lcl', 'map_to_wrg']
    """
    tile = in_maps(at, place, depth)
    parts = list(_parts(term_at(at.term, tile)))
    table = _table_of(term_at(at.term, tile), parts)
    lengths, number = dimensions(table.type)
    assert isinstance(number, Scalar), "cannot happen: it is a table of numbers"
    rows, columns = (n.constant or 0 for n in lengths)
    open_cells = 1 - columns % 2
    if not 0 < number.bytes * rows * (columns + open_cells) <= local_bytes:
        raise NoMatch("local memory has no room for a tile")
    read = places_of(term_at(at.term, tile), table)[0]
    at = under_a_name(*read)(at, tile)
    stored = rows_behind(open_cells) if open_cells else apply("store_local")
    at = inside("x")(then(copy(apply("map_to_seq"), WORK_ITEMS[-1]), stored))(at, tile)
    for part in parts:
        at = then(inside("f")(IN_ORDER), WORK_ITEMS[-1])(at, (*tile, "f", *part))
    return for_groups(at, tile, depth)


def _parts(t: Term, place: Position = ()) -> Iterator[Position]:
    """Where the results of a tile stand, each of which is a map to numbers."""
    if isinstance(t, MakeTuple):
        for part, child in children(t):
            assert not isinstance(child, Lambda), "cannot happen: no function is a part"
            yield from _parts(child, (*place, part))
    elif isinstance(t, Map) and not holds_array(t.f.body.type):
        yield place
    else:
        raise NoMatch("not all that is computed of a tile are maps to numbers")


def _table_of(tile: Term, parts: Sequence[Position]) -> Term:
    """The table whose rows are one result's, and whose columns another's; what it is of are variables of functions around."""
    through = [t.xs for part in parts if isinstance(t := term_at(tile, part), Map)]
    tables = [list(zipped(xs)) for xs in through]
    rows = {t for each in tables for t in each if is_table_of_numbers(t.type)}
    columns = {t.xss for each in tables for t in each if isinstance(t, Transpose)}
    found = sorted((t for t in rows & columns if is_layout(t)), key=parts_of)
    if not found:
        raise NoMatch("no tile is computed with along both axes")
    return found[0]


def _invariant(t: Term) -> Position | None:
    """The smallest map in functions that needs nothing of their elements: these compute it anew for each."""
    found = [
        place
        for place, u in positions(t)
        if isinstance(u, Map) and not is_layout(u.f.body)
        if binders_at(t, place) and is_invariant(t, place)
    ]
    return max(found, key=len, default=None)


def _stages(t: Term, place: Position = ()) -> Iterator[Position]:
    """Where the maps are that compute something of a block, outside of functions; first what others read."""
    if isinstance(t, Let):
        yield from _stages(t.x, (*place, "x"))
        yield from _stages(t.f.body, (*place, "f"))
        return
    for field, child in children(t):
        if not isinstance(child, Lambda):
            yield from _stages(child, (*place, field))
    if isinstance(t, Map) and not is_layout(t.f.body):
        yield place


def _shared_out(at: Rewriting, place: Position) -> Rewriting:
    """A table, or a row, each of whose elements a work-item computes."""
    t = term_at(at.term, place)
    assert isinstance(t, Map), "cannot happen: a stage is a map"
    items = WORK_ITEMS if isinstance(t.f.body, Map) else WORK_ITEMS[-1:]
    at = inside(*("f",) * len(items))(IN_ORDER)(at, place)
    return nest(*items)(at, place)
