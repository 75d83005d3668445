"""Expressions of C as they are written: the attempts in them, what they compare, and which cell a pointer points to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from relift.compiler.foreign.effects import within

ATTEMPTS = ("atomic_cmpxchg", "atom_cmpxchg")
"""The functions that try to exchange a cell."""

WHOLE = frozenset(["int", "uint", "unsigned", "signed", "long", "ulong"])
"""The words of whole numbers that have all bits that are exchanged."""

Cell: TypeAlias = tuple[str, str]
"""An array and an index in it, as they are written."""


def attempts_in(node: Any) -> list[Any]:
    return [n for n in within(node) if type(n).__name__ == "FuncCall" and name_of(n) in ATTEMPTS]


def name_of(call: Any) -> str:
    return str(getattr(call.name, "name", ""))


def in_order(node: Any) -> Iterator[Any]:
    return (part for _, part in node.children() if type(part).__name__ != "Typename")


def value_set(node: Any) -> Any:
    """What a variable is set to; None where that is no value alone."""
    if type(node).__name__ == "Decl":
        return node.init
    return node.rvalue if node.op == "=" else None


def only_leaves(s: Any) -> bool:
    items = (s.block_items or []) if type(s).__name__ == "Compound" else [s]
    return [type(i).__name__ for i in items] == ["Break"]


def always(cond: Any) -> bool:
    return (type(cond).__name__ == "Constant" and cond.value not in ("0", "0u")) or (
        type(cond).__name__ == "ID" and cond.name == "true"
    )


def bare(e: Any) -> Any:
    """An expression without casts between whole numbers of at least the 32 bits that are exchanged."""
    while type(e).__name__ == "Cast" and not is_pointer(e):
        names = getattr(e.to_type.type.type, "names", ["struct"])
        if not WHOLE.issuperset(names):
            break
        e = e.expr
    return e


def of_bits(e: Any) -> Any:
    """An expression of which only the bits are another type's."""
    e = bare(e)
    while type(e).__name__ == "FuncCall" and name_of(e) in ("as_int", "as_uint", "as_float"):
        e = bare(e.args.exprs[0])
    return e


def orders(cond: Any) -> bool:
    """Whether a condition compares numbers by their order, and attempts nothing."""
    cond = bare(cond)
    return (
        type(cond).__name__ == "BinaryOp"
        and cond.op in ("<", ">", "<=", ">=")
        and not attempts_in(cond)
    )


def is_pointer(cast: Any) -> bool:
    return type(cast.to_type.type).__name__ == "PtrDecl"


def without_casts(pointer: Any) -> Any:
    while type(pointer).__name__ == "Cast" and is_pointer(pointer):
        pointer = pointer.expr
    return pointer


def pointed(pointer: Any) -> Cell:
    """The cell that a pointer points to."""
    pointer = without_casts(pointer)
    kind, op = type(pointer).__name__, getattr(pointer, "op", "")
    if kind == "UnaryOp" and op == "&":
        inner = pointer.expr
        if type(inner).__name__ == "ArrayRef":
            return text_of(without_casts(inner.name)), text_of(inner.subscript)
        if type(inner).__name__ == "UnaryOp" and inner.op == "*":
            return pointed(inner.expr)
        return f"&{text_of(inner)}", "0"
    if kind == "BinaryOp" and op == "+":
        return text_of(without_casts(pointer.left)), text_of(pointer.right)
    return text_of(pointer), "0"


def looked_at(e: Any) -> Any:
    """The pointer through which an expression reads a cell; None where it reads none."""
    from pycparser import c_ast

    match e:
        case c_ast.UnaryOp(op="*"):
            return e.expr
        case c_ast.ArrayRef() | c_ast.ID():
            return c_ast.UnaryOp("&", e, e.coord)
        case _:
            return None


def reads(e: Any, cell: Cell) -> bool:
    pointer = looked_at(e)
    return pointer is not None and pointed(pointer) == cell


def text_of(node: Any) -> str:
    """An expression as it is written, without spaces."""
    from pycparserext.ext_c_generator import OpenCLCGenerator

    return str(OpenCLCGenerator().visit(node))


def is_private(d: Any) -> bool:
    words = {w.strip("_") for w in _words(d.type)} | {w.strip("_") for w in d.quals or []}
    return not words & {"local", "global", "constant"}


def _words(t: Any) -> list[str]:
    while type(t).__name__ != "TypeDecl":
        t = t.type
    return list(t.quals or [])
