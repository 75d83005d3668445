"""Extraction: the best low-level programs of an e-graph, one per plan.

Which map becomes a loop, work-items or work-groups depends on where it stands, which no e-class knows.  So
extraction is a dynamic programme over (e-class, what is wanted of it, where), and at every node it chooses
among the lowering rules that the place allows.  It keeps the cheapest term of each *plan*: the nest of
loops, thread dimensions, vectors and buffers.  Terms that differ only in layout noise share a plan, so the
candidates differ in what matters for speed.

What is wanted of an e-class:

    View       data to index into: rearranged inputs, buffers, and values computed once before
    Layout     data that is only rearranged, as the body of a map that stays a map
    Value      a scalar, vector or tuple in registers
    Write      an array, computed into memory that the place provides
    Start      the first value of an accumulator, written into registers of its own
    Inverse    a rearrangement of one variable, which a write can follow backwards
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, TypeGuard

from relift.device import DeviceDescription
from relift.egraph.encode.snapshot import ENode
from relift.egraph.encode.term_graph import Classes
from relift.rewrites.derivation.steps import Step
from relift.rewrites.library import RULES
from relift.rewrites.matching import FloatPolicy, apply_rule
from relift.rewrites.rule import Rule
from relift.semantics import patterns
from relift.semantics.patterns import MapVec
from relift.semantics.syntax.binding import Position
from relift.semantics.syntax.terms import Pattern, Term
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


class Want(Enum):
    """What is wanted of an e-class."""

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
class _Option:
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

    def inside(self, rule: str, cost: float) -> _Option:
        """The option inside a memory that the rule provides."""
        return replace(
            self,
            lowerings=(Lowering(rule), *(low.below(("xs",)) for low in self.lowerings)),
            own=self.own + cost,
            label=(rule, self.label),
            moved=("xs", *self.moved),
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


def _as_demanded(option: _Option, demanded: Lowering) -> _Option | None:
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


class Extractor:
    """Answers states over one e-graph; `width` plans are kept for each state.

    `demanded` says how the computing nodes of some classes have to be lowered.
    """

    def __init__(
        self,
        snapshot: Classes,
        device: DeviceDescription,
        width: int = 12,
        demanded: Mapping[int, Lowering] | None = None,
    ) -> None:
        self.snapshot, self.device, self.width = snapshot, device, width
        self.demanded = demanded or {}
        self._options: dict[State, list[_Option]] = {}
        self._best: dict[State, dict[Plan, tuple[float, Choice]]] = {}
        self._parallel = float(max(1, device.compute_units))
        if device.kind == "gpu":
            self._parallel *= 1024.0

    def candidates(self, policy: FloatPolicy, most: int) -> list[Candidate]:
        """The cheapest low-level terms of the root, one per plan, in order of estimated work."""
        root = self.root_state()
        self._solve(root)
        found = sorted(self._best[root].items(), key=lambda item: item[1][0])[:most]
        return [self._candidate(root, plan, policy) for plan, _ in found]

    def root_state(self) -> State:
        """The program's result: an array is written, anything else is a value."""
        want = Want.WRITE if isinstance(self._type(self.snapshot.root), Array) else Want.VALUE
        return State(self.snapshot.root, want, Place.HOST)

    # ---- what a node can be

    def _type(self, eclass: int) -> Type:
        return self.snapshot.type_of(eclass)

    def _length(self, eclass: int) -> float:
        t = self._type(eclass)
        assert isinstance(t, Array), f"cannot happen: {t} is mapped over"
        return float(t.length.constant or 0)

    def options(self, state: State) -> Iterator[_Option]:
        """All ways to answer a state that are lowered as demanded."""
        demanded = self.demanded.get(state.eclass)
        for option in self._free_options(state):
            if demanded is None:
                yield option
            elif (adapted := _as_demanded(option, demanded)) is not None:
                yield adapted

    def _free_options(self, state: State) -> Iterator[_Option]:
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

    def _view(self, node: ENode, state: State) -> Iterator[_Option]:
        below = [State(c, state.want, state.place) for c in node.children]
        pattern = node.head.pattern
        if node.head.kind in ("var", "input", "literal") or pattern is patterns.LiteralArray:
            yield self._option(node, (), 0.01)
        elif node.head.kind in ("get", "tuple"):
            yield self._option(node, below, _LAYOUT)
        elif _rearranges(pattern):
            yield from self._rearranged(node, pattern, state)

    def _rearranged(self, node: ENode, pattern: type[Pattern], state: State) -> Iterator[_Option]:
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

    def _stored(self, state: State) -> Iterator[_Option]:
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

    def _start(self, node: ENode, state: State) -> Iterator[_Option]:
        """The first value of an accumulator, in registers of its own."""
        size = float(cells(self._type(state.eclass)).constant or 0)
        for option in self._write(node, State(state.eclass, Want.WRITE, state.place)):
            yield option.inside("store_private", size)

    def _value(self, node: ENode, state: State) -> Iterator[_Option]:
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

    def _fold(self, node: ENode, place: Place) -> _Option:
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

    def _write(self, node: ENode, state: State) -> Iterator[_Option]:
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

    def _write_fold(self, node: ENode, state: State) -> Iterator[_Option]:
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

    def _write_map(self, node: ENode, place: Place) -> Iterator[_Option]:
        f, xs = node.children
        n = self._length(xs)
        is_nest = isinstance(self._type(f), Array)
        body_want = Want.WRITE if is_nest else Want.VALUE

        def lowered(
            rule: str, inner: Place, trips: float, own: float, **choices: int
        ) -> Iterator[_Option]:
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

    def _inverse(self, node: ENode, state: State) -> Iterator[_Option]:
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
    ) -> _Option:
        return _Option(
            node, lowerings, tuple(children), trips or (1.0,) * len(children), own, label
        )

    # ---- the dynamic programme

    def _solve(self, root: State) -> None:
        """Best plans of every state reachable from the root, by rounds until nothing improves."""
        order = self._reachable(root)
        users: dict[State, set[State]] = {state: set() for state in order}
        for state in order:
            self._best[state] = {}
            for option in self._options[state]:
                for child in option.children:
                    users[child].add(state)
        pending = dict.fromkeys(reversed(order))
        while pending:
            state = next(iter(pending))
            del pending[state]
            if self._improve(state):
                pending.update(dict.fromkeys(users[state]))

    def _reachable(self, root: State) -> list[State]:
        """All states below the root, a state before those it needs where there is no cycle."""
        seen: dict[State, None] = {}
        stack = [root]
        while stack:
            state = stack.pop()
            if state in seen:
                continue
            seen[state] = None
            self._options[state] = list(self.options(state))
            for option in self._options[state]:
                stack.extend(child for child in option.children if child not in seen)
        return list(seen)

    def _improve(self, state: State) -> bool:
        """Recompute the plans of a state from its children; whether anything changed."""
        found: dict[Plan, tuple[float, Choice]] = {}
        for option in self._options[state]:
            tables = [
                list(self._best[child].items())[: 1 if i in option.minor else None]
                for i, child in enumerate(option.children)
            ]
            for combination in itertools.product(*tables):
                cost = option.own + sum(
                    trips * entry[1][0]
                    for trips, entry in zip(option.trips, combination, strict=True)
                )
                below = tuple(plan for plan, _ in combination)
                plan: Plan = tuple(p for p in (option.label, *below) if p)
                if len(plan) == 1 and not option.label:
                    plan = below[0] if len(below) == 1 else next(p for p in below if p)
                if plan not in found or cost < found[plan][0]:
                    children = tuple(zip(option.children, below, strict=True))
                    found[plan] = (
                        cost,
                        Choice(option.node, option.lowerings, option.moved, children),
                    )
        kept = dict(sorted(found.items(), key=lambda item: item[1][0])[: self.width])
        old = {plan: cost for plan, (cost, _) in self._best[state].items()}
        self._best[state] = kept
        return old != {plan: cost for plan, (cost, _) in kept.items()}

    # ---- terms and steps

    def _candidate(self, root: State, plan: Plan, policy: FloatPolicy) -> Candidate:
        cost, _ = self._best[root][plan]
        high = self._term(root, plan)
        steps: list[Step] = []
        low = high
        for position, lowering in self._lowerings(root, plan, ()):
            rule: Rule = RULES[lowering.rule]
            choices = dict(lowering.choices)
            low, substitution = apply_rule(rule, low, position, choices=choices, policy=policy)
            steps.append(Step(rule.name, "forward", position, substitution, choices))
        return Candidate(high, low, tuple(steps), plan, cost)

    def _choice(self, state: State, plan: Plan) -> Choice:
        return self._best[state][plan][1]

    def _term(self, state: State, plan: Plan) -> Term:
        choice = self._choice(state, plan)
        return choice.node.head.term([self._term(*child) for child in choice.children])

    def _lowerings(
        self, state: State, plan: Plan, position: Position
    ) -> Iterator[tuple[Position, Lowering]]:
        """The lowering steps of a term, outermost first, each at its place when it is applied."""
        choice = self._choice(state, plan)
        for lowering in choice.lowerings:
            yield (*position, *lowering.inside), lowering
        position = (*position, *choice.moved)
        places = choice.node.head.places
        for place, child in zip(places, choice.children, strict=True):
            yield from self._lowerings(*child, (*position, place))
