"""Tactics for lanes: neighbouring results of the innermost of nested maps become the lanes of vectors.

The programs are maps over arrays of one, two or three dimensions, of any function of an element; the element
may be a window of a stencil, a row, a tuple or a number.  A work-item has a row, or a part of it:

    ends_apart      where rows are padded, their ends are computed apart, so that inside no index is clamped
    lanes           the rest, vector by vector, and what fills none in narrower ones; short folds are written out

The vectors are in the program's text, so no driver has to make them of work-items.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    copy,
    curried,
    first,
    fission,
    fuse,
    inside,
    normalize,
    repeat,
    the,
    then,
    topdown,
)
from relift.rewrites.tactics.folds.remainders import cut, length_of
from relift.rewrites.tactics.macros import split_boundary
from relift.rewrites.tactics.reuse import lies_across
from relift.rewrites.tactics.sharing import has_scan
from relift.semantics.indices.inverses import written_place
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import (
    Bordered,
    Concat,
    Map,
    PadConstant,
    ReduceSeq,
    ReduceSeqUnroll,
    Reduction,
    Transpose,
)
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Term, Var, children, subterms
from relift.semantics.syntax.terms import inside as within
from relift.semantics.syntax.types import Array, Scalar, dimensions

SHORT = 64
"""Steps up to which a fold in lanes is written out, all folds around it together."""

OUTER = ((0,), (1, 0), (2, 1, 0))
"""The dimensions of work-items that the maps around the lanes get, outermost first."""


def for_items(at: Rewriting, place: Position, depth: int) -> Rewriting:
    """So many maps in one another are for work-items, of each dimension one."""
    for level, d in enumerate(OUTER[depth - 1]):
        at = apply("map_to_glb", d=d)(at, (*place, *("f",) * level))
    return at


@curried
def rows_in_lanes(at: Rewriting, place: Position, width: int) -> Rewriting:
    """Nested maps as a low-level program: a work-item for each row, which it computes in vectors of `width`.

    >>> from relift.rewrites.tactics.vectors.lanes import rows_in_lanes
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> jacobi = load_program("examples/j2d5pt.py")
    >>> found = derive(jacobi, rows_in_lanes(16), {"n": 64, "m": 80})
    >>> [step.choices["w"] for step in found.steps if "vector" in step.rule]
    [16, 8, 4, 2]
    """
    at = then(maps_together, attempt(fuse()))(at, place)
    depth = depth_of(term_at(at.term, place))
    if not 2 <= depth <= 1 + len(OUTER):
        raise NoMatch("rows are maps in maps")
    return then(borders_apart, in_parts(around(depth - 2, rows(width))))(at, place)


def around(outer: int, lines: Tactic) -> Tactic:
    """The tactic at each part of what so many `outer` maps contain; these are for work-items."""
    if outer == 0:
        return lines
    return then(inside("f")(in_parts(around(outer - 1, lines))), apply("map_to_glb", d=outer))


def borders_apart(at: Rewriting, place: Position) -> Rewriting:
    """Rows that see a border of constants apart from those inside: whether a row is there is asked at each of them.

    In three dimensions so are the planes, and the rows of each plane that is inside.
    """
    t = term_at(at.term, place)
    if isinstance(t, Map) and _constants(t):
        of_rows = then(inside("xs")(split_boundary()), normalize("map_concat"))
        at = attempt(then(of_rows, maps_together))(at, place)
    return in_parts(attempt(_borders_within))(at, place)


def _borders_within(at: Rewriting, place: Position) -> Rewriting:
    """The same of the rows of each plane."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or depth_of(t) <= 2:
        raise NoMatch("what goes through rows has no planes")
    return inside("f")(borders_apart)(at, place)


@curried
def rows(at: Rewriting, place: Position, width: int) -> Rewriting:
    """A work-item for each row, which it computes in vectors; element by element where its ends cannot be apart."""
    t = term_at(at.term, place)
    of_row = (
        apply("map_to_seq")
        if _bordered_rows(t)
        else then(ends_apart(width), in_parts(lanes(width)))
    )
    return then(inside("f")(of_row), apply("map_to_glb", d=0))(at, place)


