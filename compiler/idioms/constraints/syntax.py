"""Constraints as they are written: formulas over variables with members and indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Place:
    """A line and a column of a constraint file."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Calculation:
    """A sum of numbers and parameters, each with its sign."""

    terms: tuple[tuple[int, int | str], ...]


@dataclass(frozen=True)
class Member:
    """`.name`"""

    name: str


@dataclass(frozen=True)
class At:
    """`[i]`"""

    index: Calculation


@dataclass(frozen=True)
class Range:
    """`[a..b]`, both ends included."""

    first: Calculation
    last: Calculation


@dataclass(frozen=True)
class Variable:
    """`base.member[index]`"""

    base: str
    parts: tuple[Member | At | Range, ...] = ()


@dataclass(frozen=True)
class Atom:
    """What is said of values: words with places for variables, and the variables of each place."""

    words: str
    arguments: tuple[tuple[Variable, ...], ...]
    place: Place


@dataclass(frozen=True)
class Conjunction:
    """All hold."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Disjunction:
    """One holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Inherits:
    """Another constraint, with parameters, with names of this one for some of its own, its others below `at`."""

    name: str
    given: tuple[tuple[str, Calculation], ...]
    renamed: tuple[tuple[Variable, Variable], ...]
    at: Variable | None
    place: Place


@dataclass(frozen=True)
class ForAll:
    """The formula at each value of a parameter; with `some`, at one of them."""

    body: Formula
    name: str
    first: Calculation
    last: Calculation
    some: bool = False


@dataclass(frozen=True)
class Where:
    """The formula at one value of a parameter; by `default`, only if none is given."""

    body: Formula
    name: str
    value: Calculation
    default: bool = False


@dataclass(frozen=True)
class Collect:
    """All solutions of a formula, one for each value of its index; at least so many."""

    index: str
    least: int
    body: Formula
    place: Place


@dataclass(frozen=True)
class Conditional:
    """One formula or another, as two numbers are equal."""

    left: Calculation
    right: Calculation
    yes: Formula
    no: Formula


Formula: TypeAlias = (
    Atom | Conjunction | Disjunction | Inherits | ForAll | Where | Collect | Conditional
)


@dataclass(frozen=True)
class Constraint:
    """A formula with a name."""

    name: str
    formula: Formula
    place: Place
