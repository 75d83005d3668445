"""The ledger: every rule, and what is known of it.

`ledger.json`, beside the Rocq library, holds what a full check said of each rule: the result of each tier, the
hash of the statement that was proved, and the hash of what proved it.  A rule whose statement, or a
definition that it is made of, has changed since is *stale*: what is recorded speaks of another rule.  A
proof that has changed since is only *outdated*: the theorem was proved, and `--audit` proves it again.  Each
entry is sealed by a hash of all that it says, so that an edit by hand is seen; who forges the seal as well is
found by `relift ledger --audit`, which checks everything again and compares.  Refuted rules of the
literature stay in the ledger, as refuted.

    relift ledger                     the table
    relift ledger map_fusion          one rule's page
    relift ledger --update            check everything again, and record it
    relift ledger --update map_fusion check this again, and record it
    relift ledger --audit             check everything again, and compare with what is recorded
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Literal, TypeAlias

from relift.files import locked, write_text
from relift.rewrites.checks.rocq.definedness import proof_hash, statement_hash
from relift.rewrites.checks.rocq.library import LIBRARY
from relift.rewrites.checks.rocq.statements import Provable
from relift.rewrites.checks.verdicts import CheckReport, Direction, Status, TierName, printed
from relift.rewrites.library import RULES
from relift.rewrites.rule import RejectedRule, Rule
from relift.semantics.errors import ReliftError, Unsupported, did_you_mean

Verdict: TypeAlias = Literal[
    "PROVED", "PROVED left to right", "PROVED right to left", "PROVED where total",
    "SMT-proved", "tested", "REFUTED", "stale", "edited", "unchecked", "ASSUMED",
]  # fmt: skip
"""PROVED: equal, and defined at the same inputs.  The other words with PROVED: equal, too, and no value is lost
where functions and data are total; where they are partial, in the named direction only, or in none.  ASSUMED: a rule
of the user's own that is believed because they say so by name; no entry of the ledger is."""

_PROVED: frozenset[Verdict] = frozenset(
    ["PROVED", "PROVED left to right", "PROVED right to left", "PROVED where total"]
)

FILE = LIBRARY / "ledger.json"


@dataclass(frozen=True)
class RecordedTier:
    """What one tier said when the rule was last checked; of a proof that stopped, the goal that was left."""

    status: Status
    detail: str
    goal: str = ""


@dataclass(frozen=True)
class Entry:
    """All that is recorded of one rule; of a refuted one also how it is refuted.

    `statement` is the hash of what tier 4b was asked to prove; `proof` that of what proved it, by the `prover`
    of that version, and empty where nothing did.  `total`: for each direction that keeps definedness, the
    metavariables that must be total for that.
    """

    rule: str
    statement: str
    tiers: Mapping[TierName, RecordedTier]
    float_verdict: str | None
    counterexample: str = ""
    proof: str = ""
    prover: str = ""
    total: Mapping[Direction, Sequence[str]] = field(default_factory=dict[Direction, Sequence[str]])
    seal: str = ""

    def sealed(self) -> Entry:
        """The entry with the hash of all that it says."""
        return replace(self, seal=self.digest)

    @property
    def digest(self) -> str:
        """sha256 of all that the entry says."""
        said = {**asdict(self), "seal": ""}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def verdict(self) -> Verdict:
        """The strongest word that the recorded tiers allow."""
        statuses = {tier: recorded.status for tier, recorded in self.tiers.items()}
        if {"refuted", "rejected"} & set(statuses.values()):
            return "REFUTED"
        if statuses.get("4b") == "proved":
            return self._proved()
        return "SMT-proved" if statuses.get("4a") == "proved" else "tested"

    def _proved(self) -> Verdict:
        """PROVED, and for what."""
        kept = [direction for direction, names in self.total.items() if not names]
        if len(kept) == len(self.total):
            return "PROVED"
        if not kept:
            return "PROVED where total"
        return "PROVED left to right" if "forward" in kept else "PROVED right to left"


def is_proved(word: str) -> bool:
    """Whether a verdict says that the sides of a rule are proved equal, and defined at the same inputs where all parts are total."""
    return word in _PROVED


def known_rules() -> dict[str, Rule | RejectedRule]:
    """The rules that the ledger has an entry for: the library, and the refuted ones."""
    from relift.rewrites.ledger.refuted import REFUTED

    return {**RULES, **REFUTED}


