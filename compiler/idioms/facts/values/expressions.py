"""What a value is, as an expression: control flow becomes selection, a loop inside becomes a fold.

An expression stands where the iterations of the loops around it are given: reads say which cell by the counters of loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from relift.compiler.idioms.facts.accesses import Access, Accesses
from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.llvm.ir import Instruction
from relift.compiler.idioms.facts.llvm.numbers import BITS, literal_of
from relift.compiler.idioms.facts.names import Counter, is_constant
from relift.compiler.idioms.facts.values.endings import most_steps, without_signs
from relift.compiler.idioms.facts.values.narrow import as_value, fits, kept
from relift.compiler.idioms.facts.values.operations import (
    as_index,
    called,
    compares_without_signs,
    operation,
)
from relift.compiler.idioms.facts.values.terms import (
    FALSE,
    TRUE,
    Accumulator,
    Apply,
    Constant,
    Counted,
    Expression,
    Fold,
    Index,
    Opaque,
    Read,
    Search,
    Value,
    both,
    either,
    negation,
    require_short,
    select,
)
from relift.semantics.syntax.sizes import Size

SCALARS = {
    "float": "f32", "double": "f64", "i32": "i32", "i64": "i64", "i1": "boolean", "i8": "i32", "i16": "i32",
}  # fmt: skip
"""What values of LLVM's types are in programs; those of few bits are numbers without sign."""


