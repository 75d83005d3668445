"""The ways to compute an e-class into memory that its place provides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from relift.egraph.encode.snapshot import ENode
from relift.egraph.extraction.nodes import (
    ACCUMULATOR_CELLS,
    LAUNCH,
    LAYOUT,
    REGISTER_CELLS,
    Nodes,
    answer,
    inverts,
)
from relift.egraph.extraction.states import Lowering, Option, Place, State, Want
from relift.semantics import patterns
from relift.semantics.syntax.terms import MakeTuple, Var
from relift.semantics.syntax.types import cells, dimensions, holds_array

_IN_ORDER = (Place.HOST, Place.ITEM, Place.PRIVATE)
"""Where one work-item writes one element after the other, at places that are computed: no registers."""


class Writes:
    """The options of what is written."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes

    def write(self, node: ENode, state: State) -> Iterator[Option]:
        """The ways to compute a node into the memory that its place provides."""
        place, pattern = state.place, node.head.pattern
        if pattern is patterns.Map:
            yield from self._write_map(node, place)
            f, xs = node.children
            variable = node.head.binders[0].name
            yield answer(
                node,
                (State(f, Want.INVERSE, place, variable), State(xs, Want.WRITE, place)),
                LAYOUT,
            )
        elif inverts(pattern):
            label = ("transpose",) if pattern is patterns.Transpose else ()
            below = [State(c, Want.WRITE, place) for c in node.children]
            yield answer(node, below, LAYOUT * (4 if label else 1), label=label)
        elif pattern is patterns.ReduceSeq:
            yield from self._write_fold(node, state)
        elif node.head.kind is MakeTuple or (pattern is not None and pattern.parts):
            yield from self._write_parts(node, place)
        elif pattern is patterns.Iterate:
            yield from self._write_iteration(node, state)
        elif pattern is patterns.ScanSeq and place in _IN_ORDER:
            yield from self._scan(node, state)
        elif pattern is not None and issubclass(pattern, patterns.InOrder):
            if place in _IN_ORDER:
                yield from self.in_order(node, place)
        elif pattern is patterns.Let:
            f, x = node.children
            yield answer(node, (State(f, Want.WRITE, place), self.nodes.named(x, place)), LAYOUT)
        elif pattern is patterns.ToGlobal and place is Place.HOST:
            (xs,) = node.children
            yield answer(node, (State(xs, self.nodes.written(xs), place),), LAYOUT)

    def _write_parts(self, node: ENode, place: Place) -> Iterator[Option]:
        """Parts of a result, computed by one kernel, whose work-items they share.

        Of the parts of a concatenation the longest makes the plan.  What is no array is computed by one work-item.
        """
        pairs = node.head.pattern is not patterns.Concat
        arrays = all(map(self.nodes.is_array, node.children))
        shared = (Place.ROWS, Place.GRIDS) if arrays else ()
        alone = (Place.ITEM,) if pairs else ()
        launch = LAUNCH if place is Place.HOST else 0.0
        for part in (*shared, *alone) if place is Place.HOST else (place,):
            below = [State(c, self.nodes.written(c), part) for c in node.children]
            name = ("parts", part.value) if launch else ()
            option = answer(node, below, launch + LAYOUT, label=name)
            if pairs:
                yield option
                continue
            lengths = [self.nodes.length(c) for c in node.children]
            yield replace(option, minor=(lengths.index(min(lengths)),))

    def _scan(self, node: ENode, state: State) -> Iterator[Option]:
        """A scan as a loop of one work-item."""
        place = state.place
        f, init, xs = node.children
        n = self.nodes.length(xs)
        if holds_array(self.nodes.type(init)):
            data = State(xs, Want.VIEW, place)
            inner = replace(state, place=Place.ITEM)
            for option in self._in_place(node, inner, n, f, init, (data,), result=False):
                yield replace(option, own=option.own + (LAUNCH if place is Place.HOST else 0.0))
            return
        children = (
            State(f, Want.VALUE, Place.ITEM),
            State(init, Want.VALUE, place),
            State(xs, Want.VIEW, place),
        )
        launch = LAUNCH if place is Place.HOST else 0.0
        yield answer(node, children, launch + 1.5 * n, trips=(n, 1.0, 1.0), label=("scan_seq", n))

    def in_order(self, node: ENode, place: Place) -> Iterator[Option]:
        """What one work-item computes from one element after the other; a sort meets those before each again.

        What it overwrites is computed where the result goes, or copied there.
        """
        pattern = node.head.pattern
        assert pattern is not None, "cannot happen: a node of a pattern"
        below: list[State] = []
        turns: list[float] = []
        n = max(self.nodes.length(c) for c in node.children if self.nodes.is_array(c))
        often = n * n / 2 if pattern is patterns.InsertionSortSeq else n
        for child, role in zip(node.children, pattern.signature.roles, strict=True):
            function = role == "function"
            want = Want.VIEW if self.nodes.is_array(child) else Want.VALUE
            below.append(State(child, want, Place.ITEM if function else place))
            turns.append(often if function else 1.0)
        launch = LAUNCH if place is Place.HOST else 0.0
        label = (pattern.name, n)
        option = answer(node, below, launch + 2.0 * often, trips=tuple(turns), label=label)
        yield option
        if pattern is patterns.ScatterIndices:
            *others, into = below
            written = replace(into, want=Want.WRITE, place=Place.ITEM)
            yield replace(option, children=(*others, written))

    def alone(self, node: ENode, state: State) -> Iterator[Option]:
        """A result that one work-item computes, since nothing in it is parallel."""
        if state.place is Place.HOST:
            for option in self.write(node, replace(state, place=Place.ITEM)):
                yield replace(option, own=option.own + LAUNCH, label=("alone", option.label))

    def start(self, node: ENode, state: State) -> Iterator[Option]:
        """The first value of an accumulator, in registers of its own."""
        size = self.nodes.cells(state.eclass)
        for option in self.write(node, State(state.eclass, Want.WRITE, state.place)):
            yield option.inside("store_private", size)

    def _write_fold(self, node: ENode, state: State) -> Iterator[Option]:
        """A fold of arrays: the accumulator is private, and copied out after the last step.

        A fold that is part of the step of another one goes on with its accumulator.
        """
        function, init, xs = node.children
        n = self.nodes.length(xs)
        data = State(xs, Want.VIEW, state.place)
        yield from self._in_place(node, state, n, function, init, (data,))

    def _write_iteration(self, node: ENode, state: State) -> Iterator[Option]:
        """An iteration on an array, which is private and changed in place."""
        function, x = node.children
        (turns,) = node.head.naturals
        n = float(turns.constant or 0)
        yield from self._in_place(node, state, n, function, x, ())

    def _in_place(
        self,
        node: ENode,
        state: State,
        n: float,
        function: int,
        init: int,
        rest: tuple[State, ...],
        *,
        result: bool = True,
    ) -> Iterator[Option]:
        """A loop of n steps that each write an array anew, or a tuple that holds one; copied where it is the result."""
        t, place = self.nodes.type(init), state.place
        size = float(cells(t).constant or 0)
        if not holds_array(t) or size > ACCUMULATOR_CELLS:
            return
        if place in (Place.REGISTERS, Place.PRIVATE):
            owns: tuple[Place, ...] = (place,)
        elif place is Place.ITEM:
            owns = (Place.PRIVATE,) if size > REGISTER_CELLS else (Place.REGISTERS, Place.PRIVATE)
        else:
            return
        for own in owns:
            start = State(init, Want.VIEW if place is own else Want.START, own)
            lowerings: tuple[Lowering, ...] = ()
            if place is not own and result:
                loop = "map_to_seq_unroll" if own is Place.REGISTERS else "map_to_seq"
                copies = [("f",) * d for d in range(len(dimensions(t)[0]))]
                lowerings = tuple(
                    Lowering(rule, inside=inside)
                    for rule in ("insert_copy", loop)
                    for inside in copies
                )
            option = answer(
                node,
                (State(function, Want.WRITE, own), start, *rest),
                0.5 * n + (size if lowerings else 0.0),
                trips=(n, 1.0, *(1.0 for _ in rest)),
                label=("accumulate", n, str(t)),
                lowerings=lowerings,
            )
            yield replace(option, moved=("xs",) if lowerings else ())

    def _write_map(self, node: ENode, place: Place) -> Iterator[Option]:
        f, xs = node.children
        n = self.nodes.length(xs)
        is_nest, body_want = self.nodes.is_array(f), self.nodes.written(f)

        def lowered(
            rule: str, inner: Place, trips: float, own: float, **choices: int
        ) -> Iterator[Option]:
            children = (State(f, body_want, inner), State(xs, Want.VIEW, place))
            lowering = Lowering(rule, tuple(choices.items()))
            yield answer(
                node,
                children,
                own,
                trips=(trips, 1.0),
                label=(rule, *choices.values(), n),
                lowerings=(lowering,),
            )

        shared = max(1.0, n / self.nodes.parallel)
        match place:
            case Place.HOST:
                yield from lowered("map_to_glb", Place.ITEM, shared, LAUNCH + 0.1 * shared, d=0)
                if is_nest:
                    yield from lowered("map_to_glb", Place.BELOW_GLB1, n, LAUNCH, d=1)
                    if self.nodes.device.kind == "gpu":
                        yield from lowered("map_to_wrg", Place.BELOW_WRG0, n, LAUNCH, d=0)
            case Place.ROWS:
                yield from lowered("map_to_glb", Place.ITEM, shared, 0.1 * shared, d=0)
            case Place.GRIDS:
                if is_nest:
                    yield from lowered("map_to_glb", Place.BELOW_GLB1, n, 0.0, d=1)
            case Place.BELOW_GLB1:
                yield from lowered("map_to_glb", Place.ITEM, n / self.nodes.parallel, 0.0, d=0)
            case Place.BELOW_WRG0:
                yield from lowered("map_to_lcl", Place.ITEM, n / self.nodes.parallel, 0.0, d=0)
            case Place.ITEM:
                yield from lowered("map_to_seq", Place.ITEM, n, 0.5 * n)
            case Place.PRIVATE:
                yield from lowered("map_to_seq", Place.PRIVATE, n, 0.5 * n)
            case Place.REGISTERS:
                yield from lowered("map_to_seq_unroll", Place.REGISTERS, n, 0.0)
            case Place.LANE:
                pass

    def inverse(self, node: ENode, state: State) -> Iterator[Option]:
        """A rearrangement of one variable and nothing else."""
        pattern = node.head.pattern
        if node.head.kind is Var and node.head.name == state.variable:
            yield answer(node, (), 0.01)
        elif inverts(pattern):
            below = [State(c, Want.INVERSE, state.place, state.variable) for c in node.children]
            yield answer(node, below, LAYOUT)
        elif pattern is patterns.Map:
            f, xs = node.children
            own = node.head.binders[0].name
            yield answer(
                node,
                (
                    State(f, Want.INVERSE, state.place, own),
                    State(xs, Want.INVERSE, state.place, state.variable),
                ),
                LAYOUT,
            )
