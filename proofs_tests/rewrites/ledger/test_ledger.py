"""The ledger: current, complete, and strong enough for what rests on it."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proofs_tests.prover import needs_prover
from proofs_tests.searched import USED
from relift.egraph.checks.recording import audit
from relift.rewrites.checks.verdicts import Direction, Status
from relift.rewrites.ledger import book as ledger
from relift.rewrites.ledger.book import (
    Entry,
    as_json,
    differences,
    is_proved,
    known_rules,
    load,
    outdated,
    record,
    require_proved,
    require_writable,
    verdict,
)
from relift.rewrites.ledger.pages import as_html, page, row, to_json
from relift.rewrites.ledger.refuted import CORRECTIONS, REFUTED
from relift.rewrites.library import RULES
from relift.semantics.errors import ReliftError


def test_every_rule_has_an_entry_of_its_statement() -> None:
    """No entry is missing, left over or stale: `relift ledger --update` was run after the last change."""
    assert set(load()) == set(known_rules())
    assert [name for name, r in known_rules().items() if verdict(r) == "stale"] == []


def test_at_least_200_rules_of_which_170_are_proved() -> None:
    counts = Counter(verdict(r) for r in RULES.values())

    assert len(RULES) >= 200
    assert counts["PROVED"] >= 170
    assert sum(count for word, count in counts.items() if is_proved(word)) >= 350
    assert counts["REFUTED"] == 0


@pytest.mark.parametrize("name", sorted(USED))
def test_what_search_uses_is_proved(name: str) -> None:
    require_proved([name], RULES)


@pytest.mark.parametrize("name", REFUTED)
def test_false_rules_stay_refuted_beside_their_correction(name: str) -> None:
    assert verdict(REFUTED[name]) == "REFUTED"
    assert all(right in RULES for right in CORRECTIONS[name])


def test_what_is_not_proved_says_what_blocks_it() -> None:
    """The page shows the goal that Rocq left, or why the tier cannot speak."""
    for name, r in RULES.items():
        if not is_proved(verdict(r)):
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
        assert f"<summary>{name}</summary>" in html
        assert row(name)[0] == name
    assert html.count("<details>") == len(known_rules()) + 1 + html.count(
        "left this goal</summary>"
    )
    assert json.dumps([to_json(name) for name in known_rules()])


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A ledger that a test may spoil."""
    copy = tmp_path / "ledger.json"
    copy.write_text(ledger.FILE.read_text())
    monkeypatch.setattr(ledger, "FILE", copy)
    load.cache_clear()
    yield copy
    monkeypatch.undo()
    load.cache_clear()


def forge(file: Path, name: str, *, seal: bool) -> None:
    """Mark a rule as proved by hand, with a fitting seal or without."""
    data = json.loads(file.read_text())
    said = {"status": "proved", "goal": "", "detail": "all sizes, no axioms"}
    data[name]["tiers"]["4b"] |= said
    file.write_text(json.dumps(data))
    load.cache_clear()
    if seal:
        file.write_text(as_json({**load(), name: load()[name].sealed()}.values()))
        load.cache_clear()


def test_an_entry_that_was_edited_by_hand_is_believed_in_nothing(copied: Path) -> None:
    """Its seal does not fit any more; a search refuses the rule."""
    forge(copied, "iterate_sizes_add", seal=False)

    assert verdict(RULES["iterate_sizes_add"]) == "edited"
    with pytest.raises(ReliftError, match="iterate_sizes_add is edited in the ledger"):
        require_proved(["iterate_sizes_add"], RULES)


