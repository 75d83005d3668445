"""Expressions: names, what lies in memory, and calls."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relift.compiler.text import tree
from relift.compiler.text.c_types import INT, LONG, RANGES, ULONG, UNSIGNED, plain, vector_function
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.validation.translation.functions import called
from relift.compiler.validation.translation.operators import (
    as_type,
    binary,
    cast,
    conditional,
    constant,
    logical,
    moved,
    moved_back,
    prefix,
    real,
)
from relift.compiler.validation.translation.python import Code, Opaque, Writer

_NUMBERS = {
    "get_global_id": ("gid", 0), "get_local_id": ("lid", 0), "get_group_id": ("grp", 0),
    "get_num_groups": ("ng", 1), "get_global_size": ("gs", 1), "get_local_size": ("ls", 1),
}  # fmt: skip
_MATHEMATICAL = {
    "E": math.e, "LOG2E": 1 / math.log(2), "LOG10E": 0.4342944819032518, "LN2": math.log(2), "LN10": math.log(10),
    "PI": math.pi, "PI_2": math.pi / 2, "PI_4": math.pi / 4, "1_PI": 1 / math.pi, "2_PI": 2 / math.pi,
    "2_SQRTPI": 2 / math.sqrt(math.pi), "SQRT2": math.sqrt(2), "SQRT1_2": math.sqrt(0.5),
}  # fmt: skip
_FLOATING = {"float": ("FLT", "f4", "_F"), "double": ("DBL", "f8", "")}
"""How the names of constants of a type begin or end, and NumPy's name of it."""

_CONSTANTS = {
    "INFINITY": ("float", math.inf), "NAN": ("float", math.nan), "HUGE_VALF": ("float", math.inf),
    "HUGE_VAL": ("double", math.inf), "MAXFLOAT": ("float", float(np.finfo("f4").max)),
    **{
        f"{start}_{name}": (t, float(value))
        for t, (start, kind, _) in _FLOATING.items()
        for name, value in (("MAX", np.finfo(kind).max), ("MIN", np.finfo(kind).tiny), ("EPSILON", np.finfo(kind).eps))
    },
    **{
        f"M_{name}{end}": (t, value)
        for t, (_, _, end) in _FLOATING.items()
        for name, value in _MATHEMATICAL.items()
    },
}  # fmt: skip
"""The constants of OpenCL C (6.15.2, mathematical and floating-point macros)."""

_LIMITS = {
    f"{name}_{end}": (t if t in ("int", "uint", "long", "ulong") else "int", RANGES[t][end == "MAX"])
    for name, t in (
        ("CHAR", "char"), ("SCHAR", "char"), ("UCHAR", "uchar"), ("SHRT", "short"), ("USHRT", "ushort"),
        ("INT", "int"), ("UINT", "uint"), ("LONG", "long"), ("ULONG", "ulong"),
    )
    for end in (("MAX",) if t in UNSIGNED else ("MIN", "MAX"))
}  # fmt: skip


