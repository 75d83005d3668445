"""Tactics for nests of more dimensions: what is read alike becomes one dimension.

    one_fold          a fold of folds goes through joined arrays
    row_by_row        a fold of a computed table's joined rows is one of each row first
    rows_joined       maps over the rows of a table, and the elements of each, go through the joined rows
    layout_outside    what is only rearranged of the results of a map is rearranged after it
    folded_before_rearranged  what is transposed of what folds give is stored before it is

A convolution of several channels, for one, becomes all pairs of a filter and a window, as arrays that nobody stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    context_free,
    curried,
    first,
    fission,
    inside,
    normalize,
    the,
    then,
)
from relift.rewrites.tactics.nests.normal_form import Nest, nest_in, together
from relift.rewrites.tactics.nests.tupling import tupled
from relift.rewrites.tactics.sharing import has_scan, lacks_room
from relift.rewrites.tactics.transpositions import only_read
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Join, Map, Reduce, Reduction, Transpose, Zip
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import (
    Lambda,
    Pattern,
    Term,
    Var,
    children,
    free_variables,
    subterms,
)
from relift.semantics.syntax.types import Array


@cache
def nested() -> Tactic:
    """A program with its maps together, and what they go through, and its folds, in as few dimensions as it can be."""
    return then(
        normalize(one_fold),
        together(),
        normalize(tupled),
        normalize(_batches_outside, rows_joined, _folds_outside),
        normalize(tupled),  # of what is one dimension only now
    )


def nest_at(at: Rewriting, place: Position) -> Nest:
    """The nest below a place; raises `NoMatch` where there is none."""
    found = nest_in(term_at(at.term, place))
    if found is None:
        raise NoMatch("no two maps around one fold of the elements of both")
    return found


@curried
def of_one_nest(
    at: Rewriting,
    place: Position,
    blocks: Callable[[Nest, Sequence[Position]], Tactic],
    outside: Tactic,
    prepared: Tactic | None = None,
) -> Rewriting:
    """A nest, alone or in one more map, which is given out as `outside` says: `blocks` are told the nest, and where that map is, if any."""
    at = (prepared or nested())(at, place)
    found = nest_at(at, place)
    if len(found.around) > 1:
        raise NoMatch("blocks are for nests of two maps around a fold, alone or in one more map")
    batches = [(*place, *around) for around in found.around]
    at = blocks(found, batches)(at, place)
    for around in batches:
        at = outside(at, around)
    return at


# ---- folds


@context_free
@at_kinds(Reduce)
def one_fold(at: Rewriting, place: Position) -> Rewriting:
    """A reduction of reductions, or of joined maps, as one of a map over joined arrays."""
    t = the(Reduce, at, place)
    if isinstance(t.xs, Map) and isinstance(inner := t.xs.f.body, Reduce):
        if inner.op != t.op:
            raise NoMatch("the reductions are by different operators")
        at = then(inside("xs")(rows_first), apply("reduce_join", "backward"))(at, place)
        if is_layout(term_at(at.term, (*place, "xs"))):
            return at
    elif not isinstance(t.xs, Join):
        raise NoMatch("no reduction of reductions, and none of joined rows")
    return inside("xs")(joined_map)(at, place)


def row_by_row(at: Rewriting, place: Position) -> Rewriting:
    """A reduction of the joined rows of a computed table reduces each row first: groups share rows, and no cell is stored.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.dimensions import row_by_row
    >>> @rl.program
    ... def whole(x: rl.f32[4, 8]):
    ...     return rl.reduce(rl.add, 0.0, rl.join(rl.map(lambda r: rl.map(lambda v: v * v, r), x)))
    >>> rl.show(derive(whole, row_by_row).result)
    'reduce(add, 0.0, map(lambda x_: reduce(add, 0.0, map(lambda v: v * v, x_)), x))'
    """
    t = the(Reduce, at, place)
    joined = t.xs.xs if isinstance(t.xs, Map) else t.xs
    if not isinstance(joined, Join) or is_layout(joined):
        raise NoMatch("no reduction of joined rows that are computed")
    if joined is not t.xs:
        at = inside("xs")(apply("map_join"))(at, place)
    rows = inside("xs")(attempt(apply("map_fusion")))
    return then(apply("reduce_join"), rows, attempt(row_by_row))(at, place)


def joined_map(at: Rewriting, place: Position) -> Rewriting:
    """Joined maps of zipped rows as a map over zipped joined rows."""
    t = term_at(at.term, place)
    if not isinstance(t, Join) or not isinstance(t.xss, Map) or is_layout(t):
        raise NoMatch("no joined maps")
    if not isinstance(t.xss.f.body, Map):
        raise NoMatch("what is joined is computed by no map")
    return then(
        inside("xss")(rows_first),
        apply("map_join", "backward"),
        inside("xs")(attempt(first(apply("join_split"), joined_zips))),
    )(at, place)


def rows_first(at: Rewriting, place: Position) -> Rewriting:
    """What the function of a map goes through is what the map goes through."""
    t = term_at(at.term, place)
    assert isinstance(t, Map), "cannot happen: it was looked at"
    (row,) = t.f.parameters
    if term_at(t, ("f", "xs")) == Var(row.name, row.type):
        return at
    return fission("f", "xs")(at, place)


def joined_zips(at: Rewriting, place: Position) -> Rewriting:
    """Joined zips of rows as a zip of joined rows."""
    apart = then(attempt(apply("map_before_zip")), inside("xs")(_without_identities))
    return then(inside("xss")(apart), apply("join_zip", "backward"))(at, place)


def _without_identities(at: Rewriting, place: Position) -> Rewriting:
    t = term_at(at.term, place)
    if isinstance(t, Zip):
        return then(*(inside(field)(attempt(apply("map_identity"))) for field in ("xs", "ys")))(
            at, place
        )
    return at


# ---- parallel dimensions


@context_free
@at_kinds(Map)
def rows_joined(at: Rewriting, place: Position) -> Rewriting:
    """Two nested maps, the inner one over what belongs to an element of the outer one, are one over joined rows."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not isinstance(inner := t.f.body, Map):
        raise NoMatch("no two maps")
    if not _folds(inner) and not has_scan(inner):
        raise NoMatch("no two maps around a fold or a scan")
    return _joined_rows(at, place, t, inner)