@needs_prover
def test_a_forged_entry_is_found_by_the_audit(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who forges the seal as well meets the prover: here for a rule whose script proves nothing."""
    name = "reduce_scan_fusion"
    monkeypatch.setitem(RULES, name, replace(RULES[name], proof="intros."))
    forge(copied, name, seal=True)
    assert verdict(RULES[name]) == "PROVED"

    ((checked, said),) = audit([name])

    assert checked == name
    assert said[0] == "tier 4b says UNPROVED, recorded is PROVED"


@needs_prover
def test_a_random_sample_of_the_ledger_is_what_a_new_check_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Other rules in every run; the seed repeats them: `relift ledger --audit --sample 3 --seed N`."""
    seed = random.SystemRandom().randrange(10**6)
    with capsys.disabled():
        print(f" [audited with seed {seed}]", end="")
    names = random.Random(seed).sample(list(known_rules()), 3)

    assert {name: said for name, said in audit(names) if said} == {}, f"seed {seed}"


def test_of_a_refuted_rule_nothing_is_said_of_floats() -> None:
    """A new check does not ask, so an entry that says it is of an older one."""
    refuted = [e for e in load().values() if any(t.status == "refuted" for t in e.tiers.values())]
    assert len(refuted) > 10
    assert {e.rule for e in refuted if e.float_verdict} == set()


def test_some_entries_are_replaced_and_the_others_kept(copied: Path) -> None:
    """`relift ledger --update RULE` writes the file whole, with the others as they were."""
    before = dict(load())
    changed = replace(before["map_fusion"], float_verdict="another").sealed()
    record([changed])

    assert load() == {**before, "map_fusion": changed}
    assert copied.read_text() == as_json(load().values())


def test_a_read_only_ledger_says_so_before_the_work(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ReliftError, match=r"ledger\.json cannot be written"):
        require_writable()


def test_a_proof_that_changed_since_is_outdated_and_still_a_proof() -> None:
    """The theorem was proved; what proves it today is another question, which the audit answers."""
    other = replace(RULES["map_fusion"], proof="start. relate.")

    assert not outdated(RULES["map_fusion"])
    assert outdated(other)
    assert is_proved(verdict(other))


def test_every_field_of_an_entry_is_sealed() -> None:
    """Whatever is changed in an entry, its seal does not fit."""
    sound = load()["map_fusion"]
    others = Entry("x", "x", {}, "x", "x", "x", "x")
    for name in (
        "rule",
        "statement",
        "tiers",
        "float_verdict",
        "counterexample",
        "proof",
        "prover",
    ):
        changed = replace(sound, **{name: getattr(others, name)})
        assert changed.digest != sound.seal, name


@pytest.mark.parametrize(
    ("recorded", "differs"), [("unproved", False), ("proved", True), ("skipped", True)]
)
def test_a_proof_that_was_stopped_tells_nothing_of_one_that_failed(
    recorded: Status, differs: bool
) -> None:
    """A busy machine stops what fails; of what was proved, it must be seen again."""
    entry = load()["map_fusion"]

    def with_kernel_tier(status: Status) -> Entry:
        tiers = {**entry.tiers, "4b": replace(entry.tiers["4b"], status=status)}
        return replace(entry, tiers=tiers).sealed()

    said = differences(with_kernel_tier(recorded), with_kernel_tier("unfinished"))
    assert bool(said) == differs


@pytest.mark.parametrize(
    ("recorded", "found", "differs"),
    [
        ({"forward": ("f",)}, {"forward": ()}, False),
        ({"forward": ()}, {"forward": ("f",)}, True),
        ({"forward": ("f",)}, {"forward": ("xs",)}, True),
        ({"forward": ()}, {}, True),
        ({}, {"forward": ()}, True),
    ],
)
def test_a_faster_machine_may_show_more_of_what_is_partial_and_never_less(
    recorded: dict[Direction, tuple[str, ...]],
    found: dict[Direction, tuple[str, ...]],
    differs: bool,
) -> None:
    """Where the clock stops a stronger claim the weaker one is recorded; what is relied on must be seen again."""
    entry = load()["map_fusion"]

    said = differences(
        replace(entry, total=recorded).sealed(), replace(entry, total=found).sealed()
    )

    assert bool(said) == differs