@dataclass
class Expressions:
    """The expressions of values in one loop and all in it, the root."""

    evolution: Accesses
    root: Loop
    carried: dict[str, Expression] = field(default_factory=dict[str, "Expression"])
    _memo: dict[str, Expression] = field(default_factory=dict[str, "Expression"])
    _counted: Counted = field(default_factory=dict[int, "tuple[Expression, int]"])

    @property
    def control(self) -> Control:
        """The control flow of the function."""
        return self.evolution.control

    def of(self, value: str, type_: str = "") -> Expression:
        """A value as an expression; raises `Opaque`."""
        if value in self.carried:
            return self.carried[value]
        found = self.evolution.function.values.get(value)
        if found is None:
            return self._outside(value, type_)
        if value not in self._memo:
            self._memo[value] = self.short(self._of(found))
        return self._memo[value]

    def short(self, e: Expression) -> Expression:
        """An expression that can be written out; raises `TooLong`."""
        require_short((e,), self._counted)
        return e

    def scalar(self, type_: str, i: Instruction | None = None) -> str:
        """The scalar type of the language; raises `Opaque`."""
        if type_ not in SCALARS:
            where = f" (line {i.line})" if i is not None and i.line else ""
            raise Opaque(f"a value of type {type_}{where}; f32, f64, i32 and i64 are lifted")
        return SCALARS[type_]

    def _outside(self, value: str, type_: str) -> Expression:
        kind = self.scalar(type_ or self.evolution.function.type_of(value))
        if not is_constant(value):
            return Value(value, kind)
        if value in ("undef", "poison"):
            raise Opaque("a value that is not initialised")
        found = Constant(literal_of(value, kind), kind)
        return kept(found, BITS[type_]) if type_ in BITS else found

    def _of(self, i: Instruction) -> Expression:
        kind = self.scalar(i.type, i)
        if i.block not in self.root.blocks and i.opcode != "phi":
            return self._first_cell(i, kind) or self._of_arguments(i, kind) or Value(i.name, kind)
        if i.type in ("i32", "i64"):
            size = self.evolution.of(i.name)
            if size.constant is not None:
                return Constant(size.constant, kind)
            if i.name not in size.names() and all(self._is_given(name) for name in size.names()):
                return Index(size, kind)
        if i.opcode == "phi":
            return self._phi(i, kind)
        if i.block not in self.root.blocks:
            return Value(i.name, kind)
        return self._computed(i, kind)

    def _first_cell(self, i: Instruction, kind: str) -> Expression | None:
        """A cell that was read before the loop, and that nothing in the function writes."""
        access = self.evolution.accesses.get(i.position)
        if i.opcode != "load" or access is None or self.evolution.is_written(access.base):
            return None
        if not access.index.names() <= self.evolution.function.arguments.keys():
            return None
        cells = self.evolution.cells(access.base, i.type)
        read = Read(access.base, access.index, (), kind, i.position, cells)
        return as_value(read, cells, BITS.get(i.type, 0))

    def _of_arguments(self, i: Instruction, kind: str) -> Index | None:
        """A whole number that is computed before the loop, of arguments of the function only."""
        if i.type not in ("i32", "i64"):
            return None
        size = self.evolution.of(i.name)
        return (
            Index(size, kind) if size.names() <= self.evolution.function.arguments.keys() else None
        )

    def _is_given(self, name: str) -> bool:
        """Whether an atom is what it is before an iteration: a loop that is not counted carries its counter."""
        if isinstance(name, Counter):
            return self.evolution.trips(self.control.loops[name.header]) is not None
        return self.plain(name)

    def plain(self, name: str) -> bool:
        """Whether an atom is a counter or does not change in the root."""
        return isinstance(name, Counter) or self.evolution.stays(name, self.root)

    def _computed(self, i: Instruction, kind: str) -> Expression:
        if i.opcode == "load":
            return self._load(i, kind)
        if i.opcode == "bitcast":
            return self._bits(i, kind)
        if i.opcode == "call":
            called(i)
        types = ("i1", i.type, i.type) if i.opcode == "select" else i.types
        given = [
            self.of(v, t or i.type) for v, t in zip_longest(i.operands, types[: len(i.operands)])
        ]
        if i.opcode in ("zext", "uitofp") and "nneg" not in i.flags and given[0].type != "boolean":
            self._is_not_negative(i, given[:1])
        if compares_without_signs(i, given):
            self._is_not_negative(i, given)
            i = i._replace(flags=i.flags | {"samesign"})
        return operation(i, given, kind)

    def _is_not_negative(self, i: Instruction, before: Sequence[Expression]) -> None:
        """That numbers stand for themselves where they are read without a sign."""
        of = [v for v, e in zip(i.operands, before, strict=False) if not fits(e, 0, 2**63)]
        if i.types[0] not in BITS and of:
            said = dict.fromkeys(map(self._named, of))
            are = "is" if len(said) == 1 else "are"
            where = f" (line {i.line})" if i.line else ""
            self.evolution.wraps[i.name] = f"{' and '.join(said)}{where} {are} not negative"

    def _named(self, value: str) -> str:
        """A value as C calls it; one that is read and has no name by its array."""
        i = self.evolution.function.values.get(value)
        access = self.evolution.accesses.get(i.position) if i is not None else None
        if access is None or value in self.evolution.function.variables:
            return self.evolution.spelled(value)
        return f"what is read of {self.evolution.spelled(access.base)}"

    def _bits(self, i: Instruction, kind: str) -> Expression:
        """The bits of a value as another type: those of a cell are a cell of that type."""
        found = self.of(i.operands[0], i.types[0])
        if not isinstance(found, Read) or found.cells:
            raise Opaque(f"the bits of what is computed, as another type (line {i.line})")
        return replace(found, type=kind)

    def _load(self, i: Instruction, kind: str) -> Expression:
        access = self.evolution.accesses.get(i.position)
        if access is not None:
            return self._cell(access, i, kind)
        return self._read(self.evolution.of(i.operands[0]), i, kind)

    def _read(self, address: Size, i: Instruction, kind: str) -> Expression:
        """A cell; where one of several arrays is chosen, one of several cells."""
        for name in address.names():
            pointer = self.evolution.function.values.get(name)
            if (
                pointer is not None
                and pointer.type == "ptr"
                and pointer.opcode in ("phi", "select")
            ):
                return self._chosen(address, pointer, i, kind)
        return self._cell(self.evolution.at(address, i), i, kind)

    def _cell(self, access: Access | None, i: Instruction, kind: str) -> Expression:
        """What is read of an array that the loops do not change to another."""
        if access is None or not self.plain(access.base):
            raise Opaque(f"a load from an address that is not understood (line {i.line})")
        read = Read(
            access.base, access.index, self.atoms(access.index), kind, i.position,
            self.evolution.cells(access.base, i.type),
        )  # fmt: skip
        return as_value(read, read.cells, BITS.get(i.type, 0))

    def _chosen(self, address: Size, pointer: Instruction, i: Instruction, kind: str) -> Expression:
        """A load from one of several addresses: one of several loads."""

        def instead(value: str) -> Expression:
            return self._read(address.substitute({pointer.name: self.evolution.of(value)}), i, kind)

        if pointer.opcode == "select":
            condition, yes, no = pointer.operands
            return select(self.of(condition, "i1"), instead(yes), instead(no))
        start = self.control.dominator[pointer.block]
        if (
            pointer.block in self.control.loops
            or start is None
            or pointer.block not in self.root.blocks
        ):
            raise Opaque(f"a load through a pointer that changes (line {i.line})")
        reached, found = Paths(self, start), None
        for value, label in reversed(list(zip(pointer.operands, pointer.labels, strict=True))):
            e = instead(value)
            found = e if found is None else select(reached.edge(label, pointer.block), e, found)
        assert found is not None, "cannot happen: a phi has operands"
        return found

    def atoms(self, index: Size) -> tuple[tuple[str, Expression], ...]:
        """The atoms of an index that change with the loops and are no counters."""
        return tuple(
            (name, as_index(self.of(name)))
            for name in sorted(index.names())
            if not self.plain(name)
        )

    # ---- phis

    def _phi(self, i: Instruction, kind: str) -> Expression:
        if i.block in self.control.loops:
            if i.block not in self.root.blocks:
                return Value(i.name, kind)
            raise Opaque(
                f"{self.evolution.spelled(i.name)} is carried from one iteration to the next (line {i.line})"
            )
        if len(set(i.operands)) == 1:
            return self._after(i, i.operands[0])
        if i.block not in self.root.blocks:
            return Value(i.name, kind)
        start = self.control.dominator[i.block]
        assert start is not None, "cannot happen: a phi stands where paths meet"
        reached = Paths(self, start)
        found: Expression | None = None
        for value, label in reversed(list(zip(i.operands, i.labels, strict=True))):
            e = self.of(value, i.type)
            found = e if found is None else select(reached.edge(label, i.block), e, found)
        assert found is not None, "cannot happen: a phi has operands"
        return found

    def _after(self, i: Instruction, value: str) -> Expression:
        """The value that a loop leaves."""
        inner = self.evolution.function.values.get(value)
        if inner is None:
            return self.of(value, i.type)
        loop = self.control.loop_of.get(inner.block)
        if loop is None or i.block in loop.blocks:
            return self.of(value, i.type)
        if loop.header not in self.root.blocks:
            return Value(i.name, self.scalar(i.type, i))
        if self.evolution.trips(loop) is None:
            return self.search(loop, value, i)
        return self.fold(loop, value, i)

    def search(self, loop: Loop, value: str, i: Instruction) -> Search:
        """What a loop leaves that goes on while a test holds, where it is shown that it ends; raises `Opaque`."""
        phis, last = self._heads(loop), self.evolution.function.blocks[loop.header][-1]
        exits = self.control.exits(loop)
        is_plain = len(loop.latches) == 1 and [block for block, _ in exits] == [loop.header]
        if value not in phis or not is_plain or last.opcode != "br":
            raise Opaque(f"the loop at line {line_of(self.evolution, loop)} is not counted")
        names, (*updates, test) = self.updates(loop, *phis, and_=last.operands[0])
        starts = tuple(self.of(_entry(phis[n], loop)[0], phis[n].type) for n in names)
        goes_on = test if last.labels[0] in loop.blocks else negation(test)
        found = Search(
            loop.header, tuple(names), starts, tuple(updates), goes_on, 0, value, self.scalar(i.type, i)
        )  # fmt: skip
        if loop.header not in self.evolution.endings:
            self.evolution.endings[loop.header] = most_steps(found)
        most = self.evolution.endings[loop.header]
        if most is None:
            raise Opaque(f"the loop at line {line_of(self.evolution, loop)} is not counted")
        return without_signs(replace(found, most=most))

    def updates(
        self, loop: Loop, *first: str, and_: str | None = None
    ) -> tuple[list[str], list[Expression]]:
        """What values that a loop carries become with an iteration, and the others that are needed for them; raises `Opaque`.

        The last is what `and_` is, where that is given: a truth value in terms of what is carried.
        """
        phis, names = self._heads(loop), list(first)
        while True:
            inner = Expressions(self.evolution, self.root, dict(self.carried))
            for n in names:
                inner.carried[n] = Accumulator(n, self.scalar(phis[n].type, phis[n]))
            try:
                found = [inner.of(_back(phis[n], loop)[0], phis[n].type) for n in names]
                return names, [*found, *([inner.of(and_, "i1")] if and_ is not None else [])]
            except Opaque:
                more = _carried_too(self.evolution, phis, names, loop)
                if not more:
                    raise
                names += more

    def _heads(self, loop: Loop) -> dict[str, Instruction]:
        """The values that a loop carries."""
        block = self.evolution.function.blocks[loop.header]
        return {i.name: i for i in block if i.opcode == "phi"}

    def fold(self, loop: Loop, value: str, i: Instruction) -> Fold:
        """What a loop leaves in a value that it carries; raises `Opaque`."""
        trips = self.evolution.trips(loop)
        if trips is None:
            raise Opaque(f"the loop at line {line_of(self.evolution, loop)} is not counted")
        phis = self._heads(loop)
        start = value if value in phis else next(
            (name for name, p in phis.items() if value in _back(p, loop)), None
        )  # fmt: skip
        late = self.evolution.is_late(loop)
        if start is None or (start == value) == late:
            raise Opaque(f"what the loop at line {line_of(self.evolution, loop)} leaves is no fold")
        names, updates = self.updates(loop, start)
        starts = tuple(self.of(_entry(phis[n], loop)[0], phis[n].type) for n in names)
        return Fold(
            loop.header, tuple(names), starts, tuple(updates), self.scalar(i.type, i),
            trips, self.atoms(trips),
        )  # fmt: skip


