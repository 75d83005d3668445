"""What a rule did in an e-graph: one row of its log, and the two terms that the row says to be equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relift.egraph.encode.rules import EncodedRule
from relift.egraph.encode.terms import literal_parameter_data
from relift.egraph.explanation.ground import Ground
from relift.rewrites.rule import Rule
from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.syntax import terms
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.types import AnyType, Type


@dataclass(frozen=True)
class Firing:
    """One row of a log: a rule, and what its metavariables, sizes, types and binders were."""

    rule: EncodedRule
    functions: tuple[int, ...]
    operators: tuple[terms.Operator, ...]
    sizes: tuple[int, ...]
    types: tuple[Type, ...]
    names: tuple[int, ...]


class Sides:
    """The two sides of a rule at a firing, as ground terms."""

    def __init__(self, ground: Ground, firing: Firing) -> None:
        self.ground, self.firing = ground, firing
        log = firing.rule.log
        self.sizes = dict(zip(log.sizes, firing.sizes, strict=True))
        self.substitution = Substitution(
            dict(zip(log.types, firing.types, strict=True)),
            {name: Size.of(n) for name, n in self.sizes.items()},
            {},
            dict(zip(log.operators, firing.operators, strict=True)),
        )
        self.functions = {
            name: (tuple(firing.names[i] for i in parameters), body)
            for name, parameters, body in zip(
                log.functions, log.parameters, firing.functions, strict=True
            )
        }

    def sides(self, rule: Rule) -> tuple[int, int]:
        """The matched side and the built side."""
        log = self.firing.rule.log
        matched, built = rule.side(self.firing.rule.direction)
        return self._side(matched, log.matched), self._side(built, log.built)

    def _side(self, t: terms.Term, binders: Sequence[int]) -> int:
        self._binders = iter(binders)
        return self._term(t, {})

    def _term(self, t: terms.Term, scope: Mapping[str, int]) -> int:
        match t:
            case terms.Var(name):
                return self.ground.variable(scope[name])
            case terms.Metavariable(name, arguments):
                parameters, body = self.functions[name]
                values = [self._term(u, scope) for u in arguments]
                return self.ground.substitute(body, dict(zip(parameters, values, strict=True)))
            case terms.Input():
                raise AssertionError("cannot happen: a rule with an input is not searchable")
            case (
                terms.Literal() | terms.Apply() | terms.Call() | terms.Combine() | terms.MakeTuple()
                | terms.Get() | terms.Pattern()
            ):  # fmt: skip
                return self.ground.of(
                    t, self._slots, lambda u: self._term(u, scope), lambda f: self._scoped(f, scope)
                )

    def _scoped(self, f: terms.Lambda, scope: Mapping[str, int]) -> tuple[list[int], int]:
        names = [self.firing.names[next(self._binders)] for _ in f.parameters]
        inner = dict(zip((x.name for x in f.parameters), names, strict=True))
        return names, self._term(f.body, {**scope, **inner})

    def _slots(self, value: Size | Type | terms.Operator | LiteralParameter) -> Sequence[Any]:
        """What the data of a side of the rule are in this firing."""
        match value:
            case Size():
                return [value.evaluate(self.sizes)]
            case LiteralParameter():
                sizes = {name: Size.of(n) for name, n in self.sizes.items()}
                return literal_parameter_data(value.substitute(sizes))
            case terms.BinaryOperator() | terms.OperatorMetavariable() | terms.Vectorized():
                return [self.substitution.operator(value)]
            case AnyType():
                return [self.substitution.type(value)]
