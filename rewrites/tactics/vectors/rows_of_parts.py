"""Tactics for maps over rows on a CPU that are put together of parts: a work-item has a row, and makes one part after the other.

map (\\x. concat (f x) (g x)) xs        where f and g copy, map or fold rows of x

A part is copied, or computed, in vectors; where each of its elements is a fold, these are one after the other, each by vectors.  So
rows that are put beside one another, averages and details of wavelets, or means and maxima of channels are one kernel, which asks of
no element to which part it belongs, and reads once what several parts read of a row.
Source: loops distributed over the parts of what they write (index set splitting; Wolfe, High Performance Compilers, 1996).
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
    fuse,
    inside,
    the,
    then,
)
from relift.rewrites.tactics.groups.rows.by_groups import FUSED
from relift.rewrites.tactics.groups.tiles import cells_copied
from relift.rewrites.tactics.vectors.folded_rows import row_in_vectors
from relift.rewrites.tactics.vectors.lanes import OUTER, for_items, in_parts, lanes
from relift.semantics.patterns import Concat, Map, Reduce
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import Array


@curried
def rows_of_parts(at: Rewriting, place: Position, width: int, private_bytes: int) -> Rewriting:
    """Maps whose innermost function puts a row together of parts: a work-item for each row, its parts in vectors of `width`.

    Raises `NoMatch` where no row is put together.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.vectors.rows_of_parts import rows_of_parts
    >>> @rl.program
    ... def beside(x: rl.f32[8, 64], y: rl.f32[8, 32]):
    ...     return rl.map(lambda p: rl.concat(p[0], rl.map(lambda v: v + v, p[1])), rl.zip(x, y))
    >>> [step.rule for step in derive(beside, rows_of_parts(16, 4096)).steps]
    ['insert_copy', 'vectorize_map', 'map_to_seq', 'vectorize_map', 'map_to_seq', 'map_to_glb']
    """
    at = FUSED(at, place)
    row, depth = place, 0
    while isinstance(t := term_at(at.term, row), Map):
        row, depth = (*row, "f"), depth + 1
    if not (isinstance(t, Concat) and 0 < depth <= len(OUTER)):
        raise NoMatch("no rows are put together of parts")
    at = in_parts(_part(width, private_bytes))(at, row)
    return for_items(at, place, depth)


def _part(width: int, private_bytes: int) -> Tactic:
    """A part by one work-item: folds one after the other, each by vectors; rows one after the other; or elements in lanes."""
    in_lanes = then(attempt(fuse()), lanes(width))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = then(cells_copied, FUSED)(at, place)
        t = the(Map, at, place)
        if isinstance(t.f.body.type, Array):
            within = in_parts(_part(width, private_bytes))
        elif any(isinstance(u, Reduce) for u, _ in subterms(t.f.body)):
            within = row_in_vectors(width, private_bytes)
        else:
            return in_lanes(at, place)
        in_order = then(inside("f")(within), apply("map_to_seq"))
        return first(in_order, in_lanes)(at, place)

    return tactic
