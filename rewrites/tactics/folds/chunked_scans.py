"""Tactics for scans: chunks are scanned side by side, each from what those before it come to.

    in_chunks     a scan outside all functions in chunks of so many elements; what the chunks come to is scanned so, too
    by_one        what is computed of an array, by one of those of a level
    chunks_apart  the same in so many chunks; what they come to, and what each starts from, is stored
    in_step       rows that are scanned, so many by each work-item, which goes along all of them in one loop

A scan in order is one work-item's.  In chunks it is read twice, once for what each chunk comes to.  A running result waits for the
one before, but not for those of other rows.  Source: Blelloch, prefix sums and their applications (1990); RISE, blockScan.
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
    fuse,
    inside,
    repeat,
    skip,
    somewhere,
    then,
)
from relift.rewrites.tactics.folds.recurrences import STARTS, applies, blocked, composed_with_rest
from relift.rewrites.tactics.folds.remainders import cut, length_of, scan_here_with_rest
from relift.semantics.patterns import Map, ScanSeq
from relift.semantics.syntax.binding import Position, places_of, term_at
from relift.semantics.syntax.terms import free_variables
from relift.semantics.syntax.types import holds_array

_WRITTEN_OUT = apply("map_to_seq_unroll")
_STORED = then(inside("xs")(apply("store_global")), apply("store_global"))
"""What chunks come to, and the scan of that."""
_IN_ONE_SET, _LINE = 1024, 16
"""Numbers from one chunk to the next whose lines share a set of the nearest cache, and those of a line.

