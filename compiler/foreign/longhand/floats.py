"""Functions of floats, written out."""

from __future__ import annotations

import re

from relift.compiler.text.tree import (
    Assignment,
    Binary,
    Element,
    Evaluation,
    Expression,
    Invocation,
    Member,
)

_LOADED = re.compile(r"vloada?_half(2|4|8|16)?")
_STORED = re.compile(r"vstorea?_half(2|4|8|16)?(_rte)?")


def dot_of(width: int, a: Expression, b: Expression) -> Expression:
    """The sum of the products of lanes, in order."""
    total: Expression = Binary("*", a, b)
    if width > 1:
        total = Binary("*", Member(a, "x"), Member(b, "x"))
    for lane in "yzw"[: width - 1]:
        total = Binary("+", total, Binary("*", Member(a, lane), Member(b, lane)))
    return total


def loaded_halves(function: str, arguments: tuple[Expression, ...]) -> Expression | None:
    """Numbers of 16 bits as floats; None where the function is none that reads such."""
    if (m := _LOADED.fullmatch(function)) is None or len(arguments) != 2:
        return None
    n, pointer = arguments
    cells = Invocation(f"vload{m[1]}", (n, pointer)) if m[1] else Element(pointer, n)
    return Invocation(f"convert_float{m[1] or ''}", (cells,))


def stored_halves(e: Invocation) -> Assignment | Evaluation | None:
    """What rounds floats to 16 bits and stores them, as a statement; None for another call."""
    if (m := _STORED.fullmatch(e.function)) is None or len(e.arguments) != 3:
        return None
    value, n, pointer = e.arguments
    rounded = Invocation(f"convert_half{m[1] or ''}", (value,))
    if m[1]:
        return Evaluation(Invocation(f"vstore{m[1]}", (rounded, n, pointer)))
    return Assignment(Element(pointer, n), "=", rounded)
