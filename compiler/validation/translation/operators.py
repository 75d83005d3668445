"""Conversions, operators and conditions, by the types of C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

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
from relift.compiler.text.tree import CType, Expression
from relift.compiler.validation.translation.python import Code, Writer, lanewise
from relift.semantics.syntax.types import FLOATS as FLOAT_TYPES


def constant(w: Writer, scalar: str, value: Any) -> Code:
    """A floating-point constant."""
    return Code(w.bound(w.arithmetic.algebra.real(value, FLOATS[scalar])), CType(scalar))


def real(w: Writer, text: str) -> Code:
    """A constant as it is written: a number without a sign, or one with a fraction."""
    digits = text.rstrip("uUlL")
    if digits != text:
        value = int(digits, 0)
        t = ULONG if value >= 2**32 or "l" in text.lower() else CType("uint")
        return Code(str(value), t, value, value)
    ends = {t.ending: t.c for t in FLOAT_TYPES.values()}
    t = CType(ends.get(text[-1].lower(), ends[""]))
    exact = Fraction(text.rstrip("fFhH"))
    return constant(w, t.scalar, _nearest(exact, t.scalar))


def as_int(w: Writer, e: Code) -> Code:
    """A scalar as the operand of a condition: one that is not 0 holds."""
    if e.type.scalar in FLOATS:
        return binary(w, "!=", e, constant(w, e.type.scalar, 0.0))
    return as_type(w, e, promoted(e.type))


def as_type(w: Writer, e: Code, t: CType) -> Code:
    """A value converted to a type, as an assignment does it."""
    if e.type.width != t.width:
        if e.type.width > 1:
            raise NotUnderstood(f"a vector of {e.type.width} as {t.scalar}{t.width}")
        lane = as_type(w, e, replace(t, width=1))
        return Code(f"(({lane.text},)*{t.width})", t)
    if e.type.scalar == t.scalar:
        return e
    if t.width > 1:
        raise NotUnderstood(f"{e.type.scalar}{t.width} as {t.scalar}{t.width}")
    return converted(w, e, t)


def converted(w: Writer, e: Code, t: CType) -> Code:
    """Each lane converted."""
    before, after = e.type.scalar, t.scalar
    if before == after:
        return e
    if t.width > 1:
        function = w.bound(lanewise(of_types(w, "converted", before, after)))
        return Code(f"{function}({e.text})", t)
    if after == "truth":
        return replace(binary(w, "!=", as_int(w, e), Code("0", INT, 0, 0)), type=t)
    if e.known and after not in FLOATS:
        low, high = RANGES[after]
        if low <= e.range[0] and e.range[1] <= high:
            return Code(e.text, t, e.low, e.high)
        return Code(f"wrapped({e.text}, {after!r})", t, low, high)
    return Code(f"converted({before!r}, {after!r}, {e.text})", t)


def of_types(w: Writer, name: str, *fixed: str) -> Callable[..., Any]:
    """A function of the arithmetic for some types."""
    of = getattr(w.arithmetic, name)
    return lambda *values: of(*fixed, *values)


def each(w: Writer, name: str, t: CType, e: Code) -> Code:
    """A function of one scalar, on each lane."""
    if t.width == 1:
        return Code(f"arithmetic.{name}({t.scalar!r}, {e.text})", t)
    function = w.bound(lanewise(of_types(w, name, t.scalar)))
    return Code(f"{function}({e.text})", t)


def unassigned(t: CType) -> str:
    """What a variable holds that nothing was written to."""
    return "OPEN" if t.width == 1 else f"(OPEN,)*{t.width}"


def moved(left: Code, right: Code) -> Code:
    """A place in an array: pointers are moved by numbers of any type."""
    if (left.low, left.high) == (0, 0):
        return _whole(right)
    return _moved(left, right, "moved", "+")


def moved_back(left: Code, right: Code) -> Code:
    """A place as many elements before."""
    return _moved(left, right, "moved_back", "-")


def _moved(left: Code, right: Code, function: str, operator: str) -> Code:
    if not _whole(right).known or not left.known:
        return Code(f"{function}({left.text}, {right.text})", LONG)
    (a, b), (c, d) = left.range, right.range
    low, high = (a + c, b + d) if operator == "+" else (a - d, b - c)
    return Code(f"({left.text} {operator} {right.text})", LONG, low, high)


def _whole(index: Code) -> Code:
    """An index, which is a whole number."""
    if index.type.scalar in FLOATS or index.type.width > 1:
        raise NotUnderstood("an index that is no whole number")
    return index


def prefix(w: Writer, operator: str, e: Code) -> Code:
    """`operator e`."""
    t = promoted(e.type)
    e = as_type(w, e, t) if t.width == 1 else e
    if operator == "+":
        return e
    if operator == "-":
        if e.known:
            return _fitting(f"-{e.text}", t, -e.range[1], -e.range[0])
        return each(w, "negative", t, e)
    if operator == "!" and t.width == 1:
        e = as_int(w, e)
        if e.known:
            return Code(f"(not {e.text})", INT, 0, 1)
        return Code(each(w, "refused", e.type, e).text, INT)
    if operator == "!" and t.scalar not in FLOATS:
        zero = Code("0", INT, 0, 0)
        return binary(w, "==", e, zero)
    if operator == "~" and t.scalar not in FLOATS:
        return each(w, "inverted", t, e)
    raise NotUnderstood(f"{operator} of {t.scalar}")


def binary(w: Writer, operator: str, left: Code, right: Code) -> Code:
    """`left operator right`, in the type that both are converted to."""
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
    left, right = as_type(w, left, t), as_type(w, right, t)
    if left.known and right.known and t.width == 1:
        return _numbers(w, operator, left, right, t)
    function = w.arithmetic.operation(operator, t.scalar)
    if t.width > 1:
        result = compared(t) if compares else t
        lanes = lanewise(function)
        if compares:
            mask = of_types(w, "mask", result.scalar)
            lanes = lanewise(lambda x, y: mask(function(x, y)))
        return Code(f"{w.bound(lanes)}({left.text}, {right.text})", result)
    name = w.operations.setdefault((operator, t.scalar), "")
    if not name:
        name = w.operations[operator, t.scalar] = w.bound(function)
    return Code(f"{name}({left.text}, {right.text})", INT if compares else t)


def _numbers(w: Writer, operator: str, left: Code, right: Code, t: CType) -> Code:
    """An operator on known numbers, with the range of its results."""
    (a, b), (c, d) = left.range, right.range
    text = f"({left.text} {operator} {right.text})"
    match operator:
        case "+":
            return _fitting(text, t, a + c, b + d)
        case "-":
            return _fitting(text, t, a - d, b - c)
        case "*":
            ends = (a * c, a * d, b * c, b * d)
            return _fitting(text, t, min(ends), max(ends))
        case "/" | "%" if a >= 0 and c > 0:
            text = f"({left.text} {'//' if operator == '/' else '%'} {right.text})"
            high = b // c if operator == "/" else min(b, d - 1)
            return Code(text, t, a // d if operator == "/" else 0, high)
        case "<" | "<=" | ">" | ">=" | "==" | "!=":
            return Code(text, INT, 0, 1)
        case _:
            name = w.bound(w.arithmetic.operation(operator, t.scalar))
            return Code(f"{name}({left.text}, {right.text})", t, *RANGES[t.scalar])


def _fitting(text: str, t: CType, low: int, high: int) -> Code:
    """A result that is checked, or wraps around, where it may leave its type."""
    ends = RANGES[t.scalar]
    if ends[0] <= low and high <= ends[1]:
        return Code(text if text.startswith("(") else f"({text})", t, low, high)
    return Code(f"fitted({text}, {t.scalar!r})", t, *ends)


def logical(w: Writer, operator: str, a: Code, b: Code) -> Code:
    """`a && b` or `a || b`: the right one is only computed where it is asked for."""
    if a.type.width > 1 or b.type.width > 1:
        raise NotUnderstood(f"{operator} of vectors")
    a, b = as_int(w, a), as_int(w, b)
    if a.known and b.known:
        word = "and" if operator == "&&" else "or"
        return Code(f"(1 if {a.text} {word} {b.text} else 0)", INT, 0, 1)
    function = "both" if operator == "&&" else "either"
    return Code(f"{function}({w.item}{a.text}, lambda: {b.text})", INT)


def conditional(w: Writer, condition: Expression, c: Code, yes: Code, no: Code) -> Code:
    """`c ? yes : no`, where c is the value of the condition."""
    t = common(yes.type, no.type)
    yes, no = as_type(w, yes, t), as_type(w, no, t)
    if c.type.width > 1:
        if t.width != c.type.width or c.type.scalar in FLOATS or size_of(t) != size_of(c.type):
            raise NotUnderstood(f"the condition {in_c(condition)} of lanes")
        return Code(f"{w.bound(lanewise(w.arithmetic.lane))}({c.text}, {yes.text}, {no.text})", t)
    c = as_int(w, c)
    if c.known:
        low = high = None
        if yes.known and no.known:
            low, high = min(yes.range[0], no.range[0]), max(yes.range[1], no.range[1])
        return Code(f"({yes.text} if {c.text} else {no.text})", t, low, high)
    return Code(f"choose({w.item}{c.text}, lambda: {yes.text}, lambda: {no.text})", t)


def cast(w: Writer, t: CType, values: list[Code]) -> Code:
    """`(t)(values)`."""
    if t.pointer:
        raise NotUnderstood("a pointer as a value")
    t = plain(t)
    if t.width == 1:
        if len(values) != 1 or values[0].type.width > 1:
            raise NotUnderstood(f"a conversion to {t.scalar}")
        return converted(w, values[0], t)
    if len(values) == 1 and values[0].type.width == 1:
        return as_type(w, values[0], t)
    lanes: list[str] = []
    for v in values:
        if v.type.width == 1:
            lanes.append(converted(w, v, replace(t, width=1)).text)
        elif v.type.scalar == t.scalar:
            lanes.append(f"*{v.text}")
        else:
            raise NotUnderstood(f"{v.type.scalar}{v.type.width} in {t.scalar}{t.width}")
    if sum(v.type.width for v in values) != t.width:
        raise NotUnderstood(f"other than {t.width} lanes for {t.scalar}{t.width}")
    return Code(f"({', '.join(lanes)})", t)


def _nearest(value: Fraction, scalar: str) -> Any:
    """A decimal constant as C rounds it: once."""
    try:
        near = float(value)
    except OverflowError:
        return np.inf
    dtype: Any = {t.c: np.dtype(t.dtype).type for t in FLOAT_TYPES.values()}[scalar]
    if dtype is np.float64:
        return near
    error = value - Fraction(near)
    if error and not np.float64(near).view(np.int64) & 1:
        near = float(np.nextafter(near, np.inf if error > 0 else -np.inf))
    with np.errstate(over="ignore"):
        return dtype(near)
