"""The table of the literature: every rule has an entry, every entry stands, and false rules are refuted."""

from __future__ import annotations

from typing import cast

import pytest

from relift.rewrites.checks.free.tier import check_free
from relift.rewrites.checks.random.tier import check_random
from relift.rewrites.checks.tiers import check_rule
from relift.rewrites.ledger.literature import LIFT, RISE, Counterparts, entries
from relift.rewrites.ledger.refuted import CORRECTIONS, REFUTED
from relift.rewrites.library import RULES
from relift.rewrites.rule import RejectedRule, Rule

ENTRIES = entries()


def test_every_named_rule_has_an_entry() -> None:
    """As many as the sources have: 140 in Lift, 146 in RISE, file by file."""
    assert {file: len(rules) for file, rules in LIFT.items()} == {
        "Rules": 31, "FissionRules": 6, "FusionRules": 7, "InterchangeRules": 7, "IterateRules": 2,
        "ReduceRules": 4, "OpenCLRules": 19, "SimplificationRules": 15, "CopyRules": 13,
        "EnablingRules": 7, "MacroRules": 11, "MapSeqSlideRewrite": 4, "ReuseRules": 9,
        "SlideTiling": 5,
    }  # fmt: skip
    assert {file: len(rules) for file, rules in RISE.items()} == {
        "algorithmic": 58, "movement": 38, "lowering": 33, "vectorize": 14, "package": 3,
    }  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_entry_stands(entry: Counterparts) -> None:
    """Its rules are in the library, its false readings among the refuted; without either it says why."""
    assert set(entry.rules) <= RULES.keys()
    assert set(entry.refuted) <= REFUTED.keys()
    assert (entry.reason is None) == bool(entry.rules or entry.refuted)


def test_the_literature_uses_every_refuted_rule() -> None:
    """No false rule is made up: each is an entry of the table."""
    assert {name for entry in ENTRIES.values() for name in entry.refuted} == REFUTED.keys()


@pytest.mark.parametrize("name", REFUTED)
def test_false_rule_is_refused(name: str) -> None:
    """Types reject it, or free symbols refute it and show where."""
    false = REFUTED[name]
    if isinstance(false, RejectedRule):
        assert [result.status for result in check_rule(false).results] == ["rejected"]
        return
    result = check_free(false)

    assert result.status == "refuted", result.text()
    assert result.counterexample is not None


@pytest.mark.parametrize("name", [name for name, r in REFUTED.items() if isinstance(r, Rule)])
def test_random_models_refute_false_rules(name: str) -> None:
    """So do numbers, but for the refinement whose function random models take to be onto."""
    result = check_random(cast(Rule, REFUTED[name]))

    assert result.status == ("ok" if name == "pad_empty_map_as_equation" else "refuted")


@pytest.mark.parametrize("name", REFUTED)
def test_correction_is_in_the_library(name: str) -> None:
    """The rule that stands for a false one is named in its docstring and checked with the library."""
    false = REFUTED[name]

    assert name not in RULES
    assert CORRECTIONS[name]
    for correction in CORRECTIONS[name]:
        assert correction in RULES
        assert isinstance(false, RejectedRule) or f"`{correction}`" in false.doc


@pytest.mark.parametrize(
    ("name", "guard"),
    [
        ("partial_reduce_unguarded", ("op is associative", "z is neutral for op")),
        ("partial_reduce_reorder_unguarded", ("op is associative", "op is commutative")),
        ("blocked_reduce_unguarded", ("op is associative", "z is neutral for op")),
        ("split_join_any_size", ("m divides n",)),
        ("vectorize_map_any_width", ("w divides n",)),
        ("slide_tiling_any_growth", ("step divides e",)),
        ("slide_before_split_any_step", ("step is 1",)),
        ("reduce_fusion_in_zip_unequal", ("m equals n",)),
        ("gather_to_scatter_same", ("p is its own inverse",)),
    ],
)
def test_missing_guard_is_inferred(name: str, guard: tuple[str, ...]) -> None:
    """What the authors left out is found again."""
    found = check_rule(REFUTED[name], tiers=("3",)).guard

    assert found is not None
    assert found.conditions == guard
