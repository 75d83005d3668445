"""Tactics for tables of which one lies across, on a CPU: what is read column by column is used while it is near.

A work-item has a tile, whose rows it writes as vectors.  Their lanes are read from as many rows of what lies across; or tiles are
in blocks, of which what lies across is turned in registers:

    a block of 4 by 4       its rows are read as 4 vectors, and each row of the result takes a lane of each

Source: Springer, Hammond and Bientinesi, TTC, TOMS 2017.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    apply,
    attempt,
    curried,
    fission,
    fuse,
    inside,
    then,
)
from relift.rewrites.tactics.folds.remainders import cut
from relift.rewrites.tactics.groups.tiles import cells_copied
from relift.rewrites.tactics.reuse import lies_across
from relift.rewrites.tactics.vectors.lanes import in_vectors, rows_in_registers
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Slide, Zip
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Get, Term, Var, subterms
from relift.semantics.syntax.types import dimensions


@curried
def tiles_in_lanes(
    at: Rewriting, place: Position, side: int, block: int | None = None
) -> Rewriting:
    """A map of rows and columns of one table or of several, or a copy, tile by tile: what lies across is used while it is near.

    A work-item has a tile of `side` by `side` and writes its rows as vectors; with a `block`, tiles are in blocks, of which what lies
    across is turned in registers.  What fills no tile has lower ones, and narrower ones whose rows are written cell by cell.
    Raises `NoMatch` where there is no such table, or a block has nothing to turn.

    >>> from relift.rewrites.tactics.vectors.turned_tiles import tiles_in_lanes
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> transpose = load_program("examples/transpose.py")
    >>> found = derive(transpose, tiles_in_lanes(8), {"n": 64, "m": 32})
    >>> [step.rule for step in found.steps][2:4]
    ['tile_map', 'vectorize_map']
    >>> turned = derive(transpose, tiles_in_lanes(8, 4), {"n": 64, "m": 32})
    >>> [step.rule for step in turned.steps].count("store_private")
    1
    """
    at = cells_copied(at, place)
    at = then(attempt(fuse()), _of_one_table)(at, place)
    lengths = [n.constant or 0 for n in dimensions(term_at(at.term, place).type)[0]]
    if len(lengths) != 2 or min(lengths) < side:
        raise NoMatch(f"tiles of {side} are of a table of so many rows and columns")
    rows, columns = lengths
    if block is not None and any(n % _CROWDED == 0 for n in lengths):
        raise NoMatch("rows whose lines share sets of a cache are written by whole lines")
    blocks = None if block is None else _blocks(block, _across(at, place))

    def of_height(height: int) -> Tactic:
        whole = block is not None and height % block == 0
        tiles = _tiles(height, side, blocks if whole and blocks else _rows_in_lanes(side))
        if columns % side == 0:
            return tiles
        narrow = _tiles(height, columns % side, _ROWS)
        return _by_columns(cut(columns, side, _by_columns(tiles), _by_columns(narrow)))

    return cut(rows, side, of_height(side), of_height(rows % side))(at, place)


_CROWDED = 128
"""Cells of which rows are multiples whose lines crowd one another out of a cache, before the next tile has their other halves.

A + B^T of 4096 x 4096 numbers takes two cores 12 to 14 ms in tiles of 16, which are whole lines, and 23 to 25 in tiles of 8 that are turned in
registers.  4095 x 4095 numbers are copied across in 32 and 9 ms through PoCL."""


@curried
def narrow_in_lanes(at: Rewriting, place: Position, width: int) -> Rewriting:
    """A copy of a table of few rows that lies across, as of points or pixels by their components: `width` of these at a time.

    They lie one after the other, and are read as vectors into registers, whence each row takes its lanes.  The table may be that of
    each of a batch.  Raises `NoMatch` where there is none.

    >>> from relift.rewrites.tactics.vectors.turned_tiles import narrow_in_lanes
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/transpose.py"), narrow_in_lanes(8), {"n": 64, "m": 3})
    >>> [step.rule for step in found.steps].count("store_private")
    1
    """
    t = term_at(at.term, place)
    if not is_layout(t):
        raise NoMatch("what is computed has more to it than a copy")
    lengths = [n.constant or 0 for n in dimensions(t.type)[0]]
    if len(lengths) == 2:
        return _narrow(width, apply("map_to_glb", d=1), apply("map_to_glb", d=0))(at, place)
    if len(lengths) != 3:
        raise NoMatch("a table, or one for each of a batch")
    if 1 < lengths[1] <= _FEW:
        return _batch(width, lengths[0])(at, place)
    across = then(
        apply("transpose_transpose", "backward"), inside("xss")(_batch(width, lengths[1]))
    )
    return across(at, place)


_FEW = 8
"""Rows of a table, at most, of which a work-item has all: so many vectors it has in registers."""


def _batch(width: int, tables: int) -> Tactic:
    """The same of each of so many tables: of many each is a work-item's, of few each panel."""
    items = [apply("map_to_glb", d=d) for d in (2, 1, 0)]
    levels = [items[2], _IN_TURN, _IN_TURN] if tables >= _MANY else items
    return then(apply("insert_copy"), inside("f")(_narrow(width, *levels[1:])), levels[0])


_MANY = 64
"""Tables of a batch of which each is a work-item's."""


