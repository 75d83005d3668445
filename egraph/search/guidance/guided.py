"""Guided search: from a program to a sketch, through the stages that `planning` derives.

Between two stages the e-graph starts anew from the smallest term that satisfies the first one's waypoint.
The steps that explain each stage follow one another, so the whole is one derivation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from relift.egraph.checks.admission import Admitted, admitted
from relift.egraph.explanation.explainer import Explainer
from relift.egraph.process.saturation import Budget, Request, Saturation, Searcher, Stage
from relift.egraph.process.saturation_child import peak_mb
from relift.egraph.search.guidance.planning import (
    NORMAL_FORM,
    PURPOSES,
    UserStage,
    Waypoint,
    loops_of,
    model_sizes,
    waypoints,
)
from relift.egraph.sketches.language import Anything, Shape, Sketch, lengths
from relift.egraph.sketches.language import sketch as parse_sketch
from relift.egraph.sketches.search import RequiredLowering, SketchMatch, SketchSearch, Unsatisfied
from relift.rewrites.application.matching import apply_filled, apply_rule
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Derivation, Step, redo
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError
from relift.semantics.indices.views import is_layout
from relift.semantics.language.programs import Program, a_program
from relift.semantics.patterns.opencl import Store
from relift.semantics.syntax.binding import term_at
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import Array


@dataclass(frozen=True)
class StageReport:
    """What one stage took: iterations, nodes, classes, matches by rule, seconds by rule, and in all."""

    name: str
    waypoint: str
    iterations: int
    nodes: int
    classes: int
    firings: Mapping[str, int]
    profile: Mapping[str, float]
    seconds: float


@dataclass(frozen=True)
class GoalResult:
    """A program that satisfies a sketch, with its derivation at the sizes asked for.

    `general` leads to the program before its lowerings, at the sizes of the search (`model`); `wanted` are
    the lowerings that the sketch demands.
    """

    derivation: Derivation
    stages: tuple[StageReport, ...]
    seconds: float
    peak_mb: float
    general: Derivation
    model: Mapping[str, int]
    wanted: tuple[RequiredLowering, ...]
    rules: Mapping[str, Rule]

    @property
    def nodes(self) -> int:
        """The nodes of all stages together."""
        return sum(stage.nodes for stage in self.stages)

    @property
    def classes(self) -> int:
        """The classes of all stages together."""
        return sum(stage.classes for stage in self.stages)

    @property
    def applied(self) -> int:
        """How often rules were applied, in all stages together."""
        return sum(n for stage in self.stages for n in stage.firings.values())

    def at(self, sizes: Mapping[str, int]) -> Derivation:
        """The same derivation with other values for the program's sizes and the tiles.

        Raises `ReliftError` when the tiles do not divide the sizes.
        """
        copied = self.copied(sizes)
        steps, t = lowered(copied.result, self.wanted, self.rules, self.general.policy)
        return replace(copied, steps=(*copied.steps, *steps), result=t)

    def copied(self, sizes: Mapping[str, int]) -> Derivation:
        """The derivation at other sizes up to the lowerings, with a copy wherever a layout is stored."""
        high = _redone(self.general, self.model, sizes, self.rules)
        steps, t = copies(high.result, self.wanted, self.rules, self.general.policy)
        return replace(high, steps=(*high.steps, *steps), result=t)


@dataclass
class Guide:
    """A search in stages; `budget` holds for all of them together."""

    program: Program
    policy: FloatPolicy = "reassociate"
    budget: Budget = field(default_factory=Budget)
    rules: Mapping[str, Rule] = field(default_factory=lambda: RULES)
    progress: Callable[[str, int, float], None] | None = None
    admitted: Admitted = field(default_factory=Admitted)

    def reach(
        self, sketch: Sketch, sizes: Mapping[str, int], stages: Sequence[UserStage] = ()
    ) -> GoalResult:
        """A program that satisfies the sketch at these sizes, of the program and of the tiles.

        The stages are planned from the sketch unless they are given.

        Raises `Unsatisfied` with the part of the sketch that fails, `BadSketch` for a size without a value.
        """
        started = time.monotonic()
        for goal in (sketch, *(stage.sketch for stage in stages)):
            goal.at(sizes)  # every name has a value, and every division is exact
        own = {name: sizes[name] for name in self.program.sizes}
        model = model_sizes(self.program.sizes, sketch, *(stage.sketch for stage in stages))
        if model is not None:
            try:
                self.program.at({name: model[name] for name in own})
            except ReliftError:
                model = None
        chosen = dict(sizes) if model is None else model
        start = self.program.at({name: chosen[name] for name in own})
        given = [stage.waypoint(i, chosen) for i, stage in enumerate(stages, 1)]
        search = _Search(self, start, started, given)
        with search.searcher:
            steps, sketched = search.run(sketch.at(chosen))
        general = Derivation(
            self.program,
            {name: chosen[name] for name in own},
            steps,
            search.program.body,
            self.policy,
            self.admitted.own,
        )
        found = GoalResult(
            general,
            tuple(search.reports),
            time.monotonic() - started,
            search.peak_mb + peak_mb(),
            general,
            chosen,
            sketched.wanted,
            self.rules,
        )
        derivation = found.at(sizes)
        derivation.replay(self.rules)
        return replace(found, derivation=derivation, seconds=time.monotonic() - started)


def reach(
    program: Program,
    sketch: Sketch | str,
    sizes: Mapping[str, int],
    *,
    stages: Sequence[tuple[Sequence[str | Rule], Sketch | str]] = (),
    rules: Sequence[object] = (),
    budget: float = 60.0,
    float: FloatPolicy = "reassociate",
) -> GoalResult:
    """A program equal to `program` that satisfies a sketch, with its derivation.

    `sizes` gives the program's sizes and the other names of the sketch, which are tiles.  `stages` are your
    own instead of the planned ones, each rules, by name or themselves, and a sketch.  `rules` take part in every
    stage, as in `optimize`.  Raises `Unsatisfied` naming the part
    of the sketch that no term satisfies, within `budget` seconds.

    >>> from relift import Program, f32, reach
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.sizes import Size
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[Size.atom("n")])
    >>> double = Program("double", (x,), parse_term("map(lambda v: v * 2.0, x)", x=x))
    >>> found = reach(double, "... >= map[n // t](... >= map[t](...))", {"n": 8, "t": 4})
    >>> [step.rule for step in found.derivation.steps]
    ['split_join']
    """

    def read(goal: Sketch | str) -> Sketch:
        return parse_sketch(goal) if isinstance(goal, str) else goal

    a_program(program)
    always = _each_once(rules)
    known = admitted(_each_once([*always, *(rule for group, _ in stages for rule in group)]))
    everywhere = replace(known, names=known.names[: len(always)])
    given = [UserStage(tuple(map(_name, group)), read(goal)) for group, goal in stages]
    guide = Guide(program, float, Budget(seconds=budget), known.rules, admitted=everywhere)
    return guide.reach(read(sketch), sizes, given)


def _name(rule: str | Rule) -> str:
    return rule if isinstance(rule, str) else rule.name


def _each_once(rules: Iterable[object]) -> list[object]:
    return list({rule if isinstance(rule, str) else id(rule): rule for rule in rules}.values())


def _redone(
    general: Derivation,
    model: Mapping[str, int],
    sizes: Mapping[str, int],
    rules: Mapping[str, Rule],
) -> Derivation:
    """A derivation at model sizes redone at others; numbers chosen are products of sizes by name."""
    own = {name: sizes[name] for name in general.sizes}
    choices: dict[int, int] = {}
    for step in general.steps:
        for value in step.choices.values():
            choices[value] = _translated(value, model, sizes)
    return redo(general, rules, own, choices)


def _translated(value: int, model: Mapping[str, int], sizes: Mapping[str, int]) -> int:
    """What a number of the model stands for: a size, or a quotient of two."""
    if value < min(model.values()):
        return value
    for name, n in model.items():
        if n == value:
            return sizes[name]
    for name, n in model.items():
        for by, m in model.items():
            if m * value == n:
                return sizes[name] // sizes[by]
    return value


class _Search:
    """The stages of one search."""

    def __init__(
        self, guide: Guide, program: Program, started: float, given: Sequence[Waypoint]
    ) -> None:
        self.guide, self.program, self.started, self.given = guide, program, started, given
        self.reports: list[StageReport] = []
        self.peak_mb = 0.0
        stages = [Stage(name, rules, 1) for name, rules in PURPOSES.items()]
        stages += [waypoint.stage for waypoint in given]
        self.own = guide.admitted.searchable(guide.policy)
        stages.append(Stage("the user's rules", self.own, 1))
        self.searcher = Searcher(self._request(program, tuple(stages)))

    def _request(
        self,
        program: Program,
        stages: tuple[Stage, ...],
        tiles: tuple[int, ...] = (),
        lanes: tuple[int, ...] = (),
    ) -> Request:
        left = self.guide.budget.seconds - (time.monotonic() - self.started)
        return Request(
            program,
            stages,
            NORMAL_FORM,
            tiles,
            lanes,
            self.guide.policy,
            replace(self.guide.budget, seconds=max(left, 0.0)),
            self.guide.rules,
        )

    def run(self, shape: Shape) -> tuple[tuple[Step, ...], SketchMatch]:
        """The steps to a term that satisfies the sketch, and that term with the lowerings demanded."""
        steps: list[Step] = []
        for waypoint in self._before(shape):
            steps += self._stage(waypoint)[0]
        more, sketched = self._stage(self.last)
        return (*steps, *more), sketched

    def _before(self, shape: Shape) -> Iterator[Waypoint]:
        """The stages before the last one, which is set when they are known."""
        purpose = "stage into memory"
        self.last = Waypoint(Stage(purpose, PURPOSES[purpose], 4), shape)
        if self.given:
            yield from self.given
            return
        yield Waypoint(Stage("normalise", PURPOSES["normalise"], 4), Anything())
        plan = waypoints(loops_of(self.program.body), shape)
        if plan is None:
            rules = tuple(dict.fromkeys(r for group in PURPOSES.values() for r in group))
            tiles = tuple(sorted(set(lengths(shape))))
            self.last = Waypoint(Stage("all rules", rules, 6), shape, tiles, tiles)
        yield from plan or ()

    def _stage(self, waypoint: Waypoint) -> tuple[tuple[Step, ...], SketchMatch]:
        """Grow the e-graph until a term satisfies the waypoint; go on from that term."""
        began = time.monotonic()
        stage = waypoint.stage
        stage = replace(stage, rules=tuple(dict.fromkeys((*stage.rules, *self.own))))
        # a stage without a waypoint runs to its end, another one until its waypoint is there
        unguided = isinstance(waypoint.shape, Anything)
        iterations = stage.iterations if unguided else 0
        while True:
            request = self._request(
                self.program,
                (replace(stage, iterations=iterations),),
                waypoint.tiles,
                waypoint.lanes,
            )
            saturation = self.searcher.saturate(request, self.guide.progress)
            self.peak_mb = max(self.peak_mb, saturation.peak_mb)
            search = SketchSearch(saturation.snapshot)
            found = search.find(waypoint.shape, saturation.snapshot.root)
            if found is not None and (saturation.complete or not unguided):
                break
            if not saturation.complete:
                so_far = "" if unguided else f" (so far: {search.reason(waypoint.shape)})"
                raise Unsatisfied(
                    f"{saturation.stopped} in the stage '{stage.name}', before the sketch was reached; "
                    f"give the search a larger one{so_far}",
                    place="",
                )
            if iterations == stage.iterations or saturation.iterations < iterations:
                raise Unsatisfied(
                    f"{search.reason(waypoint.shape)} (stage '{stage.name}': {saturation.stopped})",
                    place="",
                )
            iterations += 1
        steps = Explainer(saturation).explain(self.program.body, found.term)
        term = self.program.body
        for step in steps:
            rule = self.guide.rules[step.rule]
            term = apply_filled(
                rule, term, step.position, step.direction, step.substitution, self.guide.policy
            )
        self.program = replace(self.program, body=term)
        self._report(waypoint, saturation, time.monotonic() - began)
        return steps, found

    def _report(self, waypoint: Waypoint, saturation: Saturation, seconds: float) -> None:
        self.reports.append(
            StageReport(
                waypoint.stage.name,
                str(waypoint.shape),
                saturation.iterations,
                saturation.nodes,
                len(list(saturation.snapshot.classes())),
                saturation.firings,
                saturation.profile,
                seconds,
            )
        )


def copies(
    t: Term, wanted: Sequence[RequiredLowering], rules: Mapping[str, Rule], policy: FloatPolicy
) -> tuple[tuple[Step, ...], Term]:
    """Copies of what is to be stored and only rearranged: the steps, and the term that they give."""
    steps: list[Step] = []
    for want in wanted:
        position, stored = want.position, term_at(t, want.position)
        if isinstance(rules[want.rule].right, Store) and is_layout(stored):
            inner = stored.type
            while isinstance(inner, Array):
                t, substitution = apply_rule(rules["insert_copy"], t, position, policy=policy)
                steps.append(Step("insert_copy", "forward", position, substitution))
                position, inner = (*position, "f"), inner.element
    return tuple(steps), t


def lowered(
    t: Term, wanted: Sequence[RequiredLowering], rules: Mapping[str, Rule], policy: FloatPolicy
) -> tuple[tuple[Step, ...], Term]:
    """The lowerings that a sketch demands, innermost first: the steps, and the term that they give."""
    steps: list[Step] = []
    for want in sorted(wanted, key=lambda w: -len(w.position)):
        choices = dict(want.choices)
        rule = rules[want.rule]
        t, substitution = apply_rule(rule, t, want.position, choices=choices, policy=policy)
        steps.append(Step(want.rule, "forward", want.position, substitution, choices))
    return tuple(steps), t


__all__ = ["GoalResult", "Guide", "StageReport", "reach"]