def _constants(t: Term) -> bool:
    """Whether the data of a map have a border of constants."""
    assert isinstance(t, Map), "cannot happen: it is a part of nested maps"
    return any(isinstance(u, PadConstant) for _, u in positions(t.xs))


def _bordered_rows(t: Term) -> bool:
    """Whether the data of a map are computed of rows that have a border of constants each, which lies across the lanes."""
    assert isinstance(t, Map), "cannot happen: it is a part of nested maps"
    return any(
        isinstance(u, PadConstant) and "f" in p and not isinstance(u.value.type, Array)
        for p, u in positions(t.xs)
    )


@curried
def chunks_in_lanes(at: Rewriting, place: Position, width: int, vectors: int) -> Rewriting:
    """One map as a low-level program: a work-item has `vectors` vectors of `width`, side by side.

    Of windows of a padded array so are those inside; those at its ends, and what fills no chunk, have a work-item each.

    >>> from relift.rewrites.tactics.vectors.lanes import chunks_in_lanes
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/saxpy.py"), chunks_in_lanes(16, 4), {"n": 256})
    >>> [step.rule for step in found.steps]
    ['vectorize_map', 'split_join', 'map_to_seq', 'map_to_glb']
    """
    at = then(maps_together, attempt(fuse()))(at, place)
    if depth_of(term_at(at.term, place)) != 1:
        raise NoMatch("chunks are of one map")
    at = ends_apart(width)(at, place)
    t = term_at(at.term, place)
    if isinstance(t, Map) and length_of(t) < width * vectors:
        raise NoMatch(f"{length_of(t)} elements fill no {vectors} vectors of {width}")
    return in_parts(_chunks_with_rest(width, vectors))(at, place)


_ITEMS: Tactic = apply("map_to_glb", d=0)


def _chunks(width: int, vectors: int) -> Tactic:
    """A map of whole chunks."""
    chunks = then(
        apply("split_join", m=vectors),
        inside("xss")(then(inside("f")(apply("map_to_seq")), _ITEMS)),
    )
    return then(in_vectors(width), inside("vs")(_ITEMS if vectors == 1 else chunks))


@curried
def _chunks_with_rest(at: Rewriting, place: Position, width: int, vectors: int) -> Rewriting:
    """A map of any length: what fills no chunk has a work-item for each element."""
    n = length_of(term_at(at.term, place))
    return cut(n, width * vectors, _chunks(width, vectors), _ITEMS)(at, place)


def rows_in_registers(width: int) -> Tactic:
    """Rows that lie one after the other are read as vectors into registers.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive, inside
    >>> from relift.rewrites.tactics.vectors.lanes import rows_in_registers
    >>> @rl.program
    ... def across(x: rl.f32[8, 3]):
    ...     return rl.transpose(x)
    >>> [step.rule for step in derive(across, inside("xss")(rows_in_registers(8))).steps][::4]
    ['split_of_join', 'store_private']
    """
    return then(
        apply("split_of_join", "backward"),
        inside("xs")(apply("as_scalar_as_vector", "backward", w=width)),
        inside("xs", "vs")(then(copy(UNROLLED), apply("store_private"))),
    )


