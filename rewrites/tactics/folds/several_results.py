"""Folds on a GPU of which a work-item has several: what all of them read is read once, and stays in a register.

The programs are maps of folds of an array that is the same for every element, in whatever else they stand,

    map (\\x. reduce op z (map (g x) ys)) xs

as n-body and histograms by comparison are.  Each fold is made of the folds of chunks of `ys`, so that there are enough
work-items; one has the folds of a chunk for `own` neighbouring elements of `xs`, whose accumulators are an array in
registers, and reads the chunk by vectors.  A second kernel folds the results of the chunks: a work-item for each element
where there are few, a group where there are many.
Source: NVIDIA's n-body, GPU Gems 3, chapter 31, for the chunks; LIFT, GPGPU'16, macro rule apply1DRegisterBlocking.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    copy,
    fission,
    inside,
    normalize,
    then,
    topdown,
    under_a_name,
)
from relift.rewrites.tactics.folds.in_vectors import by_vectors
from relift.rewrites.tactics.folds.partial_results import (
    EACH_RESULT,
    ELEMENTS_IN_CHUNKS,
    IN_ORDER,
    STORED_ACROSS,
)
from relift.rewrites.tactics.folds.remainders import fold_here_with_rest, length_of
from relift.rewrites.tactics.folds.shared import lifted_of_one_array
from relift.rewrites.tactics.groups.rows.by_groups import rows_by_groups
from relift.rewrites.tactics.groups.whole_windows import first_of_more
from relift.rewrites.tactics.nests.padding import padded
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Reduce
from relift.semantics.syntax.binding import Position, binders_at, positions, term_at
from relift.semantics.syntax.terms import Term, Var, free_variables
from relift.semantics.syntax.types import Array

_MOST_IN_ORDER = 64
"""So many results of chunks are folded by one work-item; of more, each row by a group."""
_MEMBERS, _LOCAL_BYTES = 64, 32 * 1024
_MOST_LEFT = 64
"""So many elements that fill no vectors of chunks are folded by one work-item for each result."""


def several_results(own: int, chunks: int, width: int) -> Tactic:
    """The outermost map of folds of one array with `own` results for a work-item, each fold in so many chunks.

    What fills no vectors of chunks is folded with their results; of the last work-item's results only those are written that
    there are.  Raises `NoMatch` where there is no such map, or chunks leave much of it.

    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.several_results import several_results
    >>> program = load_program("examples/histogram.py")
    >>> found = derive(program, several_results(2, 4, 4), {"n": 64, "b": 8})
    >>> [step.rule for step in found.steps if step.rule.startswith(("map_reduce", "partial"))]
    ['partial_reduce_chunks', 'map_reduce_interchange_captured']
    """
    in_registers = then(
        inside("f")(IN_ORDER),
        lifted_of_one_array(),
        attempt(by_vectors(width)),
        copy(apply("map_to_seq_unroll")),
    )
    in_registers = then(in_registers, _own_in_registers)
    block = then(
        apply("map_interchange"),
        inside("xss")(then(inside("f")(in_registers), apply("map_to_glb", d=1))),
    )
    blocks = then(
        apply("split_join", m=own),
        inside("xss")(then(inside("f")(block), apply("map_to_glb", d=0))),
    )
    many = chunks > _MOST_IN_ORDER

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = normalize("map_fusion")(at, place)
        folds = folds_of_one_array(term_at(at.term, place))
        here, fold = (*place, *folds.place), folds.fold
        left = folds.length % (chunks * width)
        length = folds.length - left
        if left > _MOST_LEFT or length <= chunks or folds.results < own:
            raise NoMatch(f"no {chunks} chunks of {folds.length} leave few for each of {own}")
        if left:
            at = fold_here_with_rest(length)(at, (*here, "f", *fold))
            fold = (*fold, "left")
        if more := -folds.results % own:
            at, here = _of_more(at, place, folds.place, more)
        at = inside("f", *fold)(apply("partial_reduce_chunks", m=length // chunks))(at, here)
        at = inside("f", *fold, "xs")(ELEMENTS_IN_CHUNKS)(at, here)
        at = fission("f", *fold, "xs", beside=bool(fold))(at, here)
        stored = inside("xs", "ys") if fold else inside("xs")
        if many and not fold:
            at = stored(then(blocks, apply("store_global")))(at, here)
            return rows_by_groups(1, _MEMBERS, width, _LOCAL_BYTES)(at, here)
        at = stored(then(blocks, STORED_ACROSS))(at, here)
        return then(IN_ORDER, topdown(EACH_RESULT))(at, place)

    return tactic


def _of_more(
    at: Rewriting, place: Position, below: Position, more: int
) -> tuple[Rewriting, Position]:
    """A map below a place as one of so many more elements, of which the first are taken: in the end, if nothing needs them before."""
    here = (*place, *below)
    with suppress(NoMatch):
        return first_of_more(at, (*here, "xs"), more, 0, place), (*place, "xs", *below)
    return padded(more, 0)(at, here), (*here, "xs")


def _own_in_registers(at: Rewriting, place: Position) -> Rewriting:
    """The elements that a work-item has results for have a name, and are read once, before its loop."""
    own = binders_at(at.term, place)[-2]
    body = term_at(at.term, place)
    read = next(p for p, u in positions(body) if u == Var(own.name, own.type))
    at = under_a_name(*read)(at, place)
    return inside("x")(then(copy(apply("map_to_seq_unroll")), apply("store_private")))(at, place)


@dataclass(frozen=True)
class FoldsOfOneArray:
    """Where a map is of folds of an array that is the same for all its elements, where in its function the fold is,
    how many results there are, and how many elements each is folded of."""

    place: Position
    fold: Position
    results: int
    length: int


def folds_of_one_array(t: Term) -> FoldsOfOneArray:
    """The outermost map that computes a value by a fold of an array that needs no variable; raises `NoMatch` for others."""
    for place, u in positions(t):
        if isinstance(u, Map) and not free_variables(u) and not isinstance(u.f.body.type, Array):
            folds = [at for at, v in positions(u.f.body) if isinstance(v, Reduce)]
            if len(folds) != 1:
                continue
            folded = term_at(u.f.body, folds[0])
            assert isinstance(folded, Reduce), "cannot happen: it was looked for"
            data = folded.xs
            while isinstance(data, Map):
                data = data.xs
            if not free_variables(data) and is_layout(data) and free_variables(folded):
                return FoldsOfOneArray(place, folds[0], length_of(u), length_of(data))
    raise NoMatch("no map of folds that read one array")
