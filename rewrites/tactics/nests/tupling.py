"""The folds of a cell that read its row and its column are one fold of tuples, or tables of their own.

(reduce_seq f y (zip x a), reduce_seq g z (zip x b))  =  reduce_seq h (y, z) (zip x (zip a b))
map (\\x. map (\\y. e (h x y) (u x y)) ys) xs         =  map (map e) (zip (map (\\x. map (h x) ys) xs) (map (\\x. map (u x) ys) xs))

A gate of a neural network is such a cell: two products of a row, of which one is a function of the other.  A product of
complex numbers has four folds; blocks in vector registers are for one fold of numbers, so each is a product of its own there.
Source: Meijer, Fokkinga and Paterson, FPCA'91, tupling.
"""

from __future__ import annotations

from itertools import combinations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    context_free,
    first,
    fission,
    inside,
    somewhere,
    then,
)
from relift.rewrites.tactics.sharing import named_pair
from relift.semantics.patterns import Fold, Map, ReduceSeq, Reduction
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    places_of,
    positions,
    term_at,
)
from relift.semantics.syntax.terms import Lambda, Term, children, free_variables, subterms
from relift.semantics.syntax.types import dimensions


@context_free
@at_kinds(Map)
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


def tables_apart() -> Tactic:
    """Cells of two or more folds that need the elements of two maps: each fold has a table of its own, the rest is done with those.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.tupling import tables_apart
    >>> @rl.program
    ... def both(x: rl.f32[4, 8], a: rl.f32[6, 8]):
    ...     def fold(op, u, v):
    ...         return rl.reduce(op, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))
    ...     return rl.map(lambda r: rl.map(lambda s: (fold(rl.add, r, s), 2.0 - fold(rl.maximum, r, s)), a), x)
    >>> [step.rule for step in derive(both, tables_apart()).steps]
    ['map_map_fission_with_zip']

    Where the rest needs the elements too it goes through the first table and them:

    >>> @rl.program
    ... def layer(x: rl.f32[4, 8], y: rl.f32[4, 5], a: rl.f32[6, 8], b: rl.f32[6, 5], c: rl.f32[6]):
    ...     def dot(u, v):
    ...         return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))
    ...     cell = lambda p, q: dot(p[0], q[0]) + dot(p[1], q[1]) + q[2]
    ...     return rl.map(lambda p: rl.map(lambda q: cell(p, q), rl.zip(a, b, c)), rl.zip(x, y))
    >>> [step.rule for step in derive(layer, tables_apart()).steps]
    ['map_fission_with_zip', 'map_fission_with_zip']
    """
    return somewhere(_in_two_tables)


def _in_two_tables(at: Rewriting, place: Position) -> Rewriting:
    outer = term_at(at.term, place)
    if not isinstance(outer, Map) or not isinstance(inner := outer.f.body, Map):
        raise NoMatch("no two maps around folds")
    if free_variables(outer) or free_variables(inner.xs):
        raise NoMatch("two maps that are no table of pairs")
    own = {x.name for x in (*outer.f.parameters, *inner.f.parameters)}
    cell = inner.f.body
    below: Position = ()
    while len(parts := _with_folds(term_at(cell, below), own)) == 1:
        below = (*below, *parts)
    if len(parts) != 2 or binders_at(cell, (*below, parts[0])):
        raise NoMatch("a cell that is no function of two parts with folds")
    one, other = ((*below, part) for part in parts)
    both = {"h": ("f", "f", *one), "u": ("f", "f", *other)}
    each = apply("map_map_fission_with_zip", parts=both)
    return first(each, _table_of(other))(at, place)


def _table_of(part: Position) -> Tactic:
    """One part of a cell has a table, the rest goes through that and the two maps: it needs more of their elements, a bias say."""
    return then(
        inside("f")(fission("f", *part, beside=True)), fission("f", "xs", "ys", beside=True)
    )


def _with_folds(t: Term, own: set[str]) -> list[str]:
    """Which children of a term hold folds that need all of some variables; none where it is such a fold."""
    if isinstance(t, Reduction):
        return []
    return [
        field
        for field, u in children(t)
        if not isinstance(u, Lambda)
        if any(isinstance(v, Reduction) and own <= free_variables(v) for v, _ in subterms(u))
    ]


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
