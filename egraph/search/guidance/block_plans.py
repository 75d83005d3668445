"""Plans for nests on a CPU: blocks in vector registers, whose sizes are those of its register file and its caches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from relift.device import DeviceDescription
from relift.egraph.cost.beyond import KEPT
from relift.egraph.cost.rows import PAGES_KNOWN
from relift.egraph.cost.walked import KEPT as KEPT_NEAREST
from relift.egraph.cost.walked import PAGE_BYTES
from relift.egraph.search.guidance.tilings import Extent, extent_of
from relift.rewrites.tactics.combinators import Tactic
from relift.rewrites.tactics.nests.split_folds import folds_in_parts
from relift.rewrites.tactics.vectors.folds_along import Along, folds_along
from relift.rewrites.tactics.vectors.register_blocks import Block, blocks_of_pairs
from relift.rewrites.tactics.vectors.strips import folds_in_strips
from relift.semantics.language.programs import Program

ROWS = (8, 4, 2)
"""How many rows of windows, or of a nest, a work-item of a CPU has below one another."""

LINE = 16
"""Cells of a line of a cache: rows that are written a line at a time need none that they have begun again."""


def register_blocks(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that compute a nest block by block; none for other programs.

    A GPU has `nest_tiles` instead: its work-items share what they read.  The second operand is copied in the
    order in which the blocks read it, or read where it is, if no block reads beyond the end of its rows.

    >>> from relift.egraph.search.guidance.block_plans import blocks_of, register_blocks
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import CPU
    >>> product = load_program("examples/matmul.py").at({"n": 64, "m": 64, "k": 64})
    >>> blocks_of(64, 64, CPU)[0]
    Block(rows=4, vectors=4, lanes=16, packed=True, stored=True, rows_packed=False)
    >>> len(list(register_blocks(product, CPU)))
    23
    """
    nest = extent_of(program) if device.kind == "cpu" else None
    if nest is not None:
        for block in blocks_of(nest.rows, nest.columns, device)[:_BLOCKS]:
            yield blocks_of_pairs(block)
            yield blocks_of_pairs(replace(block, packed=False))
        padding = padding_blocks(nest.rows, nest.columns, device)
        if nest.batches == 1 and nest.rows <= _FEW_ROWS:
            for block in blocks_of(nest.rows, nest.columns, device)[:_DEEP]:
                yield blocks_of_pairs(replace(block, packed=False, rows_packed=True))
            for block in padding[:_DEEP]:
                yield blocks_of_pairs(replace(block, packed=False, rows_packed=True, stored=False))
        if padding:
            yield from (folds_in_strips(device.vector_width, down) for down in ROWS)
        for block in padding[:_BLOCKS]:
            yield blocks_of_pairs(replace(block, stored=False))
            if nest.columns % block.columns == 0:
                yield blocks_of_pairs(replace(block, packed=False, stored=False))
            if nest.batches == 1:
                yield blocks_of_pairs(block)
        yield from _deep_blocks(nest, device)
        for along in blocks_along(nest, device):
            yield folds_along(along)


