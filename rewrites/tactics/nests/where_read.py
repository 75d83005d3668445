"""What maps, folds and scans read of a zip of what is computed is computed where they read it.

    map h (zip (map f xs) ys)     =  map (\\p. h (f (fst p), snd p)) (zip xs ys)
    map h (zip (repeat n y) xs)    =  map (\\x. h (y, x)) xs
    fold op z (zip (map f xs) ys)  =  fold op z (map (\\p. (f (fst p), snd p)) (zip xs ys))

A map does so with what it reads once; what it reads again is computed once, before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    inside,
    repeat,
    somewhere,
    then,
)
from relift.rewrites.tactics.sharing import has_fold, only_named
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Accumulating, Map, Reduction, Repeat, Zip
from relift.semantics.syntax.binding import Position, binders_at, places_of, term_at
from relift.semantics.syntax.terms import Get, Term, Var, free_variables
from relift.semantics.syntax.types import Array, Tuple


def through_zips(*, again: bool = False) -> Tactic:
    """What a map reads once of each element of a zip is computed where it is read, from the outermost map in, and what a fold reads.

    Not what is read elsewhere too, or is the same for each element of a map around, for that may be computed once; unless all that the map
    computes by folds is the same: that is stored then.  With `again` also what is read again and again by a map inside.  Raises `NoMatch` where no map goes through a zip of what is computed so.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.where_read import through_zips
    >>> @rl.program
    ... def less(x: rl.f32[8], y: rl.f32[8]):
    ...     return rl.map(lambda p: p[0] - p[1], rl.zip(x, rl.map(lambda v: v * v, y)))
    >>> rl.show(derive(less, through_zips()).result)
    'map(lambda x_: x_[0] - (x_[1] * x_[1]), zip(x, y))'
    """
    return somewhere(at_kinds(Map, Reduction, Accumulating)(partial(_through_zip, again=again)))


def repeated() -> Tactic:
    """A map that goes through a zip with an array of one value, which is no fold's, reads that value; raises `NoMatch` where none does.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.where_read import repeated
    >>> @rl.program
    ... def scaled(a: rl.f32, x: rl.f32[8]):
    ...     return rl.map(lambda p: p[0] * p[1], rl.zip(rl.repeat(8, a), x))
    >>> rl.show(derive(scaled, repeated()).result)
    'map(lambda x_: a * x_, x)'
    """
    return repeat(somewhere(at_kinds(Map)(_repeated)))


def _repeated(at: Rewriting, place: Position) -> Rewriting:
    t = term_at(at.term, place)
    assert isinstance(t, Map), "cannot happen: it is only for such"
    for below, u in _zips(t.xs, ()):
        sides = [isinstance(side, Repeat) and not has_fold(side) for side in (u.xs, u.ys)]
        if any(sides):
            paired = apply("zip_repeat")
            turned = paired if sides[1] else then(apply("zip_swap"), inside("xs")(paired))
            at = turned(at, (*place, "xs", *below))
            return repeat(apply("map_fusion"))(_mapped_as_zipped(at, place, below), place)
    raise NoMatch("no map over a zip with an array of one value")


def _zips(t: Term, below: Position) -> Iterator[tuple[Position, Zip]]:
    """The zips of which what is gone through is made, and where they stand in it."""
    if isinstance(t, Zip):
        yield below, t
        yield from _zips(t.xs, (*below, "xs"))
        yield from _zips(t.ys, (*below, "ys"))


def _through_zip(at: Rewriting, place: Position, *, again: bool) -> Rewriting:
    t = term_at(at.term, place)
    if not isinstance(t, Map):
        return _before_a_fold(at, place)
    (x,) = t.f.parameters
    around = {y.name for y in binders_at(at.term, place)[-1:]}
    folds = has_fold(t.f.body)
    for below, read in _zipped(t.xs, (), x):
        u = term_at(t.xs, below)
        is_own = around <= free_variables(u) or (not around & free_variables(t) and folds)
        once = again or _is_read_once(t.f.body, read)
        if is_own and once and len(places_of(at.term, u)) == 1:
            return repeat(apply("map_fusion"))(_mapped_as_zipped(at, place, below), place)
    raise NoMatch("no map over a zip of what is computed and read once")


def _before_a_fold(at: Rewriting, place: Position) -> Rewriting:
    """What a fold or a scan takes of a zip of what is computed is computed of the elements of a zip: each is read once."""
    xs = term_at(at.term, (*place, "xs"))
    assert isinstance(xs.type, Array), "cannot happen: it is gone through"
    around = {y.name for y in binders_at(at.term, place)[-1:]}
    for below, _ in _zipped(xs, (), Var("element", xs.type.element)):
        u = term_at(xs, below)
        if around <= free_variables(u) and len(places_of(at.term, u)) == 1:
            at = _mapped_as_zipped(at, place, below)
            return attempt(inside("xs")(repeat(apply("map_fusion"))))(at, place)
    raise NoMatch("no fold over a zip of what is computed")


def _mapped_as_zipped(at: Rewriting, place: Position, below: Position) -> Rewriting:
    """What is computed of an array in the zip that is gone through is computed of the elements of the zip."""
    for end in range(len(below) - 1, -1, -1):
        rule = "zip_map_left" if below[end] == "xs" else "zip_map_right"
        at = apply(rule)(at, (*place, "xs", *below[:end]))
    return at


def _zipped(t: Term, below: Position, read: Term) -> Iterator[tuple[Position, Term]]:
    """Where arrays that are computed without folds stand in a zip, and how a function reads an element of each."""
    if isinstance(t, Zip):
        assert isinstance(read.type, Tuple), "cannot happen: it is an element of a zip"
        for index, (field, u) in enumerate((("xs", t.xs), ("ys", t.ys))):
            yield from _zipped(u, (*below, field), Get(index, read, read.type.parts[index]))
    elif below and isinstance(t, Map) and not is_layout(t) and not has_fold(t.f.body):
        yield below, read


def _is_read_once(body: Term, read: Term) -> bool:
    """Whether a part of an element is read in one place, by itself or with all that it stands in, and not again and again."""
    places = places_of(body, read)
    while isinstance(read, Get):
        read = read.of
        whole = (p for p in places_of(body, read) if not isinstance(term_at(body, p[:-1]), Get))
        places += whole
    return len(places) == 1 and only_named(body, places[0])
