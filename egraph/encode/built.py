"""The built side of a rule: its text, from what the matched side has bound."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from relift.egraph.encode.equations import NotSearchable
from relift.egraph.encode.matched import Matched, RuleBinder
from relift.egraph.encode.sides import Side
from relift.egraph.encode.terms import quoted
from relift.semantics.syntax import terms
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Type

_ROOT = '(V "" (Sc "f32"))'


class Built(Side[dict[str, str]]):
    """The built side of a rule; `fresh` are the names that it makes, each with its definition."""

    def __init__(self, label: str, t: terms.Term, matched: Matched) -> None:
        self.label, self.matched, self.names = label, matched, matched.names
        self.fresh: list[tuple[RuleBinder, str]] = []
        self.bound: list[str] = []
        self.text = self.written(t, {})

    def _variable(self, name: str, scope: dict[str, str]) -> str:
        return scope[name]

    def _function(self, f: terms.Lambda, scope: dict[str, str]) -> str:
        inner = dict(scope)
        new: list[str] = []
        for x in f.parameters:
            variable = self._binder(x, [*scope.values(), *new])
            for outer in (*scope.values(), *new):
                self.names.require_distinct(outer, variable)
            new.append(variable)
            inner[x.name] = variable
        self.bound += new
        return " ".join([*new, self.written(f.body, inner)])

    def _size(self, n: Size) -> str:
        return self.matched.sizes.text(n)

    def _type(self, t: Type) -> str:
        return self.matched.sizes.type_value(t)

    def _operator_named(self, name: str) -> None:
        if name not in self.matched.operators:
            raise NotSearchable(f"the operator {name} is named by the other side only")

    def _binder(self, x: terms.Var, used: Sequence[str]) -> str:
        """The binder of the matched side that `x` is, or a new name."""
        same = [b for b in self.matched.binders if b.name == x.name]
        if len(same) == 1 and same[0].type == x.type and same[0].variable not in used:
            return same[0].variable
        number = len(self.fresh)
        parent = self.matched.binders[0].variable if self.matched.binders else _ROOT
        label = quoted(f"{self.label}.{number}.{x.name}")
        definition = f"(Fr {label} {parent} {self.matched.sizes.type_value(x.type)})"
        self.fresh.append((RuleBinder(x.name, f"w{number}_{x.name}", x.type), definition))
        return f"w{number}_{x.name}"

    def _metavariable(self, t: terms.Metavariable, scope: dict[str, str]) -> str:
        """A metavariable on the built side: its term, with arguments for its parameters."""
        if t.name not in self.matched.parameters:
            raise NotSearchable(f"{t.name} is named by the other side only")
        parameters = self.matched.parameters[t.name]
        for variable in scope.values():
            if variable not in parameters:
                self.names.require_absent(t.name, variable)
        changed = [
            (p, u)
            for p, u in zip(parameters, t.arguments, strict=True)
            if not (isinstance(u, terms.Var) and scope[u.name] == p)
        ]
        # one after the other is all at once when no argument mentions a parameter replaced later
        for order in itertools.permutations(changed):
            if all(
                p not in {scope[x] for x in _variables(u)}
                for i, (_, u) in enumerate(order)
                for p, _ in order[i + 1 :]
            ):
                break
        else:
            raise NotSearchable(f"the arguments of {t.name} depend on each other in a cycle")
        for i, (_, u) in enumerate(order):
            for p, _ in order[i + 1 :]:
                self._keep_out(p, u, scope)
        texts = {p: self.written(u, scope) for p, u in changed}
        text = "m_" + t.name
        for p, _ in order:
            text = f"(Sub {p} {texts[p]} {text})"
        return text

    def _keep_out(self, variable: str, t: terms.Term, scope: dict[str, str]) -> None:
        """Require that `t` does not use `variable`, which is replaced after it was put in."""
        for u, _ in terms.subterms(t):
            if isinstance(u, terms.Var) and u.name in scope:
                self.names.require_distinct(scope[u.name], variable)
            elif isinstance(u, terms.Metavariable) and u.name in self.matched.parameters:
                self.names.require_absent(u.name, variable)


def _variables(t: terms.Term) -> set[str]:
    """The variables of `t` that are not bound in it."""
    return {u.name for u, bound in terms.subterms(t) if isinstance(u, terms.Var) and u not in bound}
