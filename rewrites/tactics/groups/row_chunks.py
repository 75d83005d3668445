"""Rows that are folded by a work-item each, in its order, whose group copies them to local memory chunk by chunk.

    map (\\x. e (reduce_seq f z (g x))) xs

A fold without laws is a work-item's own, and neighbours read one row further each.  Here the folds of a group go
together, over chunks of so many columns: all of a chunk is copied along the lines of memory, then each work-item
goes on with its row.  What it has folded stays in its registers.
Source: RISE liftReduce; the tiles are those of Ruetsch and Micikevicius, 2009.
"""

from __future__ import annotations

from typing import TypeVar

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    curried,
    fission,
    fuse,
    inside,
    the,
    then,
)
from relift.rewrites.tactics.folds.remainders import length_of, rest_in_order
from relift.rewrites.tactics.groups.row_tiles import bytes_of, row_tables, rows_staged
from relift.rewrites.tactics.nests.padding import padded
from relift.rewrites.tactics.sharing import named
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Accumulating, Map, ReduceSeq, Reduction
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import Array, holds_array

_WORK_ITEMS = apply("map_to_lcl", d=0)
_STEP: Position = ("f", "xs", "ys", "ys")
"""From the fold of a group to the columns that a turn of it goes through."""


@curried
def rows_in_chunks(
    at: Rewriting, place: Position, items: int, columns: int, local_bytes: int
) -> Rewriting:
    """A map of folds of rows by groups of so many work-items, which copy so many columns of their rows at a time.

    Raises `NoMatch` where the function of a row does not fold one row of numbers, or the sizes do not divide it.

    >>> from relift import f32, map, maximum, minimum, nat, program, reduce_seq
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.row_chunks import rows_in_chunks
    >>> n, m = nat("n"), nat("m")
    >>> @program
    ... def second(a: f32[n, m]):
    ...     step = lambda best, x: (maximum(best[0], x), maximum(best[1], minimum(best[0], x)))
    ...     return map(lambda row: reduce_seq(step, (0.0, 0.0), row)[1], a)
    >>> found = derive(second, rows_in_chunks(32, 16, 48 * 1024), {"n": 64, "m": 128})
    >>> [step.rule for step in found.steps if "reduce" in step.rule]
    ['reduce_seq_chunks', 'map_reduce_interchange_rows']
    """
    if not any(isinstance(u, Reduction) for u, _ in subterms(term_at(at.term, place))):
        raise NoMatch("nothing is folded")
    at = then(named(), fuse())(at, place)
    fold, found = one_of_a_row(ReduceSeq, at, place, items, columns)
    if holds_array(term_at(at.term, (*place, "f")).type):
        raise NoMatch("no map of values stands here")
    size = bytes_of(found.f.parameters[1].type)
    if items * (columns + 1) * size > local_bytes:
        raise NoMatch("the chunks of a group do not fit into local memory")
    length = length_of(found.xs)
    if left := length % columns:
        at = rest_in_order(left)(at, (*place, "f", *fold))
        fold = (*fold, "init")
    if more := -length_of(term_at(at.term, (*place, "xs"))) % items:
        at = padded(more, 0)(at, place)
        place = (*place, "xs")
    group: Position = ("xss", "f")
    at = apply("split_join", m=items)(at, place)
    if fold:
        at = inside(*group)(fission("f", *fold, beside=True))(at, place)
        at = inside(*group)(_WORK_ITEMS)(at, place)
        group = (*group, "xs", "ys")
    at = inside(*group)(_in_chunks(items, columns, length))(at, place)
    if not fold:
        at = inside(*group)(then(apply("insert_copy"), _WORK_ITEMS))(at, place)
    return inside("xss")(apply("map_to_wrg", d=0))(at, place)


Loop = TypeVar("Loop", bound=Accumulating)


def one_of_a_row(
    kind: type[Loop], at: Rewriting, place: Position, items: int, columns: int
) -> tuple[Position, Loop]:
    """Where in the function of a map its only fold, or scan, is, of rows that lie along memory; raises `NoMatch` where there is no tile of so many."""
    t = the(Map, at, place)
    found = [(below, u) for below, u in positions(t.f.body) if isinstance(u, kind)]
    if not is_layout(t.xs) or len(found) != 1:
        raise NoMatch(f"no map over rows whose function has one {kind.name}")
    ((below, loop),) = found
    if not isinstance(loop.xs.type, Array) or holds_array(loop.xs.type.element):
        raise NoMatch("what is gone through is no row of numbers")
    if not is_layout(loop.xs) or not row_tables(at, (*place, "xs")):
        raise NoMatch("what is gone through does not lie along memory")
    if length_of(t.xs) < items or length_of(loop.xs) < columns:
        raise NoMatch(f"there is no tile of {items} by {columns}")
    return below, loop


def _in_chunks(items: int, columns: int, length: int) -> Tactic:
    """The folds of a group as one, over chunks of columns of rows of a length, in local memory."""
    step = then(
        inside("f", *_STEP[1:])(rows_staged(items, columns, of=length)),
        inside("f")(_WORK_ITEMS),
    )
    return then(
        inside("f")(apply("reduce_seq_chunks", m=columns)),
        apply("map_reduce_interchange_rows"),
        inside("init")(then(_WORK_ITEMS, apply("store_private"))),
        step,
    )
