"""A fold over several zipped arrays as one over two: those of the element of one map, and all others.

    reduce_seq f z (zip (zip a b) (zip c d))  =  reduce_seq g z (zip (zip a c) (zip b d))

where a and c belong to the outer element, say.  Zips are made a list, which is sorted by whose they are, and cut where
the first of the others stands; what is zipped twice is read once, and what the function reads follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    any_rule,
    apply,
    curried,
    first,
    inside,
    repeat,
    then,
    topdown,
)
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Zip
from relift.semantics.syntax.binding import Position, canonical, term_at
from relift.semantics.syntax.terms import MakeTuple, Term
from relift.semantics.syntax.types import Tuple, dimensions


@curried
def by_owner(at: Rewriting, place: Position, is_first: Callable[[Term], bool]) -> Rewriting:
    """A fold of zipped arrays goes through a zip of those that are first, zipped, and of the others, zipped.

    >>> from relift import f32, program, reduce_seq, zip
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.zips import by_owner
    >>> @program
    ... def weighted(a: f32[8], w: f32[8], b: f32[8]):
    ...     return reduce_seq(lambda s, p: s + p[0] * p[1] * p[2], 0.0, zip(a, w, b))
    >>> found = derive(weighted, by_owner(lambda t: t.name != "w"))
    >>> from relift import show
    >>> show(found.result.xs)
    'zip(zip(a, b), w)'
    """
    at = repeat(_listed)(at, place)
    arrays = [canonical(t) for t in _arrays(at, place)]
    if len({is_first(t) for t in arrays}) == 1:
        raise NoMatch("all that a fold goes through belongs together")
    wanted = sorted(dict.fromkeys(arrays), key=lambda t: not is_first(t))
    at = _in_order([wanted.index(t) for t in arrays])(at, place)
    for _ in range(sum(map(is_first, wanted)) - 1):
        at = _settled("zip_rotate_left")(at, place)
    return at


def each_once(at: Rewriting, place: Position) -> Rewriting:
    """A map, or a fold in order, over zipped arrays goes through each of them once.

    >>> from relift import f32, map, program, zip
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.zips import each_once
    >>> @program
    ... def product(a: f32[8], b: f32[8]):
    ...     return map(lambda p: p[0] * p[1] * p[2], zip(a, b, a))
    >>> from relift import show
    >>> show(derive(product, each_once).result)
    'map(lambda x: (x[0] * x[1]) * x[0], zip(a, b))'
    """
    at = repeat(_listed)(at, place)
    arrays = [canonical(t) for t in _arrays(at, place)]
    wanted = list(dict.fromkeys(arrays))
    return _in_order([wanted.index(t) for t in arrays])(at, place)


def zipped(t: Term) -> Iterator[Term]:
    """The arrays that are zipped, from the left; of what is no zip itself."""
    if isinstance(t, Zip):
        yield from zipped(t.xs)
        yield from zipped(t.ys)
    else:
        yield t


def zipped_together(count: int) -> Tactic:
    """A tuple of so many arrays of a length is taken apart from one array, of pairs of pairs.

    >>> from relift import f32, map, program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.zips import zipped_together
    >>> @program
    ... def three(a: f32[8], b: f32[8], c: f32[8]):
    ...     return a, b, c
    >>> from relift import show
    >>> show(derive(three, zipped_together(3)).result.x)
    'zip(zip(a, b), c)'
    """
    if not 2 <= count < 2 + len(_NUMBERS):
        raise NoMatch(f"{count} arrays, where 2 to {1 + len(_NUMBERS)} may be one of tuples")
    return apply(f"zipped_of_{_NUMBERS[count - 2]}")


_NUMBERS = ("two", "three", "four", "five", "six")


@curried
def _in_order(at: Rewriting, place: Position, ranks: list[int]) -> Rewriting:
    """A list of zips in the order of these ranks, of those that are equal one."""
    left = sorted(ranks)
    for out in exchanges(ranks):
        at = _swapped(out, last=out + 2 == len(left))(at, place)
    for number, next_number in reversed(list(pairwise(range(len(left))))):
        if left[number] == left[next_number]:
            at = _read_once(number, last=next_number + 1 == len(left))(at, place)
            del left[next_number]
    return at


def _arrays(at: Rewriting, place: Position) -> list[Term]:
    """The arrays of a list of zips."""
    return list(zipped(term_at(at.term, (*place, "xs"))))


def exchanges(ranks: Sequence[int]) -> Iterator[int]:
    """The places that change what they hold with the next one, one after the other, until all ranks are in order.

    >>> from relift.rewrites.tactics.nests.zips import exchanges
    >>> list(exchanges([2, 0, 1]))
    [0, 1]
    """
    left = list(ranks)
    while (out := next((i for i, (a, b) in enumerate(pairwise(left)) if a > b), None)) is not None:
        yield out
        left[out : out + 2] = left[out + 1], left[out]


def _swapped(index: int, *, last: bool) -> Tactic:
    """An array of a list of zips and the next one have changed places."""
    place = ("ys",) * index
    if last:
        return _settled("zip_swap", *place)
    return then(
        _settled("zip_rotate_left", *place),
        _settled("zip_swap", *place, "xs"),
        _settled("zip_rotate_right", *place),
    )


def _read_once(index: int, *, last: bool) -> Tactic:
    """An array of a list of zips, and the same as the next one, as one array."""
    place = ("ys",) * index
    if last:
        return _settled("zip_same", *place)
    return then(_settled("zip_rotate_left", *place), _settled("zip_same", *place, "xs"))


def _settled(rule: str, *fields: str) -> Tactic:
    """A rule at a place in what a fold goes through; the map that it leaves is done by the function of the fold."""
    return then(inside("xs", *fields)(apply(rule)), repeat(_outwards))


def _listed(at: Rewriting, place: Position) -> Rewriting:
    """One step towards a list of zips, of which none goes through maps that only rearrange."""
    return first(_outwards, then(inside("xs")(topdown(apply("zip_rotate_right")))))(at, place)


def _outwards(at: Rewriting, place: Position) -> Rewriting:
    """A map that only rearranges tuples, one zip further out, or in the function of the fold or the map."""
    through = term_at(at.term, (*place, "xs"))
    if _rearranges(through):
        return any_rule("map_fusion", "reduce_map_fusion")(at, place)
    return inside("xs")(topdown(_one_zip_outwards))(at, place)


def _one_zip_outwards(at: Rewriting, place: Position) -> Rewriting:
    t = term_at(at.term, place)
    if isinstance(t, Map) and _rearranges(t) and _rearranges(t.xs):
        return apply("map_fusion")(at, place)
    if isinstance(t, Zip) and _rearranges(t.xs):
        return apply("zip_map_left")(at, place)
    if isinstance(t, Zip) and _rearranges(t.ys):
        return apply("zip_map_right")(at, place)
    raise NoMatch("no zip of what a map rearranges")


def _rearranges(t: Term) -> bool:
    """Whether a map makes other tuples of tuples, or of numbers."""
    if not isinstance(t, Map) or not is_layout(t.f.body):
        return False
    return isinstance(dimensions(t.xs.type)[1], Tuple) or isinstance(t.f.body, MakeTuple)
