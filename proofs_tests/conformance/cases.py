"""A case of the conformance suite: a program, what NumPy says of it, and where there is one a low-level schedule.

The numbers are those of the list of Lift's tests that the suite follows; the texts are our own.  Sizes are small enough
for the interpreter, and each case's inputs are small whole numbers unless it draws its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import relift as rl
from relift.semantics.language.programs import Program

Inputs: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """One program; `draws` makes its inputs from a generator, where whole numbers would not do."""

    number: str
    title: str
    program: Program
    sizes: Mapping[str, int]
    expected: Callable[..., Any]
    low: Program | None = None
    draws: Callable[[np.random.Generator], Inputs] | None = None

    @property
    def name(self) -> str:
        """What tests call it."""
        return f"{self.number}-{self.program.name}"


CASES: dict[str, Case] = {}
"""All cases, by name, in the order of the list."""


def case(
    number: str,
    title: str,
    expected: Callable[..., Any],
    *,
    low: Callable[..., Any] | None = None,
    draws: Callable[[np.random.Generator], Inputs] | None = None,
    **sizes: int,
) -> Callable[[Any], Program]:
    """Enter a program."""

    def enter(function: Any) -> Program:
        program = rl.program(function)
        schedule = None
        if low is not None:
            low.__annotations__ = function.__annotations__
            low.__name__ = function.__name__
            schedule = rl.program(low)
        found = Case(number, title, program, sizes, expected, schedule, draws)
        assert found.name not in CASES, f"two cases are called {found.name}"
        CASES[found.name] = found
        return program

    return enter


largest = rl.operator(
    lambda a, b: rl.maximum(a, b), associative=True, commutative=True, name="largest"
)


def dot(u: Any, v: Any) -> Any:
    """The inner product of two vectors."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))


def dot_seq(u: Any, v: Any) -> Any:
    """The same, by one work-item."""
    return rl.reduce_seq(lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(u, v))


def mv(a: Any, x: Any) -> Any:
    """A matrix times a vector."""
    return rl.map(lambda row: dot(row, x), a)


def mm(a: Any, b: Any) -> Any:
    """The product of two matrices."""
    return rl.map(lambda row: rl.map(lambda column: dot(row, column), rl.transpose(b)), a)


def total(xs: Any) -> Any:
    """The sum of the elements."""
    return rl.reduce(rl.add, 0.0, xs)


def total_seq(xs: Any) -> Any:
    """The same, by one work-item."""
    return rl.reduce_seq(rl.add, 0.0, xs)


def whole(values: Any) -> Any:
    """An array of whole numbers."""
    return np.asarray(values, dtype=np.int32)


def floats(values: Any) -> Any:
    """An array of floats."""
    return np.asarray(values, dtype=np.float32)
