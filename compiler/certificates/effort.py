"""How much Z3 may do, counted in its own unit, so that a verdict is the same on a busy machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

QUERY = 10_000_000
"""What Z3 may spend on one statement, in its own unit (`rlimit`): some seconds; most take a thousandth of it."""

QUESTION = 20_000
"""What asking costs beside, in the same unit: the statement must be written down."""


@dataclass
class Effort:
    """What Z3 may spend on a statement, and on all of them together where `total` says so."""

    query: int = QUERY
    total: int | None = None
    _spent: int = field(default=0, init=False)

    def check(self, solver: Any) -> Any:
        """Z3's answer; `unknown` where it would take more than it may."""
        import z3

        from relift.rewrites.checks.smt.goals import answer_of, effort_of, effort_so_far

        if self.exhausted:
            return z3.unknown
        before = effort_so_far()
        solver.set(rlimit=self.query, random_seed=1)
        answer = answer_of(solver)
        self._spent += max(0, effort_of(solver) - before) + QUESTION
        return answer

    @property
    def exhausted(self) -> bool:
        """Whether all that was there is spent."""
        return self.total is not None and self._spent > self.total

    @property
    def why(self) -> str:
        """Why Z3 has no answer."""
        if self.exhausted:
            return f"beyond the effort of {self.total:,} steps for all claims together"
        return f"Z3 gave up after {self.query:,} steps"
