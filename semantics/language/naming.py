"""Functions and operators of a user, each with a name of its own in what is traced.

Python lets two functions have one name, or one that a variable has too; text does not.  So a program, or a rule,
renames all but the first when it is traced, and everything after that, the printer, the search, files and proofs,
may tell them apart by their names.

>>> from relift import f32, operator, show
>>> from relift.semantics.language.naming import distinctly_named
>>> from relift.semantics.syntax.terms import Input
>>> one, other = (operator(f, name="f") for f in (lambda x, y: x + y, lambda x, y: x * y))
>>> x = Input("x", f32)
>>> [show(t) for t in distinctly_named([one(x, x), other(x, one(x, x))], {"x"}, {})]
['f(x, x)', 'f_2(x, f(x, x))']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Call,
    Combine,
    Lambda,
    Operator,
    OperatorMetavariable,
    Term,
    UserFunction,
    Var,
    Vectorized,
    children,
    distinct,
    operator_of,
)

Named: TypeAlias = "UserFunction | BinaryOperator"
"""What a user gives a name to, and a term holds."""


def named_in(t: Term) -> Iterator[Named]:
    """The user functions and operators of a term, in the order of its text, what a function calls before it."""
    for u in distinct(t):
        if isinstance(u, Call):
            if u.function.body is not None:
                yield from named_in(u.function.body.body)
            yield u.function
        elif (operator := operator_of(u)) is not None:
            yield from _named_operator(operator)


def _bound(t: Term) -> Iterator[Var]:
    for u in distinct(t):
        for _, child in children(u):
            if isinstance(child, Lambda):
                yield from child.parameters


def _named_operator(operator: Operator) -> Iterator[BinaryOperator]:
    match operator:
        case BinaryOperator():
            yield operator
        case Vectorized(_, inner):
            yield from _named_operator(inner)
        case OperatorMetavariable():
            pass


def distinctly_named(
    terms: Sequence[Term], taken: Collection[str], vocabulary: Mapping[str, Any]
) -> list[Term]:
    """The terms, with another name for each function and operator whose name is another's.

    Others are `taken`, the variables that are bound in the terms, and what the language itself calls so.
    """
    found = dict.fromkeys(named for t in terms for named in named_in(t))
    if not found:
        return list(terms)
    used = {
        *taken,
        *vocabulary,
        *(x.name for t in terms for x in _bound(t)),
    }
    renamed: dict[Named, str] = {}
    for named in found:
        known = vocabulary.get(named.name)
        if getattr(known, "operator", known) == named:
            continue
        candidates = (
            named.name,
            *(f"{named.name}_{n}" for n in range(2, 2 + len(found) + len(used))),
        )
        name = next(c for c in candidates if c not in used)
        used.add(name)
        if name != named.name:
            renamed[named] = name
    return [*map(_Renaming(renamed).term, terms)] if renamed else list(terms)


@dataclass
class _Renaming:
    """Terms with other names for some functions and operators; what is shared stays shared."""

    names: Mapping[Named, str]
    known: dict[int, tuple[Term, Term]] = field(default_factory=dict)

    def term(self, t: Term) -> Term:
        if id(t) not in self.known:
            self.known[id(t)] = t, self._renamed(t)
        return self.known[id(t)][1]

    def _renamed(self, t: Term) -> Term:
        u = map_children(t, self.term, self.function)
        if isinstance(u, Call):
            return replace(u, function=self.user_function(u.function))
        if (operator := operator_of(u)) is not None:
            place = "operator" if isinstance(u, Combine) else "op"
            changes: dict[str, Any] = {place: self.operator(operator)}
            return replace(u, **changes)
        return u

    def function(self, f: Lambda) -> Lambda:
        return Lambda(f.parameters, self.term(f.body))

    def user_function(self, f: UserFunction) -> UserFunction:
        body = None if f.body is None else self.function(f.body)
        return replace(f, name=self.names.get(f, f.name), body=body)

    def operator(self, o: Operator) -> Operator:
        match o:
            case BinaryOperator(name, laws):
                over = tuple(self._binary(plus) for plus in laws.distributes_over)
                return replace(
                    o, name=self.names.get(o, name), laws=replace(laws, distributes_over=over)
                )
            case Vectorized(width, inner):
                return Vectorized(width, self.operator(inner))
            case OperatorMetavariable():
                return o

    def _binary(self, o: BinaryOperator) -> BinaryOperator:
        found = self.operator(o)
        assert isinstance(found, BinaryOperator), "cannot happen: another kind of operator"
        return found
