"""Relations of control and data flow, and of loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from relift.compiler.idioms.constraints.solving import Bound, Row
from relift.compiler.idioms.facts.accesses import Accesses
from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.evolution import PURE, library_name
from relift.compiler.idioms.facts.llvm.ir import Function, Instruction, Module

_SPELLED = {"branch": "br", "gep": "getelementptr", "return": "ret"}


class Listed:
    """A relation whose rows are listed; they are indexed by the values that are asked for."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = sorted(set(rows))
        self._set = frozenset(self.rows)
        self._indices: dict[tuple[int, ...], dict[Row, list[Row]]] = {}

    def matching(self, bound: Bound) -> Sequence[Row]:
        """The rows with these values."""
        places = tuple([i for i, v in enumerate(bound) if v is not None])
        index = self._indices.get(places)
        if index is None:
            index = self._indices[places] = {}
            for row in self.rows:
                index.setdefault(tuple([row[i] for i in places]), []).append(row)
        return index.get(tuple([v for v in bound if v is not None]), [])

    def holds(self, row: Row) -> bool:
        """Whether it holds."""
        return row in self._set


class Asked:
    """A relation that is asked about known values only."""

    def __init__(self, test: Callable[..., bool]) -> None:
        self.test = test

    def matching(self, bound: Bound) -> Sequence[Row] | None:
        """Not known."""
        return None

    def holds(self, row: Row) -> bool:
        """Whether it holds."""
        return self.test(*row)


class Same:
    """Two names for one value."""

    def matching(self, bound: Bound) -> Sequence[Row] | None:
        """The one row, where one of the values is known."""
        value = bound[0] if bound[0] is not None else bound[1]
        return None if value is None else [(value, value)]

    def holds(self, row: Row) -> bool:
        """Whether it holds."""
        return row[0] == row[1]


