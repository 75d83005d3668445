"""Plans that need no sketch, proposed from the shape of a program.

Blocks in registers.  A reduction inside two maps reads a row and a column for every element of its result.
When one work-item computes a block of the result, it reads each row and column of the block once, and the
block stays in vector registers while the reduction goes on.  The plan is a tactic for every block that a
device's registers hold, see `relift.rewrites.tactics.vectors.register_blocks`.

Folds that share what they read.  A work-item folds for several neighbouring results, and reads what is the same for
all of them once, see `relift.rewrites.tactics.folds.shared`.

Lanes.  The results of a map become the lanes of vectors that are in the program's text, see
`relift.rewrites.tactics.vectors.lanes`.

How the groups of a GPU share folds is in `fold_plans`, and how they share windows in `window_plans`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from relift.device import DeviceDescription
from relift.egraph.cost.model import least_seconds
from relift.egraph.search.guidance.block_plans import LINE, ROWS
from relift.egraph.search.guidance.fold_plans import KEPT_MEMBERS, ROW_MEMBERS, WIDTH
from relift.egraph.sketches.language import Sketch
from relift.rewrites.tactics.combinators import Tactic, apply, fuse, inside, then
from relift.rewrites.tactics.folds.by_rows import columns_by_rows
from relift.rewrites.tactics.folds.in_vectors import rows_in_vectors
from relift.rewrites.tactics.folds.shared import (
    blocks_across_results,
    blocks_of_folds,
    folds_that_share,
    tables_in_registers,
)
from relift.rewrites.tactics.groups.dimensions import (
    columns_of_rows,
    items_of_columns,
    items_of_rows,
    items_of_three,
    lines_by_groups,
)
from relift.rewrites.tactics.groups.row_chunks import rows_in_chunks
from relift.rewrites.tactics.groups.row_tiles import rows_in_groups, tiles_across, zipped_across
from relift.rewrites.tactics.groups.rows.by_groups import rows_by_groups, rows_together
from relift.rewrites.tactics.groups.rows.in_lanes import columns_in_lanes_of_groups
from relift.rewrites.tactics.groups.rows.side_by_side import rows_side_by_side
from relift.rewrites.tactics.groups.scan_chunks import scans_in_chunks
from relift.rewrites.tactics.groups.stages import stages_by_groups, tiles_both_ways
from relift.rewrites.tactics.groups.tables import in_tables
from relift.rewrites.tactics.groups.tiles import cells_copied
from relift.rewrites.tactics.looked_up import tuples_side_by_side
from relift.rewrites.tactics.nests.where_read import through_zips
from relift.rewrites.tactics.vectors.folded_rows import rows_of_items
from relift.rewrites.tactics.vectors.lanes import (
    chunks_in_lanes,
    columns_in_lanes,
    depth_of,
    rows_in_lanes,
)
from relift.rewrites.tactics.vectors.register_blocks import rows_of_panels
from relift.rewrites.tactics.vectors.rows_of_parts import rows_of_parts
from relift.rewrites.tactics.vectors.strips import strips_in_lanes
from relift.rewrites.tactics.vectors.turned_tiles import narrow_in_lanes, tiles_in_lanes
from relift.semantics.indices.views import is_layout
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Accumulating, AtRuntimeUnsafe, Map, Reduce, Slide, Transpose
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import dimensions

_MOST_AROUND = 3
"""Dimensions of groups."""


@dataclass(frozen=True)
class TiledSketch:
    """A sketch, and the values of its tiles that are worth trying; sizes of the program included."""

    sketch: Sketch
    choices: tuple[Mapping[str, int], ...]


def lanes(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that compute neighbouring results in the lanes of vectors, for a CPU, whatever its driver packs.

    They raise `NoMatch` where the vectors do not suit the program.

    >>> from relift.egraph.search.guidance.plans import lanes
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import CPU, GPU
    >>> saxpy = load_program("examples/saxpy.py").at({"n": 1024})
    >>> len(list(lanes(saxpy, CPU))), len(list(lanes(saxpy, GPU)))
    (8, 0)
    """
    if device.kind != "cpu":
        return
    width = device.vector_width
    if any(isinstance(t, Transpose) for t, _ in subterms(program.body)):
        for tiles in (tiles_in_lanes(width), tiles_in_lanes(*_TURNED)):
            yield tiles
            if len(dimensions(program.body.type)[0]) > 2:
                yield in_tables(tiles, "map_to_glb")
        yield narrow_in_lanes(width)
        if is_layout(program.body):
            yield then(cells_copied, rows_in_lanes(width))
    if isinstance(program.body, Map):
        if depth_of(program.body) > 1:
            yield rows_of_panels(width)
            for cells in dict.fromkeys((max(width, LINE), width)):
                yield rows_in_lanes(cells)
                for down in ROWS:
                    yield strips_in_lanes(cells, down)
        else:
            yield rows_of_parts(width, device.nearest_bytes)
            yield columns_in_lanes(width)
            yield then(tables_in_registers(), columns_in_lanes(width))
            if device.turned_cycles >= _TURNED_BY_SHUFFLES:
                yield columns_in_lanes(width, registers=width)
            yield then(tables_in_registers(), chunks_in_lanes(width, 1))
            for vectors in _VECTORS:
                yield chunks_in_lanes(width, vectors)


