"""What a search comes to: proposals in the order in which they are tried, and what the e-graphs took."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

from relift.display.displayed import Displayed
from relift.egraph.cost.model import Cost
from relift.egraph.process.saturation import REASONS, Saturation
from relift.rewrites.derivation.steps import Derivation
from relift.semantics.errors import ReliftError
from relift.semantics.kept import Kept
from relift.semantics.language.programs import Program
from relift.semantics.notation.printer import show
from relift.semantics.syntax.binding import canonical, inputs_by_number
from relift.semantics.syntax.terms import Input, Term, parts_of


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
        """The order of estimated time; of times that differ by 2 % or less, of the term's size.

        What no kernel computes, as no step of an iteration, takes no time.
        """
        return _steps(self.cost.seconds, 1.02), parts_of(self.low.body)

    @property
    def rank_in_the_end(self) -> tuple[int, int, int]:
        """The same; of times that differ by 2 % or less, the order of what memory hides of them, in steps of a quarter.

        100,003 rows of 63 numbers times a vector are estimated at 0.69 ms by vectors of rows and of columns: these take two cores 0.85 ms
        through Intel's driver where a cache keeps the rows, and those 0.2.
        """
        seconds, size = self.rank
        return seconds, _steps(self.cost.hidden, 1.25), size

    @property
    def rank_among_several(self) -> tuple[int, ...]:
        """The same where candidates are to differ in their tiles: the best of each comes before the second of any."""
        return self.round, *self.rank_in_the_end


_derived: Kept[Callable[[], Derivation], Derivation] = Kept("how proposals were derived")
_lowered: Kept[Hashable, list[Proposal]] = Kept("what kernels are lowered to without a search")


def once_for_shape(shape: Hashable, lower: Callable[[], list[Proposal]]) -> list[Proposal]:
    """What a kernel of a shape is lowered to: kernels that forms of a program store are kernels of its kernels' forms, too.

    >>> from relift.egraph.search.outcomes import derived_once, once_for_shape
    >>> asked = []
    >>> with derived_once():
    ...     for _ in range(2):
    ...         found = once_for_shape("a sum", lambda: asked.append("lowered") or [])
    >>> found, asked
    ([], ['lowered'])
    """
    return _lowered.known(shape, lower)


@contextmanager
def derived_once() -> Generator[None]:
    """How a proposal follows is worked out once inside, as that for a kernel is part of many candidates; and what a kernel is lowered to.

    >>> from relift.egraph.search.outcomes import derivation_of, derived_once
    >>> from relift.egraph.search.proposals import Proposals
    >>> from relift.device import CPU
    >>> from relift.rewrites.loading import load_program
    >>> written = Proposals(load_program("examples/saxpy.py"), {"n": 8}, CPU).as_written()[0]
    >>> with derived_once():
    ...     derivation_of(written) is derivation_of(written)
    True
    """
    with _derived.once(), _lowered.once():
        yield


def derivation_of(proposal: Proposal) -> Derivation:
    """How a proposal follows from the program."""
    return _derived.known(proposal.derive, proposal.derive)


def _steps(seconds: float, factor: float) -> int:
    """How many factors a time comes to."""
    return round(math.log(max(seconds, sys.float_info.min)) / math.log(factor))


def rank_of(proposal: Proposal) -> tuple[int, int]:
    """Its rank, for `sorted` and `min`."""
    return proposal.rank


def soonest(found: Sequence[Proposal]) -> float:
    """The seconds of the one that takes least; infinite where there is none."""
    return min((each.cost.seconds for each in found), default=math.inf)


def ranked(found: Sequence[Proposal]) -> list[Proposal]:
    """Proposals in order of their rank."""
    return sorted(found, key=rank_of)


def in_rounds(alike: list[Proposal]) -> list[Proposal]:
    """Proposals that share their tiles, in order of estimated cost."""
    ordered = sorted(alike, key=lambda proposal: proposal.rank)
    return [replace(proposal, round=place) for place, proposal in enumerate(ordered)]


def asked_once(refused: Callable[[Program], str | None]) -> Callable[[Program], str | None]:
    """What says why a program is refused, asked once of each: a kernel is part of many candidates.

    >>> from relift.egraph.search.outcomes import asked_once
    >>> from relift.rewrites.loading import load_program
    >>> heard = []
    >>> reason = asked_once(lambda program: heard.append(program.name))
    >>> reason(load_program("examples/dot.py")), reason(load_program("examples/dot.py")), heard
    (None, None, ['dot'])
    """
    known: dict[tuple[str, Sequence[Input], Term], str | None] = {}
    taken: set[Hashable] = set()
    """What is not refused is so whatever its inputs are called."""

    def asked(program: Program) -> str | None:
        types = tuple([x.type for x in program.parameters])
        shape = types, inputs_by_number(program.body)
        if not program.sizes and shape in taken:
            return None
        key = program.name, program.parameters, canonical(program.body)
        if key not in known:
            known[key] = refused(program)
            if known[key] is None:
                taken.add(shape)
        return known[key]

    return asked


@dataclass(frozen=True)
class SearchStats:
    """What the e-graphs of a search came to: why they ended, whether no budget did, and what they took."""

    stopped: str
    complete: bool
    nodes: int
    firings: Mapping[str, int]
    profile: Mapping[str, float]

    @staticmethod
    def of(grown: Saturation) -> SearchStats:
        """What one e-graph came to."""
        return SearchStats(grown.stopped, grown.complete, grown.nodes, grown.firings, grown.profile)

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


@dataclass(frozen=True)
class FoundProgram(Displayed):
    """One low-level program, what it is estimated to cost, and how it follows from the source.

    `measured` is its time on the device in seconds, where the search was asked to measure.
    """

    shown_by: ClassVar = "relift.egraph.displays:of_found"

    term: Program
    cost: Cost
    derivation: Derivation
    measured: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The candidate for a program that reads it."""
        return {
            "term": show(self.term.body),
            "estimated_seconds": self.cost.seconds,
            "measured_seconds": self.measured,
            "steps": [step.rule for step in self.derivation.steps],
            "own_rules": {own.rule.name: own.standing for own in self.derivation.used},
        }


class NoProgram(ReliftError):
    """The search found no program that OpenCL can run."""


NOTHING = SearchStats("", True, 0, {}, {})
AT_THE_LIMIT = replace(
    NOTHING, stopped="nothing can be much faster than to read and write each cell once"
)
OUT_OF_SECONDS = replace(NOTHING, stopped=REASONS["seconds"], complete=False)

Outcome: TypeAlias = tuple[SearchStats, list[Proposal]]
