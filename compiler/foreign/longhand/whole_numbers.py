"""Functions of whole numbers, written out."""

from __future__ import annotations

from functools import partial, reduce

from relift.compiler.text.c_types import FLOATS, RANGES, UNSIGNED, size_of, with_sign, without_sign
from relift.compiler.text.tree import (
    Binary,
    Cast,
    Conditional,
    CType,
    Expression,
    Invocation,
    Member,
    Real,
    Whole,
)

LARGEST_IN_FLOATS = 2**24
"""Up to here every whole number is a float."""


def of_lanes(t: CType, x: Expression, operator: str) -> Expression | None:
    """Whether any lane, or every one, has its highest bit."""
    if t.scalar in FLOATS or t.scalar in UNSIGNED:
        return None
    if t.width == 1:
        return Binary("<", x, Whole(0))
    negative = [Binary("<", Member(x, f"s{k:x}"), Whole(0)) for k in range(t.width)]
    return reduce(partial(Binary, operator), negative)


def saturated(of: str, scalar: str, width: str, x: Expression) -> Expression | None:
    """A number as a whole one of a type, the nearest that it has; of what is not a number 0."""
    if of in FLOATS:
        low, high = RANGES[scalar]
        if high > LARGEST_IN_FLOATS:
            return None
        if low:  # else the nearest of what is not a number is 0 as it is
            x = Conditional(Binary("==", x, x), x, Real("0.0f"))
        at_least = Invocation("fmax", (x, Real(f"{low}.0f")))
        x = Invocation("fmin", (at_least, Real(f"{high}.0f")))
        return Invocation(f"convert_{scalar}{width}", (x,))
    (low, high), (least, most) = RANGES[scalar], RANGES[of]
    if low > least or high < most:
        ends = (Whole(max(low, least)), Whole(min(high, most)))
        x = Invocation("clamp", (x, *ends))
    return Invocation(f"convert_{scalar}{width}", (x,))


def parts_of(of: CType, t: CType, x: Expression) -> Expression | None:
    """The bits of a whole number as several shorter ones, the lowest first, or the other way round."""
    if of.scalar in FLOATS or (of.width == 1) == (t.width == 1):
        return None
    if size_of(of) * of.width != size_of(t) * t.width:
        return None
    short, whole = (t, of) if t.width > 1 else (of, t)
    bits, word = 8 * size_of(short), "ulong" if size_of(whole) == 8 else "uint"
    if t.width > 1:
        places = [Binary(">>", Cast(CType(word), (x,)), Whole(bits * k)) for k in range(t.width)]
        low = [Cast(CType(t.scalar), (Binary("&", p, Whole(2**bits - 1)),)) for p in places]
        return Cast(t, tuple(low))
    unsigned = CType(without_sign(short.scalar))
    lanes = [Cast(unsigned, (Member(x, f"s{k:x}"),)) for k in range(of.width)]
    moved = [
        Binary("<<", Cast(CType(word), (lane,)), Whole(bits * k)) for k, lane in enumerate(lanes)
    ]
    return Cast(t, (reduce(partial(Binary, "|"), moved),))


def without_wrapping(
    function: str, t: CType, arguments: tuple[Expression, ...]
) -> Expression | None:
    """A sum or a difference of which the nearest number of the type is taken; None where no wider type has it."""
    if t.scalar in FLOATS or size_of(CType(t.scalar)) > 4:
        return None
    natural = t.scalar in UNSIGNED and function == "mad_sat"  # its product has 64 bits
    wide = CType("ulong" if natural else "long", t.width)
    x, y, *more = (_as(wide, a) for a in arguments)
    found: Expression = Binary({"a": "+", "s": "-", "m": "*"}[function[0]], x, y)
    for z in more:
        found = Binary("+", found, z)
    low, high = (Cast(CType(wide.scalar), (Real(f"{n}l"),)) for n in RANGES[t.scalar])
    if not natural:
        found = Invocation("max", (found, low))
    return _as(t, Invocation("min", (found, high)))


def _as(t: CType, x: Expression) -> Expression:
    """A number, or each lane of a vector, in another type."""
    return Cast(t, (x,)) if t.width == 1 else Invocation(f"convert_{t.scalar}{t.width}", (x,))


def joined(t: CType, high: Expression, low: Expression) -> Expression | None:
    """Two numbers as the halves of one of twice as many bits; None where there is none."""
    short = with_sign(t.scalar)
    if short not in _TWICE:
        return None
    wide = _TWICE[short]
    natural = CType(f"u{wide}", t.width)
    first, second = (_as(natural, _as(CType(f"u{short}", t.width), x)) for x in (high, low))
    whole = Binary("|", Binary("<<", first, Whole(8 * size_of(CType(short)))), second)
    return _as(CType(wide, t.width), whole) if t.scalar == short else whole


_TWICE = {"char": "short", "short": "int", "int": "long"}
"""Types, and those of twice as many bits."""
