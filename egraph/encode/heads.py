"""Nodes without their children: of a slot of the e-graph, of a term, and whether the two are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from relift.egraph.encode.constructors import Constructor, Kind
from relift.egraph.encode.terms import literal_text
from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.indices.reader import read_literal_parameter
from relift.semantics.language.coercion import combine, make_tuple
from relift.semantics.language.tracing import FixedLambda, build, component
from relift.semantics.syntax import terms
from relift.semantics.syntax.nodes import fields
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    NatKind,
    NumbersKind,
    OperatorKind,
)
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import AnyType, Scalar, Type, boolean


@dataclass(frozen=True)
class Head:
    """A node without its children: all that is needed to rebuild it from terms.

    `kind` says what sort of term it is; `pattern` is set when it is one.  `places` are the places of the
    children, in order; a lambda is the place of its body, and `binders` are its parameters.
    """

    kind: Kind
    places: tuple[str, ...]
    pattern: type[terms.Pattern] | None = None
    name: str = ""
    naturals: tuple[Size, ...] = ()
    operator: terms.Operator | None = None
    binders: tuple[terms.Var, ...] = ()
    type: Type | None = None
    value: terms.Number | None = None
    index: int | None = None
    function: terms.UserFunction | None = None
    written: str = ""

    def term(self, parts: Sequence[terms.Term]) -> terms.Term:
        """The node with these children, typed again by its constructor."""
        match self.kind:
            case "var":
                return terms.Var(self.name, self._type)
            case "input":
                return terms.Input(self.name, self._type)
            case "literal":
                assert self.value is not None, "cannot happen: a literal has a value"
                return terms.Literal(self.value, self._type)
            case "apply":
                return terms.Apply(self.name, tuple(parts), self._type)
            case "call":
                assert self.function is not None, "cannot happen: a call has a function"
                return terms.Call(self.function, tuple(parts), self._type)
            case "metavariable":
                return terms.Metavariable(self.name, tuple(parts), self._type)
            case "combine":
                assert self.operator is not None, "cannot happen: combine has an operator"
                return combine(self.operator, *parts)
            case "tuple":
                return make_tuple(*parts)
            case "get":
                return component(parts[0], self.index)
            case "pattern":
                return self._pattern(parts)
            case "substitution":
                raise AssertionError("cannot happen: a substitution is no node of a snapshot")

    @property
    def label(self) -> str:
        """What the node is called where its children are drawn beside it.

        >>> from relift.egraph.encode.heads import Head
        >>> from relift.semantics.syntax.sizes import Size
        >>> Head("pattern", (), name="split", naturals=(Size.of(4),)).label
        'split(4)'
        """
        match self.kind:
            case "get":
                return f"[{self.index}]"
            case "tuple":
                return "tuple"
            case "literal":
                return str(self.value)
            case "combine":
                return str(self.operator)
            case "var" | "input" | "apply" | "call" | "metavariable" | "pattern" | "substitution":
                told = [*map(str, self.naturals), *([str(self.operator)] if self.operator else [])]
                return self.name + (f"({', '.join(told)})" if told else "")

    @property
    def shape(self) -> Head:
        """What heads that are alike share: the types of the names they bind, and how a literal is written."""
        text = "" if self.value is None else literal_text(self.value, self._type)
        binders = tuple(terms.Var("", x.type) for x in self.binders)
        return replace(self, binders=binders, value=None, written=self.written + text)

    @property
    def _type(self) -> Type:
        assert self.type is not None, f"cannot happen: {self.kind} has a type"
        return self.type

    def _pattern(self, parts: Sequence[terms.Term]) -> terms.Term:
        assert self.pattern is not None, "cannot happen: the kind is pattern"
        naturals, binders, given = iter(self.naturals), iter(self.binders), iter(parts)
        arguments: list[Any] = []
        for kind in self.pattern.signature.parameters.values():
            match kind:
                case NatKind():
                    arguments.append(next(naturals))
                case OperatorKind():
                    arguments.append(self.operator)
                case IndexKind() | NumbersKind():
                    arguments.append(read_literal_parameter(self.written))
                case FunctionKind(types):
                    parameters = tuple(next(binders) for _ in types)
                    arguments.append(FixedLambda(parameters, next(given)))
                case AnyType():
                    arguments.append(next(given))
        return build(self.pattern, arguments)


def head(c: Constructor, data: Sequence[Any], functions: Mapping[str, terms.UserFunction]) -> Head:
    """The head of a node whose slots hold these values; those that hold terms are not looked at."""
    by_place = {slot.place: value for slot, value in zip(c.slots, data, strict=True)}
    places = tuple(c.slots[i].place for i in c.terms)
    match c.kind:
        case "var":
            return Head("var", (), name=data[0].name, type=data[0].type)
        case "literal":
            t = by_place["type"]
            return Head("literal", (), type=t, value=_number(data[0], t))
        case "call":
            return Head("call", places, name=data[0], type=data[1], function=functions[data[0]])
        case "input" | "apply" | "metavariable":
            return Head(c.kind, places, name=data[0], type=data[1])
        case "combine":
            return Head("combine", places, operator=data[0])
        case "get":
            return Head("get", places, index=data[0])
        case "tuple":
            return Head("tuple", places)
        case "pattern" | "substitution":
            assert c.pattern is not None, "cannot happen: a substitution is no node"
            operators = [v for slot, v in zip(c.slots, data, strict=True) if slot.sort == "O"]
            return Head(
                "pattern",
                places,
                c.pattern,
                c.pattern.name,
                tuple(Size.of(data[i]) for i, s in enumerate(c.slots) if s.sort == "i64"),
                operators[0] if operators else None,
                tuple(data[i] for i in c.names),
                written="".join(
                    v for s, v in zip(c.slots, data, strict=True) if s.sort == "String"
                ),
            )


def _number(text: str, t: Scalar) -> terms.Number:
    if t.is_float:
        return float(text)
    return text == "True" if t == boolean else int(text)


def head_of(t: terms.Term) -> Head:
    """The node of a term without its children.

    >>> from relift import i32
    >>> from relift.egraph.encode.heads import head_of
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input, Lambda, children
    >>> t = parse_term("map(lambda x: x + 1, xs)", xs=Input("xs", i32[4]))
    >>> head_of(t).term([u.body if isinstance(u, Lambda) else u for _, u in children(t)]) == t
    True
    """
    places = tuple(place for place, _ in terms.children(t))
    match t:
        case terms.Var(name, of):
            return Head("var", (), name=name, type=of)
        case terms.Input(name, of):
            return Head("input", (), name=name, type=of)
        case terms.Literal(value, of):
            return Head("literal", (), value=value, type=of)
        case terms.Apply(function, _, of):
            return Head("apply", places, name=function, type=of)
        case terms.Call(user, _, of):
            return Head("call", places, name=user.name, type=of, function=user)
        case terms.Metavariable(name, _, of):
            return Head("metavariable", places, name=name, type=of)
        case terms.Combine(operator):
            return Head("combine", places, operator=operator)
        case terms.MakeTuple():
            return Head("tuple", places)
        case terms.Get(index):
            return Head("get", places, index=index)
        case terms.Pattern():
            return _pattern(t, places)


def _pattern(t: terms.Pattern, places: tuple[str, ...]) -> Head:
    found: dict[str, Any] = {"naturals": (), "binders": ()}
    for value in fields(t):
        if isinstance(value, Size):
            found["naturals"] += (value,)
        elif isinstance(value, terms.Lambda):
            found["binders"] += value.parameters
        elif isinstance(value, terms.Operator):
            found["operator"] = value
        elif isinstance(value, LiteralParameter):
            found["written"] = str(value)
    return Head("pattern", places, type(t), t.name, **found)


def matches(
    head: Head, t: terms.Term, names: Mapping[str, terms.Var]
) -> dict[str, terms.Var] | None:
    """The names of a node for the variables of `t`, if it has the head of `t` but for names; else None."""
    if isinstance(t, terms.Var):
        same = head.kind == "var" and names.get(t.name, t) == terms.Var(head.name, t.type)
        return dict(names) if same else None
    mine = head_of(t)
    if head.shape != mine.shape:
        return None
    return {**names, **{x.name: y for x, y in zip(mine.binders, head.binders, strict=True)}}
