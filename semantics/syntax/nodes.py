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

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.kept import Kept
from relift.semantics.language.coercion import combine, make_tuple
from relift.semantics.language.tracing import FixedLambda, build, component
from relift.semantics.syntax import terms
from relift.semantics.syntax.expression import Expression, changed
from relift.semantics.syntax.signatures import FunctionKind
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
    values = list(values)
    if issubclass(kind, terms.Pattern):
        return _pattern(kind, values)
    if kind is terms.Combine:
        return combine(*values)
    if kind is terms.MakeTuple:
        return make_tuple(*values[0])
    if kind is terms.Get:
        index, of = values
        return component(of, index)
    assert "type" in kind.holds, f"cannot happen: nothing says how {kind.__name__} is typed"
    return kind(*values)


_typed: Kept[Any, terms.Pattern] = Kept("nodes that were typed")


@contextmanager
def typed_once() -> Generator[None]:
    """Nodes of one kind whose parts have the same types are typed once inside.

    Types are equal whatever the sizes that they name are at least; so inside are terms of one program.

    >>> from relift import f32, program
    >>> from relift import map as mapped
    >>> from relift.semantics.syntax.nodes import fields, rebuilt, typed_once
    >>> @program
    ... def double(x: f32[8]):
    ...     return mapped(lambda v: v + v, x)
    >>> with typed_once():
    ...     first, again = (rebuilt(double.body, fields(double.body)) for _ in range(2))
    >>> first == again, first.type is again.type
    (True, True)
    """
    with _typed.once():
        yield


def _pattern(kind: Any, values: list[Any]) -> terms.Term:
    """A pattern that holds these values; as one before it where that had parts of the same types."""
    known = _typed.now()
    if known is None or _binds_a_size(kind):
        return _built(kind, values)
    key = kind, *map(_typing, values)
    before = known.get(key)
    if before is None:
        found = _built(kind, values)
        if isinstance(found, terms.Pattern) and type(found) is kind:
            known[key] = found
        return found
    held = (
        value if isinstance(value, Expression | terms.Lambda) else getattr(before, name)
        for name, value in zip(kind.holds, values, strict=True)
    )
    return changed(before, dict(zip(kind.holds, held, strict=True)))


@cache
def _binds_a_size(kind: type[Any]) -> bool:
    given = kind.signature.parameters.values()
    return any(isinstance(each, FunctionKind) and each.binds is not None for each in given)


def _built(kind: type[terms.Pattern], values: list[Any]) -> terms.Term:
    """A pattern, typed by its signature."""
    given = (
        FixedLambda(value.parameters, value.body) if isinstance(value, terms.Lambda) else value
        for value in values
    )
    return build(kind, list(given))


def _typing(value: Any) -> Any:
    """What the type of a node hangs on in one of its fields: the types of what is below it, and what else it holds."""
    if isinstance(value, Expression):
        return value.type
    if isinstance(value, terms.Lambda):
        return tuple([x.type for x in value.parameters]), value.body.type
    return type(value), value


def rebuilt(t: terms.Term, values: Iterable[Any]) -> terms.Term:
    """A node of the kind of `t` that holds other values, typed again; raises `IllTyped`."""
    return made(type(t), values)
