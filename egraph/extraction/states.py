"""What is wanted of an e-class and where, and what answers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from relift.egraph.encode.snapshot import ENode
from relift.rewrites.derivation.steps import Step
from relift.semantics.syntax.binding import Position
from relift.semantics.syntax.terms import Term


class Want(Enum):
    """What is wanted of an e-class."""

    __hash__ = object.__hash__  # each is equal to itself alone; Python's hashes its name each time

    VIEW = "view"
    LAYOUT = "layout"
    VALUE = "value"
    WRITE = "write"
    START = "start"
    INVERSE = "inverse"


class Place(Enum):
    """Where a term is evaluated: on the host, between thread dimensions, in a work-item, in a lane.

    An accumulator is a place of its own, which a fold changes step by step: in registers, which have no
    addresses, so loops over them are written out, or in private memory.
    """

    __hash__ = object.__hash__

    HOST = "host"
    ROWS = "part of a result, below no map yet"
    GRIDS = "part of a result of two dimensions, below no map yet"
    BELOW_GLB1 = "below map_glb(1)"
    BELOW_WRG0 = "below map_wrg(0)"
    ITEM = "work-item"
    REGISTERS = "registers of a work-item"
    PRIVATE = "private memory of a work-item"
    LANE = "lane"


@dataclass(frozen=True)
class State:
    """A question to the dynamic programme; `variable` is the one that an Inverse rearranges."""

    eclass: int
    want: Want
    place: Place
    variable: str = ""


@dataclass(frozen=True)
class Lowering:
    """A lowering rule to apply at a node or `inside` it, with the sizes it leaves open."""

    rule: str
    choices: tuple[tuple[str, int], ...] = ()
    inside: Position = ()

    def below(self, place: Position) -> Lowering:
        """The same lowering where the node has moved to a place below."""
        return replace(self, inside=(*place, *self.inside))


Plan: TypeAlias = tuple[object, ...]
"""The nest of loops, thread dimensions, vectors and buffers of a term."""


@dataclass(frozen=True)
class Choice:
    """A node of the e-graph, how it is lowered, where that moves it, and the plans chosen below it."""

    node: ENode
    lowerings: tuple[Lowering, ...]
    moved: Position
    children: tuple[tuple[State, Plan], ...]


@dataclass(frozen=True)
class Candidate:
    """A term of the e-graph, the same term lowered, and the lowering steps between them."""

    high: Term
    low: Term
    lowering: tuple[Step, ...]
    plan: Plan
    work: float


@dataclass(frozen=True)
class Option:
    """One way to answer a state: its own cost from its children's, and its part of the plan.

    The lowerings may put patterns around the node, which is `moved` below them.  Of the children in `minor`
    only the best plan counts: what a border looks like makes no plan of its own.
    """

    node: ENode
    lowerings: tuple[Lowering, ...]
    children: tuple[State, ...]
    trips: tuple[float, ...]
    own: float
    label: tuple[object, ...]
    moved: Position = ()
    minor: tuple[int, ...] = ()

    def inside(self, rule: str, cost: float) -> Option:
        """The option inside a memory that the rule provides."""
        return replace(
            self,
            lowerings=(Lowering(rule), *(low.below(("xs",)) for low in self.lowerings)),
            own=self.own + cost,
            label=(rule, self.label),
            moved=("xs", *self.moved),
        )
