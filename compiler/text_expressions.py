"""The expressions in the text of a kernel: what they are made of, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from relift.compiler.kernel_text import (
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
    in_c,
)

_SHOWN = {"get_global_id": "glb", "get_group_id": "wrg", "get_local_id": "lcl"}


def shown(e: Expression) -> str:
    """An expression as the kernel would write it."""
    text = re.sub(r"#\d+", "", in_c(e))
    return re.sub(r"\b(get_\w+_id)\((\d)\)", lambda m: f"{_SHOWN.get(m[1], m[1])}_{m[2]}", text)


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
