"""Search: from a high-level program to low-level ones, each with the derivation that leads to it.

propose    e-graphs, sketches and tactics give low-level programs, in order of estimated cost (see `proposals`)
measure    the best are timed on the device, and the times kept (see `tuning`)
explain    the log of an e-graph becomes a linear derivation, which is replayed before it is returned
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, get_args

from relift.device import DeviceDescription, preset
from relift.display.displayed import Displayed
from relift.egraph.checks.admission import admitted
from relift.egraph.cost.buffers import counted_once
from relift.egraph.cost.model import Cost, require_room
from relift.egraph.encode.terms import require_searchable
from relift.egraph.extraction.known import extracted_once
from relift.egraph.process.children import one_child
from relift.egraph.process.saturation import Budget, named
from relift.egraph.search.derived import after, finished
from relift.egraph.search.guidance.planning import NORMAL_FORM, PURPOSES, tile_choices
from relift.egraph.search.guidance.plans import TiledSketch
from relift.egraph.search.outcomes import (
    FoundProgram,
    NoProgram,
    Proposal,
    SearchStats,
    asked_once,
    derivation_of,
    derived_once,
)
from relift.egraph.search.own_rules import STAGES
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.prepared import IN_ORDER
from relift.egraph.search.timed import Clock, Generations, Judge, clock_of
from relift.egraph.search.tuning import Measure
from relift.egraph.sketches.language import Sketch
from relift.egraph.sketches.language import sketch as parse_sketch
from relift.processes.collecting import rarely_collected
from relift.rewrites.application.applied import applied_once
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.checks.operator_uses import require_laws
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.rewrites.tactics.combinators import Tactic
from relift.semantics.errors import IllTyped, Unsupported, bounded_depth
from relift.semantics.indices.expressions import indexed_once
from relift.semantics.language.arguments import one_of, sizes_by_name, whole_number
from relift.semantics.language.arguments import seconds as seconds_of
from relift.semantics.language.programs import Program, a_program
from relift.semantics.syntax.binding import canonical, tidy
from relift.semantics.syntax.nodes import typed_once
from relift.semantics.syntax.terms import Metavariable, Term, Var, require_writable, subterms
from relift.semantics.syntax.types import Scalar, types_within

SEARCHED = (
    frozenset(name for stage in STAGES for name in stage.rules)
    | frozenset(name for purpose in PURPOSES.values() for name in purpose)
    | frozenset(NORMAL_FORM)
)
"""The rules that the stages of the search name; with those of the steps, all have to be PROVED."""

BUDGET = 120.0
"""Seconds after which a search ends in any case; the stages of every example are done before, also on a busy machine."""


NODES = 8_000
"""Nodes of an e-graph after which it grows no further.

