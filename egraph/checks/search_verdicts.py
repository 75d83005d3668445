"""What tier 5 says of a rule, and of each of its directions."""

from __future__ import annotations

from dataclasses import dataclass

from relift.rewrites.checks.verdicts import Direction


@dataclass(frozen=True)
class DirectionVerdict:
    """What tier 5 found out about a rule in one direction; `reason` says why it is not searchable."""

    direction: Direction
    reason: str = ""
    fired: bool = False
    members: int = 0
    wrong: int = 0
    scope_mutants: int = 0
    scope_fired: int = 0
    name_mutants: int = 0
    name_fired: int = 0

    @property
    def searchable(self) -> bool:
        """Whether search can use this direction."""
        return not self.reason

    @property
    def refuted(self) -> bool:
        """Whether a member differs from the interpreter, or a mutant fired."""
        return bool(self.wrong or self.scope_fired or self.name_fired)

    @property
    def passed(self) -> bool:
        """Whether it fired rightly; a direction that is not searchable is never used."""
        return not self.searchable or (self.fired and self.members > 1 and not self.refuted)

    def __str__(self) -> str:
        if not self.searchable:
            return f"{self.direction}: not searchable: {self.reason}"
        if not self.fired:
            return f"{self.direction}: does not fire at the small sizes that were tried"
        return (
            f"{self.direction}: {self.members} terms agree"
            + (f", {self.wrong} DO NOT" if self.wrong else "")
            + _mutants("scope", self.scope_mutants, self.scope_fired)
            + _mutants("name", self.name_mutants, self.name_fired)
        )


def _mutants(kind: str, number: int, fired: int) -> str:
    if not number:
        return ""
    return f"; {kind} mutants: {number}, " + (f"{fired} FIRE" if fired else "none fires")


@dataclass(frozen=True)
class SearchVerdict:
    """What tier 5 found out about a rule."""

    rule: str
    forward: DirectionVerdict
    backward: DirectionVerdict

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions in which search can use the rule."""
        return tuple(v.direction for v in (self.forward, self.backward) if v.searchable)

    @property
    def passed(self) -> bool:
        """Whether every searchable direction fired rightly."""
        return self.forward.passed and self.backward.passed

    @property
    def refuted(self) -> bool:
        """Whether a searchable direction did something wrong; not firing at all is not wrong."""
        return self.forward.refuted or self.backward.refuted

    def __str__(self) -> str:
        return f"{self.rule}: {self.forward}; {self.backward}"
