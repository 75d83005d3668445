"""The text of a kernel, read back as a tree: what the compiler wrote, independent of how it came to write it.

Only the OpenCL C that this compiler writes is understood: declarations, assignments, counting loops, guards
and barriers.  Anything else raises `NotUnderstood`, so nothing is certified by being overlooked.

>>> [kernel] = read_kernels("kernel void f_1(global float* restrict out) { out[get_global_id(0)] = 1.0f; }")
>>> kernel.name, [p.name for p in kernel.parameters]
('f_1', ['out'])
>>> [in_c(s.target) for s in kernel.body]
['out[get_global_id(0)]']
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

# ---- expressions


@dataclass(frozen=True)
class Whole:
    """A whole constant."""

    value: int


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
    """`type name[extent] = value;`, an array where there is an extent."""

    type: CType
    name: str
    extent: Expression | None
    value: Expression | None


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
    """One kernel."""

    name: str
    parameters: tuple[Argument, ...]
    body: tuple[Statement, ...]


class NotUnderstood(Exception):
    """The text is not what this compiler writes; the message says where."""


# ---- reading

_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+[uUlL]*|\d+\.?\d*(?:[eE][+-]?\d+)?[fFuUlL]*|\.\d+(?:[eE][+-]?\d+)?[fF]?)"
    r"|([A-Za-z_]\w*)|(<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|[-+*/%<>=!~&|^?:;,.(){}\[\]]))"
)
_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#pragma[^\n]*", re.DOTALL | re.MULTILINE)
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)(?=\s*[;\w=,])", re.DOTALL)
_TYPE = re.compile(
    r"(bool|char|uchar|short|ushort|int|uint|long|ulong|half|float|double|size_t)(2|3|4|8|16)?$"
)
_QUALIFIERS = frozenset(["global", "local", "private", "const", "restrict", "kernel", "volatile"])
_PRECEDENCE = {
    operator: level
    for level, row in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
    )
    for operator in row.split()
}
WHOLE = frozenset(["int", "long", "uint", "ulong", "size_t"])
"""The types of loop counters and indices."""


def read_kernels(source: str) -> tuple[KernelText, ...]:
    """All kernels of a source, in order; raises `NotUnderstood`."""
    text = _ATTRIBUTE.sub(" ", _NOISE.sub(" ", source))
    if "#" in text:
        raise NotUnderstood(f"the line {text[text.index('#') :].splitlines()[0]}")
    starts = [m.start() for m in re.finditer(r"\bkernel\s+void\b", text)]
    return tuple(_Reader(_tokens(text[start:])).kernel() for start in starts)


def read_expression(text: str) -> Expression:
    """One expression; raises `NotUnderstood`."""
    reader = _Reader(_tokens(text))
    found = reader.expression()
    reader.expect("")
    return found


def _tokens(text: str) -> list[str]:
    """The tokens of one definition: up to the brace that closes it."""
    found: list[str] = []
    at = depth = 0
    text = text.rstrip()
    while at < len(text):
        m = _TOKEN.match(text, at)
        if m is None:
            raise NotUnderstood(f"the text at {text[at : at + 30]!r}")
        at = m.end()
        found.append(m.group().strip())
        depth += {"{": 1, "}": -1}.get(found[-1], 0)
        if found[-1] == "}" and depth == 0:
            break
    return found


class _Reader:
    """A reader by recursive descent."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = [*tokens, ""]
        self.at = 0

    @property
    def next(self) -> str:
        return self.tokens[self.at]

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, *wanted: str) -> None:
        for token in wanted:
            if self.take() != token:
                around = " ".join(self.tokens[max(0, self.at - 6) : self.at + 2])
                raise NotUnderstood(f"{token!r} is expected near {around!r}")

    def accept(self, token: str) -> bool:
        found = self.next == token
        self.at += found
        return found

    def name(self) -> str:
        token = self.take()
        if not token.isidentifier() or token in _QUALIFIERS or _TYPE.match(token):
            raise NotUnderstood(f"a name is expected instead of {token!r}")
        return token

    def separated(self, read: Callable[[], Expression], end: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self.accept(end):
            if found:
                self.expect(",")
            found.append(read())
        return tuple(found)

    # statements

    def kernel(self) -> KernelText:
        self.expect("kernel", "void")
        name = self.name()
        self.expect("(")
        parameters: list[Argument] = []
        while not self.accept(")"):
            if parameters:
                self.expect(",")
            parameters.append(Argument(self.type(), self.name()))
        return KernelText(name, tuple(parameters), self.block())

    def block(self) -> tuple[Statement, ...]:
        self.expect("{")
        found: list[Statement] = []
        while not self.accept("}"):
            found += self.statement()
        return tuple(found)

    def starts_type(self) -> bool:
        return self.next in _QUALIFIERS or _TYPE.match(self.next) is not None

    def type(self) -> CType:
        space, constant, found, pointer = "private", False, None, False
        while self.starts_type() or self.next == "*":
            token = self.take()
            if token in ("global", "local"):
                space = token
            elif token == "const" and not pointer:
                constant = True
            elif token == "*":
                if pointer:
                    raise NotUnderstood("a pointer to a pointer")
                pointer = True
            elif (m := _TYPE.match(token)) is not None:
                found = m
        if found is None:
            raise NotUnderstood(f"a type is expected near {self.next!r}")
        return CType(found.group(1), int(found.group(2) or 1), pointer, space, constant)

    def statement(self) -> list[Statement]:
        if self.accept("for"):
            return [self.loop()]
        if self.accept("if"):
            self.expect("(")
            condition = self.expression()
            self.expect(")")
            guard = Guard(condition, self.block())
            if self.next == "else":
                raise NotUnderstood("an else")
            return [guard]
        if self.accept("barrier"):
            self.expect("(")
            names = {"CLK_LOCAL_MEM_FENCE": "local", "CLK_GLOBAL_MEM_FENCE": "global"}
            fences = set()
            while not self.accept(")"):
                token = self.take()
                if token in names:
                    fences.add(names[token])
                elif token != "|":
                    raise NotUnderstood(f"a barrier with {token}")
            self.expect(";")
            return [Barrier(frozenset(fences))]
        if self.starts_type():
            return self.declarations()
        target = self.unary()
        if self.accept(";"):
            return [Evaluation(target)]
        operator = self.take()
        if not operator.endswith("=") or operator in _PRECEDENCE:
            raise NotUnderstood(f"{operator!r} after {in_c(target)}")
        value = self.expression()
        self.expect(";")
        return [Assignment(target, operator, value)]

    def declarations(self) -> list[Statement]:
        t, found = self.type(), list[Statement]()
        while not found or self.accept(","):
            name, extent, value = self.name(), None, None
            if self.accept("["):
                extent = self.expression()
                self.expect("]")
            if self.accept("="):
                value = self.expression()
            found.append(Declaration(t, name, extent, value))
        self.expect(";")
        return found

    def loop(self) -> Loop:
        self.expect("(")
        t = self.type()
        counter = self.name()
        if t.scalar not in WHOLE or t.width != 1 or t.pointer:
            raise NotUnderstood(f"the loop counter {counter} is no whole number")
        self.expect("=")
        start = self.expression()
        self.expect(";", counter, "<")
        end = self.expression()
        self.expect(";")
        step: Expression = Whole(1)
        if self.accept("++"):
            self.expect(counter)
        else:
            self.expect(counter)
            if not self.accept("++"):
                self.expect("+=")
                step = self.expression()
        self.expect(")")
        return Loop(t, counter, start, end, step, self.block())

    # expressions

    def expression(self) -> Expression:
        condition = self.binary(0)
        if not self.accept("?"):
            return condition
        yes = self.expression()
        self.expect(":")
        return Conditional(condition, yes, self.expression())

    def binary(self, level: int) -> Expression:
        left = self.unary()
        while _PRECEDENCE.get(self.next, -1) >= level:
            operator = self.take()
            left = Binary(operator, left, self.binary(_PRECEDENCE[operator] + 1))
        return left

    def unary(self) -> Expression:
        if self.next in ("-", "+", "!", "~", "*", "&"):
            operator = self.take()
            return Prefix(operator, self.unary())
        if self.next == "(":
            self.take()
            if self.starts_type():
                t = self.type()
                self.expect(")")
                if self.next == "(" and not t.pointer and t.width > 1:
                    self.take()
                    return self.postfix(Cast(t, self.separated(self.expression, ")")))
                return Cast(t, (self.unary(),))
            inside = self.expression()
            self.expect(")")
            return self.postfix(inside)
        token = self.take()
        if token[:1].isdigit() or token[:1] == ".":
            try:
                return Whole(int(token.rstrip("lL"), 0))
            except ValueError:
                return Real(token)
        if not token.isidentifier():
            raise NotUnderstood(f"{token!r} in an expression")
        if self.accept("("):
            return self.postfix(Invocation(token, self.separated(self.expression, ")")))
        return self.postfix(Name(token))

    def postfix(self, e: Expression) -> Expression:
        while True:
            if self.accept("["):
                e = Element(e, self.expression())
                self.expect("]")
            elif self.accept("."):
                e = Member(e, self.name())
            else:
                return e


# ---- showing


def in_c(e: Expression) -> str:
    """An expression in C, with the parentheses that it needs.

    >>> in_c(read_expression("(((a + b)) * (c%4))"))
    '(a + b)*(c % 4)'
    """
    match e:
        case Whole(value):
            return str(value)
        case Real(text):
            return text
        case Name(name):
            return name
        case Element(array, index):
            return f"{_operand(array)}[{in_c(index)}]"
        case Member(of, field):
            return f"{_operand(of)}.{field}"
        case Prefix(operator, operand):
            return operator + _operand(operand)
        case Binary("*", left, right):
            return f"{_factor(left)}*{_operand(right)}"
        case Binary(operator, left, right) if operator in "+-":
            tight = isinstance(right, Binary) and right.operator not in ("*", "/", "%")
            shown = f"({in_c(right)})" if tight else in_c(right)
            loose = isinstance(left, Conditional)
            return f"{f'({in_c(left)})' if loose else in_c(left)} {operator} {shown}"
        case Binary(operator, left, right):
            return f"{_operand(left)} {operator} {_operand(right)}"
        case Conditional(condition, yes, no):
            return f"{_operand(condition)} ? {_operand(yes)} : {_operand(no)}"
        case Invocation(function, arguments):
            return f"{function}({', '.join(map(in_c, arguments))})"
        case Cast(t, arguments):
            name = t.scalar + (str(t.width) if t.width > 1 else "") + ("*" if t.pointer else "")
            return f"({name})({', '.join(map(in_c, arguments))})"


def _operand(e: Expression) -> str:
    return f"({in_c(e)})" if isinstance(e, Binary | Conditional) else in_c(e)


def _factor(e: Expression) -> str:
    return in_c(e) if isinstance(e, Binary) and e.operator == "*" else _operand(e)
