"""Tactics for stencils of two dimensions on a GPU, in overlapping tiles, and of three in strips.

A group copies an overlapping tile of the image to local memory, borders included, and each of its work-items has a window,
or a strip of windows of one column: neighbours read neighbouring cells, and windows of a strip overlap, so that a work-item reads
a cell once for all windows that it is in.  Where the function of a window folds it, column by column, the folds of a strip
become one, with an accumulator for each window in registers; several folds of a window are one of tuples first.

    stencil_in_groups   a work-item has one window
    strips_in_groups    it has several below one another
    strips_of_blocks    it has several behind one another, of three dimensions
    by_columns          a fold of a window, and of what is as large, goes column by column of both
    strip_folds         the folds of the windows of a strip as one
Source: LIFT, CGO'18, overlapped tiling; the registers are those of Nguyen et al., SC'10, and of `folds.shared`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    apply,
    attempt,
    copy,
    curried,
    first,
    fuse,
    inside,
    nest,
    normalize,
    repeat,
    skip,
    then,
    topdown,
    under_a_name,
)
from relift.rewrites.tactics.folds.beside import IN_ONE_LOOP
from relift.rewrites.tactics.folds.shared import apart, lifted
from relift.rewrites.tactics.folds.windows import WINDOWS_FUSED
from relift.rewrites.tactics.groups.tiles import GROUPS
from relift.rewrites.tactics.groups.tiling.teams import WORK_ITEMS
from relift.rewrites.tactics.macros import tile_stencil_2d
from relift.rewrites.tactics.nests.dimensions import one_fold
from relift.rewrites.tactics.nests.normal_form import fuse_once
from relift.rewrites.tactics.reuse import lies_across
from relift.rewrites.tactics.sharing import named_pair
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Reduction, Slide
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    places_of,
    positions,
    term_at,
)
from relift.semantics.syntax.places import outermost
from relift.semantics.syntax.terms import Get, Term, Var


def stencil_in_groups(windows: int) -> Tactic:
    """A stencil of an image in overlapping tiles, one for each group, which copies what it reads to local memory.

    A tile has `windows` windows in each direction.
    Source: LIFT, CGO'18, overlapped tiling.

    >>> from relift.rewrites.tactics.groups.stencils import stencil_in_groups
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> jacobi = load_program("examples/j2d5pt.py")
    >>> found = derive(jacobi, stencil_in_groups(8), {"n": 64, "m": 64})
    >>> [step.rule for step in found.steps if step.rule.startswith(("stencil", "store"))]
    ['stencil_tiling_2d', 'store_local']
    """

    def tile(at: Rewriting, place: Position) -> Rewriting:
        if not isinstance(term_at(at.term, place), Map):
            raise NoMatch("a tile is no map over its windows")
        around = binders_at(at.term, place)[-1].name
        return then(nest(*WORK_ITEMS), inside("xs")(staged(around)))(at, place)

    return tiles_in_groups(tile_stencil_2d(windows), tile)


@curried
def tiles_in_groups(at: Rewriting, place: Position, tiling: Tactic, tile: Tactic) -> Rewriting:
    """The outermost map that is tiled, alone or in one more map, with a group for each tile."""
    t = term_at(at.term, place)
    for below, _ in list(positions(t)):
        here = (*place, *below)
        with suppress(NoMatch):
            done = tiling(at, here)
            done = inside(*computing(done, here))(nest(*GROUPS, tile))(done, here)
            return _around(t, below)(done, place)
    raise NoMatch("nothing here is tiled for groups")


def _around(t: Term, place: Position) -> Tactic:
    """The map around a place is for groups of the third dimension; raises `NoMatch` where there are several."""
    maps = [place[:i] for i, field in enumerate(place) if field == "f"]
    if len(maps) > 1 or any(not isinstance(term_at(t, each), Map) for each in maps):
        raise NoMatch("tiles for groups stand in one more map at most")
    return then(*(inside(*each)(apply("map_to_wrg", d=2)) for each in maps))


def computing(at: Rewriting, place: Position) -> Position:
    """Where the outermost map below a place is that computes."""
    for below, t in positions(term_at(at.term, place)):
        if isinstance(t, Map) and not is_layout(t.f.body):
            return below
    raise NoMatch("no map computes here")


def strips_in_groups(windows: int, down: int) -> Tactic:
    """A stencil of an image in overlapping tiles of `windows` windows each way; a work-item has `down` below one another.

    >>> from relift.rewrites.tactics.groups.stencils import strips_in_groups
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/convolution.py"), strips_in_groups(8, 4), {"h": 16, "w": 16, "r": 1})
    >>> [step.rule for step in found.steps if step.rule.startswith(("stencil", "lift", "store"))]
    ['stencil_tiling_2d', 'stencil_tiling', 'lift_reduce_seq', 'store_private', 'store_local']
    """

    def tile(at: Rewriting, place: Position) -> Rewriting:
        image = binders_at(at.term, place)[-1].name
        at = first(_strips(down), _strips_with_cells(down))(at, place)
        at = inside("xss", "xs")(staged(image))(at, place)
        lines = inside("xss")(WORK_ITEMS[0])
        columns = inside("xss", "f", "xss")(WORK_ITEMS[1])
        return then(lines, columns)(at, place)

    return tiles_in_groups(first(tile_stencil_2d(windows), _tiled_with_cells(windows)), tile)


def strips_of_items(down: int, windows: Tactic | None = None) -> Tactic:
    """A stencil of an image in strips of `down` windows, each of which a work-item reads where the image is.

    How the windows of a strip are computed may be given: `folded_by_parts`.

    >>> from relift.rewrites.tactics.groups.stencils import strips_of_items
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/hotspot.py"), strips_of_items(4), {"n": 16, "m": 16})
    >>> [step.rule for step in found.steps[-2:]]
    ['map_to_glb', 'map_to_glb']
    """
    alone = _strips(down, windows=windows)
    strips = then(
        alone if windows else first(alone, _strips_with_cells(down)),
        inside("xss")(apply("map_to_glb", d=1)),
        inside("xss", "f", "xss")(apply("map_to_glb", d=0)),
    )
    return topdown(strips)


def strips_of_blocks(down: int, windows: Tactic | None = None) -> Tactic:
    """A stencil of three dimensions in strips of `down` windows behind one another, each of which a work-item reads where the cells are.

    How the windows of a strip are computed may be given: `folded_by_parts`.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.windows import folded_by_parts
    >>> from relift.rewrites.tactics.groups.stencils import strips_of_blocks
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def sums(x: rl.f32[n + 2, n + 2, n + 2]):
    ...     windows = rl.slide_nd((3, 3, 3), (1, 1, 1), x)
    ...     return rl.map_nd(3, lambda w: rl.reduce(rl.add, 0.0, rl.join(rl.join(w))), windows)
    >>> found = derive(sums, strips_of_blocks(4, folded_by_parts), {"n": 16})
    >>> [step.rule for step in found.steps if step.rule.startswith(("stencil", "window", "store"))]
    ['stencil_tiling', 'window_map_exchange', 'window_map_exchange', 'store_private']
    """
    within = ("xss", "f") * 2
    strips = then(
        _strips(down, 3, windows or _WRITTEN_OUT),
        *(inside(*within[: 2 * i], "xss")(apply("map_to_glb", d=2 - i)) for i in range(2)),
        inside(*within, "xss")(apply("map_to_glb", d=0)),
    )
    return then(WINDOWS_FUSED, topdown(strips))


def strips_of_lines(down: int, *, kept: bool = False) -> Tactic:
    """Windows of lines that lie side by side, such as columns: a work-item has `down` windows of a line.

    What they read is `kept` in registers, or read where it is whenever it is needed.

    >>> from relift.rewrites.tactics.groups.stencils import strips_of_lines
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift import add, f32, map, nat, program, reduce, slide, transpose
    >>> n, m = nat("n"), nat("m")
    >>> @program
    ... def sums(a: f32[n + 2, m]):
    ...     return map(lambda c: map(lambda w: reduce(add, 0.0, w), slide(3, 1, c)), transpose(a))
    >>> found = derive(sums, strips_of_lines(4), {"n": 16, "m": 8})
    >>> [step.rule for step in found.steps[:4]]
    ['stencil_tiling', 'reduce_to_seq', 'lift_reduce_seq', 'map_to_seq_unroll']
    """

    def lines(at: Rewriting, place: Position) -> Rewriting:
        if not _are_lines(at, place) or not lies_across(at.term, (*place, "xs")):
            raise NoMatch("the lines do not lie side by side")
        registers = inside("xs", "xs")(then(copy(UNROLLED), apply("store_private")))
        strip = inside("xss", "f")(then(registers if kept else skip, windows_of_strip))
        return then(
            inside("f")(
                then(
                    apply("stencil_tiling", k=down - 1),
                    strip,
                    inside("xss")(apply("map_to_glb", d=1)),
                )
            ),
            apply("map_to_glb", d=0),
        )(at, place)

    return then(_lines_fused, topdown(lines))


def lines_in_groups(windows: int, items: int = 0) -> Tactic:
    """Windows of lines that lie one after the other: a group copies what so many `windows` of a line read.

    With `items`, each of so many work-items has every `items`-th of the windows, and their folds are one.

    >>> from relift.rewrites.tactics.groups.stencils import lines_in_groups
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift import add, f32, map, nat, program, reduce, slide
    >>> n, m = nat("n"), nat("m")
    >>> @program
    ... def sums(a: f32[n, m + 2]):
    ...     return map(lambda row: map(lambda w: reduce(add, 0.0, w), slide(3, 1, row)), a)
    >>> found = derive(sums, lines_in_groups(8), {"n": 4, "m": 16})
    >>> [step.rule for step in found.steps if step.rule.startswith(("stencil", "store"))]
    ['stencil_tiling', 'store_local']
    """

    def lines(at: Rewriting, place: Position) -> Rewriting:
        if not _are_lines(at, place) or lies_across(at.term, (*place, "xs")):
            raise NoMatch("the lines do not lie one after the other")
        line = _line_in_groups(windows, items)
        return then(inside("f")(line), GROUPS[0])(at, place)

    return then(_lines_fused, topdown(lines))


def one_line_in_groups(windows: int, items: int = 0) -> Tactic:
    """The windows of one array: a group copies what so many `windows` read, and is else as in `lines_in_groups`.

    >>> from relift.rewrites.tactics.groups.stencils import one_line_in_groups
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift import add, f32, map, nat, program, reduce, slide
    >>> n = nat("n")
    >>> @program
    ... def sums(a: f32[n + 2]):
    ...     return map(lambda w: reduce(add, 0.0, w), slide(3, 1, a))
    >>> found = derive(sums, one_line_in_groups(8), {"n": 16})
    >>> [step.rule for step in found.steps if step.rule.startswith(("stencil", "store"))]
    ['stencil_tiling', 'store_local']
    """

    def line(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map) or not isinstance(t.xs, Slide) or binders_at(at.term, place):
            raise NoMatch("no map over the windows of an array")
        return _line_in_groups(windows, items)(at, place)

    return then(_lines_fused, topdown(line))


@curried
def _line_in_groups(at: Rewriting, place: Position, windows: int, items: int) -> Rewriting:
    """A map over the windows of a line, chunk by chunk, each a group's."""
    at = apply("stencil_tiling", k=windows - 1)(at, place)
    chunk = (*place, "xss")
    line = binders_at(at.term, (*chunk, "f"))[-1].name
    if items:
        several = inside("xss", "xss")(then(inside("f")(windows_of_strip), WORK_ITEMS[1]))
        computed = then(every(items), several)
    else:
        window = then(normalize(fuse_once()), attempt(topdown(apply("reduce_seq_to_unroll"))))
        at = inside("f", "f")(window)(at, chunk)
        computed = WORK_ITEMS[1]
    group = then(inside("xs")(staged(line, WORK_ITEMS[1:])), computed)
    return then(inside("f")(group), GROUPS[1])(at, chunk)


