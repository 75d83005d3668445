"""Folds of columns by whole rows: a work-item goes through some rows, and has an accumulator for each column.

The programs are maps of a fold of columns, of whatever is computed of each element and each column, and of what is done
with the result,

    map (\\x. e x (fold f z (map (g x) (h x)))) xs        where the elements of (h x) at one place make a row

as sums of columns and products with a transposed matrix.  Strips of a row come from memory slower than rows do, and a work-item
that has all columns has few rows, so that several share them: each fold is made of those of `blocks` chunks, which one
kernel stores row by row, and another one combines.  A vector of accumulators is in registers for `rows` rows at a time.
Source: how libraries compute a product with a transposed matrix (GotoBLAS); Lift's partialReduce and liftReduce.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    copy,
    curried,
    first,
    fission,
    inside,
    normalize,
    repeat,
    the,
    then,
    topdown,
)
from relift.rewrites.tactics.folds.partial_results import ELEMENTS_IN_CHUNKS, IN_ORDER
from relift.rewrites.tactics.folds.remainders import cut, fold_here_with_rest, length_of
from relift.rewrites.tactics.folds.shared import across_lanes, blocks_across_results, in_steps
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.rewrites.tactics.groups.rows.by_groups import row_in_maps
from relift.rewrites.tactics.nests.normal_form import through_what_is_read
from relift.rewrites.tactics.transpositions import READ_BY_ROWS
from relift.rewrites.tactics.vectors.lanes import depth_of, for_items
from relift.semantics.patterns import Map, Reduce, Zip
from relift.semantics.syntax.binding import Position, binders_at, positions, term_at
from relift.semantics.syntax.terms import Term, free_variables


def columns_by_rows(blocks: int, rows: int, width: int, private_bytes: int) -> Tactic:
    """A map of folds of columns in `blocks` blocks of rows, `rows` at a time, in vectors of `width` columns.

    Columns that fill no vector are in shorter ones.  In other maps, each of their elements has a work-item instead, see `columns_of_each`.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.by_rows import columns_by_rows
    >>> n, m = rl.nat("n"), rl.nat("m")
    >>> @rl.program
    ... def column_sums(a: rl.f32[n, m]):
    ...     return rl.map(lambda column: rl.reduce(rl.add, 0.0, column), rl.transpose(a))
    >>> found = derive(column_sums, columns_by_rows(2, 4, 16, 4096), {"n": 64, "m": 64})
    >>> {"partial_reduce_chunks", "reduce_seq_chunks", "lift_reduce_seq"} <= {step.rule for step in found.steps}
    True
    """

    def chunks(at: Rewriting, place: Position) -> Rewriting:
        length = length_of(term_at(at.term, (*place, "xs")))
        return then(
            apply("partial_reduce_chunks", m=length // blocks), inside("xs")(ELEMENTS_IN_CHUNKS)
        )(at, place)

    def in_chunks(at: Rewriting, place: Position) -> Rewriting:
        length = length_of(term_at(at.term, (*place, "xs")))
        main = length - length % (blocks * rows)
        if main == 0:
            raise NoMatch(f"{length} rows are no {blocks} blocks of {rows} rows each")
        if main < length:
            return then(fold_here_with_rest(main), inside("left")(chunks))(at, place)
        return chunks(at, place)

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        zipped = repeat(then(repeat(inside("xs")(_zipped)), apply("map_fusion")))
        at = then(normalize("map_fusion"), zipped)(at, place)
        if around := depth_of(term_at(at.term, place)) - 1:
            if width == 1:
                raise NoMatch("accumulators that are no vectors are for blocks of rows")
            return columns_of_each(min(around, 3), rows, width, private_bytes)(at, place)
        fold = _fold_of(term_at(at.term, place))
        at = inside(*fold)(from_neutral(in_chunks))(at, place)
        partial = next(
            (*fold, *below, "xs")
            for below, u in positions(term_at(at.term, (*place, *fold)))
            if isinstance(u, Reduce) and isinstance(u.xs, Map) and isinstance(u.xs.f.body, Reduce)
        )
        alone = partial == ("f", "xs")
        at = fission(*partial, beside=not alone)(at, place)
        table: Position = ("xs",) if alone else ("xs", "ys")
        if not alone:
            at = inside(*table)(through_what_is_read())(at, place)
        at = inside(*table)(_stored_by_rows(rows, width, private_bytes))(at, place)
        combined = then(IN_ORDER, topdown(apply("map_to_glb", d=0)))
        if width == 1:
            return combined(at, place)
        return first(blocks_across_results(1, width), combined)(at, place)

    return tactic


def _zipped(at: Rewriting, place: Position) -> Rewriting:
    """Arrays that are zipped, one of which is what a map gives, are what a map of the zip gives."""
    if not isinstance(term_at(at.term, place), Zip):
        raise NoMatch("no arrays are zipped here")
    inner = inside("xs")(_zipped), inside("ys")(_zipped)
    return first(apply("zip_map_left"), apply("zip_map_right"), *inner)(at, place)


@curried
def columns_of_each(
    at: Rewriting, place: Position, depth: int, rows: int, width: int, private_bytes: int
) -> Rewriting:
    """The same in `depth` maps, where these have a work-item for each of their elements: no fold is in blocks.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.by_rows import columns_of_each
    >>> k, n, m = rl.nat("k"), rl.nat("n"), rl.nat("m")
    >>> @rl.program
    ... def column_sums(a: rl.f32[k, n, m]):
    ...     return rl.map(lambda table: rl.map(lambda c: rl.reduce(rl.add, 0.0, c), rl.transpose(table)), a)
    >>> found = derive(column_sums, columns_of_each(1, 4, 16, 4096), {"k": 8, "n": 64, "m": 64})
    >>> [step.rule for step in found.steps][-1]
    'map_to_glb'
    """
    at, columns = row_in_maps(at, place, depth)
    at = normalize("map_fusion")(at, columns)
    if _fold_of(term_at(at.term, columns)) != ("f",):
        raise NoMatch("a column is only folded")
    at = _all_columns(rows, width, private_bytes)(at, columns)
    return for_items(at, place, depth)


def _fold_of(t: Term) -> Position:
    """Where in a map the only fold is, which folds what depends on the element."""
    if not isinstance(t, Map):
        raise NoMatch("columns are folded by a map")
    own = {x.name for x in t.f.parameters}
    folds = [("f", *below) for below, u in positions(t.f.body) if isinstance(u, Reduce)]
    if len(folds) != 1 or binders_at(t.f.body, folds[0][1:]):
        raise NoMatch("a column has one fold")
    if not own & free_variables(term_at(t, folds[0])):
        raise NoMatch("no fold here depends on the result")
    return folds[0]


def _stored_by_rows(rows: int, width: int, private_bytes: int) -> Tactic:
    """A table of folds of chunks of columns is computed chunk by chunk, and in each for all columns at once."""
    return then(
        apply("transpose_transpose", "backward"),
        inside("xss")(
            then(
                apply("transpose_map_rows"),
                attempt(normalize(READ_BY_ROWS)),
                inside("f")(_all_columns(rows, width, private_bytes)),
                apply("map_to_glb", d=0),
                apply("store_global"),
            )
        ),
    )


@curried
def _all_columns(
    at: Rewriting, place: Position, rows: int, width: int, private_bytes: int
) -> Rewriting:
    """A map of folds of columns by one work-item, `rows` at a time: vectors of columns, and those that fill none."""
    t = the(Map, at, place)
    columns = length_of(t)
    if 4 * columns > private_bytes or columns < min(width, _FEWEST_IN_LANES):
        raise NoMatch(f"a work-item has no accumulators for {columns} columns")
    return then(in_steps(("f",)), _in_lanes(columns, rows, width))(at, place)


_FEWEST_IN_LANES = 4
"""Columns of which vectors are worth a loop of their own beside that of those which fill none: fewer are in one loop, each alone."""


def _in_lanes(columns: int, rows: int, width: int) -> Tactic:
    """So many folds in vectors of `width`, and those that fill none in shorter ones."""
    if width == 1:
        return _in_registers(rows)
    vectors = across_lanes(width, _in_registers(rows))
    return cut(columns, width, vectors, _in_lanes(columns % width, rows, width // 2))


def _in_registers(rows: int) -> Tactic:
    """A map of folds as one fold of rows, `rows` at a time, whose accumulators the work-item keeps."""
    in_order = apply("map_to_seq")
    return then(
        inside("f")(
            then(apply("reduce_seq_chunks", m=rows), inside("f")(apply("reduce_seq_to_unroll")))
        ),
        apply("lift_reduce_seq"),
        inside("init")(then(in_order, apply("store_private"))),
        inside("f")(in_order),
        copy(in_order),
    )
