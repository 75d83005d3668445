"""Tactics for maps over rows on a CPU: a work-item has a row, and goes through it in vectors whatever its driver packs.

A function of a row that folds it, once or several times, and computes a value, a tuple or a new row of what the folds
gave, as softmax and statistics of rows do.  The folds get names, in the order in which they need each other:

    a fold          has a vector of accumulators, whose lanes are folded in halves, with what fills no vector
    a fold of tuples  has several, each a vector for every component, such as the largest elements and where they are; so have extremes
    a new row       is computed in vectors; one that several folds read is kept by the work-item

Neighbouring rows lie far apart in memory, so vectors of rows would have to be gathered.
Source: Lift's vectorizeReduce, below maps; Halide's `vectorize` on reductions by `rfactor`.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    apply,
    attempt,
    curried,
    first,
    fuse,
    inside,
    then,
)
from relift.rewrites.tactics.folds.partial_results import ELEMENTS_IN_CHUNKS
from relift.rewrites.tactics.folds.places import places_in_any_order, reduced_in_chunks
from relift.rewrites.tactics.folds.remainders import (
    fold_followed_by_rest,
    fold_here_with_rest,
    length_of,
)
from relift.rewrites.tactics.folds.shared import across_lanes, lifted
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.rewrites.tactics.groups.rows.by_groups import FUSED, IN_ORDER, named, row_in_maps
from relift.rewrites.tactics.vectors.halved_lanes import in_halves, lanes_in_halves
from relift.rewrites.tactics.vectors.lanes import for_items, lanes
from relift.semantics.patterns import Map, Reduce
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import BinaryOperator
from relift.semantics.syntax.types import Array, Scalar, Tuple


@curried
def rows_of_items(
    at: Rewriting, place: Position, depth: int, width: int, private_bytes: int
) -> Rewriting:
    """A map over rows, in `depth` - 1 maps more: a work-item has a row, whose folds are by vectors of `width`.

    Raises `NoMatch` where the function of a row folds nothing, or no fold of it fills two vectors.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.vectors.folded_rows import rows_of_items
    >>> @rl.program
    ... def parts(a: rl.f32[8, 512]):
    ...     return rl.map(lambda row: rl.map(lambda v: v / rl.reduce(rl.add, 0.0, row), row), a)
    >>> steps = derive(parts, rows_of_items(1, 16, 32 * 1024)).steps
    >>> [step.choices["w"] for step in steps if "vectorize" in step.rule]
    [16, 8, 4, 2, 16]
    """
    at, row = row_in_maps(attempt(places_in_any_order())(at, place), place, depth)
    at = row_in_vectors(width, private_bytes)(at, row)
    return for_items(at, place, depth)


def row_in_vectors(width: int, private_bytes: int) -> Tactic:
    """What a function makes of a row that it folds, by one work-item: names for its folds, each by vectors, then its result.

    Raises `NoMatch` where it folds nothing, or no fold fills two vectors.
    """

    def tactic(at: Rewriting, row: Position) -> Rewriting:
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
            return then(FUSED, lanes(width), IN_ORDER)(at, result)
        if isinstance(term_at(at.term, result).type, Array):
            raise NoMatch("the result of a row is neither a map nor a value")
        return at

    return tactic


_IN_LANES = ("vectorize_reduce", "lift_reduce_seq")


@curried
def _value(at: Rewriting, place: Position, width: int) -> Rewriting:
    """A fold in vectors, where it has two; or an array that the work-item keeps."""
    t = term_at(at.term, place)
    if isinstance(t, Map):
        return then(lanes(width), IN_ORDER, apply("store_private"))(at, place)
    if not isinstance(t, Reduce):
        raise NoMatch("what has a name is neither a fold nor a map")
    if isinstance(t.init.type, Tuple):
        by_vectors = (from_neutral(_by_accumulators(n, width)) for n in _TOGETHER)
        return first(*by_vectors, IN_ORDER)(at, place)
    if _waits(t):
        return first(
            from_neutral(_beside_a_rest(_TOGETHER[0], width)),
            from_neutral(in_halves(width)),
            IN_ORDER,
        )(at, place)
    return then(attempt(from_neutral(in_halves(width))), IN_ORDER)(at, place)


def _waits(t: Reduce) -> bool:
    """Whether a step takes so long that the next one has to wait for it: the smaller float, or NaN, is two comparisons and a choice.

    The smallest of 4 million numbers in chunks that a cache keeps takes two cores 0.28 to 0.57 ms with one accumulator, 0.16 to 0.33 with four.
    """
    op, of = t.op, t.init.type
    chooses = isinstance(op, BinaryOperator) and op.laws.idempotent
    return chooses and isinstance(of, Scalar) and of.is_float


def _by_accumulators(vectors: int, width: int) -> Tactic:
    """A fold with so many accumulators, each a vector, of tuples one for every component; the rest follows it.

    Equal lanes of all accumulators are folded first, then the lanes.
    """
    accumulators = vectors * width

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        _require(at, place, accumulators)
        main_part = then(_of_lanes(vectors, width), apply("reduce_to_seq"))
        return fold_followed_by_rest(accumulators, main_part)(at, place)

    return tactic


def _beside_a_rest(vectors: int, width: int) -> Tactic:
    """The same of numbers; the lanes are folded in halves, and the rest by vectors of its own."""
    accumulators = vectors * width
    main_part = then(_of_lanes(vectors, width), lanes_in_halves)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        length = _require(at, place, accumulators)
        if length % accumulators == 0:
            return main_part(at, place)
        parts = then(inside("left")(main_part), inside("right")(first(in_halves(width), IN_ORDER)))
        return then(fold_here_with_rest(length - length % accumulators), parts)(at, place)

    return tactic


def _require(at: Rewriting, place: Position, accumulators: int) -> int:
    """How many elements a fold has; raises `NoMatch` where they do not fill so many accumulators twice."""
    length = length_of(term_at(at.term, (*place, "xs")))
    if length < 2 * accumulators:
        raise NoMatch(f"{length} elements do not fill {accumulators} accumulators twice")
    return length


def _of_lanes(vectors: int, width: int) -> Tactic:
    """A fold of what `width` lanes come to, of which each has folded equal lanes of so many vectors of accumulators."""
    few = then(inside("f")(apply("reduce_seq_to_unroll")), UNROLLED, apply("store_private"))
    folds = then(inside("f")(fuse()), across_lanes(width, lifted()))
    lanes = then(inside("f")(apply("reduce_to_seq")), across_lanes(width, few))

    return then(
        reduced_in_chunks("partial_reduce_strided", vectors * width),
        inside("xs")(then(ELEMENTS_IN_CHUNKS, folds)),
        reduced_in_chunks("partial_reduce_strided", width),
        inside("xs")(lanes),
    )


_TOGETHER = (4, 1)
"""Vectors of accumulators, where a fold fills them twice: steps that need each other's result wait for it in one alone.

Places of the largest of 4096 x 4096 take 1.24 ms of two cores with four, 2.2 in loops of 64 accumulators that drivers pack."""
