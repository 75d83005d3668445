"""What instructions compute, as terms of Z3: numbers, addresses, what is read and written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import z3

from relift.compiler.idioms.facts.control import Loop, postorder
from relift.compiler.idioms.facts.evolution import PURE, Quotient, harmless, library_name
from relift.compiler.idioms.facts.llvm.ir import Instruction
from relift.compiler.idioms.facts.llvm.numbers import literal_of
from relift.compiler.idioms.facts.names import Counter, Length, bare, is_global, is_value
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.expressions import (
    BINARY,
    COMPARED,
    LIBRARY,
    SCALARS,
    Opaque,
)
from relift.compiler.idioms.proofs.folds import Equations
from relift.compiler.idioms.proofs.scalars import INTEGERS, Term
from relift.compiler.idioms.proofs.unchanged import is_one_number
from relift.rewrites.checks.smt.goals import Number
from relift.semantics.syntax.sizes import Size


@dataclass(frozen=True)
class Address:
    """A place in an array: so many bytes from its begin."""

    array: str
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
UNKNOWN_ARRAY = "(an array that is not known)"


@dataclass
class Target:
    """The array whose cells are followed: the cell that is looked at, and the loops that come to it in one iteration."""

    array: str
    kind: str
    index: Number
    moving: Mapping[str, Number]
    """By the block that enters a loop, the iteration that comes to the cell."""
    chosen: bool = False
    """Whether data say which cell a store goes to: any iteration may come to it."""


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
    target: Target | None
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
            return self.scalars.literal(literal_of(operand, SCALARS[type_]), SCALARS[type_])
        return self._unknown(type_)

    def _of_outside(self, name: str) -> Content:
        """A value from before the nest."""
        i = self.function.values.get(name)
        type_ = self.function.type_of(name)
        if i is not None and i.block in self.root.blocks:
            if is_one_number(self.relations, self.root, i):
                return self.scalars.named(name, SCALARS[type_])
            return self._unknown(type_)
        if i is not None and i.opcode in _FOLLOWED:
            return self._computed(i, {}, z3.BoolVal(True))
        if i is not None and i.opcode == "load" and type_ in SCALARS:
            access = self.evolution.accesses.get(i.position)
            if (
                access is not None and not self.evolution.is_written(access.base)
                and access.index.names() <= self.function.arguments.keys()
            ):  # fmt: skip
                return self._cell(access.base, self.size(access.index), SCALARS[type_])
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
        return self._cell(access.base, self.size(access.index, names), SCALARS[i.type])

    def _is_fixed(self, array: str) -> bool:
        return is_global(array) or array in self.function.arguments

    def _unknown(self, type_: str) -> Content:
        if type_ == "ptr":
            return Address(f"{UNKNOWN_ARRAY} {self.prover.number()}", z3.IntVal(0))
        return self.equations.unknown(SCALARS.get(type_, "i64"))

    def _cell(self, array: str, index: Number, kind: str) -> Term:
        return self.scalars.cell(array, self.prover.number_of(self.prover.polynomial(index)), kind)

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
            array = f"{UNKNOWN_ARRAY} {self.prover.number()}"
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
            case "sext" | "zext" if i.types[0] in ("i32", "i64") and i.type in ("i32", "i64"):
                return given[0]
            case "freeze" | "bitcast":
                return given[0]
            case "getelementptr":
                return self._address(i, given)
            case "load":
                return self._load(i, given[0], names)
            case "icmp" | "fcmp":
                return self._comparison(i, given, reached)
            case _ if any(isinstance(x, Address) for x in given):
                if i.opcode == "select" and not isinstance(given[0], Address):
                    return self._chosen(given[0], given[1], given[2], "ptr")
                return self._unknown(i.type)
            case _:
                if is_one_number(self.relations, self.root, i):
                    return self.scalars.named(i.name, SCALARS[i.type])
                return self._scalar(i, given)

    def _scalar(self, i: Instruction, given: list[Term]) -> Content:
        kinds = [SCALARS.get(t, "") for t in i.types] or [SCALARS.get(i.type, "")] * len(given)
        kind = SCALARS.get(i.type, "")
        if not kind or not all(kinds[: len(given)]):
            return self._unknown(i.type)
        match i.opcode:
            case "select":
                return z3.If(*given)
            case "fneg":
                return self.scalars.applied("neg", given, [kind], kind)
            case "shl" if z3.is_int_value(given[1]) and given[1].as_long() < 31:
                return given[0] * 2 ** given[1].as_long()
            case "ashr" | "sdiv" | "srem" | "lshr" | "udiv" | "urem" if (
                kind in INTEGERS and z3.is_int_value(given[1])
            ):
                return self._divided(i.opcode, given[0], given[1].as_long(), i.type)
            case "or" if "disjoint" in i.flags:
                return given[0] + given[1]
            case "xor" if (
                kind != "boolean" and z3.is_int_value(given[1]) and given[1].as_long() == -1
            ):
                return -1 - given[0]
            case "sitofp" | "uitofp" | "zext" | "trunc" | "fpext" | "fptrunc" | "fptosi" if (
                kind != "boolean"
            ):
                return self.scalars.applied(kind, given, [kinds[0]], kind)
            case "call":
                return self._called(i, given, kind)
            case opcode if opcode in BINARY:
                return self.scalars.applied(BINARY[opcode], given, [kind, kind], kind)
            case _:
                return self._unknown(i.type)

    def _divided(self, opcode: str, x: Term, by: int, type_: str) -> Content:
        """A quotient, towards zero or by a shift down, or the rest; by a number above zero."""
        if opcode in ("ashr", "lshr"):
            by = 2**by if 0 <= by < 31 else 0
        has_no_sign = opcode in ("lshr", "udiv", "urem")
        if by < 1 or (has_no_sign and not self.prover.holds(x >= 0)):
            return self._unknown(type_)
        is_down = has_no_sign or opcode == "ashr"
        quotient: Any = x / by if is_down else z3.If(x < 0, (x + (by - 1)) / by, x / by)
        return x - by * quotient if opcode in ("srem", "urem") else quotient

    def _called(self, i: Instruction, given: list[Term], kind: str) -> Content:
        name = library_name(i.about)
        plain = name.removeprefix("llvm.")
        plain = plain if plain in LIBRARY else plain.removesuffix("f")
        if name not in PURE or plain not in LIBRARY:
            return self._unknown(i.type)
        used = given[:1] if plain == "abs" else given[: len(i.operands)]
        return self.scalars.applied(LIBRARY[plain], used, [kind] * len(used), kind)

    def _comparison(self, i: Instruction, given: list[Content], reached: Any) -> Term:
        a, b = given[:2]
        if isinstance(a, Address) or isinstance(b, Address):
            if not (isinstance(a, Address) and isinstance(b, Address)):
                return self.equations.unknown("boolean")
            a, b = _begin(a.array) + a.bytes, _begin(b.array) + b.bytes
        predicate, kind = i.about.split()[-1], SCALARS.get(i.types[0], "i64")
        if i.opcode == "icmp":
            if predicate in ("eq", "ne"):
                return a == b if predicate == "eq" else a != b
            if predicate[0] == "u" and "samesign" not in i.about:
                with self.prover.assuming(reached):
                    if not self.prover.holds(z3.And(a >= 0, b >= 0)):
                        return self.equations.unknown("boolean")
            return self.scalars.applied(COMPARED[predicate[1:]], [a, b], [kind, kind], "boolean")
        order, plain = predicate[0], predicate[1:]
        if predicate in ("une", "oeq") or (order == "o" and plain != "ne"):
            return self.scalars.applied(COMPARED[plain], [a, b], [kind, kind], "boolean")
        contrary = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}.get(plain)
        if order != "u" or contrary is None:
            return self.equations.unknown("boolean")
        return z3.Not(self.scalars.applied(contrary, [a, b], [kind, kind], "boolean"))

    # ---- memory

    @abstractmethod
    def _load(self, i: Instruction, at: Content, names: Mapping[str, Content]) -> Content:
        """What a load gives."""

    @abstractmethod
    def _store(self, i: Instruction, names: Names, reached: Any) -> None:
        """What a store does to the cell that is looked at."""

    @abstractmethod
    def _address(self, i: Instruction, given: list[Any]) -> Content:
        """A place by a place and numbers."""


def _begin(array: str) -> Number:
    """The address of an array, as a number."""
    return z3.Int(f"address of {array}")
