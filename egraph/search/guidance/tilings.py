"""Which tiles of a nest are worth a derivation: all that a device has room for, priced, the best few first.

A price is a count: multiply-adds, what is read from local memory for them, and what the groups read from memory, each
over what a unit of the device does in a cycle.  Groups share the units, so a tile that is a little too large for a
small result leaves units idle.  What a derived program costs is then estimated from its text (see `cost`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from relift.device import DeviceDescription
from relift.egraph.cost.kernel import balance
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic
from relift.rewrites.tactics.folds.starts import in_any_parts
from relift.rewrites.tactics.groups.tiles import tile_for_groups
from relift.rewrites.tactics.groups.tiling.sizes import OTHER_REGISTERS, REGISTER_FILE, Tiles
from relift.rewrites.tactics.nests.dimensions import nested
from relift.rewrites.tactics.nests.gathered import has_scattered_operands, scattered_operands_copied
from relift.rewrites.tactics.nests.normal_form import OPERANDS, nest_in
from relift.rewrites.tactics.nests.split_folds import folds_in_parts
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Reduce, Reduction
from relift.semantics.syntax.binding import positions, term_at
from relift.semantics.syntax.terms import Apply, Combine, Lambda, Term, children
from relift.semantics.syntax.types import Scalar, Tuple, Type, cells, dimensions, types_within

DERIVED = 8
"""How many tilings of a nest are carried out."""

_SIDES = range(16, 161)
_DEPTHS = range(8, 41)
_PADDED = tuple(range(16, 161, 16))
"""Sides of tiles for a nest that they need not divide: some of its rows or columns are then computed in vain."""
_RESTS = tuple(range(8, 41, 8))
_WHOLE = 16
"""Depths that leave a rest of the folds, and the one that must leave one before others may: those that divide 8200, 8 or 20 and 40, suit no large tiles."""
_BLOCKS = (2, 1)
_NARROW_BLOCKS = (4, 2, 1)
"""Of vectors of two long numbers, of which a block has as many then."""
_WARP = 32
"""Work-items that a unit of a GPU runs together."""

_LANES = 128
"""Multiply-adds that a unit of a GPU does in a cycle."""
_LOCAL = 80
"""Numbers that a unit reads from local memory in a cycle, as vectors of which many work-items read the same."""
_HIDING = 256
"""Work-items that a unit needs on their way, so that none waits for memory."""
_HIDING_AHEAD = 160
"""The same where they fetch ahead: so prices of 300 tilings of 16 products keep nearest to what an H100 takes."""
_WRITTEN_OUT = 1536
"""Multiply-adds of a turn, which is written out, that stay in the cache of instructions."""
_FETCHED = 1.3
"""What a longer turn costs more: 4097^3 takes 3.8 ms in tiles 24 deep, and 4.2 to 4.5 ms in tiles as large, 40 deep."""
_TURN = 60.0
"""Cycles of a group for each of its barriers."""
_WAITED = 0.1
"""What a group waits for a chunk, as a part of what it computes with it."""
_WAITED_AHEAD = 0.05
"""The same where it fetches the next one meanwhile: 4096^3 takes 2.95 ms on an H200, and 3.07 ms otherwise."""
_RESIDENT = 2048
"""Work-items that a unit holds at most."""
_PARTS = range(2, 257)
"""Of how many parts folds are made that several groups have: of those that divide them, and of some that leave a few steps."""
_NEXT_PARTS = 1.25
"""How many times as many parts are tried next, of those that leave a rest."""
_MOST_LEFT = 16
"""Steps that parts leave at most: whoever adds the results of parts goes on with them."""
_LEAST_PART = 128
"""Steps of a part at least: its results are written and read once more."""
_FEW = 64
"""With how few work-items that fetch ahead a unit takes twice as long.

