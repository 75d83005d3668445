"""Nodes without their children: of a slot of the e-graph, of a term, and whether the two are alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from relift.egraph.encode.constructors import Constructor, Slot
from relift.egraph.encode.terms import literal_text
from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.indices.reader import read_literal_parameter
from relift.semantics.language.tracing import FixedLambda
from relift.semantics.syntax import terms
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import Field, fields, made
from relift.semantics.syntax.places import in_row
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Scalar, Type, boolean


@dataclass(frozen=True)
class Hole:
    """Where a node has a term, or a function of these parameters."""

    parameters: tuple[terms.Var, ...] = ()


Held: TypeAlias = (
    Hole
    | tuple[Hole, ...]
    | str
    | terms.Number
    | terms.UserFunction
    | terms.Operator
    | Size
    | Type
    | LiteralParameter
)
"""What a node has in a field, with nothing below it."""


@dataclass(frozen=True)
class Head:
    """A node without its children: its kind and what it holds, all that is needed to rebuild it from terms."""

    kind: type[terms.Term]
    holds: tuple[Held, ...]

    def term(self, parts: Sequence[terms.Term]) -> terms.Term:
        """The node with these children, typed again by its constructor."""
        given = iter(parts)
        return made(self.kind, [_filled(value, given) for value in self.holds])

    @cached_property
    def pattern(self) -> type[terms.Pattern] | None:
        """The pattern that it is, if it is one."""
        return self.kind if issubclass(self.kind, terms.Pattern) else None

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The places of the children, in order."""
        found: list[str] = []
        for place, value in zip(self.kind.holds, self.holds, strict=True):
            if isinstance(value, Hole):
                found.append(place)
            elif isinstance(value, tuple):
                found += [in_row(place, i) for i in range(len(value))]
        return tuple(found)

    @cached_property
    def binders(self) -> tuple[terms.Var, ...]:
        """The parameters of all its functions."""
        return tuple(x for value in self.holds if isinstance(value, Hole) for x in value.parameters)

    @cached_property
    def naturals(self) -> tuple[Size, ...]:
        """The sizes that it is written with."""
        return tuple(value for value in self.holds if isinstance(value, Size))

    @cached_property
    def operator(self) -> terms.Operator | None:
        """The operator that it combines with."""
        return next((value for value in self.holds if isinstance(value, terms.Operator)), None)

    @property
    def name(self) -> str:
        """What a variable, an input, a function, a metavariable or a pattern is called."""
        if issubclass(self.kind, terms.Pattern):
            return self.kind.name
        function = self.holds[0]
        return function.name if isinstance(function, terms.UserFunction) else str(function)

    @property
    def label(self) -> str:
        """What the node is called where its children are drawn beside it.

        >>> from relift.egraph.encode.heads import Hole, Head
        >>> from relift.semantics.patterns import Split
        >>> from relift.semantics.syntax.sizes import Size
        >>> Head(Split, (Size.of(4), Hole())).label
        'split(4)'
        """
        if self.kind is terms.Get:
            return f"[{self.holds[0]}]"
        if self.kind is terms.MakeTuple:
            return "tuple"
        if self.kind is terms.Literal or self.kind is terms.Combine:
            return str(self.holds[0])
        told = [*map(str, self.naturals), *([str(self.operator)] if self.operator else [])]
        return self.name + (f"({', '.join(told)})" if told else "")

    @cached_property
    def shape(self) -> tuple[object, ...]:
        """What heads that are alike share: all but the names that they bind, and how literals are written."""
        if self.kind is terms.Literal:
            value, of = self.holds
            return self.kind, literal_text(value, of), of  # type: ignore[arg-type]
        return self.kind, *map(_without_names, self.holds)


def _filled(value: Held, given: Iterator[terms.Term]) -> Any:
    """What a field holds, given the next of the children."""
    if isinstance(value, Hole):
        return FixedLambda(value.parameters, next(given)) if value.parameters else next(given)
    return tuple(next(given) for _ in value) if isinstance(value, tuple) else value


def _without_names(value: Held) -> object:
    if isinstance(value, Hole):
        return tuple(x.type for x in value.parameters)
    return str(value) if isinstance(value, LiteralParameter) else value


def head(c: Constructor, data: Sequence[Any], functions: Mapping[str, terms.UserFunction]) -> Head:
    """The head of a node whose slots hold these values; those that hold terms are not looked at."""
    assert c.of is not None, "cannot happen: a substitution is no node"
    if c.of is terms.Var:
        return Head(terms.Var, (data[0].name, data[0].type))
    slots = {slot.place: (slot, value) for slot, value in zip(c.slots, data, strict=True)}
    held: list[Held] = []
    for place in c.of.holds:
        if place == c.of.row:
            held.append((Hole(),) * len(c.terms))
            continue
        slot, value = slots[place]
        match slot.sort:
            case "E":
                held.append(Hole(tuple(slots[in_row(place, i)][1] for i in range(slot.binds))))
            case "String":
                held.append(_read(c.of, value, slots, functions))
            case "i64":
                held.append(Size.of(value) if issubclass(c.of, terms.Pattern) else value)
            case "O" | "T" | "N":
                held.append(value)
    return Head(c.of, tuple(held))


def _read(
    kind: type[terms.Term],
    text: str,
    slots: Mapping[str, tuple[Slot, Any]],
    functions: Mapping[str, terms.UserFunction],
) -> Held:
    """What a node of a kind holds, of which egglog has the text."""
    if kind is terms.Literal:
        return _number(text, slots["type"][1])
    if kind is terms.Call:
        return functions[text]
    return _literal_parameter(text) if issubclass(kind, terms.Pattern) else text


@lru_cache(maxsize=1024)
def _literal_parameter(text: str) -> LiteralParameter:
    return read_literal_parameter(text)


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
    return Head(type(t), tuple(map(_emptied, fields(t))))


def _emptied(value: Field) -> Held:
    """What a field holds, without what is below it."""
    if isinstance(value, terms.Lambda):
        return Hole(value.parameters)
    if isinstance(value, tuple):
        return (Hole(),) * len(value)
    return Hole() if isinstance(value, Expression) else value


def matches(
    head: Head, t: terms.Term, names: Mapping[str, terms.Var]
) -> dict[str, terms.Var] | None:
    """The names of a node for the variables of `t`, if it has the head of `t` but for names; else None."""
    if isinstance(t, terms.Var):
        same = head.kind is terms.Var and names.get(t.name, t) == head.term(())
        return dict(names) if same else None
    mine = head_of(t)
    if head.shape != mine.shape:
        return None
    return {**names, **{x.name: y for x, y in zip(mine.binders, head.binders, strict=True)}}