What is found of programs of one kernel is found in fewer; of several it has every way to fuse and to part them, takes a
hundred megabytes and seconds for each ten thousand, and finds nothing that is near what their kernels come to.
"""


@dataclass(frozen=True)
class Optimized(Displayed):
    """The result of a search; `candidates` are in order of cost, the first is the best.

    `stopped` says why the search ended, in words; `complete` whether no budget cut it short.  `firings` and
    `profile` hold the matches and the seconds of every rule that was tried.
    """

    shown_by: ClassVar = "relift.egraph.displays:of_optimized"

    source: Program
    candidates: tuple[FoundProgram, ...]
    stopped: str
    complete: bool
    nodes: int
    seconds: float
    firings: Mapping[str, int]
    profile: Mapping[str, float]
    rules: Mapping[str, Rule] = field(default_factory=lambda: RULES, repr=False)

    @property
    def written(self) -> Mapping[str, int]:
        """At most how many nodes each rule added: what its matches wrote, before the e-graph shared it."""
        found: dict[str, int] = {}
        for name, matches in self.firings.items():
            rule, direction = named(name)
            _, after = self.rules[rule].side(direction)
            nodes = sum(1 for t, _ in subterms(after) if not isinstance(t, Metavariable | Var))
            found[name] = matches * nodes
        return found

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

    def to_json(self) -> dict[str, Any]:
        """The result for a program that reads it."""
        written = self.written
        return {
            "program": self.source.name,
            "stopped": self.stopped,
            "complete": self.complete,
            "nodes": self.nodes,
            "seconds": self.seconds,
            "profile": {
                rule: {
                    "matches": self.firings.get(rule, 0),
                    "nodes_at_most": written.get(rule, 0),
                    "seconds": seconds,
                }
                for rule, seconds in self.profile.items()
            },
            "candidates": [found.to_json() for found in self.candidates],
        }


@bounded_depth("the program")
@rarely_collected()
def optimize(
    program: Program,
    sizes: Mapping[str, int] | None = None,
    target: str | DeviceDescription = "cpu",
    *,
    sketch: Sketch | str | None = None,
    budget: float = BUDGET,
    nodes: int = NODES,
    memory_mb: int = 2_000,
    top: int = 1,
    varied: bool = False,
    float: FloatPolicy = "reassociate",
    rules: Sequence[object] = (),
    assumed: Collection[str] = (),
    strategies: Sequence[Tactic] = (),
    refused: Callable[[Program], str | None] = lambda _: None,
    measure: Measure | None = None,
    judge: Judge = lambda _: lambda _: None,
    timed_on: str | None = None,
    tuning: Path | None = None,
    progress: Callable[[str, int, float], None] | None = None,
) -> Optimized:
    """The best low-level programs that the rules reach, at the given sizes, for a device.

    Candidates for which `refused` gives a reason are passed over.  The program as written, with what it needs more than
    once computed once, is always among them.  `sketch` is a goal that the program must satisfy; `sizes` may give its
    tiles, and those that it leaves open are chosen by the cost model.  Of the `top` candidates the one that is estimated
    best comes first; `varied` ones first differ in their tiles, then in less.  With `measure`, which runs a program and
    says how many seconds it took, the candidates that are estimated best are measured for up to a sixth of `budget`
    more, then generations of the fastest with other tiles (see `timed`) for up to another sixth, and the fastest come first, none slower than the one that would come first without, nor than the program as it is
    written, which is always measured; `tuning` is the file in
    which these times are kept and looked up.  `judge` is given all that may be measured, and makes of them what says of
    each why it is wrong, which is kept instead of a time.  With `timed_on`,
    the name of a device, nothing is measured: the times that the file has of that device decide.

    `rules` take part beside those of the stages: rules of your own, each checked first and refused where it is refuted or
    not proved, names of the library's, and `assume` of one that nothing proves (or its name in `assumed`), which the
    derivation then calls ASSUMED.  `strategies` are tactics of your own: what each makes of the program is a candidate,
    and searched further.

    What ends a search is that its stages are done, or that an e-graph has `nodes` or takes `memory_mb`, or that all have
    more than `nodes` together: so what is found does not depend on how busy the machine is.  `budget`, in seconds, is the last limit.  When one of the three
    runs out, the best found so far is returned, `complete` is false and `stopped` says which.  Raises `NoProgram` when nothing runnable was found, `Unsatisfied` when
    no term satisfies the sketch.
    """
    top = whole_number(top, "top", least=1)
    task = _task(program, sizes, target, (budget, nodes, memory_mb), float, progress, refused)
    task = _with_the_users(task, rules, assumed, strategies)
    if sketch is None:
        task.program.at(task.sizes)  # no size is missing, and none is of no use
    clock = clock_of(task.device.name, task.policy, tuning, measure, judge, timed_on)
    with _found_out_once():
        grown, proposals = task.all() if sketch is None else task.sketched(_plan(sketch, task))
        order = attrgetter("rank_among_several" if varied or clock else "rank_in_the_end")
        proposals.sort(key=order)
        if sketch is None and not task.is_over:  # a goal says what loops there are
            proposals = finished(task.source, proposals, task.device, REFINED * top)
            proposals.sort(key=order)
        results = _best(task, proposals, top, grown.stopped, clock, evolves=sketch is None)
    return _optimized(task, grown, results)


@contextmanager
def _found_out_once() -> Generator[None]:
    """What a search finds out of terms, kernels and rules is found out once inside."""
    of_terms = (typed_once(), applied_once(), indexed_once(), counted_once(), extracted_once())
    with ExitStack() as entered:
        for each in (*of_terms, derived_once(), one_child()):
            entered.enter_context(each)
        yield


def _task(
    program: Program,
    sizes: Mapping[str, int] | None,
    target: str | DeviceDescription,
    limits: tuple[float, int, int],
    policy: FloatPolicy,
    progress: Callable[[str, int, float], None] | None,
    refused: Callable[[Program], str | None],
) -> Proposals:
    """The task, when it is one that can be done; `limits` are seconds, nodes and megabytes."""
    program = a_program(program)
    require_writable(program.body, program.name)
    one_of(policy, get_args(FloatPolicy), "float")
    device = _device(program, target)
    seconds, nodes, memory_mb = limits
    budget = Budget(
        seconds=seconds_of(seconds, "budget"),
        nodes=whole_number(nodes, "nodes", least=1),
        memory_mb=whole_number(memory_mb, "memory_mb", least=1),
    )
    asked = asked_once(refused)
    task = Proposals(program, sizes_by_name(sizes), device, budget, policy, progress, refused=asked)
    require_searchable(task.said().result)
    require_proved(SEARCHED, RULES)
    require_laws(task.source.body)
    require_room(task.source, device)
    return task


def _device(program: Program, target: str | DeviceDescription) -> DeviceDescription:
    """What is searched for, as it computes with the longest floats of the program."""
    device = target if isinstance(target, DeviceDescription) else preset(target)
    types = (*(each.type for each in program.parameters), program.body.type)
    within = itertools.chain(*map(types_within, types))
    floats = (t.bytes for t in within if isinstance(t, Scalar) and t.is_float)
    return device.for_numbers_of(max(floats, default=4))


def _with_the_users(
    task: Proposals, rules: Sequence[object], assumed: Collection[str], strategies: Sequence[Tactic]
) -> Proposals:
    """The task, with the rules and the strategies of the user's own; raises `RefusedRule`."""

    def heard(text: str) -> None:
        if task.progress is not None:
            task.progress(f"checking {text}", 0, time.monotonic() - task.started)

    for name, given in (("rules", rules), ("assumed", assumed), ("strategies", strategies)):
        if isinstance(given, str) or not isinstance(given, Collection):
            raise IllTyped(f"{name} is a {type(given).__name__}; give a list, though it be of one")
    for each in strategies:
        if not callable(each):
            raise IllTyped(
                f"strategies holds {each!r}; one is made by the functions of relift.strategies, such as apply and topdown"
            )
    known = admitted(rules, assumed, heard)
    named = [(getattr(each, "__name__", repr(each)), each) for each in strategies]
    started = time.monotonic()  # the check of rules is no part of the search
    return replace(task, admitted=known, strategies=named, started=started)


