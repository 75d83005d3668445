"""The memories of a device: a row for each, with all that other parts ask of one.

What a kernel's text calls them is a matter of its language (`compiler/text/memories.py`).

>>> from relift.semantics.syntax.memory import Space
>>> [str(space) for space in Space if not space.of_item]
['global', 'local', 'constant']
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias

Owner: TypeAlias = Literal["device", "group", "item", "kernel"]
"""Who has a memory of a kind: there is one for the device, one for each work-group, one for each work-item, or it is part of a
kernel's text."""

Distance: TypeAlias = Literal["register", "near", "far"]
"""Where it lies, for who estimates time: in the registers of a work-item, beside its unit, or behind the caches."""


class Space(Enum):
    """A memory, as programs name it: `to_global`, `to_local`, `to_private`.

    All work-items of its owner see the same cells, and only those of different work-items can race there.  What is in
    the memory of the device is still there when a kernel has ended: buffers lie there.  Registers have no addresses:
    vectors in them are vectors.  What is part of the text are constants, which nobody writes.
    """

    GLOBAL = "global", "device", "far", "global memory; between kernels, a buffer"
    LOCAL = "local", "group", "near", "the local memory of the work-group"
    PRIVATE = "private", "item", "register", "the private memory of the work-item"
    CONSTANT = "constant", "kernel", "far", "tables of constants, which a kernel has with its text"

    word: str
    owner: Owner
    distance: Distance
    page: str

    def __init__(self, word: str, owner: Owner, distance: Distance, page: str) -> None:
        self.word = word
        self.owner = owner
        self.distance = distance
        self.page = page
        self.of_device = owner == "device"
        self.of_group = owner == "group"
        self.of_item = owner == "item"
        self.of_kernel = owner == "kernel"

    __hash__ = (
        object.__hash__
    )  # there is one of each: that of `Enum` takes the name's, for each cell that is hashed

    def __str__(self) -> str:
        return self.word

    def __repr__(self) -> str:
        return f"Space.{self.name}"


def shared_by(*owners: Owner) -> frozenset[Space]:
    """The memories that some owners have."""
    return frozenset(space for space in Space if space.owner in owners)
