"""Rows that are written out, and results that a function makes together, become maps of their cells.

[map f xs, map g xs]            =  transpose (map (\\x. [f x, g x]) xs)
map f xs ++ map g ys            =  join (transpose (map (\\(x, y). [f x, g y]) (zip xs ys)))      (xs and ys of one length)
map (\\x. (f x, g x)) xs         =  zip (map f xs) (map g xs)

A work-item that writes rows which are written out computes each of them before, and one that makes two rows, both; of a map of
cells many work-items take a cell each.  Source: RISE mapOutsideMakeArray; split of a map (Meijer, Fokkinga and Paterson, FPCA'91).
"""

from __future__ import annotations

import itertools
import math

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    first,
    inside,
    normalize,
    repeat,
    the,
    then,
)
from relift.rewrites.tactics.nests.where_read import through_zips
from relift.rewrites.tactics.sharing import in_parts
from relift.semantics.indices.inverses import invertible_data
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Concat, Let, Map, Repeat, Transpose, Unzip
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import Lambda, MakeTuple, Term, children, subterms
from relift.semantics.syntax.types import Array, Tuple, Type, cells

_FEW = 8
"""Cells of a row that a work-item computes for itself, at most: registers hold them."""


def in_cells(*, pieces: bool = False) -> Tactic:
    """Rows written out in functions are maps of cells, and results made together are apart; raises `NoMatch` where there are none.

    With `pieces` also what is put one behind the other, if it is of one length, or read so: each cell is of all pieces then.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.cells import in_cells
    >>> @rl.program
    ... def waves(x: rl.f32[4, 16]):
    ...     return rl.map(lambda r: rl.make_array(rl.map(rl.sin, r), rl.map(rl.cos, r)), x)
    >>> rl.show(derive(waves, in_cells()).result)
    'map(lambda r: transpose(map(lambda x: concat(repeat(1, sin(x)), repeat(1, cos(x))), r)), x)'
    """

    ways = (_of_rows, then(attempt(_read_in_pieces), _of_pieces)) if pieces else (_of_rows,)
    rows = at_kinds(Concat, Map)(first(*ways))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        found = _written(attempt(_results_apart)(at, place), place, rows, in_function=False)
        if found == at:
            raise NoMatch(
                "no rows that a function writes out, and no results that one makes together"
            )
        return found

    return tactic


def _written(at: Rewriting, place: Position, tactic: Tactic, *, in_function: bool) -> Rewriting:
    """The tactic at what functions write: of what they read, each element may be computed where it is."""
    if in_function:
        at = attempt(tactic)(at, place)
    t = term_at(at.term, place)
    data, of_map = invertible_data(t), isinstance(t, Map)
    for field, child in children(t):
        if isinstance(child, Lambda) and (of_map or isinstance(t, Let)):
            at = _written(at, (*place, field), tactic, in_function=in_function or of_map)
        elif child is data or in_parts(t):
            at = _written(at, (*place, field), tactic, in_function=in_function)
    return at


def _pieces(t: Term) -> list[Term]:
    """What is put one behind the other."""
    return [*_pieces(t.xs), *_pieces(t.ys)] if isinstance(t, Concat) else [t]


def _is_computed(row: Term) -> bool:
    """Whether a row is a map of so many cells that work-items should share them."""
    return isinstance(row, Map) and not is_layout(row) and _is_long(row.type)


def _is_long(t: Type) -> bool:
    if isinstance(t, Tuple):
        return any(map(_is_long, t.parts))
    return isinstance(t, Array) and (cells(t).constant or math.inf) > _FEW


def _of_rows(at: Rewriting, place: Position) -> Rewriting:
    """Rows that are written out, some of them computed, are columns of what is computed cell by cell."""
    pieces = _pieces(term_at(at.term, place))
    rows = [piece.x for piece in pieces if isinstance(piece, Repeat)]
    if not any(map(_is_computed, rows)):
        raise NoMatch("no rows that a function computes and writes out")
    return then(apply("transpose_transpose", "backward"), inside("xss")(_columns))(at, place)


def _columns(at: Rewriting, place: Position) -> Rewriting:
    """The columns of arrays one behind the other are one map, as far as each is one."""
    t = term_at(at.term, place)
    assert isinstance(t, Transpose), "cannot happen: it is asked for columns"
    if isinstance(t.xss, Repeat):
        return then(apply("transpose_repeat"), attempt(apply("map_fusion")))(at, place)
    if not isinstance(t.xss, Concat):
        return at
    each = then(inside("xs")(_columns), inside("ys")(_columns))
    names = ("zip_map_map", "zip_map_left", "zip_map_right")
    maps = (attempt(apply(name)) for name in names)
    of_one = attempt(inside("xs")(apply("zip_same")))
    fused = repeat(apply("map_fusion"))
    together = then(each, *maps, of_one, fused)
    return then(apply("transpose_concat"), inside("xs")(together), fused)(at, place)


def _of_pieces(at: Rewriting, place: Position) -> Rewriting:
    """Pieces of one length, some of them computed, are the rows of a table."""
    pieces = _pieces(term_at(at.term, place))
    if len(pieces) == 1 or not any(map(_is_computed, pieces)):
        raise NoMatch("no pieces that a function computes")
    if len({piece.type for piece in pieces}) != 1:
        raise NoMatch("pieces of different lengths")
    return _joined(at, place)


def _read_in_pieces(at: Rewriting, place: Position) -> Rewriting:
    """A map that reads computed pieces one behind the other is a map of each, with its part of what is zipped with them."""
    t = term_at(at.term, place)
    read = (u for u, _ in subterms(t.xs) if isinstance(u, Concat)) if isinstance(t, Map) else ()
    if not any(map(_is_computed, itertools.chain(*map(_pieces, read)))):
        raise NoMatch("no map that reads computed pieces")
    names = ("zip_concat_left", "zip_concat_right", "map_concat")
    outwards = normalize(*names)
    parts = (attempt(inside(field)(repeat(through_zips()))) for field in ("xs", "ys"))
    return then(inside("xs")(outwards), apply("map_concat"), *parts)(at, place)


def _joined(at: Rewriting, place: Position) -> Rewriting:
    if not isinstance(term_at(at.term, place), Concat):
        return apply("join_repeat", "backward")(at, place)
    both = then(inside("xs")(_joined), inside("ys")(_joined))
    return then(both, apply("join_concat", "backward"))(at, place)


def _results_apart(at: Rewriting, place: Position) -> Rewriting:
    """Each of two results that one function makes has a map of its own, where one of them is a long row."""
    t = term_at(at.term, place)
    if isinstance(t, MakeTuple):
        made = at
    elif isinstance(t, Unzip):
        made = then(inside("ps")(_of_two_rows), apply("unzip_map"))(at, place)
    else:
        made = then(_of_two_rows, apply("zip_of_maps", "backward"))(at, place)
    found = made
    for field, _ in children(term_at(made.term, place)):
        found = attempt(_results_apart)(found, (*place, field))
    if found == at:
        raise NoMatch("no results that are made together")
    return found


def _of_two_rows(at: Rewriting, place: Position) -> Rewriting:
    """A map of pairs, one of which is a long row, without names around the pair."""
    t = the(Map, at, place)
    made = t.f.body
    while isinstance(made, Let):
        made = made.f.body
    if not isinstance(made, MakeTuple) or len(made.parts) != 2:
        raise NoMatch("no map of pairs")
    if not any(_is_long(part.type) for part in made.parts):
        raise NoMatch("pairs of what a work-item computes for itself")
    return inside("f")(repeat(apply("let_inline")))(at, place)