def _plan(sketch: Sketch | str, task: Proposals) -> TiledSketch:
    """The sketch with every choice of the tiles that it leaves open; raises `NoProgram` when there is none."""
    wanted = parse_sketch(sketch) if isinstance(sketch, str) else sketch
    choices = tuple(tile_choices(wanted, task.sizes, task.device))
    if not choices:
        given = ", ".join(f"{name} = {n}" for name, n in task.sizes.items())
        raise NoProgram(
            f"no tiles divide the sizes {given} as the sketch {wanted} needs; give tiles that do, or pad"
        )
    return TiledSketch(wanted, choices)


def _best(
    task: Proposals,
    proposals: Sequence[Proposal],
    top: int,
    stopped: str,
    clock: Clock | None,
    *,
    evolves: bool,
) -> list[FoundProgram]:
    """The `top` results: those that are estimated best, or where they are timed the fastest of them, and of what `evolves` from them.

    A goal says what tiles there are, so nothing does.
    """
    if clock is None:
        return first_accepted(task, proposals, top, stopped)
    results = first_accepted(task, proposals, max(top, MEASURED), stopped)
    results = _with_the_written(task, results)

    sixth = task.budget.seconds / 6
    timed = clock.timed(results, sixth, _heard(task))
    if evolves:
        rules = task.admitted.rules
        generations = Generations(clock, task.device, rules, task.refused, _heard(task))
        timed = generations.evolved(timed, sixth)
    clock.remember(timed, task.device)
    return timed[:top]


