"""What is found, timed on the device: the candidates that are estimated best, and generations of those that came from them.

The derivation of a candidate says which numbers were chosen on the way, as how many elements a group has.  The same steps with
one of these halved or doubled lead to its descendants.  Those of the fastest are timed, then theirs, while there is something
faster and there are seconds left: what no plan proposed is found so, and what the model is wrong about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from relift.device import DeviceDescription
from relift.egraph.cost.model import estimate
from relift.egraph.search.outcomes import FoundProgram, NoProgram
from relift.egraph.search.tuning import Measure, Share, Timing, Timings, Tuner, Work, default_path
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Derivation, redo
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError, blamed_once
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import canonical, tidy
from relift.semantics.syntax.terms import Term, require_writable

Judge: TypeAlias = Callable[[Sequence[Derivation]], Callable[[Derivation], str | None]]
"""Of derivations that may be asked for, what says of each why it is wrong, or that nothing says so."""

Heard: TypeAlias = Callable[[str], None]
"""Is told what is measured."""

PARENTS = 3
"""So many of the fastest have descendants in each generation."""

GENERATIONS = 6
_PRIMES = (2, 3, 5, 7)
PROMISING = 2.0
"""So many times as long as the fastest does a descendant take at most, by the model as it is wrong about its parent, to be timed."""


@dataclass(frozen=True)
class Clock:
    """Where the times of candidates come from; a measure looks up the derivation of what it is given to run."""

    times: Timings
    derivations: dict[str, Derivation]

    def timed(
        self, results: Sequence[FoundProgram], budget: float, heard: Heard
    ) -> list[FoundProgram]:
        """The results with their times, fastest first; those that did not run are left out.

        What has no time, since the budget does not reach it or nobody measured it, keeps its place after those.
        """
        self.derivations.update({str(found.term): found.derivation for found in results})
        timings = self.times.best([found.term for found in results], budget, heard)
        timed = [
            replace(found, measured=timing.seconds)
            for found, timing in zip(results, timings, strict=True)
            if timing is not None and timing.seconds is not None
        ]
        rest = [found for found, timing in zip(results, timings, strict=True) if timing is None]
        if not timed and not rest:
            reasons = sorted({timing.failure for timing in timings if timing is not None})
            raise NoProgram(f"no candidate ran on {self.times.device}: {'; '.join(reasons)}")
        return _fastest_first(timed) + rest

    def remember(self, found: Sequence[FoundProgram], device: DeviceDescription) -> None:
        """Keep beside the times what the cost model says that each program does: `fitting` learns from both."""
        new = [each for each in found if each.measured is not None]
        if new and isinstance(self.times, Tuner):
            self.times.did({str(each.term): Work.of(each.cost, device) for each in new})


def clock_of(
    device: str,
    policy: FloatPolicy,
    kept: Path | None,
    measure: Measure | None,
    judge: Judge,
    timed_on: str | None,
) -> Clock | None:
    """How candidates are timed, if they are; a damaged database is found before the search, not after."""
    derivations: dict[str, Derivation] = {}
    kept, exact = kept or default_path(), policy == "exact"
    times: Timings
    if timed_on is not None:
        times = Timings(kept, timed_on, exact=exact)
    elif measure is not None:
        times = Tuner(kept, device, _of_right_ones(measure, judge, derivations), exact=exact)
    else:
        return None
    times.check()
    return Clock(times, derivations)


def _of_right_ones(
    measure: Measure, judge: Judge, derivations: Mapping[str, Derivation]
) -> Measure:
    """A measure that runs no candidate in which something is found to be wrong."""
    judged: list[Callable[[Derivation], str | None]] = []
    said: dict[str, str | None] = {}  # finalists are measured again and again

    def seconds(program: Program) -> float:
        if not judged:  # when the first is measured, all but descendants are known
            judged.append(judge(list(derivations.values())))
        key = str(program)
        if key not in said:
            said[key] = judged[0](derivations[key])
        if (wrong := said[key]) is not None:
            raise NoProgram(wrong)
        return measure(program)

    return seconds


@dataclass
class Generations:
    """Descendants of candidates that were timed, for a device; `refused` says which of them do not run, and why."""

    clock: Clock
    device: DeviceDescription
    rules: Mapping[str, Rule]
    refused: Callable[[Program], str | None]
    heard: Heard

    def evolved(self, found: Sequence[FoundProgram], seconds: float) -> list[FoundProgram]:
        """Candidates, fastest first, with what is found from them in so many seconds; as they are where nothing times them.

        The fastest and the first of `found` are timed again in turn, so that none is slower than that one.  The database
        knows the times by which the generations of these candidates went on, so that they go the same way whatever was timed again
        since, and when they have come to an end: then they are looked up.
        """
        times, share = self.clock.times, Share(seconds)
        if not isinstance(times, Tuner):
            return list(found)
        timed = [each for each in found if each.measured is not None]
        rest = [each for each in found if each.measured is None]
        these = "\n".join(["generations of", *sorted(str(each.term) for each in found)])
        ended = times.known(these) is not None
        timed = [replace(each, measured=_then(times, these, each)) for each in timed]
        before, parents = len(timed), set[str]()
        seen = {canonical(each.term.body) for each in found}
        for generation in range(1, GENERATIONS + 1):
            chosen = [f for f in _fastest_first(timed)[:PARENTS] if str(f.term) not in parents]
            parents.update(str(each.term) for each in chosen)
            for parent in chosen:
                self.heard(f"generation {generation}, {len(timed) - before} descendants")
                for each in self._promising(parent, _fastest_first(timed)[0], seen, share):
                    seconds_then = _then(times, these, each)
                    if seconds_then is None and not ended:
                        timing = self._timing(times, each, share)
                        seconds_then = None if timing is None else timing.seconds
                    if seconds_then is not None:
                        timed.append(replace(each, measured=seconds_then))
        kept = {_steering(these, each): Timing(each.measured) for each in timed}
        if share.has_room():
            kept[these] = Timing(None, "they came to an end")
        times.keep("generations", kept)
        known = [times.known(str(each.term)) for each in timed]
        timed = [replace(f, measured=t.seconds) for f, t in zip(timed, known, strict=True) if t]
        return (_fastest_first(timed) if ended else self._in_turn(times, timed, before)) + rest

    def _timing(self, times: Tuner, each: FoundProgram, share: Share) -> Timing | None:
        if not share.has_room():
            return None
        with share.piece():
            if self.refused(each.term) is not None:
                return None
            self.clock.derivations[str(each.term)] = each.derivation
            return times.time(each.term)

    def _promising(
        self, parent: FoundProgram, best: FoundProgram, seen: set[Term], share: Share
    ) -> list[FoundProgram]:
        """The descendants of one that may be the fastest, if the model is as wrong about them as about their parent."""
        limit = PROMISING * (best.measured or 0.0) * parent.cost.seconds
        found = [
            each
            for each in self._descendants(parent, seen, share)
            if each.cost.seconds * (parent.measured or 0.0) <= limit
        ]
        return sorted(found, key=lambda each: each.cost.seconds)

    def _descendants(
        self, parent: FoundProgram, seen: set[Term], share: Share
    ) -> Iterator[FoundProgram]:
        """What the steps of one lead to with another number, if nothing did before."""
        for derivation in descendants(parent.derivation, self.rules):
            if not share.has_room():
                return
            low = replace(parent.term, body=tidy(derivation.result))
            if (key := canonical(low.body)) not in seen:
                seen.add(key)
                with suppress(ReliftError):
                    require_writable(low.body, "what was found")
                    yield FoundProgram(low, estimate(low, self.device), derivation)

    def _in_turn(
        self, times: Tuner, timed: Sequence[FoundProgram], before: int
    ) -> list[FoundProgram]:
        """All of them, fastest first, by times of which the fastest were taken in turn where one that came after so many is new."""
        timings: list[Timing | None] = [
            Timing(each.measured, reused=place < before) for place, each in enumerate(timed)
        ]
        times.time_again([each.term for each in timed], timings, self.heard)
        return _fastest_first(
            [replace(f, measured=t.seconds) for f, t in zip(timed, timings, strict=True) if t]
        )


def descendants(parent: Derivation, rules: Mapping[str, Rule]) -> Iterator[Derivation]:
    """The derivations by the same steps in which one of the numbers that were chosen is twice or half of it, wherever it was.

    It is thrice that, or a third, a fifth or a seventh, where that is what divides a length.

    >>> from relift.egraph.search.optimize import optimize
    >>> from relift.egraph.search.timed import descendants
    >>> from relift.rewrites.library import RULES
    >>> from relift.rewrites.loading import load_program
    >>> best = optimize(load_program("examples/dot.py"), {"n": 65536})
    >>> chosen = [{n for s in d.steps for n in s.choices.values()} for d in descendants(best.derivation, RULES)]
    >>> all(numbers != {n for s in best.derivation.steps for n in s.choices.values()} for numbers in chosen)
    True
    """
    for chosen in sorted({n for step in parent.steps for n in step.choices.values() if n > 1}):
        less = (chosen // p for p in _PRIMES if chosen % p == 0)
        for other in (2 * chosen, 3 * chosen, *less):
            if other > 1:
                # a step does not divide, or has nothing where it was
                with suppress(ReliftError, KeyError), blamed_once():
                    yield redo(parent, rules, parent.sizes, {chosen: other})


def _steering(these: str, each: FoundProgram) -> str:
    """Under what the time of one is kept by which the generations of `these` went on."""
    return f"{each.term}\namong the {these}"


def _then(times: Tuner, these: str, each: FoundProgram) -> float | None:
    """The seconds by which the generations of `these` went on from one; its own where they did not know it."""
    timing = times.known(_steering(these, each))
    return each.measured if timing is None else timing.seconds


def _fastest_first(timed: Sequence[FoundProgram]) -> list[FoundProgram]:
    """Of equally fast ones those first that are estimated best, in an order that does not depend on how they came."""
    return sorted(timed, key=lambda f: (f.measured or 0.0, f.cost.seconds, str(f.term)))
