"""Tier 2: random values, operators and sizes, by Hypothesis.

Unlike free symbols, numbers have arithmetic, sizes go beyond the bound of tier 3, and type variables become
pairs and rows.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable

from relift.rewrites.instances import Instances, counterexample
from relift.rewrites.models import Model, NoModel
from relift.rewrites.rule import Rule
from relift.rewrites.verdicts import Counterexample, Status, TierResult


class _Differs(Exception):
    """The sides differ; Hypothesis shrinks whatever raises it."""


class _OutOfTime(BaseException):
    """Stops Hypothesis at once, for it is no `Exception` to shrink."""


def check_random(rule: Rule, *, examples: int = 60, budget: float = 5.0) -> TierResult:
    """Compare both sides in up to `examples` models within `budget` seconds; a failing one is shrunk."""
    start = time.monotonic()

    def result(status: Status, detail: str, found: Counterexample | None = None) -> TierResult:
        return TierResult("2", "random", status, detail, time.monotonic() - start, found)

    if importlib.util.find_spec("hypothesis") is None:
        return result("skipped", "Hypothesis is not installed: pip install hypothesis")
    search = _Search(rule, start + budget)
    _run(rule, search.visit, examples)
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

    def visit(self, model: Model) -> None:
        """Compare the sides in one model; raises when they differ, or when the time is over."""
        if time.monotonic() > self.end and self.tried:
            self.late = True
            raise _OutOfTime
        try:
            difference = model.difference()
        except NoModel:
            return
        self.tried += 1
        if difference is not None:
            found = counterexample(self.instances, model.sizes, model.data(), difference)
            if self.smallest is None or _weight(found) < _weight(self.smallest):
                self.smallest = found
            raise _Differs


def _weight(found: Counterexample) -> tuple[int, int]:
    return sum(found.sizes.values()), len(found.text())


def _run(rule: Rule, visit: Callable[[Model], None], examples: int) -> None:
    import hypothesis
    from hypothesis.configuration import set_hypothesis_home_dir, storage_directory
    from hypothesis.errors import Unsatisfiable

    from relift.rewrites.strategies import models

    settings = hypothesis.settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=(
            hypothesis.HealthCheck.data_too_large,
            hypothesis.HealthCheck.filter_too_much,
            hypothesis.HealthCheck.too_slow,
        ),
    )
    run = settings(hypothesis.given(models(rule))(visit))
    before = storage_directory(intent_to_write=False).home_directory
    with tempfile.TemporaryDirectory() as folder:  # it leaves caches beside the user's files
        set_hypothesis_home_dir(folder)
        try:
            run()
        except (_Differs, _OutOfTime, Unsatisfiable):
            pass  # the search remembers what it saw
        finally:
            set_hypothesis_home_dir(before)