class Structure:
    """The graph of one function, and what is asked of its control and data flow."""

    def __init__(self, function: Function, module: Module) -> None:
        self.function, self.module = function, module
        self.control = Control(function)
        self.evolution = Accesses(function, self.control, module)

    @property
    def universe(self) -> Sequence[str]:
        """All values: instructions, arguments, and what they use."""
        return self._universe

    @cached_property
    def _universe(self) -> Sequence[str]:
        found = dict.fromkeys(self.function.arguments)
        for i in self.instructions.values():
            found.update(dict.fromkeys((str(i), *i.operands)))
        return tuple(found)

    @cached_property
    def instructions(self) -> dict[str, Instruction]:
        """The instructions that are reached, by name."""
        return {
            str(i): i for i in self.function.instructions() if i.block in self.control.dominator
        }

    def both(self, test: Callable[[Instruction, Instruction], bool], a: str, b: str) -> bool:
        known = self.instructions
        return a in known and b in known and test(known[a], known[b])

    # ---- structure

    def type_of(self, value: str) -> str:
        """The type of a value; of a number, that of what uses it."""
        if value in self.instructions:
            return self.instructions[value].type
        if found := self.function.type_of(value):
            return found
        for user in self.function.users.get(value, ()):
            at = user.operands.index(value)
            return user.types[at] if at < len(user.types) else user.type
        return ""

    def typed(self, *prefixes: str) -> Iterator[Row]:
        for value in self.universe:
            if self.type_of(value).startswith(prefixes):
                yield (value,)

    def operands(self, place: int) -> Iterator[Row]:
        for name, i in self.instructions.items():
            if len(i.operands) > place and i.opcode != "phi":
                yield i.operands[place], name

    def data_flow(self) -> Iterator[Row]:
        for name, i in self.instructions.items():
            for operand in i.operands:
                yield operand, name

    def control_flow(self) -> Iterator[Row]:
        for label, block in self.function.blocks.items():
            if label in self.control.dominator:
                for a, b in pairwise(block):
                    yield str(a), str(b)
                for after in self.function.successors[label]:
                    yield str(block[-1]), str(self.function.blocks[after][0])

    def control_dependence(self) -> Iterator[Row]:
        function, control = self.function, self.control
        for label in control.dominator:
            for after in function.successors[label] if len(function.successors[label]) > 1 else ():
                at: str | None = after
                while (
                    at is not None
                    and at in function.blocks
                    and at != control.post_dominator.get(label)
                ):
                    for i in function.blocks[at]:
                        yield str(function.blocks[label][-1]), str(i)
                    at = control.post_dominator.get(at)

    def phis(self) -> Iterator[Row]:
        for name, i in self.instructions.items():
            if i.opcode == "phi":
                for value, label in zip(i.operands, i.labels, strict=True):
                    yield value, name, str(self.function.blocks[label][-1])

    def pure(self) -> Iterator[Row]:
        for name, i in self.instructions.items():
            if i.opcode == "call" and library_name(i.about) in PURE:
                yield (name,)

    def passes(self, a: str, b: str, through: str) -> bool:
        """Whether no path leads from one instruction to another past a third."""
        known = self.instructions
        if not {a, b, through} <= known.keys():
            return False
        if through in (a, b):
            return True
        after: dict[str, list[str]] = {x: [] for x in known}
        for x, y in self.control_flow():
            after[x].append(y)
        met, stack = {a}, [a]
        while stack:
            for y in after[stack.pop()]:
                if y == b:
                    return False
                if y not in met and y != through:
                    met.add(y)
                    stack.append(y)
        return True

    def all_through(
        self, sources: frozenset[str], results: frozenset[str], through: frozenset[str]
    ) -> bool:
        """Whether data comes to the results from no source and no origin but through these values."""
        met: set[str] = set()
        stack = [r for r in results if r not in through]
        while stack:
            value = stack.pop()
            if value in sources or value in self.function.arguments:
                return False
            i = self.instructions.get(value)
            if value in met or i is None:
                continue
            met.add(value)
            if i.opcode in ("load", "alloca") or (
                i.opcode == "call" and library_name(i.about) not in PURE
            ):
                return False
            stack += [o for o in i.operands if o not in through]
        return True

    # ---- loops

    def begin(self, loop: Loop) -> str:
        """The first instruction of a loop."""
        return str(self.function.blocks[loop.header][0])

    def loop_at(self, begin: str) -> Loop:
        """The loop with this first instruction."""
        return self.control.loops[self.instructions[begin].block]

    @cached_property
    def counted(self) -> list[Loop]:
        """The loops whose iterations are counted."""
        return [x for x in self.control.loops.values() if self.evolution.trips(x) is not None]

    def loop_ends(self) -> Iterator[Row]:
        for loop in self.control.loops.values():
            leaving = {block for block, _ in self.control.exits(loop)}
            if len(leaving) == 1:
                yield str(self.function.blocks[leaving.pop()][-1]), self.begin(loop)

    def iterators(self) -> Iterator[Row]:
        for loop in self.counted:
            phis = [p for p in self.function.blocks[loop.header] if p.opcode == "phi"]
            steady = [p for p in phis if self.evolution.step(p.name) is not None]
            tested = self.tested(loop)
            best = [p for p in steady if p.name in tested] or steady
            if best:
                yield best[0].name, self.begin(loop)

    def tested(self, loop: Loop) -> set[str]:
        """What the test of a loop is made from."""
        block = self.control.exits(loop)[0][0]
        found, stack = set[str](), list(self.function.blocks[block][-1].operands)
        while stack:
            value = stack.pop()
            i = self.instructions.get(value)
            if value not in found and i is not None and i.block in loop.blocks:
                found.add(value)
                stack += i.operands if i.opcode != "phi" else ()
        return found

    def iterator_loop(self, iterator: str) -> Loop | None:
        """The loop that a value counts."""
        i = self.instructions.get(iterator)
        return self.control.loops.get(i.block) if i is not None else None

    def inside(self) -> Iterator[Row]:
        for name, i in self.instructions.items():
            for loop in self.control.around(i.block):
                yield name, self.begin(loop)

    def directly_inside(self) -> Iterator[Row]:
        for loop in self.control.loops.values():
            if loop.parent:
                yield self.begin(loop), self.begin(self.control.loops[loop.parent])

    def invariant(self, value: str, begin: str) -> bool:
        loop = self.loop_at(begin)
        return self.evolution.invariant(self.evolution.of(value), loop)
