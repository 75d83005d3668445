"""Tactics for nests whose sizes no blocks divide: more rows and columns than there are, of which the rest is taken away.

    map f xs  =  take n (map f (pad 0 r clamp xs))

The folds go their whole way; only rows and columns that nobody reads are computed beside.  Those lie beyond the
result, so what is computed is stored, and the result is a copy.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    inside,
    repeat,
    then,
    topdown,
)
from relift.rewrites.tactics.nests.normal_form import Nest
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.types import dimensions

_TAKEN: Position = ("xs",)
"""From what was padded to the nest, once for each of its dimensions."""

_MOST_DIMENSIONS = 3


def in_whole_blocks(nest: Nest, rows: int, columns: int, tactic: Tactic) -> Tactic:
    """A tactic for a nest of a program, whose blocks are of so many rows and columns; padded where they do not divide it.

    Raises `NoMatch` where a nest that is to be padded is in one more map.
    """
    down, across, _ = nest.lengths
    more = -down % rows, -across % columns
    if not any(more):
        return inside(*nest.place)(tactic)
    if nest.around:
        raise NoMatch("nests in one more map are not padded")
    stored = inside(*_TAKEN * sum(map(bool, more)))(then(tactic, apply("store_global")))
    return then(inside(*nest.place)(then(padded(*more), stored)), copied_out)


def padded(rows: int, columns: int) -> Tactic:
    """A nest of so many more rows and columns, of which the first are taken.

    >>> from relift.rewrites.tactics.nests.padding import padded
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/matmul.py"), padded(3, 0), {"n": 5, "m": 4, "k": 2})
    >>> [step.rule for step in found.steps]
    ['pad_clamp_removed', 'drop_nothing', 'take_map']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if rows:
            at = _one(rows)(at, place)
            place = (*place, *_TAKEN)
        if columns:
            outside = apply("map_fusion", "backward", parts={"g": ("f", "xs")})
            at = then(inside("f")(_one(columns)), outside)(at, place)
            place = (*place, *_TAKEN)
        return repeat(topdown(apply("pad_clamp_zip")))(at, place)

    return tactic


def _one(more: int) -> Tactic:
    """A map of so many more elements, of which the first are taken."""
    return then(inside("xs")(lengthened(more)), apply("take_map", "backward"))


def lengthened(more: int) -> Tactic:
    """An array as the first elements of one with so many more."""
    padded = apply("pad_clamp_removed", "backward", left=0, right=more)
    return then(padded, inside("xs")(apply("drop_nothing")))


def copied_out(at: Rewriting, place: Position) -> Rewriting:
    """What is stored and only rearranged, copied by a kernel of its own."""
    depth = len(dimensions(term_at(at.term, place).type)[0])
    if depth > _MOST_DIMENSIONS:
        raise NoMatch(f"a kernel copies arrays of up to {_MOST_DIMENSIONS} dimensions")
    for d in reversed(range(depth)):
        at = then(apply("insert_copy"), apply("map_to_glb", d=d))(at, place)
        place = (*place, "f")
    return at
