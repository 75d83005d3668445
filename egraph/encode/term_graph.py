"""A single term as an e-graph in which every class has one node, so that extraction can lower it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from relift.egraph.encode.snapshot import ENode, Head
from relift.semantics.indices.functions import Written
from relift.semantics.syntax.binding import Position
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Get,
    Input,
    Lambda,
    Literal,
    MakeTuple,
    Metavariable,
    OperatorMetavariable,
    Pattern,
    Term,
    Var,
    Vectorized,
    children,
)
from relift.semantics.syntax.types import Type


class Classes(Protocol):
    """What extraction needs of an e-graph."""

    @property
    def root(self) -> int:
        """The class of the program."""
        ...

    def type_of(self, eclass: int) -> Type:
        """The type of a class."""
        ...

    def nodes(self, eclass: int) -> Sequence[ENode]:
        """The nodes of a class."""
        ...


class TermGraph:
    """The subterms of a term, a class each, numbered from the root; `at` finds one by its position."""

    root = 0

    def __init__(self, t: Term) -> None:
        self.at: dict[Position, int] = {}
        self._types: list[Type] = []
        self._nodes: list[ENode | None] = []
        self._add(t, ())

    def type_of(self, eclass: int) -> Type:
        return self._types[eclass]

    def nodes(self, eclass: int) -> Sequence[ENode]:
        node = self._nodes[eclass]
        assert node is not None, "cannot happen: the whole term was added"
        return [node]

    def _add(self, t: Term, position: Position) -> int:
        number = self.at[position] = len(self._types)
        self._types.append(t.type)
        self._nodes.append(None)
        below = [
            self._add(u.body if isinstance(u, Lambda) else u, (*position, place))
            for place, u in children(t)
        ]
        self._nodes[number] = ENode(head_of(t), tuple(below))
        return number


def head_of(t: Term) -> Head:
    """The node of a term without its children.

    >>> t = parse("map(lambda x: x + 1, xs)", xs=Input("xs", i32[4]))
    >>> head_of(t).term([u.body if isinstance(u, Lambda) else u for _, u in children(t)]) == t
    True
    """
    places = tuple(place for place, _ in children(t))
    match t:
        case Var(name, of):
            return Head("var", (), name=name, type=of)
        case Input(name, of):
            return Head("input", (), name=name, type=of)
        case Literal(value, of):
            return Head("literal", (), value=value, type=of)
        case Apply(function, _, of):
            return Head("apply", places, name=function, type=of)
        case Call(user, _, of):
            return Head("call", places, name=user.name, type=of, function=user)
        case Metavariable(name, _, of):
            return Head("metavariable", places, name=name, type=of)
        case Combine(operator):
            return Head("combine", places, operator=operator)
        case MakeTuple():
            return Head("tuple", places)
        case Get(index):
            return Head("get", places, index=index)
        case Pattern():
            return _pattern(t, places)


def _pattern(t: Pattern, places: tuple[str, ...]) -> Head:
    found: dict[str, Any] = {"naturals": (), "binders": ()}
    for place in t.signature.parameters:
        match getattr(t, place):
            case Size() as n:
                found["naturals"] += (n,)
            case Lambda(parameters, _):
                found["binders"] += parameters
            case BinaryOperator() | OperatorMetavariable() | Vectorized() as operator:
                found["operator"] = operator
            case Written() as constant:
                found["written"] = str(constant)
            case _:
                pass
    return Head("pattern", places, type(t), t.name, **found)