def every(items: int) -> Tactic:
    """A map over arrays of every `items`-th element: neighbours of an array have neighbours of all elements in turn."""
    return then(
        apply("split_join", m=items),
        inside("xss")(
            then(
                apply("map_interchange_rows"),
                inside("xss", "xs", "xss")(attempt(apply("map_identity"))),
            )
        ),
    )


def _are_lines(at: Rewriting, place: Position) -> bool:
    """Whether a map here goes through lines, and its function is a map over the windows of each."""
    t = term_at(at.term, place)
    return isinstance(t, Map) and isinstance(row := t.f.body, Map) and isinstance(row.xs, Slide)


_lines_fused: Tactic = normalize("map_fusion")


def _tiled_with_cells(windows: int) -> Tactic:
    """The same of a stencil whose windows are zipped with the cells of another array."""
    return apply("stencil_tiling_2d_zip", k=windows - 1)


def _strips(down: int, dimensions: int = 2, windows: Tactic | None = None) -> Tactic:
    """The windows of a tile strip by strip, and in a strip column by column; how those of a strip are computed may be given."""
    computed = windows or windows_of_strip
    for _ in range(1, dimensions):
        computed = then(apply("window_map_exchange"), inside("xss", "f")(computed))
    fused = apply("map_fusion") if dimensions == 2 else skip
    return then(fused, apply("stencil_tiling", k=down - 1), inside("xss", "f")(computed))


