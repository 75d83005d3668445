"""Plans that need no sketch, proposed from the shape of a program.

Blocks in registers.  A reduction inside two maps reads a row and a column for every element of its result.
When one work-item computes a block of the result, it reads each row and column of the block once, and the
block stays in vector registers while the reduction goes on.  The plan is a sketch of that shape with the
tiles left open, and the values of the tiles that a device's registers hold.
Source: Goto and van de Geijn, Anatomy of high-performance matrix multiplication, TOMS 2008, for the shape.

Teams on a GPU.  The work-items of a group reduce one row together, or share the cells that the windows of
their tile read.  The plan is a tactic for every size, see `relift.rewrites.teams` and `group_tactics`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relift.egraph.extraction import REGISTER_CELLS
from relift.egraph.planning import loops_of, model_sizes
from relift.egraph.sketches import Sketch, sketch
from relift.rewrites.group_tactics import stencil_in_groups
from relift.rewrites.tactics import Tactic, topdown
from relift.rewrites.teams import team_all, team_each
from relift.semantics.device import DeviceDescription
from relift.semantics.errors import ReliftError
from relift.semantics.language import Program
from relift.semantics.patterns import Reduce, Slide
from relift.semantics.terms import subterms, unused

_LEAST_BLOCK = 16
"""Cells of a block: a smaller one is read about as often as single results are."""


@dataclass(frozen=True)
class Plan:
    """A sketch, and the values of its tiles that are worth trying; sizes of the program included."""

    sketch: Sketch
    choices: tuple[Mapping[str, int], ...]


def register_blocks(
    program: Program, sizes: Mapping[str, int], device: DeviceDescription
) -> Iterator[Plan]:
    """Plans for two maps around a reduction, whose lengths are sizes of the program; none for others.

    A GPU has `group_tiles` instead: its work-items share what they read.

    The data of the outer map are copied in the order in which the blocks read them, or read where they are.

    >>> from relift.rewrites.loading import load_program
    >>> from relift.semantics.device import CPU
    >>> product = load_program("examples/matmul.py")
    >>> plans = list(register_blocks(product, {"n": 64, "m": 64, "k": 64}, CPU))
    >>> [(plan.sketch.text.count("to_global"), len(plan.choices)) for plan in plans]
    [(1, 16), (0, 16)]
    """
    names = _loop_names(program) if device.kind == "cpu" else None
    if names is None:
        return
    i, j, k = names
    rows, columns, lanes = (unused(name, program.sizes) for name in ("rows", "columns", "lanes"))
    choices = tuple(
        {**sizes, rows: r, columns: c, lanes: w}
        for r, c, w in _blocks(device)
        if sizes[i] % r == 0 and sizes[j] % c == 0
    )
    if not choices:
        return
    block = (
        f"map[{i} // {rows}](... >= reduce_seq[{k}](... >= map[{rows}]("
        f"... >= map[{columns} // {lanes}](... >= map_vec[{lanes}](...)))))"
    )
    panel = f"to_global(array[{j} // {columns}, {k}, {columns}])"
    for data in (f", {panel}", ""):
        yield Plan(sketch(f"... >= map[{j} // {columns}](... >= {block}{data})"), choices)


def _loop_names(program: Program) -> tuple[str, str, str] | None:
    """The sizes that are the lengths of two maps and the reduction inside them."""
    model = model_sizes(program.sizes)
    assert model is not None, "cannot happen: there is no sketch that fixes a size"
    try:
        loops = loops_of(program.at(model).body)
    except ReliftError:
        return None  # the program's sizes depend on one another
    names = {length: name for name, length in model.items()}
    if [loop.kind for loop in loops] != ["map", "map", "reduce_seq"]:
        return None
    if any(loop.length not in names for loop in loops):
        return None
    i, j, k = (names[loop.length] for loop in loops)
    return i, j, k


def _blocks(device: DeviceDescription) -> Iterator[tuple[int, int, int]]:
    """Rows, columns and lanes of the blocks that registers hold, the largest first."""
    lanes = [w for w in (16, 8, 4, 2) if w <= device.vector_width][:2]
    powers = (64, 32, 16, 8, 4, 2)
    found = [
        (r, c, w)
        for r, c, w in itertools.product(powers, powers, lanes)
        if c % w == 0 and _LEAST_BLOCK <= r * c <= REGISTER_CELLS
    ]
    yield from sorted(found, key=lambda block: (-block[0] * block[1], block))


_TEAMS = (32, 64, 128, 256)
_GROUPS = (512, 1024, 2048)
_WIDTH = 4
"""Lanes of the vectors that a member of a team reads: 16 bytes, the widest access of a GPU."""


_TILES = (64, 32, 16)
"""Windows of a stencil's tile in each direction."""


def shared_windows(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that give overlapping tiles of a stencil of two dimensions to the groups of a GPU.

    They raise `NoMatch` where the tiles do not divide the image.
    """
    if device.kind == "gpu" and any(isinstance(t, Slide) for t, _ in subterms(program.body)):
        for windows in _TILES:
            yield stencil_in_groups(windows)


def teams(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that give every reduction of a program with fixed sizes to teams of work-items.

    They raise `NoMatch` where a team does not share the elements evenly.

    >>> from relift.rewrites.loading import load_program
    >>> from relift.semantics.device import CPU, GPU
    >>> product = load_program("examples/matvec.py").at({"n": 256, "m": 512})
    >>> len(list(teams(product, GPU))), len(list(teams(product, CPU)))
    (4, 0)
    """
    if device.kind != "gpu":
        return
    for team in _TEAMS:
        if isinstance(program.body, Reduce):
            for groups in _GROUPS:
                yield team_all(groups, team, _WIDTH)
        else:
            yield topdown(team_each(team, _WIDTH))
