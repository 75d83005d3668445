"""The graph of a function in static single assignment form, as LLVM prints it; every value has a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from relift.compiler.idioms.facts.llvm.declared import Declared
from relift.compiler.idioms.facts.names import is_global

INTEGERS = frozenset(
    ["add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "sdiv", "udiv", "srem", "urem"]
)
FLOATS = frozenset(["fadd", "fsub", "fmul", "fdiv", "frem"])
CASTS = frozenset(
    [
        "sext",
        "zext",
        "trunc",
        "fpext",
        "fptrunc",
        "sitofp",
        "uitofp",
        "fptosi",
        "fptoui",
        "bitcast",
        "ptrtoint",
        "inttoptr",
    ]
)


class Instruction(NamedTuple):
    """One instruction: `%name = opcode operands`; a tuple, as a long file has tens of thousands.

    An operand is the text of a value: `%x` an instruction or an argument, `@g` a global, else a constant.
    `about` is what one kind of instruction says beside: the predicate of a comparison, the function that is called, the
    type that an address counts in.
    """

    name: str
    opcode: str
    type: str
    operands: tuple[str, ...]
    types: tuple[str, ...] = ()
    about: str = ""
    flags: frozenset[str] = frozenset()
    labels: tuple[str, ...] = ()
    block: str = ""
    position: int = 0
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return self.name or f"{self.opcode}@{self.position}"


@dataclass(frozen=True)
class Extent:
    """Where a loop stands in the file: the first line and column, and the last."""

    line: int
    column: int
    last_line: int
    last_column: int
    scopes: tuple[str, ...] = ()
    """The blocks of C that it is in, the innermost first."""


@dataclass(frozen=True)
class CVariable:
    """A variable of C: its name, the block of C that it is declared in, and where."""

    name: str
    scope: str
    line: int


@dataclass(frozen=True)
class Function:
    """A function: its arguments, its blocks in order, and the C variables that its values are."""

    name: str
    result: str
    arguments: Mapping[str, str]
    blocks: Mapping[str, tuple[Instruction, ...]]
    line: int = 0
    variadic: bool = False
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The C variables that a value is, by the value."""
    unsigned: frozenset[str] = frozenset()
    """C variables of an unsigned type."""
    extents: Mapping[str, Extent] = field(default_factory=dict[str, Extent])
    """By the block at whose end a loop goes back."""
    declared: Mapping[str, CVariable] = field(default_factory=dict[str, CVariable])
    """The C variables, by what LLVM calls them; several may have one name."""
    assigned: Mapping[str, tuple[tuple[str, str], ...]] = field(
        default_factory=dict[str, tuple[tuple[str, str], ...]]
    )
    """By block, in order: a variable, and the value that it gets; an empty one where that is not known."""

    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """What has fewer bits in C than here: the least and the greatest number that it is taken to be."""
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    """The types that C declares its variables with, by the value."""
    places: frozenset[str] = frozenset()
    """Values that are the places of variables, and not what they hold."""
    again: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Loads that are left out, as another one looked up the same field: that one, and the block that it was in."""
    by_value: Mapping[str, str] = field(default_factory=dict[str, str])
    """The arguments that are structures of their own, and not somebody's: what LLVM calls these."""

    def instructions(self) -> Iterator[Instruction]:
        """All instructions, block by block."""
        for block in self.blocks.values():
            yield from block

    @cached_property
    def values(self) -> dict[str, Instruction]:
        """The instructions that have a result, by its name."""
        return {i.name: i for i in self.instructions() if i.name}

    @cached_property
    def users(self) -> dict[str, list[Instruction]]:
        """The instructions that use a value."""
        found: dict[str, list[Instruction]] = {}
        for i in self.instructions():
            operands = i.operands
            for operand in operands if len(operands) < 2 else dict.fromkeys(operands):
                found.setdefault(operand, []).append(i)
        return found

    @cached_property
    def successors(self) -> dict[str, tuple[str, ...]]:
        """The blocks that a block may be left for."""
        return {label: block[-1].labels for label, block in self.blocks.items()}

    @cached_property
    def predecessors(self) -> dict[str, tuple[str, ...]]:
        """The blocks that a block may be entered from."""
        found: dict[str, list[str]] = {label: [] for label in self.blocks}
        for label, after in self.successors.items():
            for to in dict.fromkeys(after):
                found[to].append(label)
        return {label: tuple(before) for label, before in found.items()}

    def type_of(self, value: str) -> str:
        """The type of an instruction or an argument; empty for a constant."""
        if value in self.values:
            return self.values[value].type
        return self.arguments.get(value, "ptr" if is_global(value) else "")


@dataclass(frozen=True)
class Module:
    """A file: its functions, the types of its globals, and the layouts of its structures."""

    file: str
    functions: Mapping[str, Function]
    globals: Mapping[str, str]
    structures: Mapping[str, Sequence[str]]
    declared: Declared = field(default_factory=Declared)
    constants: frozenset[str] = frozenset()
    """Globals that nothing may write to."""
