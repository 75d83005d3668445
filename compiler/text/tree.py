"""A kernel as a tree: what code generation builds, what passes change, what dialects print, and what the reader reads.

Some fields say only how a node is written (`compare=False`): redundant parentheses, spaces, comments and hints.  Two
trees are equal when they differ in nothing else.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from relift.semantics.syntax.memory import Owner, Space

# ---- expressions


@dataclass(frozen=True)
class _Written:
    """How often an expression stands in parentheses, whether it needs them or not."""

    parentheses: int = field(default=0, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Whole(_Written):
    """A whole constant; `long` when that is its type, or how it is marked, and not `int`."""

    value: int
    long: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Real(_Written):
    """A constant with a fraction, or without a sign, as it is written."""

    text: str


@dataclass(frozen=True)
class Name(_Written):
    """A variable, an argument of the kernel, or an array."""

    name: str


@dataclass(frozen=True)
class Element(_Written):
    """`array[index]`."""

    array: Expression
    index: Expression


@dataclass(frozen=True)
class Member(_Written):
    """`of.field`: lanes of a vector."""

    of: Expression
    field: str


@dataclass(frozen=True)
class Prefix(_Written):
    """`operator operand`, where `*` follows a pointer."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary(_Written):
    """`left operator right`.

    Products are set as `4*i`, or spaced as `x * y`; a sum that starts with a sign, behind a pointer, as `x -4*i`.
    """

    operator: str
    left: Expression
    right: Expression
    set: Setting = field(default="tight", compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Conditional(_Written):
    """`condition ? yes : no`."""

    condition: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True)
