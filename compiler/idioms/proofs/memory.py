"""What loads give and stores do, where one cell of an array is followed through the iterations of a nest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from relift.compiler.idioms.facts.llvm.ir import Instruction
from relift.compiler.idioms.facts.llvm.layout import NoLayout, member, size_in_bytes
from relift.compiler.idioms.facts.values.expressions import SCALARS
from relift.compiler.idioms.facts.values.terms import Opaque
from relift.compiler.idioms.proofs.instructions import (
    BEFORE,
    CELL,
    STORED,
    Address,
    Carrying,
    Chosen,
    Content,
    FollowedArray,
    Instructions,
    Names,
    UnknownArray,
)
from relift.compiler.idioms.proofs.unchanged import is_as_before
from relift.rewrites.checks.smt.goals import Number
from relift.semantics.syntax.sizes import Size


class Memory(Instructions):
    """The memory of a nest: the array whose cell is followed, and those that it does not write."""

    def _address(self, i: Instruction, given: list[Any]) -> Content:
        base, *indices = given
        if not isinstance(base, Address) or any(isinstance(x, Address) for x in indices):
            return self._unknown("ptr")
        total, type_ = base.bytes, i.about
        try:
            for number, index in enumerate(indices):
                if number == 0:
                    total = total + index * size_in_bytes(type_, self.relations.module)
                    continue
                offset, type_ = member(type_, i.operands[number + 1], self.relations.module)
                total = total + (offset if type_[0] == "=" else index * offset)
                type_ = type_.lstrip("=")
        except NoLayout:
            return self._unknown("ptr")
        return Address(base.array, total)

    def _index(self, at: Address, type_: str) -> Number | None:
        """The number of the cell at an address; none where it lies between two."""
        try:
            width = size_in_bytes(type_, self.relations.module)
        except NoLayout:
            return None
        found = self.prover.polynomial(at.bytes).divided_by(Size.of(width))
        return None if found is None else self.prover.number_of(found)

    def _load(self, i: Instruction, at: Content, names: Mapping[str, Content]) -> Content:
        """What a load gives: of the cell that is looked at, what was put there; of arrays that are not written, a cell."""
        if isinstance(at, Chosen):
            yes, no = self._load(i, at.yes, names), self._load(i, at.no, names)
            return self._chosen(at.condition, yes, no, i.type)
        index = self._index(at, i.type) if isinstance(at, Address) else None
        if index is None or not isinstance(at, Address) or i.type not in SCALARS:
            return self._unknown(i.type)
        if isinstance(at.array, UnknownArray):
            return self._unknown(i.type)
        if at.array not in self.written:
            return self._cell(at.array, index, i.type)
        target = self.target
        is_other = (
            target is None or at.array != target.array
            or self._is_beside(i, target) or self._is_ahead(i, target)
        )  # fmt: skip
        if is_other and is_as_before(self.relations, self.root, i):
            return self._cell(at.array, index, i.type)
        if target is None or at.array != target.array or SCALARS[i.type] != target.kind:
            return self._unknown(i.type)
        if self.evolution.cells(at.array, i.type) != target.cells:
            return self._unknown(i.type)
        if self.carrying is not None:
            return self._carried_cell(self.carrying, index, i, names)
        if CELL in names and target.chosen:
            own = self._as_value(names[CELL], target.cells)
            return z3.If(index == target.index, own, self._unknown(i.type))
        if CELL in names and self.prover.holds(index == target.index):
            return self._as_value(names[CELL], target.cells)
        return self._unknown(i.type)

    def _is_beside(self, i: Instruction, target: FollowedArray) -> bool:
        """Whether an access never comes to a cell that the store goes to that is looked at."""
        access = self.evolution.accesses.get(i.position)
        return access is not None and self.evolution.apart(access, target.store)

    def _is_ahead(self, i: Instruction, target: FollowedArray) -> bool:
        """Whether a load comes to each cell before the store does that is looked at."""
        access = self.evolution.accesses.get(i.position)
        return access is not None and self.relations.evolution.reads_ahead(
            access, target.store, self.root
        )

    def _carried_cell(
        self, c: Carrying, index: Number, i: Instruction, names: Mapping[str, Content]
    ) -> Content:
        """The cell that the iteration before stored; or the one that this one will, which is as it was: none came to it."""
        own = self.size(c.index)
        if BEFORE in names and self.prover.holds(index == own - c.stride):
            return self._as_value(names[BEFORE], self._cells_of(c.store))
        if STORED not in names and self.prover.holds(index == own):
            return self._cell(self.relations.accesses[str(c.store)].base, index, i.type)
        return self._unknown(i.type)

    def _cells_of(self, store: Instruction) -> str:
        """What the cells hold that are stored to, where that is of few bits."""
        access = self.relations.accesses[str(store)]
        return self.evolution.cells(access.base, access.type)

    def _store(self, i: Instruction, names: Names, reached: Any) -> None:
        at = self.value(i.operands[1], "ptr", names)
        if not isinstance(at, Address) or isinstance(at.array, UnknownArray):
            raise Opaque(f"a store to an address that is not understood (line {i.line})")
        if self.target is None or at.array != self.target.array:
            self.apart[at.array] = None
            return
        if self.carrying is not None and i is self.carrying.store:
            self.equations.holds(reached, f"the store at line {i.line} is made in each iteration")
            names[STORED] = self._as_held(
                self.value(i.operands[0], i.types[0], names), self.target.cells
            )
        if CELL not in names:
            return  # an iteration that comes to another cell
        index = self._index(at, i.types[0])
        if self._is_beside(i, self.target) and index is not None:
            self.equations.holds(
                index != self.target.index, f"the store at line {i.line} goes elsewhere"
            )
            return
        cells = self.evolution.cells(at.array, i.types[0])
        if (
            index is None
            or SCALARS.get(i.types[0]) != self.target.kind
            or cells != self.target.cells
        ):
            raise Opaque(f"a store between two cells (line {i.line})")
        stored = self._as_held(self.value(i.operands[0], i.types[0], names), cells)
        if self.target.chosen:
            here = z3.And(reached, index == self.target.index)
            names[CELL] = z3.If(here, stored, names[CELL])
            return
        with self.prover.assuming(reached):
            self.equations.holds(
                index == self.target.index, f"the store at line {i.line} goes to the cell"
            )
        names[CELL] = z3.If(reached, stored, names[CELL])
