"""Tactics for stencils on a CPU: a work-item has several rows of windows below one another, in the lanes of vectors.

Windows of neighbouring rows overlap, so what a work-item loads is used for all rows of its strip that it is in:

    strips_in_lanes     all of it: borders of constants apart, rows that fill no strip one by one
    a column            the windows of a strip that lie below one another; where they are folded, their folds are one,
                        with an accumulator for each in registers (`groups.stencils.windows_of_strip`)
    lanes               neighbouring columns, vector by vector, the ends of padded rows apart (`lanes`)

A lane then computes an array, the results of its column: each of them is a vector of a row.
Source: LIFT, GPGPU'16, macro rule apply1DRegisterBlocking, with vectors; Halide's `unroll(y).vectorize(x)`.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    apply,
    attempt,
    copy,
    curried,
    fuse,
    inside,
    normalize,
    then,
)
from relift.rewrites.tactics.folds.remainders import cut, length_of
from relift.rewrites.tactics.folds.shared import table_in_registers
from relift.rewrites.tactics.groups.stencils import windows_of_strip
from relift.rewrites.tactics.vectors import lanes
from relift.semantics.patterns import Map, Slide
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Term


@curried
def strips_in_lanes(at: Rewriting, place: Position, width: int, down: int) -> Rewriting:
    """A stencil as a low-level program: a work-item has `down` rows of windows, in vectors of `width`.

    >>> from relift.rewrites.tactics.vectors.strips import strips_in_lanes
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> sizes = {"h": 10, "w": 48, "r": 1}
    >>> found = derive(load_program("examples/convolution.py"), strips_in_lanes(16, 4), sizes)
    >>> [step.rule for step in found.steps if step.rule in ("split_join", "lift_reduce_seq")][:3]
    ['split_join', 'lift_reduce_seq', 'lift_reduce_seq']
    """
    at = lanes.maps_together(at, place)
    t = term_at(at.term, place)
    depth = lanes.depth_of(t)
    if not 2 <= depth <= 1 + len(lanes.OUTER):
        raise NoMatch("rows are maps in maps")
    if not _overlap(term_at(t, ("f",) * (depth - 2))):
        raise NoMatch("no windows of neighbouring rows overlap")
    lines = lanes.around(depth - 2, _part(width, down))
    return then(lanes.borders_apart, lanes.in_parts(lines))(at, place)


def folds_in_strips(width: int, down: int) -> Tactic:
    """Nested maps, the inner of which fold for each pair of a row and a column, by `down` rows: for nests that no blocks divide.

    A work-item folds vectors of `width` columns, and narrower ones for the rest, each for all of its rows at once.  What it
    reads of the rows is the same for each vector of columns: folds are written out that read no more than lies in registers.
    A product of 777 x 64 x 777 by eight rows takes 2.3 ms with 64 steps written out, 512 numbers that come back from the
    stack, and 0.7 in a loop.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.vectors.strips import folds_in_strips
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/matmul.py"), folds_in_strips(8, 4), {"n": 9, "m": 11, "k": 5})
    >>> [step.rule for step in found.steps if step.rule in ("lift_reduce_seq", "vectorize_map")]
    ['lift_reduce_seq', 'vectorize_map', 'vectorize_map', 'vectorize_map', 'vectorize_map']
    """

    def strips(rows: int) -> Tactic:
        one = then(inside("f")(fuse()), apply("map_to_seq"))
        folds = then(table_in_registers, copy(UNROLLED)) if rows > 1 else one
        columns = then(inside("f")(folds), lanes.lanes(width, lanes.SHORT // max(rows, 1)))
        strip = then(apply("map_interchange"), inside("xss")(columns))
        return then(
            apply("split_join", m=rows),
            inside("xss")(then(inside("f")(strip), apply("map_to_glb", d=0))),
        )

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = normalize("map_fusion")(at, place)
        depth = lanes.depth_of(term_at(at.term, place))
        if not 2 <= depth <= 1 + len(lanes.OUTER):
            raise NoMatch("rows are maps in maps")
        line: Position = ("f",) * (depth - 2)
        n = length_of(term_at(at.term, (*place, *line)))
        at = inside(*line)(cut(n, down, strips(down), strips(n % down)))(at, place)
        for level in range(depth - 2):
            at = inside(*line[:level])(apply("map_to_glb", d=depth - 2 - level))(at, place)
        return at

    return tactic


def _overlap(t: Term) -> bool:
    """Whether a map goes through windows."""
    return isinstance(t, Map) and any(isinstance(u, Slide) for _, u in positions(t.xs))


def _part(width: int, down: int) -> Tactic:
    """A map of rows by strips, as many of them as fill one."""
    strips = then(
        apply("split_join", m=down),
        inside("xss")(then(inside("f")(_strip(width)), apply("map_to_glb", d=0))),
    )
    single = then(attempt(fuse()), lanes.rows(width))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        n = length_of(term_at(at.term, place))
        return cut(n, down, strips, single)(at, place)

    return tactic


def _strip(width: int) -> Tactic:
    """The rows of a strip column by column, and the columns vector by vector."""
    columns = then(inside("f")(windows_of_strip), lanes.lanes(width))
    return then(
        apply("map_interchange_rows"),
        inside("xss")(then(lanes.ends_apart(width), lanes.in_parts(columns))),
    )
