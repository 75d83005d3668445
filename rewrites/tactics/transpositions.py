"""Tactics for transpositions of what is computed: they go to what is read, where they cost nothing.

    columns            the columns of a table that is computed are computed from those of what it is computed of
    scans_across       rows that are scanned in order are read, and what comes of them is stored, column by column
    few_columns        tables of few columns, each of which is folded, are stored column by column
    few_outside        of two maps around a fold of columns, the one over few goes outside
    rows_of_columns    a result whose columns are computed from columns is computed row by row, with what folds of its columns give
    tables_by_rows     so are tables that a kernel may store, and their columns are read
    cells_where_read   what is computed of each cell of a table that no kernel can store is computed of the column that is read

A row lies together in memory: what is done to each element of it fills vectors, and a column is only folded.
"""

from __future__ import annotations

from functools import partial

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Beginning,
    Rewriting,
    Tactic,
    any_rule,
    apply,
    at_kinds,
    attempt,
    context_free,
    first,
    fission,
    inside,
    normalize,
    repeat,
    the,
    then,
    topdown,
)
from relift.rewrites.tactics.folds.recurrences import goes_in_chunks
from relift.rewrites.tactics.sharing import apart, has_fold, storable
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Reduction, ScanSeq, Transpose, Zip
from relift.semantics.syntax.binding import Position, beneath, is_invariant, positions, term_at
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Get, Term, Var, free_variables, mask_of, parts_of
from relift.semantics.syntax.types import Type, dimensions, holds_array


def columns(at: Rewriting, place: Position) -> Rewriting:
    """Where the columns of a computed table are read, they are computed, and so the table need not be stored.

    Raises `NoMatch` where no computed table is transposed.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.transpositions import columns
    >>> @rl.program
    ... def sums(a: rl.f32[4, 8], x: rl.f32[4]):
    ...     scaled = rl.map(lambda p: rl.map(lambda v: v * p[1], p[0]), rl.zip(a, x))
    ...     return rl.map(lambda column: rl.reduce(rl.add, 0.0, column), rl.transpose(scaled))
    >>> [step.rule for step in derive(sums, columns).steps]
    ['transpose_map_rows', 'map_fusion', 'zip_first', 'zip_unread']
    """

    def computed(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Transpose) or not isinstance(t.xss, Map) or is_layout(t):
            raise NoMatch("no computed table is transposed here")
        at = attempt(inside("xss", "f")(repeat(zips_on_the_right)))(at, place)
        t = term_at(at.term, (*place, "xss", "f"))
        rule = "transpose_map_rows"
        if isinstance(t, Map) and isinstance(t.xs, Zip):
            rule = "transpose_map_zip"
        return apply(rule)(at, place)

    at = topdown(computed)(at, place)
    at = normalize(computed)(at, place)
    at = normalize(_together)(at, place)
    return normalize(_OF_WHAT_IS_READ)(at, place)


@context_free
@at_kinds(Map, Zip)
def _together(at: Rewriting, place: Position) -> Rewriting:
    """Maps that follow one another as one, also those that are zipped, but for what may be stored."""
    t = term_at(at.term, place)
    if isinstance(t, Zip):
        for field, rule in (("xs", "zip_map_left"), ("ys", "zip_map_right")):
            u = term_at(t, (field,))
            if isinstance(u, Map) and (free_variables(u) or is_layout(u)):
                return apply(rule)(at, place)
    return any_rule("map_fusion", "zip_first", "zip_second")(at, place)


def _goes_through_a_zip(t: Term) -> bool:
    return isinstance(t, Map) and isinstance(t.xs, Zip)


_AT_A_MAP_OF_A_ZIP = partial(
    Beginning, may=_goes_through_a_zip, kinds=mask_of(Map), acts=mask_of(Map), context_free=True
)
"""A tactic that applies to no other terms: most places need no more than a look."""


@_AT_A_MAP_OF_A_ZIP
def zips_on_the_right(at: Rewriting, place: Position) -> Rewriting:
    """A map over a zip with a zip on its left as one over a zip with one on its right."""
    return then(inside("xs")(apply("zip_rotate_right")), apply("map_fusion"))(at, place)


# ---- results that are computed by columns


_INTERCHANGED = then(inside("xss")(apply("map_interchange")), apply("transpose_transpose"))
"""The transpose of what maps over two arrays compute, neither of which needs an element of the other: the other goes outside."""


