"""Folds of running results: they are found as the fold goes, and never stored.

    folds_of_running_results   a fold of what a scan gives goes as the scan does
    running_in_chunks          a long one in chunks, each from what those before it come to

reduce_seq g y (zip (scan_seq f z xs) ys)  =  (reduce_seq (\\(b, c) (x, v). (f b x, g c (f b x, v))) (z, y) (zip xs ys))[1]

The largest fall from a running maximum reads its row once, and the mean of a path that is computed step by step does.
Source: Bird, theory of lists: a fold after a scan in one pass.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    any_rule,
    apply,
    attempt,
    first,
    inside,
    normalize,
    repeat,
    somewhere,
    then,
    topdown,
)
from relift.rewrites.tactics.folds.chunked_scans import in_stored_chunks
from relift.rewrites.tactics.folds.places import reduced_in_chunks
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.nests.zips import by_owner, each_once
from relift.rewrites.tactics.sharing import has_scan
from relift.semantics.patterns import Accumulating, Reduce, Reduction, ScanSeq
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import free_variables

_ELEMENTS = ("map_fusion", "zip_map_left", "zip_map_right", "scan_map_fusion")
_COMPUTED_AS_IT_GOES = repeat(
    first(apply("reduce_map_fusion"), inside("xs")(topdown(any_rule(*_ELEMENTS))))
)
"""What is computed of each element is computed by the fold, and by the scan below it."""

_ONE_SCAN = repeat(inside("xs")(topdown(apply("scan_zip"))))

_FUSED = any_rule("reduce_scan_fusion", "reduce_scan_fusion_in_zip")

_READ_ONCE = attempt(then(inside("xs")(apply("zip_same")), apply("reduce_map_fusion")))


def folds_of_running_results() -> Tactic:
    """Each fold of what a scan gives, or of what is computed of it and of what lies beside it, goes as the scan does.

    Raises `NoMatch` where none is of a scan.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.running import folds_of_running_results
    >>> @rl.program
    ... def fall(x: rl.f32[8]):
    ...     tops = rl.scan_seq(rl.maximum, 0.0, x)
    ...     return rl.reduce(rl.maximum, 0.0, rl.map(lambda p: p[1] - p[0], rl.zip(x, tops)))
    >>> found = derive(fall, folds_of_running_results())
    >>> [step.rule for step in found.steps if "scan" in step.rule], rl.show(found.result.of.xs)
    (['reduce_scan_fusion_in_zip'], 'x')
    """

    def once(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Reduction) or not has_scan(t.xs):
            raise NoMatch("no fold of running results")
        scans_first = attempt(by_owner(lambda u: isinstance(u, Accumulating)))
        at = then(attempt(apply("reduce_to_seq")), _COMPUTED_AS_IT_GOES)(at, place)
        at = then(scans_first, _ONE_SCAN, _FUSED)(at, place)
        return inside("of")(_READ_ONCE)(at, place)

    return somewhere(once)


_PARTS_APART = normalize("zip_concat_left", "zip_concat_right", "map_concat")
"""What is computed of the main part of an array and of its rest is two arrays."""

_CHUNK_BY_CHUNK = normalize(
    *("split_of_join", "split_map", "split_zip", "map_fusion", "zip_map_left", "zip_map_right")
)
"""Chunks of what is computed are computed of chunks."""


def running_in_chunks(length: int, least: int, *, count: bool = False) -> Tactic:
    """Folds of running results of more than `least` elements in chunks of so many, or in so many with `count`, and a rest.

    What the chunks before each come to, and what each is folded to, is stored.  Raises `NoMatch` where none is long, or its steps do not compose.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.running import running_in_chunks
    >>> @rl.program
    ... def fall(x: rl.f32[64]):
    ...     tops = rl.scan_seq(rl.maximum, 0.0, x)
    ...     return rl.reduce(rl.maximum, 0.0, rl.map(lambda p: p[1] - p[0], rl.zip(x, tops)))
    >>> found = derive(fall, running_in_chunks(16, 32))
    >>> [step.rule for step in found.steps if "scan" in step.rule or "reduce_chunks" in step.rule]
    ['scan_split', 'scan_map_fusion', 'reduce_chunks_idempotent', 'reduce_scan_fusion_in_zip']
    """

    def once(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Reduce) or free_variables(t):
            raise NoMatch("no fold outside all functions")
        scans = [below for below, u in positions(t.xs) if isinstance(u, ScanSeq)]
        if len(scans) != 1 or not {*scans[0]} <= {"xs", "ys"}:
            raise NoMatch("no fold of what one scan gives")
        n = length_of(t.xs)
        chunk = n // length if count else length
        if n <= least or chunk < 2:
            raise NoMatch(f"no fold of more than {least} running results")
        at = in_stored_chunks(chunk, n - n % chunk, in_order=False)(at, (*place, "xs", *scans[0]))
        if n % chunk == 0:
            return chunked(chunk)(at, place)
        at = inside("xs")(_PARTS_APART)(at, place)
        at = first(apply("reduce_concat"), apply("reduce_concat_idempotent"))(at, place)
        return then(inside("left")(chunked(chunk)), inside("right")(as_it_goes))(at, place)

    def chunked(chunk: int) -> Tactic:
        return then(
            reduced_in_chunks("partial_reduce_chunks", chunk),
            inside("xs")(
                then(
                    _CHUNK_BY_CHUNK,
                    attempt(each_once),
                    inside("f")(as_it_goes),
                    apply("store_global"),
                )
            ),
        )

    as_it_goes = folds_of_running_results()
    return somewhere(once)
