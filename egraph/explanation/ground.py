"""Terms of an e-graph as numbers: equal terms are one number, names are numbers, substitution is carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relift.egraph.encode.constructors import Constructor
from relift.egraph.encode.terms import Applied, node_of
from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Lambda,
    MakeTuple,
    Operator,
    OperatorMetavariable,
    Term,
    Var,
    Vectorized,
)
from relift.semantics.syntax.types import AnyType, Type


class Ground:
    """Interned terms: numbers with a label and children; equal terms are one number.

    A label is a constructor and what its slots hold besides terms; names are numbers.  The component of a
    tuple that is written out is the part itself, as everywhere in Relift.
    """

    def __init__(self, constructors: Mapping[str, Constructor], variables: dict[int, Var]) -> None:
        self.constructors, self.variables = constructors, variables
        self.labels: list[tuple[str, tuple[Any, ...]]] = []
        self.children: list[tuple[int, ...]] = []
        self.free: list[frozenset[int]] = []
        self._numbers: dict[tuple[str, tuple[Any, ...], tuple[int, ...]], int] = {}

    def node(self, name: str, data: tuple[Any, ...], children: tuple[int, ...]) -> int:
        """The term with this constructor, data (None in the slots of terms) and children."""
        if name == "Get" and self.constructors[self.labels[children[0]][0]].of is MakeTuple:
            index: int = data[0]
            return self.children[children[0]][index]
        return self.written(name, data, children)

    def written(self, name: str, data: tuple[Any, ...], children: tuple[int, ...]) -> int:
        """The term as it is written: the component of a tuple stays one.

        Between two steps inside a component the tuple can be written out for a while.
        """
        key = (name, data, children)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.labels)
            self.labels.append((name, data))
            self.children.append(children)
            self.free.append(self._free(name, data, children))
        return number

    def _free(self, name: str, data: tuple[Any, ...], children: tuple[int, ...]) -> frozenset[int]:
        if name == "Var":
            return frozenset((data[0],))
        c = self.constructors[name]
        free: frozenset[int] = frozenset()
        for i, child in zip(c.terms, children, strict=True):
            free |= self.free[child] - {data[j] for j in c.bound(i)}
        return free

    def of(
        self,
        t: Applied,
        slots: Callable[[Size | Type | Operator | LiteralParameter], Sequence[Any]],
        child: Callable[[Term], int],
        scoped: Callable[[Lambda], tuple[Sequence[int], int]],
    ) -> int:
        """The term that t is, from what its data are in their slots, its children, and the names and body of a scope."""
        constructor, fields = node_of(t)
        data: list[Any] = []
        children: list[int] = []
        for field in fields:
            match field:
                case str() | int():
                    data.append(field)
                case Lambda():
                    names, body = scoped(field)
                    data += [*names, None]
                    children.append(body)
                case Expression():
                    data.append(None)
                    children.append(child(field))
                case (
                    Size() | LiteralParameter() | AnyType()
                    | BinaryOperator() | OperatorMetavariable() | Vectorized()
                ):  # fmt: skip
                    data += slots(field)
        return self.node(constructor, tuple(data), tuple(children))

    def variable(self, name: int) -> int:
        return self.node("Var", (name,), ())

    def renamed(self, name: int) -> int:
        """A name of the same type that occurs nowhere."""
        fresh = -1 - len(self.variables)
        old = self.variables[name]
        self.variables[fresh] = Var(f"{old.name}_{-fresh}", old.type)
        return fresh

    def substitute(self, t: int, values: Mapping[int, int]) -> int:
        """Replace names by terms, all at once, without capture."""
        return self._substitute(t, {x: u for x, u in values.items() if u != self.variable(x)}, {})

    def _substitute(
        self,
        t: int,
        values: dict[int, int],
        done: dict[tuple[int, frozenset[tuple[int, int]]], int],
    ) -> int:
        values = {x: u for x, u in values.items() if x in self.free[t]}
        if not values:
            return t
        key = (t, frozenset(values.items()))
        if key in done:
            return done[key]
        name, data = self.labels[t]
        if name == "Var":
            return values[data[0]]
        c = self.constructors[name]
        changed: list[Any] = list(data)
        children: list[int] = []
        for i, child in zip(c.terms, self.children[t], strict=True):
            inner = {x: u for x, u in values.items() if x not in {data[j] for j in c.bound(i)}}
            wanted = {x: u for x, u in inner.items() if x in self.free[child]}
            for j in c.bound(i):
                if any(data[j] in self.free[u] for u in wanted.values()):
                    changed[j] = self.renamed(data[j])
                    inner[data[j]] = self.variable(changed[j])
            children.append(self._substitute(child, inner, done))
        done[key] = self.node(name, tuple(changed), tuple(children))
        return done[key]
