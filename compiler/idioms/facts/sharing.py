"""One value for what is computed or read twice.

LLVM's pass for that gives up by ending the process where a function has hundreds of loops, so this is Relift's own: the tree of
dominance is walked from the entry, what is computed above is known below, and a cell that was read or written keeps its value
until something may write to memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from relift.compiler.idioms.facts.control import immediate_dominators
from relift.compiler.idioms.facts.evolution import PURE, harmless, library_name
from relift.compiler.idioms.facts.llvm.ir import CASTS, FLOATS, INTEGERS, Function, Instruction

_COMPUTED = INTEGERS | FLOATS | CASTS | {"getelementptr", "icmp", "fcmp", "select", "fneg"}


def shared(function: Function) -> Function:
    """A function in which no instruction repeats one whose value is known."""
    if not function.blocks:
        return function
    sharing = _Sharing(function)
    sharing.walk()
    if not sharing.same:
        return function
    blocks = {label: tuple(sharing.after(label)) for label in function.blocks}
    return renamed(function, blocks, sharing.kept)


def renamed(
    function: Function, blocks: Mapping[str, tuple[Instruction, ...]], kept: Callable[[str], str]
) -> Function:
    """A function of these blocks, where some values stand for others."""
    variables: dict[str, tuple[str, ...]] = {}
    for value, names in function.variables.items():
        own = kept(value)
        variables[own] = tuple(dict.fromkeys((*variables.get(own, ()), *names)))
    assigned = {
        label: tuple((v, kept(value)) for v, value in found)
        for label, found in function.assigned.items()
    }
    types = {kept(value): type_ for value, type_ in function.types.items()}
    return replace(function, blocks=blocks, variables=variables, assigned=assigned, types=types)


@dataclass
class _Sharing:
    function: Function
    same: dict[str, str] = field(default_factory=dict[str, str])
    """Instructions that repeat another, and that."""
    left: dict[str, list[Instruction]] = field(default_factory=dict[str, list[Instruction]])
    """The blocks that are reached, without what repeats; what is computed below them may still be called otherwise."""
    _known: dict[object, str] = field(default_factory=dict[object, str])
    """What is computed above the block that is looked at."""
    _cells: dict[str, dict[tuple[str, str], str]] = field(
        default_factory=dict[str, dict[tuple[str, str], str]]
    )
    """The cells whose values are known at the end of a block: by type and address."""
    _writes: dict[str, bool] = field(default_factory=dict[str, bool])
    """The blocks that were asked for, and whether something in them may write."""

    def kept(self, value: str) -> str:
        """The value that stands for a value."""
        return self.same.get(value, value)

    def renamed(self, i: Instruction) -> Instruction:
        """An instruction over the values that are kept."""
        if self.same.keys().isdisjoint(i.operands):
            return i
        return i._replace(operands=tuple(map(self.kept, i.operands)))

    def after(self, block: str) -> list[Instruction]:
        """What is left of a block; what a phi takes is computed after it, so it is named at the end."""
        if block not in self.left:  # not reached
            return list(map(self.renamed, self.function.blocks[block]))
        return [self.renamed(i) if i.opcode == "phi" else i for i in self.left[block]]

    def walk(self) -> None:
        """Look at every block after the one that dominates it."""
        entry = next(iter(self.function.blocks))
        over = immediate_dominators(entry, self.function.successors)
        below: dict[str | None, list[str]] = {}
        for block, parent in over.items():  # those that come before come first
            below.setdefault(parent, []).append(block)
        stack: list[str | list[object]] = [entry]
        while stack:
            top = stack.pop()
            if isinstance(top, list):  # all below a block is done
                for key in top:
                    del self._known[key]
                continue
            block = top
            before = len(self._known)
            self._block(block, over)
            stack.append(list(islice(reversed(self._known), len(self._known) - before)))
            stack += reversed(below.get(block, ()))

    def _block(self, block: str, over: Mapping[str, str | None]) -> None:
        parent = over[block]
        is_kept = parent is not None and not self._may_write_between(parent, block, over)
        cells = dict(self._cells[parent]) if parent is not None and is_kept else {}
        left = self.left[block] = []
        for original in self.function.blocks[block]:
            i = self.renamed(original)
            match i.opcode:
                case "load" if not i.flags:
                    found = cells.setdefault((i.type, i.operands[0]), i.name)
                    if found != i.name:
                        self.same[i.name] = found
                case "store":
                    cells = {} if i.flags else {(i.types[0], i.operands[1]): i.operands[0]}
                case "call" if library_name(i.about) in PURE:
                    self._repeats(i)
                case _ if i.opcode in _COMPUTED:
                    self._repeats(i)
                case _ if may_write(i):
                    cells = {}
                case _:
                    pass
            if i.name not in self.same:
                left.append(i)
        self._cells[block] = cells

    def _repeats(self, i: Instruction) -> None:
        key = (i.opcode, i.type, i.operands, i.types, i.about, i.flags)
        found = self._known.setdefault(key, i.name)
        if found != i.name:
            self.same[i.name] = found

    def _may_write_between(self, above: str, block: str, over: Mapping[str, str | None]) -> bool:
        def writes(at: str) -> bool:
            if at not in self._writes:
                self._writes[at] = any(map(may_write, self.function.blocks[at]))
            return self._writes[at]

        return writes_between(self.function, above, block, over, writes)


def writes_between(
    function: Function, above: str, block: str, over: Collection[str], writes: Callable[[str], bool]
) -> bool:
    """Whether a path over some blocks, from the end of one to the begin of one below it, goes through what may write."""
    met: set[str] = set()
    stack = [p for p in function.predecessors[block] if p in over]
    while stack:
        at = stack.pop()
        if at == above or at in met:
            continue
        met.add(at)
        if writes(at):
            return True
        stack += [p for p in function.predecessors[at] if p in over]
    return False


def may_write(i: Instruction) -> bool:
    """Whether an instruction may write to memory."""
    if i.opcode == "call":
        return not harmless(i)
    return i.opcode in ("store", "fence", "atomicrmw", "cmpxchg", "invoke", "callbr", "va_arg")
