"""The text of a kernel, read back as a tree: what the compiler wrote, independent of how it came to write it.

Only the OpenCL C that this compiler writes is understood: declarations, assignments, counting loops, guards
and barriers.  Anything else raises `NotUnderstood`, so nothing is certified by being overlooked.  All of a source
is read, also what stands between the kernels; only the body of a function may be left as it is (`Function`).

>>> [kernel] = read_kernels("kernel void f_1(global float* restrict out) { out[get_global_id(0)] = 1.0f; }")
>>> kernel.name, [p.name for p in kernel.parameters]
('f_1', ['out'])
>>> [in_c(s.target) for s in kernel.body]
['out[get_global_id(0)]']
"""

from __future__ import annotations

import re
from collections.abc import Callable

from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood, numeric, tokens_of
from relift.compiler.text.tree import (
    Argument,
    Assignment,
    Barrier,
    Binary,
    Cast,
    Conditional,
    CType,
    Declaration,
    Element,
    Evaluation,
    Expression,
    Function,
    Guard,
    Invocation,
    KernelText,
    Loop,
    Member,
    Name,
    Prefix,
    Real,
    Return,
    Source,
    Statement,
    Whole,
    within,
)

_TYPE = re.compile(  # size_t2 and bool4 are names like any other
    r"(?!(?:bool|size_t)\d)"
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
_KEYWORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "continue",
        "default",
        "do",
        "else",
        "enum",
        "extern",
        "for",
        "goto",
        "if",
        "inline",
        "register",
        "return",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "while",
        "__attribute__",
        "constant",
        "vec_step",
    ]
)
"""Words of C that are no names; with most of them begins what is not understood."""
_COUNTERS = frozenset(["int", "long"])
"""The types of loop counters: numbers without a sign would wrap around where those of Z do not."""
_HINTS = frozenset(["vec_type_hint", "work_group_size_hint", "opencl_unroll_hint"])
"""Attributes that change no meaning."""


def read_source(source: str) -> Source:
    """All of a source; raises `NotUnderstood`.

    >>> read_source("float twice(float x) { return x + x; }").functions[0].body
    (Return(condition=None, value=Binary(operator='+', left=Name(name='x'), right=Name(name='x'))),)
    """
    return _Reader(tokens_of(source)).source()


def read_kernels(source: str) -> tuple[KernelText, ...]:
    """All kernels of a source, in order; raises `NotUnderstood`."""
    return read_source(source).kernels


def read_body(text: str) -> tuple[Declaration | Return, ...]:
    """What stands between the braces of a function; raises `NotUnderstood`.

    >>> read_body("return x;")
    (Return(condition=None, value=Name(name='x')),)
    """
    reader = _Reader(["{", *tokens_of(text), "}"])
    found = reader.returning()
    reader.expect("")
    return found


