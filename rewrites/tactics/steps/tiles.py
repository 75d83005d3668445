"""Several steps of a stencil in one kernel: each group of a GPU has an overlapping tile, which shrinks step by step.

A step is done on what is longer than the array, where its windows choose what they see beyond the ends, so that all cells are
computed alike (`rewrites/rules/stencils/ghosts.py`, and `ghosts_2d.py` for tables).  Then tiles of one step are made of wider tiles of the step before.

    map f (slide 3 1 (pad 1 1 clamp (map f (slide 3 1 (pad 1 1 clamp xs)))))
        =  take n (join (map (\\t. map f' (slide 3 1 (map f' (slide 3 1 t)))) (slide (t + 4) t (pad 2 (2 + e) clamp xs))))

Source: Meng and Skadron, ICS'09, ghost zones; Holewinski, Pouchet and Sadayappan, ICS'12, overlapped tiling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    any_rule,
    apply,
    curried,
    first,
    inside,
    normalize,
    then,
)
from relift.semantics.patterns import Bordered, Iterate, Map
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Literal, Term, free_variables
from relift.semantics.syntax.types import Scalar, Type, dimensions

FEWEST = 2
"""Steps that a tile is worth: of one there is nothing between steps to keep."""


@dataclass(frozen=True)
class _Stencil:
    """The rules of stencils of one dimension or of two, and where their parts are.

    Rules end in `dimensions`; `before` and `after` are the sizes of a border, `sides` those of a tile.
    """

    dimensions: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    sides: tuple[str, ...]
    middle: Position
    """What the middle is taken of."""
    tiles: Position
    """The map over tiles, in what is put together of them."""
    first: Position
    """The first part of what is zipped."""
    borders: tuple[Position, ...]
    """The borders, in what there are windows of."""

    @property
    def read(self) -> Position:
        """What the borders are around."""
        return (*self.borders[0], *(("xs",) * len(self.borders)))

    @property
    def functions(self) -> Position:
        """From a map over all dimensions to what it does with a number."""
        return ("f",) * len(self.sides)

    def rule(self, name: str) -> Tactic:
        """The rule of this name for so many dimensions, alone or beside something else."""
        named = f"{name}{self.dimensions}"
        return any_rule(named, f"{named}_beside")


_OF_ROWS = _Stencil(
    "",
    before=("left",),
    after=("right",),
    sides=("k",),
    middle=("xs", "xs"),
    tiles=("xss",),
    first=("xs",),
    borders=(("xs",),),
)
_OF_TABLES = _Stencil(
    "_2d",
    before=("above", "left"),
    after=("below", "right"),
    sides=("k", "l"),
    middle=("xs", "xs", "xs"),
    tiles=("xs", "xss", "xs"),
    first=("xs", "xs"),
    borders=(("xs", "xs", "xs"), ("xs", "xs", "xs", "xs", "f")),
)


@curried
def steps_in_tiles(at: Rewriting, place: Position, *windows: int) -> Rewriting:
    """Steps of a stencil in tiles of so many `windows` along each dimension, each step of a tile on what the last one gave.

    Raises `NoMatch` where there are not several steps of so many dimensions, one or two.

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
    stencil = _OF_ROWS if len(windows) == 1 else _OF_TABLES
    at = normalize("pad_mirror_one")(at, place)
    steps = list(_steps(stencil, term_at(at.term, place), place))
    if len(steps) < FEWEST:
        raise NoMatch("there are not several steps of a stencil")
    lengths = [n.constant or 0 for n in dimensions(term_at(at.term, place).type)[0]]
    rest = [-length % side for length, side in zip(lengths, windows, strict=False)]
    around = (_with_more_around(stencil, steps, rest, b) for b in ("constant", "wrap"))
    at = first(_in_the_middle(stencil, steps, rest), *around)(at, place)
    for left_over in rest:
        at, place = _taken(at, place, everything=left_over == 0)
    sides = {name: side - 1 for name, side in zip(stencil.sides, windows, strict=True)}
    at = apply(f"stencil_tiling{stencil.dimensions}_beside", "forward", None, None, **sides)(
        at, place
    )
    return _on_tiles(stencil, at, (*place, *stencil.tiles), len(steps) - 1)


