"""Rebuilding a term through its typed constructors: at other sizes, with metavariables filled in.

Every node is typed again, so what comes out is well typed or an `IllTyped` says why not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from relift.semantics.indices.functions import IndexFunction, Written
from relift.semantics.syntax.binding import substitute
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import Field, fields, rebuilt
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Input,
    Lambda,
    Metavariable,
    Operator,
    OperatorMetavariable,
    Term,
    UserFunction,
    Var,
    Vectorized,
    free_variables,
    subterms,
    unused,
)
from relift.semantics.syntax.types import AnyType, Type, substitute_type

_Done: TypeAlias = dict[tuple[int, frozenset[str]], tuple[Term, Term]]
"""What was rebuilt below some binders, by identity; it holds the terms, so that they keep theirs."""


@dataclass(frozen=True)
class Substitution:
    """What metavariables stand for: types, sizes, functions (data: without parameters), operators, indices."""

    types: Mapping[str, Type] = field(default_factory=dict)
    sizes: Mapping[str, Size] = field(default_factory=dict)
    functions: Mapping[str, Lambda] = field(default_factory=dict)
    operators: Mapping[str, Operator] = field(default_factory=dict)
    indices: Mapping[str, IndexFunction] = field(default_factory=dict)

    def type(self, t: Type) -> Type:
        return substitute_type(t, self.types, self.sizes)

    def operator(self, operator: Operator) -> Operator:
        match operator:
            case OperatorMetavariable(name, element):
                return self.operators.get(name, OperatorMetavariable(name, self.type(element)))
            case Vectorized(width, inner):
                return Vectorized(width.substitute(self.sizes), self.operator(inner))
            case BinaryOperator():
                return operator

    def term(self, t: Term) -> Term:
        """`t` with all metavariables, sizes and type variables replaced, typed again; one object stays one."""
        return self._term(t, frozenset(), {})

    def _term(self, t: Term, bound: frozenset[str], done: _Done) -> Term:
        key = (id(t), bound)
        if key not in done:
            done[key] = (t, self._rebuilt(t, bound, done))
        return done[key][1]

    def _rebuilt(self, t: Term, bound: frozenset[str], done: _Done) -> Term:
        if isinstance(t, Metavariable) and (f := self.functions.get(t.name)) is not None:
            filled = (self._term(u, bound, done) for u in t.arguments)
            names = (x.name for x in f.parameters)
            return substitute(f.body, dict(zip(names, filled, strict=True)))
        return rebuilt(t, (self._field(value, bound, done) for value in fields(t)))

    def _field(self, value: Field, bound: frozenset[str], done: _Done) -> Field:
        match value:
            case Expression():
                return self._term(value, bound, done)
            case Size():
                return value.substitute(self.sizes)
            case Written():
                return value.substitute(self.sizes, self.indices)
            case Lambda(parameters, body):
                return self._lambda(parameters, body, bound, done)
            case BinaryOperator() | OperatorMetavariable() | Vectorized():
                return self.operator(value)
            case AnyType():
                return self.type(value)
            case str() | int() | float() | UserFunction():
                return value
            case tuple():
                return tuple(self._term(u, bound, done) for u in value)

    def _lambda(
        self, parameters: tuple[Var, ...], body: Term, bound: frozenset[str], done: _Done
    ) -> Lambda:
        """Binders of the rule are renamed apart from the free variables of what fills it."""
        taken = self.free_names | bound
        fresh: dict[str, Term] = {}
        renamed: list[Var] = []
        for x in parameters:
            name = unused(x.name, taken)
            taken = taken | {name}
            renamed.append(Var(name, self.type(x.type)))
            if name != x.name:
                fresh[x.name] = Var(name, x.type)
        inner = substitute(body, fresh)
        return Lambda(tuple(renamed), self._term(inner, bound | {x.name for x in renamed}, done))

    @cached_property
    def free_names(self) -> frozenset[str]:
        """The variables and inputs that occur in what fills the metavariables.

        An input cannot be captured, but a variable of its name would hide it where the term is printed.
        """
        free: frozenset[str] = frozenset()
        for f in self.functions.values():
            free |= free_variables(f.body) - {x.name for x in f.parameters}
            free |= {t.name for t, _ in subterms(f.body) if isinstance(t, Input)}
        return free


def at_sizes(t: Term, sizes: Mapping[str, Size]) -> Term:
    """`t` with named sizes replaced, typed again."""
    return Substitution(sizes=sizes).term(t)
