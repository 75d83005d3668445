"""Folds of one table along both of its axes: one pass over its tiles, each of which gives what it comes to along either.

map (\\r. reduce op y r) xss, map (\\c. reduce or z c) (transpose xss)
  =  folds of found[..].0 and of found[..].1
     where found = store (map (map (\\t. (map (reduce op y) t, map (reduce or z) (transpose t)))) (tiles of xss))

Sums of rows and of columns, or the products of a matrix and of its transpose with a vector each, read the table once for
all then: two kernels read it twice.
Source: Bird, theory of lists, tupling; the tiles are those of LIFT's transposition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.batches import pairs_apart, rearranges
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    any_rule,
    apply,
    attempt,
    curried,
    first,
    fission,
    inside,
    normalize,
    then,
)
from relift.rewrites.tactics.folds.beside import paired, side_by_side
from relift.rewrites.tactics.folds.places import places_in_any_order, reduced_in_chunks
from relift.rewrites.tactics.folds.remainders import (
    fold_here_with_rest,
    length_of,
    map_here_with_rest,
)
from relift.rewrites.tactics.nests.zips import by_owner, each_once
from relift.rewrites.tactics.sharing import apart
from relift.rewrites.tactics.transpositions import READ_BY_ROWS, only
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Reduce, Take, Transpose, Zip
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    places_of,
    positions,
    term_at,
)
from relift.semantics.syntax.terms import Get, MakeTuple, Term, free_variables, parts_of
from relift.semantics.syntax.types import Type, dimensions, holds_array, is_table_of_numbers


@curried
def along_both_axes(at: Rewriting, place: Position, side: int) -> Rewriting:
    """Folds of the rows and of the columns of one table by tiles of at most so many rows and columns, which are read once.

    What is folded is computed of the elements of a row, or a column, and of arrays as long.  Raises `NoMatch` where no table is folded
    along both axes by folds of which none needs another's result, or no such tile divides it.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.both_axes import along_both_axes
    >>> @rl.program
    ... def margins(x: rl.f32[64, 96]):
    ...     total = lambda u: rl.reduce(rl.add, 0.0, u)
    ...     return rl.map(total, x), rl.map(total, rl.transpose(x))
    >>> found = derive(margins, along_both_axes(8)).result
    >>> print(rl.show(found.parts[0].xs.xss.xs.xs))  # doctest: +NORMALIZE_WHITESPACE
    map(
      lambda x_:
        map(
          lambda x: (map(lambda x: reduce(add, 0.0, x), x), map(lambda x: reduce(add, 0.0, x), transpose(x))),
          transpose(map(lambda x: split(8, x), x_))
        ),
      split(8, x)
    )
    """
    at = attempt(places_in_any_order())(at, place)
    at = then(attempt(apart()), normalize(_fold_apart))(at, place)
    at = normalize(_READ_ALONE)(at, place)
    at, batches = _of_batches(at, place)
    found = at
    for table in _folded_both_ways(term_at(at.term, place)):
        found, one = _in_one_pass(found, place, table, side)
        for here in places_of(found.term, one):
            found = apply("store_global")(found, here)
    for here in batches:
        found = _batch_in_one_pass(found, here, side)
    if place or found == at:
        raise NoMatch("no table is folded along both axes")
    return then(normalize(_part_alone), attempt(pairs_apart))(found, place)


# ---- tables of a batch


def _of_batches(at: Rewriting, place: Position) -> tuple[Rewriting, list[Position]]:
    """Where maps stand whose function folds the table that it is given along both axes, and more: two that fold one each are one."""
    alone: dict[Term, dict[bool, list[Term]]] = {}
    for _, u in positions(term_at(at.term, place)):
        if isinstance(u, Map) and not free_variables(u):
            folds = [v for _, v in positions(u.f.body) if _is_map_of_folds(v, _given(u))]
            across = [isinstance(v.xs, Transpose) for v in folds]
            if folds and all(across) == any(across):
                alone.setdefault(canonical(u.xs), {}).setdefault(across[0], []).append(u)
    for maps in alone.values():
        both = [u for folds in maps.values() for u in folds]
        if len(maps) == 2 and not any(u is not v and places_of(u, v) for u in both for v in both):
            at = side_by_side(both)(at, place)
    whole = term_at(at.term, place)
    return at, [
        (*place, *below)
        for below, u in positions(whole)
        if isinstance(u, Map) and not free_variables(u) and isinstance(u.f.body, MakeTuple)
        if any(_folded_both_ways(u.f.body, _given(u)))
    ]


def _given(t: Map) -> frozenset[str]:
    return frozenset(x.name for x in t.f.parameters)


def _batch_in_one_pass(at: Rewriting, place: Position, side: int) -> Rewriting:
    """A map whose function folds a table along both axes: what the tiles of all tables come to is stored before."""
    t = term_at(at.term, place)
    assert isinstance(t, Map), "cannot happen: it was looked for"
    table = next(_folded_both_ways(t.f.body, _given(t)))
    at, one = _in_one_pass(at, (*place, "f"), table, side)
    found = places_of(term_at(at.term, (*place, "f")), one)[0]
    at = fission("f", *found, beside=True)(at, place)
    at = inside("xs", "ys")(apply("store_global"))(at, place)
    return normalize(_READ_ALONE)(at, place)


def _fold_apart(at: Rewriting, place: Position) -> Rewriting:
    """A fold of each row, with which a map computes a number, becomes an array of its own, also in functions of others."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or isinstance(t.f.body, Reduce) or holds_array(t.f.body.type):
        raise NoMatch("no map that computes numbers with folds")
    own = _given(t)
    found = [
        (parts_of(u), below)
        for below, u in positions(t.f.body)
        if isinstance(u, Reduce) and free_variables(u) == own and not holds_array(u.type)
        if not binders_at(t.f.body, below)
    ]
    if not found:
        raise NoMatch("no fold of the elements of a map alone")
    return fission("f", *min(found)[1], beside=True)(at, place)