def _back(phi: Instruction, loop: Loop) -> list[str]:
    return [v for v, label in zip(phi.operands, phi.labels, strict=True) if label in loop.blocks]


def _entry(phi: Instruction, loop: Loop) -> list[str]:
    return [
        v for v, label in zip(phi.operands, phi.labels, strict=True) if label not in loop.blocks
    ]


def _carried_too(
    evolution: Accesses, phis: Mapping[str, Instruction], names: list[str], loop: Loop
) -> list[str]:
    """The other phis of the loop that the updates of some need, one more at a time."""
    met: set[str] = set()
    stack = [v for n in names for v in _back(phis[n], loop)]
    while stack:
        value = stack.pop()
        if value in met:
            continue
        met.add(value)
        if value in phis and value not in names and evolution.step(value) is None:
            return [value]
        i = evolution.function.values.get(value)
        if i is not None and i.block in loop.blocks and value not in phis:
            stack += i.operands
            if i.opcode == "phi":
                stack += [
                    v for label in i.labels for v in evolution.function.blocks[label][-1].operands
                ]
                top = evolution.control.dominator[i.block]
                if top is not None:
                    stack += evolution.function.blocks[top][-1].operands
    return []


class Paths:
    """Under which condition a block is reached from one that dominates it, loops inside being passed through."""

    def __init__(self, expressions: Expressions, start: str) -> None:
        self.of, self.start = expressions, start
        self._memo: dict[str, Expression] = {start: TRUE}

    def reached(self, block: str) -> Expression:
        """The condition."""
        if block not in self._memo:
            self._memo[block] = FALSE
            try:
                self._memo[block] = self._reached(block)
            except Opaque:
                del self._memo[block]  # whoever asks again is told again
                raise
        return self._memo[block]

    def _reached(self, block: str) -> Expression:
        control = self.of.control
        above = control.dominator[block]
        known = above is not None and control.dominates(self.start, above)
        if above is not None and known and control.follows(block, above):
            return self.reached(above)
        found: Expression = FALSE
        for before in control.function.predecessors[block]:
            if not control.dominates(block, before) and control.dominates(self.start, before):
                found = either(found, self.edge(before, block))
        return found

    def edge(self, before: str, block: str) -> Expression:
        """The condition for going from one block to the next."""
        control = self.of.control
        last = control.function.blocks[before][-1]
        here = self.reached(before)
        loop = control.loop_of.get(before)
        if loop is not None and block not in loop.blocks and loop.header != self.start:
            return self.reached(loop.header)  # every loop ends
        leaves = loop is not None and any(label not in loop.blocks for label in last.labels)
        if len(last.labels) == 1 or leaves:  # the iteration is one that is run
            return here
        if last.opcode == "switch":
            return both(here, self._case(last, block))
        if last.opcode != "br":
            raise Opaque(f"{last.opcode} (line {last.line})")
        condition = self.of.of(last.operands[0], "i1")
        return both(here, condition if last.labels[0] == block else negation(condition))

    def _case(self, last: Instruction, block: str) -> Expression:
        """Whether a switch goes to a block: for one of its cases, or for none of the others."""
        of, kind = self.of.of(last.operands[0], last.types[0]), last.types[0]
        default, *others = last.labels
        to = zip(last.operands[1:], others, strict=True)
        found: Expression = FALSE
        for number, label in to:
            if (label == block) != (default == block):
                here = Apply("equal", (of, self.of.of(number, kind)), "boolean")
                found = either(found, here)
        return negation(found) if default == block else found


def line_of(evolution: Accesses, loop: Loop) -> int:
    """The line where a loop begins."""
    function = evolution.function
    for latch in loop.latches:
        if latch in function.extents:
            return function.extents[latch].line
    return next((i.line for i in function.blocks[loop.header] if i.line), function.line)
