"""Control flow: dominance, post-dominance, and natural loops as a forest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from relift.compiler.idioms.facts.llvm.ir import Function, Instruction
from relift.compiler.idioms.facts.names import Counter

_END = "(end)"


@dataclass(frozen=True)
class Loop:
    """A natural loop: the block that enters it, the blocks that go back, and all blocks in it."""

    header: str
    latches: tuple[str, ...]
    blocks: frozenset[str]
    parent: str | None = None

    @cached_property
    def counter(self) -> Counter:
        """The name of the number of iterations that are done: 0, 1, …"""
        return Counter(self.header)


def immediate_dominators(
    entry: str, successors: Mapping[str, Sequence[str]]
) -> dict[str, str | None]:
    """For each block that is reached the last one that every path to it goes through (Cooper, Harvey, Kennedy).

    >>> from relift.compiler.idioms.facts.control import immediate_dominators
    >>> immediate_dominators("a", {"a": "bc", "b": "d", "c": "d", "d": ""})
    {'a': None, 'c': 'a', 'b': 'a', 'd': 'a'}
    """
    order = postorder(entry, successors)[::-1]
    number = {block: i for i, block in enumerate(order)}
    before: dict[str, list[str]] = {block: [] for block in order}
    for block in order:
        for after in successors[block]:
            before[after].append(block)
    found: dict[str, str] = {entry: entry}

    def common(a: str, b: str) -> str:
        while a != b:
            while number[a] > number[b]:
                a = found[a]
            while number[b] > number[a]:
                b = found[b]
        return a

    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [p for p in before[block] if p in found]
            new = known[0]
            for other in known[1:]:
                new = common(new, other)
            if found.get(block) != new:
                found[block], changed = new, True
    return {block: None if block == entry else found[block] for block in order}


def postorder(entry: str, successors: Mapping[str, Sequence[str]]) -> list[str]:
    order: list[str] = []
    met = {entry}
    stack = [(entry, iter(successors[entry]))]
    while stack:
        block, rest = stack[-1]
        for after in rest:
            if after not in met:
                met.add(after)
                stack.append((after, iter(successors[after])))
                break
        else:
            order.append(block)
            stack.pop()
    return order


class Control:
    """What is known of the control flow of a function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.entry = next(iter(function.blocks))
        self.dominator = immediate_dominators(self.entry, function.successors)
        self.loops = self._loops()

    @cached_property
    def post_dominator(self) -> dict[str, str | None]:
        """The first block that every path from a block to the end goes through."""
        back: dict[str, list[str]] = {block: [] for block in (*self.dominator, _END)}
        for block in self.dominator:
            after = self.function.successors[block]
            for to in after:
                back[to].append(block)
            if not after:
                back[_END].append(block)
        return immediate_dominators(_END, back)

    def dominates(self, a: str, b: str) -> bool:
        """Whether every path from the entry to block b goes through a."""
        return self._before.leads(a, b)

    def post_dominates(self, a: str, b: str) -> bool:
        """Whether every path from block b to the end goes through a."""
        return self._after.leads(a, b)

    @cached_property
    def _before(self) -> _Tree:
        return _Tree(self.dominator)

    @cached_property
    def _after(self) -> _Tree:
        return _Tree(self.post_dominator)

    def follows(self, block: str, above: str) -> bool:
        """Whether what is executed after a block comes to another in the same iteration of its innermost loop."""
        loop = self.loop_of.get(above)
        if self.loop_of.get(block) is not loop:
            return False
        met: set[str] = set()
        stack = [above]
        while stack:
            for after in self.function.successors[stack.pop()]:
                if after == block or after in met:
                    continue
                if loop is None or after == loop.header or after not in loop.blocks:
                    return False
                met.add(after)
                stack.append(after)
        return True

    def instruction_dominates(self, a: Instruction, b: Instruction) -> bool:
        """Whether a is executed whenever b is, and before it."""
        if a.block == b.block:
            return a.position <= b.position
        return self.dominates(a.block, b.block)

    def instruction_post_dominates(self, a: Instruction, b: Instruction) -> bool:
        """Whether a is executed whenever b is, and after it."""
        if a.block == b.block:
            return a.position >= b.position
        return self.post_dominates(a.block, b.block)

    def _loops(self) -> dict[str, Loop]:
        function = self.function
        latches: dict[str, list[str]] = {}
        for block in self.dominator:
            for after in function.successors[block]:
                if self.dominates(after, block):
                    latches.setdefault(after, []).append(block)
        found: dict[str, frozenset[str]] = {}
        for header, back in latches.items():
            blocks, stack = {header}, [b for b in back if b != header]
            while stack:
                block = stack.pop()
                if block not in blocks:
                    blocks.add(block)
                    stack += [p for p in function.predecessors[block] if p in self.dominator]
            found[header] = frozenset(blocks)
        inside: dict[str, list[str]] = {header: [] for header in found}
        for header, body in found.items():
            for block in body & found.keys():
                inside[block].append(header)
        loops: dict[str, Loop] = {}
        for header in sorted(found, key=lambda h: -len(found[h])):
            around = [h for h in inside[header] if h != header]
            parent = min(around, key=lambda h: len(found[h]), default=None)
            loops[header] = Loop(header, tuple(latches[header]), found[header], parent)
        return loops

    @cached_property
    def loop_of(self) -> dict[str, Loop]:
        """The innermost loop that a block is in."""
        found: dict[str, Loop] = {}
        for loop in self.loops.values():  # the outer ones first
            found.update(dict.fromkeys(loop.blocks, loop))
        return found

    def around(self, block: str) -> Sequence[Loop]:
        """The loops that a block is in, the outermost first."""
        loop = self.loop_of.get(block)
        return self._nests[loop.header] if loop is not None else ()

    @cached_property
    def _nests(self) -> dict[str, tuple[Loop, ...]]:
        """Each loop after those that it is in."""
        found: dict[str, tuple[Loop, ...]] = {}
        for loop in self.loops.values():  # the outer ones first
            found[loop.header] = (*(found[loop.parent] if loop.parent else ()), loop)
        return found

    def children(self, loop: Loop) -> list[Loop]:
        """The loops directly inside of a loop."""
        return [inner for inner in self.loops.values() if inner.parent == loop.header]

    def exits(self, loop: Loop) -> list[tuple[str, str]]:
        """The edges that leave a loop."""
        if loop.header not in self._exits:
            self._exits[loop.header] = [
                (block, after)
                for block in sorted(loop.blocks, key=self._order.__getitem__)
                for after in self.function.successors[block]
                if after not in loop.blocks
            ]
        return self._exits[loop.header]

    @cached_property
    def _exits(self) -> dict[str, list[tuple[str, str]]]:
        return {}

    @cached_property
    def order(self) -> dict[str, int]:
        """The blocks that are reached, each after those that lead to it."""
        reached = postorder(self.entry, self.function.successors)
        return {block: number for number, block in enumerate(reversed(reached))}

    @cached_property
    def _order(self) -> dict[str, int]:
        return {block: number for number, block in enumerate(self.function.blocks)}


class _Tree:
    """A tree by the parents of its nodes, numbered so that all below a node is a range.

    >>> from relift.compiler.idioms.facts.control import _Tree
    >>> tree = _Tree({"a": None, "b": "a", "c": "b", "d": "a"})
    >>> tree.leads("a", "c"), tree.leads("b", "d"), tree.leads("x", "x"), tree.leads("a", "x")
    (True, False, True, False)
    """

    def __init__(self, parent: Mapping[str, str | None]) -> None:
        below: dict[str | None, list[str]] = {}
        for node, over in parent.items():
            below.setdefault(over, []).append(node)
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        stack = [(node, False) for node in below.get(None, ())]
        while stack:
            node, is_done = stack.pop()
            if is_done:
                self._last[node] = len(self._first)
                continue
            self._first[node] = len(self._first)
            stack.append((node, True))
            stack += [(inner, False) for inner in below.get(node, ())]

    def leads(self, a: str, b: str) -> bool:
        """Whether a is b, or over it."""
        if a == b:
            return True
        if a not in self._first or b not in self._first:
            return False
        return self._first[a] <= self._first[b] < self._last[a]
