"""Folds of running results: they are found as the fold goes, and never stored.

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
    repeat,
    somewhere,
    then,
    topdown,
)
from relift.rewrites.tactics.nests.zips import by_owner
from relift.rewrites.tactics.sharing import has_scan
from relift.semantics.patterns import Accumulating, Reduction
from relift.semantics.syntax.binding import Position, term_at

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
