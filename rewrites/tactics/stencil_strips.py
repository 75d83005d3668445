"""Tactics for stencils of two dimensions on a GPU: a work-item has several windows below one another.

A group copies an overlapping tile of the image to local memory, borders included, and each of its work-items has a strip
of windows of one column: neighbours read neighbouring cells, and windows of a strip overlap, so that a work-item reads
a cell once for all windows that it is in.  Where the function of a window folds it, column by column, the folds of a strip
become one, with an accumulator for each window in registers.

    strips_in_groups    all of it
    by_columns          a fold of a window, and of what is as large, goes column by column of both
    strip_folds         the folds of the windows of a strip as one
Source: LIFT, CGO'18, overlapped tiling; the registers are those of Nguyen et al., SC'10, and of `shared_folds`.
"""

from __future__ import annotations

from relift.rewrites.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    inside,
    repeat,
    then,
    tile_stencil_2d,
    topdown,
)
from relift.rewrites.tactics.group_tiles import GROUPS, UNROLLED, WORK_ITEMS, computing, copy, nest
from relift.rewrites.tactics.nest_dimensions import one_fold
from relift.rewrites.tactics.shared_folds import apart, lifted
from relift.semantics.patterns import Map, Reduction
from relift.semantics.syntax.binding import Position, binders_at, positions, term_at
from relift.semantics.syntax.terms import Term, Var


def strips_in_groups(windows: int, down: int) -> Tactic:
    """A stencil of an image in overlapping tiles of `windows` windows each way; a work-item has `down` below one another.

    >>> from relift.rewrites.tactics.stencil_strips import strips_in_groups
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/convolution.py"), strips_in_groups(8, 4), {"h": 16, "w": 16, "r": 1})
    >>> [step.rule for step in found.steps if step.rule.startswith(("stencil", "lift", "store"))]
    ['stencil_tiling_2d', 'stencil_tiling', 'lift_reduce_seq', 'store_private', 'store_local']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = topdown(tile_stencil_2d(windows))(at, place)
        return inside(*computing(at, place))(nest(*GROUPS, tile))(at, place)

    def tile(at: Rewriting, place: Position) -> Rewriting:
        image = binders_at(at.term, place)[-1].name
        at = _strips(down)(at, place)
        at = inside("xss", "xs")(staged(image))(at, place)
        lines = inside("xss")(WORK_ITEMS[0])
        columns = inside("xss", "f", "xss")(WORK_ITEMS[1])
        return then(lines, columns)(at, place)

    return tactic


def _strips(down: int) -> Tactic:
    """The windows of a tile strip by strip, and in a strip column by column."""
    return then(
        apply("map_fusion"),
        apply("stencil_tiling", k=down - 1),
        inside("xss", "f")(then(apply("window_map_exchange"), inside("xss", "f")(_strip))),
    )


def _strip(at: Rewriting, place: Position) -> Rewriting:
    """The windows of a strip, written out; where each is folded, all their folds are one."""
    t = term_at(at.term, place)
    assert isinstance(t, Map), "cannot happen: a strip is a map over its windows"
    folds = outermost_folds(t.f.body)
    if not folds:
        return UNROLLED(at, place)
    if len(folds) > 1:
        raise NoMatch("the function of a window has several folds")
    fold = ("f", *folds[0])
    at = inside(*fold)(by_columns())(at, place)
    written = copy(UNROLLED) if fold == ("f",) else UNROLLED
    return then(apart(fold, strip_folds()), written)(at, place)


def by_columns() -> Tactic:
    """A fold of what is joined goes through the columns of it, and through each cell by cell."""
    pairs = inside("xs", "xs")(apply("join_zip"))
    return then(
        repeat(one_fold),
        attempt(pairs),
        attempt(inside("xs")(apply("map_join"))),
        apply("reduce_join_columns"),
        apply("reduce_join", "backward"),
        attempt(inside("xs", "xss")(apply("map_map_transpose", "backward"))),
        apply("reduce_to_seq"),
        apply("reduce_seq_join"),
        repeat(topdown(apply("reduce_map_fusion"))),
    )


def strip_folds() -> Tactic:
    """The folds of the windows of a strip as one, whose steps take a column of each, written out."""
    return then(lifted(), inside("f", "f")(apply("reduce_seq_to_unroll")))


def outermost_folds(t: Term) -> list[Position]:
    """Where the folds are that no other encloses."""
    found: list[Position] = []
    for below, u in positions(t):
        nested = any(below[: len(outer)] == outer for outer in found)
        if isinstance(u, Reduction) and not nested:
            found.append(below)
    return found


def staged(image: str) -> Tactic:
    """What a variable stands for is copied to local memory by all work-items, where it is read at one place."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        uses = [p for p, u in positions(t) if isinstance(u, Var) and u.name == image]
        if len(uses) != 1:
            raise NoMatch("the windows of a tile are not those of one array")
        return inside(*uses[0])(then(copy(*WORK_ITEMS), apply("store_local")))(at, place)

    return tactic
