"""Proposals: low-level programs that follow from a program, each with its estimated cost.

written    the program as it is, fused and lowered: whatever a budget cuts short, this is found
saturate   rules in stages, in a child process with a budget (see `saturation`), from the program and, for a
           stencil, from its other forms (see `stencils`)
reach      a user's sketch, through the stages that lead to it (see `guided`), with every choice of its tiles
derive     what a tactic makes of the program, where one suits it (see `plans`)
extract    the best term of each plan, lowered by context (see `extraction`)

Every start, plan and tactic is a job of its own, and two are done at once (see `workers`).
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeAlias

from relift.device import DeviceDescription
from relift.egraph.cost.model import Cost, estimate
from relift.egraph.encode.term_graph import TermGraph
from relift.egraph.explanation.explainer import Explainer
from relift.egraph.extraction.extractor import Extractor
from relift.egraph.extraction.states import Candidate, Lowering
from relift.egraph.process.saturation import Budget, Progress, Request, Saturation, Stage, saturate
from relift.egraph.process.workers import MOST_WORKERS, default_workers, in_order
from relift.egraph.search.guided import Guide
from relift.egraph.search.planning import NORMAL_FORM
from relift.egraph.search.plans import (
    Plan,
    cooperative_reductions,
    lanes,
    register_blocks,
    shared_windows,
)
from relift.egraph.search.stencils import stencil_starts
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES
from relift.rewrites.matching import FloatPolicy, NoMatch, apply_rule
from relift.rewrites.tactics.combinators import (
    Tactic,
    apply,
    attempt,
    derive,
    everywhere,
    first,
    fuse,
    skip,
    then,
)
from relift.rewrites.tactics.group_tiles import group_tiles
from relift.rewrites.tactics.sharing import (
    apart,
    has_fold,
    inlined,
    named,
    storable,
    stored,
    unrolled,
)
from relift.semantics.errors import ReliftError, Unsupported
from relift.semantics.indices.views import is_layout
from relift.semantics.language.vocabulary import Program
from relift.semantics.notation.parser import names_used
from relift.semantics.syntax.binding import Position, canonical
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import Array, type_sizes

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


@dataclass(frozen=True)
class Proposal:
    """A low-level program that may become a result, and how to derive it.

    `round` is its place among those that share its tiles.
    """

    cost: Cost
    low: Program
    derive: Callable[[], Derivation]
    round: int = 0

    @property
    def rank(self) -> tuple[int, int]:
        """The order of estimated time; of times that differ by 2 % or less, of the term's size."""
        size = sum(1 for _ in subterms(self.low.body))
        return round(math.log(self.cost.seconds) / math.log(1.02)), size


@dataclass(frozen=True)
class SearchStats:
    """What the e-graphs of a search came to: why they ended, whether no budget did, and what they took."""

    stopped: str
    complete: bool
    nodes: int
    firings: Mapping[str, int]
    profile: Mapping[str, float]

    @property
    def reasons(self) -> list[str]:
        """Why the searches ended, each reason once."""
        return self.stopped.split("; ") if self.stopped else []

    def and_then(self, more: SearchStats) -> SearchStats:
        """What one search and the next came to."""
        profile = dict(self.profile)
        for rule, seconds in more.profile.items():
            profile[rule] = profile.get(rule, 0.0) + seconds
        return SearchStats(
            "; ".join(dict.fromkeys([*self.reasons, *more.reasons])),
            self.complete and more.complete,
            self.nodes + more.nodes,
            Counter(self.firings) + Counter(more.firings),
            profile,
        )


FORMS: tuple[tuple[Tactic, int], ...] = ((skip, 3), (named(), 2), (apart(), 0), (unrolled(), 0))
"""What the program as it is written may become before it is lowered, each on its own.

Of so many values that may be stored every choice is tried; of more all, none, and those that are computed by folds.
"""


def _choices(values: Sequence[Term], most: int) -> list[tuple[Term, ...]]:
    """Which values are stored, each choice once."""
    if len(values) > most:
        folds = tuple(value for value in values if has_fold(value))
        return list(dict.fromkeys([(), tuple(values), folds]))
    counts = range(len(values) + 1)
    return [chosen for k in counts for chosen in itertools.combinations(values, k)]


_NOTHING = SearchStats("", True, 0, {}, {})

_Outcome: TypeAlias = tuple[SearchStats, list[Proposal]]


