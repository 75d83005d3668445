"""Loads and stores: the array that each goes to, and the cell by the counters of loops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.evolution import Evolution, harmless
from relift.compiler.idioms.facts.llvm.ir import Instruction
from relift.compiler.idioms.facts.llvm.layout import NoLayout, size_in_bytes
from relift.compiler.idioms.facts.llvm.numbers import BITS
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
        placed = self.placed(address)
        if placed is None:
            return None
        base, offset = placed
        chosen = self.function.values.get(base)
        if chosen is not None and chosen.opcode in ("phi", "select"):
            return None
        try:
            width = size_in_bytes(type_, self.module)
        except NoLayout:
            return None
        index = offset.divided_by(Size.of(width))
        return None if index is None else Access(i, base, index, type_)

    def reads_ahead(self, load: Access, store: Access, root: Loop) -> bool:
        """Whether a load finds cells as they were before a loop, in which the one store to that array comes to them later."""
        own = [self.control.loop_of.get(a.instruction.block) for a in (load, store)]
        if load.is_store or load.base != store.base or own != [root, root]:
            return False
        step, far = self.stride(store, root), (load.index - store.index).constant
        if step is None or not step.constant or not far or self.stride(load, root) != step:
            return False
        stores = (
            a for a in self.accesses.values()
            if a.is_store and a.base == store.base and a.instruction.block in root.blocks
        )  # fmt: skip
        later = far % step.constant == 0 and far // step.constant > 0
        return later and load.type == store.type and len(list(stores)) == 1

    def apart(self, one: Access, other: Access) -> bool:
        """Whether two accesses to an array never meet, whichever iterations they are made in.

        All that moves them goes in steps of so many bytes, and modulo these they lie beside each other: fields of structures,
        real and imaginary parts.
        """
        key = (one.index, one.type, other.index, other.type)
        if key not in self._apart:
            self._apart[key] = self._never_meet(one, other)
        return self._apart[key]

    @cached_property
    def _apart(self) -> dict[tuple[Size, str, Size, str], bool]:
        return {}

    def _never_meet(self, one: Access, other: Access) -> bool:
        widths = [size_in_bytes(a.type, self.module) for a in (one, other)]
        steps, places = [0], list[int]()
        for access, width in zip((one, other), widths, strict=True):
            terms = access.index.terms.items()
            steps += [c * width for monomial, c in terms if monomial]
            places.append(sum(c * width for monomial, c in terms if not monomial))
        step = math.gcd(*steps)
        if not step:
            return places[0] + widths[0] <= places[1] or places[1] + widths[1] <= places[0]
        between = (places[1] - places[0]) % step
        return widths[0] <= between <= step - widths[1]

    def cells(self, base: str, type_: str) -> str:
        """What the cells of an array hold, where they have few bits: truth values, or numbers with or without a sign."""
        if type_ not in BITS:
            return ""
        key = (base, type_)
        if key not in self._cells:
            self._cells[key] = self._narrow(base, type_)
        return self._cells[key]

    @cached_property
    def _cells(self) -> dict[tuple[str, str], str]:
        return {}

    def _narrow(self, base: str, type_: str) -> str:
        """Cells have a sign where most of what is made from them sees one."""
        loads = [
            a.instruction for a in self.accesses.values()
            if a.base == base and a.type == type_ and not a.is_store
        ]  # fmt: skip
        if loads and all("truth" in i.flags for i in loads):
            return "truth"
        users = [user for i in loads for user in self.function.users.get(i.name, ())]
        seen = [_sign(user) for user in users]
        letter = "s" if seen.count("s") > seen.count("u") else "u"
        return f"{letter}{BITS[type_]}"

    def is_written(self, base: str) -> bool:
        """Whether the function may write to an array."""
        if self._calls:
            return True
        stores = self._addresses
        return any(self.base_of(address) in (base, None) for address in stores)

    @cached_property
    def _addresses(self) -> tuple[str, ...]:
        """The addresses that the function stores to."""
        stores = (i for i in self.function.instructions() if i.opcode == "store")
        return tuple(dict.fromkeys(i.operands[1] for i in stores))

    @cached_property
    def _calls(self) -> bool:
        """Whether the function calls what may write anywhere."""
        return any(i.opcode == "call" and not harmless(i) for i in self.function.instructions())

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


def _sign(user: Instruction) -> str:
    """Whether what uses a number sees a sign in it (s), sees none (u), or does not ask."""
    if user.opcode == "icmp":
        return user.about.split()[-1][0]
    return {"sext": "s", "sitofp": "s", "zext": "u", "uitofp": "u"}.get(user.opcode, "")


def _counts(atom: object) -> bool:
    return isinstance(atom, Counter)
