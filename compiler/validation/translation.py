"""A kernel's tree as Python: a generator that each work-item runs, and that stops at barriers.

Every expression has the type that C gives it, and is converted where C converts it.  Whole numbers that are known
when the text is translated to lie in a range (numbers of work-items, counters, what is computed from them) become
Python's operators; all else calls the functions of `machine`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import CodeType, FunctionType
from typing import Any, TypeAlias

import numpy as np

from relift.compiler.text.c_types import (
    FLOATS,
    INT,
    LONG,
    RANGES,
    ULONG,
    common,
    compared,
    plain,
    promoted,
    size_of,
)
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood
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
    Statement,
    Whole,
)
from relift.compiler.validation.machine import ARITIES, Arithmetic

Opaque: TypeAlias = Callable[..., Any]
"""What a function does whose body is not read."""


@dataclass(frozen=True)
class Code:
    """Python text of a value of a type; a whole number from `low` to `high` where these are known."""

    text: str
    type: CType
    low: int | None = None
    high: int | None = None

    @property
    def known(self) -> bool:
        """Whether it is surely a number of Python's."""
        return self.low is not None

    @property
    def range(self) -> tuple[int, int]:
        """The range of a known number."""
        assert self.low is not None, "cannot happen: a value without a range"
        assert self.high is not None, "cannot happen: a range without an end"
        return self.low, self.high


@dataclass(frozen=True)
class Variable:
    """A name of the kernel: a value, an array (`place` is then a memory) or a pointer (a memory and an offset)."""

    python: str
    type: CType
    kind: str
    code: Code | None = None
    fixed: bool = False


@dataclass(frozen=True)
class Local:
    """An array of local memory, which all work-items of a group are given."""

    python: str
    name: str
    cells: int
    type: CType
    aligned: bool


@dataclass(frozen=True)
class Translated:
    """A kernel as a Python generator; its arguments are the work-item, the kernel's, and its local arrays."""

    run: Callable[..., Any]
    local: tuple[Local, ...]
    text: str


_NUMBERS = {
    "get_global_id": ("gid", 0), "get_local_id": ("lid", 0), "get_group_id": ("grp", 0),
    "get_num_groups": ("ng", 1), "get_global_size": ("gs", 1), "get_local_size": ("ls", 1),
}  # fmt: skip
_CONSTANTS = {
    "INFINITY": ("float", float("inf")), "NAN": ("float", float("nan")),
    "M_PI_F": ("float", 3.1415927410125732), "M_PI": ("double", 3.141592653589793),
}  # fmt: skip
_LIMITS = {
    f"{name}_{end}": (t, RANGES[t][end == "MAX"])
    for name, t in (("INT", "int"), ("LONG", "long"))
    for end in ("MIN", "MAX")
}
_VECTOR = re.compile(r"(vload|vstore)(2|3|4|8|16)")
_CONVERSION = re.compile(
    r"(as|convert)_(u?(?:char|short|int|long)|float|double)(2|3|4|8|16)?(_sat)?"
)


