"""Checking a rule: types, random models, free symbols, and whatever tiers other layers supply.

tier 1  types    both sides have one type and one size, for all sizes
tier 2  random   numbers, operations and sizes drawn by Hypothesis (see `random`)
tier 3  free     every size up to a bound on free symbols (see `free`)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from relift.rewrites.checks.faults import NAMES, unfinished
from relift.rewrites.checks.floating import float_verdict
from relift.rewrites.checks.free.tier import check_free
from relift.rewrites.checks.guards import infer_guard, redundant_conditions
from relift.rewrites.checks.isolation import Stopped, in_a_process
from relift.rewrites.checks.random.tier import check_random
from relift.rewrites.checks.verdicts import CheckReport, Counterexample, Guard, TierName, TierResult
from relift.rewrites.rule import RejectedRule, Rule
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
    finished: Callable[[TierResult], None] | None = None,
) -> CheckReport:
    """Run the tiers on one rule, all when none are named; `progress` is told of each, and `finished` what it says.

    `extra` supplies tiers of other layers, by name.  With `guards`, a failing rule is told what is missing,
    and one that holds what it states needlessly.

    >>> from relift.rewrites.checks.tiers import check_rule
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
        return _rejected(rule, bound, provers, guards)
    results: list[TierResult] = []
    for tier in chosen:
        if progress is not None:
            progress(f"{rule.name}: tier {tier}")
        stopped = any(r.tier in ALONE and r.status == "unfinished" for r in results)
        if stopped and tier in ALONE and rule.calls_user_functions:
            why = "its functions did not come to their end in tier 2"
            results.append(TierResult(tier, NAMES[tier], "unfinished", why))
        else:
            results.append(_run(tier, known[tier], rule))
        if finished is not None:
            finished(results[-1])
    found = CheckReport(
        rule.name,
        _or_nothing(rule, rule.equation, "(nested too deeply to be printed)"),
        rule.place,
        tuple(results),
        counterexample=_smallest(results),
        guard=_missing(rule, results, bound, provers) if guards else None,
        redundant=_redundant(rule, results, bound, provers) if guards else (),
    )
    if not found.ok:  # to run both sides at all edges takes longer than to refute it
        return found
    return replace(
        found, float_verdict=_or_nothing(rule, lambda: float_verdict(rule, results), None)
    )


def _rejected(rule: RejectedRule, bound: int, provers: Sequence[Tier], guards: bool) -> CheckReport:
    """What is said of a rule that does not type, and the guard that would make it."""
    rejected = TierResult("1", "types", "rejected", str(rule.error))
    missing = None
    if guards and not rule.malformed:
        missing = _or_nothing(rule, lambda: infer_guard(rule, bound=bound, provers=provers), None)
    return CheckReport(
        rule.name, "", rule.place, (rejected,), guard=missing, malformed=rule.malformed
    )


def _run(name: TierName, tier: Tier, rule: Rule) -> TierResult:
    """What a tier says; whatever goes wrong in it stays in it, and is one line."""
    start = time.monotonic()
    try:
        if name in ALONE and rule.calls_user_functions:
            result = in_a_process(lambda: tier(rule))
        else:
            result = tier(rule)
    except Exception as error:  # noqa: BLE001  whatever it is, it says nothing of other tiers and rules
        result = unfinished(name, error)
    return result if result.seconds else replace(result, seconds=time.monotonic() - start)


ALONE: tuple[TierName, ...] = ("2", "5")
"""The tiers that call the user functions of a rule, which may do anything."""


T = TypeVar("T")


def _or_nothing(rule: Rule | RejectedRule, find: Callable[[], T], nothing: T) -> T:
    """What is found out about a rule besides its verdict; where that fails, the verdict stands alone."""
    try:
        if isinstance(rule, Rule) and rule.calls_user_functions:
            return in_a_process(find)
        return find()
    except (ReliftError, RecursionError, MemoryError, Stopped):
        return nothing


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
    """What is missing, when a tier that compares values refutes the rule."""
    unfinished = was_stopped(results)
    refuted = any(r.tier in ("2", "3", "4a") and r.status == "refuted" for r in results)
    if refuted and not unfinished:
        return _or_nothing(rule, lambda: infer_guard(rule, bound=bound, provers=provers), None)
    return None


def was_stopped(results: Sequence[TierResult]) -> bool:
    """Whether a tier was stopped that a guard is judged by; the kernel's is none of them."""
    return any(r.status == "unfinished" and r.tier != "4b" for r in results)


def _redundant(
    rule: Rule, results: Sequence[TierResult], bound: int, provers: Sequence[Tier]
) -> tuple[str, ...]:
    """What a rule states needlessly, when free symbols do not refute it."""
    unfinished = was_stopped(results)
    if not unfinished and any(r.tier == "3" and r.status == "ok" for r in results):
        find = lambda: tuple(redundant_conditions(rule, bound=bound, provers=provers))
        return _or_nothing(rule, find, ())
    return ()
