"""Admission: which rules of the user's own take part in a search, and what stands for each.

Each is checked by all tiers first.  What is refuted is refused with its counterexample, whoever vouches for it; what is
proved takes part; what is neither takes part only where the user assumes it by name, and is called ASSUMED ever after.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from relift.egraph.checks.tiers import check_all
from relift.egraph.encode.equations import NotSearchable
from relift.egraph.encode.rules import encode_rule
from relift.egraph.process.saturation import named
from relift.rewrites.checks.verdicts import CheckReport, printed
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.own_rules import Assumed, OwnRule
from relift.rewrites.ledger.book import entry, is_proved, require_proved
from relift.rewrites.ledger.refuted import REFUTED
from relift.rewrites.library import RULES
from relift.rewrites.rule import RejectedRule, Rule
from relift.semantics.errors import IllTyped, ReliftError


class RefusedRule(ReliftError):
    """A rule that may not take part in a search; the message says what speaks against it."""


@dataclass(frozen=True)
class Admitted:
    """The rules that take part in a search beside those of its stages: the user's own, and some of the library by name.

    `names` are as in a stage: with `<` from right to left.
    """

    own: tuple[OwnRule, ...] = ()
    names: tuple[str, ...] = ()
    rules: dict[str, Rule] = field(default_factory=lambda: RULES)

    def searchable(self, policy: FloatPolicy) -> tuple[str, ...]:
        """Those that an e-graph can hold."""
        return tuple(name for name in self.names if self._encoded(name, policy))

    def others(self, policy: FloatPolicy) -> tuple[str, ...]:
        """Those that it cannot: they are applied to the program itself."""
        return tuple(name for name in self.names if not self._encoded(name, policy))

    def _encoded(self, name: str, policy: FloatPolicy) -> bool:
        rule, direction = named(name)
        try:
            encode_rule(self.rules[rule], direction, policy)
        except NotSearchable:
            return False
        return True


def admitted(
    rules: Sequence[object],
    assumed: Collection[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Admitted:
    """These rules, checked; raises `RefusedRule`.

    One is a rule of the user's own, `assume` of one, or the name of one of the library.  `assumed` are names that may be
    used though nothing proves them.

    >>> from relift.egraph.checks.admission import admitted
    >>> admitted(["map_fusion", "split_join<"]).names
    ('map_fusion', 'split_join<')
    """
    own: dict[str, Rule | RejectedRule] = {}
    trusted, names = set(assumed), list[str]()
    for given in rules:
        rule = given.rule if isinstance(given, Assumed) else given
        if not isinstance(rule, str | Rule | RejectedRule):
            raise IllTyped(
                f"rules holds {rule!r}; give rules (functions below @rl.rule()), rl.assume of one, or names of the library's"
            )
        match rule:
            case str():
                require_proved([named(rule)[0]], RULES)
                names.append(rule)
            case Rule() | RejectedRule():
                _require_new_name(rule, own)
                own[rule.name] = rule
                names.append(rule.name)
                trusted |= {rule.name} if isinstance(given, Assumed) else set()
    if unknown := sorted(trusted - own.keys()):
        raise RefusedRule(
            f"{unknown[0]} is assumed, but there is no such rule among those given", ""
        )
    reports = check_all(own.values(), guards=False, progress=progress)
    found = tuple(_admitted(report, own[report.rule], trusted) for report in reports)
    return Admitted(
        found, tuple(names), {**RULES, **{known.rule.name: known.rule for known in found}}
    )


def _require_new_name(rule: Rule | RejectedRule, own: Collection[str]) -> None:
    """A derivation names its rules, so no two may have one name."""
    if rule.name in RULES or rule.name in REFUTED:
        raise RefusedRule(
            f"{rule.name} is the name of a rule of Relift's ledger; rename yours", rule.place
        )
    if rule.name in own:
        raise RefusedRule(f"two rules are called {rule.name}; rename one", rule.place)


def _admitted(report: CheckReport, rule: Rule | RejectedRule, assumed: Collection[str]) -> OwnRule:
    """The rule with what stands for it; raises `RefusedRule`."""
    if isinstance(rule, RejectedRule) or report.headline == "failed":
        raise RefusedRule(f"{report.rule} is refused: {_against(report)}", report.place or "")
    if rule.lowering:
        why = "a lowering says who computes, and a search knows those of the library; apply it in a strategy"
        raise RefusedRule(f"{report.rule} is refused: {why}", report.place or "")
    standing = entry(report, rule, "").verdict
    if is_proved(standing):
        return OwnRule(rule, standing)
    if report.rule not in assumed:
        raise RefusedRule(
            f"{report.rule} is not proved ({_unproved(report)}); nothing refutes it, so rl.assume({report.rule}), or "
            f"--assume {report.rule}, takes it on your word, and everything that uses it says so",
            report.place or "",
        )
    return OwnRule(rule, "ASSUMED")


def _against(report: CheckReport) -> str:
    """What refutes a rule, on one line."""
    if report.counterexample is not None:
        return "it does not hold: " + "; ".join(report.counterexample.text().splitlines())
    for result in report.results:
        if result.status in ("refuted", "rejected"):
            return f"tier {result.tier}: {result.detail}"
    return "no tier could tell whether it holds"


def _unproved(report: CheckReport) -> str:
    """What the kernel's tier says, on one line."""
    for result in report.results:
        if result.tier == "4b":
            return f"tier 4b {printed('4b', result.status)}: {result.detail}"
    return "tier 4b was not run"
