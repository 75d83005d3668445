"""A single term as an e-graph in which every class has one node, so that extraction can lower it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from relift.egraph.encode.heads import head_of
from relift.egraph.encode.snapshot import ENode
from relift.semantics.syntax.binding import Position
from relift.semantics.syntax.terms import Term, inside
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
    """The subterms of a term, a class each, numbered from the root; `at` finds one by its position.

    What is one object in several places is one class, and has the position of the first, unless each place is wanted `apart`.
    """

    root = 0

    def __init__(self, t: Term, *, apart: bool = True) -> None:
        self.at: dict[Position, int] = {}
        self._known: dict[int, int] | None = None if apart else {}
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
        if self._known is not None:
            if id(t) in self._known:
                return self._known[id(t)]
            self._known[id(t)] = len(self._types)
        number = self.at[position] = len(self._types)
        self._types.append(t.type)
        self._nodes.append(None)
        below = [self._add(u, (*position, place)) for place, u, _ in inside(t)]
        self._nodes[number] = ENode(head_of(t), tuple(below))
        return number
