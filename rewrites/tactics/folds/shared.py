"""Tactics for folds that share what they read: a work-item folds for several neighbouring results at once.

The programs are maps, alone or the whole of what maps around them compute,

    map (\\x. e x (fold f z (zip (g x) ys))) xs

for any e, f, g and z: a fold of arrays of which one is the same for every x.  An element of `ys` is read once for
all results of a block, which stay in registers:

    blocks_of_folds         a result has a vector of accumulators, whose lanes are folded at the end (rows of a matrix)
    blocks_across_results   the lanes of a vector are neighbouring results (columns of a matrix); these may be folds of one
                            array, too: nothing is read twice, but wide strips of a row come from memory faster.  What a step
                            takes of its result's own numbers, such as the mean of a column, stands beside each element

Either way the folds of a block become one fold, with an array of accumulators (`lifted`).  What fills no block is computed apart.
Source: LIFT, GPGPU'16, macro rule apply1DRegisterBlocking; Goto and van de Geijn, TOMS 2008.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    any_rule,
    apply,
    attempt,
    copy,
    curried,
    first,
    fission,
    fuse,
    inside,
    normalize,
    repeat,
    the,
    then,
    topdown,
    vectorize_reduction,
)
from relift.rewrites.tactics.folds.remainders import cut, length_of
from relift.rewrites.tactics.nests.normal_form import through_what_is_read
from relift.rewrites.tactics.nests.zips import zipped
from relift.rewrites.tactics.vectors.halved_lanes import in_halves
from relift.rewrites.tactics.vectors.lanes import depth_of
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import (
    AsVector,
    Bordered,
    Map,
    ReduceSeq,
    ReduceSeqUnroll,
    Reduction,
    Zip,
)
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.places import outermost
from relift.semantics.syntax.terms import Combine, Lambda, Term, children, free_variables
from relift.semantics.syntax.types import Array, dimensions

_MOST_DIMENSIONS = 3


def folds_that_share(t: Term) -> list[Position]:
    """Where, in a map, the folds are that read an array which is the same for all its elements.

    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.folds.shared import folds_that_share
    >>> folds_that_share(load_program("examples/matvec.py").body)
    [('f',)]
    >>> folds_that_share(load_program("examples/transpose.py").body)
    []
    """
    if not isinstance(t, Map):
        return []
    own, parts = _own(t), _once(t.f.body, ("f",))
    return outermost(p for p, u in parts if isinstance(u, Reduction) and _is_shared(u.xs, own))


def _once(t: Term, place: Position) -> list[tuple[Position, Term]]:
    """The parts of a term that no function in it repeats, with their places."""
    found = [(place, t)]
    for field, child in children(t):
        if not isinstance(child, Lambda):
            found += _once(child, (*place, field))
    return found


def _is_shared(data: Term, own: frozenset[str]) -> bool:
    """Whether some of what is zipped depends on these variables, and some does not."""
    while isinstance(data, Map):
        data = data.xs
    depends = [bool(free_variables(part) & own) for part in zipped(data)]
    return any(depends) and not all(depends)


def blocks_of_folds(results: int, width: int) -> Tactic:
    """A work-item has `results` neighbouring results, each with a vector of up to `width` accumulators.

    >>> from relift.rewrites.tactics.folds.shared import blocks_of_folds
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/gemv.py"), blocks_of_folds(4, 16), {"n": 64, "m": 128})
    >>> "lift_reduce_seq" in {step.rule for step in found.steps}
    True
    """

    def results_of(at: Rewriting, place: Position) -> Rewriting:
        loops: list[Position] = []
        own = _own(term_at(at.term, place))
        for fold in _sharing(at, place):
            at = inside(*fold)(then(OUT_OF_ZIPS, first(in_halves(width), in_vectors(width))))(
                at, place
            )
            loop = (*fold, *_loop(term_at(at.term, (*place, *fold))))
            at = inside(*loop)(repeat(_beside(own)))(at, place)
            loops.append(loop)
        written = copy(UNROLLED) if loops == [("f",)] else UNROLLED
        block = then(*(apart(loop, lifted()) for loop in loops), written)
        return _in_blocks(results, block)(at, place)

    return _of_innermost(results_of)


def blocks_across_results(vectors: int, width: int) -> Tactic:
    """A work-item has `vectors` vectors, whose lanes are `width` neighbouring results.

    >>> from relift.rewrites.tactics.folds.shared import blocks_across_results
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/matvec.py"), blocks_across_results(2, 16), {"n": 64, "m": 128})
    >>> "as_vector_map_fold" in {step.rule for step in found.steps}
    True
    """
    folded = across_lanes(width, lifted())

    def results_of(at: Rewriting, place: Position) -> Rewriting:
        folds = _of_own_data(at, place)
        for fold in folds:
            at = in_steps(fold)(at, place)
        if folds == [("f",)]:
            block = then(folded, inside("vs")(copy(UNROLLED)))
        else:
            lanes = then(apply("vectorize_map", w=width), inside("vs")(UNROLLED))
            block = then(*(apart(fold, folded) for fold in folds), lanes)
        return _in_blocks(vectors * width, block)(at, place)

    return _of_innermost(results_of)


@curried
def in_steps(at: Rewriting, place: Position, fold: Position) -> Rewriting:
    """A fold in a map, in order, of what lanes go through: what they share first, what is their own beside each element."""
    t = term_at(at.term, place)
    if folds_that_share(t):
        return inside(*fold)(then(fuse(), _shared_first(at, place)))(at, place)
    beside = repeat(_beside(_own(t)))
    return inside(*fold)(then(fuse(), attempt(apply("reduce_to_seq")), beside))(at, place)


def across_lanes(width: int, loop: Tactic) -> Tactic:
    """A map of folds whose lanes are `width` neighbouring results; what a `loop` makes of the map of folds of vectors."""
    folds = any_rule("as_vector_map_fold", "as_vector_map_reduce_seq")
    vectors = inside("vs")(then(folds, loop))
    return then(apply("as_scalar_as_vector", "backward", w=width), vectors)


# ---- folds


def _sharing(at: Rewriting, place: Position) -> list[Position]:
    t = term_at(at.term, place)
    if any(isinstance(u, Bordered) for _, u in positions(at.term)):
        raise NoMatch("what is read across a border is no vector")
    folds = folds_that_share(t)
    if not folds:
        raise NoMatch("no fold here reads what others read too")
    return folds


def _of_own_data(at: Rewriting, place: Position) -> list[Position]:
    """The folds that share what they read; if there are none, all folds of what depends on the result."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or folds_that_share(t):
        return _sharing(at, place)
    own = _own(t)
    found = [
        below
        for below, u in _once(t.f.body, ("f",))
        if isinstance(u, Reduction) and free_variables(u.xs) & own
    ]
    if not found:
        raise NoMatch("no fold here depends on the result")
    return found


