"""Search: from a high-level program to low-level ones, each with the derivation that leads to it.

prepare    a program that only moves data gets a copy to do, or there is nothing to lower; a stencil
           starts from several forms (see `stencils`)
saturate   rules in stages, in a child process with a budget (see `saturation`), or
reach      a sketch, through the stages that lead to it (see `guided`), with tiles chosen afterwards
extract    the best term of each plan, lowered by context (see `extraction`)
estimate   the roofline model puts the plans in order (see `cost`)
measure    the best are timed on the device, and the times kept (see `tuning`)
explain    the e-graph's log becomes a linear derivation, which is replayed before it is returned
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from relift.egraph.cost import Cost, estimate
from relift.egraph.encoding import require_searchable
from relift.egraph.explanation import Explainer
from relift.egraph.extraction import Candidate, Extractor, Lowering
from relift.egraph.guided import Guide
from relift.egraph.planning import tile_choices
from relift.egraph.plans import Plan, register_blocks, teams
from relift.egraph.saturation import Budget, Request, Stage, saturate
from relift.egraph.sketch_search import Unsatisfied
from relift.egraph.sketches import Sketch
from relift.egraph.sketches import sketch as parse_sketch
from relift.egraph.stencils import stencil_starts
from relift.egraph.term_graph import TermGraph
from relift.egraph.tuning import Measure, Tuner, default_path
from relift.rewrites.derivation import Derivation, Step
from relift.rewrites.group_tactics import group_tiles
from relift.rewrites.library import RULES
from relift.rewrites.matching import FloatPolicy, NoMatch, apply_rule
from relift.rewrites.tactics import derive, fuse
from relift.semantics.binding import Position, tidy
from relift.semantics.device import DeviceDescription, preset
from relift.semantics.errors import ReliftError, Unsupported
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
    """One low-level program, what it is estimated to cost, and how it follows from the source.

    `measured` is its time on the device in seconds, where the search was asked to measure.
    """

    term: Program
    cost: Cost
    derivation: Derivation
    measured: float | None = None


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
    sketch: Sketch | str | None = None,
    budget: float = 20.0,
    nodes: int = 50_000,
    memory_mb: int = 2_000,
    top: int = 1,
    varied: bool = False,
    float: FloatPolicy = "reassociate",
    accepts: Callable[[Program], bool] = lambda _: True,
    measure: Measure | None = None,
    tuning: Path | None = None,
    progress: Callable[[str, int, float], None] | None = None,
) -> Optimized:
    """The best low-level programs that the rules reach, at the given sizes, for a device.

    Candidates that `accepts` turns down are passed over: a compiler may refuse what the model allows.
    `sketch` is a goal that the program must satisfy; `sizes` may give its tiles, and those that it leaves
    open are chosen by the cost model.  Of the `top` candidates the one that is estimated best comes first;
    `varied` ones first differ in their tiles, then in less.  With `measure`, which runs a program and says how many seconds it
    took, the candidates that are estimated best are measured for up to `budget` seconds more, and the
    fastest come first; `tuning` is the file in which these times are kept and looked up.

    `budget` is in seconds of search; when it, `nodes` or `memory_mb` runs out, the best found so far is
    returned and `complete` is false.  Raises `NoProgram` when nothing runnable was found, `Unsatisfied` when
    no term satisfies the sketch.
    """
    started = time.monotonic()
    device = preset(target) if isinstance(target, str) else target
    given = dict(sizes or {})
    limits = Budget(seconds=budget, nodes=nodes, memory_mb=memory_mb)
    source = program.at(
        {name: n for name, n in given.items() if sketch is None or name in program.sizes}
    )
    require_searchable(source.body)
    tuner = None if measure is None else Tuner(tuning or default_path(), device.name, measure)
    if tuner is not None:
        tuner.check()  # a damaged database is found before the search, not after
    if sketch is None:
        start = _prepare(program, source, given, float)
        grown, candidates = _saturated(source, start, device, limits, progress)
        for start in stencil_starts(program, given, device, float):
            left = replace(limits, seconds=limits.seconds - (time.monotonic() - started))
            more, reshaped = _saturated(source, start, device, left, progress)
            grown, candidates = grown.and_then(more), candidates + reshaped
        for plan in register_blocks(program, given, device):
            left = replace(limits, seconds=limits.seconds - (time.monotonic() - started))
            guide = Guide(program, float, left, progress=progress)
            try:
                more, blocked = _sketched(guide, source, plan, device)
            except Unsatisfied as error:
                more, blocked = _Grown(str(error), left.seconds > 0, 0, {}), []
            grown, candidates = grown.and_then(more), candidates + blocked
        for tactic in itertools.chain(teams(source, device), group_tiles(source, device)):
            if time.monotonic() - started > budget:
                grown = replace(grown, complete=False)
                break
            with suppress(NoMatch):
                candidates += _tactical(derive(program, tactic, given, float), source, device)
        candidates.sort(key=_rank)
    else:
        wanted = parse_sketch(sketch) if isinstance(sketch, str) else sketch
        choices = tuple(tile_choices(wanted, given, device))
        if not choices:
            raise NoProgram(
                f"no tiles divide the sizes {', '.join(f'{n} = {v}' for n, v in given.items())} as the "
                f"sketch {wanted} needs; give tiles that do, or pad"
            )
        guide = Guide(program, float, limits, progress=progress)
        grown, candidates = _sketched(guide, source, Plan(wanted, choices), device)
    results: list[Found] = []
    wanted_count = top if tuner is None else max(top, MEASURED)
    if varied or tuner is not None:
        candidates.sort(key=lambda ranked: (ranked.round, _rank(ranked)))
    for candidate in candidates:
        if len(results) == wanted_count:
            break
        if accepts(candidate.low):
            results.append(candidate.found())
    if not results:
        raise NoProgram(
            f"no program that OpenCL can run was found for {source.name} ({grown.stopped}); "
            "give the search a larger budget, or store an intermediate array with to_global"
        )
    if tuner is not None:
        results = _measured(results, tuner, budget, progress)[:top]
    return Optimized(
        source,
        tuple(results),
        grown.stopped,
        grown.complete,
        grown.nodes,
        time.monotonic() - started,
        grown.firings,
    )


def as_written(
    program: Program, sizes: Mapping[str, int], target: str | DeviceDescription
) -> Found:
    """The program with its maps fused and lowered, and nothing else done: what a search has to beat.

    Raises `NoProgram` when it has no such form.

    >>> from relift.rewrites.loading import load_program
    >>> found = as_written(load_program("examples/saxpy.py"), {"n": 1024}, "cpu")
    >>> [step.rule for step in found.derivation.steps]
    ['map_to_glb']
    """
    device = preset(target) if isinstance(target, str) else target
    source = program.at(sizes)
    start = _prepare(program, source, sizes, "reassociate")
    fused = derive(replace(source, body=start.result), fuse())
    high = replace(fused, origin=program, sizes=sizes, steps=(*start.steps, *fused.steps))
    for ranked in _extracted(high, source, device, {}):
        return ranked.found()
    raise NoProgram(f"{program.name} computes an array that no kernel can store; use to_global")


MEASURED = 64
"""How many of the candidates that are estimated best are measured, when the budget lasts."""


@dataclass(frozen=True)
class _Grown:
    """What the e-graphs of a search came to."""

    stopped: str
    complete: bool
    nodes: int
    firings: Mapping[str, int]

    def and_then(self, more: _Grown) -> _Grown:
        """What one search and the next came to."""
        rules = [*self.firings, *more.firings]
        return _Grown(
            f"{self.stopped}; {more.stopped}",
            self.complete and more.complete,
            self.nodes + more.nodes,
            {rule: self.firings.get(rule, 0) + more.firings.get(rule, 0) for rule in rules},
        )


@dataclass(frozen=True)
class _Ranked:
    """A low-level program that may become a result, and how to derive it.

    `round` is its place among those that share its tiles.
    """

    cost: Cost
    low: Program
    derive: Callable[[], Derivation]
    round: int = 0

    def found(self) -> Found:
        derivation = self.derive()
        return Found(replace(self.low, body=tidy(derivation.result)), self.cost, derivation)


def _saturated(
    source: Program,
    start: Derivation,
    device: DeviceDescription,
    budget: Budget,
    progress: Callable[[str, int, float], None] | None,
) -> tuple[_Grown, list[_Ranked]]:
    """The candidates of one e-graph that all stages grow from a start, in order of estimated cost."""
    request = Request(
        replace(source, body=start.result),
        STAGES,
        NORMAL_FORM,
        tiles=_tiles(start.result, device),
        lanes=_lanes(start.result, device),
        policy=start.policy,
        budget=budget,
    )
    saturation = saturate(request, progress)
    explainer = Explainer(saturation)
    found: list[_Ranked] = []
    for candidate in Extractor(saturation.snapshot, device).candidates(start.policy, most=32):

        def derive(candidate: Candidate = candidate) -> Derivation:
            steps = (*start.steps, *explainer.explain(start.result, candidate.high))
            return _lowered(replace(start, steps=steps, result=candidate.high), candidate)

        low = replace(source, body=candidate.low)
        found.append(_Ranked(estimate(low, device), low, derive))
    found = _in_rounds(found)
    grown = _Grown(saturation.stopped, saturation.complete, saturation.nodes, saturation.firings)
    return grown, found


def _sketched(
    guide: Guide,
    source: Program,
    plan: Plan,
    device: DeviceDescription,
) -> tuple[_Grown, list[_Ranked]]:
    """The candidates of a sketch with every choice of its open tiles, in order of estimated cost."""
    reached = guide.reach(plan.sketch, plan.choices[0])
    found: list[_Ranked] = []
    for tiles in plan.choices:
        try:
            high = reached.copied(tiles)
        except ReliftError:
            continue  # these tiles do not divide a length along the way
        demanded = {want.position: Lowering(want.rule, want.choices) for want in reached.wanted}
        found += _extracted(high, source, device, demanded)
    found.sort(key=_rank)
    firings: dict[str, int] = {}
    for stage in reached.stages:
        for rule, number in stage.firings.items():
            firings[rule] = firings.get(rule, 0) + number
    stopped = f"the sketch was reached in {len(reached.stages)} stages"
    return _Grown(stopped, True, reached.nodes, firings), found


def _tactical(reached: Derivation, source: Program, device: DeviceDescription) -> list[_Ranked]:
    """What a tactic reached, as a candidate when it is low-level, otherwise its lowered forms."""
    low = replace(source, body=reached.result)
    try:
        return [_Ranked(estimate(low, device), low, lambda: reached)]
    except Unsupported:
        return _extracted(reached, source, device, {})


def _extracted(
    high: Derivation,
    source: Program,
    device: DeviceDescription,
    demanded: Mapping[Position, Lowering],
) -> list[_Ranked]:
    """The lowered forms of one term, in order of estimated cost."""
    graph = TermGraph(high.result)
    wanted = {graph.at[position]: lowering for position, lowering in demanded.items()}
    found: list[_Ranked] = []
    for candidate in Extractor(graph, device, demanded=wanted).candidates(high.policy, most=4):
        low = replace(source, body=candidate.low)
        try:
            cost = estimate(low, device)
        except Unsupported:
            continue
        found.append(_Ranked(cost, low, partial(_lowered, high, candidate)))
    return _in_rounds(found)


def _measured(
    results: Sequence[Found],
    tuner: Tuner,
    budget: float,
    progress: Callable[[str, int, float], None] | None,
) -> list[Found]:
    """The results with their times, fastest first; those that did not run are left out.

    What the budget does not reach keeps its place after what was timed.
    """
    started = time.monotonic()

    def heard(text: str) -> None:
        if progress is not None:
            progress(f"measuring {text}", 0, time.monotonic() - started)

    timings = tuner.best([found.term for found in results], budget, heard)
    timed = [
        replace(found, measured=timing.seconds)
        for found, timing in zip(results, timings, strict=True)
        if timing is not None and timing.seconds is not None
    ]
    rest = [found for found, timing in zip(results, timings, strict=True) if timing is None]
    if not timed and not rest:
        reasons = sorted({timing.failure for timing in timings if timing is not None})
        raise NoProgram(f"no candidate ran on {tuner.device}: {'; '.join(reasons)}")
    return sorted(timed, key=lambda found: found.measured or 0.0) + rest


def _in_rounds(alike: list[_Ranked]) -> list[_Ranked]:
    """Candidates that share their tiles, in order of estimated cost."""
    ordered = sorted(alike, key=_rank)
    return [replace(ranked, round=place) for place, ranked in enumerate(ordered)]


def _rank(ranked: _Ranked) -> tuple[int, int]:
    """Order of candidates: by estimated time, and among times that differ by 2 % or less by size of term."""
    size = sum(1 for _ in subterms(ranked.low.body))
    return round(math.log(ranked.cost.seconds) / math.log(1.02)), size


def _lowered(high: Derivation, candidate: Candidate) -> Derivation:
    """The whole derivation: the steps to the high-level term, then the candidate's lowerings."""
    t = high.replay(RULES)[-1]
    lowerings: list[Step] = []
    for step in candidate.lowering:
        rule = RULES[step.rule]
        t, filling = apply_rule(rule, t, step.position, choices=step.choices, policy=high.policy)
        lowerings.append(Step(step.rule, step.direction, step.position, filling, step.choices))
    return replace(high, steps=(*high.steps, *lowerings), result=t)


def _prepare(
    program: Program, source: Program, sizes: Mapping[str, int], policy: FloatPolicy
) -> Derivation:
    """The program, with a copy of every element where it only moves data."""
    steps: list[Step] = []
    t = source.body
    inner = t.type
    places: Position = ()
    while is_layout(source.body) and isinstance(inner, Array):
        rule = RULES["insert_copy"]
        t, filling = apply_rule(rule, t, places)
        steps.append(Step(rule.name, "forward", places, filling))
        places, inner = (*places, "f"), inner.element
    return Derivation(program, sizes, tuple(steps), t, policy)


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
