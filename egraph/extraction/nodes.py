"""The nodes of an e-graph as extraction sees them: what each is capable of, and units of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from relift.device import DeviceDescription
from relift.egraph.encode.snapshot import ENode
from relift.egraph.encode.term_graph import Classes
from relift.egraph.extraction.states import Lowering, Option, Place, State, Want
from relift.semantics.patterns import MapVec
from relift.semantics.syntax.terms import Pattern
from relift.semantics.syntax.types import (
    Array,
    Type,
    TypeVariable,
    Vector,
    cells,
    holds_array,
    types_within,
)

# Work in units of one scalar operation of one work-item.
LAYOUT, LAUNCH, BUFFER_CELL = 0.05, 20_000.0, 2.0
PRIVATE_CELLS, LOCAL_CELLS = 64, 4096
REGISTER_CELLS, ACCUMULATOR_CELLS = 128, 4096
"""Cells of an accumulator in registers, and of one in private memory."""


def rearranges(pattern: type[Pattern] | None) -> TypeGuard[type[Pattern]]:
    """Whether a pattern is a layout that a search result may contain; a vector is no array to index into."""
    return pattern is not None and pattern.layout and pattern.searched and pattern is not MapVec


def inverts(pattern: type[Pattern] | None) -> bool:
    """Whether a write can follow a pattern of one array backwards, and all that is written has a place then."""
    if pattern is None or pattern is MapVec or pattern.drops or not pattern.searched:
        return False
    return pattern.has_inverse() and pattern.signature.roles == ("array",)


def gives_an_element(pattern: type[Pattern] | None) -> TypeGuard[type[Pattern]]:
    """Whether a pattern is one element of its array."""
    return rearranges(pattern) and isinstance(pattern.signature.result, TypeVariable)


def holds_vectors(t: Type) -> bool:
    return any(isinstance(u, Vector) for u in types_within(t))


@dataclass(frozen=True)
class Nodes:
    """The nodes of one e-graph, to be lowered for a device."""

    snapshot: Classes
    device: DeviceDescription

    @property
    def parallel(self) -> float:
        """How many work-items run at once."""
        units = float(max(1, self.device.compute_units))
        return units * 1024.0 if self.device.kind == "gpu" else units

    def type(self, eclass: int) -> Type:
        """The type of a class."""
        return self.snapshot.type_of(eclass)

    def is_array(self, eclass: int) -> bool:
        """Whether a class is one of arrays."""
        return isinstance(self.type(eclass), Array)

    def written(self, eclass: int) -> Want:
        """How a part of a result is computed: what is or has an array, into memory."""
        return Want.WRITE if holds_array(self.type(eclass)) else Want.VALUE

    def named(self, x: int, place: Place) -> State:
        """The value that a `let` names: computed where it stands, or read."""
        return State(x, Want.VIEW if self.is_array(x) else Want.VALUE, place)

    def length(self, eclass: int) -> float:
        """The length of a class of arrays."""
        t = self.type(eclass)
        assert isinstance(t, Array), f"cannot happen: {t} is mapped over"
        return float(t.length.constant or 0)

    def cells(self, eclass: int) -> float:
        """The cells that a class has in memory."""
        return float(cells(self.type(eclass)).constant or 0)


def answer(
    node: ENode,
    children: Sequence[State],
    own: float,
    *,
    trips: tuple[float, ...] | None = None,
    label: tuple[object, ...] = (),
    lowerings: tuple[Lowering, ...] = (),
) -> Option:
    """A way to answer a state by a node; each child is needed once unless `trips` says how often."""
    return Option(node, lowerings, tuple(children), trips or (1.0,) * len(children), own, label)
