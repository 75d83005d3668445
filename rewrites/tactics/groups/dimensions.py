"""Tactics for maps in several dimensions, neighbours along the last: a work-item of a GPU for each element, or lines."""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    apply,
    attempt,
    copy,
    curried,
    fuse,
    inside,
    normalize,
    skip,
    the,
    then,
    topdown,
)
from relift.rewrites.tactics.folds.beside import IN_ONE_LOOP
from relift.rewrites.tactics.folds.partial_results import AS_FOLDED, IN_ORDER, are_alike
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.groups.rows.by_groups import shared_out
from relift.rewrites.tactics.groups.stencils import every
from relift.rewrites.tactics.groups.tiles import cells_copied
from relift.rewrites.tactics.nests.dimensions import layout_outside
from relift.rewrites.tactics.nests.padding import padded
from relift.rewrites.tactics.sharing import named
from relift.rewrites.tactics.vectors.lanes import depth_of, short_folds
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Fold, Map, Reduce, Transpose
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Lambda,
    Pattern,
    Term,
    children,
    free_variables,
    parts_of,
    subterms,
)
from relift.semantics.syntax.types import Array, Scalar, dimensions, holds_array, types_within

_OUTSIDE = attempt(normalize(layout_outside))
_MAPS = then(cells_copied, fuse(), _OUTSIDE)
"""Maps in one another, as far as they go: what each rearranges of its results is rearranged after all of them."""

_DIMENSIONS = 3
_LONGEST = 1024
"""Elements of a line: j2d5pt of 8192^2 takes 290 us by longer ones instead of 150, j3d7pt of 512^3 330 instead of 460."""


def items_of_three() -> Tactic:
    """The outermost maps in three dimensions, with a work-item for each element; folds go one by one.

    >>> from relift.rewrites.tactics.groups.dimensions import items_of_three
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/heat3d.py"), items_of_three(), {"n": 4, "m": 4, "k": 4})
    >>> [step.rule for step in found.steps[-3:]]
    ['map_to_glb', 'map_to_glb', 'map_to_glb']
    """

    def items(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map) or depth_of(t) != _DIMENSIONS:
            raise NoMatch("no maps in three dimensions")
        return _work_items(_DIMENSIONS)(at, place)

    return then(_MAPS, topdown(items))


def items_of_columns() -> Tactic:
    """Two maps in one another whose results are transposed, with a work-item for each element, neighbours along the outer map.

    So they write side by side.  There may be a third map around them, as over the channels of an image.  Raises `NoMatch` for others.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.groups.dimensions import items_of_columns
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def twice(x: rl.f32[4, 8]):
    ...     def column(c):
    ...         return rl.join(rl.map(lambda v: rl.make_array(v, v + 1.0), c))
    ...     return rl.transpose(rl.map(column, rl.transpose(x)))
    >>> found = derive(twice, items_of_columns())
    >>> [(step.rule, step.choices["d"]) for step in found.steps if step.rule == "map_to_glb"]
    [('map_to_glb', 1), ('map_to_glb', 0)]
    """

    def items(at: Rewriting, place: Position) -> Rewriting:
        around = _transposed_below(term_at(at.term, place))
        place = (*place, *_outermost(term_at(at.term, place)))
        if depth_of(term_at(at.term, place)) != around + 2:
            raise NoMatch("no maps in two dimensions, nor in three")
        columns = ("f",) * around
        cells = inside(*columns, "f", "f")(attempt(_cell_by_cell))
        levels = [cells, inside(*columns, "f")(apply("map_to_glb", d=1))]
        levels += [inside(*columns)(apply("map_to_glb", d=0))]
        levels += [apply("map_to_glb", d=2)] * around
        return then(*levels)(at, place)

    return then(_MAPS, items)


def _transposed_below(t: Term) -> int:
    """Below how many maps the results of others are transposed: none, or one."""
    for around, u in enumerate((t, t.f.body if isinstance(t, Map) else t)):
        if isinstance(u, Transpose):
            return around
    raise NoMatch("nothing is transposed")


