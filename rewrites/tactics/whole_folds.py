"""Long folds of whole arrays that something else is made of: by a kernel that stores what chunks come to, and once more where they are read.

    f (reduce op z xs) (reduce op' z' ys)
      =  f (reduce op z (map fst t)) (reduce op' z' (map snd t))
         where t = store (map (\\c. (reduce op z c.0, reduce op' z' c.1)) (split m (zip xs ys)))

So a smallest and a largest value are found in one pass, and no kernel is launched only to fold what chunks came to: each group
that reads the value does.  What is folded of what others fold, as deviations from a mean, follows in the same way.
Source: NVIDIA, Optimizing parallel reduction, for the chunks; persistent statistics of normalisations fold them where they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    apply,
    attempt,
    curried,
    inside,
    skip,
    then,
)
from relift.rewrites.tactics.folds.beside import paired
from relift.rewrites.tactics.folds.partial_results import OF_EACH_ARRAY, folded_in_chunks
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.rewrites.tactics.groups.cooperative import chunk_near
from relift.rewrites.tactics.groups.rows.by_groups import FUSED
from relift.rewrites.tactics.groups.rows.whole_turns import shared_evenly
from relift.rewrites.tactics.nests.padding import lengthened_inside
from relift.rewrites.tactics.sharing import MOST_FOLDED, inlined, storable, stored
from relift.semantics.patterns import Map, Reduce
from relift.semantics.syntax.binding import Position, canonical, places_of, positions, term_at
from relift.semantics.syntax.terms import Term, free_variables
from relift.semantics.syntax.types import Array, cells, holds_array

_UNIT = 512
"""Elements of which a chunk has a multiple: vectors of four for 128 work-items."""


@curried
def whole_folds_in_parts(at: Rewriting, place: Position, parts: int, longest: int) -> Rewriting:
    """Every long fold of a whole array as one of about so many parts, which are stored, of at most `longest` elements each.

    Raises `NoMatch` where there is none of which something is made beside a number.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.whole_folds import whole_folds_in_parts
    >>> @rl.program
    ... def from_least(x: rl.f32[1048576]):
    ...     least = rl.reduce(rl.minimum, float("inf"), x)
    ...     return rl.map(lambda v: v - least, x)
    >>> print(rl.show(derive(from_least, whole_folds_in_parts(512, 8192)).result))  # doctest: +NORMALIZE_WHITESPACE
    join(
      map(
        lambda c:
          map(
            lambda x_:
              x_ - reduce(minimum, inf, to_global(map(lambda c: reduce(minimum, inf, c), split(2048, x)))),
            c
          ),
        split(1024, x)
      )
    )
    """
    t = term_at(at.term, place)
    folds = _long_folds(t)
    if not folds or not (holds_array(t.type) or _several(t)):
        raise NoMatch("no long folds of whole arrays of which more is made than a number")
    while folds:
        at = _in_parts(at, place, folds, parts, longest)
        folds = _long_folds(term_at(at.term, place))
    return attempt(_in_rows)(at, place)


def parts_where_read(at: Rewriting, place: Position) -> Rewriting:
    """What chunks came to is stored, and folded where it is read: the folds of whole arrays are by chunks already.

    Raises `NoMatch` where there are no such chunks, or only a number is made of them.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.whole_folds import parts_where_read
    >>> @rl.program
    ... def from_sums(x: rl.f32[1048576]):
    ...     sums = rl.map(lambda c: rl.reduce(rl.add, 0.0, c), rl.split(4096, x))
    ...     return rl.map(lambda v: v - rl.reduce(rl.add, 0.0, sums), x)
    >>> print(rl.show(derive(from_sums, parts_where_read).result))  # doctest: +NORMALIZE_WHITESPACE
    join(
      map(
        lambda c:
          map(
            lambda x_:
              x_ - reduce(add, 0.0, to_global(map(lambda c: reduce(add, 0.0, c), split(4096, x)))),
            c
          ),
        split(1024, x)
      )
    )
    """
    at = inlined()(at, place)
    t = term_at(at.term, place)
    arrays = [v.value for v in storable(t) if isinstance(v.value.type, Array)]
    few = [u for u in arrays if (cells(u.type).constant or 0) <= _MOST_PARTS]
    parts = [u for u in few if not any(places_of(u, v) for v in few if v is not u)]
    if not parts or not holds_array(t.type):
        raise NoMatch("no array is made of what is folded of chunks")
    return then(stored(parts), _in_rows)(at, place)


def _in_rows(at: Rewriting, place: Position) -> Rewriting:
    """A map of numbers goes row by row, each of which a group has: what its members fold together, all need."""
    at = FUSED(at, place)
    t = term_at(at.term, place)
    if not isinstance(t, Map) or holds_array(t.f.body.type):
        raise NoMatch("no map of numbers")
    length = length_of(t)
    row = min(max(_SHORTEST, 1 << (length // _ROWS).bit_length() - 1), _LONGEST)
    rows = apply("split_join", m=row)
    if not (more := -length % row):
        return rows(at, place)
    lanes = _LANES if length % _LANES == 0 else 1
    return then(lengthened_inside(more, lanes), inside("xs")(rows))(at, place)


_MOST_PARTS = 1 << 14
"""Numbers that chunks came to, at most: each row folds them again."""
_ROWS, _SHORTEST, _LONGEST = 1024, 1024, 8192
"""About so many rows, none shorter or longer: each folds again what chunks came to."""
_LANES = 4


def _several(t: Term) -> bool:
    """Whether more than one long fold of a whole array is in a term, be one in what another folds."""
    return len({canonical(u) for _, u in positions(t) if _is_long(u)}) > 1


def _long_folds(t: Term) -> list[Reduce]:
    """Long folds of whole arrays, in which there is no other, each once: those that are as long as the first."""
    found: dict[Term, Reduce] = {}
    for _, u in positions(t):
        if _is_long(u) and not any(_is_long(v) for place, v in positions(u) if place):
            found.setdefault(canonical(u), u)
    folds = list(found.values())
    return [fold for fold in folds if length_of(fold.xs) == length_of(folds[0].xs)]


def _is_long(t: Term) -> TypeGuard[Reduce]:
    return isinstance(t, Reduce) and not free_variables(t) and length_of(t.xs) > MOST_FOLDED


def _in_parts(
    at: Rewriting, place: Position, folds: Sequence[Reduce], parts: int, longest: int
) -> Rewriting:
    length = length_of(folds[0].xs)
    chunk = chunk_near(length, max(parts, -(-length // longest)), _UNIT, longest)
    if not chunk or length // chunk > MOST_FOLDED:
        raise NoMatch(f"{length} elements have too few chunks, or too many")
    maps: list[Term] = []

    def one(at: Rewriting, here: Position) -> Rewriting:
        at, here = shared_evenly(at, here, chunk)
        at = folded_in_chunks(chunk)(at, here)
        maps.append(term_at(at.term, (*here, "xs")))
        return at

    for fold in folds:
        for below in places_of(term_at(at.term, place), fold):
            at = from_neutral(one)(at, (*place, *below))
    at, together = paired(at, place, maps)
    each_once = OF_EACH_ARRAY if len(folds) > 1 else skip
    stored = then(each_once, apply("store_global"))
    for below in places_of(term_at(at.term, place), together):
        at = stored(at, (*place, *below))
    return at