@dataclass
class Translator:
    """`limits` has the largest values of the numbers of work-items, `arguments` the kernel's scalars that are known."""

    arithmetic: Arithmetic
    functions: Mapping[str, Function]
    opaque: Mapping[str, Opaque]
    limits: Mapping[tuple[str, int], int]
    arguments: Mapping[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    scopes: list[dict[str, Variable]] = field(default_factory=lambda: [{}])
    local: list[Local] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    made: int = 0
    barriers: int = 0

    def kernel(self, kernel: KernelText) -> Translated:
        """One kernel; raises `NotUnderstood`."""
        self.environment.update(self.arithmetic.environment)
        names = [self.parameter(p) for p in kernel.parameters]
        self.block(kernel.body, 1)
        head = f"def run({', '.join(['it', *names, *(a.python for a in self.local)])}):"
        text = "\n".join([head, *self.lines, "    if False: yield", ""])
        return Translated(self.compiled(text, kernel.name), tuple(self.local), text)

    def compiled(self, text: str, title: str) -> Callable[..., Any]:
        """The function that is defined by Python text."""
        module = compile(text, f"<{title}>", "exec")
        [code] = [c for c in module.co_consts if isinstance(c, CodeType)]
        return FunctionType(code, self.environment)

    def parameter(self, p: Argument) -> str:
        name = self.fresh(p.name)
        if p.type.pointer:
            self.scopes[0][p.name] = Variable(name, p.type, "array")
        else:
            t = plain(p.type)
            value = self.arguments.get(p.name)
            code = None if value is None else Code(str(value), t, value, value)
            self.scopes[0][p.name] = Variable(name, t, "value", code, p.type.constant)
        return name

    # ---- names

    def fresh(self, name: str) -> str:
        self.made += 1
        return f"{name}_{self.made}"

    def bound(self, value: Any) -> str:
        """A name for a value that the code uses."""
        name = self.fresh("k")
        self.environment[name] = value
        return name

    def find(self, name: str) -> Variable:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise NotUnderstood(f"the name {name}")

    def declare(self, name: str, variable: Variable) -> None:
        if name in self.scopes[-1]:
            raise NotUnderstood(f"{name}, declared twice")
        self.scopes[-1][name] = variable

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    # ---- statements

    def block(self, body: Sequence[Statement], depth: int) -> None:
        self.scopes.append({})
        for statement in body:
            self.statement(statement, depth)
        self.scopes.pop()
        self.emit(depth, "pass")

    def statement(self, statement: Statement, depth: int) -> None:
        match statement:
            case Barrier(fences):
                self.barriers += 1
                which = f"{self.barriers}, {'local' in fences}, {'global' in fences}"
                self.emit(depth, f"yield ({which})")
            case Declaration():
                self.declaration(statement, depth)
            case Assignment(target, operator, value):
                if operator != "=":
                    value = Binary(operator[:-1], target, value)
                self.assignment(target, value, depth)
            case Evaluation(Invocation(function, (value, n, pointer))) if (
                m := _VECTOR.fullmatch(function)
            ) and m[1] == "vstore":
                width = int(m[2])
                memory, offset, t = self.pointer(pointer)
                start = self.sum(
                    offset, self.product(self.value(n), Code(str(width), INT, width, width))
                )
                text = self.to(self.value(value), replace(plain(t), width=width)).text
                self.emit(
                    depth,
                    f"{memory}.store_vector(it, {start.text}, {width}, {text}, aligned=False)",
                )
            case Evaluation(call):
                raise NotUnderstood(f"the statement {in_c(call)}")
            case Guard(condition, body):
                self.emit(depth, f"if {self.condition(condition)}:")
                self.block(body, depth + 1)
            case Loop():
                self.loop(statement, depth)

    def declaration(self, d: Declaration, depth: int) -> None:
        name, t = self.fresh(d.name), d.type
        if d.extent is not None:
            extent = self.value(d.extent)
            if not extent.known or extent.low != extent.high or t.pointer:
                raise NotUnderstood(f"the extent of {d.name}")
            cells = extent.range[0]
            aligned = d.aligned >= 16 * size_of(plain(t))
            if t.space == "local":
                if len(self.scopes) != 2:
                    raise NotUnderstood(f"the local array {d.name} in a block")
                self.local.append(Local(name, d.name, cells, t, aligned))
            else:
                self.emit(
                    depth,
                    f"{name} = Memory({d.name!r}, [{self.open(plain(t))}]*{cells}, {aligned})",
                )
            self.declare(d.name, Variable(name, t, "array"))
        elif t.pointer:
            if d.value is None:
                raise NotUnderstood(f"the pointer {d.name} without a value")
            memory, offset, of = self.pointer(d.value)
            if not offset.known:
                raise NotUnderstood(f"the pointer {d.name} to a place that depends on data")
            if (plain(of), of.space) != (plain(t), t.space) or (of.constant and not t.constant):
                raise NotUnderstood(f"the pointer {d.name} into an array of another type")
            self.emit(depth, f"{name} = {memory}, {offset.text}")
            self.declare(d.name, Variable(name, t, "pointer"))
        elif t.space != "private":
            raise NotUnderstood(f"{d.name}, which is no array, in {t.space} memory")
        else:
            value = None if d.value is None else self.to(self.value(d.value), plain(t))
            self.emit(depth, f"{name} = {self.open(plain(t)) if value is None else value.text}")
            code = None
            if value is not None and value.known and t.constant:
                code = replace(value, text=name)
            self.declare(d.name, Variable(name, plain(t), "value", code, t.constant))

    def open(self, t: CType) -> str:
        return "OPEN" if t.width == 1 else f"(OPEN,)*{t.width}"

    def loop(self, loop: Loop, depth: int) -> None:
        t = plain(loop.type)
        start = self.to(self.value(loop.start), t)
        if not start.known:
            start = Code(f"decided_number({start.text})", t, *RANGES[t.scalar])
            self.environment["decided_number"] = _decided_number
        self.scopes.append({})
        name = self.fresh(loop.counter)
        self.emit(depth, f"{name} = {start.text}")
        end = self.value(loop.end)
        top = end.range[1] - 1 if end.known else RANGES[t.scalar][1]
        counter = Code(name, t, start.range[0], max(min(top, RANGES[t.scalar][1]), start.range[0]))
        self.declare(loop.counter, Variable(name, t, "value", counter, True))
        self.emit(depth, f"while {self.condition(Binary('<', Name(loop.counter), loop.end))}:")
        self.block(loop.body, depth + 1)
        step = self.value(loop.step)
        self.emit(depth + 1, f"{name} = ahead(it, {name}, {step.text}, {t.scalar!r})")
        self.scopes.pop()

    def condition(self, e: Expression) -> str:
        value = self.value(e)
        if value.type.width > 1:
            raise NotUnderstood(f"the condition {in_c(e)}")
        return value.text if value.known else f"decided(it, {self.as_int(value).text})"

    def assignment(self, target: Expression, value: Expression, depth: int) -> None:
        match target:
            case Name(name) if self.find(name).kind == "pointer":
                v = self.find(name)
                memory, offset, of = self.pointer(value)
                if not offset.known:
                    raise NotUnderstood(f"the pointer {name} to a place that depends on data")
                if (plain(of), of.space) != (plain(v.type), v.type.space) or (
                    of.constant and not v.type.constant
                ):
                    raise NotUnderstood(f"the pointer {name} into an array of another type")
                self.emit(depth, f"{v.python} = {memory}, {offset.text}")
            case Name(name):
                v = self.find(name)
                if v.kind != "value" or v.fixed:
                    raise NotUnderstood(f"an assignment to {name}, which is fixed")
                self.emit(depth, f"{v.python} = {self.to(self.value(value), v.type).text}")
            case Element(array, index):
                memory, offset, t = self.pointer(array)
                self.writable(t, array)
                at = self.sum(offset, self.value(index))
                text = self.to(self.value(value), plain(t)).text
                self.emit(depth, f"{memory}.store(it, {at.text}, {text})")
            case Prefix("*", pointer):
                memory, offset, t, width, aligned = self.through(pointer)
                self.writable(t, pointer)
                text = self.to(self.value(value), replace(plain(t), width=width)).text
                if width == 1:
                    self.emit(depth, f"{memory}.store(it, {offset.text}, {text})")
                else:
                    more = f"{width}, {text}, aligned={aligned}"
                    self.emit(depth, f"{memory}.store_vector(it, {offset.text}, {more})")
            case Member(of, name):
                whole = self.value(of)
                places = _lanes(name, whole.type.width)
                if len(places) != 1:
                    raise NotUnderstood(f"an assignment to {in_c(target)}")
                lane = self.to(self.value(value), replace(whole.type, width=1))
                held = self.fresh("held")
                k = places[0]
                self.emit(depth, f"{held} = {whole.text}")
                self.emit(depth, f"{held} = (*{held}[:{k}], {lane.text}, *{held}[{k + 1}:])")
                self.scopes.append({held: Variable(held, whole.type, "value")})
                self.assignment(of, Name(held), depth)
                self.scopes.pop()
            case _:
                raise NotUnderstood(f"an assignment to {in_c(target)}")

    def writable(self, t: CType, where: Expression) -> None:
        if t.constant:
            raise NotUnderstood(f"a write to {in_c(where)}, which is constant")

    # ---- pointers

    def pointer(self, e: Expression) -> tuple[str, Code, CType]:
        """The memory into which a pointer points, where, and the type of an element."""
        match e:
            case Name(name):
                v = self.find(name)
                if v.kind == "array":
                    return v.python, Code("0", INT, 0, 0), v.type
                if v.kind == "pointer":
                    return f"{v.python}[0]", Code(f"{v.python}[1]", LONG, 0, 2**62), v.type
                raise NotUnderstood(f"{name}, which is no pointer")
            case Binary("+", of, moved):
                memory, offset, t = self.pointer(of)
                return memory, self.sum(offset, self.value(moved)), t
            case Prefix("&", Element(array, index)):
                memory, offset, t = self.pointer(array)
                return memory, self.sum(offset, self.value(index)), t
            case _:
                raise NotUnderstood(f"the pointer {in_c(e)}")

    def through(self, e: Expression) -> tuple[str, Code, CType, int, bool]:
        """What `*e` is: memory, offset, type of an element, how many, and whether they are aligned."""
        if not (isinstance(e, Cast) and e.type.pointer):
            memory, offset, t = self.pointer(e)
            return memory, offset, t, plain(t).width, False
        memory, offset, t = self.pointer(e.arguments[0])
        if (t.scalar, t.space, t.width) != (e.type.scalar, e.type.space, 1):
            raise NotUnderstood(f"{in_c(e)}, an array of other scalars")
        if t.constant and not e.type.constant:
            raise NotUnderstood(f"{in_c(e)}, which takes const away")
        if e.type.width == 3:
            raise NotUnderstood(f"{in_c(e)}: vectors of 3 have 4 cells")
        return memory, offset, t, e.type.width, e.type.width > 1

    # ---- values

    def value(self, e: Expression) -> Code:
        """An expression, with the type that C gives it."""
        match e:
            case Whole(value, long):
                return Code(str(value), LONG if long else INT, value, value)
            case Real(text):
                return self.real(text)
            case Name(name):
                return self.name(name)
            case Element(array, index):
                memory, offset, t = self.pointer(array)
                at = self.sum(offset, self.value(index))
                return Code(f"{memory}.load(it, {at.text})", plain(t))
            case Member(of, name):
                whole = self.value(of)
                places = _lanes(name, whole.type.width)
                if len(places) == 1:
                    return Code(f"{whole.text}[{places[0]}]", replace(whole.type, width=1))
                held = self.fresh("v")
                picked = ", ".join(f"{held}[{k}]" for k in places)
                text = f"(lambda {held}: ({picked}))({whole.text})"
                return Code(text, replace(whole.type, width=len(places)))
            case Prefix("*", pointer):
                memory, offset, t, width, aligned = self.through(pointer)
                if width == 1 or plain(t).width > 1:
                    return Code(f"{memory}.load(it, {offset.text})", plain(t))
                text = f"{memory}.load_vector(it, {offset.text}, {width}, aligned={aligned})"
                return Code(text, replace(plain(t), width=width))
            case Prefix(operator, operand):
                return self.prefix(operator, self.value(operand))
            case Binary("&&" | "||" as operator, left, right):
                return self.logical(operator, left, right)
            case Binary(operator, left, right):
                return self.binary(operator, self.value(left), self.value(right))
            case Conditional(condition, yes, no):
                return self.conditional(condition, self.value(yes), self.value(no))
            case Cast(t, arguments):
                return self.cast(t, [self.value(a) for a in arguments])
            case Invocation(function, arguments):
                return self.invocation(function, arguments)

    def real(self, text: str) -> Code:
        digits = text.rstrip("uUlL")
        if digits != text:
            value = int(digits, 0)
            t = ULONG if value >= 2**32 or "l" in text.lower() else CType("uint")
            return Code(str(value), t, value, value)
        t = CType("float" if text[-1] in "fF" else "double")
        exact = Fraction(text.rstrip("fF"))
        return self.constant(t.scalar, _nearest(exact, t.scalar))

    def constant(self, scalar: str, value: Any) -> Code:
        return Code(self.bound(self.arithmetic.algebra.real(value, FLOATS[scalar])), CType(scalar))

    def name(self, name: str) -> Code:
        if any(name in scope for scope in self.scopes):
            v = self.find(name)
            if v.kind != "value":
                raise NotUnderstood(f"the array {name} as a value")
            return v.code if v.code is not None else Code(v.python, v.type)
        if name in _CONSTANTS:
            return self.constant(*_CONSTANTS[name])
        if name in _LIMITS:
            scalar, value = _LIMITS[name]
            return Code(f"({value})", CType(scalar), value, value)
        raise NotUnderstood(f"the name {name}")

    def as_int(self, e: Code) -> Code:
        """A scalar as the operand of a condition: one that is not 0 holds."""
        if e.type.scalar in FLOATS:
            return self.binary("!=", e, self.constant(e.type.scalar, 0.0))
        return self.to(e, promoted(e.type))

    def to(self, e: Code, t: CType) -> Code:
        """A value converted to a type, as an assignment does it."""
        if e.type.width != t.width:
            if e.type.width > 1:
                raise NotUnderstood(f"a vector of {e.type.width} as {t.scalar}{t.width}")
            lane = self.to(e, replace(t, width=1))
            return Code(f"({lane.text},)*{t.width}", t)
        if e.type.scalar == t.scalar:
            return e
        if t.width > 1:
            raise NotUnderstood(f"{e.type.scalar}{t.width} as {t.scalar}{t.width}")
        return self.converted(e, t)

    def converted(self, e: Code, t: CType) -> Code:
        """Each lane converted."""
        before, after = e.type.scalar, t.scalar
        if before == after:
            return e
        if t.width > 1:
            function = self.bound(_lanewise(self.function("converted", before, after)))
            return Code(f"{function}({e.text})", t)
        if e.known and after not in FLOATS:
            low, high = RANGES[after]
            if low <= e.range[0] and e.range[1] <= high:
                return Code(e.text, t, e.low, e.high)
            return Code(f"wrapped({e.text}, {after!r})", t, low, high)
        return Code(f"converted({before!r}, {after!r}, {e.text})", t)

    def function(self, name: str, *fixed: str) -> Callable[..., Any]:
        """A function of the arithmetic for some types."""
        of = getattr(self.arithmetic, name)
        return lambda *values: of(*fixed, *values)

    # ---- operators

    def sum(self, left: Code, right: Code) -> Code:
        """A place in an array: pointers are moved by numbers of any type."""
        if right.type.scalar in FLOATS or right.type.width > 1:
            raise NotUnderstood("an index that is no whole number")
        if (left.low, left.high) == (0, 0):
            return right
        if not right.known or not left.known:
            return Code(f"moved({left.text}, {right.text})", LONG)
        (a, b), (c, d) = left.range, right.range
        return Code(f"({left.text} + {right.text})", LONG, a + c, b + d)

    def product(self, left: Code, right: Code) -> Code:
        return self.binary("*", left, right)

    def prefix(self, operator: str, e: Code) -> Code:
        t = promoted(e.type)
        e = self.to(e, t) if t.width == 1 else e
        if operator == "+":
            return e
        if operator == "-":
            if e.known:
                return self.fitting(f"-{e.text}", t, -e.range[1], -e.range[0])
            return self.each("negative", t, e)
        if operator == "!" and t.width == 1:
            e = self.as_int(e)
            if e.known:
                return Code(f"(not {e.text})", INT, 0, 1)
            return Code(self.each("refused", e.type, e).text, INT)
        if operator == "!" and t.scalar not in FLOATS:
            zero = Code("0", INT, 0, 0)
            return self.binary("==", e, zero)
        if operator == "~" and t.scalar not in FLOATS:
            return self.each("inverted", t, e)
        raise NotUnderstood(f"{operator} of {t.scalar}")

    def each(self, name: str, t: CType, e: Code) -> Code:
        """A function of one scalar, on each lane."""
        if t.width == 1:
            return Code(f"arithmetic.{name}({t.scalar!r}, {e.text})", t)
        function = self.bound(_lanewise(self.function(name, t.scalar)))
        return Code(f"{function}({e.text})", t)

    def binary(self, operator: str, left: Code, right: Code) -> Code:
        compares = operator in ("<", "<=", ">", ">=", "==", "!=")
        if operator in ("<<", ">>"):
            t = promoted(left.type)
            if promoted(right.type).width != t.width or right.type.scalar in FLOATS:
                raise NotUnderstood("a shift")
            right = Code(right.text, t, right.low, right.high)
        else:
            t = common(left.type, right.type)
        if t.scalar in FLOATS and operator in ("%", "&", "|", "^", "<<", ">>"):
            raise NotUnderstood(f"{operator} of {t.scalar}")
        left, right = self.to(left, t), self.to(right, t)
        if left.known and right.known and t.width == 1:
            return self.numbers(operator, left, right, t)
        function = self.arithmetic.operation(operator, t.scalar)
        if t.width > 1:
            result = compared(t) if compares else t
            lanes = _lanewise(function)
            if compares:
                mask = self.function("mask", result.scalar)
                lanes = _lanewise(lambda x, y: mask(function(x, y)))
            return Code(f"{self.bound(lanes)}({left.text}, {right.text})", result)
        name = self.operations.setdefault((operator, t.scalar), "")
        if not name:
            name = self.operations[operator, t.scalar] = self.bound(function)
        return Code(f"{name}({left.text}, {right.text})", INT if compares else t)

    @property
    def operations(self) -> dict[tuple[str, str], str]:
        """The operators that have names already."""
        found: dict[tuple[str, str], str] = self.environment.setdefault("_operations", {})
        return found

    def numbers(self, operator: str, left: Code, right: Code, t: CType) -> Code:
        """An operator on known numbers, with the range of its results."""
        (a, b), (c, d) = left.range, right.range
        text = f"({left.text} {operator} {right.text})"
        match operator:
            case "+":
                return self.fitting(text, t, a + c, b + d)
            case "-":
                return self.fitting(text, t, a - d, b - c)
            case "*":
                ends = (a * c, a * d, b * c, b * d)
                return self.fitting(text, t, min(ends), max(ends))
            case "/" | "%" if a >= 0 and c > 0:
                text = f"({left.text} {'//' if operator == '/' else '%'} {right.text})"
                high = b // c if operator == "/" else min(b, d - 1)
                return Code(text, t, a // d if operator == "/" else 0, high)
            case "<" | "<=" | ">" | ">=" | "==" | "!=":
                return Code(text, INT, 0, 1)
            case _:
                name = self.bound(self.arithmetic.operation(operator, t.scalar))
                return Code(f"{name}({left.text}, {right.text})", t, *RANGES[t.scalar])

    def fitting(self, text: str, t: CType, low: int, high: int) -> Code:
        """A result that is checked, or wraps around, where it may leave its type."""
        ends = RANGES[t.scalar]
        if ends[0] <= low and high <= ends[1]:
            return Code(text if text.startswith("(") else f"({text})", t, low, high)
        return Code(f"fitted({text}, {t.scalar!r})", t, *ends)

    def logical(self, operator: str, left: Expression, right: Expression) -> Code:
        a, b = self.value(left), self.value(right)
        if a.type.width > 1 or b.type.width > 1:
            raise NotUnderstood(f"{operator} of vectors")
        a, b = self.as_int(a), self.as_int(b)
        if a.known and b.known:
            word = "and" if operator == "&&" else "or"
            return Code(f"(1 if {a.text} {word} {b.text} else 0)", INT, 0, 1)
        function = "both" if operator == "&&" else "either"
        return Code(f"{function}({a.text}, lambda: {b.text})", INT)

    def conditional(self, condition: Expression, yes: Code, no: Code) -> Code:
        c = self.value(condition)
        t = common(yes.type, no.type)
        yes, no = self.to(yes, t), self.to(no, t)
        if c.type.width > 1:
            if t.width != c.type.width or c.type.scalar in FLOATS or size_of(t) != size_of(c.type):
                raise NotUnderstood(f"the condition {in_c(condition)} of lanes")
            return Code(
                f"{self.bound(_lanewise(self.arithmetic.lane))}({c.text}, {yes.text}, {no.text})", t
            )
        c = self.as_int(c)
        if c.known:
            low = high = None
            if yes.known and no.known:
                low, high = min(yes.range[0], no.range[0]), max(yes.range[1], no.range[1])
            return Code(f"({yes.text} if {c.text} else {no.text})", t, low, high)
        return Code(f"choose({c.text}, lambda: {yes.text}, lambda: {no.text})", t)

    def cast(self, t: CType, values: list[Code]) -> Code:
        if t.pointer:
            raise NotUnderstood("a pointer as a value")
        t = plain(t)
        if t.width == 1:
            if len(values) != 1 or values[0].type.width > 1:
                raise NotUnderstood(f"a conversion to {t.scalar}")
            return self.converted(values[0], t)
        if len(values) == 1 and values[0].type.width == 1:
            return self.to(values[0], t)
        lanes: list[str] = []
        for v in values:
            if v.type.width == 1:
                lanes.append(self.converted(v, replace(t, width=1)).text)
            elif v.type.scalar == t.scalar:
                lanes.append(f"*{v.text}")
            else:
                raise NotUnderstood(f"{v.type.scalar}{v.type.width} in {t.scalar}{t.width}")
        if sum(v.type.width for v in values) != t.width:
            raise NotUnderstood(f"other than {t.width} lanes for {t.scalar}{t.width}")
        return Code(f"({', '.join(lanes)})", t)

    # ---- functions

    def invocation(self, function: str, arguments: tuple[Expression, ...]) -> Code:
        if function in _NUMBERS:
            return self.number_of(function, arguments)
        if m := _VECTOR.fullmatch(function):
            if m[1] == "vstore" or len(arguments) != 2:
                raise NotUnderstood(f"{function} as a value")
            width = int(m[2])
            memory, offset, t = self.pointer(arguments[1])
            n = self.product(self.value(arguments[0]), Code(str(width), INT, width, width))
            at = self.sum(offset, n)
            text = f"{memory}.load_vector(it, {at.text}, {width}, aligned=False)"
            return Code(text, replace(plain(t), width=width))
        values = [self.value(a) for a in arguments]
        if function in self.functions:
            return self.called(self.functions[function], values)
        if m := _CONVERSION.fullmatch(function):
            return self.conversion(m, values)
        if function in ("min", "max") and len(values) == 2:
            return self.extreme(function, *values)
        if function == "abs" and len(values) == 1 and values[0].type.scalar not in FLOATS:
            t = promoted(values[0].type)
            made = self.each("absolute", t, self.to(values[0], t))
            return Code(made.text, replace(t, scalar="u" + t.scalar.removeprefix("u")))
        if function == "select" and len(values) == 3:
            return self.selected(*values)
        return self.of_floats(function, values)

    def number_of(self, function: str, arguments: tuple[Expression, ...]) -> Code:
        match arguments:
            case (Whole(d),) if d < 3:
                name, least = _NUMBERS[function]
                high = self.limits[name, d]
                return Code(f"it.{name}[{d}]", ULONG, least, high)
            case _:
                raise NotUnderstood(f"{function} of a dimension that is no number")

    def called(self, function: Function, values: list[Code]) -> Code:
        """A function that the source defines: its body, or, where that is not read, its name."""
        if len(values) != len(function.parameters):
            raise NotUnderstood(f"{len(values)} arguments of {function.name}")
        given = [
            self.to(v, plain(p.type)) for v, p in zip(values, function.parameters, strict=True)
        ]
        if function.name in self.opaque:
            name = self.bound(self.opaque[function.name])
        else:
            name = "f_" + function.name
            if name not in self.environment:
                self.environment[name] = self.defined(function)
        return Code(f"{name}(it, {', '.join(v.text for v in given)})", plain(function.result))

    def defined(self, function: Function) -> Callable[..., Any]:
        """A function of the source as one of Python's."""
        if function.body is None:
            raise NotUnderstood(f"the body of the function {function.name}")
        others = {k: f for k, f in self.functions.items() if k != function.name}
        inner = Translator(self.arithmetic, others, self.opaque, self.limits)
        inner.environment.update(self.arithmetic.environment)
        names = [inner.parameter(p) for p in function.parameters]
        inner.made += 1
        inner.returned(function.body, plain(function.result), 1)
        text = "\n".join([f"def run(it, {', '.join(names)}):", *inner.lines, ""])
        return inner.compiled(text, function.name)

    def returned(self, body: Sequence[Statement | Return], t: CType, depth: int) -> None:
        """The statements of a function: what is left after a condition is a function of its own."""
        for place, statement in enumerate(body):
            if isinstance(statement, Declaration):
                self.declaration(statement, depth)
                continue
            if not isinstance(statement, Return):
                raise NotUnderstood("a statement in a function")
            value = self.to(self.value(statement.value), t).text
            if statement.condition is None:
                self.emit(depth, f"return {value}")
                return
            condition = self.as_int(self.value(statement.condition)).text
            rest = self.fresh("rest")
            self.emit(depth, f"def {rest}():")
            self.returned(body[place + 1 :], t, depth + 1)
            self.emit(depth, f"return choose({condition}, lambda: {value}, {rest})")
            return

    def conversion(self, m: re.Match[str], values: list[Code]) -> Code:
        t = CType(m[2], int(m[3] or 1))
        if len(values) != 1 or values[0].type.width != t.width:
            raise NotUnderstood(f"{m.group()} of that")
        (e,) = values
        if m[1] == "as":
            if e.type.scalar in FLOATS or m[2] in FLOATS or size_of(e.type) != size_of(t):
                raise NotUnderstood(f"{m.group()} of {e.type.scalar}")
            return self.converted(e, t)
        if m[4]:
            if e.type.scalar not in FLOATS or m[2] not in ("int", "long"):
                raise NotUnderstood(f"{m.group()} of {e.type.scalar}")
            return replace(self.each("saturated", t, e), type=t)
        return self.converted(e, t)

    def extreme(self, function: str, left: Code, right: Code) -> Code:
        if left.type.scalar in FLOATS or right.type.scalar in FLOATS:
            raise NotUnderstood(f"{function} of floats, which has no one value at NaN")
        of_lane = left.type.width > 1 and right.type.width == 1
        if left.type != right.type and not of_lane:
            raise NotUnderstood(f"{function} of {left.type.scalar} and {right.type.scalar}")
        t = common(left.type, right.type)
        left, right = self.to(left, t), self.to(right, t)
        if left.known and right.known:
            pick, low, high = (
                ("smallest", min(left.range[0], right.range[0]), min(left.range[1], right.range[1]))
                if function == "min"
                else (
                    "largest",
                    max(left.range[0], right.range[0]),
                    max(left.range[1], right.range[1]),
                )
            )
            return Code(f"{pick}({left.text}, {right.text})", t, low, high)
        of = self.function("extreme", function, t.scalar)
        name = self.bound(_lanewise(of) if t.width > 1 else of)
        return Code(f"{name}({left.text}, {right.text})", t)

    def selected(self, no: Code, yes: Code, c: Code) -> Code:
        t = common(yes.type, no.type)
        if yes.type != no.type or c.type.scalar in FLOATS or c.type.width != t.width:
            raise NotUnderstood("select of those types")
        if size_of(c.type) != size_of(t):
            raise NotUnderstood("select by a condition of other size")
        pick = self.arithmetic.picked if t.width == 1 else _lanewise(self.arithmetic.lane)
        return Code(f"{self.bound(pick)}({c.text}, {yes.text}, {no.text})", t)

    def of_floats(self, function: str, values: list[Code]) -> Code:
        if len(values) != ARITIES.get(function, 1) or any(v.type != values[0].type for v in values):
            raise NotUnderstood(f"the function {function}")
        t = values[0].type
        of = self.arithmetic.called(function, t.scalar) if t.scalar in FLOATS else None
        if of is None:
            raise NotUnderstood(f"the function {function} of {t.scalar}")
        name = self.bound(_lanewise(of) if t.width > 1 else of)
        return Code(f"{name}({', '.join(v.text for v in values)})", t)


def _decided_number(value: Any) -> int:
    """A number of control flow, which must be known."""
    return int(value.__index__())


def _lanewise(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *lanes: tuple(map(function, *lanes))


def _nearest(value: Fraction, scalar: str) -> Any:
    """A decimal constant as C rounds it: once."""
    try:
        near = float(value)
    except OverflowError:
        return np.inf
    if scalar == "double":
        return near
    error = value - Fraction(near)
    if error and not np.float64(near).view(np.int64) & 1:
        near = float(np.nextafter(near, np.inf if error > 0 else -np.inf))
    with np.errstate(over="ignore"):
        return np.float32(near)


def _lanes(name: str, width: int) -> list[int]:
    """The lanes that the name of a member picks."""
    half = 2 if width == 3 else width // 2
    named = {
        "lo": list(range(half)), "hi": list(range(half, width)),
        "even": list(range(0, width, 2)), "odd": list(range(1, width, 2)),
    }  # fmt: skip
    if name in named and width != 3:
        return named[name]
    if re.fullmatch(r"[xyzw]+", name) and width <= 4:
        found = ["xyzw".index(c) for c in name]
    elif re.fullmatch(r"[sS][0-9a-fA-F]+", name):
        found = [int(c, 16) for c in name[1:]]
    else:
        raise NotUnderstood(f"the lanes {name} of {width}")
    if len(found) not in (1, 2, 3, 4, 8, 16) or any(k >= width for k in found):
        raise NotUnderstood(f"the lanes {name} of {width}")
    return found
