"""Iterations whose steps may be kernels: those on rows as ones on tables, and folds to an array, step by step.

map (iterate m f) xs               =  iterate m (map f) xs
map (\\x. e x (iterate m f (h x))) xs  =  map (\\(x, y). e x y) (zip xs (iterate m (map f) (map h xs)))
reduce_seq f z xs                  =  second of iterate n (\\(i, acc). (i + 1, f acc (at i xs))) (0, z)

Source: Bird, theory of lists, map promotion; folds as loops with a counter.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic, apply, somewhere
from relift.semantics.patterns import Iterate, Map, ReduceSeq
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


MOST_STEPS = 1 << 12
"""Elements of a fold at most whose steps are kernels: each is a launch of its own, which is listed."""


def of_steps() -> Tactic:
    """A fold to an array outside all functions is an iteration that counts; raises `NoMatch` where there is none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.iterations import of_steps
    >>> @rl.program
    ... def decayed(z: rl.f32[8], x: rl.f32[4]):
    ...     return rl.reduce_seq(lambda a, v: rl.map(lambda w: w * v, a), z, x)
    >>> rl.show(derive(decayed, of_steps()).result)
    'iterate(4, lambda s: (s[0] + 1, map(lambda w: w * at_runtime_unsafe(s[0], x), s[1])), (0, z))[1]'
    """

    def once(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, ReduceSeq) or not holds_array(t.type) or free_variables(t):
            raise NoMatch("no fold to an array outside all functions")
        if (t.solved["n"].constant or MOST_STEPS + 1) > MOST_STEPS:
            raise NoMatch("a fold of too many steps for a launch each")
        return apply("reduce_seq_iterate")(at, place)

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
