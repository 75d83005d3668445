"""Tactics for loops whose steps carry an array.

copied        what a loop goes over step by step is read from a copy, where a step needs more of it than it writes
finished      what a step of a loop makes of an array is computed as a whole before any of it is written
unrolled      the steps of an iteration on arrays, one after the other, so that each may be a kernel
all_rows      loops of the rows of a map go on together: each of their steps is one for all rows
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    curried,
    everywhere,
    fission,
    inside,
    normalize,
    the,
    then,
    topdown,
)
from relift.rewrites.tactics.sharing import has_fold
from relift.semantics.patterns import Iterate, Map, ScanSeq, Stepping
from relift.semantics.patterns.sequential import Accumulating
from relift.semantics.syntax.binding import Position, is_invariant, positions, term_at
from relift.semantics.syntax.terms import Get, Lambda, MakeTuple, children, free_variables, subterms
from relift.semantics.syntax.types import Array, holds_array

MOST_STEPS = 16
"""Steps of an iteration that are written out at most."""

MOST_WRITTEN = 1 << 13
"""Parts of an iteration that is written out, at most: a step that reads its array twice doubles all steps before it."""


def copied() -> Tactic:
    """The step of a loop that carries an array reads a copy of it, so it may write any element before it reads another."""

    def step_copied(at: Rewriting, place: Position) -> Rewriting:
        t = _carrying(at, place)
        state = t.f.parameters[0]
        for below, u in reversed(list(positions(t.f.body))):
            if isinstance(u.type, Array) and state in (u, u.of if isinstance(u, Get) else None):
                copied = then(apply("insert_copy"), apply("store_private"))
                at = copied(at, (*place, "f", *below))
        return at

    return _everywhere_in_loops(step_copied)


def finished() -> Tactic:
    """What the step of a loop makes of the array that it carries is computed as a whole before any of it is written.

    A step may then read its array wherever and as often as it likes.
    """

    def step_finished(at: Rewriting, place: Position) -> Rewriting:
        body = _carrying(at, place).f.body
        parts = children(body) if isinstance(body, MakeTuple) else [("", body)]
        for part, t in parts:
            if not isinstance(t, Lambda) and isinstance(t.type, Array):
                below = (*place, "f", part) if part else (*place, "f")
                at = then(apply("store_private"), apply("insert_copy"))(at, below)
        return at

    return _everywhere_in_loops(step_finished)


def _carrying(at: Rewriting, place: Position) -> Stepping:
    t = term_at(at.term, place)
    if not isinstance(t, Stepping) or not holds_array(t.first.type):
        raise NoMatch("no loop that carries an array")
    return t


@curried
def _everywhere_in_loops(at: Rewriting, place: Position, step: Tactic) -> Rewriting:
    found = everywhere(attempt(step))(at, place)
    if found == at:
        raise NoMatch("no loop that carries an array")
    return found


def unrolled() -> Tactic:
    """Iterations on arrays outside all functions, step by step; those on each element of an array as they are."""

    def inverted(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Iterate) or not isinstance(t.type, Array) or free_variables(t):
            raise NoMatch("no iteration on an array outside all functions")
        turns = t.m.constant
        if turns is None or turns > MOST_STEPS:
            raise NoMatch(f"an iteration of more than {MOST_STEPS} steps")
        if turns and _written_out(t, turns) > MOST_WRITTEN:
            raise NoMatch(f"an iteration of more than {MOST_WRITTEN} parts, were it written out")
        return apply("iterate_first" if turns else "iterate_none")(at, place)

    return normalize(inverted)


def _written_out(t: Iterate, turns: int) -> int:
    """How many parts an iteration has step by step: the array stands wherever a step reads it."""
    (state,) = t.f.parameters
    parts = [u for u, _ in subterms(t.f.body)]
    uses = parts.count(state)
    return sum(len(parts) * int(uses**step) for step in range(turns))


def all_rows() -> Tactic:
    """Folds, and scans, of the rows of a map that carry arrays, which each step folds, are one whose steps are maps over the rows.

    A step is a nest then, such as a product of the states of a neural network and its weights.  Raises `NoMatch` where there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.steps.carried import all_rows
    >>> @rl.program
    ... def turned(x: rl.f32[8, 4], w: rl.f32[2, 2]):
    ...     def step(state, v):
    ...         return rl.map(lambda r: v + rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(r, state))), w)
    ...     return rl.map(lambda row: rl.reduce_seq(step, rl.repeat(2, 0.0), row), x)
    >>> found = derive(turned, all_rows()).result
    >>> rl.show(found.init), rl.show(found.xs), found.f.body.type
    ('repeat(8, repeat(2, 0.0))', 'transpose(x)', f32[8, 2])
    """
    return topdown(at_kinds(Map)(_together))


def _together(at: Rewriting, place: Position) -> Rewriting:
    t = the(Map, at, place)
    found = None if free_variables(t) else _loop_in(t.f)
    if found is None:
        raise NoMatch("no map of loops that carry arrays, which their steps fold")
    if found:
        at, place = fission("f", *found)(at, place), (*place, "xs")
        t = the(Map, at, place)
    loop = term_at(at.term, (*place, "f"))
    assert isinstance(loop, Accumulating), "cannot happen: it was found"
    if loop.xs != t.f.parameters[0]:
        at = fission("f", "xs")(at, place)
    if isinstance(loop, ScanSeq):
        columns = inside("xss")(apply("map_scan_interchange"))
        return then(apply("transpose_transpose", "backward"), columns)(at, place)
    return apply("map_reduce_interchange")(at, place)


def _loop_in(f: Lambda) -> Position | None:
    """Where in a function a loop stands that carries an array, which its steps fold, and that no other encloses."""
    for below, u in positions(f.body):
        if not isinstance(u, Accumulating) or not has_fold(u.f.body):
            continue
        if holds_array(u.f.parameters[0].type) and is_invariant(f.body, below):
            return below
    return None
