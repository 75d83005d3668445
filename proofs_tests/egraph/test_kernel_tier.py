"""Tier 4b among the others: what goes wrong for a rule stays with it, and what goes wrong for all is said of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from relift.egraph.checks import tiers
from relift.egraph.checks.tiers import check_all
from relift.rewrites.checks.rocq import tier as proving
from relift.rewrites.checks.verdicts import TierResult
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule

ONE, OTHER = RULES["join_split"], RULES["map_fusion"]


def said(rules: Sequence[Rule]) -> list[tuple[str, str]]:
    """The status and the words of tier 4b on each rule; tier 1 finds nothing wrong."""
    found: list[tuple[str, str]] = []
    for report in check_all(rules, tiers=("1", "4b"), guards=False):
        types, kernel = report.results
        assert types.status == "ok"
        found.append((kernel.status, kernel.detail))
    return found


def test_a_fault_in_a_statement_is_of_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are stated all the same, and proved together."""
    monkeypatch.delenv("RELIFT_TRACEBACK", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)
    calls: list[int] = []

    def counted(rules: Sequence[Rule], **options: Any) -> dict[str, TierResult]:
        calls.append(len(rules))
        return proving.prove(rules, **options)

    stated = Mock(side_effect=[KeyError("split"), *["True"] * 9])  # raised by no line of a user
    monkeypatch.setattr(proving, "proposition", stated)
    monkeypatch.setattr(tiers, "prove", counted)
    (status, detail), (other, reason) = said([ONE, OTHER])

    assert (status, detail.partition(" (")[0]) == (
        "unfinished",
        "internal error: KeyError: 'split'",
    )
    assert other == "skipped"
    assert "coqc is not installed" in reason
    assert calls == [2]


def test_what_hinders_the_prover_is_said_of_each_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other tier is lost by it, and it is no defect of Relift."""
    monkeypatch.delenv("RELIFT_TRACEBACK", raising=False)

    def hindered(_: Sequence[Rule], **__: Any) -> dict[str, TierResult]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tiers, "prove", hindered)
    told = "the prover could not be run: [Errno 28] No space left on device"

    assert said([ONE, OTHER]) == [("unfinished", told)] * 2


def test_rules_of_one_name_have_a_proof_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is proved by the proof of a namesake."""

    def proved(rules: Sequence[Rule], **_: Any) -> dict[str, TierResult]:
        return {r.name: TierResult("4b", "kernel", "proved", str(r)) for r in rules}

    monkeypatch.setattr(tiers, "prove", proved)
    namesake = replace(OTHER, name=ONE.name)

    assert said([ONE, namesake]) == [("proved", str(ONE)), ("proved", str(namesake))]