def in_vectors(width: int) -> Tactic:
    """A fold by as many lanes as divide its length, if its operator allows it; the lanes are folded one by one."""
    lanes = [w for w in (16, 8, 4, 2) if w <= width]
    vectors = first(*(vectorize_reduction(w) for w in lanes))
    computed = inside("xs", "vs", "x", "xs")(attempt(apply("as_vector_map")))
    written_out = then(vectors, computed, fuse(), apply("reduce_seq_to_unroll"))
    return first(written_out, fuse())


def _loop(t: Term) -> Position:
    """Where the loop is of a fold that may be by vectors, whose lanes are folded in halves, with what is left over."""
    if isinstance(t, Combine):
        return ("left", *_loop(t.left))
    if not isinstance(t, ReduceSeqUnroll):
        return ()
    lanes: Position = ("xs", "xs", "vs", "x") if isinstance(t.xs, AsVector) else ("xs", "vs", "x")
    return (*lanes, *_loop(term_at(t, lanes)))


def _shared_first(at: Rewriting, place: Position) -> Tactic:
    """A fold of pairs, of which the first is the same for all results."""
    own = _own(term_at(at.term, place))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        fold = term_at(at.term, place)
        if not isinstance(fold, ReduceSeq) or not isinstance(pairs := fold.xs, Zip):
            raise NoMatch("lanes of neighbouring results are of folds that go through two arrays")
        if free_variables(pairs.xs) & own:
            return then(inside("xs")(apply("zip_swap")), apply("reduce_map_fusion"))(at, place)
        return at

    return tactic


