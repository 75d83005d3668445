"""How what a search finds follows from the program: derivations that go on, by a tactic, an e-graph or lowerings.

Most proposals are never asked how they were derived, so these are what a proposal calls when it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial

from relift.device import DeviceDescription
from relift.egraph.cost.model import estimate
from relift.egraph.encode.term_graph import TermGraph
from relift.egraph.explanation.explainer import Explainer
from relift.egraph.extraction.extractor import Extractor
from relift.egraph.extraction.known import extractor_for
from relift.egraph.extraction.states import Candidate, Lowering
from relift.egraph.process.saturation import Saturation
from relift.egraph.search.outcomes import Proposal, derivation_of, in_rounds
from relift.egraph.search.starts.iterated import Iterated, copied_by_steps
from relift.egraph.search.starts.named import joined_under_names, stores_named
from relift.egraph.search.starts.staged import (
    StagedKernel,
    body_in_names_of,
    choices,
    in_names_of,
    keeps_names,
    lowered,
    matters,
    together,
)
from relift.rewrites.application.matching import NoMatch, apply_rule
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    TooLarge,
    apply,
    attempt,
    derive,
    fuse,
    then,
)
from relift.rewrites.tactics.nests.where_read import through_zips
from relift.rewrites.tactics.steps.states import of_components
from relift.rewrites.tactics.transpositions import cells_where_read
from relift.rewrites.tactics.turns import turns_together
from relift.rewrites.tactics.whole_groups import whole_groups
from relift.semantics.errors import Unsupported
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import Position, canonical, term_at
from relift.semantics.syntax.places import in_row
from relift.semantics.syntax.terms import MakeTuple, Term
from relift.semantics.syntax.types import Array, Tuple

ALTERNATIVES = 4
"""So many proposals of each part of a program are tried."""


def after(source: Program, reached: Derivation, tactic: Tactic) -> Derivation:
    """A derivation from a program at its sizes that goes on with a tactic."""
    more = derive(replace(source, body=reached.result), tactic, {}, reached.policy)
    return replace(reached, steps=(*reached.steps, *more.steps), result=more.result)


def fused_of(source: Program, reached: Derivation) -> Derivation:
    """A program with what is computed of an element where it is read, also through zips.

    As it is where it becomes too long so: what is read again is stored then.
    """
    try:
        return after(source, reached, _FUSED)
    except TooLarge:
        return reached


_FUSED = then(attempt(through_zips()), attempt(cells_where_read()), fuse())


def with_copies(layout: Derivation, place: Position = ()) -> Derivation:
    """What only rearranges at a place, with a copy of every element, of each component of a tuple: there is nothing else to lower."""
    at = _copied(Rewriting(layout.result, layout.policy, tuple(layout.steps)), place)
    return replace(layout, steps=at.steps, result=at.term)


def _copied(at: Rewriting, place: Position) -> Rewriting:
    t = term_at(at.term, place)
    if isinstance(t.type, Tuple):
        if not isinstance(t, MakeTuple):
            try:
                at = of_components(len(t.type.parts))(at, place)
            except NoMatch:
                return at
        for i, _ in enumerate(t.type.parts):
            at = _copied(at, (*place, in_row("parts", i)))
    inner = t.type
    while isinstance(inner, Array):
        at = apply("insert_copy")(at, place)
        place, inner = (*place, "f"), inner.element
    return at


def with_copies_by_steps(start: Derivation) -> Derivation:
    """A program whose last step stands alone and copies the arrays that it hands on, where they are results: no other step need."""
    if not (places := copied_by_steps(start.result)):
        return start
    t, substitution = apply_rule(RULES["iterate_last"], start.result)
    last = Step("iterate_last", "forward", (), substitution)
    start = replace(start, steps=(*start.steps, last), result=t)
    for place in places:
        start = with_copies(start, place)
    return start


def extracted(
    high: Derivation,
    source: Program,
    device: DeviceDescription,
    demanded: Mapping[Position, Lowering],
    most: int,
) -> list[Proposal]:
    """The lowered forms of the term that a derivation of `source` has come to, in order of estimated cost."""
    found: list[Proposal] = []
    for candidate in _candidates(high, device, demanded, most):
        low = replace(source, body=candidate.low)
        with suppress(Unsupported):
            cost = estimate(low, device)
            found.append(Proposal(cost, low, partial(lowered_as, high, candidate)))
    return in_rounds(found)


def _candidates(
    high: Derivation, device: DeviceDescription, demanded: Mapping[Position, Lowering], most: int
) -> list[Candidate]:
    """The cheapest lowered forms of a term; where some places demand how they are lowered, no other place is what they are."""
    if not demanded:
        return extractor_for(device).candidates(high.result, high.policy, most)
    graph = TermGraph(high.result)
    wanted = {graph.at[position]: lowering for position, lowering in demanded.items()}
    return Extractor(graph, device, demanded=wanted).candidates(high.policy, most)


@dataclass(frozen=True)
class Explanations:
    """The derivations of what an e-graph holds, which are explained when they are asked for."""

    start: Derivation
    saturation: Saturation

    @cached_property
    def explainer(self) -> Explainer:
        return Explainer(self.saturation)

    def of(self, candidate: Candidate) -> Derivation:
        steps = self.explainer.explain(self.start.result, candidate.high)
        reached = replace(self.start, steps=(*self.start.steps, *steps), result=candidate.high)
        return lowered_as(reached, candidate)

    def proposals(self, source: Program, device: DeviceDescription) -> list[Proposal]:
        """What the e-graph of the program holds, each lowered."""
        found: list[Proposal] = []
        extractor = Extractor(self.saturation.snapshot, device)
        for candidate in extractor.candidates(self.start.policy, most=32):
            low = replace(source, body=candidate.low)
            with suppress(Unsupported):
                found.append(Proposal(estimate(low, device), low, partial(self.of, candidate)))
        return found


def best_of(
    proposals: Sequence[Proposal],
    refused: Callable[[Program], str | None],
    most: int = ALTERNATIVES,
) -> list[Proposal]:
    """The first few that are not refused."""
    found: list[Proposal] = []
    seen: set[Term] = set()
    for proposal in sorted(proposals, key=lambda each: each.rank):
        if len(found) == most:
            break
        if (key := canonical(proposal.low.body)) not in seen:
            seen.add(key)
            if refused(proposal.low) is None:
                found.append(proposal)
    return found


def alternatives(
    parts: Sequence[Sequence[Proposal]], refused: Callable[[Program], str | None]
) -> list[list[Proposal]]:
    """The first few for each part of a program, and for a part that takes little of its time the first one.

    Only of the first is it asked whether it is refused: few of the others come to be a result, of which that is asked anyway.
    """
    best = [best_of(part, refused, 1) for part in parts]
    whole = sum(each.cost.seconds for part in best for each in part)
    return [
        [*one, *_after(one[0], part)] if one and matters(one[0].cost.seconds, whole) else one
        for part, one in zip(parts, best, strict=True)
    ]


def _after(first: Proposal, part: Sequence[Proposal]) -> list[Proposal]:
    """The next few of other programs."""
    later = [each for each in part if each.rank >= first.rank and each is not first]
    own = canonical(first.low.body)
    others = best_of(later, lambda low: None, ALTERNATIVES)
    return [each for each in others if canonical(each.low.body) != own][: ALTERNATIVES - 1]


def combined(
    source: Program,
    device: DeviceDescription,
    ranked: Sequence[Sequence[Proposal]],
    low: Callable[[Sequence[Term]], Term],
    derived: Callable[[Sequence[Proposal]], Derivation],
) -> Iterator[Proposal]:
    """The best that was found for each part of a program, and for one of them what comes next, as one program."""
    if not all(ranked):
        return
    seconds = [[each.cost.seconds for each in part] for part in ranked]
    for choice in choices(seconds, ALTERNATIVES):
        chosen = [part[i] for i, part in zip(choice, ranked, strict=True)]
        whole = replace(source, body=low([each.low.body for each in chosen]))
        with suppress(Unsupported):
            yield Proposal(estimate(whole, device), whole, partial(derived, chosen))


def of_kernels(
    parted: Derivation,
    kernels: Sequence[StagedKernel],
    task: Program,
    device: DeviceDescription,
    tried: Sequence[Sequence[Proposal]],
    *,
    named: bool = False,
    may_name: bool = True,
) -> Iterator[Proposal]:
    """What was found for each kernel of a program, as one: `named` where the values have names already, which it may also give them."""
    low = partial(lowered, kernels, may_name=may_name)
    derived = partial(joined, parted, kernels, named=named, may_name=may_name)
    return combined(task, device, tried, low, derived)


def joined(
    parted: Derivation,
    kernels: Sequence[StagedKernel],
    chosen: Sequence[Proposal],
    *,
    named: bool,
    may_name: bool,
) -> Derivation:
    """That of a whole, with the proposal that was chosen for each of its kernels."""
    found = [derivation_of(each) for each in chosen]
    keep = may_name and keeps_names(kernels, [each.low.body for each in chosen])
    if not named and not keep:
        return together(parted, kernels, found)
    return joined_under_names(
        parted if named else stores_named(parted, kernels), kernels, found, keep=keep
    )


def of_iteration(cut: Iterated, start: Derivation, chosen: Sequence[Proposal]) -> Derivation:
    """That of a whole, with the proposal that was chosen for each of the programs of an iteration."""
    return cut.derivation(start, [derivation_of(each) for each in chosen])


def of_shape(program: Program, proposal: Proposal) -> Proposal:
    """What was found for a program of the same shape, in the names of this one."""
    low = body_in_names_of(program, proposal.low)
    return replace(proposal, low=low, derive=partial(_renamed, program, proposal))


def for_all(
    programs: Sequence[Program], alike: Sequence[int], outcomes: Sequence[list[Proposal]]
) -> Iterator[list[Proposal]]:
    """What was found for each program, in its own names where another of its shape was searched for it."""
    for number, (program, searched) in enumerate(zip(programs, alike, strict=True)):
        if number == searched:
            yield outcomes[number]
        else:
            yield [of_shape(program, found) for found in outcomes[searched]]


def _renamed(program: Program, proposal: Proposal) -> Derivation:
    return in_names_of(program, derivation_of(proposal))


def going_on(reached: Derivation, proposal: Proposal) -> Proposal:
    """What was found for the program that a derivation has come to, as what follows from the program that this started from."""
    return replace(proposal, derive=partial(_followed, reached, proposal))


def _followed(reached: Derivation, proposal: Proposal) -> Derivation:
    found = derivation_of(proposal)
    return replace(reached, steps=(*reached.steps, *found.steps), result=found.result)


def same(reached: Derivation) -> Derivation:
    """That of a term which is low-level already."""
    return reached


def lowered_as(high: Derivation, candidate: Candidate) -> Derivation:
    """The whole derivation: the steps to the high-level term, then the candidate's lowerings."""
    t = high.replay(RULES)[-1]
    lowerings: list[Step] = []
    for step in candidate.lowering:
        rule = RULES[step.rule]
        t, substitution = apply_rule(
            rule, t, step.position, choices=step.choices, parts=step.parts, policy=high.policy
        )
        lowerings.append(replace(step, substitution=substitution))
    return replace(high, steps=(*high.steps, *lowerings), result=t)