def columns_in_lanes(width: int, *, registers: int = 0) -> Tactic:
    """A map of rows as a low-level program: a work-item has `width` rows, which it copies column by column first.

    What lies `width` rows apart is gathered once, and is a vector in private memory wherever it is read.  Or rows of up to so many numbers
    are read as they lie into as many `registers`, whence lanes are taken.

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
        at = then(maps_together, attempt(fuse()))(at, place)
        t = term_at(at.term, place)
        if not isinstance(t, Map) or depth_of(t) != 1 or len(dimensions(t.xs.type)[0]) != 2:
            raise NoMatch("columns are those of an array of rows")
        if registers and not _are_short_rows(t.xs, registers):
            raise NoMatch(f"what is read are no rows of {registers} numbers or fewer")
        group = then(in_vectors(width), inside("vs")(apply("map_to_seq")))
        read = rows_in_registers(width) if registers else staged
        chunk = then(group, inside("vs", "xs", "xs")(read))
        chunks = then(apply("split_join", m=width), inside("xss")(then(inside("f")(chunk), _ITEMS)))
        if length_of(t) < width:
            raise NoMatch(f"{length_of(t)} rows fill no vector of {width}")
        return cut(length_of(t), width, chunks, _ITEMS)(at, place)

    return tactic


def _are_short_rows(t: Term, most: int) -> bool:
    """Whether a table lies row by row, each of a few numbers."""
    lengths, number = dimensions(t.type)
    return is_layout(t) and isinstance(number, Scalar) and 1 < (lengths[-1].constant or 0) <= most


def scans_in_lanes(width: int) -> Tactic:
    """A map of columns that each are gone through in order: a work-item has `width` of them, side by side, as a vector.

    They may be those of each of several tables.  What fills no vector has a work-item for each column.  Raises `NoMatch` where nothing is scanned, or it does not lie side by side.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.vectors.lanes import scans_in_lanes
    >>> from relift.rewrites.tactics.combinators import derive, inside
    >>> n, m = rl.nat("n"), rl.nat("m")
    >>> @rl.program
    ... def sums(a: rl.f32[n, m]):
    ...     columns = rl.map(lambda c: rl.scan_seq(rl.add, 0.0, c), rl.transpose(a))
    ...     return rl.transpose(columns)
    >>> found = derive(sums, inside("xss")(scans_in_lanes(4)), {"n": 5, "m": 10})
    >>> [step.rule for step in found.steps][-3:]
    ['vectorize_map', 'map_to_glb', 'map_to_glb']
    """
    items = apply("map_to_glb", d=0)
    vectors = then(in_vectors(width), inside("vs")(items))

    def columns(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not (isinstance(t, Map) and has_scan(t.f.body)):
            raise NoMatch("nothing is scanned")
        if not lies_across(at.term, (*place, "xs")):
            raise NoMatch("what is scanned does not lie side by side")
        return cut(length_of(t), width, vectors, items)(at, place)

    def of_tables(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not (isinstance(t, Map) and (below := written_place(t.f.body))):
            raise NoMatch("no columns of several tables")
        return then(inside("f", *below)(columns), apply("map_to_glb", d=1))(at, place)

    return then(attempt(fuse()), first(of_tables, columns))


def depth_of(t: Term) -> int:
    """How many maps are nested outermost, each the whole of what the one around it computes."""
    if not isinstance(t, Map):
        return 0
    return 1 + (depth_of(t.f.body) if isinstance(t.f.body.type, Array) else 0)


def maps_together(at: Rewriting, place: Position) -> Rewriting:
    """Maps fused with those of which they make windows, and borders inside of what is done with rows.

    Where windows are folded, or a border is of constants, maps are fused across transpositions too: without them few of the cells
    of a row need its border, and a vector that is put together costs less than ends apart (7 points of 256^3 take 8 ms so, and 11).
    """
    borders = ("pad_clamp_map", "pad_mirror_map", "pad_wrap_map")
    of_constants = ("pad_constant_rows", "pad_constant_planes")
    rules = (*borders, *of_constants, "map_fusion", "zip_map_left", "zip_map_right")
    parts = [u for u, _ in subterms(term_at(at.term, place))]
    folds = any(isinstance(u, Reduction) for u in parts)
    constants = any(isinstance(u, PadConstant) for u in parts)
    across = (_across_transposition,) if folds or constants else ()
    steps = (apply("map_slide", "backward"), *(apply(rule) for rule in rules), *across)
    return repeat(topdown(first(*steps)))(at, place)


@at_kinds(Transpose)
def _across_transposition(at: Rewriting, place: Position) -> Rewriting:
    """What is done with every element of transposed rows, done after them: it is then part of what goes through the columns.

    Windows of three dimensions are made row by row below a transposition, so that only then a row's border is the row's.
    """
    t = term_at(at.term, place)
    if not (isinstance(t, Transpose) and isinstance(t.xss, Map) and isinstance(t.xss.f.body, Map)):
        raise NoMatch("no maps of the rows are transposed")
    if not isinstance(t.xss.f.body.xs, Var):
        at = inside("xss")(fission("f", "xs"))(at, place)
    return apply("map_map_transpose", "backward")(at, place)


@curried
def ends_apart(at: Rewriting, place: Position, width: int) -> Rewriting:
    """Windows at the ends of a padded row apart from those inside, whose vectors begin where lines do if that pays."""
    t = term_at(at.term, place)
    assert isinstance(t, Map), "cannot happen: it is a row"
    lefts = {
        n
        for _, u in positions(t.xs)
        if isinstance(u, Bordered) and u.searched
        if (n := u.left.constant)
    }
    for left in sorted(lefts):
        at = attempt(split_boundary(-left % width if _whole_lines(t, width) else 0))(at, place)
    return at


_LINES_OF_ROW = 64
"""Vectors of a row of which the first and the last may be computed cell by cell, so that the others begin with a line.

