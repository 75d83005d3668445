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

from relift.semantics.syntax import terms
from relift.semantics.syntax.binding import map_children

Named: TypeAlias = "terms.UserFunction | terms.BinaryOperator"
"""What a user gives a name to, and a term holds."""


def named_in(t: terms.Term) -> Iterator[Named]:
    """The user functions and operators of a term, in the order of its text, what a function calls before it; a term keeps them."""
    known: tuple[Named, ...] | None = vars(t).get("_named")
    if known is None:
        known = vars(t)["_named"] = tuple(_named_in(t))
    return iter(known)


def _named_in(t: terms.Term) -> Iterator[Named]:
    for u in terms.distinct(t):
        if isinstance(u, terms.Call):
            if u.function.body is not None:
                yield from named_in(u.function.body.body)
            yield u.function
        elif (operator := terms.operator_of(u)) is not None:
            yield from _named_operator(operator)


def _bound(t: terms.Term) -> Iterator[terms.Var]:
    for u in terms.distinct(t):
        for _, child in terms.children(u):
            if isinstance(child, terms.Lambda):
                yield from child.parameters


def _named_operator(operator: terms.Operator) -> Iterator[terms.BinaryOperator]:
    match operator:
        case terms.BinaryOperator():
            yield operator
        case terms.Vectorized(_, inner):
            yield from _named_operator(inner)
        case terms.OperatorMetavariable():
            pass


def distinctly_named(
    given: Sequence[terms.Term], taken: Collection[str], vocabulary: Mapping[str, Any]
) -> list[terms.Term]:
    """The terms, with another name for each function and operator whose name is another's.

    Others are `taken`, the variables that are bound in the terms, and what the language itself calls so.
    """
    found = dict.fromkeys(named for t in given for named in named_in(t))
    if not found:
        return list(given)
    used = {
        *taken,
        *vocabulary,
        *(x.name for t in given for x in _bound(t)),
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
    return [*map(_Renaming(renamed).term, given)] if renamed else list(given)


@dataclass
class _Renaming:
    """Terms with other names for some functions and operators; what is shared stays shared."""

    names: Mapping[Named, str]
    known: dict[int, tuple[terms.Term, terms.Term]] = field(default_factory=dict)

    def term(self, t: terms.Term) -> terms.Term:
        if id(t) not in self.known:
            self.known[id(t)] = t, self._renamed(t)
        return self.known[id(t)][1]

    def _renamed(self, t: terms.Term) -> terms.Term:
        u = map_children(t, self.term, self.function)
        if isinstance(u, terms.Call):
            return replace(u, function=self.user_function(u.function))
        if (operator := terms.operator_of(u)) is not None:
            place = "operator" if isinstance(u, terms.Combine) else "op"
            changes: dict[str, Any] = {place: self.operator(operator)}
            return replace(u, **changes)
        return u

    def function(self, f: terms.Lambda) -> terms.Lambda:
        return terms.Lambda(f.parameters, self.term(f.body))

    def user_function(self, f: terms.UserFunction) -> terms.UserFunction:
        body = None if f.body is None else self.function(f.body)
        return replace(f, name=self.names.get(f, f.name), body=body)

    def operator(self, o: terms.Operator) -> terms.Operator:
        match o:
            case terms.BinaryOperator(name, laws):
                products = tuple(map(self._binary, laws.distributes_over))
                differences = tuple(map(self._binary, laws.telescopes_over))
                laws = replace(laws, distributes_over=products, telescopes_over=differences)
                return replace(o, name=self.names.get(o, name), laws=laws)
            case terms.Vectorized(width, inner):
                return terms.Vectorized(width, self.operator(inner))
            case terms.OperatorMetavariable():
                return o

    def _binary(self, o: terms.BinaryOperator) -> terms.BinaryOperator:
        found = self.operator(o)
        assert isinstance(found, terms.BinaryOperator), "cannot happen: another kind of operator"
        return found