@curried
def _narrow(at: Rewriting, place: Position, width: int, whole: Tactic, panels: Tactic) -> Rewriting:
    """The same of a table alone: what `whole` says of all its rows, and `panels` of each panel of its columns."""
    rows, columns = (n.constant or 0 for n in dimensions(term_at(at.term, place).type)[0])
    if not 1 < rows <= _FEW or columns < width:
        raise NoMatch(f"no few rows of {width} columns")
    at = then(apply("insert_copy"), inside("f")(apply("insert_copy")))(at, place)

    def of(across: int, tile: Tactic) -> Tactic:
        return _tiled(rows, across, then(inside("f")(then(inside("f")(tile), panels)), whole))

    vectors = then(in_vectors(width), inside("vs")(UNROLLED))
    lying = then(apply("transpose_transpose", "backward"), inside("xss")(rows_in_registers(width)))
    panel = of(width, then(inside("f")(vectors), UNROLLED, inside("xs")(lying)))
    rest = of(columns % width, _ROWS)
    if columns % width == 0:
        return panel(at, place)
    return _by_columns(cut(columns, width, _by_columns(panel), _by_columns(rest)))(at, place)


def _tiles(height: int, across: int, tile: Tactic) -> Tactic:
    """A map of rows and columns by tiles that divide it, of which each work-item has one."""
    columns = then(inside("f")(tile), apply("map_to_glb", d=1))
    tiles = then(inside("f")(columns), apply("map_to_glb", d=0))
    return _tiled(height, across, tiles)


def _tiled(height: int, across: int, tiles: Tactic) -> Tactic:
    return then(apply("tile_map", m=height, n=across), inside("xs", "xss", "xs")(tiles))


def _rows_in_lanes(across: int) -> Tactic:
    """A tile whose rows are a vector each."""
    vectors = then(in_vectors(across), inside("vs")(apply("map_to_seq")))
    return then(inside("f")(vectors), apply("map_to_seq"))


_IN_TURN: Tactic = apply("map_to_seq")
_ROWS: Tactic = then(inside("f")(apply("map_to_seq")), apply("map_to_seq"))
"""A tile whose rows are written cell by cell."""


def _blocks(side: int, across: tuple[int, ...] | None) -> Tactic:
    """A tile block by block."""
    vectors = then(in_vectors(side), inside("vs")(UNROLLED))
    rows = then(inside("f")(vectors), UNROLLED)
    registers = _by_columns(then(rows, apply("store_private")))
    if across is None:
        copied = then(apply("insert_copy"), inside("f")(apply("insert_copy")))
        block = then(copied, rows, inside("xs")(registers))
    else:
        block = then(_apart(across), rows, inside("xs", "ys")(registers))
    return _tiled(side, side, then(inside("f")(then(inside("f")(block), _IN_TURN)), _IN_TURN))


@curried
def _apart(at: Rewriting, place: Position, component: tuple[int, ...]) -> Rewriting:
    """What a map of rows and columns of pairs reads of one component is a table of its own."""
    row = term_at(at.term, (*place, "f"))
    assert isinstance(row, Map), "cannot happen: it has been asked for"
    [pair] = row.f.parameters
    places = [p for p, u in positions(row.f.body) if _component(u, pair.name) == component]
    if not places:
        raise NoMatch("the component that lies across is not read as it is")
    of_row = fission("f", *places[0], beside=True)
    of_table = fission("f", "xs", "ys", beside=True)
    return then(inside("f")(of_row), of_table)(at, place)


def _component(t: Term, pair: str) -> tuple[int, ...] | None:
    """Which component of a pair of pairs, outermost first, a term is."""
    if isinstance(t, Var) and t.name == pair:
        return ()
    of = _component(t.of, pair) if isinstance(t, Get) else None
    return None if of is None or not isinstance(t, Get) else (*of, t.index)


def _across(at: Rewriting, place: Position) -> tuple[int, ...] | None:
    """Which component of the pairs that a map of rows and columns goes through lies across; of no pairs the table does.

    Raises `NoMatch` where none does, or several.
    """
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not isinstance(t.f.body, Map):
        raise NoMatch("no map of rows and columns")
    if not isinstance(t.xs, Map) or not isinstance(t.xs.f.body, Zip):
        if not lies_across(at.term, (*place, "xs")):
            raise NoMatch("no table lies across")
        return None
    [row] = t.xs.f.parameters
    found: list[tuple[int, ...]] = []
    for component, part in _zipped(t.xs.f.body):
        of = _component(part, row.name)
        tables = () if of is None else tuple(("xs", "ys")[i] for i in of)
        if of is not None and lies_across(at.term, (*place, "xs", "xs", *tables)):
            found.append(component)
    if len(found) != 1:
        raise NoMatch("of zipped tables one lies across")
    return found[0]


def _zipped(t: Term) -> list[tuple[tuple[int, ...], Term]]:
    """What is zipped, each with the component of the pairs that it is."""
    if not isinstance(t, Zip):
        return [((), t)]
    parts = enumerate((t.xs, t.ys))
    return [((i, *component), part) for i, u in parts for component, part in _zipped(u)]


def _by_columns(tactic: Tactic) -> Tactic:
    """The tactic at a map of rows and columns with its rows as columns."""
    return then(
        inside("xs")(apply("transpose_transpose", "backward")),
        apply("map_map_transpose"),
        inside("xss")(tactic),
    )


def _of_one_table(at: Rewriting, place: Position) -> Rewriting:
    """What a map of rows and columns puts together of several rows, as rows of one table."""
    t = term_at(at.term, place)
    if isinstance(t, Map) and isinstance(t.f.body, Map):
        row = t.f.body.xs
        windows = any(isinstance(u, Slide) for u, _ in subterms(t.xs))
        if isinstance(row, Zip) and is_layout(row) and not windows:
            return fission("f", "xs")(at, place)
    return at