class Invocation(_Written):
    """`function(arguments)`."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Cast(_Written):
    """`(type)(arguments)`; several arguments, or one for all, are the lanes of a vector."""

    type: CType
    arguments: tuple[Expression, ...]


Expression: TypeAlias = (
    Whole | Real | Name | Element | Member | Prefix | Binary | Conditional | Invocation | Cast
)


Setting: TypeAlias = Literal["tight", "spaced", "signed"]
"""How the operands of an operator are set apart."""


@dataclass(frozen=True)
class CType:
    """A scalar, a vector of `width` lanes, or a pointer to such, in an address space.

    `constant` is what a pointer points to; `fixed` a pointer that is not moved.
    """

    scalar: str
    width: int = 1
    pointer: bool = False
    space: Space = Space.PRIVATE
    constant: bool = False
    fixed: bool = field(default=False, compare=False)


# ---- statements

Advice: TypeAlias = Literal["unroll", "keep"]
"""What a driver is told of a loop: to write it out, or not."""


@dataclass(frozen=True)
class Declaration:
    """`type name[extent] = value;`, an array where there is an extent; `aligned` to more bytes than its type.

    One that is `joined` stands in one line with the one before.  An array of constants has all its `values`, `= {values}`,
    which mention no names and are no expressions of the statement.  What neighbours read at different places of these is `apart`: a
    dialect may put it in global memory.
    """

    type: CType
    name: str
    extent: Expression | None
    value: Expression | None
    aligned: int = 0
    joined: bool = field(default=False, compare=False)
    apart: bool = field(default=False, compare=False)
    values: tuple[Expression, ...] = ()


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
    """All work-items of the group wait; `fences` says whose memories show what each has written."""

    fences: frozenset[Owner]


@dataclass(frozen=True, eq=False)
class Loop:
    """`for (type counter = start; counter < end; counter += step) { body }`, and what the driver is told of it."""

    type: CType
    counter: str
    start: Expression
    end: Expression
    step: Expression
    body: tuple[Statement, ...]
    unroll: Advice | None = field(default=None, compare=False)


@dataclass(frozen=True, eq=False)
class Guard:
    """`if (condition) { body }`."""

    condition: Expression
    body: tuple[Statement, ...]


Statement: TypeAlias = Declaration | Assignment | Evaluation | Barrier | Loop | Guard
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True)
class Argument:
    """One parameter of a kernel."""

    type: CType
    name: str


@dataclass(frozen=True)
class KernelText:
    """One kernel; `group` is the size of a work-group that it requires, if it does.

    `computes_with` is the longest vector that it computes with, as a hint to the driver.
    """

    name: str
    parameters: tuple[Argument, ...]
    body: Block
    group: tuple[int, ...] | None = None
    comment: tuple[str, ...] = field(default=(), compare=False)
    computes_with: CType | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Return:
    """`return value;`, or `if (condition) return value;`."""

    condition: Expression | None
    value: Expression


@dataclass(frozen=True)
class Function:
    """A function that kernels call; where its body is not understood, `body` is None.

    What is read declares constants and returns; what is written may also loop.

    `tokens` are those between the braces, where it was read or written as text; `text` is the latter.
    """

    name: str
    result: CType
    parameters: tuple[Argument, ...]
    body: tuple[Statement | Return, ...] | None
    tokens: tuple[str, ...] = field(default=(), compare=False)
    text: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Source:
    """All that a source defines, in order, the extensions of OpenCL that it needs, and whether `a*b + c` may be rounded once."""

    kernels: tuple[KernelText, ...]
    functions: tuple[Function, ...]
    extensions: tuple[str, ...] = field(default=(), compare=False)
    contract: bool = field(default=True, compare=False)


# ---- inside


def wrapped(e: Expression) -> Expression:
    """The same in parentheses."""
    return replace(e, parentheses=e.parentheses + 1)


def bare(e: Expression) -> Expression:
    """The same without the parentheses around all of it, if there are any."""
    return replace(e, parentheses=e.parentheses - 1) if e.parentheses else e


def call(function: str, *arguments: Expression) -> Invocation:
    """`function(arguments)`."""
    return Invocation(function, arguments)


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
    """The expression and all inside it, in the order of the text."""
    waiting = [e]
    while waiting:
        e = waiting.pop()
        yield e
        waiting += reversed(parts(e))


def words(e: Expression) -> set[str]:
    """The names that an expression mentions: of variables, of functions and of types.

    >>> from relift.compiler.text.tree import words
    >>> from relift.compiler.text.reader import read_expression
    >>> sorted(words(read_expression("a.s0 + 1e-07f * f((int)(b_2))")))
    ['a', 'b_2', 'f', 'int']
    """
    found: set[str] = set()
    for part in within(e):
        match part:
            case Name(name) | Invocation(name, _):
                found.add(name)
            case Cast(t, _):
                found.add(t.scalar + (str(t.width) if t.width > 1 else ""))
            case Whole() | Real() | Element() | Member() | Prefix() | Binary() | Conditional():
                pass
    return found


def variables(e: Expression) -> set[str]:
    """The names of the variables and the arrays that an expression mentions."""
    found: set[str] = set()
    waiting = [e]
    while waiting:
        e = waiting.pop()
        if isinstance(e, Name):
            found.add(e.name)
        elif not isinstance(e, Whole | Real):
            waiting += parts(e)
    return found


def expressions_of(s: Statement) -> Iterator[Expression]:
    """The expressions directly in a statement, not those of the statements inside."""
    match s:
        case Declaration(_, _, extent, value):
            yield from (e for e in (extent, value) if e is not None)
        case Assignment(target, _, value):
            yield from (target, value)
        case Evaluation(called):
            yield called
        case Barrier():
            pass
        case Loop(_, _, start, end, step):
            yield from (start, end, step)
        case Guard(condition, _):
            yield condition


def body_of(s: Statement) -> Block:
    """The statements inside a statement."""
    return s.body if isinstance(s, Loop | Guard) else ()


def statements_within(body: Iterable[Statement]) -> Iterator[Statement]:
    """Some statements and all inside them, in the order of the text."""
    for s in body:
        yield s
        yield from statements_within(body_of(s))


def asked_of_groups(kernel: KernelText) -> set[str]:
    """What a kernel asks of its groups, or of all of them: numbers, that they wait, memory that they share, their size."""
    found = {"reqd_work_group_size"} if kernel.group is not None else set[str]()
    for s in statements_within(kernel.body):
        if isinstance(s, Barrier):
            found.add("barrier")
        if isinstance(s, Declaration) and s.extent is not None and s.type.space.of_group:
            found.add("local")
        calls = (u for e in expressions_of(s) for u in within(e) if isinstance(u, Invocation))
        found |= {u.function for u in calls if u.function in _OF_GROUPS}
    return found


_OF_GROUPS = frozenset(
    ["get_local_id", "get_group_id", "get_num_groups", "get_local_size", "get_global_size"]
)


def mentioned(body: Iterable[Statement]) -> set[str]:
    """The names of the variables and the arrays that some statements mention."""
    found = (variables(e) for s in statements_within(body) for e in expressions_of(s))
    return set[str]().union(*found)


def mapped_expression(e: Expression, f: Callable[[Expression], Expression]) -> Expression:
    """An expression with f applied to each of its parts; itself where f changes none."""
    n = e.parentheses
    match e:
        case Whole() | Real() | Name():
            return e
        case Element(array, index):
            first, second = f(array), f(index)
            same = first is array and second is index
            return e if same else Element(first, second, parentheses=n)
        case Member(of, name):
            inner = f(of)
            return e if inner is of else Member(inner, name, parentheses=n)
        case Prefix(operator, operand):
            inner = f(operand)
            return e if inner is operand else Prefix(operator, inner, parentheses=n)
        case Binary(operator, left, right):
            first, second = f(left), f(right)
            same = first is left and second is right
            return e if same else Binary(operator, first, second, set=e.set, parentheses=n)
        case Conditional(condition, yes, no):
            asked, first, second = f(condition), f(yes), f(no)
            same = asked is condition and first is yes and second is no
            return e if same else Conditional(asked, first, second, parentheses=n)
        case Invocation(function, arguments):
            given = _all_mapped(arguments, f)
            return e if given is arguments else Invocation(function, given, parentheses=n)
        case Cast(t, arguments):
            given = _all_mapped(arguments, f)
            return e if given is arguments else Cast(t, given, parentheses=n)


def _all_mapped(
    es: tuple[Expression, ...], f: Callable[[Expression], Expression]
) -> tuple[Expression, ...]:
    found = tuple(map(f, es))
    return es if all(map(operator.is_, found, es)) else found


def mapped_statement(
    s: Statement,
    f: Callable[[Expression], Expression],
    body: Callable[[Block], Block],
) -> Statement:
    """A statement with f applied to its expressions, and `body` to the statements inside; itself where none changes."""
    match s:
        case Declaration(_, _, extent, value):
            length = None if extent is None else f(extent)
            first = None if value is None else f(value)
            if length is extent and first is value:
                return s
            return replace(s, extent=length, value=first)
        case Assignment(target, how, value):
            place, new = f(target), f(value)
            return s if place is target and new is value else Assignment(place, how, new)
        case Evaluation(called):
            made = f(called)
            return s if made is called else Evaluation(made)
        case Barrier():
            return s
        case Loop(_, _, start, end, step, inside):
            first, last, by, made_body = f(start), f(end), f(step), body(inside)
            same = first is start and last is end and by is step and made_body is inside
            return s if same else replace(s, start=first, end=last, step=by, body=made_body)
        case Guard(condition, inside):
            asked, made_body = f(condition), body(inside)
            same = asked is condition and made_body is inside
            return s if same else Guard(asked, made_body)


def mapped_block(body: Block, f: Callable[[Expression], Expression]) -> Block:
    """Statements, and those inside them, with f applied to their expressions."""
    return tuple(mapped_statement(s, f, lambda inside: mapped_block(inside, f)) for s in body)


def renamed(body: Block, names: Mapping[str, str]) -> Block:
    """Statements in which some variables have other names."""

    if all(old == new for old, new in names.items()):
        return body

    def named(e: Expression) -> Expression:
        if isinstance(e, Name):
            return replace(e, name=names[e.name]) if e.name in names else e
        return mapped_expression(e, named)

    return mapped_block(body, named)


def root_of(target: Expression) -> set[str]:
    """What is assigned to, be it in memory: the name of a variable, an array or a pointer."""
    match target:
        case Name(name):
            return {name}
        case Element(of, _) | Member(of, _) | Prefix(_, of) | Binary(_, of, _) | Cast(_, (of,)):
            return root_of(of)
        case Whole() | Real() | Conditional() | Invocation() | Cast():
            return variables(target)
