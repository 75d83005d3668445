"""What languages like C have in common: how a tree is written in one of them.

A dialect is a class that says in its own words what differs: address spaces, barriers, numbers of work-items, vectors,
and what stands at the head of a kernel and of a file.

>>> from relift.compiler.dialects.printing import Printer
>>> from relift.compiler.text.reader import read_expression
>>> Printer().expression(read_expression("(a + 4*i) * -b[n - (i - 1)]"))
'(a + 4*i)*-b[n - (i - 1)]'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from relift.compiler.text import tree
from relift.compiler.text.memories import FENCES, UNSAID, word_of

PRECEDENCE = {
    operator: level
    for level, row in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"), start=1
    )
    for operator in row.split()
}
"""How close the operators of C bind: those of a later row closer."""
_UNARY, _POSTFIX = 11, 12


def binds(e: tree.Expression) -> int:
    """How close the outermost operator of an expression binds."""
    if e.parentheses:
        return _POSTFIX
    match e:
        case tree.Conditional():
            return 0
        case tree.Binary(operator, _, _):
            return PRECEDENCE[operator]
        case tree.Prefix() | tree.Cast():
            return _UNARY
        case (
            tree.Whole() | tree.Real() | tree.Name() | tree.Element() | tree.Member()
            | tree.Invocation()
        ):  # fmt: skip
            return _POSTFIX


class Printer:
    """A tree as text, in the words that OpenCL C shares with C."""

    # ---- expressions

    def expression(self, e: tree.Expression) -> str:
        """An expression with the parentheses that it has, and those that it needs."""
        n = e.parentheses
        text = self.plain(e)
        return "(" * n + text + ")" * n if n else text

    def plain(self, e: tree.Expression) -> str:
        """An expression without the parentheses around all of it."""
        match e:
            case tree.Whole(value, long):
                return f"{value}L" if long else str(value)
            case tree.Real(text) | tree.Name(text):
                return text
            case tree.Element(array, index):
                return f"{self.inside(array, _POSTFIX)}[{self.expression(index)}]"
            case tree.Member():
                return self.member(e)
            case tree.Prefix(operator, operand):
                text = self.inside(operand, _UNARY)
                return f"{operator}({text})" if text.startswith(operator) else operator + text
            case tree.Binary(operator, left, right):
                level = PRECEDENCE[operator]
                first, second = self.inside(left, level), self.inside(right, level + 1)
                if operator == "*" and e.set == "tight":
                    return f"{first}*{second}"
                if e.set == "signed":
                    return f"{first} {operator}{second}"
                return f"{first} {operator} {second}"
            case tree.Conditional():
                return self.conditional(e)
            case tree.Invocation():
                return self.invocation(e)
            case tree.Cast():
                return self.cast(e)

    def inside(self, e: tree.Expression, level: int) -> str:
        """An operand, in parentheses where it binds less close than `level`."""
        text = self.expression(e)
        return text if binds(e) >= level else f"({text})"

    def member(self, e: tree.Member) -> str:
        """Lanes of a vector."""
        return f"{self.inside(e.of, _POSTFIX)}.{e.field}"

    def conditional(self, e: tree.Conditional) -> str:
        """A choice."""
        yes, no = self.expression(e.yes), self.expression(e.no)
        return f"{self.inside(e.condition, 1)} ? {yes} : {no}"

    def invocation(self, e: tree.Invocation) -> str:
        """A call."""
        return f"{e.function}({', '.join(map(self.expression, e.arguments))})"

    def cast(self, e: tree.Cast) -> str:
        """A conversion, or a vector of some lanes."""
        return f"({self.type(e.type)})({', '.join(map(self.expression, e.arguments))})"

    # ---- types

    def scalar(self, t: tree.CType) -> str:
        """The name of a scalar or a vector."""
        return t.scalar + (str(t.width) if t.width > 1 else "")

    def type(self, t: tree.CType) -> str:
        """A type; of a pointer, with the address space that it points to."""
        where = [] if t.space is UNSAID else [word_of(t.space)]
        return (
            " ".join([*where, *["const"] * (t.constant and not t.space.of_kernel), self.scalar(t)])
            + "*" * t.pointer
            + " const" * t.fixed
        )

    # ---- statements

    def statements(self, body: Iterable[tree.Statement], depth: int) -> list[str]:
        """The lines of some statements, two spaces for each block around them."""
        lines: list[str] = []
        for s in body:
            if isinstance(s, tree.Declaration) and s.joined:
                lines[-1] = f"{lines[-1].removesuffix(';')}, {s.name};"
            else:
                lines += self.statement(s, depth)
        return lines

    def statement(self, s: tree.Statement, depth: int) -> Iterator[str]:
        """The lines of a statement."""
        indent = "  " * depth
        match s:
            case tree.Declaration():
                yield f"{indent}{self.declaration(s)};"
            case tree.Assignment():
                yield f"{indent}{self.assignment(s)};"
            case tree.Evaluation(call):
                yield f"{indent}{self.expression(call)};"
            case tree.Barrier():
                yield f"{indent}{self.barrier(s)};"
            case tree.Loop():
                yield from (indent + line for line in self.advice(s))
                yield f"{indent}{self.loop(s)} {{"
                yield from self.statements(s.body, depth + 1)
                yield indent + "}"
            case tree.Guard(condition, body):
                yield f"{indent}if ({self.expression(condition)}) {{"
                yield from self.statements(body, depth + 1)
                yield indent + "}"
            case _:
                assert_never(s)

    def declaration(self, s: tree.Declaration) -> str:
        """A variable or an array, without the semicolon."""
        extent = "" if s.extent is None else f"[{self.expression(s.extent)}]"
        aligned = f" __attribute__((aligned({s.aligned})))" if s.aligned else ""
        value = self.values(s) if s.value is None else f" = {self.expression(s.value)}"
        return f"{self.type(s.type)} {s.name}{extent}{aligned}{value}"

    def values(self, s: tree.Declaration) -> str:
        """The constants that an array is given; nothing where it is given none."""
        return f" = {{{', '.join(map(self.expression, s.values))}}}" if s.values else ""

    def assignment(self, s: tree.Assignment) -> str:
        """An assignment, without the semicolon."""
        return f"{self.expression(s.target)} {s.operator} {self.expression(s.value)}"

    def barrier(self, s: tree.Barrier) -> str:
        """Where all work-items of a group wait, without the semicolon."""
        return f"barrier({' | '.join(name for name, of in FENCES.items() if of in s.fences)})"

    def advice(self, s: tree.Loop) -> list[str]:
        """What the driver is told of a loop."""
        match s.unroll:
            case "unroll":
                return ["#pragma unroll"]
            case "keep":
                return ["#pragma unroll 1"]
            case None:
                return []

    def loop(self, s: tree.Loop) -> str:
        """The head of a loop; one that counts from 0 by 1 does so with `++`."""
        c = s.counter
        one = s.start == tree.Whole(0) and s.step == tree.Whole(1)
        step = f"++{c}" if one else f"{c} += {self.expression(s.step)}"
        start, end = self.expression(s.start), self.inside(s.end, PRECEDENCE["<"] + 1)
        return f"for ({self.type(s.type)} {c} = {start}; {c} < {end}; {step})"

    # ---- definitions

    def function(self, f: tree.Function) -> str:
        """The definition of a function."""
        return "\n".join([f"{self.function_head(f)} {{", *self.function_body(f), "}"])

    def function_head(self, f: tree.Function) -> str:
        """What comes before the body of a function."""
        parameters = ", ".join(f"{self.type(p.type)} {p.name}" for p in f.parameters)
        return f"{self.type(f.result)} {f.name}({parameters})"

    def function_body(self, f: tree.Function) -> Iterator[str]:
        """The lines of a function: those that its author wrote, if a person did."""
        if f.text is not None:
            yield from (f"  {line}" for line in f.text.strip().splitlines())
            return
        assert f.body is not None, "cannot happen: a function without a body"
        for s in f.body:
            match s:
                case tree.Return(None, value):
                    yield f"  return {self.expression(value)};"
                case tree.Return(condition, value):
                    assert condition is not None, "cannot happen: it is told apart above"
                    yield f"  if ({self.expression(condition)}) return {self.expression(value)};"
                case (
                    tree.Declaration() | tree.Assignment() | tree.Evaluation() | tree.Barrier()
                    | tree.Loop() | tree.Guard()
                ):  # fmt: skip
                    yield from self.statement(s, 1)

    def parameter(self, p: tree.Argument) -> str:
        """A parameter of a kernel: nothing else points where a pointer of a kernel does."""
        return f"{self.type(p.type)}{' restrict' * p.type.pointer} {p.name}"

    def kernel_lines(self, k: tree.KernelText) -> Iterator[str]:
        """The lines of a kernel, after what is said about it."""
        yield f"{self.kernel_head(k)} {{"
        first = prologue(k.body)
        yield from self.statements(k.body[:first], 1)
        if first:
            yield ""
        yield from self.statements(k.body[first:], 1)
        yield "}"

    def kernel_head(self, k: tree.KernelText) -> str:
        """What comes before the body of a kernel."""
        return f"kernel void {k.name}({', '.join(map(self.parameter, k.parameters))})"


def prologue(body: tuple[tree.Statement, ...]) -> int:
    """How many statements at the start declare local arrays, tables and the numbers of the work-item."""
    for i, s in enumerate(body):
        number = isinstance(s, tree.Declaration) and is_work_item(s.value)
        if not (number or is_local_array(s) or is_table(s)):
            return i
    return len(body)


def is_work_item(e: tree.Expression | None) -> bool:
    """Whether an expression asks for the number of a work-item, of its group, or how many there are."""
    return isinstance(e, tree.Invocation) and e.function.startswith("get_")


def is_local_array(s: tree.Statement) -> bool:
    """Whether a statement declares an array of a work-group."""
    return isinstance(s, tree.Declaration) and s.extent is not None and s.type.space.of_group


def is_table(s: tree.Statement) -> bool:
    """Whether a statement declares an array of constants."""
    return isinstance(s, tree.Declaration) and bool(s.values)
