"""Histograms: folds of those elements whose key is a number, for many numbers, as one fold that updates cells.

    map (\\b. fold (\\acc x. if key x == b then g acc x else acc) z xs) labels

goes through all elements for each label.  Here each element is folded into the cell of its key: a work-item has a table of
its own for a chunk of the elements, which one kernel stores, and another one combines the tables.  Where labels are
data, what they stand for is looked up in such a table, or computed as it is written where it has no such cell.
Source: histograms with private bins (Podlozhnyuk, 2007); accumArray of Haskell.
"""

from __future__ import annotations

import math

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.rules.folds import bins
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    any_rule,
    apply,
    at_kinds,
    attempt,
    curried,
    first,
    fission,
    fuse,
    inside,
    normalize,
    skip,
    then,
    topdown,
    under_a_name,
)
from relift.rewrites.tactics.folds.partial_results import (
    EACH_RESULT,
    IN_ORDER,
    MapOfFolds,
    folds_at,
    in_two_kernels,
    in_two_steps,
)
from relift.rewrites.tactics.folds.recurrences import by_operators
from relift.rewrites.tactics.folds.remainders import fold_here_with_rest, length_of
from relift.rewrites.tactics.groups.cooperative import chunk_near
from relift.rewrites.tactics.groups.rows.by_groups import rows_by_groups, rows_together, shared_out
from relift.rewrites.tactics.groups.tiles import columns_behind
from relift.rewrites.tactics.vectors.lanes import OUTER, for_items
from relift.semantics.interpreter import operand_type, scalar_function
from relift.semantics.patterns import (
    AtRuntime,
    Generate,
    Join,
    Map,
    Reduce,
    ReduceByIndex,
    ReduceSeq,
    Transpose,
)
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Lambda, Term, free_variables, subterms
from relift.semantics.syntax.types import Scalar, Type, dimensions, i32

_ONE_FOLD = any_rule(*(r.name for r in bins.fold_of_said_bins_number.rules))
_KEPT = any_rule(*(r.name for r in bins.select_neutral_number.rules))
_FOLD = then(fuse(), attempt(inside("f")(_KEPT)))


def _key_named(at: Rewriting, place: Position) -> Rewriting:
    """A key that is looked up has a name, by which its place is found in other tables; others are read where they are."""
    for below, u in positions(term_at(at.term, place)):
        if isinstance(u, AtRuntime) and isinstance(u.index, AtRuntime):
            named = under_a_name(*below, "index")
            return then(named, inside("x")(apply("store_private")))(at, place)
    raise NoMatch("no key that is looked up")


_TABLE = then(
    inside("f")(_FOLD),
    _ONE_FOLD,
    inside("f", "x")(apply("store_private")),
    inside("f")(attempt(_key_named)),
    inside("init")(then(apply("generate_as_map"), apply("map_to_seq"))),
)
"""Generated folds as one fold of a work-item, whose table is where its result is."""

_OF_CHUNKS = then(
    apply("map_generate"),
    apply("map_outside_generate"),
    inside("xss")(then(inside("f")(_TABLE), apply("map_to_glb", d=0), apply("store_global"))),
)
"""Folds of chunks, for each number, as a table of each chunk."""


_BY_ANY = any_rule(*(r.name for r in bins.fold_by_said_index_number.rules))


def _by_index(at: Rewriting, place: Position) -> Rewriting:
    """The same by an operator by which cells are updated at once."""
    at = _BY_ANY(at, place)
    t = term_at(at.term, place)
    if (
        not isinstance(t, ReduceByIndex)
        or (of := operand_type(t)) not in t.at_once_of
        or scalar_function(t.op, of) not in t.at_once
    ):
        raise NoMatch("kernels update no cells at once by this operator")
    return at