@cache
def load() -> Mapping[str, Entry]:
    """The recorded entries, by rule."""
    try:
        data = json.loads(FILE.read_text())
        return {
            name: Entry(
                name,
                item["statement"],
                {tier: RecordedTier(**recorded) for tier, recorded in item["tiers"].items()},
                item["float_verdict"],
                item["counterexample"],
                item["proof"],
                item["prover"],
                item["total"],
                item["seal"],
            )
            for name, item in data.items()
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReliftError(
            f"the ledger {FILE} cannot be read ({error}); relift ledger --update makes a new one",
            place="",
        ) from None


def entry(report: CheckReport, rule: Rule | RejectedRule, prover: str) -> Entry:
    """What a check of a rule, by a version of the prover, leaves in the ledger."""
    found = report.counterexample
    tiers: dict[TierName, RecordedTier] = {
        r.tier: RecordedTier(r.status, _without_place(r.detail, rule), r.goal)
        for r in report.results
    }
    kept = [r.total for r in report.results if r.tier == "4b"]
    total: dict[Direction, Sequence[str]] = {d: list(x) for each in kept for d, x in each.items()}
    proved = "4b" in tiers and tiers["4b"].status == "proved" and isinstance(rule, Rule)
    return Entry(
        report.rule,
        rule_hash(rule),
        tiers,
        report.float_verdict,
        "" if found is None else found.text(),
        proof_hash(rule) if proved and isinstance(rule, Rule) else "",
        prover if proved else "",
        total,
    ).sealed()


def _without_place(detail: str, rule: Rule | RejectedRule) -> str:
    """A message without the line of the file, which is another one on another machine."""
    return rule.error.message if isinstance(rule, RejectedRule) else detail


def rule_hash(rule: Rule | RejectedRule) -> str:
    """The hash of what a rule says: of its statement, or of its text where nothing can be stated of it."""
    if isinstance(rule, RejectedRule):
        return _text_hash(rule.error.message)
    try:
        return statement_hash(rule)
    except Unsupported:
        kinds = ", ".join(f"{name}: {kind}" for name, kind in rule.parameters.items())
        return _text_hash(f"({kinds}) {rule.equation()}")


def _text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def as_json(entries: Iterable[Entry]) -> str:
    """The text of `ledger.json`."""
    data = {found.rule: asdict(found) for found in entries}
    for item in data.values():
        del item["rule"]
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def verdict(rule: Rule | RejectedRule) -> Verdict:
    """What the ledger says of this very rule, as it is written now.

    >>> from relift.rewrites.ledger.book import verdict
    >>> from relift.rewrites.library import RULES
    >>> verdict(RULES["split_join"]), verdict(RULES["take_map"])
    ('PROVED', 'PROVED left to right')
    """
    recorded = load().get(rule.name)
    if recorded is None:
        return "unchecked"
    if recorded.seal != recorded.digest:
        return "edited"
    if recorded.statement != rule_hash(rule):
        return "stale"
    return recorded.verdict


@dataclass(frozen=True)
class RecordedProof:
    """What the prover said of a statement when it was recorded."""

    status: Status
    prover: str
    under: str
    """The name of the rule at the time, where it is another one now."""

    def __str__(self) -> str:
        by = f" with {self.prover}" if self.prover else ""
        return f"{printed('4b', self.status)}{by}{f', as {self.under}' if self.under else ''}"


def is_recorded(rule: Provable) -> bool:
    """Whether the prover proved this very statement when it was recorded."""
    found = recorded_proof(rule)
    return found is not None and found.status == "proved"


def recorded_proof(rule: Provable) -> RecordedProof | None:
    """What the prover said of this very statement when it was recorded, whatever the rule was called; None
    where nothing is recorded, or what is was edited by hand.

    >>> from relift.rewrites.ledger.book import recorded_proof
    >>> from relift.rewrites.library import RULES
    >>> str(recorded_proof(RULES["split_join"]))
    'PROVED with Coq Proof Assistant 8.16.1'
    """
    asked = statement_hash(rule)
    same = [e for e in load().values() if e.statement == asked and e.seal == e.digest]
    for found in sorted(same, key=lambda e: e.rule != rule.name):
        kernel = found.tiers.get("4b")
        if kernel is not None and kernel.status in ("proved", "unproved"):
            under = found.rule if found.rule != rule.name else ""
            return RecordedProof(kernel.status, found.prover or "", under)
    return None


_TOTAL: dict[int, tuple[Rule, Mapping[Direction, Sequence[str]]]] = {}


def total_in(rule: Rule, direction: Direction) -> Sequence[str] | None:
    """The metavariables that must be total for this direction to lose no value; None where nothing is proved.

    >>> from relift.rewrites.ledger.book import total_in
    >>> from relift.rewrites.library import RULES
    >>> total_in(RULES["take_map"], "forward"), total_in(RULES["take_map"], "backward")
    ([], ['f'])
    """
    known = _TOTAL.get(id(rule))
    if known is None or known[0] is not rule:
        recorded = load().get(rule.name)
        proved = recorded is not None and is_proved(verdict(rule))
        known = _TOTAL[id(rule)] = (rule, recorded.total if recorded and proved else {})
    return known[1].get(direction)


def outdated(rule: Rule | RejectedRule) -> bool:
    """Whether a rule was proved by a script, or lemmas and a tactic, that have changed since."""
    recorded = load().get(rule.name)
    if recorded is None or not recorded.proof or isinstance(rule, RejectedRule):
        return False
    return recorded.proof != proof_hash(rule)


def require_proved(names: Iterable[str], rules: Mapping[str, Rule]) -> None:
    """Raise `ReliftError` unless the ledger says PROVED of every one of these rules."""
    for name in dict.fromkeys(names):
        if name not in rules:
            near = did_you_mean(name, rules) or "; relift ledger lists them"
            raise ReliftError(f"there is no rule {name}{near}", place="")
        if not is_proved(found := verdict(rules[name])):
            raise ReliftError(
                f"{name} is {found} in the ledger, and a search uses PROVED rules only; "
                f"relift check {name} says what is missing",
                place="",
            )


def require_writable() -> None:
    """Raise `ReliftError` where the ledger cannot be written: before the work, not after it."""
    if not os.access(FILE.parent, os.W_OK):
        raise ReliftError(
            f"the ledger {FILE} cannot be written: it belongs to an installation that is read-only; "
            "run relift ledger --update in a checkout",
            place="",
        )


def record(entries: Iterable[Entry]) -> None:
    """Put entries in the place of those of the same rules; the file is replaced whole, by one at a time."""
    new, known = {found.rule: found for found in entries}, known_rules()
    with locked(FILE.parent):
        load.cache_clear()
        kept = {} if new.keys() == known.keys() else load()
        merged = {name: found for name, found in {**kept, **new}.items() if name in known}
        write_text(FILE, as_json(merged.values()))
    load.cache_clear()
    _TOTAL.clear()


def differences(recorded: Entry | None, found: Entry) -> list[str]:
    """What an entry says otherwise than a new check of its rule."""
    if recorded is None:
        return ["has no entry"]
    said: list[str] = []
    if recorded.seal != recorded.digest:
        said.append("was edited by hand")
    if recorded.statement != found.statement:
        said.append("speaks of another statement")
    tiers: dict[TierName, None] = {tier: None for e in (recorded, found) for tier in e.tiers}
    for tier in tiers:
        before, after = (
            printed(tier, e.tiers[tier].status) if tier in e.tiers else "nothing"
            for e in (recorded, found)
        )
        if (before, after) == (printed(tier, "unproved"), printed(tier, "unfinished")):
            continue  # a busier machine: a proof that fails was stopped before it did
        if before != after:
            said.append(f"tier {tier} says {after}, recorded is {before}")
    if not _shows_as_much(found.total, recorded.total):
        said.append(f"must be total: {dict(found.total)}, recorded is {dict(recorded.total)}")
    if recorded.float_verdict != found.float_verdict:
        said.append(f"floats: {found.float_verdict}, recorded is {recorded.float_verdict}")
    if bool(recorded.counterexample) != bool(found.counterexample):
        said.append("one of them has a counterexample")
    return said


def _shows_as_much(
    found: Mapping[Direction, Sequence[str]], recorded: Mapping[Direction, Sequence[str]]
) -> bool:
    """Whether no metavariable must be total of which the ledger does not say so.

    A faster machine may show more before the clock stops it; a search relies on what is recorded.
    """
    return found.keys() == recorded.keys() and all(
        set(names) <= set(recorded[direction]) for direction, names in found.items()
    )


def summary() -> str:
    """How many rules have which verdict: `201 rules: 190 PROVED, 11 tested`."""
    known = known_rules()
    counts = Counter(verdict(rule) for rule in known.values())
    shown = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    return f"{len(known)} rules: {shown}"