@dataclass(frozen=True)
class Proposals:
    """Where the proposals for one program come from; `budget` holds for all of them together.

    So many `workers` look for them at once; what they find does not depend on it, unless the seconds run out.
    Two e-graphs may grow at a time, so each may take half of the memory, with one worker too.
    """

    program: Program
    sizes: Mapping[str, int]
    device: DeviceDescription
    budget: Budget = field(default_factory=Budget)
    policy: FloatPolicy = "reassociate"
    progress: Progress | None = None
    workers: int = field(default_factory=default_workers)
    started: float = field(default_factory=time.monotonic)

    @cached_property
    def source(self) -> Program:
        """The program at its own sizes; what is left of the sizes belongs to the tiles of a sketch."""
        own = self.program.sizes
        return self.program.at({name: n for name, n in self.sizes.items() if name in own})

    def left(self) -> Budget:
        """The budget, with the seconds that are left of it."""
        spent = time.monotonic() - self.started
        return replace(self.budget, seconds=max(self.budget.seconds - spent, 0.0))

    def all(self) -> tuple[SearchStats, list[Proposal]]:
        """What suits the program, in order of estimated cost."""
        starts = (
            self.prepared(),
            *stencil_starts(self.program, self.sizes, self.device, self.policy),
        )
        tactical = (register_blocks, lanes, cooperative_reductions, shared_windows, group_tiles)
        tactics = itertools.chain(*(plan(self.source, self.device) for plan in tactical))
        ways: list[_Way] = [
            Proposals._written,
            *(partial(Proposals.saturated, start=start) for start in starts),
            *(partial(Proposals._by_tactic, tactic=tactic) for tactic in tactics),
        ]
        jobs = [partial(self._gone, way) for way in ways]
        grown, found = _NOTHING, list[Proposal]()
        for more, proposals in in_order(jobs, self.workers, self._shared(), self.progress):
            grown, found = grown.and_then(more), found + proposals
        return grown, sorted(found, key=lambda proposal: proposal.rank)

    def _gone(self, way: _Way, progress: Progress | None) -> _Outcome:
        """What comes of a way, which tells its progress to the process that does it."""
        budget = replace(self.budget, memory_mb=self.budget.memory_mb // MOST_WORKERS)
        return way(replace(self, progress=progress, budget=budget))

    def _written(self) -> _Outcome:
        """The program as it is written, which no result is estimated to be worse than."""
        return _NOTHING, self.floor()

    def _by_tactic(self, tactic: Tactic) -> _Outcome:
        """The proposals of a tactic, none when it does not apply."""
        if not self.left().seconds:
            return replace(_NOTHING, complete=False), []
        with suppress(NoMatch):
            return _NOTHING, self.derived(tactic)
        return _NOTHING, []

    def _shared(self) -> list[object]:
        """What refers to functions, in whatever the search comes to."""
        sides = (side for rule in RULES.values() for side in (rule.left, rule.right))
        terms = (self.program.body, self.source.body, *sides)
        used = (value for t in terms for value in names_used(t).values())
        return [self.program, self.program.reference, RULES, *RULES.values(), *used]

    def prepared(self) -> Derivation:
        """The program without names outside all functions; with a copy of every element where nothing is to lower."""
        named = self._after(self._given(), attempt(inlined()))
        t, steps = named.result, list(named.steps)
        inner = t.type
        places: Position = ()
        while is_layout(named.result) and isinstance(inner, Array):
            t, substitution = apply_rule(RULES["insert_copy"], t, places)
            steps.append(Step("insert_copy", "forward", places, substitution))
            places, inner = (*places, "f"), inner.element
        return replace(named, steps=tuple(steps), result=t)

    def _given(self) -> Derivation:
        """The program with nothing done to it yet."""
        return Derivation(self.program, self.sizes, (), self.source.body, self.policy)

    def saturated(self, start: Derivation) -> tuple[SearchStats, list[Proposal]]:
        """The proposals of one e-graph that all stages grow from a start."""
        request = Request(
            replace(self.source, body=start.result),
            STAGES,
            NORMAL_FORM,
            tiles=_tiles(start.result, self.device),
            lanes=_lanes(start.result, self.device),
            policy=self.policy,
            budget=self.left(),
        )
        saturation = saturate(request, self.progress)
        explanations = _Explanations(start, saturation)
        found: list[Proposal] = []
        extractor = Extractor(saturation.snapshot, self.device)
        for candidate in extractor.candidates(self.policy, most=32):
            low = replace(self.source, body=candidate.low)
            derived = partial(explanations.of, candidate)
            with suppress(Unsupported):
                found.append(Proposal(estimate(low, self.device), low, derived))
        grown = SearchStats(
            saturation.stopped,
            saturation.complete,
            saturation.nodes,
            saturation.firings,
            saturation.profile,
        )
        return grown, _in_rounds(found)

    def sketched(self, plan: Plan) -> tuple[SearchStats, list[Proposal]]:
        """The proposals of a sketch with every choice of its open tiles; raises `Unsatisfied`."""
        guide = Guide(self.program, self.policy, self.left(), progress=self.progress)
        reached = guide.reach(plan.sketch, plan.choices[0])
        demanded = {want.position: Lowering(want.rule, want.choices) for want in reached.wanted}
        found: list[Proposal] = []
        for tiles in plan.choices:
            with suppress(ReliftError):  # these tiles do not divide a length along the way
                found += self.extracted(reached.copied(tiles), demanded)
        firings = Counter[str]()
        profile: dict[str, float] = {}
        for stage in reached.stages:
            firings.update(stage.firings)
            for rule, seconds in stage.profile.items():
                profile[rule] = profile.get(rule, 0.0) + seconds
        stopped = f"the sketch was reached in {len(reached.stages)} stages"
        grown = SearchStats(stopped, True, reached.nodes, firings, profile)
        return grown, sorted(found, key=lambda proposal: proposal.rank)

    def derived(self, tactic: Tactic) -> list[Proposal]:
        """What a tactic makes of the program: as it is when that is low-level, otherwise lowered."""
        reached = derive(self.program, tactic, self.sizes, self.policy)
        low = replace(self.source, body=reached.result)
        try:
            return [Proposal(estimate(low, self.device), low, partial(_same, reached))]
        except Unsupported:
            return self.extracted(reached, {})

    def as_written(self) -> list[Proposal]:
        """The program with its maps fused, and lowered."""
        return self.extracted(self._after(self.prepared(), fuse()), {})

    def floor(self) -> list[Proposal]:
        """The program as written, and with what it needs more than once computed once: in the form of each of `FORMS`.

        Values that a kernel of its own may store are stored all, each alone, and in every choice of a few.
        """
        prepared = self.prepared()
        found: list[Proposal] = []
        seen: set[Term] = set()
        for form, most in FORMS:
            with suppress(NoMatch):
                shaped = self._after(prepared, form)
                values = [each.value for each in storable(shaped.result)]
                for chosen in _choices(values, most):
                    fused = self._after(shaped, then(stored(chosen), fuse()))
                    if (result := canonical(fused.result)) not in seen:
                        seen.add(result)
                        found += self.extracted(fused, {}, most=2)
        if not found:  # it may be low-level already
            with suppress(Unsupported):
                cost = estimate(self.source, self.device)
                found.append(Proposal(cost, self.source, partial(_same, self._given())))
        return sorted(found, key=lambda proposal: proposal.rank)

    def unchosen(self) -> Program:
        """The program with every map in order, which a compiler refuses where it stands for no kernel."""
        rules = ("map_to_seq", "reduce_to_seq")
        in_order = self._after(self.prepared(), attempt(_lowered_by(rules)))
        return replace(self.source, body=in_order.result)

    def _after(self, reached: Derivation, tactic: Tactic) -> Derivation:
        """A derivation that goes on with a tactic."""
        more = derive(replace(self.source, body=reached.result), tactic, {}, self.policy)
        return replace(reached, steps=(*reached.steps, *more.steps), result=more.result)

    def extracted(
        self, high: Derivation, demanded: Mapping[Position, Lowering], most: int = 4
    ) -> list[Proposal]:
        """The lowered forms of one term, in order of estimated cost."""
        graph = TermGraph(high.result)
        wanted = {graph.at[position]: lowering for position, lowering in demanded.items()}
        found: list[Proposal] = []
        extractor = Extractor(graph, self.device, demanded=wanted)
        for candidate in extractor.candidates(self.policy, most):
            low = replace(self.source, body=candidate.low)
            with suppress(Unsupported):
                cost = estimate(low, self.device)
                found.append(Proposal(cost, low, partial(_lowered, high, candidate)))
        return _in_rounds(found)


def _lowered_by(rules: Sequence[str]) -> Tactic:
    return everywhere(attempt(first(*(apply(rule) for rule in rules))))


_Way: TypeAlias = Callable[[Proposals], _Outcome]
"""One of the ways to proposals."""


@dataclass(frozen=True)
class _Explanations:
    """The derivations of what an e-graph holds, which are explained when they are asked for."""

    start: Derivation
    saturation: Saturation

    @cached_property
    def explainer(self) -> Explainer:
        return Explainer(self.saturation)

    def of(self, candidate: Candidate) -> Derivation:
        steps = self.explainer.explain(self.start.result, candidate.high)
        reached = replace(self.start, steps=(*self.start.steps, *steps), result=candidate.high)
        return _lowered(reached, candidate)


def _same(reached: Derivation) -> Derivation:
    return reached


def _in_rounds(alike: list[Proposal]) -> list[Proposal]:
    """Proposals that share their tiles, in order of estimated cost."""
    ordered = sorted(alike, key=lambda proposal: proposal.rank)
    return [replace(proposal, round=place) for place, proposal in enumerate(ordered)]


def _lowered(high: Derivation, candidate: Candidate) -> Derivation:
    """The whole derivation: the steps to the high-level term, then the candidate's lowerings."""
    t = high.replay(RULES)[-1]
    lowerings: list[Step] = []
    for step in candidate.lowering:
        rule = RULES[step.rule]
        t, substitution = apply_rule(
            rule, t, step.position, choices=step.choices, policy=high.policy
        )
        lowerings.append(Step(step.rule, step.direction, step.position, substitution, step.choices))
    return replace(high, steps=(*high.steps, *lowerings), result=t)


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
