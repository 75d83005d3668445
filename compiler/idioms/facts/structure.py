"""Relations of control and data flow, and of loops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

from relift.compiler.idioms.constraints.solving import Bound, Row
from relift.compiler.idioms.facts.accesses import Accesses
from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.evolution import PURE, library_name
from relift.compiler.idioms.facts.llvm.ir import Function, Instruction, Module

_SPELLED = {"branch": "br", "gep": "getelementptr", "return": "ret"}


class _Remembered:
    """A relation that looks each of its questions up once."""

    _found: dict[Bound, Sequence[Row]]

    def matching(self, bound: Bound) -> Sequence[Row]:
        """The rows with these values."""
        found = self._found.get(bound)
        if found is None:
            found = self._found[bound] = self._looked_up(bound)
        return found

    def _looked_up(self, bound: Bound) -> Sequence[Row]:
        raise NotImplementedError


class Listed(_Remembered):
    """A relation whose rows are listed; they are indexed by the values that are asked for."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._set = frozenset(rows)
        self.rows = sorted(self._set)
        self._indices: dict[tuple[int, ...], dict[Row, list[Row]]] = {}
        self._found = {}

    def _looked_up(self, bound: Bound) -> Sequence[Row]:
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


@dataclass
class Computed(_Remembered):
    """A relation of many rows, of which few are asked for: those of a first or a last value are computed then."""

    values: Collection[str]
    """The values that may come first."""
    of_first: Callable[[str], Iterable[Row]]
    test: Callable[..., bool]
    of_last: Callable[[str], Iterable[Row]] | None = None
    about: int = 0
    """How many rows there are, where that is known before they are computed."""
    _found: dict[Bound, Sequence[Row]] = field(default_factory=dict[Bound, Sequence[Row]])

    def _looked_up(self, bound: Bound) -> Sequence[Row]:
        if bound[0] is not None:
            return self._of(self.of_first(bound[0]), bound)
        if bound[-1] is not None and self.of_last is not None:
            return self._of(self.of_last(bound[-1]), bound)
        return Later(max(self.about, len(self.values)), lambda: self._everything.matching(bound))

    def holds(self, row: Row) -> bool:
        """Whether it holds."""
        return self.test(*row)

    @cached_property
    def _everything(self) -> Listed:
        return Listed(row for value in self.values for row in self.of_first(value))

    @staticmethod
    def _of(rows: Iterable[Row], bound: Bound) -> Sequence[Row]:
        asked = [(i, v) for i, v in enumerate(bound) if v is not None]
        if len(asked) > 1:
            rows = [row for row in rows if all(row[i] == v for i, v in asked)]
        return sorted(set(rows))


class Later(Sequence[Row]):
    """Rows that are listed when they are looked at; until then there are about so many, more than one."""

    def __init__(self, about: int, listed: Callable[[], Sequence[Row]]) -> None:
        self._about, self._listed = about, listed

    @cached_property
    def _rows(self) -> Sequence[Row]:
        return self._listed()

    def __len__(self) -> int:
        return max(self._about, 2)

    def __getitem__(self, place: Any) -> Any:
        return self._rows[place]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)


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

    def __init__(self, function: Function, module: Module, control: Control | None = None) -> None:
        self.function, self.module = function, module
        self.control = control or Control(function)
        self.evolution = Accesses(function, self.control, module)

    @property
    def universe(self) -> Sequence[str]:
        """All values: instructions, arguments, and what they use."""
        return self._universe

    @cached_property
    def _universe(self) -> Sequence[str]:
        named = ((name, *i.operands) for name, i in self.instructions.items())
        return tuple(dict.fromkeys(chain(self.function.arguments, chain.from_iterable(named))))

    @cached_property
    def instructions(self) -> dict[str, Instruction]:
        """The instructions that are reached, by name."""
        return {
            str(i): i for i in self.function.instructions() if i.block in self.control.dominator
        }

    @cached_property
    def by_opcode(self) -> dict[str, list[str]]:
        """The names of the instructions that are reached, by what they do."""
        found: dict[str, list[str]] = {}
        for name, i in self.instructions.items():
            found.setdefault(i.opcode, []).append(name)
        return found

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

    def typed(self, *prefixes: str) -> Computed:
        """The values whose type begins so."""

        def holds(value: str) -> bool:
            return self.type_of(value).startswith(prefixes)

        return Computed(self.universe, lambda v: [(v,)] if holds(v) else [], holds)

    def operands(self, place: int) -> Computed:
        """An operand of instructions, by its place."""

        def of_last(name: str) -> Iterator[Row]:
            i = self.instructions.get(name)
            if i is not None and len(i.operands) > place and i.opcode != "phi":
                yield i.operands[place], name

        return self._used(of_last)

    def operands_of(self, name: str) -> Iterator[Row]:
        """What an instruction uses, each with it."""
        i = self.instructions.get(name)
        for operand in i.operands if i is not None else ():
            yield operand, name

    def _used(self, of_last: Callable[[str], Iterable[Row]]) -> Computed:
        """Operands with what uses them, given by what uses them."""

        def of_first(operand: str) -> Iterator[Row]:
            for user in self.function.users.get(operand, ()):
                yield from (row for row in of_last(str(user)) if row[0] == operand)

        return Computed(self.universe, of_first, lambda a, b: (a, b) in set(of_last(b)), of_last)

    @property
    def data_flow(self) -> Computed:
        """Operands with what uses them."""
        return self._used(self.operands_of)

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

    @cached_property
    def iterators(self) -> list[Row]:
        """What counts each loop that is counted: of several values that go in steps the one that is asked for at its end."""
        found: list[Row] = []
        for loop in self.counted:
            phis = [p for p in self.function.blocks[loop.header] if p.opcode == "phi"]
            steady = [p for p in phis if self.evolution.step(p.name) is not None]
            tested = self.tested(loop)
            best = [p for p in steady if p.name in tested] or steady
            if best:
                found.append((best[0].name, self.begin(loop)))
        return sorted(found)

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

    @property
    def inside(self) -> Computed:
        """Values with each loop that they are computed in."""

        def of_first(value: str) -> Iterator[Row]:
            i = self.instructions.get(value)
            for loop in self.control.around(i.block) if i is not None else ():
                yield value, self.begin(loop)

        return Computed(
            self.instructions,
            of_first,
            lambda value, begin: (value, begin) in set(of_first(value)),
            lambda begin: self._computed_in(self.loop_at(begin).blocks, begin),
        )

    @property
    def belonging(self) -> Computed:
        """Values with the innermost loop that they are computed in."""

        def of_first(value: str) -> Iterator[Row]:
            i = self.instructions.get(value)
            loop = self.control.loop_of.get(i.block) if i is not None else None
            if loop is not None:
                yield value, self.begin(loop)

        def of_last(begin: str) -> Iterator[Row]:
            loop = self.loop_at(begin)
            own = (block for block in loop.blocks if self.control.loop_of[block] == loop)
            return self._computed_in(own, begin)

        return Computed(
            self.instructions,
            of_first,
            lambda value, begin: (value, begin) in set(of_first(value)),
            of_last,
        )

    def _computed_in(self, blocks: Iterable[str], begin: str) -> Iterator[Row]:
        return ((str(i), begin) for block in blocks for i in self.function.blocks[block])

    def directly_inside(self) -> Iterator[Row]:
        for loop in self.control.loops.values():
            if loop.parent:
                yield self.begin(loop), self.begin(self.control.loops[loop.parent])

    def invariant(self, value: str, begin: str) -> bool:
        loop = self.loop_at(begin)
        return self.evolution.invariant(self.evolution.of(value), loop)
