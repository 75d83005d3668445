"""Rows that are scanned in turn by a work-item: none waits for what its own last step gave."""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    fission,
    fuse,
    inside,
    then,
)
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.groups.tiles import UNROLLED
from relift.rewrites.tactics.vectors.lanes import cut
from relift.semantics.patterns import Map, ScanSeq
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import Combine

_ROWS, _ROWS_IN_A_SET = 8, 4
"""Rows that a work-item scans in turn, and where they begin a power of two apart: a nearest cache has eight places for such lines, of what is read
and what is written.

A Kalman filter of 4096 rows of 2048 numbers takes two cores 26 ms row by row, 10 to 12 with 8 in turn, and 7 with 4."""
_SET_BYTES = 4096


def scans_in_turn() -> Tactic:
    """A map of rows that are scanned, in each of whose steps a work-item goes on with several rows, one after the other.

    What a step carries on is there when the row has its next turn: a step that takes long, as one with a quotient, is
    not waited for.  Raises `NoMatch` where a row is no scan, or what a map makes of one, or its step is a single operation.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.vectors.rows_in_turn import scans_in_turn
    >>> @rl.program
    ... def roots(x: rl.f32[9, 16]):
    ...     return rl.map(lambda r: rl.scan_seq(lambda s, v: 0.5 * (s + v / (s + 1.0)), 0.5, r), x)
    >>> [step.rule for step in derive(roots, scans_in_turn()).steps].count("map_scan_interchange_rows")
    1
    """
    items = apply("map_to_glb", d=0)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = attempt(fuse())(at, place)
        t = term_at(at.term, place)
        if not isinstance(t, Map) or (below := _scan_in(t)) is None:
            raise NoMatch("no map of rows that are scanned")
        scan = term_at(t.f.body, below)
        assert isinstance(scan, ScanSeq), "cannot happen: that is what stands there"
        if isinstance(scan.f.body, Combine):
            raise NoMatch("a step of a single operation")
        row = 4 * length_of(scan)
        rows = _ROWS if row % _SET_BYTES else _ROWS_IN_A_SET
        whole = then(apply("split_join", m=rows), inside("xss")(then(inside("f")(_chunk), items)))
        alone = then(inside("f")(attempt(apply("map_to_seq"))), items)
        return cut(length_of(t), rows, whole, alone)(at, place)

    return tactic


def _scan_in(t: Map) -> Position | None:
    """Where in the function of a map its scan stands: it is what the map gives, or a map makes that of its elements."""
    body = t.f.body
    if isinstance(body, ScanSeq):
        return ()
    return ("xs",) if isinstance(body, Map) and isinstance(body.xs, ScanSeq) else None


def _chunk(at: Rewriting, place: Position) -> Rewriting:
    """The rows of a work-item, as a scan of columns whose states are in registers."""
    t = term_at(at.term, place)
    assert isinstance(t, Map), "cannot happen: its rows are those of a map"
    if not _scan_in(t):
        at = inside("f")(apply("insert_copy"))(at, place)
    columns = then(
        fission("f", "xs"),
        inside("xs")(apply("map_scan_interchange_rows")),
        apply("map_map_transpose"),
    )
    scan = then(
        inside("f")(UNROLLED),
        inside("init")(then(UNROLLED, apply("store_private"))),
        attempt(inside("xs", "xss")(apply("map_identity"))),
    )
    written = then(inside("xs")(scan), inside("f")(UNROLLED), apply("map_to_seq"))
    return then(columns, inside("xss")(written))(at, place)
