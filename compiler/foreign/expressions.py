"""Parsed expressions as the tree of `text`, and the types of C."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relift.compiler.text.c_types import size_of
from relift.compiler.text.cursor import Cursor
from relift.compiler.text.lexing import NotUnderstood, numeric
from relift.compiler.text.memories import SPACES, UNSAID
from relift.compiler.text.tree import (
    Binary,
    Cast,
    Conditional,
    CType,
    Element,
    Expression,
    Invocation,
    Member,
    Name,
    Prefix,
    Real,
    Whole,
)
from relift.semantics.syntax.memory import Space

ROW = "row of an array"
"""The function that flattens two indices: (outer, inner, how many inner ones there are)."""

_NAMES: dict[tuple[str, ...], str] = {
    ("unsigned",): "uint", ("unsigned", "int"): "uint", ("signed", "int"): "int", ("unsigned", "char"): "uchar",
    ("unsigned", "short"): "ushort", ("unsigned", "long"): "ulong", ("long", "int"): "long",
}  # fmt: skip


def place(node: Any) -> str:
    """The line of a node, for a message."""
    return f"line {node.coord.line}" if getattr(node, "coord", None) else "the text"


class Placed(NotUnderstood):
    """What is not understood, with its line."""


def refused(node: Any, what: str) -> Placed:
    """What is not understood, with its line."""
    return Placed(f"{what} in {place(node)}")


def ctype(
    names: Sequence[str],
    node: Any,
    *,
    space: Space = UNSAID,
    pointer: bool = False,
    constant: bool = False,
) -> CType:
    """A type by its words."""
    word = _NAMES.get(tuple(names), names[0] if len(names) == 1 else " ".join(names))
    if word == "event_t":
        return CType(word, 1, pointer, space, constant)
    if word in ("bool", "_Bool"):
        return CType("truth", 1, pointer, space, constant)
    cursor = Cursor([word])
    if not cursor.starts_type():
        raise refused(node, f"the type {word}")
    t = cursor.type()
    return CType(t.scalar, t.width, pointer, space, constant)


_CONSTANT = "constant"
"""What OpenCL C calls the part of the device's memory that kernels only read."""

_TYPES = frozenset(["bool", "half", *(f"half{n}" for n in (2, 3, 4, 8, 16))])
"""Words of OpenCL C that a parser of C takes for names."""


_TRUTHS = {"true": 1, "false": 0}


def declared(node: Any) -> tuple[CType, list[Any]]:
    """The type of a declaration, and the extents of an array."""
    from pycparser import c_ast

    if node.name in _TYPES:
        raise refused(node, f"a variable called {node.name}, which is a type in OpenCL C,")
    extents: list[Any] = []
    t = node.type
    pointer = False
    words = list(getattr(node, "quals", None) or [])
    while not isinstance(t, c_ast.TypeDecl):
        if isinstance(t, c_ast.ArrayDecl):
            extents.append(t.dim)
        elif isinstance(t, c_ast.PtrDecl) and not pointer:
            pointer = True
        else:
            raise refused(node, "a declaration")
        t = t.type
    words += t.quals or []
    if not isinstance(t.type, c_ast.IdentifierType):
        raise refused(node, "a struct, union or enum")
    known = {**SPACES, _CONSTANT: Space.GLOBAL}
    said = next((w for w in (w.strip("_") for w in words) if w in known), None)
    found = ctype(
        t.type.names,
        node,
        space=UNSAID if said is None else known[said],
        pointer=pointer,
        constant="const" in words or said == _CONSTANT,
    )
    return found, extents