def interchanged() -> Tactic:
    """Tables of pairs of what is in two arrays, computed column by column and transposed, are computed row by row.

    Raises `NoMatch` where there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.transpositions import interchanged
    >>> @rl.program
    ... def products(x: rl.f32[4], y: rl.f32[8]):
    ...     return rl.transpose(rl.map(lambda v: rl.map(lambda u: u * v, x), y))
    >>> print(rl.show(derive(products, interchanged()).result))
    map(lambda y_: map(lambda x_: y_ * x_, y), x)
    """
    return then(topdown(_interchanged), normalize(_interchanged))


@context_free
@at_kinds(Transpose)
def _interchanged(at: Rewriting, place: Position) -> Rewriting:
    return _INTERCHANGED(at, place)


def rows_of_columns(*, of_rows: bool = False) -> Tactic:
    """A transposed result, whose columns are computed from columns, row by row; `of_rows`: what is below it of rows, too.

    What the folds of a column give stands in an array, an element for each column.  Raises `NoMatch` where no such result
    is transposed.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.transpositions import rows_of_columns
    >>> @rl.program
    ... def parts(a: rl.f32[4, 8]):
    ...     def column(c):
    ...         whole = rl.reduce(rl.add, 0.0, c)
    ...         return rl.map(lambda v: v / whole, c)
    ...     return rl.transpose(rl.map(column, rl.transpose(a)))
    >>> [step.rule for step in derive(parts, rows_of_columns()).steps]
    ['map_fission_with_zip', 'map_interchange_zip_inside']
    """
    return then(
        topdown(_by_rows),
        normalize(_by_rows if of_rows else _columns_by_rows),
        attempt(apart()),
    )


def tables_by_rows(at: Rewriting, place: Position) -> Rewriting:
    """Tables that a kernel of its own may store, whose rows are computed from columns, are computed row by row and read by columns.

    Raises `NoMatch` where there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.transpositions import tables_by_rows
    >>> @rl.program
    ... def sums(a: rl.f32[4, 8], x: rl.f32[8]):
    ...     less = rl.map(lambda p: rl.map(lambda v: v - p[1], p[0]), rl.zip(rl.transpose(a), x))
    ...     return rl.map(lambda c: rl.reduce(rl.add, 0.0, c), less)
    >>> rl.show(derive(sums, tables_by_rows).result.xs)
    'transpose(map(lambda row: map(lambda p: p[0] - p[1], zip(row, x)), a))'
    """
    found = [
        below
        for each in storable(term_at(at.term, place))
        if isinstance(each.value, Map) and _is_table(each.value.type)
        if _has_columns(each.value.xs)
        for below in each.places
    ]
    if not found:
        raise NoMatch("no table that a kernel may store is computed from columns")
    for below in sorted(found, key=len, reverse=True):
        at = then(_BY_COLUMNS, inside("xss")(_by_rows))(at, (*place, *below))
    return attempt(apart())(at, place)


def _columns_by_rows(at: Rewriting, place: Position) -> Rewriting:
    """The same of what is computed from columns only: what is computed from rows lies well where the rows of a result read it."""
    t = term_at(at.term, place)
    if not isinstance(t, Transpose) or not isinstance(t.xss, Map) or not _has_columns(t.xss.xs):
        raise NoMatch("no table that is computed from columns is transposed here")
    return _by_rows(at, place)


def _has_columns(t: Term) -> bool:
    """Whether some of an array's elements are columns of a table."""
    if isinstance(t, Zip):
        return _has_columns(t.xs) or _has_columns(t.ys)
    return isinstance(t, Transpose)


def _by_rows(at: Rewriting, place: Position) -> Rewriting:
    t = term_at(at.term, place)
    if not isinstance(t, Transpose) or not isinstance(t.xss, Map) or is_layout(t):
        raise NoMatch("no computed table is transposed here")
    columns_of = (*place, "xss")
    at = normalize("map_fusion")(at, columns_of)
    at = repeat(_fold_apart)(at, columns_of)
    at = repeat(zips_on_the_right)(at, columns_of)
    return first(
        _INTERCHANGED,
        apply("map_interchange_zip_inside", "backward"),
        apply("map_map_transpose", "backward"),
        then(apply("transpose_map_zip"), normalize(READ_BY_ROWS)),
        then(apply("transpose_map_rows"), normalize(READ_BY_ROWS)),
    )(at, place)


def only(component: int) -> Tactic:
    """A map that uses one component of the elements of a zip goes through that array alone."""

    @_AT_A_MAP_OF_A_ZIP
    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map) or not isinstance(t.xs, Zip):
            raise NoMatch("no map goes through a zip here")
        (p,) = t.f.parameters
        if (read := only_read(t.f.body, p, component)) is None:
            raise NoMatch("the component is not read, or more than that is")
        split = fission("f", *read)
        rule = ("zip_first", "zip_second")[component]
        return then(split, inside("xs")(apply(rule)))(at, place)

    return tactic


