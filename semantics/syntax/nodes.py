"""One view of terms: every node is its kind and the fields that it holds, and is made of them again.

What goes through terms without regard to their kinds goes through fields: a field is data of the node itself
(a name, a number, a size, a type, an operator, an index function), a term below it, several, or a lambda.

>>> from relift.semantics.syntax.nodes import fields, rebuilt
>>> from relift import f32
>>> from relift.semantics.notation.parser import parse_term
>>> from relift.semantics.syntax.terms import Input
>>> t = parse_term("split(2, xs)", {"xs": Input("xs", f32[8])})
>>> fields(t)
(2, Input(name='xs', type=f32[8]))
>>> rebuilt(t, (4, t.xs)).type
f32[2, 4]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.language.coercion import combine, make_tuple
from relift.semantics.language.tracing import FixedLambda, build, component
from relift.semantics.syntax import terms
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Type

Field: TypeAlias = (
    str
    | terms.Number
    | terms.UserFunction
    | Size
    | LiteralParameter
    | terms.Operator
    | Type
    | terms.Lambda
    | tuple[terms.Term, ...]
    | terms.Term
)


def fields(t: terms.Term) -> tuple[Field, ...]:
    """What a node holds, in the order in which it is written; without its type where that follows."""
    return tuple(getattr(t, name) for name in t.holds)


def argument(t: terms.Pattern, name: str) -> Field | None:
    """What a pattern holds in a field; None where the name is that of a size which typing solved."""
    found: Field | None = getattr(t, name, None)
    return found


def made(kind: type[terms.Term], values: Iterable[Any]) -> terms.Term:
    """A node of a kind that holds these values, typed; raises `IllTyped`.

    What does not hold its type is typed by the function that a program builds it with.
    """
    values = [
        FixedLambda(value.parameters, value.body) if isinstance(value, terms.Lambda) else value
        for value in values
    ]
    if issubclass(kind, terms.Pattern):
        return build(kind, values)
    if kind is terms.Combine:
        return combine(*values)
    if kind is terms.MakeTuple:
        return make_tuple(*values[0])
    if kind is terms.Get:
        index, of = values
        return component(of, index)
    assert "type" in kind.holds, f"cannot happen: nothing says how {kind.__name__} is typed"
    return kind(*values)


def rebuilt(t: terms.Term, values: Iterable[Any]) -> terms.Term:
    """A node of the kind of `t` that holds other values, typed again; raises `IllTyped`."""
    return made(type(t), values)
