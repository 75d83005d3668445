"""The ledger for a person: its table, the page of each rule, and all of it as one HTML page."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

from relift.display.blocks import Block, Code, Folded, Mood, Table, Title, Words
from relift.display.printing import document
from relift.rewrites.checks.verdicts import printed
from relift.rewrites.displays import MOODS
from relift.rewrites.ledger import literature
from relift.rewrites.ledger.book import (
    Verdict,
    is_proved,
    known_rules,
    load,
    outdated,
    summary,
    verdict,
)
from relift.rewrites.ledger.refuted import CORRECTIONS
from relift.rewrites.library import FAMILIES, rules_of
from relift.rewrites.rule import Rule

TITLE = "The ledger of Relift"


def family(name: str) -> str:
    """The family that a rule of the library belongs to; `refuted` for the others."""
    return _families().get(name, "refuted")


@cache
def _families() -> dict[str, str]:
    return {
        name: module.__name__.rpartition(".")[2] for module in FAMILIES for name in rules_of(module)
    }


def literature_of(name: str) -> list[str]:
    """The named rules of the literature that a rule states, or that a refuted one is as written."""
    return [
        title
        for title, known in literature.entries().items()
        if name in known.rules or name in known.refuted
    ]


def row(name: str) -> tuple[str, str, str, str, str, str]:
    """A line of the table: name, family, verdict, how it is searched, floating point, conditions."""
    rule, recorded = known_rules()[name], load().get(name)
    searched = recorded.tiers.get("5") if recorded else None
    conditions = ", ".join(map(str, rule.where)) if isinstance(rule, Rule) else ""
    return (
        name,
        family(name),
        verdict(rule),
        searched.detail.split(":")[0] if searched else "",
        (recorded.float_verdict or "") if recorded else "",
        conditions,
    )


def to_json(name: str) -> dict[str, object]:
    """The same as JSON, with the equation, the source, and what each tier said."""
    rule, recorded = known_rules()[name], load().get(name)
    return {
        "rule": name,
        "family": family(name),
        "verdict": verdict(rule),
        "equation": rule.equation() if isinstance(rule, Rule) else str(rule.error),
        "source": rule.source if isinstance(rule, Rule) else "",
        "conditions": [str(c) for c in rule.where] if isinstance(rule, Rule) else [],
        "literature": literature_of(name),
        "corrected": list(CORRECTIONS.get(name, ())),
        "recorded": asdict(recorded) if recorded else None,
    }


def page(name: str) -> str:
    """All that is known of one rule, as text."""
    rule = known_rules()[name]
    recorded = load().get(name)
    lines = [f"{name}: {verdict(rule)}", ""]
    if isinstance(rule, Rule):
        lines += [*(f"  {line}" for line in rule.equation().splitlines()), "", rule.doc]
        lines += [f"Source: {rule.source}"] if rule.source else []
    else:
        lines.append(f"  {rule.error}")
    if named := literature_of(name):
        lines.append(f"In the literature: {', '.join(named)}")
    if correction := CORRECTIONS.get(name):
        lines.append(f"Corrected: {', '.join(correction)}")
    if recorded is not None:
        lines.append("")
        for tier, found in recorded.tiers.items():
            lines.append(f"  tier {tier:2} {printed(tier, found.status):10} {found.detail}")
            lines += [f"    {line}" for line in found.goal.splitlines()]
        if recorded.float_verdict:
            lines.append(f"  floating point: {recorded.float_verdict}")
        lines.append(f"  statement {recorded.statement[:16]}")
        if recorded.proof:
            since = ", which has changed since" if outdated(known_rules()[name]) else ""
            lines.append(f"  by proof {recorded.proof[:16]} and {recorded.prover}{since}")
        lines += [f"    {line}" for line in recorded.counterexample.splitlines()]
    return "\n".join(lines)


def displayed(name: str) -> list[Block]:
    """The same as is displayed: the equation, what each tier said, the counterexample."""
    rule, recorded = known_rules()[name], load().get(name)
    said = verdict(rule)
    shown: list[Block] = [Title(f"{name}: {said}", mood(said))]
    if isinstance(rule, Rule):
        shown += [Code(rule.equation()), Words(rule.doc)]
        shown += [Words(f"Source: {rule.source}")] if rule.source else []
    else:
        shown.append(Words(str(rule.error), "bad"))
    if named := literature_of(name):
        shown.append(Words(f"In the literature: {', '.join(named)}"))
    if correction := CORRECTIONS.get(name):
        shown.append(Words(f"Corrected: {', '.join(correction)}", "open"))
    if recorded is not None:
        tiers = recorded.tiers.items()
        rows = tuple((tier, printed(tier, t.status), t.detail) for tier, t in tiers)
        moods: tuple[Mood, ...] = tuple(MOODS[t.status] for _, t in tiers)
        shown.append(Table(("tier", "verdict", "what was done"), rows, moods))
        goals = [
            Folded(f"tier {tier} left this goal", [Code(t.goal)]) for tier, t in tiers if t.goal
        ]
        shown += goals
        if recorded.float_verdict:
            shown.append(Words(f"floating point: {recorded.float_verdict}"))
        if recorded.counterexample:
            shown.append(Code(recorded.counterexample))
    return shown


def mood(said: Verdict) -> Mood:
    """What a verdict of the ledger says of its rule."""
    return "bad" if said in ("REFUTED", "edited") else "good" if is_proved(said) else "open"


def as_html() -> str:
    """The ledger as one self-contained page: the table, and what is known of every rule."""
    heading = ("rule", "family", "verdict", "search", "floating point", "under")
    rules = known_rules()
    table = Table(heading, tuple(map(row, rules)), tuple(mood(verdict(r)) for r in rules.values()))
    by_family: dict[str, list[Block]] = {}
    for name in rules:
        by_family.setdefault(family(name), []).append(Folded(name, displayed(name)))
    each = [block for title, folded in by_family.items() for block in (Title(title), *folded)]
    return document(TITLE, [Title(TITLE), Words(summary()), Folded("the table", [table]), *each])
