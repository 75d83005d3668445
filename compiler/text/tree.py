"""A kernel as a tree: what code generation builds, what passes change, what dialects print, and what the reader reads.

Some fields say only how a node is written (`compare=False`): redundant parentheses, spaces, comments and hints.  Two
trees are equal when they differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

# ---- expressions


@dataclass(frozen=True)
class Whole:
    """A whole constant; `long` when that is its type, and not `int`."""

    value: int
    long: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Real:
    """A constant with a fraction, or without a sign, as it is written."""

    text: str


@dataclass(frozen=True)
class Name:
    """A variable, an argument of the kernel, or an array."""

    name: str


@dataclass(frozen=True)
class Element:
    """`array[index]`."""

    array: Expression
    index: Expression


@dataclass(frozen=True)
class Member:
    """`of.field`: lanes of a vector."""

    of: Expression
    field: str


@dataclass(frozen=True)
class Prefix:
    """`operator operand`, where `*` follows a pointer."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary:
    """`left operator right`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Conditional:
    """`condition ? yes : no`."""

    condition: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True)
class Invocation:
    """`function(arguments)`."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Cast:
    """`(type)(arguments)`; several arguments, or one for all, are the lanes of a vector."""

    type: CType
    arguments: tuple[Expression, ...]


Expression: TypeAlias = (
    Whole | Real | Name | Element | Member | Prefix | Binary | Conditional | Invocation | Cast
)


@dataclass(frozen=True)
class CType:
    """A scalar, a vector of `width` lanes, or a pointer to such, in an address space."""

    scalar: str
    width: int = 1
    pointer: bool = False
    space: str = "private"
    constant: bool = False


# ---- statements


@dataclass(frozen=True)
class Declaration:
    """`type name[extent] = value;`, an array where there is an extent; `aligned` to more bytes than its type."""

    type: CType
    name: str
    extent: Expression | None
    value: Expression | None
    aligned: int = 0


@dataclass(frozen=True)
class Assignment:
    """`target operator value;`, the operator `=` or, say, `+=`."""

    target: Expression
    operator: str
    value: Expression


@dataclass(frozen=True)
class Evaluation:
    """A call for its effect."""

    call: Expression


@dataclass(frozen=True)
class Barrier:
    """All work-items of the group wait; `fences` names the address spaces that are made visible."""

    fences: frozenset[str]


@dataclass(frozen=True, eq=False)
class Loop:
    """`for (type counter = start; counter < end; counter += step) { body }`."""

    type: CType
    counter: str
    start: Expression
    end: Expression
    step: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Guard:
    """`if (condition) { body }`."""

    condition: Expression
    body: tuple[Statement, ...]


Statement: TypeAlias = Declaration | Assignment | Evaluation | Barrier | Loop | Guard


@dataclass(frozen=True)
class Argument:
    """One parameter of a kernel."""

    type: CType
    name: str


@dataclass(frozen=True)
class KernelText:
    """One kernel; `group` is the size of a work-group that it requires, if it does."""

    name: str
    parameters: tuple[Argument, ...]
    body: tuple[Statement, ...]
    group: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Return:
    """`return value;`, or `if (condition) return value;`."""

    condition: Expression | None
    value: Expression


@dataclass(frozen=True)
class Function:
    """A function that kernels call; where its body is not understood, `body` is None.

    `tokens` are those between the braces.
    """

    name: str
    result: CType
    parameters: tuple[Argument, ...]
    body: tuple[Declaration | Return, ...] | None
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """All that a source defines, in order."""

    kernels: tuple[KernelText, ...]
    functions: tuple[Function, ...]


# ---- inside


def parts(e: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside."""
    match e:
        case Whole() | Real() | Name():
            return ()
        case Element(array, index):
            return (array, index)
        case Member(of, _):
            return (of,)
        case Prefix(_, operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Conditional(condition, yes, no):
            return (condition, yes, no)
        case Invocation(_, arguments) | Cast(_, arguments):
            return arguments


def within(e: Expression) -> Iterator[Expression]:
    """The expression and all inside it."""
    yield e
    for part in parts(e):
        yield from within(part)
