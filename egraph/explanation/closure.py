"""Congruence closure with a proof forest (Nieuwenhuis and Oliveras, RTA 2005).

Why two terms are equal is a path of equations and congruences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any

from relift.egraph.explanation.firings import Firing
from relift.egraph.explanation.ground import Ground


@dataclass(frozen=True)
class Edge:
    """Why two terms are equal: a firing (from its matched to its built side), or congruence, or names."""

    source: int
    target: int
    firing: Firing | None
    kind: str


class Closure:
    """Congruence closure over ground terms, with a proof forest."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._leader: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._users: dict[int, list[int]] = {}
        self._signatures: dict[tuple[Any, ...], int] = {}
        self._proof: dict[int, Edge] = {}
        self._pending: list[Edge] = []
        self._links: dict[int, list[Edge]] = {}

    def add(self, t: int) -> None:
        """Make a term and all its subterms known."""
        if t in self._leader:
            return
        for child in self.ground.children[t]:
            self.add(child)
        self._leader[t] = t
        self._members[t] = [t]
        self._users[t] = []
        for child in self.ground.children[t]:
            self._users[self._leader[child]].append(t)
        self._enter(t)
        self._propagate()

    def merge(self, source: int, target: int, firing: Firing | None, kind: str) -> None:
        """Make two terms equal."""
        self.add(source)
        self.add(target)
        edge = Edge(source, target, firing, kind)
        if self.equal(source, target):
            self._link(edge)
        else:
            self._pending.append(edge)
            self._propagate()

    def _link(self, edge: Edge) -> None:
        self._links.setdefault(edge.source, []).append(edge)
        self._links.setdefault(edge.target, []).append(_reversed(edge))

    def equal(self, t: int, u: int) -> bool:
        return self._leader[t] == self._leader[u]

    def members(self, t: int) -> list[int]:
        """All known terms that are equal to a known term."""
        return self._members[self._leader[t]]

    def _signature(self, t: int) -> tuple[Any, ...]:
        name, data = self.ground.labels[t]
        return (name, data, *(self._leader[child] for child in self.ground.children[t]))

    def _enter(self, t: int) -> None:
        other = self._signatures.setdefault(self._signature(t), t)
        if other == t:
            return
        edge = Edge(t, other, None, "congruence")
        if not self.equal(other, t):
            self._pending.append(edge)
        elif edge not in self._links.get(t, ()):
            self._link(edge)  # one more reason, which may be the shorter one

    def _propagate(self) -> None:
        while self._pending:
            edge = self._pending.pop()
            small, large = self._leader[edge.source], self._leader[edge.target]
            if small == large:
                continue
            self._link(edge)
            if len(self._members[small]) > len(self._members[large]):
                small, large = large, small
                edge = _reversed(edge)
            self._reroot(edge.source)
            self._proof[edge.source] = edge
            for t in self._members[small]:
                self._leader[t] = large
            self._members[large] += self._members.pop(small)
            users = self._users.pop(small)
            self._users[large] += users
            for t in users:
                self._enter(t)

    def _reroot(self, t: int) -> None:
        """Turn the edges above `t`, so that it becomes the root of its proof tree."""
        edge = self._proof.pop(t, None)
        while edge is not None:
            above = self._proof.pop(edge.target, None)
            self._proof[edge.target] = _reversed(edge)
            edge = above

    def short_path(self, t: int, u: int, price: Callable[[Edge], int]) -> list[Edge]:
        """A cheapest path from `t` to `u` over all equations."""
        came: dict[int, Edge | None] = {}
        queue: list[tuple[int, int, int, Edge | None]] = [(0, 0, t, None)]
        order = count(1)
        while u not in came:
            cost, _, node, edge = heappop(queue)
            if node in came:
                continue
            came[node] = edge
            for link in self._links.get(node, ()):
                if link.target not in came:
                    heappush(queue, (cost + price(link), next(order), link.target, link))
        path: list[Edge] = []
        while (edge := came[u]) is not None:
            path.append(edge)
            u = edge.source
        return path[::-1]

    def path(self, t: int, u: int) -> list[Edge]:
        """The edges of the proof forest from `t` to `u`."""
        ancestors = {t: 0}
        up: list[Edge] = []
        node = t
        while node in self._proof:
            up.append(self._proof[node])
            node = self._proof[node].target
            ancestors[node] = len(up)
        down: list[Edge] = []
        node = u
        while node not in ancestors:
            down.append(_reversed(self._proof[node]))
            node = self._proof[node].target
        return up[: ancestors[node]] + down[::-1]


def _reversed(edge: Edge) -> Edge:
    kinds = {"forward": "backward", "backward": "forward"}
    return Edge(edge.target, edge.source, edge.firing, kinds.get(edge.kind, edge.kind))