def read_expression(text: str) -> Expression:
    """One expression; raises `NotUnderstood`."""
    reader = _Reader(tokens_of(text))
    found = reader.expression()
    reader.expect("")
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

    def stands(self, *tokens: str) -> bool:
        """Whether one of some tokens comes next."""
        return self.tokens[self.at] in tokens

    def accept(self, token: str) -> bool:
        found = self.next == token
        self.at += found
        return found

    def name(self) -> str:
        token = self.take()
        taken = token in _QUALIFIERS or token in _KEYWORDS or _TYPE.match(token)
        if not token.isidentifier() or taken:
            raise NotUnderstood(f"a name is expected instead of {token!r}")
        return token

    def separated(self, read: Callable[[], Expression], end: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self.accept(end):
            if found:
                self.expect(",")
            found.append(read())
        return tuple(found)

    # definitions

    def source(self) -> Source:
        kernels: list[KernelText] = []
        functions: list[Function] = []
        while self.next != "":
            group = self.attributes().get("reqd_work_group_size")
            if self.next == "kernel":
                kernels.append(self.kernel(group))
            elif group is None and self.starts_type():
                functions.append(self.function())
            else:
                raise NotUnderstood(f"{self.next!r} outside of a kernel")
        names = [k.name for k in kernels] + [f.name for f in functions]
        for name in names:
            if names.count(name) > 1:
                raise NotUnderstood(f"two definitions of {name}")
        return Source(tuple(kernels), tuple(functions))

    def attributes(self) -> dict[str, tuple[int, ...]]:
        """The attributes that stand here, and their numbers; those that change no meaning are left out."""
        found: dict[str, tuple[int, ...]] = {}
        while self.accept("__attribute__"):
            self.expect("(", "(")
            name = self.take()
            self.expect("(")
            if name in _HINTS:
                while not self.accept(")"):
                    if self.take() in ("", "("):
                        raise NotUnderstood(f"the attribute {name}")
            elif name in ("reqd_work_group_size", "aligned"):
                given = self.separated(self.expression, ")")
                found[name] = tuple(e.value for e in given if isinstance(e, Whole))
                if len(found[name]) != (3 if name == "reqd_work_group_size" else 1):
                    raise NotUnderstood(f"the attribute {name}")
            else:
                raise NotUnderstood(f"the attribute {name}")
            self.expect(")", ")")
        return found

    def kernel(self, group: tuple[int, ...] | None) -> KernelText:
        self.expect("kernel")
        group = self.attributes().get("reqd_work_group_size", group)
        self.expect("void")
        name = self.name()
        return KernelText(name, self.parameters(), self.block(), group)

    def parameters(self) -> tuple[Argument, ...]:
        self.expect("(")
        found: list[Argument] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            found.append(Argument(self.type(), self.name()))
        if len({p.name for p in found}) < len(found):
            raise NotUnderstood("two parameters of one name")
        return tuple(found)

    def function(self) -> Function:
        result = self.type()
        name = self.name()
        parameters = self.parameters()
        if result.pointer or any(p.type.pointer for p in parameters):
            raise NotUnderstood(f"the function {name}, which is given pointers")
        start = self.at
        end = self._closing()
        try:
            body = self.returning()
            if self.at != end:
                raise NotUnderstood("more")
        except NotUnderstood:
            body, self.at = None, end
        return Function(name, result, parameters, body, tuple(self.tokens[start + 1 : end - 1]))

    def _closing(self) -> int:
        """The place after the brace that closes the one that stands here."""
        depth, at = 0, self.at
        while True:
            token = self.tokens[at]
            depth += {"{": 1, "}": -1}.get(token, 0)
            at += 1
            if token == "" or (at == self.at + 1 and depth != 1):
                raise NotUnderstood("a function whose braces do not match")
            if depth == 0:
                return at

    def returning(self) -> tuple[Declaration | Return, ...]:
        """The body of a function that declares constants and returns values, under conditions all but the last."""
        self.expect("{")
        found: list[Declaration | Return] = []
        while not self.accept("}"):
            condition = None
            if self.accept("if"):
                self.expect("(")
                condition = self.expression()
                self.expect(")")
            if self.accept("return"):
                found.append(Return(condition, self.expression()))
                self.expect(";")
            elif condition is None and self.starts_type():
                for d in self.declarations():
                    if d.extent is not None or d.value is None or d.type.pointer:
                        raise NotUnderstood(f"{d.name} in a function")
                    found.append(d)
            else:
                raise NotUnderstood("a statement in a function")
        last = [isinstance(s, Return) and s.condition is None for s in found]
        if not last or not last[-1] or any(last[:-1]):
            raise NotUnderstood("a function that does not end with its one return")
        return tuple(found)

    # statements

    def block(self) -> tuple[Statement, ...]:
        self.expect("{")
        found: list[Statement] = []
        while not self.accept("}"):
            found += self.statement()
        return tuple(found)

    def starts_type(self) -> bool:
        return self.next in _QUALIFIERS or _TYPE.match(self.next) is not None

    def type(self) -> CType:
        space, constant, found, pointer = None, False, None, False
        while self.starts_type() or self.next == "*":
            token = self.take()
            if token in ("global", "local", "private"):
                if space is not None or pointer:
                    raise NotUnderstood(f"the address space {token} near {self.next!r}")
                space = token
            elif token == "const" and not pointer:
                constant = True
            elif token == "*":
                if pointer or found is None:
                    raise NotUnderstood("a pointer to a pointer, or to nothing")
                pointer = True
            elif (m := _TYPE.match(token)) is not None:
                if found is not None:
                    raise NotUnderstood(f"the type {found.group()} {token}")
                found = m
            elif token in ("kernel", "volatile"):
                raise NotUnderstood(f"{token} in a type")
        if found is None:
            raise NotUnderstood(f"a type is expected near {self.next!r}")
        width = int(found.group(2) or 1)
        return CType(found.group(1), width, pointer, space or "private", constant)

    def statement(self) -> list[Statement]:
        if self.stands("__attribute__") and (self.attributes() or not self.stands("for")):
            raise NotUnderstood(f"an attribute before {self.next!r}")
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
            return [*self.declarations()]
        target = self.unary()
        if self.accept(";"):
            return [Evaluation(target)]
        operator = self.take()
        if operator not in ("=", "+=", "-=", "*=", "/=", "%="):
            raise NotUnderstood(f"{operator!r} after {in_c(target)}")
        value = self.expression()
        self.expect(";")
        return [Assignment(target, operator, value)]

    def declarations(self) -> list[Declaration]:
        t, found = self.type(), list[Declaration]()
        while not found or self.accept(","):
            if found and t.pointer:
                raise NotUnderstood(f"{self.next} after a pointer, which is none")
            name, extent, value = self.name(), None, None
            if self.accept("["):
                extent = self.expression()
                self.expect("]")
            aligned = self.attributes().get("aligned", (0,))[0]
            if self.accept("="):
                value = self.expression()
                if extent is not None or Name(name) in within(value):
                    raise NotUnderstood(f"the first value of {name}")
            found.append(Declaration(t, name, extent, value, aligned))
        self.expect(";")
        return found

    def loop(self) -> Loop:
        self.expect("(")
        t = self.type()
        counter = self.name()
        if t.scalar not in _COUNTERS or t.width != 1 or t.pointer or t.constant:
            raise NotUnderstood(f"the loop counter {counter}, which is not an int or a long")
        self.expect("=")
        start = self.expression()
        self.expect(";")
        condition = self.expression()
        if not (isinstance(condition, Binary) and condition.operator == "<"):
            raise NotUnderstood(f"a loop while {in_c(condition)}")
        left, end = condition.left, condition.right
        if left != Name(counter) or any(Name(counter) in within(e) for e in (start, end)):
            raise NotUnderstood(f"a loop while {in_c(condition)}, from {in_c(start)}")
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
                    made = Cast(t, self.separated(self.expression, ")"))
                    if self.stands(".", "["):
                        raise NotUnderstood(f"{in_c(made)}{self.next}, which C takes apart first")
                    return made
                return Cast(t, (self.unary(),))
            inside = self.expression()
            self.expect(")")
            return self.postfix(inside)
        token = self.take()
        if token[:1].isdigit() or token[:1] == ".":
            found = numeric(token)
            return Real(token) if found.value is None else Whole(found.value, found.long)
        taken = token in _QUALIFIERS or token in _KEYWORDS or _TYPE.match(token)
        if not token.isidentifier() or taken:
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
