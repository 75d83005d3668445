"""A benchmark of rule checkers: wrong rules, and which tier refuses them.

    python -m proofs_tests.rule_checkers              all tiers, all wrong rules
    python -m proofs_tests.rule_checkers --tier 3     one tier
    python -m proofs_tests.rule_checkers --json

The wrong rules are those of the literature (`relift.rewrites.ledger.refuted`), mistakes written by hand
(`wrong_rules`), and mutants of every rule of the library (`mutants`).  A tier kills a rule when it refutes or
rejects it; the proving tiers kill none by themselves, but must prove none.  Every tier judges every rule that
types, alone and from scratch.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from proofs_tests.mutants import EQUIVALENT, mutants
from proofs_tests.wrong_rules import WRONG
from relift.checking import check
from relift.rewrites.checks.verdicts import TIERS, Status, TierName
from relift.rewrites.ledger.refuted import REFUTED
from relift.rewrites.rule import RejectedRule, Rule


@dataclass(frozen=True)
class Judgement:
    """What one tier said of one wrong rule."""

    rule: str
    tier: TierName
    status: Status
    seconds: float

    @property
    def killed(self) -> bool:
        return self.status in ("refuted", "rejected")


def wrong_rules() -> dict[str, Rule | RejectedRule]:
    """All wrong rules, by name."""
    written = {r.name: r for rules in WRONG.values() for r in rules}
    made = {name: r for name, r in mutants().items() if name not in EQUIVALENT}
    return {**REFUTED, **written, **made}


def judge(rules: Iterable[Rule | RejectedRule], tiers: Iterable[TierName]) -> list[Judgement]:
    """What each tier says of each rule; of one that does not type, only tier 1 speaks."""
    found: list[Judgement] = []
    for rule in rules:
        for tier in tiers:
            if isinstance(rule, RejectedRule) and tier != "1":
                continue
            start = time.monotonic()
            (result,) = check(rule, tiers=(tier,), guards=False).results
            found.append(Judgement(rule.name, tier, result.status, time.monotonic() - start))
    return found


def kill_rates(judgements: Iterable[Judgement]) -> Mapping[TierName, tuple[int, int, float]]:
    """Of each tier: how many rules it killed, how many it judged, and in how many seconds."""
    rates: dict[TierName, tuple[int, int, float]] = {}
    for j in judgements:
        killed, judged, seconds = rates.get(j.tier, (0, 0, 0.0))
        rates[j.tier] = (killed + j.killed, judged + 1, seconds + j.seconds)
    return rates


def survivors(judgements: Iterable[Judgement]) -> set[str]:
    """The rules that no tier killed."""
    judged = list(judgements)
    return {j.rule for j in judged} - {j.rule for j in judged if j.killed}


def main(
    tier: Annotated[list[str] | None, typer.Option(help="Only this tier.")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Judge every wrong rule by every tier; print how many each kills, and how fast."""
    rules = wrong_rules()
    tiers: list[TierName] = [t for t in TIERS if not tier or t in tier]
    watched = track(rules.values(), "judging", console=Console(stderr=True), disable=as_json)
    judgements = [j for rule in watched for j in judge([rule], tiers)]
    left = sorted(survivors(judgements))
    rates = kill_rates(judgements)
    if as_json:
        tables = {
            t: dict(zip(("killed", "judged", "seconds"), r, strict=True)) for t, r in rates.items()
        }
        print(json.dumps({"rules": len(rules), "tiers": tables, "survivors": left}, indent=1))
    else:
        table = Table("tier", "killed", "of", "kill rate", "seconds", "ms per rule")
        for name, (killed, judged, seconds) in rates.items():
            table.add_row(
                name, str(killed), str(judged), f"{killed / judged:.1%}", f"{seconds:.1f}",
                f"{1000 * seconds / judged:.0f}",
            )  # fmt: skip
        Console().print(table)
        print(f"{len(rules)} wrong rules; {len(left)} killed by no tier {', '.join(left)}")
    raise typer.Exit(bool(left))


if __name__ == "__main__":
    typer.run(main)
