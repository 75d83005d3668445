"""What stands in the sides of a rule: metavariables, the sizes that are written in a node, kinds at other sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from relift.rewrites.families import Chosen, Data
from relift.semantics.indices.functions import IndexFunction, LiteralParameter
from relift.semantics.syntax.nodes import fields
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, Kind, NatKind, OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import (
    Metavariable,
    Operator,
    Term,
    Var,
    Vectorized,
    innermost,
    subterms,
)
from relift.semantics.syntax.types import AnyType


def metavariables(t: Term) -> set[str]:
    """The names of all metavariables of a term: data, functions, operators and index functions."""
    found: set[str] = set()
    for u, _ in subterms(t):
        if isinstance(u, Metavariable):
            found.add(u.name)
        for value in fields(u):
            if isinstance(value, Operator):
                found.add(innermost(value).name)
            elif isinstance(value, IndexFunction):
                found |= value.metavariables.keys()
    return found


def named_sizes(t: Term) -> list[Size]:
    """The sizes written in a node itself: the `m` of `split(m, xs)`, the width of a vector operator."""
    values = fields(t)
    found = [v for v in values if isinstance(v, Size)]
    found += [n for v in values if isinstance(v, LiteralParameter) for n in v.sizes]
    return found + [n for v in values if isinstance(v, Operator) for n in operator_widths(v)]


def operator_widths(operator: Operator) -> list[Size]:
    """The widths of nested vectorisations of an operator."""
    if isinstance(operator, Vectorized):
        return [operator.width, *operator_widths(operator.operator)]
    return []


def is_miller(t: Metavariable, bound: Sequence[Var]) -> bool:
    """Whether a metavariable is applied to distinct bound variables, so that matching is unique."""
    names = [u.name for u in t.arguments if isinstance(u, Var)]
    return len(names) == len(t.arguments) == len(set(names)) and {x.name for x in bound} >= set(
        names
    )


def at_other_sizes(function: Callable[..., Any], sizes: Mapping[str, Size]) -> Callable[..., Any]:
    """The same Python function, where the sizes that its file names stand for others."""

    def changed(value: Any) -> Any:
        return value.substitute(sizes) if isinstance(value, Size) else value

    names = {name: changed(value) for name, value in function.__globals__.items()}
    other = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    other.__annotations__ = {
        name: _annotation_at(of, Substitution(sizes=sizes))
        for name, of in function.__annotations__.items()
    }
    other.__doc__ = function.__doc__
    return other


def _annotation_at(of: Any, substitution: Substitution) -> Any:
    """What a parameter of a rule is annotated with, at other sizes."""
    match of:
        case str():
            return of
        case Chosen(word, Data(name, kind)):
            return Chosen(word, Data(name, kind_at(kind, substitution)))
        case Chosen():
            return of
        case _:
            return kind_at(of, substitution)


def kind_at(kind: Kind, substitution: Substitution) -> Kind:
    """The kind of a metavariable, at other sizes and types."""
    match kind:
        case FunctionKind(arguments, result):
            return FunctionKind(tuple(map(substitution.type, arguments)), substitution.type(result))
        case OperatorKind(element):
            return OperatorKind(substitution.type(element))
        case IndexKind(length):
            return IndexKind(length.substitute(substitution.sizes))
        case NatKind():
            return kind
        case AnyType():
            return substitution.type(kind)