class Trees:
    """Parsed expressions as trees.

    `extents` has the dimensions of arrays, innermost last; `singles` are variables that are followed as arrays of one.
    """

    def __init__(self) -> None:
        self.extents: dict[str, list[int]] = {}
        self.singles: set[str] = set()

    def of(self, e: Any) -> Expression:
        """One expression; raises `NotUnderstood` with its line."""
        from pycparser import c_ast

        if isinstance(e, c_ast.Constant):
            return self._constant(e)
        if isinstance(e, c_ast.ID) and e.name in _TRUTHS:
            return Whole(_TRUTHS[e.name])
        if isinstance(e, c_ast.ID):
            return Element(Name(e.name), Whole(0)) if e.name in self.singles else Name(e.name)
        if isinstance(e, c_ast.BinaryOp):
            return Binary(e.op, self.of(e.left), self.of(e.right))
        if isinstance(e, c_ast.UnaryOp):
            return self._unary(e)
        if isinstance(e, c_ast.TernaryOp):
            return Conditional(self.of(e.cond), self.of(e.iftrue), self.of(e.iffalse))
        if isinstance(e, c_ast.ArrayRef):
            return self._element(e)
        if isinstance(e, c_ast.StructRef) and e.type == ".":
            return Member(self.of(e.name), e.field.name)
        if isinstance(e, c_ast.FuncCall):
            given = e.args.exprs if e.args is not None else []
            return Invocation(e.name.name, tuple(map(self.of, given)))
        if isinstance(e, c_ast.Cast):
            t, _ = declared(e.to_type)
            parts = e.expr.exprs if isinstance(e.expr, c_ast.ExprList) else [e.expr]
            return Cast(t, tuple(map(self.of, parts)))
        what = e.op if isinstance(e, c_ast.Assignment) else type(e).__name__
        raise refused(e, f"{what} inside an expression")

    def _constant(self, e: Any) -> Expression:
        if e.type in ("char", "string"):
            raise refused(e, f"the constant {e.value}")
        if re.fullmatch(r"0[xX][89a-fA-F][0-9a-fA-F]{7}", e.value):
            return Real(e.value + "u")  # no int holds it: C takes it without a sign
        if m := re.fullmatch(r"(0[xX][\da-fA-F.]+[pP][+-]?\d+)([fFlL]?)", e.value):
            return Real(f"{float.fromhex(m[1])!r}{m[2]}")
        found = numeric(e.value)
        return Real(e.value) if found.value is None else Whole(found.value, found.long)

    def _unary(self, e: Any) -> Expression:
        from pycparser import c_ast

        if e.op in ("-", "+", "!", "~", "*", "&"):
            return Prefix(e.op, self.of(e.expr))
        if e.op == "sizeof" and isinstance(e.expr, c_ast.Typename):
            t, _ = declared(e.expr)
            return Real(f"{size_of(t) * t.width}ul")
        raise refused(e, f"{e.op} inside an expression")

    def _element(self, e: Any) -> Expression:
        from pycparser import c_ast

        indices: list[Expression] = []
        array = e
        while isinstance(array, c_ast.ArrayRef):
            indices.insert(0, self.of(array.subscript))
            array = array.name
        extents = self.extents.get(array.name, []) if isinstance(array, c_ast.ID) else []
        if len(indices) > max(len(extents), 1):
            raise refused(e, "more indices than an array has")
        flat = indices[0]
        for index, n in zip(indices[1:], extents[1:], strict=False):
            flat = Invocation(ROW, (flat, index, Whole(n)))
        if (rest := math.prod(extents[len(indices) :])) and len(indices) < len(extents):
            return Prefix("&", Element(self.of(array), Binary("*", flat, Whole(rest))))
        return Element(self.of(array), flat)


_COMPUTED: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip


def number(e: Expression, node: Any, known: Mapping[str, int]) -> int:
    """A constant expression."""
    if isinstance(e, Whole):
        return e.value
    if isinstance(e, Real) and e.text.rstrip("uUlL").isdecimal():
        return int(e.text.rstrip("uUlL"))
    if isinstance(e, Name) and e.name in known:
        return known[e.name]
    if isinstance(e, Prefix) and e.operator == "-":
        return -number(e.operand, node, known)
    if isinstance(e, Binary):
        a, b = number(e.left, node, known), number(e.right, node, known)
        if e.operator in _COMPUTED:
            return _COMPUTED[e.operator](a, b)
        if e.operator in ("/", "%") and a >= 0 and b > 0:
            return a // b if e.operator == "/" else a % b
    raise refused(node, "an extent that is no constant")
