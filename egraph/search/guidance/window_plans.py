"""Plans for the stencils of a GPU, proposed from the shape of a program.

The work-items of a group share the cells that the windows of their tile read, and a work-item those of the windows of its
strip, see `relift.rewrites.tactics.groups.stencils`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from relift.device import DeviceDescription
from relift.rewrites.tactics.combinators import Tactic, then, topdown
from relift.rewrites.tactics.folds.windows import folded_by_parts
from relift.rewrites.tactics.groups.rows.by_groups import IN_ORDER
from relift.rewrites.tactics.groups.stages import stages_by_groups
from relift.rewrites.tactics.groups.stencils import (
    lines_in_groups,
    one_line_in_groups,
    stencil_in_groups,
    strips_in_groups,
    strips_of_blocks,
    strips_of_items,
    strips_of_lines,
)
from relift.rewrites.tactics.sharing import named
from relift.rewrites.tactics.steps.tiles import steps_in_tiles
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Slide
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import dimensions

_TILES = (64, 32, 16)
"""Windows of a stencil's tile in each direction."""

_DOWN = (8, 16)
"""Windows of a strip that is read where the image is."""
_BEHIND = (16, 8)
"""The same of windows of three dimensions, which lie behind one another."""
_ALONG = (256, 1024)
"""Windows of a line that a group has."""
_FOR_SEVERAL = 8
"""How many windows of a line a work-item has: 17 weights take 214 us for 8192^2 windows, with four 242, with one 427."""

_STRIPS = ((64, 16), (32, 8), (32, 4))
"""Windows of a stencil's tile in each direction, and how many a work-item has below one another."""
_TILE_SIDES, _STRIP_LENGTHS = range(96, 15, -1), range(16, 3, -1)
"""The same for a stencil that none of these divides: the longest that do."""


def strips_for(program: Program) -> Iterator[tuple[int, int]]:
    """Tiles for a stencil of two dimensions, and strips: those of `_STRIPS`, or else others that divide its result.

    >>> from relift.egraph.search.guidance.window_plans import strips_for
    >>> from relift.rewrites.loading import load_program
    >>> jacobi = load_program("examples/j2d5pt.py")
    >>> [list(strips_for(jacobi.at({"n": n, "m": n}))) for n in (96, 8188)]
    [[(32, 8), (32, 4)], [(92, 4)]]
    """
    lengths = [n.constant or 0 for n in dimensions(program.body.type)[0][-2:]]
    common = math.gcd(*lengths)
    if dividing := [each for each in _STRIPS if common and common % each[0] == 0]:
        yield from dividing
        return
    sides = (side for side in _TILE_SIDES if common and common % side == 0)
    found = ((side, down) for side in sides for down in _STRIP_LENGTHS if side % down == 0)
    yield from itertools.islice(found, 2)


def shared_windows(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics for the stencils of a GPU: overlapping tiles and lines for its groups, strips of windows for its work-items.

    They raise `NoMatch` where these do not divide the image.
    """
    if device.kind == "gpu" and any(isinstance(t, Slide) for t, _ in subterms(program.body)):
        for windows in _TILES:
            yield then(named(), stencil_in_groups(windows), IN_ORDER)
        for windows, down in strips_for(program):
            yield strips_in_groups(windows, down)
        for down in _DOWN:
            yield strips_of_items(down)
            yield strips_of_items(down, folded_by_parts)
            yield strips_of_lines(down)
            yield strips_of_lines(down, kept=True)
        if len(dimensions(program.body.type)[0]) > 2:
            for down in _BEHIND:
                yield strips_of_blocks(down)
                yield strips_of_blocks(down, folded_by_parts)
        for windows in _ALONG:
            yield lines_in_groups(windows)
            yield one_line_in_groups(windows)
        for lines in (lines_in_groups, one_line_in_groups):
            yield lines(_FOR_SEVERAL * _ALONG[0], _ALONG[0])


def steps_by_groups(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Several steps of a stencil in tiles of the groups of a GPU, which keep what stands between the steps.

    None for programs without several windows.

    >>> from relift.device import GPU
    >>> from relift.egraph.search.guidance.window_plans import steps_by_groups
    >>> from relift.rewrites.loading import load_program
    >>> list(steps_by_groups(load_program("examples/dot.py"), GPU))
    []
    """
    windows = sum(isinstance(t, Slide) for t, _ in subterms(program.body))
    for sides in _TILES_OF_STEPS if device.kind == "gpu" else ():
        if windows >= 2 * len(sides):
            kept = stages_by_groups(len(sides), device.local_memory_bytes)
            yield then(steps_in_tiles(*sides), topdown(kept))


_TILES_OF_STEPS = ((256,), (1024,), (32, 32), (32, 64))
"""Windows along each side of a tile of steps.

Four steps of five cells of 2048^2 take an H200 44 and 35 us in tiles of 32 x 32 and of 32 x 64, and 46 in kernels of their own; of 512^2 8 and 11, and 23."""
