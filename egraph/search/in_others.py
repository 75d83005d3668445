"""Programs that are searched as others: kernel by kernel where they say what is stored or are too long, iterations step by step, without their names, and
over arrays instead of their indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from relift.egraph.search.derived import (
    after,
    alternatives,
    best_of,
    combined,
    for_all,
    going_on,
    of_iteration,
    of_kernels,
    with_copies_by_steps,
)
from relift.egraph.search.guidance.window_plans import steps_by_groups
from relift.egraph.search.outcomes import NOTHING, Outcome, Proposal, ranked
from relift.egraph.search.starts.iterated import FEWEST_STEPS, iterated
from relift.egraph.search.starts.named import kernels_under_names
from relift.egraph.search.starts.staged import StagedKernel, kernels_of, of_one_shape, results_of
from relift.egraph.search.starts.with_names import may_keep_names, may_lose_names
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.tactics.combinators import MOST_PARTS, Tactic, apply, attempt, then, topdown
from relift.rewrites.tactics.folds.recurrences import scans_of_pairs_apart
from relift.rewrites.tactics.long_functions import names_stored
from relift.rewrites.tactics.looked_up import gone_through_instead
from relift.rewrites.tactics.nests.factors import weights_within
from relift.rewrites.tactics.sharing import parts_without_names, without_names
from relift.rewrites.tactics.steps.carried import all_rows
from relift.rewrites.tactics.steps.iterations import of_steps, of_tables
from relift.rewrites.tactics.steps.tiles import several_steps
from relift.semantics.indices.inverses import taken_apart
from relift.semantics.patterns import EachOf
from relift.semantics.syntax.terms import MakeTuple, subterms

if TYPE_CHECKING:
    from relift.egraph.search.proposals import Proposals


def in_others(whole: Proposals) -> Outcome | None:
    """What suits a program that is searched as others; None where it is searched as it is."""
    return _in_other_words(whole) or _parted(whole) or _in_stages(whole) or _without_names(whole)


def in_steps(whole: Proposals) -> Outcome:
    """The best that is found for the programs of an iteration, each searched for itself, as one program."""
    by_steps = then(attempt(all_rows()), attempt(of_tables()), attempt(of_steps()))
    start = after(whole.source, whole.prepared(), by_steps)
    grown, found = _in_steps_of(whole, with_copies_by_steps(start), lambda step: step.all())
    for several in _SEVERAL if whole.device.kind == "gpu" else ():
        with suppress(NoMatch):
            more, others = _in_steps_of(whole, after(whole.source, start, several), in_tiles, 1)
            grown, found = grown.and_then(more), [*found, *others]
    return grown, ranked(found)


_SEVERAL = tuple(topdown(several_steps(most, 1)) for most in (16, 8, 4))
"""So many steps of an iteration at most as one."""


def in_tiles(whole: Proposals) -> Outcome:
    """What several steps of a stencil are in tiles of a GPU's groups."""
    found = list[Proposal]()
    for tactic in steps_by_groups(whole.source, whole.device):
        with suppress(NoMatch):
            found += whole.derived(tactic)
    return NOTHING, ranked(found)


def _in_steps_of(
    whole: Proposals,
    start: Derivation,
    found_for_a_step: Callable[[Proposals], Outcome],
    fewest: int = FEWEST_STEPS,
) -> Outcome:
    """The same of an iteration as it is after a derivation."""
    cut = iterated(replace(whole.source, body=start.result), fewest)
    if cut is None:
        return NOTHING, []
    grown, best = NOTHING, dict[int, list[Proposal]]()
    # a step for which nothing is found ends it
    for number in sorted(range(len(cut.programs)), key=lambda i: cut.programs[i] is not cut.step):
        program = cut.programs[number]
        refused = cut.refused(program, whole.refused)
        apart = isinstance(program.body, MakeTuple) and program is cut.step
        share = whole.share / len(cut.programs)
        task = replace(whole.of_part(program), refused=refused, apart=apart, share=share)
        more, proposals = found_for_a_step(task) if program is cut.step else task.all()
        grown = grown.and_then(more)
        best[number] = best_of(proposals, refused)
        if not best[number]:
            return grown, []
    derived = partial(of_iteration, cut, start)
    found = combined(whole.source, whole.device, [best[i] for i in sorted(best)], cut.low, derived)
    return grown, ranked(list(found))


