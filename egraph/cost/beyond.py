"""What cores of a CPU read again when their second cache does not have it any more: all of it comes from further away.

A loop, or a row of work-items, that does not move an access has it read the same cells in each turn.  Between one turn and the
next the core reads all that it reads inside, by this access and by others; the more of its second cache this fills, the less is left there.

The products of 256 columns of 8192 numbers with 512 take two cores 31 to 50 ms where each work-item goes through the whole matrix, of
16 MB, and 9.7 in blocks: of 4.3 GB that are read again a core gets a line in three to five cycles, as from its second cache, and those
of packed blocks, a tenth as much, while it computes.  In blocks of 8 by 32 those of 128 columns with 512 take 6.7 ms where a block's steps
read 1.5 MB, of a second cache of 2 MB, before the next reads them again, 5.8 where they read half of it, and 4.8 and 4.9 with a quarter and an eighth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from relift.device import DeviceDescription
from relift.egraph.cost.fetched import Around, Moving, footprint
from relift.egraph.cost.strides import stride_of
from relift.egraph.cost.walked import LINE_BYTES
from relift.semantics.indices.atoms import Index

_KEPT, _LOST = 0.25, 0.75
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


def read_of(around: Sequence[Around], offset: Index, memory_bytes: float, cell_bytes: int) -> Read:
    """How an access moves with what it stands in."""
    strides = [stride_of(offset, each.index) for each in around]
    moving = (
        Moving(each, _ELSEWHERE if stride is None else stride)
        for each, stride in zip(around, strides, strict=True)
    )
    return Read(tuple(moving), memory_bytes, cell_bytes, None not in strides)


def read_again(reads: Collection[Read], device: DeviceDescription) -> float:
    """The bytes of all accesses that cores read again from beyond their second cache.

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
    >>> read_again([whole], device) / table
    63.0
    >>> row = Read((Moving(items, 0), Moving(cells, 1)), table, 4, True)
    >>> read_again([row], device)
    0.0
    """
    lost = {id(each): _lost(reads, each, device.second_bytes) for r in reads for each in _around(r)}
    return sum(_again(read, lost) for read in reads if read.known)


def _around(read: Read) -> Iterator[Around]:
    """What does not move an access."""
    return (m.around for m in read.moving if not m.stride)


def _lost(reads: Collection[Read], around: Around, second_bytes: float) -> float:
    """The part of what is read in one turn that a core does not find in its second cache in the next one."""
    filled = sum(each.inside(around) or 0.0 for each in reads) / second_bytes
    return min(1.0, max(0.0, (filled - _KEPT) / (_LOST - _KEPT)))


def _again(read: Read, lost: dict[int, float]) -> float:
    again = 0.0
    for i, m in reversed(list(enumerate(read.moving))):
        again *= m.around.turns
        if not m.stride:
            bytes = read.bytes(read.moving[i + 1 :])
            again += lost[id(m.around)] * bytes * (m.around.turns - 1.0)
    return again
