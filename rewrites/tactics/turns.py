"""Tactics for loops of a work-item: several turns are written out together, so that what they read is loaded together.

A work-item of a GPU waits for each load, and others run meanwhile; how much of the memory is on its way at a time is what
all of them have asked for.  A compiler writes out a few turns of a loop by itself.  On an H100 sums of the columns of a
matrix of 8192^2, by a work-item for each in chunks, take 105 us with four turns together, and 96 with eight.
Source: Volkov, Better performance at lower occupancy, GTC'10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TypeGuard

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic, apply, inside, then
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import EachInTurn, Fold, ScanSeq
from relift.semantics.patterns.opencl import EachOf, Store, in_group_memory
from relift.semantics.patterns.sequential import Accumulating
from relift.semantics.syntax.binding import Position, outside, positions, term_at
from relift.semantics.syntax.terms import Pattern, Term
from relift.semantics.syntax.types import cells, holds_array

TOGETHER = (8, 7, 9, 6, 10, 5, 11, 12)
"""How many turns are written out together, the best number first: those that divide a loop are tried, or else leave the fewest."""
LEAST = 6
"""Of fewer turns a loop is left as it is."""
_SHORT = 16
"""Of fewer turns a loop is written out whole, where that comes to no more copies.

The largest of each of 50,001 rows of 500 numbers, and its place, take an H200 57 us where a work-item has 15 turns, and 38 written out."""
_WRITTEN_OUT = 64
"""Copies of the innermost body that the turns come to at most, which are written out together."""
_LONGEST = 48
_WHOLE = 192
"""A loop that none of these numbers divides is written out whole, where it is no longer, and comes to so many copies at most.

Of a longer one the turns that are left follow, written out: losses of rows of 8,191 numbers, of which a work-item has 127, took an H200
162 us in single turns, and 124 in sevens."""


def turns_together(at: Rewriting, place: Position) -> Rewriting:
    """Every innermost loop that folds in order goes several turns at a time, which are written out.

    Raises `NoMatch` where there is no such loop.

    >>> from relift import f32, map_glb, program, reduce_seq
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.turns import turns_together
    >>> from relift.semantics.notation.printer import show
    >>> @program
    ... def sums(A: f32[64, 96]):
    ...     return map_glb(0)(lambda row: reduce_seq(lambda s, x: s + x, 0.0, row), A)
    >>> print(show(derive(sums, turns_together).result))
    map_glb(0)(
      lambda row:
        reduce_seq(lambda acc, c: reduce_seq_unroll(lambda x, y: x + y, acc, c), 0.0, split(8, row)),
      A
    )
    """
    found = list(_loops(at, place))
    if not found:
        raise NoMatch(f"no loop of at least {LEAST} turns folds in order and has no loop inside")
    for below, length, turns in reversed(
        found
    ):  # what a loop goes through stands in it, and moves with it
        scans = isinstance(term_at(at.term, (*place, *below)), ScanSeq)
        at = inside(*below)(_at_a_time(length, turns, scans=scans))(at, place)
    return at


_OF_SCANS = (32, 16, 28, 24, 20)
"""Turns of a scan that are written out together, the best number first; a driver writes out eight by itself."""
_FIRST = then(apply("insert_copy"), apply("map_to_seq"), apply("store_private"))
_SCANNED: Mapping[int | None, Tactic] = {
    n: then(apply("scan_seq_chunks", m=n - 1), inside("xss", "init")(_FIRST)) for n in _OF_SCANS
}
"""A scan by so many turns at a time, whose results are written after them."""


def _at_a_time(length: int, turns: int | None, *, scans: bool) -> Tactic:
    """A fold goes so many turns at a time, and then those that are left, or is written out; a scan so many at a time."""
    written_out = apply("reduce_seq_to_unroll")
    if scans:
        return _SCANNED[turns]
    if turns is None:
        return written_out
    together = then(apply("reduce_seq_chunks", m=turns), inside("f")(written_out))
    if length % turns == 0:
        return together
    main = length - length % turns
    apart = inside("xs")(apply("concat_take_drop", "backward", m=main))
    return then(apart, apply("reduce_seq_concat"), inside("init")(together), written_out)


def _loops(at: Rewriting, place: Position) -> Iterator[tuple[Position, int, int | None]]:
    """The innermost loops that fold in order, how long each is, and how many turns are written out together, if not all."""
    whole = term_at(at.term, place)
    for below, t in positions(whole):
        if isinstance(t, ScanSeq):
            if (turns := _scanned_together(whole, below, t)) is not None:
                yield below, 0, turns
            continue
        if not isinstance(t, Fold) or t.unrolled or t.ahead or _has_a_loop(t.f.body):
            continue
        length = t.solved["n"].constant
        if length is None or length < LEAST:
            continue
        copies = _copies(t.f.body)
        if length < _SHORT and length * copies <= _WRITTEN_OUT:
            yield below, length, None
            continue
        if length <= _LONGEST and length * copies <= _WHOLE:
            dividing = (n for n in TOGETHER if length % n == 0 and n * copies <= _WRITTEN_OUT)
            yield below, length, next(dividing, None)
            continue
        if turns := _leaving_fewest(length, copies):
            yield below, length, turns


def _scanned_together(whole: Term, below: Position, t: ScanSeq) -> int | None:
    """How many turns of a scan by one work-item are written out together: of its own, from memory, with no loop inside.

    A group's work-items scan what lies in local memory, which answers at once.
    """
    length = t.solved["n"].constant
    if length is None or length <= _LONGEST or holds_array(t.init.type) or _has_a_loop(t.f.body):
        return None  # of an array it is a chunk for each work-item of a group
    above = [term_at(whole, below[:i]) for i in range(len(below))]
    if any(isinstance(u, EachOf) and u.level == "lcl" for u in above):
        return None
    if any(isinstance(u, Accumulating) for u in above) or any(
        isinstance(u, EachInTurn) for u in above[-1:]
    ):
        return None
    numbers = max(cells(u).constant or 1 for u in (t.init.type, t.f.parameters[1].type))
    fitting = (n for n in _OF_SCANS if length % n == 0 and n * numbers <= _WRITTEN_OUT)
    return next(fitting, None)


def _leaving_fewest(length: int, copies: int) -> int | None:
    """How many turns of a long loop are written out together, so that the fewest are left."""
    written = (n for n in TOGETHER if (n + length % n) * copies <= _WRITTEN_OUT)
    return min(written, key=lambda n: length % n, default=None)


def _has_a_loop(t: Term) -> bool:
    """Whether something in what a loop does is a loop too, or is shared out to work-items."""
    return any(
        in_group_memory(u) or (_computes(u) and not u.unrolled)
        for u in outside(t, _is_stored_before)
    )


def _copies(t: Term) -> int:
    """How often the innermost of what a loop does is written in one turn."""
    return prod(u.solved["n"].constant or 1 for u in outside(t, _is_stored_before) if _computes(u))


def _is_stored_before(t: Term) -> bool:
    """Whether a kernel of its own stores a term."""
    return isinstance(t, Store) and t.space.of_device


def _computes(t: Term) -> TypeGuard[Pattern]:
    """Whether something is done for each of several elements, and not at once."""
    return isinstance(t, Pattern) and t.loop in ("map", "fold") and not is_layout(t)
