"""Declared laws of operators, tested: by Hypothesis, with the simplest counterexample.

A program promises the laws of its operators, and rules rely on them.  Floating-point addition is declared
associative although rounding breaks that; so laws are tested on whole numbers and fractions, where nothing
rounds: what holds there holds up to rounding.  An operator that leaves the rationals (`exp`, `sqrt`, ...) is
tested in floating point, up to a rounding of its own.  Among the values are the numbers that the operator is
written with, and those beside them: there laws tend to break.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from relift.rewrites.checks.random.drawing import simplest
from relift.rewrites.declared_laws import neutral_of
from relift.semantics.domains import DTYPES, Exact, Numeric
from relift.semantics.errors import IllTyped, ReliftError, Undefined
from relift.semantics.interpreter import World, denote_operator, operator_lambda
from relift.semantics.syntax.scalars import IRRATIONAL
from relift.semantics.syntax.terms import Apply, BinaryOperator, Laws, Literal, Term, subterms
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    boolean,
    f32,
    i32,
    i64,
    least_values,
)

FAR = 10**6
"""An operator that leaves the rationals is not tried beyond: there its own rounding says nothing."""

EDGES = (2**15, 2**31 - 1, -(2**31))
CLOSE = 1e-6
"""The relative rounding that an operator is granted which leaves the rationals."""


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


LENGTHS = (2, 3, 1, 7)
"""What a named size is where laws are tested: some hold of short rows only."""


def check_laws(
    operator: BinaryOperator, element: Type | None = None, *, examples: int = 300
) -> BrokenLaw | None:
    """The simplest counterexample to a declared law of an operator, or None when none was found.

    Values are of type `element`: i32, f32, boolean, or tuples, vectors and arrays of such, at several `LENGTHS` where
    sizes have names; without it, numbers.  The same values are tried each time.

    >>> from relift import add, operator
    >>> from relift.rewrites.checks.laws import check_laws
    >>> print(check_laws(operator(lambda x, y: x - y, associative=True, name="minus")))
    minus is declared associative, but with x = 0, y = 0, z = 1 the sides are -1 and 1
    >>> check_laws(add) is None
    True
    """
    if element is None or isinstance(element, TypeVariable):
        element = _element_of(operator)
    neutral = operator.laws.neutral
    if neutral is not None and not _may_be(neutral, operator.laws, element):
        how = (
            "say one that is, or"
            if isinstance(element, Scalar)
            else "neutral elements are numbers:"
        )
        raise ReliftError(
            f"{operator.name} is declared to have the neutral element {neutral}, which is no {element}; "
            f"{how} leave neutral= out",
            place="",
        )
    for sizes in _sizes_of(element):
        if (found := _broken(operator, element, sizes, examples)) is not None:
            return found
    return None


def _may_be(neutral: float, laws: Laws, element: Type) -> bool:
    """Whether a declared number is of a type; an infinity may be declared of what works on whole numbers, too."""
    if isinstance(element, Array | Tuple):
        return False
    return not math.isfinite(neutral) or neutral_of(laws, element) is not None


Sizes: TypeAlias = tuple[tuple[str, int], ...]


def _sizes_of(element: Type) -> Iterator[Sizes]:
    """Values for the names in a type, none below the least that is promised; one without values where there are no names."""
    least = least_values(element).items()
    yield from dict.fromkeys(
        tuple((name, max(bound, length)) for name, bound in least) for length in LENGTHS
    )


@lru_cache(maxsize=256)
def _broken(
    operator: BinaryOperator, element: Type, sizes: Sizes, examples: int
) -> BrokenLaw | None:
    """A law that is broken at these sizes."""
    body = operator_lambda(operator, element).body
    rational = not any(isinstance(t, Apply) and t.function in IRRATIONAL for t, _ in subterms(body))
    world = World(sizes=dict(sizes), domain=Exact() if rational else Numeric())
    differ = (lambda x, y: bool(x != y)) if rational else _far
    values = _values(element, rational, _numbers(operator, body), world)
    for law, arity, sides in _declared(operator, element, world):
        found = _search(operator.name, law, st.tuples(*[values] * arity), sides, differ, examples)
        if found is not None:
            return found
    return None


def _element_of(operator: BinaryOperator) -> Type:
    neutral = operator.laws.neutral
    if isinstance(neutral, float):
        return f32
    return i32 if neutral is None or i32.held([neutral]) else i64


def _numbers(operator: BinaryOperator, body: Term) -> tuple[Any, ...]:
    """Numbers that an operator is written with, those beside them, and the ends of whole numbers."""
    own = [t.value for t, _ in subterms(body) if isinstance(t, Literal)]
    own += [operator.laws.neutral] if operator.laws.neutral is not None else []
    exact = [Fraction(x) for x in own if math.isfinite(x)]
    beside = [y for x in exact for y in (x, -x, x + 1, x - 1, 2 * x, x / 2)]
    return tuple(dict.fromkeys([*beside, *map(Fraction, EDGES)]))


def _far(x: Any, y: Any) -> bool:
    """Whether two values differ by more than rounding."""
    if isinstance(x, tuple | list):
        return any(_far(a, b) for a, b in zip(x, y, strict=True))
    if not (math.isfinite(x) and math.isfinite(y)):
        return False  # it left the floats on the way
    return not math.isclose(x, y, rel_tol=CLOSE, abs_tol=CLOSE)


Sides = Callable[..., tuple[Any, Any]]


def _declared(
    operator: BinaryOperator, element: Type, world: World
) -> Iterator[tuple[str, int, Sides]]:
    laws, f = operator.laws, denote_operator(operator, element, world)
    if laws.associative:
        yield "associative", 3, lambda x, y, z: (f(f(x, y), z), f(x, f(y, z)))
    if laws.commutative:
        yield "commutative", 2, lambda x, y: (f(x, y), f(y, x))
    neutral = neutral_of(laws, element)
    if neutral is not None:
        unit = world.domain.literal(neutral, element)
        name = f"to have the neutral element {neutral}"
        yield name, 1, lambda x: (f(unit, x), x)
        yield name, 1, lambda x: (f(x, unit), x)
    if laws.idempotent:
        yield "idempotent", 1, lambda x: (f(x, x), x)
    for plus in laws.distributes_over:
        g = denote_operator(plus, element, world)
        name = f"to distribute over {plus.name}"
        yield name, 3, lambda x, y, z, g=g: (f(x, g(y, z)), g(f(x, y), f(x, z)))
        yield name, 3, lambda x, y, z, g=g: (f(g(x, y), z), g(f(x, z), f(y, z)))
    for plus in laws.telescopes_over:
        g = denote_operator(plus, element, world)
        name = f"to telescope over {plus.name}"
        yield name, 3, lambda x, y, z, g=g: (f(x, z), g(f(x, y), f(y, z)))


def _search(
    name: str,
    law: str,
    drawn: st.SearchStrategy[tuple[Any, ...]],
    sides: Sides,
    differ: Callable[[Any, Any], bool],
    examples: int,
) -> BrokenLaw | None:
    def broken(values: tuple[Any, ...]) -> bool:
        try:
            return differ(*sides(*values))
        except (Undefined, ZeroDivisionError, OverflowError):
            return False

    values = simplest(drawn, broken, examples=examples)
    if values is None:
        return None
    left, right = sides(*values)
    return BrokenLaw(name, law, values, left, right)


def _values(
    t: Type, rational: bool, own: Sequence[Fraction], world: World
) -> st.SearchStrategy[Any]:
    """Values of a type: small ones first, which a person reads, and those where laws tend to break."""
    match t:
        case Tuple(parts):
            return st.tuples(*(_values(part, rational, own, world) for part in parts))
        case Array(element, n) | Vector(element, n):
            length = world.size(n)
            few = st.lists(_values(element, rational, own, world), min_size=3, max_size=3)
            return few.map(lambda row: (row * (length // 3 + 1))[:length])
        case Scalar() if t == boolean:
            return st.booleans()
        case Scalar() if t.is_float and not rational:
            near = [float(x) for x in own if abs(x) <= FAR]
            return st.one_of(st.floats(-8, 8, allow_nan=False, width=32), st.sampled_from(near))
        case Scalar():
            lowest, highest = _range(t)
            ends = () if t.is_float else (lowest, highest)
            held = [x for x in (*own, *ends) if lowest <= x <= highest]
            whole = [int(x) for x in held if x.denominator == 1]
            if not t.is_float and not rational:
                whole = [x for x in whole if abs(x) <= FAR]
            small = st.one_of(st.integers(-100 * t.has_sign, 100), st.sampled_from(whole))
            if not t.is_float:
                return small
            broken = st.fractions(-100, 100, max_denominator=12)
            return st.one_of(small, broken, st.sampled_from(held))
        case TypeVariable():
            raise IllTyped(f"laws are not checked on values of type {t}")


def _range(t: Scalar) -> tuple[Fraction, Fraction]:
    """The finite numbers of a type: a law is declared of them, and of no others."""
    dtype = DTYPES[t.name]
    ends = np.finfo(dtype) if t.is_float else np.iinfo(dtype)
    return Fraction(int(ends.min)), Fraction(int(ends.max))


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value)
