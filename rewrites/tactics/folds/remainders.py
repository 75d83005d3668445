"""Sizes that do not divide: a main part whose length blocks divide, and a rest of fewer elements.

A fold of an operator with a neutral element, or of one that counts an element once, is the fold of its main part combined with that of the rest; a map is its
main part and the rest one after the other.  What is computed of each element is computed in its part, so that the main
part has the form that tilings and vectors are made for.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    any_rule,
    apply,
    at_kinds,
    attempt,
    curried,
    inside,
    normalize,
    somewhere,
    then,
    topdown,
)
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.semantics.patterns import Map, Reduce
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import Array


def fold_with_rest(block: int) -> Tactic:
    """The outermost fold as one of as many elements as `block` divides, and one of the rest; and so every other fold.

    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.remainders import fold_with_rest
    >>> from relift.rewrites.loading import load_program
    >>> found = derive(load_program("examples/dot.py"), fold_with_rest(16), {"n": 97})
    >>> found.steps[0].rule, found.steps[0].substitution.sizes["m"].constant
    ('concat_take_drop', 96)
    """
    apart = then(inside("xs")(_split(block)), _PARTS_FOLDED)
    return then(somewhere(at_kinds(Reduce)(apart)), _PUSHED)


def map_with_rest(block: int) -> Tactic:
    """The outermost map likewise; its parts stand one after the other."""
    apart = then(inside("xs")(_split(block)), apply("map_concat"))
    return then(topdown(at_kinds(Map)(apart)), _PUSHED)


def fold_here_with_rest(main: int) -> Tactic:
    """A fold as that of its first `main` elements combined with that of the others, each of the part of what is computed."""
    return then(_parted(main), _PARTS_FOLDED, _PUSHED)


_PUSHED = normalize("take_map", "drop_map")
"""Parts of what is computed are computed of parts."""
_PARTS_FOLDED = any_rule("reduce_concat", "reduce_concat_idempotent")
"""Each part from the start: it is neutral, or counts once."""


@curried
def fold_followed_by_rest(at: Rewriting, place: Position, block: int, tactic: Tactic) -> Rewriting:
    """The tactic at a fold of as many elements as `block` divides; from its result the rest is folded in order.

    That asks no law of the operator.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import apply, derive
    >>> from relift.rewrites.tactics.folds.remainders import fold_followed_by_rest
    >>> @rl.program
    ... def total(x: rl.f32[11]):
    ...     return rl.reduce(rl.add, 0.0, x)
    >>> chunks = fold_followed_by_rest(4, apply("partial_reduce_chunks", m=4))
    >>> print(rl.show(derive(total, chunks).result))  # doctest: +NORMALIZE_WHITESPACE
    reduce_seq(
      add,
      reduce(add, 0.0, map(lambda c: reduce(add, 0.0, c), split(4, take(8, x)))),
      drop(8, x)
    )
    """
    length = length_of(term_at(at.term, (*place, "xs")))
    if length % block == 0:
        return tactic(at, place)
    return then(
        inside("xs")(_split(block)),
        apply("reduce_to_seq"),
        apply("reduce_seq_concat"),
        _PUSHED,
        inside("init")(then(apply("reduce_to_seq", "backward"), tactic)),
        attempt(apply("reduce_map_fusion")),
    )(at, place)


@curried
def rest_in_order(at: Rewriting, place: Position, left: int) -> Rewriting:
    """A fold in order as that of its last elements, so many, from what the others come to."""
    main = length_of(term_at(at.term, (*place, "xs"))) - left
    return in_order_with_rest(main)(at, place)


def in_order_with_rest(main: int) -> Tactic:
    """A fold in order of the first `main` elements, and from what they come to one of the others."""
    return then(_parted(main), apply("reduce_seq_concat"))


def map_here_with_rest(main: int) -> Tactic:
    """A map as its first `main` elements and the others."""
    return then(_parted(main), apply("map_concat"))


def cut(length: int, side: int, whole: Tactic, rest: Tactic) -> Tactic:
    """A map of so many elements as one of those that fill sides, and one of the rest."""
    main = length - length % side
    if main in (0, length):
        return whole if main else rest
    return then(map_here_with_rest(main), inside("xs")(whole), inside("ys")(rest))


def _parted(main: int) -> Tactic:
    """What is gone through as its first `main` elements and the others."""
    return inside("xs")(apply("concat_take_drop", "backward", m=main))


def scan_here_with_rest(chunk: int, main: int) -> Tactic:
    """A scan as that of its first `main` elements, and of the others from the last running result of the chunks of those.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.remainders import scan_here_with_rest
    >>> @rl.program
    ... def sums(x: rl.f32[11]):
    ...     return rl.scan_seq(rl.add, 0.0, x)
    >>> found = derive(sums, scan_here_with_rest(4, 8))
    >>> print(rl.show(found.result.ys))  # doctest: +NORMALIZE_WHITESPACE
    scan_seq(
      add,
      scan_seq(add, 0.0, map(lambda c: reduce(add, 0.0, c), split(4, take(8, x))))[1],
      drop(8, x)
    )
    """
    of_chunks = then(
        apply("partial_reduce_chunks", m=chunk),
        apply("reduce_to_seq"),
        apply("scan_last", "backward"),
    )
    come_to = then(apply("reduce_to_seq", "backward"), from_neutral(of_chunks))
    return then(_parted(main), apply("scan_concat"), inside("ys", "init")(come_to), _PUSHED)


def length_of(t: Term) -> int:
    """How many elements an array has at the sizes of a search; raises `NoMatch` where that is not known."""
    length = t.type.length.constant if isinstance(t.type, Array) else None
    if length is None:
        raise NoMatch("the number of elements is not known")
    return length


@curried
def _split(at: Rewriting, place: Position, block: int) -> Rewriting:
    """An array as its main part and the rest."""
    n = length_of(term_at(at.term, place))
    if n <= block or n % block == 0:
        raise NoMatch(f"blocks of {block} leave no rest, or nothing else")
    return apply("concat_take_drop", "backward", m=n - n % block)(at, place)
