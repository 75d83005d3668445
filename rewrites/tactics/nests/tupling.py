"""The folds of a cell that read its row and its column are one fold of tuples.

(reduce_seq f y (zip x a), reduce_seq g z (zip x b))  =  reduce_seq h (y, z) (zip x (zip a b))

A gate of a neural network is such a cell: two products of a row, of which one is a function of the other.
Source: Meijer, Fokkinga and Paterson, FPCA'91, tupling.
"""

from __future__ import annotations

from itertools import combinations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, apply, inside, then
from relift.rewrites.tactics.sharing import named_pair
from relift.semantics.patterns import Fold, Map, ReduceSeq
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    places_of,
    positions,
    term_at,
)
from relift.semantics.syntax.terms import Term, free_variables
from relift.semantics.syntax.types import dimensions


def tupled(at: Rewriting, place: Position) -> Rewriting:
    """Two folds in a map in a map, over as many elements, that need the elements of both maps are one fold of pairs.

    >>> from relift import add, exp, f32, map, program, reduce_seq, show, transpose, zip
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.tupling import tupled
    >>> @program
    ... def gated(x: f32[4, 8], a: f32[6, 8], b: f32[6, 8]):
    ...     def dot(u, v):
    ...         return reduce_seq(lambda s, p: s + p[0] * p[1], 0.0, zip(u, v))
    ...     return map(lambda r: map(lambda w: dot(r, w[0]) * exp(dot(r, w[1])), zip(a, b)), x)
    >>> [step.rule for step in derive(gated, tupled).steps]
    ['let_inline', 'let_inline', 'let_let_pair', 'reduce_fusion_in_zip', 'let_inline']
    """
    outer = term_at(at.term, place)
    if not isinstance(outer, Map) or not isinstance(inner := outer.f.body, Map):
        raise NoMatch("no two maps around folds")
    own = {x.name for x in (*outer.f.parameters, *inner.f.parameters)}
    one, other = _first_two(_folds(inner.f.body, own))
    cell = (*place, "f", "f")
    pair = then(
        named_pair(one, other), inside("x")(apply("reduce_fusion_in_zip")), apply("let_inline")
    )
    return pair(at, cell)


def _folds(cell: Term, own: set[str]) -> list[Fold]:
    """The folds of a cell, each once, that need the elements of both maps, and nothing that the cell binds."""
    found = {
        canonical(t): t
        for place, t in positions(cell)
        if isinstance(t, ReduceSeq) and own <= free_variables(t) and not binders_at(cell, place)
    }
    return list(found.values())


def _first_two(folds: list[Fold]) -> tuple[Term, Term]:
    """The first two of as many elements of which neither needs the other's result."""
    for one, other in combinations(folds, 2):
        lengths = [dimensions(t.xs.type)[0][0] for t in (one, other)]
        if lengths[0] == lengths[1] and not places_of(one, other) and not places_of(other, one):
            return one, other
    raise NoMatch("no two folds of as many elements")