def _heard(task: Proposals) -> Callable[[str], None]:
    """What is told of what is measured, to whoever hears of the search."""
    started = time.monotonic()

    def heard(text: str) -> None:
        if task.progress is not None:
            task.progress(f"measuring {text}", 0, time.monotonic() - started)

    return heard


def _optimized(task: Proposals, grown: SearchStats, results: Sequence[FoundProgram]) -> Optimized:
    """The results, with what the search that found them did."""
    return Optimized(
        task.source,
        tuple(results),
        grown.stopped,
        grown.complete,
        grown.nodes,
        time.monotonic() - task.started,
        grown.firings,
        grown.profile,
        task.admitted.rules,
    )


def first_accepted(
    task: Proposals, proposals: Sequence[Proposal], most: int, stopped: str
) -> list[FoundProgram]:
    """The first proposals that are not refused; raises `NoProgram` with the reason of the first when all are."""
    results: list[FoundProgram] = []
    reasons: list[str] = []
    seen: set[Term] = set()
    ends: set[Term] = set()
    for proposal in proposals:
        if len(results) == most:
            break
        try:
            require_writable(proposal.low.body, "what was found")
        except Unsupported as error:  # its text would repeat what its kernels store
            reasons.append(error.message)
            continue
        if (low := canonical(proposal.low.body)) in seen:
            continue  # found in two ways
        seen.add(low)
        reason = task.refused(proposal.low)
        if reason is not None:
            reasons.append(reason)
            continue
        try:
            found = _found(proposal)
        except NoMatch as error:  # a kernel did to a value, of which it knew a name, what its text does not allow
            reasons.append(error.message)
            continue
        # what the derivation ends in may be that of another, in other names
        if (key := canonical(found.term.body)) not in ends:
            ends.add(key)
            results.append(found)
    if not results:
        why = reasons or [
            task.refused(_unchosen(task)) or "nothing in it says what a kernel computes"
        ]
        raise NoProgram(
            f"no program that OpenCL can run was found for {task.program.name} ({stopped or 'written out'}): {why[0]}"
        )
    return results


def _unchosen(task: Proposals) -> Program:
    """The program with every map in order, which a compiler refuses where it stands for no kernel."""
    return replace(task.source, body=after(task.source, task.prepared(), IN_ORDER).result)


def _with_the_written(task: Proposals, results: list[FoundProgram]) -> list[FoundProgram]:
    """The results, in the second place the program as it is written: what is slower by the clock is no result."""
    own = {name: n for name, n in task.sizes.items() if name in task.program.sizes}
    try:  # a goal's sizes may be those of its tiles, too
        written = first_accepted(task, replace(task, sizes=own).as_written(), 1, "")[0]
    except NoProgram:
        return results
    others = [found for found in results[1:] if str(found.term) != str(written.term)]
    if str(results[0].term) == str(written.term):
        return [results[0], *others]
    return [results[0], written, *others]


def as_written(
    program: Program, sizes: Mapping[str, int], target: str | DeviceDescription
) -> FoundProgram:
    """The program with its maps fused and lowered, and nothing else done: what a search has to beat.

    Raises `NoProgram` when it has no such form.

    >>> from relift.egraph.search.optimize import as_written
    >>> from relift.rewrites.loading import load_program
    >>> found = as_written(load_program("examples/saxpy.py"), {"n": 1024}, "cpu")
    >>> [step.rule for step in found.derivation.steps]
    ['map_to_glb']
    """
    program.at(sizes)
    for proposal in Proposals(program, sizes, _device(program, target)).as_written():
        return _found(proposal)
    raise NoProgram(f"{program.name} computes an array that no kernel can store; use to_global")


REFINED = 4
"""So many times as many proposals as candidates are asked for are looked at for what is done last."""
MEASURED = 64
"""How many of the candidates that are estimated best are measured, when the budget lasts."""


def _found(proposal: Proposal) -> FoundProgram:
    derivation = derivation_of(proposal)
    own = {known.rule.name for known in derivation.own}
    require_proved((s.rule for s in derivation.steps if s.rule not in own), RULES)
    return FoundProgram(
        replace(proposal.low, body=tidy(derivation.result)), proposal.cost, derivation
    )