_READ_ALONE = first(READ_BY_ROWS, only(1))
"""What goes through a zip to read one of its arrays goes through that."""


def _part_alone(at: Rewriting, place: Position) -> Rewriting:
    """One part of what a map gives, as a map to it."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not isinstance(t.xs, Map):
        raise NoMatch("no map of what a map gives")
    one = isinstance(t.f.body, Get) and t.f.body.of in t.f.parameters
    if not one or not isinstance(t.xs.f.body, MakeTuple):
        raise NoMatch("not one part is read alone of tuples that are computed")
    return apply("map_fusion")(at, place)


# ---- which folds


@dataclass
class _Table:
    """The maps of folds that go through the rows of a table, and those that go through its columns."""

    type: Type
    rows: list[Term] = field(default_factory=list)
    columns: list[Term] = field(default_factory=list)


def _folded_both_ways(t: Term, own: frozenset[str] = frozenset()) -> Iterator[_Table]:
    """The tables of numbers that maps of folds go through along both axes, with those maps that need none of the others.

    They need no variables but these.
    """
    found: dict[Term, _Table] = {}
    for _, u in positions(t):
        if not _is_map_of_folds(u, own):
            continue
        across = isinstance(u.xs, Transpose)
        of = u.xs.xss if isinstance(u.xs, Transpose) else u.xs
        table = found.setdefault(canonical(of), _Table(of.type))
        folds = table.columns if across else table.rows
        if not any(canonical(u) == canonical(v) for v in folds):
            folds.append(u)
    for table in found.values():
        every = [*table.rows, *table.columns]
        for folds in (table.rows, table.columns):
            folds[:] = [u for u in folds if not any(v is not u and places_of(u, v) for v in every)]
        if table.rows and table.columns:
            yield table


def _is_map_of_folds(u: Term, own: frozenset[str]) -> TypeGuard[Map]:
    """Whether a map that needs only such variables folds each row of a table of numbers, whatever it computes of each element."""
    if not isinstance(u, Map) or free_variables(u) != own or not isinstance(u.f.body, Reduce):
        return False
    numbers = is_table_of_numbers(u.xs.type)
    return numbers and is_layout(u.xs) and not free_variables(u.f.body.init)


# ---- their tiles


def _in_one_pass(
    at: Rewriting, place: Position, table: _Table, side: int
) -> tuple[Rewriting, Term]:
    """The folds of a table below a place by its tiles, and the map that computes what each tile comes to."""
    rows, columns = (_side_of(n.constant or 0, side) for n in dimensions(table.type)[0])
    ways = (
        (table.rows, columns, rows, _rows_by_tiles(rows)),
        (table.columns, rows, columns, _columns_by_tiles(columns)),
    )
    found: list[Term] = []
    for maps, chunk, together, by_tiles in ways:
        for u in maps:
            tiles = u
            for below in places_of(term_at(at.term, place), u):
                at, here = _in_chunks(at, (*place, *below), chunk, together)
                at = by_tiles(at, here)
                tiles = term_at(at.term, (*here, *_OF_BLOCKS))
            found.append(tiles)
    one = found[0]
    for other in found[1:]:
        at, one = _beside(at, place, one, other)
    return at, one


_OF_BLOCKS = ("xss", "xs")
"""From what the chunks come to, to a map over blocks of rows whose function is a map over the tiles of a block."""


def _side_of(length: int, most: int) -> int:
    """How many rows or columns a tile has: at most so many, which divide all, or leave few; raises `NoMatch` for short tables."""
    if length < _FEW * most:
        raise NoMatch(f"{length} rows or columns are too few for tiles of {most}")
    return min(range(most, most // 2, -1), key=lambda d: (length % d // _FEW_LEFT, -d))


_FEW = 4
"""Tiles of a table at least in each direction."""
_FEW_LEFT = 8
"""Rows or columns that are left over by the best tiles, at most where there are such: each is read once more, apart."""


def _in_chunks(
    at: Rewriting, place: Position, chunk: int, together: int
) -> tuple[Rewriting, Position]:
    """A map of folds as one over the results of their chunks, and where the map is that computes those.

    It is over as many elements as divide by `together`; what the others' chunks come to is stored, if it needs no variable, and what
    is left of each is folded with the results.
    """
    fold: Position = ()
    length = length_of(term_at(at.term, (*place, "f", "xs")))
    if left := length % chunk:
        at = fold_here_with_rest(length - left)(at, (*place, "f"))
        fold = ("left",)
    chunks = then(reduced_in_chunks("partial_reduce_chunks", chunk), inside("xs")(_OF_CHUNKS))
    at = inside("f", *fold)(chunks)(at, place)
    at = fission("f", *fold, "xs", beside=bool(left))(at, place)
    found: Position = ("xs", "ys") if left else ("xs",)
    results = length_of(term_at(at.term, (*place, *found)))
    if over := results % together:
        at = inside(*found)(map_here_with_rest(results - over))(at, place)
        at = inside(*found, "ys")(attempt(apply("store_global")))(at, place)
        found = (*found, "xs")
    return at, (*place, *found)


_OF_CHUNKS = normalize("split_map", "split_zip", "take_zip", "map_fusion")
"""What is computed of each element is computed in its chunk, of the chunks of each array."""


def _rows_by_tiles(rows: int) -> Tactic:
    """A map over rows of maps over their chunks: the rows of each tile, tile by tile."""

    def tiles(at: Rewriting, place: Position) -> Rewriting:
        at, zipped = _chunks_apart(at, place)
        rule = "map_interchange_zip_inside" if zipped else "transpose_both_sides"
        return apply(rule)(at, place)

    block = then(inside("f")(tiles), fission("f", "xss"))
    return then(apply("split_join", m=rows), inside("xss")(block))


def _columns_by_tiles(columns: int) -> Tactic:
    """A map over columns of maps over their chunks: the columns of each tile, tile by tile."""
    tiles = then(
        apply("split_join", m=columns),
        inside("xss", "xs")(apply("split_transpose")),
        inside("xss", "xs", "xs", "xss")(attempt(apply("map_fusion"))),
        inside("xss")(apply("map_fusion")),
    )

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at, zipped = _chunks_apart(at, place)
        at = inside("xs")(_by_blocks)(at, place)
        if zipped:
            at = apply("map_interchange_zip_inside")(at, place)
            at = inside("xss", "xs", "xs")(apply("transpose_transpose"))(at, place)
            at = inside("xss", "xs")(apply("zip_map_left"))(at, place)
        else:
            at = apply("map_map_transpose")(at, place)
        at = inside("xss")(then(apply("map_fusion"), inside("f")(tiles)))(at, place)
        return inside("xss")(fission("f", "xss"))(at, place)

    return tactic


def _by_blocks(at: Rewriting, place: Position) -> Rewriting:
    """The chunks of each column as blocks of rows, transposed; of the rows and columns that are taken, and not of the others."""
    at = inside("xs")(attempt(apply("take_transpose")))(at, place)
    if isinstance(term_at(at.term, (*place, "f", "xs")), Take):
        at = fission("f", "xs")(at, place)
        at = inside("xs")(_TAKEN_BELOW)(at, place)
    at = apply("transpose_map_split")(at, place)
    taken = normalize("take_map", "split_map")
    return inside("xss")(then(inside("xs")(taken), attempt(apply("map_fusion"))))(at, place)


_TAKEN_BELOW = then(
    apply("transpose_transpose", "backward"),
    inside("xss")(
        then(apply("take_transpose", "backward"), inside("xs")(apply("transpose_transpose")))
    ),
)
"""Of each column so many elements: the columns of so many rows."""


def _chunks_apart(at: Rewriting, place: Position) -> tuple[Rewriting, bool]:
    """A map over rows of what a map makes of their chunks, as one over the chunks of all rows; whether other arrays are zipped with these."""
    (row,) = (x.name for x in binders_at(at.term, (*place, "f"))[-1:])
    at = attempt(inside("f")(by_owner(lambda t: row in free_variables(t))))(at, place)
    zipped = isinstance(term_at(at.term, (*place, "f", "xs")), Zip)
    chunks = ("f", "xs", "xs") if zipped else ("f", "xs")
    return fission(*chunks)(at, place), zipped


def _beside(at: Rewriting, place: Position, left: Term, right: Term) -> tuple[Rewriting, Term]:
    """Two maps over blocks of maps over tiles as one whose function gives what both do, wherever they stand."""
    at, blocks = paired(at, place, [left, right])
    together = blocks
    for below in places_of(term_at(at.term, place), blocks):
        here = (*place, *below)
        at = attempt(each_once)(at, here)
        one_map = first(apply("unzip_map", "backward"), apply("map_outside_pair"))
        at = inside("f")(then(one_map, inside("ps")(attempt(each_once))))(at, here)
        at = fission("f", "ps")(at, here)
        together = term_at(at.term, (*here, "xs"))
    return normalize(_TAKEN_APART)(at, place), together


def _taken_apart(at: Rewriting, place: Position) -> Rewriting:
    """Maps that only rearrange, one after the other, as one."""
    t = term_at(at.term, place)
    if not rearranges(t) or not rearranges(t.xs):
        raise NoMatch("no two maps that only rearrange")
    return apply("map_fusion")(at, place)


_TAKEN_APART = any_rule(_taken_apart, "unzip_first", "unzip_second")
