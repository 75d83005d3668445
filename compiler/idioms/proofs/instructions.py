"""What instructions compute, as terms of Z3: numbers, addresses, what is read and written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import z3

from relift.compiler.idioms.facts.accesses import Access
from relift.compiler.idioms.facts.control import Loop, postorder
from relift.compiler.idioms.facts.evolution import Quotient, harmless
from relift.compiler.idioms.facts.llvm.ir import Instruction
from relift.compiler.idioms.facts.llvm.numbers import BITS, literal_of
from relift.compiler.idioms.facts.names import Counter, Length, bare, is_global, is_value
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.expressions import SCALARS
from relift.compiler.idioms.facts.values.narrow import CELLS
from relift.compiler.idioms.facts.values.terms import Opaque
from relift.compiler.idioms.proofs.computing import Computing
from relift.compiler.idioms.proofs.folds import Equations
from relift.compiler.idioms.proofs.scalars import Term
from relift.compiler.idioms.proofs.unchanged import is_one_number
from relift.rewrites.checks.smt.goals import Number
from relift.semantics.syntax.sizes import Size


@dataclass(frozen=True)
class UnknownArray:
    """An array that is not known, told apart from others by a number."""

    number: int

    def __str__(self) -> str:
        return f"(an array that is not known) {self.number}"


@dataclass(frozen=True)
class Address:
    """A place in an array: so many bytes from its begin."""

    array: str | UnknownArray
    bytes: Number


@dataclass(frozen=True)
class Chosen(Address):
    """One of two places, in arrays that may differ; but for what is loaded from it, a place in an array that is not known."""

    condition: Any
    yes: Address
    no: Address


Content: TypeAlias = "Term | Address"
Names: TypeAlias = dict[str, "Content"]
CELL, BEFORE, STORED = "(cell)", "(cell before)", "(what is stored)"


@dataclass
class FollowedArray:
    """The array whose cells are followed: the cell that is looked at, and the loops that come to it in one iteration."""

    store: Access
    kind: str
    index: Number
    cells: str
    moving: Mapping[str, Number]
    """By the block that enters a loop, the iteration that comes to the cell."""
    chosen: bool = False
    """Whether data say which cell a store goes to: any iteration may come to it."""

    @property
    def array(self) -> str:
        """The array."""
        return self.store.base


@dataclass(frozen=True)
class Carrying:
    """A loop that reads what the iteration before it stored: the store, and by how many cells it moves."""

    store: Instruction
    index: Size
    stride: int


_FOLLOWED = frozenset(
    ["add", "sub", "mul", "shl", "or", "sext", "zext", "getelementptr", "freeze", "bitcast", "xor"]
)
"""What is computed before a nest, and known for what it is."""


@dataclass
class Instructions(ABC):
    """The instructions of a nest of loops, in some iteration of each."""

    relations: Relations
    root: Loop
    equations: Equations
    target: FollowedArray | None
    carrying: Carrying | None = None
    rises: bool = False
    """Whether it is a condition that rows, whose lengths are data, have no length below zero."""
    apart: dict[str, None] = field(default_factory=dict[str, None])
    """Arrays that are written beside the one looked at, and taken to be others."""
    counters: dict[str, Number] = field(default_factory=dict[str, Number])
    outside: Names = field(default_factory=dict[str, "Content"])
    shown: set[str] = field(default_factory=set[str])
    """The loops of which all that is said was shown, by their first block."""

    def __post_init__(self) -> None:
        self.prover, self.scalars = self.equations.prover, self.equations.scalars
        self.computing = Computing(self.equations, self.relations.evolution.wraps)
        self.control, self.evolution = self.relations.control, self.relations.evolution
        self.function = self.relations.function
        accesses = self.relations.accesses.values()
        inside = [a for a in accesses if a.is_store and a.instruction.block in self.root.blocks]
        self.written = {a.base for a in inside}
        self.order = postorder(self.control.entry, self.function.successors)[::-1]

    # ---- numbers

    def size(self, size: Size, names: Mapping[str, Content] | None = None) -> Number:
        """A polynomial of the analysis as a number."""
        total: Number = z3.IntVal(0)
        for monomial, c in size.ordered():
            product: Number = z3.IntVal(c)
            for atom, power in monomial:
                for _ in range(power):
                    product = product * self._atom(atom, names or {})
            total = total + product
        return total

    def _atom(self, atom: Any, names: Mapping[str, Content]) -> Number:
        if isinstance(atom, Quotient) and atom.exact:
            of = self.size(atom.of, names)
            self.prover.given.append(of % atom.by == 0)
            return of / atom.by
        if isinstance(atom, Quotient):
            return -((-self.size(atom.of, names)) / atom.by)
        if isinstance(atom, Counter):
            return self.counters.get(atom.header, z3.Int(f"iterations done {atom}"))
        if isinstance(atom, Length):
            return z3.Int(atom)
        name = str(atom)
        found = names.get(name)
        if found is None:
            found = self._read_again(name, names)
        if found is None:
            found = self.value(name, "i64", {})
        return _begin(found.array) + found.bytes if isinstance(found, Address) else found

    # ---- values

    def value(self, operand: str, type_: str, names: Mapping[str, Content]) -> Content:
        """An operand where some values are known."""
        if operand in names:
            return names[operand]
        if is_global(operand):
            return Address(operand, z3.IntVal(0))
        if is_value(operand):
            if operand not in self.outside:
                self.outside[operand] = self._of_outside(operand)
            return self.outside[operand]
        if type_ in SCALARS:
            if operand in ("undef", "poison", "null"):
                return self._unknown(type_)
            number = literal_of(operand, SCALARS[type_])
            if type_ in BITS:
                number = int(number) % 2 ** BITS[type_]
            return self.scalars.literal(number, SCALARS[type_])
        return self._unknown(type_)

    def _of_outside(self, name: str) -> Content:
        """A value from before the nest."""
        i = self.function.values.get(name)
        type_ = self.function.type_of(name)
        if i is not None and i.block in self.root.blocks:
            if is_one_number(self.relations, self.root, i):
                return self.scalars.named(name, SCALARS[type_])
            return Address(name, z3.IntVal(0)) if self._is_pointer_read(i) else self._unknown(type_)
        if i is not None and i.opcode in _FOLLOWED:
            return self._computed(i, {}, z3.BoolVal(True))
        if i is not None and i.opcode == "load" and type_ in SCALARS:
            access = self.evolution.accesses.get(i.position)
            if (
                access is not None and not self.evolution.is_written(access.base)
                and access.index.names() <= self.function.arguments.keys()
            ):  # fmt: skip
                return self._cell(access.base, self.size(access.index), type_)
        if i is not None and self.evolution.step(name) is not None:
            return self._claimed(name, self.evolution.of(name), {})
        if type_ == "ptr":
            return Address(name, z3.IntVal(0))
        return (
            self.scalars.named(name, SCALARS[type_]) if type_ in SCALARS else self._unknown(type_)
        )

    def _read_again(self, name: str, names: Mapping[str, Content]) -> Term | None:
        """What a load inside of the nest gives: a cell of an array that the nest does not write, whenever it is read."""
        i = self.function.values.get(name)
        if i is None or i.opcode != "load" or i.block not in self.root.blocks:
            return None
        access = self.evolution.accesses.get(i.position)
        if access is None or i.type not in SCALARS or access.base in self.written:
            return None
        if not self._is_fixed(access.base):
            return None
        return self._cell(access.base, self.size(access.index, names), i.type)

    def _is_fixed(self, array: str) -> bool:
        if is_global(array) or array in self.function.arguments:
            return True
        i = self.function.values.get(array)
        return i is not None and self._is_pointer_read(i)

    def _is_pointer_read(self, i: Instruction) -> bool:
        """Whether it is a pointer that the nest reads, and that is the same in each iteration: the field of a structure."""
        is_read = i.opcode == "load" and i.type == "ptr"
        return is_read and self.evolution.stays(i.name, self.root)

    def _unknown(self, type_: str) -> Content:
        if type_ == "ptr":
            return Address(UnknownArray(self.prover.number()), z3.IntVal(0))
        return self.equations.unknown(SCALARS.get(type_, "i64"))

    def _cell(self, array: str, index: Number, type_: str) -> Term:
        """What lay in a cell before the loops, as a value of a type."""
        cells = self.evolution.cells(array, type_)
        return self._as_value(self._held(array, index, SCALARS[type_], cells), cells)

    def _held(self, array: str, index: Number, kind: str, cells: str) -> Term:
        """What lay in a cell before the loops."""
        at = self.prover.number_of(self.prover.polynomial(index))
        return self.scalars.cell(array, at, kind, cells)

    def _as_value(self, held: Term, cells: str) -> Term:
        """What lies in a cell as a value, which has no sign where it has few bits."""
        return self.scalars.kept(held, CELLS[cells]) if cells in CELLS else held

    def _as_held(self, value: Term, cells: str) -> Term:
        """A value as what lies in a cell."""
        return self.scalars.ending(value, CELLS[cells]) if cells in CELLS else value

    def _claimed(self, name: str, size: Size, names: Mapping[str, Content]) -> Content:
        """What the analysis says of a value that counts."""
        if self.function.type_of(name) != "ptr":
            return self.size(size, names)
        array = self.evolution.base(size)
        if array is None:
            return self._unknown("ptr")
        return Address(array, self.size(size - Size.atom(array), names))

    # ---- instructions

    def _joined(self, i: Instruction, edges: Mapping[str, Any], names: Names) -> Content:
        """A value that depends on the way that was taken."""
        found: Content | None = None
        for operand, label in reversed(list(zip(i.operands, i.labels, strict=True))):
            value = self.value(operand, i.type, names)
            found = value if found is None else self._chosen(edges.get(label), value, found, i.type)
        assert found is not None, "cannot happen: a phi has operands"
        return found

    def _chosen(self, condition: Any, yes: Content, no: Content, type_: str) -> Content:
        if condition is None:
            return self._unknown(type_)
        if isinstance(yes, Address) or isinstance(no, Address):
            if isinstance(yes, Address) and isinstance(no, Address) and yes.array == no.array:
                return Address(yes.array, z3.If(condition, yes.bytes, no.bytes))
            if not (isinstance(yes, Address) and isinstance(no, Address)):
                return self._unknown("ptr")
            array = UnknownArray(self.prover.number())
            return Chosen(array, z3.IntVal(0), condition, yes, no)
        return z3.If(condition, yes, no)

    def _step(self, i: Instruction, names: Names, reached: Any) -> None:
        if i.opcode == "store":
            self._store(i, names, reached)
        elif i.opcode == "call" and not harmless(i):
            raise Opaque(f"a call of {bare(i.about)} (line {i.line})")
        elif i.name:
            names[i.name] = self._computed(i, names, reached)

    def _computed(self, i: Instruction, names: Mapping[str, Content], reached: Any) -> Content:
        given = [
            self.value(v, t or i.type, names)
            for v, t in zip(i.operands, (*i.types, *[""] * 9), strict=False)
        ]
        match i.opcode:
            case "bitcast" if i.types[0] != i.type and i.type in SCALARS:
                return self._bits(i, names)
            case "freeze" | "bitcast":
                return given[0]
            case "getelementptr":
                return self._address(i, given)
            case "load" if self._is_pointer_read(i):
                return Address(i.name, z3.IntVal(0))
            case "load":
                return self._load(i, given[0], names)
            case "ashr" if i.name in self.evolution.bounds:  # of what was shifted up by half
                of = self.value(self.function.values[i.operands[0]].operands[0], i.type, names)
                return of * 2 ** (32 - int(i.operands[1]))
            case "icmp" | "fcmp":
                if any(isinstance(x, Address) for x in given):
                    if not all(isinstance(x, Address) for x in given):
                        return self.equations.unknown("boolean")
                    given = [_begin(x.array) + x.bytes for x in given if isinstance(x, Address)]
                return self.computing.comparison(i, given, reached)
            case _ if any(isinstance(x, Address) for x in given):
                if i.opcode == "select" and not isinstance(given[0], Address):
                    return self._chosen(given[0], given[1], given[2], "ptr")
                return self._unknown(i.type)
            case _:
                if is_one_number(self.relations, self.root, i):
                    return self.scalars.named(i.name, SCALARS[i.type])
                return self.computing.of(i, given)

    # ---- memory

    def _bits(self, i: Instruction, names: Mapping[str, Content]) -> Content:
        """The bits of a cell as another type: what a load of that type gives."""
        load = self.function.values.get(i.operands[0])
        if load is None or load.opcode != "load":
            return self._unknown(i.type)
        at = self.value(load.operands[0], "ptr", names)
        return self._load(load._replace(type=i.type), at, names)

    @abstractmethod
    def _load(self, i: Instruction, at: Content, names: Mapping[str, Content]) -> Content:
        """What a load gives."""

    @abstractmethod
    def _store(self, i: Instruction, names: Names, reached: Any) -> None:
        """What a store does to the cell that is looked at."""

    @abstractmethod
    def _address(self, i: Instruction, given: list[Any]) -> Content:
        """A place by a place and numbers."""


def _begin(array: str | UnknownArray) -> Number:
    """The address of an array, as a number."""
    return z3.Int(f"address of {array}")
