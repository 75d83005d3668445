"""Tactics for lanes: neighbouring results of the innermost of nested maps become the lanes of vectors.

The programs are maps over arrays of one, two or three dimensions, of any function of an element; the element
may be a window of a stencil, a row, a tuple or a number.  A work-item has a row, or a part of it:

    apart           where rows are padded, their ends are computed apart, so that inside no index is clamped
    whole_vectors   what does not fill a vector is computed apart
    lanes           the rest, vector by vector; short folds are written out

The vectors are in the program's text, so no driver has to make them of work-items.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    first,
    fuse,
    inside,
    repeat,
    split_boundary,
    then,
    topdown,
)
from relift.rewrites.tactics.groups.tiles import UNROLLED, cells_copied, copy
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import (
    Bordered,
    Concat,
    Map,
    PadConstant,
    ReduceSeq,
    ReduceSeqUnroll,
    Reduction,
    Slide,
    Zip,
)
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Term, children, subterms
from relift.semantics.syntax.terms import inside as within
from relift.semantics.syntax.types import Array, dimensions

SHORT = 64
"""Steps up to which a fold in lanes is written out, all folds around it together."""

OUTER = ((0,), (1, 0), (2, 1, 0))
"""The dimensions of work-items that the maps around the lanes get, outermost first."""


def rows_in_lanes(width: int) -> Tactic:
    """Nested maps as a low-level program: a work-item for each row, which it computes in vectors of `width`.

    >>> from relift.rewrites.tactics.vectors.lanes import rows_in_lanes
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> jacobi = load_program("examples/j2d5pt.py")
    >>> found = derive(jacobi, rows_in_lanes(16), {"n": 64, "m": 80})
    >>> [step.rule for step in found.steps if "vector" in step.rule or "glb" in step.rule]
    ['vectorize_map', 'map_to_glb']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = then(maps_together(), attempt(fuse()))(at, place)
        if not 2 <= depth_of(term_at(at.term, place)) <= 1 + len(OUTER):
            raise NoMatch("rows are maps in maps")
        at = borders_apart()(at, place)
        return in_parts(rows(width))(at, place)

    return tactic


def borders_apart() -> Tactic:
    """Rows that see a border of constants apart from those inside: whether a row is there is asked at each of them."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if not _constants(term_at(at.term, place)):
            return at
        of_rows = then(inside("xs")(split_boundary()), repeat(topdown(apply("map_concat"))))
        return attempt(then(of_rows, maps_together()))(at, place)

    return tactic


def rows(width: int) -> Tactic:
    """A work-item for each row, which it computes in vectors; element by element where its ends cannot be apart."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        depth = depth_of(t)
        row: Position = ("f",) * (depth - 1)
        of_row = (
            apply("map_to_seq") if _bordered_rows(t) else then(apart(width), in_parts(lanes(width)))
        )
        at = inside(*row)(of_row)(at, place)
        for level, d in enumerate(OUTER[depth - 2]):
            at = inside(*row[:level])(apply("map_to_glb", d=d))(at, place)
        return at

    return tactic


def _constants(t: Term) -> bool:
    """Whether the data of a map have a border of constants."""
    assert isinstance(t, Map), "cannot happen: it is a part of nested maps"
    return any(isinstance(u, PadConstant) for _, u in positions(t.xs))


def _bordered_rows(t: Term) -> bool:
    """Whether the data of a map are computed of rows that have a border of constants each."""
    assert isinstance(t, Map), "cannot happen: it is a part of nested maps"
    functions = [p for p, u in positions(t.xs) if isinstance(u, PadConstant) and "f" in p]
    return bool(functions)


