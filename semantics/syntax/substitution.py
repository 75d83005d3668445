"""Rebuilding a term through its typed constructors: at other sizes, with metavariables filled in.

Every node is typed again, so what comes out is well typed or an `IllTyped` says why not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from relift.semantics.indices.functions import IndexFunction, LiteralParameter
from relift.semantics.syntax import terms
from relift.semantics.syntax.binding import inputs_in, substitute
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import Field, fields, rebuilt
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import AnyType, Type, substitute_type

_Done: TypeAlias = dict[tuple[int, frozenset[str]], tuple[terms.Term, terms.Term]]
"""What was rebuilt below some binders, by identity; it holds the terms, so that they keep theirs."""


@dataclass(frozen=True)
class Substitution:
    """What metavariables stand for: types, sizes, functions (data: without parameters), operators, indices."""

    types: Mapping[str, Type] = field(default_factory=dict)
    sizes: Mapping[str, Size] = field(default_factory=dict)
    functions: Mapping[str, terms.Lambda] = field(default_factory=dict)
    operators: Mapping[str, terms.Operator] = field(default_factory=dict)
    indices: Mapping[str, IndexFunction] = field(default_factory=dict)

    def type(self, t: Type) -> Type:
        return substitute_type(t, self.types, self.sizes)

    def operator(self, operator: terms.Operator) -> terms.Operator:
        match operator:
            case terms.OperatorMetavariable(name, element):
                return self.operators.get(
                    name, terms.OperatorMetavariable(name, self.type(element))
                )
            case terms.Vectorized(width, inner):
                return terms.Vectorized(width.substitute(self.sizes), self.operator(inner))
            case terms.BinaryOperator():
                return operator

    def term(self, t: terms.Term) -> terms.Term:
        """`t` with all metavariables, sizes and type variables replaced, typed again; one object stays one."""
        return self._term(t, frozenset(), {})

    def _term(self, t: terms.Term, bound: frozenset[str], done: _Done) -> terms.Term:
        key = (id(t), bound)
        if key not in done:
            done[key] = (t, self._rebuilt(t, bound, done))
        return done[key][1]

    def _rebuilt(self, t: terms.Term, bound: frozenset[str], done: _Done) -> terms.Term:
        if isinstance(t, terms.Metavariable) and (f := self.functions.get(t.name)) is not None:
            filled = (self._term(u, bound, done) for u in t.arguments)
            names = (x.name for x in f.parameters)
            return substitute(f.body, dict(zip(names, filled, strict=True)))
        # a list, not a generator: the frames of `rebuilt` would stand between this level of a term and the next
        return rebuilt(t, [self._field(value, bound, done) for value in fields(t)])

    def _field(self, value: Field, bound: frozenset[str], done: _Done) -> Field:
        match value:
            case Expression():
                return self._term(value, bound, done)
            case Size():
                return value.substitute(self.sizes)
            case LiteralParameter():
                return value.substitute(self.sizes, self.indices)
            case terms.Lambda(parameters, body):
                return self._lambda(parameters, body, bound, done)
            case terms.BinaryOperator() | terms.OperatorMetavariable() | terms.Vectorized():
                return self.operator(value)
            case AnyType():
                return self.type(value)
            case str() | int() | float() | terms.UserFunction():
                return value
            case tuple():
                return tuple(self._term(u, bound, done) for u in value)

    def _lambda(
        self,
        parameters: tuple[terms.Var, ...],
        body: terms.Term,
        bound: frozenset[str],
        done: _Done,
    ) -> terms.Lambda:
        """Binders of the rule are renamed apart from the free variables of what fills it."""
        taken = self.free_names | bound
        fresh: dict[str, terms.Term] = {}
        renamed: list[terms.Var] = []
        for x in parameters:
            name = terms.unused(x.name, taken)
            taken = taken | {name}
            renamed.append(terms.Var(name, self.type(x.type)))
            if name != x.name:
                fresh[x.name] = terms.Var(name, x.type)
        inner = substitute(body, fresh)
        return terms.Lambda(
            tuple(renamed), self._term(inner, bound | {x.name for x in renamed}, done)
        )

    @cached_property
    def free_names(self) -> frozenset[str]:
        """The variables and inputs that occur in what fills the metavariables.

        An input cannot be captured, but a variable of its name would hide it where the term is printed.
        """
        free: frozenset[str] = frozenset()
        for f in self.functions.values():
            free |= terms.free_variables(f.body) - {x.name for x in f.parameters}
            free |= inputs_in(f.body)
        return free


def at_sizes(t: terms.Term, sizes: Mapping[str, Size]) -> terms.Term:
    """`t` with named sizes replaced, typed again."""
    return Substitution(sizes=sizes).term(t)
