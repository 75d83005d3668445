"""Iterations on rows as iterations on tables: each step is of all rows, so it may be kernels.

map (iterate m f) xs               =  iterate m (map f) xs
map (\\x. e x (iterate m f (h x))) xs  =  map (\\(x, y). e x y) (zip xs (iterate m (map f) (map h xs)))

Source: Bird, theory of lists, map promotion.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic, apply, somewhere
from relift.semantics.patterns import Iterate, Map
from relift.semantics.syntax.binding import Position, binders_at, positions, term_at
from relift.semantics.syntax.terms import Term, free_variables
from relift.semantics.syntax.types import holds_array


def of_tables() -> Tactic:
    """What a map iterates on an array for each of its elements is iterated on all of them; raises `NoMatch` where none does.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.iterations import of_tables
    >>> @rl.program
    ... def halved(x: rl.f32[4, 8]):
    ...     return rl.map(lambda r: rl.iterate(3, lambda y: rl.map(lambda v: v * 0.5, y), r), x)
    >>> rl.show(derive(halved, of_tables()).result)
    'iterate(3, lambda ys: map(lambda x_: map(lambda v: v * 0.5, x_), ys), x)'
    """

    def once(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        below = _iterated(t)
        if below != ("f",):
            at = apply("map_fission_with_zip", parts={"g": below})(at, place)
            place = (*place, "xs", "ys")
            t = term_at(at.term, place)
        if not _is_of_the_element(t):
            at = apply("map_fusion", "backward", parts={"g": ("f", "x")})(at, place)
        return apply("iterate_map", "backward")(at, place)

    return somewhere(once)


def _iterated(t: Term) -> Position:
    """Where in a map is an iteration on an array whose step is the same for all elements."""
    if isinstance(t, Map):
        own = frozenset(x.name for x in t.f.parameters)
        for below, u in positions(t.f.body):
            if not isinstance(u, Iterate) or not holds_array(u.type) or binders_at(t.f.body, below):
                continue
            state = frozenset(x.name for x in u.f.parameters)
            if free_variables(u.x) == own and free_variables(u.f.body) <= state - own:
                return ("f", *below)
    raise NoMatch("no map iterates on an array for each of its elements")


def _is_of_the_element(t: Term) -> bool:
    """Whether the function of a map iterates on what it is given as it is."""
    return isinstance(t, Map) and isinstance(t.f.body, Iterate) and t.f.body.x in t.f.parameters
