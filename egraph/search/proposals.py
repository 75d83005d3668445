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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeAlias

from relift.device import DeviceDescription
from relift.egraph.checks.admission import Admitted
from relift.egraph.cost.model import estimate, least_seconds
from relift.egraph.extraction.states import Lowering
from relift.egraph.process.saturation import Budget, NeverBegan, Progress, Request, saturate
from relift.egraph.process.workers import MOST_WORKERS, default_workers, in_order
from relift.egraph.search.allotted import TOGETHER, SearchJob, allotted
from relift.egraph.search.derived import (
    Explanations,
    after,
    alternatives,
    best_of,
    extracted,
    for_all,
    fused_of,
    of_kernels,
    of_shape,
    same,
    with_copies,
)
from relift.egraph.search.guidance.admissible import lanes_of, tiles_of
from relift.egraph.search.guidance.by_shape import folded_whole, planned, whole_rows
from relift.egraph.search.guidance.guided import Guide
from relift.egraph.search.guidance.planning import NORMAL_FORM
from relift.egraph.search.guidance.plans import TiledSketch
from relift.egraph.search.in_others import in_others, in_steps, in_tiles
from relift.egraph.search.outcomes import (
    AT_THE_LIMIT,
    NOTHING,
    OUT_OF_SECONDS,
    Outcome,
    Proposal,
    SearchStats,
    in_rounds,
    once_for_shape,
    rank_of,
    ranked,
    soonest,
)
from relift.egraph.search.own_rules import STAGES, applied, by_strategies, kept_here, stages_with
from relift.egraph.search.pruning import NEAREST, worth_by
from relift.egraph.search.starts.chains import shortened
from relift.egraph.search.starts.forms import (
    ELSEWHERE,
    FORMS,
    UNROLLED,
    Form,
    accepted,
    choices_in,
    is_lowered_apart,
    least_of,
    multiply_adds,
    steps_of,
)
from relift.egraph.search.starts.prepared import PREPARED, ROWS_APART, as_read
from relift.egraph.search.starts.promising import is_near, is_worth_searching, promising
from relift.egraph.search.starts.remainders import remainder_starts
from relift.egraph.search.starts.staged import StagedKernel, kernels_of, of_one_shape, shape_of
from relift.egraph.search.starts.stencils import stencil_starts
from relift.egraph.search.starts.with_names import is_low_level
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.tactics.combinators import Tactic, attempt, skip
from relift.rewrites.tactics.sharing import stored
from relift.rewrites.tactics.spelled_out import spelled_out
from relift.semantics.errors import ReliftError, Unsupported, blamed_once
from relift.semantics.indices.views import is_layout
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import Position, canonical
from relift.semantics.syntax.terms import Term


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
    refused: Callable[[Program], str | None] = lambda _: None
    admitted: Admitted = field(default_factory=Admitted)
    strategies: Sequence[tuple[str, Tactic]] = ()
    apart: bool = False
    """Whether each of several results has a kernel of its own."""
    rows_apart: bool = False
    """Whether each of several results computes rows that others fold."""
    named: bool = False
    """Whether names in functions stay as they are."""
    staged: bool = False
    """Whether what the program stores has been searched for itself."""
    share: float = TOGETHER
    """So many times the nodes of an e-graph are for all e-graphs of the search together."""

    @cached_property
    def source(self) -> Program:
        """The program at its own sizes; what is left of the sizes belongs to the tiles of a sketch."""
        return self.program.at({n: m for n, m in self.sizes.items() if n in self.program.sizes})

    def left(self) -> Budget:
        """The budget, with the seconds that are left of it."""
        seconds = self.started + self.budget.seconds - time.monotonic()
        return replace(self.budget, seconds=max(seconds, 0.0))

    @property
    def is_over(self) -> bool:
        """Whether no seconds are left: what is found then is returned."""
        return not self.left().seconds

    def all(self) -> tuple[SearchStats, list[Proposal]]:
        """What suits the program, in order of estimated cost: the floor, and what is found from its best forms."""
        if (of_others := in_others(self)) is not None:
            return of_others
        grown, iterations = in_steps(self)
        if iterations and not self.strategies:
            written = self.as_written()
            if min(map(rank_of, iterations)) <= min(map(rank_of, written), default=(math.inf, 0)):
                return grown, ranked([*iterations, *written])
        forms = self.forms(without=(UNROLLED,) if iterations else ())
        _, tiled = in_tiles(self)
        found = [*iterations, *tiled, *(each for form in forms for each in form.proposals)]
        if self.is_over and found:
            return grown.and_then(OUT_OF_SECONDS), ranked(found)
        if not is_near(forms[0], forms):
            rows = self.of_rows()
            found += rows
            if rows and rows[0].cost.seconds <= NEAREST * least_seconds(self.source, self.device):
                return AT_THE_LIMIT, ranked(found)
        chosen = promising([accepted(form, self.refused) for form in forms])
        whole, chosen = _with_the_whole(self, forms, chosen)
        chains = [(f, kernels_of(replace(self.source, body=f.parted.result))) for f in chosen]
        parts = [[self.of_part(kernel.program) for kernel in kernels] for _, kernels in chains]
        tasks = [*whole, *itertools.chain(*parts)]
        alike = of_one_shape([task.source for task in tasks], len(whole))
        ways = [
            (number, task, way)
            for number, task in enumerate(tasks)
            if alike[number] == number
            for way in (task.searches() if task is self else _ways_of_a_kernel(task))
        ]
        # what takes longest first, so that no worker is left with it, then kernels
        ways.sort(key=lambda each: (each[2] is not _written, each[0] < len(whole)))
        jobs = [
            SearchJob(
                number,
                partial(task._gone, way),
                grows=getattr(way, "func", way) is Proposals.saturated,
            )
            for number, task, way in ways
        ]
        numbers = iter(alike)
        numbered = [[next(numbers) for _ in part] for part in ([whole] if whole else []) + parts]
        least = [least_seconds(task.source, self.device) for task in tasks]
        worth = partial(worth_by, numbered, least, soonest(found), forms if whole else ())
        shared = kept_here(((t.program, t.source) for t in (self, *tasks)), self.admitted.rules)
        do = partial(in_order, workers=self.workers, shared=shared, progress=self.progress)
        most = int(self.share * self.budget.nodes)
        grown, outcomes = allotted(jobs, do, grown, most, len(tasks), worth)
        each = iter(for_all([task.source for task in tasks], alike, outcomes))
        found += [proposal for _ in whole for proposal in next(each)]
        for form, kernels in chains:
            found += self._together(form.parted, kernels, [next(each) for _ in kernels])
        return grown, ranked(found)

    def of_rows(self) -> list[Proposal]:
        """What groups make of rows that are folded, those first that are estimated best."""
        ways = map(self._by_tactic, whole_rows(self.source, self.device))
        return best_of([each for _, found in ways for each in found], self.refused)

    def of_part(self, program: Program) -> Proposals:
        """The same task for one kernel, or another part of the program."""
        return replace(self, program=program, sizes={}, strategies=(), apart=False, staged=False)

    def _together(
        self, parted: Derivation, kernels: Sequence[StagedKernel], parts: Sequence[list[Proposal]]
    ) -> Iterator[Proposal]:
        """The best that was found for each kernel, and for one of them what comes next, as one program."""
        tried, own = alternatives(parts, self.refused), (self.source, self.device)
        return of_kernels(parted, kernels, *own, tried, may_name=not self.apart)

    def searches(self) -> list[_Way]:
        """The ways to proposals beside the floor."""
        own = self.admitted.own
        starts = (
            after(self.source, self.prepared(), attempt(shortened())),
            *stencil_starts(self.program, self.sizes, self.device, self.policy),
            *remainder_starts(self.program, self.sizes, self.device, self.policy),
        )
        return [
            *(partial(Proposals.saturated, start=replace(s, own=own)) for s in starts),
            *(
                partial(Proposals._by_tactic, tactic=tactic)
                for tactic in planned(self.source, self.device)
            ),
        ]

    def _gone(self, way: _Way, progress: Progress | None) -> Outcome:
        """What comes of a way, which tells its progress to the process that does it."""
        budget = replace(self.budget, memory_mb=self.budget.memory_mb // MOST_WORKERS)
        with blamed_once():  # most of what a search tries does not apply, and says so
            return way(replace(self, progress=progress, budget=budget))

    def _by_tactic(self, tactic: Tactic) -> Outcome:
        """The proposals of a tactic, none when it does not apply."""
        if self.is_over:
            return OUT_OF_SECONDS, []
        with suppress(NoMatch):
            return NOTHING, self.derived(tactic)
        return NOTHING, []

    def prepared(self) -> Derivation:
        """The program without names outside all functions; with a copy of every element where nothing is to lower."""
        way = (ROWS_APART if self.rows_apart else PREPARED)[self.device.kind]
        named = after(self.source, self.said(), way)
        return with_copies(named) if is_layout(named.result) else named

    def said(self) -> Derivation:
        """The program in patterns that are searched."""
        return after(self.source, self.given(), attempt(spelled_out()))

    def given(self) -> Derivation:
        """The program with nothing done to it yet."""
        own = self.admitted.own
        return Derivation(self.program, self.sizes, (), self.source.body, self.policy, own)

    def saturated(self, start: Derivation) -> tuple[SearchStats, list[Proposal]]:
        """The proposals of one e-graph that all stages grow from a start."""
        request = Request(
            replace(self.source, body=start.result),
            stages_with(STAGES, self.admitted, self.policy),
            NORMAL_FORM,
            tiles=tiles_of(start.result, self.device),
            lanes=lanes_of(start.result, self.device),
            policy=self.policy,
            budget=self.left(),
            rules=self.admitted.rules,
        )
        try:
            saturation = saturate(request, self.progress)
        except NeverBegan as error:  # what is found in other ways stands
            return replace(NOTHING, stopped=error.message, complete=False), []
        found = Explanations(start, saturation).proposals(self.source, self.device)
        return SearchStats.of(saturation), in_rounds(found)

    def sketched(self, plan: TiledSketch) -> tuple[SearchStats, list[Proposal]]:
        """The proposals of a sketch with every choice of its open tiles; raises `Unsatisfied`."""
        guide = Guide(
            self.program,
            self.policy,
            self.left(),
            self.admitted.rules,
            self.progress,
            self.admitted,
        )
        reached = guide.reach(plan.sketch, plan.choices[0])
        demanded = {want.position: Lowering(want.rule, want.choices) for want in reached.wanted}
        found: list[Proposal] = []
        for tiles in plan.choices:
            with suppress(ReliftError):  # these tiles do not divide a length along the way
                found += self.extracted(reached.copied(tiles), demanded)
        grown = replace(NOTHING, stopped=f"the sketch was reached in {len(reached.stages)} stages")
        for each in reached.stages:
            grown = grown.and_then(SearchStats("", True, each.nodes, each.firings, each.profile))
        return grown, ranked(found)

    def derived(self, tactic: Tactic) -> list[Proposal]:
        """What a tactic makes of the program: as it is when that is low-level, otherwise lowered."""
        return self.lowerings(after(self.source, self.given(), tactic))

    def lowerings(self, reached: Derivation) -> list[Proposal]:
        """A term that a tactic made as it is when that is low-level, otherwise lowered."""
        low = replace(self.source, body=reached.result)
        try:
            return [Proposal(estimate(low, self.device), low, partial(same, reached))]
        except Unsupported:
            return self.extracted(reached, {})

    def as_written(self) -> list[Proposal]:
        """The program with its maps fused, and lowered."""
        return self.extracted(fused_of(self.source, self.prepared()), {})

    def floor(self) -> list[Proposal]:
        """The program as written, and with what it needs more than once computed once."""
        return ranked([each for form in self.forms() for each in form.proposals])

    def forms(self, without: Sequence[Tactic] = ()) -> list[Form]:
        """The program in the form of each of `FORMS`, with some of its values stored; first as it is written."""
        prepared = self.prepared()
        without = (*without, *ELSEWHERE[self.device.kind])
        found, seen = list[Form](), set[Term]()
        for tactic, most in (*FORMS, *((own, 0) for own in applied(self.admitted))):
            if self.is_over and any(form.proposals for form in found):
                break
            with suppress(NoMatch), blamed_once():
                shaped = after(self.source, prepared, skip if tactic in without else tactic)
                choices = choices_in(shaped.result, most, self.device, tactic)
                for chosen in choices:
                    if self.is_over and chosen not in ((), max(choices, key=len)):
                        continue  # without seconds, what is needed again is computed again, or all is stored
                    parted = after(self.source, shaped, stored(chosen))
                    fused = fused_of(self.source, parted)
                    if (result := canonical(fused.result)) not in seen:
                        seen.add(result)
                        form = self._form(parted, fused)
                        found.append(replace(form, made_by=tactic))
        found += [
            Form(reached, (), tuple(self.lowerings(reached)))
            for reached in by_strategies(self.source, self.given(), self.strategies, self.admitted)
        ]
        if is_low_level(self.source.body):
            with suppress(Unsupported):  # it may be low-level already
                cost = estimate(self.source, self.device)
                given = self.given()
                low = Form(given, (), (Proposal(cost, self.source, partial(same, given)),))
                found = [low, *found] if found[0].proposals else [low, *found[1:]]
        return found

    def _form(self, parted: Derivation, fused: Derivation) -> Form:
        """A form with what it is lowered to as it is, or kernel by kernel."""
        simple = dict[Term, list[Proposal]]()
        kernels = kernels_of(replace(self.source, body=parted.result))
        apart = is_lowered_apart(kernels, self.device)
        whole = self.device.kind != "gpu" or not apart
        found = self.extracted(fused, {}, most=2) if whole else []
        if apart:
            parts: list[list[Proposal]] = []
            for task in (self.of_part(kernel.program) for kernel in kernels):
                shape = shape_of(task.source)
                simple[shape] = once_for_shape((shape, self.device, self.policy), task._simply)
                parts.append([of_shape(task.source, each) for each in simple[shape]])
            found = ranked([*found, *self._together(parted, kernels, parts)])
        adds = sum(multiply_adds(each.program) for each in kernels)
        least = least_of(kernels, self.device, simple)
        values = tuple(kernel.program.body.type for kernel in kernels if kernel.result)
        steps = sum(steps_of(kernel.program.body) for kernel in kernels)
        return Form(parted, values, tuple(found), least, adds, steps)

    def _simply(self) -> list[Proposal]:
        """What a kernel is lowered to without a search: by the tactics for its folds, and as it is written."""
        found = list(self.extracted(fused_of(self.source, self.given()), {}, most=2))
        for tactic in folded_whole(self.source, self.device):
            with suppress(NoMatch):
                found += self.lowerings(after(self.source, self.given(), tactic))
        return ranked(found)

    def extracted(
        self, high: Derivation, demanded: Mapping[Position, Lowering], most: int = 4
    ) -> list[Proposal]:
        """The lowered forms of one term, in order of estimated cost."""
        return extracted(high, self.source, self.device, demanded, most)


def _with_the_whole(
    task: Proposals, forms: Sequence[Form], chosen: Sequence[Form]
) -> tuple[list[Proposals], list[Form]]:
    """The program as it is written, if it is worth a search beside the forms; as a form where its folds compute what they read."""
    if task.apart or not is_worth_searching(forms, chosen):
        return [], list(chosen)
    read = as_read(task.source, task.said(), task.device.kind)
    return ([task], list(chosen)) if read is None else ([], [*chosen, Form(read, (), ())])


def _ways_of_a_kernel(task: Proposals) -> list[_Way]:
    """The floor, and where a kernel takes longer than to launch it, the rest."""
    least = min((each.cost.seconds for each in task.as_written()), default=math.inf)
    worth = least > 2 * task.device.launch_seconds
    return [_written, *(task.searches() if worth else [])]


def _written(task: Proposals) -> Outcome:
    """The program as it is written, which no result is estimated to be worse than."""
    return (OUT_OF_SECONDS if task.is_over else NOTHING), task.floor()


_Way: TypeAlias = Callable[[Proposals], Outcome]
"""One of the ways to proposals."""