@curried
def _in_the_middle(
    at: Rewriting, place: Position, stencil: _Stencil, steps: Sequence[_Step], rest: Sequence[int]
) -> Rewriting:
    """Steps that see the ends go on, in the middle of what is longer by all that they see, and by the `rest` of a tile."""
    around = dict[str, int]()
    for axis, left_over in enumerate(rest):
        borders = [step.borders[axis] for step in steps]
        around[stencil.before[axis]] = sum(border.left.constant or 0 for border in borders)
        right = sum(border.right.constant or 0 for border in borders)
        around[stencil.after[axis]] = right + left_over
    longer = apply(f"pad_clamp_removed{stencil.dimensions}", "backward", None, None, **around)
    at = longer(at, steps[-1].read)
    cells = normalize(*_CELLS_OF_WINDOWS)
    chosen = inside(*stencil.middle, *stencil.functions)(cells)
    for step in reversed(steps):
        at = then(stencil.rule("ghost_zone_clamp"), chosen)(at, step.place)
    return at


_CELLS_OF_WINDOWS = ("index_map", "index_first", "index_behind_first", "index_of_repeat")
"""A cell of a window is chosen where it is read."""


@curried
def _with_more_around(
    at: Rewriting,
    place: Position,
    stencil: _Stencil,
    steps: Sequence[_Step],
    rest: Sequence[int],
    boundary: str,
) -> Rewriting:
    """Steps that see a constant beyond the ends, or go round, on more around what they read: the `rest` of a tile, and what the next step sees."""
    chosen = dict.fromkeys(stencil.before, 0) | dict(zip(stencil.after, rest, strict=True))
    rule = f"pad_{boundary}_removed{stencil.dimensions}"
    given = _anything(term_at(at.term, place).type) if boundary == "constant" else None
    at = apply(rule, "backward", None, given, **chosen)(at, place)
    padded = (*place, *stencil.middle)
    for _ in steps:
        at = stencil.rule(f"ghost_zone_{boundary}")(at, padded)
        padded = (*padded, "xs", *stencil.first, *stencil.borders[0])
    return at


def _anything(t: Type) -> dict[str, Term]:
    """A constant around an array of numbers."""
    number = dimensions(t)[1]
    if not isinstance(number, Scalar):
        raise NoMatch("what a step gives is not an array of numbers")
    return {"c": Literal(np.dtype(number.dtype).type(0).item(), number)}


def _taken(at: Rewriting, place: Position, *, everything: bool) -> tuple[Rewriting, Position]:
    """What is taken of an array, or of each of its rows, from its beginning on; and where that is of which it is taken."""
    all_taken = apply("take_all")
    if isinstance(term_at(at.term, place), Map):
        at = inside("f", "xs")(apply("drop_nothing"))(at, place)
        all_taken = then(inside("f")(all_taken), apply("map_identity"))
    else:
        at = inside("xs")(apply("drop_nothing"))(at, place)
    return (all_taken(at, place), place) if everything else (at, (*place, "xs"))


def _on_tiles(stencil: _Stencil, at: Rewriting, place: Position, steps: int) -> Rewriting:
    """What a map over tiles reads of so many more steps is computed of wider tiles there."""
    for done in range(steps):
        wider = apply(f"slide_stencil{stencil.dimensions}_beside")
        at = wider(at, (*place, "xs", *stencil.first * (done + 1)))
        for depth in reversed(range(done + 1)):
            beside = apply(f"zip_map_left{stencil.dimensions}")
            at = beside(at, (*place, "xs", *stencil.first * depth))
        for depth in range(len(stencil.sides)):
            at = apply("map_fusion")(at, (*place, *stencil.functions[:depth]))
    return at


@dataclass(frozen=True)
class _Step:
    """Where a step of a stencil is, the borders along each dimension of what it reads, and where that is."""

    place: Position
    borders: tuple[Bordered, ...]
    read: Position


def _steps(stencil: _Stencil, t: Term, place: Position) -> Iterator[_Step]:
    """The steps of a stencil, the last one first."""
    while (found := _step(stencil, t)) is not None:
        yield replace(found, place=place, read=(*place, *found.read))
        t, place = term_at(t, found.read), (*place, *found.read)


def _step(stencil: _Stencil, t: Term) -> _Step | None:
    """What a map over windows, alone or beside something else, is as a step; None for what is none."""
    if not isinstance(t, Map):
        return None
    parts = dict(positions(t))
    for windows in (("xs",), ("xs", *stencil.first)):
        borders = [parts.get((*windows, *axis)) for axis in stencil.borders]
        padded = tuple(border for border in borders if isinstance(border, Bordered))
        if len(padded) == len(borders):
            return _Step((), padded, (*windows, *stencil.read))
    return None


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
