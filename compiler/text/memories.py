"""What OpenCL C calls the memories of a device, and the flags of a barrier."""

from __future__ import annotations

from collections.abc import Mapping

from relift.semantics.syntax.memory import Owner, Space


def word_of(space: Space) -> str:
    """What OpenCL C calls a memory."""
    match space:
        case Space.GLOBAL:
            return "global"
        case Space.LOCAL:
            return "local"
        case Space.PRIVATE:
            return "private"
        case Space.CONSTANT:
            return "constant"


SPACES: Mapping[str, Space] = {word_of(space): space for space in reversed(Space)}
"""The memory that a word means: the first that is called so."""

UNSAID = Space.PRIVATE
"""The memory that is meant where none is named."""

FENCES: Mapping[str, Owner] = {"CLK_GLOBAL_MEM_FENCE": "device", "CLK_LOCAL_MEM_FENCE": "group"}
"""Whose memories show, after a barrier with such a flag, what was written before it."""
