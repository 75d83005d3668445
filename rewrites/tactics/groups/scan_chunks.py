"""Rows that are scanned by a work-item each, in its order, whose group reads and writes them through local memory.

    map (\\x. map g (scan_seq f z (h x))) xs

A scan without laws is a work-item's own, and neighbours read, and write, one row further each.  Here the scans of a
group go together, over chunks of so many columns: all of a chunk is copied along the lines of memory, then each
work-item goes on with its row, from the last of what it has found, and what all have found is written along the lines
of memory, too.
Source: RISE liftReduce, for scans; the tiles are those of Ruetsch and Micikevicius, 2009.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    curried,
    fission,
    fuse,
    inside,
    somewhere,
    then,
)
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.groups.row_chunks import one_of_a_row
from relift.rewrites.tactics.groups.row_tiles import apart_by_rows, bytes_of, rows_staged
from relift.rewrites.tactics.nests.padding import lengthened, padded
from relift.rewrites.tactics.sharing import named
from relift.rewrites.tactics.transpositions import scans_in_order
from relift.semantics.patterns import Map, ScanSeq
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Term, free_variables
from relift.semantics.syntax.types import holds_array

_WORK_ITEMS = apply("map_to_lcl", d=0)
_WRITTEN_THROUGH = attempt(apply("gather_to_scatter_involution"))
"""What reads in another order is written so, where the order is undone by itself."""
_COLUMNS: Position = ("f", "xs", "ys", "ys")
"""From the scan of a group to the columns that a turn of it goes through."""


def scans_in_chunks(items: int, columns: int, local_bytes: int) -> Tactic:
    """A map of scans of rows by groups of so many work-items, which read and write so many columns of their rows at a time.

    Raises `NoMatch` where the function of a row is not one such scan, from what lies along memory, or laws let it go otherwise.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.scan_chunks import scans_in_chunks
    >>> @rl.program
    ... def averages(x: rl.f32[64, 128]):
    ...     return rl.map(lambda r: rl.scan_seq(lambda a, v: rl.sqrt(a * v), 1.0, r), x)
    >>> found = derive(averages, scans_in_chunks(32, 16, 48 * 1024))
    >>> [step.rule for step in found.steps if "scan" in step.rule]
    ['scan_seq_chunks', 'map_scan_interchange_rows']
    """
    group: Position = ("xss", "f")

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if not scans_in_order(at, place):
            raise NoMatch("no scan in an order that no law changes")
        at = then(named(), fuse())(at, place)
        scan, found = one_of_a_row(ScanSeq, at, place, items, columns)
        if holds_array(found.init.type):
            raise NoMatch("what comes of a row is no row of numbers")
        size = bytes_of(found.f.parameters[1].type) + bytes_of(found.init.type)
        if _is_made_of_each(term_at(at.term, (*place, "f")), scan):
            scan = scan[:-1]
        if items * (columns + 1) * size > local_bytes:
            raise NoMatch("the chunks of a group do not fit into local memory")
        length = length_of(term_at(at.term, (*place, "f", *scan)))
        if more := -length % columns:
            at = _longer(more)(at, (*place, "f", *scan))
            scan = (*scan, "xs")
        if more := -length_of(term_at(at.term, (*place, "xs"))) % items:
            at = padded(more, 0)(at, place)
            place = (*place, "xs")
        at = apply("split_join", m=items)(at, place)
        for around in range(len(scan)):
            at = inside(*group, "f", *scan[:around])(_WRITTEN_THROUGH)(at, place)
        at = inside(*group, "f", *scan)(_in_chunks(columns))(at, place)
        chunks: Position = ("f", *scan, "xss")
        apart = (
            fission(*chunks, "xs"),
            inside("xs")(_together(items, columns, length)),
            fission(*chunks),
            inside("xs")(then(apply("map_map_transpose"), inside("xss")(_written(items, columns)))),
        )
        at = inside(*group)(then(*apart))(at, place)
        return inside("xss")(apply("map_to_wrg", d=0))(at, place)

    return tactic


def scans_apart() -> Tactic:
    """Of several scans of a row, each of what comes of the one before, every one is a map of its own, which may be stored.

    Raises `NoMatch` where there are none in an order that no law changes.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.scan_chunks import scans_apart
    >>> @rl.program
    ... def averages(x: rl.f32[64, 128]):
    ...     average = lambda xs: rl.scan_seq(lambda a, v: rl.sqrt(a * v), 1.0, xs)
    ...     return rl.map(lambda r: average(average(r)), x)
    >>> [step.rule for step in derive(averages, scans_apart()).steps]
    ['map_fusion']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map) or free_variables(t) or not scans_in_order(at, (*place, "f")):
            raise NoMatch("no map of scans in an order that no law changes")
        scans = [below for below, u in positions(t.f.body) if isinstance(u, ScanSeq)]
        inner = [
            scan for scan in scans for outer in scans if scan[: len(outer) + 1] == (*outer, "xs")
        ]
        if not inner:
            raise NoMatch("no scan goes through what another gives")
        return fission("f", *max(inner, key=len))(at, place)

    return somewhere(at_kinds(Map)(tactic))


def _is_made_of_each(t: Term, scan: Position) -> bool:
    """Whether a scan is what a map of a function that needs nothing else goes through."""
    above = term_at(t, scan[:-1])
    if scan[-1:] != ("xs",) or not isinstance(above, Map) or holds_array(above.f.body.type):
        return False
    return free_variables(above.f.body) <= {x.name for x in above.f.parameters}


@curried
def _longer(at: Rewriting, place: Position, more: int) -> Rewriting:
    """A scan, or what is made of each of its results, as the first of one of so many more elements."""
    if isinstance(term_at(at.term, place), Map):
        return then(inside("xs")(_longer(more)), apply("take_map", "backward"))(at, place)
    longer = inside("xs")(lengthened(more))
    return then(longer, apply("scan_take", "backward"))(at, place)


def _in_chunks(columns: int) -> Tactic:
    """A scan in chunks, each from the last of the one before; what is made of the results, be it a copy, of each chunk."""
    chunks = apply("scan_seq_chunks", m=columns - 1)
    each = then(apply("insert_copy"), inside("f")(apply("insert_copy")))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if isinstance(term_at(at.term, place), Map):
            return then(inside("xs")(chunks), apply("map_join"))(at, place)
        return then(chunks, inside("xss")(each))(at, place)

    return tactic


def _together(items: int, columns: int, length: int) -> Tactic:
    """The scans of a group as one, of chunks of columns of rows of a length, whose last results are in local memory."""
    start = then(inside("f")(then(apply("insert_copy"), apply("map_to_seq"))), _WORK_ITEMS)
    return then(
        apply("map_scan_interchange_rows"),
        inside("xss", "init")(then(start, apart_by_rows(columns))),
        inside("xss", *_COLUMNS)(rows_staged(items, columns, of=length)),
        inside("xss", "f")(_WORK_ITEMS),
    )


def _written(items: int, columns: int) -> Tactic:
    """What a group has found, chunk by chunk, written by all of its work-items, neighbours side by side."""
    in_turn = then(inside("f")(_WORK_ITEMS), apply("map_to_seq"))
    cells = then(
        inside("xs")(apply("map_join", "backward")),
        inside("xs")(then(apply("split_join", m=items), inside("xss")(in_turn))),
    )
    chunk = then(apply("split_of_join", "backward"), cells)
    return then(inside("f")(chunk), apply("map_to_seq"))
