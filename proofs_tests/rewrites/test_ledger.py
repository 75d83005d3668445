"""The ledger: current, complete, and strong enough for what rests on it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from relift.egraph.planning import NORMAL_FORM, PURPOSES
from relift.egraph.search import STAGES
from relift.rewrites import ledger
from relift.rewrites.ledger import (
    as_html,
    as_json,
    known_rules,
    load,
    page,
    require_proved,
    row,
    to_json,
    verdict,
)
from relift.rewrites.library import RULES
from relift.rewrites.refuted import CORRECTIONS, REFUTED
from relift.semantics.errors import ReliftError

SEARCHED = {
    *(name for stage in STAGES for name in stage.rules),
    *(name for purpose in PURPOSES.values() for name in purpose),
    *NORMAL_FORM,
    "map_to_glb", "map_to_lcl", "map_to_seq", "map_to_seq_unroll", "map_to_wrg",
    "reduce_seq_to_unroll", "store_global", "store_local", "store_private", "insert_copy",
}  # fmt: skip
"""The rules of all stages and of the normal form, and the lowerings that the extractor applies."""


def test_every_rule_has_an_entry_of_its_statement() -> None:
    """No entry is missing, left over or stale: `relift ledger --update` was run after the last change."""
    assert set(load()) == set(known_rules())
    assert [name for name, r in known_rules().items() if verdict(r) == "stale"] == []


def test_at_least_200_rules_of_which_170_are_proved() -> None:
    counts = Counter(verdict(r) for r in RULES.values())

    assert len(RULES) >= 200
    assert counts["PROVED"] >= 170
    assert counts["REFUTED"] == 0


def test_one_rule_in_ten_at_most_has_a_script_of_its_own() -> None:
    assert sum(bool(r.proof) for r in RULES.values()) <= len(RULES) / 10


@pytest.mark.parametrize("name", sorted(SEARCHED))
def test_what_search_uses_is_proved(name: str) -> None:
    require_proved([name], RULES)


@pytest.mark.parametrize("name", REFUTED)
def test_false_rules_stay_refuted_beside_their_correction(name: str) -> None:
    assert verdict(REFUTED[name]) == "REFUTED"
    assert all(right in RULES for right in CORRECTIONS[name])


def test_what_is_not_proved_says_what_blocks_it() -> None:
    """The page shows the goal that Rocq left, or why the tier cannot speak."""
    for name, r in RULES.items():
        if verdict(r) != "PROVED":
            kernel = load()[name].tiers["4b"]
            assert kernel.goal or kernel.status == "skipped", name
            assert kernel.detail in page(name)


def test_a_changed_rule_is_stale() -> None:
    changed = replace(RULES["map_fusion"], right=RULES["map_fusion"].left)
    assert verdict(changed) == "stale"


def test_search_refuses_what_is_not_proved() -> None:
    with pytest.raises(ReliftError, match="there is no rule no_such_rule"):
        require_proved(["no_such_rule"], RULES)
    changed = {"map_fusion": replace(RULES["map_fusion"], right=RULES["map_fusion"].left)}
    with pytest.raises(ReliftError, match="map_fusion is stale in the ledger"):
        require_proved(["map_fusion"], changed)


def test_the_file_is_what_is_written() -> None:
    assert ledger.FILE.read_text() == as_json(load().values())


def test_a_damaged_ledger_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "ledger.json"
    damaged.write_text("{")
    monkeypatch.setattr(ledger, "FILE", damaged)
    load.cache_clear()
    try:
        with pytest.raises(ReliftError, match="relift ledger --update makes a new one"):
            load()
    finally:
        load.cache_clear()


def test_pages_hold_what_a_reader_needs() -> None:
    """The equation, the source, the literature's names, every tier; of a false rule its correction."""
    text = page("map_fusion")
    assert "map(f, map(g, xs)) == map(lambda x: f(g(x)), xs)" in text
    assert "LIFT Fusion mapFusion" in text or "mapFusion" in text
    assert "tier 4b PROVED" in text
    assert "Corrected: slide_tiling" in page("slide_tiling_any_growth")


def test_html_and_json_hold_every_rule() -> None:
    html = as_html()
    for name in known_rules():
        assert f"<h2 id={name}>" in html
        assert row(name)[0] == name
    assert json.dumps([to_json(name) for name in known_rules()])