def finished(
    source: Program, proposals: Sequence[Proposal], device: DeviceDescription, most: int
) -> list[Proposal]:
    """Proposals for a GPU with what is done last, where it does good: the first `most`, and more that may then be first.

    Groups are whole (see `whole_groups`), and turns of loops are written out together (see `turns_together`).  Nothing
    else depends on it.
    """
    if device.kind != "gpu":
        return list(proposals)
    first = [_finished(source, each, device) for each in proposals[:most]]
    least = min((each.cost.seconds for each in first), default=0.0)
    further = [
        _finished(source, each, device) if each.cost.seconds <= _GAINED * least else each
        for each in proposals[most : _FURTHER * most]
    ]
    return [*first, *further, *proposals[_FURTHER * most :]]


def _finished(source: Program, proposal: Proposal, device: DeviceDescription) -> Proposal:
    for tactic, is_better in (
        (whole_groups, _takes_as_long),
        (turns_together, _waits_less),
    ):
        with suppress(
            NoMatch, Unsupported
        ):  # what it makes may have no kernel: of rows that are sorted, only all are written
            low = replace(proposal.low, body=derive(proposal.low, tactic, {}).result)
            cost = estimate(low, device)
            done = partial(_goes_on, source, proposal, tactic)
            further = replace(proposal, cost=cost, low=low, derive=done)
            if is_better(proposal, further):
                proposal = further
    return proposal


def _goes_on(source: Program, proposal: Proposal, tactic: Tactic) -> Derivation:
    return after(source, derivation_of(proposal), tactic)


def _takes_as_long(before: Proposal, now: Proposal) -> bool:
    """Whether what is estimated is the same; launches of what is left over are not."""
    return now.cost.seconds <= _AS_LONG * before.cost.seconds


def _waits_less(before: Proposal, now: Proposal) -> bool:
    """Whether work-items wait for memory for a shorter time, and the whole takes no longer; or it takes less, as with a kernel of many."""
    sooner = now.cost.seconds <= _SOONER * before.cost.seconds
    return sooner or (
        now.cost.seconds <= _NO_MORE * before.cost.seconds
        and now.cost.waited < _LESS * before.cost.waited
    )


_GAINED = 8
"""So many times as long does it take at most without what is done last: loops that wait for memory in each turn."""
_FURTHER = 4
_AS_LONG = 1.02
_SOONER = 0.99
_NO_MORE = 1.0001
"""What is estimated to take so many times as long takes no longer: instructions that are counted otherwise are a part in a million."""
_LESS = 0.8
"""Work-items wait for memory so many times as long at most, where this is worth more text."""
