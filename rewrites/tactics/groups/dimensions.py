"""A tactic for maps in three dimensions: a work-item of a GPU for each element, neighbours along the last."""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    fuse,
    inside,
    then,
    topdown,
)
from relift.rewrites.tactics.vectors.lanes import depth_of
from relift.semantics.patterns import Map
from relift.semantics.syntax.binding import Position, term_at

_DIMENSIONS = 3


def items_of_three() -> Tactic:
    """The outermost maps in three dimensions, with a work-item for each element; folds go one by one.

    >>> from relift.rewrites.tactics.groups.dimensions import items_of_three
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/heat3d.py"), items_of_three(), {"n": 4, "m": 4, "k": 4})
    >>> [step.rule for step in found.steps[-3:]]
    ['map_to_glb', 'map_to_glb', 'map_to_glb']
    """

    def items(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map) or depth_of(t) != _DIMENSIONS:
            raise NoMatch("no maps in three dimensions")
        levels = (
            inside(*("f",) * (_DIMENSIONS - 1 - d))(apply("map_to_glb", d=d))
            for d in range(_DIMENSIONS)
        )
        return then(*levels)(at, place)

    return then(fuse(), topdown(items))