@dataclass
class Expressions:
    """The expressions of a kernel; `limits` has the largest values of the numbers of work-items.

    A function of the source is `opaque`, or what `define` makes of it.
    """

    w: Writer
    functions: Mapping[str, tree.Function]
    opaque: Mapping[str, Opaque]
    limits: Mapping[tuple[str, int], int]
    define: Callable[[tree.Function], Callable[..., Any]]

    def value(self, e: tree.Expression) -> Code:
        """An expression, with the type that C gives it."""
        match e:
            case tree.Whole(value, long):
                return Code(str(value), LONG if long else INT, value, value)
            case tree.Real(text):
                return real(self.w, text)
            case tree.Name(name):
                return self._name(name)
            case tree.Element(array, index):
                memory, offset, t = self.pointer(array)
                at = moved(offset, self.value(index))
                return Code(f"{memory}.load(it, {at.text})", plain(t))
            case tree.Member(of, name):
                whole = self.value(of)
                places = lanes_of(name, whole.type.width)
                if len(places) == 1:
                    return Code(f"{whole.text}[{places[0]}]", replace(whole.type, width=1))
                held = self.w.fresh("v")
                picked = ", ".join(f"{held}[{k}]" for k in places)
                text = f"(lambda {held}: ({picked}))({whole.text})"
                return Code(text, replace(whole.type, width=len(places)))
            case tree.Prefix("*", pointer):
                memory, offset, t, width, aligned = self.through(pointer)
                if width == 1 or plain(t).width > 1:
                    return Code(f"{memory}.load(it, {offset.text})", plain(t))
                text = f"{memory}.load_vector(it, {offset.text}, {width}, aligned={aligned})"
                return Code(text, replace(plain(t), width=width))
            case tree.Prefix(operator, operand):
                return prefix(self.w, operator, self.value(operand))
            case tree.Binary("&&" | "||" as operator, left, right):
                return logical(self.w, operator, self.value(left), self.value(right))
            case tree.Binary(operator, left, right):
                return binary(self.w, operator, self.value(left), self.value(right))
            case tree.Conditional(condition, yes, no):
                first, second = self.value(yes), self.value(no)
                return conditional(self.w, condition, self.value(condition), first, second)
            case tree.Cast(t, arguments):
                return cast(self.w, t, [self.value(a) for a in arguments])
            case tree.Invocation(function, arguments):
                return self._invocation(function, arguments)

    def _name(self, name: str) -> Code:
        if (v := self.w.known(name)) is not None:
            if v.kind != "value":
                raise NotUnderstood(f"the array {name} as a value")
            return v.code if v.code is not None else Code(v.python, v.type)
        if name in _CONSTANTS:
            return constant(self.w, *_CONSTANTS[name])
        if name in _LIMITS:
            scalar, value = _LIMITS[name]
            return Code(f"({value})", tree.CType(scalar), value, value)
        raise NotUnderstood(f"the name {name}")

    def pointer(self, e: tree.Expression) -> tuple[str, Code, tree.CType]:
        """The memory into which a pointer points, where, and the type of an element."""
        match e:
            case tree.Name(name):
                v = self.w.find(name)
                if v.kind == "array":
                    return v.python, Code("0", INT, 0, 0), v.type
                if v.kind == "pointer":
                    return f"{v.python}[0]", Code(f"{v.python}[1]", LONG, -(2**62), 2**62), v.type
                raise NotUnderstood(f"{name}, which is no pointer")
            case tree.Binary("+" | "-" as operator, of, by):
                memory, offset, t = self.pointer(of)
                number = self.value(by)
                return memory, (moved if operator == "+" else moved_back)(offset, number), t
            case tree.Prefix("&", tree.Element(array, index)):
                memory, offset, t = self.pointer(array)
                return memory, moved(offset, self.value(index)), t
            case (
                tree.Whole() | tree.Real() | tree.Element() | tree.Member()
                | tree.Prefix() | tree.Binary() | tree.Conditional()
                | tree.Invocation() | tree.Cast()
            ):  # fmt: skip
                raise NotUnderstood(f"the pointer {in_c(e)}")

    def vector_at(
        self, n: tree.Expression, pointer: tree.Expression, width: int
    ) -> tuple[str, Code, tree.CType]:
        """Where vector n behind a pointer lies, as `vload` and `vstore` count: memory, offset, type of an element."""
        memory, offset, t = self.pointer(pointer)
        if plain(t).width != 1:
            raise NotUnderstood(f"{in_c(pointer)} as a pointer to scalars")
        by = binary(self.w, "*", self.value(n), Code(str(width), INT, width, width))
        return memory, moved(offset, by), t

    def through(self, e: tree.Expression) -> tuple[str, Code, tree.CType, int, bool]:
        """What `*e` is: memory, offset, type of an element, how many, and whether they are aligned."""
        if not (isinstance(e, tree.Cast) and e.type.pointer):
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

    def _invocation(self, function: str, arguments: tuple[tree.Expression, ...]) -> Code:
        if function in _NUMBERS:
            return self._number_of(function, arguments)
        if (width := vector_function(function, "vload")) and len(arguments) == 2:
            memory, at, t = self.vector_at(*arguments, width)
            text = f"{memory}.load_vector(it, {at.text}, {width}, aligned=False)"
            return Code(text, replace(plain(t), width=width))
        if width or vector_function(function, "vstore"):
            raise NotUnderstood(f"{function} as a value")
        values = [self.value(a) for a in arguments]
        if function in self.functions:
            return self._defined(self.functions[function], values)
        return called(self.w, function, values)

    def _number_of(self, function: str, arguments: tuple[tree.Expression, ...]) -> Code:
        match arguments:
            case (tree.Whole(d),) if d < 3:
                name, least = _NUMBERS[function]
                high = self.limits[name, d]
                return Code(f"it.{name}[{d}]", ULONG, least, high)
            case _:
                raise NotUnderstood(f"{function} of a dimension that is no number")

    def _defined(self, function: tree.Function, values: list[Code]) -> Code:
        """A function that the source defines: its body, or, where that is not read, its name."""
        if len(values) != len(function.parameters):
            raise NotUnderstood(f"{len(values)} arguments of {function.name}")
        given = [
            as_type(self.w, v, plain(p.type))
            for v, p in zip(values, function.parameters, strict=True)
        ]
        if function.name in self.opaque:
            name = self.w.bound(self.opaque[function.name])
        else:
            name = "f_" + function.name
            if name not in self.w.environment:
                self.w.environment[name] = self.define(function)
        return Code(f"{name}(it, {', '.join(v.text for v in given)})", plain(function.result))


def lanes_of(name: str, width: int) -> list[int]:
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
