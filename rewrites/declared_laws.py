"""What programs declare of operators, and grant of floating point."""

from __future__ import annotations

from typing import Literal as Choice
from typing import TypeAlias, cast, get_args

from relift.semantics.errors import ReliftError
from relift.semantics.patterns import Splat
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Literal,
    Operator,
    OperatorMetavariable,
    Term,
    Vectorized,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

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


def distributes(times: Operator, plus: Operator) -> bool:
    """Whether an operator is declared to distribute over another; lanes inherit it."""
    match times:
        case Vectorized(width, inner):
            return (
                isinstance(plus, Vectorized)
                and width == plus.width
                and distributes(inner, plus.operator)
            )
        case BinaryOperator(_, laws):
            return plus in laws.distributes_over
        case OperatorMetavariable():
            return False


def is_neutral(operator: Operator, t: Term) -> bool:
    """Whether `t` is the declared neutral element of an operator, or a vector of it."""
    match operator:
        case Vectorized(_, inner):
            return isinstance(t, Splat) and is_neutral(inner, t.x)
        case BinaryOperator(_, laws):
            return isinstance(t, Literal) and laws.neutral is not None and t.value == laws.neutral
        case OperatorMetavariable():
            return False


def holds_floats(t: Type) -> bool:
    """Whether values of type `t` contain floating-point numbers."""
    match t:
        case Scalar():
            return t.is_float
        case Array(element, _) | Vector(element, _):
            return holds_floats(element)
        case Tuple(parts):
            return any(holds_floats(part) for part in parts)
        case TypeVariable():
            return True
