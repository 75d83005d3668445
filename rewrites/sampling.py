"""Tier 2: random values, operators and sizes, by Hypothesis.

Unlike free symbols, numbers have arithmetic, sizes go beyond the bound of tier 3, and type variables become
pairs and rows.
"""

from __future__ import annotations

import importlib.util
import time

from relift.rewrites.instances import Instances, counterexample
from relift.rewrites.models import Model, NoModel
from relift.rewrites.rule import Rule
from relift.rewrites.verdicts import Counterexample, Status, TierResult


def check_random(rule: Rule, *, examples: int = 60, budget: float = 5.0) -> TierResult:
    """Compare both sides in up to `examples` models within `budget` seconds; a failing one is shrunk."""
    start = time.monotonic()

    def result(status: Status, detail: str, found: Counterexample | None = None) -> TierResult:
        return TierResult("2", "random", status, detail, time.monotonic() - start, found)

    if importlib.util.find_spec("hypothesis") is None:
        return result("skipped", "Hypothesis is not installed: pip install hypothesis")
    from relift.rewrites.drawing import simplest
    from relift.rewrites.strategies import models

    search = _Search(rule, start + budget)
    simplest(models(rule), search.differs, examples=examples)
    if search.smallest is not None:
        return result("refuted", search.smallest.obligation, search.smallest)
    if not search.tried:
        return result("skipped", "no random sizes and operators meet its conditions")
    in_time = f" in {budget:g} s" if search.late else ""
    return result("ok", f"{search.tried} instance{'s' * (search.tried != 1)}{in_time}")


class _Search:
    """What was seen so far: how many instances, and the smallest that separates the sides."""

    def __init__(self, rule: Rule, end: float) -> None:
        self.instances = Instances(rule)
        self.end = end
        self.tried = 0
        self.late = False
        self.smallest: Counterexample | None = None

    def differs(self, model: Model) -> bool:
        """Whether the sides differ in one model; raises when the time is over."""
        from relift.rewrites.drawing import OutOfTime

        if time.monotonic() > self.end and self.tried:
            self.late = True
            raise OutOfTime
        try:
            difference = model.difference()
        except NoModel:
            return False
        self.tried += 1
        if difference is None:
            return False
        found = counterexample(self.instances, model.sizes, model.data(), difference)
        if self.smallest is None or _weight(found) < _weight(self.smallest):
            self.smallest = found
        return True


def _weight(found: Counterexample) -> tuple[int, int]:
    return sum(found.sizes.values()), len(found.text())
