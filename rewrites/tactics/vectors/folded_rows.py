"""Tactics for maps over rows on a CPU: a work-item has a row, and goes through it in vectors whatever its driver packs.

A function of a row that folds it, once or several times, and computes a value, a tuple or a new row of what the folds
gave, as softmax and statistics of rows do.  The folds get names, in the order in which they need each other:

    a fold          has a vector of accumulators, whose lanes are folded at the end; what fills no vector is folded apart
    a fold of tuples  has accumulators side by side, such as the largest elements and where they are
    a new row       is computed in vectors; one that several folds read is kept by the work-item

Neighbouring rows lie far apart in memory, so vectors of rows would have to be gathered.
Source: Lift's vectorizeReduce, below maps; Halide's `vectorize` on reductions by `rfactor`.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    first,
    inside,
    then,
)
from relift.rewrites.tactics.folds.places import places_in_any_order, reduced_in_chunks
from relift.rewrites.tactics.folds.remainders import fold_here_with_rest, length_of
from relift.rewrites.tactics.folds.shared import in_vectors
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.rewrites.tactics.groups.rows import FUSED, IN_ORDER, named, row_in_maps
from relift.rewrites.tactics.vectors.lanes import OUTER, lanes
from relift.semantics.patterns import Map, Reduce
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.types import Array, Tuple


def rows_of_items(depth: int, width: int, private_bytes: int) -> Tactic:
    """A map over rows, in `depth` - 1 maps more: a work-item has a row, whose folds are by vectors of `width`.

    Raises `NoMatch` where the function of a row folds nothing, or no fold of it fills two vectors.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.vectors.folded_rows import rows_of_items
    >>> @rl.program
    ... def parts(a: rl.f32[8, 512]):
    ...     return rl.map(lambda row: rl.map(lambda v: v / rl.reduce(rl.add, 0.0, row), row), a)
    >>> steps = derive(parts, rows_of_items(1, 16, 32 * 1024)).steps
    >>> [step.rule for step in steps if "vector" in step.rule]
    ['vectorize_reduce', 'vectorize_map']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at, row = row_in_maps(attempt(places_in_any_order())(at, place), place, depth)
        at, names = named(at, row, private_bytes)
        if not names:
            raise NoMatch("the function of a row folds nothing")
        in_lanes = 0
        for i in range(names):
            value = (*row, *("f",) * i, "x")
            before = len(at.steps)
            at = _value(width)(at, value)
            in_lanes += any(step.rule in _IN_LANES for step in at.steps[before:])
        if not in_lanes:
            raise NoMatch(f"no fold of a row has two vectors of {width}")
        result = (*row, *("f",) * names)
        if isinstance(term_at(at.term, result), Map):
            at = then(FUSED, lanes(width), IN_ORDER)(at, result)
        elif isinstance(term_at(at.term, result).type, Array):
            raise NoMatch("the result of a row is neither a map nor a value")
        for level, d in enumerate(OUTER[depth - 1]):
            at = apply("map_to_glb", d=d)(at, (*place, *("f",) * level))
        return at

    return tactic


_IN_LANES = ("vectorize_reduce", "lift_reduce_seq")


def _value(width: int) -> Tactic:
    """A fold in vectors, where it has two; or an array that the work-item keeps."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if isinstance(t, Map):
            return then(lanes(width), IN_ORDER, apply("store_private"))(at, place)
        if not isinstance(t, Reduce):
            raise NoMatch("what has a name is neither a fold nor a map")
        if isinstance(t.init.type, Tuple):
            return first(from_neutral(_side_by_side(_TOGETHER * width)), IN_ORDER)(at, place)
        length = length_of(t.xs)
        main = length - length % width
        if main < 2 * width:
            return IN_ORDER(at, place)
        whole, rest = (
            in_vectors(width),
            then(fold_here_with_rest(main), inside("left")(in_vectors(width))),
        )
        in_parts = from_neutral(whole if main == length else rest)
        return then(attempt(in_parts), IN_ORDER)(at, place)

    return tactic


def _side_by_side(accumulators: int) -> Tactic:
    """A fold of tuples, which have no vectors, with so many accumulators in a loop that a driver packs; the rest follows it."""
    in_order = apply("map_to_seq")
    table = then(
        apply("lift_reduce_seq"),
        inside("init")(then(in_order, apply("store_private"))),
        inside("f")(in_order),
    )

    def main_part(at: Rewriting, place: Position) -> Rewriting:
        at = reduced_in_chunks("partial_reduce_strided", accumulators)(at, place)
        at = inside("xs")(then(inside("f")(apply("reduce_to_seq")), table))(at, place)
        return apply("reduce_to_seq")(at, place)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        length = length_of(term_at(at.term, (*place, "xs")))
        main = length - length % accumulators
        if main < 2 * accumulators:
            raise NoMatch(f"{length} elements do not fill {accumulators} accumulators twice")
        if main == length:
            return main_part(at, place)
        return then(
            inside("xs")(apply("concat_take_drop", "backward", m=main)),
            apply("reduce_to_seq"),
            apply("reduce_seq_concat"),
            inside("init")(then(apply("reduce_to_seq", "backward"), main_part)),
        )(at, place)

    return tactic


_TOGETHER = 4
"""Vectors of accumulators that a loop goes through: places of the largest of 4096 x 4096 take 2.2 ms with 32 to 64
accumulators, 2.7 and 4.6 with 16, and from 2.3 to 2.8 with 128."""