def _strips_with_cells(down: int) -> Tactic:
    """The same where windows are zipped with cells: the cells of a strip go with it."""
    cut = then(
        apply("split_map"),
        inside("xs")(
            then(
                apply("split_zip"),
                inside("xs", "xs")(
                    then(
                        apply("split_map"),
                        inside("xs")(apply("slide_before_split", k=down - 1)),
                        apply("map_fusion"),
                    )
                ),
            )
        ),
    )
    columns = then(
        apply("transpose_both_sides"),
        inside("xss", "xs")(
            then(
                apply("zip_transpose", "backward"),
                inside("xs", "xs")(apply("transpose_map_slide", "backward")),
            )
        ),
        inside("xss")(_PAIRS),
    )
    return then(
        apply("split_join", m=down),
        inside("xss")(then(inside("xs")(cut), apply("map_fusion"), _PAIRS)),
        inside("xss", "f")(then(columns, inside("xss", "f")(windows_of_strip))),
    )


_PAIRS = then(apply("map_fusion"), inside("xs")(apply("zip_map_left")), apply("map_fusion"))
"""A map over zips of computed arrays and others goes through what they are computed of."""


def windows_of_strip(at: Rewriting, place: Position) -> Rewriting:
    """The windows of a strip, written out; where each is folded, all their folds are one."""
    t = term_at(at.term, place)
    assert isinstance(t, Map), "cannot happen: a strip is a map over its windows"
    folds = outermost_folds(t.f.body)
    if not folds:
        return UNROLLED(at, place)
    fold = ("f", *folds[0])
    at = first(_each(folds, by_columns()), _each(folds, _IN_ORDER))(at, place)
    if len(folds) > 1:
        at, fold = _folded_once(at, place)
    written = copy(UNROLLED) if fold == ("f",) else UNROLLED
    return then(apart(fold, strip_folds()), written)(at, place)


