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
    """The subterms of a term, a class for each place, numbered from the root; `at` finds one by its position."""

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
        below = [self._add(u, (*position, place)) for place, u, _ in inside(t)]
        self._nodes[number] = ENode(head_of(t), tuple(below))
        return number


class TermsGraph:
    """The subterms of all terms that are added, a class for each: equal ones are one, wherever they stand.

    >>> from relift import f32
    >>> from relift.egraph.encode.term_graph import TermsGraph
    >>> from relift.semantics.syntax.terms import Input
    >>> x, graph = Input("x", f32), TermsGraph()
    >>> graph.add(x + x), graph.add(x), graph.add((x + x) * x), len(graph)
    (1, 0, 2, 3)
    """

    root = 0

    def __init__(self) -> None:
        self._known: dict[Term, int] = {}
        self._nodes: list[tuple[Type, list[ENode]]] = []

    def __len__(self) -> int:
        return len(self._nodes)

    def type_of(self, eclass: int) -> Type:
        return self._nodes[eclass][0]

    def nodes(self, eclass: int) -> Sequence[ENode]:
        return self._nodes[eclass][1]

    def add(self, t: Term) -> int:
        """The class of a term."""
        if (known := self._known.get(t)) is not None:
            return known
        below = tuple(self.add(u) for _, u, _ in inside(t))
        self._nodes.append((t.type, [ENode(head_of(t), below)]))
        number = self._known[t] = len(self._nodes) - 1
        return number
