"""The ledger for a person: its table, the page of each rule, and all of it as one HTML page."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from html import escape

from relift.rewrites.checks.verdicts import printed
from relift.rewrites.ledger import literature
from relift.rewrites.ledger.book import known_rules, load, outdated, summary, verdict
from relift.rewrites.ledger.refuted import CORRECTIONS
from relift.rewrites.library import FAMILIES, rules_of
from relift.rewrites.rule import Rule


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


def as_html() -> str:
    """The ledger as one self-contained page: the table, and a section for every rule."""
    heading = ("rule", "family", "verdict", "search", "floating point", "under")
    cells = "".join(f"<th>{title}" for title in heading)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>The ledger of Relift</title>",
        "<style>body{font:16px/1.5 sans-serif;max-width:75em;margin:2em auto;padding:0 1em}",
        "pre{background:#f5f5f5;padding:1em;overflow-x:auto}td,th{text-align:left;padding:0 .8em 0 0}",
        "tr.REFUTED td,tr.stale td{color:#a00}</style><h1>The ledger of Relift</h1>",
        f"<p>{escape(summary())}</p><table><tr>{cells}",
    ]
    for name in known_rules():
        first, *others = row(name)
        link = f"<a href=#{name}>{escape(first)}</a>"
        columns = "".join(f"<td>{text}" for text in (link, *map(escape, others)))
        parts.append(f"<tr class={others[1]}>{columns}")
    parts.append("</table>")
    for name in known_rules():
        parts.append(f"<h2 id={name}>{escape(name)}</h2><pre>{escape(page(name))}</pre>")
    return "\n".join([*parts, "</html>", ""])