def only_read(t: Term, pair: Var, component: int) -> Position | None:
    """Where a term first reads a component of a pair, outermost first; nothing where it reads more of the pair, or nothing of it.

    >>> from relift import f32
    >>> from relift.rewrites.tactics.transpositions import only_read
    >>> from relift.semantics.syntax.terms import Var
    >>> from relift.semantics.syntax.types import Tuple
    >>> p = Var("p", Tuple((f32, f32)))
    >>> only_read(p[0] + p[0], p, 0), only_read(p[0] + p[1], p, 0), only_read(p[1], p, 0)
    (('arguments.0',), None, None)
    """
    found: Position | None = None
    waiting: list[tuple[Position, Term]] = [((), t)]
    while waiting:
        place, u = waiting.pop()
        if pair.name not in free_variables(u):
            continue
        if isinstance(u, Get) and u.of == pair and u.index == component:
            found = place if found is None else found
        elif u == pair:
            return None
        else:
            waiting += [((*place, field), v) for field, v in beneath(u)[::-1]]
    return found


_OF_WHAT_IS_READ = any_rule("zip_unread", "zip_unread_last")
"""A map goes through those arrays of a zip only whose elements it uses."""

READ_BY_ROWS = any_rule("zip_first", "zip_second", "transpose_transpose", "zip_transpose", "zip_unread", "zip_unread_last", only(0))  # fmt: skip
"""What a row is computed of: rows, and of the columns only what their folds gave."""


def _fold_apart(at: Rewriting, place: Position) -> Rewriting:
    """The smallest fold in a map whose value every element of a result needs becomes an array of its own."""
    t = term_at(at.term, place)
    assert isinstance(t, Map), "cannot happen: it is what is transposed"
    (x,) = t.f.parameters
    found = [
        (parts_of(u), below)
        for below, u in positions(t.f.body)
        if isinstance(u, Reduction) and not holds_array(u.type)
        if x.name in free_variables(u)
        if is_invariant(t.f.body, below)
    ]
    if not found:
        raise NoMatch("no fold is left")
    return fission("f", *min(found)[1], beside=True)(at, place)


# ---- rows that work-items go along


def cells_where_read() -> Tactic:
    """What is computed of each cell of a table that belongs to an element of a map is computed of the columns that are read.

    Nothing can store such a table outside of the map.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.transpositions import cells_where_read
    >>> @rl.program
    ... def sums(x: rl.f32[2, 4, 8]):
    ...     squares = lambda table: rl.map(lambda row: rl.map(lambda v: v * v, row), table)
    ...     fold = lambda column: rl.reduce(rl.add, 0.0, column)
    ...     return rl.map(lambda table: rl.map(fold, rl.transpose(squares(table))), x)
    >>> print(rl.show(derive(sums, cells_where_read()).result.f.body))
    map(
      lambda column: reduce(add, 0.0, column),
      map(lambda row: map(lambda x: x * x, row), transpose(table))
    )
    """
    return normalize(_cells_where_read)


@context_free
@at_kinds(Transpose)
def _cells_where_read(at: Rewriting, place: Position) -> Rewriting:
    t = the(Transpose, at, place)
    if not free_variables(t) or not isinstance(t.xss, Map) or is_layout(t):
        raise NoMatch("no computed table of an element is transposed here")
    return apply("map_map_transpose", "backward")(at, place)


def scans_across() -> Tactic:
    """Rows that are scanned in an order that no law changes: their tables are copied column by column, and the result after them.

    Neighbours that go along a row each read one row further each; of what is stored by columns they read neighbouring numbers.
    Raises `NoMatch` where no rows are scanned so.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.transpositions import scans_across
    >>> @rl.program
    ... def averages(x: rl.f32[4, 8]):
    ...     return rl.map(lambda r: rl.scan_seq(lambda a, v: rl.sqrt(a * v), 1.0, r), x)
    >>> found = derive(averages, scans_across()).result
    >>> rl.show(found.xs.xss.xs.xss.xs)
    'transpose(to_global(map(lambda x_: map(lambda x: x, x_), transpose(x))))'
    """

    def once(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map) or free_variables(t) or not scans_in_order(at, (*place, "f")):
            raise NoMatch("no rows are scanned in an order that no law changes")
        if not (tables := _tables(t.xs)) or not _is_table(t.type):
            raise NoMatch("what is scanned, or what comes of it, is no table of numbers")
        for below in tables:
            at = then(_BY_COLUMNS, inside("xss")(_CELLS_STORED))(at, (*place, "xs", *below))
        stored = inside("xss")(apply("store_global"))
        return then(_BY_COLUMNS, stored, _CELLS_COPIED)(at, place)

    return topdown(once)