def chunks_in_lanes(width: int, vectors: int) -> Tactic:
    """One map as a low-level program: a work-item has `vectors` vectors of `width`, side by side.

    >>> from relift.rewrites.tactics.vectors.lanes import chunks_in_lanes
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/saxpy.py"), chunks_in_lanes(16, 4), {"n": 256})
    >>> [step.rule for step in found.steps]
    ['vectorize_map', 'split_join', 'map_to_seq', 'map_to_glb']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = then(maps_together(), attempt(fuse()))(at, place)
        if depth_of(term_at(at.term, place)) != 1:
            raise NoMatch("chunks are of one map")
        at = in_vectors(width)(at, place)
        items = apply("map_to_glb", d=0)
        chunks = then(
            apply("split_join", m=vectors),
            inside("xss")(then(inside("f")(apply("map_to_seq")), items)),
        )
        return inside("vs")(items if vectors == 1 else chunks)(at, place)

    return tactic


def columns_in_lanes(width: int) -> Tactic:
    """A map of rows as a low-level program: a work-item has `width` rows, which it copies column by column first.

    What lies `width` rows apart is gathered once, and is a vector in private memory wherever it is read.

    >>> from relift.rewrites.tactics.vectors.lanes import columns_in_lanes
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/kmeans.py"), columns_in_lanes(8), {"n": 64, "k": 5, "d": 12})
    >>> [step.rule for step in found.steps][-2:]
    ['store_private', 'map_to_glb']
    """
    vector = then(in_vectors(width), inside("vs")(UNROLLED))
    columns = then(copy(apply("map_to_seq"), rest=then(apply("insert_copy"), vector)))
    staged = then(
        apply("transpose_transpose", "backward"),
        inside("xss")(then(columns, apply("store_private"))),
    )

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = then(maps_together(), attempt(fuse()))(at, place)
        t = term_at(at.term, place)
        if not isinstance(t, Map) or depth_of(t) != 1 or len(dimensions(t.xs.type)[0]) != 2:
            raise NoMatch("columns are those of an array of rows")
        group = then(in_vectors(width), inside("vs")(apply("map_to_seq")))
        chunk = then(group, inside("vs", "xs", "xs")(staged))
        return then(
            apply("split_join", m=width),
            inside("xss")(then(inside("f")(chunk), apply("map_to_glb", d=0))),
        )(at, place)

    return tactic


def tiles_in_lanes(side: int) -> Tactic:
    """A map of rows and columns of one table or of several, or a copy, tile by tile: what lies across is used while it is near.

    A work-item has a tile of `side` by `side` and writes its rows as vectors.  What fills no tile has lower ones, and narrower
    ones whose rows are written cell by cell.

    >>> from relift.rewrites.tactics.vectors.lanes import tiles_in_lanes
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/transpose.py"), tiles_in_lanes(8), {"n": 64, "m": 32})
    >>> [step.rule for step in found.steps][2:4]
    ['tile_map', 'vectorize_map']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = cells_copied(at, place)
        at = then(attempt(fuse()), _of_one_table)(at, place)
        lengths = [n.constant or 0 for n in dimensions(term_at(at.term, place).type)[0]]
        if len(lengths) != 2 or min(lengths) < side:
            raise NoMatch(f"tiles of {side} are of a table of so many rows and columns")
        rows, columns = lengths

        def of_height(height: int) -> Tactic:
            whole = _tiles(height, side)
            if columns % side == 0:
                return whole
            narrow = _tiles(height, columns % side, in_lanes=False)
            return _by_columns(cut(columns, side, _by_columns(whole), _by_columns(narrow)))

        return cut(rows, side, of_height(side), of_height(rows % side))(at, place)

    return tactic


def _tiles(height: int, across: int, *, in_lanes: bool = True) -> Tactic:
    """A map of rows and columns by tiles that divide it, of which each work-item has one."""
    vectors = then(in_vectors(across), inside("vs")(apply("map_to_seq")))
    rows = vectors if in_lanes else apply("map_to_seq")
    tile = then(inside("f")(rows), apply("map_to_seq"))
    tiles = then(
        inside("f")(then(inside("f")(tile), apply("map_to_glb", d=1))), apply("map_to_glb", d=0)
    )
    return then(apply("tile_map", m=height, n=across), inside("xs", "xss", "xs")(tiles))


def _by_columns(tactic: Tactic) -> Tactic:
    """The tactic at a map of rows and columns with its rows as columns."""
    return then(
        inside("xs")(apply("transpose_transpose", "backward")),
        apply("map_map_transpose"),
        inside("xss")(tactic),
    )


def cut(length: int, side: int, whole: Tactic, rest: Tactic) -> Tactic:
    """A map of so many elements as one of those that fill sides, and one of the rest."""
    main = length - length % side
    if main in (0, length):
        return whole if main else rest
    return then(
        inside("xs")(apply("concat_take_drop", "backward", m=main)),
        apply("map_concat"),
        inside("xs")(whole),
        inside("ys")(rest),
    )


