"""The ledger: every rule, and what is known of it.

`ledger.json`, beside the Rocq library, holds what a full check said of each rule: the result of each tier,
and the hash of the statement that was proved.  A rule whose statement has changed since is *stale*: what is
recorded speaks of another rule.  Refuted rules of the literature stay in the ledger, as refuted.

    relift ledger             the table
    relift ledger map_fusion  one rule's page
    relift ledger --update    check everything again, and record it
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from html import escape
from typing import Literal, TypeAlias

from relift.rewrites import literature
from relift.rewrites.library import FAMILIES, RULES, rules_of
from relift.rewrites.refuted import CORRECTIONS, REFUTED
from relift.rewrites.rule import RejectedRule, Rule
from relift.rewrites.statements import LIBRARY, statement_hash
from relift.rewrites.verdicts import CheckReport, Status, TierName, printed
from relift.semantics.errors import ReliftError, Unsupported

Verdict: TypeAlias = Literal["PROVED", "SMT-proved", "tested", "REFUTED", "stale", "unchecked"]

FILE = LIBRARY / "ledger.json"


@dataclass(frozen=True)
class Recorded:
    """What one tier said when the rule was last checked; of a proof that stopped, the goal that was left."""

    status: Status
    detail: str
    goal: str = ""


@dataclass(frozen=True)
class Entry:
    """All that is recorded of one rule; of a refuted one also how it is refuted."""

    rule: str
    statement: str
    tiers: Mapping[TierName, Recorded]
    float_verdict: str | None
    counterexample: str = ""

    @property
    def verdict(self) -> Verdict:
        """The strongest word that the recorded tiers allow."""
        statuses = {tier: recorded.status for tier, recorded in self.tiers.items()}
        if {"refuted", "rejected"} & set(statuses.values()):
            return "REFUTED"
        if statuses.get("4b") == "proved":
            return "PROVED"
        return "SMT-proved" if statuses.get("4a") == "proved" else "tested"


def known_rules() -> dict[str, Rule | RejectedRule]:
    """The rules that the ledger has an entry for: the library, and the refuted ones."""
    return {**RULES, **REFUTED}


def family(name: str) -> str:
    """The family that a rule of the library belongs to; `refuted` for the others."""
    return _families().get(name, "refuted")


@cache
def _families() -> dict[str, str]:
    return {
        name: module.__name__.rpartition(".")[2] for module in FAMILIES for name in rules_of(module)
    }


@cache
def load() -> Mapping[str, Entry]:
    """The recorded entries, by rule."""
    try:
        data = json.loads(FILE.read_text())
        return {
            name: Entry(
                name,
                item["statement"],
                {tier: Recorded(**recorded) for tier, recorded in item["tiers"].items()},
                item["float_verdict"],
                item["counterexample"],
            )
            for name, item in data.items()
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReliftError(
            f"the ledger {FILE} cannot be read ({error}); relift ledger --update makes a new one",
            place="",
        ) from None


def entry(report: CheckReport, rule: Rule | RejectedRule) -> Entry:
    """What a check of a rule leaves in the ledger."""
    found = report.counterexample
    return Entry(
        report.rule,
        _hash(rule),
        {
            r.tier: Recorded(r.status, _without_place(r.detail, rule), r.goal)
            for r in report.results
        },
        report.float_verdict,
        "" if found is None else found.text(),
    )


def _without_place(detail: str, rule: Rule | RejectedRule) -> str:
    """A message without the line of the file, which is another one on another machine."""
    return rule.error.message if isinstance(rule, RejectedRule) else detail


def _hash(rule: Rule | RejectedRule) -> str:
    """The hash of what is proved; empty where there is nothing to state."""
    try:
        return "" if isinstance(rule, RejectedRule) else statement_hash(rule)
    except Unsupported:
        return ""


def as_json(entries: Iterable[Entry]) -> str:
    """The text of `ledger.json`."""
    data = {found.rule: asdict(found) for found in entries}
    for item in data.values():
        del item["rule"]
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def literature_of(name: str) -> list[str]:
    """The named rules of the literature that a rule states, or that a refuted one is as written."""
    return [
        title
        for title, known in literature.entries().items()
        if name in known.rules or name in known.refuted
    ]


def verdict(rule: Rule | RejectedRule) -> Verdict:
    """What the ledger says of this very rule, as it is written now.

    >>> verdict(RULES["map_fusion"])
    'PROVED'
    """
    recorded = load().get(rule.name)
    if recorded is None:
        return "unchecked"
    if recorded.statement != _hash(rule):
        return "stale"
    return recorded.verdict


def require_proved(names: Iterable[str], rules: Mapping[str, Rule]) -> None:
    """Raise `ReliftError` unless the ledger says PROVED of every one of these rules."""
    for name in names:
        if name not in rules:
            raise ReliftError(f"there is no rule {name}; relift ledger lists them", place="")
        if (found := verdict(rules[name])) != "PROVED":
            raise ReliftError(
                f"{name} is {found} in the ledger, and a search uses PROVED rules only; "
                f"relift check {name} says what is missing",
                place="",
            )


def summary() -> str:
    """How many rules have which verdict: `201 rules: 190 PROVED, 11 tested`."""
    known = known_rules()
    counts = Counter(verdict(rule) for rule in known.values())
    shown = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    return f"{len(known)} rules: {shown}"


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
        lines += [f"  statement {recorded.statement[:16]}"] if recorded.statement else []
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