def items_of_rows() -> Tactic:
    """Short rows that are folded and of which rows are made: a work-item for each, with all of its loops written out.

    So a row is read once, and side by side with its neighbours.  Raises `NoMatch` for others.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.groups.dimensions import items_of_rows
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def parts(x: rl.f32[64, 4]):
    ...     return rl.map(lambda r: rl.map(lambda v: v / rl.reduce(rl.add, 0.0, r), r), x)
    >>> found = derive(parts, items_of_rows())
    >>> [step.rule for step in found.steps if "_to_" in step.rule]
    ['reduce_to_seq', 'map_to_seq_unroll', 'reduce_seq_to_unroll', 'map_to_glb']
    """

    def items(at: Rewriting, place: Position) -> Rewriting:
        place = (*place, *_outermost(term_at(at.term, place)))
        t = term_at(at.term, place)
        if not isinstance(t, Map) or not isinstance(t.f.body.type, Array):
            raise NoMatch("no rows are made of rows")
        loops = [u for u, _ in subterms(t.f.body) if isinstance(u, Pattern) and not is_layout(u)]
        folds = any(isinstance(u, Fold) for u in loops)
        if not folds or any(_turns(u) > _SHORT_ROW for u in loops):
            raise NoMatch("nothing of a row is folded, or it is not short")
        return then(inside("f")(_WRITTEN_OUT), apply("map_to_glb", d=0))(at, place)

    return then(attempt(named()), attempt(fuse()), items)


_SHORT_ROW = 8
"""Elements of a row that a work-item has in registers: 2^24 rows of four, each made as long as 1, take an H200 133 us so, and 249 by two kernels."""
_KEPT_BYTES = 512
"""Bytes of a row that stay in a work-item's registers: 2^26 numbers in columns of 64, each made as long as 1, take an H200 152 us so, of 127 154, and
210 and 217 where they are read twice."""
_TABLE, _TWICE = 2, 2
_WRITTEN_OUT = normalize(UNROLLED, "reduce_seq_to_unroll")


def _turns(t: Pattern) -> int:
    """The turns of a loop over an array of a known length."""
    n = t.solved.get("n")
    return (n.constant or 0) if isinstance(n, Size) else 0


def _steps(t: Term) -> int:
    """The turns of the longest loop in a term, of loops in one another together."""
    parts = [u for _, u in children(t)]
    inside_it = max((_steps(u.body) for u in parts if isinstance(u, Lambda)), default=1)
    own = _turns(t) if isinstance(t, Pattern) and not is_layout(t) else 1
    others = (_steps(u) for u in parts if not isinstance(u, Lambda))
    return max(max(own, 1) * inside_it, *others, 1)


@curried
def results_of_each(at: Rewriting, place: Position, along: int = 0) -> Rewriting:
    """The outermost maps of folds, in up to three dimensions, with a work-item for each result, by one loop for all of its folds.

    Neighbouring work-items are neighbours along the map that is `along` levels outside of the innermost, as those are for which folds
    read side by side.  Raises `NoMatch` where there are no such maps, or not so many.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.dimensions import results_of_each
    >>> @rl.program
    ... def spans(x: rl.f32[8, 1024]):
    ...     return rl.map(lambda c: (rl.reduce(rl.maximum, 0.0, c), rl.reduce(rl.minimum, 0.0, c)), rl.transpose(x))
    >>> print(rl.show(derive(spans, results_of_each()).result))  # doctest: +NORMALIZE_WHITESPACE
    map_glb(0)(
      lambda x_:
        reduce_seq_unroll(lambda x, y: (maximum(x[0], y), minimum(x[1], y)), (0.0, 0.0), x_),
      transpose(x)
    )
    """
    at = AS_FOLDED(at, place)
    here, levels = _maps_of_folds(term_at(at.term, place))
    at = then(IN_ORDER, IN_ONE_LOOP)(at, (*place, *here))
    at = _work_items(levels, along)(at, (*place, *here))
    return inside(*("f",) * levels)(short_folds())(at, (*place, *here))


def _maps_of_folds(t: Term) -> tuple[Position, int]:
    """Where the outermost maps are, and how many in one another, whose results are numbers made by folds that are alike."""
    for place, u in positions(t):
        if isinstance(u, Map) and not free_variables(u):
            levels = depth_of(u)
            body = term_at(u, ("f",) * levels)
            folds = [(at, v) for at, v in positions(body) if isinstance(v, Reduce)]
            if not holds_array(body.type) and folds and are_alike(body, folds):
                return place, levels
    raise NoMatch("no maps of folds stand by themselves")


def _work_items(levels: int, along: int = 0) -> Tactic:
    """Work-items for the elements of so many maps, neighbours along one of them, counted from within."""
    if not along < levels <= _DIMENSIONS:
        raise NoMatch(f"maps in {levels} dimensions")
    others = iter(range(1, levels))
    return then(
        *(
            inside(*("f",) * (levels - 1 - level))(
                apply("map_to_glb", d=0 if level == along else next(others))
            )
            for level in range(levels)
        )
    )


