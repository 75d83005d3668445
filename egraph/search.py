"""Search: from a high-level program to low-level ones, each with the derivation that leads to it.

prepare    a program that only moves data gets a copy to do, or there is nothing to lower
saturate   rules in stages, in a child process with a budget (see `saturation`)
extract    the best term of each plan, lowered by context (see `extraction`)
estimate   the roofline model puts the plans in order (see `cost`)
explain    the e-graph's log becomes a linear derivation, which is replayed before it is returned
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from relift.egraph.cost import Cost, estimate
from relift.egraph.explanation import Explainer
from relift.egraph.extraction import Candidate, Extractor
from relift.egraph.saturation import Budget, Request, Saturation, Stage, saturate
from relift.rewrites.derivation import BrokenDerivation, Derivation, Step
from relift.rewrites.library import RULES
from relift.rewrites.matching import FloatPolicy, apply_rule
from relift.semantics import patterns
from relift.semantics.binding import Position, tidy
from relift.semantics.device import DeviceDescription, preset
from relift.semantics.errors import ReliftError, Unsupported
from relift.semantics.language import Program
from relift.semantics.terms import Apply, Call, Combine, Pattern, Term, subterms
from relift.semantics.types import Array, Scalar, type_sizes

STAGES: tuple[Stage, ...] = (
    Stage("split into chunks", ("split_join", "partial_reduce_chunks", "stencil_tiling"), 1),
    Stage("move maps together", ("split_map", "map_join", "map_fusion"), 2),
    Stage("vectorise", ("vectorize_map", "vectorize_reduce", "as_vector_map"), 2),
    Stage(
        "fuse",
        (
            "map_fusion", "zip_map_left", "zip_map_right", "as_vector_map", "reduce_to_seq",
            "reduce_map_fusion",
        ),
        3,
    ),
)  # fmt: skip
NORMAL_FORM = ("transpose_transpose", "join_split", "split_of_join", "as_vector_as_scalar")


class NoProgram(ReliftError):
    """The search found no program that OpenCL can run."""


@dataclass(frozen=True)
class Found:
    """One low-level program, what it is estimated to cost, and how it follows from the source."""

    term: Program
    cost: Cost
    derivation: Derivation


@dataclass(frozen=True)
class Optimized:
    """The result of a search; `candidates` are in order of cost, the first is the best.

    `stopped` says why the search ended, in words; `complete` whether no budget cut it short.
    """

    source: Program
    candidates: tuple[Found, ...]
    stopped: str
    complete: bool
    nodes: int
    seconds: float
    firings: Mapping[str, int]

    @property
    def term(self) -> Program:
        """The best low-level program."""
        return self.candidates[0].term

    @property
    def cost(self) -> Cost:
        """What the best program is estimated to cost."""
        return self.candidates[0].cost

    @property
    def derivation(self) -> Derivation:
        """How the best program follows from the source."""
        return self.candidates[0].derivation


def optimize(
    program: Program,
    sizes: Mapping[str, int] | None = None,
    target: str | DeviceDescription = "cpu",
    *,
    budget: float = 20.0,
    nodes: int = 50_000,
    memory_mb: int = 2_000,
    top: int = 1,
    float: FloatPolicy = "reassociate",
    progress: Callable[[str, int, float], None] | None = None,
) -> Optimized:
    """The best low-level programs that the rules reach, at the given sizes, for a device.

    `budget` is in seconds of search; when it, `nodes` or `memory_mb` runs out, the best found so far is
    returned and `complete` is false.  Raises `NoProgram` when nothing runnable was found.
    """
    started = time.monotonic()
    device = preset(target) if isinstance(target, str) else target
    source = program.at(sizes or {})
    steps, body = _prepare(source)
    request = Request(
        Program(source.name, source.parameters, body),
        STAGES,
        NORMAL_FORM,
        tiles=_tiles(body, device),
        lanes=_lanes(body, device),
        policy=float,
        budget=Budget(seconds=budget, nodes=nodes, memory_mb=memory_mb),
    )
    saturation = saturate(request, progress)
    extractor = Extractor(saturation.snapshot, device)
    found = [
        _finish(source, steps, candidate, saturation, device, float, explain=False)
        for candidate in extractor.candidates(float, most=24)
    ]
    found.sort(key=lambda item: item[0].seconds)
    if not found:
        raise NoProgram(
            f"no runnable program was found for {source.name} ({saturation.stopped}); "
            "give the search a larger budget"
        )
    results = []
    for cost, candidate, _ in found[:top]:
        results.append(_derived(source, steps, candidate, cost, saturation, float))
    return Optimized(
        source,
        tuple(results),
        saturation.stopped,
        saturation.complete,
        saturation.nodes,
        time.monotonic() - started,
        saturation.firings,
    )
