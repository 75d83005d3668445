"""What cores of a CPU read again when their second cache does not have it any more: all of it comes from further away.

A loop, or a row of work-items, that does not move an access has it read the same cells in each turn.  Between one turn and the
next the core reads all that it reads inside, and if this is more than its second cache keeps, nothing of it is left there.

The products of 256 columns of 8192 numbers with 512 take two cores 31 to 50 ms where each work-item goes through the whole matrix, of
16 MB, and 9.7 in blocks: of 4.3 GB that are read again a core gets a line in three to five cycles, as from its second cache, and those
of packed blocks, a tenth as much, while it computes.
"""

from __future__ import annotations

from collections.abc import Sequence

from relift.device import DeviceDescription
from relift.egraph.cost.fetched import Moving, footprint

_KEPT = 7 / 8
"""What the second cache of a core keeps of one memory, of its bytes: lines of others come in between."""


def second_keeps(device: DeviceDescription) -> float:
    """The bytes that a core's second cache keeps of one memory."""
    return _KEPT * device.second_bytes


def read_again(moving: Sequence[Moving], cell_bytes: int, keeps: float) -> float:
    """The bytes of an access that all cores read again from beyond their second cache, which keeps so many; the innermost of `moving` is last.

    >>> from relift.egraph.cost.beyond import read_again
    >>> from relift.egraph.cost.fetched import Around, Moving
    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.syntax.sizes import Size
    >>> i = variable("i", Size.of(64))
    >>> items, rows, cells = Around(i, 64.0, "group"), Around(i, 8192.0, "loop"), Around(i, 512.0, "loop")
    >>> read_again([Moving(items, 0), Moving(rows, 512), Moving(cells, 1)], 4, 2**20) / (8192 * 512 * 4)
    63.0
    >>> read_again([Moving(items, 0), Moving(cells, 1)], 4, 2**20)
    0.0
    """
    again = 0.0
    inside: list[Moving] = []
    for m in reversed(moving):
        again *= m.around.turns
        if m.stride:
            inside.append(m)
        elif (bytes := footprint(inside, cell_bytes)[0]) > keeps:
            again += bytes * (m.around.turns - 1.0)
    return again
