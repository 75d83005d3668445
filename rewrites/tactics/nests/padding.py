"""Tactics for nests whose sizes no blocks divide: more rows and columns than there are, of which the rest is taken away.

    map f xs  =  take n (map f (pad 0 r clamp xs))
    map f xs  =  take n (map f (join (pad 0 (r / w) clamp (split w xs))))

The folds go their whole way; only rows and columns that nobody reads are computed beside.  Those lie beyond the
result: what is computed is stored, and the result is a copy, or only what is taken is written at all.  Rows that lie side
by side are added in whole vectors where these divide both what there is and what is added: so each vector is read at once.
"""

from __future__ import annotations

from math import gcd

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic, apply, inside, then
from relift.rewrites.tactics.nests.normal_form import Nest
from relift.rewrites.tactics.reuse import lie_together
from relift.semantics.patterns import Zip
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.types import dimensions

_TAKEN: Position = ("xs",)
"""From what was padded to the nest, once for each of its dimensions."""

_MOST_DIMENSIONS = 3
"""Of work-items."""


def in_whole_blocks(nest: Nest, rows: int, columns: int, tactic: Tactic) -> Tactic:
    """A tactic for a nest of a program, whose blocks are of so many rows and columns; padded where they do not divide it,
    and the result copied.

    Raises `NoMatch` where a nest that is to be padded is in one more map.
    """
    more = _added(nest, rows, columns)
    if not any(more):
        return inside(*nest.place)(tactic)
    if nest.around:
        raise NoMatch("nests in one more map are not padded")
    stored = inside(*_taken(more))(then(tactic, apply("store_global")))
    return then(inside(*nest.place)(then(padded(*more), stored)), copied_out)


def beyond_the_end(nest: Nest, rows: int, columns: int, lanes: int, tactic: Tactic) -> Tactic:
    """The same, where blocks at the end write only what is taken of them; rows side by side are added in vectors.

    These have `lanes` lanes, or as many as divide the rows.

    >>> from relift.rewrites.tactics.nests.padding import beyond_the_end
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import Rewriting, derive, skip
    >>> from relift.rewrites.tactics.nests.dimensions import nest_at
    >>> product = load_program("examples/matmul.py")
    >>> nest = nest_at(Rewriting(product.at({"n": 4, "m": 6, "k": 2}).body, "reassociate"), ())
    >>> found = derive(product, beyond_the_end(nest, 4, 4, 2, skip), {"n": 4, "m": 6, "k": 2})
    >>> [step.rule for step in found.steps]
    ['join_split', 'pad_clamp_removed', 'drop_nothing', 'join_take', 'take_map', 'map_fusion']
    """
    more = _added(nest, rows, columns)
    return inside(*nest.place)(then(padded(*more, lanes), inside(*_taken(more))(tactic)))


def _added(nest: Nest, rows: int, columns: int) -> tuple[int, int]:
    """The rows and columns that a nest has less than whole blocks have."""
    down, across, _ = nest.lengths
    return -down % rows, -across % columns


def _taken(more: tuple[int, int]) -> Position:
    """From a nest with so many more rows and columns, of which the first are taken, to the nest."""
    return _TAKEN * sum(map(bool, more))


def padded(rows: int, columns: int, lanes: int = 1) -> Tactic:
    """A nest of so many more rows and columns, of which the first are taken; those side by side come in vectors.

    >>> from relift.rewrites.tactics.nests.padding import padded
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/matmul.py"), padded(3, 0), {"n": 5, "m": 4, "k": 2})
    >>> [step.rule for step in found.steps]
    ['pad_clamp_removed', 'drop_nothing', 'take_map']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if rows:
            at = _one(rows, lanes)(at, place)
            place = (*place, *_TAKEN)
        if columns:
            outside = apply("map_fusion", "backward", parts={"g": ("f", "xs")})
            at = then(inside("f")(_one(columns, lanes)), outside)(at, place)
        return at

    return tactic


def _one(more: int, lanes: int) -> Tactic:
    """A map of so many more elements, of which the first are taken."""
    return then(inside("xs")(_each_lengthened(more, lanes)), apply("take_map", "backward"))


def _each_lengthened(more: int, lanes: int) -> Tactic:
    """An array, or each of those that are zipped, as the first elements of one with so many more."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if isinstance(term_at(at.term, place), Zip):
            each = _each_lengthened(more, lanes)
            zipped = apply("take_zip", "backward")
            return then(inside("xs")(each), inside("ys")(each), zipped)(at, place)
        together = lie_together(at.term, place)
        length = dimensions(term_at(at.term, place).type)[0][0].constant or 1
        return lengthened(more, gcd(lanes, length, more) if together else 1)(at, place)

    return tactic


def lengthened(more: int, lanes: int = 1) -> Tactic:
    """An array as the first elements of one with so many more; in vectors of `lanes`, which divide both."""
    if lanes > 1:
        vectors = apply("join_split", "backward", m=lanes)
        return then(vectors, inside("xss")(lengthened(more // lanes)), apply("join_take"))
    padded = apply("pad_clamp_removed", "backward", left=0, right=more)
    return then(padded, inside("xs")(apply("drop_nothing")))


def copied_out(at: Rewriting, place: Position) -> Rewriting:
    """What is stored and only rearranged, copied by a kernel of its own: a work-item for each of the outer dimensions."""
    depth = len(dimensions(term_at(at.term, place).type)[0])
    shared = min(depth, _MOST_DIMENSIONS)
    for d in reversed(range(shared)):
        at = then(apply("insert_copy"), apply("map_to_glb", d=d))(at, place)
        place = (*place, "f")
    for _ in range(shared, depth):
        at = then(apply("insert_copy"), apply("map_to_seq"))(at, place)
        place = (*place, "f")
    return at
