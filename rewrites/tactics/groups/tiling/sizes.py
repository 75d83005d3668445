"""How large the tiles of a nest are, and what a group then has in registers and in local memory."""

from __future__ import annotations

from dataclasses import dataclass

from relift.device import DeviceDescription

LEAST_GROUP = 32
"""Work-items of a group: fewer leave lanes of a GPU's warps idle."""
MOST_GROUP = 512
"""Work-items of a group: those of larger ones wait too long for one another.

An H100 multiplies matrices of 1536^2 in 200 us by groups of 288, in 216 by the best of at most 256, and in 247 by groups of 576."""
REGISTER_FILE = 64 * 1024
"""Registers of 32 bits that the work-items of a group share."""
MOST_REGISTERS = 255
"""Registers that one work-item can have."""
LOCAL_BANKS = 32
"""Banks of local memory, each of which gives or takes one number of 32 bits at a time."""
OTHER_REGISTERS = 40
"""Registers of a work-item for what is no part of its blocks, such as indices and what it copies."""


@dataclass(frozen=True)
class Tiles:
    """The sizes of a tiling: a group's tile is `rows` by `columns`, and `depth` deep along the reduction.

    Each work-item has `row_blocks` by `column_blocks` blocks of `width` by `width` results.  A group may fetch the
    next chunk `ahead`, while it computes with one.  Where `teams` of work-items share a tile, each folds its part of
    every chunk; a work-item of each has the same blocks.
    An `element` of what the folds read is of so many numbers, and a `result` too.
    """

    rows: int
    columns: int
    depth: int
    row_blocks: int
    column_blocks: int
    width: int = 4
    ahead: bool = False
    element: int = 1
    result: int = 1
    teams: int = 1

    @property
    def work_items(self) -> tuple[int, int]:
        """How many work-items a team has, down and across its tile."""
        return (
            self.rows // (self.row_blocks * self.width),
            self.columns // (self.column_blocks * self.width),
        )

    @property
    def items(self) -> int:
        """How many work-items a group has."""
        down, across = self.work_items
        return self.teams * down * across

    @property
    def cells(self) -> int:
        """How many results a work-item has."""
        return self.row_blocks * self.column_blocks * self.width**2

    @property
    def read(self) -> int:
        """The numbers that a work-item reads from local memory in a step: a row and a column of its blocks."""
        return (self.row_blocks + self.column_blocks) * self.width * self.element

    @property
    def held(self) -> int:
        """The numbers that a work-item holds while it computes: its results, and what it reads for them."""
        return self.cells * self.result + self.read

    @property
    def registers(self) -> int:
        """The numbers that a work-item holds, with those of the next chunk."""
        return self.held + self.fetched

    @property
    def staged(self) -> int:
        """The numbers of a chunk, or of two, that a group has in local memory, and of a block of each work-item of its teams."""
        sides = self.rows + self.columns + 2 * self.width
        chunks = (1 + self.ahead) * self.depth * sides * self.element
        return chunks + (self.teams > 1) * self.items * self.width**2 * self.result

    def padding(self, length: int) -> int:
        """The open cells behind every `width` rows of so many cells of a tile that is stored across.

        Neighbours hold the vectors of one column of what is copied, and write each cell of them to a row of its own: those
        of the next vector are `width` rows further on, and start where the banks end that the columns beside this one
        take.

        >>> from relift.rewrites.tactics.groups.tiling.sizes import Tiles
        >>> Tiles(128, 128, 16, 2, 2).padding(128), Tiles(128, 128, 8, 2, 2).padding(128), Tiles(8, 8, 4, 1, 1).padding(8)
        (8, 16, 0)
        """
        vectors = self.depth // self.width
        if vectors <= 1:
            return 0
        apart = LOCAL_BANKS // min(vectors, LOCAL_BANKS)
        return -(-((apart - self.width * length) % LOCAL_BANKS) // self.width) * self.width

    @property
    def fetched(self) -> int:
        """The numbers of the next chunk that a work-item holds."""
        sides = self.rows + self.columns
        return self.ahead * self.depth * sides * self.element // self.items

    def fits(self, device: DeviceDescription, scalar_bytes: int) -> bool:
        """Whether every work-item has the same to do, and the device has room for a group.

        >>> from relift.rewrites.tactics.groups.tiling.sizes import Tiles
        >>> from relift.device import GPU
        >>> Tiles(128, 128, 16, 2, 2).fits(GPU, 4), Tiles(128, 128, 64, 2, 2).fits(GPU, 4)
        (True, False)
        """
        down, across = self.work_items
        turn = self.items * self.width
        registers = max(1, scalar_bytes // 4) * self.registers + OTHER_REGISTERS
        shared = (
            self.rows == down * self.row_blocks * self.width
            and self.columns == across * self.column_blocks * self.width
            and self.depth % self.width == self.depth % self.teams == self.width % self.teams == 0
            and all(side * self.depth % turn == 0 for side in (self.rows, self.columns))
        )
        return (
            shared
            and LEAST_GROUP <= self.items <= min(MOST_GROUP, device.max_work_group)
            and registers <= MOST_REGISTERS
            and self.items * registers <= REGISTER_FILE
            and self.staged * scalar_bytes <= device.local_memory_bytes
        )