def _of_one_table(at: Rewriting, place: Position) -> Rewriting:
    """What a map of rows and columns puts together of several rows, as rows of one table."""
    t = term_at(at.term, place)
    if isinstance(t, Map) and isinstance(t.f.body, Map):
        row = t.f.body.xs
        windows = any(isinstance(u, Slide) for u, _ in subterms(t.xs))
        if isinstance(row, Zip) and is_layout(row) and not windows:
            return apply("map_fusion", "backward", parts={"g": ("f", "xs")})(at, place)
    return at


def depth_of(t: Term) -> int:
    """How many maps are nested outermost, each the whole of what the one around it computes."""
    if not isinstance(t, Map):
        return 0
    return 1 + (depth_of(t.f.body) if isinstance(t.f.body.type, Array) else 0)


def maps_together() -> Tactic:
    """Maps fused with those of which they make windows, and borders inside of what is done with rows."""
    borders = ("pad_clamp_map", "pad_mirror_map", "pad_wrap_map", "pad_constant_rows")
    rules = (*borders, "map_fusion", "zip_map_left")
    return repeat(
        topdown(
            first(
                apply("map_slide", "backward"),
                *(apply(rule) for rule in rules),
                apply("zip_map_right"),
            )
        )
    )


def apart(width: int) -> Tactic:
    """Windows at the ends of a padded row apart from those inside, each end as wide as a vector."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        assert isinstance(t, Map), "cannot happen: it is a row"
        lefts = {
            n
            for _, u in positions(t.xs)
            if isinstance(u, Bordered) and u.searched
            if (n := u.left.constant)
        }
        for left in sorted(lefts):
            at = attempt(split_boundary(-left % width))(at, place)
        return at

    return tactic


def in_parts(tactic: Tactic) -> Tactic:
    """The tactic at each of the parts that are put together here."""

    def parts(at: Rewriting, place: Position) -> Rewriting:
        if not isinstance(term_at(at.term, place), Concat):
            return tactic(at, place)
        return then(inside("xs")(parts), inside("ys")(parts))(at, place)

    return parts


def lanes(width: int) -> Tactic:
    """A map vector by vector; one with fewer than two vectors, and what fills none, element by element.

    Where an element takes a fold, these are in narrower vectors: eleven folds one by one take longer than all vectors of a row.
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map):
            raise NoMatch("lanes are elements of a map")
        n = dimensions(t.xs.type)[0][0].constant or 0
        whole, narrower = n // width * width, _folds_inside(t)
        rest = lanes(width // 2) if narrower and width > 2 else apply("map_to_seq")
        if whole < (width if narrower else 2 * width):
            return rest(at, place)
        vectors = then(in_vectors(width), inside("vs")(apply("map_to_seq")))
        if whole == n:
            return vectors(at, place)
        return then(
            inside("xs")(apply("concat_take_drop", "backward", m=whole)),
            apply("map_concat"),
            inside("xs")(vectors),
            inside("ys")(rest),
        )(at, place)

    return tactic


def _folds_inside(t: Map) -> bool:
    """Whether a map folds for each of its elements, none of which is read across a border."""
    if any(isinstance(u, Bordered) for u, _ in subterms(t.xs)):
        return False
    return any(isinstance(u, Reduction) for u, _ in subterms(t.f.body))


def in_vectors(width: int) -> Tactic:
    """A map whose function is computed in lanes."""
    return then(inside("f")(short_folds()), apply("vectorize_map", w=width))


def short_folds(steps: int = SHORT) -> Tactic:
    """Folds are written out, outermost first, as long as they have so few steps together, with those inside that are."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t, left = term_at(at.term, place), steps
        if isinstance(t, ReduceSeq):
            n = dimensions(t.xs.type)[0][0].constant or 0
            if 0 < n <= steps // _written_out(t.f.body):
                at, left = apply("reduce_seq_to_unroll")(at, place), steps // n
        for field, _ in children(term_at(at.term, place)):
            at = short_folds(left)(at, (*place, field))
        return at

    return tactic


def _written_out(t: Term) -> int:
    """The steps of the longest folds in a term that are written out, one inside the other."""
    longest = max((_written_out(u) for _, u, _ in within(t)), default=1)
    own = t.solved["n"].constant if isinstance(t, ReduceSeqUnroll) else None
    return longest * (own or 1)