def items_that_keep_rows(along: int = 0) -> Tactic:
    """Short rows that are read more than once, of which numbers or rows are made: a work-item for each, which keeps the row in registers.

    The outermost maps, in up to three dimensions; neighbouring work-items are neighbours along the map that is `along` levels outside of the innermost.
    So each column of a matrix is read once, and side by side with its neighbours.  Raises `NoMatch` for others.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.groups.dimensions import items_that_keep_rows
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def gaps(x: rl.f32[16, 64]):
    ...     least = lambda c: rl.reduce(rl.minimum, float("inf"), c)
    ...     return rl.map(lambda c: rl.reduce(rl.add, 0.0, rl.map(lambda v: v - least(c), c)), rl.transpose(x))
    >>> print(rl.show(derive(gaps, items_that_keep_rows()).result))
    map_glb(0)(
      lambda x_:
        let(
          lambda x__:
            let(
              lambda x____: reduce_seq_unroll(lambda x, y: add(x, y - x____), 0.0, x__),
              reduce_seq_unroll(minimum, inf, x__)
            ),
          to_private(map_seq_unroll(lambda x: x, x_))
        ),
      transpose(x)
    )
    """

    def items(at: Rewriting, place: Position) -> Rewriting:
        place = (*place, *_outermost(term_at(at.term, place)))
        levels = _levels_of_rows(term_at(at.term, place))
        rows = (*place, *("f",) * (levels - 1))
        at = then(inside("xs")(copy(skip, skip)), apply("map_fusion"))(at, rows)
        copied = next(p for p, u in positions(term_at(at.term, (*rows, "f"))) if _is_copied(u))
        at = apply("let_inline", "backward", parts={"x": copied})(at, (*rows, "f"))
        at = inside("f", "x")(then(UNROLLED, apply("store_private")))(at, rows)
        at = inside("f", "f")(_WRITTEN_OUT)(at, rows)
        return _work_items(levels, along)(at, place)

    return then(attempt(named()), attempt(fuse()), _OUTSIDE, items)


def _is_copied(t: Term) -> bool:
    return isinstance(t, Map) and t.f.body == t.f.parameters[0]


def _levels_of_rows(t: Term) -> int:
    """How many maps there are, one in another, of which the innermost is of short rows that it folds, and reads again."""
    levels, u = 1, t
    while isinstance(u, Map) and len(dimensions(u.xs.type)[0]) != _TABLE:
        levels, u = levels + 1, u.f.body
    if not isinstance(u, Map) or is_layout(u.f.body):
        raise NoMatch("no map of rows")
    loops = [v for v, _ in subterms(u.f.body) if isinstance(v, Pattern) and not is_layout(v)]
    (_, length), element = dimensions(u.xs.type)
    of_element = sum(t.bytes for t in types_within(element) if isinstance(t, Scalar))
    row = length.constant or 0
    kept = _SHORT_ROW < row <= _KEPT_BYTES // of_element
    if not kept or _steps(u.f.body) > row:
        raise NoMatch(
            "rows that are not short, so short that they are read at once, or of which tables are made"
        )
    folds = sum(isinstance(v, Fold) for v in loops)
    read = sum(v == u.f.parameters[0] for v, _ in subterms(u.f.body))
    if not folds or read < _TWICE:
        raise NoMatch("nothing of a row is folded, or it is read once")
    return levels


