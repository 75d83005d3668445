"""The matched side of a rule: its text, what it binds, and what must hold of the names in it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from relift.egraph.encode.equations import Equations, NotSearchable, expression
from relift.egraph.encode.sides import Side
from relift.rewrites.metavariables import is_miller
from relift.semantics.syntax import terms
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Type


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


class Matched(Side[tuple[RuleBinder, ...]]):
    """The matched side of a rule, as egglog matches it."""

    def __init__(self, t: terms.Term) -> None:
        self.sizes = Equations()
        self.names = NameConditions()
        self.parameters: dict[str, tuple[str, ...]] = {}
        self.binders: list[RuleBinder] = []
        self.operators: set[str] = set()
        self.text = self.written(t, ())

    def _variable(self, name: str, scope: tuple[RuleBinder, ...]) -> str:
        return _innermost(scope, name).variable

    def _function(self, f: terms.Lambda, scope: tuple[RuleBinder, ...]) -> str:
        new = tuple(
            RuleBinder(x.name, f"x{len(self.binders) + i}_{x.name}", x.type)
            for i, x in enumerate(f.parameters)
        )
        for x, y in itertools.chain(itertools.product(scope, new), itertools.combinations(new, 2)):
            self.names.require_distinct(x.variable, y.variable)
        self.binders += new
        return " ".join([*(b.variable for b in new), self.written(f.body, scope + new)])

    def _size(self, n: Size) -> str:
        if n.constant is not None:
            return str(n.constant)
        value = self.sizes.variable()
        self.sizes.equate(n, value)
        return expression(value)

    def _type(self, t: Type) -> str:
        return self.sizes.type_pattern(t)

    def _operator_named(self, name: str) -> None:
        self.operators.add(name)

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