def blocks_along(nest: Extent, device: DeviceDescription) -> list[Along]:
    """The blocks of a nest whose vectors go along its folds, the best first: those that load the fewest vectors for each result.

    >>> from relift.device import CPU
    >>> from relift.egraph.search.guidance.block_plans import blocks_along
    >>> from relift.egraph.search.guidance.tilings import Extent
    >>> blocks_along(Extent(rows=2, columns=1000, steps=4096, batches=1, scalar_bytes=4), CPU)[0]
    Along(rows=2, columns=8, lanes=16)
    """
    widths = (w for w in (16, 8, 4) if w <= device.vector_width and nest.steps % w == 0)
    lanes = next(widths, None)
    if lanes is None or nest.steps < _TURNS * lanes or nest.scalar_bytes * nest.element > 4:
        return []
    sides = itertools.product(range(1, min(nest.rows, 8) + 1), range(1, min(nest.columns, 8) + 1))

    def price(rows: int, columns: int) -> float:
        whole = -(-nest.rows // rows) * -(-nest.columns // columns)
        return (max(rows * columns, _LATENCY) + (rows + columns) / 2) * whole

    fitting = [each for each in sides if math.prod(each) + min(each) + 1 <= _room(device)]
    return [Along(*each, lanes) for each in sorted(fitting, key=lambda s: price(*s))[:_ALONG]]


_ALONG = 3
"""How many blocks along folds are tried."""

_TURNS = 4
"""Vectors that a row has at least for each of those that its lanes are folded in at the end."""


def _deep_blocks(nest: Extent, device: DeviceDescription) -> Iterator[Tactic]:
    """Blocks for a nest whose folds are so long that what a block reads leaves its core's second cache: parts of the folds.

    Or that it reads more pages than the core knows, where it goes down rows of its second operand as they lie.
    """
    if nest.batches > 1:
        return
    dividing = blocks_of(nest.rows, nest.columns, device)[: _DEEP // 2]
    padding = padding_blocks(nest.rows, nest.columns, device)[: _DEEP - len(dividing)]
    for block in (*dividing, *padding):
        kept = _parts_kept(nest, block.columns + max(block.rows, LINE), KEPT * device.second_bytes)
        pages = nest.steps * min(1.0, nest.columns * nest.scalar_bytes / PAGE_BYTES)
        for packed, fewest in ((True, kept), (False, max(kept, math.ceil(pages / PAGES_KNOWN)))):
            for parts in _parts(nest, fewest):
                blocks = blocks_of_pairs(replace(block, packed=packed))
                yield folds_in_parts(parts, blocks, block.rows, block.columns)
    for along in blocks_along(nest, device):
        rows = along.rows + along.columns
        kept = _parts_kept(nest, rows, KEPT * device.second_bytes)
        near = _parts_kept(nest, rows, KEPT_NEAREST * device.nearest_bytes)
        for fewest in (kept, near) if kept > 1 else ():
            for parts in _parts(nest, fewest, along.lanes):
                yield folds_in_parts(parts, folds_along(along), along.rows, along.columns)


def _parts_kept(nest: Extent, rows: int, cache: float) -> int:
    """The parts of folds at least for so many bytes of a cache to keep what a block reads, so many rows."""
    return math.ceil(rows * nest.steps * nest.scalar_bytes / max(1.0, cache))


def _parts(nest: Extent, fewest: int, lanes: int = 1) -> list[int]:
    """The least number of parts for a nest that has to have so many, each a multiple of `lanes` long; none where one suffices, or too many.

    Of 100 x 100 products of 100,000 steps a part of 4000 is kept: in 25 of them, in blocks along the folds, they take two cores 20 to 22 ms, in 5 28,
    and in one 50.
    """
    read = (nest.rows + nest.columns) * nest.steps
    most = min(_PARTS, read // (_READ_FOR_STORED * nest.rows * nest.columns))
    if fewest <= 1:
        return []
    dividing = (n for n in range(fewest, most + 1) if nest.steps % (n * lanes) == 0)
    return list(itertools.islice(dividing, 1))


_DEEP = 4
"""So many blocks are tried, the first of all blocks: of shallow ones those do best that take the fewest instructions."""

_FEW_ROWS = 64
"""Rows of a nest at most that are copied side by side: what is copied is read again by each block of columns."""

_PARTS, _READ_FOR_STORED = 1024, 4
"""Parts of a fold at most, and numbers that are read for each of theirs, which are stored and folded again."""

_BLOCKS = 8
"""How many blocks are tried, those first that take the fewest instructions for a product."""


def blocks_of(rows: int, columns: int, device: DeviceDescription) -> list[Block]:
    """The blocks that divide a result and that the registers of a CPU hold, the best first.

    >>> from relift.device import CPU
    >>> from relift.egraph.search.guidance.block_plans import blocks_of
    >>> blocks_of(1000, 999, CPU)
    []
    """
    lanes = [w for w in (16, 8, 4, 2) if w <= device.vector_width and columns % w == 0]
    blocks = _fitting(lanes[:1], device)
    dividing = (b for b in blocks if rows % b.rows == columns % b.columns == 0)
    return sorted(dividing, key=lambda b: (_instructions(b), b.rows))


def padding_blocks(rows: int, columns: int, device: DeviceDescription) -> list[Block]:
    """The blocks by which a result is padded, the best first; none where those that divide it do as well.

    >>> from relift.device import CPU
    >>> from relift.egraph.search.guidance.block_plans import padding_blocks
    >>> padding_blocks(1000, 999, CPU)[0], padding_blocks(960, 960, CPU)
    (Block(rows=8, vectors=3, lanes=16, packed=True, stored=True, rows_packed=False), [])
    """

    def price(b: Block) -> float:
        whole = -(-rows // b.rows) * b.rows * -(-columns // b.columns) * b.columns
        return _instructions(b) * whole / (rows * columns)

    blocks = _fitting([device.vector_width], device)
    # a vector may be longer than a row: some of its lanes are idle then, which the price says
    widest = max(columns, device.vector_width)
    inside = (b for b in blocks if b.rows <= rows and b.columns <= widest)
    found = sorted(inside, key=lambda b: (price(b), b.rows))
    dividing = blocks_of(rows, columns, device)[:1]
    enough = dividing and found and _instructions(dividing[0]) <= _PADDING_PAYS * price(found[0])
    return [] if enough else found


_PADDING_PAYS = 1.05
"""Blocks need not divide a result where they then take so many times fewer instructions.

Products of 1024^2 and 512^2 by blocks of 6 rows by 2 vectors of eight lanes, which divide neither, take two cores with AVX2 0.7 to 1.25
times as long as NumPy, by blocks of 4 by 2, which divide both, 1.0 to 1.5 times.  17 rows of 8192 columns, folds of 1000, take two cores 3.9 to 7 ms by columns of 17 rows and one vector, 2.4 by blocks of 6 by 4."""


def _fitting(lanes: Sequence[int], device: DeviceDescription) -> list[Block]:
    """The blocks that registers hold."""
    sides = itertools.product(lanes, range(1, device.vector_registers), range(1, 9))
    blocks = (Block(rows, vectors, width) for width, rows, vectors in sides)
    return [b for b in blocks if b.registers <= _room(device)]


def _room(device: DeviceDescription) -> int:
    """The vector registers that are for what a block holds."""
    return device.vector_registers - device.vector_registers // _ONE_SPARE_OF


_ONE_SPARE_OF = 16
"""Of so many registers a driver's compiler needs one for itself.

Blocks of 9 by 3, 14 by 2 and 5 by 5 vectors, which take 31 of 32 registers, multiply matrices of 1024^2 at 255, 255 and 310 GFLOP/s
through Intel's driver, and at 152, 250 and 162 through PoCL, which keeps some in memory; 8 by 3 and 6 by 4 at 296 and 283, 281 and 283.
"""


def _instructions(block: Block) -> float:
    """What a block takes for each result and step of its folds: multiply and add, half a load of a number, one of a vector.

    Vectors come from the second cache, a number's line stays in the first.  At least as many have to be on their way
    as are started while one of them is done.
    """
    results = block.rows * block.vectors
    loads = block.rows / 2 + block.vectors
    return (max(results, _LATENCY) + loads) / (results * block.lanes)


_LATENCY = 8
"""Multiply-adds that start while one is done: two a cycle for four cycles, as the CPUs of this decade do."""
