"""The ways to read an e-class where it stands: as data that is indexed, as a layout, as a value in registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from relift.egraph.encode.snapshot import ENode
from relift.egraph.extraction.nodes import (
    ACCUMULATOR_CELLS,
    BUFFER_CELL,
    LAUNCH,
    LAYOUT,
    LOCAL_CELLS,
    PRIVATE_CELLS,
    Nodes,
    answer,
    gives_an_element,
    rearranges,
)
from relift.egraph.extraction.states import Lowering, Option, Place, State, Want
from relift.egraph.extraction.writing import Writes
from relift.semantics import patterns
from relift.semantics.syntax.signatures import Role
from relift.semantics.syntax.terms import (
    Apply,
    Call,
    Combine,
    Get,
    Input,
    Literal,
    MakeTuple,
    Pattern,
    Var,
)
from relift.semantics.syntax.types import Array, dimensions, holds_array

_LEAVES = (Var, Input, Literal)
_ITEMS = (Place.ITEM, Place.REGISTERS, Place.PRIVATE)
_OUTSIDE = (Place.HOST, Place.ROWS, Place.GRIDS)
"""Outside of all maps: what is stored there depends on no variable of a kernel."""
_OUTER_LOOPS = {
    Place.HOST: (Lowering("map_to_glb", (("d", 0),)),),
    Place.ROWS: (Lowering("map_to_glb", (("d", 0),)),),
    Place.GRIDS: (Lowering("map_to_glb", (("d", 1),)), Lowering("map_to_glb", (("d", 0),))),
    Place.BELOW_GLB1: (Lowering("map_to_glb", (("d", 0),)),),
    Place.BELOW_WRG0: (Lowering("map_to_lcl", (("d", 0),)),),
}
"""The loops of a copy that are work-items, by the place."""


class Reads:
    """The options of what is read; what has to be stored for that is written.

    `generous` ones store more than what pays, for programs that have no other form.
    """

    def __init__(self, nodes: Nodes, writes: Writes, *, generous: bool) -> None:
        self.nodes, self.writes, self.generous = nodes, writes, generous
        self._private = ACCUMULATOR_CELLS if generous else PRIVATE_CELLS
        accumulators = (Place.REGISTERS, Place.PRIVATE) if generous else ()
        self._own_memory = (Place.ITEM, *accumulators)

    def view(self, node: ENode, state: State) -> Iterator[Option]:
        below = [State(c, state.want, state.place) for c in node.children]
        pattern = node.head.pattern
        if node.head.kind in _LEAVES or pattern is patterns.LiteralArray:
            yield answer(node, (), 0.01)
        elif node.head.kind in (Get, MakeTuple):
            yield answer(node, below, LAYOUT)
        elif state.want is Want.VIEW and pattern is not None and pattern.keeps:
            yield self._computed(node, state)
        elif pattern is patterns.ToPrivate and state.place in _ITEMS:
            yield answer(node, [replace(s, want=Want.WRITE) for s in below], 0.0)
        elif rearranges(pattern):
            yield from self._rearranged(node, pattern, state)

    def _computed(self, node: ENode, state: State) -> Option:
        """What the program itself names or stores: read where it stands; a buffer is a kernel of its own."""
        if node.head.pattern is patterns.ToGlobal:
            (xs,) = node.children
            return answer(node, (State(xs, self.nodes.written(xs), Place.HOST),), LAYOUT)
        f, x = node.children
        return answer(node, (replace(state, eclass=f), self.nodes.named(x, state.place)), LAYOUT)

    def _rearranged(self, node: ENode, pattern: type[Pattern], state: State) -> Iterator[Option]:
        """A layout of what is viewed as well; an element that it repeats may be computed where it stands."""
        roles = pattern.signature.roles
        if "index" in roles and state.place is Place.LANE:
            return  # each lane would look up an index of its own
        below = [
            self._of_a_layout(c, role, state) for c, role in zip(node.children, roles, strict=True)
        ]
        label = ("transpose",) if pattern is patterns.Transpose else ()
        cost = LAYOUT * (4 if label or "index" in roles else 1)
        yield answer(node, below, cost, label=label)
        if state.want is Want.VIEW and "element" in roles and "index" not in roles:
            computed = [
                replace(s, want=Want.VALUE) if role == "element" else s
                for s, role in zip(below, roles, strict=True)
            ]
            yield answer(node, computed, cost)

    def _of_a_layout(self, child: int, role: Role, state: State) -> State:
        """What a layout asks of a part of it: a kernel looks indices up in a buffer, or computes the one that it needs."""
        if role == "function":
            return State(child, Want.LAYOUT, state.place)
        if role != "index":
            return State(child, state.want, state.place)
        if state.want is Want.LAYOUT:
            return State(child, Want.LAYOUT, state.place)
        if self.nodes.is_array(child):
            return State(child, Want.VIEW, Place.HOST)
        return State(child, Want.VALUE, state.place)

    def stored(self, state: State) -> Iterator[Option]:
        """An array that is computed before it is read: another kernel's buffer, local memory, or registers."""
        size = self.nodes.cells(state.eclass)
        if state.place is Place.HOST:
            inner, rule, cost = Place.HOST, "store_global", BUFFER_CELL * size / self.nodes.parallel
        elif state.place is Place.BELOW_WRG0 and size <= LOCAL_CELLS:
            inner, rule, cost = Place.BELOW_WRG0, "store_local", size
        elif state.place in _OUTSIDE and self.generous:
            inner, rule, cost = Place.HOST, "store_global", BUFFER_CELL * size / self.nodes.parallel
        elif state.place in self._own_memory and size <= self._private:
            inner, rule, cost = state.place, "store_private", size
        else:
            return
        written = State(state.eclass, Want.WRITE, inner)
        for node in self.nodes.snapshot.nodes(state.eclass):
            for option in self.writes.write(node, written):
                yield option.inside(rule, cost)
            if self.generous:
                for option in self.writes.alone(node, written):
                    yield option.inside(rule, cost)

    def copied(self, state: State) -> Iterator[Option]:
        """What can only be read, copied element by element to where it is wanted."""
        t, place = self.nodes.type(state.eclass), state.place
        if not isinstance(t, Array):
            return
        depth = len(dimensions(t)[0])
        outer = _OUTER_LOOPS.get(place, ())
        inner = "map_to_seq_unroll" if place is Place.REGISTERS else "map_to_seq"
        if len(outer) > depth:
            return
        loops = (*outer, *(Lowering(inner) for _ in range(depth - len(outer))))
        copies = tuple(Lowering("insert_copy", (), ("f",) * d) for d in range(depth))
        lowered = tuple(low.below(("f",) * d) for d, low in enumerate(loops))
        cost = self.nodes.cells(state.eclass) + (LAUNCH if place is Place.HOST else 0.0)
        data = State(state.eclass, Want.VIEW, Place.HOST if place in _OUTSIDE else place)
        nodes = self.nodes.snapshot.nodes(state.eclass)
        read = (option for node in nodes for option in self.view(node, data))
        for option in (*read, *self.stored(data)):
            below = (low.below(("xs",)) for low in option.lowerings)
            yield replace(
                option,
                lowerings=(*copies, *lowered, *below),
                own=option.own + cost,
                label=("copy", option.label),
                moved=("xs", *option.moved),
            )

    def value(self, node: ENode, state: State) -> Iterator[Option]:
        if holds_array(self.nodes.type(state.eclass)):
            return
        place, pattern = state.place, node.head.pattern
        view = [State(c, Want.VIEW, place) for c in node.children]
        value = [State(c, Want.VALUE, place) for c in node.children]
        if node.head.kind in _LEAVES:
            yield answer(node, (), 0.01)
        elif node.head.kind is Get:
            yield answer(node, view, 0.01)
            yield answer(node, value, 0.01)
        elif pattern is not None and pattern.keeps and place is not Place.LANE:
            yield self._computed(node, state)
        elif gives_an_element(pattern) and "index" not in pattern.signature.roles:
            yield answer(node, view, 0.5)
        elif gives_an_element(pattern) and place is not Place.LANE:
            below = [
                self._of_a_layout(c, role, replace(state, want=Want.VIEW))
                for c, role in zip(node.children, pattern.signature.roles, strict=True)
            ]
            yield answer(node, below, 1.0)
        elif node.head.kind in (Apply, Call, Combine, MakeTuple):
            yield answer(node, value, 1.0)
        elif pattern is patterns.Splat:
            yield answer(node, value, 0.1)
        elif pattern is patterns.ToPrivate and place in _ITEMS:
            yield answer(node, value, 0.0)
        elif pattern is not None and issubclass(pattern, patterns.Reduction):
            yield self._fold(node, place)
        elif pattern is not None and issubclass(pattern, patterns.InOrder):
            if place is not Place.LANE:
                yield from self.writes.in_order(node, place)
        elif pattern is patterns.Iterate and place is not Place.LANE:
            f, x = node.children
            (turns,) = node.head.naturals
            n = float(turns.constant or 0)
            inner = Place.ITEM if place is Place.HOST else place
            below = [State(f, Want.VALUE, inner), State(x, Want.VALUE, place)]
            launch = LAUNCH if place is Place.HOST else 0.0
            yield answer(node, below, launch + 0.5 * n, trips=(n, 1.0), label=("iterate", n))
        elif pattern is patterns.MapVec and place is not Place.LANE:
            f, v = node.children
            body = State(f, Want.VALUE, Place.LANE)
            for source in (State(v, Want.VIEW, place), State(v, Want.VALUE, place)):
                yield answer(node, (body, source), 0.2, label=("lanes", self._width(v)))

    def _fold(self, node: ENode, place: Place) -> Option:
        """A reduction as a loop; one that search has not made sequential yet is made so here."""
        *function, init, xs = node.children
        n = self.nodes.length(xs)
        inner = Place.ITEM if place is Place.HOST else place
        below = (
            *(State(f, Want.VALUE, inner) for f in function),
            State(init, Want.VALUE, place),
            State(xs, Want.VIEW, place),
        )
        launch = LAUNCH if place is Place.HOST else 0.0
        return answer(
            node,
            below,
            launch + (0.5 if function else 1.5) * n,
            trips=(*(n for _ in function), 1.0, 1.0),
            label=("reduce_seq", n),
            lowerings=() if function else (Lowering("reduce_to_seq"),),
        )

    def _width(self, eclass: int) -> str:
        return str(getattr(self.nodes.type(eclass), "width", "?"))
