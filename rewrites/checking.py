"""Checking a rule: types, random models, free symbols, and whatever tiers other layers supply.

tier 1  types    both sides have one type and one size, for all sizes
tier 2  random   numbers, operations and sizes drawn by Hypothesis (see `sampling`)
tier 3  free     every size up to a bound on free symbols (see `free`)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from relift.rewrites.free import check_free
from relift.rewrites.guards import idle_conditions, infer_guard
from relift.rewrites.rule import RejectedRule, Rule
from relift.rewrites.sampling import check_random
from relift.rewrites.verdicts import (
    CheckReport,
    Counterexample,
    FloatVerdict,
    Guard,
    TierName,
    TierResult,
)
from relift.semantics.errors import ReliftError

__all__ = ["CheckReport", "Counterexample", "Tier", "TierResult", "check_rule"]

Tier: TypeAlias = Callable[[Rule], TierResult]

PROVERS: tuple[TierName, ...] = ("4a", "4b")
"""The tiers that speak of all sizes; they judge an inferred guard, too."""


def check_types(rule: Rule) -> TierResult:
    """Tier 1; a rule that exists passed it when it was made."""
    return TierResult("1", "types", "ok", f"both sides are {rule.left.type}")


def check_rule(
    rule: Rule | RejectedRule,
    *,
    tiers: Sequence[TierName] | None = None,
    bound: int = 3,
    extra: Mapping[TierName, Tier] | None = None,
    guards: bool = True,
    progress: Callable[[str], None] | None = None,
) -> CheckReport:
    """Run the tiers on one rule, all when none are named; `progress` hears of each.

    `extra` supplies tiers of other layers, by name.  With `guards`, a failing rule is told what is missing,
    and one that holds what it states needlessly.

    >>> from relift.rewrites.library import RULES
    >>> report = check_rule(RULES["join_split"], tiers=("1", "3"))
    >>> report.ok, [result.detail for result in report.results]
    (True, ['both sides are A[k*m]', 'exhaustive to 3, 12 instances'])
    """
    known: dict[TierName, Tier] = {
        "1": check_types,
        "2": check_random,
        "3": lambda r: check_free(r, bound=bound),
        **(extra or {}),
    }
    provers = [known[tier] for tier in PROVERS if tier in known and (not tiers or tier in tiers)]
    chosen = sorted(known if tiers is None else set(tiers))
    if unknown := [tier for tier in chosen if tier not in known]:
        there = ", ".join(map(str, sorted(known)))
        raise ReliftError(f"there is no tier {unknown[0]} here; there are: {there}")
    if isinstance(rule, RejectedRule):
        rejected = TierResult("1", "types", "rejected", str(rule.error))
        missing = infer_guard(rule, bound=bound, provers=provers) if guards else None
        return CheckReport(rule.name, "", rule.place, (rejected,), guard=missing)
    results: list[TierResult] = []
    for tier in chosen:
        if progress is not None:
            progress(f"{rule.name}: tier {tier}")
        start = time.monotonic()
        result = known[tier](rule)
        results.append(result if result.seconds else replace(result, seconds=_since(start)))
    return CheckReport(
        rule.name,
        rule.equation(),
        rule.place,
        tuple(results),
        _float_verdict(rule, results),
        _smallest(results),
        _missing(rule, results, bound, provers) if guards else None,
        _idle(rule, results, bound, provers) if guards else (),
    )


def _since(start: float) -> float:
    return time.monotonic() - start


def _float_verdict(rule: Rule, results: Sequence[TierResult]) -> FloatVerdict | None:
    """Laws of operators and of arithmetic hold on floats only up to rounding; free symbols need none."""
    if rule.needs_reassociation or any(result.needs_arithmetic for result in results):
        return "needs reassociation"
    return "bit-exact" if any(r.tier == "3" and r.status == "ok" for r in results) else None


def _smallest(results: Sequence[TierResult]) -> Counterexample | None:
    """The counterexample of the smallest sizes; of equal ones that on free symbols, which says most."""
    found = [
        (sum(r.counterexample.sizes.values()), r.tier != "3", r.counterexample)
        for r in results
        if r.counterexample is not None
    ]
    return min(found, key=lambda item: item[:2])[2] if found else None


def _missing(
    rule: Rule, results: Sequence[TierResult], bound: int, provers: Sequence[Tier]
) -> Guard | None:
    """What is missing, when the sides differ on free symbols."""
    if any(result.tier == "3" and result.status == "refuted" for result in results):
        return infer_guard(rule, bound=bound, provers=provers)
    return None


def _idle(
    rule: Rule, results: Sequence[TierResult], bound: int, provers: Sequence[Tier]
) -> tuple[str, ...]:
    """What a rule states needlessly, when free symbols do not refute it."""
    if any(result.tier == "3" and result.status == "ok" for result in results):
        return tuple(idle_conditions(rule, bound=bound, provers=provers))
    return ()
