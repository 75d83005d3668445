"""Search: from a high-level program to low-level ones, each with the derivation that leads to it.

prepare    a program that only moves data gets a copy to do, or there is nothing to lower
saturate   rules in stages, in a child process with a budget (see `saturation`)
extract    the best term of each plan, lowered by context (see `extraction`)
estimate   the roofline model puts the plans in order (see `cost`)
explain    the e-graph's log becomes a linear derivation, which is replayed before it is returned
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from relift.egraph.cost import Cost, estimate
from relift.egraph.encoding import require_searchable
from relift.egraph.explanation import Explainer
from relift.egraph.extraction import Candidate, Extractor
from relift.egraph.saturation import Budget, Request, Stage, saturate
from relift.rewrites.derivation import Derivation, Step
from relift.rewrites.library import RULES
from relift.rewrites.matching import FloatPolicy, apply_rule
from relift.semantics.binding import Position, tidy
from relift.semantics.device import DeviceDescription, preset
from relift.semantics.errors import ReliftError
from relift.semantics.language import Program
from relift.semantics.terms import Term, subterms
from relift.semantics.types import Array, type_sizes
from relift.semantics.views import is_layout

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
    accepts: Callable[[Program], bool] = lambda _: True,
    progress: Callable[[str, int, float], None] | None = None,
) -> Optimized:
    """The best low-level programs that the rules reach, at the given sizes, for a device.

    Candidates that `accepts` turns down are passed over: a compiler may refuse what the model allows.

    `budget` is in seconds of search; when it, `nodes` or `memory_mb` runs out, the best found so far is
    returned and `complete` is false.  Raises `NoProgram` when nothing runnable was found.
    """
    started = time.monotonic()
    device = preset(target) if isinstance(target, str) else target
    source = program.at(sizes or {})
    require_searchable(source.body)
    prepared = _prepare(source)
    start = Program(source.name, source.parameters, prepared[-1][1] if prepared else source.body)
    request = Request(
        start,
        STAGES,
        NORMAL_FORM,
        tiles=_tiles(start.body, device),
        lanes=_lanes(start.body, device),
        policy=float,
        budget=Budget(seconds=budget, nodes=nodes, memory_mb=memory_mb),
    )
    saturation = saturate(request, progress)
    found: list[tuple[Cost, Program, Candidate]] = []
    for candidate in Extractor(saturation.snapshot, device).candidates(float, most=32):
        low = Program(source.name, source.parameters, candidate.low)
        found.append((estimate(low, device), low, candidate))
    found.sort(key=_rank)
    explainer = Explainer(saturation)
    results: list[Found] = []
    for cost, low, candidate in found:
        if len(results) == top:
            break
        if not accepts(low):
            continue
        steps = [step for step, _ in prepared]
        steps += explainer.explain(start.body, candidate.high)
        derivation = _lowered(program, sizes or {}, steps, candidate, float)
        best = Program(source.name, source.parameters, tidy(derivation.result))
        results.append(Found(best, cost, derivation))
    if not results:
        raise NoProgram(
            f"no program that OpenCL can run was found for {source.name} ({saturation.stopped}); "
            "give the search a larger budget, or store an intermediate array with to_global"
        )
    return Optimized(
        source,
        tuple(results),
        saturation.stopped,
        saturation.complete,
        saturation.nodes,
        time.monotonic() - started,
        saturation.firings,
    )


def _rank(item: tuple[Cost, Program, Candidate]) -> tuple[int, int]:
    """Order of candidates: by estimated time, and among times that differ by 2 % or less by size of term."""
    cost, low, _ = item
    return round(math.log(cost.seconds) / math.log(1.02)), sum(1 for _ in subterms(low.body))


def _lowered(
    origin: Program,
    sizes: Mapping[str, int],
    steps: Sequence[Step],
    candidate: Candidate,
    policy: FloatPolicy,
) -> Derivation:
    """The whole derivation: the steps that the e-graph explains, then the candidate's lowerings."""
    explained = Derivation(origin, sizes, tuple(steps), candidate.high, policy)
    t = explained.replay(RULES)[-1]
    lowerings: list[Step] = []
    for step in candidate.lowering:
        rule = RULES[step.rule]
        t, filling = apply_rule(rule, t, step.position, choices=step.choices, policy=policy)
        lowerings.append(Step(step.rule, step.direction, step.position, filling, step.choices))
    return Derivation(origin, sizes, (*steps, *lowerings), t, policy)


def _prepare(program: Program) -> list[tuple[Step, Term]]:
    """A copy of every element of a program that only moves data, as steps with the terms they give."""
    steps: list[tuple[Step, Term]] = []
    t, position = program.body, ()
    if not is_layout(t):
        return steps
    inner = t.type
    places: Position = position
    while isinstance(inner, Array):
        rule = RULES["insert_copy"]
        t, filling = apply_rule(rule, t, places)
        steps.append((Step(rule.name, "forward", places, filling), t))
        places, inner = (*places, "f"), inner.element
    return steps


def _lengths(t: Term) -> list[int]:
    """The lengths of all arrays that occur, largest first."""
    found = {n for u, _ in subterms(t) for size in type_sizes(u.type) if (n := size.constant)}
    return sorted(found, reverse=True)


def _tiles(t: Term, device: DeviceDescription) -> tuple[int, ...]:
    """Chunk lengths that give every unit of the device a few chunks of the longest array."""
    longest = _lengths(t)[:1]
    counts = (32 * device.compute_units,) if device.kind == "cpu" else (64 * device.compute_units,)
    found = {
        n // k
        for n in longest
        for wanted in counts
        for k in (_divisor_near(n, wanted),)
        if k is not None and 1 < k < n
    }
    return tuple(sorted(found))


def _divisor_near(n: int, wanted: int) -> int | None:
    """The divisor of n closest to `wanted` in ratio, preferring a quotient that vectors divide."""
    divisors = [k for k in range(1, min(n, 64 * wanted) + 1) if n % k == 0]
    return min(
        divisors,
        key=lambda k: ((n // k) % 16 != 0, max(k, wanted) / min(k, wanted)),
        default=None,
    )


def _lanes(t: Term, device: DeviceDescription) -> tuple[int, ...]:
    """The widest vectors of the device, and OpenCL's smaller ones, that divide some array."""
    lengths = _lengths(t)
    fitting = [
        w for w in (16, 8, 4, 2) if w <= device.vector_width and any(n % w == 0 for n in lengths)
    ]
    return tuple(fitting[:2])
