"""Declared laws of operators, tested: on exact numbers, by Hypothesis, with the simplest counterexample.

A program promises the laws of its operators, and rules rely on them.  Floating-point addition is declared
associative although rounding breaks that; so laws are tested on whole numbers and fractions, where nothing
rounds: what holds there holds up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from relift.rewrites.drawing import simplest
from relift.semantics.errors import IllTyped, Undefined
from relift.semantics.interpreter import Exact, World, denote_operator
from relift.semantics.terms import BinaryOperator
from relift.semantics.types import Scalar, Tuple, Type, boolean, f32, i32


@dataclass(frozen=True)
class BrokenLaw:
    """A declared law and values on which it fails."""

    operator: str
    law: str
    values: tuple[Any, ...]
    left: Any
    right: Any

    def __str__(self) -> str:
        names = ", ".join(f"{x} = {_shown(v)}" for x, v in zip("xyz", self.values, strict=False))
        return (
            f"{self.operator} is declared {self.law}, but with {names} "
            f"the sides are {_shown(self.left)} and {_shown(self.right)}"
        )


def check_laws(
    operator: BinaryOperator, element: Type | None = None, *, examples: int = 300
) -> BrokenLaw | None:
    """The simplest counterexample to a declared law of an operator, or None when none was found.

    Values are of type `element`: i32, f32, boolean, or tuples of such; without it, numbers.  Infinities are
    among the floats when one is declared neutral.

    >>> print(check_laws(operator(lambda x, y: x - y, associative=True, name="minus")))
    minus is declared associative, but with x = 0, y = 0, z = 1 the sides are -1 and 1
    >>> check_laws(add) is None
    True
    """
    if element is None:
        element = _element_of(operator)
    f = denote_operator(operator, element, World(domain=Exact()))
    for law, arity, sides in _declared(operator, element, f):
        found = _search(operator.name, law, element, arity, sides, examples)
        if found is not None:
            return found
    return None


def _element_of(operator: BinaryOperator) -> Type:
    return f32 if isinstance(operator.laws.neutral, float) else i32


Sides = Callable[..., tuple[Any, Any]]


def _declared(
    operator: BinaryOperator, element: Type, f: Callable[[Any, Any], Any]
) -> Iterator[tuple[str, int, Sides]]:
    laws = operator.laws
    if laws.associative:
        yield "associative", 3, lambda x, y, z: (f(f(x, y), z), f(x, f(y, z)))
    if laws.commutative:
        yield "commutative", 2, lambda x, y: (f(x, y), f(y, x))
    if laws.neutral is not None:
        unit = laws.neutral
        name = f"to have the neutral element {unit}"
        yield name, 1, lambda x: (f(unit, x), x)
        yield name, 1, lambda x: (f(x, unit), x)
    if laws.idempotent:
        yield "idempotent", 1, lambda x: (f(x, x), x)
    for plus in laws.distributes_over:
        g = denote_operator(plus, element, World(domain=Exact()))
        name = f"to distribute over {plus.name}"
        yield name, 3, lambda x, y, z, g=g: (f(x, g(y, z)), g(f(x, y), f(x, z)))
        yield name, 3, lambda x, y, z, g=g: (f(g(x, y), z), g(f(x, z), f(y, z)))


def _search(
    name: str, law: str, element: Type, arity: int, sides: Sides, examples: int
) -> BrokenLaw | None:
    def broken(values: tuple[Any, ...]) -> bool:
        try:
            left, right = sides(*values)
        except (Undefined, ZeroDivisionError):
            return False
        return bool(left != right)

    values = simplest(st.tuples(*[_values(element)] * arity), broken, examples=examples)
    if values is None:
        return None
    left, right = sides(*values)
    return BrokenLaw(name, law, values, left, right)


def _values(t: Type) -> st.SearchStrategy[Any]:
    match t:
        case Tuple(parts):
            return st.tuples(*map(_values, parts))
        case Scalar() if t == boolean:
            return st.booleans()
        case Scalar() if t.is_float:
            return st.one_of(st.integers(-100, 100), st.fractions(-100, 100, max_denominator=12))
        case Scalar():
            return st.integers(-100, 100)
        case _:
            raise IllTyped(f"laws are checked on scalars and tuples of them, not on {t}")


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return str(value)
