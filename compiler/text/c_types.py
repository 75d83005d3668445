"""The types that C gives to expressions of scalars and vectors: promotion, usual conversions, what OpenCL adds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import (
    Binary,
    Conditional,
    CType,
    Element,
    Expression,
    Invocation,
    Prefix,
    call,
)
from relift.semantics.syntax.types import FLOATS as FLOAT_TYPES

RANGES = {
    "char": (-(2**7), 2**7 - 1),
    "uchar": (0, 2**8 - 1),
    "short": (-(2**15), 2**15 - 1),
    "ushort": (0, 2**16 - 1),
    "int": (-(2**31), 2**31 - 1),
    "uint": (0, 2**32 - 1),
    "long": (-(2**63), 2**63 - 1),
    "ulong": (0, 2**64 - 1),
    "truth": (0, 1),
}
"""The whole numbers of each type; `bool` is called `truth`, which no text can say where it is not understood."""

FLOATS = {t.c: t.name for t in FLOAT_TYPES.values()}
"""The floating-point types, and what they are called in programs."""

UNSIGNED = frozenset(["uchar", "ushort", "uint", "ulong", "size_t"])
_RANKS = ("int", "uint", "long", "ulong", *FLOATS)
SIZES = {
    "truth": 1,
    "char": 1,
    "short": 2,
    "int": 4,
    "long": 8,
    **{t.c: t.bytes for t in FLOAT_TYPES.values()},
}
"""Bytes of a scalar; of one without sign, those of the same with one."""

INT, LONG, ULONG = CType("int"), CType("long"), CType("ulong")


def plain(t: CType) -> CType:
    """The type of a value: no address space, no const; `size_t` is `ulong`."""
    scalar = "ulong" if t.scalar == "size_t" else t.scalar
    if scalar not in RANGES and scalar not in FLOATS:
        raise NotUnderstood(f"the type {scalar}")
    return CType(scalar, t.width)


def size_of(t: CType) -> int:
    """Bytes of a scalar of this type."""
    return SIZES[with_sign(t.scalar)]


def with_sign(scalar: str) -> str:
    """Whole numbers with a sign of as many bits; other scalars as they are.

    >>> from relift.compiler.text.c_types import with_sign, without_sign
    >>> with_sign("uint"), with_sign("float"), without_sign("long"), without_sign("uint")
    ('int', 'float', 'ulong', 'uint')
    """
    return scalar.removeprefix("u") if scalar in UNSIGNED else scalar


def without_sign(scalar: str) -> str:
    """Whole numbers without a sign of as many bits."""
    return f"u{with_sign(scalar)}"


def mask_of(t: CType) -> CType:
    """The whole numbers with a sign of as many bytes as those of a type."""
    return CType({1: "char", 2: "short", 4: "int", 8: "long"}[size_of(t)], t.width)


MEMORY = re.compile(r"(?P<how>vload|vstore)(?P<width>2|3|4|8|16)")
"""Functions that read and write vectors."""


def vector_function(function: str, how: Literal["vload", "vstore"]) -> int:
    """The width of `vloadN`, or `vstoreN`; 0 for any other function."""
    m = MEMORY.fullmatch(function)
    return int(m["width"]) if m is not None and m["how"] == how else 0


@dataclass(frozen=True)
class Update:
    """By what a function combines a cell with a value, while nobody else reaches it, and the type of both in C."""

    by: str
    scalar: str


UPDATES = {
    **{
        f"atomic_{word}": Update(by, "int")
        for word, by in {"add": "add", "max": "maximum", "min": "minimum"}.items()
    },
    **{
        f"{by}_f32_at_once{where}": Update(by, "float")
        for by in ("add", "maximum", "minimum")
        for where in ("", "_global")
    },
}
"""The functions that update cells: those of OpenCL C, and those of `at_once`, which a source defines for local memory and for global."""


def updated_by(e: Expression) -> tuple[Update, Element, Expression] | None:
    """How a call combines which cell with what; None for any other.

    >>> from relift.compiler.text.c_types import updated_by
    >>> from relift.compiler.text.expressions import in_c
    >>> from relift.compiler.text.reader import read_expression
    >>> how, cell, value = updated_by(read_expression("atomic_add(&bins[k], 1)"))
    >>> how.by, in_c(cell), in_c(value)
    ('add', 'bins[k]', '1')
    """
    if isinstance(e, Invocation) and e.function in UPDATES and len(e.arguments) == 2:
        at, value = e.arguments
        if isinstance(at, Prefix) and at.operator == "&" and isinstance(at.operand, Element):
            return UPDATES[e.function], at.operand, value
    return None


def combined(how: Update, cell: Expression, value: Expression) -> Expression:
    """What an update makes of a cell: a sum of whole numbers wraps around, an extreme of floats is NaN where a side is.

    >>> from relift.compiler.text.c_types import UPDATES, combined
    >>> from relift.compiler.text.expressions import in_c
    >>> from relift.compiler.text.tree import Name
    >>> x, y = Name("x"), Name("y")
    >>> for name in ("atomic_add", "atomic_min", "add_f32_at_once", "minimum_f32_at_once"):
    ...     print(in_c(combined(UPDATES[name], x, y)))
    as_int(as_uint(x) + as_uint(y))
    min(x, y)
    x + y
    ((x < y) || (x != x)) ? x : y
    """
    whole = how.scalar == "int"
    if how.by == "add":
        if not whole:
            return Binary("+", cell, value)
        bits = (call("as_uint", e) for e in (cell, value))
        return call("as_int", Binary("+", *bits))
    function, better = {"maximum": ("max", ">"), "minimum": ("min", "<")}[how.by]
    if whole:
        return call(function, cell, value)
    is_kept = Binary("||", Binary(better, cell, value), Binary("!=", cell, cell))
    return Conditional(is_kept, cell, value)


def promoted(t: CType) -> CType:
    """What arithmetic makes of one operand: small whole numbers become `int`; lanes stay."""
    if t.width > 1 or t.scalar in _RANKS:
        return t
    return INT


def common(left: CType, right: CType) -> CType:
    """The type in which an operator computes; raises `NotUnderstood` for vectors that do not fit.

    >>> from relift.compiler.text.c_types import common
    >>> from relift.compiler.text.tree import CType
    >>> common(CType("int"), CType("uint")).scalar, common(CType("uint"), CType("long")).scalar
    ('uint', 'long')
    """
    if left.width == right.width == 1:
        a, b = promoted(left).scalar, promoted(right).scalar
        return CType(max(a, b, key=_RANKS.index))
    wide, other = (left, right) if left.width > 1 else (right, left)
    if other.width > 1 and other != wide:
        raise NotUnderstood(f"{wide.scalar}{wide.width} with {other.scalar}{other.width}")
    if other.scalar in FLOATS and wide.scalar not in FLOATS:
        raise NotUnderstood(f"{wide.scalar}{wide.width} with {other.scalar}")
    return wide


def compared(t: CType) -> CType:
    """The type of a comparison of operands of this type: `int`, or lanes of as many bytes."""
    return INT if t.width == 1 else mask_of(t)
