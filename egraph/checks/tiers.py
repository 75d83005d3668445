"""All tiers of rule checking together: those of `rewrites`, and tier 5, which needs the e-graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import TypedDict

from relift.egraph.checks.bench import Bench
from relift.egraph.checks.search_tier import check_search, too_large
from relift.rewrites.checks.kinship import kin
from relift.rewrites.checks.operator_uses import require_laws
from relift.rewrites.checks.rocq.tier import prove
from relift.rewrites.checks.smt.tier import check_index
from relift.rewrites.checks.tiers import CheckReport, Tier, TierResult, check_rule
from relift.rewrites.checks.verdicts import TIERS, Status, TierName
from relift.rewrites.ledger.book import known_rules
from relift.rewrites.ledger.refuted import REFUTED
from relift.rewrites.library import RULES
from relift.rewrites.rule import RejectedRule, Rule
from relift.semantics.errors import ReliftError, nesting_deeply


class CheckOptions(TypedDict, total=False):
    """What may be asked of a check, as `check_all` takes it."""

    tiers: Sequence[TierName]
    bound: int
    guards: bool
    progress: Callable[[str], None] | None
    finished: Callable[[TierResult], None] | None
    ahead: bool


def check_all(
    rules: Iterable[Rule | RejectedRule],
    *,
    tiers: Sequence[TierName] = TIERS,
    bound: int = 3,
    guards: bool = True,
    progress: Callable[[str], None] | None = None,
    finished: Callable[[TierResult], None] | None = None,
    ahead: bool = False,
) -> Iterator[CheckReport]:
    """What the tiers say of each rule, one after the other; `guards`: and which condition is missing, or redundant.

    Tier 3 tries every size up to `bound`; `finished` is told of each tier at once.  Tier 4b proves all rules at once,
    when the first comes to it, or `ahead` of that; tier 5 shares one e-graph process.

    >>> from relift.egraph.checks.tiers import check_all
    >>> from relift.rewrites.library import RULES
    >>> next(check_all([RULES["join_split"]], tiers=("1", "3"))).ok
    True
    """
    rules = list(rules)
    with ExitStack() as stack:
        stack.enter_context(nesting_deeply())
        extra: dict[TierName, Tier] = {"4a": check_index}
        if "4b" in tiers:
            stated = [r for r in rules if isinstance(r, Rule)]
            # a process that is forked for functions of the user's cannot have a second thread
            early = ahead and not any(r.calls_user_functions for r in stated)
            pool = stack.enter_context(ThreadPoolExecutor(1)) if early else None
            extra["4b"] = _kernel_tier(stated, progress, pool)
        if "5" in tiers:
            bench = stack.enter_context(Bench())
            extra["5"] = lambda rule: search_tier(
                rule, None if rule.calls_user_functions else bench
            )
        for rule in rules:
            if (broken := _broken_law(rule)) is not None:
                yield broken
                continue
            report = check_rule(
                rule, tiers=tiers, bound=bound, extra=extra, guards=guards, progress=progress, finished=finished
            )  # fmt: skip
            yield replace(report, known=_known(rule)) if guards else report


def _known(rule: Rule | RejectedRule) -> tuple[str, ...]:
    """What the library, or its list of refuted rules, says already; a rule of its own is not compared."""
    if isinstance(rule, RejectedRule) or known_rules().get(rule.name) is rule:
        return ()
    refuted = {name: r for name, r in REFUTED.items() if isinstance(r, Rule)}
    try:
        follows = list(kin(rule, RULES))[:MOST_KNOWN]
        same = [found for found in kin(rule, refuted) if found.how == "the same rule as"]
    except RecursionError:  # nested too deeply to be compared
        return ()
    return (*map(str, follows), *(f"{found}, which is refuted" for found in same))


MOST_KNOWN = 3
"""More rules of the library that a rule follows from are not named."""


def _broken_law(rule: Rule | RejectedRule) -> CheckReport | None:
    """The report on a rule with an operator that does not obey what is declared of it; nothing holds then."""
    if isinstance(rule, RejectedRule):
        return None
    try:
        require_laws(rule.left, rule.right)
    except ReliftError as error:
        result = TierResult("1", "types", "rejected", error.message)
        return CheckReport(rule.name, rule.equation(), rule.place, (result,))
    return None


def _kernel_tier(
    rules: Sequence[Rule], progress: Callable[[str], None] | None, pool: Executor | None
) -> Tier:
    """Tier 4b, with the proofs of these rules made, from now on if there is a pool; others (an inferred guard) are
    proved one by one.

    A rule that cannot be stated is told so by its own proof, and rules of one name have a proof each.  What hinders
    the prover as such, a full disk, is no rule's: then this tier says it of each, and the other tiers go on.
    """
    named = Counter(rule.name for rule in rules)
    together = [rule for rule in rules if named[rule.name] == 1]

    @cache
    def known() -> dict[int, TierResult] | str:
        try:
            proofs = prove(together, progress=progress)
        except (OSError, ReliftError) as error:
            return f"the prover could not be run: {error}"
        return {id(rule): proofs[rule.name] for rule in together}

    soon = None if pool is None else pool.submit(known)

    def kernel(rule: Rule) -> TierResult:
        found = known() if soon is None else soon.result()
        if isinstance(found, str):
            raise ReliftError(found, place="")
        return found.get(id(rule)) or prove([rule])[rule.name]

    return kernel


def search_tier(rule: Rule, bench: Bench | None) -> TierResult:
    """Tier 5: the rule in the e-graph fires, agrees, and respects its derived premises.

    Without a bench it has one of its own, which ends with the process that it is in.
    """
    if too_large(rule):
        return TierResult("5", "search", "skipped", "its arrays are too large to be computed")
    verdict = check_search(rule, bench)
    parts = [str(v) for v in (verdict.forward, verdict.backward) if v.searchable]
    if not parts:
        return TierResult("5", "search", "skipped", f"not searchable: {verdict.forward.reason}")
    status: Status = "ok" if verdict.passed else "refuted" if verdict.refuted else "skipped"
    return TierResult("5", "search", status, "; ".join(parts))
