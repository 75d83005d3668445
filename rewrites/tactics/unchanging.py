"""A tactic for what functions compute again and again of an element that is the same each time.

    map (\\x. e (map (\\y. f x y (g y)) ys)) xs  =  map (\\x. e (map (\\p. f x p0 p1) (zip ys (map g ys)))) xs

The array of all `g y` needs no variable, so a kernel of its own may store it.  Source: loop-invariant code motion (Allen and
Cocke, 1972), across two loops.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic, fission, repeat, topdown
from relift.semantics.library_calls import calls_library
from relift.semantics.patterns import Map
from relift.semantics.syntax.binding import Position, binders_at, positions, term_at
from relift.semantics.syntax.terms import Pattern, Term, free_variables, parts_of
from relift.semantics.syntax.types import Scalar


def once_for_all() -> Tactic:
    """What maps within functions compute by functions of the library, of their elements alone, is an array of its own.

    Raises `NoMatch` where there is no such map.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.unchanging import once_for_all
    >>> @rl.program
    ... def scaled(x: rl.f32[100], s: rl.f32[4]):
    ...     return rl.map(lambda v: rl.map(lambda w: v * rl.exp(w), s), x)
    >>> print(rl.show(derive(scaled, once_for_all()).result))
    map(lambda v: map(lambda p: v * p[1], zip(s, map(lambda x: exp(x), s))), x)
    """
    return repeat(topdown(_once))


def _once(at: Rewriting, place: Position) -> Rewriting:
    t = term_at(at.term, place)
    if not isinstance(t, Map) or free_variables(t.xs) or not _is_repeated(at.term, place):
        raise NoMatch("no map over an array that needs no variable, in a function of elements")
    (x,) = t.f.parameters
    found = [
        (parts_of(u), below)
        for below, u in positions(t.f.body)
        if isinstance(u.type, Scalar)
        and free_variables(u) == frozenset((x.name,))
        and calls_library(u)
        if x.name not in {y.name for y in binders_at(t.f.body, below)}
    ]
    if not found or () in [below for _, below in found]:
        raise NoMatch("no part of its function calls the library for its element alone")
    _, below = max(found)
    return fission("f", *below, beside=True)(at, place)


def _is_repeated(t: Term, place: Position) -> bool:
    """Whether what is at a place is computed for each element of something."""
    above = ((term_at(t, place[:i]), field) for i, field in enumerate(place))
    return any(isinstance(u, Pattern) and u.loop and field == "f" for u, field in above)
