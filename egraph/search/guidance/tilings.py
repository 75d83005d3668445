"""Which tiles of a nest are worth a derivation: all that a device has room for, priced, the best few first.

A price is a count: multiply-adds, what is read from local memory for them, and what the groups read from memory, each
over what a unit of the device does in a cycle.  Groups share the units, so a tile that is a little too large for a
small result leaves units idle.  What a derived program costs is then estimated from its text (see `cost`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from relift.device import DeviceDescription
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic
from relift.rewrites.tactics.groups.tiles import (
    OTHER_REGISTERS,
    REGISTER_FILE,
    Tiles,
    tile_for_groups,
)
from relift.rewrites.tactics.nests.dimensions import nested
from relift.rewrites.tactics.nests.normal_form import nest_in
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import term_at
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import Scalar, dimensions

DERIVED = 8
"""How many tilings of a nest are carried out."""

_SIDES = range(16, 161)
_DEPTHS = range(8, 41)
_PADDED = tuple(range(16, 161, 16))
"""Sides of tiles for a nest that they need not divide: some of its rows or columns are then computed in vain."""
_RESTS = tuple(range(8, 41, 8))
"""Depths that leave a rest of the folds, where none divides them."""
_BLOCKS = (2, 1)
_WARP = 32
"""Work-items that a unit of a GPU runs together."""

_LANES = 128
"""Multiply-adds that a unit of a GPU does in a cycle."""
_LOCAL = 80
"""Numbers that a unit reads from local memory in a cycle, as vectors of which many work-items read the same."""
_HIDING = 256
"""Work-items that a unit needs on their way, so that none waits for memory."""
_HIDING_AHEAD = 128
"""The same where they fetch ahead: 1024^3 takes 59 us in tiles of 64 by 128 with so many, on an H200."""
_WRITTEN_OUT = 1536
"""Multiply-adds of a turn, which is written out, that stay in the cache of instructions."""
_FETCHED = 1.12
"""What a longer turn costs more: 4097^3 takes 3.8 ms in tiles 24 deep, and 4.2 to 4.5 ms in tiles as large, 40 deep."""
_TURN = 60.0
"""Cycles of a group for each of its barriers."""
_WAITED = 0.1
"""What a group waits for a chunk, as a part of what it computes with it."""
_WAITED_AHEAD = 0.05
"""The same where it fetches the next one meanwhile: 4096^3 takes 2.95 ms on an H200, and 3.07 ms otherwise."""
_RESIDENT = 2048
"""Work-items that a unit holds at most."""


@dataclass(frozen=True)
class Extent:
    """How large a nest is: its rows, columns and steps, how many of them there are, and how wide its numbers."""

    rows: int
    columns: int
    steps: int
    batches: int
    scalar_bytes: int


def extent_of(program: Program) -> Extent | None:
    """The nest of a program with fixed sizes; None where there is none, or its sizes are open.

    >>> from relift.egraph.search.guidance.tilings import extent_of
    >>> from relift.rewrites.loading import load_program
    >>> extent_of(load_program("examples/matmul.py").at({"n": 64, "m": 32, "k": 16}))
    Extent(rows=64, columns=32, steps=16, batches=1, scalar_bytes=4)
    """
    try:
        t = nested()(Rewriting(program.body, "reassociate"), ()).term
    except NoMatch:
        return None
    nest = nest_in(t)
    if nest is None or not all(nest.lengths):
        return None
    scalar = nest.folded.type
    assert isinstance(scalar, Scalar), "cannot happen: the folds of a nest give scalars"
    batches = 1
    for place in nest.around:
        batches *= _length(term_at(t, place))
    return Extent(*nest.lengths, batches, scalar.bytes)


def _length(t: Term) -> int:
    """How many elements a map has."""
    return dimensions(t.type)[0][0].constant or 1


def tilings(nest: Extent, device: DeviceDescription) -> list[Tiles]:
    """The tiles that a device has room for, the best first: those that divide a nest, and those by which it is padded.

    >>> from relift.egraph.search.guidance.tilings import Extent, tilings
    >>> from relift.device import GPU
    >>> [(t.rows, t.columns) for t in tilings(Extent(4096, 4096, 4096, 1, 4), GPU)[:1]]
    [(128, 128)]
    >>> [(t.rows, t.columns) for t in tilings(Extent(256, 256, 4096, 1, 4), GPU)[:2]]
    [(32, 64), (64, 32)]
    >>> [(t.rows, t.columns, t.depth) for t in tilings(Extent(4097, 4097, 4097, 1, 4), GPU)[:1]]
    [(96, 128, 24)]
    """
    width = device.vector_width
    more = _PADDED if nest.batches == 1 else ()
    sizes = itertools.product(
        sorted({*_divisors(nest.rows, _SIDES, width), *more}),
        sorted({*_divisors(nest.columns, _SIDES, width), *more}),
        _divisors(nest.steps, _DEPTHS, width) or _RESTS,
        _BLOCKS,
        _BLOCKS,
    )
    tried = (Tiles(*each, width=width, ahead=ahead) for each in sizes for ahead in (False, True))
    found = [tiles for tiles in tried if tiles.fits(device, nest.scalar_bytes)]
    return sorted(found, key=lambda tiles: (price(nest, tiles, device), -tiles.depth))


def _divisors(length: int, among: range, width: int) -> list[int]:
    """Those of a range that divide a length and are whole vectors."""
    return [d for d in among if length % d == d % width == 0]


def price(nest: Extent, tiles: Tiles, device: DeviceDescription) -> float:
    """About how many cycles a nest takes in these tiles."""
    groups = nest.batches * -(-nest.rows // tiles.rows) * -(-nest.columns // tiles.columns)
    down, across = tiles.work_items
    items, cells = down * across, tiles.rows * tiles.columns
    shares = -(-groups // device.compute_units)
    room = min(
        _RESIDENT // items,
        REGISTER_FILE // (items * (tiles.registers + OTHER_REGISTERS)),
        4 * device.local_memory_bytes // (nest.scalar_bytes * tiles.staged),
    )
    hiding = _HIDING_AHEAD if tiles.ahead else _HIDING
    busy = min(1.0, min(shares, max(room, 1)) * items / hiding)
    busy *= items / (-(-items // _WARP) * _WARP)
    read_again = items * (tiles.registers - tiles.fetched - cells // items)
    memory = device.bandwidth_gbs * 2 / (device.clock_ghz * device.compute_units)
    step = max(
        cells / _LANES,
        read_again / _LOCAL,
        (tiles.rows + tiles.columns) * nest.scalar_bytes / memory,
    )
    if cells // items * tiles.depth > _WRITTEN_OUT:
        step *= _FETCHED
    waited = _WAITED_AHEAD if tiles.ahead else _WAITED
    overhead = (cells / _LANES + read_again / _LOCAL) * waited + _TURN / tiles.depth
    copied = any((nest.rows % tiles.rows, nest.columns % tiles.columns))
    cycles = shares * nest.steps * (step + overhead) / busy
    if copied:  # the result is written, read and written
        cycles += 2 * nest.rows * nest.columns * nest.scalar_bytes / memory / device.compute_units
    return cycles


def nest_tiles(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that compute a nest with fixed sizes in tiles, for the groups of a GPU, the best few.

    None for other devices, for programs without a nest, and for sizes that no tiles divide.  A tactic may raise
    `NoMatch`.

    >>> from relift.egraph.search.guidance.tilings import nest_tiles
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import CPU, GPU
    >>> product = load_program("examples/matmul.py").at({"n": 512, "m": 512, "k": 512})
    >>> len(list(nest_tiles(product, GPU))), len(list(nest_tiles(product, CPU)))
    (8, 0)
    """
    extent = extent_of(program) if device.kind == "gpu" else None
    if extent is not None:
        found = tilings(extent, device)
        for ahead in (True, False):  # which of them a driver makes more of, only the clock says
            for tiles in [t for t in found if t.ahead == ahead][: DERIVED // 2]:
                yield tile_for_groups(tiles)
