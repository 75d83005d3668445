"""Several steps of a stencil in one kernel: each group of a GPU has an overlapping tile, which shrinks step by step.

A step is done on what is longer than the array, where its windows choose what they see beyond the ends, so that all cells are
computed alike (`rewrites/rules/stencils/ghosts.py`).  Then tiles of one step are made of wider tiles of the step before.

    map f (slide 3 1 (pad 1 1 clamp (map f (slide 3 1 (pad 1 1 clamp xs)))))
        =  take n (join (map (\\t. map f' (slide 3 1 (map f' (slide 3 1 t)))) (slide (t + 4) t (pad 2 (2 + e) clamp xs))))

Source: Meng and Skadron, ICS'09, ghost zones; Holewinski, Pouchet and Sadayappan, ICS'12, overlapped tiling.
"""

from __future__ import annotations

from collections.abc import Iterator

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    any_rule,
    apply,
    curried,
    inside,
    normalize,
    then,
)
from relift.rewrites.tactics.folds.remainders import length_of
from relift.semantics.patterns import Bordered, Iterate, Map, Slide, Zip
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Term, free_variables

FEWEST = 2
"""Steps that a tile is worth: of one there is nothing between steps to keep."""

_GHOST_ZONE = any_rule(
    *(
        f"ghost_zone_{boundary}{beside}"
        for boundary in ("clamp", "constant")
        for beside in ("", "_beside")
    )
)

_CELLS = normalize("index_map", "index_zip")
"""A cell of a window is chosen where it is read."""


@curried
def steps_in_tiles(at: Rewriting, place: Position, windows: int) -> Rewriting:
    """Steps of a stencil of one dimension in tiles of so many `windows`, each step of a tile on what the last one gave.

    Raises `NoMatch` where there are not several steps.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.steps.tiles import steps_in_tiles
    >>> @rl.program
    ... def blurred_twice(x: rl.f32[100]):
    ...     blur = lambda y: rl.map(lambda w: w[0] + w[2], rl.slide(3, 1, rl.pad(1, 1, rl.clamp, y)))
    ...     return blur(blur(x))
    >>> found = derive(blurred_twice, steps_in_tiles(16))
    >>> [step.rule for step in found.steps if "ghost" in step.rule or "beside" in step.rule]
    ['ghost_zone_clamp', 'ghost_zone_clamp', 'stencil_tiling_beside', 'slide_stencil_beside']
    """
    at = normalize("pad_mirror_one")(at, place)
    steps = list(_steps(term_at(at.term, place), place))
    if len(steps) < FEWEST:
        raise NoMatch("there are not several steps of a stencil")
    length = length_of(term_at(at.term, place))
    left = sum(each.left.constant or 0 for _, each, _ in steps)
    right = sum(each.right.constant or 0 for _, each, _ in steps)
    read = steps[-1][2]
    more = right + -length % windows
    at = apply("pad_clamp_removed", "backward", left=left, right=more)(at, read)
    for here, _, _ in reversed(steps):
        at = then(_GHOST_ZONE, inside("xs", "xs", "f")(_CELLS))(at, here)
    at = inside("xs")(apply("drop_nothing"))(at, place)
    if length % windows:
        place = (*place, "xs")
    else:
        at = apply("take_all")(at, place)
    at = apply("stencil_tiling_beside", k=windows - 1)(at, place)
    return _on_tiles(at, (*place, "xss"), len(steps) - 1)


def _on_tiles(at: Rewriting, place: Position, steps: int) -> Rewriting:
    """What a map over tiles reads of so many more steps is computed of wider tiles there."""
    wider: Position = ("xs", "xs")
    for _ in range(steps):
        at = apply("slide_stencil_beside")(at, (*place, *wider))
        for depth in reversed(range(1, len(wider))):
            at = apply("zip_map_left")(at, (*place, *wider[:depth]))
        at = apply("map_fusion")(at, place)
        wider = (*wider, "xs")
    return at


_IN_A_MAP: Position = ("xs",)
_IN_A_ZIP: Position = ("xs", "xs")


def _steps(t: Term, place: Position) -> Iterator[tuple[Position, Bordered, Position]]:
    """Where each step is, the last one first, how what it reads is padded, and where that is."""
    while isinstance(t, Map):
        windows, below = t.xs, _IN_A_MAP
        if isinstance(windows, Zip):
            windows, below = windows.xs, _IN_A_ZIP
        if not isinstance(windows, Slide) or windows.step.constant != 1:
            return
        padded = windows.xs
        if not isinstance(padded, Bordered):
            return
        read = (*place, *below, "xs", "xs")
        yield place, padded, read
        t, place = term_at(padded, ("xs",)), read


@curried
def several_steps(at: Rewriting, place: Position, most: int, least: int) -> Rewriting:
    """An iteration whose steps are up to `most` of those there were, written out; a few that are left come last.

    Raises `NoMatch` where it is none outside all functions, or fewer than `least` of such steps.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.steps.tiles import several_steps
    >>> @rl.program
    ... def halved(x: rl.f32[64]):
    ...     return rl.iterate(12, lambda y: rl.map(lambda v: v * 0.5, y), x)
    >>> rl.show(derive(halved, several_steps(2, 3)).result)
    'iterate(6, lambda y: map(lambda v: v * 0.5, map(lambda v: v * 0.5, y)), x)'
    """
    t = term_at(at.term, place)
    if not isinstance(t, Iterate) or free_variables(t):
        raise NoMatch("no iteration outside all functions")
    turns = t.m.constant or 0
    together = _together(turns, min(most, turns // least))
    for _ in range(turns % together):
        at = apply("iterate_last")(at, place)
        place = (*place, *_argument_of(at, place))
    at = apply("iterate_multiply", m=turns // together, k=together)(at, place)
    written_out = (*(apply("iterate_first") for _ in range(together)), apply("iterate_none"))
    return inside("f")(then(*written_out))(at, place)


def _together(turns: int, most: int) -> int:
    """How many steps are one: so many that none is left, if they are half of what may be, else the most that leave few."""
    dividing = [k for k in range(most, max(1, most // 2), -1) if turns % k == 0]
    few = [k for k in range(most, FEWEST - 1, -1) if turns % k <= FEWEST]
    if not (found := [*dividing, *few]):
        raise NoMatch("too few steps for several at once")
    return found[0]


def _argument_of(at: Rewriting, place: Position) -> Position:
    """Where the iteration is that a last step is of."""
    found = (below for below, u in positions(term_at(at.term, place)) if isinstance(u, Iterate))
    return next(found)