A five-point stencil of 8000 rows of 200 cells takes 0.64 ms so, and 0.27 with ends of one cell; with rows of 4096 both take 3.5."""


def _whole_lines(t: Map, width: int) -> bool:
    """Whether vectors that begin where lines do are worth ends that are as wide: of long rows, where no cell takes a fold.

    Rows that are no whole vectors long begin anywhere.
    """
    n = dimensions(t.xs.type)[0][0].constant or 0
    folds = any(isinstance(u, Reduction) for u, _ in subterms(t.f.body))
    return n % width == 0 and n >= _LINES_OF_ROW * width and not folds


@curried
def in_parts(at: Rewriting, place: Position, tactic: Tactic) -> Rewriting:
    """The tactic at each of the parts that are put together here."""
    if not isinstance(term_at(at.term, place), Concat):
        return tactic(at, place)
    return then(inside("xs")(in_parts(tactic)), inside("ys")(in_parts(tactic)))(at, place)


@curried
def lanes(at: Rewriting, place: Position, width: int, steps: int = SHORT) -> Rewriting:
    """A map vector by vector, and what fills none in narrower ones; at a border that and fewer than two vectors element by element.

    Eleven folds, or twelve logarithms, one by one take longer than all vectors of a row.  Folds of up to so many `steps` are written out.
    """
    t = the(Map, at, place)
    n = dimensions(t.xs.type)[0][0].constant or 0
    narrower = not _reaches_over_a_border(t)
    rest = lanes(width // 2, steps) if narrower and width > 2 else apply("map_to_seq")
    if n < (width if narrower else 2 * width):
        return rest(at, place)
    vectors = then(in_vectors(width, steps), inside("vs")(apply("map_to_seq")))
    return cut(n, width, vectors, rest)(at, place)


def _reaches_over_a_border(t: Map) -> bool:
    """Whether an element of what a map goes through is read across a border."""
    return any(isinstance(u, Bordered) for u, _ in subterms(t.xs))


def in_vectors(width: int, steps: int = SHORT) -> Tactic:
    """A map whose function is computed in lanes, with folds of up to so many `steps` written out."""
    return then(inside("f")(short_folds(steps)), apply("vectorize_map", w=width))


@curried
def short_folds(at: Rewriting, place: Position, steps: int = SHORT) -> Rewriting:
    """Folds are written out, outermost first, as long as they have so few steps together, with those inside that are."""
    t, left = term_at(at.term, place), steps
    if isinstance(t, ReduceSeq):
        n = dimensions(t.xs.type)[0][0].constant or 0
        if 0 < n <= steps // _written_out(t.f.body):
            at, left = apply("reduce_seq_to_unroll")(at, place), steps // n
    for field, _ in children(term_at(at.term, place)):
        at = short_folds(left)(at, (*place, field))
    return at


def _written_out(t: Term) -> int:
    """The steps of the longest folds in a term that are written out, one inside the other."""
    longest = max((_written_out(u) for _, u, _ in within(t)), default=1)
    own = t.solved["n"].constant if isinstance(t, ReduceSeqUnroll) else None
    return longest * (own or 1)
