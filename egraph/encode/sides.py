"""A side of a rule as egglog's text: what is written alike, whether it is matched or built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from relift.egraph.encode.equations import NotSearchable
from relift.egraph.encode.terms import (
    Field,
    literal_parameter_text,
    node_text,
    operator_text,
    quoted,
)
from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.syntax import terms
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import AnyType, Type

S = TypeVar("S")
"""What is known of the names that are bound around a term."""


class Side(ABC, Generic[S]):
    """One side of a rule."""

    def written(self, t: terms.Term, scope: S) -> str:
        """A term as text; raises `NotSearchable`."""
        match t:
            case terms.Var(name):
                return f"(Var {self._variable(name, scope)})"
            case terms.Metavariable():
                return self._metavariable(t, scope)
            case terms.Input(name):
                raise NotSearchable(f"a rule does not speak of the input {name}")
            case (
                terms.Literal() | terms.Apply() | terms.Call() | terms.Combine() | terms.MakeTuple()
                | terms.Get() | terms.Pattern()
            ):  # fmt: skip
                return node_text(t, lambda field: self._field(field, scope))

    def _field(self, value: Field, scope: S) -> str:
        match value:
            case str():
                return quoted(value)
            case int():
                return str(value)
            case Size():
                return self._size(value)
            case terms.Lambda():
                return self._function(value, scope)
            case LiteralParameter():
                return constant_text(value)
            case terms.BinaryOperator() | terms.OperatorMetavariable() | terms.Vectorized():
                return self._operator(value)
            case Expression():
                return self.written(value, scope)
            case AnyType():
                return self._type(value)

    def _operator(self, operator: terms.Operator) -> str:
        match operator:
            case terms.BinaryOperator():
                return operator_text(operator)
            case terms.OperatorMetavariable(name):
                self._operator_named(name)
                return "o_" + name
            case terms.Vectorized(width, inner):
                return f"(OVec {self._size(width)} {self._operator(inner)})"

    @abstractmethod
    def _variable(self, name: str, scope: S) -> str:
        """What egglog calls a variable that is bound."""

    @abstractmethod
    def _metavariable(self, t: terms.Metavariable, scope: S) -> str: ...

    @abstractmethod
    def _operator_named(self, name: str) -> None:
        """Take note of an operator of the rule, by its name."""

    @abstractmethod
    def _function(self, f: terms.Lambda, scope: S) -> str:
        """The variables of a function and its body."""

    @abstractmethod
    def _size(self, n: Size) -> str: ...

    @abstractmethod
    def _type(self, t: Type) -> str: ...


def constant_text(value: LiteralParameter) -> str:
    """An index function or a row of numbers that is the same whenever the rule matches."""
    if any(n.constant is None for n in value.sizes):
        raise NotSearchable(f"{value} depends on the sizes of the rule")
    return literal_parameter_text(value)