def columns_of_rows(down: int, lanes: int = 1) -> Tactic:
    """Two or three maps in one another: a work-item for each column of so many rows, all of which it reads at once.

    A column is of `lanes` neighbours, where these divide the rows.  Where `down` does not divide the rows, they lie far apart, so that only the last of each
    work-item may be none.  Else they follow one another, for what is the same for a row is then read together: tanh(a[i] + b[j]) of 8192^2
    numbers takes an H200 65 us so, and 75 of rows that lie apart.  Raises `NoMatch` where an
    element is folded, or where there are no two times as many rows.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.groups.dimensions import columns_of_rows
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def sums(x: rl.f32[8, 3], y: rl.f32[3]):
    ...     return rl.map(lambda r: rl.map(lambda p: p[0] + p[1], rl.zip(r, y)), x)
    >>> found = derive(sums, columns_of_rows(4))
    >>> [step.rule for step in found.steps if step.rule.startswith("map_to")]
    ['map_to_seq_unroll', 'map_to_glb', 'map_to_glb']
    """
    columns = then(apply("transpose_map_rows"), inside("f")(UNROLLED), apply("map_to_glb", d=0))
    chunk = then(apply("transpose_transpose", "backward"), inside("xss")(columns))

    def rows(at: Rewriting, place: Position) -> Rewriting:
        place = (*place, *_outermost(term_at(at.term, place)))
        depth = depth_of(term_at(at.term, place))
        if not 2 <= depth <= _DIMENSIONS:
            raise NoMatch("no maps in two or three dimensions")
        element = term_at(at.term, (*place, *("f",) * depth))
        if _goes_on(element) or parts_of(element) * lanes > _MOST_WRITTEN_OUT:
            raise NoMatch("an element takes a loop, or much, or is an array")
        if lanes > 1:
            at = inside(*("f",) * (depth - 1))(apply("vectorize_map", w=lanes))(at, place)
            at = _OUTSIDE(at, ())
            place = _outermost(at.term)
        inner = (*place, *("f",) * (depth - 2))
        length = length_of(term_at(at.term, (*inner, "xs")))
        if length < 2 * down:
            raise NoMatch(f"there are no two times {down} rows")
        each = then(inside("f")(chunk), apply("map_to_glb", d=1))
        if more := -length % down:
            apart = then(every(-(-length // down)), inside("xss", "xss")(each))
            at = then(padded(more, 0), inside("xs")(apart))(at, inner)
        else:
            at = then(apply("split_join", m=down), inside("xss")(each))(at, inner)
        return apply("map_to_glb", d=2)(at, place) if depth == _DIMENSIONS else at

    return then(_MAPS, rows)


_MOST_WRITTEN_OUT = 64
"""Parts of a function that is written out once for each row: what takes more waits for less."""


def _goes_on(t: Term) -> bool:
    """Whether a term is an array, or some pattern in it computes."""
    computes = (isinstance(u, Pattern) and not is_layout(u) for u, _ in subterms(t))
    return holds_array(t.type) or any(computes)


def lines_by_groups(lines: int, members: int) -> Tactic:
    """The outermost maps, up to four: a group of `members` has so many neighbouring lines, one by one.

    So there are fewer groups than lines, and what windows of neighbouring lines have in common is read again soon.  A map
    alone goes through lines as long as a group has work-items.  Raises `NoMatch` where the lines are no multiple of `lines`, or
    long, but for four dimensions, which no work-items have.

    >>> from relift.rewrites.tactics.groups.dimensions import lines_by_groups
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/heat3d.py"), lines_by_groups(2, 4), {"n": 4, "m": 4, "k": 4})
    >>> [step.rule for step in found.steps[-6:]]
    ['map_to_lcl', 'map_to_seq', 'split_join', 'map_to_seq', 'map_to_wrg', 'map_to_wrg']
    """

    def grouped(at: Rewriting, place: Position) -> Rewriting:
        place = (*place, *_outermost(term_at(at.term, place)))
        t = term_at(at.term, place)
        depth = depth_of(t)
        if not 1 <= depth <= _DIMENSIONS + 1:
            raise NoMatch("no maps in one, two, three or four dimensions")
        if depth == 1:
            chunk = inside("xss")(then(inside("f")(shared_out(members)), apply("map_to_wrg", d=0)))
            return then(apply("split_join", m=lines * members), chunk)(at, place)
        length = dimensions(t.type)[0][depth - 1].constant or 0
        if length > _LONGEST and depth <= _DIMENSIONS:
            raise NoMatch("the lines are too long: what neighbouring ones share is no longer near")
        chunks = then(
            apply("split_join", m=lines),
            inside("xss")(then(inside("f")(apply("map_to_seq")), apply("map_to_wrg", d=0))),
        )
        if lines == 1:
            chunks = apply("map_to_wrg", d=0)
        levels = [
            inside(*("f",) * depth)(attempt(_cell_by_cell)),
            inside(*("f",) * (depth - 1))(shared_out(members)),
            inside(*("f",) * (depth - 2))(chunks),
        ]
        outer = range(depth - 2)
        levels += [inside(*("f",) * d)(apply("map_to_wrg", d=depth - 2 - d)) for d in outer]
        return then(*levels)(at, place)

    return then(_MAPS, grouped)


def _cell_by_cell(at: Rewriting, place: Position) -> Rewriting:
    """A short array that is made of values, written one by one by the work-item that has them."""
    t = the(Pattern, at, place)
    if not t.layout:
        raise NoMatch("no array that is made of values")
    return copy(*[apply("map_to_seq")] * len(dimensions(t.type)[0]))(at, place)


def _outermost(t: Term) -> Position:
    """Where the first map is that computes."""
    found = (below for below, u in positions(t) if isinstance(u, Map) and not is_layout(u.f.body))
    return next(found, ())