def _in_other_words(whole: Proposals) -> Outcome | None:
    """What suits a program in other patterns than those that are searched, or that looks up what its loops could go through, in these.

    A GPU scans rows of numbers, too, where they are the components of pairs.
    """
    if whole.strategies:
        return None
    ways = _IN_OTHER_WORDS[whole.device.kind]
    said = whole.said()
    over = after(whole.source, said, then(*map(attempt, ways)))
    if not over.steps:
        return None
    grown, outcome = whole.of_part(replace(whole.source, body=over.result)).all()
    written = whole.floor() if len(over.steps) > len(said.steps) else ()
    return grown, ranked([*(going_on(over, each) for each in outcome), *written])


_WEIGHTS_WITHIN: Tactic = topdown(weights_within)
_IN_OTHER_WORDS: Mapping[str, tuple[Tactic, ...]] = {
    "cpu": (gone_through_instead(), _WEIGHTS_WITHIN),
    "gpu": (gone_through_instead(), scans_of_pairs_apart(), _WEIGHTS_WITHIN),
}
"""What a program may be said in, too.  A CPU's core scans the rows of both components at once; of a GPU many work-items have a row of numbers."""


def _in_stages(whole: Proposals) -> Outcome | None:
    """What suits a program that says which values are stored, and not who computes them: each has a schedule of its own.

    Beside that it is searched as it is: what is stored may be the result of the kernel that goes on with it.
    """
    source = whole.source
    low_level = any(isinstance(t, EachOf) for t, _ in subterms(source.body))
    if whole.staged or whole.strategies or low_level:
        return None
    prepared = whole.prepared()
    # the result is stored anyway
    parted = after(source, prepared, attempt(apply("store_global", "backward")))
    stages = kernels_of(replace(source, body=parted.result))
    if len(parted.steps) == len(prepared.steps) and not any(stage.result for stage in stages):
        return None
    grown, found = _by_kernels(whole, parted, stages, named=False)
    more, others = replace(whole, staged=True).all()
    return grown.and_then(more), ranked([*found, *others])


def _parted(whole: Proposals) -> Outcome | None:
    """What suits a program that is parted before it is searched: too long without names, or an array that is taken apart."""
    prepared = whole.prepared()
    if parts_without_names(prepared.result) > MOST_PARTS:
        parted = after(whole.source, prepared, names_stored)
        kernels = kernels_under_names(replace(whole.source, body=parted.result))
        return _by_kernels(whole, parted, kernels, named=True)
    if taken_apart(prepared.result) and not whole.strategies:
        together = list(results_of(replace(whole.source, body=prepared.result), {}))
        grown, found = _by_kernels(whole, prepared, together, named=False)
        if whole.rows_apart or best_of(found, whole.refused):
            return grown, found
        more, others = replace(whole, rows_apart=True).all()
        return grown.and_then(more), ranked([*found, *others])
    return None


def _without_names(whole: Proposals) -> Outcome | None:
    """What suits a program without the names in its functions, and as it is written, which may be searched, too."""
    source = whole.source
    if whole.named or whole.strategies or not may_lose_names(source.body):
        return None
    unnamed = after(source, whole.given(), attempt(without_names()))
    if not unnamed.steps:
        return None
    grown, outcome = whole.of_part(replace(source, body=unnamed.result)).all()
    found = [going_on(unnamed, each) for each in outcome]
    named = replace(whole, named=True)
    written = [*named.floor(), *named.of_rows()]
    if may_keep_names(source.body, written, found):
        more, written = named.all()
        grown = grown.and_then(more)
    return grown, ranked([*found, *written])


def _by_kernels(
    whole: Proposals, parted: Derivation, kernels: Sequence[StagedKernel], *, named: bool
) -> Outcome:
    """What suits a program each of whose kernels is searched for itself."""
    tasks = [whole.of_part(kernel.program) for kernel in kernels]
    sources = [task.source for task in tasks]
    alike, grown = of_one_shape(sources), NOTHING
    share = whole.share / len(set(alike))
    outcomes: list[list[Proposal]] = [[] for _ in tasks]
    for number, task in enumerate(tasks):
        if alike[number] == number:
            more, outcomes[number] = replace(task, share=share).all()
            grown = grown.and_then(more)
    tried = alternatives(list(for_all(sources, alike, outcomes)), whole.refused)
    own, may_name = (whole.source, whole.device), not whole.apart
    found = of_kernels(parted, kernels, *own, tried, named=named, may_name=may_name)
    return grown, ranked(list(found))
