"""All that a node of the e-graph can be, by what is wanted of it and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from relift.device import DeviceDescription
from relift.egraph.encode.term_graph import Classes
from relift.egraph.extraction.nodes import Nodes, holds_vectors
from relift.egraph.extraction.reading import Reads
from relift.egraph.extraction.states import Lowering, Option, Place, State, Want
from relift.egraph.extraction.writing import Writes
from relift.semantics import patterns
from relift.semantics.syntax.types import holds_array

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
    """The options of states over one e-graph; `demanded` says how the nodes of some classes have to be lowered.

    `generous` options copy, store and compute in one work-item whatever has no other form.
    """

    def __init__(
        self,
        snapshot: Classes,
        device: DeviceDescription,
        demanded: Mapping[int, Lowering],
        *,
        generous: bool = False,
    ) -> None:
        self.nodes, self.demanded, self.generous = Nodes(snapshot, device), demanded, generous
        self.writes = Writes(self.nodes)
        self.reads = Reads(self.nodes, self.writes, generous=generous)

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
        if state.place is Place.LANE and holds_vectors(self.nodes.type(state.eclass)):
            return
        for node in self.nodes.snapshot.nodes(state.eclass):
            match state.want:
                case Want.VIEW | Want.LAYOUT:
                    yield from self.reads.view(node, state)
                case Want.VALUE:
                    yield from self.reads.value(node, state)
                case Want.WRITE:
                    yield from self.writes.write(node, state)
                case Want.START:
                    yield from self.writes.start(node, state)
                case Want.INVERSE:
                    yield from self.writes.inverse(node, state)
        if state.want is Want.VIEW and holds_array(self.nodes.type(state.eclass)):
            yield from self.reads.stored(state)
        if state.want is Want.START and self.generous:
            for option in self.reads.copied(replace(state, want=Want.WRITE)):
                yield option.inside("store_private", self.nodes.cells(state.eclass))
        if state.want is Want.WRITE and self.generous:
            yield from self.reads.copied(state)
            for node in self.nodes.snapshot.nodes(state.eclass):
                yield from self.writes.alone(node, state)