@context_free
@at_kinds(Map)
def rows_without_room_joined(at: Rewriting, place: Position) -> Rewriting:
    """The same of maps that have no room for what they compute: for one map over all rows it can be stored before."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not isinstance(inner := t.f.body, Map) or not lacks_room(inner):
        raise NoMatch("no two maps that have no room for what they compute")
    return _joined_rows(at, place, t, inner)


def _joined_rows(at: Rewriting, place: Position, t: Map, inner: Map) -> Rewriting:
    (row,) = t.f.parameters
    if row.name in free_variables(inner.f.body) - {x.name for x in inner.f.parameters}:
        raise NoMatch("the inner function needs the element of the outer map")
    if row.name not in free_variables(inner.xs) or not is_layout(inner.xs):
        raise NoMatch("the inner map goes through an array of its own")
    if inner.xs != Var(row.name, row.type):
        at = fission("f", "xs")(at, place)
    return apply("map_map_flat")(at, place)


@context_free
@at_kinds(Map)
def _batches_outside(at: Rewriting, place: Position) -> Rewriting:
    """Rows that are each zipped with one array of tables are gone through after that: its elements are the batches."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not isinstance(inner := t.f.body, Map):
        raise NoMatch("no two maps")
    (row,), (pair,) = t.f.parameters, inner.f.parameters
    if not isinstance(inner.xs, Zip) or not isinstance(table := inner.f.body, Map):
        raise NoMatch("no row is zipped with tables")
    of_row = [row.name in free_variables(u) for u in (inner.xs.xs, inner.xs.ys)]
    if all(of_row):
        raise NoMatch("what the rows are zipped with is not the same for all")
    if of_row[1] or isinstance(inner.xs.xs, Zip):
        in_front = apply("zip_swap" if of_row[1] else "zip_rotate_right")
        zipped = then(inside("xs")(in_front), apply("map_fusion"))
        return then(inside("f")(zipped), _batches_outside)(at, place)
    if not _folds(table) or only_read(table.xs, pair, 1) is None:
        raise NoMatch("what the rows are zipped with holds no columns that are folded")
    if inner.xs.xs != Var(row.name, row.type):
        raise NoMatch("what is zipped is no row")
    return apply("map_interchange_zip_inside")(at, place)


@context_free
@at_kinds(Map)
def _folds_outside(at: Rewriting, place: Position) -> Rewriting:
    """What a map folds is rearranged after it."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not _folds(t):
        raise NoMatch("no map that folds")
    return layout_outside(at, place)


def layout_outside(at: Rewriting, place: Position) -> Rewriting:
    """The results of a map are rearranged after it."""
    t = the(Map, at, place)
    below = _rearranged(t.f.body)
    return fission("f", *below)(at, place)


def folded_before_rearranged(at: Rewriting, place: Position) -> Rewriting:
    """A result that is transposed of what folds give is stored as they make it, and copied in its order.

    So that neighbours are written side by side, as they are folded.  Raises `NoMatch` for others.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.dimensions import folded_before_rearranged
    >>> @rl.program
    ... def sums(x: rl.f32[3, 8, 5]):
    ...     total = lambda c: rl.reduce(rl.add, 0.0, c)
    ...     return rl.transpose(rl.map(lambda t: rl.map(total, rl.transpose(t)), x))
    >>> print(rl.show(derive(sums, folded_before_rearranged).result))  # doctest: +NORMALIZE_WHITESPACE
    map(
      lambda x_: x_,
      transpose(to_global(map(lambda t: map(lambda c: reduce(add, 0.0, c), transpose(t)), x)))
    )
    """
    t = term_at(at.term, place)
    below = _rearranged(t)
    turned = any(isinstance(term_at(t, below[:i]), Transpose) for i in range(len(below)))
    if not turned or not _folds(term_at(t, below)):
        raise NoMatch("nothing is transposed that folds give")
    return then(apply("insert_copy"), inside("xs", *below)(apply("store_global")))(at, place)


def _rearranged(t: Term) -> Position:
    """Where the map is whose results a layout rearranges."""
    path: list[str] = []
    while not (isinstance(t, Map) and not is_layout(t.f.body)):
        data = [
            (field, child)
            for field, child in children(t)
            if not isinstance(child, Lambda) and isinstance(child.type, Array)
        ]
        if not isinstance(t, Pattern) or not (t.layout or isinstance(t, Map)) or len(data) != 1:
            raise NoMatch("the results of the map are no rearranged results of a map")
        ((field, t),) = data
        path.append(field)
    if not path:
        raise NoMatch("nothing is rearranged")
    return tuple(path)


def _folds(t: Term) -> bool:
    return any(isinstance(u, Reduction) for u, _ in subterms(t))
