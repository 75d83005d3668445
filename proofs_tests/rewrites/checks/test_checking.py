"""The report of a check: what it says, in text and in JSON."""

from __future__ import annotations

import json

import pytest

from proofs_tests.wrong_rules import WRONG
from relift.rewrites.checks.tiers import Tier, TierResult, check_rule
from relift.rewrites.checks.verdicts import TierName
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError

STRIDED = next(r for r in WRONG[3] if r.name == "strided_without_commutativity")


def test_report_of_a_right_rule() -> None:
    """The equation, a line for each tier, and what it keeps of floating point."""
    text = check_rule(RULES["join_split"], tiers=("1", "3")).text().splitlines()

    assert text[:2] == ["join_split: tested only", "  join(split(m, xs)) == xs"]
    assert text[2].startswith("  tier 1  types   ok         both sides are A[k*m]")
    assert text[3].startswith("  tier 3  free    ok         exhaustive to 3, 12 instances")
    assert text[4] == "  floating point: bit-exact"


def test_report_of_a_wrong_rule() -> None:
    """The counterexample shows the instance, what fails, the data, both values, and the missing law."""
    text = check_rule(STRIDED, tiers=("3",)).text()

    assert "strided_without_commutativity: FAILED" in text
    assert "tier 3  free    REFUTED    the sides differ" in text
    for line in (
        "    reduce(op, z, map(lambda c: reduce(op, z, c), transpose(split(2, xs))))",
        "    k = 2, m = 2",
        "    op = any associative operator with neutral element z",
        "    xs = [x0, x1, x2, x3]",
        "    left  = op(x0, x1, x2, x3)",
        "    right = op(x0, x2, x1, x3)",
        "  holds if op is commutative (exhaustive to 3, 12 instances)",
    ):
        assert line in text.splitlines()


def test_report_as_json() -> None:
    """The JSON holds the same facts as the text."""
    assert (
        check_rule(RULES["reduce_join"], tiers=("3",)).to_json()["float"] == "needs reassociation"
    )
    data = json.loads(json.dumps(check_rule(STRIDED).to_json()))

    assert data["rule"] == "strided_without_commutativity"
    assert data["ok"] is False
    assert [t["status"] for t in data["tiers"]] == ["ok", "refuted", "refuted"]
    assert data["float"] is None  # of a wrong rule
    assert data["counterexample"]["sizes"] == {"k": 2, "m": 2}
    assert data["counterexample"]["left"] == "op(x0, x1, x2, x3)"
    assert data["guard"]["conditions"] == ["op is commutative"]


def test_float_verdicts() -> None:
    """A rule that moves data is bit-exact; one that regroups an operator is not."""
    assert check_rule(RULES["map_fusion"], tiers=("3",)).float_verdict == "bit-exact"
    assert check_rule(RULES["reduce_join"], tiers=("3",)).float_verdict == "needs reassociation"
    assert check_rule(RULES["map_fusion"], tiers=("1",)).float_verdict is None


def test_tiers_of_other_layers_are_run_when_asked_for() -> None:
    """`extra` adds a tier; it runs by default and when it is named."""
    extra: dict[TierName, Tier] = {
        "5": lambda rule: TierResult("5", "search", "refuted", f"no {rule.name}")
    }
    rule = RULES["join_split"]

    assert [r.tier for r in check_rule(rule, extra=extra).results] == ["1", "2", "3", "5"]
    assert not check_rule(rule, tiers=("1", "5"), extra=extra).ok
    assert check_rule(rule, tiers=("1", "3"), extra=extra).ok


def test_a_tier_that_does_not_exist_is_refused() -> None:
    """A tier that its layer does not supply is an error and not a skipped line."""
    with pytest.raises(ReliftError, match="there is no tier 5 here; there are: 1, 2, 3"):
        check_rule(RULES["join_split"], tiers=("5",))


def test_a_rule_that_no_tier_can_judge_is_not_ok() -> None:
    """Skipping everything beyond types is no success."""
    skip = TierResult("3", "free", "skipped", "no time")
    report = check_rule(RULES["join_split"], tiers=("1", "3"), extra={"3": lambda rule: skip})

    assert not report.ok
    assert "SKIPPED    no time" in report.text()


def test_progress_hears_of_each_tier() -> None:
    """Each tier is announced before it runs."""
    heard: list[str] = []
    rule: Rule = RULES["join_split"]
    check_rule(rule, tiers=("1", "3"), progress=heard.append)

    assert heard == ["join_split: tier 1", "join_split: tier 3"]
