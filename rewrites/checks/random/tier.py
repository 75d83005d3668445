"""Tier 2: random values, operators and sizes, by Hypothesis.

Unlike free symbols, numbers have arithmetic, sizes go beyond the bound of tier 3, and type variables become
pairs and rows.
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import time

from relift.rewrites.checks.instances import Instances, counterexample
from relift.rewrites.checks.random.fractions import differs_in_fractions
from relift.rewrites.checks.random.integers import differs_in_integers
from relift.rewrites.checks.random.models import Model, NoModel, draw_model
from relift.rewrites.checks.verdicts import Counterexample, Direction, Status, TierResult
from relift.rewrites.rule import Rule
from relift.semantics.errors import Undefined
from relift.semantics.syntax.signatures import FunctionKind

EXAMPLES = 60
"""How many instances a rule is tried on."""

EMERGENCY = 300.0
"""Seconds after which the tier gives up; it then says how far it came, which is no `ok`."""


def check_random(
    rule: Rule, *, examples: int = EXAMPLES, emergency: float | None = None
) -> TierResult:
    """Compare both sides in `examples` models; a failing one is shrunk.

    The number of models does not depend on how fast they are: only `emergency`, in seconds, stops the tier
    early, and then it has not finished.
    """
    start = time.monotonic()
    emergency = EMERGENCY if emergency is None else emergency

    def result(status: Status, detail: str, found: Counterexample | None = None) -> TierResult:
        return TierResult("2", "random", status, detail, time.monotonic() - start, found)

    if importlib.util.find_spec("hypothesis") is None:
        return result("skipped", "Hypothesis is not installed: pip install hypothesis")
    from relift.rewrites.checks.random.drawing import simplest
    from relift.rewrites.checks.random.strategies import models

    search = _Search(rule, start + emergency)
    simplest(models(rule), search.differs, examples=examples)
    if search.smallest is not None:
        return result("refuted", search.smallest.obligation, search.smallest)
    if (found := differs_in_integers(rule) or differs_in_fractions(rule)) is not None:
        return result("refuted", found.obligation, found)
    if search.late:
        return result("unfinished", f"{search.tried} of {examples} instances in {emergency:g} s")
    if not search.tried:
        return result("skipped", f"no random sizes and operators meet its conditions{search.why()}")
    said = f"{search.tried} instance{'s' * (search.tried != 1)}{search.why()}"
    keeping = kept_definedness(rule)
    if len(keeping) < 2:
        said += f"; with partial functions {f'{keeping[0]} only' if keeping else 'in no direction'}"
    return result("ok", said)


PARTIAL = 60
"""Models with partial functions that are tried for each rule."""


def kept_definedness(rule: Rule) -> tuple[Direction, ...]:
    """The directions in which no program was seen to lose its value when functions are partial.

    `take(m, map(f, xs))` may be undefined where `map(f, take(m, xs))` is not, for it applies f more often; so
    the rule between them must not be applied to the second where f may have no value.

    >>> from relift.rewrites.checks.random.tier import kept_definedness
    >>> from relift.rewrites.library import RULES
    >>> kept_definedness(RULES["take_map"]), kept_definedness(RULES["map_fusion"])
    (('forward',), ('forward', 'backward'))
    """
    directions: list[Direction] = ["forward", "backward"]
    if not any(isinstance(kind, FunctionKind) for kind in rule.parameters.values()):
        return tuple(directions)
    instances = Instances(rule)
    small = list(itertools.islice(instances.assignments(2), 500))
    for seed in range(PARTIAL if small else 0):
        drawn = random.Random(seed)
        sizes = drawn.choice(small)
        if instances.largest(sizes) > LARGEST_PARTIAL:
            continue
        try:
            difference = draw_model(rule, sizes, drawn.choice, partial_functions=True).difference()
        except (NoModel, Undefined):
            continue
        if difference is None:
            continue
        if difference.right is None and difference.left is not None and "forward" in directions:
            directions.remove("forward")
        if difference.left is None and difference.right is not None and "backward" in directions:
            directions.remove("backward")
        if not directions:
            break
    return tuple(directions)


LARGEST_PARTIAL = 500
"""Models with partial functions have at most this many cells in an array."""


class _Search:
    """What was seen so far: how many instances, and the smallest that separates the sides.

    `without` counts the draws in which both sides have no value, which say nothing of the values of the rule.
    """

    def __init__(self, rule: Rule, end: float) -> None:
        self.instances = Instances(rule)
        self.end = end
        self.tried = 0
        self.without = 0
        self.late = False
        self.smallest: Counterexample | None = None

    def differs(self, model: Model) -> bool:
        """Whether the sides differ in one model; raises when the time is over, or to have another drawn."""
        from relift.rewrites.checks.random.drawing import Drawn, OutOfTime

        if time.monotonic() > self.end:
            self.late = True
            raise OutOfTime
        try:
            difference = model.difference()
        except NoModel:
            raise Drawn from None
        except Undefined:
            self.without += 1
            raise Drawn from None
        self.tried += 1
        if difference is None:
            return False
        found = counterexample(self.instances, model.sizes, model.data(), difference)
        if self.smallest is None or _weight(found) < _weight(self.smallest):
            self.smallest = found
        return True

    def why(self) -> str:
        """What was drawn in vain."""
        return f"; neither side has a value in {self.without} others" if self.without else ""


def _weight(found: Counterexample) -> tuple[int, int]:
    return sum(found.sizes.values()), len(found.text())
