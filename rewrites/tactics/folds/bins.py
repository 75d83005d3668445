"""Histograms: folds of those elements whose key is a number, for many numbers, as one fold that updates cells.

    map (\\b. fold (\\acc x. if key x == b then g acc x else acc) z xs) labels

goes through all elements for each label.  Here each element is folded into the cell of its key: a work-item has a table of
its own for a chunk of the elements, which one kernel stores, and another one combines the tables.  Where labels are
data, what they stand for is looked up in such a table, or computed as it is written where it has no such cell.
Source: histograms with private bins (Podlozhnyuk, 2007); accumArray of Haskell.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.rules.folds import bins
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    first,
    fuse,
    inside,
    then,
    topdown,
)
from relift.rewrites.tactics.folds.partial_results import folds_at, in_two_kernels
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.vectors.lanes import OUTER
from relift.semantics.patterns import Generate, Map, Reduce
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Lambda, Term, free_variables

_FAMILIES = (bins.fold_of_said_bins, bins.fold_of_said_bins_f64, bins.fold_of_said_bins_i32)
_ONE_FOLD = first(*(apply(r.name) for family in _FAMILIES for r in family.rules))
_KEPT = first(
    *(
        apply(r.name)
        for r in (bins.select_neutral, bins.select_neutral_f64, bins.select_neutral_i32)
    )
)

_TABLE = then(
    inside("f")(then(fuse(), attempt(inside("f")(_KEPT)))),
    _ONE_FOLD,
    inside("f", "x")(apply("store_private")),
    inside("init")(then(apply("generate_as_map"), apply("map_to_seq"))),
)
"""Generated folds as one fold of a work-item, whose table is where its result is."""

_OF_CHUNKS = then(
    apply("map_generate"),
    apply("map_outside_generate"),
    inside("xss")(then(inside("f")(_TABLE), apply("map_to_glb", d=0), apply("store_global"))),
)
"""Folds of chunks, for each number, as a table of each chunk."""


def _of_rows(at: Rewriting, place: Position) -> Rewriting:
    """A fold of folds of rows as one of all their elements."""
    match term_at(at.term, place):
        case Reduce(_, _, Map(Lambda(_, Reduce()))):
            return then(
                inside("xs")(apply("map_fusion", "backward", parts={"g": ("f", "xs")})),
                apply("reduce_join", "backward"),
                inside("xs")(apply("map_join", "backward")),
            )(at, place)
        case _:
            raise NoMatch("no folds are folded here")


def in_bins(blocks: int) -> Tactic:
    """The outermost map or generated array of such folds with tables for `blocks` chunks of the elements.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.bins import in_bins
    >>> @rl.program
    ... def histogram(values: rl.i32[64]):
    ...     def occurrences(j):
    ...         return rl.reduce(rl.add, 0, rl.map(lambda v: rl.select(rl.equal(v, j), 1, 0), values))
    ...     return rl.generate(8, occurrences)
    >>> [step.rule for step in derive(histogram, in_bins(4)).steps if "bins" in step.rule]
    ['fold_of_keyed_bins_i32']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        for below, t in positions(term_at(at.term, place)):
            if not free_variables(t):
                try:
                    return _binned(blocks)(at, (*place, *below))
                except NoMatch:
                    continue
        raise NoMatch("no folds stand by themselves that choose elements by their keys")

    return tactic


def bins_of_each() -> Tactic:
    """The same for each element of the maps around such folds, which has a work-item and its table.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.bins import bins_of_each
    >>> @rl.program
    ... def histograms(rows: rl.i32[16, 64]):
    ...     def occurrences(row, j):
    ...         return rl.reduce(rl.add, 0, rl.map(lambda v: rl.select(rl.equal(j, v), 1, 0), row))
    ...     return rl.map(lambda row: rl.generate(8, lambda j: occurrences(row, j)), rows)
    >>> [step.rule for step in derive(histograms, bins_of_each()).steps if "bins" in step.rule]
    ['fold_of_labelled_bins_i32']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        outer = []
        here, t = place, term_at(at.term, place)
        while isinstance(t, Map) and not _is_of_indices(t.xs):
            outer.append(here)
            here = (*here, "f")
            t = term_at(at.term, here)
        if not 0 < len(outer) <= len(OUTER):
            raise NoMatch("no folds stand in maps")
        at = then(attempt(apply("map_generate")), _TABLE)(at, here)
        for d, each in zip(OUTER[len(outer) - 1], outer, strict=True):
            at = apply("map_to_glb", d=d)(at, each)
        return at

    return tactic


def _binned(blocks: int) -> Tactic:
    def tactic(at: Rewriting, place: Position) -> Rewriting:
        match term_at(at.term, place):
            case Map(_, xs) as t if not _is_of_indices(xs):
                return _of_labels(length_of(t), blocks)(at, place)
            case Map():
                return _tables(blocks)(at, place)
            case Generate():
                return then(apply("generate_as_map"), _tables(blocks))(at, place)
            case _:
                raise NoMatch("no fold for each label")

    return tactic


def _of_labels(labels: int, blocks: int) -> Tactic:
    """A map over labels that are data: each is looked up in a table with as many cells, or computed."""
    if not labels:
        raise NoMatch("there is no label")
    tables = then(apply("generate_as_map"), _tables(blocks), apply("store_global"))
    return then(
        apply("looked_up_or_computed", m=labels),
        inside("f", "xs")(tables),
        inside("f", "default")(fuse()),
        apply("map_to_glb", d=0),
    )


def _tables(blocks: int) -> Tactic:
    """A map of folds, over indices, by tables of so many chunks."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = attempt(inside("f")(topdown(_of_rows)))(at, place)
        folds = folds_at(at, place)
        chunk = folds.length // blocks
        if not chunk:
            raise NoMatch(f"{folds.length} elements are no {blocks} chunks")
        return in_two_kernels(folds, chunk, _OF_CHUNKS)(at, place)

    return tactic


def _is_of_indices(t: Term) -> bool:
    return isinstance(t, Generate) and t.f.body == t.f.parameters[0]