def _own(t: Term) -> frozenset[str]:
    """The names of an element of the map."""
    return frozenset(x.name for x in t.f.parameters) if isinstance(t, Map) else frozenset()


OUT_OF_ZIPS = normalize("zip_map_left", "zip_map_right", "map_fusion")
"""What is computed of each element that a fold goes through is computed by its steps."""


@curried
def _beside(at: Rewriting, place: Position, own: frozenset[str]) -> Rewriting:
    """What each step of a fold takes of these variables stands beside each element: a lane has its own."""
    t = the(ReduceSeq, at, place)
    read = (
        below
        for below, u in positions(t.f.body)
        if not isinstance(u.type, Array) and is_layout(u) and own & free_variables(u)
    )
    found = next(read, None)
    if found is None:
        raise NoMatch("the steps of this fold take only its elements")
    return apply("reduce_seq_beside", parts={"x": ("f", *found)})(at, place)


def tables_in_registers() -> Tactic:
    """What a work-item folds for each of a few elements is one fold, with an array of accumulators, in registers.

    Then an element that all of these folds read is read once.  Raises `NoMatch` where no function has such a map.

    >>> from relift.rewrites.tactics.folds.shared import tables_in_registers
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/kmeans.py"), tables_in_registers(), {"n": 64, "k": 5, "d": 8})
    >>> "lift_reduce_seq" in {step.rule for step in found.steps}
    True
    """

    return then(normalize("map_fusion"), topdown(table_in_registers))


def table_in_registers(at: Rewriting, place: Position) -> Rewriting:
    """A few folds of a work-item that share what they read, as one fold with an array of accumulators."""
    t = term_at(at.term, place)
    if "f" not in place or not isinstance(t, Map) or folds_that_share(t) != [("f",)]:
        raise NoMatch("no table of folds that share what they read")
    if not 1 < (dimensions(t.type)[0][0].constant or 0) <= _MOST_IN_REGISTERS:
        raise NoMatch("the results of a work-item are too many for its registers")
    return then(inside("f")(then(OUT_OF_ZIPS, fuse())), lifted())(at, place)


_MOST_IN_REGISTERS = 16
"""Accumulators of a work-item at most, where it has a table of them."""


def lifted() -> Tactic:
    """The folds of all elements of a map as one, with an array of accumulators in registers."""
    return _lifted_by("lift_reduce_seq")


def lifted_of_one_array() -> Tactic:
    """The same for folds of one array, whose steps depend on the elements of the map."""
    return _lifted_by("map_reduce_interchange_captured")


def _lifted_by(rule: str) -> Tactic:
    return then(
        apply(rule),
        inside("init")(then(UNROLLED, apply("store_private"))),
        inside("f")(UNROLLED),
    )


@curried
def apart(at: Rewriting, place: Position, fold: Position, tactic: Tactic) -> Rewriting:
    """The folds of all elements of a map, and with their results what the map does with them."""
    if fold == ("f",):
        return tactic(at, place)
    alone = inside("xs", "ys")(then(through_what_is_read(), tactic))
    return then(fission(*fold, beside=True), alone)(at, place)


# ---- work-items


@curried
def _of_innermost(at: Rewriting, place: Position, tactic: Tactic) -> Rewriting:
    """The tactic at the innermost of nested maps, and work-items for those around it."""
    at = normalize("map_fusion")(at, place)
    depth = depth_of(term_at(at.term, place))
    if not 1 <= depth <= _MOST_DIMENSIONS:
        raise NoMatch("blocks of results are of maps in up to three dimensions")
    at = inside(*("f",) * (depth - 1))(tactic)(at, place)
    for level in range(depth - 1):
        at = inside(*("f",) * level)(apply("map_to_glb", d=depth - 1 - level))(at, place)
    return at


def _in_blocks(results: int, block: Tactic) -> Tactic:
    """A map by so many results for each work-item; those that fill no block are work-items of their own."""
    blocks = then(
        apply("split_join", m=results),
        inside("xss")(then(inside("f")(block), apply("map_to_glb", d=0))),
    )

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        n = length_of(term_at(at.term, place))
        if n < results or (place and n % results):
            raise NoMatch(f"{n} results are no blocks of {results}")
        return cut(n, results, blocks, apply("map_to_glb", d=0))(at, place)

    return tactic