@curried
def _several_each(at: Rewriting, place: Position, by: str) -> Rewriting:
    """Each member of a group, or work-item, reads several elements, as far apart as there are that read, and then updates their cells.

    So it waits for all of these at once, not for one after the other.
    """
    n = length_of(term_at(at.term, (*place, "xs")))
    each = next(e for e in _EACH if (n % e == 0 and n >= e * _FEWEST_MEMBERS) or e == 1)
    if each == 1:
        return inside("xs")(apply(by, d=0))(at, place)
    return then(
        inside("xs", "xs")(apply("stride_undone", "backward", k=each - 1, m=n // each - 1)),
        inside("xs")(apply("gather_map", "backward")),
        apply("reduce_by_index_gather"),
        inside("xs", "xs")(apply("stride_as_transpose", m=n // each, k=each - 1)),
        inside("xs")(apply("map_join")),
        inside("xs", "xss")(then(inside("f")(apply("map_to_seq_unroll")), apply(by, d=0))),
    )(at, place)


_EACH = (8, 4, 2, 1)
"""Elements that a member reads at once, where they are a part of all."""

_OF_A_GROUP = then(
    inside("init")(then(apply("generate_as_map"), apply("map_to_lcl", d=0), apply("store_local"))),
    _several_each("map_to_lcl"),
    apply("insert_copy"),
    apply("map_to_lcl", d=0),
)
"""Cells in the local memory of a group, whose members update them at once, and store them."""

_OF_ALL = then(
    inside("init")(then(apply("generate_as_map"), apply("map_to_glb", d=0), apply("store_global"))),
    inside("xs")(fuse()),
    _several_each("map_to_glb"),
)
"""Cells that one kernel stores, and all work-items of the next one update at once."""

_AT_ONCE = then(inside("f")(_FOLD), _by_index)
"""Generated folds as one that updates cells, each for one element, in any order."""


CELLS_AS_FOLDS = then(
    any_rule(*(rule.name for rule in bins.reduce_by_index_as_folds_number.rules)),
    attempt(inside("xs", "ys")(apply("generate_as_map"))),
    normalize("zip_map_right", "zip_same", "map_fusion"),
)
"""What cells come to as a fold for each."""


def _in_blocks(cells: int, along: int) -> Tactic:
    """Cells by groups along a dimension, each of which has a block of so many of them and goes through all elements."""
    named = inside("f")(attempt(_key_named))
    of_a_group = then(inside("xs")(then(fuse(), named)), _OF_A_GROUP)
    by_groups = then(inside("f")(of_a_group), apply("map_to_wrg", d=along))
    return then(apply("reduce_by_index_in_blocks", m=cells), inside("xss")(by_groups))


@curried
def _in_tables(at: Rewriting, place: Position, room: int, *, whole: bool = False) -> Rewriting:
    """Folds of chunks, for each number, as a table of each chunk, of groups with so many bytes of local memory each.

    Of all elements there is one table, if they are `whole`.  One that does not lie there is made in blocks, as few as there
    may be, and as long as one another.
    """
    cells = length_of(term_at(at.term, place))
    blocks = _blocks_of(cells, room)
    block = -(-cells // blocks)
    if more := blocks * block - cells:
        at = then(inside("xs")(apply("take_indices", r=more)), apply("take_map", "backward"))(
            at, place
        )
        place = (*place, "xs")
    if whole:
        return then(apply("map_generate"), _AT_ONCE, _in_blocks(block, 0))(at, place)
    of_a_group = _OF_A_GROUP if blocks == 1 else _in_blocks(block, 1)
    by_groups = then(inside("f")(then(_AT_ONCE, of_a_group)), apply("map_to_wrg", d=0))
    return then(
        apply("map_generate"),
        apply("map_outside_generate"),
        inside("xss")(then(by_groups, apply("store_global"))),
    )(at, place)


def _blocks_of(cells: int, room: int) -> int:
    """Into how many blocks cells of i32 are divided each of which lies in so many bytes; raises `NoMatch` for too many."""
    if (blocks := -(-cells * i32.bytes // room)) > _MOST_BLOCKS:
        raise NoMatch(f"no {_MOST_BLOCKS} tables for {cells} cells lie in {room} bytes")
    return blocks


_MOST_BLOCKS = 128
"""Blocks of cells of a table: for each all elements are read."""
_MOST_MEMBERS, _FEWEST_MEMBERS = 256, 8
"""Work-items with a table each: fewer leave most of those that run as one idle."""
_FILLED = 16  # bytes, at most, of the cells that make the number of a row odd
_UNIT, _UNIT_OF_CELLS = 256, 32
"""Elements of which a chunk has a multiple, and cells of which a table for labels that are data has one: members share both."""
_OF_A_RESULT, _WIDTH = 64, 4
"""Work-items that add up the cells of one number, and of how many they read vectors."""


def _of_groups(room: int) -> Tactic:
    """The same by groups: each member has a table in local memory, of so many bytes, and all of them add up their tables.

    The rows of these tables have an odd number of cells, so that neighbours that update cells of one number use
    different banks.
    """

    def of_a_group(at: Rewriting, place: Position) -> Rewriting:
        members = _members(term_at(at.term, place), room)
        at = apply("generate_as_map")(at, place)
        t = term_at(at.term, place)
        folds = MapOfFolds((), ((),), length_of(t), length_of(term_at(t, ("f", "xs"))))
        if folds.length < members:
            raise NoMatch(f"{members} work-items do not share {folds.length} elements")
        tables = then(
            apply("map_generate"),
            apply("map_outside_generate"),
            inside("xss")(then(inside("f")(_TABLE), apply("map_to_lcl", d=0))),
            columns_behind(1 + folds.results % 2),
        )
        at = in_two_steps(folds, "partial_reduce_strided", members, tables)(at, place)
        return then(IN_ORDER, shared_out(members))(at, place)

    each = then(inside("f")(of_a_group), apply("map_to_wrg", d=0))
    return then(
        apply("map_generate"),
        apply("map_outside_generate"),
        inside("xss")(each),
        apply("store_global"),
    )


def _members(table: Term, room: int) -> int:
    """As many work-items as have room for a table each and share its cells evenly; raises `NoMatch` where they are too few."""
    numbers = length_of(table)
    most = min(_MOST_MEMBERS, room // (_bytes_of(table.type) + _FILLED))
    if (even := 1 << most.bit_length() >> 1) >= numbers:
        return even
    members = max(m for m in range(1, most + 1) if numbers % m == 0) if most else 0
    if members < _FEWEST_MEMBERS:
        raise NoMatch(f"no {_FEWEST_MEMBERS} tables of {numbers} cells lie in {room} bytes")
    return members


def _bytes_of(t: Type) -> int:
    lengths, of = dimensions(t)
    if not isinstance(of, Scalar) or any(n.constant is None for n in lengths):
        raise NoMatch(f"a table of type {t} has no size in bytes")
    return math.prod(n.constant or 0 for n in lengths) * of.bytes


def _of_rows(at: Rewriting, place: Position) -> Rewriting:
    """A fold of folds of rows as one of all their elements."""
    match term_at(at.term, place):
        case Reduce(_, _, Map(Lambda(_, Reduce()))):
            return then(
                inside("xs")(fission("f", "xs")),
                apply("reduce_join", "backward"),
                inside("xs")(apply("map_join", "backward")),
            )(at, place)
        case _:
            raise NoMatch("no folds are folded here")


def in_bins(blocks: int, room: int = 0, *, at_once: bool = False) -> Tactic:
    """The outermost map or generated array of such folds with tables for `blocks` chunks of the elements.

    Where there is `room`, that many bytes of local memory, a group has a chunk, and its members the tables, or one, whose
    cells they update `at_once`.  Without any, one table for all elements is updated at once by all work-items.

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

    of_chunks = (_in_tables if at_once else _of_groups)(room) if room else _OF_CHUNKS  # or none
    tables = _tables(blocks, of_chunks, room, at_once)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        for below, t in positions(term_at(at.term, place)):
            if not free_variables(t):
                try:
                    return _binned(tables, _UNIT_OF_CELLS if room else 1)(at, (*place, *below))
                except NoMatch:
                    continue
        raise NoMatch("no folds stand by themselves that choose elements by their keys")

    return tactic


def bins_of_each(at: Rewriting, place: Position) -> Rewriting:
    """The same for each element of the maps around such folds, which has a work-item and its table.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.bins import bins_of_each
    >>> @rl.program
    ... def histograms(rows: rl.i32[16, 64]):
    ...     def occurrences(row, j):
    ...         return rl.reduce(rl.add, 0, rl.map(lambda v: rl.select(rl.equal(j, v), 1, 0), row))
    ...     return rl.map(lambda row: rl.generate(8, lambda j: occurrences(row, j)), rows)
    >>> [step.rule for step in derive(histograms, bins_of_each).steps if "bins" in step.rule]
    ['fold_of_labelled_bins_i32']
    """
    here, t = place, term_at(at.term, place)
    while isinstance(t, Map) and not _is_of_indices(t.xs):
        here, t = (*here, "f"), t.f.body
    depth = len(here) - len(place)
    if not 0 < depth <= len(OUTER):
        raise NoMatch("no folds stand in maps")
    return for_items(then(attempt(apply("map_generate")), _TABLE)(at, here), place, depth)


@curried
def _binned(at: Rewriting, place: Position, tables: Tactic, unit: int) -> Rewriting:
    t = term_at(at.term, place)
    if len(dimensions(t.type)[0]) > 1:
        return then(in_one_row, inside("xs")(_binned(tables, unit)))(at, place)
    match t:
        case Map(_, xs) as t if not _is_of_indices(xs):
            return _of_labels(-(-length_of(t) // unit) * unit, tables)(at, place)
        case Map():
            return tables(at, place)
        case Generate():
            return then(apply("generate_as_map"), tables)(at, place)
        case _:
            raise NoMatch("no fold for each label")


def _of_labels(cells: int, tables: Tactic) -> Tactic:
    """A map over labels that are data: each is looked up in a table with so many cells, or computed."""
    if not cells:
        raise NoMatch("there is no label")
    stored = then(apply("generate_as_map"), tables, apply("store_global"))
    return then(
        apply("looked_up_or_computed", m=cells),
        inside("f", "xs")(stored),
        inside("f", "default")(fuse()),
        apply("map_to_glb", d=0),
    )


@curried
def _tables(
    at: Rewriting, place: Position, parts: int, of_chunks: Tactic, room: int, at_once: bool
) -> Rewriting:
    """A map of folds, over indices, by tables of so many chunks, or of fewer where groups have a block of a table each."""
    at = attempt(inside("f")(topdown(_of_rows)))(at, place)
    folds = folds_at(at, place)
    if len(folds.folds) > 1:
        raise NoMatch("a cell of a table is one fold")
    n = folds.length
    if at_once and not room:
        return _whole(folds, room)(at, place)
    if at_once:
        parts //= _blocks_of(folds.results, room)
        if parts < _FEWEST_PARTS:
            return _whole(folds, room)(at, place)
    chunk = chunk_near(n, parts, _UNIT) if room else n // parts
    if not chunk:
        raise NoMatch(f"{n} elements are no {parts} chunks")
    if not room:
        return in_two_kernels(folds, chunk, of_chunks)(at, place)
    each, few = then(inside("f")(IN_ORDER), EACH_RESULT), folds.results < _MANY
    by_groups = rows_by_groups(1, _OF_A_RESULT, _WIDTH, room)
    if rest := n % chunk:
        main = _tables(parts, of_chunks, room, False)
        return _rest_apart(folds, rest, main, first(by_groups, each) if few else each)(at, place)
    together = by_groups if few else rows_together(1, *_SIDE_BY_SIDE, across=True)
    return in_two_kernels(folds, chunk, of_chunks, first(together, each))(at, place)


def _whole(folds: MapOfFolds, room: int) -> Tactic:
    """Folds of all elements by groups that have a block each of the one table that there is, or without room by all work-items."""
    here, fold = inside(*folds.place), folds.folds[0]
    all_ = then(apply("map_generate"), _AT_ONCE, _OF_ALL)
    tables = _in_tables(room, whole=True) if room else all_
    if not fold:
        return here(tables)
    return then(
        here(fission("f", *fold, beside=True)),
        inside(*folds.place, "xs", "ys")(then(tables, apply("store_global"))),
        here(inside("f")(IN_ORDER)),
        here(EACH_RESULT),
    )


_FEWEST_PARTS = 2
"""Parts of the elements with a table each: what one comes to is the result."""
_MANY = 1024
"""Numbers whose cells are read side by side, by few work-items for each, or one."""
_SIDE_BY_SIDE = (32, 8)
"""So many numbers of a group, and work-items for each of them."""


def _rest_apart(folds: MapOfFolds, rest: int, main: Tactic, last: Tactic) -> Tactic:
    """The folds but for so many elements by a tactic; what the rest adds to each is by that for the last folds."""
    here, fold = inside(*folds.place), ("f", *folds.folds[0])
    return then(
        here(inside(*fold)(fold_here_with_rest(folds.length - rest))),
        here(fission(*fold, "left", beside=True)),
        inside(*folds.place, "xs", "ys")(apply("store_global")),
        here(last),  # before tables have open cells, which what has a name must not meet
        inside(*folds.place, "xs", "ys", "xs")(main),
    )


# ---- cells of two indices


_OF_ROWS = then(
    inside("f")(then(_FOLD, at_kinds(ReduceSeq)(skip))),
    attempt(fission("f", "xs")),
    any_rule(*(r.name for r in bins.folds_of_rows_among_all_number.rules)),
    apply("generate_as_map"),
    inside("f", "f")(attempt(any_rule(*(r.name for r in bins.select_both_number.rules)))),
)
"""Folds of rows, for each of their numbers, as folds of the elements of all rows."""
_OF_ONE_INDEX = then(
    inside("f")(apply("map_generate")),
    apply("map_generate"),
    apply("split_of_join", "backward"),
    inside("xs")(any_rule(*(r.name for r in bins.folds_by_two_asked_order_keys_number.rules))),
)


def in_one_row(at: Rewriting, place: Position) -> Rewriting:
    """Folds for two indices each, or for each row and an index, as one row of folds: for the number of a cell among all.

    So rows that are added up by keys, histograms of each row, and pairs that are counted are folds by one key, which says row and
    column.  What columns of data have is gone through as their rows lie, where the order of a fold does not matter.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.bins import in_one_row
    >>> @rl.program
    ... def pairs(values: rl.tup(rl.i32, rl.i32)[64]):
    ...     def occurrences(i, j):
    ...         both = lambda v: rl.select(rl.equal(v[0], i) & rl.equal(v[1], j), 1, 0)
    ...         return rl.reduce(rl.add, 0, rl.map(both, values))
    ...     return rl.generate(8, lambda i: rl.generate(4, lambda j: occurrences(i, j)))
    >>> [step.rule for step in derive(pairs, in_one_row).steps if "keys" in step.rule]
    ['folds_by_two_keyed_ordered_keys_i32']
    """
    t = term_at(at.term, place)
    if isinstance(t, Map) and not _is_of_indices(t.xs):
        by_rows = then(inside("f")(_OF_ROWS), apply("map_interchange"))
        numbers = inside("f")(attempt(apply("generate_as_map")))
        both_ways = then(inside("xss")(by_rows), apply("transpose_transpose"))
        at = then(numbers, apply("map_interchange"), both_ways)(at, place)
    else:
        numbers = first(_OF_ROWS, then(attempt(apply("generate_as_map")), inside("f")(_FOLD)))
        at = then(attempt(apply("generate_as_map")), inside("f")(numbers))(at, place)
    return then(_OF_ONE_INDEX, inside("xs")(then(attempt(_as_rows_lie), by_operators())))(at, place)


def _as_rows_lie(at: Rewriting, place: Position) -> Rewriting:
    """Folds of columns of data, one after the other, go through their rows."""
    xs = term_at(at.term, (*place, "f", "xs"))
    if not (isinstance(xs, Join) and any(isinstance(u, Transpose) for u, _ in subterms(xs))):
        raise NoMatch("no columns are gone through")
    columns, rows = length_of(xs.xss), length_of(xs) // length_of(xs.xss)
    return then(
        _by_index,
        inside("xs", "xs")(apply("stride_undone", "backward", k=columns - 1, m=rows - 1)),
        inside("xs")(apply("gather_map", "backward")),
        apply("reduce_by_index_gather"),
        inside("xs", "xs")(
            then(
                apply("stride_as_transpose", m=rows, k=columns - 1),
                inside("xss", "xss")(apply("split_of_join")),
            )
        ),
        CELLS_AS_FOLDS,
        inside("f")(fuse()),
        apply("map_generate"),
    )(at, place)


def _is_of_indices(t: Term) -> bool:
    return isinstance(t, Generate) and t.f.body == t.f.parameters[0]
