"""The matched side of a rule: its text, what it binds, and what must hold of the names in it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from relift.egraph.encode.equations import Equations, NotSearchable, expression
from relift.egraph.encode.terms import (
    Field,
    literal_parameter_text,
    node_text,
    operator_text,
    quoted,
)
from relift.rewrites.metavariables import is_miller
from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.syntax import terms
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import AnyType, Type


@dataclass(frozen=True)
class RuleBinder:
    """A binder of a rule: its name in the rule, its variable in egglog, its type."""

    name: str
    variable: str
    type: Type


class NameConditions:
    """What must hold of the names in a rule: which differ, and which metavariable does not use which."""

    def __init__(self) -> None:
        self.distinct: dict[tuple[str, str], None] = {}
        self.scope: dict[tuple[str, str], None] = {}
        self.moved: dict[tuple[str, str], None] = {}

    def require_absent(self, name: str, variable: str) -> None:
        """Require that a metavariable does not use a name, unless its scope on the matched side says so."""
        if (name, variable) not in self.scope:
            self.moved[name, variable] = None

    def require_distinct(self, x: str, y: str) -> None:
        """Require that two names differ."""
        if (y, x) not in self.distinct:
            self.distinct[x, y] = None


class Matched:
    """The matched side of a rule, as egglog matches it."""

    def __init__(self, t: terms.Term) -> None:
        self.sizes = Equations()
        self.names = NameConditions()
        self.parameters: dict[str, tuple[str, ...]] = {}
        self.binders: list[RuleBinder] = []
        self.operators: set[str] = set()
        self.text = self._match(t, ())

    def _match(self, t: terms.Term, scope: tuple[RuleBinder, ...]) -> str:
        match t:
            case terms.Var(name):
                return f"(Var {_innermost(scope, name).variable})"
            case terms.Metavariable():
                return self._metavariable(t, scope)
            case terms.Input(name):
                raise NotSearchable(f"a rule does not speak of the input {name}")
            case (
                terms.Literal() | terms.Apply() | terms.Call() | terms.Combine() | terms.MakeTuple()
                | terms.Get() | terms.Pattern()
            ):  # fmt: skip
                return node_text(t, lambda field: self._match_field(field, scope))

    def _match_field(self, value: Field, scope: tuple[RuleBinder, ...]) -> str:
        match value:
            case str():
                return quoted(value)
            case int():
                return str(value)
            case Size():
                return self._match_size(value)
            case terms.Lambda(parameters, body):
                new = tuple(
                    RuleBinder(x.name, f"x{len(self.binders) + i}_{x.name}", x.type)
                    for i, x in enumerate(parameters)
                )
                for x, y in itertools.chain(
                    itertools.product(scope, new), itertools.combinations(new, 2)
                ):
                    self.names.require_distinct(x.variable, y.variable)
                self.binders += new
                return " ".join([*(b.variable for b in new), self._match(body, scope + new)])
            case LiteralParameter():
                return constant_text(value)
            case terms.BinaryOperator() | terms.OperatorMetavariable() | terms.Vectorized():
                return self._match_operator(value)
            case Expression():
                return self._match(value, scope)
            case AnyType():
                return self.sizes.type_pattern(value)

    def _match_size(self, n: Size) -> str:
        if n.constant is not None:
            return str(n.constant)
        value = self.sizes.variable()
        self.sizes.equate(n, value)
        return expression(value)

    def _match_operator(self, operator: terms.Operator) -> str:
        match operator:
            case terms.BinaryOperator():
                return operator_text(operator)
            case terms.OperatorMetavariable(name):
                self.operators.add(name)
                return "o_" + name
            case terms.Vectorized(width, inner):
                return f"(OVec {self._match_size(width)} {self._match_operator(inner)})"

    def _metavariable(self, t: terms.Metavariable, scope: tuple[RuleBinder, ...]) -> str:
        bound = [terms.Var(b.name, b.type) for b in scope]
        if not is_miller(t, bound):
            raise NotSearchable(
                f"{t.name} is not applied to distinct bound variables (no Miller pattern)"
            )
        parameters = tuple(
            _innermost(scope, u.name).variable for u in t.arguments if isinstance(u, terms.Var)
        )
        if self.parameters.setdefault(t.name, parameters) != parameters:
            raise NotSearchable(
                f"{t.name} occurs twice under different binders, which needs equality up to names"
            )
        for b in scope:
            if b.variable not in parameters:
                self.names.scope[t.name, b.variable] = None
        return "m_" + t.name


def _innermost(scope: tuple[RuleBinder, ...], name: str) -> RuleBinder:
    return next(b for b in reversed(scope) if b.name == name)


def constant_text(value: LiteralParameter) -> str:
    """An index function or a row of numbers that is the same whenever the rule matches."""
    if any(n.constant is None for n in value.sizes):
        raise NotSearchable(f"{value} depends on the sizes of the rule")
    return literal_parameter_text(value)
