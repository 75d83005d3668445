"""What a rule asks of its metavariables: least sizes, laws of operators, laws of index functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from relift.semantics.errors import IllTyped
from relift.semantics.language.arguments import an_instance, names_in
from relift.semantics.syntax.signatures import IndexKind, Kind, OperatorKind
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.types import TypeVariable

Law: TypeAlias = Literal[
    "associative", "commutative", "neutral", "idempotent", "distributive", "telescoping"
]
IndexLaw: TypeAlias = Literal["bijective", "inverse"]


def type_variables(names: str) -> tuple[TypeVariable, ...]:
    """Type variables for rules: `A, B = type_variables("A B")`."""
    return tuple(TypeVariable(name) for name in names_in(names, "type variables"))


def naturals(names: str) -> tuple[Size, ...]:
    """Size variables for rules, any natural number including 0: `k, m = naturals("k m")`."""
    return tuple(nat(name, least=0) for name in names_in(names, "sizes"))


@dataclass(frozen=True)
class Bound:
    """That a size is at least a number; `n <= 5` is that `5 - n` is at least 0."""

    size: Size
    least: int

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return self.size.evaluate(sizes) >= self.least

    def surely(self) -> bool:
        """Whether it holds of all sizes that the names stand for."""
        return self.size.surely_at_least(self.least)

    def at(self, sizes: Mapping[str, Size]) -> Bound:
        return Bound(self.size.substitute(sizes), self.least)

    def __str__(self) -> str:
        """As an inequality without a minus.

        >>> from relift import naturals
        >>> from relift.rewrites.conditions import Bound
        >>> n, m = naturals("n m")
        >>> print(Bound(n, 2), Bound(5 - n, 0), Bound(n - m, 1), sep="; ")
        n >= 2; n <= 5; m + 1 <= n
        """
        terms = self.size.terms.items()
        more = Size({monomial: c for monomial, c in terms if c > 0 and monomial})
        less = Size({monomial: -c for monomial, c in terms if c < 0 and monomial})
        least = self.least - self.size.terms.get((), 0)
        if less == 0:
            return f"{more} >= {least}"
        if least >= 0:
            return f"{less + least} <= {more}"
        return f"{less} <= {more - least}"


def require_possible(name: str, bounds: Iterable[Bound]) -> None:
    """Raise `IllTyped` for what no size meets: every statement under it would be true of nothing."""
    for bound in bounds:
        if (bound.least - 1 - bound.size).surely_at_least(0):
            raise IllTyped(
                f"{name}: {bound.size} must be at least {bound.least} for both sides to be defined, and never is"
            )


def _require_names(law: str, *metavariables: str | None) -> None:
    for name in metavariables:
        if name is not None:
            an_instance(name, str, law, f'it names metavariables, as in {law}("f")')


@dataclass(frozen=True)
class Condition:
    """A law that an operator metavariable must obey.

    `neutral` also names its neutral element, `distributive` and `telescoping` the operator over which it is so.
    """

    law: Law
    operator: str
    element: str | None = None
    over: str | None = None

    def __post_init__(self) -> None:
        _require_names(self.law, self.operator, self.element, self.over)

    @property
    def metavariables(self) -> tuple[str, ...]:
        """What it speaks of: the operator first."""
        return tuple(filter(None, (self.operator, self.element, self.over)))

    def __str__(self) -> str:
        return f"{self.law}({', '.join(self.metavariables)})"


@dataclass(frozen=True)
class IndexCondition:
    """A law that an index metavariable must obey; `inverse` also names what undoes it."""

    law: IndexLaw
    function: str
    inverse: str | None = None

    def __post_init__(self) -> None:
        _require_names(self.law, self.function, self.inverse)

    @property
    def metavariables(self) -> tuple[str, ...]:
        """What it speaks of: the function first."""
        return tuple(filter(None, (self.function, self.inverse)))

    def __str__(self) -> str:
        return f"{self.law}({', '.join(self.metavariables)})"


def associative(operator: str) -> Condition:
    """The operator may be regrouped."""
    return Condition("associative", operator)


def commutative(operator: str) -> Condition:
    """The operands may be swapped."""
    return Condition("commutative", operator)


def neutral(operator: str, element: str) -> Condition:
    """Combining with `element`, on either side, changes nothing."""
    return Condition("neutral", operator, element)


def idempotent(operator: str) -> Condition:
    """Combining a value with itself changes nothing."""
    return Condition("idempotent", operator)


def distributive(times: str, plus: str) -> Condition:
    """`times` distributes over `plus`, on both sides: x(y + z) = xy + xz and (x + y)z = xz + yz."""
    return Condition("distributive", times, over=plus)


def telescoping(minus: str, plus: str) -> Condition:
    """`minus` telescopes over `plus`: x - z = (x - y) + (y - z), whatever y is."""
    return Condition("telescoping", minus, over=plus)


def bijective(function: str) -> IndexCondition:
    """The index function is a permutation of the indices below its length."""
    return IndexCondition("bijective", function)


def inverse(function: str, other: str) -> IndexCondition:
    """Each of two index functions undoes the other; both are permutations then."""
    return IndexCondition("inverse", function, other)


def require_condition(
    name: str, condition: Condition | IndexCondition, parameters: Mapping[str, Kind]
) -> None:
    """Raise `IllTyped` unless a rule has the metavariables that a condition speaks of, of kinds that fit."""
    if isinstance(condition, IndexCondition):
        named = [condition.function, *([condition.inverse] if condition.inverse else [])]
        for function in named:
            if not isinstance(parameters.get(function), IndexKind):
                raise IllTyped(
                    f"{name}: the condition {condition} needs an index metavariable "
                    f"{function}: Index[n]"
                )
        if len({parameters[function] for function in named}) > 1:
            raise IllTyped(
                f"{name}: the condition {condition} needs index metavariables of one length"
            )
        return
    operator = parameters.get(condition.operator)
    if not isinstance(operator, OperatorKind):
        raise IllTyped(
            f"{name}: the condition {condition} needs an operator metavariable {condition.operator}"
        )
    if condition.element is not None and parameters.get(condition.element) != operator.element:
        raise IllTyped(
            f"{name}: the condition {condition} needs a metavariable "
            f"{condition.element}: {operator.element}"
        )
    if condition.over == condition.operator:
        raise IllTyped(f"{name}: the condition {condition} needs two operators")
    if condition.over is not None and parameters.get(condition.over) != operator:
        raise IllTyped(
            f"{name}: the condition {condition} needs an operator metavariable "
            f"{condition.over}: {operator}"
        )
