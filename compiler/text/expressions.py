"""The expressions in the text of a kernel, as they are shown to people."""

from __future__ import annotations

import re

from relift.compiler.text.tree import (
    Binary,
    Cast,
    Conditional,
    Element,
    Expression,
    Invocation,
    Member,
    Name,
    Prefix,
    Real,
    Whole,
)

_SHOWN = {"get_global_id": "glb", "get_group_id": "wrg", "get_local_id": "lcl"}


def shown(e: Expression) -> str:
    """An expression as the kernel would write it."""
    text = re.sub(r"#\d+", "", in_c(e))
    return re.sub(r"\b(get_\w+_id)\((\d)\)", lambda m: f"{_SHOWN.get(m[1], m[1])}_{m[2]}", text)


def in_c(e: Expression) -> str:
    """An expression in C, with the parentheses that it needs.

    >>> from relift.compiler.text.expressions import in_c
    >>> from relift.compiler.text.reader import read_expression
    >>> in_c(read_expression("(((a + b)) * (c%4))"))
    '(a + b)*(c % 4)'
    """
    match e:
        case Whole(value, long):
            return f"{value}L" if long else str(value)
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
