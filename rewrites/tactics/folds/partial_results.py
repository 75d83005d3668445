"""Folds of many results in two kernels: partial results of blocks first, then the results of all blocks.

    partial_results                of a map of folds
    partial_results_of_batches     of a map of maps of folds

A map of folds has a work-item for each result.  Where these are too few for a device, and neighbouring work-items read
neighbouring elements, as the columns of a matrix are read, a team for each result would read far apart.  Here each fold
is made of the folds of `blocks` chunks, which are computed by a work-item each, stored, and folded by a second kernel.
Several folds of equally many elements, as a smallest and a largest one, are of what one pass over each chunk finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    repeat,
    then,
    topdown,
)
from relift.rewrites.tactics.folds.beside import IN_ONE_LOOP, is_innermost, paired
from relift.rewrites.tactics.folds.places import places_in_any_order, reduced_in_chunks
from relift.rewrites.tactics.folds.remainders import fold_here_with_rest, length_of
from relift.rewrites.tactics.nests.zips import each_once
from relift.rewrites.tactics.vectors.lanes import short_folds
from relift.semantics.patterns import Let, Map, Reduce, Zip
from relift.semantics.syntax.binding import Position, binders_at, places_of, positions, term_at
from relift.semantics.syntax.terms import Term, free_variables
from relift.semantics.syntax.types import Array, dimensions

AS_FOLDED = then(
    attempt(places_in_any_order()),
    everywhere(attempt(at_kinds(Reduce)(inside("xs")(repeat(apply("map_fusion")))))),
)
"""Folds in no order, each of one map: of what is made for several, as the parts of a force, each computes what it takes of it."""


@curried
def partial_results(at: Rewriting, place: Position, blocks: int) -> Rewriting:
    """The outermost map of folds by two kernels, with so many blocks for each fold, or a few more.

    What no whole block is left for is folded with the results of the blocks.

    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.partial_results import partial_results
    >>> from relift import add, f32, map, nat, program, reduce, transpose
    >>> n, m = nat("n"), nat("m")
    >>> @program
    ... def column_sums(a: f32[n, m]):
    ...     return map(lambda column: reduce(add, 0.0, column), transpose(a))
    >>> found = derive(column_sums, partial_results(4), {"n": 64, "m": 8})
    >>> [step.rule for step in found.steps][:3]
    ['partial_reduce_chunks', 'map_fusion', 'map_to_glb']
    """
    at = AS_FOLDED(at, place)
    folds = folds_at(at, place)
    chunk = folds.length // blocks
    if chunk < 2:
        raise NoMatch(f"{folds.length} elements are too few for {blocks} blocks")
    return in_two_kernels(folds, chunk, PARTIAL)(at, place)


@curried
def partial_results_of_batches(at: Rewriting, place: Position, blocks: int) -> Rewriting:
    """The outermost map of maps of folds by two kernels, with so many blocks for each fold: a batch along the third dimension.

    So the heads of an attention for one token share out their sums of many values.  Raises `NoMatch` where there is no such map.

    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.partial_results import partial_results_of_batches
    >>> from relift import add, f32, map, nat, program, reduce, transpose
    >>> n, m, k = nat("n"), nat("m"), nat("k")
    >>> @program
    ... def column_sums(a: f32[k, n, m]):
    ...     return map(lambda t: map(lambda column: reduce(add, 0.0, column), transpose(t)), a)
    >>> found = derive(column_sums, partial_results_of_batches(4), {"k": 2, "n": 64, "m": 8})
    >>> [step.rule for step in found.steps][-4:]
    ['reduce_to_seq', 'map_to_glb', 'map_to_glb', 'reduce_seq_to_unroll']
    """
    at = AS_FOLDED(at, place)
    here = (*place, *_map_of_maps(term_at(at.term, place)))
    at = inside("f")(then(repeat(apply("let_inline")), _TOGETHER))(at, here)
    folds = folds_at(at, (*here, "f"))
    if folds.place or folds.length // blocks < 2:
        raise NoMatch(f"no map of maps of folds of at least {2 * blocks} elements")
    across = apply("transpose_transpose", "backward")
    chunk = folds.length // blocks
    at = in_two_steps(folds, "partial_reduce_chunks", chunk, across)(at, (*here, "f"))
    data = term_at(at.term, (*here, "f", "xs"))
    parts = ("f", "xs", "ys", "xss") if isinstance(data, Zip) else ("f", "xs", "xss")
    at = fission(*parts, beside=True)(at, here)
    at = inside("xs", "ys")(_PARTIAL_OF_BATCHES)(at, here)
    at = then(IN_ORDER, IN_ONE_LOOP, apply("map_to_glb", d=1))(at, here)
    return inside("f")(EACH_RESULT)(at, here)


def _map_of_maps(t: Term) -> Position:
    """Where the outermost map is whose function is a map of folds, with names or without."""
    for place, u in positions(t):
        if not isinstance(u, Map) or free_variables(u):
            continue
        body = u.f.body
        while isinstance(body, Let):
            body = body.f.body
        if isinstance(body, Map) and not isinstance(body.f.body.type, Array):
            return place
    raise NoMatch("no map of maps stands by itself")


@dataclass(frozen=True)
class MapOfFolds:
    """Where the outermost map is that computes values by folds of as many elements, and where in its function these are."""

    place: Position
    folds: tuple[Position, ...]
    results: int
    length: int


def folds_at(at: Rewriting, place: Position) -> MapOfFolds:
    """The map of folds below a place; raises `NoMatch` where there is none, nothing to fold, or nobody knows how long it is."""
    t = term_at(at.term, place)
    below, folds = _map_of_folds(t)
    results = length_of(term_at(t, below))
    length = length_of(term_at(t, (*below, "f", *folds[0], "xs")))
    if not results or not length:
        raise NoMatch("nothing is folded")
    return MapOfFolds(below, folds, results, length)


def in_two_kernels(
    folds: MapOfFolds, chunk: int, partial: Tactic, last: Tactic | None = None
) -> Tactic:
    """Folds of chunks of so many elements, which a tactic computes and stores, then the folds of those, and of the rest.

    These are done by `last`; by a work-item for each result where none is given.
    """
    in_chunks = in_two_steps(folds, "partial_reduce_chunks", chunk, partial)
    if last is not None:
        return then(in_chunks, _TOGETHER, topdown(last), IN_ORDER, IN_ONE_LOOP)
    return then(in_chunks, IN_ORDER, IN_ONE_LOOP, topdown(EACH_RESULT))


def in_two_steps(folds: MapOfFolds, rule: str, chunk: int, partial: Tactic) -> Tactic:
    """Folds of what a rule for partial results makes of each number, which a tactic has computed, and of the rest.

    Of several folds, what one chunk comes to is a tuple.
    """
    main = folds.length - folds.length % chunk
    parts = folded_in_chunks(chunk, rule)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        here, found = (*place, *folds.place), list[Position]()
        for fold in folds.folds:
            if main < folds.length:
                at = inside("f", *fold)(fold_here_with_rest(main))(at, here)
                fold = (*fold, "left")
            at = inside("f", *fold)(parts)(at, here)
            found.append(("f", *fold, "xs"))
        of_chunks = found[0]
        if len(found) > 1:
            each = [term_at(at.term, (*here, *below)) for below in found]
            at, together = paired(at, (*here, "f"), each)
            places = places_of(term_at(at.term, (*here, "f")), together)
            for below in places:  # all alike, so that they stay one value
                at = inside("f", *below)(OF_EACH_ARRAY)(at, here)
            of_chunks = ("f", *places[0])
        alone = of_chunks == ("f", "xs")
        at = fission(*of_chunks, beside=not alone)(at, here)
        return inside(*(("xs",) if alone else ("xs", "ys")))(partial)(at, here)

    return tactic


def _map_of_folds(t: Term) -> tuple[Position, tuple[Position, ...]]:
    """Where the outermost map is that computes a value by folds of one length, none in another, and where in its function these are."""
    for place, u in positions(t):
        bound = {x.name for x in binders_at(t, place)}
        alone = not free_variables(u) & bound
        if isinstance(u, Map) and alone and not isinstance(u.f.body.type, Array):
            folds = [(at, v) for at, v in positions(u.f.body) if isinstance(v, Reduce)]
            if len(folds) == 1 or (folds and are_alike(u.f.body, folds)):
                return place, tuple(at for at, _ in folds)
    raise NoMatch("no map of folds stands by itself")


def are_alike(body: Term, folds: Sequence[tuple[Position, Reduce]]) -> bool:
    """Whether folds are of equally many elements, and none is computed in another or in a function.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.folds.partial_results import are_alike
    >>> @rl.program
    ... def span(x: rl.f32[8]):
    ...     return rl.reduce(rl.maximum, 0.0, x) - rl.reduce(rl.minimum, 0.0, x)
    >>> are_alike(span.body, [((f"arguments.{i}",), t) for i, t in enumerate(span.body.arguments)])
    True
    """
    lengths = {dimensions(fold.xs.type)[0][0] for _, fold in folds}
    apart = all(is_innermost(fold) for _, fold in folds)
    return len(lengths) == 1 and apart and not any(binders_at(body, at) for at, _ in folds)


STORED_ACROSS = then(apply("transpose_transpose", "backward"), inside("xss")(apply("store_global")))
"""A table that is stored column by column."""

PARTIAL = then(inside("f")(apply("map_to_glb", d=1)), apply("map_to_glb", d=0), STORED_ACROSS)
"""Neighbouring work-items have neighbouring results, and store them side by side: block by block."""

_PARTIAL_OF_BATCHES = then(
    inside("f", "xss", "f")(apply("map_to_glb", d=1)),
    inside("f", "xss")(apply("map_to_glb", d=0)),
    apply("map_to_glb", d=2),
    apply("store_global"),
)
"""The same for each of a batch, which is rows of blocks."""

ELEMENTS_IN_CHUNKS = normalize("split_map", apply("map_map_transpose", "backward"), "map_fusion")
"""What is computed of each element is computed in its chunk."""


def folded_in_chunks(length: int, rule: str = "partial_reduce_chunks") -> Tactic:
    """A fold of what chunks of so many elements come to, in each of which its elements are computed."""
    return then(reduced_in_chunks(rule, length), inside("xs")(ELEMENTS_IN_CHUNKS))


OF_EACH_ARRAY = then(inside("xs")(normalize("split_zip", "take_zip")), each_once)
"""A map over chunks as one over the chunks of each array, once: what a group keeps of them it reads once."""

_MAPS = ("map_fusion", "zip_map_left", "zip_map_right")
_TOGETHER = normalize(*_MAPS)
_FOLDS = ("reduce_to_seq", "reduce_map_fusion")

IN_ORDER = normalize(*(*_MAPS, *_FOLDS))
"""Each fold by one work-item, which computes each of its elements when it needs it, and what is done with the result."""

EACH_RESULT = then(apply("map_to_glb", d=0), inside("f")(short_folds()))
"""A work-item for each result, which reads what it folds at once, where that is not much."""
