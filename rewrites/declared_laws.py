"""What programs declare of operators, and grant of floating point."""

from __future__ import annotations

import math
import operator as arithmetic
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal as Choice
from typing import TypeAlias, cast, get_args

from relift.semantics.errors import ReliftError
from relift.semantics.interpreter import operator_lambda
from relift.semantics.language.vocabulary import add, maximum, minimum, mul
from relift.semantics.patterns import Splat
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Get,
    Laws,
    Literal,
    MakeTuple,
    Number,
    Operator,
    OperatorMetavariable,
    Term,
    Vectorized,
)
from relift.semantics.syntax.types import Scalar, Type, boolean, components_of

FloatPolicy: TypeAlias = Choice["reassociate", "exact"]
"""Whether a program grants that floating-point operators may be regrouped."""


def float_policy(text: str) -> FloatPolicy:
    """The policy of this name; raises `ReliftError` for any other: a typing error must grant nothing."""
    for policy in get_args(FloatPolicy):
        if text == policy:
            return cast(FloatPolicy, policy)
    raise ReliftError(f"float={text!r}: say 'reassociate' or 'exact'", place="")


EXACT_LAWS = ("commutative", "idempotent")
"""The laws that floating point keeps to the last bit where they are declared."""


def has_law(operator: Operator, law: str) -> bool:
    """Whether an operator is declared associative, commutative or idempotent; lanes inherit it."""
    match operator:
        case Vectorized(_, inner):
            return has_law(inner, law)
        case BinaryOperator(_, laws):
            declared = {
                "associative": laws.associative,
                "commutative": laws.commutative,
                "idempotent": laws.idempotent,
            }
            return declared[law]
        case OperatorMetavariable():
            return False


OVER_OTHERS = {"distributive": "distributes_over", "telescoping": "telescopes_over"}
"""The laws that speak of another operator, each with the word by which an operator declares it."""


def over_others(laws: Laws) -> dict[str, tuple[BinaryOperator, ...]]:
    """The operators over which these laws are declared, by the word that declares them."""
    return {word: getattr(laws, word) for word in OVER_OTHERS.values()}


def has_law_over(operator: Operator, law: str, other: Operator) -> bool:
    """Whether an operator is declared to distribute, or to telescope, over another; lanes inherit it."""
    return other in declared_over(operator, law)


def declared_over(operator: Operator, law: str) -> tuple[Operator, ...]:
    """The operators over which one is declared to distribute, or to telescope.

    >>> from relift import sub
    >>> from relift.rewrites.declared_laws import declared_over
    >>> [plus.name for plus in declared_over(sub, "telescoping")]
    ['add']
    """
    match operator:
        case Vectorized(width, inner):
            return tuple(Vectorized(width, other) for other in declared_over(inner, law))
        case BinaryOperator(_, laws):
            return over_others(laws)[OVER_OTHERS[law]]
        case OperatorMetavariable():
            return ()


def neutral_of(laws: Laws, element: Type) -> Number | None:
    """The neutral element of a type, if laws declare one that is a value of it.

    Of whole numbers and truth values it is the declared number where that is whole and in their range; for an infinity one of
    the ends of whole numbers, where laws say so.

    >>> from relift import boolean, f32, i32, maximum, operator
    >>> from relift.rewrites.declared_laws import neutral_of
    >>> [neutral_of(maximum.operator.laws, t) for t in (f32, i32, boolean)]
    [-inf, -2147483648, None]
    >>> half = operator(lambda x, y: 2 * x * y, neutral=0.5, name="half")
    >>> [neutral_of(half.laws, t) for t in (f32, i32)]
    [0.5, None]
    """
    neutral = laws.neutral
    if neutral is None or not isinstance(element, Scalar) or element.is_float:
        return neutral
    if not math.isfinite(neutral):
        return element.range[neutral > 0] if laws.ends and element != boolean else None
    if element == boolean:
        return bool(neutral) if neutral in (0, 1) else None
    least, greatest = element.range
    return int(neutral) if neutral == int(neutral) and least <= neutral <= greatest else None


def is_neutral(operator: Operator, t: Term) -> bool:
    """Whether `t` is the declared neutral element of an operator, or a vector of it.

    Of an operator on tuples that works component by component each may be that of its own operator.  An element may be
    computed, of small whole numbers alone.

    >>> import relift as rl
    >>> from relift.rewrites.declared_laws import is_neutral
    >>> from relift.semantics.language.coercion import as_term
    >>> plus = rl.operator(lambda a, b: (a[0] + b[0], rl.maximum(a[1], b[1])), associative=True, name="plus")
    >>> pair = rl.tup(rl.f32, rl.f32)
    >>> [is_neutral(plus, as_term(z, pair)) for z in ((0.0, float("-inf")), (0.0, 0.0))]
    [True, False]
    >>> zero, two = (as_term(z, rl.f32) for z in (0.0, 2.0))
    >>> [is_neutral(rl.add, t) for t in (zero * zero, two - two, two * two)]
    [True, True, False]
    """
    match operator:
        case Vectorized(_, inner):
            return isinstance(t, Splat) and is_neutral(inner, t.x)
        case BinaryOperator(_, laws):
            if isinstance(t, MakeTuple):
                return _is_neutral_by_components(operator, t)
            neutral, value = neutral_of(laws, t.type), _value(t)
            return neutral is not None and value is not None and value == neutral
        case OperatorMetavariable():
            return False


_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
}
"""What all types of numbers make of small whole numbers alike."""

_SMALL = 64
"""The largest of these: their products are numbers of every type."""


def _value(t: Term) -> Number | None:
    """The value of a literal, or of sums, differences and products of small whole numbers; None for another term."""
    if isinstance(t, Literal):
        return t.value
    if not isinstance(t, Apply) or t.function not in _ARITHMETIC or t.type == boolean:
        return None
    values = [_value(each) for each in t.arguments]
    whole = [int(v) for v in values if v is not None and abs(v) <= _SMALL and v == int(v)]
    if len(whole) < len(values) or not isinstance(t.type, Scalar):
        return None
    value = _ARITHMETIC[t.function](*whole)
    return value if t.type.is_float or t.type.range[0] <= value <= t.type.range[1] else None


_OPERATORS = {
    "add": add,
    "mul": mul,
    "minimum": minimum.operator,
    "maximum": maximum.operator,
}
"""The operators whose laws are those of the scalar function of this name."""


def _is_neutral_by_components(operator: BinaryOperator, t: MakeTuple) -> bool:
    """Whether each component of a tuple is neutral in the operator that alone computes this component."""
    parts = _components(operator, t.type)
    return len(parts) == len(t.parts) and all(
        part is not None and is_neutral(part, z) for part, z in zip(parts, t.parts, strict=True)
    )


@cache
def _components(operator: BinaryOperator, t: Type) -> tuple[BinaryOperator | None, ...]:
    """The operators of the components of tuples, by which alone these are computed; None for another one."""
    f = operator_lambda(operator, t)
    x, y = f.parameters
    found = f.body.parts if isinstance(f.body, MakeTuple) else ()

    def of(part: Term, index: int) -> BinaryOperator | None:
        if not isinstance(part, Apply) or not isinstance(part.type, Scalar):
            return None
        both = (Get(index, x, part.type), Get(index, y, part.type))
        return _OPERATORS.get(part.function) if part.arguments in (both, both[::-1]) else None

    return tuple(of(part, i) for i, part in enumerate(found))


def holds_floats(t: Type) -> bool:
    """Whether values of type `t` contain floating-point numbers, as those of a type variable may."""
    return any(not isinstance(of, Scalar) or of.is_float for of, _ in components_of(t))
