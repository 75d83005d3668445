"""Folds of as many elements as members share evenly: beyond the end the start is folded, which is neutral, or the last once more.

    reduce op z (map f xs)  =  reduce op z (map (\\p. if p.0 then f p.1 else z) (zip mask (pad 0 r clamp xs)))
    reduce op z xs          =  reduce op z (pad 0 r clamp xs)                                  (op idempotent)

So a group folds a row in one loop and waits once, whatever its length; a main part and a rest, or two, are as many loops, and
what is found of each is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.declared_laws import has_law, is_neutral
from relift.rewrites.families import NUMBERS
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    curried,
    inside,
    repeat,
    the,
    then,
)
from relift.rewrites.tactics.folds.remainders import fold_here_with_rest, length_of
from relift.rewrites.tactics.nests.padding import lengthened_inside, padded_inside
from relift.rewrites.tactics.turns import TOGETHER
from relift.semantics.patterns import Reduce
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.types import f32, tup

_CHOSEN = {
    **{t: f"pad_constant_take{ending}" for t, ending in NUMBERS.items()},
    tup(f32, f32): "pad_constant_take_pair",
    tup(f32, f32, f32): "pad_constant_take_triple",
}
"""The rule by which a border is chosen, for each type of element."""

_FEW = 16
"""Of so many turns one may be added, so that several are written out together."""


def turns_for(length: int, at_once: int) -> int:
    """In how many turns so many elements are gone through, some of them at once: no fewer than it takes.

    >>> from relift.rewrites.tactics.groups.rows.whole_turns import turns_for
    >>> [turns_for(n, 64) for n in (301, 5003, 8191)]
    [5, 80, 128]
    """
    least = -(-length // at_once)
    turns = range(least, least + least // _FEW + 1)
    return next((n for n in turns if any(n % t == 0 for t in TOGETHER)), least)


def lanes_for(length: int, members: int, width: int) -> int:
    """The lanes of the vectors in which so many members take an array: `width` where it is made of such, and each has one."""
    return width if length % width == 0 and length >= members * width else 1


@curried
def map_in_whole_turns(
    at: Rewriting, place: Position, members: int, width: int, shared_out: Callable[[int], Tactic]
) -> Rewriting:
    """A map that is shared out in vectors of some lanes to so many members, as the first of as many elements as they share evenly."""
    length = length_of(term_at(at.term, place))
    lanes = lanes_for(length, members, width)
    at_once = members * lanes
    if length < members or not length % at_once:
        return shared_out(width)(at, place)
    more = turns_for(length, at_once) * at_once - length
    return then(
        lengthened_inside(more, lanes),
        inside("xs")(shared_out(lanes)),
        attempt(apply("take_as_scalar")),
    )(at, place)


@curried
def in_whole_turns(at: Rewriting, place: Position, at_once: int, lanes: int = 1) -> Rewriting:
    """A fold of as many elements as so many that are taken at once divide, in vectors of `lanes` where these divide it.

    Raises `NoMatch` where they do, or where the start is not neutral, or of no type that is chosen.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.rows.whole_turns import in_whole_turns
    >>> @rl.program
    ... def squares(x: rl.f32[301]):
    ...     return rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, x))
    >>> print(rl.show(derive(squares, in_whole_turns(64)).result))  # doctest: +NORMALIZE_WHITESPACE
    reduce(
      add,
      0.0,
      map(
        lambda x_: select(x_[0], x_[1] * x_[1], 0.0),
        zip(pad(0, 19, False, repeat(301, True)), pad(0, 19, clamp, x))
      )
    )
    """
    t = the(Reduce, at, place)
    length = length_of(t.xs)
    if not length % at_once:
        raise NoMatch(f"{at_once} at once leave no rest")
    more = turns_for(length, at_once) * at_once - length
    if lanes == 1 and has_law(t.op, "idempotent"):
        again = apply("reduce_pad_clamp_idempotent", "backward", r=more)
        return then(again, inside("xs")(padded_inside))(at, place)
    if t.init.type not in _CHOSEN or not is_neutral(t.op, t.init):
        raise NoMatch("no fold from a neutral start of a type that is chosen")
    chosen = then(apply(_CHOSEN[t.init.type]), attempt(_COMPUTED_WHERE_CHOSEN))
    return then(
        inside("xs")(lengthened_inside(more, lanes)),
        apply("reduce_pad", "backward", left=0, right=more),
        inside("xs")(chosen),
    )(at, place)


_COMPUTED_WHERE_CHOSEN = then(inside("xs")(apply("zip_map_right")), repeat(apply("map_fusion")))


def shared_evenly(at: Rewriting, place: Position, members: int) -> tuple[Rewriting, Position]:
    """A fold that so many members share evenly, and where it is; what is left each of them folds, where the start is not neutral."""
    length = length_of(term_at(at.term, (*place, "xs")))
    left = length % members
    if not left:
        return at, place
    with suppress(NoMatch):
        return in_whole_turns(members)(at, place), place
    return fold_here_with_rest(length - left)(at, place), (*place, "left")
