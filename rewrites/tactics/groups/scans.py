"""Tactics for scans in work-groups: a group scans what it has in local memory, in short chunks side by side.

    scanned_in_group    a scan of an array, by the work-items of a group with a chunk each
    scans_in_groups     a scan outside all functions in two sweeps: what the chunks of groups come to, then each chunk
    scans_from_folds    the same in two kernels: each group folds what the chunks before its own come to
    rows_scanned        a map of scans with a group for each
    columns_scanned     a map of scans down columns, in short chunks with a work-item each

Global memory is read along its lines, and each work-item goes through a chunk of its own in local memory, where an
open cell follows a chunk of even length, so that neighbours read from different banks.  What is combined with all
results of a group is so when they are written.
Source: Blelloch, prefix sums and their applications (1990); Harris, Sengupta and Owens, GPU Gems 3, chapter 39.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.rules.folds.scans import before_each_masked_number
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    any_rule,
    apply,
    attempt,
    curried,
    first,
    fission,
    inside,
    normalize,
    skip,
    the,
    then,
    topdown,
    under_a_name,
)
from relift.rewrites.tactics.folds.chunked_scans import by_one
from relift.rewrites.tactics.folds.recurrences import (
    STARTS,
    blocked,
    chunks_scanned,
    has_composed_steps,
)
from relift.rewrites.tactics.folds.remainders import scan_here_with_rest
from relift.rewrites.tactics.folds.starts import start_apart
from relift.rewrites.tactics.groups.cooperative import by_groups
from relift.rewrites.tactics.groups.row_tiles import apart_by_rows, rows_staged
from relift.rewrites.tactics.groups.rows.by_groups import (
    FUSED,
    IN_ORDER,
    MOST_TURNS,
    rows_by_groups,
    shared_fold,
    shared_out,
)
from relift.rewrites.tactics.nests.padding import lengthened
from relift.rewrites.tactics.nests.zips import zipped
from relift.rewrites.tactics.sharing import has_scan
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Reduce, ScanSeq, Transpose
from relift.semantics.syntax.binding import Position, places_of, positions, term_at
from relift.semantics.syntax.terms import Combine, free_variables
from relift.semantics.syntax.types import cells

_WORK_ITEMS = apply("map_to_lcl", d=0)
_FROM_THE_END = then(apply("map_reversed"), inside("xs")(apply("map_to_wrg", d=0)))
"""Groups that begin with what was read last, which the second cache still has: 2^26 numbers take an H100 272 us instead of 279."""
_FOLDED = attempt(apply("reduce_to_seq"))
"""What a chunk comes to, in order: of affine steps it is a fold in order already."""
_REDUCED = first(*(by_groups(members, 4) for members in (64, 32, 8)))
"""What the chunks come to: so many work-items reduce each together, by vectors of 16 bytes."""


def _come_to(items: int, each: int) -> Tactic:
    """What the chunks come to, each by a group; of steps that compose by so many work-items, which have so many each."""
    in_rows = then(apply("join_split", "backward", m=each), inside("xss")(rows_staged(items, each)))
    by_one = then(_WORK_ITEMS, apply("store_local"))
    steps = then(
        under_a_name("xs", "xs", "xs"),
        inside("x")(in_rows),
        inside("f", "xs")(by_one),
    )
    from_first = then(
        under_a_name("xs", "xs", "xs", "xs"),
        inside("f")(then(under_a_name("xs", "xs"), inside("x")(by_one))),
        inside("x")(in_rows),
    )

    def each_chunk(at: Rewriting, place: Position) -> Rewriting:
        whole = isinstance(term_at(at.term, (*place, "xs")), Map)
        return (steps if whole else from_first)(at, place)

    return first(_REDUCED, then(inside("f")(each_chunk), apply("map_to_wrg", d=0)))


def length_at(at: Rewriting, place: Position) -> int:
    """How many elements the scan at a place goes through; raises `NoMatch` where none is, or nobody knows."""
    t = term_at(at.term, place)
    length = t.solved["n"].constant if isinstance(t, ScanSeq) else None
    if length is None:
        raise NoMatch("no scan of a known length stands here")
    return length


@curried
def scanned_in_group(at: Rewriting, place: Position, items: int, local_bytes: int) -> Rewriting:
    """A scan of what a group copies to local memory, by so many work-items; raises `NoMatch` where these do not share it evenly.

    The result is in local memory, too.  Cells are left open last: what branches may not see them.
    """
    length = length_at(at, place)
    scan = term_at(at.term, place)
    assert isinstance(scan, ScanSeq), "cannot happen: its length is known"
    each, rest = divmod(length, items)
    scalars = sum(cells(t.type).constant or 0 for t in (scan, scan.xs))
    if rest or each < 2 or 4 * scalars * (each + 1) // each > local_bytes:
        raise NoMatch(f"{items} work-items of a group do not scan {length} elements")
    in_rows = apply("join_split", "backward", m=each)
    if is_layout(scan.xs):
        chunks = then(in_rows, inside("xss")(rows_staged(items, each)))
    else:
        computed = then(shared_out(items), IN_ORDER)
        chunks = then(computed, in_rows, inside("xss")(apart_by_rows(each)))
    reduced = then(inside("f")(_FOLDED), _WORK_ITEMS, apply("store_local"))
    own = then(_WORK_ITEMS, apart_by_rows(each))
    return then(
        under_a_name("xs"),
        inside("f")(then(blocked(each), inside(*STARTS)(then(inside("xs")(reduced), _BY_ONE)))),
        inside("x")(chunks),
        inside("f", "xss")(own),
    )(at, place)


_BY_ONE = then(by_one(_WORK_ITEMS, ("xs",)), inside("xss")(apply("store_local")))
"""A scan by one work-item of a group."""
_ONE_GROUP = apply("map_to_wrg", d=0)
_BY_ONE_OF_ALL = then(by_one(_WORK_ITEMS, ("xs",)), by_one(_ONE_GROUP, ("xss", "xs", "x")))
"""A scan by one work-item of one group."""


def _by_one_group(items: int, local_bytes: int) -> Tactic:
    """A scan by one group of so many work-items, combined with what it starts from as its results are written."""
    start = first(apply("scan_start", "backward"), apply("insert_copy"))
    scanned = inside("xss", "f")(then(start, _mapped(items, local_bytes)))
    return then(by_one(_ONE_GROUP, ("xs",)), scanned)


_FEW = 32, 8
"""Work-items of a group that scans what is left, where that is too little for more."""


def scans_in_groups(items: int, each: int, local_bytes: int) -> Tactic:
    """Scans outside all functions by groups of so many work-items, which have so many elements each.

    What the chunks of the groups come to is scanned so, too, while it is long; raises `NoMatch` where there is no such scan.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.scans import scans_in_groups
    >>> @rl.program
    ... def sums(x: rl.f32[4096]):
    ...     return rl.scan_seq(rl.add, 0.0, x)
    >>> steps = derive(sums, scans_in_groups(32, 16, 48 * 1024)).steps
    >>> [step.choices["m"] for step in steps if step.rule == "scan_blocked"]
    [512, 16]
    """
    in_chunks = _in_chunks(items, each, local_bytes)
    by_one_group = [_by_one_group(few, local_bytes) for few in (items, *_FEW)]
    rest = first(*by_one_group, _BY_ONE_OF_ALL)
    come_to = _come_to(items, each)

    def one(at: Rewriting, place: Position) -> Rewriting:
        if free_variables(term_at(at.term, place)):
            raise NoMatch("no scan outside all functions")
        length = length_at(at, place)
        left = length % (items * each)
        if left and left < length and has_composed_steps(at, place):
            at = _longer(items * each - left)(at, place)
            place = (*place, "xs")
        elif left and left < length:
            at = scan_here_with_rest(items * each, length - left)(at, place)
            after: Position = (*place, "ys", "init")
            apart = ("right",) if isinstance(term_at(at.term, after), Combine) else ()
            come_to = term_at(at.term, (*after, *apart, "xs"))
            at = inside("ys")(rest)(at, place)
            for below in places_of(term_at(at.term, (*place, "ys")), come_to):
                at = what_chunks_come_to(at, (*place, "ys", *below))
            place = (*place, "xs")
        at = in_chunks(at, place)
        at = what_chunks_come_to(at, (*place, *STARTS))
        return inside("xss")(_FROM_THE_END)(at, place)

    def what_chunks_come_to(at: Rewriting, place: Position) -> Rewriting:
        at = inside("xs")(apply("store_global"))(at, place)
        found = term_at(at.term, (*place, "xs"))
        at = attempt(first(one, *by_one_group))(at, place)
        for below in places_of(term_at(at.term, place), found):
            at = inside("xs")(come_to)(at, (*place, *below))
        return apply("store_global")(at, place)

    return topdown(one)


_MASKED = any_rule(*(r.name for r in before_each_masked_number.rules))
"""What comes before each chunk as a fold of what all come to."""


@curried
def scans_from_folds(
    at: Rewriting, place: Position, items: int, each: int, local_bytes: int
) -> Rewriting:
    """A scan outside all functions by groups of so many work-items, which have so many elements each, in two kernels.

    Each group folds what all chunks come to, of which those from its own on count for nothing: where there are few that
    is sooner done than a kernel begun which scans them.  Raises `NoMatch` where there is no such scan, or too many chunks.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.scans import scans_from_folds
    >>> @rl.program
    ... def sums(x: rl.f32[16384]):
    ...     return rl.scan_seq(rl.add, 0.0, x)
    >>> steps = derive(sums, scans_from_folds(32, 16, 48 * 1024)).steps
    >>> [step.rule for step in steps if step.rule in ("before_each_masked", "store_global")]
    ['before_each_masked', 'store_global']
    """
    if free_variables(term_at(at.term, place)):
        raise NoMatch("no scan outside all functions")
    length = length_at(at, place)
    chunk = items * each
    if -(-length // chunk) > MOST_TURNS * items:
        raise NoMatch(f"chunks of {chunk} of {length} elements are too many to fold by each group")
    if more := -length % chunk:
        at = _longer(more)(at, place)
        place = (*place, "xs")
    starts, sums = ("xss", "xs"), ("xs", "f", "xs", "xs", "ys")
    at = _cut(chunk, each)(at, place)
    at = inside(*starts, "xs")(_MASKED)(at, place)
    come_to = then(_come_to(items, each), apply("store_global"))
    at = inside(*starts, *sums)(come_to)(at, place)
    at = under_a_name(*starts, *sums)(at, place)
    before = then(apply("zip_map_left"), normalize("let_inline"))
    at = then(inside("f", *starts)(before), inside("f", "xss")(apply("map_fusion")))(at, place)
    function = term_at(at.term, (*place, "f", "xss", "f"))
    (fold, *_) = (below for below, t in positions(function) if isinstance(t, Reduce))
    group = then(
        under_a_name(*fold),
        inside("x")(then(inside("xs")(FUSED), shared_fold(items, 4), IN_ORDER)),
        inside("f")(_group(items, local_bytes)),
    )
    return inside("f", "xss")(then(inside("f")(group), _FROM_THE_END))(at, place)


def rows_scanned(items: int, each: int, local_bytes: int) -> Tactic:
    """A map of scans by groups of so many work-items: a row for each group, or a chunk of a row.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.scans import rows_scanned
    >>> @rl.program
    ... def sums(a: rl.f32[64, 512]):
    ...     return rl.map(lambda row: rl.scan_seq(rl.add, 0.0, row), a)
    >>> [step.rule for step in derive(sums, rows_scanned(32, 16, 48 * 1024)).steps][:2]
    ['insert_copy', 'let_inline']
    """
    by_rows = then(inside("f")(_row_scanned(items, local_bytes)), apply("map_to_wrg", d=0))
    come_to = then(inside("f")(_come_to(items, each)), apply("map_to_wrg", d=1))
    cut, group = _cut(items * each, each), _group(items, local_bytes)
    by_chunks = _by_chunks(items * each, cut, come_to, group, "map_to_wrg", (0, 1))

    def one(at: Rewriting, place: Position) -> Rewriting:
        if free_variables(the(Map, at, place)):
            raise NoMatch("no map of scans outside all functions")
        short = length_at(at, (*place, "f")) <= items * each
        return (by_rows if short else by_chunks)(at, place)

    return topdown(one)


def rows_folded_and_scanned(members: int, width: int, local_bytes: int) -> Tactic:
    """A map of scans of what is made of a row with what its folds give, by groups of so many work-items that read vectors of `width`.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.scans import rows_folded_and_scanned
    >>> @rl.program
    ... def shares(a: rl.f32[64, 512]):
    ...     def row(r):
    ...         whole = rl.reduce(rl.add, 0.0, r)
    ...         return rl.scan_seq(rl.add, 0.0, rl.map(lambda v: v / whole, r))
    ...     return rl.map(row, a)
    >>> found = derive(shares, rows_folded_and_scanned(32, 4, 48 * 1024))
    >>> [step.rule for step in found.steps if "scan" in step.rule or "strided" in step.rule]
    ['partial_reduce_strided', 'scan_blocked']
    """
    scanned = then(inside("xs")(FUSED), _row_scanned(members, local_bytes))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if not has_scan(term_at(at.term, place)):
            raise NoMatch("nothing is scanned")
        return rows_by_groups(1, members, width, 0, written=scanned)(at, place)

    return tactic


def columns_scanned(rows: int) -> Tactic:
    """A map of scans down the columns of a table, in chunks of so many rows: a work-item for each, neighbours beside each other.

    Raises `NoMatch` where what is scanned are no columns, or so short that there are no two chunks.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.scans import columns_scanned
    >>> @rl.program
    ... def sums(a: rl.f32[64, 512]):
    ...     return rl.transpose(rl.map(lambda c: rl.scan_seq(rl.add, 0.0, c), rl.transpose(a)))
    >>> [step.rule for step in derive(sums, columns_scanned(16)).steps][:3]
    ['scan_blocked', 'map_fission_with_zip', 'map_fusion']
    """
    reduced = then(inside("f")(_FOLDED), apply("map_to_glb", d=1))
    come_to = then(inside("f")(reduced), apply("map_to_glb", d=0))
    by_chunks = _by_chunks(rows, blocked(rows), come_to, skip, "map_to_glb", (1, 0))

    def one(at: Rewriting, place: Position) -> Rewriting:
        t = the(Map, at, place)
        if free_variables(t) or not all(isinstance(u, Transpose) for u in zipped(t.xs)):
            raise NoMatch("no map of scans of columns outside all functions")
        if (length := length_at(at, (*place, "f"))) <= rows:
            raise NoMatch(f"columns of {length} rows are no two chunks of {rows}")
        return by_chunks(at, place)

    return topdown(one)


def _by_chunks(
    chunk: int, cut: Tactic, come_to: Tactic, each: Tactic, level: str, dimensions: tuple[int, int]
) -> Tactic:
    """The scans of a map in chunks of so many elements, the last longer than there are: who has each, and each row, is said by a rule.

    What they are computed of, what the chunks come to, and the scans of that are kernels of their own.
    """
    of_each, of_rows = (apply(level, d=d) for d in dimensions)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = attempt(_computed_before)(at, place)
        if more := -length_at(at, (*place, "f")) % chunk:
            at = then(inside("f")(_longer(more)), fission("f", "xs"))(at, place)
            place = (*place, "xs")
        at = inside("f")(cut)(at, place)
        at = fission("f", *STARTS, beside=True)(at, place)
        at = inside("f", "xss", "f")(each)(at, place)
        starts = then(
            fission("f", "xs"),
            inside("xs")(then(come_to, apply("store_global"))),
            apply("map_to_glb", d=0),
            apply("store_global"),
        )
        return then(inside("xs", "ys")(starts), inside("f", "xss")(of_each), of_rows)(at, place)

    return tactic


def _computed_before(at: Rewriting, place: Position) -> Rewriting:
    """What the rows are computed of, element by element, is computed by a kernel of its own."""
    elements = term_at(at.term, (*place, "f", "xs"))
    if not isinstance(elements, Map) or is_layout(elements):
        raise NoMatch("what is scanned is no map of what is computed")
    each = then(inside("f")(IN_ORDER), apply("map_to_glb", d=0))
    return then(
        fission("f", "xs"),
        inside("xs")(then(inside("f")(each), apply("map_to_glb", d=1), apply("store_global"))),
    )(at, place)


def _row_scanned(items: int, local_bytes: int) -> Tactic:
    """A scan by a group, whose work-items have chunks of one length: where these are no row, of a longer one."""
    return then(first(start_apart, apply("insert_copy")), _mapped(items, local_bytes))


def _mapped(items: int, local_bytes: int) -> Tactic:
    """A map of such a scan, which is computed as the results are written."""
    scanned = scanned_in_group(items, local_bytes)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        more = -length_at(at, (*place, "xs")) % items
        if not more:
            return then(inside("xs")(scanned), _written(items))(at, place)
        below_a_name = under_a_name("xs", "xs")
        written = then(inside("f")(shared_out(items)), inside("x")(scanned))
        return then(inside("xs")(_longer(more)), below_a_name, written)(at, place)

    return tactic


def _longer(more: int) -> Tactic:
    """A scan as the first results of one of an array of so many more elements."""
    return then(
        inside("xs")(lengthened(more)),
        apply("scan_take", "backward"),
        inside("xs", "xs")(attempt(apply("pad_clamp_map"))),
    )


def _in_chunks(items: int, each: int, local_bytes: int) -> Tactic:
    """A scan in chunks of a group each; what they come to, and who they are for, is left open."""
    return then(_cut(items * each, each), inside("xss", "f")(_group(items, local_bytes)))


def _group(items: int, local_bytes: int) -> Tactic:
    """A chunk, scanned and written by a group of so many work-items."""
    return then(inside("xs")(scanned_in_group(items, local_bytes)), _written(items))


def _cut(chunk: int, each: int) -> Tactic:
    """A scan in chunks, each a map of what a scan gives."""
    apart = inside("xss", "f")(apply("scan_start", "backward"))
    blocked_apart = then(apply("scan_blocked", m=chunk), apart)
    fused = then(apply("map_fusion"), inside("f")(apply("map_fusion")))
    of_steps = then(chunks_scanned(chunk, each), inside("xss", "f")(apply("insert_copy")))
    in_each_chunk = then(inside("xs")(blocked_apart), apply("map_join"), inside("xss")(fused))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        length = length_at(at, place)
        if length % chunk or length <= chunk:
            raise NoMatch(f"chunks of {chunk} elements do not divide {length}")
        return first(then(start_apart, in_each_chunk), blocked_apart, of_steps)(at, place)

    return tactic


def _written(items: int) -> Tactic:
    """A map over what a group has, whose neighbours write side by side."""
    turn = then(inside("f")(_WORK_ITEMS), apply("map_to_seq"))
    return then(apply("split_join", m=items), inside("xss")(turn))
