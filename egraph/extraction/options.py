"""All that a node of the e-graph can be, by what is wanted of it and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from relift.device import DeviceDescription
from relift.egraph.encode.snapshot import ENode
from relift.egraph.encode.term_graph import Classes
from relift.egraph.extraction.states import Lowering, Option, Place, State, Want
from relift.semantics import patterns
from relift.semantics.patterns import MapVec
from relift.semantics.syntax.binding import Position
from relift.semantics.syntax.terms import Pattern
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    cells,
    dimensions,
)

# Work in units of one scalar operation of one work-item.
_LAYOUT, _LAUNCH, _BUFFER_CELL = 0.05, 20_000.0, 2.0
_PRIVATE_CELLS, _LOCAL_CELLS = 64, 4096
_REGISTER_CELLS, _ACCUMULATOR_CELLS = 128, 4096
"""Cells of an accumulator in registers, and of one in private memory."""


def _rearranges(pattern: type[Pattern] | None) -> TypeGuard[type[Pattern]]:
    """Whether a pattern is a layout that a search result may contain; a vector is no array to index into."""
    return pattern is not None and pattern.layout and pattern.searched and pattern is not MapVec


def _inverts(pattern: type[Pattern] | None) -> bool:
    """Whether a write can follow a pattern of one array backwards."""
    return _rearranges(pattern) and pattern.has_inverse() and pattern.signature.roles == ("array",)


def _gives_an_element(pattern: type[Pattern] | None) -> TypeGuard[type[Pattern]]:
    """Whether a pattern is one element of its array."""
    return _rearranges(pattern) and isinstance(pattern.signature.result, TypeVariable)


def _holds_vectors(t: Type) -> bool:
    match t:
        case Vector():
            return True
        case Array(element, _):
            return _holds_vectors(element)
        case Tuple(parts):
            return any(map(_holds_vectors, parts))
        case Scalar() | TypeVariable():
            return False


_UNROLLED = {"map_to_seq_unroll": "map_to_seq", "reduce_seq_to_unroll": None}


def _as_demanded(option: Option, demanded: Lowering) -> Option | None:
    """The option when it is lowered as demanded; a loop may be written out."""
    if any(
        (low.rule, low.choices) == (demanded.rule, demanded.choices) for low in option.lowerings
    ):
        return option
    if demanded.rule not in _UNROLLED:
        return None
    plain = _UNROLLED[demanded.rule]
    if plain is None and option.node.head.pattern is patterns.ReduceSeq:
        return replace(option, lowerings=(*option.lowerings, demanded.below(option.moved)))
    if plain is not None and Lowering(plain) in option.lowerings:
        swapped = tuple(demanded if low.rule == plain else low for low in option.lowerings)
        return replace(option, lowerings=swapped)
    return None


class Options:
    """The options of states over one e-graph; `demanded` says how the nodes of some classes have to be lowered."""

    def __init__(
        self, snapshot: Classes, device: DeviceDescription, demanded: Mapping[int, Lowering]
    ) -> None:
        self.snapshot, self.device, self.demanded = snapshot, device, demanded
        self._parallel = float(max(1, device.compute_units))
        if device.kind == "gpu":
            self._parallel *= 1024.0

    def _type(self, eclass: int) -> Type:
        return self.snapshot.type_of(eclass)

    def _length(self, eclass: int) -> float:
        t = self._type(eclass)
        assert isinstance(t, Array), f"cannot happen: {t} is mapped over"
        return float(t.length.constant or 0)

    def of(self, state: State) -> Iterator[Option]:
        """All ways to answer a state that are lowered as demanded."""
        demanded = self.demanded.get(state.eclass)
        for option in self._free_options(state):
            if demanded is None:
                yield option
            elif (adapted := _as_demanded(option, demanded)) is not None:
                yield adapted

    def _free_options(self, state: State) -> Iterator[Option]:
        """All ways to answer a state; inside a lane there are no vectors."""
        if state.place is Place.LANE and _holds_vectors(self._type(state.eclass)):
            return
        for node in self.snapshot.nodes(state.eclass):
            match state.want:
                case Want.VIEW | Want.LAYOUT:
                    yield from self._view(node, state)
                case Want.VALUE:
                    yield from self._value(node, state)
                case Want.WRITE:
                    yield from self._write(node, state)
                case Want.START:
                    yield from self._start(node, state)
                case Want.INVERSE:
                    yield from self._inverse(node, state)
        if state.want is Want.VIEW and isinstance(self._type(state.eclass), Array):
            yield from self._stored(state)

    def _view(self, node: ENode, state: State) -> Iterator[Option]:
        below = [State(c, state.want, state.place) for c in node.children]
        pattern = node.head.pattern
        if node.head.kind in ("var", "input", "literal") or pattern is patterns.LiteralArray:
            yield self._option(node, (), 0.01)
        elif node.head.kind in ("get", "tuple"):
            yield self._option(node, below, _LAYOUT)
        elif _rearranges(pattern):
            yield from self._rearranged(node, pattern, state)

    def _rearranged(self, node: ENode, pattern: type[Pattern], state: State) -> Iterator[Option]:
        """A layout of what is viewed as well; an element that it repeats may be computed where it stands."""
        roles = pattern.signature.roles
        if "index" in roles and state.place is Place.LANE:
            return  # each lane would look up an index of its own
        laid_out = ("function", "index")  # a kernel looks indices up in a buffer
        below = [
            State(c, Want.LAYOUT if role in laid_out else state.want, state.place)
            for c, role in zip(node.children, roles, strict=True)
        ]
        label = ("transpose",) if pattern is patterns.Transpose else ()
        cost = _LAYOUT * (4 if label or "index" in roles else 1)
        yield self._option(node, below, cost, label=label)
        if state.want is Want.VIEW and "element" in roles and "index" not in roles:
            computed = [
                replace(s, want=Want.VALUE) if role == "element" else s
                for s, role in zip(below, roles, strict=True)
            ]
            yield self._option(node, computed, cost)

    def _stored(self, state: State) -> Iterator[Option]:
        """An array that is computed before it is read: another kernel's buffer, local memory, or registers."""
        size = float(cells(self._type(state.eclass)).constant or 0)
        if state.place is Place.HOST:
            inner, rule, cost = Place.HOST, "store_global", _BUFFER_CELL * size / self._parallel
        elif state.place is Place.BELOW_WRG0 and size <= _LOCAL_CELLS:
            inner, rule, cost = Place.BELOW_WRG0, "store_local", size
        elif state.place is Place.ITEM and size <= _PRIVATE_CELLS:
            inner, rule, cost = Place.ITEM, "store_private", size
        else:
            return
        for node in self.snapshot.nodes(state.eclass):
            for option in self._write(node, State(state.eclass, Want.WRITE, inner)):
                yield option.inside(rule, cost)

    def _start(self, node: ENode, state: State) -> Iterator[Option]:
        """The first value of an accumulator, in registers of its own."""
        size = float(cells(self._type(state.eclass)).constant or 0)
        for option in self._write(node, State(state.eclass, Want.WRITE, state.place)):
            yield option.inside("store_private", size)

    def _value(self, node: ENode, state: State) -> Iterator[Option]:
        if isinstance(self._type(state.eclass), Array):
            return
        place, pattern = state.place, node.head.pattern
        view = [State(c, Want.VIEW, place) for c in node.children]
        value = [State(c, Want.VALUE, place) for c in node.children]
        if node.head.kind in ("var", "input", "literal"):
            yield self._option(node, (), 0.01)
        elif node.head.kind == "get":
            yield self._option(node, view, 0.01)
            yield self._option(node, value, 0.01)
        elif _gives_an_element(pattern) and "index" not in pattern.signature.roles:
            yield self._option(node, view, 0.5)
        elif _gives_an_element(pattern) and place is not Place.LANE:
            below = [
                replace(s, want=Want.LAYOUT) if role == "index" else s
                for s, role in zip(view, pattern.signature.roles, strict=True)
            ]
            yield self._option(node, below, 1.0)
        elif node.head.kind in ("apply", "call", "combine", "tuple"):
            yield self._option(node, value, 1.0)
        elif pattern is patterns.Splat:
            yield self._option(node, value, 0.1)
        elif pattern in (patterns.ReduceSeq, patterns.Reduce):
            yield self._fold(node, place)
        elif pattern is patterns.MapVec and place is not Place.LANE:
            f, v = node.children
            body = State(f, Want.VALUE, Place.LANE)
            for source in (State(v, Want.VIEW, place), State(v, Want.VALUE, place)):
                yield self._option(node, (body, source), 0.2, label=("lanes", self._width(v)))

    def _fold(self, node: ENode, place: Place) -> Option:
        """A reduction as a loop; one that search has not made sequential yet is made so here."""
        *function, init, xs = node.children
        n = self._length(xs)
        inner = Place.ITEM if place is Place.HOST else place
        below = (
            *(State(f, Want.VALUE, inner) for f in function),
            State(init, Want.VALUE, place),
            State(xs, Want.VIEW, place),
        )
        launch = _LAUNCH if place is Place.HOST else 0.0
        return self._option(
            node,
            below,
            launch + (0.5 if function else 1.5) * n,
            trips=(*(n for _ in function), 1.0, 1.0),
            label=("reduce_seq", n),
            lowerings=() if function else (Lowering("reduce_to_seq"),),
        )

    def _width(self, eclass: int) -> str:
        return str(getattr(self._type(eclass), "width", "?"))

    def _write(self, node: ENode, state: State) -> Iterator[Option]:
        place, pattern = state.place, node.head.pattern
        if pattern is patterns.Map:
            yield from self._write_map(node, place)
            f, xs = node.children
            variable = node.head.binders[0].name
            yield self._option(
                node,
                (State(f, Want.INVERSE, place, variable), State(xs, Want.WRITE, place)),
                _LAYOUT,
            )
        elif _inverts(pattern):
            label = ("transpose",) if pattern is patterns.Transpose else ()
            below = [State(c, Want.WRITE, place) for c in node.children]
            yield self._option(node, below, _LAYOUT * (4 if label else 1), label=label)
        elif pattern is patterns.ReduceSeq:
            yield from self._write_fold(node, state)
        elif pattern is patterns.Concat:
            # the parts of one kernel have the same work-items
            parts = (Place.ROWS, Place.GRIDS) if place is Place.HOST else (place,)
            launch = _LAUNCH if place is Place.HOST else 0.0
            for part in parts:
                below = [State(c, Want.WRITE, part) for c in node.children]
                name = ("parts", part.value) if launch else ()
                option = self._option(node, below, launch + _LAYOUT, label=name)
                lengths = [self._length(c) for c in node.children]
                yield replace(option, minor=(lengths.index(min(lengths)),))

    def _write_fold(self, node: ENode, state: State) -> Iterator[Option]:
        """A fold of arrays: the accumulator is private, and copied out after the last step.

        A fold that is part of the step of another one goes on with its accumulator.
        """
        function, init, xs = node.children
        t, place = self._type(state.eclass), state.place
        size = float(cells(t).constant or 0)
        if not isinstance(t, Array) or size > _ACCUMULATOR_CELLS:
            return
        n = self._length(xs)
        if place in (Place.REGISTERS, Place.PRIVATE):
            own, start = place, State(init, Want.VIEW, place)
            lowerings: tuple[Lowering, ...] = ()
            copied: Position = ()
        elif place is Place.ITEM:
            own = Place.REGISTERS if size <= _REGISTER_CELLS else Place.PRIVATE
            start = State(init, Want.START, own)
            loop = "map_to_seq_unroll" if own is Place.REGISTERS else "map_to_seq"
            copies = [("f",) * d for d in range(len(dimensions(t)[0]))]
            lowerings = tuple(
                Lowering(rule, inside=inside) for rule in ("insert_copy", loop) for inside in copies
            )
            copied = ("xs",)
        else:
            return
        below = (State(function, Want.WRITE, own), start, State(xs, Want.VIEW, place))
        option = self._option(
            node,
            below,
            0.5 * n + (size if copied else 0.0),
            trips=(n, 1.0, 1.0),
            label=("accumulate", n, str(t)),
            lowerings=lowerings,
        )
        yield replace(option, moved=copied)

    def _write_map(self, node: ENode, place: Place) -> Iterator[Option]:
        f, xs = node.children
        n = self._length(xs)
        is_nest = isinstance(self._type(f), Array)
        body_want = Want.WRITE if is_nest else Want.VALUE

        def lowered(
            rule: str, inner: Place, trips: float, own: float, **choices: int
        ) -> Iterator[Option]:
            children = (State(f, body_want, inner), State(xs, Want.VIEW, place))
            lowering = Lowering(rule, tuple(choices.items()))
            yield self._option(
                node,
                children,
                own,
                trips=(trips, 1.0),
                label=(rule, *choices.values(), n),
                lowerings=(lowering,),
            )

        shared = max(1.0, n / self._parallel)
        match place:
            case Place.HOST:
                yield from lowered("map_to_glb", Place.ITEM, shared, _LAUNCH + 0.1 * shared, d=0)
                if is_nest:
                    yield from lowered("map_to_glb", Place.BELOW_GLB1, n, _LAUNCH, d=1)
                    if self.device.kind == "gpu":
                        yield from lowered("map_to_wrg", Place.BELOW_WRG0, n, _LAUNCH, d=0)
            case Place.ROWS:
                yield from lowered("map_to_glb", Place.ITEM, shared, 0.1 * shared, d=0)
            case Place.GRIDS:
                if is_nest:
                    yield from lowered("map_to_glb", Place.BELOW_GLB1, n, 0.0, d=1)
            case Place.BELOW_GLB1:
                yield from lowered("map_to_glb", Place.ITEM, n / self._parallel, 0.0, d=0)
            case Place.BELOW_WRG0:
                yield from lowered("map_to_lcl", Place.ITEM, n / self._parallel, 0.0, d=0)
            case Place.ITEM:
                yield from lowered("map_to_seq", Place.ITEM, n, 0.5 * n)
            case Place.PRIVATE:
                yield from lowered("map_to_seq", Place.PRIVATE, n, 0.5 * n)
            case Place.REGISTERS:
                yield from lowered("map_to_seq_unroll", Place.REGISTERS, n, 0.0)
            case Place.LANE:
                pass

    def _inverse(self, node: ENode, state: State) -> Iterator[Option]:
        """A rearrangement of one variable and nothing else."""
        pattern = node.head.pattern
        if node.head.kind == "var" and node.head.name == state.variable:
            yield self._option(node, (), 0.01)
        elif _inverts(pattern):
            below = [State(c, Want.INVERSE, state.place, state.variable) for c in node.children]
            yield self._option(node, below, _LAYOUT)
        elif pattern is patterns.Map:
            f, xs = node.children
            own = node.head.binders[0].name
            yield self._option(
                node,
                (
                    State(f, Want.INVERSE, state.place, own),
                    State(xs, Want.INVERSE, state.place, state.variable),
                ),
                _LAYOUT,
            )

    def _option(
        self,
        node: ENode,
        children: Sequence[State],
        own: float,
        *,
        trips: tuple[float, ...] | None = None,
        label: tuple[object, ...] = (),
        lowerings: tuple[Lowering, ...] = (),
    ) -> Option:
        return Option(node, lowerings, tuple(children), trips or (1.0,) * len(children), own, label)