def few_columns(at: Rewriting, place: Position) -> Rewriting:
    """Tables of few columns, each of which is folded, are stored column by column by a kernel of their own: vectors go along them.

    Raises `NoMatch` where there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.transpositions import few_columns
    >>> @rl.program
    ... def sums(w: rl.f32[64], x: rl.f32[64, 3]):
    ...     return rl.map(lambda c: rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(w, c))), rl.transpose(x))
    >>> rl.show(derive(sums, few_columns).result.xs)
    'to_global(map(lambda x_: map(lambda x: x, x_), transpose(x)))'
    """
    t = term_at(at.term, place)
    found = [
        below
        for below, u in positions(t)
        if isinstance(u, Transpose) and is_layout(u) and not free_variables(u)
        if _has_few_long_rows(u.type) and _is_folded_by_rows(t, below)
    ]
    if not found:
        raise NoMatch("no table of few columns, each of which is folded")
    for below in sorted(found, key=len, reverse=True):
        at = _CELLS_STORED(at, (*place, *below))
    return at


def few_outside() -> Tactic:
    """Where many columns of a table meet few others in a fold, those few go through the many: vectors go along the rows of the table.

    Raises `NoMatch` where there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.transpositions import few_outside
    >>> @rl.program
    ... def weighted(x: rl.f32[64, 32], w: rl.f32[3, 64]):
    ...     def total(c, v):
    ...         return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(c, v)))
    ...     return rl.map(lambda c: rl.map(lambda v: total(c, v), w), rl.transpose(x))
    >>> found = derive(weighted, few_outside()).result
    >>> rl.show(found.xss.xs), rl.show(found.xss.f.body.xs)
    ('w', 'transpose(x)')
    """

    def once(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map) or not isinstance(t.xs, Transpose) or not is_layout(t.xs):
            raise NoMatch("no map goes through the columns of a table here")
        within = t.f.body
        if not isinstance(within, Map) or not has_fold(within.f.body):
            raise NoMatch("no map goes through others inside, and folds")
        lengths, _ = dimensions(t.type)
        if len(lengths) != 2 or not _are_few_and_many(lengths[1], lengths[0]):
            raise NoMatch("what is inside is not few, or what is outside not many")
        return apply("map_interchange")(at, place)

    return topdown(once)


_FEW = 16
"""Columns of a table of which no vector of a CPU goes along a row."""


def _has_few_long_rows(t: Type) -> bool:
    """Whether a table has so few rows, each at least as long as a vector."""
    lengths, _ = dimensions(t)
    return len(lengths) == 2 and _are_few_and_many(*lengths)


def _are_few_and_many(few: Size, many: Size) -> bool:
    return 1 < (few.constant or 0) < _FEW <= (many.constant or 0)


def _is_folded_by_rows(t: Term, place: Position) -> bool:
    """Whether a map goes through what stands at a place, alone or beside others, and folds."""
    while place and isinstance(term_at(t, place[:-1]), Zip):
        place = place[:-1]
    above = term_at(t, place[:-1])
    return isinstance(above, Map) and place[-1:] == ("xs",) and has_fold(above.f.body)


_BY_COLUMNS = apply("transpose_transpose", "backward")
_CELLS_COPIED = then(apply("insert_copy"), inside("f")(apply("insert_copy")))
_CELLS_STORED = then(_CELLS_COPIED, apply("store_global"))


def scans_in_order(at: Rewriting, place: Position) -> bool:
    """Whether there are scans here, none of them by an operator that has a neutral element, or with affine steps, which go in chunks."""
    scans = [
        (*place, *below)
        for below, u in positions(term_at(at.term, place))
        if isinstance(u, ScanSeq)
    ]
    return bool(scans) and not any(goes_in_chunks(at, scan) for scan in scans)


def _tables(t: Term) -> list[Position]:
    """Where tables of numbers are that a map goes through."""
    if isinstance(t, Zip):
        return [(side, *below) for side in ("xs", "ys") for below in _tables(term_at(t, (side,)))]
    return [()] if _is_table(t.type) and is_layout(t) else []


def _is_table(t: Type) -> bool:
    return len(dimensions(t)[0]) == 2
