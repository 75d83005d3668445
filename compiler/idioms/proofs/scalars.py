"""Scalars as terms of Z3.

Whole numbers have no end, and no operation on them wraps (which is a condition that stays).  Floats are either `rounded`,
where nothing is known of an operation but that it is a function, and that sums and products commute; or real numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import z3

from relift.compiler.idioms.facts.values.narrow import CELLS

Term: TypeAlias = Any
"""A term of Z3, which ships no types."""

INTEGERS, FLOATS = ("i32", "i64"), ("f32", "f64")


def _ones(x: Term) -> int | None:
    """A number that is all ones: those, none for the number of which all bits are."""
    x = z3.simplify(x)
    ones = x.as_long() if z3.is_int_value(x) else 0
    return ones if ones > 0 and ones & (ones + 1) == 0 else None


def _is_one_of(x: Term, *numbers: int) -> bool:
    """Whether a term is one of some numbers."""
    x = z3.simplify(x)
    return bool(z3.is_int_value(x)) and x.as_long() in numbers


_COMPARED = {"gt": ("lt", True), "ge": ("le", True), "lt": ("lt", False), "le": ("le", False)}
_LEAST, _MOST = z3.Real("-inf"), z3.Real("inf")


@dataclass
class Scalars:
    """The scalars of one proof; `rounded` where floats are not taken for real numbers."""

    rounded: bool
    numbers: bool = False
    """Whether it is a condition that what is compared is a number."""
    bounds: list[Any] = field(default_factory=list[Any])
    """What is known of the cells that were read, where they hold few bits."""
    _bounded: dict[int, Term] = field(default_factory=dict[int, Term])
    _sorts: dict[str, Any] = field(default_factory=dict[str, Any])

    def sort(self, kind: str) -> Any:
        """The values of a type."""
        if kind == "boolean":
            return z3.BoolSort()
        if kind in INTEGERS:
            return z3.IntSort()
        if not self.rounded:
            return z3.RealSort()
        return self._sorts.setdefault(kind, z3.DeclareSort(kind))

    def named(self, name: str, kind: str) -> Term:
        """A value that nothing is known of."""
        return z3.Const(name, self.sort(kind))

    def cell(self, array: str, at: Term, kind: str, cells: str = "") -> Term:
        """What lies in a cell of an array before the loops; of few bits, where `cells` names these."""
        named = f"cell {array} {cells}" if cells else f"cell {array}"
        found: Term = z3.Function(named, z3.IntSort(), self.sort(kind))(at)
        if cells in CELLS and found.get_id() not in self._bounded:
            self._bounded[found.get_id()] = found
            least, most = CELLS[cells]
            self.bounds += [found >= least, found <= most]
        return found

    def kept(self, x: Term, ends: tuple[int, int]) -> Term:
        """A number between two as the number without sign that has its bits."""
        least, most = ends
        return x % (most - least + 1) if least < 0 else x

    def ending(self, x: Term, ends: tuple[int, int]) -> Term:
        """The number between two that has the bits of a number without sign."""
        least, most = ends
        return z3.If(x <= most, x, x - (most - least + 1)) if least < 0 else x

    def signed(self, x: Term, bits: int) -> Term:
        """A number without sign as the number with one that has its bits."""
        return z3.If(x < 2 ** (bits - 1), x, x - 2**bits)

    def literal(self, value: Any, kind: str) -> Term:
        """A number that is written."""
        if kind == "boolean":
            return z3.BoolVal(bool(value))
        if kind in INTEGERS:
            return z3.IntVal(int(value))
        value = float(value)
        if self.rounded or math.isnan(value):
            return self.named(f"{value.hex()}", kind)
        if math.isinf(value):
            return _MOST if value > 0 else _LEAST
        exact = Fraction(value)
        return z3.RealVal(f"{exact.numerator}/{exact.denominator}")

    def applied(self, function: str, arguments: list[Term], kinds: list[str], kind: str) -> Term:
        """A scalar function of the language."""
        a, *rest = arguments
        match function:
            case "select":
                return z3.If(a, *rest)
            case "equal" | "not_equal":
                same = self._same(a, rest[0], kinds[0])
                return same if function == "equal" else z3.Not(same)
            case "gt" | "ge" | "lt" | "le":
                return self._compared(function, a, rest[0], kinds[0])
            case "bitwise_and" | "bitwise_or" | "bitwise_xor" | "invert" if kind == "boolean":
                by = {
                    "bitwise_and": z3.And,
                    "bitwise_or": z3.Or,
                    "bitwise_xor": z3.Xor,
                    "invert": z3.Not,
                }
                return by[function](*arguments)
            case "bitwise_and" | "bitwise_or" | "bitwise_xor" if kind in INTEGERS and z3.is_app_of(
                rest[0], z3.Z3_OP_ITE
            ):
                asked, *either = rest[0].children()
                return z3.If(asked, *(self.applied(function, [a, b], kinds, kind) for b in either))
            case "bitwise_and" | "bitwise_or" if kind in INTEGERS and _is_one_of(rest[0], 0, -1):
                stays = _is_one_of(rest[0], -1 if function == "bitwise_and" else 0)
                return a if stays else rest[0]
            case "bitwise_and" | "bitwise_or" | "bitwise_xor" if (
                kind in INTEGERS and (ones := _ones(rest[0])) is not None
            ):
                lowest = a % (ones + 1)
                return {"bitwise_and": lowest, "bitwise_or": a - lowest + ones}.get(
                    function, a - 2 * lowest + ones
                )
            case "bitwise_xor" if kind in INTEGERS and z3.simplify(rest[0]).eq(z3.IntVal(-1)):
                return -1 - a
            case "invert" if kind in INTEGERS:
                return -1 - a
            case "i32" | "i64" | "f32" | "f64":
                return self._converted(a, kinds[0], kind)
            case "sub" | "neg" | "add" | "mul":
                return self._calculated(function, arguments, kind)
            case "floor_divide" if (
                kind in INTEGERS and z3.is_int_value(rest[0]) and rest[0].as_long() > 0
            ):
                return a / rest[0]
            case "div" if kind in FLOATS and not self.rounded:
                return a / rest[0]
            case "minimum" | "maximum" if kind in INTEGERS or not self.rounded:
                (b,) = rest
                return z3.If(a <= b if function == "minimum" else a >= b, a, b)
            case _:
                return self._unknown(f"{function} {kind}", arguments, kind)

    def _same(self, a: Term, b: Term, kind: str) -> Term:
        """Whether numbers are equal: of floats that is not whether they are the same, for NaN is not, and two zeros are."""
        if kind in FLOATS and self.rounded:
            one, other = sorted((a, b), key=lambda x: x.sexpr())
            return self._unknown(f"equal {kind}", [one, other], "boolean")
        asks = kind in FLOATS and a.eq(b) and not self.numbers
        return self._is_number(a, kind) if asks else a == b

    def _is_number(self, a: Term, kind: str) -> Term:
        """Whether a value that stands for a real number is equal to itself: NaN is not, and no real number is like it."""
        if z3.is_rational_value(a):
            return z3.BoolVal(True)
        if z3.is_app_of(a, z3.Z3_OP_ITE):
            asked, yes, no = a.children()
            return z3.If(asked, self._is_number(yes, kind), self._is_number(no, kind))
        return self._unknown(f"is a number {kind}", [a], "boolean")

    def _compared(self, function: str, a: Term, b: Term, kind: str) -> Term:
        plain, swapped = _COMPARED[function]
        a, b = (b, a) if swapped else (a, b)
        if kind in FLOATS and self.rounded:
            return self._unknown(f"{plain} {kind}", [a, b], "boolean")
        return a < b if plain == "lt" else a <= b

    def _converted(self, a: Term, before: str, kind: str) -> Term:
        if before == kind or (before, kind) == ("i32", "i64"):
            return a
        if before == "boolean":
            return z3.If(a, self.literal(1, kind), self.literal(0, kind))
        if not self.rounded and (before, kind) == ("f32", "f64"):
            return a
        if (
            not self.rounded and before in FLOATS and kind in INTEGERS
        ):  # what stands before the point
            return z3.If(a >= 0, z3.ToInt(a), -z3.ToInt(-a))
        if before == "i64" and _fits_in_half(a):
            return a
        of = "a whole number" if before in INTEGERS else before
        return self._unknown(f"{kind} of {of}", [a], kind)

    def _calculated(self, function: str, arguments: list[Term], kind: str) -> Term:
        """A difference is the sum with the negative number, in IEEE's arithmetic too."""
        a, b = arguments[0], arguments[-1]
        if function == "sub" and kind in INTEGERS and (by := _taken_away(a, b)) is not None:
            return a % by
        if kind in INTEGERS or not self.rounded:
            return {
                "sub": lambda: a - b,
                "neg": lambda: -a,
                "add": lambda: a + b,
                "mul": lambda: a * b,
            }[function]()
        if function == "sub":
            return self._calculated("add", [a, self._unknown(f"neg {kind}", [b], kind)], kind)
        if function == "neg":
            return self._unknown(f"neg {kind}", [a], kind)
        return self._unknown(f"{function} {kind}", sorted(arguments, key=lambda x: x.sexpr()), kind)

    def _unknown(self, name: str, arguments: list[Term], kind: str) -> Term:
        sorts = [x.sort() for x in arguments]
        return z3.Function(name, *sorts, self.sort(kind))(*arguments)

    def ordered(self, *terms: Term) -> list[Term]:
        """That the numbers in some terms lie between the infinities, where one of these is named."""
        met: dict[int, Term] = {}
        stack = list(terms)
        while stack:
            e = stack.pop()
            if e.get_id() not in met:
                met[e.get_id()] = e
                stack += e.children()
        if not any(e.eq(end) for e in met.values() for end in (_LEAST, _MOST)):
            return []
        leaves = [
            e
            for e in met.values()
            if z3.is_real(e) and z3.is_app(e) and e.decl().kind() == z3.Z3_OP_UNINTERPRETED
        ]
        return [fact for e in leaves for fact in (e >= _LEAST, e <= _MOST)]


def _taken_away(a: Term, b: Term) -> Term | None:
    """The number of which all multiples in another are taken away from that: what is left is the rest."""
    if not z3.is_mul(b) or b.num_args() != 2:
        return None
    for quotient, by in (b.children(), b.children()[::-1]):
        divides = z3.is_int_value(by) and by.as_long() > 0 and z3.is_idiv(quotient)
        if divides and quotient.arg(0).eq(a) and quotient.arg(1).eq(by):
            return by
    return None


def _fits_in_half(a: Term) -> bool:
    """Whether a number of 64 bits is seen to be one of 32 as well: a rest, or a quotient of one without a sign."""
    if z3.is_mod(a) and z3.is_int_value(a.arg(1)):
        return bool(0 < a.arg(1).as_long() <= 2**31)
    if not z3.is_idiv(a) or not z3.is_int_value(a.arg(1)) or a.arg(1).as_long() < 2:
        return False
    of = a.arg(0)
    return bool(z3.is_mod(of) and z3.is_int_value(of.arg(1)) and 0 < of.arg(1).as_long() <= 2**32)
