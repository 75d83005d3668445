"""Tactics for nests of long folds with few results: each fold in parts, which different groups of a GPU have.

    map (\\x. map (\\y. fold z g (zip x y)) ys) xs
        =  map (\\cs. map (reduce z) (transpose cs)) (transpose parts)
    parts  =  map (\\p. map (\\x. map (\\y. fold z g (zip x y)) (snd p)) (fst p)) (zip (chunks of xs) (chunks of ys))

The parts are a nest in one more map, whatever then cuts it into tiles, and are stored; a second kernel folds those of
each result, and goes on with what is done with it.  So a device has enough to do also where the results are fewer than
it computes at once.  Source: CUTLASS and cuBLAS, split-K; the interchanges are LIFT's.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    curried,
    first,
    fission,
    inside,
    skip,
    then,
)
from relift.rewrites.tactics.folds.partial_results import EACH_RESULT, ELEMENTS_IN_CHUNKS, IN_ORDER
from relift.rewrites.tactics.folds.places import reduced_in_chunks
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.rewrites.tactics.nests.dimensions import nest_at, nested
from relift.rewrites.tactics.nests.normal_form import normal_form, parts_at
from relift.rewrites.tactics.nests.padding import by_an_operator, in_whole_chunks, padded, steps_of
from relift.rewrites.tactics.nests.prologues import prologues_stored
from relift.rewrites.tactics.vectors.lanes import in_vectors
from relift.semantics.syntax.binding import Position

_WIDTH = 4
"""Lanes of a vector of results, and of what is read: 16 bytes, the widest access of a GPU."""


@curried
def folds_in_parts(
    at: Rewriting,
    place: Position,
    parts: int,
    tactic: Tactic,
    rows: int = 1,
    columns: int = 1,
    depth: int = 1,
) -> Rewriting:
    """A nest whose folds are made of so many parts, all of which a tactic computes, as a nest in one more map.

    Its blocks are of so many rows and columns: where these do not divide it, there is more of each part than is read.
    A part of the folds is in whole chunks of this `depth`, where they can go on to the end of one.

    Raises `NoMatch` where the parts do not divide the folds, the nest is in one more map already, or its folds are by
    no operator.

    >>> from relift.rewrites.tactics.nests.split_folds import folds_in_parts
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive, skip
    >>> found = derive(load_program("examples/matmul.py"), folds_in_parts(2, skip), {"n": 4, "m": 6, "k": 8})
    >>> [step.rule for step in found.steps if step.rule.startswith(("partial", "map_inter", "store"))]
    ['partial_reduce_chunks', 'map_interchange_zip_inside', 'map_interchange_zip_inside', 'store_global']
    """
    at = nested()(at, place)
    nest = nest_at(at, place)
    if nest.around:
        raise NoMatch("only the folds of a nest that stands by itself are made of parts")
    steps = nest.lengths[2]
    if steps < parts:
        raise NoMatch(f"folds of {steps} steps are too short for {parts} parts")
    here = (*place, *nest.place)
    at = normal_form(at, here)
    table = (*here, *parts_at(at, here).folds)
    at = prologues_stored()(at, table)
    if depth > 1:
        at = in_whole_chunks(parts * depth)(at, table)
        steps = steps_of(at, table)
    if steps % parts:
        at = _rest_apart(steps - steps % parts)(at, table)
        table = (*table, *_BESIDE)
    at = parts_outside("partial_reduce_chunks", steps // parts, apply("split_zip"))(at, table)
    down, across, _ = nest.lengths
    more = -down % rows, -across % columns
    within = inside(*("xs",) if any(more) else ())
    stored = then(_longer_parts(*more), within(then(tactic, apply("store_global"))))
    at = inside(*PARTS)(stored)(at, table)
    return then(IN_ORDER, _each_result(down * across))(at, here)


def _longer_parts(rows: int, columns: int) -> Tactic:
    """Parts of so many more rows and columns, of which the first are taken once they are stored."""
    taken = ("xs",) * (bool(rows) + bool(columns))
    if not taken:
        return skip
    outside = fission("f", *taken)
    return then(inside("f")(padded(rows, columns, _WIDTH)), outside)


def _rest_apart(main: int) -> Tactic:
    """The folds of a table go on from those of their first steps, which are a table of their own."""
    of_both = then(
        inside("xs")(apply("concat_take_drop", "backward", m=main)),
        apply("reduce_seq_concat"),
        inside("init", "xs")(apply("take_zip")),
    )
    apart = fission("f", "init", beside=True)
    straight = then(
        inside("f")(fission("f", "xs", "ys")),
        fission("f", "f", "xs", "xs"),
    )
    return then(
        inside("f")(then(inside("f")(of_both), apart)),
        fission("f", "xs", "ys", beside=True),
        inside(*_BESIDE)(straight),
    )


_BESIDE: Position = ("xs", "ys")
"""From a map over a zip to the second of its arrays."""

PARTS: Position = ("xs", "xss")
"""From a table of folds of parts to the parts."""


def parts_outside(rule: str, length: int, zipped: Tactic) -> Tactic:
    """The folds of a table in normal form are made of parts by a rule, of which there is a table each.

    `zipped` makes the parts of a zip pairs of those of both arrays.
    """
    of_parts = then(ELEMENTS_IN_CHUNKS, inside("xs")(zipped), apply("map_fusion"))
    in_parts = then(
        by_an_operator,
        from_neutral(reduced_in_chunks(rule, length)),
        attempt(apply("reduce_start")),
        inside("xs")(of_parts),
    )
    columns = then(
        inside("f")(in_parts),
        fission("f", "xs", "xs", "ys"),
        fission("f", "xs"),
        inside("xs")(_interchanged),
    )
    rows = then(fission("f", "xs", "ys"), _interchanged)
    return then(inside("f")(columns), fission("f", "xs", "xss"), inside("xs")(rows))


_interchanged = then(
    inside("f")(then(inside("xs")(apply("zip_swap")), apply("map_fusion"))),
    apply("map_interchange_zip_inside"),
)
"""Rows that one array is zipped with, each column of which meets one element of it."""


_MANY = 1 << 16
"""Results of which each work-item has a vector: of fewer, as many as read them keep no GPU busy.

To add 113 tables of 64 x 64 numbers takes an H200 9.7 us by vectors, and 6.3 with a work-item for each number.
"""


def _each_result(results: int) -> Tactic:
    """A work-item for each of few results, or for a vector of them, which reads their parts at once; neighbours are side by side."""
    each = then(inside("f")(EACH_RESULT), apply("map_to_glb", d=1))
    if results < _MANY:
        return each
    lanes = then(in_vectors(_WIDTH), inside("vs")(apply("map_to_glb", d=0)))
    return first(then(inside("f")(lanes), apply("map_to_glb", d=1)), each)
