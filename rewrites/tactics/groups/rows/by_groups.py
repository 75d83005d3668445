"""Tactics for maps over rows on a GPU: a group has a row, and its work-items share every loop over it.

A function of a row that folds it, once or several times, and computes a value or a new row of what the folds gave, as
softmax and layer norm do.  The folds get names, in the order in which they need each other.  Each is done by all
work-items of the group together, whose partial results, a number of each, stand in local memory, where every work-item
folds them; arrays that several need stand there, too.  What is computed of them is shared out along the lines of memory.
Source: LIFT, GPGPU'16, for the folds; Halide's compute_at, PLDI'13, for what stands between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import partial

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.batches import where_written
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    copy,
    curried,
    everywhere,
    first,
    inside,
    normalize,
    repeat,
    skip,
    then,
    under_a_name,
    vectorize_reduction,
)
from relift.rewrites.tactics.flat_tables import flat_tables, has_tables
from relift.rewrites.tactics.folds.places import places_in_any_order
from relift.rewrites.tactics.folds.remainders import cut, fold_here_with_rest, length_of
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.rewrites.tactics.groups.cooperative import (
    MOST_FOUND,
    SHARE_OF_FOUND,
    has_lanes,
    share_stored,
    shared,
)
from relift.rewrites.tactics.groups.kept_rows import has_rows_to_keep, kept_in_registers
from relift.rewrites.tactics.groups.row_tiles import apart_by_rows
from relift.rewrites.tactics.groups.rows.whole_turns import (
    in_whole_turns,
    lanes_for,
    map_in_whole_turns,
    shared_evenly,
)
from relift.rewrites.tactics.nests.padding import padded
from relift.rewrites.tactics.sharing import has_loops
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Let, Map, Reduce, Reduction, Zip
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    is_invariant,
    places_of,
    positions,
    term_at,
)
from relift.semantics.syntax.places import is_below
from relift.semantics.syntax.terms import (
    Lambda,
    MakeTuple,
    Term,
    children,
    free_variables,
    parts_of,
    subterms,
)
from relift.semantics.syntax.types import Array, cells, holds_array

_WORK_ITEMS = apply("map_to_lcl", d=0)
_STORED = then(_WORK_ITEMS, apply("store_local"))
MOST_TURNS = 32
"""Vectors of a row that a work-item goes through: an H200 takes 270 us instead of 140 with 64 for each."""

MOST_ACROSS = 32
"""So many times as many of a column: all of its work-items read one line of memory after the other."""

FUSED = repeat(apply("map_fusion"))
"""What is computed of each element before a map goes through them is computed by it."""

IN_ORDER = everywhere(attempt(then(apply("reduce_to_seq"), attempt(apply("reduce_map_fusion")))))


@curried
def rows_by_groups(
    at: Rewriting,
    place: Position,
    depth: int,
    members: int,
    width: int,
    local_bytes: int,
    kept: bool = False,
    written: Tactic | None = None,
) -> Rewriting:
    """A map over rows, in `depth` - 1 maps more, by groups of `members` work-items that read vectors of `width`.

    With a `depth` of 0 there is one row, and one group.  What they read again they keep in registers, if `kept`.  How they
    compute a result that is no map may be given, `written`.

    Raises `NoMatch` where the function of a row does not fold it, or the group cannot share that evenly.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.rows.by_groups import rows_by_groups
    >>> @rl.program
    ... def parts(a: rl.f32[8, 512]):
    ...     return rl.map(lambda row: rl.map(lambda v: v / rl.reduce(rl.add, 0.0, row), row), a)
    >>> steps = derive(parts, rows_by_groups(1, 32, 4, 48 * 1024)).steps
    >>> [step.rule for step in steps][:3]
    ['let_inline', 'vectorize_reduce', 'partial_reduce_strided']
    """
    at, row = row_in_maps(attempt(places_in_any_order())(at, place), place, depth)
    given = binders_at(at.term, row)[-1:]
    if any(has_tables(x.type) for x in given):
        at = flat_tables()(at, row)
    if kept:
        if not any(has_rows_to_keep(x.type, members) for x in given):
            raise NoMatch(f"{members} members read no row twice that they should keep")
        at = FUSED_OUT_OF_ZIPS(at, row)
    at, names = named(at, row, 0 if kept else local_bytes)
    each = [term_at(at.term, (*row, *("f",) * i, "x")) for i in range(names)]
    if not any(map(has_loops, each)):
        raise NoMatch("the function of a row folds nothing")
    folded = [t.xs for t in each if isinstance(t, Reduce)]
    if folded and max(map(length_of, folded)) < members:
        raise NoMatch(f"{members} work-items share no fold of a row")
    for i in range(names):
        at = _lowered(members, width)(at, (*row, *("f",) * i, "x"))
    whole = partial(map_in_whole_turns, members, width) if kept else None
    result = written or written_by(width, shared_out(members), whole)
    at = where_written(result)(at, (*row, *("f",) * names))
    if kept:
        at = kept_in_registers(members, width)(at, row)
    return for_groups(at, row, depth)


@curried
def rows_together(
    at: Rewriting, place: Position, depth: int, rows: int, members: int, *, across: bool = False
) -> Rewriting:
    """A map over rows that folds each to a number, by groups of `members` work-items for each of so many rows, side by side.

    Neighbours are members of one row, or, `across`, have rows beside one another, which are columns of what lies in memory.

    Of the last group only those rows are written that there are.  A GPU begins a group in little more than a cycle: where rows are short, that takes longer than
    to read them.  Raises `NoMatch` where a row is folded more than once, or its fold starts from no neutral element.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.rows.by_groups import rows_together
    >>> @rl.program
    ... def sums(a: rl.f32[128, 96]):
    ...     return rl.map(lambda row: rl.reduce(rl.add, 0.0, row), a)
    >>> steps = derive(sums, rows_together(1, 8, 32)).steps
    >>> [step.rule for step in steps if step.rule.startswith("map")]
    ['map_reduce_fission', 'map_to_lcl', 'map_to_lcl', 'map_to_lcl', 'map_to_lcl', 'map_to_wrg']
    """
    at, row = row_in_maps(attempt(places_in_any_order())(at, place), place, depth)
    outer = row[:-1]
    if not depth or holds_array(term_at(at.term, row).type):
        raise NoMatch("no map over rows is here that gives a number of each")
    found = _shared_in(term_at(at.term, row), 0)
    folded = 0 if found is None else length_of(term_at(at.term, (*row, *found, "xs")))
    most = MOST_TURNS * members * (MOST_ACROSS if across else 1)
    if found is None or not members <= folded <= most:
        raise NoMatch(f"{members} work-items share no fold of a row, or a long one")
    length = length_of(term_at(at.term, (*outer, "xs")))
    if length < rows:
        raise NoMatch(f"there are no {rows} rows")
    chunks = _together(rows, members, found, across)
    if more := -length % rows:
        chunks = then(padded(more, 0), inside("xs")(chunks))
    return for_groups(chunks(at, outer), outer, depth - 1, 1)


def _together(rows: int, members: int, fold: Position, across: bool) -> Tactic:
    """A map over rows in chunks of so many, each of a group; where in the function of a row its fold stands is given."""
    of_rows, of_members = (0, 1) if across else (1, 0)
    by_rows, by_members = (apply("map_to_lcl", d=d) for d in (of_rows, of_members))
    partial = then(inside("f")(by_members), by_rows)
    if rows * members > _FITTING:
        partial = then(partial, apply("store_private"), copy(by_rows, by_members))
    partial = then(partial, apart_by_rows(members))
    by_the_first = inside("xss")(then(inside("f")(_WORK_ITEMS), apply("map_to_lcl", d=1)))

    def chunk(at: Rewriting, place: Position) -> Rewriting:
        at, here = shared_evenly(at, (*place, "f", *fold), members)
        below = here[len(place) + 1 :]
        at = shared(members)(at, here)
        alone = not below  # then what it takes need not be total
        by_rule = "map_reduce_fission" if alone else "map_fission_with_zip"
        at = apply(by_rule, parts={"g": ("f", *below, "xs")})(at, place)
        partials = inside("xs") if alone else inside("xs", "ys")
        at = partials(then(inside("f")(IN_ORDER), partial))(at, place)
        return then(inside("f")(IN_ORDER), apply("split_join", m=rows), by_the_first)(at, place)

    return then(
        apply("split_join", m=rows),
        inside("xss")(then(inside("f")(chunk), apply("map_to_wrg", d=0))),
    )


_FITTING = 256
"""Work-items that a group has without being asked for more; what each of more has found is in a register of its own first."""


def row_in_maps(at: Rewriting, place: Position, depth: int) -> tuple[Rewriting, Position]:
    """Maps fused with those that they go through, and where the function of a row stands, in so many maps."""
    at = FUSED(at, place)
    return at, in_maps(at, place, depth)


def in_maps(at: Rewriting, place: Position, depth: int) -> Position:
    """Where the function stands that so many maps in one another apply; raises `NoMatch` where there are fewer."""
    for around in range(depth):
        if not isinstance(term_at(at.term, (*place, *("f",) * around)), Map):
            raise NoMatch(f"no {depth} maps stand in one another here")
    return (*place, *("f",) * depth)


def for_groups(
    at: Rewriting, function: Position, depth: int, first_dimension: int = 0
) -> Rewriting:
    """The maps around a function, so many, are for groups, the innermost of them of the first dimension."""
    for around in range(depth):
        at = apply("map_to_wrg", d=first_dimension + around)(at, function[: -1 - around])
    return at


def _out_of_zip(at: Rewriting, place: Position) -> Rewriting:
    """What is computed of each element of an array is computed of those of a zip, where it is read: what it needs is kept."""
    t = term_at(at.term, place)
    sides = (("zip_map_left", t.xs), ("zip_map_right", t.ys)) if isinstance(t, Zip) else ()
    for rule, u in sides:
        if isinstance(u, Map) and not is_layout(u) and not _folds_its_elements(u.f):
            return apply(rule)(at, place)
    raise NoMatch("no zip of what is computed of elements")


FUSED_OUT_OF_ZIPS = then(normalize(_out_of_zip), everywhere(FUSED))
"""What is computed of each element of a row is computed where it is read."""


def _folds_its_elements(f: Lambda) -> bool:
    """Whether something is folded for each element; what is folded for the row, once, may be named before."""
    own = {x.name for x in f.parameters}
    folds = (u for u, _ in subterms(f.body) if isinstance(u, Reduction))
    return any(own & free_variables(u) for u in folds)


# ---- names


def named(at: Rewriting, body: Position, local_bytes: int) -> tuple[Rewriting, int]:
    """What all work-items of a group need of a row, under names one inside the other, and how many these are."""
    names, room = 0, local_bytes
    while (found := _next_shared(t := term_at(at.term, body), room)) is not None:
        if found or not isinstance(t, Let):
            at = under_a_name(*found)(at, body)
            room -= 4 * (cells(term_at(at.term, (*body, "x")).type).constant or 0)
        body, names = (*body, "f"), names + 1
    return at, names


def _next_shared(t: Term, room: int) -> Position | None:
    """Where the next thing stands that gets a name; nowhere else than it does what has one, of which all that is folded has."""
    if not isinstance(t, Let):
        return _shared_in(t, room)
    whole = isinstance(t.x, Reduce) or holds_array(t.x.type)
    found = None if whole else _shared_in(t.x, room)
    return () if found is None else ("x", *found)


def _shared_in(t: Term, room: int) -> Position | None:
    """The smallest part that the whole group needs: a fold, or an array that is computed and read again.

    What only a fold takes is computed by it.
    """

    def of_the_group(place: Position, u: Term) -> bool:
        return not is_layout(u) and is_invariant(t, place)

    folds = [p for p, u in positions(t) if isinstance(u, Reduce) and of_the_group(p, u)]
    arrays = [
        place
        for place, u in positions(t)
        if isinstance(u, Map) and place and of_the_group(place, u) and _fits(u, room)
        if len(_readers(t, u, folds)) > 1 or (binders_at(t, place) and not is_below(place, folds))
    ]
    by_size = [(parts_of(term_at(t, place)), place) for place in (*folds, *arrays)]
    return min(by_size, default=(0, None))[1]


def _readers(t: Term, u: Term, folds: Collection[Position]) -> set[Term | Position]:
    """What reads a part: equal folds once, for they are computed once, and every other place where it stands."""
    found: set[Term | Position] = set()
    for place in places_of(t, u):
        above = min((fold for fold in folds if is_below(place, (fold,))), key=len, default=None)
        found.add(place if above is None else canonical(term_at(t, above)))
    return found


def _fits(t: Term, room: int) -> bool:
    return 0 < 4 * (cells(t.type).constant or 0) <= room


# ---- who computes


def _lowered(members: int, width: int) -> Tactic:
    """A fold by the members of a group, whose partial results everybody folds; or an array by all of them."""

    def fold(at: Rewriting, place: Position) -> Rewriting:
        length = length_of(term_at(at.term, (*place, "xs")))
        if length > MOST_TURNS * members * width:
            raise NoMatch(f"{members} work-items do not share {length} elements")
        return shared_fold(members, width)(at, place)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if isinstance(term_at(at.term, place), Map):
            return then(shared_out(members), IN_ORDER, apply("store_local"))(at, place)
        if not has_loops(term_at(at.term, place)):
            return at  # each of them computes it
        if not isinstance(term_at(at.term, place), Reduce):
            raise NoMatch("what has a name is neither a fold nor a map")
        return then(inside("xs")(FUSED), from_neutral(fold), IN_ORDER)(at, place)

    return tactic


@curried
def shared_fold(at: Rewriting, place: Position, members: int, width: int) -> Rewriting:
    """A fold by the members of a group, in vectors where these fill it; beyond the end the start is folded, or what is left by a few, where it is not neutral."""
    xs = term_at(at.term, (*place, "xs"))
    length = length_of(xs)
    if length < members:
        return _by_few(length)(at, place)
    lanes = lanes_for(length, members, width) if has_lanes(xs) else 1
    at_once = members * lanes
    by_all = share_stored(members, lanes, _STORED)
    if lanes == 1:
        by_all = then(by_all, _found(width))
    left = length % at_once
    if not left:
        return by_all(at, place)
    return first(
        then(in_whole_turns(at_once, lanes), by_all),
        then(
            fold_here_with_rest(length - left),
            inside("right")(shared_fold(members, 1)),
            inside("left")(by_all),
        ),
    )(at, place)


@curried
def _found(at: Rewriting, place: Position, width: int) -> Rewriting:
    """A fold of what the members of a group found: by vectors, or, where these are no numbers, by a few members first."""
    xs = term_at(at.term, (*place, "xs"))
    length = length_of(xs)
    if has_lanes(xs) and length > MOST_FOUND:
        by_few = share_stored(length // SHARE_OF_FOUND, width, _STORED)
        return attempt(by_few)(at, place)
    if has_lanes(xs):
        return attempt(vectorize_reduction(width))(at, place) if width > 1 else at
    few = min((d for d in range(1, length + 1) if length % d == 0), key=lambda d: d + length // d)
    if length <= _ALONE or few in (1, length):
        return at
    return then(shared(few), inside("xs")(_STORED))(at, place)


_ALONE = 16
"""Elements that every work-item folds, rather than to wait for others."""


def _by_few(length: int) -> Tactic:
    """A fold of fewer elements than a group has members: about as many fold a share each as a share has elements."""
    return skip if length <= _ALONE else shared_fold(1 << round(math.log2(length) / 2), 1)


_IN_TURN = then(inside("f")(_WORK_ITEMS), apply("map_to_seq"))


def shared_out(members: int, chunks: Tactic = _IN_TURN) -> Tactic:
    """A map whose elements neighbours compute side by side; the last few, where they are too few for all.

    How they compute a map over whole `chunks` of as many elements as there are members may be given.
    """
    turns = then(apply("split_join", m=members), inside("xss")(chunks))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        return cut(length_of(term_at(at.term, place)), members, turns, _WORK_ITEMS)(at, place)

    return tactic


def written_by(
    width: int, shared_out: Tactic, whole: Callable[[Callable[[int], Tactic]], Tactic] | None = None
) -> Tactic:
    """A result that is `shared_out`, in vectors if it can be; a single value all compute alike, and of several results each.

    A way to share out a map in vectors of some lanes may be made another one, of the `whole` of a map.
    """

    def each(lanes: int) -> Tactic:
        vectors = then(apply("vectorize_map", w=lanes), inside("vs")(shared_out))
        return then(first(vectors, shared_out) if lanes > 1 else shared_out, IN_ORDER)

    def part(at: Rewriting, place: Position) -> Rewriting:
        if isinstance((t := term_at(at.term, place)).type, Array) and is_layout(t):
            at = apply("insert_copy")(at, place)
        return where_written(tactic)(at, place)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = FUSED(at, place)
        t = term_at(at.term, place)
        if isinstance(t, MakeTuple) and holds_array(t.type):
            for field, _ in children(t):
                at = part(at, (*place, field))
            return at
        if isinstance(t, Map):
            return (each(width) if whole is None else whole(each))(at, place)
        if holds_array(t.type):
            raise NoMatch("the result of a row is neither a map nor a value")
        return IN_ORDER(at, place)

    return tactic