Running sums of 2^24 numbers take two cores 6 ms in chunks of 65,536, four of them in one loop, and 4.5 in chunks of 65,520; running maxima 10 and 7."""


def in_chunks(elements: int, least: int) -> Tactic:
    """Scans of more than `least` elements outside all functions in chunks of about so many; raises `NoMatch` if there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.folds.chunked_scans import in_chunks
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def sums(x: rl.f32[4096]):
    ...     return rl.scan_seq(rl.add, 0.0, x)
    >>> [step.choices["m"] for step in derive(sums, in_chunks(16, 32)).steps]
    [16, 16]
    """

    def one(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, ScanSeq) or free_variables(t):
            raise NoMatch("no scan outside all functions")
        n = t.solved["n"].constant
        chunk = None if n is None else _divisor_near(n, elements)
        if n is None or chunk is None or n <= least:
            raise NoMatch(f"no scan of more than {least} elements that chunks divide")
        return blocked(chunk)(at, place)

    return somewhere(one)


def by_one(level: Tactic, data: Position) -> Tactic:
    """What is computed of the array at a place in it, by one of those of a level.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.folds.chunked_scans import by_one
    >>> from relift.rewrites.tactics.combinators import apply, derive
    >>> @rl.program
    ... def sums(x: rl.f32[8]):
    ...     return rl.scan_seq(rl.add, 0.0, x)
    >>> rl.show(derive(sums, by_one(apply("map_to_glb", d=0), ("xs",))).result)
    'join(map_glb(0)(lambda x_: scan_seq(add, 0.0, x_), repeat(1, x)))'
    """
    each = then(apply("map_repeat", "backward", parts={"x": ("x", *data)}), level)
    return then(apply("join_repeat", "backward"), inside("xss")(each))


def chunks_apart(chunks: int, least: int) -> Tactic:
    """Scans of more than `least` elements outside all functions in so many chunks, and a rest; what these come to, and start from, is stored.

    Raises `NoMatch` if there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.folds.chunked_scans import chunks_apart
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def sums(x: rl.f32[4096]):
    ...     return rl.scan_seq(rl.add, 0.0, x)
    >>> rl.show(derive(sums, chunks_apart(16, 32)).result.xss.xs.xs.xs.ys.xs)
    'scan_seq(add, 0.0, to_global(map(lambda x_: reduce(add, 0.0, x_), split(256, x))))'
    """

    def one(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, ScanSeq) or free_variables(t):
            raise NoMatch("no scan outside all functions")
        n = length_of(t.xs)
        chunk = n // chunks
        while chunk > _IN_ONE_SET // 2 and min(chunk % _IN_ONE_SET, -chunk % _IN_ONE_SET) < _LINE:
            chunk -= _LINE
        if n <= least or chunk < 2:
            raise NoMatch(f"no scan of more than {least} elements")
        return in_stored_chunks(chunk, chunk * chunks)(at, place)

    return somewhere(one)


@curried
def in_stored_chunks(
    at: Rewriting, place: Position, chunk: int, main: int, *, in_order: bool = True
) -> Rewriting:
    """A scan in chunks of a length, of its `main` elements, and a rest; what these come to, and start from, is stored.

    The rest is scanned by one work-item, or with `in_order` false by what reads it.
    """
    if main < length_of(term_at(at.term, place)):
        neutral = applies(apply("scan_blocked", m=1), at, place)
        with_rest = scan_here_with_rest if neutral else composed_with_rest
        at = with_rest(chunk, main)(at, place)
        rest = (*place, "ys")
        come_to = term_at(at.term, (*rest, "init", "xs"))
        for starts in places_of(term_at(at.term, rest), come_to):
            at = _STORED(at, (*rest, *starts))
        if in_order:
            at = by_one(skip, ("xs",))(at, rest)
        place = (*place, "xs")
    at = blocked(chunk)(at, place)
    return inside(*STARTS)(_STORED)(at, place)


def in_step(rows: int) -> Tactic:
    """A map of scans, or of what maps make of them: a work-item has so many rows, and goes along all of them in one loop; what is left has one for each row.

    What a step carries on is there when the row has its next turn: one that takes long, as one with a quotient, is not waited for.
    They may be those of each of several tables.  Raises `NoMatch` where rows are not scanned to numbers, or are fewer.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.folds.chunked_scans import in_step
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def sums(x: rl.f32[64, 32]):
    ...     return rl.map(lambda r: rl.scan_seq(rl.add, 0.0, r), x)
    >>> [step.rule for step in derive(sums, in_step(4)).steps][:2]
    ['split_join', 'map_scan_interchange_rows']
    """
    items = apply("map_to_glb", d=0)
    alone = then(inside("f")(attempt(apply("map_to_seq"))), items)
    by_items = then(
        apply("split_join", m=rows), inside("xss")(then(inside("f")(_in_one_loop), items))
    )

    def scanned_alone(at: Rewriting, place: Position) -> Rewriting:
        t = _map_of_scans(at, place)
        if free_variables(t):
            raise NoMatch("no map outside all functions")
        return alone(at, place)

    def of_rows(at: Rewriting, place: Position) -> Rewriting:
        t = _map_of_scans(at, place)
        scan = _scan_of(t)
        if holds_array(scan.init.type) or holds_array(scan.f.parameters[1].type):
            raise NoMatch("what is scanned are no rows of numbers")
        if length_of(t) < rows:
            raise NoMatch(f"there are no {rows} rows")
        return cut(length_of(t), rows, by_items, alone)(at, place)

    def of_tables(at: Rewriting, place: Position) -> Rewriting:
        if not isinstance(term_at(at.term, place), Map):
            raise NoMatch("no rows of several tables")
        return then(inside("f")(of_rows), apply("map_to_glb", d=1))(at, place)

    def outside(at: Rewriting, place: Position) -> Rewriting:
        if free_variables(term_at(at.term, place)):
            raise NoMatch("no map outside all functions")
        return first(of_rows, of_tables)(at, place)

    return then(attempt(fuse()), somewhere(outside), repeat(somewhere(scanned_alone)))


_CARRIED = inside("init")(then(_WRITTEN_OUT, apply("store_private")))
_SCANNED_TOGETHER = then(
    _CARRIED,
    inside("f")(_WRITTEN_OUT),
    then(
        apply("insert_copy"),
        inside("f")(then(apply("insert_copy"), _WRITTEN_OUT)),
        apply("map_to_seq"),
    ),
)
"""Columns that are scanned: what is carried is in registers, and written as it is found."""
_MAPPED_TOGETHER = then(
    inside("xs")(
        then(
            inside("f")(_WRITTEN_OUT),
            _CARRIED,
            attempt(inside("xs", "xss")(apply("map_identity"))),
        )
    ),
    inside("f")(_WRITTEN_OUT),
    apply("map_to_seq"),
)
"""And what a map makes of each."""


def _in_one_loop(at: Rewriting, place: Position) -> Rewriting:
    """A map of scans, or of what maps make of them, as a scan of columns."""
    in_columns = apply("map_scan_interchange_rows")
    if isinstance(_map_of_scans(at, place).f.body, ScanSeq):
        return then(in_columns, inside("xss")(_SCANNED_TOGETHER))(at, place)
    at = then(fission("f", "xs"), inside("xs")(in_columns), apply("map_map_transpose"))(at, place)
    return inside("xss")(_MAPPED_TOGETHER)(at, place)


def _map_of_scans(at: Rewriting, place: Position) -> Map:
    t = term_at(at.term, place)
    if isinstance(t, Map):
        _scan_of(t)
        return t
    raise NoMatch("no map of scans")


def _scan_of(t: Map) -> ScanSeq:
    """The scan that a map's function is, or maps what it gives; raises `NoMatch`."""
    body = t.f.body
    found = body.xs if isinstance(body, Map) else body
    if isinstance(found, ScanSeq):
        return found
    raise NoMatch("no map of scans")


def _divisor_near(n: int, wanted: int) -> int | None:
    """The divisor of n that is nearest to a number by its ratio, at most four times as far; neither 1 nor n."""
    near = [d for d in range(max(2, wanted // 4), min(4 * wanted, n - 1) + 1) if n % d == 0]
    return min(near, key=lambda d: max(d, wanted) / min(d, wanted), default=None)
