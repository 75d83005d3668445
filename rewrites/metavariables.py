"""What stands in the sides of a rule: metavariables, the sizes that are written in a node, kinds at other sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from relift.semantics.indices.functions import IndexFunction, Written
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Combine,
    Metavariable,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    Var,
    Vectorized,
    innermost,
    subterms,
)


def metavariables(t: Term) -> set[str]:
    """The names of all metavariables of a term: data, functions, operators and index functions."""
    found: set[str] = set()
    for u, _ in subterms(t):
        match u:
            case Metavariable(name):
                found.add(name)
            case Combine(operator):
                found.add(innermost(operator).name)
            case Pattern():
                for value in _fields(u):
                    match value:
                        case BinaryOperator() | OperatorMetavariable() | Vectorized():
                            found.add(innermost(value).name)
                        case IndexFunction():
                            found |= value.metavariables.keys()
                        case _:
                            pass
            case _:
                pass
    return found


def named_sizes(t: Term) -> list[Size]:
    """The sizes written in a node itself: the `m` of `split(m, xs)`, the width of a vector operator."""
    match t:
        case Pattern():
            found = [v for v in _fields(t) if isinstance(v, Size)]
            found += [n for v in _fields(t) if isinstance(v, Written) for n in v.sizes]
            for value in _fields(t):
                if isinstance(value, BinaryOperator | OperatorMetavariable | Vectorized):
                    found += operator_widths(value)
            return found
        case Combine(operator):
            return operator_widths(operator)
        case _:
            return []


def operator_widths(operator: Operator) -> list[Size]:
    """The widths of nested vectorisations of an operator."""
    if isinstance(operator, Vectorized):
        return [operator.width, *operator_widths(operator.operator)]
    return []


def _fields(t: Pattern) -> list[Any]:
    return [getattr(t, name) for name in t.signature.parameters]


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
        name: of if isinstance(of, str) else kind_at(of, Substitution(sizes=sizes))
        for name, of in function.__annotations__.items()
    }
    other.__doc__ = function.__doc__
    return other


def kind_at(kind: Any, substitution: Substitution) -> Any:
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
        case _:
            return substitution.type(kind)
