"""What a check of a rule says: one result per tier, and the smallest counterexample.

A tier that cannot run says `skipped` and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from relift.display.displayed import Displayed

TierName: TypeAlias = Literal["1", "2", "3", "4a", "4b", "5"]

TIERS: tuple[TierName, ...] = ("1", "2", "3", "4a", "4b", "5")
"""1 types, 2 random, 3 free symbols, 4a index functions, 4b kernel proof, 5 search."""

Status: TypeAlias = Literal[
    "ok", "proved", "unproved", "refuted", "rejected", "skipped", "unfinished"
]
"""`proved`: for all sizes; `unproved`: a prover gave up; `refuted`: the sides differ; `rejected`: it is no
rule at all; `skipped`: this tier cannot tell; `unfinished`: it was stopped, or failed, before it could."""

Headline: TypeAlias = Literal["proved", "tested only", "failed"]
"""What a check says of a rule as a whole: it holds for all sizes; it held wherever it was tried; or a tier says
no, or none that was asked says yes."""

EXIT_STATUS: Mapping[Headline, int] = {"proved": 0, "tested only": 3, "failed": 1}
"""What `relift check` ends with, for the worst of its rules: `failed`, then `tested only`, then `proved`."""


def printed(tier: TierName, status: Status) -> str:
    """The word for a status; only the kernel proof of tier 4b may say PROVED.

    >>> from relift.rewrites.checks.verdicts import printed
    >>> printed("4a", "proved"), printed("4b", "proved"), printed("3", "ok")
    ('SMT-proved', 'PROVED', 'ok')
    """
    if status == "proved" and tier != "4b":
        return "SMT-proved"
    return status if status == "ok" else status.upper()


Direction: TypeAlias = Literal["forward", "backward"]

WHERE_TOTAL = "where total:"
"""What the script of a direction begins with that is claimed for what is total alone, since more is computed there than was."""

FloatVerdict: TypeAlias = str
"""`bit-exact`, or what two floating-point values that a rule equates may differ by; see `floating`."""


@dataclass(frozen=True)
class Counterexample(Displayed):
    """The smallest instance of a rule that was found to separate its sides.

    `obligation` says what fails: the values differ, a side has the wrong shape, or it is undefined.
    `data` holds what each metavariable stands for; `left` and `right` are the values of the sides, empty
    where there is none.
    """

    shown_by: ClassVar = "relift.rewrites.displays:of_counterexample"

    obligation: str
    equation: str
    sizes: Mapping[str, int]
    data: Mapping[str, str]
    left: str
    right: str

    def text(self) -> str:
        """The counterexample as a person reads it, one fact on a line."""
        lines = [self.obligation, *_few(self.equation.splitlines())]
        if self.sizes:
            lines.append(", ".join(f"{name} = {value}" for name, value in self.sizes.items()))
        lines += [_shortened(f"{name} = {value}") for name, value in self.data.items()]
        lines += [_shortened(f"left  = {self.left}")] * bool(self.left)
        lines += [_shortened(f"right = {self.right}")] * bool(self.right)
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "obligation": self.obligation,
            "equation": self.equation,
            "sizes": dict(self.sizes),
            "data": dict(self.data),
            "left": self.left,
            "right": self.right,
        }


LONGEST_LINE = 1000
LONGEST_EQUATION = 60
"""Characters of a value, and lines of an equation, that are printed; the JSON has all."""


def _shortened(line: str) -> str:
    """A line whose middle is left out where it is long.

    >>> from relift.rewrites.checks.verdicts import _shortened
    >>> _shortened("x" * 3000).count("x")
    1000
    """
    left_out = len(line) - LONGEST_LINE
    if left_out <= 0:
        return line
    half = LONGEST_LINE // 2
    return f"{line[:half]} ... ({left_out} characters) ... {line[-half:]}"


def _few(lines: list[str]) -> list[str]:
    left_out = len(lines) - LONGEST_EQUATION
    if left_out <= 0:
        return lines
    half = LONGEST_EQUATION // 2
    return [*lines[:half], f"... ({left_out} lines) ...", *lines[-half:]]


@dataclass(frozen=True)
class TierResult(Displayed):
    """What one tier says of a rule.

    `needs_arithmetic`: the sides agree only by the laws of arithmetic, which floating point lacks.  `goal` is
    what a prover left to show when it stopped.  `complete`: all that the tier sets out to try was tried.
    `total`: the directions in which tier 4b showed that no value is lost, each with the metavariables that must
    stand for what is defined everywhere.
    """

    shown_by: ClassVar = "relift.rewrites.displays:of_result"

    tier: TierName
    name: str
    status: Status
    detail: str
    seconds: float = 0.0
    counterexample: Counterexample | None = None
    needs_arithmetic: bool = False
    goal: str = ""
    complete: bool = True
    total: Mapping[Direction, tuple[str, ...]] = field(
        default_factory=dict[Direction, tuple[str, ...]]
    )

    def text(self) -> str:
        """One line: `tier 3  free    ok         exhaustive to 3`."""
        word = printed(self.tier, self.status)
        return f"tier {self.tier:2} {self.name:7} {word:10} {self.detail} [{self.seconds:.2f} s]"

    def to_json(self) -> dict[str, Any]:
        return {
            "tier": self.tier,
            "name": self.name,
            "status": self.status,
            "detail": self.detail,
            "seconds": round(self.seconds, 4),
            **({"goal": self.goal} if self.goal else {}),
            **(
                {"total": {d: list(names) for d, names in self.total.items()}} if self.total else {}
            ),
        }


@dataclass(frozen=True)
class Guard(Displayed):
    """What would make a failing rule hold: conditions, the rule under them, and what the tiers say of that."""

    shown_by: ClassVar = "relift.rewrites.displays:of_guard"

    conditions: tuple[str, ...]
    equation: str
    results: tuple[TierResult, ...]

    def text(self) -> str:
        """One line: `holds if m divides n (exhaustive to 3, 12 instances; SMT-proved)`."""
        said = [r.detail if r.status == "ok" else printed(r.tier, r.status) for r in self.results]
        return f"holds if {' and '.join(self.conditions)} ({'; '.join(said)})"

    def to_json(self) -> dict[str, Any]:
        return {
            "conditions": list(self.conditions),
            "equation": self.equation,
            "tiers": [result.to_json() for result in self.results],
        }


@dataclass(frozen=True)
class CheckReport(Displayed):
    """All that was found out about a rule.

    `guard` would make a failing rule hold, where one was found; `redundant` are the conditions that a rule that
    holds states needlessly.  `malformed`: the Python of the rule fails, so there is no rule to speak of.
    `known` says which rules of the library say the same, or more.
    """

    shown_by: ClassVar = "relift.rewrites.displays:of_report"

    rule: str
    equation: str
    place: str | None
    results: tuple[TierResult, ...]
    float_verdict: FloatVerdict | None = None
    counterexample: Counterexample | None = None
    guard: Guard | None = None
    redundant: tuple[str, ...] = ()
    malformed: bool = False
    known: tuple[str, ...] = ()

    @property
    def headline(self) -> Headline:
        """Failed when a tier says no, or none that was asked besides typing says yes; unknown is no yes."""
        statuses = {result.status for result in self.results}
        if statuses & {"refuted", "rejected"}:
            return "failed"
        if "proved" in statuses:
            return "proved"
        beyond = [result for result in self.results if result.tier != "1"]
        tested = any(result.status == "ok" for result in beyond or self.results)
        return "tested only" if tested else "failed"

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against the rule, and something for it."""
        return self.headline != "failed"

    def _heading(self) -> str:
        """`proved` is what the kernel of Rocq proved, or else Z3; the tier's own line says which."""
        match self.headline:
            case "failed":
                said = {result.status for result in self.results}
                told = said & {"refuted", "rejected"}
                return "FAILED" if told else "FAILED: no tier could tell"
            case "proved":
                kernel = any(r.tier == "4b" and r.status == "proved" for r in self.results)
                return "proved" if kernel else "proved (by Z3 alone)"
            case "tested only":
                return "tested only"

    def text(self) -> str:
        """The table of tiers, then the counterexample and the missing guard, where there are any."""
        lines = [f"{self.rule}: {self._heading()}"]
        if self.place and not self.ok:
            lines.append(f"  at {self.place}")
        lines += [f"  {line}" for line in _few(self.equation.splitlines())]
        lines += [f"  {result.text()}" for result in self.results]
        for result in self.results:
            if result.goal and self.counterexample is None:
                lines.append(f"  tier {result.tier} left this goal:")
                lines += [f"    {line}" for line in result.goal.splitlines()]
        if self.float_verdict and self.ok:
            lines.append(f"  floating point: {self.float_verdict}")
        if self.counterexample is not None:
            lines.append("  counterexample:")
            lines += [f"    {line}" for line in self.counterexample.text().splitlines()]
        if self.guard is not None:
            lines.append(f"  {self.guard.text()}")
            lines += [f"    {line}" for line in self.guard.equation.splitlines()]
        lines += [f"  {condition} is not needed" for condition in self.redundant]
        lines += [f"  {known}" for known in self.known]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "equation": self.equation,
            "place": self.place,
            "ok": self.ok,
            "headline": self.headline,
            "tiers": [result.to_json() for result in self.results],
            "float": self.float_verdict,
            "counterexample": self.counterexample and self.counterexample.to_json(),
            "guard": self.guard and self.guard.to_json(),
            "idle": list(self.redundant),
            "known": list(self.known),
        }


def summary(reports: Sequence[CheckReport]) -> str:
    """How many rules have which headline: `2 rules: 1 proved, 1 failed`."""
    counts = Counter(report.headline for report in reports)
    shown = [f"{counts[headline]} {headline}" for headline in EXIT_STATUS if counts[headline]]
    return f"{len(reports)} rule{'s' * (len(reports) != 1)}: {', '.join(shown)}"