1024 by 8192 by 1024 takes 473 us where each unit of an H200 has 128 that fetch ahead, 410 with 256 and 386 with 512."""
_OF_BLOCKS = ((64, 1.0), (32, 1.2), (0, 1.4))
"""How many times as long it takes where a work-item has fewer multiply-adds in a step: as many reads for them."""
_NEAR = 1.05
"""Folds in parts are carried out where they are priced at so many times whole ones at most."""
_TEAMS = (2, 4)
"""How many teams share a tile: no more than a vector has lanes, of each of which one has the rows."""
_SHARED = 4
"""How many tilings that teams share are carried out, of those that are priced below all that they do not."""
_SPLIT = 4
"""How many tilings of folds in parts are carried out; all fetch ahead, which is a twelfth faster."""
_COPIED = 4
"""How many tilings are carried out of operands that are copied first, where these lie scattered."""
_SPLIT_FEW = 2
"""How many more, of small blocks, where a unit has few work-items."""


@dataclass(frozen=True)
class Extent:
    """How large a nest is: its rows, columns and steps, how many of them there are, and how wide its numbers.

    Of how many numbers an element of what the folds read is, and a result; `work` is the multiply-adds of a step.
    Teams may share the steps of a fold where it may be made `in_parts`.
    """

    rows: int
    columns: int
    steps: int
    batches: int
    scalar_bytes: int
    element: int = 1
    result: int = 1
    work: int = 1
    in_parts: bool = True

    @property
    def words(self) -> int:
        """Registers of 32 bits that a number takes; a vector of 16 bytes, the widest access of a GPU, has so many times fewer.

        Products of 2048^2 numbers of 64 bits take an H200 0.76 ms by blocks of 8 x 8 whose vectors have two lanes, and 1.11 by vectors of four.
        """
        return max(1, self.scalar_bytes // 4)

    @property
    def multiply_adds(self) -> int:
        """Those of all."""
        return self.batches * self.rows * self.columns * self.steps * self.work


def extent_of(program: Program) -> Extent | None:
    """The nest of a program with fixed sizes; None where there is none, or its sizes are open.

    >>> from relift.egraph.search.guidance.tilings import extent_of
    >>> from relift.rewrites.loading import load_program
    >>> found = extent_of(load_program("examples/matmul.py").at({"n": 64, "m": 32, "k": 16}))
    >>> (found.rows, found.columns, found.steps), found.batches, found.scalar_bytes
    ((64, 32, 16), 1, 4)
    """
    try:
        t = nested()(Rewriting(program.body, "reassociate"), ()).term
    except NoMatch:
        return None
    nest = nest_in(t)
    if nest is None or not all(nest.lengths):
        return None
    batches = 1
    for place in nest.around:
        batches *= _length(term_at(t, place))
    result, read = nest.folded.type, dimensions(nest.folded.xs.type)[1]
    element = -(-_numbers(read) // len(OPERANDS))
    numbers = [t for t in (*types_within(result), *types_within(read)) if isinstance(t, Scalar)]
    return Extent(
        *nest.lengths,
        batches,
        max(number.bytes for number in numbers),
        element,
        _numbers(result),
        _multiply_adds(nest.folded) if element > 1 or isinstance(result, Tuple) else 1,
        _in_parts_of_any(nest.folded),
    )


def _in_parts_of_any(folded: Reduction) -> bool:
    """Whether a fold may be made of folds of any of its elements each, as far as the laws of its operator say."""
    if isinstance(folded, Reduce):
        return in_any_parts(folded.op, folded.type)
    steps = [f.body for _, f in children(folded) if isinstance(f, Lambda)]
    return all(isinstance(t, Combine) and in_any_parts(t.operator, t.type) for t in steps)


def _numbers(t: Type) -> int:
    """Of how many numbers a value is."""
    return cells(t).constant or 1


def _multiply_adds(folded: Reduction) -> int:
    """About how many a step has."""
    (step,) = (f for _, f in children(folded) if isinstance(f, Lambda))
    return max(1, sum(isinstance(t, Apply | Combine) for _, t in positions(step.body)) // 2)


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
    return _priced(nest, device, [(1, False), (1, True)])


def shared_tilings(nest: Extent, device: DeviceDescription) -> list[Tiles]:
    """Those that several teams of a group share, the best first; none of folds of tuples, or by an operator without the laws.

    >>> from relift.egraph.search.guidance.tilings import Extent, shared_tilings
    >>> from relift.device import GPU
    >>> [(t.rows, t.columns, t.teams) for t in shared_tilings(Extent(1024, 1024, 1024, 1, 4), GPU)[:1]]
    [(64, 128, 2)]
    """
    if nest.element > 1 or nest.result > 1 or not nest.in_parts:
        return []
    return _priced(nest, device, [(teams, True) for teams in _TEAMS])


def _priced(
    nest: Extent, device: DeviceDescription, kinds: Sequence[tuple[int, bool]]
) -> list[Tiles]:
    """The tiles of so many teams, which fetch ahead or do not, that a device has room for, the best first."""
    width = max(1, device.vector_width // nest.words)
    blocks = _BLOCKS if nest.words == 1 else _NARROW_BLOCKS
    sizes = itertools.product(
        sorted({*_divisors(nest.rows, _SIDES, width), *_PADDED}),
        sorted({*_divisors(nest.columns, _SIDES, width), *_PADDED}),
        _depths(nest.steps, width),
        blocks,
        blocks,
    )
    kind = partial(Tiles, width=width, element=nest.element, result=nest.result)
    tried = (kind(*each, teams=teams, ahead=ahead) for each in sizes for teams, ahead in kinds)
    found = [tiles for tiles in tried if tiles.fits(device, nest.scalar_bytes)]
    return sorted(found, key=lambda tiles: (price(nest, tiles, device), -tiles.depth))


def _depths(steps: int, width: int) -> list[int]:
    """How many steps of the folds a turn has."""
    rests = {d for d in _RESTS if d <= steps} if steps % _WHOLE else ()
    return sorted({*_divisors(steps, _DEPTHS, width), *rests})


def _divisors(length: int, among: range, width: int) -> list[int]:
    """Those of a range that divide a length and are whole vectors."""
    return [d for d in among if length % d == d % width == 0]


def price(nest: Extent, tiles: Tiles, device: DeviceDescription) -> float:
    """About how many cycles a nest takes in these tiles."""
    groups = nest.batches * -(-nest.rows // tiles.rows) * -(-nest.columns // tiles.columns)
    items = tiles.items
    team = items // tiles.teams  # has each step
    computed = nest.words * team * tiles.cells * nest.work / _LANES
    shares = -(-groups // device.compute_units)
    hiding = _HIDING_AHEAD if tiles.ahead else _HIDING
    running = on_the_way(nest, tiles, device)
    busy = min(1.0, running / hiding, balance(items, running / items))
    busy *= items / (-(-items // _WARP) * _WARP)
    read_again = nest.words * team * tiles.read / _LOCAL
    memory = device.bandwidth_gbs * 2 / (device.clock_ghz * device.compute_units)
    step = max(
        computed,
        read_again,
        (tiles.rows + tiles.columns) * nest.element * nest.scalar_bytes / memory,
    )
    if tiles.cells * nest.work * tiles.depth // tiles.teams > _WRITTEN_OUT:
        step *= _FETCHED
    waited = _WAITED_AHEAD if tiles.ahead else _WAITED
    overhead = (computed + read_again) * waited + _TURN / tiles.depth
    longer = next(times for least, times in _OF_BLOCKS if tiles.cells * nest.work >= least)
    steps = -(-nest.steps // tiles.depth) * tiles.depth  # what is left over takes a whole turn
    return shares * (steps * (step + overhead) * longer / busy + _added(nest, tiles))


def _added(nest: Extent, tiles: Tiles) -> float:
    """About how many cycles it takes to add the results of teams in local memory, block by block."""
    if tiles.teams == 1:
        return 0.0
    blocks = tiles.row_blocks * tiles.column_blocks
    moved = 2 * tiles.teams * tiles.rows * tiles.columns * nest.words * nest.result
    return 2 * blocks * _TURN + moved / _LOCAL


def on_the_way(nest: Extent, tiles: Tiles, device: DeviceDescription) -> int:
    """How many work-items a unit of a device has at a time; drivers find room for what is fetched ahead."""
    groups = nest.batches * -(-nest.rows // tiles.rows) * -(-nest.columns // tiles.columns)
    room = min(
        _RESIDENT // tiles.items,
        REGISTER_FILE // (tiles.items * (nest.words * tiles.held + OTHER_REGISTERS)),
        4 * device.local_memory_bytes // (nest.scalar_bytes * tiles.staged),
    )
    return min(-(-groups // device.compute_units), max(room, 1)) * tiles.items


def parts_of(
    nest: Extent, device: DeviceDescription, *, small: bool = False
) -> list[tuple[int, Tiles]]:
    """How many parts folds are made of, and their tiles, the best first; only where that is about as cheap as whole folds.

    Work-items have large blocks, if these are possible; with `small`, small ones, of which a unit has more.

    >>> from relift.egraph.search.guidance.tilings import Extent, parts_of
    >>> from relift.device import GPU
    >>> [(n, t.rows, t.columns) for n, t in parts_of(Extent(1024, 1024, 8192, 1, 4), GPU)[:1]]
    [(4, 128, 128)]
    >>> parts_of(Extent(4096, 4096, 256, 1, 4), GPU)
    []
    """
    if nest.batches > 1:
        return []
    whole, priced = _in_parts(nest, device)
    found: list[tuple[float, int, Tiles]] = []
    for _, each in itertools.groupby(priced, key=lambda one: one[1]):
        tiles = list(each)
        of_size = [t for t in tiles if (t[2].cells * nest.work < _OF_BLOCKS[0][0]) == small]
        found += of_size or tiles
    cheaper = sorted((one for one in found if one[0] < _NEAR * whole), key=lambda one: one[0])
    return [(parts, tiles) for _, parts, tiles in cheaper]


@lru_cache(maxsize=8)
def _in_parts(
    nest: Extent, device: DeviceDescription
) -> tuple[float, list[tuple[float, int, Tiles]]]:
    """The price of whole folds, and that of each number of parts in each of its tiles; all fetch ahead."""

    def ahead(of: Extent) -> list[Tiles]:
        return [tiles for tiles in tilings(of, device) if tiles.ahead]

    whole = min((_waiting(nest, tiles, device) for tiles in ahead(nest)), default=math.inf)
    found: list[tuple[float, int, Tiles]] = []
    for parts in _numbers_of_parts(nest.steps):
        each = replace(nest, steps=nest.steps // parts, batches=parts)
        after = summed(nest, parts, device)
        found += [(_waiting(each, t, device) + after, parts, t) for t in ahead(each)]
    return whole, found


def _numbers_of_parts(steps: int) -> list[int]:
    """Of how many parts folds of so many steps may be made: those that leave none, and one of each size that leaves the fewest."""
    possible = [p for p in _PARTS if steps // p >= _LEAST_PART and steps % p <= _MOST_LEFT]
    fewest: dict[int, int] = {}
    for p in sorted(possible, key=lambda p: (steps % p, -p)):
        fewest.setdefault(int(math.log(p, _NEXT_PARTS)), p)
    return sorted({*fewest.values(), *(p for p in possible if steps % p == 0)})


def _has_few(nest: Extent, parts: int, tiles: Tiles, device: DeviceDescription) -> bool:
    """Whether a unit of a device has few work-items where folds are made of so many parts."""
    each = replace(nest, steps=nest.steps // parts, batches=parts)
    return on_the_way(each, tiles, device) < _HIDING_AHEAD


def _waiting(nest: Extent, tiles: Tiles, device: DeviceDescription) -> float:
    """A price with what units wait that have few work-items."""
    few = _FEW / on_the_way(nest, tiles, device)
    return price(nest, tiles, device) * (1 + few**2)


def summed(nest: Extent, parts: int, device: DeviceDescription) -> float:
    """About how many cycles it takes to write the results of parts, and to fold them by a second kernel."""
    moved = (2 * parts + 1) * nest.rows * nest.columns * nest.result * nest.scalar_bytes
    seconds = device.launch_seconds + moved / (device.bandwidth_gbs * 1e9)
    return seconds * device.clock_ghz * 1e9


def worth(nest: Extent, device: DeviceDescription) -> list[Tiles]:
    """The tilings that are carried out: the best few by price, and the best for a nest so large that no unit is idle.

    What is left over of a nest is priced well, and what its tiles make of a unit less so: the clock decides.

    >>> from relift.egraph.search.guidance.tilings import Extent, worth
    >>> from relift.device import GPU
    >>> [tile in [(t.rows, t.columns) for t in worth(Extent(1024, 1024, 1024, 1, 4), GPU)] for tile in ((128, 128), (64, 128), (128, 64))]
    [True, True, False]
    """
    found = tilings(nest, device)
    chosen: list[Tiles] = []
    for ahead in (True, False):  # which of them a driver makes more of, only the clock says
        alike = [tiles for tiles in found if tiles.ahead == ahead]
        chosen += _different(alike)[: DERIVED // 2]
        if nest.batches == 1:
            chosen += sorted(alike, key=lambda tiles: _for_each_cell(nest, tiles, device))[:1]
    least = min((price(nest, tiles, device) for tiles in found[:1]), default=math.inf)
    shared = (t for t in shared_tilings(nest, device) if price(nest, t, device) < least)
    chosen += _different([*shared])[:_SHARED]
    return list(dict.fromkeys(chosen))


def _different(found: Sequence[Tiles]) -> list[Tiles]:
    """Of tilings that differ in what lies across only, the first: they take about as long, and others are tried instead."""
    kinds: dict[tuple[int, ...], Tiles] = {}
    for tiles in found:
        sides = sorted((tiles.rows, tiles.columns))
        kinds.setdefault((*sides, tiles.depth, tiles.cells), tiles)
    return list(kinds.values())


def _for_each_cell(nest: Extent, tiles: Tiles, device: DeviceDescription) -> float:
    """The price of a cell where the tiles divide the nest, and all units have as many groups."""
    rows, columns = tiles.rows * device.compute_units, tiles.columns * _GROUPS_OF_A_UNIT
    large = replace(nest, rows=rows, columns=columns)
    return price(large, tiles, device) / (rows * columns)


_GROUPS_OF_A_UNIT = 8


def nest_tiles(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that compute a nest with fixed sizes in tiles, for the groups of a GPU, the best few.

    None for other devices, for programs without a nest, and for sizes that no tiles divide.  A tactic may raise
    `NoMatch`.

    >>> from relift.egraph.search.guidance.tilings import nest_tiles
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import CPU, GPU
    >>> product = load_program("examples/matmul.py").at({"n": 512, "m": 512, "k": 512})
    >>> len(list(nest_tiles(product, GPU))), len(list(nest_tiles(product, CPU)))
    (14, 0)
    """
    extent = extent_of(program) if device.kind == "gpu" else None
    if extent is not None:
        found = worth(extent, device)
        yield from map(tile_for_groups, found)
        if has_scattered_operands(program.body):
            yield from (scattered_operands_copied(tile_for_groups(t)) for t in found[:_COPIED])
        in_parts = _both(extent, parts_of(extent, device), _SPLIT)
        if any(_has_few(extent, *each, device) for each in in_parts):
            in_parts += _both(extent, parts_of(extent, device, small=True), _SPLIT_FEW)
        for parts, tiles in in_parts:
            yield folds_in_parts(
                parts, tile_for_groups(tiles), tiles.rows, tiles.columns, tiles.depth
            )


def _both(nest: Extent, found: Sequence[tuple[int, Tiles]], most: int) -> list[tuple[int, Tiles]]:
    """The first of parts that leave no steps of the folds, and of those that do."""
    whole = [each for each in found if nest.steps % each[0] == 0]
    leaving = [each for each in found if nest.steps % each[0]]
    return whole[:most] + leaving[:_SPLIT_FEW]
