"""Loads and stores: the array that each goes to, and the cell by the counters of loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.evolution import Evolution, harmless
from relift.compiler.idioms.facts.llvm.ir import Instruction
from relift.compiler.idioms.facts.llvm.layout import NoLayout, size_in_bytes
from relift.compiler.idioms.facts.names import Counter
from relift.semantics.syntax.sizes import Size


@dataclass(frozen=True)
class Access:
    """A load or a store: the array that it goes to, and which of its cells."""

    instruction: Instruction
    base: str
    index: Size
    type: str

    @property
    def is_store(self) -> bool:
        """Whether it writes."""
        return self.instruction.opcode == "store"


class Accesses(Evolution):
    """The evolution of values, and the accesses of a function."""

    @cached_property
    def accesses(self) -> dict[int, Access]:
        """The loads and stores whose array and cell are known, by their position."""
        found = (self._access(i) for i in self.function.instructions())
        return {a.instruction.position: a for a in found if a is not None}

    def _access(self, i: Instruction) -> Access | None:
        match i.opcode:
            case "load":
                type_, pointer = i.type, i.operands[0]
            case "store":
                type_, pointer = i.types[0], i.operands[1]
            case _:
                return None
        return self.at(self.of(pointer), i, type_)

    def at(self, address: Size, i: Instruction, type_: str = "") -> Access | None:
        """The access of an instruction to an address."""
        type_ = type_ or i.type
        base = self.base(address)
        chosen = self.function.values.get(base or "")
        if base is None or (chosen is not None and chosen.opcode in ("phi", "select")):
            return None
        try:
            width = size_in_bytes(type_, self.module)
        except NoLayout:
            return None
        index = (address - Size.atom(base)).divided_by(Size.of(width))
        return None if index is None else Access(i, base, index, type_)

    def is_written(self, base: str) -> bool:
        """Whether the function may write to an array."""
        return any(
            (i.opcode == "store" and self.base_of(i.operands[1]) in (base, None))
            or (i.opcode == "call" and not harmless(i))
            for i in self.function.instructions()
        )

    def stride(self, access: Access, loop: Loop) -> Size | None:
        """By how many cells an access moves with each iteration; None where that changes."""
        key = (access.index, loop.header)
        if key not in self._strides:
            linear = access.index.linear_in(loop.counter)
            is_steady = linear is not None and not any(map(_counts, linear[0].atoms()))
            self._strides[key] = linear[0] if linear is not None and is_steady else None
        return self._strides[key]

    @cached_property
    def _strides(self) -> dict[tuple[Size, str], Size | None]:
        return {}


def _counts(atom: object) -> bool:
    return isinstance(atom, Counter)