_IN_ORDER = then(fuse(), attempt(apply("reduce_to_seq")), repeat(apply("reduce_map_fusion")))
"""A fold that no law lets go by columns, as one whose start is not neutral."""


def _each(folds: Sequence[Position], ordered: Tactic) -> Tactic:
    """All folds of a function in one order, so that they may be one loop."""
    return then(*(inside("f", *fold)(ordered) for fold in folds))


def _folded_once(at: Rewriting, place: Position) -> tuple[Rewriting, Position]:
    """The folds of a window as one of tuples, which has a name; where it is."""
    body = (*place, "f")
    while len(folds := _different_folds(term_at(at.term, body))) > 1:
        one, other, *_ = folds
        at = then(named_pair(one, other), inside("x")(IN_ONE_LOOP))(at, body)
        if not isinstance(term_at(at.term, (*body, "x")), Reduction):
            raise NoMatch("the folds of a window are not of as many elements")
        at = apply("let_inline")(at, body)
    below = places_of(term_at(at.term, body), folds[0])[0]
    return under_a_name(*below)(at, body), ("f", "x")


def _different_folds(t: Term) -> list[Term]:
    folds = (term_at(t, below) for below in outermost_folds(t))
    return list({canonical(fold): fold for fold in folds}.values())


def by_columns() -> Tactic:
    """A fold of what is joined goes through the columns of it, and through each cell by cell."""
    pairs = inside("xs", "xs")(apply("join_zip"))
    return then(
        repeat(one_fold),
        attempt(pairs),
        attempt(inside("xs")(apply("map_join"))),
        apply("reduce_join_columns"),
        apply("reduce_join", "backward"),
        attempt(inside("xs", "xss")(apply("map_map_transpose", "backward"))),
        apply("reduce_to_seq"),
        apply("reduce_seq_join"),
        normalize("reduce_map_fusion"),
    )


def strip_folds() -> Tactic:
    """The folds of the windows of a strip as one, whose steps take a column of each, or a cell, written out."""
    written_out = apply("reduce_seq_to_unroll")
    return then(lifted(), first(inside("f", "f")(written_out), written_out))


_WRITTEN_OUT = then(windows_of_strip, attempt(topdown(apply("reduce_seq_to_unroll"))))
"""The folds of the few rows of a window that goes on in a third dimension are written out."""


def outermost_folds(t: Term) -> list[Position]:
    """Where the folds are that no other encloses."""
    return outermost(below for below, u in positions(t) if isinstance(u, Reduction))


@curried
def staged(
    at: Rewriting, place: Position, image: str, items: Sequence[Tactic] = WORK_ITEMS
) -> Rewriting:
    """The image that a tile is of is copied to local memory by all work-items, where windows slide over it."""
    t = term_at(at.term, place)
    uses = [
        p[:-1] if isinstance(term_at(t, p[:-1]), Get) else p
        for p, u in positions(t)
        if isinstance(u, Var) and u.name == image
    ]
    slid = [p for p in uses if any(isinstance(term_at(t, p[:i]), Slide) for i in range(len(p)))]
    if len(slid) != 1:
        raise NoMatch("the windows of a tile are not those of one array")
    return inside(*slid[0])(then(copy(*items), apply("store_local")))(at, place)
