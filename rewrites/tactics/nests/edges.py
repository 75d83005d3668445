"""Tactics for nests that are a little larger than whole tiles: the few rows and columns beyond are nests of their own.

    map f xs            =  concat (map f (take m xs)) (map f (drop m xs))
    map (map g ys) xs   =  transpose (concat (transpose (map (map g (take n ys)) xs))
                                             (transpose (map (map g (drop n ys)) xs)))

Padded, 4097 rows are 33 tiles of 128, and as many groups compute nothing but what nobody reads.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    curried,
    inside,
    normalize,
    then,
)
from relift.rewrites.tactics.folds.remainders import length_of, map_here_with_rest
from relift.rewrites.tactics.groups.tiles import cells_copied
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Reduction, Zip
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import Term, free_variables, subterms
from relift.semantics.syntax.types import Array

TILE = 128
"""Rows, and columns, of the tiles that groups compute best; smaller ones divide it."""

_FEW = 16
"""So few rows or columns are an edge: more than so many fill a good part of a tile."""

_TILES = 4
"""A nest has so many tiles in a direction at least: of fewer, padding is no small part, but little in all."""


@curried
def edges_apart(at: Rewriting, place: Position, tile: int = TILE) -> Rewriting:
    """The rows and columns of a nest beyond those that tiles divide, each part stored by a kernel of its own.

    Raises `NoMatch` where they are none, or more than a few.

    >>> from relift.rewrites.tactics.nests.edges import edges_apart
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/matmul.py"), edges_apart(4), {"n": 17, "m": 18, "k": 2})
    >>> [step.rule for step in found.steps]  # doctest: +NORMALIZE_WHITESPACE
    ['concat_take_drop', 'map_concat', 'insert_copy', 'insert_copy', 'store_global', 'store_global', 'concat_take_drop',
     'map_concat', 'transpose_transpose', 'transpose_map_concat', 'insert_copy', 'insert_copy', 'store_global',
     'store_global', 'store_global']
    """
    down, across = _lengths(term_at(at.term, place))
    beyond = _edge(down, tile), _edge(across, tile)
    if not any(beyond):
        raise NoMatch(f"tiles of {tile} leave no few rows or columns of {down} and {across}")
    main = place
    if beyond[0]:
        edge = then(inside("xs")(_side_by_side), _STORED)
        at = then(_parted(down - beyond[0]), inside("ys")(edge))(at, place)
        main = (*main, "xs")
    if beyond[1]:
        apart = then(
            inside("f")(_parted(across - beyond[1])),
            apply("transpose_transpose", "backward"),
            inside("xss")(apply("transpose_map_concat")),
            inside("xss", "ys", "xss")(then(inside("f", "xs")(_side_by_side), _STORED)),
        )
        at = apart(at, main)
        main = (*main, "xss", "xs", "xss")
    return _STORED(at, main)


_STORED = apply("store_global")


def _parted(main: int) -> Tactic:
    """A map as its first `main` elements and the others, of the parts of what is zipped there."""
    zips = normalize("take_zip", "drop_zip")
    return then(map_here_with_rest(main), inside("xs", "xs")(zips), inside("ys", "xs")(zips))


def _side_by_side(at: Rewriting, place: Position) -> Rewriting:
    """The few rows or columns that all others meet, stored so that each lies side by side.

    Read where it is, a column takes a line of memory for each of its numbers.  What stands beside a row is no row.
    """
    t = term_at(at.term, place)
    if isinstance(t, Zip):
        return then(inside("xs")(_side_by_side), inside("ys")(_side_by_side))(at, place)
    is_row = isinstance(t.type, Array) and isinstance(t.type.element, Array)
    return then(cells_copied, _STORED)(at, place) if is_row and is_layout(t) else at


def _lengths(t: Term) -> tuple[int, int]:
    """The rows and columns of a nest whose folds take the elements of both."""
    if (maps := around_folds(t)) is None:
        raise NoMatch(
            "no nest of two maps around folds of the elements of both is the whole program"
        )
    outer, inner = maps
    return length_of(outer.xs), length_of(inner.xs)


def around_folds(t: Term) -> tuple[Map, Map] | None:
    """The two maps of a nest whose folds take the elements of both; None for another term."""
    if isinstance(t, Map) and isinstance(inner := t.f.body, Map):
        bound = {x.name for x in (*t.f.parameters, *inner.f.parameters)}
        folds = (u for u, _ in subterms(inner.f.body) if isinstance(u, Reduction))
        if any(bound <= free_variables(fold) for fold in folds):
            return t, inner
    return None


def _edge(length: int, tile: int) -> int:
    """How many of so many rows or columns lie beyond whole tiles, if they are few."""
    beyond = length % tile
    return beyond if beyond <= min(_FEW, tile // 2) and length >= _TILES * tile else 0
