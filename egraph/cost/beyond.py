"""What cores of a CPU read again when their second cache does not have it any more: all of it comes from further away.

A loop, or a row of work-items, that does not move an access has it read the same cells in each turn.  Between one turn and the
next the core reads all that it reads inside, by this access and by others; the more of its second cache this fills, the less is left there.

The products of 256 columns of 8192 numbers with 512 take two cores 31 to 50 ms where each work-item goes through the whole matrix, of
16 MB, and 9.7 in blocks: of 4.3 GB that are read again a core gets a line in three to five cycles, as from its second cache, and those
of packed blocks, a tenth as much, while it computes.  In blocks of 8 by 32 those of 128 columns with 512 take 6.7 ms where a block's steps
read 1.5 MB, of a second cache of 2 MB, before the next reads them again, 5.8 where they read half of it, and 4.8 and 4.9 with a quarter and an eighth.
Rows that lie a power of two apart share sets of it: 64 rows times a matrix of 4096^2 take 31 ms where blocks read parts of its rows where they are,
and 9 where these are copied side by side, which takes 7.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import gcd

from relift.device import DeviceDescription
from relift.egraph.cost.fetched import Around, Moving, footprint
from relift.egraph.cost.strides import stride_of
from relift.egraph.cost.walked import LINE_BYTES
from relift.semantics.indices.atoms import Index

KEPT, _LOST = 0.25, 0.75
"""The parts of a second cache that may be read inside of a turn with all of it still there in the next, and with nothing."""

_ELSEWHERE = 1 << 40
"""The stride of an access that goes nobody knows where."""


@dataclass(frozen=True)
class Read:
    """How an access of a memory of so many bytes moves with what it stands in, outermost first; `known` if that does not depend on data."""

    moving: tuple[Moving, ...]
    memory_bytes: float
    cell_bytes: int
    known: bool

    def inside(self, around: Around) -> float | None:
        """The bytes of the lines that it reads in one turn; None where it is read elsewhere."""
        found = [i for i, m in enumerate(self.moving) if m.around.index is around.index]
        return None if not found else self.bytes(self.moving[found[0] + 1 :])

    def bytes(self, inside: Sequence[Moving]) -> float:
        """The bytes of the lines that it reads while so much moves it."""
        return min(footprint(inside, self.cell_bytes, LINE_BYTES)[0], self.memory_bytes)

    def room(self, inside: Sequence[Moving], device: DeviceDescription) -> float:
        """The bytes of the sets of a second cache in which these lines are: all of it, unless they lie apart by multiples of a power of two."""
        run = max(footprint(inside, self.cell_bytes)[1] * self.cell_bytes, LINE_BYTES)
        steps = [abs(m.stride) * self.cell_bytes for m in inside if m.stride]
        apart = [step for step in steps if step > run]
        if not apart or _ELSEWHERE * self.cell_bytes in apart:
            return device.second_bytes
        way = device.second_bytes // device.second_ways
        return min(device.second_bytes, device.second_ways * way / gcd(way, *apart) * run)


def read_of(around: Sequence[Around], offset: Index, memory_bytes: float, cell_bytes: int) -> Read:
    """How an access moves with what it stands in."""
    strides = [stride_of(offset, each.index) for each in around]
    moving = (
        Moving(each, _ELSEWHERE if stride is None else stride)
        for each, stride in zip(around, strides, strict=True)
    )
    return Read(tuple(moving), memory_bytes, cell_bytes, None not in strides)


def read_again(reads: Collection[Read], device: DeviceDescription, *, packed: bool) -> float:
    """The bytes of all accesses that cores read again from beyond their second cache; where work-items are `packed`, neighbours read a line together.

    >>> from dataclasses import replace
    >>> from relift.device import CPU
    >>> from relift.egraph.cost.beyond import Read, read_again
    >>> from relift.egraph.cost.fetched import Around, Moving
    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.syntax.sizes import Size
    >>> i, j, k = (variable(name, Size.of(64)) for name in "ijk")
    >>> items, rows, cells = Around(i, 64.0, "group"), Around(j, 8192.0, "loop"), Around(k, 512.0, "loop")
    >>> table = 8192 * 512 * 4.0
    >>> device = replace(CPU, second_bytes=2**20)
    >>> whole = Read((Moving(items, 0), Moving(rows, 512), Moving(cells, 1)), table, 4, True)
    >>> read_again([whole], device, packed=False) / table
    63.0
    >>> row = Read((Moving(items, 0), Moving(cells, 1)), table, 4, True)
    >>> read_again([row], device, packed=False)
    0.0
    >>> columns = Read((Moving(items, 1), Moving(rows, 512)), table, 4, True)
    >>> [read_again([columns], device, packed=p) > table for p in (False, True)]
    [True, False]
    """
    known = (read for read in reads if read.known and device.second_bytes)
    return sum(_again(read, reads, device, packed) for read in known)


def _again(read: Read, reads: Collection[Read], device: DeviceDescription, packed: bool) -> float:
    again = 0.0
    for i, m in reversed(list(enumerate(read.moving))):
        again *= m.around.turns
        if (same := _of_the_line_before(m, read.cell_bytes, packed)) > 0.0:
            inside = read.moving[i + 1 :]
            filled = sum(each.inside(m.around) or 0.0 for each in reads) / device.second_bytes
            own = read.bytes(inside) / read.room(inside, device)
            lost = min(1.0, max(0.0, (max(filled, own) - KEPT) / (_LOST - KEPT)))
            again += same * lost * read.bytes(inside) * (m.around.turns - 1.0)
    return again


def _of_the_line_before(m: Moving, cell_bytes: int, packed: bool) -> float:
    """The part of what an access reads in a turn that it read in the turn before: all, or of lines that neighbours share most.

    Sums of 20 columns of a million rows take PoCL's two cores 32 ms by a work-item for each column, and 2.7 by rows.
    """
    together = m.around.level == "item" or (m.around.level == "group" and packed)
    return (
        1.0
        if not m.stride
        else 0.0
        if together
        else max(0.0, 1.0 - abs(m.stride) * cell_bytes / LINE_BYTES)
    )
