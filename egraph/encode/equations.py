"""Sizes and types that are known only when a rule matches: equations, and premises that solve them."""

from __future__ import annotations

from itertools import count
from typing import Self

from relift.egraph.encode.terms import type_text
from relift.semantics.syntax.monomials import Atom
from relift.semantics.syntax.sizes import Size, letter_of
from relift.semantics.syntax.types import Type


class NotSearchable(Exception):
    """A rule, or one direction of it, cannot be used in search; the message says why."""


class Variable(str):
    """A variable of egglog in a size, apart from the names of sizes; `text` is how egglog writes it."""

    text: str

    def __new__(cls, text: str) -> Self:
        name = super().__new__(cls, f"${text}")
        name.text = text
        return name


class Equations:
    """Equations between sizes, solved into premises of egglog, each linear in one unknown at a time.

    Sizes are over two kinds of names: unknowns, and variables of egglog, which are a `Variable`.  Premises
    are listed so that a variable is defined before it is used: egglog evaluates them in this order.
    """

    def __init__(self) -> None:
        self.known: dict[str, Size] = {}
        self.premises: list[str] = []
        self._open: list[tuple[Size, Size]] = []
        self._numbers = count()

    def variable(self) -> Size:
        """A new variable of egglog."""
        return Size.atom(Variable(f"n{next(self._numbers)}"))

    def define(self, unknown: str, value: Size) -> None:
        """Give an unknown its value."""
        self.known[unknown] = value

    def equate(self, n: Size, value: Size) -> None:
        """Require `n` to equal `value`, which has no unknowns."""
        self._open.append((n, value))

    @property
    def unsolved(self) -> bool:
        return bool(self._open)

    def unknowns(self, n: Size) -> set[str]:
        """The unknowns of `n` that have no value yet."""
        return {name for name in n.names() if not isinstance(name, Variable)} - self.known.keys()

    def solve(self, least: int = 0) -> None:
        """Solve what has at most one unknown; solutions by division or subtraction are at least `least`."""
        progress = True
        while progress:
            before, self._open = self._open, []
            for n, value in before:
                left = n.substitute(self.known)
                unknown = sorted(self.unknowns(left))
                if not unknown:
                    if left != value:
                        self.premises.append(f"(= {expression(value)} {expression(left)})")
                elif len(unknown) == 1 and (linear := left.linear_in(unknown[0])) is not None:
                    self._solve_one(unknown[0], *linear, value, least)
                else:
                    self._open.append((n, value))
            progress = len(self._open) < len(before)

    def _solve_one(self, name: str, factor: Size, offset: Size, value: Size, least: int) -> None:
        if factor == 1 and offset == 0:
            self.known[name] = value
            return
        solution = Size.atom(Variable("s_" + letter_of(name)))
        rest = expression(value - offset)
        if factor == 1:
            self.premises.append(f"(= {expression(solution)} {rest})")
        else:
            by = expression(factor)
            if factor.constant is None:
                self.premises.append(f"(> {by} 0)")
            self.premises.append(f"(= 0 (% {rest} {by}))")
            self.premises.append(f"(= {expression(solution)} (/ {rest} {by}))")
        self.premises.append(f"(>= {expression(solution)} {least})")
        self.known[name] = solution

    def text(self, n: Size) -> str:
        """The value of `n`; raises `NotSearchable` when matching does not determine it."""
        if missing := sorted(self.unknowns(n)):
            raise NotSearchable(f"the size {missing[0]} is not determined by what is matched")
        return expression(n.substitute(self.known))

    def type_pattern(self, t: Type) -> str:
        """What matches the type `t`; its sizes become equations."""
        return type_text(t, self._size_pattern, type_variable)

    def _size_pattern(self, n: Size) -> str:
        value = self.variable()
        self.equate(n, value)
        return expression(value)

    def type_value(self, t: Type) -> str:
        """The type `t`, its sizes being known."""
        return type_text(t, self.text, type_variable)


def type_variable(name: str) -> str:
    """The variable of egglog for a type variable."""
    return "T_" + letter_of(name)


def expression(n: Size) -> str:
    """Arithmetic of egglog over its variables."""
    total = ""
    for monomial, c in n.ordered():
        factors = [_written(atom) for atom, power in monomial for _ in range(power)]
        if c != 1 or not factors:
            factors.insert(0, str(c))
        product = factors[0]
        for factor in factors[1:]:
            product = f"(* {product} {factor})"
        total = product if not total else f"(+ {total} {product})"
    return total or "0"


def _written(atom: Atom) -> str:
    return atom.text if isinstance(atom, Variable) else str(atom)
