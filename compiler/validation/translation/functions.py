"""The functions of C: conversions by name, minima and maxima, selection, and those of floats."""

from __future__ import annotations

import re
from dataclasses import replace

from relift.compiler.text.c_types import FLOATS, common, promoted, size_of, without_sign
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import CType
from relift.compiler.validation.arithmetic import ARITIES
from relift.compiler.validation.translation.operators import as_type, converted, each, of_types
from relift.compiler.validation.translation.python import Code, Writer, lanewise

_CONVERSION = re.compile(
    r"(as|convert)_(u?(?:char|short|int|long)|half|float|double)(2|3|4|8|16)?(_sat)?"
)


def called(w: Writer, function: str, values: list[Code]) -> Code:
    """A function that C has, of values that have been computed."""
    if m := _CONVERSION.fullmatch(function):
        return _conversion(w, m, values)
    if function in ("min", "max") and len(values) == 2:
        return extreme(w, function, *values)
    if function == "abs" and len(values) == 1 and values[0].type.scalar not in FLOATS:
        t = promoted(values[0].type)
        made = each(w, "absolute", t, as_type(w, values[0], t))
        return Code(made.text, replace(t, scalar=without_sign(t.scalar)))
    if function == "select" and len(values) == 3:
        return _selected(w, *values)
    return _of_floats(w, function, values)


def _conversion(w: Writer, m: re.Match[str], values: list[Code]) -> Code:
    """`as_T`, which keeps the bits, or `convert_T`."""
    t = CType(m[2], int(m[3] or 1))
    if len(values) != 1 or values[0].type.width != t.width:
        raise NotUnderstood(f"{m.group()} of that")
    (e,) = values
    if m[1] == "as":
        if e.type.scalar in FLOATS or m[2] in FLOATS or size_of(e.type) != size_of(t):
            raise NotUnderstood(f"{m.group()} of {e.type.scalar}")
        return converted(w, e, t)
    if m[4]:
        if e.type.scalar not in FLOATS or m[2] not in ("int", "long"):
            raise NotUnderstood(f"{m.group()} of {e.type.scalar}")
        return replace(each(w, "saturated", t, e), type=t)
    return converted(w, e, t)


def extreme(w: Writer, function: str, left: Code, right: Code) -> Code:
    """`min` or `max` of whole numbers."""
    if left.type.scalar in FLOATS or right.type.scalar in FLOATS:
        raise NotUnderstood(f"{function} of floats, which has no one value at NaN")
    of_lane = left.type.width > 1 and right.type.width == 1
    if left.type != right.type and not of_lane:
        raise NotUnderstood(f"{function} of {left.type.scalar} and {right.type.scalar}")
    t = common(left.type, right.type)
    left, right = as_type(w, left, t), as_type(w, right, t)
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
    of = of_types(w, "extreme", function, t.scalar)
    name = w.bound(lanewise(of) if t.width > 1 else of)
    return Code(f"{name}({left.text}, {right.text})", t)


def _selected(w: Writer, no: Code, yes: Code, c: Code) -> Code:
    """`select`, lane by lane."""
    t = common(yes.type, no.type)
    if yes.type != no.type or c.type.scalar in FLOATS or c.type.width != t.width:
        raise NotUnderstood("select of those types")
    if size_of(c.type) != size_of(t):
        raise NotUnderstood("select by a condition of other size")
    pick = w.arithmetic.picked if t.width == 1 else lanewise(w.arithmetic.lane)
    return Code(f"{w.bound(pick)}({c.text}, {yes.text}, {no.text})", t)


def _of_floats(w: Writer, function: str, values: list[Code]) -> Code:
    """A function of floats that the table of scalars has too."""
    if len(values) != ARITIES.get(function, 1) or any(v.type != values[0].type for v in values):
        raise NotUnderstood(f"the function {function}")
    t = values[0].type
    of = w.arithmetic.called(function, t.scalar) if t.scalar in FLOATS else None
    if of is None:
        raise NotUnderstood(f"the function {function} of {t.scalar}")
    name = w.bound(lanewise(of) if t.width > 1 else of)
    return Code(f"{name}({', '.join(v.text for v in values)})", t)