_TURNED_BY_SHUFFLES = 1.0
"""Cycles from which on what a driver makes of lanes that lie in a row each is slower than shuffles of what is in registers.

Sums of 100,003 rows of 10 take two cores through Intel's, of 0.55, 0.073 ms as they are, and 0.089; places of the largest take PoCL, of 2.8, 0.24 and 0.11."""
_TURNED = (8, 4)
"""Sides of tiles, and of their blocks that are turned in registers."""
_VECTORS = (1, 16, 64)
"""How many vectors a work-item has of an array of one dimension."""


def shared_folds(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics by which a work-item of a CPU folds for several results.

    None where they share nothing that they read, and are not of columns either, which are read in strips of rows.

    >>> from relift.egraph.search.guidance.plans import shared_folds
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import CPU
    >>> len(list(shared_folds(load_program("examples/gemv.py"), CPU)))
    8
    >>> len(list(shared_folds(load_program("examples/saxpy.py"), CPU)))
    0
    """
    if device.kind != "cpu":
        return
    shared = bool(folds_that_share(_innermost(program.body)))
    fitting = [n for n in _TOGETHER if n + 2 <= device.vector_registers]
    if shared:
        together = [n for n in fitting if 1 < n <= _FOLDS]
        results = dimensions(_innermost(program.body).type)[0][0].constant or 0
        blocks = _BLOCKS_OF_FOLDS * max(1, device.compute_units)
        many = [n for n in together if n * blocks <= results]
        for n, lanes_ in itertools.product(many[:1] or together, _along_rows(program, device)):
            yield blocks_of_folds(n, lanes_)
    columns = any(isinstance(t, Transpose) for t, _ in subterms(program.body))
    if shared or columns:
        yield from (blocks_across_results(n, device.vector_width) for n in fitting)
    if columns:
        blocks, half = _BLOCKS_OF_ROWS * max(1, device.compute_units), device.nearest_bytes // 2
        folded = dimensions(_innermost(program.body).type)[0]
        few = bool(folded) and (folded[-1].constant or 0) < 2 * device.vector_width
        apart = few and device.packs != "loops"
        for lanes_ in (device.vector_width, 1) if apart else (device.vector_width,):
            yield from (columns_by_rows(blocks, r, lanes_, half) for r in _AT_A_TIME)


_SHORT, _NARROW = 8, 4
"""Rows of fewer vectors are folded in vectors of so many lanes, too: fewer numbers are left over, and fewer lanes to be folded at the end.

200,000 rows of 20 numbers times a vector take two cores 0.12 ms by vectors of 4 along the rows, and 0.46 by a vector of 16 and four numbers."""


def _along_rows(program: Program, device: DeviceDescription) -> tuple[int, ...]:
    """The lanes of vectors along rows that are folded on a CPU."""
    terms = [t for t, _ in subterms(program.body)]
    most = _SHORT * device.vector_width
    short = any(isinstance(t, Reduce) and (t.solved["n"].constant or most) < most for t in terms)
    width = device.vector_width
    narrow = short and width > _NARROW and not any(isinstance(t, Slide) for t in terms)
    return (width, _NARROW) if narrow else (width,)


def _innermost(t: Term) -> Term:
    return _innermost(t.f.body) if isinstance(t, Map) and depth_of(t) > 1 else t


_BLOCKS_OF_ROWS, _AT_A_TIME = 4, (8, 4)
"""Blocks of rows for each core, and rows that are added while accumulators are in registers: 4096 x 4096 take 1.7 and 1.9 ms.

Of few columns each may have an accumulator of its own, one loop for all: a million rows of 5 numbers take PoCL's two cores 0.55 ms so and 1.1 in
a vector of four and one alone, those of 20 both drivers 1.1 and 3.4; Intel's, which packs such work-items, takes 1.6 and 0.8 of 5, and 3.8 and 1.2 of 8."""
_TOGETHER, _FOLDS = (16, 8, 4, 2, 1), 8
"""How many vectors of neighbouring results a work-item folds, and how many folds that share what they read at most."""
_BLOCKS_OF_FOLDS = 4
"""Blocks of such folds for each core, where no smaller ones are tried: memory sends few rows slower than many.

A product of a matrix of 2^24 numbers with a vector takes a core 4.2, 5.4, 4.5 and 3.6 ms in 1, 2, 4 and 8 rows of 4 KB at a time, and
4.8, 4.5, 3.8 and 3.5 of 16 KB."""

_CHUNKS = ((32, 64), (64, 32), (32, 128), (128, 16))
"""Work-items of a group that go through their rows together, and the columns of which it copies each time."""
_SMALL = (32, 32)
"""The same where what a step reads and carries are many numbers."""

_ITEMS = (128, 64, 32)
"""Work-items of a group that copies its rows to local memory."""
_LANES_OF_COLUMNS = (4, 2, 1)
"""Neighbouring columns that a work-item folds together."""
_LANES_OF_ROWS, _ITEMS_OF_LANES = 2, (64, 32)
"""Rows that a work-item has together, and work-items of a group: k-means takes an H200 34.1 and 35.6 us so, and 38.5 with a row for each."""
_SIDES = (32, 16)
"""Rows and columns of a tile that is read down and written across."""


_ROWS_OF_ITEM = 4
"""Rows of which a work-item has a column: so many loads are on their way, and a GPU begins fewer groups.

A Khatri-Rao product of 1001 x 70 and 303 x 70 numbers takes an H100 80 us with a work-item for each of its numbers, 38 with four rows, and 39
with eight; an update of rank one of 5001 x 4003 numbers 81, 65 and 66."""
_LANES_OF_ITEM = (1, 2, 4)
"""Neighbours in such a column: the Khatri-Rao product takes an H200 34 us, and 29.5 by pairs."""
_LINES = ((8, 256), (4, 256), (8, 128), (1, 256))
"""Lines of a group, and its work-items."""


def several_dimensions(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """A work-item of a GPU for each element of maps in three dimensions or down columns, or groups that have some lines of up to four.

    They raise `NoMatch` for others.
    """
    if device.kind == "gpu":
        ways = (
            items_of_three(),
            items_of_columns(),
            items_of_rows(),
            *(lines_by_groups(lines, members) for lines, members in _LINES),
            *(columns_of_rows(_ROWS_OF_ITEM, lanes) for lanes in _LANES_OF_ITEM),
        )
        yield from ways
        yield from (then(_COMPUTED_WHERE_READ, way) for way in ways)


_COMPUTED_WHERE_READ: Tactic = through_zips(again=True)
"""What is the same for a line is computed by each work-item that reads it: a few operations beside a load from memory."""


def shared_rows(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that give the rows, or the tiles, that a map goes through to the groups of a GPU, which copy them to local memory.

    They raise `NoMatch` where neighbours read no rows of their own, and no columns.
    """
    if device.kind != "gpu":
        return
    if isinstance(program.body, Map):
        in_order = list(rows_in_order(program, device, (*_CHUNKS, _SMALL)))
        room = device.local_memory_bytes
        yield from in_order or (rows_in_chunks(*chunk, room) for chunk in _CHUNKS)
        for items in _ITEMS:
            rows = rows_in_groups(items, device.local_memory_bytes)
            yield rows
            yield then(tables_in_registers(), rows)
            for d in range(1, min(depth_of(program.body) - 1, 2) + 1):
                rows = then(inside("f")(rows), apply("map_to_wrg", d=d))
                yield rows
        lanes = [columns_in_lanes_of_groups(n) for n in _LANES_OF_COLUMNS]
        lanes += [rows_in_groups(n, room, _LANES_OF_ROWS) for n in _ITEMS_OF_LANES]
        if depth_of(program.body) > 1:  # of each table of several
            lanes = [then(inside("f")(tactic), apply("map_to_wrg", d=1)) for tactic in lanes]
        for tactic in lanes:
            yield tactic
            yield then(tables_in_registers(), tactic)
    for side in _SIDES:
        yield in_tables(tiles_across(side))
        yield in_tables(zipped_across(side))


def rows_in_order(
    program: Program,
    device: DeviceDescription,
    chunks: Sequence[tuple[int, int]] = (_CHUNKS[0], _SMALL),
) -> Iterator[Tactic]:
    """Tactics that give rows which are folded or scanned in order to the groups of a GPU, chunk by chunk.

    None where nothing is; they raise `NoMatch` where it is not rows.
    """
    in_order = any(isinstance(t, Accumulating) for t, _ in subterms(program.body))
    if device.kind == "gpu" and isinstance(program.body, Map) and in_order:
        for items, columns in chunks:
            yield rows_in_chunks(items, columns, device.local_memory_bytes)
            yield scans_in_chunks(items, columns, device.local_memory_bytes)


def staged_blocks(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that give each block that maps go through to a group of a GPU, with what stands between its stages in local memory."""
    if device.kind == "gpu":
        for depth in range(1, _MOST_AROUND + 1):
            yield stages_by_groups(depth, device.local_memory_bytes)
            yield tiles_both_ways(depth, device.local_memory_bytes)


def folded_rows(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that give a row that is folded, once or several times, to each group of a GPU, or to each work-item of a CPU.

    They raise `NoMatch` where a group does not share the row evenly, or the row does not fill vectors.

    >>> from relift.egraph.search.guidance.plans import folded_rows
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import CPU, GPU
    >>> product = load_program("examples/gemv.py")
    >>> len(list(folded_rows(product, GPU))), len(list(folded_rows(product, CPU)))
    (16, 1)
    """
    for depth in range(1, min(depth_of(program.body), 3) + 1):
        if device.kind == "cpu":
            for lanes_ in _along_rows(program, device):
                yield rows_of_items(depth, lanes_, device.nearest_bytes)
        else:
            for members in ROW_MEMBERS:
                yield rows_by_groups(depth, members, WIDTH, device.local_memory_bytes)
            for rows, members in _ROWS_TOGETHER:
                yield rows_together(depth, rows, members)
            short = least_seconds(program, device) < _WORTH_ONE * device.launch_seconds
            for columns, members in _COLUMNS_TOGETHER if short else _LONG_COLUMNS_TOGETHER:
                yield rows_together(depth, columns, members, across=True)
            for members in KEPT_MEMBERS:
                yield rows_by_groups(depth, members, WIDTH, device.local_memory_bytes, kept=True)
            for most, items in _SIDE_BY_SIDE:
                yield rows_side_by_side(depth, most, items, WIDTH)


_ROWS_TOGETHER = ((8, 32), (16, 16))
"""Rows of a group, and its work-items for each: short rows are read faster than a GPU begins groups."""


_SIDE_BY_SIDE = ((4, 128), (8, 256), (16, 256))
"""At most so many members of each row, and about so many work-items of a group, where rows are shorter than a group has use for."""

_COLUMNS_TOGETHER = ((32, 8), (64, 4), (16, 16))
"""Columns of a group, and its work-items for each: one launch, where chunks of a work-item each need another one to be added.

Sums of the columns of 3001 x 2003 numbers take an H100 13 us so, and 17 in chunks."""
_LONG_COLUMNS_TOGETHER = ((32, 32),)
"""The same of columns that are long: the largest groups.

Products of 8192 columns of 8192 numbers with a vector take an H200 66 us so, and in chunks 73 with the sums of what these come to.
"""
_WORTH_ONE = 8.0
"""What takes so many times as long as a launch at least is done in chunks: there are more of them than of such groups.

Of 8192^2 numbers sums of columns take an H100 94 us by groups, and 97 in chunks, but products with a vector 102 and 99, and variances 206
and 193."""


def looked_up(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics by which what is looked up at indices that are data lies together; none where nothing is.

    >>> from relift.egraph.search.guidance.plans import looked_up
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import GPU
    >>> len(list(looked_up(load_program("examples/md.py"), GPU)))
    11
    """
    found = any(isinstance(t, AtRuntimeUnsafe) for t, _ in subterms(program.body))
    if device.kind == "gpu" and found:
        each = then(fuse(), apply("map_to_glb", d=0))
        rows = (rows_in_groups(items, device.local_memory_bytes) for items in _ITEMS)
        chunks = (rows_in_chunks(*chunk, device.local_memory_bytes) for chunk in _CHUNKS)
        teams = (rows_together(1, *team) for team in _ROWS_TOGETHER)
        for tactic in (each, rows_in_vectors(WIDTH), *rows, *chunks, *teams):
            yield then(tactic, tuples_side_by_side)
